#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`--device emulate:TARGET`.   device.py KPC MODEL FOLDER"""

import os
import pathlib
import re
import subprocess
import sys


def main():
    kpc, model, folder = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KPC_")}
    failed = 0

    def run(want, words, *arguments):
        nonlocal failed
        done = subprocess.run([kpc, *arguments], env=environment, capture_output=True, text=True)
        text = done.stdout + done.stderr
        if done.returncode != want or any(word not in text for word in words):
            failed += 1
            print(f"kpc {' '.join(map(str, arguments))}: exit code {done.returncode}, not {want}, or not {words} in\n{text}")

    for target in ("sm_80", "sm_90a", "sm_100a", "sm_120a"):
        whole, bare = folder / f"{target}.kpc", folder / f"{target}.stripped.kpc"
        run(0, [], "compile", model, "--arch", target, "-o", whole, "--no-cache", "--quiet")
        run(0, [], "compile", model, "--arch", target, "--strip", "-o", bare, "--no-cache", "--quiet")
        run(0, ["[2,10]"], "run", whole, "-i", "random", "--dim", "batch=2", "--device", f"emulate:{target}")
        run(0, ["right"], "verify", whole, "--model", model, "-i", "random", "--dim", "batch=3", "--device", f"emulate:{target}")
        # No PTX: the emulator has nothing to run.
        run(1, ["machine code", "--strip"], "run", bare, "-i", "random", "--dim", "batch=2", "--device", f"emulate:{target}")
    # Times are those of a processor, and no share of a chip's peak.
    once = ["--dim", "batch=2", "--warmup", "0", "--iterations", "1", "--device", "emulate:sm_90a"]
    run(0, ["emulate:sm_90a", "times       the emulator's, on this processor: they say nothing of a GPU"], "bench", folder / "sm_90a.kpc", *once)
    run(0, ['"emulated": true', '"device": "emulate:sm_90a"'], "bench", folder / "sm_90a.kpc", "--json", *once)
    run(1, ["no code for kpc emulator (sm_80), of compute capability 8.0; it holds sm_90a"], "run", folder / "sm_90a.kpc", "-i", "random",
        "--dim", "batch=2", "--device", "emulate:sm_80")
    # Kernels that are launched before those in front have ended must wait for them before they touch memory.
    # With --line-info the artifact's kernels have the names of its nodes, as the text has.
    waits = folder / "waits.kpc"
    for form in (["-o", waits], ["--emit", "ptx", "-o", folder / "waits.ptx"]):
        run(0, [], "compile", model, "--arch", "sm_90a", "--line-info", *form, "--no-cache", "--quiet")
    texts = {}
    for part in re.split(r"(?m)^(?=\.version)", (folder / "waits.ptx").read_text()):
        if name := re.search(r"\.entry (\w+)", part):
            assert "griddepcontrol.wait;" in part
            texts[name[1]] = part
    for last, finding in (("", "but does not wait for them (griddepcontrol.wait)"), ("griddepcontrol.wait;", "before-grid-wait")):
        for name, part in texts.items():
            (folder / f"{name}.ptx").write_text(part.replace("griddepcontrol.wait;", "").replace("ret;", last + " ret;"))
        environment["KPC_EMULATE_PTX"] = str(folder)
        run(1, [finding], "run", waits, "-i", "random", "--dim", "batch=2", "--device", "emulate:sm_90a")
    del environment["KPC_EMULATE_PTX"]
    # A finding names the ONNX nodes, and with --line-info the line of the kernel's text.
    run(0, [], "compile", model, "--arch", "sm_90a", "--line-info", "-o", folder / "lines.kpc", "--no-cache", "--quiet")
    run(0, [], "compile", model, "--arch", "sm_90a", "--line-info", "--emit", "ptx", "-o", folder / "lines.ptx", "--no-cache", "--quiet")
    part = next(part for part in re.split(r"(?m)^(?=\.version)", (folder / "lines.ptx").read_text()) if ".entry conv1_relu1(" in part)
    broken = folder / "broken"
    broken.mkdir(exist_ok=True)
    (broken / "conv1_relu1.ptx").write_text(re.sub(r"(st\.global\S*\s+\[%rd\d+)\]", r"\1+1000000]", part))
    environment["KPC_EMULATE_PTX"] = str(broken)
    run(1, ["'conv1, relu1'", "out-of-bounds", "of kernel conv1_relu1, from conv1_relu1.tile.mlir:"], "run", folder / "lines.kpc", "-i", "random",
        "--dim", "batch=2", "--device", "emulate:sm_90a")
    del environment["KPC_EMULATE_PTX"]
    environment["KPC_EMULATE_PTX"] = "/nowhere"
    told = "KPC_EMULATE_PTX is '/nowhere': it must be a folder that is there\n  hint: correct that or the library's name, or run on the host\n"
    run(1, [told], "run", folder / "sm_90a.kpc", "-i", "random", "--dim", "batch=2", "--device", "emulate:sm_90a")
    del environment["KPC_EMULATE_PTX"]
    # The variable is named where it was what named the library.
    environment["KPC_CUDA_DRIVER"] = "/nowhere.so"
    run(1, ["hint: correct that or KPC_CUDA_DRIVER, or run on the host\n"], "run", folder / "sm_90a.kpc", "-i", "random", "--dim", "batch=2",
        "--device", "cuda:0")
    del environment["KPC_CUDA_DRIVER"]
    for wrong in ("sm_7", "host", "", "nothing"):
        run(2, ["no GPU that can be emulated"], "run", folder / "sm_90a.kpc", "-i", "random", "--device", f"emulate:{wrong}")
    print(f"{failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

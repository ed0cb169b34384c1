#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One artifact at many sizes, each with the kernel that is for it, on the emulator.   variants.py KPC DRIVER TARGET FOLDER

A product whose number of rows is dynamic, one with a weight of codes, and two attentions. `kpc inspect` says which kernels a size has, `kpc verify`
compares the emulated run with the model on the host at the ends of each kernel's range. Ends with 77 where onnx is not
installed.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

try:
    import onnx
except ImportError:
    print("SKIPPED: onnx is not installed")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "device"))
import codes  # noqa: E402
import gemv  # noqa: E402


def attention(depth=64, heads=2):
    shapes = {"q": ["batch", heads, "queries", depth], "k": ["batch", heads, "keys", depth], "v": ["batch", heads, "keys", depth]}
    half = onnx.TensorProto.FLOAT16
    node = onnx.helper.make_node("Attention", list(shapes), ["y"])
    graph = onnx.helper.make_graph(
        [node], "attention", [onnx.helper.make_tensor_value_info(name, half, dims) for name, dims in shapes.items()],
        [onnx.helper.make_tensor_value_info("y", half, shapes["q"])])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 23)], ir_version=10)


# name, model, dims, sizes that are tried beside the ends of ranges
CASES = [("rows", gemv.model("rows", 1032, 520, "bf16", True, True), {"rows": "1..2048:opt=512"}, [{"rows": 37}]),
         ("codes", codes.model("rows", 520, 1032, "bf16", bits=4, block=128, zeros=True, bias=True), {"rows": "1..2048:opt=512"}, [{"rows": 37}]),
         ("attention", attention(), {"batch": "1..8:opt=1", "queries": "1..512:opt=256", "keys": "1..512:opt=256"},
          [{"batch": 3, "queries": 1, "keys": 40}, {"batch": 1, "queries": 70, "keys": 200}])]


def facts(kpc, artifact, sizes):
    dims = [word for name, size in sizes.items() for word in ("--dim", f"{name}={size}")]
    done = subprocess.run([kpc, "inspect", artifact, "--json", *dims], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["targets"][0]


def edges(target, most):
    """Sizes of the first dim at which a kernel's range begins or ends."""
    found = set()
    for kernel in target["kernels"]:
        for bound in re.findall(r"rows <= (\d+)", kernel.get("where", "")):
            found |= {int(bound), int(bound) + 1}
    return [{"rows": size} for size in sorted(found) if size <= most]


def main():
    kpc, driver, target, folder = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ, KPC_CUDA_DRIVER=driver, KPC_EMULATE_TARGET=target)
    failed = 0
    for name, model, ranges, tried in CASES:
        source, artifact = folder / f"{name}.onnx", folder / f"{name}.kpc"
        onnx.save(model, source)
        dims = [word for dim, text in ranges.items() for word in ("--dim", f"{dim}={text}")]
        subprocess.run([kpc, "compile", source, "--arch", target, *dims, "-o", artifact, "--no-cache", "--quiet"], check=True)
        tried = tried + edges(facts(kpc, artifact, tried[0]), 600)
        families = set()
        for sizes in tried:
            listed = facts(kpc, artifact, sizes)
            by_symbol = {kernel["symbol"]: kernel["family"] for kernel in listed["kernels"]}
            here = sorted({by_symbol[launch["kernel"]] for launch in listed["launches"]})
            families |= {family.split()[0] for family in here}
            done = subprocess.run([kpc, "verify", artifact, "--model", source, "-i", "random", "--device", "cuda:0", "--no-cache",
                                   *[word for dim, size in sizes.items() for word in ("--dim", f"{dim}={size}")]],
                                  env=environment, capture_output=True, text=True)
            right = done.returncode == 0
            print(f"{name} at {sizes}: {', '.join(here)}: {'right' if right else 'WRONG ' + done.stdout + done.stderr}", flush=True)
            failed += not right
        if len(families) < 2:
            print(f"WRONG: {name} has one family for all sizes: {families}")
            failed += 1
    print(f"{len(CASES)} models, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

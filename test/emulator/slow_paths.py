#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What misses the Tensor Cores is told where times are, too.   slow_paths.py KPC DRIVER FOLDER

A GEMM in exact fp32 has a warning of the compiler. `kpc bench` of its artifact says so as text, as JSON and on its page.
The same GEMM in tf32 has nothing to tell.
"""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "hostile"))
import onnx_writer as onnx  # noqa: E402

SLOW = "100% of the arithmetic runs on scalar units, not on Tensor Cores"


def expect(good, what):
    if not good:
        raise SystemExit("FAILED: " + what)


def main():
    kpc, driver, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    node = onnx.node("MatMul", ["a", "b"], ["c"], name="gemm")
    sizes = {"a": ["rows", 512], "b": [512, 512], "c": ["rows", 512]}
    infos = {name: onnx.value_info(name, size) for name, size in sizes.items()}
    (folder / "gemm.onnx").write_bytes(onnx.model(onnx.graph([node], [infos["a"], infos["b"]], [infos["c"]])))
    environment = dict(os.environ, KPC_CUDA_DRIVER=driver, KPC_EMULATE_TARGET="sm_80")
    for precision, is_slow in (("fp32", True), ("tf32", False)):
        artifact, page = folder / f"{precision}.kpc", folder / f"{precision}.html"
        subprocess.run([kpc, "compile", folder / "gemm.onnx", "--arch", "sm_80", "--precision", precision, "-q", "--no-cache",
                        "--dim", "rows=1..4096:opt=4096", "-o", artifact], check=True, stderr=subprocess.DEVNULL)
        bench = [kpc, "bench", artifact, "--device", "cuda:0", "--dim", "rows=8", "--iterations", "1", "--warmup", "0"]
        text, listed = (subprocess.run(bench + more, check=True, env=environment, capture_output=True, text=True).stdout
                        for more in (["--report", page], ["--json"]))
        paths = json.loads(listed)["slow_paths"]
        expect((SLOW in text) == is_slow, f"{precision}: the text tells {text}")
        expect(len(paths) == is_slow and all(SLOW in one and "What to do" in one for one in paths), f"{precision}: got {paths}")
        expect((SLOW in page.read_text(encoding="utf-8")) == is_slow, f"{precision}: the page tells something else")
    print("text, JSON and page tell what misses the Tensor Cores")


if __name__ == "__main__":
    main()

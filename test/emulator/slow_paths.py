#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What misses the Tensor Cores is told where times are, too.   slow_paths.py KPC DRIVER FOLDER

A GEMM in fp64 has a warning of the compiler. `kpc bench` of its artifact says so as text, as JSON and on its page.
The same GEMM in fp32, split or as tf32, has nothing to tell.
"""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "hostile"))
import onnx_writer as onnx  # noqa: E402

DOUBLE = 11  # TensorProto.DataType
SLOW = "100% of the arithmetic runs on scalar units, not on Tensor Cores"


def expect(good, what):
    if not good:
        raise SystemExit("FAILED: " + what)


def main():
    kpc, driver, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    node = onnx.node("MatMul", ["a", "b"], ["c"], name="gemm")
    sizes = {"a": ["rows", 512], "b": [512, 512], "c": ["rows", 512]}
    for name, element in (("gemm", onnx.FLOAT), ("wide", DOUBLE)):
        infos = {value: onnx.value_info(value, size, element) for value, size in sizes.items()}
        (folder / f"{name}.onnx").write_bytes(onnx.model(onnx.graph([node], [infos["a"], infos["b"]], [infos["c"]])))
    environment = dict(os.environ, KPC_CUDA_DRIVER=driver, KPC_EMULATE_TARGET="sm_80")
    for model, precision, is_slow in (("wide", "fp16", True), ("gemm", "fp32", False), ("gemm", "tf32", False)):
        artifact, page = folder / f"{precision}.kpc", folder / f"{precision}.html"
        subprocess.run([kpc, "compile", folder / f"{model}.onnx", "--arch", "sm_80", "--precision", precision, "-q", "--no-cache",
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

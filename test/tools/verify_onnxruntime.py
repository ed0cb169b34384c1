# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kpc verify --onnxruntime against the real one.

    python3 verify_onnxruntime.py --kpc build/dev/bin/kpc --out DIR
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "hostile"))
import onnx_writer as onnx  # noqa: E402

try:
    import onnxruntime  # noqa: F401
except ImportError:
    print("onnxruntime is not installed")
    sys.exit(77)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kpc", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    maker = pathlib.Path(__file__).resolve().parents[1] / "cli/Inputs/make_models.py"
    subprocess.run([sys.executable, maker, "."], cwd=given.out, check=True)
    environment = dict(os.environ, PATH=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")

    def kpc(*words):
        return subprocess.run([os.path.abspath(given.kpc), *words], cwd=given.out, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)

    def verify(artifact, model, code, text):
        done = kpc("verify", artifact, "--model", model, "--onnxruntime")
        print(done.stdout)
        assert done.returncode == code and text in done.stdout, (artifact, model, done.returncode)

    for name in ("mlp", "relu", "bent"):
        assert kpc("compile", f"{name}.onnx", "--arch", "host", "-q", "--no-cache").returncode == 0
    verify("mlp.kpc", "mlp.onnx", 0, "against mlp.onnx (run by onnxruntime)")
    verify("bent.kpc", "bent.onnx", 0, "right")
    verify("relu.kpc", "sub.onnx", 1, "onnxruntime does not run the model")
    # An artifact that computes another function drifts.
    assert kpc("compile", "bent.onnx", "--arch", "host", "--emit", "graph", "-o", "wrong.graph.mlir", "-q").returncode == 0
    wrong = given.out / "wrong.graph.mlir"
    wrong.write_text(wrong.read_text().replace("graph.sin", "graph.cos"))
    assert kpc("compile", "wrong.graph.mlir", "--arch", "host", "-o", "wrong.kpc", "-q").returncode == 0
    verify("wrong.kpc", "bent.onnx", 4, "error[KPC-V0001]")

    # The first value that departs: kpc takes a size that a scale gives by ONNX's text, onnxruntime the size that is left.
    grow = onnx.node("Resize", ["a", "", "scales"], ["b"], name="grow", mode="linear",
                     coordinate_transformation_mode="align_corners")
    nodes = [onnx.node("Relu", ["x"], ["a"], name="first"), grow, onnx.node("Sigmoid", ["b"], ["y"], name="last")]
    (given.out / "grown.onnx").write_bytes(onnx.model(onnx.graph(
        nodes, [onnx.value_info("x", ["n", 1, 5, 5])], [onnx.value_info("y", None)],
        [onnx.floats("scales", [4], [1, 1, 1.3, 1.3])])))
    assert kpc("compile", "grown.onnx", "--arch", "host", "-q", "--no-cache").returncode == 0
    done = kpc("verify", "grown.kpc", "--model", "grown.onnx", "--bisect", "--no-cache", "-o", "first")
    print(done.stdout)
    assert done.returncode == 4 and "'b' of node 'grow' (Resize) is the first that departs" in done.stdout
    # The command to go on with compares the node alone, which departs as well.
    command = re.search(r"go on with: (.*)", done.stdout)[1]
    found = dict(environment, PATH=f"{pathlib.Path(given.kpc).resolve().parent}:{environment['PATH']}")
    done = subprocess.run(command, shell=True, cwd=given.out, env=found, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=300)
    print(done.stdout)
    assert done.returncode == 4 and "against first/node.onnx (run by onnxruntime)" in done.stdout


main()

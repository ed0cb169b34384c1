#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random operators: mean, variance and range of what is drawn, and the same numbers on every target and in every run.

    python3 moments.py --kpc FILE --work-dir FOLDER [--other-arch sm_90a --other-device emulate:sm_90a]

A bound is five standard errors: the numbers are fixed, so that a right generator stays right. Needs onnx and numpy.
"""

import argparse
import pathlib
import subprocess
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

COUNT = 1 << 14
SIZES = [4, COUNT // 4]
SHARES = np.array([0.1, 0.2, 0.3, 0.4])


def model(nodes):
    graph = helper.make_graph(nodes, "graph", [helper.make_tensor_value_info("p", TensorProto.FLOAT, SIZES),
                                               helper.make_tensor_value_info("logits", TensorProto.FLOAT, [2, 4])],
                              [onnx.ValueInfoProto(name=node.output[0]) for node in nodes])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def node(op, name, *inputs, **attributes):
    return helper.make_node(op, list(inputs), [name], name=name, **attributes)


NODES = [
    node("RandomUniform", "uniform", shape=SIZES, seed=1.0), node("RandomUniform", "again", shape=SIZES, seed=1.0),
    node("RandomUniform", "other", shape=SIZES, seed=2.0), node("RandomUniform", "unseeded", shape=SIZES),
    node("RandomUniform", "range", shape=SIZES, seed=3.0, low=-2.0, high=6.0, dtype=TensorProto.DOUBLE),
    node("RandomUniformLike", "half", "p", seed=4.0, dtype=TensorProto.FLOAT16),
    node("RandomNormal", "normal", shape=SIZES, seed=5.0), node("RandomNormalLike", "shifted", "p", seed=6.0, mean=3.0, scale=0.5),
    node("RandomNormal", "double", shape=SIZES, seed=7.0, dtype=TensorProto.DOUBLE),
    node("Bernoulli", "coins", "p", seed=8.0, dtype=TensorProto.BOOL),
    node("Multinomial", "classes", "logits", seed=9.0, sample_size=COUNT, dtype=TensorProto.INT64),
]


def run(options, arch, device):
    work = options.work_dir / arch.replace(":", "-")
    work.mkdir(parents=True, exist_ok=True)
    onnx.save(model(NODES), work / "model.onnx")
    np.save(work / "p.npy", np.full(SIZES, 0.25, np.float32))
    np.save(work / "logits.npy", np.log(np.stack([SHARES, SHARES[::-1]])).astype(np.float32))
    for command in (["compile", work / "model.onnx", "--arch", arch, "-O0", "-o", work / "model.kpc", "--quiet"],
                    ["run", work / "model.kpc", "--output-dir", work / "out", "--device", device, "--input", f"p={work}/p.npy",
                     "--input", f"logits={work}/logits.npy"]):
        subprocess.run([str(word) for word in [options.kpc, *command]], check=True, timeout=600)
    return {node.output[0]: np.load(work / "out" / f"{node.output[0]}.npy") for node in NODES}


def expect(problems, what, got, want, bound):
    if not abs(got - want) <= bound:
        problems.append(f"{what} is {got:.5f}, should be {want:.5f} within {bound:.5f}")


def philox(count, seed):
    """The first of the two words of each element (Philox 2x32-10)."""
    low = np.uint64(0xFFFFFFFF)
    place = np.arange(count, dtype=np.uint64)
    a, c, key = place & low, place >> np.uint64(32), int(np.float32(seed).view(np.uint32))
    for _ in range(10):
        product = a * np.uint64(0xD256D193)
        a, c = (product >> np.uint64(32)) ^ np.uint64(key) ^ c, product & low
        key = (key + 0x9E3779B9) & 0xFFFFFFFF
    return a


def check_moments(problems, name, x, mean, variance, kurtosis):
    """The fourth moment over the squared variance bounds the variance's own error."""
    x = x.astype(np.float64).ravel()
    expect(problems, f"{name}: mean", x.mean(), mean, 5 * np.sqrt(variance / x.size))
    expect(problems, f"{name}: variance", x.var(), variance, 5 * variance * np.sqrt((kurtosis - 1) / x.size))
    neighbours = np.corrcoef(x[:-1], x[1:])[0, 1]
    expect(problems, f"{name}: correlation of neighbours", neighbours, 0, 5 / np.sqrt(x.size))


def check(drawn):
    problems = []
    for name in ("uniform", "other", "unseeded", "half"):
        check_moments(problems, name, drawn[name], 0.5, 1 / 12, 1.8)
        if drawn[name].min() < 0 or drawn[name].max() >= 1:
            problems.append(f"{name}: leaves [0, 1)")
    check_moments(problems, "range", drawn["range"], 2, 64 / 12, 1.8)
    for name, mean, deviation in (("normal", 0, 1), ("shifted", 3, 0.5), ("double", 0, 1)):
        check_moments(problems, name, drawn[name], mean, deviation**2, 3)
        tail = np.mean(np.abs(drawn[name] - mean) > 2 * deviation)
        expect(problems, f"{name}: share beyond two deviations", tail, 0.0455, 5 * np.sqrt(0.0455 * 0.9545 / COUNT))
    check_moments(problems, "coins", drawn["coins"], 0.25, 0.1875, 2.34)
    for row, shares in zip(drawn["classes"], (SHARES, SHARES[::-1])):
        for label, share in enumerate(shares):
            expect(problems, f"class {label}", np.mean(row == label), share, 5 * np.sqrt(share * (1 - share) / COUNT))
    # Bit for bit: numbers stay what they are from release to release.
    words = philox(COUNT, 1.0).reshape(SIZES)
    if not np.array_equal(drawn["uniform"], (words >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)):
        problems.append("uniform: these are not the numbers of Philox 2x32-10")
    if not np.array_equal(drawn["uniform"], drawn["again"]) or np.array_equal(drawn["uniform"], drawn["other"]):
        problems.append("a seed does not fix what is drawn")
    for first, second in (("uniform", "other"), ("uniform", "unseeded")):
        both = np.corrcoef(drawn[first].ravel(), drawn[second].ravel())[0, 1]
        expect(problems, f"correlation of {first} and {second}", both, 0, 5 / np.sqrt(COUNT))
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--other-arch", default="portable")
    parser.add_argument("--other-device", default="emulate:sm_80")
    options = parser.parse_args()
    drawn = run(options, "host", "host")
    problems = check(drawn)
    other = run(options, options.other_arch, options.other_device)
    for name, x in drawn.items():
        # The same numbers; functions of them may be rounded otherwise.
        if not np.allclose(x.astype(np.float64), other[name].astype(np.float64), 1e-4, 1e-5):
            problems.append(f"{name}: {options.other_arch} draws other numbers")
    print("\n".join(problems))
    print(f"{len(drawn)} results, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

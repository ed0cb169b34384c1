#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests what judges random graphs: exact.py's own operators, and what it takes to be rounding.

    python3 exact_operators.py

Exits 0 where all is right, 77 (a skip) where a peer is not installed, else 1.
"""

import sys

SKIPPED = 77

try:
    import numpy as np
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(SKIPPED)

import exact

BIT = 2.0**-24


def model_of(nodes, feed):
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in feed.items()]
    outputs = [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def rounding(nodes, feed, samples=exact.SAMPLES[0]):
    """The exact result, and by how much rounding may change an element of it at most."""
    model = model_of(nodes, feed)
    sure = exact.results(model, feed)
    (name, changes), = exact.rounding(model, feed, sure, BIT, samples).items()
    return sure[name], changes.max()


def wrong_operators(random):
    """Numbers near 1 are no matter for onnxruntime."""
    x = random.uniform(-2, 2, (2, 6, 9, 8)).astype(np.float32)
    parts = {"y": random.uniform(-1, 1, (8, )).astype(np.float32), "z": np.array(0.5, np.float32)}
    sizes = {"scale": random.uniform(-1, 1, (6, )).astype(np.float32), "bias": random.uniform(-1, 1, (6, )).astype(np.float32)}
    cases = [
        ("Mean", {"y": parts["y"], "x": x, "z": parts["z"]}, {}),
        ("LRN", {"x": x}, {"size": 1}),
        ("LRN", {"x": x}, {"size": 5, "alpha": 0.5}),
        ("GlobalLpPool", {"x": x}, {"p": 1}),
        ("GlobalLpPool", {"x": x}, {"p": 2}),
        ("GroupNormalization", {"x": x, **sizes}, {"num_groups": 3, "epsilon": 1e-2}),
        ("MaxPool", {"x": x}, {"kernel_shape": [3, 2], "pads": [1, 1, 0, 1]}),
        ("MaxPool", {"x": x}, {"kernel_shape": [2, 3], "pads": [0, 1, 1, 1], "strides": [2, 3], "dilations": [2, 1]}),
    ]
    kernel = {"w": random.uniform(-1, 1, (4, 3, 3, 2)).astype(np.float32), "b": random.uniform(-1, 1, (4, )).astype(np.float32)}
    cases += [("Conv", {"x": x, **kernel}, {"group": 2, "kernel_shape": [3, 2], "pads": [1, 0, 2, 1], "dilations": [2, 1], "strides": [1, 2]}),
              ("Conv", {"x": x[:, :, 0], "w": kernel["w"][:, :, 0]}, {"group": 2, "dilations": [3]})]
    for operator, feed, attributes in cases:
        model = model_of([helper.make_node(operator, list(feed), ["r"], **attributes)], feed)
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        want, got = session.run(None, feed)[0], exact.results(model, feed)["r"]
        if got.shape != want.shape or not np.allclose(got, want, rtol=1e-4, atol=1e-5):
            yield f"{operator} {attributes}: {got.ravel()[:3]} {got.shape}, expected {want.ravel()[:3]} {want.shape}"


def wrong_rounding():
    x = {"x": (np.arange(12, dtype=np.float32).reshape(4, 3) - 4) / 8}
    floored = [helper.make_node("Add", ["x", "x"], ["twice"]), helper.make_node("Floor", ["twice"], ["r"])]
    if (change := rounding(floored, x)[1]) != 0:
        yield f"a sum that is exact is floored: it changes by {change}, expected 0"
    # The mean of equal numbers may be off by a last bit of theirs, of which no change of the input tells.
    rows = {"x": np.full((4, 3), 20.3, np.float32), "scale": np.ones(3, np.float32)}
    norm = [helper.make_node("LayerNormalization", ["x", "scale"], ["r"], epsilon=1e-2)]
    result, change = rounding(norm, rows)
    if result.any() or not BIT * 20 < change < BIT * 20 * 100:
        yield f"a norm of equal numbers is {result.ravel()[:3]} and changes by {change}, expected 0 and some 1e-5"
    # A negative number has whole powers alone.
    power = {**x, "p": np.array(2, np.float32)}
    result, change = rounding([helper.make_node("Pow", ["x", "p"], ["s"]), helper.make_node("Sqrt", ["s"], ["r"])], power)
    if not change < 1e-6:
        yield f"a root of squares changes by {change}, expected less than 1e-6"


    # The sine of a scalar of 79 turns with a last bit of it, which three samples may cancel; not with many.
    scalar = {"x": np.array([8.870977], np.float32), "y": np.array([1.0000001], np.float32)}
    nodes = [helper.make_node("Mul", ["x", "y"], ["s"]), helper.make_node("Mul", ["s", "s"], ["t"]), helper.make_node("Sin", ["t"], ["r"])]
    change = rounding(nodes, scalar, exact.SAMPLES[-1])[1]
    if not BIT * 70 < change < BIT * 600:
        yield f"the sine of a square changes by {change}, expected several last bits of the square"


def wrong_extremes():
    """Where ONNX's own operators are wrong, or its text says nothing."""
    inf, nan = np.inf, np.nan
    rows = np.array([[1, inf], [-inf, -inf], [nan, 1], [-inf, 2], [88, -100], [3e38, -3e38]], np.float32)
    axes = numpy_helper.from_array(np.array([1]), "axes")
    constant = helper.make_node("Constant", [], ["axes"], value=axes)
    summed = [constant, helper.make_node("ReduceLogSumExp", ["x", "axes"], ["r"], keepdims=0)]
    to_integer = [helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT64), helper.make_node("Cast", ["i"], ["r"], to=TensorProto.FLOAT)]
    scales = helper.make_node("Constant", [], ["s"], value=numpy_helper.from_array(np.array([1, 2], np.float32), "s"))
    resized = [scales, helper.make_node("Resize", ["x", "", "s"], ["r"], mode="nearest", coordinate_transformation_mode="asymmetric",
                                        nearest_mode="floor")]
    kept = np.array([[inf, -2.5, nan]], np.float32)
    weights = helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(np.array([[[1, -1]]], np.float32), "w"))
    dilated = [weights, helper.make_node("Conv", ["x", "w"], ["r"], dilations=[2])]
    for name, nodes, x, want in [
        ("ReduceLogSumExp", summed, rows, [inf, -inf, nan, 2, 88, 3e38]),
        ("ReduceLogSumExp of nothing", summed, np.empty((2, 0), np.float32), [-inf, -inf]),
        ("Cast", to_integer, np.array([inf, -inf, nan, 1e30, -2.5], np.float32), [2.0**63, -2.0**63, 0, 2.0**63, -2]),
        ("Resize", resized, kept, np.repeat(kept, 2, axis=1)),
        ("Conv", dilated, np.array([[[1, inf, 2, 3]]], np.float32), [[[-1, inf]]]),
    ]:
        model = model_of(nodes, {"x": x})
        got = exact.results(model, {"x": x})["r"]
        if exact.undecided(model, {"x": x}):
            yield f"{name} is undecided, expected a result"
        if not np.array_equal(got, np.array(want, np.float32), equal_nan=True):
            yield f"{name}: {got}, expected {want}"


def wrong_undecided():
    """A linear Resize of infinities and what reads it, and what is multiplied by a softmax of nothing."""
    scales = helper.make_node("Constant", [], ["s"], value=numpy_helper.from_array(np.array([1, 2], np.float32), "s"))
    nodes = [scales, helper.make_node("Resize", ["x", "", "s"], ["y"], mode="linear"), helper.make_node("Neg", ["y"], ["r"])]
    for x, want in (np.array([[1, np.inf]], np.float32), {"y", "r"}), (np.ones((1, 2), np.float32), set()):
        if (got := exact.undecided(model_of(nodes, {"x": x}), {"x": x})) != want:
            yield f"a linear Resize of {x} leaves {got} undecided, expected {want}"
    softmax = helper.make_node("Softmax", ["x"], ["y"])
    rows = np.array([[1, -np.inf], [-np.inf, -np.inf]], np.float32)
    for reader, x, want in [("MatMul", rows, {"y", "r"}), ("MatMul", rows[:1].repeat(2, axis=0), set()), ("Add", rows, set())]:
        if (got := exact.undecided(model_of([softmax, helper.make_node(reader, ["y", "x"], ["r"])], {"x": x}), {"x": x})) != want:
            yield f"{reader} of a softmax of {x} leaves {got} undecided, expected {want}"


def main():
    problems = [*wrong_operators(np.random.Generator(np.random.PCG64(0))), *wrong_rounding(), *wrong_extremes(), *wrong_undecided()]
    print("\n".join(problems) or "all is right")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

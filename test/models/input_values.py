#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values that only the run knows: several through one artifact, against onnxruntime.

    input_values.py KPC FOLDER [--only NAME]

Ends with 77 where onnx or onnxruntime is not installed.
"""

import pathlib
import shutil
import subprocess
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(77)

FLOAT, INT64, INT32, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL
RANDOM = np.random.default_rng(7)


def value(name, dims, element=FLOAT):
    return helper.make_tensor_value_info(name, element, dims)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=f"{op}_{outputs[0]}", **attributes)


def model(nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "values", inputs, outputs, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def normal(*dims):
    return RANDOM.normal(size=dims).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def of_input(op, dims, count, out, element=INT64, **attributes):
    """y = op(x, n), the sizes of y by names that no input has."""
    return model([node(op, ["x", "n"], ["y"], **attributes)], [value("x", dims), value("n", [count], element)],
                 [value("y", out)])


def runs(name, arrays, *values):
    return [{**arrays, name: v} for v in values]


def expand():
    return of_input("Expand", [1, 3], 2, ["a", 3]), runs("n", {"x": normal(1, 3)}, ints(4, 3), ints(7, 3), ints(0, 3))


def tile():
    return of_input("Tile", [2, 3], 2, ["a", "b"]), runs("n", {"x": normal(2, 3)}, ints(2, 2), ints(1, 5), ints(0, 5))


def reshape():
    return of_input("Reshape", ["rows", 12], 2, ["a", "b"]), runs(
        "n", {"x": normal(5, 12)}, ints(6, 10), ints(1, 60), ints(0, 12), ints(7, 9))


def reshape_to_the_rest():
    nodes = [node("Concat", ["n", "rest"], ["to"], axis=0), node("Reshape", ["x", "to"], ["y"])]
    return model(nodes, [value("x", ["rows", 12]), value("n", [1], INT64)], [value("y", ["a", "b"])],
                 [constant("rest", ints(-1))]), runs("n", {"x": normal(5, 12)}, ints(6), ints(15), ints(7))


def pad(mode):
    def build():
        return of_input("Pad", ["rows", 4], 4, ["a", "b"], mode=mode), runs(
            "n", {"x": normal(5, 4)}, ints(1, 2, 3, 0), ints(0, 0, 0, 0), ints(0, 1, 4, 3))
    return build


def slices():
    nodes = [node("Slice", ["x", "start", "end"], ["y"])]
    inputs = [value("x", ["rows", 4]), value("start", [1], INT64), value("end", [1], INT64)]
    return model(nodes, inputs, [value("y", ["a", 4])]), [
        {"x": normal(rows, 4), "start": ints(start), "end": ints(end)}
        for rows, start, end in ((9, 2, 7), (5, 0, 100), (5, 4, 2), (6, 5, 6))]


def last_rows():
    nodes = [node("Neg", ["n"], ["start"]), node("Slice", ["x", "start", "end"], ["y"])]
    return model(nodes, [value("x", ["rows", 4]), value("n", [1], INT64)], [value("y", ["a", 4])],
                 [constant("end", ints(2**62))]), runs("n", {"x": normal(5, 4)}, ints(2), ints(0), ints(9), ints(5))


def position():
    """A decoder's step: a row of a table, by the number of the position."""
    nodes = [node("Unsqueeze", ["past", "zero"], ["start"]), node("Add", ["start", "one"], ["end"]),
             node("Slice", ["table", "start", "end"], ["row"]), node("Add", ["x", "row"], ["y"])]
    return model(nodes, [value("x", ["rows", 8]), value("past", [], INT64)], [value("y", ["rows", 8])],
                 [constant("zero", ints(0)), constant("one", ints(1)), constant("table", normal(32, 8))]), runs(
                     "past", {"x": normal(1, 8)}, np.array(0), np.array(17), np.array(31))


def one_row():
    """The same without its axis."""
    nodes = [node("Unsqueeze", ["past", "zero"], ["start"]), node("Add", ["start", "one"], ["end"]),
             node("Slice", ["table", "start", "end"], ["rows"]), node("Squeeze", ["rows", "zero"], ["row"]), node("Add", ["x", "row"], ["y"])]
    return model(nodes, [value("x", [8]), value("past", [], INT64)], [value("y", [8])],
                 [constant("zero", ints(0)), constant("one", ints(1)), constant("table", normal(32, 8))]), runs(
                     "past", {"x": normal(8)}, np.array(0), np.array(17), np.array(31))


def split():
    nodes = [node("Split", ["x", "n"], ["a", "b"], axis=0)]
    return model(nodes, [value("x", ["rows", 4]), value("n", [2], INT64)], [value("a", ["p", 4]), value("b", ["q", 4])]), runs(
        "n", {"x": normal(5, 4)}, ints(3, 2), ints(0, 5), ints(2, 2))


def counting():
    nodes = [node("Range", ["zero", "n", "step"], ["r"]), node("Cast", ["r"], ["f"], to=FLOAT), node("Mul", ["f", "x"], ["y"])]
    inputs = [value("x", [1]), value("n", [], INT32), value("step", [], INT32)]
    return model(nodes, inputs, [value("y", ["a"])], [constant("zero", np.int32(0))]), [
        {"x": normal(1), "n": np.array(n, np.int32), "step": np.array(step, np.int32)}
        for n, step in ((7, 2), (3, 5), (0, 1), (3, 0))]


def top():
    nodes = [node("TopK", ["x", "n"], ["y", "places"])]
    return model(nodes, [value("x", [3, 20]), value("n", [1], INT64)], [value("y", [3, "a"]), value("places", [3, "a"], INT64)]), runs(
        "n", {"x": normal(3, 20)}, ints(5), ints(20), ints(1), ints(21))


def resize():
    nodes = [node("Cast", ["size"], ["whole"], to=INT64), node("Concat", ["front", "whole"], ["to"], axis=0),
             node("Resize", ["x", "", "", "to"], ["y"], mode="linear")]
    return model(nodes, [value("x", [1, 2, 4, 4]), value("size", [2])], [value("y", [1, 2, "h", "w"])],
                 [constant("front", ints(1, 2))]), runs(
                     "size", {"x": normal(1, 2, 4, 4)}, np.float32([8, 8]), np.float32([3, 9]), np.float32([1, 4]))


def one_hot():
    nodes = [node("OneHot", ["i", "n", "v"], ["y"])]
    return model(nodes, [value("i", ["rows"], INT64), value("n", [1], INT64), value("v", [2])], [value("y", ["rows", "a"])]), runs(
        "n", {"i": ints(0, 2, -1), "v": np.float32([-1, 2])}, ints(4), ints(7))


def zeros():
    nodes = [node("Add", ["n", "n"], ["twice"]), node("ConstantOfShape", ["twice"], ["z"]), node("Add", ["z", "x"], ["y"])]
    return model(nodes, [value("x", [1]), value("n", [2], INT64)], [value("y", ["a", "b"])]), runs(
        "n", {"x": normal(1)}, ints(2, 3), ints(5, 1))


def loop():
    body = helper.make_graph([node("Identity", ["go"], ["on"]), node("Add", ["a", "a"], ["b"]), node("Identity", ["b"], ["seen"])],
                             "body", [value("i", [], INT64), value("go", [], BOOL), value("a", [2])],
                             [value("on", [], BOOL), value("b", [2]), value("seen", [2])])
    return model([node("Loop", ["n", "c", "x"], ["y", "all"], body=body)],
                 [value("n", [], INT64), value("c", [], BOOL), value("x", [2])], [value("y", [2]), value("all", ["a", 2])]), [
                     {"n": np.array(n), "c": np.array(c), "x": normal(2)} for n, c in ((3, True), (9, True), (9, False), (0, True))]


def reduced():
    """The axis decides what is summed, but no size."""
    return of_input("ReduceSum", [3, 3, 4], 1, [3, 4], keepdims=0), runs("n", {"x": normal(3, 3, 4)}, ints(0), ints(1), ints(-2))


def cumulative():
    nodes = [node("CumSum", ["x", "n"], ["y"], reverse=1)]
    return model(nodes, [value("x", ["rows", 3, 4]), value("n", [], INT64)], [value("y", ["rows", 3, 4])]), runs(
        "n", {"x": normal(5, 3, 4)}, np.array(0), np.array(1), np.array(-1))


def blocks(nodes):
    """Rows are filled up to whole blocks of eight, and any number of rows runs: `rest` is how many are added."""
    nodes = [node("Shape", ["x"], ["sizes"]), node("Gather", ["sizes", "first"], ["n"]), *nodes,
             node("Concat", ["front", "rest", "front_one"], ["pads"], axis=0), node("Pad", ["x", "pads"], ["long"]),
             node("Reshape", ["long", "parts"], ["y"])]
    constants = {"first": ints(0), "k": ints(8), "front": ints(0, 0), "front_one": ints(0), "one": ints(1), "parts": ints(-1, 8, 4)}
    return model(nodes, [value("x", ["rows", 4])], [value("y", None)], [constant(n, v) for n, v in constants.items()]), [
        {"x": normal(n, 4)} for n in (1, 7, 8, 13)]


def blocks_short():
    return blocks([node("Neg", ["n"], ["m"]), node("Mod", ["m", "k"], ["rest"])])


def blocks_long():
    return blocks([node("Mod", ["n", "k"], ["over"]), node("Sub", ["k", "over"], ["m"]), node("Mod", ["m", "k"], ["rest"])])


def blocks_quotient():
    return blocks([node("Add", ["n", "k"], ["a"]), node("Sub", ["a", "one"], ["b"]), node("Div", ["b", "k"], ["q"]),
                   node("Mul", ["q", "k"], ["whole"]), node("Sub", ["whole", "n"], ["rest"])])


CASES = {case.__name__: case for case in (expand, tile, reshape, reshape_to_the_rest, slices, last_rows, position, one_row, split, counting,
                                          top, resize, one_hot, zeros, loop, reduced, cumulative,
                                          blocks_short, blocks_long, blocks_quotient)}
CASES |= {f"pad_{mode}": pad(mode) for mode in ("constant", "edge", "reflect", "wrap")}


def call(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def check(name, kpc, folder):
    """What is wrong; none if all is right."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    network, inputs = CASES[name]()
    onnx.save(network, folder / "model.onnx")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    reference = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    code, words = call([kpc, "compile", folder / "model.onnx", "--arch", "host", "-O0", "-q", "-o", folder / "model.kpc"])
    if code:
        return words
    for arrays in inputs:
        command = [kpc, "run", folder / "model.kpc", "-q", "--output-dir", folder / "out"]
        for key, array in arrays.items():
            np.save(folder / f"{key}.npy", array)
            command += ["--input", f"{key}={folder / key}.npy"]
        code, words = call(command)
        given = {key: array.tolist() for key, array in arrays.items() if array.size < 5}
        try:
            wanted = reference.run(None, arrays)
        except Exception:  # onnxruntime's own types of errors: kpc must refuse as well
            if code != 1:
                return f"{given} is refused by onnxruntime, but kpc run ends with {code}"
            continue
        if code:
            return f"{given}: {words}"
        for port, right in zip(reference.get_outputs(), wanted):
            found = np.load(folder / "out" / f"{port.name}.npy")
            if found.shape != right.shape or not np.allclose(found, right, rtol=1e-5, atol=1e-6):
                return f"{given}: {port.name} has {found.shape}, expected {right.shape}, or other values"
    return None


def main():
    kpc, folder = sys.argv[1:3]
    names = sys.argv[4].split(",") if len(sys.argv) > 4 else list(CASES)
    failed = 0
    for name in names:
        problem = check(name, kpc, pathlib.Path(folder) / name)
        if problem:
            failed += 1
            print(f"WRONG: {name}: {problem}")
    print(f"{len(names)} models, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

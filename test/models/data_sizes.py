#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes that data decides: runs with other data through one artifact, against onnxruntime.

    data_sizes.py KPC FOLDER [--only NAME] [--arch ARCH --device DEVICE]

Ends with 77 where onnx or onnxruntime is not installed.
"""

import argparse
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
RANDOM = np.random.default_rng(11)


def value(name, dims, element=FLOAT):
    return helper.make_tensor_value_info(name, element, dims)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=f"{op}_{outputs[0]}", **attributes)


def model(nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "sizes", inputs, outputs, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def sparse(*dims, share=0.4):
    """Numbers of which only some are not zero."""
    kept = RANDOM.random(dims) < share
    return np.where(kept, RANDOM.normal(size=dims), 0).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def non_zero():
    nodes = [node("NonZero", ["x"], ["at"]), node("Transpose", ["at"], ["rows"]), node("GatherND", ["x", "rows"], ["found"]),
             node("Exp", ["found"], ["y"]), node("ReduceSum", ["y"], ["sum"], keepdims=0)]
    outputs = [value("at", [2, "n"], INT64), value("y", ["n"]), value("sum", [])]
    return model(nodes, [value("x", ["a", "b"])], outputs), [
        {"x": x} for x in (sparse(5, 7), sparse(30, 20), sparse(5, 7, share=0), sparse(1, 1, share=1), sparse(0, 3))]


def one_after_another():
    """What is counted among what was found, and a product of the two sizes."""
    nodes = [node("NonZero", ["x"], ["at"]), node("Reshape", ["at", "flat"], ["i"]), node("Gather", ["x", "i"], ["v"]),
             node("Greater", ["v", "limit"], ["flags"]), node("Compress", ["v", "flags"], ["w"], axis=0),
             node("Unsqueeze", ["v", "one"], ["column"]), node("Sub", ["column", "w"], ["pairs"]),
             node("Shape", ["pairs"], ["shape"])]
    outputs = [value("v", ["n"]), value("w", ["m"]), value("pairs", ["n", "m"]), value("shape", [2], INT64)]
    return model(nodes, [value("x", ["a"]), value("limit", [])], outputs,
                 [constant("flat", ints(-1)), constant("one", ints(1))]), [
                     {"x": sparse(size), "limit": np.array(limit, np.float32)}
                     for size, limit in ((40, 0.2), (40, -9), (40, 9), (7, 0))]


def independent():
    """Two numbers, known at the same time, and a branch that needs neither."""
    nodes = [node("NonZero", ["x"], ["p"]), node("NonZero", ["y"], ["q"]), node("Concat", ["p", "q"], ["both"], axis=1),
             node("Mul", ["x", "two"], ["twice"])]
    outputs = [value("both", [1, "n"], INT64), value("twice", ["a"])]
    return model(nodes, [value("x", ["a"]), value("y", ["b"])], outputs, [constant("two", np.float32(2))]), [
        {"x": sparse(a), "y": sparse(b)} for a, b in ((5, 9), (20, 3), (5, 9))]


def compress():
    nodes = [node("Greater", ["x", "zero"], ["flags"]), node("ReduceMax", ["f", "one"], ["best"], keepdims=0),
             node("Greater", ["best", "zero"], ["rows"]), node("Compress", ["f", "rows"], ["y"], axis=0)]
    return model(nodes[1:], [value("f", ["a", 6])], [value("y", ["n", 6])],
                 [constant("zero", np.float32(0)), constant("one", ints(1))]), [{"f": sparse(a, 6, share=0.2)} for a in (9, 30, 1)]


def unique(**attributes):
    def build():
        nodes = [node("Unique", ["x"], ["y", "i", "back", "counts"], **attributes)]
        outputs = [value("y", None), value("i", ["n"], INT64), value("back", ["m"], INT64), value("counts", ["n"], INT64)]
        values = np.float32([-1, 0, 2])
        return model(nodes, [value("x", ["a", 3])], outputs), [
            {"x": values[RANDOM.integers(0, 3, (a, 3))]} for a in (5, 40, 1)], "--dim", "a=1..50"
    return build


def computed_count():
    """k of a TopK, and the shape and the trip count that follow from data."""
    nodes = [node("ReduceSum", ["flags"], ["k"], keepdims=0), node("Reshape", ["k", "shape"], ["k1"]),
             node("TopK", ["x", "k1"], ["top", "places"]), node("Expand", ["row", "k1"], ["rows"]),
             node("Range", ["zero", "k", "step"], ["count"])]
    outputs = [value("top", ["a"]), value("places", ["a"], INT64), value("rows", ["b"]), value("count", ["c"], INT64)]
    return model(nodes, [value("x", [20]), value("flags", [20], INT64), value("row", [1])], outputs,
                 [constant("shape", ints(1)), constant("zero", np.int64(0)), constant("step", np.int64(1))]), [
                     {"x": sparse(20, share=1), "flags": RANDOM.integers(0, 2, 20), "row": sparse(1)} for _ in range(3)]


def computed_loop():
    body = helper.make_graph([node("Add", ["s", "x"], ["s2"]), node("Identity", ["c"], ["c2"]), node("Mul", ["s2", "s2"], ["out"])],
                             "body", [value("i", [], INT64), value("c", [], BOOL), value("s", [4])],
                             [value("c2", [], BOOL), value("s2", [4]), value("out", [4])])
    nodes = [node("ReduceMax", ["trips"], ["t"], keepdims=0), node("Loop", ["t", "", "x"], ["last", "all"], body=body)]
    return model(nodes, [value("x", [4]), value("trips", [3], INT64)], [value("last", [4]), value("all", ["n", 4])]), [
        {"x": sparse(4), "trips": ints(*t)} for t in ((1, 5, 2), (40, 1, 1), (1, 0, 0))]


def ended_loop():
    """A loop that its own data ends, or that does not begin; what it gives is as long as it ran."""
    body = helper.make_graph([node("Add", ["s", "x"], ["s2"]), node("ReduceSum", ["s2"], ["sum"], keepdims=0), node("Less", ["sum", "limit"], ["c2"]),
                              node("Mul", ["s2", "s2"], ["out"])],
                             "body", [value("i", [], INT64), value("c", [], BOOL), value("s", [4])],
                             [value("c2", [], BOOL), value("s2", [4]), value("out", [4])])
    nodes = [node("Greater", ["limit", "start"], ["begins"]), node("Loop", ["most", "begins", "x"], ["last", "all"], body=body)]
    weights = [constant("start", np.float32(0)), constant("most", np.int64(20))]
    return model(nodes, [value("x", [4]), value("limit", [])], [value("last", [4]), value("all", ["n", 4])], weights), [
        {"x": np.full(4, 0.5, np.float32), "limit": np.array(limit, np.float32)} for limit in (7, 1, -1, 1000)]


def branch_sizes():
    """Branches of different sizes, one of which may be none."""
    then = helper.make_graph([node("Concat", ["x", "x"], ["t"], axis=0)], "then", [], [value("t", None)])
    other = helper.make_graph([node("Slice", ["x", "zero", "one"], ["e"])], "else", [], [value("e", None)])
    nodes = [node("ReduceSum", ["x"], ["sum"], keepdims=0), node("Greater", ["sum", "nought"], ["c"]),
             node("If", ["c"], ["picked"], then_branch=then, else_branch=other), node("Relu", ["picked"], ["y"])]
    weights = [constant("zero", ints(0)), constant("one", ints(1)), constant("nought", np.float32(0))]
    return model(nodes, [value("x", ["rows", 3])], [value("y", ["n", 3])], weights), [
        {"x": np.full((rows, 3), sign, np.float32)} for rows, sign in ((4, 1), (4, -1), (1, -1), (0, 1))]


def boxes(batch, count):
    low = RANDOM.random((batch, count, 2)) * 50
    return np.concatenate([low, low + 1 + RANDOM.random((batch, count, 2)) * 30], 2).astype(np.float32)


def detector(center):
    """The end of a detector of one stage: boxes and classes of a head, the kept ones gathered."""
    def build():
        nodes = [node("Conv", ["image", "w"], ["head"]), node("Reshape", ["head", "shape"], ["flat"]),
                 node("Transpose", ["flat"], ["rows"], perm=[0, 2, 1]), node("Split", ["rows", "parts"], ["where", "what"], axis=2),
                 node("Sigmoid", ["what"], ["score"]), node("Transpose", ["score"], ["scores"], perm=[0, 2, 1]),
                 node("Abs", ["where"], ["size"]), node("Add", ["size", "grid"], ["boxes"]),
                 node("NonMaxSuppression", ["boxes", "scores", "most", "iou", "least"], ["kept"], center_point_box=center),
                 node("Gather", ["kept", "columns"], ["box_at"], axis=1), node("GatherND", ["boxes", "box_at"], ["kept_boxes"]),
                 node("GatherND", ["scores", "kept"], ["kept_scores"]), node("Gather", ["kept", "second"], ["classes"], axis=1)]
        outputs = [value("kept", ["n", 3], INT64), value("kept_boxes", ["n", 4]), value("kept_scores", ["n"]), value("classes", ["n"], INT64)]
        constants = [constant("w", RANDOM.normal(size=(7, 3, 1, 1)).astype(np.float32)), constant("shape", ints(0, 7, -1)),
                     constant("parts", ints(4, 3)), constant("grid", boxes(1, 64)), constant("most", ints(10)),
                     constant("iou", np.float32([0.3])), constant("least", np.float32([0.6])), constant("columns", ints(0, 2)),
                     constant("second", np.int64(1))]
        return model(nodes, [value("image", ["batch", 3, 8, 8])], outputs, constants), [
            {"image": RANDOM.normal(size=(batch, 3, 8, 8)).astype(np.float32) * scale} for batch, scale in ((1, 1), (3, 2), (1, 0.01))]
    return build


def suppression_of_all():
    """No class keeps a box; and more are asked for than there are."""
    nodes = [node("NonMaxSuppression", ["b", "s", "most", "iou", "least"], ["kept"])]
    inputs = [value("b", ["batch", "boxes", 4]), value("s", ["batch", "classes", "boxes"]), value("most", [1], INT64),
              value("iou", [1]), value("least", [1])]
    return model(nodes, inputs, [value("kept", ["n", 3], INT64)]), [
        {"b": boxes(batch, count), "s": RANDOM.random((batch, classes, count)).astype(np.float32), "most": ints(most),
         "iou": np.float32([iou]), "least": np.float32([least])}
        for batch, classes, count, most, iou, least in ((1, 2, 9, 3, 0.5, 2), (2, 1, 9, 100, 0.0, 0.1), (1, 1, 30, 7, 1.0, 0.5),
                                                        (1, 3, 1, 1, 0.5, 0.0))]


def resized(by, **attributes):
    """Sizes or scales that follow from data, not those of an input alone."""
    def build():
        top = [node("ReduceMax", ["s", "rows"], ["m"], keepdims=0)]
        scales = by == "scales"
        inputs = ["x", "", "m"] if scales else ["x", "", "", "m"]
        if attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize":
            inputs[1] = "roi"
        top.append(node("Resize", inputs, ["y"], **attributes))
        axes = len(attributes.get("axes", range(4)))
        rows = ([1, 1, 2, 0.5], [1, 1, 1.7, 2.3], [1, 1, 0.2, 0.25]) if scales else ([1, 2, 8, 3], [1, 2, 2, 9], [1, 2, 1, 1])
        kind = np.float32 if scales else np.int64
        roi = constant("roi", np.float32([0, 0, 0.1, 0.2, 1, 1, 0.8, 0.9]))
        return model(top, [value("x", [1, 2, "h", "w"]), value("s", [40, axes], FLOAT if scales else INT64)],
                     [value("y", [1, 2, "p", "q"])], [constant("rows", ints(0)), roi]), [
                         {"x": sparse(1, 2, h, w, share=1), "s": np.array([row[-axes:]] + [[0] * axes] * 39, kind)}
                         for (h, w), row in zip(((5, 4), (6, 7), (5, 5)), rows)]
    return build


def scaled_plane():
    """Of a batch's scales only the last two are not known: the batch keeps its size."""
    nodes = [node("ReduceMax", ["s", "rows"], ["m"], keepdims=0), node("Concat", ["ones", "m"], ["scales"], axis=0),
             node("Resize", ["x", "", "scales"], ["y"], mode="linear")]
    return model(nodes, [value("x", ["n", 2, 5, 4]), value("s", [2, 2])], [value("y", ["n", 2, "p", "q"])],
                 [constant("rows", ints(0)), constant("ones", np.float32([1, 1]))]), [
                     {"x": sparse(n, 2, 5, 4, share=1), "s": np.float32([s, [-9, -9]])} for n, s in ((1, (2, 1.5)), (3, (0.4, 3)))] + [
                         {"x": sparse(1, 2, 5, 4, share=1), "s": np.float32([[s, 1], [-9, -9]]), None: "has scales[2] of 0, below or no number"}
                         for s in (0, -1, np.nan)]


def resized_inside(branch, by):
    """Inside of a loop or a branch the model declares the sizes, and runs check them."""
    def build():
        inputs = ["x", "", "m"] if by == "scales" else ["x", "", "", "m"]
        first = node("ReduceMax", ["s", "rows"], ["m"], keepdims=0)
        resize = node("Resize", inputs, ["r"], mode="linear", coordinate_transformation_mode="asymmetric")
        declared = [value("r", [1, 1, 8, 6])]
        if branch:
            then = helper.make_graph([first, resize, node("Exp", ["r"], ["e"]), node("MatMul", ["e", "square"], ["y1"])], "then", [],
                                     [value("y1", [1, 1, 8, 6])], value_info=declared)
            other = helper.make_graph([node("Identity", ["wide"], ["y2"])], "other", [], [value("y2", [1, 1, 8, 6])])
            nodes = [node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
        else:
            body = helper.make_graph([first, resize, node("MatMul", ["r", "square"], ["p"]), node("Add", ["a", "p"], ["b"]),
                                      node("Identity", ["go"], ["on"])], "body",
                                     [value("i", [], INT64), value("go", [], BOOL), value("a", [1, 1, 8, 6])],
                                     [value("on", [], BOOL), value("b", [1, 1, 8, 6])], value_info=declared)
            nodes = [node("Loop", ["trips", "c", "wide"], ["y"], body=body)]
        kind = np.float32 if by == "scales" else np.int64
        rows = kind([[1, 1, 2, 2] if by == "scales" else [1, 1, 8, 6]] + [[0] * 4] * 39)
        inputs = [value("x", [1, 1, 4, 3]), value("s", [40, 4], FLOAT if by == "scales" else INT64), value("c", [], BOOL)]
        runs = [{"x": sparse(1, 1, 4, 3, share=1), "s": rows, "c": np.array(c)} for c in (True, False)]
        wrong = rows.copy()
        wrong[0, 2] += 1
        runs.append({"x": runs[0]["x"], "s": wrong, "c": np.array(True), None: "to the declared size"})
        return model(nodes, inputs, [value("y", [1, 1, 8, 6])],
                     [constant("rows", ints(0)), constant("wide", sparse(1, 1, 8, 6)), constant("square", sparse(6, 6)),
                      constant("trips", np.int64(20))]), runs
    return build


def counted(*nodes, outputs, constants=()):
    """`count` is how many elements are positive, `back` as many from the end."""
    def build():
        before = [node("Greater", ["x", "zero"], ["flags"]), node("Cast", ["flags"], ["ones"], to=INT64),
                  node("ReduceSum", ["ones"], ["count"], keepdims=0), node("Unsqueeze", ["count", "first"], ["counts"]),
                  node("Neg", ["counts"], ["back"]), node("Reshape", ["x", "all"], ["flat"])]
        given = [constant("zero", np.float32(0)), constant("first", ints(0)), constant("all", ints(-1)), *constants]
        return model([*before, *nodes], [value("x", ["n", 3])], list(outputs), given), [
            {"x": RANDOM.normal(size=(size, 3)).astype(np.float32)} for size in (4, 1, 9)]
    return build


NUMBERS = [constant("nought", np.int64(0)), constant("one", np.int64(1)), constant("half", np.float32(0.5)), constant("far", ints(1 << 40)),
           constant("low", ints(0)), constant("sides", ints(1, 0)), constant("filler", np.float32(7)), constant("two", ints(2)), constant("cut", ints(-1))]


def counted_cases():
    def case(*nodes, outputs):
        read = {name for each in nodes for name in each.input}
        return counted(*nodes, outputs=outputs, constants=[number for number in NUMBERS if number.name in read])
    pads = node("Concat", ["low", "counts", "sides"], ["pads"], axis=0)
    shorter = [node("Sub", ["two", "counts"], ["less"]), node("Max", ["less", "cut"], ["over"]), node("Concat", ["low", "low", "low", "over"], ["pads"], axis=0)]
    return {
        "range": case(node("Range", ["nought", "count", "one"], ["r"]), outputs=[value("r", None, INT64)]),
        "range-float": case(node("Cast", ["count"], ["f"], to=FLOAT), node("Range", ["zero", "f", "half"], ["r"]), outputs=[value("r", None)]),
        "pad": case(pads, node("Pad", ["x", "pads", "filler"], ["r"]), outputs=[value("r", None)]),
        "pad-edge": case(pads, node("Pad", ["x", "pads"], ["r"], mode="edge"), outputs=[value("r", None)]),
        "slice-front": case(node("Slice", ["flat", "low", "counts"], ["r"]), outputs=[value("r", None)]),
        "slice-back": case(node("Slice", ["flat", "back", "far"], ["r"]), outputs=[value("r", None)]),
        "slice-steps": case(node("Slice", ["flat", "low", "back", "low", "two"], ["r"]), outputs=[value("r", None)]),
        "pad-cuts": case(*shorter, node("Pad", ["x", "pads", "filler"], ["r"]), outputs=[value("r", None)]),
    }


CASES = {
    "non_zero": non_zero, "one_after_another": one_after_another, "independent": independent, "compress": compress,
    "unique": unique(), "unique_unsorted": unique(sorted=0), "unique_rows": unique(axis=0), "unique_columns": unique(axis=1),
    "computed_count": computed_count, "computed_loop": computed_loop, "ended_loop": ended_loop, "branch_sizes": branch_sizes, "detector": detector(0),
    "detector_of_centers": detector(1), "suppression_of_all": suppression_of_all,
    "resized_to": resized("sizes", mode="linear"),
    "resized_to_axes": resized("sizes", mode="cubic", axes=[2, 3], exclude_outside=1),
    "resized_to_half_pixels": resized("sizes", mode="linear", coordinate_transformation_mode="pytorch_half_pixel"),
    "resized_to_region": resized("sizes", mode="linear", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=-3.0),
    "resized_within": resized("sizes", mode="linear", axes=[2, 3], keep_aspect_ratio_policy="not_larger"),
    "resized_around": resized("sizes", axes=[2, 3], keep_aspect_ratio_policy="not_smaller", nearest_mode="floor"),
    "scaled_by": resized("scales", mode="linear"), "scaled_plane": scaled_plane, "scaled_by_corners": resized("scales", nearest_mode="ceil", coordinate_transformation_mode="asymmetric")}
CASES |= {f"resized_in_{'branch' if branch else 'loop'}_by_{by}": resized_inside(branch, by)
          for branch in (True, False) for by in ("sizes", "scales")}
CASES |= {f"counted-{name}": build for name, build in counted_cases().items()}


def met(operator):
    """What is found meets what has a known size: they are taken to be equal, which a run checks."""
    def build():
        known = {"Add": constant("w", np.float32([1, 2, 3])), "Expand": constant("w", [2, 3])}.get(operator)
        first = [node("NonZero", ["x"], ["at"]), node("Cast", ["at"], ["found"], to=FLOAT)]
        inputs = [value("x", ["n"]), *([] if known else [value("w", ["m"])])]
        x = {found: np.float32([1] * found + [0] * (5 - found)) for found in range(6)}
        data = [{"x": x[3]}, {"x": x[3][::-1].copy()}, *({"x": x[n], None: f"the data decides a size of {n}, but it must be 3"} for n in (0, 1, 2, 5))]
        if not known:
            data = [{"x": x[3], "w": x[1][:3]}, {"x": x[5], "w": x[2]}, {"x": x[2], "w": x[2], None: "the data decides a size of 2, but it must be"}]
        nodes = [*first, node("Add" if operator == "Input" else operator, ["found", "w"], ["y"])]
        return model(nodes, inputs, [value("y", None)], [known] if known else []), data
    return build


CASES |= {f"met_by_{operator}": met(operator) for operator in ("Add", "Expand", "Input")}


def one_mask(*last):
    """Compress of two tensors and of their places, and NonZero, by one mask: one size, so that the parts go together."""
    def build():
        nodes = [node("ReduceSum", ["x", "one"], ["sum"], keepdims=0), node("Greater", ["sum", "zero"], ["mask"]),
                 node("Compress", ["x", "mask"], ["a"], axis=0), node("Compress", ["z", "mask"], ["b"], axis=0),
                 node("NonZero", ["mask"], ["at"]), node("Transpose", ["at"], ["places"]), *last]
        outputs = [value("y", None)]
        return model(nodes, [value("x", ["n", 4]), value("z", ["n", 4])], outputs, [constant("one", ints(1)), constant("zero", np.float32(0))]), [
            {"x": sparse(size, 4, share=1), "z": sparse(size, 4, share=1)} for size in (6, 40, 1)], "--strict"
    return build


CASES |= {"one_mask_scattered": one_mask(node("ScatterND", ["z", "places", "a"], ["y"])),
          "one_mask_added": one_mask(node("Add", ["a", "b"], ["y"])),
          "one_mask_contracted": one_mask(node("Einsum", ["a", "b"], ["y"], equation="pi,pj->ij")),
          "one_mask_shaped": one_mask(node("Shape", ["b"], ["shape"]), node("Reshape", ["a", "shape"], ["y"]))}


def problem_of(arguments, name, build, folder):
    graph, data, *options = build()
    path, artifact = folder / f"{name}.onnx", folder / f"{name}.kpc"
    onnx.save(graph, path)
    made = subprocess.run([arguments.kpc, "compile", path, "-o", artifact, "--quiet", "-O0", "--precision", "fp32", "--arch", arguments.arch, *options],
                          capture_output=True, text=True)
    if made.returncode != 0:
        return made.stderr
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for index, feeds in enumerate(data):
        out, words = folder / f"{name}.{index}", []
        refusal = feeds.pop(None, None)  # what the run must say
        for key, array in feeds.items():
            np.save(folder / f"{key}.npy", array)
            words += ["--input", f"{key}={folder / key}.npy"]
        ran = subprocess.run([arguments.kpc, "run", artifact, "--output-dir", out, "--device", arguments.device, *words],
                             capture_output=True, text=True)
        if refusal:
            if ran.returncode == 0 or refusal not in ran.stderr:
                return f"run {index}: expected '{refusal}', got {ran.returncode} {ran.stderr}"
            continue
        if ran.returncode != 0:
            return f"run {index}: {ran.stderr}"
        for port, expected in zip(session.get_outputs(), session.run(None, feeds)):
            got = np.load(out / f"{port.name}.npy")
            if got.shape != expected.shape or got.dtype != expected.dtype:
                return f"run {index}: '{port.name}' is {got.dtype}{got.shape}, expected {expected.dtype}{expected.shape}"
            if not np.allclose(got, expected, rtol=1e-4, atol=1e-5, equal_nan=True):
                return f"run {index}: '{port.name}' differs"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kpc")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only")
    parser.add_argument("--arch", default="host")
    parser.add_argument("--device", default="host")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.folder, ignore_errors=True)
    arguments.folder.mkdir(parents=True)
    failed = 0
    for name, build in CASES.items():
        if arguments.only and arguments.only != name:
            continue
        problem = problem_of(arguments, name, build, arguments.folder)
        failed += problem is not None
        print(f"{name}: {problem or 'as onnxruntime'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

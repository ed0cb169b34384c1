#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops that their own data ends, against onnxruntime: one artifact on the host and on the emulator.

    ended_loops.py KPC FOLDER [--device DEVICE[,DEVICE…]] [--only NAME[,NAME…]]

Devices are those of `kpc run`, cuda:0 as well; the default is host,emulate:sm_80. Ends with 77 where onnx or onnxruntime is missing.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys

from control_flow import BOOL, FLOAT, INT64, constant, difference, helper, model, node, normal, np, onnx, \
    onnxruntime, value

HALF = onnx.TensorProto.FLOAT16
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def body(nodes, state, results):
    """`state` and `results` are (name, dims[, element]); the first result is whether there is another iteration."""
    inputs = [value("iter", [], INT64), value("go", [], BOOL)] + [value(*of) for of in state]
    return helper.make_graph(nodes, "body", inputs, [value(*of) for of in results])


def doubling(limit="limit", state="y", dims=(3,), more=()):
    """y doubles while its greatest element is at most the limit."""
    nodes = [node("Add", [state, state], ["y2"]), node("ReduceMax", ["y2"], ["most"], keepdims=0),
             node("LessOrEqual", ["most", limit], ["again"]), *more]
    return nodes, [(state, list(dims))], [("again", [], BOOL), ("y2", list(dims))]


LIMIT = constant("limit", np.float32(100))
TRUE = constant("true", np.bool_(True))
STARTS = [np.array(x, np.float32) for x in ([1, 2, 3], [-1, 60, 0], [-1e30, 99, 1e-9], [200, 0, 0])]


@case
def alone():
    """No trip count: data alone ends it. The result is an output and goes on."""
    loop = node("Loop", ["", "true", "x"], ["y"], body=body(*doubling()))
    return model([loop, node("Neg", ["y"], ["z"])], [value("x", [3])], [value("y", [3]), value("z", [3])],
                 [LIMIT, TRUE]), [{"x": x} for x in STARTS]


@case
def endless_count():
    """A trip count of 2^63 - 1, as exporters of `while` write it."""
    loop = node("Loop", ["count", "true", "x"], ["y"], body=body(*doubling()))
    return model([loop], [value("x", [3])], [value("y", [3])],
                 [LIMIT, TRUE, constant("count", np.int64(2 ** 63 - 1))]), [{"x": x} for x in STARTS]


@case
def condition_at_start():
    """None where the condition is false at first; then the state is what it was."""
    loop = node("Loop", ["", "begins", "x"], ["y"], body=body(*doubling()))
    return model([loop], [value("x", [3]), value("begins", [], BOOL)], [value("y", [3])], [LIMIT]), \
        [{"x": x, "begins": np.bool_(begins)} for x in STARTS[:2] for begins in (True, False)]


def collecting(trips):
    nodes, state, results = doubling(more=[node("ReduceSum", ["y2"], ["sum"], keepdims=0),
                                           node("Identity", ["y2"], ["seen"])])
    return node("Loop", [trips, "begins", "x"], ["y", "sums", "all"],
                body=body(nodes, state, results + [("sum", []), ("seen", [3])]))


def collected(trips, weights):
    return model([collecting(trips), node("Mul", ["all", "two"], ["more"])],
                 [value("x", [3]), value("begins", [], BOOL)],
                 [value("y", [3]), value("sums", ["rounds"]), value("more", ["rounds", 3])],
                 [LIMIT, constant("two", np.float32(2))] + weights), \
        [{"x": x, "begins": np.bool_(begins)} for x in STARTS for begins in (True, False)]


@case
def collects_bounded():
    """The trip count is room for what is collected; one run of it meets the count."""
    made, feeds = collected("count", [constant("count", np.int64(12))])
    return made, feeds + [{"x": np.array([1e-9, 0, 0], np.float32), "begins": np.bool_(True)}]


@case
def collects_without_count():
    return collected("", [])


@case
def collects_of_many():
    return collected("count", [constant("count", np.int64(10 ** 9))])


@case
def collects_of_a_size():
    """As many iterations as the input has rows, or fewer."""
    nodes = [node("Gather", ["x", "iter"], ["row"], axis=0), node("Add", ["s", "row"], ["t"]),
             node("ReduceSum", ["t"], ["sum"], keepdims=0), node("Less", ["sum", "limit"], ["again"]),
             node("Identity", ["t"], ["seen"])]
    loop = node("Loop", ["count", "true", "zero"], ["y", "all"],
                body=body(nodes, [("s", [2])], [("again", [], BOOL), ("t", [2]), ("seen", [2])]))
    return model([node("Shape", ["x"], ["dims"], start=0, end=1), node("Squeeze", ["dims"], ["count"]), loop],
                 [value("x", ["steps", 2])], [value("y", [2]), value("all", ["rounds", 2])],
                 [LIMIT, TRUE, constant("zero", np.zeros(2, np.float32))]), \
        [{"x": np.abs(normal(steps, 2)) * scale} for steps, scale in ((1, 1), (40, 1), (40, 9), (40, 200))]


@case
def counted_by_data():
    """A trip count that a sum of data is, and a condition."""
    nodes, state, results = doubling()
    return model([node("ReduceSum", ["counts"], ["count"], keepdims=0),
                  node("Loop", ["count", "true", "x"], ["y"], body=body(nodes, state, results))],
                 [value("x", [3]), value("counts", [100], INT64)], [value("y", [3])], [LIMIT, TRUE]), \
        [{"x": x, "counts": np.full(100, 0, np.int64) + np.eye(1, 100, dtype=np.int64)[0] * n}
         for x in STARTS[:2] for n in (0, 1, 4, -3, 1000)]


@case
def counted_by_data_inside():
    """A loop that nothing ends but a trip count of data, in a branch: counted on the device."""
    nodes = [node("Add", ["y", "one"], ["y2"]), node("Identity", ["go"], ["again"])]
    inner = node("Loop", ["count", "", "x"], ["y"], body=body(nodes, [("y", [3])], [("again", [], BOOL), ("y2", [3])]))
    then = helper.make_graph([node("ReduceSum", ["counts"], ["count"], keepdims=0), inner, node("Exp", ["y"], ["a"])],
                             "then", [], [value("a", [3])])
    other = helper.make_graph([node("MatMul", ["x", "w"], ["b"])], "else", [], [value("b", [3])])
    return model([node("If", ["c"], ["z"], then_branch=then, else_branch=other)],
                 [value("x", [3]), value("counts", [100], INT64), value("c", [], BOOL)], [value("z", [3])],
                 [constant("one", np.float32(0.01)), constant("w", normal(3, 3))]), \
        [{"x": STARTS[0], "counts": np.eye(1, 100, dtype=np.int64)[0] * n, "c": np.bool_(c)}
         for n, c in ((0, True), (1, True), (29, True), (5, False))]


@case
def many_types():
    """State of f16, i64, bool and i32; the condition is a sum of f16."""
    nodes = [node("Add", ["h", "step"], ["h2"]), node("ReduceSum", ["h2"], ["sum"], keepdims=0),
             node("Less", ["sum", "most"], ["again"]), node("Add", ["k", "one"], ["k2"]), node("Not", ["b"], ["b2"]),
             node("Cast", ["k2"], ["k32"], to=onnx.TensorProto.INT32), node("Add", ["m", "k32"], ["m2"])]
    state = [("h", ["n", 5], HALF), ("k", [], INT64), ("b", [2], BOOL), ("m", [1], onnx.TensorProto.INT32)]
    results = [("again", [], BOOL), ("h2", ["n", 5], HALF), ("k2", [], INT64), ("b2", [2], BOOL),
               ("m2", [1], onnx.TensorProto.INT32)]
    loop = node("Loop", ["", "true", "x", "k0", "b0", "m0"], ["h9", "k9", "b9", "m9"], body=body(nodes, state, results))
    weights = [constant("step", np.float16(0.25)), constant("most", np.float16(60)), TRUE, constant("one", np.int64(1)),
               constant("k0", np.int64(7)), constant("m0", np.array([1], np.int32))]
    return model([loop], [value("x", ["n", 5], HALF), value("b0", [2], BOOL)],
                 [value("h9", ["n", 5], HALF), value("k9", [], INT64), value("b9", [2], BOOL),
                  value("m9", [1], onnx.TensorProto.INT32)], weights), \
        [{"x": np.full((n, 5), start, np.float16), "b0": np.array([True, False])}
         for n, start in ((1, 0), (1, 100), (4, -1), (7, 1))]


@case
def swapped():
    """State that changes places, state that stays, one value twice, and the condition as state."""
    nodes = [node("Add", ["a", "b"], ["n"]), node("ReduceMax", ["n"], ["most"], keepdims=0),
             node("Less", ["most", "limit"], ["again"]), node("Identity", ["b"], ["to_a"]),
             node("Identity", ["c"], ["to_c"]), node("Identity", ["again"], ["was"])]
    state = [("a", [5]), ("b", [5]), ("c", [5]), ("d", [5]), ("w", [], BOOL)]
    results = [("again", [], BOOL), ("to_a", [5]), ("n", [5]), ("to_c", [5]), ("n", [5]), ("was", [], BOOL)]
    loop = node("Loop", ["", "true", "x", "y", "z", "x", "true"], ["p", "q", "r", "s", "t"],
                body=body(nodes, state, results))
    return model([loop], [value(name, [5]) for name in "xyz"],
                 [value(name, [5]) for name in "pqrs"] + [value("t", [], BOOL)], [LIMIT, TRUE]), \
        [{name: np.abs(normal(5)) * scale for name in "xyz"} for scale in (1, 50, 1000)]


@case
def loop_in_loop():
    """Each iteration halves until below one, then adds what it was counted."""
    inner = body([node("Mul", ["u", "half"], ["u2"]), node("ReduceMax", ["u2"], ["top"], keepdims=0),
                  node("Greater", ["top", "one"], ["more"]), node("Add", ["k", "one"], ["k2"])],
                 [("u", [3]), ("k", [])], [("more", [], BOOL), ("u2", [3]), ("k2", [])])
    nodes = [node("Mul", ["y", "five"], ["big"]),
             node("Loop", ["", "true", "big", "zero"], ["low", "rounds"], body=inner),
             node("Add", ["low", "rounds"], ["y2"]), node("Add", ["t", "rounds"], ["t2"]),
             node("Less", ["t2", "limit"], ["again"])]
    loop = node("Loop", ["", "true", "x", "zero"], ["y9", "t9"],
                body=body(nodes, [("y", [3]), ("t", [])], [("again", [], BOOL), ("y2", [3]), ("t2", [])]))
    weights = [constant(name, np.float32(v)) for name, v in
               (("half", .5), ("one", 1), ("zero", 0), ("five", 5), ("limit", 30))]
    return model([loop], [value("x", [3])], [value("y9", [3]), value("t9", [])], weights + [TRUE]), \
        [{"x": x} for x in STARTS]


@case
def in_long_loop():
    """In each of thirty iterations, which are collected."""
    nodes, state, results = doubling(state="v")
    outer = [node("Gather", ["rows", "iter"], ["row"], axis=0), node("Add", ["y", "row"], ["from"]),
             node("Loop", ["", "true", "from"], ["to"], body=body(nodes, state, results)),
             node("Mul", ["to", "small"], ["n"]), node("Identity", ["to"], ["seen"]), node("Identity", ["go"], ["on"])]
    loop = node("Loop", ["count", "", "x"], ["last", "all"],
                body=body(outer, [("y", [3])], [("on", [], BOOL), ("n", [3]), ("seen", [3])]))
    return model([loop], [value("x", [3]), value("rows", [30, 3])], [value("last", [3]), value("all", [30, 3])],
                 [LIMIT, TRUE, constant("count", np.int64(30)), constant("small", np.float32(1e-2))]), \
        [{"x": np.abs(normal(3)) + .1, "rows": np.abs(normal(30, 3))}]


@case
def in_scan():
    """A scan of twenty steps, each of which iterates."""
    nodes, state, results = doubling(state="v")
    inner = helper.make_graph([node("Abs", ["r"], ["p"]), node("Add", ["p", "s"], ["from"]),
                               node("Loop", ["", "true", "from"], ["to"], body=body(nodes, state, results)),
                               node("Mul", ["to", "small"], ["s2"]), node("Identity", ["to"], ["seen"])], "scan",
                              [value("s", [3]), value("r", [3])], [value("s2", [3]), value("seen", [3])])
    return model([node("Scan", ["x", "rows"], ["last", "all"], body=inner, num_scan_inputs=1)],
                 [value("x", [3]), value("rows", ["steps", 3])], [value("last", [3]), value("all", ["steps", 3])],
                 [LIMIT, TRUE, constant("small", np.float32(1e-2))]), \
        [{"x": np.abs(normal(3)) + .1, "rows": normal(steps, 3)} for steps in (1, 20)]


@case
def in_branch():
    nodes, state, results = doubling(state="v")
    then = helper.make_graph([node("Loop", ["", "true", "x"], ["a"], body=body(nodes, state, results))], "then", [],
                             [value("a", [3])])
    other = helper.make_graph([node("MatMul", ["x", "w"], ["b"])], "else", [], [value("b", [3])])
    return model([node("If", ["c"], ["z"], then_branch=then, else_branch=other)],
                 [value("x", [3]), value("c", [], BOOL)], [value("z", [3])],
                 [LIMIT, TRUE, constant("w", normal(3, 3))]), \
        [{"x": x, "c": np.bool_(c)} for x in STARTS[:2] for c in (True, False)]


@case
def holds_all():
    """Inside: a branch on a bool that the loop carries, and a scan."""
    step = helper.make_graph([node("Add", ["s", "r"], ["s2"]), node("Identity", ["s2"], ["seen"])], "scan",
                             [value("s", []), value("r", [])], [value("s2", []), value("seen", [])])
    then = helper.make_graph([node("MatMul", ["y", "w"], ["ya"])], "then", [], [value("ya", [20])])
    other = helper.make_graph([node("Scan", ["zero", "y"], ["end", "yb"], body=step, num_scan_inputs=1)], "else", [],
                              [value("yb", [20])])
    nodes = [node("If", ["flag"], ["y2"], then_branch=then, else_branch=other), node("Not", ["flag"], ["turned"]),
             node("Abs", ["y2"], ["size"]), node("ReduceMax", ["size"], ["most"], keepdims=0),
             node("Less", ["most", "limit"], ["again"])]
    loop = node("Loop", ["", "true", "x", "c"], ["y9", "c9"],
                body=body(nodes, [("y", [20]), ("flag", [], BOOL)],
                          [("again", [], BOOL), ("y2", [20]), ("turned", [], BOOL)]))
    weights = [LIMIT, TRUE, constant("zero", np.float32(0)), constant("w", np.eye(20, dtype=np.float32) * 1.5)]
    return model([loop], [value("x", [20]), value("c", [], BOOL)], [value("y9", [20]), value("c9", [], BOOL)],
                 weights), [{"x": normal(20), "c": np.bool_(c)} for c in (True, False)]


@case
def known_condition():
    """`while i < 10` of constants: unrolled, though nothing counts."""
    nodes = [node("Add", ["i", "one"], ["i2"]), node("Less", ["i2", "ten"], ["again"]), node("Mul", ["y", "y"], ["y2"]),
             node("Identity", ["i2"], ["seen"])]
    loop = node("Loop", ["", "true", "zero", "x"], ["i9", "y9", "all"],
                body=body(nodes, [("i", [], INT64), ("y", [3])],
                          [("again", [], BOOL), ("i2", [], INT64), ("y2", [3]), ("seen", [], INT64)]))
    return model([loop], [value("x", [3])], [value("i9", [], INT64), value("y9", [3]), value("all", [10], INT64)],
                 [TRUE] + [constant(name, np.int64(n)) for name, n in (("one", 1), ("ten", 10), ("zero", 0))]), \
        [{"x": np.array([1, 1.001, -0.99], np.float32)}]


@case
def none_at_all():
    """A trip count of 0: what is collected has a size of 0."""
    nodes, state, results = doubling()
    kept = node("Identity", ["y2"], ["seen"])
    loops = [node("Loop", ["none", "true", "x"], ["a", "as"], body=body([*nodes, kept], state, results + [("seen", [3])])),
             node("Loop", ["none", "", "x"], ["b", "bs"],
                  body=body([node("Add", ["y", "y"], ["y2"]), node("Identity", ["go"], ["again"]), kept], state,
                            results + [("seen", [3])]))]
    return model(loops, [value("x", [3])], [value("a", [3]), value("as", None), value("b", [3]), value("bs", None)],
                 [LIMIT, TRUE, constant("none", np.int64(0))]), [{"x": STARTS[0]}]


@case
def state_that_grows():
    """Each iteration appends a row, at most twenty times; and one in front."""
    nodes = [node("ReduceSum", ["c"], ["s"], keepdims=0), node("Add", ["s", "x"], ["row"]),
             node("Unsqueeze", ["row", "axis"], ["new"]), node("Concat", ["c", "new"], ["c2"], axis=0),
             node("Concat", ["new", "d"], ["d2"], axis=0), node("ReduceMax", ["row"], ["most"], keepdims=0),
             node("Less", ["most", "limit"], ["again"]), node("Identity", ["row"], ["seen"])]
    loop = node("Loop", ["count", "begins", "c0", "c0"], ["c9", "d9", "all"],
                body=body(nodes, [("c", ["k", 3]), ("d", ["k", 3])],
                          [("again", [], BOOL), ("c2", None), ("d2", None), ("seen", [3])]))
    return model([loop, node("Mul", ["c9", "two"], ["more"])],
                 [value("x", [3]), value("c0", [1, 3]), value("begins", [], BOOL)],
                 [value("more", ["rows", 3]), value("d9", ["rows", 3]), value("all", ["rounds", 3])],
                 [LIMIT, constant("two", np.float32(2)), constant("axis", np.array([0])),
                  constant("count", np.int64(20))]), \
        [{"x": np.full(3, x, np.float32), "c0": np.full((1, 3), c, np.float32), "begins": np.bool_(begins)}
         for x, c, begins in ((1, 0.1, True), (1, 0.1, False), (90, 0, True), (200, 1, True), (0, 0, True))]


@case
def rows_of_the_iteration():
    """The iteration's number as a place, dims of the caller's, and a product."""
    nodes = [node("Gather", ["rows", "iter"], ["row"], axis=0), node("MatMul", ["y", "w"], ["p"]),
             node("Add", ["p", "row"], ["y2"]), node("Abs", ["y2"], ["size"]),
             node("ReduceSum", ["size"], ["sum"], keepdims=0), node("Less", ["sum", "limit"], ["again"])]
    loop = node("Loop", ["", "true", "x"], ["y9"],
                body=body(nodes, [("y", ["n", 16])], [("again", [], BOOL), ("y2", ["n", 16])]))
    return model([loop], [value("x", ["n", 16]), value("rows", [64, 16])], [value("y9", ["n", 16])],
                 [LIMIT, TRUE, constant("w", np.eye(16, dtype=np.float32) * 1.25)]), \
        [{"x": normal(n, 16), "rows": normal(64, 16) / 4} for n in (1, 3, 8)]


@case
def number_inside():
    """In a loop in a loop the iteration's number is data: looked up, counted with, compared and cast."""
    inner = body([node("Gather", ["rows", "iter"], ["row"], axis=0), node("Cast", ["iter"], ["real"], to=FLOAT),
                  node("Mul", ["row", "real"], ["scaled"]), node("Add", ["u", "scaled"], ["u2"]),
                  node("ReduceSum", ["u2"], ["sum"], keepdims=0), node("Less", ["sum", "limit"], ["small"]),
                  node("Add", ["iter", "two"], ["later"]), node("Less", ["later", "many"], ["early"]),
                  node("And", ["small", "early"], ["more"])], [("u", [3])], [("more", [], BOOL), ("u2", [3])])
    nodes = [node("Loop", ["", "true", "y"], ["far"], body=inner), node("Mul", ["far", "hundredth"], ["y2"]),
             node("Less", ["iter", "one"], ["again"])]
    loop = node("Loop", ["", "true", "x"], ["y9"], body=body(nodes, [("y", [3])], [("again", [], BOOL), ("y2", [3])]))
    weights = [constant(name, np.int64(v)) for name, v in (("one", 1), ("two", 2), ("many", 9))]
    return model([loop], [value("x", [3]), value("rows", [16, 3])], [value("y9", [3])],
                 weights + [LIMIT, TRUE, constant("hundredth", np.float32(1e-2))]), \
        [{"x": x, "rows": np.abs(normal(16, 3)) * scale} for x in STARTS[:2] for scale in (1, 9)]


@case
def number_as_a_place():
    """The iteration's number is where a slice begins: such a row moves by its own length in each iteration."""
    nodes = [node("Unsqueeze", ["iter", "axis"], ["begin"]), node("Add", ["begin", "step"], ["end"]),
             node("Slice", ["rows", "begin", "end", "axis"], ["row"]), node("Add", ["s", "row"], ["t"]),
             node("ReduceSum", ["t"], ["sum"], keepdims=0), node("Less", ["sum", "limit"], ["again"])]
    loop = node("Loop", ["count", "true", "zero"], ["y"], body=body(nodes, [("s", [1, 2])], [("again", [], BOOL), ("t", [1, 2])]))
    weights = [constant("axis", np.array([0])), constant("step", np.array([1])), constant("count", np.int64(40))]
    return model([loop], [value("rows", [40, 2])], [value("y", [1, 2])],
                 weights + [LIMIT, TRUE, constant("zero", np.zeros((1, 2), np.float32))]), \
        [{"rows": np.abs(normal(40, 2)) * scale} for scale in (1, 9, 200)]


def call(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        return "$ " + " ".join(str(part) for part in command) + "\n" + done.stdout + done.stderr
    return ""


def check(name, case_of, options):
    """As one kernel where kpc makes one of a loop, and step by step."""
    for ways in ([], ["--no-loop-kernels"]) if options.device != "host" else ([],):
        if problem := check_way(name, case_of, options, ways):
            return " ".join([*ways, problem])
    return ""


def check_way(name, case_of, options, ways):
    made, feeds = case_of()
    folder = options.folder / name
    folder.mkdir(parents=True, exist_ok=True)
    source, artifact = folder / "model.onnx", folder / "model.kpc"
    onnx.save(made, source)
    devices = options.device.split(",")
    targets = ",".join("native" if device.startswith("cuda:") else device.split(":")[-1] for device in devices)
    # Of what is as long as the caller wants, a size to choose schedules for.
    names = {dim.dim_param for given in made.graph.input for dim in given.type.tensor_type.shape.dim if dim.dim_param}
    dims = [part for dim in sorted(names) for part in ("--dim", f"{dim}=0..1024:opt=32")]
    if problem := call([options.kpc, "compile", source, "--arch", targets, "-O0", "--precision", "fp32", *dims, *ways, "-o", artifact,
                        "--no-cache", "--quiet", "--jobs", "0"]):
        return problem
    session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    for feed in feeds:
        feed = {key: np.asarray(array) for key, array in feed.items()}
        wanted = session.run(None, feed)
        given = []
        for key, array in feed.items():
            np.save(folder / f"{key}.npy", array)
            given += ["--input", f"{key}={folder / key}.npy"]
        for device in devices:
            out = folder / "out"
            shutil.rmtree(out, ignore_errors=True)
            if problem := call([options.kpc, "run", artifact, *given, "--output-dir", out, "--device", device]):
                return problem
            for output, reference in zip(session.get_outputs(), wanted):
                got = np.load(out / f"{output.name}.npy")
                if isinstance(reference, list):  # a sequence, which kpc gives as one tensor
                    reference = np.stack(reference) if reference else got[:0]
                if got.shape != reference.shape:
                    return f"{device}: output '{output.name}' is {got.shape}, expected {reference.shape}"
                if problem := difference(got, reference):
                    return f"{device}: output '{output.name}' {problem}"
    return ""


def main(cases, description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kpc")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--device", default="host,emulate:sm_80")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(cases)
    failed = 0
    for name in names:
        if problem := check(name, cases[name], options):
            failed += 1
            print(f"WRONG: {name}: {problem}", flush=True)
    print(f"{len(names)} models, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(CASES, __doc__))

#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sequences of a length that only the run knows, against onnxruntime: one artifact on the host and on the emulator.

    sequences.py KPC FOLDER [--device DEVICE[,DEVICE…]] [--only NAME[,NAME…]]

Devices are those of `kpc run`, cuda:0 as well; the default is host,emulate:sm_80. Ends with 77 where onnx or onnxruntime is missing.
"""
import sys

import ended_loops
from control_flow import BOOL, FLOAT, INT64, constant, helper, model, node, normal, np
from ended_loops import LIMIT, STARTS, TRUE

CASES = {}
COUNTS = (1, 2, 5, 40)


def case(function):
    CASES[function.__name__] = function
    return function


def sequence(name, dims=None):
    return helper.make_tensor_sequence_value_info(name, FLOAT, dims)


def appending(items, more=(), state=(), results=(), condition="go", sequences=("s",)):
    """A body that appends `items` to its sequences, each in turn."""
    nodes, last = list(more), {name: name for name in sequences}
    for place, (name, item) in enumerate(items):
        nodes.append(node("SequenceInsert", [last[name], item], [f"{name}{place + 2}"]))
        last[name] = f"{name}{place + 2}"
    if condition == "go":
        nodes.append(node("Identity", ["go"], ["again"]))
    inputs = [ended_loops.value("iter", [], INT64), ended_loops.value("go", [], BOOL)]
    outputs = [ended_loops.value("again", [], BOOL)]
    inputs += [ended_loops.value(*of) for of in state] + [sequence(name) for name in sequences]
    outputs += [ended_loops.value(*of) for of in results] + [sequence(last[name]) for name in sequences]
    return helper.make_graph(nodes, "body", inputs, outputs)


def value(*of):
    return ended_loops.value(*of)


ROW = [node("Gather", ["x", "iter"], ["row"], axis=0), node("Mul", ["row", "two"], ["item"])]
TWO = constant("two", np.float32(2))
EMPTY = node("SequenceEmpty", [], ["empty"], dtype=FLOAT)
STEPS = [node("Shape", ["x"], ["dims"], start=0, end=1), node("Squeeze", ["dims"], ["steps"])]


def rows(*behind, outputs, weights=(), inputs=(), feeds=None):
    """One row of x is appended an iteration, as many as it has."""
    loop = node("Loop", ["steps", "", "empty"], ["seq"], body=appending([("s", "item")], ROW))
    return model([EMPTY, *STEPS, loop, *behind], [value("x", ["rows", 3]), *inputs], outputs, [TWO, *weights]), \
        feeds or [{"x": normal(n, 3)} for n in COUNTS]


@case
def joined_in_front():
    return rows(node("ConcatFromSequence", ["seq"], ["y"], axis=0, new_axis=1), outputs=[value("y", ["rows", 3])])


@case
def joined_behind():
    return rows(node("ConcatFromSequence", ["seq"], ["y"], axis=-1, new_axis=1), outputs=[value("y", [3, "rows"])])


@case
def joined_along_an_axis():
    return rows(node("ConcatFromSequence", ["seq"], ["y"], axis=0), outputs=[value("y", None)])


@case
def length():
    return rows(node("SequenceLength", ["seq"], ["n"]), node("Range", ["zero", "n", "one"], ["y"]),
                outputs=[value("n", [], INT64), value("y", [None], INT64)],
                weights=[constant("zero", np.int64(0)), constant("one", np.int64(1))])


@case
def one_of_them():
    """From the front, from the end, and where an input says."""
    return rows(node("SequenceAt", ["seq", "first"], ["a"]), node("SequenceAt", ["seq", "last"], ["b"]),
                node("Neg", ["at"], ["there"]), node("SequenceAt", ["seq", "there"], ["c"]),
                outputs=[value(name, [3]) for name in "abc"],
                weights=[constant("first", np.int64(0)), constant("last", np.int64(-1))],
                inputs=[value("at", [], INT64)],
                feeds=[{"x": normal(n, 3), "at": np.int64(at)} for n, at in ((1, 1), (5, 2), (5, 0), (5, -4), (40, -39))])


@case
def more_and_fewer():
    return rows(node("SequenceInsert", ["seq", "own"], ["a"]), node("SequenceErase", ["a", "first"], ["b"]),
                node("SequenceErase", ["b"], ["c"]), node("SequenceInsert", ["c", "own", "first"], ["d"]),
                node("ConcatFromSequence", ["d"], ["y"], axis=1, new_axis=1), outputs=[value("y", None)],
                weights=[constant("first", np.int64(0))], inputs=[value("own", [3])],
                feeds=[{"x": normal(n, 3), "own": normal(3)} for n in COUNTS])


@case
def mapped():
    """A function of each element, and of a tensor that is the same for all."""
    body = helper.make_graph([node("Add", ["e", "b"], ["f"]), node("ReduceSum", ["f"], ["g"], keepdims=0)], "body",
                             [value("e", [3]), value("b", [3])], [value("f", [3]), value("g", [])])
    return rows(node("SequenceMap", ["seq", "own"], ["p", "q"], body=body),
                node("ConcatFromSequence", ["p"], ["y"], axis=1, new_axis=1),
                node("ConcatFromSequence", ["q"], ["z"], axis=0, new_axis=1),
                outputs=[value("y", [3, "rows"]), value("z", ["rows"])], inputs=[value("own", [3])],
                feeds=[{"x": normal(n, 3), "own": normal(3)} for n in COUNTS])


@case
def an_output():
    """The sequence itself, which kpc gives as one tensor."""
    return rows(outputs=[sequence("seq", [3])])


@case
def two_an_iteration():
    """Two elements to one sequence and one to another, behind what was there; and a tensor that is carried."""
    body = appending([("s", "item"), ("t", "sum"), ("s", "row")],
                     [*ROW, node("Add", ["acc", "row"], ["sum"])], [("acc", [3])], [("sum", [3])], sequences=("s", "t"))
    return model([EMPTY, *STEPS, node("SequenceConstruct", ["own", "own"], ["some"]),
                  node("Loop", ["steps", "", "own", "some", "empty"], ["end", "p", "q"], body=body),
                  node("ConcatFromSequence", ["p"], ["y"], axis=0, new_axis=1),
                  node("ConcatFromSequence", ["q"], ["z"], axis=1, new_axis=1)],
                 [value("x", ["rows", 3]), value("own", [3])],
                 [value("end", [3]), value("y", [None, 3]), value("z", [3, "rows"])], [TWO]), \
        [{"x": normal(n, 3), "own": normal(3)} for n in COUNTS]


def ended(count, weights=()):
    body = appending([("s", "y2")], [node("Add", ["y", "y"], ["y2"]), node("ReduceMax", ["y2"], ["most"], keepdims=0),
                                     node("LessOrEqual", ["most", "limit"], ["again"])],
                     [("y", [3])], [("y2", [3])], condition="most")
    return model([EMPTY, node("Loop", [count, "true", "x", "empty"], ["end", "seq"], body=body),
                  node("ConcatFromSequence", ["seq"], ["y"], axis=0, new_axis=1),
                  node("SequenceLength", ["seq"], ["n"])],
                 [value("x", [3])], [value("end", [3]), value("y", ["rounds", 3]), value("n", [], INT64)],
                 [LIMIT, TRUE, *weights]), [{"x": x} for x in STARTS]


@case
def ended_by_data():
    return ended("")


@case
def ended_by_data_or_count():
    return ended("count", [constant("count", np.int64(12))])


@case
def counted_by_an_input():
    body = appending([("s", "item")], [node("Cast", ["iter"], ["i"], to=FLOAT), node("Add", ["x", "i"], ["item"])])
    return model([EMPTY, node("Loop", ["count", "", "empty"], ["seq"], body=body),
                  node("ConcatFromSequence", ["seq"], ["y"], axis=0)],
                 [value("x", [2, 3]), value("count", [], INT64)], [value("y", [None, 3])]), \
        [{"x": normal(2, 3), "count": np.int64(n)} for n in (1, 3, 300)]


@case
def read_by_a_loop():
    """Each iteration of a second loop takes its element."""
    nodes = [node("SequenceAt", ["seq", "iter"], ["e"]), node("Add", ["acc", "e"], ["sum"]),
             node("Identity", ["go"], ["again"])]
    loop = node("Loop", ["n", "", "zero"], ["y"],
                body=ended_loops.body(nodes, [("acc", [3])], [("again", [], BOOL), ("sum", [3])]))
    return rows(node("SequenceLength", ["seq"], ["n"]), loop, outputs=[value("y", [3])],
                weights=[constant("zero", np.zeros(3, np.float32))])


@case
def split_into_ones():
    """As many parts as the axis is long; and of a size that divides it."""
    return model([node("SplitToSequence", ["x"], ["s"], axis=1, keepdims=0),
                  node("ConcatFromSequence", ["s"], ["y"], axis=0, new_axis=1),
                  node("SequenceAt", ["s", "last"], ["e"]),
                  node("SplitToSequence", ["x", "two"], ["t"], axis=1), node("SequenceAt", ["t", "last"], ["f"]),
                  node("SequenceLength", ["t"], ["n"])],
                 [value("x", [4, "steps", 3])],
                 [value("y", None), value("e", [4, 3]), value("f", [4, 2, 3]), value("n", [], INT64)],
                 [constant("last", np.int64(-1)), constant("two", np.int64(2))]), \
        [{"x": normal(4, n, 3)} for n in (2, 8, 34)]


@case
def picked_of_few():
    """A known number of elements of one shape, of which data picks one."""
    return model([node("SequenceConstruct", ["a", "b", "c"], ["s"]), node("SequenceAt", ["s", "at"], ["y"])],
                 [value(name, [2, 3]) for name in "abc"] + [value("at", [], INT64)], [value("y", [2, 3])]), \
        [{**{name: normal(2, 3) for name in "abc"}, "at": np.int64(at)} for at in (0, 1, 2, -1, -3)]


if __name__ == "__main__":
    sys.exit(ended_loops.main(CASES, __doc__))

# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that must be refused, each with the error a user should see. name -> what makes its bytes.

None of them is longer than a few kilobytes unless its length is the point.
"""

import os
import struct

from onnx_writer import (BOOL, FLOAT, INT64, STRING, Graph, block, floats, function, graph, int64s, model, node, tensor,
                         value_info)
import refused_forms
import refused_nodes

HUGE = 1 << 40


def one(op, dims=("batch", 4), extra=(), initializers=(), inputs=("x",), outputs=("y",), **attributes):
    """A model of one node named `the_node`."""
    values = [value_info("x", list(dims))] + list(extra)
    return model(graph([node(op, list(inputs), list(outputs), "the_node", **attributes)], values,
                       [value_info(o, None) for o in outputs], list(initializers)))


def chain_of(*nodes, dims=("batch", 4), output="y", initializers=(), **options):
    return model(graph(list(nodes), [value_info("x", list(dims))], [value_info(output, None)], list(initializers)),
                 **options)


def conv(weight_dims=(8, 3, 3, 3), dims=("batch", 3, 8, 8), **attributes):
    count = 1
    for d in weight_dims:
        count *= d
    return one("Conv", dims, initializers=[floats("w", list(weight_dims), [0.5] * count)], inputs=("x", "w"),
               **attributes)


def nested_ifs(depth):
    """If in If in If…: deeper than any parser likes."""
    body = Graph(graph([node("Relu", ["x"], ["t0"])], [], [value_info("t0", None)]))
    for level in range(1, depth):
        body = Graph(graph([node("If", ["c"], [f"t{level}"], then_branch=body, else_branch=body if level < 3 else
                                 Graph(graph([node("Relu", ["x"], ["e"])], [], [value_info("e", None)])))],
                           [], [value_info(f"t{level}", None)]))
    top = node("If", ["c"], ["y"], "the_node", then_branch=body, else_branch=body if depth < 3 else
               Graph(graph([node("Relu", ["x"], ["e"])], [], [value_info("e", None)])))
    return model(graph([top], [value_info("x", ["batch", 4]), value_info("c", [], BOOL)], [value_info("y", None)]))


RELU = model(graph([node("Relu", ["x"], ["y"], "the_node")], [value_info("x", ["batch", 4])], [value_info("y", None)]))
ADD = dict(inputs=("x", "w"))

FILES = {
    "window-beyond-all-channels": lambda: one("LRN", size=1 << 62),
    # The file.
    "empty-file": lambda: b"",
    "not-protobuf": lambda: b"This is a text file, not a model.\n" * 20,
    "png-file": lambda: b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0\x90wS\xde",
    "truncated": lambda: RELU[:len(RELU) * 2 // 3],
    "length-beyond-end": lambda: b"\x08\x08\x3a\xff\xff\xff\xff\x7f",
    "no-graph": lambda: model(None),
    "no-opset": lambda: model(graph([node("Relu", ["x"], ["y"], "the_node")], [value_info("x", [4])],
                                    [value_info("y", None)]), opsets=()),
    "opset-too-new": lambda: chain_of(node("Relu", ["x"], ["y"], "the_node"), opsets=((9999, ""),)),
    "opset-zero": lambda: chain_of(node("Relu", ["x"], ["y"], "the_node"), opsets=((0, ""),)),
    "opset-negative": lambda: chain_of(node("Relu", ["x"], ["y"], "the_node"), opsets=((-3, ""),)),
    "ir-version-too-new": lambda: chain_of(node("Relu", ["x"], ["y"], "the_node"), ir_version=4000),

    # The graph.
    "cycle": lambda: chain_of(node("Add", ["x", "b"], ["a"], "first"), node("Relu", ["a"], ["b"], "second"),
                              node("Relu", ["b"], ["y"], "third")),
    "self-loop": lambda: chain_of(node("Add", ["x", "y"], ["y"], "the_node")),
    "not-in-order": lambda: chain_of(node("Relu", ["a"], ["y"], "second"), node("Relu", ["x"], ["a"], "first")),
    "missing-initializer": lambda: one("Add", **ADD),
    "missing-output": lambda: chain_of(node("Relu", ["x"], ["a"], "the_node")),
    "no-outputs": lambda: model(graph([node("Relu", ["x"], ["y"], "the_node")], [value_info("x", [4])], [])),
    "output-listed-twice": lambda: model(graph([node("Relu", ["x"], ["y"], "the_node")], [value_info("x", [4])],
                                               [value_info("y", None), value_info("y", None)])),
    "value-defined-twice": lambda: chain_of(node("Relu", ["x"], ["y"], "first"), node("Abs", ["x"], ["y"], "second")),
    "input-defined-twice": lambda: model(graph([node("Relu", ["x"], ["y"], "the_node")],
                                               [value_info("x", [4]), value_info("x", [5])], [value_info("y", None)])),
    "initializer-defined-twice": lambda: one("Add", initializers=[floats("w", [4], [1.0] * 4),
                                                                  floats("w", [4], [2.0] * 4)], **ADD),
    "input-without-type": lambda: model(graph([node("Relu", ["x"], ["y"], "the_node")], [block(1, "x")],
                                              [value_info("y", None)])),
    "input-without-shape": lambda: model(graph([node("Relu", ["x"], ["y"], "the_node")], [value_info("x", None)],
                                               [value_info("y", None)])),
    "too-many-inputs": lambda: chain_of(node("Relu", ["x", "x"], ["y"], "the_node")),
    "too-few-inputs": lambda: chain_of(node("Add", ["x"], ["y"], "the_node")),
    "too-many-outputs": lambda: chain_of(node("Relu", ["x"], ["y", "z"], "the_node")),
    "empty-required-input": lambda: chain_of(node("Add", ["x", ""], ["y"], "the_node")),

    # Shapes.
    "wrong-rank": lambda: conv(dims=("batch", 8)),
    "shapes-do-not-broadcast": lambda: one("Add", initializers=[floats("w", [3], [1.0] * 3)], **ADD),
    "inner-sizes-differ": lambda: one("MatMul", initializers=[floats("w", [5, 2], [1.0] * 10)], **ADD),
    "negative-dim": lambda: one("Relu", dims=(-4, 4)),
    "overflowing-dims": lambda: one("Relu", dims=(1 << 62, 1 << 62)),
    "input-too-large": lambda: one("Relu", dims=(HUGE, HUGE >> 10)),
    "declared-shape-contradicts": lambda: model(graph([node("Relu", ["x"], ["y"], "the_node")], [value_info("x", [4])],
                                                      [value_info("y", [5])])),
    "reshape-two-unknowns": lambda: one("Reshape", initializers=[int64s("s", [-1, -1])], inputs=("x", "s")),
    "reshape-does-not-fit": lambda: one("Reshape", dims=(2, 4), initializers=[int64s("s", [3, 3])], inputs=("x", "s")),
    # Of known values, which the importer computes itself.
    "fold-without-second-input": lambda: model(graph([node("Mul", ["s", ""], ["y"], "the_node")], [value_info("x", [4])],
                                                     [value_info("y", None)], [int64s("s", [3, 4])])),
    "fold-reshape-overflows": lambda: model(graph(
        [node("Reshape", ["v", "s"], ["y"], "the_node")], [value_info("x", [4])], [value_info("y", None)],
        [int64s("v", [3, 4]), int64s("s", [1 << 32, 1 << 32, -1])])),
    "reshape-negative": lambda: one("Reshape", initializers=[int64s("s", [-7, 4])], inputs=("x", "s")),
    "expand-too-large": lambda: one("Expand", dims=(1,), initializers=[int64s("s", [HUGE, HUGE])], inputs=("x", "s")),
    "tile-too-large": lambda: one("Tile", dims=(4,), initializers=[int64s("s", [1 << 61])], inputs=("x", "s")),
    "constant-of-shape-too-large": lambda: model(graph(
        [node("ConstantOfShape", ["s"], ["y"], "the_node")],
        [value_info("x", [4])], [value_info("y", None)], [int64s("s", [HUGE, HUGE])])),
    "range-too-long": lambda: model(graph(
        [node("Range", ["a", "b", "d"], ["y"], "the_node")], [value_info("x", [4])], [value_info("y", None)],
        [int64s("a", [0], []), int64s("b", [1 << 62], []), int64s("d", [1], [])])),
    "range-step-zero": lambda: model(graph(
        [node("Range", ["a", "b", "d"], ["y"], "the_node")], [value_info("x", [4])], [value_info("y", None)],
        [int64s("a", [0], []), int64s("b", [5], []), int64s("d", [0], [])])),
    "concat-ranks-differ": lambda: one("Concat", initializers=[floats("w", [4], [1.0] * 4)], axis=0, **ADD),
    "split-does-not-add-up": lambda: one("Split", dims=(6,), initializers=[int64s("s", [2, 2])], inputs=("x", "s"),
                                         outputs=("y", "z")),
    "gather-index-out-of-range": lambda: one("Gather", dims=(3,), initializers=[int64s("i", [7])], inputs=("x", "i")),

    # Attributes.
    "attribute-wrong-type": lambda: conv(strides="two"),
    "attribute-missing": lambda: one("Concat", inputs=("x", "x")),
    "attribute-unknown": lambda: one("Relu", speed=11),
    "attribute-bad-choice": lambda: conv(auto_pad="SAME_SOMEHOW"),
    "axis-out-of-range": lambda: one("Softmax", axis=7),
    "perm-not-a-permutation": lambda: one("Transpose", perm=[0, 0]),
    "strides-zero": lambda: conv(strides=[0, 1]),
    "dilations-negative": lambda: conv(dilations=[1, -1]),
    "pads-wrong-count": lambda: conv(pads=[1, 1, 1]),
    "pads-huge": lambda: conv(pads=[1 << 62, 0, 1 << 62, 0]),
    "group-zero": lambda: conv(group=0),
    "group-does-not-divide": lambda: conv(group=2),
    "kernel-shape-contradicts": lambda: conv(kernel_shape=[5, 5]),
    "kernel-larger-than-input": lambda: one("MaxPool", dims=("batch", 3, 8, 8), kernel_shape=[HUGE, 3]),

    # Operators and types.
    "unknown-op": lambda: one("Rellu"),
    "unknown-domain": lambda: chain_of(node("Relu", ["x"], ["y"], "the_node", domain="com.example.layers")),
    "op-newer-than-opset": lambda: chain_of(node("RMSNormalization", ["x", "x"], ["y"], "the_node"),
                                            opsets=((11, ""),)),
    "string-tensor": lambda: model(graph([node("Identity", ["s"], ["y"], "the_node")], [value_info("s", [2], STRING)],
                                         [value_info("y", None, STRING)])),
    "string-initializer": lambda: one("Add", initializers=[tensor("w", [2], STRING, strings=["a", "b"])], **ADD),
    "unknown-element-type": lambda: model(graph([node("Relu", ["x"], ["y"], "the_node")], [value_info("x", [4], 99)],
                                                [value_info("y", None, 99)])),
    "element-types-differ": lambda: one("Add", extra=[value_info("w", [4], INT64)], **ADD),
    "relu-of-bool": lambda: model(graph([node("Relu", ["x"], ["y"], "the_node")], [value_info("x", [4], BOOL)],
                                        [value_info("y", None, BOOL)])),

    # Weights.
    "initializer-too-short": lambda: one("Add", initializers=[tensor("w", [4], FLOAT, b"\0" * 12)], **ADD),
    "initializer-too-long": lambda: one("Add", initializers=[tensor("w", [4], FLOAT, b"\0" * 20)], **ADD),
    "initializer-claims-much": lambda: one("Add", initializers=[tensor("w", [HUGE, 4], FLOAT, b"\0" * 16)], **ADD),
    "initializer-negative-dim": lambda: one("Add", initializers=[tensor("w", [-4], FLOAT, b"\0" * 16)], **ADD),
    "initializer-without-data": lambda: one("Add", initializers=[tensor("w", [4])], **ADD),
    "external-missing": lambda: external("nowhere.bin"),
    "external-too-short": lambda: external("short.bin"),
    "external-outside-absolute": lambda: external("/etc/passwd"),
    "external-outside-parent": lambda: external("../outside.bin"),
    "external-outside-link": lambda: external("link.bin"),
    "external-is-folder": lambda: external("folder"),
    "external-is-pipe": lambda: external("pipe"),
    "external-zero-byte": lambda: external("enough.bin\0.txt"),
    "external-names-nothing": lambda: external("."),
    "external-no-location": lambda: one("Add", initializers=[tensor("w", [4], external={"offset": 0})], **ADD),
    "external-offset-negative": lambda: external("enough.bin", offset=-8),
    "external-offset-overflows": lambda: external("enough.bin", offset=(1 << 63) - 8),
    "external-offset-not-a-number": lambda: external("enough.bin", offset="eight"),
    "external-length-contradicts": lambda: external("enough.bin", length=8),

    # Nesting, functions, names.
    "nested-too-deep": lambda: nested_ifs(400),
    "function-calls-itself": lambda: functions(node("f", ["a"], ["b"], "inner", domain="local")),
    "function-unknown-op": lambda: functions(node("Rellu", ["a"], ["b"], "inner")),
    "function-output-missing": lambda: functions(node("Relu", ["a"], ["c"], "inner")),
    "name-with-control-characters": lambda: chain_of(node("Rellu", ["x"], ["y"], "the\x1b[31mnode\n\0\"\\")),
    "name-not-utf8": lambda: chain_of(node("Rellu", ["x"], ["y"]) + block(3, b"\xff\xfe\x80node")),
    "name-very-long": lambda: chain_of(node("Rellu", ["x"], ["y"], "n" * 100_000)),
    "many-faults": lambda: chain_of(*[node("Rellu", ["x"], [f"v{i}"], f"node_{i}") for i in range(5)],
                                    node("Relu", ["x"], ["y"], "good")),
}


def external(location, offset=0, **more):
    return one("Add", initializers=[tensor("w", [4], external={"location": location, "offset": offset, **more})], **ADD)


def functions(body):
    call = node("f", ["x"], ["y"], "the_call", domain="local")
    return model(graph([call], [value_info("x", ["batch", 4])], [value_info("y", None)]), ((17, ""), (1, "local")),
                 functions=[function("f", "local", ["a"], ["b"], [body])])

for more in (refused_nodes.FILES, refused_forms.FILES):
    assert not FILES.keys() & more.keys(), "two cases of one name"
    FILES.update(more)


def write_all(folder):
    """The models, and the files that their external data is about."""
    inside = folder / "models"
    (inside / "folder").mkdir(parents=True)
    (folder / "outside.bin").write_bytes(bytes(64))
    (inside / "link.bin").symlink_to("../outside.bin")
    os.mkfifo(inside / "pipe")
    (inside / "short.bin").write_bytes(bytes(12))
    (inside / "enough.bin").write_bytes(struct.pack("<16f", *range(16)))
    for name, make in FILES.items():
        (inside / f"{name}.onnx").write_bytes(make())
    (inside / "good.onnx").write_bytes(RELU)
    return inside

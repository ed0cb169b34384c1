# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recommenders: DLRM, DeepFM, LightGCN."""

import numpy as np

from corpus.encoders import tensor_of
from corpus.writer import FLOAT, INT64, Writer, floats, ints


def dlrm():
    """Bags of one size summed; pairs by a product and a constant triangle."""
    g = Writer("dlrm", 16, constants=True, producer="pytorch")
    dense = g.input("dense_x", "batch", 5)
    tables = [g.input(f"ids_{i}", "batch", 3, kind=INT64) for i in range(3)]
    h = dense
    for width, out in ((5, 16), (16, 8)):
        h = g("Relu", g("Gemm", h, g.w(out, width), g.bias(out), transB=1))
    parts = [h] + [g("ReduceSum", g("Gather", g.w(20, 8, size=1), ids), ints(1), keepdims=0) for ids in tables]
    stacked = g("Reshape", g("Concat", *parts, axis=1), g.together(g.size(dense, 0), -1, 8))
    pairs = g("MatMul", stacked, g("Transpose", stacked, perm=[0, 2, 1]))
    # Z[:, li, lj]: rows and columns of the triangle by GatherND behind a Transpose.
    li, lj = np.tril_indices(4, -1)
    turned = g("Transpose", pairs, perm=[1, 2, 0])
    index = g("Concat", g("Unsqueeze", g.weight(li.astype(np.int64)), ints(-1)), g("Unsqueeze", g.weight(lj.astype(np.int64)), ints(-1)), axis=-1)
    flat = g("Transpose", g("GatherND", turned, index), perm=[1, 0])
    x = g("Concat", h, flat, axis=1)
    for width, out in ((14, 16), (16, 1)):
        x = g("Gemm", x, g.w(out, width), g.bias(out), transB=1)
        x = g("Relu", x) if out > 1 else g("Sigmoid", x)
    g.output(g("Clip", x, np.float32(0.001), np.float32(0.999)), "pred", "batch", 1)
    return g.model(), [{"dense_x": g.values.normal(b, 5), **{f"ids_{i}": g.values.whole(20, b, 3) for i in range(3)}} for b in (1, 6)]


def deep_fm():
    """Keras fashion: an id column each, casts from floats, a factorisation machine, a tower of Gemm and BatchNormalization."""
    g = Writer("deep_fm", 13, producer="keras2onnx")
    x = g.input("X", "N", 7)
    columns = g("Split", x, ints(1, 1, 1, 1, 3), axis=1, outputs=5)
    first, vectors = [], []
    for column, count in zip(columns[:4], (10, 20, 5, 8)):
        ids = g("Squeeze", g("Cast", column, to=INT64), ints(1))
        first.append(g("Gather", g.w(count, 1, size=1), ids, axis=0))
        vectors.append(g("Unsqueeze", g("Gather", g.w(count, 6, size=1), ids, axis=0), ints(1)))
    linear = g("Add", g("Sum", *first), g("MatMul", columns[4], g.w(3, 1)))
    fields = g("Concat", *vectors, axis=1)
    square = g("Mul", g("ReduceSum", fields, ints(1), keepdims=0), g("ReduceSum", fields, ints(1), keepdims=0))
    squares = g("ReduceSumSquare", fields, axes=[1], keepdims=0)
    pairs = g("Mul", g("ReduceSum", g("Sub", square, squares), ints(1), keepdims=1), np.float32(0.5))
    deep = g("Concat", g("Reshape", fields, ints(-1, 24)), columns[4], axis=1)
    for width, out in ((27, 16), (16, 8)):
        deep = g("Gemm", deep, g.w(width, out), g.bias(out))
        deep = g("Relu", g("BatchNormalization", deep, g.gain(out), g.bias(out), g.bias(out), g.gain(out), epsilon=1e-3))
    g.output(g("Sigmoid", g("Add", g("Add", linear, pairs), g.linear(deep, 8, 1))), "prob", "N", 1)

    def run(n):
        ids = [g.values.whole(count, n, 1).astype(np.float32) for count in (10, 20, 5, 8)]
        return {"X": np.concatenate(ids + [g.values.normal(n, 3)], 1)}

    return g.model(), [run(1), run(9)]


def light_gcn():
    """A graph as a list of edges: Gather, scale by degrees, ScatterElements or ScatterND with add, means over layers, scores of pairs."""
    g = Writer("light_gcn", 16, constants=True, producer="pytorch")
    edges = g.input("edge_index", 2, "edges", kind=INT64)
    users, items = g.input("users", "batch", kind=INT64), g.input("items", "batch", kind=INT64)
    nodes, width = 14, 8
    x = g.w(nodes, width, size=1)
    source, target = g("Gather", edges, np.array(0, np.int64), axis=0), g("Gather", edges, np.array(1, np.int64), axis=0)
    ones = g("Expand", floats(1), g("Shape", target))
    degree = g("ScatterElements", g.weight(np.zeros(nodes, np.float32)), target, ones, axis=0, reduction="add")
    root = g("Pow", degree, np.float32(-0.5))
    root = g("Where", g("Equal", root, np.float32(np.inf)), np.float32(0), root)
    weight = g("Mul", g("Gather", root, source), g("Gather", root, target))
    layers = [g("Unsqueeze", x, ints(1))]
    for _ in range(2):
        message = g("Mul", g("Gather", x, source, axis=0), g("Reshape", weight, ints(-1, 1)))
        index = g("Expand", g("Unsqueeze", target, ints(1)), g("Shape", message))
        x = g("ScatterElements", g("ConstantOfShape", ints(nodes, width), value=tensor_of(floats(0))), index, message, axis=0, reduction="add")
        layers.append(g("Unsqueeze", x, ints(1)))
    mean = g("ReduceMean", g("Concat", *layers, axis=1), axes=[1], keepdims=0)
    pair = g("Mul", g("Gather", mean, users, axis=0), g("Gather", mean, items, axis=0))
    g.output(g("ReduceSum", pair, ints(-1), keepdims=0), "scores", "batch")
    return g.model(), [{"edge_index": g.values.whole(nodes, 2, count), "users": g.values.whole(nodes, batch), "items": g.values.whole(nodes, batch)}
                       for count, batch in ((20, 3), (33, 7))]

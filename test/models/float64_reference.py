# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The few ONNX operators of the test models in float64 numpy, one function each.

weights.py runs a model through these, node by node, to give each layer weights that suit what really reaches it.
float64 makes that repeatable: the order in which a BLAS adds changes the 16th digit, and weights.py keeps three.
"""

import numpy as np
from onnx import helper, numpy_helper


def attributes(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def pad_spatial(x, pads, value):
    rank = x.ndim - 2
    return np.pad(x, [(0, 0), (0, 0)] + [(pads[i], pads[i + rank]) for i in range(rank)], constant_values=value)


def conv2d(x, w, pads, strides, dilations, group):
    """Without bias; adds one kernel position at a time."""
    x = pad_spatial(x, pads, 0.0)
    outputs, per_group, kh, kw = w.shape
    oh = (x.shape[2] - dilations[0] * (kh - 1) - 1) // strides[0] + 1
    ow = (x.shape[3] - dilations[1] * (kw - 1) - 1) // strides[1] + 1
    y = np.zeros((x.shape[0], outputs, oh, ow))
    for i in range(kh):
        for j in range(kw):
            top, left = i * dilations[0], j * dilations[1]
            part = x[:, :, top:top + strides[0] * (oh - 1) + 1:strides[0], left:left + strides[1] * (ow - 1) + 1:strides[1]]
            if per_group == 1 and outputs == group:  # depthwise
                y += part * w[:, 0, i, j][:, None, None]
                continue
            n = outputs // group
            for g in range(group):
                y[:, g * n:(g + 1) * n] += np.einsum(
                    "ncp,oc->nop", part[:, g * per_group:(g + 1) * per_group].reshape(len(x), per_group, -1),
                    w[g * n:(g + 1) * n, :, i, j], optimize=True).reshape(len(x), n, oh, ow)
    return y


def conv(node, x, w, b=None):
    a = attributes(node)
    rank = x.ndim - 2
    assert rank == 2 and a.get("auto_pad", b"NOTSET") == b"NOTSET"
    y = conv2d(x, w, a.get("pads", [0] * 4), a.get("strides", [1] * 2), a.get("dilations", [1] * 2), a.get("group", 1))
    return y if b is None else y + b[:, None, None]


def gemm(node, x, w, b=None):
    a = attributes(node)
    x = x.T if a.get("transA", 0) else x
    w = w.T if a.get("transB", 0) else w
    y = a.get("alpha", 1.0) * (x @ w)
    return y if b is None else y + a.get("beta", 1.0) * b


def batch_norm(node, x, scale, bias, mean, variance):
    column = (-1,) + (1,) * (x.ndim - 2)
    factor = scale / np.sqrt(variance + attributes(node).get("epsilon", 1e-5))
    return x * factor.reshape(column) + (bias - mean * factor).reshape(column)


def max_pool(node, x):
    a = attributes(node)
    assert not a.get("ceil_mode", 0) and set(a.get("dilations", [1])) == {1}
    (kh, kw), (sh, sw) = a["kernel_shape"], a.get("strides", [1, 1])
    x = pad_spatial(x, a.get("pads", [0] * 4), -np.inf)
    return np.lib.stride_tricks.sliding_window_view(x, (kh, kw), axis=(2, 3))[:, :, ::sh, ::sw].max((4, 5))


def hard_sigmoid(node, x):
    a = attributes(node)
    return np.clip(a.get("alpha", 0.2) * x + a.get("beta", 0.5), 0.0, 1.0)


def reduce_mean(node, x, axes=None):
    a = attributes(node)
    axes = a.get("axes") if axes is None else axes
    return x.mean(tuple(int(i) for i in axes) if axes is not None else None, keepdims=bool(a.get("keepdims", 1)))


def reshape(node, x, shape):
    return x.reshape([x.shape[i] if d == 0 else int(d) for i, d in enumerate(shape)])


def shape_of(node, x):
    a = attributes(node)
    return np.array(x.shape[a.get("start", 0):a.get("end", x.ndim)], np.int64)


def constant(node):
    a = attributes(node)
    if "value" in a:
        value = numpy_helper.to_array(a["value"])
        return value.astype(np.float64) if value.dtype.kind == "f" else value
    (value,) = a.values()
    return np.array(value)


def expand(node, x, shape):
    return x * np.ones(tuple(int(d) for d in shape), x.dtype)


OPERATORS = {
    "Add": lambda node, a, b: a + b,
    "BatchNormalization": batch_norm,
    "CastLike": lambda node, a, b: a.astype(b.dtype),
    "Concat": lambda node, *xs: np.concatenate(xs, attributes(node)["axis"]),
    "Constant": constant,
    "Conv": conv,
    "Expand": expand,
    "Flatten": lambda node, x: x.reshape(int(np.prod(x.shape[:attributes(node).get("axis", 1)])), -1),
    "Gemm": gemm,
    "GlobalAveragePool": lambda node, x: x.mean(tuple(range(2, x.ndim)), keepdims=True),
    "HardSigmoid": hard_sigmoid,
    "HardSwish": lambda node, x: x * np.clip(x / 6 + 0.5, 0.0, 1.0),
    "MaxPool": max_pool,
    "Mul": lambda node, a, b: a * b,
    "ReduceMean": reduce_mean,
    "Relu": lambda node, x: np.maximum(x, 0.0),
    "Reshape": reshape,
    "Shape": shape_of,
    "Squeeze": lambda node, x, axes=None: np.squeeze(x, None if axes is None else tuple(int(i) for i in axes)),
}


def evaluate(node, inputs):
    return OPERATORS[node.op_type](node, *inputs)

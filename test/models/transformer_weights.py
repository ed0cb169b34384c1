# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights from a seed for the transformers that export_transformers.py writes.

A norm stands in front of or behind each of their branches, so unit variance into a matrix and out of it needs no
measuring: the spread of a matrix is the root of one over its fan-in, whatever the data. What a tensor is, is told by
the nodes that read it, not by its name.
"""

import math

import numpy as np

VIEWS = ("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Expand")


def uses(model):
    """name -> [(node, index of the input)]"""
    found = {}
    for node in model.graph.node:
        for index, name in enumerate(node.input):
            found.setdefault(name, []).append((node, index))
    return found


def readers(name, found, turned=False):
    """The nodes that read a value or a view of it, as (operator, input, whether it was transposed on the way)."""
    for node, index in found.get(name, ()):
        if node.op_type == "Transpose":
            yield from readers(node.output[0], found, not turned)
        elif node.op_type in VIEWS and index == 0:
            yield from readers(node.output[0], found, turned)
        else:
            yield node, index, turned


def fan_in(node, index, shape, turned):
    """How many products one result of this node sums; none where it is no product."""
    if node.op_type == "Conv" and index == 1:
        return math.prod(shape[1:])
    if node.op_type not in ("MatMul", "Gemm"):
        return None
    flags = {attribute.name: attribute.i for attribute in node.attribute}
    turned ^= bool(flags.get("transB" if index == 1 else "transA", 0))
    return shape[-1] if turned == (index == 1) else shape[-2]


def values(tensor, found, random):
    """Numbers for an initializer; `random` is weights.Random for its name."""
    shape = tuple(tensor.dims)
    kinds = list(readers(tensor.name, found))
    if len(shape) > 1:
        terms = [fan_in(node, index, shape, turned) for node, index, turned in kinds]
        terms = [count for count in terms if count]
        if terms:
            return random.spread(math.sqrt(1 / terms[0]), shape)
        tokens = any(node.op_type == "Gather" for node, _, _ in kinds)
        return random.spread(1.0 if tokens else 0.5, shape)
    scales = ("LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization")
    if any(node.op_type == "Mul" or (node.op_type in scales and index == 1) for node, index, _ in kinds):
        return random.uniform(0.7, 1.3, shape)
    return random.spread(0.2, shape)


def generate(model, random_for):
    """name -> float32 values of each initializer without data."""
    import onnx
    found = uses(model)
    return {tensor.name: np.asarray(values(tensor, found, random_for(tensor.name)), np.float32)
            for tensor in model.graph.initializer if tensor.data_location == onnx.TensorProto.EXTERNAL}

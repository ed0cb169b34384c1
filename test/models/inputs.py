# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seeded inputs for a model: each value of an input named `name` at a batch size or other sizes, the same everywhere."""

import numpy as np
import onnx

import weights


IDS = 1000  # fewest rows of a table of words
PADDED = 3  # of a mask's rows, every other one ends with so many zeros, but for the first key


def sizes_of(kind, sizes):
    """`sizes` is one number for every named dimension, or has a number for each name."""
    def size(dim):
        if dim.HasField("dim_value"):
            return dim.dim_value
        return sizes[dim.dim_param] if isinstance(sizes, dict) else sizes
    return [size(dim) for dim in kind.shape.dim]


def whole_numbers(name, shape, random):
    """What transformers take: numbers of words, of sentences, and which words are there."""
    if name.endswith("mask"):
        mask = np.ones(shape, np.int64)
        mask[1::2, max(1, shape[-1] - PADDED):] = 0
        return mask
    return np.floor(random.uniform(0, 2 if name.startswith("token_type") else IDS, shape))


def for_model(model, sizes, seed=100):
    """name -> array; `sizes` as sizes_of() takes them."""
    stored = {tensor.name for tensor in model.graph.initializer}
    arrays = {}
    for value in model.graph.input:
        if value.name in stored:
            continue
        kind = value.type.tensor_type
        shape, dtype = sizes_of(kind, sizes), onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        random = weights.Random(seed + (sum(sizes.values()) if isinstance(sizes, dict) else sizes), value.name)
        values = random.spread(1.0, shape) if dtype.kind == "f" else whole_numbers(value.name, shape, random)
        arrays[value.name] = values.astype(dtype)
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}

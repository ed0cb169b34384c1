# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seeded inputs for a model: each value of an input named `name` at a batch size, the same everywhere."""

import numpy as np
import onnx

import weights


def for_model(model, batch, seed=100):
    """name -> array; `batch` stands for every dimension that is named rather than fixed."""
    stored = {tensor.name for tensor in model.graph.initializer}
    arrays = {}
    for value in model.graph.input:
        if value.name in stored:
            continue
        kind = value.type.tensor_type
        shape = [dim.dim_value if dim.HasField("dim_value") else batch for dim in kind.shape.dim]
        values = weights.Random(seed + batch, value.name).spread(1.0, shape)
        arrays[value.name] = values.astype(onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}

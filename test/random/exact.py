# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a graph computes with floats of 64 bits, by ONNX's reference: who is right where kpc and onnxruntime differ.

    exact.results(model, feed)      name -> array, floats rounded to f32 at the end

onnxruntime adds thousands of elements one by one, rounds the places of linear Resize to f32, and gives the least finite number
for a window of pads alone, where the standard has negative infinity (docs/missing.md, "Where ONNX's text leaves room").
"""

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnx.reference.ops import op_max_pool


class MaxPool(op_max_pool.MaxPool):
    def _run(self, *inputs, **attributes):
        return tuple(np.where(one <= np.finfo(one.dtype).min, -np.inf, one) if one.dtype.kind == "f" else one
                     for one in super()._run(*inputs, **attributes))


class GatherElements(OpRun):
    """ONNX's own takes indices of the data's sizes alone."""

    def _run(self, data, indices, axis=0):
        places = list(np.indices(indices.shape))
        places[axis] = np.where(indices < 0, indices + data.shape[axis], indices)
        return (data[tuple(places)], )


def widen_tensor(tensor):
    if tensor.data_type == TensorProto.FLOAT:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))


def widen_graph(graph):
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    # Scales are f32 by the schema.
    scales = {node.input[2] for node in graph.node if node.op_type == "Resize" and len(node.input) > 2}
    for tensor in graph.initializer:
        if tensor.name not in scales:
            widen_tensor(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name in ("to", "dtype") and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
            if attribute.type == onnx.AttributeProto.TENSOR:
                widen_tensor(attribute.t)
            elif attribute.type == onnx.AttributeProto.GRAPH:
                widen_graph(attribute.g)


def results(model, feed):
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    widen_graph(wide.graph)
    evaluator = ReferenceEvaluator(wide, new_ops=[MaxPool, GatherElements])
    with np.errstate(all="ignore"):
        found = evaluator.run(None, {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in feed.items()})
        return {o.name: array.astype(np.float32) if array.dtype == np.float64 else array for o, array in zip(model.graph.output, found)}

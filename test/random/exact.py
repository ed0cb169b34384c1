# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a graph computes with floats of 64 bits, by ONNX's reference: who is right where kpc and onnxruntime differ.

    exact.results(model, feed)                       name -> array, floats rounded to f32 at the end
    exact.undecided(model, feed)                     names of what ONNX's text does not decide
    exact.rounding(model, feed, sure, bit, samples)  name -> how much each output changes, at most, where every step rounds to this bit

onnxruntime adds thousands of elements one by one, takes variances as differences of squares, rounds the places of linear Resize to
f32, and gives the least finite number for a window of pads alone, where the standard has negative infinity (docs/missing.md, "Where
ONNX's text leaves room").
"""

import itertools
import math

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnx.reference.ops import op_resize

# What these give is an element of what they got, or a decision: nothing is rounded, and what decides is not to be changed.
KEEPS = set("""Abs And ArgMax ArgMin BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Clip Concat DepthToSpace Equal Expand
Flatten Floor Gather GatherElements GlobalMaxPool Greater GreaterOrEqual Identity IsInf IsNaN Less LessOrEqual Max MaxPool Min Neg Not
OneHot Or Pad ReduceMax ReduceMin Relu Reshape Round ScatterElements Shape Shrink Sign Slice SpaceToDepth Split Squeeze
ThresholdedRelu Tile TopK Transpose Trilu Unsqueeze Where Xor""".split())
# These round once, at the end. Others are known to give what they would of inputs that differ in their last bits.
ROUND_ONCE = {"Add", "Sub", "Mul", "Div", "Pow", "Sum"}
# A few samples may miss what one rounding of a scalar does: a sum of two roundings with chosen signs cancels every second time, or
# ends in the same f32. So what differs from the samples' results is judged again by more of them.
SAMPLES = (3, 24)
# In f64 every step's rounding is known by itself. A step's sum of this many terms, each off by its own rounding, is off by a multiple of
# the root of their number: 16 for 256 terms. The judge allows this multiple of what changes.
ROUNDINGS = 16


# What ONNX's own lack, or compute for some sizes alone.

class MaxPool(OpRun):
    def _run(self, x, auto_pad=None, ceil_mode=0, dilations=None, kernel_shape=None, pads=None, storage_order=None, strides=None):
        rank = x.ndim - 2
        dilations, strides, pads = dilations or [1] * rank, strides or [1] * rank, pads or [0] * 2 * rank
        if ceil_mode or auto_pad not in (None, "NOTSET"):
            raise NotImplementedError("MaxPool whose pads follow from its sizes")
        x = np.pad(x, [(0, 0)] * 2 + list(zip(pads[:rank], pads[rank:])), constant_values=-np.inf)
        sizes = [(size - dilation * (kernel - 1) - 1) // stride + 1
                 for size, dilation, kernel, stride in zip(x.shape[2:], dilations, kernel_shape, strides)]
        taps = [x[(..., *(slice(tap * dilation, tap * dilation + (size - 1) * stride + 1, stride)
                          for tap, dilation, size, stride in zip(place, dilations, sizes, strides)))]
                for place in itertools.product(*map(range, kernel_shape))]
        return (np.max(taps, axis=0), )


class Conv(OpRun):
    """ONNX's own fills a dilated kernel up with zeros, which make NaN of infinities that no tap reads."""

    def _run(self, x, w, bias=None, auto_pad=None, dilations=None, group=1, kernel_shape=None, pads=None, strides=None):
        rank = x.ndim - 2
        dilations, strides, pads, kernel = dilations or [1] * rank, strides or [1] * rank, pads or [0] * 2 * rank, w.shape[2:]
        if auto_pad not in (None, "NOTSET"):
            raise NotImplementedError("Conv whose pads follow from its sizes")
        x = np.pad(x, [(0, 0)] * 2 + list(zip(pads[:rank], pads[rank:])))
        x, w = x.reshape(x.shape[0], group, -1, *x.shape[2:]), w.reshape(group, -1, *w.shape[1:])
        sizes = [(size - dilation * (taps - 1) - 1) // stride + 1 for size, dilation, taps, stride in zip(x.shape[3:], dilations, kernel, strides)]
        y = np.zeros((x.shape[0], group, w.shape[1], *sizes))
        for place in itertools.product(*map(range, kernel)):
            read = x[(..., *(slice(tap * dilation, tap * dilation + (size - 1) * stride + 1, stride)
                             for tap, dilation, size, stride in zip(place, dilations, sizes, strides)))]
            y += np.einsum("ngc...,gmc->ngm...", read, w[(..., *place)])
        y = y.reshape(x.shape[0], -1, *sizes)
        return (y if bias is None else y + bias.reshape(-1, *[1] * rank), )


class Mean(OpRun):
    def _run(self, *inputs):
        return (sum(inputs) / len(inputs), )


class LRN(OpRun):
    def _run(self, x, alpha=None, beta=None, bias=None, size=None):
        before, after = (size - 1) // 2, math.ceil((size - 1) / 2)
        squares = [np.sum(x[:, max(0, c - before):c + after + 1]**2, axis=1) for c in range(x.shape[1])]
        return (x / (bias + alpha / size * np.stack(squares, axis=1))**beta, )


class GlobalMaxPool(OpRun):
    def _run(self, x):
        return (np.max(x, axis=tuple(range(2, x.ndim)), keepdims=True), )


class GlobalLpPool(OpRun):
    def _run(self, x, p=None):
        return (np.sum(np.abs(x)**p, axis=tuple(range(2, x.ndim)), keepdims=True)**(1 / p), )


class Norm(OpRun):
    """Sums of n terms in f32, in some order, are off by at most n last bits. Where the terms are equal, all steps may round one way, and
    what is left of a large mean shows it: `off` is how much of a last bit each term gives."""

    off = 0.0

    def centred(self, x, axes):
        count = math.prod(x.shape[axis] for axis in axes)
        return x - x.mean(axis=axes, keepdims=True) * (1 + self.off * count)

    def normed(self, x, axes, epsilon):
        centred = self.centred(x, axes)
        return centred / np.sqrt(np.mean(centred**2, axis=axes, keepdims=True) + epsilon)


class GroupNormalization(Norm):
    """ONNX's own keeps its variance, a difference of squares, in f32."""

    def _run(self, x, scale, bias, epsilon=None, num_groups=None, stash_type=None):
        normed = self.normed(x.reshape(x.shape[0], num_groups, -1), (2, ), epsilon)
        channels = (-1, *[1] * (x.ndim - 2))
        return (normed.reshape(x.shape) * scale.reshape(channels) + bias.reshape(channels), )


class InstanceNormalization(Norm):

    def _run(self, x, scale, bias, epsilon=None):
        channels = (-1, *[1] * (x.ndim - 2))
        return (self.normed(x, tuple(range(2, x.ndim)), epsilon) * scale.reshape(channels) + bias.reshape(channels), )


class LayerNormalization(Norm):

    def _run(self, x, scale, bias=None, axis=None, epsilon=None, stash_type=None):
        normed = self.normed(x, tuple(range(axis % x.ndim, x.ndim)), epsilon) * scale
        return (normed if bias is None else normed + bias, )


class ReduceMean(Norm):
    """Norms are written with it as well: what is left of a row of equal numbers is the rounding of their mean."""

    def _run(self, x, axes=None, keepdims=1, noop_with_empty_axes=0):
        chosen = tuple(int(axis) for axis in np.atleast_1d(axes)) if axes is not None else ()
        if not chosen and noop_with_empty_axes:
            return (x, )
        chosen = chosen or tuple(range(x.ndim))
        count = math.prod(x.shape[axis] for axis in chosen)
        mean = x.sum(axis=chosen, keepdims=bool(keepdims)) / count  # without the warning that mean() gives of no elements
        return (np.asarray(mean * (1 + self.off * count)).astype(x.dtype), )


class GatherElements(OpRun):
    """ONNX's own takes indices of the data's sizes alone."""

    def _run(self, data, indices, axis=0):
        places = list(np.indices(indices.shape))
        places[axis] = np.where(indices < 0, indices + data.shape[axis], indices)
        return (data[tuple(places)], )


class ReduceLogSumExp(OpRun):
    """ONNX's own subtracts the greatest element, and gives NaN for a row with an infinity; log(inf) is inf, and log(0) is -inf."""

    def _run(self, x, axes=None, keepdims=1, noop_with_empty_axes=0):
        chosen = tuple(int(axis) for axis in np.atleast_1d(axes)) if axes is not None else ()
        if not chosen and noop_with_empty_axes:
            return (x, )
        chosen = chosen or tuple(range(x.ndim))
        greatest = np.max(x, axis=chosen, keepdims=True, initial=-np.inf)
        greatest = np.where(np.isfinite(greatest), greatest, 0)
        sums = np.log(np.sum(np.exp(x - greatest), axis=chosen, keepdims=True)) + greatest
        return (sums if keepdims else np.asarray(np.squeeze(sums, axis=chosen)), )


class Resize(op_resize.Resize):
    """ONNX's own multiplies what is not nearest by zero, which makes NaN of infinities: here the elements' places are resized."""

    def _run(self, x, *inputs, **attributes):
        if attributes.get("mode") != "nearest" or attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize":
            return super()._run(x, *inputs, **attributes)
        places, = super()._run(np.arange(x.size, dtype=np.float64).reshape(x.shape), *inputs, **attributes)
        return (x.ravel()[places.astype(np.int64)], )


def saturated(x, kind):
    """ONNX leaves open what becomes of a float that its integer cannot hold. kpc's rule (special_values.py) is the nearest that it holds,
    and 0 for NaN; onnxruntime and numpy give what the CPU gives."""
    limits = np.iinfo(kind)
    with np.errstate(invalid="ignore"):
        whole = np.asarray(x).astype(kind)
        whole = np.where(x >= float(limits.max), limits.max, np.where(x <= float(limits.min), limits.min, whole))
    return np.asarray(np.where(np.isnan(x), 0, whole).astype(kind))


def converted(x, kind):
    return saturated(x, kind) if x.dtype.kind == "f" and kind.kind in "iu" else np.asarray(x.astype(kind))


class Cast(OpRun):
    def _run(self, x, to=None, saturate=None, round_mode=None):
        return (converted(x, np.dtype(onnx.helper.tensor_dtype_to_np_dtype(to))), )


class CastLike(OpRun):
    def _run(self, x, like, saturate=None, round_mode=None):
        return (converted(x, like.dtype), )


OWN = [MaxPool, Conv, Mean, LRN, GlobalMaxPool, GlobalLpPool, GroupNormalization, InstanceNormalization, LayerNormalization, ReduceMean,
       GatherElements, ReduceLogSumExp, Resize, Cast, CastLike]


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


def jittered(array, bit, random, where=True):
    if not isinstance(array, np.ndarray) or array.dtype != np.float64:
        return array
    return np.asarray(np.where(where, array * (1 + bit * random.choice([-1.0, 1.0], array.shape)), array))


def rounds(array, bit):
    """Which elements have more bits than are stored."""
    if not isinstance(array, np.ndarray) or array.dtype != np.float64:
        return False
    scaled = np.frexp(array)[0] / bit
    return np.isfinite(array) & (scaled != np.round(scaled))


def make_round(node, bit, random):
    """Each element this node reads or makes is from now on off by a last bit, up or down, where the node may round."""
    if node.op_type in KEEPS or (node.op_type == "Resize" and node.mode == "nearest"):
        return
    run = node.run
    if isinstance(node, Norm):
        node.off = bit / ROUNDINGS

    def rounded(*inputs, **context):
        if node.op_type not in ROUND_ONCE:
            inputs = [jittered(array, bit, random) for array in inputs]
        return tuple(jittered(array, bit, random, rounds(array, bit)) for array in run(*inputs, **context))
    node.run = rounded


def evaluator_of(model):
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    widen_graph(wide.graph)
    return ReferenceEvaluator(wide, new_ops=OWN)


def run(evaluator, feed):
    with np.errstate(all="ignore"):
        return evaluator.run(None, {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in feed.items()})


def results(model, feed, bit=0, seed=0):
    evaluator = evaluator_of(model)
    random = np.random.Generator(np.random.PCG64(seed))
    for node in evaluator.rt_nodes_ if bit else ():
        make_round(node, bit, random)
    found = run(evaluator, feed)
    with np.errstate(over="ignore"):
        return {o.name: array.astype(np.float32) if array.dtype == np.float64 else array for o, array in zip(model.graph.output, found)}


def note(node, holds, found):
    """Finds the results of a node for whose first input something holds."""
    run_node = node.run

    def noted(*inputs, **context):
        if holds(inputs[0]):
            found.update(node.onnx_node.output)
        return run_node(*inputs, **context)
    node.run = noted


def undecided(model, feed):
    """What depends on a linear or cubic Resize of infinities, or on attention without a key.

    Where a place of a Resize is an element's own its neighbours have a weight of 0, and ONNX does not say whether 0 times infinity counts:
    onnxruntime's neighbours are others than those of ONNX's reference. A query whose scores are all minus infinity sees no key, and
    kpc's kernels of attention give numbers, where a softmax by itself is NaN (docs/recognition.md, "Exactness")."""
    evaluator, found = evaluator_of(model), set()
    multiplied = {node.input[0] for node in model.graph.node if node.op_type == "MatMul"}
    for node in evaluator.rt_nodes_:
        if node.op_type == "Resize" and node.mode != "nearest":
            note(node, lambda x: not np.isfinite(x).all(), found)
        if node.op_type == "Softmax" and multiplied.intersection(node.onnx_node.output):
            note(node, lambda x: x.ndim and np.isneginf(x).all(axis=-1).any(), found)
    run(evaluator, feed)
    for node in model.graph.node:
        if found.intersection(node.input):
            found.update(node.output)
    return found


def rounding(model, feed, sure, bit, samples=SAMPLES[0]):
    changes = {name: np.zeros(np.shape(array)) for name, array in sure.items()}
    for seed in range(samples):
        for name, array in results(model, feed, bit, seed).items():
            if name in sure and array.dtype == np.float32:
                with np.errstate(invalid="ignore"):
                    changes[name] = np.maximum(changes[name], np.abs(array.astype(np.float64) - sure[name]))
    return changes

# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the cases of TorchScript modules are made of."""
import dataclasses

import numpy as np

from script_writer import Module, Tensor


@dataclasses.dataclass
class Case:
    top: Module
    code: dict
    options: list  # of kpc compile
    runs: list  # for each run: the inputs, then the outputs, by name
    constants: list = dataclasses.field(default_factory=list)


def tensor(value):
    kinds = {"float32": "Float", "int64": "Long", "bool": "Bool", "float16": "Half"}
    return Tensor(value.shape, type=kinds[str(value.dtype)], data=np.ascontiguousarray(value).tobytes())


def drawn(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def kept_boxes(boxes, scores, most):
    """The places of boxes that overlap no better one by more than a share, the best first."""
    low, high, kept = boxes[:, :2], boxes[:, 2:], []
    for i in np.argsort(-scores):
        both = [np.prod(np.maximum(np.minimum(high[i], high[j]) - np.maximum(low[i], low[j]), 0)) for j in kept]
        areas = [np.prod(high[i] - low[i]) + np.prod(high[j] - low[j]) for j in kept]
        if all(b <= most * (a - b) for a, b in zip(areas, both)):
            kept.append(i)
    return np.array(kept)


def module(name, attributes):
    return Module(name, {"training": False, "_is_full_backward_hook": None} | attributes)

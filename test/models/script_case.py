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
    runs: list  # for each run: the inputs, then the outputs, by name, or the words with which it is refused
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


@dataclasses.dataclass
class Member:
    """A member of an Enum among the attributes."""

    name: str
    value: object


def _held(value):
    """An attribute as the pickler takes it."""
    if isinstance(value, np.ndarray):
        return tensor(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(_held, value))
    return {key: _held(v) for key, v in value.items()} if isinstance(value, dict) else value


def _results(outputs):
    """By name, of one value, of several, or of some with names; as kpc computes them."""
    if not isinstance(outputs, dict):
        outputs = {f"output_{i}": v for i, v in enumerate(outputs)} if isinstance(outputs, (list, tuple)) else {"output": outputs}
    outputs = {name: np.asarray(v) for name, v in outputs.items()}
    return {name: v.astype(np.float32) if v.dtype == np.float64 else v for name, v in outputs.items()}


def scripted(parameters, body, runs, options, attributes=None, declared="", classes="", result="Tensor", methods="", files=None, **names):
    """A module of class M whose `forward` is `body`; `runs` is a text where it is refused with these words, and outputs are one where a
    run is."""
    classes, result = names.get("extra", classes), names.get("ret", result)
    declared = "".join(f"  {line}\n" for line in names.get("decl", declared).splitlines())
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    code = (f"{classes}class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n{declared}  training : bool\n"
            f"  def forward(self: __torch__.M,\n    {parameters}) -> {result}:\n{lines}{methods}")
    top = module("__torch__.M", {name: _held(v) for name, v in (attributes or {}).items()})
    if not isinstance(runs, str):
        runs = [(inputs, outputs if isinstance(outputs, str) else _results(outputs)) for inputs, outputs in runs]
    return Case(top, {"__torch__.py": code} | (files or {}), options, runs)

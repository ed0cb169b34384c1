# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of PyTorch as files. Imported only where the caller has imported torch."""

from __future__ import annotations

import inspect
import json
import pathlib
from typing import Any

import torch

from ._errors import UsageError


def dim_names(module: Any, dynamic_shapes: Any) -> dict[str, dict[str, str]]:
    """Names of ``torch.export.Dim`` by input and axis: PyTorch does not save them, kpc reads them from an extra file."""
    if isinstance(dynamic_shapes, (tuple, list)):
        dynamic_shapes = dict(zip(inspect.signature(module.forward).parameters, dynamic_shapes))
    names: dict[str, dict[str, str]] = {}
    taken: dict[str, Any] = {}
    for argument, dims in (dynamic_shapes or {}).items():
        if isinstance(dims, (tuple, list)):
            dims = dict(enumerate(dims))
        for axis, dim in dims.items() if isinstance(dims, dict) else ():
            name = getattr(dim, "__name__", None)
            # A dim that follows from another one is called `2*batch`.
            if isinstance(axis, int) and isinstance(name, str) and name.isidentifier() and taken.setdefault(name, dim) is dim:
                names.setdefault(argument, {})[str(axis)] = name
    return names


def save_model(model: Any, folder: pathlib.Path, example_inputs: Any, dynamic_shapes: Any, via: str) -> pathlib.Path:
    """Writes a module or an exported program as a file that kpc reads.

    A module is exported in inference mode of its own: it must be in ``eval()`` mode already, since dropout and batch
    normalisation of a module that trains are not what anyone wants compiled.
    """
    if via not in ("pt2", "onnx"):
        raise UsageError(f"via: expected 'pt2' or 'onnx', got {via!r}")
    name, extra_files = "model", {}
    if isinstance(model, torch.nn.Module):
        name = type(model).__name__
        if example_inputs is None:
            raise UsageError("a torch.nn.Module needs example_inputs: kpc.compile(module, example_inputs=(x,))")
        if model.training:
            raise UsageError(f"the module {name} is in training mode: call its eval() first")
        if not isinstance(example_inputs, tuple):
            example_inputs = (example_inputs,)
        with torch.no_grad():
            names = dim_names(model, dynamic_shapes)
            model = torch.export.export(model, example_inputs, dynamic_shapes=dynamic_shapes)
        inputs = {node.name for node in model.graph.nodes if node.op == "placeholder"}
        names = {argument: axes for argument, axes in names.items() if argument in inputs}
        if names:
            extra_files["kpc_dims.json"] = json.dumps(names)
    elif dynamic_shapes is not None or example_inputs is not None:
        raise UsageError("example_inputs and dynamic_shapes belong to torch.export.export: an ExportedProgram has its own")
    if via == "onnx":
        path = folder / f"{name}.onnx"
        torch.onnx.export(model, (), str(path), dynamo=True, verbose=False)
    else:
        path = folder / f"{name}.pt2"
        torch.export.save(model, str(path), extra_files=extra_files)
    return path

# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of PyTorch as files. Imported only where the caller has imported torch."""

from __future__ import annotations

import pathlib
from typing import Any

import torch

from ._errors import UsageError


def save_model(model: Any, folder: pathlib.Path, example_inputs: Any, dynamic_shapes: Any, via: str) -> pathlib.Path:
    """Writes a module or an exported program as a file that kpc reads.

    A module is exported in inference mode of its own: it must be in ``eval()`` mode already, since dropout and batch
    normalisation of a module that trains are not what anyone wants compiled.
    """
    if via not in ("pt2", "onnx"):
        raise UsageError(f"via: expected 'pt2' or 'onnx', got {via!r}")
    name = "model"
    if isinstance(model, torch.nn.Module):
        name = type(model).__name__
        if example_inputs is None:
            raise UsageError("a torch.nn.Module needs example_inputs: kpc.compile(module, example_inputs=(x,))")
        if model.training:
            raise UsageError(f"the module {name} is in training mode: call its eval() first")
        if not isinstance(example_inputs, tuple):
            example_inputs = (example_inputs,)
        with torch.no_grad():
            model = torch.export.export(model, example_inputs, dynamic_shapes=dynamic_shapes)
    elif dynamic_shapes is not None or example_inputs is not None:
        raise UsageError("example_inputs and dynamic_shapes belong to torch.export.export: an ExportedProgram has its own")
    if via == "onnx":
        path = folder / f"{name}.onnx"
        torch.onnx.export(model, (), str(path), dynamo=True, verbose=False)
    else:
        path = folder / f"{name}.pt2"
        torch.export.save(model, str(path))
    return path

# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of all kinds as files, which the compiler reads."""

from __future__ import annotations

import contextlib
import os
import pathlib
import sys
import tempfile
from typing import Any, Iterator, Union

from ._errors import UsageError
from ._specs import bytes_of

PathLike = Union[str, "os.PathLike[str]"]


def _is_torch(model: Any) -> bool:
    """Whether it is a module or an exported program of torch, which is not imported for this."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    export = sys.modules.get("torch.export")
    return isinstance(model, torch.nn.Module) or (export is not None and isinstance(model, export.ExportedProgram))


@contextlib.contextmanager
def model_file(model: Any, example_inputs: Any = None, dynamic_shapes: Any = None, via: str = "pt2") -> Iterator[str]:
    """The path of a file with the model, which may be temporary."""
    if (example_inputs is not None or dynamic_shapes is not None) and not _is_torch(model):
        raise UsageError(f"example_inputs and dynamic_shapes are for a torch.nn.Module, and the model is a {type(model).__name__}")
    if isinstance(model, (str, os.PathLike)):
        yield os.fspath(model)
        return
    # A module may have a method of this name.
    if hasattr(model, "read") and not _is_torch(model):
        model = bytes_of(model)
    with tempfile.TemporaryDirectory(prefix="kpc-") as folder:
        if isinstance(model, (bytes, bytearray, memoryview)):
            data = bytes(model)
            path = pathlib.Path(folder, "model.pt2" if data.startswith(b"PK\x03\x04") else "model.onnx")
            path.write_bytes(data)
        elif _is_torch(model):
            from ._torch import save_model

            path = save_model(model, pathlib.Path(folder), example_inputs, dynamic_shapes, via)
        elif hasattr(model, "SerializeToString"):
            name = getattr(getattr(model, "graph", None), "name", "") or "model"
            path = pathlib.Path(folder, "".join(c if c.isalnum() or c in "-_" else "_" for c in name)[:64] + ".onnx")
            path.write_bytes(model.SerializeToString())
        elif isinstance(model, dict):
            raise TypeError("expected a model, got a dict: if it holds weights, load them into the module "
                            "(module.load_state_dict) and give the module with example_inputs")
        else:
            raise TypeError("expected a path, bytes, an open file, an ONNX ModelProto, a torch.nn.Module or an "
                            f"ExportedProgram, got {type(model).__name__}")
        yield os.fspath(path)

# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What artifacts say of themselves."""

from __future__ import annotations

import dataclasses
import pathlib
import shutil
import tempfile
import weakref
from typing import TYPE_CHECKING, Any

from ._errors import Diagnostic

if TYPE_CHECKING:
    from . import _runtime


@dataclasses.dataclass(frozen=True)
class TensorSpec:
    """An input or output of a model."""

    name: str
    type: str  #: "f32", "i64", "bf16", …
    dims: tuple[int | str, ...]  #: a number, or an expression of dims such as "batch" or "seq*2 + 1"

    def __str__(self) -> str:
        return f"{self.name}: {self.type}[{', '.join(map(str, self.dims))}]"

    __repr__ = __str__


@dataclasses.dataclass(frozen=True)
class DimSpec:
    """A size that is chosen at run time."""

    name: str
    min: int
    max: int | None  #: None: unbounded
    optimum: int | None  #: what kernels were chosen for
    divisor: int

    def __str__(self) -> str:
        text = f"{self.name}: {self.min}..{'' if self.max is None else self.max}"
        if self.optimum is not None:
            text += f", tuned for {self.optimum}"
        return text + (f", multiples of {self.divisor}" if self.divisor != 1 else "")

    __repr__ = __str__


@dataclasses.dataclass(frozen=True)
class TargetSpec:
    """What an artifact has kernels for."""

    name: str  #: "host:x86-64-v3", "sm_90a", "portable"
    runs_on: str  #: "compute capability 9.0"
    device: str  #: "host" or "cuda"
    kernels: int
    steps: int  #: launches and copies of one run
    least_driver: int  #: 12040 for CUDA 12.4; 0 for any


@dataclasses.dataclass(frozen=True)
class CompileReport:
    """What came of a compilation. Times are in seconds, sizes in bytes."""

    seconds: float
    bytes: int
    weight_bytes: int
    peak_memory_bytes: int
    targets: list[dict[str, Any]]
    phases: dict[str, float]
    notes: list[str]
    slow_paths: list[str]  #: arithmetic that misses the Tensor Cores, and why
    diagnostics: list[Diagnostic]


class Loaded:
    """An artifact as sessions and tools see it; :class:`kpc.Artifact` is the one there is."""

    _model: _runtime.Model
    inputs: list[TensorSpec]
    outputs: list[TensorSpec]
    dims: dict[str, DimSpec]
    data_sizes: dict[str, str]
    targets: list[TargetSpec]

    @property
    def path(self) -> pathlib.Path:
        raise NotImplementedError

    @property
    def name(self) -> str:
        raise NotImplementedError


def temporary_folder(owner: object) -> pathlib.Path:
    """A folder that goes when its owner does."""
    folder = tempfile.mkdtemp(prefix="kpc-")
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return pathlib.Path(folder)


def bytes_of(file: Any) -> Any:
    """What an open file holds, which is bytes."""
    try:
        data = file.read()
    except UnicodeDecodeError:
        data = ""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"expected a file of bytes, got {type(file).__name__}, which is read as {type(data).__name__}; "
                        "open it with 'rb'")
    return data

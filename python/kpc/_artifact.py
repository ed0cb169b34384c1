# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Artifacts: the files that `kpc compile` writes."""

from __future__ import annotations

import os
import pathlib
import shutil
import tempfile
from typing import Any, Mapping

from . import _runtime
from ._errors import RunError
from ._session import Session
from ._specs import CompileReport, DimSpec, Loaded, TargetSpec, TensorSpec, bytes_of, temporary_folder
from ._tools import BenchResult, Inspection, VerifyResult, bench, inspect, verify

_UNBOUNDED = 2**63 - 1


def _loaded(ports: list[tuple[str, str, list[int], list[str], int]]) -> list[TensorSpec]:
    return [TensorSpec(name, kind, tuple(dim if dim >= 0 else text for dim, text in zip(dims, texts)))
            for name, kind, dims, texts, _ in ports]


class Artifact(Loaded):
    """A compiled model. :func:`kpc.compile` and :func:`kpc.load` make them.

    Thread safety: an artifact never changes, and any number of threads may use it.
    """

    def __init__(self, model: _runtime.Model, path: pathlib.Path | None, data: bytes | None = None,
                 report: CompileReport | None = None, flags: int = 0) -> None:
        self._model = model
        self._data = data
        self._path = path
        self._flags = flags
        self.report = report  #: what compiling it told; None for one that was loaded
        self.inputs: list[TensorSpec] = _loaded(model.inputs())
        self.outputs: list[TensorSpec] = _loaded(model.outputs())
        self.dims: dict[str, DimSpec] = {
            name: DimSpec(name, least, None if most == _UNBOUNDED else most, None if optimum < 0 else optimum, divisor)
            for name, least, most, optimum, divisor in model.symbols()}
        #: Sizes that data decides in a run ("nonzero_0"), and the greatest that each can be, as texts.
        self.data_sizes: dict[str, str] = dict(model.data_sizes())
        self.targets: list[TargetSpec] = [
            TargetSpec(name, runs_on, "cuda" if kind == 2 else "host", kernels, steps, driver)
            for name, runs_on, kind, kernels, steps, driver in model.targets()]

    @property
    def path(self) -> pathlib.Path:
        """The file. It is temporary, and goes with the artifact, where `compile` was given no `output`."""
        if self._path is None:
            assert self._data is not None
            folder = temporary_folder(self)
            self._path = folder / "model.kpc"
            self._path.write_bytes(self._data)
        return self._path

    @property
    def name(self) -> str:
        """The name of the model's file."""
        return self.provenance("model_name") or ""

    def provenance(self, key: str) -> str | None:
        """What the artifact says of its origin: "kpc_version", "model_name", "model_digest", "options", or
        "metadata:KEY" for what the model's author wrote. None where it says nothing."""
        found = self._model.provenance(key)
        return None if found is None else str(found)

    def verify_weights(self) -> None:
        """Reads all weights and compares their digests. Loading compares those of everything else."""
        self._model.verify_weights()

    def save(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Writes the artifact to a file, which appears whole or not at all."""
        goal = pathlib.Path(path)
        if goal.is_dir():
            raise IsADirectoryError(f"'{goal}' is a folder; give the name of a file in it, as {goal / 'model.kpc'}")
        handle, name = tempfile.mkstemp(dir=goal.parent, prefix=f".{goal.name}.")
        try:
            with os.fdopen(handle, "wb") as out, open(self.path, "rb") as source:
                shutil.copyfileobj(source, out, 1 << 22)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)
            os.replace(name, goal)
        except BaseException:
            os.unlink(name)
            raise
        return goal

    def __bytes__(self) -> bytes:
        return self._data if self._data is not None else self.path.read_bytes()

    def __reduce__(self) -> tuple[Any, ...]:
        # The contents, not the path: the other process may be on another machine.
        return _unpickled, (bytes(self), self.report, self._flags)

    def __copy__(self) -> "Artifact":
        return self  # it never changes

    def __deepcopy__(self, memo: Any) -> "Artifact":
        return self

    def session(self, device: Any = None, *, target: str | None = None, threads: int = 0, max_bound_shapes: int = 8,
                driver: str | None = None) -> Session:
        """A session that runs the model on a device. Parameters are those of :class:`kpc.Session`."""
        return Session(self, device, target=target, threads=threads, max_bound_shapes=max_bound_shapes, driver=driver)

    def inspect(self, dims: Mapping[str, int] | None = None) -> Inspection:
        """What is in it: :func:`kpc.inspect`."""
        return inspect(self, dims=dims)

    def bench(self, **options: Any) -> BenchResult:
        """How long it takes: :func:`kpc.bench`."""
        return bench(self, **options)

    def verify(self, model: Any = None, **options: Any) -> VerifyResult:
        """Whether its results are right: :func:`kpc.verify`."""
        return verify(self, model, **options)

    def __repr__(self) -> str:
        lines = [f"kpc.Artifact({self.name!r})", *(f"  input   {spec}" for spec in self.inputs),
                 *(f"  output  {spec}" for spec in self.outputs), *(f"  dim     {dim}" for dim in self.dims.values()),
                 *(f"  size    {size}, which data decides, to {most}" for size, most in self.data_sizes.items()),
                 *(f"  target  {target.name} ({target.kernels} {'kernel' if target.kernels == 1 else 'kernels'})"
                   for target in self.targets)]
        return "\n".join(lines)


def _unpickled(data: bytes, report: CompileReport | None, flags: int) -> Artifact:
    return Artifact(_runtime.Model.from_memory(data, flags), None, data, report, flags)


NOT_AN_ARTIFACT = 101  # KPC-R0101


def load(source: Any, *, verify_weights: bool = False, host_code: bool = True, custom_code: bool = False) -> Artifact:
    """Loads an artifact from a file by its path, which is mapped, or from bytes or an open file.

    `verify_weights` compares the digests of the weights, too. `host_code=False` never runs the artifact's native code
    for the host, which may do whatever this process may: for artifacts whose maker is not known. `custom_code=True` lets
    sessions on the host load the shared objects of custom operators.

    Raises :class:`kpc.RunError` where it is no artifact, or damaged.
    """
    flags = (_runtime.LOAD_VERIFY_WEIGHTS if verify_weights else 0) | (0 if host_code else _runtime.LOAD_NO_HOST_CODE)
    flags |= _runtime.LOAD_CUSTOM_HOST_CODE if custom_code else 0
    try:
        if hasattr(source, "read"):
            source = bytes_of(source)
        if isinstance(source, (bytes, bytearray, memoryview)):
            data = bytes(source)
            return Artifact(_runtime.Model.from_memory(data, flags), None, data, flags=flags)
        if not isinstance(source, (str, os.PathLike)):
            raise TypeError(f"expected the path of an artifact, its bytes or an open file, got {type(source).__name__}")
        path = pathlib.Path(source)
        return Artifact(_runtime.Model.load(os.fspath(path), flags), path, flags=flags)
    except RunError as error:
        if error.status != NOT_AN_ARTIFACT or error.hint:
            raise
        raise RunError(error.message, error.status, error.code, hint="kpc.compile makes one from a model") from None

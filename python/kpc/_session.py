# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sessions: a model that is ready to run on one device."""

from __future__ import annotations

import dataclasses
import logging
import math
import operator
import os
import sys
import warnings
from typing import Any, Mapping, Sequence

import numpy as np

from . import _runtime
from ._errors import RunError, RunWarning
from ._executable import EMULATOR
from ._specs import Loaded, TensorSpec

log = logging.getLogger("kpc")

_HOST, _CUDA = 1, 2
_DEFAULT_STREAM = 1  # CUDA's default stream, as kpc/runtime.h numbers it
_ALIGNMENT = 64  # bytes; what kernels read without a copy
_WARNING = 2
_WRONG_TYPE = 303  # KPC_ERROR_WRONG_TYPE

#: Types that numpy has not are stored as their bits, one element in an unsigned integer.
DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(kind) for name, kind in {
    "f32": "f4", "f64": "f8", "f16": "f2", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u8": "u1", "u16": "u2",
    "u32": "u4", "u64": "u8", "bool": "?", "c64": "c8", "c128": "c16", "bf16": "u2", "f8E4M3FN": "u1",
    "f8E4M3FNUZ": "u1", "f8E5M2": "u1", "f8E5M2FNUZ": "u1", "f8E8M0": "u1"}.items()}
_NUMPY_TYPES = {name for name in DTYPES if name != "bf16" and not name.startswith("f8")}
_BITS_OF = {"bfloat16": np.uint16, **dict.fromkeys(
    ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"), np.uint8)}
_COPY_REASONS = {1: "its address is no multiple of 64", 2: "it is not on the session's device"}


@dataclasses.dataclass(frozen=True)
class Copied:
    """A tensor that the runtime copied in the last run."""

    name: str
    reason: str


def empty(shape: int | Sequence[int], dtype: Any = np.float32) -> np.ndarray:
    """An array of the host as kernels want it, aligned to 64 bytes: it is read and written without a copy. Of types that
    numpy lacks ("bfloat16") it has their bits.

    >>> empty((2, 3)).ctypes.data % 64
    0
    """
    kind = np.dtype(_BITS_OF.get(str(dtype).removeprefix("torch."), dtype))
    try:
        dims: tuple[int, ...] = (operator.index(shape),)  # type: ignore[arg-type]
    except TypeError:  # arrays have __index__, and only those of one number take it
        dims = tuple(shape)  # type: ignore[arg-type]
    size = math.prod(dims) * kind.itemsize
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return np.ndarray(dims, kind, memory[start:start + size])


def aligned(array: Any) -> np.ndarray:
    """The array itself where kernels can read it as it is, else an aligned, contiguous copy of it."""
    given: np.ndarray = np.asarray(array)
    if given.flags.c_contiguous and given.ctypes.data % _ALIGNMENT == 0 and given.dtype.isnative:
        return given
    copy = empty(given.shape, given.dtype.newbyteorder("="))
    copy[...] = given
    return copy


def _device(device: Any) -> tuple[int, int, str]:
    """Kind, number, and the chip to emulate."""
    text = str(device)  # a torch.device prints as "cuda:0"
    kind, _, rest = text.lower().partition(":")
    if kind in ("host", "cpu") and not rest:
        return _HOST, 0, ""
    if kind == "cuda" and (not rest or rest.isdigit()):
        return _CUDA, int(rest or 0), ""
    if kind == "emulate" and rest.startswith("sm_"):
        return _CUDA, 0, rest
    raise ValueError(f"device: expected 'host', 'cuda', 'cuda:1' … or 'emulate:sm_90a', got {device!r}"
                     + ("; GPUs are called 'cuda'" if kind == "gpu" or text.isdigit() else ""))


def _whole(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected a whole number, got {value!r}") from None


def _is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


_ORDER = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}  # a number of one kind is one of the later kinds, too


def _array_of(value: Any, spec: TensorSpec) -> np.ndarray:
    """Lists and numbers as an array of the input's type; nothing is cut off."""
    kind = DTYPES[spec.type]
    if spec.type not in _NUMPY_TYPES:
        raise TypeError(f"the input {spec}: expected an array of its bits ({kind}), got {type(value).__name__}")
    try:
        plain = np.asarray(value)
        if plain.size and _ORDER.get(plain.dtype.kind, 9) > _ORDER[kind.kind]:
            raise TypeError(f"its elements are {plain.dtype}")
        return np.asarray(value, kind)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"the input {spec}: expected an array, got {type(value).__name__}: {error}"
                        + ("; session.run takes a dictionary by name" if isinstance(value, Mapping) else "")) from None


def _cast_hint(array: Any, spec: TensorSpec) -> str:
    """How to make an array of a wrong type the input's."""
    kind = getattr(array, "dtype", None)
    if kind is None or spec.type not in _NUMPY_TYPES or str(kind).removeprefix("torch.") == DTYPES[spec.type].name:
        return ""
    if _is_torch(array):
        return f"{spec.name}.to(torch.{DTYPES[spec.type].name})"
    return f"{spec.name}.astype({DTYPES[spec.type].name!r})"


class _Closed:
    """What stands for the runtime's session once it is closed."""

    def __getattr__(self, name: str) -> Any:
        raise RunError("the session is closed", 0, "", hint="artifact.session() makes another one")


class Session:
    """Runs a model on one device. :meth:`kpc.Artifact.session` makes one.

    Parameters
    ----------
    artifact
        What to run: an :class:`kpc.Artifact`.
    device
        ``"host"``, ``"cuda"``, ``"cuda:1"``, a ``torch.device``, or ``"emulate:sm_90a"`` (slow and strict; see
        docs/emulator.md). Default: the GPU where the artifact has code for it and it can be used, else the host.
    target
        The artifact's target to take; default: the best that fits the device.
    threads
        Of the host; 0 takes every processor that the process may use.
    max_bound_shapes
        Shapes that are kept ready. Alternating between so many rebuilds nothing.
    driver
        The CUDA driver library; default: libcuda.so.1.

    Thread safety: threads may share a session, and take turns. Several sessions of one artifact run side by side, and the
    GIL is free while they do.

    >>> session = artifact.session("host")
    >>> session(np.zeros((2, 1, 8, 8), np.float32)).shape
    (2, 10)
    """

    def __init__(self, artifact: Loaded, device: Any = None, *, target: str | None = None, threads: int = 0,
                 max_bound_shapes: int = 8, driver: str | None = None) -> None:
        self.artifact = artifact
        self.inputs = artifact.inputs
        self.outputs = artifact.outputs
        self._names = [spec.name for spec in self.inputs]
        self._output_shapes: dict[Any, list[tuple[int, ...]]] = {}
        # Where elements of inputs are sizes, "k[0]", or data decides some, the inputs' shapes do not say those of the outputs.
        self._shapes_vary = bool(artifact.data_sizes) or any("[" in name for name in artifact.dims)
        self._spread: list[Copied] = []  # inputs of the last run that were not as the runtime reads them
        wanted = [device] if device is not None else self._choices()
        for choice in wanted:
            self._kind, self._ordinal, chip = _device(choice)
            if chip:
                driver = os.fspath(EMULATOR)
                os.environ["KPC_EMULATE_TARGET"] = chip
            try:
                self._session: Any = artifact._model.session(
                    self._kind, self._ordinal, target or "", os.fspath(driver or ""), _whole("threads", threads),
                    _whole("max_bound_shapes", max_bound_shapes), 0)
                break
            except RunError as error:
                if choice == wanted[-1] or not 200 <= error.status < 300:
                    raise
                log.info("the host is used, because the GPU cannot be: %s", error.message)
        self._tell()

    def _choices(self) -> list[str]:
        kinds = {target.device for target in self.artifact.targets}
        return [name for name in ("cuda", "host") if name in kinds] or ["host"]

    def close(self) -> None:
        """Gives its memory back now, not when the last reference goes. Outputs stay; a call that is ready keeps it."""
        self._session = _Closed()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a session cannot be pickled or copied: pickle its artifact, and make a session where it is loaded")

    @property
    def device(self) -> str:
        """Where it runs: "host" or "cuda:0"."""
        return "host" if self._kind == _HOST else f"cuda:{self._ordinal}"

    @property
    def target(self) -> str:
        """The artifact's target that was taken."""
        return str(self._session.target)

    @property
    def memory(self) -> dict[str, int]:
        """Bytes: `arena_bytes` (workspace of the shape bound last), `live_bytes` (the least that any plan needs),
        `weight_bytes`, `staging_bytes`, `reserved_bytes`; and how many shapes are bound."""
        return dict(self._session.memory())

    @property
    def copied(self) -> list[Copied]:
        """The tensors that the last run copied, and why; empty where it copied none. :func:`kpc.empty` and
        :func:`kpc.aligned` make arrays that need no copy."""
        spread = {copied.name for copied in self._spread}
        return [*self._spread, *(Copied(name, _COPY_REASONS[why]) for name, why in self._session.copies() if name not in spread)]

    def prepare(self, dims: Mapping[str, int] | None = None, **more: int) -> None:
        """Binds a shape ahead of the first run with it: ``session.prepare(batch=4)``. Dims are those of
        ``artifact.dims``; those with one possible value need not be given.

        Raises :class:`kpc.RunError` for a dim that is not there, missing, or outside its range.
        """
        self._output_shapes.clear()
        self._session.prepare([(name, _whole(name, size)) for name, size in {**(dims or {}), **more}.items()])
        self._tell()

    def run(self, inputs: Mapping[str, Any], *, stream: Any = None) -> dict[str, Any]:
        """Runs the model once.

        `inputs` has an array for each input: numpy, torch, or any object with ``__dlpack__``; lists and numbers are made
        arrays of the input's type. Arrays keep their type: fp64 for an fp32 input is an error. The result has an output
        for each name, of the kind that the inputs are of: tensors of torch where one input is one, else numpy's.

        Arrays are read where they lie, if they are contiguous and aligned to 64 bytes; :attr:`copied` tells of others.

        On a GPU, `stream` is the CUDA stream (a number) to run on. With torch tensors of the device it is torch's current
        one, and the call returns when the work is queued. Without a stream it returns when the outputs are there; the
        inputs must be there when it begins.

        Raises :class:`kpc.RunError` for a missing input, a wrong type or shape, a dim outside its range.
        """
        self._check_names(inputs)
        results = self._run([inputs[name] for name in self._names], stream)
        return {spec.name: result for spec, result in zip(self.outputs, results)}

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Runs the model as a function: ``session(x=array)`` or ``session(array)``. The result is the output, or a tuple
        of them where there are several. See :meth:`run`."""
        if named or len(arguments) != len(self._names):
            if len(arguments) > len(self._names):
                raise TypeError(f"expected {len(self._names)} inputs ({', '.join(self._names)}), got {len(arguments)}")
            given = dict(zip(self._names, arguments))
            if twice := [name for name in named if name in given]:
                raise TypeError(f"the input {twice[0]!r} was given twice")
            results = list(self.run({**given, **named}).values())
        else:
            results = self._run(arguments, None)
        return results[0] if len(results) == 1 else tuple(results)

    def call(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any] | None = None, *, stream: Any = None) -> "Call":
        """A run whose arrays are read once, to be repeated with other contents: the least overhead.

        Without `outputs` they are made, of the inputs' kind, by one run.

        >>> x = kpc.empty((1, 1, 8, 8))
        >>> call = session.call({"image": x})
        >>> x[:] = 0
        >>> call()["scores"].shape
        (1, 10)
        """
        self._check_names(inputs)
        self._spread = []
        given = [self._argument(index, inputs[name]) for index, name in enumerate(self._names)]
        if self._spread:
            raise ValueError(f"the input {self._spread[0].name!r}: {self._spread[0].reason}; a call that is ready reads it "
                             "where it lies (kpc.aligned makes a copy to keep)")
        if outputs is None:
            outputs = {spec.name: self._like(made) for spec, made in zip(self.outputs, self._run(given, stream))}
        if missing := [spec.name for spec in self.outputs if spec.name not in outputs]:
            raise RunError(f"the output '{missing[0]}' was not given", 302, "KPC_ERROR_MISSING",
                           hint="the outputs are: " + "; ".join(map(str, self.outputs)))
        taken = [self._output(outputs[spec.name]) for spec in self.outputs]
        tensors = tuple(_plain(value) for value in given), tuple(_plain(value) for value in taken)
        made = _runtime.Call(self._session, *tensors, self._stream(given, stream))
        return Call(self, made, dict(zip(self._names, given)), {s.name: t for s, t in zip(self.outputs, taken)})

    def profile(self, inputs: Mapping[str, Any]) -> "Profile":
        """Runs once, step by step, and says how long each step took."""
        self._check_names(inputs)
        given = [self._argument(index, inputs[name]) for index, name in enumerate(self._names)]
        made = [self._like(value) for value in self._run(given, None)]
        steps, trace = self._session.profile(tuple(map(_plain, given)), tuple(map(_plain, made)))
        return Profile([Step(*step) for step in steps], trace)

    def _check_names(self, inputs: Mapping[str, Any]) -> None:
        if not isinstance(inputs, Mapping):
            raise TypeError(f"expected a dictionary of arrays by the inputs' names ({', '.join(self._names)}), got "
                            f"{type(inputs).__name__}; session(array) takes them in order")
        if len(inputs) != len(self._names) or any(name not in inputs for name in self._names):
            self._refuse_names(inputs)

    def _refuse_names(self, inputs: Mapping[str, Any]) -> None:
        signature = "the inputs are: " + "; ".join(map(str, self.inputs))
        for name in inputs:
            if name not in self._names:
                raise RunError(f"there is no input '{name}'", 301, "KPC_ERROR_UNKNOWN_NAME", hint=signature)
        missing = next(name for name in self._names if name not in inputs)
        raise RunError(f"the input '{missing}' was not given", 302, "KPC_ERROR_MISSING", hint=signature)

    def _argument(self, index: int, value: Any) -> Any:
        """The array of an input: contiguous, and with its own type if it has one."""
        if isinstance(value, np.ndarray):
            if value.dtype.kind in "OSUM" or value.dtype.names:
                return _array_of(value, self.inputs[index])
            if value.flags.c_contiguous and value.dtype.isnative:
                return value
            self._spread.append(Copied(self._names[index], "it is not contiguous" if value.dtype.isnative else
                                       "its bytes are in another order than the processor's"))
            # ascontiguousarray makes a scalar a vector.
            return np.asarray(value, value.dtype.newbyteorder("="), order="C")
        if _is_torch(value):
            if value.is_contiguous():
                return value.detach() if value.requires_grad else value
            self._spread.append(Copied(self._names[index], "it is not contiguous"))
            return value.detach().contiguous()
        if hasattr(value, "__dlpack__") and not isinstance(value, np.generic):
            return value
        if isinstance(value, np.generic):
            return np.asarray(value)
        return _array_of(value, self.inputs[index])

    def _stream(self, values: Sequence[Any], stream: Any) -> int:
        if self._kind != _CUDA:
            if stream is not None:
                raise ValueError("stream: a session on the host has none")
            return 0
        if stream is not None:
            # 0 is CUDA's default stream, whose number in kpc's interface is 1.
            return int(getattr(stream, "cuda_stream", stream)) or _DEFAULT_STREAM
        if values and all(_is_torch(value) and value.is_cuda for value in values):
            torch = sys.modules["torch"]
            return torch.cuda.current_stream(self._ordinal).cuda_stream or _DEFAULT_STREAM
        return 0

    def _run(self, values: Sequence[Any], stream: Any) -> list[Any]:
        if self._spread:
            self._spread = []
        given = [self._argument(index, value) for index, value in enumerate(values)]
        number = self._stream(given, stream)
        tensors = tuple(_plain(value) for value in given)
        key = None
        if number and not self._shapes_vary:
            # Memory of torch's pool, ordered by its stream: from the second run with these shapes on.
            key = tuple(tuple(value.shape) for value in given)
            if shapes := self._output_shapes.get(key):
                made = [self._torch_empty(spec.type, shape) for spec, shape in zip(self.outputs, shapes)]
                self._session.run_into(tensors, tuple(made), number)
                return made
        try:
            raw = self._session.run(tensors, number)
        except RunError as error:
            hints = [hint for value, spec in zip(given, self.inputs) if (hint := _cast_hint(value, spec))]
            if error.hint or not hints or error.status != _WRONG_TYPE:
                raise
            raise RunError(error.message, error.status, error.code, error.node, error.kernel, ", ".join(hints)) from None
        if key is not None:
            self._output_shapes[key] = [tensor.shape for tensor in raw]
        if self._session.has_log:
            self._tell()
        if any(_is_torch(value) for value in given):
            return [sys.modules["torch"].from_dlpack(tensor) for tensor in raw]
        if self._kind == _CUDA and given and not any(isinstance(value, np.ndarray) for value in given):
            return list(raw)  # of the device: objects with __dlpack__
        return [np.ndarray(tensor.shape, DTYPES[tensor.type], tensor) for tensor in raw]

    def _torch_empty(self, kind: str, shape: tuple[int, ...]) -> Any:
        torch = sys.modules["torch"]
        types = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "i8": torch.int8,
                 "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "u8": torch.uint8, "bool": torch.bool,
                 "c64": torch.complex64, "c128": torch.complex128}
        return torch.empty(shape, dtype=types[kind], device=f"cuda:{self._ordinal}")

    @staticmethod
    def _like(value: Any) -> Any:
        return empty(value.shape, value.dtype) if isinstance(value, np.ndarray) else value

    @staticmethod
    def _output(value: Any) -> Any:
        if isinstance(value, np.ndarray) and not value.flags.c_contiguous:
            raise ValueError("an output must be contiguous")
        return value

    def _tell(self) -> None:
        for level, message in self._session.take_log():
            # That arrays are copied is said by `copied`: of numpy's most are.
            if level == _WARNING and not self._session.copies():
                warnings.warn(message, RunWarning, stacklevel=4)
            else:
                log.info("%s", message)

    def __repr__(self) -> str:
        state = "closed" if isinstance(self._session, _Closed) else f"target={self.target!r}"
        return "\n".join([f"kpc.Session({self.artifact.name!r}, device={self.device!r}, {state})",
                          *(f"  input   {spec}" for spec in self.inputs), *(f"  output  {spec}" for spec in self.outputs)])


def _plain(value: Any) -> Any:
    """Arrays of ml_dtypes are of types that numpy's buffers cannot name: their bits, which the model's type explains."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "V" and value.dtype.name in _BITS_OF:
        return value.view(_BITS_OF[value.dtype.name])
    return value


class Call:
    """A run that is ready: :meth:`Session.call` makes one. `inputs` and `outputs` are its arrays, by name.

    Calling it runs the model on what is in the inputs now, and returns `outputs`. On a GPU with a stream it returns when
    the work is queued.
    """

    def __init__(self, session: Session, call: _runtime.Call, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        self._session, self.inputs, self.outputs = session, inputs, outputs
        self._call = call
        #: What each run copies, and why; see :attr:`Session.copied`.
        self.copied: list[Copied] = session.copied

    def __call__(self) -> dict[str, Any]:
        self._call()
        return self.outputs

    def __repr__(self) -> str:
        def line(kind: str, name: str, array: Any) -> str:
            return f"  {kind:<7} {name}: {array.dtype}{list(array.shape)}"

        return "\n".join([f"kpc.Call of {self._session.artifact.name!r} on {self._session.device}",
                          *(line("input", *item) for item in self.inputs.items()),
                          *(line("output", *item) for item in self.outputs.items())])


@dataclasses.dataclass(frozen=True)
class Step:
    """A launch, copy or fill of one run."""

    name: str
    nodes: str  #: of the model, ", " between
    start_us: float
    duration_us: float
    bytes_read: int
    bytes_written: int
    flops: int  #: -1: not known


@dataclasses.dataclass(frozen=True)
class Profile:
    """One run, step by step. `trace` is JSON for chrome://tracing or Perfetto."""

    steps: list[Step]
    trace: str

    def __repr__(self) -> str:
        whole = sum(step.duration_us for step in self.steps) or 1
        rows = [f"{step.duration_us:10.1f} us  {step.duration_us / whole:6.1%}  {step.name}" for step in self.steps]
        return "\n".join(rows)

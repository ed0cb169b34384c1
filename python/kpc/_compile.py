# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a model to an artifact."""

from __future__ import annotations

import dataclasses
import logging
import os
from typing import Any, Mapping, Sequence, Union

from ._artifact import Artifact, load
from ._errors import CompileError, Diagnostic, UsageError, warn_of
from ._executable import ProgressCallback, ask
from ._model_file import PathLike, model_file
from ._specs import CompileReport, temporary_folder

log = logging.getLogger("kpc")


@dataclasses.dataclass(frozen=True)
class Dim:
    """What is said of a dynamic size.

    >>> str(Dim(1, 512, opt=16))
    '1..512:opt=16'
    >>> str(Dim(min=1, div=8))
    '1..:div=8'
    """

    min: int = 0
    max: int | None = None  #: None: no end
    opt: int | None = None  #: the size to tune for
    div: int | None = None  #: sizes are multiples of it

    def __str__(self) -> str:
        return (f"{self.min}..{'' if self.max is None else self.max}" + (f":opt={self.opt}" if self.opt is not None else "")
                + (f":div={self.div}" if self.div is not None else ""))


#: A size, the least and the greatest (both are possible), a Dim, or the text of `--dim`.
DimLike = Union[int, "tuple[int, int | None]", Dim, str]


def dim_text(value: Any) -> str:
    """The text that `--dim` takes.

    >>> [dim_text(value) for value in (8, (1, 64), (1, None), "?", Dim(1, 4))]
    ['8', '1..64', '1..', '?', '1..4']
    """
    if isinstance(value, (str, Dim)):
        return str(value)
    if isinstance(value, tuple) and len(value) == 2:
        return str(Dim(*value))
    try:
        return str(value.__index__())
    except AttributeError:
        raise UsageError(f"a dim: expected a number, (least, greatest), kpc.Dim or text, got {value!r}") from None


def _value_text(value: Any) -> str:
    import numpy as np

    if isinstance(value, str):
        return value
    elements = np.asarray(value).ravel()
    return ",".join(str(element).lower() if elements.dtype == bool else str(element) for element in elements.tolist())


def _names(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else ",".join(value)


#: Sizes of an input: numbers, names of dynamic dims and "?", or the text of `--input-shape`.
ShapeLike = Union[str, "Sequence[int | str]"]


def _shape_text(shape: ShapeLike) -> str:
    """The text that `--input-shape` takes.

    >>> [_shape_text(shape) for shape in ("batch,3", ("batch", 3, 8), [4], ())]
    ['batch,3', 'batch,3,8', '4', '']
    """
    return shape if isinstance(shape, str) else ",".join(map(str, shape))


def _type_text(dtype: Any) -> str:
    """The text that `--input-type` takes: of "f16" or "float16", and of a type of numpy or torch.

    >>> import numpy as np
    >>> [_type_text(dtype) for dtype in ("i64", np.float16, np.dtype("int32"))]
    ['i64', 'float16', 'int32']
    """
    if isinstance(dtype, str):
        return dtype
    name = str(dtype)
    if name.startswith("torch."):
        return name.removeprefix("torch.")
    import numpy as np

    return str(np.dtype(dtype).name)


#: Precisions by the names of numpy and torch.
_PRECISIONS = {"float16": "fp16", "half": "fp16", "bfloat16": "bf16", "float32": "fp32", "float": "fp32"}


def _precision_text(given: Any) -> str:
    """The text that `--precision` takes.

    >>> import numpy as np
    >>> [_precision_text(given) for given in ("fp16", "float16", np.float16, np.dtype("float32"))]
    ['fp16', 'fp16', 'fp16', 'fp32']
    """
    name = _type_text(given)
    return _PRECISIONS.get(name, name)


def model_options(arch: str | Sequence[str] | None, precision: str | None, io_precision: str | None,
                  precision_for: Mapping[str, str] | None, dims: Mapping[str, Any] | None, values: Mapping[str, Any] | None,
                  strict: bool, ptxas: PathLike | None, input_shape: Mapping[str, ShapeLike] | None = None,
                  input_type: Mapping[str, Any] | None = None, method: str | None = None,
                  state: str | None = None, operators: Sequence[PathLike] = ()) -> list[str]:
    """The options that `compile` and `check` share, as `kpc` takes them."""
    options: list[str] = []
    for name, shape in (input_shape or {}).items():
        options += ["--input-shape", f"{name}={_shape_text(shape)}"]
    for name, dtype in (input_type or {}).items():
        options += ["--input-type", f"{name}={_type_text(dtype)}"]
    for name, value in (("--arch", _names(arch) if arch else None),
                        ("--precision", _precision_text(precision) if precision else None),
                        ("--io-precision", _precision_text(io_precision) if io_precision else None),
                        ("--ptxas", os.fspath(ptxas) if ptxas else None), ("--method", method), ("--state", state)):
        if value:
            options += [name, value]
    for pattern, kept in (precision_for or {}).items():
        options += ["--precision-for", f"{pattern}={_precision_text(kept)}"]
    for name, size in (dims or {}).items():
        text = ",".join(map(dim_text, size)) if isinstance(size, list) else dim_text(size)
        options += ["--dim", f"{name}={text}"]
    for name, fixed in (values or {}).items():
        options += ["--value", f"{name}={_value_text(fixed)}"]
    for manifest in [operators] if isinstance(operators, (str, os.PathLike)) else operators:
        options += ["--operator", os.fspath(manifest)]
    return options + (["--strict"] if strict else [])


def _report(facts: dict[str, Any], diagnostics: list[Diagnostic]) -> CompileReport:
    same = ("seconds", "bytes", "weight_bytes", "peak_memory_bytes", "targets", "notes", "slow_paths")
    return CompileReport(phases={phase["name"]: phase["seconds"] for phase in facts["phases"]}, diagnostics=diagnostics,
                         **{key: facts[key] for key in same})


class _Owner:
    """Keeps a temporary folder."""


def compile(model: Any, output: PathLike | None = None, *, arch: str | Sequence[str] | None = None,
            precision: str | None = None, io_precision: str | None = None, precision_for: Mapping[str, str] | None = None,
            dims: Mapping[str, DimLike | list[DimLike]] | None = None, values: Mapping[str, Any] | None = None,
            input_shape: Mapping[str, ShapeLike] | None = None, input_type: Mapping[str, Any] | None = None,
            method: str | None = None, state: str | None = None, operators: Sequence[PathLike] = (),
            strict: bool = False, example_inputs: Any = None,
            dynamic_shapes: Any = None, via: str = "pt2",
            jobs: int | None = None, cache: bool | PathLike = True, ptxas: PathLike | None = None, strip: bool = False,
            variants: int | None = None, schedule: PathLike | None = None,
            calibration: PathLike | None = None, accuracy_budget: str | None = None, accuracy_check: str | None = None,
            data: PathLike | None = None, precision_plan: PathLike | None = None, precision_plan_out: PathLike | None = None,
            progress: bool | ProgressCallback | None = None) -> Artifact:
    """Compiles a model.

    Parameters
    ----------
    model
        A path, the bytes of a file, an open file, an ONNX ``ModelProto``, a ``torch.nn.Module`` (with `example_inputs`) or a
        ``torch.export.ExportedProgram``. Weights in files beside an ONNX file are found where the model is a path.
    output
        The file to write. Without it the artifact is a temporary file, which goes with the object.
    arch
        What to compile for: ``"host"``, ``"sm_90a"``, ``"portable"``, or several (:func:`kpc.targets` lists all).
        Default: this machine's GPU, else its processor.
    precision, io_precision
        The type that weights and values, or inputs and outputs, are stored in: "model" (the default), "fp32", "fp16",
        "bf16"; `precision` may be "tf32", "fp8", "int8", "mxfp8", "mxfp4", "nvfp4", "int4" or
        "auto", too.
    precision_for
        Regular expressions of nodes' names that keep another precision: ``{"norm.*": "fp32"}``.
    dims
        Dynamic sizes by name: a number fixes one, ``(1, 64)`` or :class:`kpc.Dim` gives its range. A list gives all dims
        of an input, by the input's name.
    values
        Inputs that are constants from now on: ``{"sr": 16000}``.
    input_shape, input_type
        For TorchScript, whose files have neither: sizes of each input, numbers and names of dynamic dims,
        ``{"x": ("batch", 3, 224, 224)}``, and types other than f32, ``{"ids": np.int64}``.
    method, state
        For TorchScript: the method to compile instead of ``forward``; "explicit" makes what a module keeps between calls
        inputs and outputs.
    operators
        Manifests of the custom operators that the model uses (docs/custom-operators.md). The artifact that is returned
        may load their host code.
    strict
        Warnings are errors.
    example_inputs, dynamic_shapes, via
        For torch alone: arguments (a tuple) and ``dynamic_shapes`` of ``torch.export.export``; `via` is the form that
        kpc reads, "pt2" or "onnx".
    jobs
        Worker processes; default: one per core.
    cache
        Whether compiled kernels are kept for the next time, or the folder for them.
    ptxas, strip, variants, schedule
        As the options of `kpc compile` (docs/cli.md).
    calibration
        The file that `kpc calibrate` wrote.
    accuracy_budget, accuracy_check, data, precision_plan_out
        For ``precision="auto"``, which chooses a type for each layer: what outputs may be off ("sqnr=30dB",
        "cosine=0.999", "rmse=0.01", "max=0.02"), a command that judges the artifact, samples to measure with, and a file
        for the types.
    precision_plan
        Such a file, to be taken as it is.
    progress
        True or False, or a function that gets (phase, done, total). Default: a bar in terminals and notebooks.

    Raises
    ------
    kpc.CompileError
        The model does not compile; `diagnostics` says all that is wrong with it.
    kpc.UsageError
        An argument means nothing.

    Warnings of the compiler are ``kpc.CompileWarning``. Ctrl-C ends the compilation with all its processes. Any number of
    threads may compile at a time.

    >>> artifact = compile("digits.onnx", arch="host", dims={"batch": (1, 512)}, progress=False)
    >>> artifact.inputs
    [image: f32[batch, 1, 8, 8]]
    """
    options = model_options(arch, precision, io_precision, precision_for, dims, values, strict, ptxas, input_shape,
                            input_type, method, state, operators)
    for name, number in (("--jobs", jobs), ("--variants", variants)):
        if number is not None:
            options += [name, str(number)]
    for name, given in (("--schedule", schedule), ("--calibration", calibration), ("--accuracy-budget", accuracy_budget),
                        ("--accuracy-check", accuracy_check), ("--data", data), ("--precision-plan", precision_plan),
                        ("--precision-plan-out", precision_plan_out)):
        if given is not None:
            options += [name, os.fspath(given)]
    if cache is False:
        options.append("--no-cache")
    elif cache is not True:
        options += ["--cache-dir", os.fspath(cache)]
    if strip:
        options.append("--strip")
    owner = _Owner()
    with model_file(model, example_inputs, dynamic_shapes, via) as source:
        goal = os.fspath(output) if output is not None else os.fspath(temporary_folder(owner) / "model.kpc")
        reply = ask(["compile", source, "--output", goal, "--json", "--progress", "json", *options], progress)
    if not reply.out:
        reply.fail()
    facts = reply.json()
    diagnostics = [Diagnostic.from_json(entry) for entry in facts["diagnostics"]]
    if not facts["compiled"]:
        reply.fail(diagnostics, facts.get("reproducer", ""), facts.get("replay", ""))
    warn_of(diagnostics, depth=2)
    for note in facts["notes"]:
        log.info("%s", note)
    artifact = load(goal, custom_code=bool(operators))
    artifact.report = _report(facts, diagnostics)
    artifact._owner = owner  # type: ignore[attr-defined]
    return artifact


@dataclasses.dataclass(frozen=True)
class CheckResult:
    """What :func:`check` found. It is true where the model compiles."""

    compiles: bool
    diagnostics: list[Diagnostic]

    def __bool__(self) -> bool:
        return self.compiles

    def __repr__(self) -> str:
        return "\n".join(["compiles" if self.compiles else "does not compile", *map(str, self.diagnostics)])


def check(model: Any, *, arch: str | Sequence[str] | None = None, precision: str | None = None,
          io_precision: str | None = None, precision_for: Mapping[str, str] | None = None,
          dims: Mapping[str, DimLike | list[DimLike]] | None = None, values: Mapping[str, Any] | None = None,
          input_shape: Mapping[str, ShapeLike] | None = None, input_type: Mapping[str, Any] | None = None,
          method: str | None = None, state: str | None = None, operators: Sequence[PathLike] = (),
          strict: bool = False, example_inputs: Any = None, dynamic_shapes: Any = None, via: str = "pt2",
          ptxas: PathLike | None = None) -> CheckResult:
    """Says what :func:`compile` would refuse, without compiling kernels. The parameters are those of :func:`compile`.

    >>> check("digits.onnx", arch="host")
    compiles
    """
    options = model_options(arch, precision, io_precision, precision_for, dims, values, strict, ptxas, input_shape,
                            input_type, method, state, operators)
    with model_file(model, example_inputs, dynamic_shapes, via) as source:
        reply = ask(["check", source, "--json", *options])
    facts = reply.json()
    return CheckResult(facts["compiles"], [Diagnostic.from_json(entry) for entry in facts["diagnostics"]])


__all__ = ["CheckResult", "CompileError", "Dim", "DimLike", "ShapeLike", "check", "compile"]

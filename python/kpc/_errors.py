# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What goes wrong: diagnostics of the compiler, errors of the runtime."""

from __future__ import annotations

import dataclasses
import re
import warnings
from typing import Any, Iterable, Sequence


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """One thing that the compiler says of a model.

    Members that do not apply are "" (``opset``: 0).

    >>> Diagnostic("KPC-I0007", "kpc has no rule for this operator", node="Conv_12", op="Conv", opset=17)
    error[KPC-I0007]: 'Conv_12' (Conv, opset 17): kpc has no rule for this operator
    """

    code: str  #: "KPC-I0007"; the error catalogue (docs/errors.md) lists all
    message: str
    severity: str = "error"  #: "error", "warning" or "note"
    hint: str = ""  #: what to do
    node: str = ""  #: the node of the model, or its output where it has no name
    op: str = ""  #: "Conv"
    opset: int = 0
    path: str = ""  #: functions that the node was inlined through, outermost first
    file: str = ""
    target: str = ""  #: the target it holds for; "" for all

    def __str__(self) -> str:
        inside = ", ".join(part for part in (self.op, f"opset {self.opset}" if self.opset else "") if part)
        place = " ".join(part for part in (f"'{self.node}'" if self.node else "", f"({inside})" if inside else "",
                                           f"in {self.file}" if self.file else "") if part)
        target = f" for {self.target}" if self.target else ""
        text = f"{self.severity}[{self.code}]{target}: {place + ': ' if place else ''}{self.message}"
        return text + (f"\n  hint: {self.hint}" if self.hint else "")

    __repr__ = __str__

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> "Diagnostic":
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{key: value for key, value in entry.items() if key in known})


class Error(Exception):
    """Every exception of this package is one of these."""


class CompileError(Error):
    """A model cannot be compiled.

    ``diagnostics`` holds all that the compiler said: errors, and warnings beside them. The text of the exception is
    theirs.
    """

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics: list[Diagnostic] = list(diagnostics)

    @property
    def errors(self) -> list[Diagnostic]:
        return [d for d in self.diagnostics if d.severity == "error"]


class UsageError(CompileError, ValueError):
    """An argument means nothing: an unknown target, a dim that the model does not have."""


class InternalError(CompileError):
    """A fault of kpc's own. ``reproducer`` is the file or folder that shows it, ``replay`` the command that replays it."""

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = (), reproducer: str = "", replay: str = "") -> None:
        super().__init__(message, diagnostics)
        self.reproducer = reproducer
        self.replay = replay


class RunError(Error):
    """The runtime refuses an artifact, a device or a tensor, or a run fails."""

    def __init__(self, message: str, status: int = 0, code: str = "", node: str = "", kernel: str = "", hint: str = "") -> None:
        super().__init__(message + (f"\n  hint: {hint}" if hint else ""))
        self.message = message
        self.status = status  #: the number of kpc/runtime.h; 300 and so on
        self.code = code  #: "KPC_ERROR_WRONG_SHAPE"
        self.node = node  #: of the model
        self.kernel = kernel
        self.hint = hint  #: what to do


class CompileWarning(UserWarning):
    """The compiler goes on, and something is likely not as it was meant."""


class RunWarning(UserWarning):
    """The runtime goes on: tensors are copied in each run, for instance."""


_LINE = re.compile(r"(error|warning|note)\[(KPC-[A-Z]\d+)\](?: for (\S+))?: (.*)")


def diagnostics_of_text(text: str) -> list[Diagnostic]:
    """What a command prints on its standard error, where it has no JSON for it."""
    found: list[Diagnostic] = []
    for line in text.splitlines():
        if match := _LINE.match(line):
            found.append(Diagnostic(match[2], match[4], severity=match[1], target=match[3] or ""))
        elif found and line.startswith("  hint: "):
            found[-1] = dataclasses.replace(found[-1], hint=line.removeprefix("  hint: "))
    return found


#: How options that hints name are written here.
_KEYWORDS = {"--arch": 'arch="host"', "--dim": 'dims={"batch": (1, 64)}', "--precision": 'precision="fp16"',
             "--input-shape": 'input_shape={"x": ("batch", 3, 224, 224)}', "--input-type": 'input_type={"x": "i64"}',
             "--value": 'values={"n": 3}', "--method": 'method="encode"', "--state": 'state="explicit"',
             "--operator": 'operators=["operator.json"]'}


def in_python(text: str) -> str:
    """What to write for the options that a text of the command names.

    >>> in_python("hint: --state explicit makes such tensors inputs")
    '\\n  in Python: state="explicit"'
    """
    named = [keyword for option, keyword in _KEYWORDS.items() if re.search(rf"(?<![\w-]){option}(?![\w-])", text)]
    return "\n  in Python: " + ", ".join(named) if named else ""


def warn_of(diagnostics: Iterable[Diagnostic], depth: int) -> None:
    """Warnings go to ``warnings``, `depth` callers up."""
    for diagnostic in diagnostics:
        if diagnostic.severity == "warning":
            warnings.warn(str(diagnostic), CompileWarning, stacklevel=depth + 1)

# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kpc: compiles trained models ahead of time for NVIDIA GPUs and x86-64 processors, and runs them.

    import kpc

    artifact = kpc.compile("model.onnx", arch="host")
    session = artifact.session()
    scores = session(x=array)

docs/python.md is the guide; every function has its parameters, types and errors in its docstring.
"""

# Each module imports from those in front of it alone: _errors, _executable, _specs, _session, _model_file, _tools, _artifact,
# _compile. _torch and torch_backend, which import torch, come last.
from ._artifact import Artifact, load
from ._compile import CheckResult, Dim, check, compile
from ._errors import (CompileError, CompileWarning, Diagnostic, Error, InternalError, RunError, RunWarning, UsageError)
from ._executable import executable
from ._runtime import version as _version
from ._session import Call, Copied, Profile, Session, Step, aligned, empty
from ._specs import CompileReport, DimSpec, TargetSpec, TensorSpec
from ._tools import (BenchResult, Inspection, Operator, Target, VerifyResult, bench, inspect, ops, targets, verify)

__version__ = _version()

__all__ = [
    "Artifact", "BenchResult", "Call", "CheckResult", "CompileError", "CompileReport", "CompileWarning", "Copied",
    "Diagnostic", "Dim", "DimSpec", "Error", "Inspection", "InternalError", "Operator", "Profile", "RunError", "RunWarning",
    "Session", "Step", "Target", "TargetSpec", "TensorSpec", "UsageError", "VerifyResult", "aligned", "bench", "check",
    "compile", "empty", "executable", "inspect", "load", "ops", "targets", "verify",
]

# Tracebacks call exceptions by the names that people write. (Of others doctest looks for examples where they are.)
for _name in __all__:
    if isinstance(globals()[_name], type) and issubclass(globals()[_name], Exception):
        globals()[_name].__module__ = __name__

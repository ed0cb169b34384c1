# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is run: command lines with the exit code each must have.

In an argument DIR is the case's own empty folder, MODELS the folder of bad_models.py, GOOD an artifact made from
good.onnx (one Relu of `x`, float32[batch, 4]).
"""

import dataclasses

import bad_models

DONE, AT_FAULT, USAGE = 0, 1, 2

# Models of bad_models.py that ONNX forbids or leaves open, and kpc takes.
TAKEN = {"not-in-order", "output-listed-twice", "initializer-defined-twice", "negative-dim", "declared-shape-contradicts",
         "opset-twice", "initializer-without-name", "opset-of-another-domain", "window-beyond-all-channels"}


@dataclasses.dataclass
class Case:
    arguments: list
    code: int
    prepare: str = ""  # a function of this name in run_hostile.py makes what the case needs
    checked: bool = False  # `kpc check` on the same model must exit alike


def compile_model(name):
    return ["compile", f"MODELS/{name}.onnx", "--arch", "host", "-o", "DIR/out.kpc", "--no-cache", "--quiet"]


def good(*more):
    return ["compile", "MODELS/good.onnx", *more]


OUT = ["-o", "DIR/out.kpc", "--no-cache", "--quiet"]
HOST = ["--arch", "host"]

CASES = {name: Case(compile_model(name), DONE if name in TAKEN else AT_FAULT, checked=True)
         for name in bad_models.FILES}

CASES.update({
    # Files and folders.
    "model-does-not-exist": Case(["compile", "MODELS/god.onnx", *HOST, *OUT], AT_FAULT),
    "model-is-a-folder": Case(["compile", "MODELS", *HOST, *OUT], AT_FAULT),
    "model-beyond-2-gib": Case(["compile", "DIR/large.onnx", *HOST, *OUT], AT_FAULT, prepare="large_file"),
    "model-unreadable": Case(["compile", "DIR/secret.onnx", *HOST, *OUT], AT_FAULT, prepare="unreadable_file"),
    "output-folder-does-not-exist": Case(good(*HOST, "-o", "DIR/nowhere/out.kpc", "--no-cache", "--quiet"), AT_FAULT),
    "output-is-a-folder": Case(good(*HOST, "-o", "DIR", "--no-cache", "--quiet"), AT_FAULT),
    "output-unwritable": Case(good(*HOST, "-o", "/proc/out.kpc", "--no-cache", "--quiet"), AT_FAULT),
    "disk-full": Case(good(*HOST, "-o", "DIR/full/out.kpc", "--no-cache", "--quiet"), AT_FAULT, prepare="full_disk"),

    # Command lines.
    "no-command": Case([], USAGE),
    "unknown-command": Case(["compille", "MODELS/good.onnx"], USAGE),
    "unknown-option": Case(good(*HOST, "--archh", "host"), USAGE),
    "compile-without-model": Case(["compile"], USAGE),
    "unknown-arch": Case(good("--arch", "sm_90b", *OUT), USAGE),
    "unknown-arch-far": Case(good("--arch", "pentium", *OUT), USAGE),
    "unknown-cpu": Case(good("--arch", "host:x86-64-v9", *OUT), USAGE),
    "unknown-precision": Case(good(*HOST, "--precision", "fp17", *OUT), USAGE),
    "unknown-dim": Case(good(*HOST, "--dim", "batsh=4", *OUT), AT_FAULT),
    "dim-malformed": Case(good(*HOST, "--dim", "batch=four", *OUT), USAGE),
    "dim-empty-range": Case(good(*HOST, "--dim", "batch=8..2", *OUT), USAGE),
    "dim-negative": Case(good(*HOST, "--dim", "batch=-1", *OUT), USAGE),
    "unknown-emit": Case(good(*HOST, "--emit", "picture", *OUT), USAGE),

    # Running.
    "artifact-does-not-exist": Case(["run", "DIR/none.kpc", "--output-dir", "DIR"], AT_FAULT),
    "artifact-is-a-model": Case(["run", "MODELS/good.onnx", "--output-dir", "DIR"], AT_FAULT),
    "artifact-empty": Case(["run", "MODELS/empty-file.onnx", "--output-dir", "DIR"], AT_FAULT),
    "artifact-truncated": Case(["run", "DIR/short.kpc", "--output-dir", "DIR"], AT_FAULT, prepare="truncated_artifact"),
    "artifact-flipped": Case(["run", "DIR/flipped.kpc", "--output-dir", "DIR"], AT_FAULT, prepare="flipped_artifact"),
    "input-missing": Case(["run", "GOOD", "--output-dir", "DIR"], AT_FAULT),
    "input-unknown": Case(["run", "GOOD", "--input", "xx=DIR/x.npy", "--output-dir", "DIR"], AT_FAULT,
                          prepare="good_input"),
    "input-file-missing": Case(["run", "GOOD", "--input", "x=DIR/none.npy", "--output-dir", "DIR"], AT_FAULT),
    "input-file-not-npy": Case(["run", "GOOD", "--input", "x=DIR/text.npy", "--output-dir", "DIR"], AT_FAULT,
                               prepare="text_as_npy"),
    "input-file-not-a-tensor": Case(["run", "GOOD", "--input", "x=DIR/text.pb", "--output-dir", "DIR"], AT_FAULT,
                                    prepare="text_as_tensor"),
    "input-file-truncated": Case(["run", "GOOD", "--input", "x=DIR/short.npy", "--output-dir", "DIR"], AT_FAULT,
                                 prepare="short_npy"),
    "input-wrong-type": Case(["run", "GOOD", "--input", "x=DIR/int.npy", "--output-dir", "DIR"], AT_FAULT,
                             prepare="int_npy"),
    "input-wrong-rank": Case(["run", "GOOD", "--input", "x=DIR/flat.npy", "--output-dir", "DIR"], AT_FAULT,
                             prepare="flat_npy"),
    "input-wrong-dim": Case(["run", "GOOD", "--input", "x=DIR/wide.npy", "--output-dir", "DIR"], AT_FAULT,
                            prepare="wide_npy"),
    "input-malformed": Case(["run", "GOOD", "--input", "x", "--output-dir", "DIR"], USAGE),
    "unknown-device": Case(["run", "GOOD", "--input", "x=DIR/x.npy", "--device", "tpu:0", "--output-dir", "DIR"], USAGE,
                           prepare="good_input"),
    "inspect-a-model": Case(["inspect", "MODELS/good.onnx"], DONE),
})

#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models of the kinds that the web has, in forms that converters and hands write, against onnxruntime.

    python3 forms.py --kpc build/dev/bin/kpc --work-dir DIR [--only REGEX] [--every 4] [--jobs 2]

Where onnxruntime has no such version of an operator, ONNX's reference says what is right. Exits 77 (a skip) where a Python
package is not installed.
"""

import argparse
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx.reference import ReferenceEvaluator
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(77)

import form
import forms_chains  # noqa: F401: enters its cases
import forms_control  # noqa: F401: enters its cases
import forms_more  # noqa: F401: enters its cases
import forms_named  # noqa: F401: enters its cases
import forms_sizes  # noqa: F401: enters its cases
import forms_sources  # noqa: F401: enters its cases
import forms_values  # noqa: F401: enters its cases


def wanted(model, feeds):
    """For each feed the outputs by name."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        return [dict(zip(names, session.run(None, feed))) for feed in feeds]
    except Exception:  # it has no such opset
        evaluator = ReferenceEvaluator(model)
        return [dict(zip(evaluator.output_names, evaluator.run(None, feed))) for feed in feeds]


def difference(got, want, options):
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"is {got.dtype}{list(got.shape)}, not {want.dtype}{list(want.shape)}"
    if want.dtype.kind == "f":
        same = np.isclose(got.astype(np.float64), want.astype(np.float64), options.get("tol", 1e-4), options.get("tol", 1e-4), True)
    elif want.dtype.kind in "iu":
        same = np.abs(got.astype(np.float64) - want) <= options.get("steps", 0)
    else:
        same = got == want
    return "" if np.all(same) else f"is {got.ravel()[:8]}, not {want.ravel()[:8]}"


def call(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    return f"kpc {command[1]} exits {done.returncode}: {(done.stdout + done.stderr).strip()[-800:]}" if done.returncode else ""


def problem(kpc, name, folder):
    """None where kpc gives what onnxruntime gives."""
    made, feeds, options = form.CASES[name]
    model = made() if callable(made) else made
    folder.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    failed = call(kpc, "compile", folder / "model.onnx", "--arch", "host", "-O0", "--no-cache", "--quiet", "--jobs", 0, "-o",
                  folder / "model.kpc", *options.get("args", []))
    for feed, results in zip(feeds, [] if failed else wanted(model, feeds)):
        words = []
        for key, array in feed.items():
            np.save(folder / f"{key}.npy", array)
            words += ["--input", f"{key}={folder / key}.npy"]
        shutil.rmtree(folder / "out", ignore_errors=True)
        failed = call(kpc, "run", folder / "model.kpc", "--output-dir", folder / "out", "--quiet", *words)
        if failed:
            return failed
        for output, want in results.items():
            if text := difference(np.load(folder / "out" / f"{output}.npy"), np.asarray(want), options):
                return f"output '{output}' {text}"
    return failed or None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    shutil.rmtree(options.work_dir, ignore_errors=True)
    names = [name for name in form.CASES if re.search(options.only, name)][::options.every]

    def judge(name):
        try:
            return problem(options.kpc, name, options.work_dir / name)
        except Exception as error:  # neither peer takes a case: the case is wrong
            return f"{type(error).__name__}: {error}"

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        problems = [f"{name}: {text}" for name, text in zip(names, pool.map(judge, names)) if text]
    print("\n".join(problems))
    print(f"{len(names)} forms, {len(problems)} problems")
    return 1 if problems or not names else 0


if __name__ == "__main__":
    sys.exit(main())

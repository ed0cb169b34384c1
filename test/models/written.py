#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models as the writers of ONNX files make them: each compiles as it comes and gives what onnxruntime gives, at two shapes.

    python3 written.py --kpc build/dev/bin/kpc --work-dir DIR [--quick] [--only REGEX] [--arch host] [--device host]

The models are written by test/models/corpus, in the ways of PyTorch's exporters, ONNX Runtime's optimiser, model builder and quantiser, tf2onnx,
Paddle2ONNX, skl2onnx and onnxmltools. --quick: those of the table that presubmit runs. Each is compiled for `portable` as well, unless --arch is given.
"""

import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import time

SKIPPED = 77

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(SKIPPED)

import tolerance
from corpus.cases import CASES


def call(command, limit=300):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=limit)
    if done.returncode != 0:
        raise RuntimeError(f"kpc {command[1]} exits {done.returncode}: {(done.stdout + done.stderr).strip()[:1500]}")
    return done.stdout


def file_of(folder, name):
    """What `kpc run` calls an output's file."""
    return next(folder.glob(re.sub(r"[^A-Za-z0-9_.-]", "?", name) + ".npy"))


def plain(value):
    """What onnxruntime gives of an output, as one array: maps are rows of their values."""
    if isinstance(value, list):
        return np.array([list(row.values()) for row in value], np.float32)
    return np.asarray(value)


def problem_of(case, name, got, wanted, strings):
    wanted = plain(wanted)
    if wanted.dtype.kind in "OU":
        # Strings are numbers in a list that the artifact's metadata has.
        names = json.loads(strings[name])
        got = np.array([names[int(i)] if 0 <= i < len(names) else None for i in got.ravel()], object).reshape(got.shape)
        return "" if got.shape == wanted.shape and (got == wanted).all() else f"{name}: {got.tolist()} instead of {wanted.tolist()}"
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{name}: {got.dtype}{list(got.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
    if wanted.size == 0:
        return ""
    if wanted.dtype.kind != "f":
        off = int((got != wanted).sum())
        return f"{name}: {off} of {wanted.size} elements differ" if off > case.steps * wanted.size else ""
    off = tolerance.difference(got, wanted)
    return "" if off.within(tolerance.Tolerance(case.rms, case.largest)) else f"{name}: {off}"


def row_of(mapping, labels, size):
    """A map's values in the order of the keys that the artifact has, else at the places that are their keys, or in the order of the map's own."""
    keys = json.loads(labels) if labels else range(size) if isinstance(size, int) else sorted(mapping)
    values = {str(key): value for key, value in mapping.items()}
    return np.array([[values.get(str(key), 0) for key in keys]], np.float32)


def given(feed, folder, strings, labels, sizes):
    """--input words; strings as numbers in the artifact's lists, and behind their ends what is in none."""
    words = []
    for number, (name, array) in enumerate(feed.items()):
        if isinstance(array, dict):
            array = row_of(array, labels.get(name), sizes[name][-1])
        if array.dtype.kind in "OU":
            names = json.loads(strings[name])
            array = np.array([names.index(text) if text in names else -1 for text in array.ravel()], np.int64).reshape(array.shape)
        path = folder / f"in-{number}.npy"
        np.save(path, array)
        words += ["--input", f"{name}={path}"]
    return words


def check(name, case, options):
    """What is wrong, or nothing; and seconds."""
    start = time.monotonic()
    folder = options.work_dir / name
    folder.mkdir(parents=True, exist_ok=True)
    model, runs = case.make()
    source, artifact = folder / "model.onnx", folder / "model.kpc"
    onnx.save(model, source)
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 4
    if case.as_written:
        quiet.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    reference = case.reference().SerializeToString() if case.reference else str(source)
    session = onnxruntime.InferenceSession(reference, quiet, providers=["CPUExecutionProvider"])
    precision = ["--precision", "fp32"]
    call([options.kpc, "compile", source, "--arch", options.arch or "host", "-O0", "-o", artifact, "--no-cache", "--quiet", "--jobs", "0", *precision, *case.arguments])
    problems = []
    inspected = json.loads(call([options.kpc, "inspect", artifact, "--json"]))
    metadata, sizes = inspected.get("metadata", []), {port["name"]: port["dims"] for port in inspected["inputs"]}
    strings, labels = ({key.removeprefix(kind): value for key, value in metadata if key.startswith(kind)} for kind in ("strings:", "labels:"))
    seen = False
    for number, feed in enumerate(runs):
        out = folder / str(number)
        out.mkdir(exist_ok=True)
        call([options.kpc, "run", artifact, "--device", options.device, "--quiet", "--output-dir", out, *given(feed, out, strings, labels, sizes)])
        for port, wanted in zip(session.get_outputs(), session.run(None, feed)):
            got = np.load(file_of(out, port.name))
            seen |= got.size > 0
            problems.append(problem_of(case, port.name, got, wanted, strings))
    problems = [text for text in problems if text]
    if not seen:
        problems.append("no output has an element")
    if not options.arch and case.portable:
        call([options.kpc, "compile", source, "--arch", "portable", "-o", artifact, "--no-cache", "--quiet", "--jobs", "0", *case.arguments])
    return "; ".join(problems), time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="cases whose name has a match")
    parser.add_argument("--arch", default="", help="this target alone")
    parser.add_argument("--device", default="host")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    chosen = {name: case for name, case in CASES.items() if re.search(options.only, name) and (case.quick or not options.quick)}
    skipped = 0

    def judge(item):
        try:
            return check(*item, options)
        except ImportError as error:
            return f"SKIPPED: {error}", 0
        except (RuntimeError, subprocess.TimeoutExpired, KeyError, StopIteration) as error:
            return f"{type(error).__name__}: {error}", 0

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, (text, seconds) in zip(chosen, pool.map(judge, chosen.items())):
            skipped += text.startswith("SKIPPED")
            failed += bool(text) and not text.startswith("SKIPPED")
            print(f"{name}: {text or f'right in {seconds:.1f} s'}", flush=True)
    print(f"{len(chosen)} models, {failed} wrong, {skipped} skipped")
    return 1 if failed or not chosen else SKIPPED if skipped else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a model for the host, runs it at several batch sizes and compares with onnxruntime's CPU provider.

    python3 compare.py --kpc build/dev/bin/kpc --model graphs/mlp.dynamo.onnx --work-dir DIR [--batch 1,5]
                       [--sizes batch=1,sequence=9 --sizes batch=3,sequence=20] [--dim sequence=1..64:opt=32]
                       [--precision fp16]

A model without weights gets them from weights.py first. One artifact serves all batch sizes. The peer computes in fp32
whatever the precision. Exits 0 when every difference is within tolerance, 77 (a skip) when a peer is not installed,
else 1.
"""

import argparse
import json
import pathlib
import shutil
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

import inputs
import tolerance
import weights


# Of what is live at once, a workspace may take so much more (packed at bind, first fit).
MOST_WORKSPACE = 1.15


def call_kpc(command, limit):
    """What it printed; ends the test with kpc's own words when it fails."""
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=limit)
    if result.returncode != 0:
        print("$ " + " ".join(str(part) for part in command))
        print(result.stdout + result.stderr)
        raise SystemExit(f"FAILED: exit code {result.returncode}")
    return result.stdout


def run_kpc(command, limit):
    """Seconds it took."""
    start = time.monotonic()
    call_kpc(command, limit)
    return time.monotonic() - start


def place_model(source, work_dir):
    """The model with weights, in the work folder."""
    model = onnx.load(str(source), load_external_data=False)
    if any(t.data_location == onnx.TensorProto.EXTERNAL for t in model.graph.initializer):
        return weights.generate(source, work_dir)
    return pathlib.Path(shutil.copy(source, work_dir))


def label_of(sizes):
    return " ".join(f"{name} {size}" for name, size in sizes.items())


def named_sizes(text):
    """`batch=1,sequence=9` as a dictionary."""
    return {name: int(size) for name, size in (part.split("=") for part in text.split(","))}


def compare(kpc, artifact, model, session, sizes, folder, limit, arguments, allowed):
    arrays = inputs.for_model(model, sizes if len(sizes) > 1 else next(iter(sizes.values())))
    label = label_of(sizes)
    command = [kpc, "run", artifact, "--output-dir", folder] + arguments
    for name, array in arrays.items():
        path = folder / f"input-{name.replace('/', '_')}.npy"
        np.save(path, array)
        command += ["--input", f"{name}={path}"]
    seconds = run_kpc(command, limit)
    expected = session.run(None, arrays)
    good = True
    for value, reference in zip(session.get_outputs(), expected):
        got = np.load(folder / (value.name.replace("/", "_") + ".npy"))
        if got.shape != reference.shape or got.dtype != reference.dtype:
            print(f"{label}: '{value.name}' is {got.dtype}{list(got.shape)}, "
                  f"should be {reference.dtype}{list(reference.shape)}")
            good = False
            continue
        found = tolerance.difference(got, reference)
        passed = found.within(allowed)
        print(f"{label}: '{value.name}' {found} ({'ok' if passed else 'TOO FAR'}), kpc run took {seconds:.1f} s")
        good = good and passed
    return good


def check_workspace(kpc, artifact, sizes, limit, arguments):
    """The workspace against the largest sum of what is live at once."""
    dims = [word for name, size in sizes.items() for word in ("--dim", f"{name}={size}")]
    said = call_kpc([kpc, "bench", artifact, "--iterations", "1", "--warmup", "0", "--json"] + dims + arguments, limit)
    memory = json.loads(said)["memory"]
    taken, least = memory["workspace_bytes"], memory["least_workspace_bytes"]
    print(f"{label_of(sizes)}: workspace of {taken} bytes, {least} live at once: {taken / max(least, 1):.3f}")
    return taken <= MOST_WORKSPACE * least


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--batch", default="1,3", help="batch sizes, with commas")
    parser.add_argument("--sizes", action="append", type=named_sizes, help="instead of batch sizes: sizes by name")
    parser.add_argument("--dim", action="append", default=[], help="as kpc compile takes it")
    parser.add_argument("--precision", choices=tolerance.OF_PRECISION, default="fp32")
    parser.add_argument("--arch", default="host")
    parser.add_argument("--device", default="", help="host or cuda:N")
    parser.add_argument("--limit", type=float, default=600, help="seconds one kpc process may take")
    parser.add_argument("--jobs", type=int, default=1, help="of kpc compile")
    options = parser.parse_args()

    options.work_dir.mkdir(parents=True, exist_ok=True)
    path = place_model(options.model, options.work_dir)
    artifact = path.with_suffix(".kpc")
    # What compiles must be said to compile.
    dims = [word for text in options.dim for word in ("--dim", text)]
    run_kpc([options.kpc, "check", path, "--arch", options.arch, "--quiet"] + dims, options.limit)
    narrow = ["--precision", options.precision]
    seconds = run_kpc([options.kpc, "compile", path, "--arch", options.arch, "-o", artifact, "--cache-dir",
                       options.work_dir / "cache", "--quiet", "--jobs", options.jobs] + dims + narrow, options.limit)
    print(f"{path.stem}: compiled in {seconds:.1f} s, {artifact.stat().st_size} bytes, {options.precision}")

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    model = onnx.load(str(path), load_external_data=False)
    arguments = ["--device", options.device] if options.device else []
    good = True
    for sizes in options.sizes or [{"batch": int(text)} for text in options.batch.split(",")]:
        folder = options.work_dir / label_of(sizes).replace(" ", "-")
        folder.mkdir(exist_ok=True)
        good &= compare(options.kpc, artifact, model, session, sizes, folder, options.limit, arguments,
                        tolerance.OF_PRECISION[options.precision])
        good &= check_workspace(options.kpc, artifact, sizes, options.limit, arguments)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

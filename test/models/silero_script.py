#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A scripted model as its makers ship it: silero-vad's silero_vad.jit against its ONNX twin, chunk by chunk.

    python3 silero_script.py --kpc build/dev/bin/kpc --work-dir DIR

The script branches on the sample rate, checks its inputs, and keeps two tensors and two numbers between calls; the twin
takes the samples before each chunk, and its state, as inputs. Nothing of the package is imported. Exits 77 (a skip) where
it, or onnxruntime, is not installed.
"""
import argparse
import importlib.util
import pathlib
import subprocess
import sys

try:
    import numpy as np
    import onnxruntime
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(77)

CHUNKS, ALLOWED = 5, 1e-5


def call(command):
    process = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600)
    if process.returncode:
        sys.exit(f"exit code {process.returncode}: {process.stderr.strip()[-800:]}")


def largest(kpc, data, folder, rate, samples, before, batch):
    """The largest difference of any output of any chunk."""
    artifact = folder / f"vad-{rate}.kpc"
    call([kpc, "compile", data / "silero_vad.jit", "--arch", "host", "-o", artifact, "-q", "--state", "explicit",
          "--input-shape", f"x=batch,{samples}", "--value", f"sr={rate}"])
    twin = onnxruntime.InferenceSession(data / "silero_vad.onnx")
    generator = np.random.default_rng(rate)
    context, state = np.zeros((batch, before), np.float32), np.zeros((2, batch, 128), np.float32)
    ours, off = {"_context": context, "_state": state}, 0.0
    for _ in range(CHUNKS):
        x = (generator.standard_normal((batch, samples)) * 0.3).astype(np.float32)
        wanted, state = twin.run(None, {"input": np.concatenate([context, x], 1), "state": state,
                                        "sr": np.array(rate, np.int64)})
        context = x[:, -before:]
        command = [kpc, "run", artifact, "-q", "--output-dir", folder]
        for name, value in {"x": x, **ours}.items():
            np.save(folder / f"in-{name}.npy", value)
            command += ["--input", f"{name}={folder / f'in-{name}.npy'}"]
        call(command)
        got = np.load(folder / "output.npy")
        ours = {name: np.load(folder / f"{name}_out.npy") for name in ours}
        for a, b in ((got, wanted), (ours["_state"], state), (ours["_context"], context)):
            off = max(off, float(np.abs(a - b).max()))
    return off


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kpc", required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    options = parser.parse_args()
    found = importlib.util.find_spec("silero_vad")
    if not found:
        print("SKIPPED: the Python package 'silero_vad' is not installed")
        sys.exit(77)
    data = pathlib.Path(found.submodule_search_locations[0]) / "data"
    options.work_dir.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for rate, samples, before in ((16000, 512, 64), (8000, 256, 32)):
        for batch in (1, 3):
            off = largest(options.kpc, data, options.work_dir, rate, samples, before, batch)
            print(f"{rate} Hz, batch {batch}: {CHUNKS} chunks differ by {off:.1e}")
            wrong += off > ALLOWED
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops of all steps in one kernel, compiled for a GPU where there need be none, beside the same loops step by step.

    python3 loops.py KPC FOLDER [--arch sm_90a] [--only NAME]

FOLDER gets both artifacts of each model, inputs, and the outputs of the host; time_loops.py runs them on the GPU's machine.
"""

import argparse
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "emulator"))
import loop_models as models  # noqa: E402

np, onnx = models.np, models.onnx
RULES = ("linear", "gated", "delta", "gated_delta")


def cases():
    made = {"mamba_b1": models.mamba(1, 1024, 1536, 16), "mamba_b8": models.mamba(8, 1024, 1536, 16), "mamba_reverse": models.mamba(1, 512, 768, 16, True)}
    made |= {f"attention_{rule}": models.attention(rule, 1, 1024, 16, 16, 128, 128) for rule in RULES}
    made |= {"attention_b8": models.attention("gated_delta", 8, 512, 16, 16, 128, 128), "delta_net": models.delta_net(1, 1024, 8, 16, 64, 128),
             "det": models.single("Det", [("x", [256, 32, 32])], [("y", [256])]),
             "inverse": models.single("Inverse", [("x", [64, 48, 48])], [("y", [64, 48, 48])], domain="com.microsoft"),
             "boxes": models.boxes(1, 20, 2000), "shifts": models.shifts(64, 200, 100), "turned": models.turned(64, 200, 32),
             "picked": models.picked(64, 200, 1000), "counted": models.counted(1000)}
    return made


def feed(name, model):
    """Of a few sizes; states of products stay small."""
    random = np.random.default_rng(11)
    arrays = {}
    for given in model.graph.input:
        dims = [dim.dim_value for dim in given.type.tensor_type.shape.dim]
        array = random.standard_normal(dims).astype(np.float32)
        if name == "boxes" and given.name == "boxes":
            corners = random.uniform(0, 1, dims[:-1] + [2])
            array = np.concatenate([corners, corners + random.uniform(0.02, 0.2, dims[:-1] + [2])], axis=-1).astype(np.float32)
        if name in ("det", "inverse"):
            array = array / dims[-1] ** 0.5 + 2 * np.eye(dims[-1], dtype=np.float32)
        arrays[given.name] = array
    return arrays


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kpc")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--only", default="", help="cases whose names have this in them")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, model in cases().items():
        if options.only not in name:
            continue
        source = options.folder / f"{name}.onnx"
        onnx.save(model, source)
        base = [options.kpc, "compile", source, "--precision", "fp32", "--no-cache", "--quiet", "-o"]
        subprocess.run([*base, options.folder / f"{name}.kpc", "--arch", options.arch], check=True)
        subprocess.run([*base, options.folder / f"{name}.steps.kpc", "--arch", options.arch, "--no-loop-kernels"], check=True)
        host, out, inputs = options.folder / f"{name}.host.kpc", options.folder / f"{name}.out", feed(name, model)
        subprocess.run([*base, host, "--arch", "host"], check=True)
        given = []
        for key, array in inputs.items():
            np.save(options.folder / f"{name}.{key}.npy", array)
            given += ["--input", f"{key}={options.folder / f'{name}.{key}.npy'}"]
        subprocess.run([options.kpc, "run", host, *given, "--output-dir", out, "--device", "host"], check=True, stdout=subprocess.DEVNULL)
        outputs = {one.name: np.load(out / f"{one.name}.npy") for one in model.graph.output}
        np.savez(options.folder / f"{name}.npz", **{f"in_{k}": v for k, v in inputs.items()}, **{f"out_{k}": v for k, v in outputs.items()})
        for key in inputs:
            (options.folder / f"{name}.{key}.npy").unlink()
        print(name, flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles programs of torch.export and compares what they compute with what PyTorch computed.

  program.py --kpc KPC --out FOLDER [--programs FOLDER] [--layouts LAYOUT,…] [NAME …]

PyTorch is not needed: `export_program.py` made the archives, and beside each a NAME.npz with inputs (in0, in1, …, long ones
as the seeds they were made from) and outputs (out0, …, of long ones the first 256 values). Archives of larger models have no weights: export_program.py
seeded each by its name, and this puts the same ones back. `--layouts` writes each program as older versions of PyTorch would have
saved it (saved_tensors.py) and compiles that.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import zipfile
import zlib

try:
    import numpy as np
except ImportError:
    sys.exit(77)

import saved_tensors

HERE = pathlib.Path(__file__).parent
# Numbers of torch/_export/serde/schema.py.
TYPES = {1: "u1", 2: "i1", 3: "i2", 4: "i4", 5: "i8", 6: "f2", 7: "f4", 8: "f8", 12: "?"}


def seeded(name, shape):
    """A weight as export_program.py makes it: by its name and its sizes alone."""
    generator = np.random.Generator(np.random.PCG64([1, zlib.crc32(name.encode())]))
    x = generator.random(shape)
    if name.endswith("running_var"):
        value = 0.5 + x
    elif len(shape) >= 2:
        value = (2 * x - 1) * math.sqrt(3.0 / int(np.prod(shape[1:])))
    else:
        value = (2 * x - 1) * 0.2 + (1.0 if name.endswith("weight") else 0.0)
    return value.astype(np.float32)


def window_tables(name, shape):
    """Swin's and MaxViT's buffers of relative places, which follow from the window's size."""
    if name.endswith("relative_coords_table"):
        size = (shape[1] + 1) // 2
        line = np.arange(-(size - 1), size, dtype=np.float32)
        table = np.stack(np.meshgrid(line, line, indexing="ij"), -1)[None] / np.float32(size - 1) * 8
        return (np.sign(table) * np.log2(np.abs(table) + 1.0) / 3.0).astype(np.float32)
    size = math.isqrt(math.isqrt(int(np.prod(shape))))
    places = np.stack(np.meshgrid(np.arange(size), np.arange(size), indexing="ij")).reshape(2, -1)
    apart = places[:, :, None] - places[:, None, :] + size - 1
    return (apart[0] * (2 * size - 1) + apart[1]).astype(np.int64).reshape(shape)


def weight(name, dtype, shape):
    if name.endswith("relative_position_index") or name.endswith("relative_coords_table"):
        return window_tables(name, shape)
    if name.endswith("num_batches_tracked"):
        return np.zeros(shape, np.int64)
    if dtype != 7:
        sys.exit(f"no rule makes '{name}' of type {dtype}")
    return seeded(name, shape)


def with_weights(archive, folder):
    """The archive with every weight in it."""
    source = zipfile.ZipFile(archive)
    names = set(source.namelist())
    config_name = next((n for n in names if n.endswith("_weights_config.json")), None)
    if config_name is None:  # of older PyTorch, with all of its weights
        return archive
    root = config_name[: config_name.rindex("/") + 1]
    config = json.loads(source.read(config_name))["config"]
    missing = {}
    for name, entry in config.items():
        if root + entry["path_name"] not in names:
            # Tied weights have the first one's name, as the exporter seeded it.
            missing.setdefault(entry["path_name"], (name, entry["tensor_meta"]))
    if not missing:
        return archive
    whole = folder / pathlib.Path(archive).name
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as target:
        for entry in source.infolist():
            target.writestr(entry.filename, source.read(entry))
        for path, (name, meta) in missing.items():
            sizes = [s["as_int"] for s in meta["sizes"]]
            value = weight(name, meta["dtype"], tuple(sizes))
            target.writestr(root + path, np.ascontiguousarray(value).tobytes())
    return whole




def input_of(reference, place):
    """What PyTorch was given; None for a state that the program starts from. Long ones are kept as their seeds."""
    if f"in{place}" in reference:
        return reference[f"in{place}"]
    if f"in{place}_seed" not in reference:
        return None
    seed = [7, zlib.crc32(str(reference[f"in{place}_seed"]).encode())]
    generator = np.random.Generator(np.random.PCG64(seed))
    return generator.standard_normal(tuple(reference[f"in{place}_shape"])).astype(np.float32)


def check(name, options, folder, layout=None):
    """None, or what is wrong."""
    archive = options.programs / f"{name}.pt2"
    reference = np.load(options.programs / f"{name}.npz")
    whole = with_weights(archive, folder)
    if layout:
        whole = saved_tensors.in_layout(whole, folder / f"{name}-{layout}.pt2", layout)
    artifact = folder / f"{name}.kpc"
    command = [options.kpc, "compile", str(whole), "--arch", "host", "-o", str(artifact), "--jobs", str(options.jobs)]
    made = subprocess.run(command, capture_output=True, text=True)
    if whole != archive:
        whole.unlink()
    if made.returncode != 0:
        return "does not compile: " + (made.stderr.strip() or made.stdout.strip())
    told = json.loads(subprocess.check_output([options.kpc, "inspect", str(artifact), "--json"]))
    command = [options.kpc, "run", str(artifact), "--output-dir", str(folder / name), "-q"]
    (folder / name).mkdir(exist_ok=True)
    for place, port in enumerate(told["inputs"]):
        file = folder / name / f"in{place}.npy"
        given = input_of(reference, place)
        if given is not None and port["type"] == "bf16":  # as bits, cut off: what PyTorch was given has no more
            given = (given.view(np.uint32) >> 16).astype(np.uint16)
        if given is not None:
            np.save(file, given)
            command += ["--input", f"{port['name']}={file}"]
        else:  # the state that a program starts from
            command += ["--input", f"{port['name']}=zeros"]
    ran = subprocess.run(command, capture_output=True, text=True)
    artifact.unlink()
    if ran.returncode != 0:
        return "does not run: " + ran.stderr.strip()
    for place in range(sum(key.startswith("out") for key in reference)):
        wanted = reference[f"out{place}"]
        got = np.load(folder / name / (told["outputs"][place]["name"].replace("/", "_") + ".npy"))
        if told["outputs"][place]["type"] == "bf16":
            got = (got.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        if wanted.size < got.size:
            got = got.reshape(-1)[: wanted.size]
        elif got.shape != wanted.shape:
            return f"output {place} has the shape {got.shape}, not {wanted.shape}"
        if wanted.dtype.kind in "biu":
            if not np.array_equal(got, wanted):
                return f"output {place} differs in {np.count_nonzero(got != wanted)} of {wanted.size} integers"
            continue
        got, wanted = got.astype(np.float64), wanted.astype(np.float64)
        if not np.array_equal(np.isfinite(got), np.isfinite(wanted)):
            return f"output {place}: infinities or NaN in other places"
        finite = np.isfinite(wanted)
        tolerance = 1e-2 if told["outputs"][place]["type"] in ("bf16", "f16") else options.tolerance
        scale = max(1e-6, math.sqrt(np.mean(wanted[finite] ** 2)) if finite.any() else 1)
        error = math.sqrt(np.mean((got[finite] - wanted[finite]) ** 2)) / scale if finite.any() else 0
        if error > tolerance:
            return f"output {place} is off by {error:.2e} RMS"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kpc", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--programs", type=pathlib.Path, default=HERE / "programs")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--layouts", default="", help="pickled, 2.8, 2.7 or 2.5, with commas between them")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    names = options.names or sorted(p.stem for p in options.programs.glob("*.pt2"))
    faults = 0
    for name in names:
        for layout in options.layouts.split(","):
            fault = check(name, options, options.out, layout)
            shown = f"{name} in the layout {layout}" if layout else name
            print(f"{'FAILED' if fault else 'ok':8}{shown}{': ' + fault if fault else ''}", flush=True)
            faults += fault is not None
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

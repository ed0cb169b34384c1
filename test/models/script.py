#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles TorchScript archives and compares what they compute.

  script.py --kpc KPC --out FOLDER [--all] [NAME …]

The cases of script_*.py are written by script_writer.py, in the words of PyTorch's printer, and computed in numpy.
Those in scripts/ were saved by PyTorch: export_script.py made them, and beside each a NAME.npz with inputs (in0, in1,
…) and what PyTorch computed (out0, out1, …). They are compiled for any batch where the model takes any. PyTorch is not
needed.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import zipfile
import zlib

try:
    import numpy as np
except ImportError:
    sys.exit(77)

import script_classes
import script_control
import script_detection
import script_detectors
import script_keypoints
import script_matrices
import script_networks
import script_quantised
import script_selection
import script_sizes
import script_state
import script_values
import script_writer
import script_writes

CASES = script_networks.CASES | script_control.CASES | script_detection.CASES | script_detectors.CASES | script_keypoints.CASES
CASES |= script_matrices.CASES | script_quantised.CASES | script_selection.CASES
# What each run of the tests has no time for; --all has them.
MORE = script_values.CASES | script_classes.CASES | script_sizes.CASES | script_state.CASES | script_writes.CASES
CASES |= {name: MORE.pop(name) for name in ("list_sort", "dict_ops", "strings", "math_fns", "fork_wait", "enum_attr", "hooks",
                                            "container_index", "namedtuple_in", "squeeze_inplace", "grouped_means", "dyn_int_half", "state_in_a_tuple", "a_method_that_reads",
                                            "a_method_that_sets", *script_writes.SHORT)}
# Where there is more than one input, or no dynamic batch: the inputs and their first dims.
INPUTS = {"stateful": {"x": "2"}, "tuple_out": {"pair_0": "batch", "pair_1": "batch", "more_0": "a", "more_1": "b"}}
STATE = {"stateful": "state"}
HERE = pathlib.Path(__file__).parent


def call(command):
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(ran.stderr.strip() or ran.stdout.strip())
    return ran.stdout


def compare(name, got, wanted, tolerance, scale=None):
    """None, or what is wrong. Errors are relative to `scale`, if there is one, or to what is wanted."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"'{name}' is {got.dtype}{got.shape}, not {wanted.dtype}{wanted.shape}"
    if not np.array_equal(np.isfinite(got), np.isfinite(wanted)):
        return f"'{name}': infinities or NaN in other places"
    finite = np.isfinite(wanted)
    got, wanted = got[finite].astype(np.float64), wanted[finite].astype(np.float64)
    scale = scale or (max(1e-6, float(np.sqrt(np.mean(wanted**2)))) if wanted.size else 1)
    error = float(np.sqrt(np.mean((got - wanted) ** 2))) / scale if wanted.size else 0
    return None if error <= tolerance else f"'{name}' is off by {error:.2e} RMS"


def check(name, options, folder):
    """None, or what is wrong."""
    case = CASES[name]()
    folder.mkdir(parents=True, exist_ok=True)
    model, artifact = folder / f"{name}.pt", folder / f"{name}.kpc"
    script_writer.save(model, case.top, case.code, case.constants)
    command = [options.kpc, "compile", model, "--arch", "host", "-O0", "-o", artifact, "-q", *case.options]
    if isinstance(case.runs, str):
        ran = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        return None if ran.returncode == 1 and case.runs in ran.stderr else f"should be refused with '{case.runs}': {ran.stderr}"
    call(command)
    ports = json.loads(call([options.kpc, "inspect", artifact, "--json"]))
    for inputs, outputs in case.runs:
        named = [port["name"] for port in ports["inputs"]], [port["name"] for port in ports["outputs"]]
        refused = isinstance(outputs, str)
        if named[0] != list(inputs) or (not refused and named[1] != list(outputs)):
            return f"has the ports {named}, not {list(inputs), list(outputs)}"
        command = [options.kpc, "run", artifact, "--output-dir", folder, "-q"]
        for port, value in inputs.items():
            np.save(folder / f"in-{port}.npy", value)
            command += ["--input", f"{port}={folder / f'in-{port}.npy'}"]
        if refused:
            ran = subprocess.run([str(word) for word in command], capture_output=True, text=True)
            if ran.returncode != 1 or outputs not in ran.stderr:
                return f"a run should be refused with '{outputs}': {ran.stderr}"
            continue
        call(command)
        for port, wanted in outputs.items():
            if fault := compare(port, np.load(folder / f"{port}.npy"), wanted, options.tolerance):
                return fault
    return None


def input_of(reference, place):
    """What PyTorch was given. Long ones are kept as their seeds."""
    if f"in{place}" in reference:
        return reference[f"in{place}"]
    seed = [7, zlib.crc32(str(reference[f"in{place}_seed"]).encode())]
    generator = np.random.Generator(np.random.PCG64(seed))
    return generator.standard_normal(tuple(reference[f"in{place}_shape"])).astype(np.float32)


def with_weights(archive, reference, folder):
    """The archive with the storages that export_script_zoo.py left out, drawn as it drew them."""
    if "files" not in reference:
        return archive
    whole = folder / archive.name
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(whole, "w") as target:
        names = source.namelist()
        for name in names:
            target.writestr(name, source.read(name))
        for file, (count, low, high) in zip(reference["files"], reference["ranges"]):
            generator = np.random.Generator(np.random.PCG64([2, zlib.crc32(str(file).encode())]))
            values = (low + (high - low) * generator.random(int(count))).astype(np.float32)
            target.writestr(f"{names[0].split('/')[0]}/{file}", values.tobytes())
    return whole


def check_saved(name, options, folder):
    """The same for an archive that PyTorch saved."""
    reference = np.load(HERE / "scripts" / f"{name}.npz")
    folder.mkdir(parents=True, exist_ok=True)
    archive, artifact = with_weights(HERE / "scripts" / f"{name}.pt", reference, folder), folder / f"{name}.kpc"
    command = [options.kpc, "compile", archive, "--arch", "host", "-o", artifact, "-q", "--no-cache"]
    run = [options.kpc, "run", artifact, "--output-dir", folder, "-q"]
    forward = next(m for m in json.loads(call([options.kpc, "inspect", archive, "--json"]))["methods"]
                   if m.startswith("forward("))
    first_input = forward[len("forward("):].split(":")[0]
    for place, (port, first) in enumerate(INPUTS.get(name, {first_input: "batch"}).items()):
        value = input_of(reference, place)
        command += ["--input-shape", f"{port}={','.join([first, *map(str, value.shape[1:])])}"]
        if value.dtype != np.float32:
            command += ["--input-type", f"{port}={value.dtype}"]
        np.save(folder / f"in-{port}.npy", value)
        run += ["--input", f"{port}={folder / f'in-{port}.npy'}"]
    if name in STATE:
        command += ["--state", "explicit"]
        run += ["--input", f"{STATE[name]}=zeros"]
    call(command)
    call(run)
    outputs = [port["name"] for port in json.loads(call([options.kpc, "inspect", artifact, "--json"]))["outputs"]]
    for place in range(sum(key.startswith("out") and "_" not in key for key in reference)):
        wanted, got = reference[f"out{place}"], np.load(folder / f"{outputs[place]}.npy")
        if f"out{place}_shape" in reference:
            if got.shape != tuple(reference[f"out{place}_shape"]):
                return f"'{outputs[place]}' has the shape {got.shape}, not {tuple(reference[f'out{place}_shape'])}"
            got = got.reshape(-1)[:256]
        allowed = 1e-3 if wanted.dtype == np.float16 else 1e-4 if "files" in reference else options.tolerance
        # Relative to how far another input moves the output: what most of it stays with hides nothing.
        moves = float(reference[f"out{place}_moves"]) if f"out{place}_moves" in reference else None
        if fault := compare(outputs[place], got, wanted, allowed, moves):
            return fault
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kpc", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--tolerance", type=float, default=1e-5)
    parser.add_argument("--all", action="store_true", help="with the cases that each run of the tests has no time for")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    faults = 0
    short = list(CASES)
    CASES.update(MORE)
    saved = sorted(path.stem for path in (HERE / "scripts").glob("*.pt"))
    for name in options.names or [*(CASES if options.all else short), *saved]:
        try:
            fault = (check if name in CASES else check_saved)(name, options, options.out / name)
        except RuntimeError as error:
            fault = str(error)
        print(f"{name}: {fault or 'right'}")
        faults += fault is not None
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles programs of torch.export that program_writer.py writes and compares what they compute with numpy.

  written_programs.py --kpc KPC --out FOLDER [--operators] [NAME …]

They have what the programs that PyTorch saved (program.py) have not, in control_programs.py, general_programs.py,
operator_programs.py, recurrent_programs.py, matrix_programs.py, decomposed_programs.py, signal_programs.py,
sized_programs.py and written_operators.py. Each case gives a program, its inputs and its outputs; a program of dynamic
sizes is compiled once and run for each. A case that is refused says with which words.
"""
import argparse
import itertools
import pathlib
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    sys.exit(77)

import control_programs  # noqa: F401 (three modules add to program_cases.CASES)
import decomposed_programs
import general_programs  # noqa: F401
import matrix_programs
import operator_programs  # noqa: F401
import program_cases
import recurrent_programs
import signal_programs
import sized_programs
import written_operators

CASES = program_cases.CASES | recurrent_programs.CASES | {name: decomposed_programs.CASES[name] for name in decomposed_programs.SHORT}
CASES |= {name: sized_programs.CASES[name] for name in sized_programs.SHORT}
EVERYWHERE = program_cases.EVERYWHERE | recurrent_programs.EVERYWHERE
EXACT = written_operators.EXACT | recurrent_programs.EXACT | matrix_programs.EXACT | decomposed_programs.EXACT | sized_programs.EXACT


def call(command):
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    return ran.returncode, ran.stdout + ran.stderr


def check(name, options):
    """None, or what is wrong."""
    program, runs = CASES[name]()
    folder = options.out / name
    folder.mkdir(parents=True, exist_ok=True)
    program.save(folder / "model.pt2")
    code, said = call([options.kpc, "compile", folder / "model.pt2", "--arch", "host,sm_80" if name in EVERYWHERE else "host", "-O0", "-o", folder / "model.kpc"])
    if isinstance(runs, str):
        return None if code == 1 and runs in said else f"should be refused with '{runs}': {said}"
    if code:
        return f"does not compile: {said}"
    shows = (recurrent_programs.SHOWS | sized_programs.SHOWS).get(name)
    if shows and shows not in call([options.kpc, "inspect", folder / "model.kpc"])[1]:
        return f"is inspected without '{shows}'"
    devices = ["host", "emulate:sm_80"] if name in EVERYWHERE else ["host"]
    for device, (inputs, outputs) in itertools.product(devices, runs):
        command = [options.kpc, "run", folder / "model.kpc", "--output-dir", folder, "-q", "--device", device]
        for key, value in inputs.items():
            np.save(folder / f"in_{key}.npy", value)
            command += ["--input", f"{key}={folder / f'in_{key}.npy'}"]
        code, said = call(command)
        if isinstance(outputs, str):
            if code == 0 or outputs not in said:
                return f"a run should be refused with '{outputs}': {said}"
            continue
        if code:
            return f"does not run: {said}"
        for place, wanted in enumerate(outputs):
            file = "output.npy" if len(program.outputs) == 1 else f"output_{place}.npy"
            got = np.load(folder / file)
            if got.shape != wanted.shape:
                return f"{device}: output {place} has the shape {got.shape}, not {wanted.shape}"
            relative, absolute = EXACT.get(name, (2e-4, 2e-5))
            if wanted.size and not np.allclose(got, wanted, relative, absolute, equal_nan=True):
                off = np.abs(got.astype(np.float64) - wanted)
                at = np.unravel_index(np.nanargmax(off - relative * np.abs(wanted)), off.shape)
                return f"{device}: output {place} is {got[at]} at {at}, not {wanted[at]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kpc", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--operators", action="store_true", help="all cases, not the short ones alone")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    own = list(CASES)
    more = written_operators.CASES | signal_programs.CASES | recurrent_programs.MORE | matrix_programs.CASES | decomposed_programs.CASES
    more |= sized_programs.CASES
    CASES.update(more)
    default = list(more) if options.operators else own + list(written_operators.SHORT)
    faults = 0
    for name in options.names or default:
        fault = check(name, options)
        print(f"{'FAILED' if fault else 'ok':8}{name}{': ' + fault if fault else ''}", flush=True)
        faults += fault is not None
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

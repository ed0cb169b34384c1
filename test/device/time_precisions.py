#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks of networks.py in precisions beside each other: how far each is from fp32, and how fast.

    python3 time_precisions.py FOLDER --kpc KPC --runtime libkpc_runtime.so [--precisions fp16,fp8] [--calibrate N] [--json FILE] [--rounds 5]
        [--only REGEX]

Exports the networks into FOLDER with weights from a seed, and compiles each for each of its timed sizes alone. `error` is the RMS
error against PyTorch in fp32 without tf32, of values that those weights give; `ratio` is the time of the first precision over that
of the last. With --calibrate, fp8 and int8 have constant scales of N random samples of four, as kpc calibrate finds them: convolutions
are quantised then, too. Nothing is `right` or wrong here: what an error of weights from a seed means for a trained model, that model shows.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

import numpy
import torch

import network_sides
import networks
from kpc_session import Session


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--kpc", required=True)
    parser.add_argument("--runtime", required=True)
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--precisions", default="fp16,fp8")
    parser.add_argument("--calibrate", type=int, default=0, metavar="N")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", metavar="REGEX", help="networks and sizes, 'bert-base b8s512' say")
    parser.set_defaults(jobs=4, strip=False, exported=None)
    return parser.parse_args()


def calibrated(network, module, options):
    """Options of kpc compile for precisions of 8 bits."""
    if not options.calibrate:
        return ()
    model, samples = options.out / f"{network.stem}.onnx", options.out / f"{network.name}.samples"
    samples.mkdir(exist_ok=True)
    for number in range(options.calibrate):
        given, _ = module.feed(dict(network.timed[0], batch=4), torch.float16)
        torch.manual_seed(number)
        made = {name: torch.randn_like(x) if x.is_floating_point() else x for name, x in given.items()}
        numpy.savez(samples / f"{number}.npz", **{name: x.float().cpu().numpy() if x.is_floating_point() else x.cpu().numpy() for name, x in made.items()})
    found = options.out / f"{network.name}.calibration"
    subprocess.run([options.kpc, "calibrate", model, "--data", samples, "-o", found, "-q", "--no-cache"], check=True)
    return ("--calibration", str(found))


def measure(network, sizes, module, options, precisions, calibration):
    given, _ = module.feed(sizes, torch.float16)
    want = [value.clone() for value in network_sides.listed(module.wide(*given.values()))]
    out = {name: torch.empty_like(value) for name, value in zip(module.outputs, want)}
    row, sides, sessions = {"name": f"{network.name} {networks.label(sizes)}", "error": {}}, {}, []
    for precision in precisions:
        artifact = f"{network.name}.{networks.label(sizes)}.{precision}.kpc"
        dims = [f"{name}={size}" for name, size in sizes.items()]
        more = calibration if precision in ("fp8", "int8") else ()
        networks.compile_network(network, dims, ("--precision", precision, *more), artifact, options)
        session = Session(options.runtime, str(options.out / artifact))
        row["error"][precision], same = network_sides.results(session, given, out, want)
        if not same:
            row["problem"] = f"{precision}: two runs differ"
        sides[precision] = lambda session=session: session.run(given, out)
        sessions.append(session)
    row["us"] = network_sides.medians(sides, options.rounds)
    row["ratio"] = row["us"][precisions[0]] / row["us"][precisions[-1]]
    for session in sessions:
        session.close()
    return row


def main():
    options = arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_grad_enabled(False)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    rows, precisions = [], options.precisions.split(",")
    for network in (*networks.FULL, *networks.LARGE):
        wanted = [sizes for sizes in network.timed if re.search(options.only, f"{network.name} {networks.label(sizes)}")]
        if not wanted:
            continue
        networks.make_model(network, options)
        module = network_sides.Network(options.out / f"{network.stem}.onnx")
        calibration = calibrated(network, module, options)
        for sizes in wanted:
            row = measure(network, sizes, module, options, precisions, calibration)
            words = [f"{p} {row['us'][p]:.1f} us (error {row['error'][p]:.1e})" for p in precisions]
            print(f"{row['name']:24s} {', '.join(words)}: {row['ratio']:.2f} {row.get('problem', '')}", flush=True)
            rows.append(row)
        del module
        torch.cuda.empty_cache()
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 1 if any("problem" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

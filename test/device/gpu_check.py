#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks and measures kpc on this machine's NVIDIA GPU.

    tools/gpu-check --kpc FILE --out FOLDER [--cases FOLDER] [--only models,attention] [--arch sm_90a] [--device cuda:0]

Needs a checkout, one kpc program, ptxas on PATH (or CUDA_HOME), and python3 with numpy, onnx, torch and torchvision,
for `networks` also transformers and onnxscript; compute-sanitizer for `sanitizer`. FOLDER of --cases is what `kpc_gpu_export FOLDER` wrote. Steps:

    digits     the trained example: compiled, run, accuracy
    models     whole models against PyTorch in fp32: each exporter, fp32, fp16, bf16, batches 1 and 8
    cases      the GPU builders' test kernels against the host's results; their benchmarks beside PyTorch
    sanitizer  compute-sanitizer: memcheck of four models, all tools on digits; memcheck, synccheck and racecheck (but for
               allowed-races.txt) of small kernels of each family
    bench      kpc bench of each model, and PyTorch's times beside it
    nodes      ONNX's node tests that are right on the host, Debian's and the installed onnx's
and a family of kernels each, right and in turn with its peer (see kernel_families.py):
FAMILIES
Writes results.json, performance.md (the tables) and gpu-check.tar.gz (these and a log a step) into FOLDER after each
step, so what was measured is there even when the rest is killed. Exit code 0: every step that ran passed. A step that
cannot run here is skipped and says why; with --strict that is a failure.
`--dry-run` does the same on the processor, without CUDA, with fewer models: it shows that the steps themselves work.
"""

import argparse
import functools
import json
import os
import pathlib
import platform
import sys
import tarfile
import tempfile
import time
import traceback

import gpu_report
import gpu_steps
from gpu_steps import Skip
from kernel_families import FAMILIES

LOG_BYTES = 256 * 1024  # of each step; the archive stays small
STEPS = {name: getattr(gpu_steps, name) for name in ("digits", "models", "cases")}
STEPS.update({one.name: functools.partial(gpu_steps.family, one=one) for one in FAMILIES})
STEPS.update({name: getattr(gpu_steps, name) for name in ("sanitizer", "bench", "nodes")})


def parse_arguments():
    about = __doc__.replace("FAMILIES", "".join(f"    {one.name:12} {one.what}, beside {one.peer}\n" for one in FAMILIES))
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kpc", type=pathlib.Path, required=True, help="the program to check")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="where the results go")
    parser.add_argument("--cases", type=pathlib.Path, help="what kpc_gpu_export wrote")
    parser.add_argument("--only", default=",".join(STEPS), metavar="STEP,…", help="steps, with commas")
    parser.add_argument("--models", default="", help="names of test/models/graphs, with commas (default: all)")
    parser.add_argument("--case", default="", metavar="REGEX", help="of families: cases whose 'purpose name' matches")
    parser.add_argument("--node-tests", type=pathlib.Path, default=pathlib.Path("/usr/share/libonnx-testdata/data"),
                        help="Debian's (default: where its package libonnx-testdata has them)")
    parser.add_argument("--exported", type=pathlib.Path, help="of networks: exported transformers (default: exports them)")
    parser.add_argument("--rounds", type=int, default=7, help="of families: how often the sides take turns (default: 7)")
    parser.add_argument("--runtime", type=pathlib.Path, help="libkpc_runtime.so (default: beside kpc)")
    parser.add_argument("--arch", default="")
    parser.add_argument("--device", default="")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--limit", type=float, default=900, help="seconds for everything (default: 900)")
    parser.add_argument("--strict", action="store_true", help="a skipped step is a failure")
    parser.add_argument("--dry-run", action="store_true", help="on the processor")
    options = parser.parse_args()
    unknown = set(options.only.split(",")) - set(STEPS)
    if unknown:
        parser.error(f"no such step: {', '.join(sorted(unknown))}; there are {', '.join(STEPS)}")
    options.kpc = options.kpc.resolve()
    options.out = options.out.resolve()
    options.exported = options.exported and options.exported.resolve()
    options.arch = options.arch or ("host" if options.dry_run else "sm_90a")
    options.device = options.device or ("host" if options.dry_run else "cuda:0")
    return options


def machine(run):
    """What the figures were measured on."""
    facts = {"python": platform.python_version(), "processors": len(os.sched_getaffinity(0)),
             "kpc": run.text([run.options.kpc, "--version"]).split("\n")[0]}
    if not run.options.dry_run:
        facts["gpu"] = run.text(["nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm,power.limit",
                                 "--format=csv,noheader"]).strip()
    for package in ("torch", "onnx", "onnxruntime", "numpy"):
        try:
            facts[package] = __import__("importlib.metadata").metadata.version(package)
        except Exception:  # absent, which is worth knowing
            facts[package] = "not installed"
    return facts


def write_results(options, results, logs):
    (options.out / "results.json").write_text(json.dumps(results, indent=1, allow_nan=True))
    (options.out / "performance.md").write_text(gpu_report.markdown(results))
    with tarfile.open(options.out / "gpu-check.tar.gz", "w:gz") as archive:
        for name in ("results.json", "performance.md"):
            archive.add(options.out / name, name)
        for log in sorted(logs.glob("*")):
            if log.stat().st_size > LOG_BYTES:
                text = log.read_bytes()
                log.write_bytes(text[:LOG_BYTES // 2] + b"\n... cut ...\n" + text[-LOG_BYTES // 2:])
            archive.add(log, f"logs/{log.name}")


def run_step(name, run):
    start = time.monotonic()
    try:
        data = STEPS[name](run)
        status = "failed" if data["problems"] else "passed"
    except Skip as reason:
        status, data = "skipped", {"problems": [], "reason": str(reason)}
    except Exception as error:  # a fault of one step must not hide the others
        run.log(name, traceback.format_exc())
        status, data = "failed", {"problems": [f"{type(error).__name__}: {error}"]}
    return {"status": status, "seconds": round(time.monotonic() - start, 1), **data}


def main():
    options = parse_arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    failures = []
    with tempfile.TemporaryDirectory() as work:
        run = gpu_steps.Run(options, pathlib.Path(work), time.monotonic() + options.limit)
        results = {"arch": options.arch, "device": options.device, "dry_run": options.dry_run,
                   "machine": machine(run), "steps": {}}
        for name in (step for step in STEPS if step in options.only.split(",")):
            step = results["steps"][name] = run_step(name, run)
            write_results(options, results, run.logs)
            print(f"{step['status']:7} {name} ({step['seconds']} s){': ' + step['reason'] if 'reason' in step else ''}")
            for problem in step["problems"][:20]:
                print(f"        {problem[:300]}", flush=True)
            if step["status"] == "failed" or (options.strict and step["status"] == "skipped"):
                failures.append(name)
    print(f"failed: {', '.join(failures)}" if failures else "nothing failed")
    print(f"{options.out}/gpu-check.tar.gz: {(options.out / 'gpu-check.tar.gz').stat().st_size} bytes")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

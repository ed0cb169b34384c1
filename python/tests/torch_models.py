# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules and networks of PyTorch as its own exporters save them, beside what PyTorch computes.

    python python/tests/torch_models.py [--only REGEX] [--devices cpu,cuda] [--jobs N] [--json FILE] [--keep FOLDER]

Each case is a module with example inputs. It is saved by torch.export (`pt2`) and, where the case says so, by
torch.jit.trace (`trace`) or torch.jit.script (`script`), compiled by kpc, and run on the host and on the GPU.
The result is a line for each: right (with the error), wrong (with what differs), refused (with kpc's words), not exported (with PyTorch's).
Results of detectors are compared as sets, by detections.py, and the line says how many boxes changed places.
It needs torch, and torchvision, timm and transformers for the cases that are theirs; it is no part of CI.
"""

import argparse
import concurrent.futures
import copy
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import torch

import torch_forms
import torch_networks
import torch_scenes
import torch_series
import torch_speech
import torch_statistics

CASES = {**torch_forms.CASES, **torch_speech.CASES, **torch_series.CASES, **torch_scenes.CASES, **torch_statistics.CASES, **torch_networks.CASES}


def leaves(tree):
    from torch.utils import _pytree

    return [leaf for leaf in _pytree.tree_leaves(tree) if leaf is not None]


def error_of(got, want):
    """Root mean square of the difference over that of what is expected; infinite where shapes or non-finite places differ."""
    got, want = torch.as_tensor(got).detach().cpu(), torch.as_tensor(want).detach().cpu()
    if got.shape != want.shape:
        return f"shape {tuple(got.shape)}, expected {tuple(want.shape)}"
    if got.dtype != want.dtype:
        return f"type {got.dtype}, expected {want.dtype}"
    got, want = got.double(), want.double()
    same = (got == want) | (got.isnan() & want.isnan())
    if bool(same.all()):
        return 0.0
    if not bool((got.isfinite() == want.isfinite()).all()):
        return "places that are not finite differ"
    finite = want.isfinite()
    got, want = got[finite], want[finite]
    return float((got - want).square().mean().sqrt() / max(float(want.square().mean().sqrt()), 1e-6))


def named(name, value):
    """The tensors of an argument, by the names that kpc gives them."""
    if isinstance(value, torch.Tensor):
        return [(name, value)]
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    return [leaf for key, part in parts for leaf in named(f"{name}_{key}", part)]


def saved(case, how, folder):
    """The file, and options of kpc.compile for it."""
    module, args, dims = case.build()
    path = folder / f"model.{'pt2' if how == 'pt2' else 'pt'}"
    with torch.no_grad():
        if how == "pt2":
            torch.export.save(torch.export.export(module, args, dynamic_shapes=dims, strict=False), str(path))
            return path, {}
        made = torch.jit.script(module) if how == "script" else torch.jit.trace(module, args, check_trace=False)
        torch.jit.save(made, str(path))
    names = [name for name in list(made.forward.schema.arguments)[1:]]
    options = {"input_shape": {}, "input_type": {}}
    for argument, value in zip(names, args):
        for name, leaf in named(argument.name, value):
            options["input_shape"][name] = tuple(leaf.shape)
            options["input_type"][name] = str(leaf.dtype).removeprefix("torch.")
    return path, options


def run(name, how, devices, keep):
    import kpc

    case = CASES[name]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        try:
            path, options = saved(case, how, folder)
        except Exception as error:  # PyTorch's exporters raise anything
            return {"result": "not exported", "why": f"{type(error).__name__}: {error}"[:600]}
        if keep:
            (pathlib.Path(keep) / f"{name}.{how}{path.suffix}").write_bytes(path.read_bytes())
        torch.manual_seed(0)
        module, args, _ = case.build()
        # A trace or a script is compiled for the first inputs' sizes.
        sizes = [tuple(value.shape) for value in leaves(args)]
        rounds = [args, *(each for each in case.more() if how == "pt2" or [tuple(value.shape) for value in leaves(each)] == sizes)]
        arch = ["portable" if device == "cuda" else "host" for device in devices]
        start = time.monotonic()
        try:
            artifact = kpc.compile(str(path), arch=arch, cache=False, jobs=1, precision="fp32", **options)
        except kpc.Error as error:
            return {"result": "refused", "why": str(error)[:900]}
        seconds = time.monotonic() - start
        worst, judged = 0.0, []
        for device in devices:
            session = artifact.session(device)
            for args in rounds:
                fresh = copy.deepcopy(module)  # a run may write to its buffers
                inputs = [torch.as_tensor(value).clone() for value in leaves(args)]
                with torch.no_grad():
                    expected = leaves(fresh(*args))
                got = session.run(dict(zip([i.name for i in artifact.inputs], [x.to(device) for x in inputs])))
                got = list(got.values())[-len(expected):] if len(got) >= len(expected) else list(got.values())
                if len(got) != len(expected):
                    return {"result": "wrong", "why": f"{len(got)} outputs, expected {len(expected)}"}
                if case.judge:
                    right, why = case.judge(module, got, expected)
                    if not right:
                        return {"result": "wrong", "why": f"on {device}: {why}"}
                    judged.append(f"on {device}: {why}")
                    continue
                for index, (have, want) in enumerate(zip(got, expected)):
                    error = error_of(have, want)
                    if isinstance(error, str) or not error <= case.tolerance:
                        return {"result": "wrong", "why": f"on {device}, output {index}: {error}"}
                    worst = max(worst, error)
        said = {"why": "; ".join(judged)} if judged else {}
        return {"result": "right", "error": worst, "seconds": seconds, **said}


def start(name, how, options):
    command = [sys.executable, __file__, "--one", name, how, "--devices", options.devices]
    command += ["--keep", options.keep] if options.keep else []
    timeout = max(options.timeout, CASES[name].timeout)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return name, how, {"result": "too slow", "why": f"{timeout} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not lines:
        return name, how, {"result": "crashed", "why": (done.stderr or done.stdout)[-900:]}
    return name, how, json.loads(lines[-1].removeprefix("RESULT "))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="a regular expression of cases' names")
    parser.add_argument("--devices", default="cpu,cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1) - 2))
    parser.add_argument("--timeout", type=float, default=150)
    parser.add_argument("--json", help="a file for the results")
    parser.add_argument("--keep", help="a folder for the files that PyTorch saved")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        result = run(*options.one, options.devices.split(","), options.keep)
        print("RESULT " + json.dumps(result), flush=True)
        return 0
    work = [(name, how) for name, case in CASES.items() if re.search(options.only, name) for how in case.ways]
    results = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, how, result in pool.map(lambda item: start(*item, options), work):
            results[f"{name}.{how}"] = result
            why = result.get("why", f"{result.get('error', 0):.1e}").replace("\n", " | ")
            print(f"{name + '.' + how:42} {result['result']:13} {why[:300]}", flush=True)
            if options.json:
                pathlib.Path(options.json).write_text(json.dumps(results, indent=1))
    counts = {}
    for result in results.values():
        counts[result["result"]] = counts.get(result["result"], 0) + 1
    print(", ".join(f"{count} {result}" for result, count in sorted(counts.items())))
    return 0 if set(counts) <= {"right", "refused", "not exported"} else 1


if __name__ == "__main__":
    sys.exit(main())

# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models of a family of kernels, compiled: what products.py, attention.py and the others have in common.

    write_cases(cases(), __doc__)

A case is a dictionary of what its timer needs to know, `name` and `purpose` among it, beside how it is made: `model`, the
ONNX model, a Program of program_writer.py, or a function that gives one, `dims`, the arguments of --dim, and `options`, other ones of kpc compile. Writes NAME.kpc and all
cases into cases.json, with the sizes that each is tuned for as `optimum`.
Needs onnx.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess


def arguments(about):
    parser = argparse.ArgumentParser(description=about.split("\n")[0])
    parser.add_argument("--kpc", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose 'purpose name' matches")
    parser.add_argument("--strip", action="store_true", help="no PTX: smaller files to carry")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="compiles at a time")
    return parser


def compile_case(case, options):
    model = case["model"]
    model = model() if callable(model) else model
    path = options.out / f"{case['name']}.{'pt2' if hasattr(model, 'save') else 'onnx'}"
    if hasattr(model, "save"):
        model.save(path)
    else:
        import onnx  # not where cases are timed
        onnx.save(model, path)
    dims = [word for dim in case.get("dims", ()) for word in ("--dim", dim)]
    subprocess.run([options.kpc, "compile", str(path), "--arch", options.arch, *dims, *case.get("options", ()), "-o",
                    str(options.out / f"{case['name']}.kpc"), "--quiet", "--no-cache", "--jobs", "0", *(["--strip"] if options.strip else [])], check=True)
    path.unlink()


def optimum(dims):
    """{'rows': 128} of ('rows=1..512:opt=128',): the size that a case is tuned for."""
    found = {}
    for dim in dims:
        name, _, facts = dim.partition("=")
        tuned = re.search(r"(?:^|opt=)(\d+)$", facts)
        if tuned:
            found[name] = int(tuned[1])
    return found


def write_cases(cases, about):
    options = arguments(about).parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    chosen = [case for case in cases if re.search(options.only, f"{case['purpose']} {case['name']}")]
    with concurrent.futures.ThreadPoolExecutor(max(1, options.jobs)) as pool:
        list(pool.map(lambda case: compile_case(case, options), chosen))
    listed = [{key: value for key, value in case.items() if key not in ("model", "dims", "options")} | {"optimum": optimum(case.get("dims", ()))}
              for case in chosen]
    (options.out / "cases.json").write_text(json.dumps(listed, indent=1))

#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of other domains than ONNX's own, and some of its own, in several forms each, against onnxruntime.

    python3 against_onnxruntime.py --kpc FILE --work-dir FOLDER [--arch host] [--device host] [--only REGEX]

Each operator of the other domains that `kpc ops` lists must have a case. Needs onnx, onnxruntime and numpy.
"""

import argparse
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys

try:
    import branch_cases
    import microsoft_cases
    import ml_cases
    import onnx_cases
    import rare_cases
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)


def untested(kpc, cases):
    """Operators that import and that no case has."""
    listed = subprocess.run([str(kpc), "ops"], capture_output=True, text=True, check=True).stdout
    have = {(case.domain, case.op) for case in cases}
    excused = microsoft_cases.WITHOUT_REFERENCE | ml_cases.WITHOUT_REFERENCE
    for line in listed.splitlines():
        words = line.split()
        domain, _, op = words[0].rpartition(".") if words else ("", "", "")
        if domain in ("com.microsoft", "ai.onnx.ml") and (domain, op) not in have and op not in excused:
            yield f"{domain}.{op} has no case"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--arch", default="host")
    parser.add_argument("--device", default="host")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--branches", action="store_true", help="the cases of branch_cases.py alone, which are left out else")
    parser.add_argument("--only", default="", help="cases whose name has a match")
    options = parser.parse_args()
    shutil.rmtree(options.work_dir, ignore_errors=True)
    branches = branch_cases.cases()
    others = microsoft_cases.cases() + rare_cases.cases() + ml_cases.cases() + onnx_cases.cases()
    cases = [case for case in (branches if options.branches else others) if re.search(options.only, case.name)]

    def judge(numbered):
        number, case = numbered
        try:
            return case.problem(options.kpc, options.arch, options.device, options.work_dir / str(number))
        except Exception as error:  # onnxruntime refuses a case: the case is wrong
            return f"{type(error).__name__}: {error}"

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        problems = [f"{case.name}: {text}" for case, text in zip(cases, pool.map(judge, enumerate(cases))) if text]
    problems += [] if options.only else untested(options.kpc, branches + others)
    print("\n".join(problems))
    print(f"{len(cases)} cases, {len(problems)} problems")
    return 1 if problems or not cases else 0


if __name__ == "__main__":
    sys.exit(main())

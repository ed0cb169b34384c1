#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says what a run of ctest did: tests run, failed, skipped and why, kernels assembled for which targets.

    python3 summary.py --results build/dev/results.xml --allowed-skips test/allowed-skips.txt

Reads ctest's JUnit file. In a test's output these lines mean something:

    SKIPPED: reason                  why a test that ended with 77 did nothing
    [  SKIPPED ] Suite.Case          a GoogleTest case that skipped itself
    UNSUPPORTED: suite :: file       a lit test that its REQUIRES line kept from running
    ASSEMBLED target N               ptxas assembled N kernels for a target

With CI=true, a skip that no pattern of --allowed-skips matches is an error, and so is nothing assembled.
Standard library only.
"""

import argparse
import fnmatch
import os
import re
import sys
import xml.etree.ElementTree as ElementTree

INNER_SKIP = re.compile(r"^(?:\[  SKIPPED \] (\S+\.\S+?)(?: \(\d+ ms\))?|UNSUPPORTED: (.+?)(?: \(\d+ of \d+\))?)$", re.M)
ASSEMBLED = re.compile(r"^ASSEMBLED (\S+) (\d+)$", re.M)


def skip_reason(case, output):
    said = re.search(r"^SKIPPED: (.*)$", output, re.M)
    if said:
        return said.group(1)
    skipped = case.find("skipped")
    return skipped.get("message", "") if skipped is not None else ""


def read_allowed(path):
    with open(path) as file:
        lines = [line.split(None, 1) for line in file if line.strip() and not line.startswith("#")]
    return [words[0] for words in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--results", required=True)
    parser.add_argument("--allowed-skips", required=True)
    options = parser.parse_args()
    strict = os.environ.get("CI") == "true"
    allowed = read_allowed(options.allowed_skips)

    run, failed, skips, assembled = 0, [], [], {}
    for case in ElementTree.parse(options.results).getroot().iter("testcase"):
        name, output = case.get("name"), case.findtext("system-out") or ""
        if case.get("status") == "notrun" and "SKIP" in (case.find("skipped").get("message") or "").upper():
            skips.append((name, skip_reason(case, output)))
            continue
        run += 1
        if case.get("status") != "run":
            failed.append(name)
        for match in sorted(set(INNER_SKIP.findall(output))):
            skips.append((f"{name}/{match[0] or match[1]}", "skipped itself"))
        for target, count in ASSEMBLED.findall(output):
            assembled[target] = assembled.get(target, 0) + int(count)

    print(f"run {run}, failed {len(failed)}, skipped {len(skips)}")
    for name in failed:
        print(f"  failed: {name}")
    refused = []
    for name, reason in skips:
        known = any(fnmatch.fnmatchcase(name, pattern) for pattern in allowed)
        print(f"  skipped: {name}: {reason}{'' if known else ' (not in ' + options.allowed_skips + ')'}")
        if not known:
            refused.append(name)
    kernels = ", ".join(f"{target} {count}" for target, count in sorted(assembled.items()))
    print(f"kernels assembled: {sum(assembled.values())} for {len(assembled)} targets{': ' + kernels if kernels else ''}")
    if strict and refused:
        print(f"error: {len(refused)} skipped that may not be skipped here")
    if strict and not assembled:
        print("error: nothing was assembled")
    return 1 if failed or strict and (refused or not assembled) else 0


if __name__ == "__main__":
    sys.exit(main())

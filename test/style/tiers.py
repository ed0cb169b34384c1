#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of tiers in CONTRIBUTING.md says of every test which tier it is in.   tiers.py CTEST BUILD CONTRIBUTING.md

A row of the table is `| tests | tier | what they show |`. Tests are names in backquotes, in which * stands for anything.
A longer pattern stands above a shorter one. A row that matches nothing is an error too, but for tests of trees that only
`tools/check --full` configures. Standard library only.
"""

import fnmatch
import json
import re
import subprocess
import sys

TIERS = ("smoke", "presubmit", "nightly")
# Tests that exist where another tree is configured, or in another tree.
ELSEWHERE = ("asan.", "tsan.", "checked.", "fuzz.fuzz.", "install.release_packages")


def rows(path):
    """(pattern, tier) of each name in the table."""
    for line in open(path):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 3 and cells[1] in TIERS:
            for pattern in re.findall(r"`([^`]+)`", cells[0]):
                yield pattern, cells[1]


def tests(ctest, build):
    """(name, tier) of each test. Labels of tiers are cumulative: the first that it has in TIERS is its own."""
    listed = subprocess.run([ctest, "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    for test in json.loads(listed.stdout)["tests"]:
        labels = next((entry["value"] for entry in test["properties"] if entry["name"] == "LABELS"), [])
        yield test["name"], next((tier for tier in TIERS if tier in labels), "none")


def main():
    ctest, build, page = sys.argv[1:]
    table = list(rows(page))
    matched, faults, counts = set(), [], dict.fromkeys(TIERS, 0)
    for name, tier in tests(ctest, build):
        found = [row for row in table if fnmatch.fnmatchcase(name, row[0])]
        found = [row for row in found if len(row[0]) == max(len(other[0]) for other in found)]
        matched.update(found)
        if tier == "none":
            faults.append(f"{name}: expected a tier among its labels, got none; give it one with kpc_set_tier")
        elif len(found) != 1:
            faults.append(f"{name}: expected one row of the table, got {len(found)}: {', '.join(row[0] for row in found)}")
        elif found[0][1] != tier:
            faults.append(f"{name}: the table says {found[0][1]}, the label says {tier}")
        else:
            counts[tier] += 1
    faults += [f"`{row[0]}` ({row[1]}): no test has such a name" for row in table
               if row not in matched and not row[0].startswith(ELSEWHERE)]
    print("\n".join(faults))
    print(", ".join(f"{tier} {count}" for tier, count in counts.items()) + f"; {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

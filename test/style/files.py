#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which files are in the tree.   files.py

None that a tool has made, and none that is no text, but those of allowed-files.txt; no name that a program would take for
an option. Standard library only.
"""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MADE = re.compile(r"\.(cubin|fatbin|ptx|sass|kpc|o|a|so(\.\d+)*|bin|pyc|whl|gz|xz|zip)$")


def main():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True)
    if listed.returncode:
        print("SKIPPED: not a checkout")
        return 77
    paths = [path for path in listed.stdout.split("\0") if path and (ROOT / path).is_file()]
    lines = (line.split("#")[0].strip() for line in (HERE / "allowed-files.txt").read_text().splitlines())
    allowed = {line for line in lines if line}
    faults = [f"{path}: a name that begins with '-'" for path in paths if any(part.startswith("-") for part in path.split("/"))]
    faults += [f"{path}: allowed-files.txt names what is not there" for path in sorted(allowed - set(paths))]
    for path in paths:
        if path not in allowed and (MADE.search(path) or b"\0" in (ROOT / path).read_bytes()):
            faults.append(f"{path}: no text, or made by a tool; what belongs here is named in test/style/allowed-files.txt")
    for fault in faults:
        print(fault)
    print(f"{len(paths)} files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every file with a RUN line belongs to a suite that ctest runs.   suites.py CTEST BUILD SOURCE

Standard library only.
"""

import json
import pathlib
import re
import subprocess
import sys

RUN = re.compile(r"^(//|#|;)\s*RUN:", re.M)


def main():
    ctest, build, source = sys.argv[1:]
    listed = subprocess.run([ctest, "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    suites = [pathlib.Path(test["command"][-1]) for test in json.loads(listed.stdout)["tests"]
              if test["name"].startswith("lit_") and "command" in test]
    faults = [f"{suite}: a suite without files" for suite in suites if not any(suite.rglob("*.*"))]
    files = [path for suffix in ("mlir", "test") for path in sorted(pathlib.Path(source, "test").rglob(f"*.{suffix}"))
             if "Inputs" not in path.parts and RUN.search(path.read_text(errors="replace"))]
    for path in files:
        if not any(suite in path.parents for suite in suites):
            faults.append(f"{path.relative_to(source)}: its folder is in no suite; add kpc_add_lit_suite to test/CMakeLists.txt")
    print("\n".join(faults))
    print(f"{len(files)} files in {len(suites)} suites, {len(faults)} faults")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())

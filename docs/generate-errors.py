#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/errors.md, the catalogue of diagnostics, from compiler/diagnostics/Codes.def.

    python3 docs/generate-errors.py            # writes docs/errors.md
    python3 docs/generate-errors.py --check    # exits 1 if the page is not what would be written
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CODES = ROOT / "compiler/diagnostics/Codes.def"
PAGE = ROOT / "docs/errors.md"

STRING = r'"((?:[^"\\]|\\.)*)"'
ENTRY = re.compile(
    r"^KPC_DIAGNOSTIC\(\s*(\w+),\s*" + STRING + r",\s*(\w+),\s*" + STRING + r",\s*((?:" + STRING + r"\s*)+)\)",
    re.MULTILINE)

# What the letter of a code says: who found it.
FAMILIES = {
    "I": "Import: the model file",
    "G": "Graph: what kpc computes",
    "T": "Targets and kernels",
    "A": "The artifact",
    "D": "The driver",
    "U": "The command line",
    "C": "Calibration",
    "F": "Files of tensors",
    "R": "The runtime",
    "V": "`kpc verify`",
    "B": "`kpc bench`",
}

INTRODUCTION = """\
<!-- Written by docs/generate-errors.py from compiler/diagnostics/Codes.def; edit that. -->
# Error catalogue

Every diagnostic of kpc has a code, which is never given another meaning. The message on the screen says more than this
page: which node, which value, which file. The hint here is the default one; where kpc knows better, it says so instead.

```
error[KPC-I0007]: 'the_node' (Rellu, opset 17) in unknown.onnx: kpc has no import rule for this operator
  hint: did you mean Relu? `kpc ops` lists what imports
```

Exit codes: 0 done, 1 the input is at fault, 2 wrong usage, 3 a `bench` regression, 4 a `verify` drift, 70 a fault of kpc's
own. The number of a KPC-R code is the runtime's `kpc_status` (`kpc/runtime.h`).
"""


def unescape(text):
    return re.sub(r"\\(.)", r"\1", text)


def entries(text):
    for match in ENTRY.finditer(text):
        name, code, severity, title, hints = match.groups()[:5]
        hint = "".join(re.findall(STRING, hints))
        yield name, code, severity, unescape(title), unescape(hint)


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


def page():
    text = CODES.read_text(encoding="utf-8")
    rows = list(entries(text))
    expected = len(re.findall(r"^KPC_DIAGNOSTIC\(", text, re.MULTILINE))
    if len(rows) != expected:
        sys.exit(f"{CODES}: {expected} entries, but only {len(rows)} of them are understood")
    unknown = sorted({code for _, code, *_ in rows if code[len("KPC-")] not in FAMILIES})
    if unknown:
        sys.exit(f"{CODES}: no family of this script's has the codes {', '.join(unknown)}")
    lines = [INTRODUCTION]
    for letter, family in FAMILIES.items():
        of_family = [row for row in rows if row[1][len("KPC-")] == letter]
        if not of_family:
            continue
        lines += [f"## {family}", "", "| code | what is wrong | what to do |", "| --- | --- | --- |"]
        for _, code, severity, title, hint in of_family:
            mark = "" if severity == "Error" else f" ({severity.lower()})"
            lines.append(f"| {code} | {cell(title)}{mark} | {cell(hint)} |")
        lines.append("")
    return "\n".join(lines)


def main():
    wanted = page()
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != wanted:
            sys.exit("docs/errors.md is not what Codes.def says: run python3 docs/generate-errors.py")
        return
    if sys.argv[1:]:
        sys.exit(__doc__)
    PAGE.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the lit tests of the dialects leave anything out.

    python3 coverage.py --tblgen mlir-tblgen [--include DIR …]

Of each dialect: every op of its .td stands in a test that prints and parses it (a file of test/dialects/NAME with
FileCheck), and in a program that compiles (test/dialects/NAME/compiled*.mlir); every error its sources can emit is
expected by a test with -verify-diagnostics. Errors are found as string literals of emit…Error statements. Standard
library only.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIALECTS = {"graph": "Graph.td", "plan": "Plan.td"}
EMIT = re.compile(r"\b(?:\w+\.|\w+->)?(emitOpError|emitOptionalError|emitError|EmitError|isNot)\b")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
# Errors that no text can provoke, with the reason.
UNREACHABLE = {}


def ops(tblgen, includes, dialect, description):
    command = [tblgen, "--dump-json", f"-I{ROOT}", *[f"-I{i}" for i in includes],
               str(ROOT / "dialects" / dialect / description)]
    records = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return sorted(f"{dialect}.{r['opName']}" for r in records.values()
                  if isinstance(r, dict) and "Op" in r.get("!superclasses", []) and not r.get("!anonymous")
                  and records[r["opDialect"]["def"]]["name"] == dialect)


def statements(source):
    """Each statement that emits an error, up to its semicolon outside of brackets and strings."""
    for match in EMIT.finditer(source):
        depth, at = 0, match.start()
        while at < len(source):
            if source[at] == '"':
                at = LITERAL.match(source, at).end()
                continue
            if source[at] in "([{":
                depth += 1
            elif source[at] in ")]}":
                depth -= 1
            if depth < 0 or source[at] == ";" and depth == 0:
                break
            at += 1
        yield source[match.start():at]


def errors(dialect):
    """(file, pattern): the literals of a message with anything between them."""
    for path in sorted((ROOT / "dialects" / dialect).glob("*.cpp")):
        for statement in statements(path.read_text()):
            # Literals that follow one another are one.
            joined = re.sub(r'"\s*\n\s*"', "", statement)
            parts = [p.replace('\\"', '"') for p in LITERAL.findall(joined)]
            parts = [p for p in parts if re.search(r"\w\w", p)]
            if parts:
                yield path.name, parts


def expected(folder):
    """Every error that a test expects, and every FileCheck line that names one."""
    texts = []
    for path in folder.rglob("*.mlir"):
        texts += re.findall(r"expected-error[^{]*\{\{(.*?)\}\}(?:\n|$)", path.read_text())
    return texts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tblgen", required=True)
    parser.add_argument("--include", action="append", default=[])
    options = parser.parse_args()
    missing = total = 0

    def report(what):
        nonlocal missing
        missing += 1
        print(f"MISSING {what}")

    for dialect, description in DIALECTS.items():
        folder = ROOT / "test/dialects" / dialect
        texts = {p: p.read_text() for p in folder.glob("*.mlir")}
        printed = "\n".join(t for t in texts.values() if "FileCheck" in t)
        compiled = "\n".join(t for p, t in texts.items() if p.name.startswith("compiled"))
        for op in ops(options.tblgen, options.include, dialect, description):
            total += 2
            for kind, text in (("round trip", printed), ("compiled example", compiled)):
                if not re.search(rf"\b{re.escape(op)}\b(?![\w.])", text):
                    report(f"{kind} of {op}")
        wanted = expected(ROOT / "test")
        for name, parts in errors(dialect):
            total += 1
            pattern = ".*".join(re.escape(p) for p in parts)
            if pattern not in UNREACHABLE and not any(re.search(pattern, text) for text in wanted):
                report(f"test of the error in {name}: {' … '.join(parts)}")
    print(f"{total} things to cover, {missing} missing")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the tests of dialects and passes leave anything out.

    python3 coverage.py --tblgen mlir-tblgen [--include DIR …]

Of each dialect: every op of its .td stands in a test that prints and parses it (a file of test/dialects/NAME with
FileCheck), and in one that is compiled (COMPILED); every error its sources can emit is expected by a test with
-verify-diagnostics. Every error of passes, code generation and the driver stands in some test. Errors are found as
string literals of emit…Error statements. Standard library only.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIALECTS = {"graph": "Graph.td", "kernel": "Kernel.td", "plan": "Plan.td", "tile": "Tile.td"}
# Programs with every op of the dialect that go all the way down; of kernels, what passes lower.
COMPILED = {"graph": "test/dialects/graph/compiled*.mlir", "kernel": "test/passes/**/*.mlir",
            "plan": "test/dialects/plan/compiled*.mlir", "tile": "test/passes/tile/*.mlir"}
FOLDERS = ("passes", "codegen", "compiler")
EMIT = re.compile(r"\b(?:\w+\.|\w+->)?(emitOpError|emitOptionalError|emitError|EmitError|isNot)\b")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
# Errors that no test can provoke, with the reason.
UNREACHABLE = {
    "fits no GPU builder": "the last builder takes every kernel",
    "fits no host builder": "the last builder takes every kernel",
    "bad code: ": "the verifier of graph.custom has read it",
    "constants cannot be folded: ": "the machine's memory ended, or the compiler made a kernel that its own runtime refuses",
    "LLVM cannot write PTX: ": "LLVM was built without the NVPTX target",
    "LLVM cannot write PTX for ": "NVPTX writes assembly for every chip",
    "LLVM IR is not valid: ": "MLIR translated what it verified into what LLVM's verifier refuses",
}


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


def errors(folder):
    """(file, literals of a message), which anything may stand between. Of a choice each side is a message."""
    for path in sorted((ROOT / folder).rglob("*.cpp")):
        for statement in statements(path.read_text()):
            # Literals that follow one another are one.
            joined = re.sub(r'"\s*\n\s*"', "", statement)
            literals = LITERAL.findall(joined)
            for side in re.split(r"[?:]", LITERAL.sub('"', joined.replace("::", ""))):
                count = side.count('"')
                parts, literals = literals[:count], literals[count:]
                parts = [p.replace('\\"', '"') for p in parts if re.search(r"\w\w", p)]
                if parts:
                    yield path.name, parts


def expected():
    """Every error that a test of IR expects."""
    texts = []
    for path in (ROOT / "test").rglob("*.mlir"):
        texts += re.findall(r"expected-error[^{]*\{\{(.*?)\}\}(?:\n|$)", path.read_text())
    return texts


def lines_of_tests():
    """All lines of all tests; literals of C++ that follow one another are one."""
    lines = []
    for path in (ROOT / "test").rglob("*"):
        if path.suffix in (".mlir", ".test", ".cpp", ".h", ".py", ".txt") and path != pathlib.Path(__file__).resolve():
            lines += re.sub(r'"\s*\n\s*"', "", path.read_text(errors="replace")).replace('\\"', '"').splitlines()
    return lines


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

    def check_errors(folder, tests):
        nonlocal total
        for name, parts in errors(folder):
            total += 1
            pattern = re.compile(".*".join(re.escape(p) for p in parts))
            if parts[0] not in UNREACHABLE and not any(pattern.search(text) for text in tests):
                report(f"test of the error in {name}: {' … '.join(parts)}")

    for dialect, description in DIALECTS.items():
        texts = [path.read_text() for path in (ROOT / "test/dialects" / dialect).glob("*.mlir")]
        printed = "\n".join(text for text in texts if "FileCheck" in text)
        compiled = "\n".join(path.read_text() for path in ROOT.glob(COMPILED[dialect]))
        for op in ops(options.tblgen, options.include, dialect, description):
            total += 2
            for kind, text in (("round trip", printed), ("compiled example", compiled)):
                if not re.search(rf"\b{re.escape(op)}\b(?![\w.])", text):
                    report(f"{kind} of {op}")
        check_errors(f"dialects/{dialect}", expected())
    lines = lines_of_tests()
    for folder in FOLDERS:
        check_errors(folder, lines)
    print(f"{total} things to cover, {missing} missing")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())

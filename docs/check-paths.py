#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files, links and headings that the pages name are there.

    check-paths.py

A file in backquotes is meant where it has a folder and the suffix of a source: `rules/Activation.cpp` may be the end of a longer
path. Names in capitals, as `passes/graph/NAME.cpp`, stand for others. Standard library only.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE = re.compile(r"`([\w.-]+(?:/[\w.-]+)+\.(?:cpp|h|td|c|cu|py|sh|mlir|test|txt|md|cmake|fbs|onnx))`")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^()\s#]*)(?:#([^()\s]*))?\)")
# Of other projects, and what a build makes.
ELSEWHERE = ("build/", "llvm/")


def prose(page):
    """Lines outside of code blocks, with their numbers."""
    inside = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def headings(page):
    """As GitHub spells anchors."""
    for _, line in prose(page):
        if line.startswith("#"):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line.lstrip("#").strip())
            yield re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def main():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True)
    if listed.returncode:
        print("SKIPPED: the tree is no clone of git")
        return 77
    files = listed.stdout.splitlines()
    problems = []
    for name in files:
        if not name.endswith(".md"):
            continue
        page = ROOT / name
        for number, line in prose(page):
            for path in FILE.findall(line):
                known = path.startswith(ELSEWHERE) or re.search(r"\b[A-Z]{2,}\b", pathlib.Path(path).stem)
                if not known and not any(file == path or file.endswith("/" + path) for file in files):
                    problems.append(f"{name}:{number}: expected a file that ends in '{path}', found none")
            for target, anchor in LINK.findall(line):
                if target.startswith(("http:", "https:", "mailto:")):
                    continue
                to = (page.parent / target).resolve() if target else page
                if not to.exists():
                    problems.append(f"{name}:{number}: '{target}' is not there")
                elif anchor and to.suffix == ".md" and anchor not in set(headings(to)):
                    problems.append(f"{name}:{number}: '{target}' has no heading '{anchor}'")
    print("\n".join(problems) or "all files, links and headings are there")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

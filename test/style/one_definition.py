#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No two files define a type of the same name in the same namespace.   one_definition.py [--self-test]

Two such types that meet in one program are undefined behaviour which no linker reports: of the functions that both
have, such as the destructor, one is kept for both. Types in namespaces without a name, and in functions, may repeat.
Standard library only.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Programs of their own, which are not linked with one another.
SEPARATE = ("test/", "examples/")
IGNORED = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
NAMESPACE = re.compile(r"\bnamespace\s*((?:\w+(?:::\w+)*)?)\s*$")
TYPE = re.compile(r"\b(?:struct|class|union)\s+(?:\[\[[^\]]*\]\]\s*|alignas\([^)]*\)\s*)*(\w+(?:::\w+)*)\s*(?:final\s*)?(?::(?!:).*)?$", re.S)
ENUM = re.compile(r"\benum\s+(?:class\s+|struct\s+)?(\w+)\s*(?::[^:]*)?$")


def definitions(text):
    """Qualified names of types that are defined at the level of a namespace."""
    text = DIRECTIVE.sub("", IGNORED.sub(lambda found: " " if found.group()[0] == "/" else '""', text))
    scopes, begin = [], 0  # a namespace's name; None: anything else
    for brace in re.finditer(r"[{};]", text):
        before, begin = text[begin:brace.start()], brace.end()
        if brace.group() == ";":
            continue
        if brace.group() == "}":
            if scopes:
                scopes.pop()
            continue
        before = before.strip()
        if space := NAMESPACE.search(before):
            scopes.append(space.group(1))
            continue
        found = ENUM.search(before) or (None if "template" in before or "enum" in before else TYPE.search(before))
        if found and None not in scopes and "" not in scopes:
            yield "::".join([*scopes, found.group(1)])
        scopes.append(None)


def repeated(files):
    """(name, paths) of what more than one of (path, text) defines."""
    where = {}
    for path, text in files:
        for name in set(definitions(text)):
            where.setdefault(name, []).append(path)
    return sorted((name, paths) for name, paths in where.items() if len(paths) > 1)


def self_test():
    first = "namespace kpc::a {\nstruct Group { int X; };\nnamespace { struct Own {}; }\nclass Seen;\n}"
    second = "namespace kpc {\nnamespace a {\nstruct Group final : Base<int> { long Y; }; // struct Seen {\nnamespace { struct Own {}; }\nenum class Kind : char { A };\n}\n}"
    third = "namespace kpc::a { class Seen { struct Group {}; }; void f() { struct Kind {}; } }"
    found = repeated([("1", first), ("2", second), ("3", third)])
    assert found == [("kpc::a::Group", ["1", "2"])], found


def main():
    self_test()
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.h", "*.hpp",
                             "*.cpp"], capture_output=True, text=True)
    if listed.returncode:
        print("SKIPPED: not a checkout")
        return 77
    paths = [path for path in listed.stdout.split("\0") if path and not path.startswith(SEPARATE) and (ROOT / path).is_file()]
    faults = repeated((path, (ROOT / path).read_text()) for path in paths)
    for name, where in faults:
        print(f"{name} is defined in {' and '.join(where)}; rename one, or put it in a namespace without a name")
    print(f"{len(paths)} files, {len(faults)} names defined twice")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

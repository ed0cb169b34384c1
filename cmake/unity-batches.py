#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which files of a target are compiled as one.   unity-batches.py TARGETS OUT | --self-test

TARGETS has a line for each target: its name and its files, with tabs between. OUT is CMake that gives each file a
UNITY_GROUP. Files of one group have the same using-directives, and no word of one is a name that another declares for
itself. What this reading does not see is an error of the compiler: another name in one of the files mends it.

Files are read as clang-format lays them out: what a namespace contains begins in the first column. Standard library only.
"""

import pathlib
import re
import sys

MOST_FILES, MOST_LINES = 16, 5000
IGNORED = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.S)
# What all of a group have. GoogleTest's namespace has the name of one of the tree's.
SHARED = re.compile(r"^using namespace [^;]+|^#include <g(?:mock|test)/", re.M)
# What the others may name if they have it too.
TAKEN = re.compile(r"^using ([\w:]+::)(\w+);", re.M)
HIDDEN = re.compile(r"^namespace \{\n(.*?)^\} // namespace$", re.M | re.S)
# A macro, an alias, a type, a table that is included in the middle of a file: for this file alone, wherever it stands.
OWN = re.compile(r'^\s*#\s*define (\w+)|^(?:using|namespace) (\w+) =|^(?:template <.*>\s)?(?:struct|class|union|enum(?: class)?) (\w+)(?= [:{])'
                 r'|^#include "([^"]*(?<!\.h)\.(?:inc|def))"', re.M)
# The name of a function or of a variable: for this file alone if it is hidden, static or constant.
NAME = re.compile(r"^(?!public|private|protected|using|namespace|struct|class|union|enum|TEST)(\w[^;={}()]*?)\b(\w+)(?:\[\w*\])*(?: =|[({;])", re.M)
CONSTANT = re.compile(r"(?:template <.*>\s)?(?:static|const|constexpr)\b")


class File:
    def __init__(self, text):
        plain = IGNORED.sub("", text)
        self.lines = text.count("\n")
        self.shared = set(SHARED.findall(text))
        self.taken = set(TAKEN.findall(plain))
        self.own = {name for names in OWN.findall(text) for name in names if name}
        self.own |= {name for head, name in NAME.findall(plain) if CONSTANT.match(head)}
        for hidden in HIDDEN.findall(text):
            self.own |= {name for _, name in NAME.findall(IGNORED.sub("", hidden))}
        self.words = set(re.findall(r"\w+", plain)) | self.own

    def joins(self, other):
        return self.shared == other.shared and not self.hides(other) and not other.hides(self)

    def hides(self, other):
        """Whether the other file could have another meaning after this one."""
        return bool(self.own & other.words) or any(name in other.words for _, name in self.taken - other.taken)


def groups_of(files):
    """The group of each of [File], a number: the first that takes it."""
    groups, numbers = [], []
    for file in files:
        fits = [number for number, group in enumerate(groups) if len(group) < MOST_FILES and
                sum(other.lines for other in group) + file.lines <= MOST_LINES and all(file.joins(other) for other in group)]
        if not fits:
            groups.append([])
        numbers.append(fits[0] if fits else len(groups) - 1)
        groups[numbers[-1]].append(file)
    return numbers


def write(targets, out):
    lines = []
    for line in pathlib.Path(targets).read_text().splitlines():
        target, *paths = line.split("\t")
        # Neighbours include the same headers.
        paths = sorted(path for path in paths if path.endswith(".cpp") and pathlib.Path(path).is_file())
        numbers = groups_of([File(pathlib.Path(path).read_text()) for path in paths])
        lines.append(f"set_target_properties({target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)")
        for path, number in zip(paths, numbers):
            if numbers.count(number) > 1:
                lines.append(f'set_source_files_properties("{path}" TARGET_DIRECTORY {target} PROPERTIES UNITY_GROUP {target}_{number})')
    pathlib.Path(out).write_text("\n".join(lines) + "\n")


def self_test():
    one = File('using namespace mlir;\nusing onnx::Node;\nnamespace {\nint foldPad(int A) {\n  int Local = 1;\n  return A;\n}\nstruct Row {\n  int X;\n};\n'
               '// int remark();\nstd::map<int, Pair<int>>\nrowsOf(int A) {\n  return {};\n}\nRow Last;\n} // namespace\n'
               "static bool isEven(int A) { return true; }\nconstexpr int Most[] = {3};\nusing Sizes = std::vector<int>;\n#define EACH 1\n"
               '#include "a/Table.inc"\n#include "a/Passes.h.inc"\nstd::optional<int> kpc::seen(int A) { return A; }\n')
    expected = {"foldPad", "Row", "rowsOf", "Last", "isEven", "Most", "Sizes", "EACH", "a/Table.inc"}
    assert one.own == expected, f"expected {expected}, got {one.own}"
    for text, joins in (("using namespace mlir;\nint other() { return 1; }", True), ("int other() { return 1; }", False),
                        ("using namespace mlir;\nint Sum = isEven(2);", False), ("using namespace mlir; // isEven", True),
                        ("using namespace mlir;\nNode N;", False), ("using namespace mlir;\nusing onnx::Node;\nNode N;", True)):
        assert one.joins(File(text)) == joins, f"expected {joins} for {text!r}"
    assert groups_of([one, File("using namespace mlir;\nint Row;"), File("using namespace mlir;\nint Seen;")]) == [0, 1, 0]
    print("self test passed")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    else:
        write(*sys.argv[1:])

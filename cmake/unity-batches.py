#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which files of a target are compiled as one.   unity-batches.py TARGETS OUT | --self-test

TARGETS has a line for each target: its name and its files, with tabs between. OUT is CMake that gives each file a
UNITY_GROUP. Files of one group have the same using-directives, and none names what another keeps for itself: a function
in a namespace without a name, an alias, a constant, a macro. So a file means the same in its group as alone. What this
reading of the text does not see is an error of the compiler. Standard library only.
"""

import pathlib
import re
import sys

MOST_FILES, MOST_LINES = 16, 5000
IGNORED = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
DEFINED = re.compile(r"#\s*define\s+(\w+)")
INCLUDED = re.compile(r'#\s*include\s+"([^"]+)"')
NAMESPACE = re.compile(r"\b(?:inline\s+)?namespace\s*((?:\w+(?:::\w+)*)?)\s*$")
TYPE = re.compile(r"\b(?:struct|class|union|enum(?:\s+class|\s+struct)?)\s+(?:\[\[[^\]]*\]\]\s*|alignas\([^)]*\)\s*)*(\w+)\b(?!\s*(?:::|\*|&|\w*\())")
USING = re.compile(r"^using\s+(?!\w+\s*=)(.*)$", re.S)
ALIAS = re.compile(r"^(?:using|namespace)\s+(\w+)\s*=|^typedef\b.*?(\w+)\s*$", re.S)
NAME = re.compile(r"(?<![\w:~])(?!const\b|noexcept\b|override\b)([A-Za-z_]\w*)\s*(?:\(|=|\[|(?:const\b|noexcept\b|override\b|\s)*$)")
MACRO = re.compile(r"[A-Z][A-Z_]+\s*\(")  # TEST(Suite, Name): of one name per program
BASIC = re.compile(r"u?int\d+_t|size_t|float|double|bool|char|int|long|operator|requires|decltype|alignas|noexcept")
OWN = re.compile(r"^(?:\[\[[^\]]*\]\]\s*)*(?:static|constexpr|const|extern\s+const)\b")


def without_arguments(text):
    """A declaration without the arguments of its templates, in which other names stand."""
    before = None
    while before != text:
        before, text = text, re.sub(r"<[^<>]*>", " ", text)
    return text


class File:
    """What a file keeps for itself, what it names, and what it takes from other namespaces and from headers.

    `declared` and `types` are the names in the tree's headers that it includes."""

    def __init__(self, text, unguarded=(), declared=frozenset(), types=frozenset()):
        self.declared, self.types = declared, types
        self.lines = text.count("\n")
        plain = IGNORED.sub(lambda found: " " if found.group()[0] == "/" else '""', text)
        self.names = set(re.findall(r"\w+", plain))
        self.own = set(DEFINED.findall(plain))
        # A file without a guard defines its names for each file that includes it.
        both = {f"include {path}" for path in INCLUDED.findall(text) if path in unguarded}
        self.own |= both
        self.names |= both
        self.using = set()
        self.read(DIRECTIVE.sub("", plain))
        self.own = {name for name in self.own if not BASIC.fullmatch(name)}
        self.directives = {name for name in self.using if name.startswith("namespace ")}
        # GoogleTest's namespace has the name of one of the tree's.
        self.directives |= set(re.findall(r"#\s*include\s+[<\"](g(?:mock|test))/", text))

    def read(self, text):
        scopes, begin = [], 0  # True in a namespace without a name, False in another, None in anything else
        for mark in re.finditer(r"[{};]", text):
            if mark.group() == "}" and scopes and scopes[-1] is None and scopes.count(None) == 1 and self.enum:
                self.own |= set(re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)", text[self.enum:mark.start()]))
            before = text[begin:mark.start()].strip()
            begin = mark.end()
            space = NAMESPACE.search(before) if mark.group() == "{" else None
            if None not in scopes and mark.group() != "}" and not space:
                self.declare(before, True in scopes)
                self.enum = begin if mark.group() == "{" and re.match(r"enum\s+(?!class|struct)", before) else 0
            if mark.group() == "{":
                scopes.append(not space.group(1) if space and None not in scopes else None)
            elif mark.group() == "}" and scopes:
                scopes.pop()

    enum = 0
    header = False

    def declare(self, text, hidden):
        if used := USING.match(text):
            self.using.update(" ".join(name.split()) for name in used.group(1).split(","))
        elif alias := ALIAS.match(text):
            self.own.add(alias.group(1) or alias.group(2))
        elif MACRO.match(text):
            pass
        elif hidden or self.header or OWN.match(text) or re.match(r"(?:enum|struct|class|union)\b", text):
            text = without_arguments(re.sub(r"^\s*template\s*<", "<", text))
            if found := TYPE.match(text):
                self.own.add(found.group(1))
            elif found := NAME.search(text):
                self.own.add(found.group(1))

    def joins(self, other):
        return self.directives == other.directives and not self.hides(other) and not other.hides(self)

    def hides(self, other):
        """Whether the other file could have another meaning after this one."""
        if self.own & other.names or (self.types - other.types) & other.names:
            return True
        if (self.declared - other.declared) & other.own:
            return True
        return any(name.rpartition("::")[2] in other.names for name in self.using - other.using)


class Group:
    def __init__(self):
        self.files, self.lines, self.count = [], 0, 0

    def takes(self, file):
        return (self.count < MOST_FILES and self.lines + file.lines <= MOST_LINES and all(file.joins(other) for other in self.files))

    def add(self, file):
        self.files.append(file)
        self.lines += file.lines
        self.count += 1


def groups_of(files):
    """The number of the group of each of [File]; neighbours first, as they include the same headers."""
    groups, numbers = [], []
    for file in files:
        number = next((index for index, group in enumerate(groups) if group.takes(file)), len(groups))
        if number == len(groups):
            groups.append(Group())
        groups[number].add(file)
        numbers.append(number)
    return numbers


class Header(File):
    """What a header of the tree declares, with the headers that it includes."""

    header = True

    def __init__(self, text):
        super().__init__(text)
        plain = IGNORED.sub(" ", text)
        self.types = {name for name in self.own if re.search(rf"\b(?:struct|class|union|enum|using|typedef)\b[^;{{(]*\b{name}\b", plain)}


def closure(names, root, headers):
    """The names and the types that are declared in included headers of the tree and in those that they include."""
    declared, types, seen, left = set(), set(), set(), list(names)
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        if name not in headers:
            file = root / name
            text = file.read_text(errors="replace") if name.endswith(".h") and file.is_file() else None
            headers[name] = text and (Header(text), INCLUDED.findall(text))
        if headers[name]:
            header, included = headers[name]
            declared |= header.own
            types |= header.types
            left += included
    return declared, types


def unguarded(path, root, known):
    """The included files of the tree that may be read more than once."""
    found = set()
    for name in INCLUDED.findall(path.read_text(errors="replace")):
        if name not in known:
            file = root / name
            known[name] = file.is_file() and not re.search(r"^#(?:pragma once|ifndef \w+_H)", file.read_text(errors="replace"), re.M)
        if known[name]:
            found.add(name)
    return found


def write(targets, out):
    root, known, headers, read, lines = pathlib.Path(__file__).resolve().parents[1], {}, {}, {}, []
    for line in pathlib.Path(targets).read_text().splitlines():
        target, *paths = line.split("\t")
        paths = sorted(path for path in paths if path.endswith(".cpp") and pathlib.Path(path).is_file())
        for path in paths:
            if path not in read:
                text = pathlib.Path(path).read_text(errors="replace")
                read[path] = File(text, unguarded(pathlib.Path(path), root, known), *closure(INCLUDED.findall(text), root, headers))
        numbers = groups_of([read[path] for path in paths])
        lines.append(f"set_target_properties({target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)")
        for path, number in zip(paths, numbers):
            if numbers.count(number) > 1:
                lines.append(f'set_source_files_properties("{path}" TARGET_DIRECTORY {target} PROPERTIES UNITY_GROUP {target}_{number})')
    pathlib.Path(out).write_text("\n".join(lines) + "\n")


def self_test():
    one = File("using namespace mlir;\nnamespace {\nint foldPad(int A) { int Local = 1; return A; }\nstruct Row { int X; };\n"
               "enum Kind { Left, Right = 3 };\n}\nstatic bool isEven(int A) { return true; }\nconstexpr int Most[] = {3};\n"
               "using Sizes = std::vector<int>;\n#define EACH 1\nstd::optional<int> kpc::seen(int A) { return A; }\n"
               "template <typename T> void kpc::Row::use(T A) {}\n")
    expected = {"foldPad", "Row", "Kind", "Left", "Right", "isEven", "Most", "Sizes", "EACH"}
    assert one.own == expected, f"expected {expected}, got {one.own}"
    assert one.using == {"namespace mlir"}, one.using
    hidden = File("namespace kpc {\nnamespace {\nstd::map<int, std::pair<int, int>> Table = {{1, {2, 3}}};\n"
                  "class Walk : public Base<int> { void Row::go(); };\n} // namespace\nint Walk2::run() { return 0; }\n}\n")
    assert hidden.own == {"Table", "Walk"}, hidden.own
    for text, joins in (("using namespace mlir;\nint other() { return 1; }", True), ("int other() { return 1; }", False),
                        ("using namespace mlir;\nint Sum = isEven(2);", False), ("using namespace mlir; // isEven", True)):
        assert one.joins(File(text)) == joins, f"expected {joins} for {text!r}"
    header = Header("namespace kpc {\nstruct Row;\nint width(Row R);\nenum class Side { Left };\n}\n")
    assert header.own == {"Row", "width", "Side"} and header.types == {"Row", "Side"}, (header.own, header.types)
    with_header = File("using namespace mlir;\nint a();", (), header.own, header.types)
    for text, joins in (("static int width() { return 1; }", False), ("int b(Side S);", False), ("int c = width();", True)):
        assert with_header.joins(File("using namespace mlir;\n" + text)) == joins, text
    assert groups_of([one, File("using namespace mlir;\nint Row;"), File("using namespace mlir;\nint Seen;")]) == [0, 1, 0]
    print("self test passed")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    else:
        write(*sys.argv[1:])

#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How clang-tidy compiles each file, from BUILD's compile_commands.json.   commands.py BUILD OUT | --self-test

OUT/alone has the files without precompiled headers: a check that walks all declarations reads all of MLIR out of one, which
takes longer than to parse what the file includes. OUT/precompiled is for files that do not include all they need. Files
that a build compiles as one (KPC_UNITY) are taken one by one in both. Standard library only.
"""

import json
import pathlib
import re
import sys

PRECOMPILED = re.compile(r" -Winvalid-pch| -fpch-instantiate-templates| -Xclang -include-pch -Xclang \S+| -Xclang -include -Xclang \S+")
INCLUDED = re.compile(r'^#include "([^"]+)"', re.M)


def commands(entries, read, alone=True):
    for entry in entries:
        command, file = entry["command"], entry["file"]
        if alone:
            command = PRECOMPILED.sub("", command)
        sources = INCLUDED.findall(read(file)) if "/Unity/unity_" in file else [file]
        for source in sources:
            yield {"directory": entry["directory"], "command": command.replace(file, source), "file": source}


def self_test():
    alone = {"directory": "/b", "command": "clang++ -Winvalid-pch -Xclang -include-pch -Xclang a.pch -Xclang -include -Xclang a.hxx -c /s/a.cpp",
             "file": "/s/a.cpp"}
    grouped = {"directory": "/b", "command": "clang++ -c /b/Unity/unity_0_cxx.cxx", "file": "/b/Unity/unity_0_cxx.cxx"}
    found = list(commands([alone, grouped], lambda path: '/* made */\n#include "/s/b.cpp"\n#include "/s/c.cpp"\n'))
    assert [one["command"] for one in found] == ["clang++ -c /s/a.cpp", "clang++ -c /s/b.cpp", "clang++ -c /s/c.cpp"], found
    assert next(commands([alone], lambda path: "", False)) == alone
    assert [one["file"] for one in found] == ["/s/a.cpp", "/s/b.cpp", "/s/c.cpp"], found
    print("self test passed")


def main():
    build, out = map(pathlib.Path, sys.argv[1:])
    entries = json.loads((build / "compile_commands.json").read_text())
    for kind in ("alone", "precompiled"):
        (out / kind).mkdir(parents=True, exist_ok=True)
        listed = list(commands(entries, lambda path: pathlib.Path(path).read_text(), kind == "alone"))
        (out / kind / "compile_commands.json").write_text(json.dumps(listed, indent=0))


if __name__ == "__main__":
    self_test() if sys.argv[1:] == ["--self-test"] else main()

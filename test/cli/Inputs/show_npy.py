# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints type, shape and elements of .npy files, with the standard library alone.

    python3 show_npy.py FILE...
"""

import ast
import pathlib
import struct
import sys

CODES = {"f4": "f", "f8": "d", "f2": "e", "i8": "q", "i4": "i", "i1": "b", "u1": "B", "u2": "H", "b1": "?"}

for path in map(pathlib.Path, sys.argv[1:]):
    data = path.read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    length, = struct.unpack("<H", data[8:10])
    assert (10 + length) % 64 == 0, "elements are not aligned"
    header = ast.literal_eval(data[10:10 + length].decode())
    elements = data[10 + length:]
    code = CODES[header["descr"][1:]]
    count = len(elements) // struct.calcsize(code)
    values = struct.unpack(f"<{count}{code}", elements)
    print(path.name, header["descr"], header["shape"], " ".join(f"{v:g}" if code in "fde" else str(v) for v in values))

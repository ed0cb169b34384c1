#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Replaces text in an artifact's table by another of its length; digests are right again.   edit_artifact.py FROM TO OLD NEW"""

import hashlib
import pathlib
import struct
import sys

source, target, old, new = sys.argv[1:]
data = bytearray(pathlib.Path(source).read_bytes())
at, size = struct.unpack_from("<QQ", data, 24)
table = bytes(data[at:at + size])
assert old.encode() in table and len(old.encode()) == len(new.encode())
data[at:at + size] = table.replace(old.encode(), new.encode())
data[40:72] = hashlib.sha256(data[at:at + size]).digest()
data[224:256] = hashlib.sha256(data[:224]).digest()
pathlib.Path(target).write_bytes(data)

# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives an artifact the signature of another, with a header whose own digest is right.

    python3 move_signature.py SIGNED OTHER OUTPUT
"""

import hashlib
import pathlib
import sys

SIGNATURE, END, DIGEST = 72, 144, 224  # offsets in the header: docs/artifact-format.md

signed, other, output = (pathlib.Path(name) for name in sys.argv[1:])
data = bytearray(other.read_bytes())
data[SIGNATURE:END] = signed.read_bytes()[SIGNATURE:END]
data[DIGEST:DIGEST + 32] = hashlib.sha256(data[:DIGEST]).digest()
output.write_bytes(data)

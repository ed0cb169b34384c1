# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program with a weight of 2 MiB, and a sample, x.npz, beside it; with --change, elements in the middle of it are others.

  make_large_weight.py FOLDER-OF-PROGRAM-WRITER FILE
  make_large_weight.py --change FILE
"""
import pathlib
import sys

import numpy as np

path = pathlib.Path(sys.argv[2])
weight = np.full((1024, 512), 0.25, np.float32)
if sys.argv[1] == "--change":
    data = bytearray(path.read_bytes())
    middle = data.find(weight.tobytes()) + weight.nbytes // 2
    data[middle:middle + 4096] = np.full(1024, 8, np.float32).tobytes()
    path.write_bytes(data)
else:
    sys.path.insert(0, sys.argv[1])
    from program_writer import Program

    p = Program()
    x = p.input("x", (1, 1024))
    p.output(p.node("aten.mm.default", {"self": x, "mat2": p.weight("w", weight)}, [("f4", (1, 512))])[0])
    p.save(path)
    np.savez(path.with_name("x.npz"), x=np.ones((1, 1024), np.float32))

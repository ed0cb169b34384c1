# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A module with a weight of 2 MiB, and a sample, x.npz, beside it; with --change, elements in the middle of it are others.

  make_large_weight.py FILE
  make_large_weight.py --change FILE
"""
import pathlib
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models"))
from make_models import floats, npy  # noqa: E402
from make_samples import npz  # noqa: E402
from make_scripts import HEAD, body  # noqa: E402
from script_writer import Module, Tensor, save  # noqa: E402

path = pathlib.Path(sys.argv[-1])
WEIGHT = [0.25] * (1024 * 512)
if sys.argv[1] == "--change":
    data = bytearray(path.read_bytes())
    middle = data.find(struct.pack(f"<{len(WEIGHT)}f", *WEIGHT)) + 2 * len(WEIGHT)
    data[middle:middle + 4096] = struct.pack("<1024f", *[8.0] * 1024)
    path.write_bytes(data)
else:
    top = Module("__torch__.M", {"training": False, "w": Tensor((1024, 512), WEIGHT), "count": 1, "seen": []})
    save(path, top, {"__torch__.py": HEAD + body("w = self.w", "return torch.matmul(x, w)")})
    npz(path.with_name("x.npz"), x=npy("<f4", [1, 1024], floats([1.0] * 1024)))

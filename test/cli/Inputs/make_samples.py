# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes samples for the model mlp.onnx into a folder, with the standard library alone: some that fit and some that do not.

    python3 make_samples.py DIR
"""

import pathlib
import struct
import sys
import zipfile

sys.dont_write_bytecode = True
from make_models import floats, npy  # noqa: E402

ROWS = [[1.0, -2.0, 0.5, 4.0, -3.0, 1.0, 2.0, -1.0], [0.25, 0.5, 0.75, 1.0, -0.5, -1.0, -1.5, -2.0],
        [3.0, 2.0, 1.0, 0.0, 0.0, -1.0, -2.0, -3.0]]


def npz(path, **arrays):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            archive.writestr(f"{name}.npy", array)


def main():
    folder = pathlib.Path(sys.argv[1])
    flat = [value for row in ROWS for value in row]
    npz(folder / "samples.npz", x=npy("<f4", [3, 2, 4], floats(flat)))
    for place, row in enumerate(ROWS):
        npz(folder / f"folder/{place}.npz", x=npy("<f4", [2, 4], floats(row)))
    npz(folder / "large/0.npz", x=npy("<f4", [1, 4], floats([1e6, 2e6, 1e5, 3e6])))
    npz(folder / "wrong-name.npz", z=npy("<f4", [3, 2, 4], floats(flat)))
    npz(folder / "wrong-rank.npz", x=npy("<f4", [4], floats(flat[:4])))
    npz(folder / "empty.npz", x=npy("<f4", [0, 2, 4], b""))
    (folder / "empty").mkdir(exist_ok=True)
    npz(folder / "nan/0.npz", x=npy("<f4", [1, 4], floats([1.0, float("nan"), 2.0, 3.0])))
    npz(folder / "wrong-type/0.npz", x=npy("<f8", [2, 4], struct.pack("<8d", *ROWS[0])))
    npz(folder / "uneven/0.npz", x=npy("<f4", [2, 5], floats(flat[:10])))


if __name__ == "__main__":
    main()

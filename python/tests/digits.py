# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The model and images of examples/digits, for the tests of the package; compiled once."""

import functools
import os
import pathlib

import kpc
import numpy as np

FOLDER = pathlib.Path(os.environ["KPC_SOURCE"], "examples", "digits")
MODEL = FOLDER / "digits.onnx"
IMAGES = np.load(FOLDER / "images.npy")
LABELS = np.load(FOLDER / "labels.npy")


@functools.cache
def artifact():
    return kpc.compile(MODEL, arch="host", dims={"batch": (1, 512)}, jobs=1)


@functools.cache
def fat_artifact():
    """For the host and for the emulator."""
    return kpc.compile(MODEL, arch=["host", "portable"], precision="fp32", dims={"batch": (1, 512)}, jobs=1)

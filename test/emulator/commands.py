# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A command whose failure ends the test, and how far a result is off: for tests of several commands. Needs numpy."""

import os
import subprocess
import sys

import numpy as np


def call(command, **variables):
    process = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=os.environ | variables, timeout=500)
    if process.returncode:
        sys.exit(f"FAILED: {' '.join(map(str, command))}\n{process.stdout}{process.stderr}")
    return process.stdout


def error(got, wanted):
    return float(np.sqrt(np.mean((got - wanted)**2) / np.mean(wanted**2)))

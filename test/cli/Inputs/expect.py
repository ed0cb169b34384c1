# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command, prints all that it says, and succeeds if its exit code is the one expected.

    python3 expect.py CODE COMMAND...
"""

import subprocess
import sys

done = subprocess.run(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
sys.stdout.buffer.write(done.stdout)
if done.returncode != int(sys.argv[1]):
    print(f"exit code {done.returncode}, expected {sys.argv[1]}")
    sys.exit(1)

# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the examples that `kpc COMMAND --help` ends with, one command after the other, in the folder it is run in."""

import subprocess
import sys


def examples(command):
    text = subprocess.run(["kpc", command, "--help"], capture_output=True, text=True, check=True).stdout
    if "\nExamples:\n" not in text:
        sys.exit(f"kpc {command} --help has no examples")
    return [line.strip() for line in text.split("\nExamples:\n")[1].splitlines() if line.strip()]


for command in sys.argv[1:]:
    for line in examples(command):
        if not line.startswith(f"kpc {command}"):
            sys.exit(f"'{line}' is no example of kpc {command}")
        done = subprocess.run(line, shell=True, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"$ {line}\n{done.stdout}{done.stderr}exit code {done.returncode}")
        print(f"ran: {line}")

# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a program on a bad input and says what it did that it must not do."""

import os
import resource
import signal
import subprocess

MEMORY = 6 << 30  # bytes of address space
FAULT = "this is a fault of kpc's"  # what kpc says when it has failed itself, or one of its workers


def run(command, seconds, input=None, cwd=None):
    """Exit code (None: out of time) and what was said."""
    def limits():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True, preexec_fn=limits, cwd=cwd,
                               env={**os.environ, "NO_COLOR": "1", "LLVM_DISABLE_CRASH_REPORT": "1"})
    try:
        output, _ = process.communicate(input, timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, ""
    return process.returncode, output.decode("utf-8", "backslashreplace")


def misdeed(code, text):
    """What is wrong with how a program ended; empty if it took or refused its input."""
    if code is None:
        return "out of time"
    if code not in (0, 1):
        return f"exit code {code}"
    if FAULT in text:
        return "a fault of kpc's own"
    if code == 1 and not text.strip():
        return "refused without a word"
    return ""

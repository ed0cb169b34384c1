# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command, presses Ctrl-C when it has a child, prints what it said and how many processes are left.

    python3 interrupt.py COMMAND...
"""

import os
import pathlib
import signal
import subprocess
import sys
import time


def descendants(root):
    """Processes below `root`; those that lost their parent are found by the list taken before."""
    parents = {}
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(folder.name)] = int(fields[1])
    found, grown = {root}, True
    while grown:
        more = {p for p, parent in parents.items() if parent in found} - found
        found, grown = found | more, bool(more)
    return found - {root}


process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
end = time.monotonic() + 60
workers = set()
while not workers and process.poll() is None and time.monotonic() < end:
    time.sleep(0.05)
    workers = descendants(process.pid)
process.send_signal(signal.SIGINT)
said, _ = process.communicate(timeout=60)
print(said.decode("utf-8", "replace"), end="")
print(f"exit code {process.returncode}")
time.sleep(0.2)
left = [p for p in workers if os.path.exists(f"/proc/{p}")]
print(f"{len(workers)} workers, {len(left)} processes left" if workers else "there was no worker")

#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives kpc bad files and bad command lines, and compares exit code and every word it says.

    python3 run_hostile.py --kpc build/dev/bin/kpc --work-dir DIR [--only PATTERN] [--update]

What kpc should say to case NAME is in expected/NAME.txt, with the case's folder written as DIR and the models' as
MODELS. `--update` writes those files, but never accepts an exit code that cases.py does not want. A case also fails
when kpc takes more than --limit seconds or 6 GiB of address space, leaves a file behind, or `kpc check` disagrees with
`kpc compile`. Standard library only.
"""

import argparse
import concurrent.futures
import difflib
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys

import bad_models
import cases
from onnx_writer import varint

MEMORY = 6 << 30  # bytes of address space
DISK = 4096  # bytes that fit on the full disk


def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


class Hostile:
    def __init__(self, options):
        self.options = options
        self.kpc = str(options.kpc.resolve())
        self.work = options.work_dir.resolve()
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        self.models = bad_models.write_all(self.work)
        self.artifact = self.work / "good.kpc"
        self.expected = pathlib.Path(__file__).parent / "expected"

    # What a case finds in its folder; named in cases.py.
    def unreadable_file(self, folder):
        """Root reads any file, so it is a link to itself instead."""
        if os.geteuid() == 0:
            (folder / "secret.onnx").symlink_to("secret.onnx")
        else:
            shutil.copy(self.models / "good.onnx", folder / "secret.onnx")
            (folder / "secret.onnx").chmod(0)

    def large_file(self, folder):
        """Two full fields of bytes that kpc skips, in a file that takes no room on the disk."""
        part = (1 << 30) + 64
        with open(folder / "large.onnx", "wb") as file:
            for i in range(2):
                file.seek(i * (part + 6))
                file.write(b"\x32" + varint(part))
            file.truncate(2 * (part + 6))

    def full_disk(self, folder):
        (folder / "full").mkdir()

    def truncated_artifact(self, folder):
        data = self.artifact.read_bytes()
        (folder / "short.kpc").write_bytes(data[:len(data) // 2])

    def flipped_artifact(self, folder):
        data = bytearray(self.artifact.read_bytes())
        last = max(i for i, byte in enumerate(data) if byte)  # not in the padding, which is no part of the contents
        data[last] ^= 0x10
        (folder / "flipped.kpc").write_bytes(data)

    def good_input(self, folder):
        (folder / "x.npy").write_bytes(npy("<f4", "(2, 4)", bytes(32)))

    def text_as_npy(self, folder):
        (folder / "text.npy").write_text("1 2 3 4\n")

    def text_as_tensor(self, folder):
        (folder / "text.pb").write_text("1 2 3 4\n")

    def short_npy(self, folder):
        (folder / "short.npy").write_bytes(npy("<f4", "(2, 4)", bytes(20)))

    def int_npy(self, folder):
        (folder / "int.npy").write_bytes(npy("<i4", "(2, 4)", bytes(32)))

    def flat_npy(self, folder):
        (folder / "flat.npy").write_bytes(npy("<f4", "(8,)", bytes(32)))

    def wide_npy(self, folder):
        (folder / "wide.npy").write_bytes(npy("<f4", "(2, 5)", bytes(40)))

    def call(self, arguments, folder, full_disk=False):
        """Exit code (None: out of time) and what was said, with folders as DIR and MODELS."""
        def limits():
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if full_disk:  # writes beyond fail, the signal that goes with it ignored
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (DISK, DISK))
        paths = {"DIR": folder, "MODELS": self.models, "GOOD": self.artifact}
        command = [self.kpc] + [re.sub(r"^(x{1,2}=)?(DIR|MODELS|GOOD)\b",
                                       lambda m: (m[1] or "") + str(paths[m[2]]), a) for a in arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   start_new_session=True, preexec_fn=limits, cwd=folder,
                                   env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1"})
        try:
            output, _ = process.communicate(timeout=self.options.limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, ""
        text = output.decode("utf-8", "backslashreplace")
        return process.returncode, text.replace(str(folder), "DIR").replace(str(self.models), "MODELS").replace(
            str(self.artifact), "GOOD")

    def run(self, name):
        """What is wrong with this case, line by line."""
        case = cases.CASES[name]
        folder = self.work / "cases" / name
        folder.mkdir(parents=True)
        if case.prepare:
            getattr(self, case.prepare)(folder)
        before = {p for p in folder.rglob("*")}
        code, text = self.call(case.arguments, folder, full_disk=case.prepare == "full_disk")
        problems = []
        if code != case.code:
            problems.append(f"exit code {'none, out of time' if code is None else code}, should be {case.code}")
        left = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p not in before)
        if left and case.code != cases.DONE:
            problems.append(f"left behind: {left}")
        if case.checked:
            checked, said = self.call(["check", case.arguments[1], "--arch", "host"], folder)
            if checked != case.code:
                problems.append(f"kpc check: exit code {checked}, should be {case.code}: {said[:300]}")
        problems += self.compare_text(name, text, may_update=not problems)
        shutil.rmtree(folder, ignore_errors=True)
        return problems

    def compare_text(self, name, text, may_update):
        path = self.expected / f"{name}.txt"
        if self.options.update and may_update:
            path.write_text(text)
        wanted = path.read_text() if path.exists() else ""
        if text == wanted:
            return []
        if not path.exists():
            return [f"expected/{name}.txt is missing; kpc said:"] + text.splitlines()
        return list(difflib.unified_diff(wanted.splitlines(), text.splitlines(), f"expected/{name}.txt", "kpc",
                                         lineterm=""))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="a regular expression for names of cases")
    parser.add_argument("--limit", type=float, default=60, help="seconds that kpc may take")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--update", action="store_true", help="write expected/*.txt from what kpc says")
    options = parser.parse_args()

    hostile = Hostile(options)
    # Of the oldest processors: as large on every machine.
    code, said = hostile.call(["compile", "MODELS/good.onnx", "--arch", "host:x86-64-v2", "-o", str(hostile.artifact),
                               "--no-cache", "--quiet"], hostile.work)
    if code != 0:
        print(f"the good model does not compile: exit code {code}\n{said}")
        return 1
    names = [name for name in cases.CASES if re.search(options.only, name)]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, problems in zip(names, pool.map(hostile.run, names)):
            if problems:
                failed += 1
                print(f"{name}: FAILED")
                print("\n".join("    " + line for line in problems))
    unknown = {p.stem for p in hostile.expected.glob("*.txt")} - set(cases.CASES)
    if unknown:
        failed += 1
        print(f"expected/ has texts of no case: {sorted(unknown)}")
    print(f"{len(names)} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a program on bad inputs and says what it did that it must not do."""

import argparse
import collections
import multiprocessing.util
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess

import shards

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "examples/digits/digits.onnx"
MEMORY = 6 << 30  # bytes of address space
FAULT = "this is a fault of kpc's"  # what kpc says when it has failed itself, or one of its workers


ENVIRONMENT = {**os.environ, "NO_COLOR": "1", "LLVM_DISABLE_CRASH_REPORT": "1"}


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command, seconds, input=None, cwd=None):
    """Exit code (None: out of time) and what was said."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True, preexec_fn=limit_memory, cwd=cwd, env=ENVIRONMENT)
    try:
        output, _ = process.communicate(input, timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, ""
    return process.returncode, output.decode("utf-8", "backslashreplace")


def ended(server):
    try:
        server.stdin.close()
    except OSError:  # it has ended before
        pass
    server.wait()


class Program:
    """kpc, started for each command, or a child of one kpc_model_server for each, which does not load LLVM again and again."""

    OUT_OF_TIME = 1000  # see ModelServer.cpp

    def __init__(self, kpc, seconds, server="", first=()):
        """`first`: a command that the server itself runs, so that its children find done what it did."""
        self.kpc, self.seconds = os.path.abspath(kpc), seconds
        self.command = [os.path.abspath(server), str(seconds), *map(str, first)] if server else None
        self.server = None

    def alone(self, arguments, cwd=None):
        return run([self.kpc, *map(str, arguments)], self.seconds, cwd=cwd)

    def run(self, arguments, cwd=None, good=lambda code, said: code == 0):
        """Exit code (None: out of time) and what was said. What the server says that is not good, kpc itself must say."""
        answer = self.served(arguments, cwd) if self.command else None
        return answer if answer and good(*answer) else self.alone(arguments, cwd)

    def served(self, arguments, cwd):
        words = [str(cwd or os.getcwd()), *map(str, arguments)]
        if any(set(word) & {"\t", "\n"} for word in words):
            return None
        if self.server is None or self.server.poll() is not None:
            self.server = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
                preexec_fn=limit_memory, env=ENVIRONMENT)
            multiprocessing.util.Finalize(None, ended, args=(self.server, ), exitpriority=1)
        try:
            self.server.stdin.write("\t".join(words).encode("utf-8", "surrogateescape") + b"\n")
            self.server.stdin.flush()
            code, length = map(int, self.server.stdout.readline().split())
            said = self.server.stdout.read(length).decode("utf-8", "backslashreplace")
        except (OSError, ValueError):  # it has ended
            self.server.kill()
            self.server.wait()
            return None
        return (None if code == self.OUT_OF_TIME else code), said


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


def refusal_fault(code, text):
    """The same of what must have a code for each error."""
    fault = misdeed(code, text)
    if fault or code == 0 or re.search(r"error\[KPC-[A-Z]\d{4}\]", text):
        return fault
    return "an error without a code"


def check_mutants(about, make_seeds, mutate, suffix):
    """A fuzz test as a program: `kpc check` takes each mutant or refuses it with an error that has a code.

    `make_seeds()` gives the seeds, `mutate(chance, seeds, path)` writes a mutant to a path and gives its seed's name and
    the arguments of `kpc check`. Mutants that kpc fails on are kept in the folder `found`. Gives the exit status.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=60, help="seconds for one mutant")
    parser.add_argument("--within", type=float, default=float("inf"), help="begin none after so many seconds")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--server", default="", help="kpc_model_server: runs each `kpc check` in a child of one process")
    options = parser.parse_args()
    options.work_dir = options.work_dir.resolve()
    found = options.work_dir / "found"
    shutil.rmtree(options.work_dir, ignore_errors=True)
    found.mkdir(parents=True)
    seeds = make_seeds()
    program = Program(options.kpc, options.limit, options.server, ["check", DIGITS, "--arch", "host", "--quiet"])

    def judge(number):
        """(exit code, what is wrong and what was said)"""
        path = options.work_dir / f"mutant{number}{suffix}"
        name, arguments = mutate(random.Random(f"{options.seed}/{number}"), seeds, path)
        code, said = program.run(["check", path, *arguments], good=lambda *answer: not refusal_fault(*answer))
        fault = refusal_fault(code, said)
        if not fault:
            path.unlink()
            return code, ""
        path.rename(found / f"{number}-{name}{suffix}")
        return code, f"{number}-{name} {' '.join(arguments)}: {fault}\n{said[:600]}"

    ends, faults, progress = collections.Counter(), 0, shards.Progress(options.count)
    for number, result in shards.each(judge, range(options.first, options.first + options.count), options.jobs, options.within):
        code, fault = (None, f"{number}: the test's own process ended") if isinstance(result, shards.Died) else result
        ends[code] += 1
        if fault:
            print(fault, flush=True)
            faults += 1
        progress.step(faults)
    print(f"{progress.done} mutants of {len(seeds)} archives: {dict(ends)}, {faults} faults; {progress.rate()}")
    return 1 if faults else 0

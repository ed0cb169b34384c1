#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs ONNX backend tests through `kpc compile` and `kpc run`, and holds the outcome against a checked-in list.

    python3 run_conformance.py --kpc build/dev/bin/kpc --data DIR --expected debian-1.12.txt --work-dir DIR

The outcome of a test is one of

    right             every output has the expected type, shape and values
    diagnosed: CODE   kpc says that it cannot: exit code 1, each error has a code, one names an operator of the model
    compiled          the same with --compile-only, for targets that are not here
    refused           `kpc run` refuses an input, because the test's data contradicts the test's model
    wrong, crash, hang  anything else

The list names every test with its outcome and is held both ways: a test that gets better must be entered (`--update`
does it), one that gets worse fails. Wrong, crash and hang are never accepted, refused only where LIST.tolerances.txt
says so; that file also lists tests that may be further from their expected values than usual. Each line has a reason.
Only numpy is needed. Exits 77 (a skip) when it or the data is not there.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

SKIPPED = 77
SUITES = ("node", "simple", "pytorch-converted", "pytorch-operator")
ERROR = re.compile(r"^(?:fatal )?error\[(KPC-[A-Z]*\d+)\]: (.*)$", re.MULTILINE)

try:
    import numpy as np
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(SKIPPED)

import compare_values
import onnx_files
import session_process

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fuzz"))

import contained


@dataclasses.dataclass
class Outcome:
    verdict: str
    detail: str = ""

    @property
    def acceptable(self):
        return self.verdict in ("right", "compiled", "refused") or self.verdict.startswith("diagnosed: ")


@dataclasses.dataclass
class Finished:
    code: int  # None: ran out of time
    output: str


class Runner:
    def __init__(self, options):
        self.kpc, self.arch, self.device = str(options.kpc), options.arch, options.device
        self.optimize = options.optimize
        self.limit, self.with_check, self.keep = options.limit, options.with_check, options.keep
        self.compile_only = options.compile_only
        self.server, self.programs = options.server, threading.local()
        self.data, self.work, self.cache = options.data, options.work_dir, options.work_dir / "cache"
        self.sessions = options.runtime and session_process.SessionProcess(options.runtime, options.device, options.limit)
        rules = options.expected.with_suffix(".tolerances.txt")
        self.rules = None if options.compile_only else compare_values.Rules(rules)

    def call(self, *arguments):
        command = [self.kpc] + [str(a) for a in arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   start_new_session=True)
        try:
            output, _ = process.communicate(timeout=self.limit)
            return Finished(process.returncode, output.decode("utf-8", "replace"))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # its worker processes too
            process.communicate()
            return Finished(None, "")

    def compile(self, *arguments):
        """A child of the server compiles, without workers. What it does not end as kpc should, kpc itself must do."""
        if not self.server:
            return self.call("compile", *arguments)
        if not hasattr(self.programs, "kpc"):
            first = ["compile", contained.DIGITS, "--arch", "host", "--no-cache", "--quiet", "--jobs", 0, "-o",
                     self.work / f"first.{threading.get_ident()}.kpc"]
            self.programs.kpc = contained.Program(self.kpc, self.limit, self.server, first)
        served = self.programs.kpc.served(["compile", *arguments, "--jobs", "0"], None)
        return Finished(*served) if served and served[0] in (0, 1) else self.call("compile", *arguments)

    def test(self, name):
        folder, work = self.data / name, self.work / name.replace("/", "-")
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        try:
            return self.judge(name, folder, work)
        except Exception as error:  # a fault of one test's data or of this runner must not hide the other results
            return Outcome("wrong", f"the runner failed: {type(error).__name__}: {error}")
        finally:
            if not self.keep:
                shutil.rmtree(work, ignore_errors=True)

    def judge(self, name, folder, work):
        model = onnx_files.read_model(folder / "model.onnx")
        artifact = work / "model.kpc"
        options = compile_options(model, folder)
        compiled = self.compile(folder / "model.onnx", "--arch", self.arch, "--precision", "fp32", "-o", artifact,
                                "--cache-dir", self.cache, "--quiet", "-O", self.optimize, *options)
        if self.with_check:
            problem = self.check_disagrees(folder, compiled, options)
            if problem:
                return Outcome("wrong", problem)
        if compiled.code != 0:
            return diagnosed(compiled, model) or failed("compile", compiled)
        if self.compile_only:
            return Outcome("compiled")
        for data in sorted(folder.glob("test_data_set_*")):
            outcome = self.run_data_set(name, model, artifact, data, work / data.name)
            if outcome.verdict != "right":
                return outcome
        return Outcome("right")

    def check_disagrees(self, folder, compiled, options):
        """`kpc check` must say beforehand what `kpc compile` then does."""
        checked = self.call("check", folder / "model.onnx", "--arch", self.arch, "--json", *options)
        if checked.code is None or checked.code not in (0, 1):
            return f"kpc check: exit code {checked.code}: {checked.output.strip()[-300:]}"
        if compiled.code in (0, 1) and checked.code != compiled.code:
            return f"kpc check exits {checked.code}, kpc compile {compiled.code}"
        try:
            json.loads(checked.output)
        except ValueError as error:
            return f"kpc check --json wrote something else: {error}"
        return None

    def run_data_set(self, name, model, artifact, data, out):
        given = [(port, data / f"input_{index}.pb") for index, port in enumerate(model.inputs)]
        given = [(port, path) for port, path in given if path.exists()]
        out.mkdir()
        strings = self.places_of_strings(artifact, given)
        apart = strings or any(port.kind != "tensor" for port, _ in given)
        if self.sessions and not apart:
            ran = Finished(*self.sessions.run(artifact, {port.name: (str(path), port.kind, port.element) for port, path in given}, out))
        else:
            inputs = [word for port, path in given for word in input_words(port, path, out, strings.get(port.name))]
            ran = self.call("run", artifact, "--output-dir", out, "--device", self.device, *inputs)
        if self.rules.of(name).refused:
            return Outcome("refused", ran.output) if ran.code == 1 and "input '" in ran.output else failed("run", ran)
        if ran.code != 0:
            return failed("run", ran)
        for index, port in enumerate(model.outputs):
            path = data / f"output_{index}.pb"
            if not path.exists():
                continue
            expected = onnx_files.tensors_of(port.name, onnx_files.read_value(path, port))
            whole = out / (port.name.replace("/", "_") + ".npy")
            # A sequence of a length that only the run knew.
            stack = np.load(whole) if port.kind == "sequence" and whole.exists() else None
            if stack is not None and len(stack) != len(expected):
                return Outcome("wrong", f"'{port.name}' has {len(stack)} elements, expected {len(expected)}")
            for number, (tensor_name, value) in enumerate(expected):
                stored = out / (tensor_name.replace("/", "_") + ".npy")
                if stack is None and not stored.exists():
                    return Outcome("wrong", f"'{tensor_name}' was not written")
                got = np.load(stored) if stack is None else stack[number]
                problem = compare_values.mismatch(got, value, self.rules.of(name))
                if problem:
                    return Outcome("wrong", f"'{tensor_name}': {problem}")
            if port.kind == "sequence" and (out / f"{port.name}[{len(expected)}].npy").exists():
                return Outcome("wrong", f"'{port.name}' has more than {len(expected)} elements")
        return Outcome("right")


    def places_of_strings(self, artifact, given):
        """The list of each input that is strings, of which kpc takes the places: see docs/onnx-import.md."""
        names = [port.name for port, path in given
                 if port.kind == "tensor" and onnx_files.read_value(path, port).data_type == onnx_files.STRING]
        if not names:
            return {}
        metadata = dict(json.loads(self.call("inspect", artifact, "--json").output)["metadata"])
        return {name: json.loads(metadata[f"strings:{name}"]) for name in names}


def compile_options(model, folder):
    """How long sequences are and what optional inputs lack, as the test's data has it."""
    words = []
    for index, port in enumerate(model.inputs):
        path = folder / "test_data_set_0" / f"input_{index}.pb"
        if port.kind == "tensor" or not path.exists():
            continue
        value = onnx_files.read_value(path, port)
        if value.kind == "optional" and not value.items:
            words += ["--value", f"{port.name}=none"]
            continue
        if value.kind == "optional":
            value = value.items[0]
        if value.kind == "sequence":
            words += ["--dim", f"{port.name}={len(value.items)}"]
            for i, item in enumerate(value.items if not port.has_shape else []):
                words += ["--dim", f"{port.name}[{i}]={','.join(map(str, item.array.shape))}"]
    return words


def input_words(port, path, out, strings=None):
    """Tensors as they are in the test's data; the elements of a sequence, and places of strings, as files of their own."""
    if strings is not None:
        words = onnx_files.read_value(path, port).array
        places = [strings.index(word.decode()) if word.decode() in strings else -1 for word in words.flat]
        file = out.parent / f"{path.stem}.places.npy"
        np.save(file, np.array(places, np.int64).reshape(words.shape))
        return ["--input", f"{port.name}={file}"]
    if port.kind == "tensor":
        return ["--input", f"{port.name}={path}"]
    words = []
    for number, (name, value) in enumerate(onnx_files.tensors_of(port.name, onnx_files.read_value(path, port))):
        file = out.parent / f"{path.stem}.{number}.npy"
        np.save(file, value.array)
        words += ["--input", f"{name}={file}"]
    return words


def diagnosed(finished, model):
    """The outcome where kpc said properly that it cannot."""
    errors = ERROR.findall(finished.output)
    if finished.code != 1 or not errors:
        return None
    for code, message in errors:
        if any(f"({op}" in message or f".{op}" in message for op in model.operators):
            return Outcome(f"diagnosed: {code}", message)
    return Outcome("wrong", f"no error names an operator of the model: {errors[0][1]}")


def failed(step, finished):
    if finished.code is None:
        return Outcome("hang", f"kpc {step} did not end")
    crashed = finished.code < 0 or finished.code in (70, 134, 139)
    return Outcome("crash" if crashed else "wrong",
                   f"kpc {step}: exit code {finished.code}: {finished.output.strip()[-300:]}")


def read_list(path):
    expected = {}
    if path.exists():
        for line in path.read_text().splitlines():
            if line and not line.startswith("#"):
                name, verdict = line.split(" ", 1)
                expected[name] = verdict.strip()
    return expected


def write_list(path, title, outcomes):
    counts = ", ".join(f"{number} {kind}" for kind, number in sorted(count_kinds(outcomes).items()))
    lines = [f"# {title}", f"# {counts}; {len(outcomes)} in all.",
             "# Written by run_conformance.py --update."]
    lines += [f"{name} {outcome.verdict}" for name, outcome in sorted(outcomes.items())]
    path.write_text("\n".join(lines) + "\n")


def count_kinds(outcomes):
    counts = {}
    for outcome in outcomes.values():
        kind = outcome.verdict.split(":")[0]
        counts[kind] = counts.get(kind, 0) + 1
    return counts


def differences(expected, outcomes):
    for name, outcome in sorted(outcomes.items()):
        wanted = expected.get(name, "not in the list")
        if not outcome.acceptable or outcome.verdict != wanted:
            yield f"{name}: {outcome.verdict} (list: {wanted}){': ' + outcome.detail if outcome.detail else ''}"
    for name in sorted(set(expected) - set(outcomes)):
        yield f"{name}: in the list, not in the data"


def run_all(runner, names, jobs, within):
    """The outcome of each test that was begun in time."""
    outcomes, start = {}, time.monotonic()

    def test(name):
        return runner.test(name) if time.monotonic() - start < within else None

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done, (name, outcome) in enumerate(zip(names, pool.map(test, names)), 1):
            if outcome:
                outcomes[name] = outcome
            if done % 100 == 0:
                print(f"{done} of {len(names)}, {time.monotonic() - start:.0f} s", flush=True)
    return outcomes


def choose(names, options):
    """Which tests to run, in an order that leaves a fair sample where time is short."""
    if options.only:
        names = [name for name in names if re.search(options.only, name)]
    if options.without:
        others = read_list(options.without)
        names = [name for name in names if name not in others]
    names = names[::options.every]
    if options.right_only:
        expected = read_list(options.expected)
        names = [name for name in names if expected.get(name) == "right"]
    if options.within < float("inf"):
        random.Random(1).shuffle(names)
    return names


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("/usr/share/libonnx-testdata/data"))
    parser.add_argument("--expected", type=pathlib.Path, required=True, help="the list to hold the outcome against")
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--arch", default="host")
    parser.add_argument("--device", default="host")
    parser.add_argument("--runtime", type=pathlib.Path, help="libkpc_runtime.so: run all tests in one process")
    parser.add_argument("--server", default="", help="kpc_model_server: compiles in children of one process")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--optimize", default="2", help="of kpc compile -O: how far code for the host is optimised")
    parser.add_argument("--limit", type=float, default=60, help="seconds that one kpc process may take")
    parser.add_argument("--only", default="", help="a regular expression for names; others are left alone")
    parser.add_argument("--every", type=int, default=1, help="a sample: each so many-th by name; the list holds no other")
    parser.add_argument("--without", type=pathlib.Path, help="leave out the tests of another list")
    parser.add_argument("--right-only", action="store_true", help="only what the list has as right")
    parser.add_argument("--within", type=float, default=float("inf"), help="begin no test after so many seconds")
    parser.add_argument("--with-check", action="store_true", help="compare `kpc check` with `kpc compile` as well")
    parser.add_argument("--compile-only", action="store_true", help="run nothing: `compiled` stands for `right`")
    parser.add_argument("--update", action="store_true", help="write the list from the outcome")
    parser.add_argument("--keep", action="store_true", help="keep artifacts and outputs in the work folder")
    parser.add_argument("--title", default="", help="first line of a list that is written")
    parser.add_argument("--json", type=pathlib.Path, help="write every outcome with its detail here")
    return parser.parse_args()


def main():
    options = parse_arguments()
    options.kpc = options.kpc.resolve()
    names = sorted(f"{suite}/{path.parent.name}" for suite in SUITES
                   for path in (options.data / suite).glob("*/model.onnx"))
    if not names:
        print(f"SKIPPED: no tests under {options.data} (Debian's package libonnx-testdata has them)")
        return SKIPPED
    names = choose(names, options)
    options.work_dir.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    runner = Runner(options)
    outcomes = run_all(runner, names, options.jobs, options.within)
    if runner.sessions:
        runner.sessions.close()
    partial = options.only or options.without or options.right_only or len(outcomes) < len(names)

    if options.json:
        options.json.write_text(json.dumps({n: dataclasses.asdict(o) for n, o in outcomes.items()}, indent=1))
    expected = read_list(options.expected)
    if options.update:
        accepted = {name: outcome for name, outcome in outcomes.items() if outcome.acceptable}
        if partial:
            accepted = {**{name: Outcome(verdict) for name, verdict in expected.items()}, **accepted}
        title = options.title or f"ONNX backend tests, {options.expected.stem}: the outcome of each."
        write_list(options.expected, title, accepted)
        expected = read_list(options.expected)
    if partial:
        expected = {name: verdict for name, verdict in expected.items() if name in outcomes}
    problems = list(differences(expected, outcomes))
    for problem in problems:
        print(problem)
    print(f"{len(outcomes)} tests in {time.monotonic() - start:.0f} s: " +
          ", ".join(f"{count} {kind}" for kind, count in sorted(count_kinds(outcomes).items())) +
          f"; {len(problems)} not as {options.expected.name} says"
          f"{f'; {len(names) - len(outcomes)} not begun' if len(outcomes) < len(names) else ''}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs ONNX's node tests on other data: NaN, infinities, numbers out of range, and compares with onnxruntime.

    python3 node_values.py --kpc build/dev/bin/kpc --data DIR --work-dir DIR [--kind special|large|plain] [--every 10] [--only REGEX]
                           [--runtime libkpc_runtime.so] [--jobs 2] [--rounds 10] [--first 0] [--server kpc_model_server]

The models are those that generate_onnx_tests.py writes: every operator, with the forms that its authors thought of. Inputs of
floats get new data. Those of integers keep theirs, as they are mostly places and sizes. What onnxruntime does not run, or runs
with another result each time, tests nothing. ONNX's text leaves much open where there is NaN: a result that ONNX's reference
gives is right, too. Departures from both that are meant are in node_values.txt, with a reason each. Each round has other data;
--first is the number of the first. With --server kpc runs in children of one process.

Exits 0 where all results are right, 77 (a skip) where a Python package is not installed, else 1.
"""

import argparse
import pathlib
import random
import re
import shutil
import sys

SKIPPED = 77

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import numpy_helper
    from onnx.reference import ReferenceEvaluator
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(SKIPPED)

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "fuzz"), str(TESTS / "conformance")]

import contained
import session_process
import shards

NAN, INF = float("nan"), float("inf")
# Some of the elements are these; the others are eighths.
VALUES = {"special": [NAN, NAN, INF, -INF, -0.0, 0.0],
          "large": [3e38, -3e38, 1e20, -1e20, 1e-20, 2.0**31, -2.0**31, 2.0**63, 1e5, -1e5, 1e-40, -1e-45],
          "plain": [0.0]}
SHARE = 0.2


def fed(kind, name, given, number):
    """Inputs as given, the floats replaced; `number` is that of the round."""
    chance, feeds = random.Random(f"{kind}/{name}/{number}" if number else f"{kind}/{name}"), {}
    for key, array in given.items():
        if array.dtype.kind != "f":
            feeds[key] = array
            continue
        values = [chance.choice(VALUES[kind]) if chance.random() < SHARE else chance.randint(-24, 24) / 8 for _ in range(array.size)]
        with np.errstate(over="ignore"):
            feeds[key] = np.array(values, np.float64).reshape(array.shape).astype(array.dtype)
    return feeds


def reference(path, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))


def of_onnx(path, feeds):
    """What ONNX's reference gives; nothing where it does not run."""
    try:
        evaluator = ReferenceEvaluator(str(path))
        with np.errstate(all="ignore"):
            return dict(zip(evaluator.output_names, evaluator.run(None, feeds)))
    except Exception:
        return {}


def difference(got, want):
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    same = got == want
    if want.dtype.kind == "f":
        wide, last = want.astype(np.float64), float(np.finfo(want.dtype).eps)
        finite = np.abs(wide[np.isfinite(wide)])
        allowed = 64 * last * (np.abs(wide) + min(float(np.mean(finite)) if finite.size else 0, 1e6)) + 2e-6
        with np.errstate(invalid="ignore"):
            same |= (np.abs(got.astype(np.float64) - wide) <= allowed) | (np.isnan(got) & np.isnan(want))
    if same.all():
        return ""
    place = tuple(int(i) for i in np.argwhere(~same)[0])
    return f"{int((~same).sum())} of {same.size} values wrong; at {list(place)} {got[place]}, expected {want[place]}"


class Tester:
    def __init__(self, options, names):
        self.options, self.names, self.sessions = options, names, None
        self.kpc = contained.Program(options.kpc, options.limit, options.server, ["compile", contained.DIGITS, "--arch", "host",
                                     "--no-cache", "--quiet", "--jobs", 0, "-o", options.work_dir / "first.kpc"])

    def given(self, model, folder):
        """The test's own inputs; None where one is no tensor of numbers."""
        arrays = {}
        for index, info in enumerate(model.graph.input):
            path = folder / "test_data_set_0" / f"input_{index}.pb"
            if not info.type.HasField("tensor_type"):
                return None
            if not path.exists():
                continue
            tensor = onnx.TensorProto.FromString(path.read_bytes())
            array = numpy_helper.to_array(tensor)
            if array.dtype.kind not in "fiub" or tensor.data_type > 13:
                return None
            arrays[info.name] = array
        return arrays

    def judge(self, at):
        """("right", "unused" or "wrong", what is wrong)"""
        number, place = divmod(at, len(self.names))
        name = self.names[place]
        source = self.options.data / "node" / name
        model = onnx.load(source / "model.onnx")
        given = self.given(model, source)
        if given is None or any(o.type.WhichOneof("value") != "tensor_type" for o in model.graph.output):
            return "unused", ""
        feeds = fed(self.options.kind, name, given, self.options.first + number)
        try:
            want = reference(source / "model.onnx", feeds)
            again = reference(source / "model.onnx", feeds)
        except Exception:
            return "unused", ""
        if not all(isinstance(w, np.ndarray) and w.dtype.kind in "fiub" for w in want.values()) or \
           not all(np.array_equal(w, again[n], equal_nan=w.dtype.kind == "f") for n, w in want.items()):
            return "unused", ""
        folder = self.options.work_dir / f"{name}.{number}"
        folder.mkdir(parents=True, exist_ok=True)
        problem = self.problem(source / "model.onnx", folder, feeds, want)
        if problem is None:
            shutil.rmtree(folder)
            return "unused", ""
        if not problem:
            shutil.rmtree(folder)
        return ("wrong", problem) if problem else ("right", "")

    def call(self, *arguments):
        return self.kpc.run(arguments)

    def problem(self, model, folder, feeds, want):
        """None where kpc says that it does not compile this."""
        code, said = self.call("compile", model, "--arch", self.options.arch, "-O0", "--precision", "fp32", "--no-cache", "--quiet", "--jobs",
                               0 if self.options.server else 1, "-o", folder / "model.kpc")
        if code == 1 and "error[KPC-" in said:
            return None
        if code != 0:
            return f"compile: exit code {code}: {said.strip()[-300:]}"
        files = {name: folder / f"{number}.npy" for number, name in enumerate(feeds)}
        for name, array in feeds.items():
            np.save(files[name], array)
        if self.options.runtime:
            self.sessions = self.sessions or session_process.SessionProcess(self.options.runtime, self.options.device, self.options.limit)
            code, said = self.sessions.run(folder / "model.kpc", {n: (str(f), "tensor", 0) for n, f in files.items()}, folder)
        else:
            inputs = [word for name, file in files.items() for word in ("--input", f"{name}={file}")]
            code, said = self.call("run", folder / "model.kpc", "--output-dir", folder, "--quiet", "--device", self.options.device, *inputs)
        if code != 0:
            return f"run: exit code {code}: {said.strip()[-300:]}"
        other = None
        for name, array in want.items():
            got = np.load(folder / (name.replace("/", "_") + ".npy"))
            problem = difference(got, array)
            if problem and other is None:
                other = of_onnx(model, feeds)
            if problem and (name not in other or difference(got, np.asarray(other[name]))):
                return f"'{name}': {problem}"
        return ""


def read_known(path):
    """(pattern of names, kind or '*', reason) of what departs and is meant to."""
    lines = [line.split(None, 2) for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    return [(re.compile(name), kind) for name, kind, _ in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--kind", choices=VALUES, default="special")
    parser.add_argument("--arch", default="host")
    parser.add_argument("--device", default="host")
    parser.add_argument("--runtime", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first round")
    parser.add_argument("--server", default="", help="kpc_model_server")
    parser.add_argument("--limit", type=float, default=120)
    parser.add_argument("--within", type=float, default=float("inf"))
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.kpc, options.work_dir = options.kpc.resolve(), options.work_dir.resolve()
    known = read_known(pathlib.Path(__file__).with_suffix(".txt"))
    names = sorted(path.parent.name for path in (options.data / "node").glob("*/model.onnx"))
    names = [name for name in names if not name.endswith("_expanded") and re.search(options.only, name)
             and not any(pattern.fullmatch(name) and kind in ("*", options.kind) for pattern, kind in known)][::options.every]
    options.work_dir.mkdir(parents=True, exist_ok=True)
    count = len(names) * options.rounds
    tester, ends, progress = Tester(options, names), {"right": 0, "unused": 0, "wrong": 0}, shards.Progress(count)
    for at, result in shards.each(tester.judge, range(count), options.jobs, options.within):
        end, problem = ("wrong", f"the test's own process ended: {result.code}") if isinstance(result, shards.Died) else result
        ends[end] += 1
        if problem:
            print(f"{names[at % len(names)]}, round {options.first + at // len(names)}: {problem}", flush=True)
        progress.step(ends["wrong"])
    print(f"{progress.done} node tests with {options.kind} values: {ends['right']} right, {ends['wrong']} wrong, "
          f"{ends['unused']} that test nothing; {progress.rate()}")
    return 1 if ends["wrong"] or not ends["right"] else 0


if __name__ == "__main__":
    sys.exit(main())

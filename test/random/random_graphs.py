#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs graphs of random operators and compares every result with onnxruntime's.

    python3 random_graphs.py --kpc build/dev/bin/kpc --work-dir DIR [--first 0] [--count 100] [--arch host] [--device host]
                             [--precision fp16] [--reduce] [--runtime libkpc_runtime.so] [--jobs 60] [--within SECONDS]
                             [--server kpc_model_server] [--levels 0,2]

With one version of numpy a graph is what its seed makes it. Odd seeds have two dynamic dims, n and m; one artifact runs at several
of their sizes, that of every fourth at n=0, too, where onnxruntime does: there ONNX's reference decides where both differ, and kpc may
refuse a size that it took to be at least 1. A result may differ from onnxruntime's by a fixed part of its RMS. Where it differs by more, ONNX's reference in f64
decides (exact.py), from which it may differ by a multiple of what changes where each step of the graph rounds. What has no such
reference may differ from onnxruntime's by a multiple of what changes where inputs and weights change in their last bits. With
--reduce a graph that fails is cut down before it is shown. With --runtime each job runs its artifacts in one process, which a GPU
needs: it spends more time on contexts than on graphs. Without a --device that process is the job's own, and one session has all
sizes. With --server kpc runs in children of one process, in a third of the time; what fails
there is judged by kpc itself. With --levels graphs take turns in how far code for the host is optimised, which is most of the rest.

Exits 0 where all results are right, 77 (a skip) where a peer is not installed, else 1.
"""

import argparse
import dataclasses
import os
import pickle
import pathlib
import shutil
import signal
import sys

SKIPPED = 77

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import numpy_helper
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(SKIPPED)

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / folder) for folder in ("fuzz", "conformance", "device")]

import contained
import exact
import movement  # noqa: F401: enters its operators
import rarer  # noqa: F401: enters its operators
import reduction
import runtime_library
import session_process
import shards
from graph import BOOLEAN, EMPTY, ENVIRONMENTS, FLOAT, INTEGER, TESTED, Graph, fixed, named
from operators import OPERATORS

# What storing in this precision changes at most, relatively: half of a unit in the last place.
LAST_BIT = {"fp32": 2.0**-24, "tf32": 2.0**-11, "fp16": 2.0**-11, "bf16": 2.0**-8}
# Errors of one graph are sums of many roundings: of those of its inputs and weights, and of so many steps' own, in which
# numbers of this size may have cancelled.
STEPS = 60
WITHIN = 0.5
RANGE, RANGE_OF_EMPTY = "1..64", "0..64"  # of a dynamic dim
REFUSED = " must be "  # sizes that a model was not compiled for


@dataclasses.dataclass
class Case:
    seed: int
    model: onnx.ModelProto
    feeds: list  # (sizes, name -> array)
    sessions: dict = dataclasses.field(default_factory=dict, init=False)  # of onnxruntime, by what is jittered
    session: runtime_library.Session = dataclasses.field(default=None, init=False)  # of the runtime in this process
    empty: dict = dataclasses.field(default=None, init=False)  # onnxruntime's results of the last feed, if that has no elements

    @property
    def has_empty(self):
        return any(sizes is EMPTY for sizes, _ in self.feeds)

    def wanted(self, feed):
        """onnxruntime's results of one of the feeds."""
        if self.empty and self.feeds[-1][1] is feed:
            return self.empty
        if "exact" not in self.sessions:
            self.sessions["exact"] = session_of(self.model)
        return results_of(self.sessions["exact"], feed)


def random_dims(g, rank):
    sizes = [1, 2, 3, 4, 4, 6, 8, 8, 12, 16, 17, 24]
    dims = [fixed(g.random.choice(sizes)) for _ in range(rank)]
    if g.wide:
        dims[-1] = fixed(g.width())
    if g.dynamic and rank:
        dims[0 if g.chance(0.7) else g.random.randrange(rank)] = named("n")
        if rank > 1 and g.chance(0.6):
            dims[1 + g.random.randrange(rank - 1)] = named("m")
    return dims


def make_case(seed):
    g = Graph(seed, dynamic=seed % 2 == 1)
    while not g.inputs or g.chance(0.5) or (g.dynamic and not any(named("n") in v.dims for v in g.inputs)):
        kind = g.random.choices([FLOAT, INTEGER, BOOLEAN], [8, 1, 1] if g.inputs else [1, 0, 0])[0]
        g.attempt(lambda g: g.input(random_dims(g, g.random.choices([1, 2, 3, 4], [1, 3, 4, 4])[0]), kind))
    functions, shares = zip(*OPERATORS)
    wanted = g.random.randint(3, 14)
    for _ in range(40 * wanted):
        if wanted == 0:
            break
        wanted -= g.attempt(g.random.choices(functions, shares)[0])
    outputs = g.outputs()
    feeds = [(sizes, g.feed(sizes)) for sizes in ENVIRONMENTS[:TESTED if g.dynamic else 1]]
    if not outputs:
        return None
    case = Case(seed, g.model(outputs), feeds)
    if g.dynamic and seed % 8 == 5:
        feed, constants = g.feed(EMPTY), {tensor.name for tensor in case.model.graph.initializer}
        # A size of 0 that a Reshape computes copies another to onnxruntime, and is 0 to kpc.
        computed = any(node.op_type == "Reshape" and node.input[1] not in constants for node in case.model.graph.node)
        case.empty = None if computed else apart(lambda: reference(case.model, feed))
        if case.empty:
            feeds.append((EMPTY, feed))
    return case


# The reference.

def session_of(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def results_of(session, feed):
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feed)))


def reference(model, feed):
    return results_of(session_of(model), feed)


def apart(function):
    """What a function gives in a process of its own, or None. Some of onnxruntime's operators divide by a size of 0, which ends the
    process, and a session that ran without elements gives later runs wrong shapes."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(function(), pipe)
        finally:  # whatever the function raises
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else None


def jittered(array, size, random):
    if array.dtype != np.float32:
        return array
    return (array * (1 + size * random.choice([-1.0, 1.0], array.shape))).astype(np.float32)


def sensitivity(case, feed, size, want, samples):
    """name -> how much each output changes, at most, where inputs and weights change by `size` of themselves."""
    changes = {name: np.zeros(np.shape(array)) for name, array in want.items()}
    # Of a negative number only a whole power is one.
    powers = {node.input[1] for node in case.model.graph.node if node.op_type == "Pow"}
    for seed in range(samples):
        random = np.random.Generator(np.random.PCG64(seed))
        if (seed, size) not in case.sessions:
            model = onnx.ModelProto()
            model.CopyFrom(case.model)
            for tensor in model.graph.initializer:
                array = numpy_helper.to_array(tensor)
                if tensor.name.startswith("w") and tensor.name not in powers:
                    tensor.CopyFrom(numpy_helper.from_array(jittered(array, size, random), tensor.name))
            case.sessions[seed, size] = session_of(model)
        got = results_of(case.sessions[seed, size], {name: jittered(array, size, random) for name, array in feed.items()})
        for name, array in got.items():
            if array.dtype == np.float32:
                with np.errstate(invalid="ignore"):
                    changes[name] = np.maximum(changes[name], np.abs(array.astype(np.float64) - want[name]))
    return changes


# What kpc makes of it.

class Runner:
    def __init__(self, options):
        self.options, self.sessions = options, None
        first = ["compile", contained.DIGITS, "--arch", "host", "--no-cache", "--quiet", "--jobs", 0, "-o",
                 options.work_dir / "first.kpc"]
        self.kpc = contained.Program(options.kpc, options.limit, options.server, first)

    def results(self, case, feed, folder):
        """(what went wrong, name -> array)"""
        artifact = folder / "model.kpc"
        if self.options.runtime and not self.options.device:
            return self.results_here(case, artifact, feed)
        code, output = self.ran(artifact, feed, folder)
        if code != 0:
            return f"run: {'hang' if code is None else f'exit code {code}'}: {output.strip()[-600:]}", {}
        return "", {o.name: np.load(folder / f"{o.name}.npy") for o in case.model.graph.output}

    def results_here(self, case, artifact, feed):
        """By the runtime in this process: what ends it ends the process, which is a fault, too."""
        signal.alarm(int(self.options.limit))
        try:
            if case.session is None:
                case.session = runtime_library.Session(self.options.runtime, artifact, runtime_library.HOST, threads=1 + case.seed % 2)
            return "", session_process.results(case.session, {name: session_process.value_of(array) for name, array in feed.items()})
        except runtime_library.Failed as error:
            return f"run: {error}", {}
        finally:
            signal.alarm(0)

    def ran(self, artifact, feed, folder):
        """Exit code and words of a run whose results lie in the folder."""
        files = {name: folder / f"{name}.npy" for name in feed}
        for name, array in feed.items():
            np.save(files[name], array)
        if self.options.runtime:
            self.sessions = self.sessions or session_process.SessionProcess(self.options.runtime, self.options.device or "host",
                                                                            self.options.limit)
            return self.sessions.run(artifact, {name: (str(file), "tensor", 0) for name, file in files.items()}, folder)
        device = ["--device", self.options.device] if self.options.device else []
        inputs = [word for name, file in files.items() for word in ("--input", f"{name}={file}")]
        return self.call("run", artifact, "--output-dir", folder, "--quiet", *device, *inputs)

    def call(self, *arguments):
        return self.kpc.run(arguments)

    def problem(self, case, folder):
        """What is wrong with this case; empty where nothing is."""
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save(case.model, folder / "model.onnx")
        narrow = ["--precision", self.options.precision]
        dims = {d.dim_param for v in case.model.graph.input for d in v.type.tensor_type.shape.dim if d.dim_param}
        ranges = [word for name in sorted(dims) for word in ("--dim", f"{name}={RANGE_OF_EMPTY if case.has_empty else RANGE}")]
        code, output = self.call("compile", folder / "model.onnx", "--arch", self.options.arch, "-o", folder / "model.kpc", "--no-cache",
                                 "--quiet", "--jobs", 0 if self.options.server else 1, "-O", self.level(case), *narrow, *ranges)
        if code != 0:
            return f"compile: {'hang' if code is None else f'exit code {code}'}: {output.strip()[-600:]}"
        try:
            # A size that may be 0 or 1 is taken to be 1 where it is broadcast: 0 is refused.
            return next((f"{sizes}: {problem}" for sizes, feed in case.feeds if (problem := self.wrong(case, feed, folder)) and
                         not (sizes is EMPTY and problem.startswith("run:") and REFUSED in problem)), "")
        finally:
            if case.session:
                case.session.close()
                case.session = None

    def level(self, case):
        """Odd seeds differ from even ones already."""
        levels = self.options.levels
        return levels[case.seed // 2 % len(levels)]

    def wrong(self, case, feed, folder):
        failed, got = self.results(case, feed, folder)
        if failed:
            return failed
        want = case.wanted(feed)
        # Most results are within what no change of the inputs is needed to explain.
        if not self.differences(want, {name: np.zeros(np.shape(array)) for name, array in want.items()}, got):
            return ""
        last = LAST_BIT[self.options.precision]
        try:
            sure = exact.results(case.model, feed)
            exact.rounding(case.model, feed, sure, last, samples=1)
            for name in exact.undecided(case.model, feed).intersection(sure):
                if got[name].shape == sure[name].shape:
                    del sure[name]
        except Exception as error:  # ONNX's reference has no such operator, or not in f64
            if case.empty and want is case.empty:
                return ""  # onnxruntime alone decides nothing where there are no elements: its reductions lose dimensions
            problem = self.sampled(want, lambda samples: sensitivity(case, feed, last, want, samples), got)
            return problem and f"{problem}\nnot known in f64: {error}"
        return self.sampled(sure, lambda samples: {name: exact.ROUNDINGS / STEPS * change for name, change in
                                                   exact.rounding(case.model, feed, sure, last, samples).items()}, got)

    def sampled(self, want, changes, got):
        """What is wrong by few samples of what changes, and by many."""
        return self.differences(want, changes(exact.SAMPLES[0]), got) and self.differences(want, changes(exact.SAMPLES[1]), got)

    def differences(self, want, changes, got):
        """What is wrong with the first result that is; empty where none is."""
        for name, array in want.items():
            problem = difference(got[name], array, changes[name], LAST_BIT[self.options.precision])
            if problem:
                return f"'{name}': {problem}"
        return ""


def difference(got, want, change, last):
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    if want.dtype.kind != "f":
        wrong = got != want
    else:
        finite, change = want[np.isfinite(want)], np.nan_to_num(change, posinf=0)
        rms = np.sqrt(np.mean(np.square(finite, dtype=np.float64))) if finite.size else 0
        largest = np.max(change, initial=0)
        allowed = STEPS * (last * (max(rms, WITHIN) + np.abs(want)) + 0.1 * largest + change)
        with np.errstate(invalid="ignore"):
            wrong = ~((np.abs(got.astype(np.float64) - want) <= allowed) | (np.isnan(got) & np.isnan(want)) | (got == want))
    if not wrong.any():
        return ""
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size} values wrong; at {list(place)} {got[place]}, expected {want[place]}"


def cut_down(runner, case, problem, folder):
    """What is wrong, and the text of as small a graph as shows it."""
    try:
        case = reduction.Reduction(case, reference, lambda each: runner.problem(each, folder / "tried")).reduced()
        # A fault that comes and goes may not show again.
        problem = runner.problem(case, folder / "reduced") or problem
    except Exception as error:  # onnxruntime's, at a graph on the way
        problem += f"\nnot cut down: {error}"
    return f"{problem}\n{reduction.text(case.model)}"


def run_seed(runner, seed):
    """Whether the seed made a graph that runs, and what is wrong with it."""
    case = make_case(seed)
    if not case:
        return False, ""
    try:
        for _, feed in case.feeds:
            case.wanted(feed)
    except Exception as error:  # the generator's fault, or the peer's: it tests nothing, which must not pass
        return False, f"onnxruntime: {str(error)[:300]}"
    folder = runner.options.work_dir / str(seed)
    problem = runner.problem(case, folder)
    if problem and runner.options.reduce:
        print(f"seed {seed}: {problem}\n(it is cut down now)", flush=True)  # that takes its time
        problem = cut_down(runner, case, problem, folder)
    if not problem and not runner.options.keep:
        shutil.rmtree(folder)
    return True, problem


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--arch", default="host")
    parser.add_argument("--device", default="")
    parser.add_argument("--precision", choices=LAST_BIT, default="fp32")
    parser.add_argument("--limit", type=float, default=120, help="seconds one kpc process may take")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--reduce", action="store_true", help="cut down what fails")
    parser.add_argument("--keep", action="store_true", help="keep the files of what is right, too")
    parser.add_argument("--within", type=float, default=float("inf"), help="begin no graph after so many seconds")
    parser.add_argument("--server", default="", help="kpc_model_server: runs kpc in children of one process")
    parser.add_argument("--levels", type=lambda text: text.split(","), default=["2"], help="of kpc compile -O, which graphs take in turn")
    parser.add_argument("--runtime", type=pathlib.Path, help="libkpc_runtime.so: run a job's artifacts in one process")
    options = parser.parse_args()
    options.work_dir = options.work_dir.resolve()
    options.work_dir.mkdir(parents=True, exist_ok=True)
    runner, right, wrong, unused, progress = Runner(options), 0, [], 0, shards.Progress(options.count)
    seeds = range(options.first, options.first + options.count)
    for seed, result in shards.each(lambda seed: run_seed(runner, seed), seeds, options.jobs, options.within):
        made, problem = (True, f"the test's own process ended: {result.code}") if isinstance(result, shards.Died) else result
        if problem:
            wrong.append(seed)
            print(f"seed {seed}: {problem}", flush=True)
        elif made:
            right += 1
        else:
            unused += 1
        progress.step(len(wrong))
    if wrong:
        print(f"seeds: {' '.join(map(str, sorted(wrong)))}")
    print(f"{progress.done} graphs: {right} right, {len(wrong)} not, {unused} without a result; {progress.rate()}")
    return 1 if wrong or not right else 0


if __name__ == "__main__":
    sys.exit(main())

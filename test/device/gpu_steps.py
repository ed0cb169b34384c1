# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps of tools/gpu-check: each is a function of its name that returns what it found.

What is found is a dictionary with `problems`, a list of words: the step failed if it is not empty.
"""

import concurrent.futures
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

from kernel_families import FAMILIES

DEVICE_TESTS = pathlib.Path(__file__).resolve().parent
ROOT = DEVICE_TESTS.parent.parent
GRAPHS = ROOT / "test" / "models" / "graphs"
CONFORMANCE = ROOT / "test" / "conformance"
DEBIAN_LIST = CONFORMANCE / "debian-1.12.txt"
DIGITS = ROOT / "examples" / "digits"
LEAST_ACCURACY = 0.97
PRECISIONS = ("fp32", "fp16", "bf16")
BATCHES = (1, 8)
COMPARED = ("mlp", "mobilenet_v3_large", "resnet50")  # what compare_torch.py makes; networks.py does the others
DRY_MODELS = ("mlp.dynamo", "mlp.torchscript")
CHECKED_MODELS = ("mlp.dynamo", "mobilenet_v3_large.torchscript", "resnet50.torchscript")
SANITIZERS = ("memcheck", "synccheck", "racecheck")  # for kernels of families
NODE_SECONDS = 150  # begin no node test of a suite later


class Skip(Exception):
    """The step cannot run here."""


class Failed(Exception):
    """A program of a step failed; its log says how."""


class Run:
    """What the steps share: options, a work folder, logs, and the time that is left."""

    def __init__(self, options, work, deadline):
        self.options, self.work, self.deadline = options, work, deadline
        self.logs = work / "logs"
        self.logs.mkdir()

    def left(self):
        return self.deadline - time.monotonic()

    def log(self, name, text):
        with open(self.logs / f"{name}.log", "a", errors="replace") as file:
            file.write(text)

    def call(self, name, command, limit=600.0, accept=(0,)):
        """Runs a program into the log `name`; its standard output, or Failed."""
        words = [str(word) for word in command]
        limit = max(1.0, min(limit, self.left()))
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   start_new_session=True, env=dict(os.environ, PYTHONUNBUFFERED="1"))
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # what it started too
            output, _ = process.communicate()
            self.log(name, f"$ {' '.join(words)}\n{output.decode('utf-8', 'replace')}\nstopped after {limit:.0f} s\n")
            raise Failed(f"{name}: stopped after {limit:.0f} s") from None
        text = output.decode("utf-8", "replace")
        self.log(name, f"$ {' '.join(words)}\n{text}\nexit code {process.returncode}\n")
        if process.returncode not in accept:
            last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
            raise Failed(f"{name}: exit code {process.returncode}: {last}")
        return text

    def text(self, command):
        try:
            return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=60).stdout
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{type(error).__name__}"

    def kpc(self, name, *arguments, limit=600.0):
        return self.call(name, [self.options.kpc, *arguments], limit)

    def models(self):
        if self.options.models:
            return self.options.models.split(",")
        every = sorted(path.stem for path in GRAPHS.glob("*.onnx") if path.name.split(".")[0] in COMPARED)
        return [m for m in every if m in DRY_MODELS] if self.options.dry_run else every

    def folder(self, name):
        path = self.work / name
        path.mkdir(exist_ok=True)
        return path


    def runtime(self):
        """libkpc_runtime.so: --runtime, or where a build and a package have it."""
        if self.options.runtime:
            return self.options.runtime
        bin_folder = self.options.kpc.parent
        for folder in (bin_folder, bin_folder.parent / "lib", *sorted(bin_folder.parent.glob("lib/*-linux-gnu"))):
            if (folder / "libkpc_runtime.so").exists():
                return folder / "libkpc_runtime.so"
        raise Skip(f"libkpc_runtime.so is not beside {self.options.kpc}; give --runtime FILE")


def need(*packages):
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        raise Skip(f"not installed for {sys.executable}: {', '.join(missing)}")


def attempt(problems, function, *arguments, **options):
    """A part of a step whose failure must not hide the other parts."""
    try:
        return function(*arguments, **options)
    except Failed as error:
        problems.append(str(error))
        return None


def in_parallel(run, function, items):
    with concurrent.futures.ThreadPoolExecutor(max(1, run.options.jobs)) as pool:
        return list(pool.map(function, items))


def digits_artifact(run):
    artifact = run.folder("digits") / "digits.kpc"
    if not artifact.exists():
        run.kpc("digits", "compile", DIGITS / "digits.onnx", "--arch", run.options.arch, "-o", artifact, "--no-cache")
    return artifact


def digits(run):
    need("numpy")
    import numpy as np
    artifact, out = digits_artifact(run), run.folder("digits-out")
    run.kpc("digits", "run", artifact, "--input", f"image={DIGITS / 'images.npy'}", "--device", run.options.device,
            "--output-dir", out)
    scores, labels = np.load(out / "scores.npy"), np.load(DIGITS / "labels.npy")
    accuracy = float((scores.argmax(1) == labels).mean())
    problems = [] if accuracy >= LEAST_ACCURACY else [f"{accuracy:.4f} of the images are right"]
    return {"problems": problems, "accuracy": accuracy, "images": len(labels)}


def models(run):
    """One process a model: weights, compiles and runs overlap with those of the other models."""
    problems, folder = [], run.folder("models")
    peer = "onnxruntime" if run.options.dry_run else "torch"
    need("numpy", "onnx", *([peer] if run.options.dry_run else [peer, "torchvision"]))

    def check(stem):
        found = folder / f"{stem}.json"
        attempt(problems, run.call, f"models-{stem}",
                [sys.executable, DEVICE_TESTS / "compare_torch.py", "--kpc", run.options.kpc, "--work-dir", folder,
                 "--models", stem, "--precision", ",".join(PRECISIONS), "--batch", ",".join(map(str, BATCHES)),
                 "--arch", run.options.arch, "--device", run.options.device, "--peer", peer, "--json", found],
                300, (0, 1))
        return json.loads(found.read_text()) if found.exists() else []

    results = [entry for entries in in_parallel(run, check, run.models()) for entry in entries]
    for entry in results:
        if "error" in entry:
            problems.append(f"{entry['model']} {entry['precision']}: {entry['error'].strip()}")
        elif not entry["good"]:
            problems.append(f"{entry['model']} {entry['precision']} batch {entry['batch']}: RMS error "
                            f"{entry['rms']:.2e}, allowed {entry['allowed_rms']:.0e}")
    return {"problems": problems, "peer": peer, "results": results}


def cases(run):
    folder = run.options.cases
    if not folder:
        raise Skip("no --cases FOLDER; `kpc_gpu_export FOLDER` of a build tree writes one")
    if not (folder / "cases.json").exists():
        raise Skip(f"{folder} holds no cases.json")
    listed = json.loads((folder / "cases.json").read_text())
    missing = [k["cubin"] for k in listed["kernels"] + listed["benchmarks"] if not (folder / k["cubin"]).exists()]
    problems = [f"{folder / name} is not there" for name in missing]
    if run.options.dry_run:
        return {"problems": problems, "kernels": len(listed["kernels"]), "summary": "not run: no CUDA", "benchmarks": []}
    script = [sys.executable, DEVICE_TESTS / "run_cases.py", folder]
    summary = attempt(problems, run.call, "cases", script, 120, (0, 1)) or ""
    problems += [line for line in summary.splitlines() if line.startswith("WRONG")]
    last = (summary.strip().splitlines() or ["no output"])[-1]
    if summary and " kernels, " not in last:
        problems.append(f"run_cases.py stopped: {last}")
    timed = attempt(problems, run.call, "cases-benchmarks", script + ["--benchmarks", "--peers"], 120) or ""
    return {"problems": problems, "kernels": len(listed["kernels"]), "summary": last, "benchmarks": timed.strip().splitlines()[1:]}


def compile_family(run, family, only):
    """The folder of the cases whose 'purpose name' matches."""
    folder = run.folder(family.name + ("-checked" if only == family.checked else ""))
    given = {option: getattr(run.options, option) for option in family.options}
    more = [word for option, value in given.items() if value for word in (f"--{option}", value)]
    if not (folder / "cases.json").exists():
        run.call(f"{family.name}-compile", [sys.executable, DEVICE_TESTS / f"{family.name}.py", "--kpc", run.options.kpc, "--out",
                                            folder, "--arch", run.options.arch, "--only", only, "--jobs", run.options.jobs, *more])
    return folder


def family(run, one):
    """A family of kernels beside its peer; a dry run compiles a few and runs them once."""
    need("numpy", "onnx")
    if run.options.dry_run:
        folder = compile_family(run, one, one.checked)
        problems, cases = [], json.loads((folder / "cases.json").read_text())
        in_parallel(run, lambda case: attempt(problems, run_random, run, one, folder, case), cases)
        return {"problems": problems, "what": one.what, "peer": one.peer, "results": []}
    need("torch")
    library, found = run.runtime(), run.work / f"{one.name}.json"
    folder, problems = compile_family(run, one, run.options.case), []
    attempt(problems, run.call, one.name, [sys.executable, DEVICE_TESTS / f"time_{one.name}.py", folder, "--runtime", library, "--json",
                                      found, "--only", run.options.case, "--rounds", run.options.rounds], accept=(0, 1))
    results = json.loads(found.read_text()) if found.exists() else []
    for row in results:
        if not row["right"]:
            problems.append(f"{row['name']}: {row.get('problem') or 'error %.1e, %s' % (row['error'], row['same'])}")
    return {"problems": problems, "what": one.what, "peer": one.peer, "results": results}


def run_random(run, one, folder, case, *in_front):
    """One run of a case's artifact, at its sizes, or those that it was made for."""
    dims = [word for name, size in case.get("sizes", {}).items() for word in ("--dim", f"{name}={size}")]
    return run.call(f"{one.name}-random", [*in_front, run.options.kpc, "run", folder / case.get("artifact", f"{case['name']}.kpc"),
                                           "--input", "random", *dims, "--device", run.options.device, "--quiet"],
                    150, (0, 9) if in_front else (0,))


def allowed_races(name):
    lines = (line.split("#")[0].strip() for line in (DEVICE_TESTS / "allowed-races.txt").read_text().splitlines())
    pairs = [line.split(":", 1) for line in lines if line]
    return [re.compile(pattern.strip()) for family_name, pattern in pairs if family_name == name]


REPORT = re.compile(r"=+ +(Error|Warning|Invalid|Program hit|Barrier error|Internal|Fatal)|[1-9]\d* hazards?|hardware exception")


def findings(text):
    """What compute-sanitizer reports, an entry a line."""
    return [line.strip("= ") for line in text.splitlines() if REPORT.search(line)]


def check_family(run, one, tool, problems):
    """compute-sanitizer's three tools on the family's small cases."""
    folder = attempt(problems, compile_family, run, one, one.checked)
    cases = json.loads((folder / "cases.json").read_text()) if folder else []

    def check(item):
        case, name = item
        start = time.monotonic()
        text = attempt(problems, run_random, run, one, folder, case, tool, "--tool", name, "--error-exitcode", "9") or ""
        allowed = allowed_races(one.name) if name == "racecheck" else []
        left = [line for line in findings(text) if not any(pattern.search(line) for pattern in allowed)]
        if left:
            problems.append(f"{one.name} {case['name']}, {name}: {left[0]} ({len(left)} reports)")
        says = "; ".join(line.strip("= ") for line in text.splitlines() if "SUMMARY" in line) or "see problems"
        return {"model": f"{one.name} {case['name']}", "tool": name, "says": says, "seconds": round(time.monotonic() - start, 1)}

    return in_parallel(run, check, [(case, name) for case in cases for name in SANITIZERS])


def sanitizer(run):
    need("numpy", "onnx")  # for the models' weights
    tool = shutil.which("compute-sanitizer")
    if run.options.dry_run or not tool:
        raise Skip("dry run" if run.options.dry_run else "compute-sanitizer is not on PATH")
    todo = [("digits", name) for name in ("memcheck", "synccheck", "racecheck", "initcheck")]
    todo += [(stem, "memcheck") for stem in CHECKED_MODELS if stem in run.models()]
    problems, found = [], []

    def check(item):
        stem, name = item
        start, artifact = time.monotonic(), attempt(problems, sanitized_artifact, run, stem)
        if artifact is None:
            return
        log = f"sanitizer-{stem}-{name}"
        text = attempt(problems, run.call, log,
                       [tool, "--tool", name, "--error-exitcode", "9", run.options.kpc, "run", artifact, "--input",
                        "random", "--dim", "batch=1" if stem != "digits" else "batch=3", "--device",
                        run.options.device, "--output-dir", run.folder(log)], 150)
        says = [line.strip("= ") for line in (text or "").splitlines() if "SUMMARY" in line]
        found.append({"model": stem, "tool": name, "says": "; ".join(says) or "see problems",
                      "seconds": round(time.monotonic() - start, 1)})

    attempt(problems, digits_artifact, run)
    in_parallel(run, check, todo)
    found.sort(key=lambda f: (f["model"], f["tool"]))
    for one in FAMILIES:
        found += check_family(run, one, tool, problems)
    return {"problems": problems, "results": found}


def sanitized_artifact(run, stem):
    """The fp32 artifact of a model; `models` may have made it already."""
    if stem == "digits":
        return digits_artifact(run)
    artifact = run.folder("models") / f"{stem}.fp32.kpc"
    if not artifact.exists():
        compile_model(run, stem, "fp32")
    return artifact


def compile_model(run, stem, precision):
    folder = run.folder("models")
    model = folder / f"{stem}.onnx"
    if not model.exists():
        run.call(f"weights-{stem}", [sys.executable, ROOT / "test" / "models" / "weights.py", GRAPHS / f"{stem}.onnx",
                                     "--output-dir", folder])
    narrow = ["--precision", precision, "--io-precision", "fp32"]
    run.kpc(f"compile-{stem}", "compile", model, "--arch", run.options.arch, "-o",
            folder / f"{stem}.{precision}.kpc", "--cache-dir", folder / "cache", "--quiet", *narrow)


def nodes(run):
    """Debian's tests where they are, and those of the installed onnx: what is right on the host must be right here."""
    need("numpy")
    problems, suites, data = [], {}, run.options.node_tests
    if data.exists():
        suites[f"Debian's ({DEBIAN_LIST.stem})"] = node_suite(run, data, DEBIAN_LIST, problems)
    if importlib.util.find_spec("onnx"):
        import onnx
        data = run.folder("node-tests")
        run.call("nodes", [sys.executable, CONFORMANCE / "generate_onnx_tests.py", "--output-dir", data], 120)
        suites[f"onnx {onnx.__version__}"] = node_suite(run, data, CONFORMANCE / "onnx-latest.txt", problems)
    if not suites:
        raise Skip(f"no {run.options.node_tests}, and onnx is not installed")
    return {"problems": problems, "suites": suites}


def node_suite(run, data, expected, problems):
    seconds = min(20 if run.options.dry_run else NODE_SECONDS, max(10, run.left() - 30))
    found = run.work / f"nodes-{expected.stem}.json"
    text = run.call("nodes", [sys.executable, CONFORMANCE / "run_conformance.py", "--kpc", run.options.kpc, "--data", data, "--expected",
                              expected, "--work-dir", run.folder("nodes-work"), "--arch", run.options.arch, "--device",
                              run.options.device, "--right-only", "--within", f"{seconds:.0f}", "--jobs", run.options.jobs, "--runtime",
                              run.runtime(), "--json", found], seconds + 90, (0, 1))
    outcomes, counts = json.loads(found.read_text()), {}
    for outcome in outcomes.values():
        counts[outcome["verdict"]] = counts.get(outcome["verdict"], 0) + 1
    differ = {name: o for name, o in outcomes.items() if o["verdict"] != "right"}
    problems += [f"{name}: {o['verdict']}: {o['detail'][:200]}" for name, o in sorted(differ.items())]
    if not outcomes:
        problems.append(f"{expected.stem}: no test was run")
    return {"counts": counts, "differ": differ, "summary": text.strip().splitlines()[-1]}


def bench(run):
    """The GPU does nothing else meanwhile: compiles are done before, times are taken one after the other."""
    need("numpy", "onnx")
    problems, results = [], []
    batches = [1, 64] if not run.options.dry_run else [1]
    entries = [("digits", "fp32", batch) for batch in batches]
    stems = run.models()
    for stem in stems:
        entries += [(stem, precision, batch) for precision in PRECISIONS for batch in BATCHES]
    missing = [(stem, precision) for stem in stems for precision in PRECISIONS
               if not (run.folder("models") / f"{stem}.{precision}.kpc").exists()]
    for stem in sorted({stem for stem, _ in missing}):
        attempt(problems, compile_model, run, stem, missing[0][1])  # makes the weights
    in_parallel(run, lambda item: attempt(problems, compile_model, run, *item), missing)
    attempt(problems, digits_artifact, run)
    late = 0
    for stem, precision, batch in entries:
        if run.left() < 45:
            late += 1
            continue
        result = attempt(problems, bench_one, run, stem, precision, batch)
        if result:
            results.append(result)
    if late:
        problems.append(f"{late} of {len(entries)} were not measured: time is up")
    with_peer = not run.options.dry_run and importlib.util.find_spec("torch")
    peers = attempt(problems, torch_times, run, stems) or [] if with_peer else []
    return {"problems": problems, "results": results, "peers": peers}


def bench_one(run, stem, precision, batch):
    artifact = digits_artifact(run) if stem == "digits" else run.folder("models") / f"{stem}.{precision}.kpc"
    stays = [] if run.options.device == "host" else ["--no-transfers"]
    text = run.kpc(f"bench-{stem}-{precision}-{batch}", "bench", artifact, "--device", run.options.device, "--dim",
                   f"batch={batch}", "--duration", "0.7", "--json", *stays, limit=60)
    measured = json.loads(text[text.index("{"):])
    measured["kernels"] = sorted(measured["kernels"], key=lambda k: -k["us"])
    return {"model": stem, "precision": precision, "batch": batch, "bench": measured}


def torch_times(run, stems):
    """Of each network once: files of several exporters are the same PyTorch module."""
    networks = {stem.split(".")[0]: stem for stem in reversed(stems)}
    found = run.work / "torch-times.json"
    if run.left() < 20:
        raise Failed("PyTorch was not measured: time is up")
    try:
        run.call("bench-torch", [sys.executable, DEVICE_TESTS / "time_torch.py", "--work-dir", run.folder("models"),
                                 "--models", ",".join(networks.values()), "--precision", ",".join(PRECISIONS),
                                 "--batch", ",".join(map(str, BATCHES)), "--json", found], 120)
    except Failed:
        if not found.exists():
            raise
    return json.loads(found.read_text())

# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the pages that the tests of this folder look at, with a kpc of the build."""

import json
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        print("$ " + " ".join(str(part) for part in command) + "\n" + done.stdout + done.stderr)
        raise SystemExit(f"FAILED: exit code {done.returncode}")
    return done.stdout


def write_pages(kpc, folder):
    """An encoder of two layers, measured on the host and modelled for a GPU, in two precisions side by side; and a small
    network whose nodes say nothing of modules."""
    folder.mkdir(parents=True, exist_ok=True)
    graph = SOURCE / "test/models/graphs/bert.dynamo.onnx"
    run(sys.executable, SOURCE / "test/models/weights.py", graph, "--output-dir", folder)
    sizes = ["--dim", "batch=1..4:opt=2", "--dim", "sequence=1..32:opt=32", "-q"]
    run(kpc, "compile", folder / graph.name, "--arch", "host", *sizes, "-o", folder / "bert.kpc")
    run(kpc, "compile", folder / graph.name, "--arch", "host,sm_90a", "--precision", "fp16", *sizes, "-o", folder / "half.kpc")
    run(kpc, "compile", SOURCE / "examples/digits/digits.onnx", "--arch", "host", "-q", "-o", folder / "digits.kpc")
    quick = ["--iterations", "3", "--threads", "1"]
    times = run(kpc, "bench", folder / "bert.kpc", "--device", "host", *quick, "--json", "--report", folder / "measured.html",
                "--beside", folder / "half.kpc")
    (folder / "times.json").write_text(times, encoding="utf-8")
    run(kpc, "inspect", folder / "half.kpc", "--report", folder / "modelled.html")
    # Times that were recorded on a machine whose name has no place to break, in a file whose name has none either.
    recorded = json.loads(times)
    recorded["device_name"] = "Processor(R)_with_a_Name_that_is_longer_than_a_Phone_is_wide_@_2.70GHz"
    path = folder / f"recorded_{'without_a_place_to_break_' * 4}.json"
    path.write_text(json.dumps(recorded), encoding="utf-8")
    run(kpc, "inspect", folder / "bert.kpc", "--report", folder / "recorded.html", "--times", path)
    run(kpc, "bench", folder / "digits.kpc", *quick, "-q", "--report", folder / "digits.html")
    return {name: folder / f"{name}.html" for name in ("measured", "modelled", "recorded", "digits")}


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))


def expect(good, what):
    if not good:
        raise SystemExit("FAILED: " + what)

#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model on the host beside onnxruntime's CPU provider: the same threads, in turn, in one run.

    python3 time_onnxruntime.py --kpc build/release/bin/kpc --model graphs/resnet50.dynamo.onnx --work-dir DIR \\
        [--batch 1] [--dim batch=1..100000:opt=10000] [--threads 1,2] [--rounds 5]

Prints the median of each side and their ratio for each number of threads. No test: the machine may be busy.
"""

import argparse
import json
import pathlib
import statistics
import sys
import time

import compare
import inputs
import onnx
import onnxruntime

RUNS = 15  # of each side in a round


def time_peer(session, arrays):
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        session.run(None, arrays)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def time_kpc(kpc, artifact, batch, threads):
    said = compare.call_kpc([kpc, "bench", artifact, "--dim", f"batch={batch}", "--threads", threads, "--iterations", RUNS,
                             "--warmup", 3, "--json"], 600)
    return json.loads(said)["latency_ms"]["p50"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--dim", action="append", default=[], help="for kpc compile")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    options.work_dir.mkdir(parents=True, exist_ok=True)
    path = compare.place_model(options.model, options.work_dir)
    artifact = path.with_suffix(".kpc")
    compare.call_kpc([options.kpc, "compile", path, "--arch", "host", "-o", artifact, "--quiet",
                      *(word for dim in options.dim for word in ("--dim", dim))], 600)
    arrays = inputs.for_model(onnx.load(str(path), load_external_data=False), options.batch)
    for threads in (int(text) for text in options.threads.split(",")):
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads, settings.inter_op_num_threads = threads, 1
        session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
        time_peer(session, arrays)
        rounds = [(time_kpc(options.kpc, artifact, options.batch, threads), time_peer(session, arrays))
                  for _ in range(options.rounds)]
        ours, theirs = (statistics.median(side) for side in zip(*rounds))
        print(f"{path.stem}, batch {options.batch}, {threads} thread(s): kpc {ours:.1f} ms, onnxruntime "
              f"{onnxruntime.__version__} {theirs:.1f} ms, kpc takes {ours / theirs:.2f} times as long")
    return 0


if __name__ == "__main__":
    sys.exit(main())

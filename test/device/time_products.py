#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products of kpc beside cuBLAS (PyTorch's matmul): right, and how fast.

    python3 time_products.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 7]

FOLDER is what products.py wrote. Every product is compared with fp32 on the same GPU, twice (bit for bit); then both sides are
timed in turn, in bursts with idle gaps between, the order reversed each round: medians and their ratio.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from kpc_session import Session  # noqa: E402

BURST_SECONDS, IDLE_SECONDS = 0.008, 0.008
# RMS; rounding of the result alone gives 1.7e-4 and 1.3e-3, of the factors to tf32 3e-4.
LIMITS = {torch.float16: 2e-3, torch.bfloat16: 1.2e-2, torch.float32: 2e-3}


def tensors(case):
    kind = {"bf16": torch.bfloat16, "fp16": torch.float16, "tf32": torch.float32}[case["type"]]
    torch.manual_seed(0)
    def make(*shape, scale=1.0):
        return (torch.randn(*shape, device="cuda") * scale).to(kind)
    total = case["sum"]
    inputs = {"x": make(total, case["rows"]) if case.get("turned") else make(case["rows"], total)}
    shape = (case["columns"], total) if case["transposed"] else (total, case["columns"])
    inputs["w"] = make(*shape, scale=1 / math.sqrt(total))
    if case["bias"]:
        inputs["b"] = make(case["columns"])
    return inputs, torch.full((case["rows"], case["columns"]), math.nan, device="cuda", dtype=kind)


def reference(case, inputs, kind, exact=False):
    w = inputs["w"].T if case["transposed"] else inputs["w"]
    x = inputs["x"].T if case.get("turned") else inputs["x"]
    x, w = x.to(kind), w.to(kind)
    torch.backends.cuda.matmul.allow_tf32 = case["type"] == "tf32" and not exact
    y = torch.addmm(inputs["b"].to(kind), x, w) if case["bias"] else x @ w
    return torch.relu(y) if case["act"] == "Relu" else y


def error(out, expected):
    return ((out.float() - expected).square().mean() / expected.square().mean()).sqrt().item()


def burst(call, count):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    time.sleep(IDLE_SECONDS)
    call()
    start.record()
    for _ in range(count):
        call()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / count * 1e3  # microseconds


def compare_times(sides, rounds):
    count = {}
    for name, call in sides.items():
        burst(call, 3)
        count[name] = max(3, int(BURST_SECONDS * 1e6 / burst(call, 10)))
    times = {name: [] for name in sides}
    for number in range(rounds):
        order = list(sides) if number % 2 == 0 else list(sides)[::-1]
        for name in order:
            times[name].append(burst(sides[name], count[name]))
    return {name: statistics.median(values) for name, values in times.items()}


def run_case(case, options):
    inputs, out = tensors(case)
    session = Session(options.runtime, str(options.folder / f"{case['name']}.kpc"))
    session.run(inputs, {"y": out})
    torch.cuda.synchronize()
    first = out.clone()
    expected = reference(case, inputs, torch.float32, exact=True)
    row = dict(case, error=error(out, expected))
    out.fill_(math.nan)
    session.run(inputs, {"y": out})
    torch.cuda.synchronize()
    row["same"] = torch.equal(first, out)
    row["right"] = row["same"] and row["error"] <= LIMITS[out.dtype]
    row["torch_error"] = error(reference(case, inputs, out.dtype), expected)
    if case["purpose"] != "small" and row["right"] and options.rounds:
        sides = {"kpc": lambda: session.run(inputs, {"y": out}), "cublas": lambda: reference(case, inputs, out.dtype)}
        row.update(compare_times(sides, options.rounds))
        row["ratio"] = row["cublas"] / row["kpc"]
        row["tflops"] = 2e-6 * case["rows"] * case["columns"] * case["sum"] / row["kpc"]
    session.close()
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--runtime", required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    rows = []
    for case in json.loads((options.folder / "cases.json").read_text()):
        try:
            row = run_case(case, options)
        except RuntimeError as problem:
            row = dict(case, right=False, problem=str(problem))
        rows.append(row)
        text = f"{row['name']:36} {'right' if row['right'] else 'WRONG'}"
        text += f" {row.get('problem', '')}" if "error" not in row else f" error {row['error']:.2e} ({row['torch_error']:.2e})"
        if "ratio" in row:
            text += f"  kpc {row['kpc']:8.1f} us, cuBLAS {row['cublas']:8.1f} us: {row['ratio']:.3f}  {row['tflops']:.0f} TFLOP/s"
        print(text, flush=True)
    ratios = [row["ratio"] for row in rows if row["purpose"] == "speed" and "ratio" in row]
    if ratios:
        print(f"geometric mean of the {len(ratios)} products of the table: {statistics.geometric_mean(ratios):.3f}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0 if all(row["right"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

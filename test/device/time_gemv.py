#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of few rows of kpc beside cuBLAS (PyTorch's matmul): right, and how fast.

    python3 time_gemv.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 15] [--only REGEX]

FOLDER is what gemv.py wrote. Every product is compared with f64 on the same GPU, twice (bit for bit). Each call is timed by
events of its own behind a write of more than the second cache holds (cold), and once more right behind itself (warm); the sides
take turns while the GPU still works on what was queued before, so that no call waits for the host. Medians and their ratio.
"""

import argparse
import json
import math
import pathlib
import re
import statistics
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from kpc_session import Session  # noqa: E402

KINDS = {"bf16": torch.bfloat16, "fp16": torch.float16}
LIMITS = {torch.float16: 4e-4, torch.bfloat16: 3e-3}  # RMS; rounding of the result alone gives 2e-4 and 1.7e-3
FLUSH_BYTES = 256 << 20
AHEAD_CYCLES = 4_000_000  # about 2 ms in which the host gets ahead


def tensors(case):
    kind = KINDS[case["type"]]
    torch.manual_seed(0)
    def make(*shape, scale=1.0):
        return (torch.randn(*shape, device="cuda") * scale).to(kind)
    total = case["sum"]
    shape = (case["columns"], total) if case["transposed"] else (total, case["columns"])
    inputs = {"x": make(case["rows"], total), "w": make(*shape, scale=1 / math.sqrt(total))}
    if case["bias"]:
        inputs["b"] = make(case["columns"])
    return inputs, torch.full((case["rows"], case["columns"]), math.nan, device="cuda", dtype=kind)


def reference(case, inputs, kind):
    given = {name: t.to(kind) for name, t in inputs.items()}
    y = given["x"] @ (given["w"].T if case["transposed"] else given["w"])
    return torch.relu(y + given["b"]) if case["bias"] else y


def error(out, expected):
    return ((out.double() - expected).square().mean() / expected.square().mean().clamp(min=1e-30)).sqrt().item()


def compare_times(sides, rounds):
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    events = {(name, kind): [] for name in sides for kind in ("cold", "warm")}
    for call in sides.values():
        for _ in range(3):
            call()
    def timed(key, call):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        events[key].append((start, end))
    for number in range(rounds):
        torch.cuda.synchronize()
        torch.cuda._sleep(AHEAD_CYCLES)
        for name in (list(sides) if number % 2 == 0 else list(sides)[::-1]):
            flush.fill_(number)
            timed((name, "cold"), sides[name])
            timed((name, "warm"), sides[name])
    torch.cuda.synchronize()
    return {key: statistics.median(s.elapsed_time(e) * 1e3 for s, e in pairs) for key, pairs in events.items()}


def run_case(case, options):
    inputs, out = tensors(case)
    session = Session(options.runtime, str(options.folder / f"{case['name']}.kpc"))
    session.run(inputs, {"y": out})
    torch.cuda.synchronize()
    first = out.clone()
    expected = reference(case, inputs, torch.float64)
    row = dict(case, error=error(out, expected))
    out.fill_(math.nan)
    session.run(inputs, {"y": out})
    torch.cuda.synchronize()
    row["same"] = torch.equal(first, out)
    row["right"] = row["same"] and row["error"] <= LIMITS[out.dtype]
    del expected
    if case["purpose"] != "small" and options.rounds:
        w = inputs["w"].T if case["transposed"] else inputs["w"]
        def cublas():
            y = inputs["x"] @ w
            return torch.relu(y + inputs["b"]) if case["bias"] else y
        times = compare_times({"kpc": lambda: session.run(inputs, {"y": out}), "cublas": cublas}, options.rounds)
        for kind in ("cold", "warm"):
            row[kind] = {"kpc": times["kpc", kind], "cublas": times["cublas", kind],
                         "ratio": times["cublas", kind] / times["kpc", kind]}
        row["gbps"] = inputs["w"].numel() * 2e-3 / times["kpc", "cold"]
    session.close()
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--runtime", required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    rows = []
    for case in json.loads((options.folder / "cases.json").read_text()):
        if not re.search(options.only, f"{case['purpose']}.{case['name']}"):
            continue
        try:
            row = run_case(case, options)
        except RuntimeError as problem:
            row = dict(case, right=False, problem=str(problem))
        rows.append(row)
        text = f"{row['name']:36} {'right' if row['right'] else 'WRONG'}"
        text += f" {row.get('problem', '')}" if "error" not in row else f" error {row['error']:.2e}"
        for kind in ("cold", "warm"):
            if kind in row:
                one = row[kind]
                text += f"  {kind}: kpc {one['kpc']:6.1f} us, cuBLAS {one['cublas']:6.1f}: {one['ratio']:.2f}x"
        text += f"  {row['gbps']:.0f} GB/s" if "gbps" in row else ""
        print(text, flush=True)
    for kind in ("cold", "warm"):
        ratios = [row[kind]["ratio"] for row in rows if row["purpose"] == "speed" and kind in row]
        if ratios:
            print(f"{kind}: geometric mean of {len(ratios)} products of the table {statistics.geometric_mean(ratios):.2f}x, least "
                  f"{min(ratios):.2f}x")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0 if all(row["right"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

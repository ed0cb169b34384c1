#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax, norms and GELU of kpc beside a copy of the same bytes, and beside PyTorch's: right, and how fast.

    python3 time_rows.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 7] [--only REGEX]

FOLDER is what rows.py wrote. Every kernel is compared with f64 on the same GPU, twice (bit for bit); then the three sides are
timed in turn, in bursts with idle gaps between, the order reversed each round: medians and their ratios.
"""

import argparse
import json
import math
import pathlib
import re
import statistics
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from kpc_session import Session  # noqa: E402
from time_products import compare_times  # noqa: E402

KINDS = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
LIMITS = {torch.float32: 2e-6, torch.float16: 4e-4, torch.bfloat16: 3e-3}  # RMS; rounding the result alone: 2e-4 and 1.7e-3


def tensors(case):
    kind = KINDS[case["type"]]
    rows, columns = case["rows"], case["columns"]
    torch.manual_seed(0)
    def make(*shape, scale=1.0):
        return (torch.randn(*shape, device="cuda") * scale).to(kind)
    inputs = {"x": make(rows, columns, scale=2.0)}
    if case["kind"].endswith("residual"):
        inputs["r"] = make(rows, columns)
    if case["kind"] in ("norm", "norm_residual", "rms_residual", "gelu_chain"):
        inputs["scale"] = make(columns, scale=0.2) + 1
    if case["kind"] in ("norm", "norm_residual", "gelu_chain"):
        inputs["shift"] = make(columns)
    if case["kind"] == "masked":
        inputs["mask"] = torch.rand(rows, columns, device="cuda") < 0.8
    if case["kind"] == "softmax" and case["purpose"] == "small" and rows > 1:
        # Rows with infinities and NaN, as ONNX has them.
        inputs["x"][0, 0] = -math.inf
        if columns > 2:
            inputs["x"][1, :] = -math.inf
            inputs["x"][2 % rows, 1] = math.nan
    outputs = {name: torch.full((rows, columns), 7.0, device="cuda", dtype=kind)
               for name in (("y", "s") if case["kind"].endswith("residual") else ("y",))}
    return inputs, outputs


def compute(case, given):
    """All outputs, in the type of the inputs."""
    x, kind = given["x"], case["kind"]
    columns = case["columns"]
    if kind == "softmax":
        return {"y": torch.softmax(x, -1)}
    if kind == "log_softmax":
        return {"y": torch.log_softmax(x, -1)}
    if kind == "masked":
        return {"y": torch.softmax(torch.where(given["mask"], x * 0.5, torch.tensor(-3e4, device="cuda", dtype=x.dtype)), -1)}
    if kind == "norm":
        return {"y": F.layer_norm(x, (columns,), given["scale"], given["shift"], 1e-5)}
    if kind == "norm_residual":
        s = x + given["r"]
        return {"y": F.layer_norm(s, (columns,), given["scale"], given["shift"], 1e-5), "s": s}
    if kind == "rms_residual":
        s = x + given["r"]
        return {"y": F.rms_norm(s, (columns,), given["scale"], 1e-5), "s": s}
    if kind == "gelu_erf":
        return {"y": F.gelu(x)}
    if kind == "gelu_tanh":
        return {"y": F.gelu(x, approximate="tanh")}
    if kind == "gelu_chain":
        return {"y": F.gelu(x + given["shift"]) * given["scale"]}
    raise ValueError(kind)


def compare(outputs, expected):
    """The greatest relative RMS error; infinite where NaN or infinities are in other places."""
    worst = 0.0
    for name, out in outputs.items():
        want, have = expected[name], out.double()
        finite = torch.isfinite(want)
        if not torch.equal(finite, torch.isfinite(have)) or not torch.equal(torch.isnan(want), torch.isnan(have)):
            return math.inf
        if finite.any() and want[finite].abs().max() > 0:
            worst = max(worst, ((have[finite] - want[finite]).square().mean() / want[finite].square().mean()).sqrt().item())
    return worst


def run_case(case, options):
    inputs, outputs = tensors(case)
    session = Session(options.runtime, str(options.folder / f"{case['name']}.kpc"))
    session.run(inputs, outputs)
    torch.cuda.synchronize()
    first = {name: out.clone() for name, out in outputs.items()}
    expected = {}
    step = max(1, (1 << 26) // case["columns"])
    for begin in range(0, case["rows"], step):  # f64 takes memory
        part = {name: (t[begin:begin + step] if t.dim() == 2 else t) for name, t in inputs.items()}
        part = {name: (t.double() if t.is_floating_point() else t) for name, t in part.items()}
        for name, t in compute(case, part).items():
            expected.setdefault(name, []).append(t)
    expected = {name: torch.cat(parts) for name, parts in expected.items()}
    row = dict(case, error=compare(outputs, expected))
    row["torch_error"] = compare(compute(case, inputs), expected)
    del expected
    for out in outputs.values():
        out.fill_(3.0)
    session.run(inputs, outputs)
    torch.cuda.synchronize()
    row["same"] = all(torch.equal(first[n].view(torch.uint8), outputs[n].view(torch.uint8)) for n in outputs)
    row["right"] = row["same"] and row["error"] <= LIMITS[outputs["y"].dtype]
    whole = [t for t in (*inputs.values(), *outputs.values()) if t.dim() == 2]
    total = sum(t.numel() * t.element_size() for t in whole)
    if case["purpose"] != "small" and options.rounds:
        source, target = (torch.empty(total // 2, dtype=torch.uint8, device="cuda") for _ in range(2))
        sides = {"kpc": lambda: session.run(inputs, outputs), "copy": lambda: target.copy_(source),
                 "torch": lambda: compute(case, inputs)}
        row.update(compare_times(sides, options.rounds))
        row["share"] = row["copy"] / row["kpc"]
        row["gbps"] = total / row["kpc"] * 1e-3
    session.close()
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--runtime", required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
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
        text += f" {row.get('problem', '')}" if "error" not in row else f" error {row['error']:.2e} ({row['torch_error']:.2e})"
        text += "" if row.get("same", True) else " not the same twice"
        if "share" in row:
            text += f"  kpc {row['kpc']:7.1f} us, copy {row['copy']:7.1f}: {row['share']:.3f}; torch {row['torch']:7.1f}: "
            text += f"{row['torch'] / row['kpc']:.2f}x  {row['gbps']:.0f} GB/s"
        print(text, flush=True)
    shares = [row["share"] for row in rows if row["purpose"] == "speed" and "share" in row]
    if shares:
        print(f"share of copy over {len(shares)} kernels of the table: geometric mean {statistics.geometric_mean(shares):.3f}, "
              f"least {min(shares):.3f}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0 if all(row["right"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

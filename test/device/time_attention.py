#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions of kpc beside cuDNN (PyTorch's scaled_dot_product_attention): right, and how fast.

    python3 time_attention.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 7] [--only REGEX]

FOLDER is what attention.py wrote. Every one is compared with fp32 (small ones fp64) on the same GPU, twice (bit for bit); then both
sides are timed in turn, in bursts with idle gaps between, the order reversed each round: medians and their ratio.
"""

import argparse
import json
import math
import pathlib
import re
import statistics
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from kpc_session import Session  # noqa: E402
from time_products import compare_times, error  # noqa: E402

LIMITS = {torch.float16: 1e-3, torch.bfloat16: 8e-3}  # RMS
SMALL = 1 << 22  # scores that are compared in fp64


def tensors(case):
    kind = {"bf16": torch.bfloat16, "fp16": torch.float16}[case["type"]]
    torch.manual_seed(0)

    def heads(count, length):
        return torch.randn(case["batch"], count, length, case["depth"], device="cuda").to(kind)

    inputs = {"q": heads(case["heads"], case["queries"]), "k": heads(case["groups"], case["keys"]),
              "v": heads(case["groups"], case["keys"])}
    shape = (case["batch"], 1, case["queries"], case["keys"])
    if case["mask"] == "bool":
        inputs["m"] = torch.rand(shape, device="cuda") < 0.7
        inputs["m"][..., 0, :] = case["queries"] > 1  # never a whole row but where that is asked
    elif case["mask"] == "float":
        inputs["m"] = torch.randn(shape, device="cuda").to(kind)
    return inputs


def reference(case, inputs, kind):
    """Head by head, as the scores of all would not fit."""
    q, k, v = (inputs[name].to(kind) for name in "qkv")
    out = torch.empty_like(q)
    each = case["heads"] // case["groups"]
    for b in range(case["batch"]):
        for h in range(case["heads"]):
            scores = q[b, h] @ k[b, h // each].T / math.sqrt(case["depth"])
            if case["mask"] == "bool":
                scores = scores.masked_fill(~inputs["m"][b, 0], -math.inf)
            elif case["mask"] == "float":
                scores = scores + inputs["m"][b, 0].to(kind)
            if case["causal"]:
                seen = torch.ones_like(scores, dtype=torch.bool).tril()
                scores = scores.masked_fill(~seen, -math.inf)
            out[b, h] = scores.softmax(-1).nan_to_num(0) @ v[b, h // each]
    return out


def flat(x):
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1).contiguous()


def peer(case, inputs):
    arguments = dict(is_causal=case["causal"], enable_gqa=case["groups"] != case["heads"])
    if case["mask"]:
        arguments["attn_mask"] = inputs["m"]

    def call():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return scaled_dot_product_attention(inputs["q"], inputs["k"], inputs["v"], **arguments)

    return call


def compare_bursts(case, sides, rounds):
    times = compare_times(sides, rounds)
    pairs = case["queries"] * case["keys"] * (0.5 if case["causal"] else 1)
    times["rate"] = 4e-6 * case["batch"] * case["heads"] * pairs * case["depth"] / times["kpc"]
    return times


def run_case(case, options, measure):
    inputs = tensors(case)
    kind = inputs["q"].dtype
    small = case["batch"] * case["heads"] * case["queries"] * case["keys"] <= SMALL
    expected = reference(case, inputs, torch.float64 if small else torch.float32)
    given, out = inputs, torch.full_like(inputs["q"], math.nan)
    if case["layout"] == "bshd":
        given = {name: flat(x) if name in "qkv" else x for name, x in inputs.items()}
        expected, out = flat(expected), flat(out)
    session = Session(options.runtime, str(options.folder / f"{case['name']}.kpc"))
    session.run(given, {"y": out})
    torch.cuda.synchronize()
    first = out.clone()
    row = dict(case, error=error(out, expected))
    out.fill_(math.nan)
    session.run(given, {"y": out})
    torch.cuda.synchronize()
    row["same"] = torch.equal(first, out)
    row["right"] = row["same"] and row["error"] <= LIMITS[kind]
    if case["purpose"] != "small" and row["right"] and options.rounds:
        call = peer(case, inputs)
        try:
            theirs = call()
            row["peer_error"] = error(theirs if case["layout"] == "bhsd" else flat(theirs), expected)
            sides = {"kpc": lambda: session.run(given, {"y": out}), "cudnn": call}
        except RuntimeError as problem:
            row["peer_problem"] = str(problem).splitlines()[0]
            sides = {"kpc": lambda: session.run(given, {"y": out})}
        row.update(measure(case, sides, options.rounds))
        if "cudnn" in row:
            row["ratio"] = row["cudnn"] / row["kpc"]
    session.close()
    return row


def main(measure=compare_bursts, unit="TFLOP/s", about=__doc__):
    """`measure` gives microseconds of each side, and kpc's `rate` in `unit`."""
    parser = argparse.ArgumentParser(description=about.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--runtime", required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    rows = []
    for case in json.loads((options.folder / "cases.json").read_text()):
        if not re.search(options.only, f"{case['purpose']} {case['name']}"):
            continue
        try:
            row = run_case(case, options, measure)
        except RuntimeError as problem:
            row = dict(case, right=False, problem=str(problem).splitlines()[0])
        rows.append(row)
        text = f"{row['name']:36} {'right' if row['right'] else 'WRONG'}"
        text += f" {row.get('problem', '')}" if "error" not in row else f" error {row['error']:.2e} ({row.get('peer_error', 0):.2e})"
        if "rate" in row:
            text += f"  kpc {row['kpc']:8.1f} us {row['rate']:.0f} {unit}"
        if "ratio" in row:
            text += f", cuDNN {row['cudnn']:8.1f} us: {row['ratio']:.3f}"
        print(text + (f" {row['peer_problem']}" if "peer_problem" in row else ""), flush=True)
    for purpose in ("speed", "wide", "other"):
        ratios = [row["ratio"] for row in rows if row["purpose"] == purpose and "ratio" in row]
        if ratios:
            print(f"{purpose}: geometric mean of {len(ratios)}: {statistics.geometric_mean(ratios):.3f}, least {min(ratios):.3f}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0 if all(row["right"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions of kpc beside cuDNN (PyTorch's scaled_dot_product_attention): right, and how fast.

    python3 time_attention.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 7] [--only REGEX]

FOLDER is what attention.py wrote. cuDNN has no softcap: beside one it computes the attention without. FP8 is compared
with kpc's own fp16 on the same inputs, which have outliers, and its errors are those of fp16, of FP8, and of FP8 on rotated queries and keys. The peer of
windows is PyTorch's flex_attention, which skips blocks, or its efficient kernel with a mask in memory where that does not compile. The reference is
fp32, of small ones fp64; side_by_side.py says how both sides are timed.
"""

import math
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from side_by_side import Kernel, compare_bursts, compare_cases, error

KINDS = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp8": torch.float16, "outliers": torch.float16, "tf32": torch.float32, "fp32": torch.float32}
LIMITS = {"fp16": 1e-3, "fp8": 0.15, "outliers": 1e-3, "bf16": 8e-3, "tf32": 2e-3, "fp32": 2e-6}  # RMS
SMALL = 1 << 22  # scores that are compared in fp64


def tensors(case):
    kind = KINDS[case["type"]]
    torch.manual_seed(0)

    def heads(count, length):
        x = torch.randn(case["batch"], count, length, case["depth"], device="cuda")
        # Outliers, as FlashAttention-3's table of errors has them.
        if case["type"] in ("fp8", "outliers"):
            x += 10 * torch.randn_like(x) * (torch.rand_like(x) < 0.001)
        return x.to(kind)

    inputs = {"q": heads(case["heads"], case["queries"]), "k": heads(case["groups"], case["keys"]),
              "v": heads(case["groups"], case["keys"])}
    shape = (case["batch"], case["heads"] if case["mask"] == "heads" else 1, 1 if case["mask"].endswith("keys") else case["queries"],
             case["keys"])
    if case["mask"] == "bool":
        inputs["m"] = torch.rand(shape, device="cuda") < 0.7
        inputs["m"][..., 0, :] = case["queries"] > 1  # never a whole row but where that is asked
    elif case["mask"].endswith("keys"):
        # Sequences of other lengths, as a tokenizer pads them.
        lengths = torch.linspace(case["keys"] / 2, case["keys"], case["batch"], device="cuda").long()
        seen = torch.arange(case["keys"], device="cuda") < lengths[:, None, None, None]
        inputs["m"] = seen if case["mask"] == "boolkeys" else torch.where(seen, torch.randn(shape, device="cuda"), torch.finfo(kind).min).to(kind)
    elif case["mask"]:
        inputs["m"] = torch.randn(shape, device="cuda").to(kind)
    return inputs


def seen_in_window(case):
    """[queries, keys]: those up to each query, or around it."""
    behind = torch.arange(case["queries"], device="cuda")[:, None] - torch.arange(case["keys"], device="cuda")
    window = case["window"]
    return (behind < window) & (behind >= (0 if case["causal"] else 1 - window))


def reference(case, inputs, kind):
    """Head by head, as the scores of all would not fit."""
    q, k, v = (inputs[name].to(kind) for name in "qkv")
    out = torch.empty_like(q)
    each = case["heads"] // case["groups"]
    for b in range(case["batch"]):
        for h in range(case["heads"]):
            scores = q[b, h] @ k[b, h // each].T / math.sqrt(case["depth"])
            if case.get("cap"):
                scores = case["cap"] * torch.tanh(scores / case["cap"])
            if case["mask"]:
                mask = inputs["m"][b, h if case["mask"] == "heads" else 0]
                if mask.dtype == torch.bool:
                    scores = scores.masked_fill(~mask, -math.inf)
                else:
                    scores = scores + mask.to(kind)
            if case.get("window"):
                scores = scores.masked_fill(~seen_in_window(case), -math.inf)
            elif case["causal"]:
                seen = torch.ones_like(scores, dtype=torch.bool).tril()
                scores = scores.masked_fill(~seen, -math.inf)
            out[b, h] = scores.softmax(-1).nan_to_num(0) @ v[b, h // each]
    return out


def flat(x):
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1).contiguous()


def window_peers(case, inputs):
    """Calls by their names."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    q, k, v = (inputs[name] for name in "qkv")
    window, after = case["window"], 0 if case["causal"] else case["window"] - 1
    keys = inputs.get("m")

    def seen(b, h, query, key):
        inside = (query - key < window) & (key - query <= after)
        return inside & keys[b, 0, 0, key] if keys is not None else inside

    mask = seen_in_window(case)[None, None]
    if keys is not None:
        mask = mask & keys
    each = case["heads"] // case["groups"]
    grouped = each > 1
    many = [x.repeat_interleave(each, 1) for x in (k, v)]  # the efficient kernel takes no groups

    def efficient():
        with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
            return scaled_dot_product_attention(q, *many, attn_mask=mask)

    peers = {"efficient": efficient}
    try:
        blocks = create_block_mask(seen, case["batch"] if keys is not None else None, None, case["queries"], case["keys"], device="cuda")
        compiled = torch.compile(flex_attention)
        compiled(q, k, v, block_mask=blocks, enable_gqa=grouped)
        peers["flex"] = lambda: compiled(q, k, v, block_mask=blocks, enable_gqa=grouped)
    except Exception as problem:  # what torch.compile needs may be missing
        print(f"{case['name']}: no flex_attention: {str(problem).splitlines()[0][:120]}")
    return peers


def peer(case, inputs):
    arguments = dict(is_causal=case["causal"], enable_gqa=case["groups"] != case["heads"])
    if case["mask"]:
        arguments["attn_mask"] = inputs["m"]

    # cuDNN has none for f32.
    wide = case["type"].endswith("32")
    torch.backends.cuda.matmul.allow_tf32 = case["type"] == "tf32"
    backends = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH] if wide else [SDPBackend.CUDNN_ATTENTION]

    def call():
        with sdpa_kernel(backends, set_priority=True):
            return scaled_dot_product_attention(inputs["q"], inputs["k"], inputs["v"], **arguments)

    return call


def rotated(inputs):
    """Queries and keys times the orthogonal matrix of Hadamard: their products are the same, and outliers are spread."""
    size = inputs["q"].shape[-1]
    matrix = torch.ones(1, 1, device="cuda")
    while matrix.shape[0] < size:
        matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)])
    matrix /= math.sqrt(size)
    return {name: x if name == "v" else (x.float() @ matrix).to(x.dtype) for name, x in inputs.items()}


def compare_with_fp16(case, options, inputs, expected, kernel, out, row):
    """Errors of both and of rotated heads, then microseconds of the whole models: FP8's with the kernels that make codes."""
    twin = Kernel(dict(case, name=case["name"].replace(".fp8", ".outliers")), options, inputs, {"y": torch.empty_like(out)})
    row["fp16_error"] = error(twin.first["y"], expected)
    kernel.inputs = rotated(inputs)
    row["rotated_error"] = error(kernel.results()["y"], expected)
    kernel.inputs = inputs
    if options.rounds:
        row.update(measure_bursts(case, {"kpc": kernel, "fp16": twin}, options.rounds))
        row["ratio"] = row["fp16"] / row["kpc"]
    twin.close()


def measure_bursts(case, sides, rounds):
    """Microseconds of each side, and kpc's rate in TFLOP/s; a causal one counts half of the operations."""
    times = compare_bursts(sides, rounds)
    pairs = case["queries"] * case["keys"] * (0.5 if case["causal"] else 1)
    if case.get("window"):
        pairs = int(seen_in_window(case).sum())
    return dict(times, rate=4e-6 * case["batch"] * case["heads"] * pairs * case["depth"] / times["kpc"])


def run_case(case, options, measure=measure_bursts):
    inputs = tensors(case)
    torch.backends.cuda.matmul.allow_tf32 = False
    small = case["batch"] * case["heads"] * case["queries"] * case["keys"] <= SMALL
    exact = torch.float64 if small or case["type"] == "fp32" else torch.float32
    expected = reference(case, inputs, exact)
    given, out = inputs, torch.empty_like(inputs["q"])
    if case["layout"] == "bshd":
        given = {name: flat(x) if name in "qkv" else x for name, x in inputs.items()}
        expected, out = flat(expected), flat(out)
    kernel = Kernel(case, options, given, {"y": out})
    row = dict(case, error=error(kernel.first["y"], expected), same=kernel.same)
    row["right"] = row["same"] and row["error"] <= LIMITS[case["type"]]
    if case["type"] == "fp8" and case["purpose"] != "small" and row["right"]:
        compare_with_fp16(case, options, inputs, expected, kernel, out, row)
    elif case["purpose"] == "window" and row["right"] and options.rounds:
        sides = dict(window_peers(case, inputs), kpc=kernel)
        for name in set(sides) - {"kpc"}:
            row[f"{name}_error"] = error(sides[name](), expected)
        row.update(measure(case, sides, options.rounds))
        row["ratio"] = min(row[name] for name in sides if name != "kpc") / row["kpc"]
    elif case["purpose"] != "small" and row["right"] and options.rounds:
        call = peer(case, inputs)
        sides = {"kpc": kernel, "cudnn": call}
        try:
            theirs = call()
            if not case.get("cap"):
                row["peer_error"] = error(theirs if case["layout"] == "bhsd" else flat(theirs), expected)
        except RuntimeError as problem:
            row["peer_problem"] = str(problem).splitlines()[0]
            del sides["cudnn"]
        row.update(measure(case, sides, options.rounds))
        if "cudnn" in row:
            row["ratio"] = row["cudnn"] / row["kpc"]
    kernel.close()
    return row


def describe(row, unit="TFLOP/s"):
    text = f"({row['peer_error']:.2e})" if "peer_error" in row else ""
    if "fp16_error" in row:
        text = f"(rotated {row['rotated_error']:.2e}, fp16 {row['fp16_error']:.2e})"
    if "rate" in row:
        text += f"  kpc {row['kpc']:8.1f} us {row['rate']:.0f} {unit}"
    if "efficient" in row:
        text += "".join(f", {name} {row[name]:8.1f} us" for name in ("efficient", "flex") if name in row) + f": {row['ratio']:.3f}"
    elif "fp16" in row:
        text += f", fp16 {row['fp16']:8.1f} us: {row['ratio']:.3f}"
    elif "ratio" in row:
        text += f", cuDNN {row['cudnn']:8.1f} us: {row['ratio']:.3f}"
    return text + (f" {row['peer_problem']}" if "peer_problem" in row else "")


if __name__ == "__main__":
    sys.exit(compare_cases(run_case, describe, __doc__))

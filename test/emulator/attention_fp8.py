#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of many queries that multiplies FP8, on the emulator.   attention_fp8.py KPC DRIVER FOLDER [NAME…]

Models of one attention each, of ragged sizes, compiled for sm_90a with FP8 asked for by name. Each must become one kernel of codes. Its result is compared with
a reference that rounds as docs/kernels/attention.md says, and with attention that rounds nothing. Two runs give the same bits. Exits 77 (a skip) where numpy or
onnx is not installed.
"""

import os
import pathlib
import re
import sys

try:
    import numpy as np
    import onnx
    from onnx import helper
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(77)

import emulated
from commands import call, error

#        name            type  batch heads groups queries keys depth causal past schedule
CASES = [("plain",       "fp16", 1, 1, 1, 64, 128, 128, False, 0, ""),
         ("ragged",      "fp16", 1, 2, 2, 129, 208, 64, False, 0, ""),
         ("wide",        "bf16", 2, 2, 1, 70, 272, 128, False, 0, ""),
         ("one_block",   "fp16", 1, 2, 1, 65, 48, 128, False, 0, ""),
         ("causal",      "fp16", 1, 2, 1, 150, 160, 128, True, 0, ""),
         ("causal_64",   "bf16", 2, 4, 2, 200, 208, 64, True, 0, ""),
         ("past",        "fp16", 1, 2, 1, 128, 128, 128, True, 80, ""),
         ("many_tiles",  "fp16", 2, 70, 35, 130, 80, 64, False, 0, ""),
         ("many_causal", "fp16", 2, 70, 70, 80, 80, 64, True, 0, ""),
         ("head_32",     "fp16", 1, 2, 2, 70, 96, 32, False, 0, ""),
         ("head_96",     "fp16", 1, 2, 2, 70, 96, 96, True, 0, ""),
         ("head_256",    "bf16", 1, 1, 1, 70, 144, 256, False, 0, ""),
         ("keys_64",     "fp16", 1, 2, 2, 130, 208, 128, False, 0, "attention 128x64 stages 2 ahead 16"),
         ("keys_192",    "fp16", 1, 2, 2, 130, 400, 128, False, 0, "attention 128x192 stages 2 ahead 16"),
         ("causal_192",  "fp16", 1, 2, 2, 260, 272, 64, True, 0, "attention 128x192 stages 2 ahead 16 pairs"),
         ("wide_result", "fp32", 1, 2, 1, 150, 160, 128, True, 0, ""),
         ("dynamic",     "fp16", 2, 2, 1, 160, 160, 64, True, 0, "")]
# What the compiler knows of sizes that are dynamic.
DIMS = ["--dim", "batch=1..4", "--dim", "sequence=16..512:opt=256:div=16"]

KERNEL = "attention_6"  # after those that make codes
TYPES = {"fp16": np.float16, "fp32": np.float32}
LIMITS = {"fp32": 5e-3, "fp16": 5e-3, "bf16": 8e-3}  # RMS: a code of an outlier may be one step off


def e4m3(x):
    """The nearest number of E4M3, ties to even, within its limits."""
    x = np.clip(x, -448, 448)
    step = 2.0**(np.maximum(np.floor(np.log2(np.maximum(np.abs(x), 2.0**-20))), -6) - 3)
    return np.rint(x / step) * step


def exponent(x):
    return np.floor(np.log2(np.maximum(np.abs(x), 2.0**-100)))


def cut(x, at):
    """Toward zero, to 13 bits below 2^at."""
    step = 2.0**(at - 13)
    return np.trunc(x / step) * step


def multiply_codes(a, b, sums=None):
    """a [m, k] times b [k, n] as wgmma adds up FP8: of 32 products and the sum so far, each is cut where the greatest exponent says, and so is what they give
    (arXiv 2511.10909; measured on an H200)."""
    sums = np.zeros((a.shape[0], b.shape[1])) if sums is None else sums
    for first in range(0, a.shape[1], 32):
        left, right = a[:, first:first + 32, None], b[None, first:first + 32]
        most = np.maximum((exponent(left) + exponent(right)).max(1), exponent(sums))
        sums = cut(left * right, most[:, None]).sum(1) + cut(sums, most)
        sums = cut(sums, exponent(sums))
    return sums


def model(element, batch, heads, groups, queries, keys, depth, causal, past):
    kind = emulated.ELEMENTS[element]

    def tensor(name, count, length):
        return helper.make_tensor_value_info(name, kind, [batch, count, length, depth])

    inputs, names = [tensor("q", heads, queries), tensor("k", groups, keys), tensor("v", groups, keys)], ["q", "k", "v"]
    outputs = [tensor("y", heads, queries)]
    if past:
        inputs += [tensor("past_key", groups, past), tensor("past_value", groups, past)]
        outputs += [tensor("present_key", groups, past + keys), tensor("present_value", groups, past + keys)]
        names += ["", "past_key", "past_value"]
    node = helper.make_node("Attention", names, [o.name for o in outputs], name="attention", is_causal=int(causal))
    return helper.make_model(helper.make_graph([node], "attention", inputs, outputs), opset_imports=[helper.make_opsetid("", 23)], ir_version=11)


def stored(x, element):
    """Rounded as memory holds it, and read again as f32."""
    if element != "bf16":
        return x.astype(TYPES[element]).astype(np.float32)
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000).view(np.float32)


def attend(q, k, v, causal, past):
    """Queries [batch, heads, s, d]; nothing is rounded."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    each = q.shape[1] // k.shape[1]
    scores = q @ np.repeat(k, each, 1).swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(seen_by(scores.shape, past), scores, -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers @ np.repeat(v, each, 1) / powers.sum(-1, keepdims=True)


def seen_by(shape, past):
    return np.arange(shape[-1])[None, :] <= np.arange(shape[-2])[:, None] + past


def attend_codes(q, k, v, causal, past, block):
    """As the kernel does, head by head: codes of heads, and of powers relative to the greatest score so far. Blocks of keys go from the last to the first."""
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    y = np.empty(q.shape[:-1] + v.shape[-1:])
    scale_of_k, scale_of_v = np.abs(k).max() / 448, np.abs(v).max() / 448
    k, v = (e4m3((x * (np.float32(448) / np.abs(x).max())).astype(np.float64)) for x in (k, v))
    for batch, head in np.ndindex(*q.shape[:2]):
        rows = np.abs(q[batch, head]).max(-1, keepdims=True)
        codes = e4m3((q[batch, head] * (np.float32(448) / rows)).astype(np.float64))
        group = head * k.shape[1] // q.shape[1]
        keys, values = k[batch, group], v[batch, group]
        scores = multiply_codes(codes, keys.T) * (rows / 448 * scale_of_k / np.sqrt(q.shape[-1]))
        if causal:
            scores = np.where(seen_by(scores.shape, past), scores, -np.inf)
        most, total, sums = np.full((len(codes), 1), -np.inf), 0, np.zeros((len(codes), v.shape[-1]))
        for first in range((len(keys) - 1) // block * block, -1, -block):
            part = scores[:, first:first + block]
            before, most = most, np.maximum(most, part.max(-1, keepdims=True))
            shift = np.where(np.isinf(most), 0, most)
            powers, shrink = np.exp(part - shift) * 256, np.exp(before - shift)
            total = total * shrink + powers.sum(-1, keepdims=True)
            sums = multiply_codes(e4m3(powers), values[first:first + block], sums * shrink)
        y[batch, head] = sums / total * scale_of_v
    return y


def write(path, x, element):
    """bf16 as its bits, which numpy has no type for."""
    np.save(path, x.astype(TYPES[element]) if element != "bf16" else (x.view(np.uint32) >> 16).astype(np.uint16))


def read(path, element):
    x = np.load(path)
    return x.astype(np.float64) if element != "bf16" else (x.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def check(kpc, driver, folder, case):
    name, element, batch, heads, groups, queries, keys, depth, causal, past, schedule = case
    draw = np.random.default_rng(len(name))
    source, artifact = folder / f"{name}.onnx", folder / f"{name}.kpc"
    sizes = ("batch", "sequence", "sequence") if name == "dynamic" else (batch, queries, keys)
    onnx.save(model(element, sizes[0], heads, groups, *sizes[1:], depth, causal, past), source)
    shapes = {"q": (heads, queries), "k": (groups, keys), "v": (groups, keys)}
    if past:
        shapes |= {"past_key": (groups, past), "past_value": (groups, past)}
    given, arguments = {}, []
    for tensor, (count, length) in shapes.items():
        # Outliers, as FlashAttention-3's table of errors has them.
        x = draw.standard_normal((batch, count, length, depth))
        x += 10 * draw.standard_normal(x.shape) * (draw.random(x.shape) < 0.001)
        given[tensor] = stored(x, element)
        write(folder / f"{name}.{tensor}.npy", given[tensor], element)
        arguments += ["--input", f"{tensor}={folder / f'{name}.{tensor}.npy'}"]
    rules = []
    if schedule:
        (folder / f"{name}.schedule").write_text(f"{KERNEL} = {schedule}\n")
        rules = ["--schedule", folder / f"{name}.schedule"]
    dims = DIMS if name == "dynamic" else []
    stored_in = "tf32" if element == "fp32" else element
    call([kpc, "compile", source, "--arch", "sm_90a", "--precision", stored_in, "--precision-for", "attention=fp8", *rules, *dims, "--variants", "1", "-o",
          artifact, "--no-cache", "-q"])
    shown = call([kpc, "inspect", artifact])
    lines = [line for line in emulated.kernels(shown) if re.search(r" attention \d+x\d+ ", line)]
    found = []
    for _ in range(2):
        call([kpc, "run", artifact, *arguments, "--device", "emulate:sm_90a", "--output-dir", folder, "-q"], KPC_CUDA_DRIVER=str(driver))
        found.append(read(folder / "y.npy", element))
    k, v = given["k"], given["v"]
    if past:
        k, v = np.concatenate([given["past_key"], k], 2), np.concatenate([given["past_value"], v], 2)
    block = re.search(r" attention \d+x(\d+) ", lines[0]) if lines else None
    arguments = given["q"], k, v, causal, past
    exact, alike = attend(*arguments), attend_codes(*arguments, int(block[1]) if block else 128)
    rounded, whole, rounds = error(found[0], alike), error(found[0], exact), error(alike, exact)
    good = rounded < LIMITS[element] and whole < 1.05 * rounds + LIMITS[element]
    if len(lines) != 1 or "fp8" not in lines[0]:
        print(f"{name}: expected one kernel of attention in fp8:\n{shown}")
        good = False
    if not np.array_equal(*found):
        print(f"{name}: two runs differ")
        good = False
    print(f"{name}: RMS error {rounded:.2e} of what rounds alike, {whole:.2e} of what rounds nothing, {rounds:.2e} of rounding{'' if good else ': WRONG'}")
    return good


def main():
    kpc, driver, folder = map(pathlib.Path, sys.argv[1:4])
    folder.mkdir(parents=True, exist_ok=True)
    names = sys.argv[4:]
    chosen = [case for case in CASES if case[0] in names] if names else CASES if os.environ.get("KPC_TEST_ALL") else CASES[:7] + CASES[-2:]
    return 0 if all([check(kpc, driver, folder, case) for case in chosen]) else 1


if __name__ == "__main__":
    sys.exit(main())

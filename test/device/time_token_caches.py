#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Llama's token by how its cache is spelled: buffers that past and present share, or past and present that are joined.

    python3 time_token_caches.py FOLDER --kpc KPC --runtime libkpc_runtime.so [--before KPC] [--layers 16] [--rounds 5]
        [--only shared,scatter,joined] [--json FILE]

Models have the same weights (token_models.py): GroupQueryAttention and TensorScatter with buffers, whose present is written in the memory of
the past, and Concat as PyTorch exports it. Of each size there are microseconds a token, medians of bursts with idle gaps, the sides in turn,
and the RMS of a token's logits from those of Concat. `--before` is another build of kpc, which compiles the first spelling as well.
"""

import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import time

import onnx
import torch

import side_by_side
import token_models
from kpc_session import Session
from token_models import Sizes, Spelling

SPELLINGS = {"shared": Spelling("shared"), "scatter": Spelling("scatter", attention="TensorScatter", rotary="node", norms="op"),
             "joined": Spelling("joined", attention="written", rotary="node", norms="written", shared=False)}
SIZES = [(1, 1024), (1, 4096), (16, 1024), (16, 4096)]  # batch, past
ROOM = 4224  # rows of a buffer
RANGES = {"batch": "1..64:opt=1", "sequence": "1..16:opt=1"}


def compiled(kpc, folder, name, spelling, sizes, label):
    source, artifact = folder / f"{name}.onnx", folder / f"{name}.{label}.kpc"
    ranges = RANGES | ({"rows": f"1..8192:opt={ROOM}"} if spelling.shared else {"past": "1..8192:opt=1024"})
    dims = [word for dim, size in ranges.items() for word in ("--dim", f"{dim}={size}")]
    subprocess.run([kpc, "compile", source, "--arch", "sm_90a", "--precision", "fp16", "--io-precision", "fp16", *dims, "-o", artifact, "--quiet",
                    "--no-cache"], check=True)
    return artifact


class Side:
    def __init__(self, runtime, artifact, spelling, sizes, batch, past):
        generator = torch.Generator("cuda").manual_seed(7)
        cache = [torch.randn(batch, sizes.groups, past, sizes.depth, generator=generator, device="cuda").half() for _ in range(2 * sizes.layers)]
        self.inputs, self.outputs = {"input_ids": torch.arange(batch, device="cuda")[:, None] % sizes.words}, {}
        if spelling.attention == "GroupQueryAttention":
            self.inputs["seqlens_k"] = torch.full((batch,), past, dtype=torch.int32, device="cuda")
            self.inputs["total_sequence_length"] = torch.tensor(past + 1, dtype=torch.int32, device="cuda")
        if spelling.attention == "TensorScatter":
            self.inputs["write_at"] = torch.full((batch,), past, device="cuda")
            self.inputs["valid"] = self.inputs["write_at"] + 1
        if spelling.rotary == "node":
            self.inputs["positions"] = torch.full((batch, 1), past, device="cuda")
        self.outputs["logits"] = torch.zeros(batch, 1, sizes.words, dtype=torch.float16, device="cuda")
        for number, own in enumerate(cache):
            name = f"{number // 2}.{('key', 'value')[number % 2]}"
            if spelling.shared:
                buffer = torch.zeros(batch, sizes.groups, ROOM, sizes.depth, dtype=torch.float16, device="cuda")
                buffer[:, :, :past] = own
                self.inputs[f"past.{name}"] = self.outputs[f"present.{name}"] = buffer
            else:
                self.inputs[f"past.{name}"] = own
                self.outputs[f"present.{name}"] = torch.zeros(batch, sizes.groups, past + 1, sizes.depth, dtype=torch.float16, device="cuda")
        self.session = Session(runtime, str(artifact))

    def __call__(self):
        self.session.run(self.inputs, self.outputs)

    def logits(self):
        self()
        torch.cuda.synchronize()
        return self.outputs["logits"].double()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--kpc", required=True)
    parser.add_argument("--before")
    parser.add_argument("--runtime", required=True)
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(SPELLINGS), help="spellings with commas between, joined among them")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    sizes = Sizes(layers=options.layers, hidden=2048, heads=32, groups=8, depth=64, wide=8192, words=1024, longest=8192)
    start = time.monotonic()
    spellings = {name: SPELLINGS[name] for name in options.only.split(",")}
    for name, spelling in spellings.items():
        onnx.save(token_models.model(spelling, sizes), options.folder / f"{name}.onnx", save_as_external_data=True, location=f"{name}.weights")
    print(f"models: {time.monotonic() - start:.0f} s", flush=True)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        made = {name: pool.submit(compiled, options.kpc, options.folder, name, spelling, sizes, "now") for name, spelling in spellings.items()}
        if options.before:
            made["shared before"] = pool.submit(compiled, options.before, options.folder, "shared", SPELLINGS["shared"], sizes, "before")
        made = {name: one.result() for name, one in made.items()}
    print(f"compiled: {time.monotonic() - start:.0f} s", flush=True)
    rows = []
    for batch, past in SIZES:
        sides = {name: Side(options.runtime, artifact, SPELLINGS[name.split()[0]], sizes, batch, past) for name, artifact in made.items()}
        want = sides["joined"].logits()
        errors = {name: side_by_side.error(side.logits(), want) for name, side in sides.items()}
        times = side_by_side.compare_bursts(sides, options.rounds)
        rows.append({"batch": batch, "past": past, "times": times, "errors": errors})
        print(f"{batch} x {past}: " + ", ".join(f"{name} {times[name]:.1f} us ({errors[name]:.1e})" for name in sides), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()

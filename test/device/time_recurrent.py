#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What recurrent.py compiled: right on a GPU, and LSTM layers beside PyTorch's (cuDNN), fp32 without tf32; two layers in fp16 and tf32.

    python3 time_recurrent.py FOLDER --runtime libkpc_runtime.so

Both sides in turn, events around one call of each, medians of 20.
"""

import argparse
import pathlib
import statistics
import sys

import numpy as np
import torch

import recurrent_layers
from kpc_session import Session

MOST_ERROR = {"fp32": 5e-5, "tf32": 2e-3, "fp16": 5e-3}  # RMS, of the reference's


def tensors(arrays, prefix):
    return {name[len(prefix):]: torch.from_numpy(np.array(arrays[name])).cuda()
            for name in arrays.files if name.startswith(prefix)}


def wrong(outputs, references, most):
    for name, reference in references.items():
        if reference.numel():
            scale = reference.double().square().mean().sqrt().clamp(min=1e-3)
            error = (outputs[name].double() - reference.double()).square().mean().sqrt() / scale
            if not error <= most:
                return f"{name} has an RMS error of {error:.1e}"
    return ""


def peer(weights):
    """PyTorch's layer: its gates are in another order."""
    def gates(array):
        i, o, f, c = np.split(array, 4)
        return torch.from_numpy(np.concatenate([i, f, c, o])).cuda()
    hidden = weights["r"].shape[2]
    layer = torch.nn.LSTM(weights["w"].shape[2], hidden).cuda()
    layer.load_state_dict({"weight_ih_l0": gates(weights["w"][0]), "weight_hh_l0": gates(weights["r"][0]),
                           "bias_ih_l0": gates(weights["b"][0][:4 * hidden]), "bias_hh_l0": gates(weights["b"][0][4 * hidden:])})
    return layer


def deep_peer(op, hidden):
    """PyTorch's two layers, bidirectional."""
    weights, gates = recurrent_layers.weights(op, hidden), recurrent_layers.GATES[op]

    def order(array):
        parts = np.split(array, gates)
        # ONNX: input, output, forget, cell; update, reset, new. PyTorch: input, forget, cell, output; reset, update, new.
        return torch.from_numpy(np.concatenate([parts[i] for i in ((0, 2, 3, 1) if gates == 4 else (1, 0, 2))])).cuda()
    layer = (torch.nn.LSTM if gates == 4 else torch.nn.GRU)(hidden, hidden, num_layers=2, bidirectional=True).cuda()
    values = {}
    for number in range(2):
        for way, suffix in enumerate(("", "_reverse")):
            half = gates * hidden
            values |= {f"weight_ih_l{number}{suffix}": order(weights[f"w{number}"][way]), f"weight_hh_l{number}{suffix}": order(weights[f"r{number}"][way]),
                       f"bias_ih_l{number}{suffix}": order(weights[f"b{number}"][way][:half]),
                       f"bias_hh_l{number}{suffix}": order(weights[f"b{number}"][way][half:])}
    layer.load_state_dict(values)
    layer.flatten_parameters()
    return layer


def set_tf32(allowed):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allowed


def compare(artifact, session, inputs, outputs, layer, given):
    times = [(microseconds(lambda: session.run(inputs, outputs)), microseconds(lambda: layer(given))) for _ in range(25)][5:]
    own, other = (statistics.median(side) for side in zip(*times))
    print(f"{artifact.stem}: kpc {own:.0f} us, PyTorch {other:.0f} us, ratio {other / own:.2f}", flush=True)


def run_deep(folder, library):
    """Two layers beside PyTorch's of the same precision; right by those of fp32. How many are wrong."""
    failed = 0
    for one in recurrent_layers.DEEP:
        op, batch, steps, hidden = one
        for precision in recurrent_layers.PRECISIONS:
            artifact = folder / f"{recurrent_layers.name(*one, precision)}.kpc"
            if not artifact.exists():
                continue
            session, layer = Session(library, str(artifact)), deep_peer(op, hidden)
            x = torch.randn(steps, batch, hidden, generator=torch.Generator("cuda").manual_seed(3), device="cuda")
            set_tf32(False)
            reference = layer(x)[0]
            if precision == "fp16":
                layer, x = layer.half(), x.half()
                layer.flatten_parameters()
            inputs, outputs = {"x": x}, {"y1": torch.zeros_like(reference, dtype=x.dtype)}
            for _ in range(3):
                session.run(inputs, outputs)
                torch.cuda.synchronize()
                if problem := wrong(outputs, {"y1": reference}, MOST_ERROR[precision]):
                    failed += 1
                    print(f"WRONG: {artifact.stem}: {problem}")
            set_tf32(True)
            compare(artifact, session, inputs, outputs, layer, x)
            session.close()
    set_tf32(False)
    return failed


def microseconds(call):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1000


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--runtime", required=True)
    options = parser.parse_args()
    failed = run_deep(options.folder, options.runtime)
    set_tf32(False)
    for artifact in sorted(options.folder.glob("*.kpc")):
        if artifact.stem.startswith("deep_"):
            continue
        session = Session(options.runtime, str(artifact))
        for arrays in sorted(options.folder.glob(f"{artifact.stem}.[0-9].npz")):
            arrays = np.load(arrays)
            inputs, references = tensors(arrays, "in_"), tensors(arrays, "out_")
            for _ in range(3):
                outputs = {name: torch.zeros_like(reference) for name, reference in references.items()}
                session.run(inputs, outputs)
                torch.cuda.synchronize()
                if problem := wrong(outputs, references, MOST_ERROR["fp32"]):
                    failed += 1
                    print(f"WRONG: {artifact.stem}: {problem}")
        if artifact.stem.startswith("lstm_b"):
            layer = peer(np.load(options.folder / f"{artifact.stem}.weights.npz"))
            compare(artifact, session, inputs, outputs, layer, inputs["x"])
        session.close()
    print(f"{failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

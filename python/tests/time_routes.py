# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times modules of PyTorch on a GPU by both ways into kpc: torch.export's file and PyTorch's ONNX exporter.

    python python/tests/time_routes.py [--arch sm_90a] [--rounds 21] [--json FILE]

Both artifacts of a network, each with sessions of its own on the same device, and torch.compile(backend="kpc") take turns in
one process. The order is drawn anew in each round, and each turn warms up first, so that none gains or loses by what ran before.
A line has the median of the rounds in microseconds for each, and .pt2's share of ONNX's time, with the quartiles of the rounds.
`pt2 again / pt2` is the share of a second session of the same artifact: what is nearer to 1 than that is noise of addresses and
clocks. `same` says how many launches both plans share, of how many; `differ` names the others. Networks have their usual sizes and
random weights. It needs torch, torchvision, transformers and onnxscript.
"""

import argparse
import collections
import json
import pathlib
import random
import re
import statistics
import sys
import tempfile
import time

import torch

import kpc
from kpc._compile import model_file
from kpc._executable import ask


def bert():
    import transformers

    model = transformers.BertModel(transformers.BertConfig(), add_pooling_layer=False)
    return Hidden(model), (torch.randint(0, 30000, (8, 128)),)


class Hidden(torch.nn.Module):
    def __init__(self, inner, **fixed):
        super().__init__()
        self.inner, self.fixed = inner, fixed

    def forward(self, ids):
        return self.inner(ids, **self.fixed)[0]


def vision(name, batch):
    import torchvision

    return torchvision.models.get_model(name, weights=None), (torch.randn(batch, 3, 224, 224),)


def gpt2():
    import transformers

    return Hidden(transformers.GPT2Model(transformers.GPT2Config(n_layer=6)), use_cache=False), (torch.randint(0, 50000, (4, 256)),)


def llama():
    import transformers

    config = transformers.LlamaConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=6, num_attention_heads=16,
                                      num_key_value_heads=4, vocab_size=32000)
    return Hidden(transformers.LlamaModel(config), use_cache=False), (torch.randint(0, 32000, (1, 512)),)


NETWORKS = {
    "bert 8x128": bert,
    "gpt2 4x256": gpt2,
    "llama 1x512": llama,
    "resnet50 32": lambda: vision("resnet50", 32),
    "convnext_tiny 8": lambda: vision("convnext_tiny", 8),
    "vit_b_16 8": lambda: vision("vit_b_16", 8),
    "mobilenet_v3_large 8": lambda: vision("mobilenet_v3_large", 8),
}


def trained(module):
    """Zero biases and norms of no training would let an exporter drop additions that every trained network has."""
    with torch.no_grad():
        for value in module.parameters():
            if not value.any():
                value.normal_(0, 0.02)
        for name, value in module.named_buffers():
            if name.endswith("running_mean"):
                value.normal_(0, 0.1)
            elif name.endswith("running_var"):
                value.uniform_(0.8, 1.2)
    return module


def timer(call):
    """Microseconds of a call, a mean over calls that are queued together."""

    def measured(count=30, warm=10):
        for _ in range(warm):
            call()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            call()
        torch.cuda.synchronize()
        return (time.perf_counter() - start) / count * 1e6

    return measured


def launches(source, arch):
    """How many kernels the plan has of each kind and title, with the types of their operands. Names and order do not count."""
    with tempfile.TemporaryDirectory() as folder:
        plan = pathlib.Path(folder, "model.plan.mlir")
        ask(["compile", source, "--arch", arch, "--precision", "fp16", "--emit", "plan", "--output", str(plan), "-q"])
        found = collections.Counter()
        for line in plan.read_text().splitlines():
            if "plan.launch" in line:
                kind, title = (re.search(rf'{key} = "([^"]*)"', line).group(1) for key in ("kind", "title"))
                found[f"{kind}: {title} {line[line.rindex(' : (') + 3:]}"] += 1
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    options = parser.parse_args()
    rows = {}
    for name, build in NETWORKS.items():
        if options.only not in name:
            continue
        torch.manual_seed(0)
        module, inputs = build()
        module = trained(module.eval())
        sides, plans = {}, {}
        on_device = [value.cuda() for value in inputs]
        for via in ("pt2", "onnx"):
            with model_file(module, inputs, None, via) as source:
                artifact = kpc.compile(source, arch=options.arch, precision="fp16", cache=False)
                plans[via] = launches(source, options.arch)
            for side in (via, f"{via} again"):
                session = artifact.session("cuda")
                sides[side] = timer(session.call(dict(zip([spec.name for spec in artifact.inputs], on_device))))
        half = module.half().cuda()
        halves = [value.half() if value.is_floating_point() else value for value in on_device]
        with torch.inference_mode():
            fast = torch.compile(half, backend="kpc", options={"arch": options.arch})
            sides["torch.compile, kpc"] = timer(lambda: fast(*halves))
            sides["PyTorch"] = timer(lambda: half(*halves))
            times = {side: [] for side in sides}
            order, drawn = list(sides), random.Random(0)
            for _ in range(options.rounds):
                drawn.shuffle(order)
                for side in order:
                    times[side].append(sides[side]())
        torch._dynamo.reset()
        row = {side: statistics.median(values) for side, values in times.items()}

        def share(above, below):
            return [a / b for over, under in zip(above, below) for a, b in zip(times[over], times[under])]

        shares = share(("pt2", "pt2 again"), ("onnx", "onnx again"))
        row["pt2 / onnx"] = statistics.median(shares)
        row["quartiles"] = [round(value, 3) for value in statistics.quantiles(shares, n=4)[::2]]
        row["pt2 again / pt2"] = statistics.median(share(["pt2 again"], ["pt2"]))
        row["onnx again / onnx"] = statistics.median(share(["onnx again"], ["onnx"]))
        row["same"] = sum((plans["pt2"] & plans["onnx"]).values())
        row["launches"] = [sum(plans[via].values()) for via in ("pt2", "onnx")]
        row["differ"] = {via: sorted((plans[via] - plans[other]).elements()) for via, other in (("pt2", "onnx"), ("onnx", "pt2"))}
        rows[name] = row
        print(f"{name:22} " + "  ".join(f"{key} {value:.3f}" if "/" in key else f"{key} {value:.0f}" if isinstance(value, float) else
                                       f"{key} {value}" for key, value in row.items() if key != "differ"), flush=True)
        for via, lines in row["differ"].items():
            for line in lines:
                print(f"    only {via}: {line}", flush=True)
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

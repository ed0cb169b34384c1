#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks that nobody tuned for, beside PyTorch: with kpc's default precision, and in fp16.

    python3 unseen_networks.py FOLDER --kpc kpc --runtime libkpc_runtime.so [--json FILE] [--only REGEX] [--rounds 5]
                               [--precision model,fp16] [--arch sm_90a] [--compile]

Each network is exported by PyTorch's dynamo exporter with a dynamic batch and random weights, and compiled once a
precision, tuned for its last batch. PyTorch's side is eager, recorded as a CUDA graph: in fp32 with TF32 allowed beside
`model` and `tf32`, with TF32 off beside `fp32`, else in 16 bits, images channels-last. With --compile,
torch.compile(mode="reduce-overhead") is another side, compiled for each batch. `error` and `torch_error` are RMS errors
against PyTorch in fp32 without TF32, `ratio` is the time of PyTorch's faster side over kpc's; the sides take turns.
"""

import argparse
import concurrent.futures
import copy
import dataclasses
import json
import math
import pathlib
import re
import subprocess
import sys
import time
import traceback

import torch

import image_networks
import network_sides
import sequence_networks
from kpc_session import Session
from side_by_side import error

TYPES = {"model": torch.float32, "tf32": torch.float32, "fp32": torch.float32, **network_sides.TYPES}


@dataclasses.dataclass(frozen=True)
class Unseen:
    name: str
    family: str  # torchvision, timm, transformers, or image_networks.py, sequence_networks.py
    batches: tuple
    shape: tuple  # without the batch; of ids: (sequence,)


NETWORKS = [
    Unseen("resnet50", "torchvision", (1, 32), (3, 224, 224)),
    Unseen("vgg16", "torchvision", (1, 16), (3, 224, 224)),
    Unseen("densenet121", "torchvision", (1, 32), (3, 224, 224)),
    Unseen("inception_v3", "torchvision", (1, 16), (3, 299, 299)),
    Unseen("efficientnet_b0", "torchvision", (1, 32), (3, 224, 224)),
    Unseen("convnext_tiny", "torchvision", (1, 32), (3, 224, 224)),
    Unseen("regnet_y_8gf", "torchvision", (1, 32), (3, 224, 224)),
    Unseen("swin_t", "torchvision", (1, 32), (3, 224, 224)),
    Unseen("r3d_18", "torchvision", (1, 8), (3, 16, 112, 112)),
    Unseen("deeplabv3_resnet50", "torchvision", (1, 4), (3, 512, 512)),
    Unseen("mixer_b16_224", "timm", (1, 32), (3, 224, 224)),
    Unseen("coatnet_0_rw_224", "timm", (1, 16), (3, 224, 224)),
    Unseen("denoiser", "images", (1, 4), (4, 64, 64)),
    Unseen("segmenter", "images", (1, 8), (3, 256, 256)),
    Unseen("generator", "images", (1, 8), (64, 16, 16)),
    Unseen("separator", "sequences", (1, 8), (1, 16000)),
    Unseen("listener", "sequences", (1, 16), (80, 400)),
    Unseen("counter", "sequences", (1, 64), (24, 256)),
    Unseen("volumes", "sequences", (1, 4), (1, 64, 64, 64)),
    Unseen("roberta", "transformers", (1, 16), (128,)),
    Unseen("gpt_neox", "transformers", (1, 4), (512,)),
]


class First(torch.nn.Module):
    """A network's first result as a tensor."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        y = self.module(x)
        if isinstance(y, torch.Tensor):
            return y
        return next(iter(y.values() if hasattr(y, "values") else y))


def make(network):
    torch.manual_seed(1)
    if network.family == "torchvision":
        import torchvision
        groups = (torchvision.models, torchvision.models.video, torchvision.models.segmentation)
        maker = next(getattr(group, network.name) for group in groups if hasattr(group, network.name))
        more = {"init_weights": True} if network.name == "inception_v3" else {}
        module = maker(weights=None, **({"weights_backbone": None} if "deeplab" in network.name else {}), **more)
    elif network.family == "images":
        module = image_networks.MAKERS[network.name]()
    elif network.family == "sequences":
        module = sequence_networks.MAKERS[network.name]()
    elif network.family == "timm":
        import timm
        module = timm.create_model(network.name, pretrained=False)
    else:
        import transformers
        config = {"roberta": lambda: transformers.RobertaConfig(num_hidden_layers=6),
                  "gpt_neox": lambda: transformers.GPTNeoXConfig(num_hidden_layers=6, hidden_size=1024, num_attention_heads=16,
                                                                 intermediate_size=4096, vocab_size=1000)}[network.name]()
        config.use_cache = False
        module = transformers.AutoModel.from_config(config, attn_implementation="sdpa")
    settle_norms(module, network)
    return First(module.eval())


def settle_norms(module, network):
    """Batch norms take the statistics of a batch: with those of no training, values leave the range of fp16."""
    norms = [part for part in module.modules() if isinstance(part, torch.nn.modules.batchnorm._BatchNorm)]
    for norm in norms:
        norm.momentum = 1.0
    if norms:
        with torch.no_grad():
            module.train()(feed(network, 4))


def feed(network, batch):
    generator = torch.Generator().manual_seed(3)
    if len(network.shape) == 1:
        return torch.randint(2, 900, (batch, *network.shape), generator=generator)
    return torch.randn((batch, *network.shape), generator=generator)


def prepare(network, options):
    """Exports and compiles; in a process of its own. Gives problems by precision."""
    torch.set_grad_enabled(False)
    torch.set_num_threads(2)
    path = options.folder / f"{network.name}.onnx"
    try:
        batch = torch.export.Dim("batch", min=1, max=64)
        torch.onnx.export(make(network), (feed(network, 2),), path, dynamo=True, dynamic_shapes=({0: batch},),
                          input_names=["x"], output_names=["y"], verbose=False)
    except Exception:
        return {"": traceback.format_exc()[-500:]}
    problems = {}
    for precision in options.precision:
        done = subprocess.run([options.kpc, "compile", path, "--arch", options.arch, "--precision", precision, "--dim",
                               f"batch=1..64:opt={network.batches[-1]}", "-o", path.with_suffix(f".{precision}.kpc"),
                               "--jobs", "3", "--cache-dir", options.folder / "cache"], capture_output=True, text=True)
        said = done.stdout + done.stderr
        path.with_suffix(f".{precision}.log").write_text(said)
        if done.returncode:
            problems[precision] = said[-500:]
    if options.compile:
        compile_ahead(network, options)
    return problems


def peer(module, network, precision):
    """PyTorch's module and its input's form."""
    dtype, images = TYPES[precision], len(network.shape) == 3
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != "fp32"
    last = {"memory_format": torch.channels_last} if images and dtype != torch.float32 else {}
    theirs = copy.deepcopy(module).cuda().to(dtype)
    return theirs.to(**last) if last else theirs, lambda x: (x.to(dtype) if x.is_floating_point() else x).contiguous(**last)


def compile_ahead(network, options):
    """Fills torch.compile's cache on disk, so that networks compile at the same time and are measured one by one."""
    torch.backends.cudnn.benchmark = True
    for precision in options.precision:
        try:
            theirs, form = peer(make(network), network, precision)
            for batch in network.batches:
                torch.compiler.reset()
                network_sides.compiled(theirs)(form(feed(network, batch).cuda()))
        except Exception:
            print(f"{network.name} {precision}: torch.compile: {traceback.format_exc()[-300:]}", flush=True)
    torch.cuda.empty_cache()


def recorded(module, x):
    """A call that replays the module on `x`."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            module(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = module(x)
    return graph.replay, y


def compiled_call(module, x, row):
    """A call of the module by torch.compile for these sizes alone; None where that fails."""
    torch.compiler.reset()
    fast = network_sides.compiled(module)
    start = time.monotonic()
    try:
        for _ in range(3):
            fast(x)
        torch.cuda.synchronize()
    except Exception:
        print(f"torch.compile: {traceback.format_exc()[-300:]}", flush=True)
        return None
    row["compile_seconds"] = time.monotonic() - start
    return lambda: fast(x)


def measure(network, precision, module, options):
    rows = []
    wide = copy.deepcopy(module).cuda()
    theirs, form = peer(module, network, precision)
    session = Session(options.runtime, str(options.folder / f"{network.name}.{precision}.kpc"))
    for batch in network.batches:
        x = feed(network, batch).cuda()
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        want = wide(x)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != "fp32"
        own = form(x)
        replay, y = recorded(theirs, own)
        replay()
        torch.cuda.synchronize()
        row = {"network": network.name, "batch": batch, "precision": precision, "torch_error": error(y, want)}
        out = {"y": torch.empty_like(want, memory_format=torch.contiguous_format)}
        given = {"x": x}
        row["error"], row["same"] = network_sides.results(session, given, out, [want])
        sides = {"kpc": lambda: session.run(given, out), "torch": replay}
        if options.compile:
            sides["compile"] = compiled_call(theirs, own, row)
        times = network_sides.medians({name: call for name, call in sides.items() if call}, options.rounds)
        row.update(times, ratio=min(us for name, us in times.items() if name != "kpc") / times["kpc"])
        rows.append(row)
        print(f"{network.name:20} {batch:3} {precision:6} error {row['error']:.1e} PyTorch's {row['torch_error']:.1e}  "
              f"{'same' if row['same'] else 'NOT THE SAME'}  kpc {row['kpc']:9.1f} us  PyTorch {row['torch']:9.1f}"
              f"{' compile %9.1f' % row['compile'] if 'compile' in row else ''}  {row['ratio']:.3f}",
              flush=True)
    session.close()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--runtime", required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--precision", default="model,fp16", type=lambda text: text.split(","))
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=7)
    parser.add_argument("--compile", action="store_true", help="torch.compile as another side")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    chosen = [network for network in NETWORKS if re.search(options.only, network.name)]
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        problems = list(pool.map(prepare, chosen, [options] * len(chosen)))
    torch.set_grad_enabled(False)
    torch.backends.cudnn.benchmark = True
    rows, failed = [], 0
    for network, lost in zip(chosen, problems):
        module = make(network)
        for precision in options.precision:
            problem = lost.get("") or lost.get(precision)
            if not problem:
                try:
                    rows += measure(network, precision, module, options)
                    continue
                except Exception:
                    problem = traceback.format_exc()[-500:]
            failed += 1
            print(f"{network.name} {precision}: {problem}", flush=True)
        torch.cuda.empty_cache()
    for precision in options.precision:
        ratios = [row["ratio"] for row in rows if row["precision"] == precision]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"{precision}: {len(ratios)} cases, geometric mean {mean:.3f}, least {min(ratios):.3f}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

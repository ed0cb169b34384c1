#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long PyTorch takes for the test models: what `kpc bench --no-transfers` is to be held against.

    python3 time_torch.py --work-dir DIR --models resnet50.dynamo,… [--precision fp32,fp16] [--batch 1,8] --json FILE

DIR holds the models with weights, as compare_torch.py leaves them. Inputs and outputs stay on the GPU, one CUDA graph
is replayed for each run (as kpc does); tf32 is off, cuDNN chooses its fastest algorithm, images are channels-last.
Median of 50 runs, in milliseconds.
"""

import argparse
import json
import pathlib
import statistics
import sys

import onnx
import torch

import compare_torch
import inputs

TYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
RUNS = 50


def captured(module, image):
    """A replay of one run as a CUDA graph."""
    stream = torch.cuda.Stream()
    with torch.no_grad(), torch.cuda.stream(stream):
        for _ in range(5):
            module(image)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        module(image)
    return graph.replay


def median_ms(run):
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times = []
    for i in range(RUNS + 5):
        start.record()
        run()
        stop.record()
        stop.synchronize()
        if i >= 5:
            times.append(start.elapsed_time(stop))
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--models", required=True)
    parser.add_argument("--precision", default="fp32,fp16")
    parser.add_argument("--batch", default="1,8")
    parser.add_argument("--json", type=pathlib.Path, required=True)
    options = parser.parse_args()
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.benchmark = True

    found = []
    for stem in options.models.split(","):
        path = options.work_dir / f"{stem}.onnx"
        model = onnx.load(str(path), load_external_data=False)
        for precision in options.precision.split(","):
            module = compare_torch.torch_module(path).to("cuda", TYPES[precision])
            for batch in (int(text) for text in options.batch.split(",")):
                image = torch.from_numpy(inputs.for_model(model, batch)["input"]).to("cuda", TYPES[precision])
                if image.dim() == 4:
                    module = module.to(memory_format=torch.channels_last)
                    image = image.to(memory_format=torch.channels_last)
                found.append({"model": stem, "precision": precision, "batch": batch,
                              "ms": median_ms(captured(module, image))})
                print(found[-1], flush=True)
                options.json.write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

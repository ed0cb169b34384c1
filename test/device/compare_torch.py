#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The test models on a GPU, fp32 and fp16, at two batch sizes, against PyTorch in fp32.

    python3 compare_torch.py --kpc bin/kpc --work-dir DIR [--models resnet50.dynamo,…] [--precision fp32,fp16]
                             [--batch 1,8] [--arch sm_90a] [--device cuda:0] [--self-check]

The reference is torchvision's module with the generated weights put in place, so a mistake in the exporter or in
kpc's reading of its file shows as well. Batch-norms that the exporter folded into convolutions are taken out of the
module. `--self-check` runs no kpc: it compares PyTorch with onnxruntime on the CPU.
Needs torch, torchvision, onnx, onnxruntime (with --self-check) and a GPU; no part of the tests that run without one.
"""

import argparse
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import torch
from onnx import numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "models"))

import export
import inputs
import tolerance
import weights

TOLERANCES = {"fp32": tolerance.FP32, "fp16": tolerance.FP16}


def module_path(node):
    """Which submodule a Conv or Gemm node came from: its weight says so, or its own name does."""
    weight = node.input[1]
    if weight.endswith(".weight"):
        return weight[:-len(".weight")]
    parts = []
    for part in node.name.split("/")[1:-1]:  # "/layer1/layer1.0/conv1/Conv"
        if parts and part.startswith(parts[-1] + "."):
            parts[-1] = part
        else:
            parts.append(part)
    return ".".join(parts)


def replace(module, path, new):
    parent, _, name = path.rpartition(".")
    setattr(module.get_submodule(parent), name, new)


def reference(path):
    """The PyTorch module that the file was exported from, with the file's weights."""
    model = onnx.load(str(path))
    values = {t.name: torch.from_numpy(numpy_helper.to_array(t).copy()) for t in model.graph.initializer}
    make, _ = export.MODELS[path.name.split(".")[0]]
    module = make().eval()
    norms = [name for name, part in module.named_modules() if isinstance(part, torch.nn.BatchNorm2d)]
    if any(node.op_type == "BatchNormalization" for node in model.graph.node):
        module.load_state_dict({name: value for name, value in values.items() if name in module.state_dict()},
                               strict=False)
        return module
    for name in norms:
        replace(module, name, torch.nn.Identity())
    for node in model.graph.node:
        if node.op_type not in ("Conv", "Gemm"):
            continue
        part = module.get_submodule(module_path(node))
        with torch.no_grad():
            part.weight.copy_(values[node.input[1]])
            if part.bias is None:
                part.bias = torch.nn.Parameter(values[node.input[2]].clone())
            part.bias.copy_(values[node.input[2]])
    return module


def run_kpc(kpc, arguments):
    result = subprocess.run([str(kpc)] + [str(a) for a in arguments], capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"kpc {arguments[0]}: exit code {result.returncode}\n{result.stdout}{result.stderr}")


def judge(label, got, want, allowed):
    found = tolerance.difference(got, want)
    good = got.shape == want.shape and found.within(allowed)
    print(f"{label}: {found} ({'ok' if good else 'TOO FAR'})", flush=True)
    return good


def self_check(path, model, module, batches):
    import onnxruntime
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    good = True
    for batch in batches:
        feed = inputs.for_model(model, batch)
        with torch.no_grad():
            want = module(torch.from_numpy(feed["input"])).numpy()
        good &= judge(f"{path.stem} onnxruntime batch {batch}", session.run(None, feed)[0], want, tolerance.FP32)
    return good


def on_device(path, model, module, batches, precision, options):
    artifact = path.parent / f"{path.stem}.{precision}.kpc"
    more = [] if precision == "fp32" else ["--precision", precision, "--io-precision", "fp32"]
    run_kpc(options.kpc, ["compile", path, "--arch", options.arch, "-o", artifact, "--quiet"] + more)
    good = True
    for batch in batches:
        feed = inputs.for_model(model, batch)
        with torch.no_grad():
            want = module(torch.from_numpy(feed["input"])).numpy()
        folder = path.parent / f"{path.stem}.{precision}.{batch}"
        folder.mkdir(exist_ok=True)
        np.save(folder / "input.npy", feed["input"])
        run_kpc(options.kpc, ["run", artifact, "--input", f"input={folder / 'input.npy'}", "--output-dir", folder,
                              "--device", options.device])
        got = np.load(folder / "output.npy")
        good &= judge(f"{path.stem} {precision} batch {batch}", got, want, TOLERANCES[precision])
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", type=pathlib.Path)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    graphs = pathlib.Path(weights.__file__).parent / "graphs"
    parser.add_argument("--models", default=",".join(sorted(p.stem for p in graphs.glob("*.onnx"))))
    parser.add_argument("--precision", default="fp32,fp16")
    parser.add_argument("--batch", default="1,8")
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--self-check", action="store_true")
    options = parser.parse_args()
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False

    batches = [int(text) for text in options.batch.split(",")]
    failed = []
    for stem in options.models.split(","):
        path = weights.generate(graphs / f"{stem}.onnx", options.work_dir)
        model = onnx.load(str(path), load_external_data=False)
        module = reference(path)
        runs = [("", lambda: self_check(path, model, module, batches))] if options.self_check else [
            (precision, lambda p=precision: on_device(path, model, module, batches, p, options))
            for precision in options.precision.split(",")]
        for name, run in runs:
            try:
                good = run()
            except RuntimeError as error:
                print(f"{stem} {name}: {error}", flush=True)
                good = False
            if not good:
                failed.append(f"{stem} {name}".strip())
    print(f"{len(failed)} failed{': ' + ', '.join(failed) if failed else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

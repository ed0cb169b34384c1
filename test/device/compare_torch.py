#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The test models on a GPU, in fp32, fp16 and bf16, at two batch sizes, against PyTorch in fp32.

    python3 compare_torch.py --kpc bin/kpc --work-dir DIR [--models resnet50.dynamo,…] [--precision fp32,fp16,bf16]
                             [--batch 1,8] [--arch sm_90a] [--device cuda:0] [--json FILE]
                             [--peer onnxruntime] [--self-check]

The reference is torchvision's module with the generated weights put in place, so a mistake in the exporter or in
kpc's reading of its file shows as well. Batch-norms that the exporter folded into convolutions are taken out of the
module. `--peer onnxruntime` needs no PyTorch: the same file by onnxruntime on the CPU. `--self-check` runs no kpc: it
compares PyTorch with onnxruntime.
Needs torch, torchvision, onnx, onnxruntime (where it is the peer) and a GPU; no part of the tests that run without one.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "models"))

import export
import inputs
import tolerance
import weights

GRAPHS = pathlib.Path(weights.__file__).parent / "graphs"


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


def torch_module(path):
    """The PyTorch module that the file was exported from, with the file's weights."""
    import torch
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


def torch_peer(path, device):
    """Runs one input through PyTorch in fp32, on the GPU that kpc runs on."""
    import torch
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    module = torch_module(path).to(device)

    def run(feed):
        with torch.no_grad():
            return module(torch.from_numpy(feed["input"]).to(device)).cpu().numpy()

    return run


def onnxruntime_peer(path):
    import onnxruntime
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return lambda feed: session.run(None, feed)[0]


def run_kpc(kpc, arguments):
    result = subprocess.run([str(kpc)] + [str(a) for a in arguments], capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"kpc {arguments[0]}: exit code {result.returncode}\n{result.stdout}{result.stderr}")


def judge(found, got, want, allowed, **what):
    """Notes how far a result is from its reference."""
    difference = tolerance.difference(got, want) if got.shape == want.shape else tolerance.Difference(np.inf, np.inf)
    good = difference.within(allowed)
    label = " ".join(f"batch {value}" if name == "batch" else value for name, value in what.items())
    print(f"{label}: {difference} ({'ok' if good else 'TOO FAR'})", flush=True)
    found.append(dict(what, rms=difference.rms, largest=difference.largest, allowed_rms=allowed.rms, good=good))


def artifact_path(folder, stem, precision):
    return pathlib.Path(folder) / f"{stem}.{precision}.kpc"


def on_device(found, path, model, peer, batches, precision, options):
    artifact = artifact_path(path.parent, path.stem, precision)
    more = ["--precision", precision, "--io-precision", "fp32"]
    run_kpc(options.kpc, ["compile", path, "--arch", options.arch, "-o", artifact, "--quiet", "--cache-dir",
                          options.work_dir / "cache"] + more)
    for batch in batches:
        feed = inputs.for_model(model, batch)
        folder = path.parent / f"{path.stem}.{precision}.{batch}"
        folder.mkdir(exist_ok=True)
        np.save(folder / "input.npy", feed["input"])
        run_kpc(options.kpc, ["run", artifact, "--input", f"input={folder / 'input.npy'}", "--output-dir", folder,
                              "--device", options.device])
        judge(found, np.load(folder / "output.npy"), peer(feed), tolerance.OF_PRECISION[precision],
              model=path.stem, precision=precision, batch=batch)


def check_model(found, stem, options):
    path = weights.generate(GRAPHS / f"{stem}.onnx", options.work_dir)
    model = onnx.load(str(path), load_external_data=False)
    batches = [int(text) for text in options.batch.split(",")]
    if options.self_check:
        mine, theirs = onnxruntime_peer(path), torch_peer(path, "cpu")
        for batch in batches:
            feed = inputs.for_model(model, batch)
            judge(found, mine(feed), theirs(feed), tolerance.FP32, model=path.stem, precision="onnxruntime",
                  batch=batch)
        return
    peer = onnxruntime_peer(path) if options.peer == "onnxruntime" else torch_peer(path, options.device)
    for precision in options.precision.split(","):
        try:
            on_device(found, path, model, peer, batches, precision, options)
        except RuntimeError as error:
            print(f"{stem} {precision}: {error}", flush=True)
            found.append({"model": stem, "precision": precision, "good": False, "error": str(error)})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", type=pathlib.Path)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--models", default=",".join(sorted(p.stem for p in GRAPHS.glob("*.onnx"))))
    parser.add_argument("--precision", default="fp32,fp16,bf16")
    parser.add_argument("--batch", default="1,8")
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--peer", choices=("torch", "onnxruntime"), default="torch")
    parser.add_argument("--self-check", action="store_true")
    parser.add_argument("--json", type=pathlib.Path, help="write what was found here")
    options = parser.parse_args()

    found = []
    for stem in options.models.split(","):
        check_model(found, stem, options)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    failed = [f"{f['model']} {f['precision']}" for f in found if not f["good"]]
    print(f"{len(failed)} failed{': ' + ', '.join(failed) if failed else ''}")
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the kernels that a network gets by way of ONNX with those that it gets from PyTorch's own file.

  same_kernels.py --kpc KPC --out FOLDER [--arch ARCH] [NAME …]

Each network stands in test/models twice: exported to ONNX (graphs/) and saved by torch.export or torch.jit (programs/,
scripts/). Transformers are smaller in the latter, with as many layers; so kernels are compared by what they are, not by
their sizes: the plan's kinds and titles, as `GEMM + bias + GELU`. GEMMs, convolutions, attention, softmax and norms must be
the same ones; of the others, those in DIFFERENCES may differ, for the reason that stands there.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

try:
    import numpy  # noqa: F401  what the other scripts need
    import onnx
except ImportError:
    sys.exit(77)

import program

HERE = pathlib.Path(__file__).parent
# The ONNX graph and PyTorch's own file of each network.
PAIRS = {
    "resnet50": ("resnet50.torchscript-batchnorm", "tv_resnet50"),
    "distilbert": ("distilbert.dynamo", "hf_distilbert"),
    "gpt2": ("gpt2.dynamo", "hf_gpt2"),
    "bert": ("bert.dynamo", "hf_bert"),
    "vit": ("vit.dynamo", "hf_vit"),
    "llama": ("llama.dynamo", "hf_llama"),
}
POOLER = "the ONNX export has BERT's pooler, which the .pt2 file's first output does not need"
TYPE = "the exporter asks the mask a question that gives the bias's type at once; PyTorch's file has bools"
TURNED = "weights of which one file has the transposes are turned once, when compiling"
#: Kernels that only one of the two has, by words of their titles.
DIFFERENCES = {
    "distilbert": {TYPE: ("convert", "select"), TURNED: ("transpose",)},
    "bert": {TYPE: ("convert", "select"), TURNED: ("transpose",), POOLER: ("tanh", "gather x")},
    "vit": {TURNED: ("transpose",)},
    "llama": {TURNED: ("transpose",)},
}
MUST = ("GEMM", "convolution", "attention", "softmax", "normalization")


def ranges(model):
    """What a .pt2 file says itself: no dim is 0, so that an attention is one kernel."""
    if model.suffix != ".onnx":
        return []
    inputs = onnx.load(model, load_external_data=False).graph.input
    names = {dim.dim_param for value in inputs for dim in value.type.tensor_type.shape.dim if dim.dim_param}
    return [f"--dim={name}=1..32768" for name in sorted(names)]


def kernels(kpc, model, arch):
    """How many kernels there are of each kind and title."""
    plan = subprocess.run([kpc, "compile", str(model), "--arch", arch, *ranges(model), "--emit", "plan", "-o", "-", "-q"],
                          capture_output=True, text=True)
    if plan.returncode:
        raise RuntimeError(plan.stderr.strip())
    found = collections.Counter()
    for line in plan.stdout.splitlines():
        if "plan.launch" in line:
            kind, title = (re.search(rf'{key} = "([^"]*)"', line) for key in ("kind", "title"))
            # Sizes differ: "GEMM 4x3x2 + bias" is "GEMM + bias".
            title = re.sub(r"\{[^}]*\}|\d+|(?<=[ }])x+(?= |$)", "", title.group(1))
            title = re.sub(r" of .*?(?= \+|$)", "", title)
            found[kind.group(1), re.sub(r"\s+", " ", title).strip()] += 1
    return found


def compare(name, options):
    """None, or what is wrong."""
    graph, saved = PAIRS[name]
    onnx_file = options.out / f"{graph}.onnx"
    if not onnx_file.exists():
        subprocess.run([sys.executable, HERE / "weights.py", HERE / "graphs" / f"{graph}.onnx", "--output-dir", options.out],
                       check=True, capture_output=True)
    pt2_file = program.with_weights(HERE / "programs" / f"{saved}.pt2", options.out)
    try:
        by_onnx, by_pt2 = (kernels(options.kpc, model, options.arch) for model in (onnx_file, pt2_file))
    except RuntimeError as error:
        return str(error)
    allowed = [word for words in DIFFERENCES.get(name, {}).values() for word in words]
    wrong = [f"'{kind}: {title}' {by_onnx[kind, title]} times by ONNX, {by_pt2[kind, title]} times from PyTorch's file"
             for kind, title in sorted(by_onnx | by_pt2) if by_onnx[kind, title] != by_pt2[kind, title]
             and not any(word in title for word in allowed)]
    both = by_onnx & by_pt2
    count = sum(n for (kind, _), n in both.items() if kind in MUST)
    if not count:
        wrong.append("they share no kernel")
    print(f"        {name}: {sum(by_onnx.values())} kernels by ONNX, {sum(by_pt2.values())} from PyTorch's file; the same "
          f"{sum(both.values())}, {count} of them GEMMs, convolutions, attention, softmax and norms")
    for reason, words in DIFFERENCES.get(name, {}).items():
        print(f"          may differ: {', '.join(words)} ({reason})")
    return "; ".join(wrong) or None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kpc", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    faults = 0
    for name in options.names or PAIRS:
        fault = compare(name, options)
        print(f"{'FAILED' if fault else 'ok':8}{name}{': ' + fault if fault else ''}", flush=True)
        faults += fault is not None
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

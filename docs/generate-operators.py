#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/operators.md, what imports of ONNX and on which path it runs, from the compiler's own table (`kpc ops --json`).

    python3 docs/generate-operators.py build/dev/bin/kpc            # writes docs/operators.md
    python3 docs/generate-operators.py build/dev/bin/kpc --check    # exits 1 if the page is not what would be written

Operators, opsets and limits are what the rules say. The path follows from the family of a rule, and is said for single
operators where it differs. What a path is on each target is the table of README.md.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/operators.md"
NEWEST = 1000  # `until` of domains that number no opsets

# Paths that README.md's table has a row for, and the words of the page.
ROWS = {
    "GEMM": "[MatMul, GEMM]",
    "convolution": "[convolution]",
    "attention": "[attention, prefill]",
    "rows": "[softmax and norms]",
}
# What the others are, the same on all targets.
OTHERS = {
    "elementwise": "fused into the kernel in front or behind, with vectors on the host",
    "movement": "an index or a view in the kernel that reads it, else one kernel that copies",
    "reduction": "one kernel, with what is computed in front of it ([how](kernels/reductions.md))",
    "window": "one kernel that reads each element once or from caches",
    "sort": "merge sorts ([how](kernels/sort-and-scatter.md))",
    "scatter": "a kernel of its own, after a sort of the updates where they are many ([how](kernels/sort-and-scatter.md))",
    "gather": "a lookup in the kernel that reads it",
    "loop": "a loop of the plan around its body's kernels ([how](runtime.md#models-and-sessions))",
    "draw": "elementwise, from the node's seed",
    "compiling": "gone when the model is compiled, or a size",
}
FAMILIES = {
    "elementwise": "elementwise", "activation": "elementwise", "logical": "elementwise", "cast": "elementwise",
    "constant": "compiling", "shape": "movement", "movement": "movement", "indexing": "gather", "selection": "scatter",
    "sequence": "compiling", "reduction": "reduction", "normalization": "rows", "convolution": "convolution",
    "pooling": "window", "matmul": "GEMM", "quantization": "elementwise", "loss": "rows", "resize": "gather",
    "control": "loop", "recurrent": "loop, GEMM", "sampling": "gather", "linear": "GEMM", "attention": "attention",
    "carried-state": "movement", "random": "draw", "patch": "movement", "region": "gather, reduction",
    "linear-attention": "loop, GEMM", "feature": "elementwise", "microsoft-fused": "rows",
    "microsoft-quantized": "elementwise", "tensorrt": "elementwise", "matmul-nbits": "GEMM",
    "microsoft-attention": "attention", "microsoft-branch": "elementwise", "microsoft-rare": "elementwise", "tree": "gather, reduction", "classifier": "GEMM", "preparation": "elementwise",
    "string": "gather", "map": "compiling", "support-vector": "GEMM", "expert": "GEMM", "experimental": "elementwise",
    "training": "elementwise",
}
# By the operator's name; with its domain where two share a name.
OPERATORS = {
    # activations over rows
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax"), "rows"),
    "SwiGLU": "elementwise",
    # constants that are data
    **dict.fromkeys(("EyeLike", "OneHot", "Range", "Trilu", "BlackmanWindow", "HammingWindow", "HannWindow"), "elementwise"),
    # sizes
    **dict.fromkeys(("Shape", "Size", "Identity", "Dropout"), "compiling"),
    # indexing
    **dict.fromkeys(("Scatter", "ScatterElements", "ScatterND"), "scatter"),
    "TopK": "sort", "Unique": "sort, scatter", "NonMaxSuppression": "loop", "ReverseSequence": "gather",
    **dict.fromkeys(("ConcatFromSequence", "SplitToSequence"), "movement"), "SequenceMap": "loop", "If": "loop",
    "MaxUnpool": "scatter", "Col2Im": "scatter", "AffineGrid": "GEMM",
    # norms and pools
    "BatchNormalization": "elementwise", "LRN": "window",
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), "reduction"),
    # products of codes
    **dict.fromkeys(("MatMulInteger", "QLinearMatMul", "DynamicQuantizeMatMul", "MatMulIntegerToFloat", "QGemm",
                     "MatMulInteger16", "FusedMatMul", "FusedGemm", "TransposeMatMul"), "GEMM"),
    **dict.fromkeys(("ConvInteger", "QLinearConv", "FusedConv", "NhwcConv", "NhwcFusedConv", "CausalConvWithState"),
                    "convolution"),
    "DeformConv": "gather, GEMM", "DynamicQuantizeLinear": "reduction",
    # linear algebra
    "Det": "loop", "Inverse": "loop",
    "TfIdfVectorizer": "gather, reduction", "MelWeightMatrix": "elementwise",
    "RotaryEmbedding": "elementwise", "RelativePositionBias": "gather",
    # com.microsoft
    **dict.fromkeys(("BiasAdd", "BiasDropout", "BiasGelu", "BiasSplitGelu", "ComplexMul", "ComplexMulConj", "FastGelu", "Gelu",
                     "QuickGelu", "ScaledSiLU"), "elementwise"),
    "com.microsoft.CDist": "GEMM", "IsAllFinite": "reduction", "ExpandDims": "compiling", "GatherND": "gather",
    "com.microsoft.GridSample": "gather", "com.microsoft.Trilu": "elementwise",
    "EmbedLayerNormalization": "gather, rows", "GatherBlockQuantized": "gather",
    "QLinearAveragePool": "window", "QLinearGlobalAveragePool": "reduction", "QLinearConcat": "movement",
    "QLinearReduceMean": "reduction", "QLinearSoftmax": "rows", "ReduceSumInteger": "reduction",
    "NhwcMaxPool": "window", "com.microsoft.Pad": "movement", "com.microsoft.Range": "elementwise",
    **dict.fromkeys(("GatedRMSNorm", "BranchwiseRMSNorm", "EngramGate"), "rows"),
    **dict.fromkeys(("HyperConnectionPreMix", "HyperConnectionPostMix"), "reduction"), "GemmFastGelu": "GEMM", "FusedMatMulActivation": "GEMM", "com.microsoft.LinearAttention": "loop, GEMM",
    **dict.fromkeys(("UnfoldTensor", "CropAndResize"), "gather"), "NGramRepeatBlock": "gather, scatter",
    **dict.fromkeys(("PackedAttention", "PackedMultiHeadAttention", "PagedAttention", "SparseAttention"), "scatter, attention"),
    **dict.fromkeys(("RemovePadding", "RestorePadding"), "scatter"), "GatedRelativePositionBias": "GEMM",
    **dict.fromkeys(("MurmurHash3", "NGramHashMapping", "BitmaskDropout", "BitmaskBiasDropout"), "elementwise"), "SampleOp": "compiling",
    **dict.fromkeys(("DecoderAttention", "LongformerAttention"), "GEMM, attention"), "TorchEmbedding": "gather",
    **dict.fromkeys(("MatMulNBitsMlp", "MatMulNBitsQkv"), "rows, GEMM"), "QEmbedLayerNormalization": "gather, rows",
    # ai.onnx.ml
    "ArrayFeatureExtractor": "gather", "LabelEncoder": "gather", "Normalizer": "rows",
    "SVMRegressor": "GEMM", "FeatureVectorizer": "movement", "Crop": "movement",
}
DOMAINS = {"": "ai.onnx"}

HEAD = """\
<!-- Written by docs/generate-operators.py from `kpc ops --json`; edit the rules, or that. -->
# Operators

{count} operators of ONNX models import, some with limits. `kpc ops NAME` shows one of them, and [custom operators](custom-operators.md) bring others.
Operators of PyTorch programs are those of `kpc ops --domain aten`. [What is missing](missing.md) lists what is not here.

- **Opset**: those in which the operator has the form that the row is about. `13-` is to the newest, which is {newest}.
- **Path**: what the operator becomes. Each runs on every target; how fast, say the [next section](#paths) and the [pages on kernels](kernels).
- **Limit**: what of it does not compile. All else that ONNX defines does, with every element type that the operator takes.

## Paths
"""


def ask(kpc):
    return json.loads(subprocess.run([kpc, "ops", "--json"], check=True, capture_output=True, text=True).stdout)


def path_of(row):
    named = f"{row['domain']}.{row['name']}" if row["domain"] else row["name"]
    path = OPERATORS.get(named, OPERATORS.get(row["name"]))
    if not path:
        if row["family"] not in FAMILIES:
            sys.exit(f"docs/generate-operators.py knows no path for the family '{row['family']}' of {row['name']}")
        path = FAMILIES[row["family"]]
    for part in path.split(", "):
        if part not in ROWS and part not in OTHERS:
            sys.exit(f"docs/generate-operators.py: {row['name']} is on a path '{part}' that it does not explain")
    return path


def paths():
    """The rows of README.md's table that paths are, and a list of the others."""
    table = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("| ")]
    start = next(i for i, line in enumerate(table) if line.startswith("| operation |"))
    lines = [table[start].replace("operation", "path", 1), table[start + 1]]
    for path, begins in ROWS.items():
        row = next((line for line in table if line.startswith(f"| {begins}")), None)
        if not row:
            sys.exit(f"README.md's table of support has no row '{begins}'")
        row = re.sub(r"\(docs/", "(", row).replace(" ¹", "")
        lines.append(re.sub(r"^\| \[[^\]]*\]", f"| [{path}]", row))
    return lines + [""] + [f"- **{name}**: {text}" for name, text in OTHERS.items()]


def page(rows):
    names = {(row["domain"], row["name"]) for row in rows}
    newest = max(row["until"] for row in rows if not row["domain"])
    lines = [HEAD.format(count=len(names), newest=newest), *paths()]
    for domain in sorted({row["domain"] for row in rows}):
        own = [row for row in rows if row["domain"] == domain]
        last = newest if not domain else NEWEST
        lines += ["", f"## {DOMAINS.get(domain, domain)}", "", "| operator | opset | path | limit |", "| --- | --- | --- | --- |"]
        for row in own:
            ends = "" if row["until"] >= last or domain and row["until"] == max(r["until"] for r in own) else str(row["until"])
            opset = str(row["since"]) if ends == str(row["since"]) else f"{row['since']}-{ends}"
            limits = row["limits"].replace("|", "\\|")
            lines.append(f"| {row['name']} | {opset} | {path_of(row)} | {limits} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kpc")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    wanted = page(ask(options.kpc))
    if not options.check:
        PAGE.write_text(wanted, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != wanted:
        print("docs/operators.md is not what `kpc ops` says: run docs/generate-operators.py KPC")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

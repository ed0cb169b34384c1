#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows that what kpc makes of a model depends on its structure alone.

    python3 anonymous.py --kpc build/dev/bin/kpc --model graphs/bert.dynamo.onnx --work-dir DIR [--precision fp16]

The model is compiled as it is and once more with every node's name taken out, every value renamed and the nodes in
another order. Both must recognise the same and give the same kernels, whatever these are called. Compiles to PTX that
needs no `ptxas`. Exits 77 (a skip) when onnx is not installed.
"""

import argparse
import collections
import pathlib
import random
import re
import subprocess
import sys

SKIPPED = 77
# What the remarks of each kind say.
KINDS = {"attention": "is one attention", "rotary": "is recognised: rotate-half is an index", "products": "GEMMs of one input are fused into one",
         "gate": "The two GEMMs of a gated MLP are fused"}

try:
    import onnx
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(SKIPPED)

import compare


def strip_names(model, seed=5):
    """Values get numbers; inputs and outputs of the model, and weights, which no pass looks at, keep their names."""
    kept = {value.name for value in list(model.graph.input) + list(model.graph.output)}
    kept |= {tensor.name for tensor in model.graph.initializer} | {""}
    names = {}
    for node in model.graph.node:
        node.name = ""
        del node.metadata_props[:]
        for part in (node.input, node.output):
            for index, name in enumerate(part):
                if name not in kept:
                    part[index] = names.setdefault(name, f"v{len(names)}")
    del model.graph.value_info[:]
    nodes = list(model.graph.node)
    random.Random(seed).shuffle(nodes)
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def in_order(model):
    """Nodes behind those that they read, as ONNX wants it; otherwise as they stand."""
    ready = {value.name for value in model.graph.input} | {tensor.name for tensor in model.graph.initializer} | {""}
    waiting = list(model.graph.node)
    del model.graph.node[:]
    while waiting:
        left = []
        for node in waiting:
            if all(name in ready for name in node.input):
                model.graph.node.append(node)
                ready.update(node.output)
            else:
                left.append(node)
        if len(left) == len(waiting):
            raise SystemExit("the graph has a cycle, or a subgraph reads from outside")
        waiting = left


def compiled(kpc, path, options):
    """What was recognised, and the kernels as text without names: how often each occurs."""
    def run(level):
        words = [str(kpc), "compile", str(path), "--arch", "sm_90a", "--precision", options.precision, "--emit", level,
                 "-o", str(path.with_suffix(".mlir")), "--remarks=recognition", "--no-cache"]
        result = subprocess.run(words + [word for text in options.dim for word in ("--dim", text)],
                                capture_output=True, text=True, timeout=options.limit)
        if result.returncode != 0:
            raise SystemExit(f"FAILED: exit code {result.returncode}\n{result.stdout}{result.stderr}")
        return result.stderr

    # Gates are found among kernels, behind the graph. Remarks begin with the name of their node, which differs.
    remarks = sorted(re.sub(r"^remark: '[^']*' \(\w+\): ", "remark: ", line) for line in run("plan").splitlines() if line.startswith("remark:"))
    run("graph")
    text = path.with_suffix(".mlir").read_text()
    ops = collections.Counter(re.sub(r"%[a-z0-9_:#]+|loc\(.*\)|\"[^\"]*#[^\"]*\"", "", line).strip()
                              for line in text.splitlines() if "graph." in line and "func.func" not in line
                              and not line.startswith("module"))
    return remarks, ops


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--precision", default="fp16")
    parser.add_argument("--dim", action="append", default=[])
    parser.add_argument("--expect", action="append", default=[], metavar="KIND=COUNT",
                        help=f"how many must be recognised: {', '.join(KINDS)}")
    parser.add_argument("--limit", type=float, default=300, help="seconds one kpc process may take")
    options = parser.parse_args()
    options.work_dir.mkdir(parents=True, exist_ok=True)
    path = compare.place_model(options.model, options.work_dir)
    model = onnx.load(str(path), load_external_data=False)
    strip_names(model)
    in_order(model)
    other = path.with_name("anonymous.onnx")
    onnx.save(model, str(other))
    (remarks, ops), (other_remarks, other_ops) = (compiled(options.kpc, p, options) for p in (path, other))
    print("\n".join(remarks))
    print(f"{sum(ops.values())} ops, {sum(other_ops.values())} without names")
    wrong = 0
    for kind, count in (text.split("=") for text in options.expect):
        found = sum(KINDS[kind] in line for line in remarks)
        if found != int(count):
            print(f"{found} of kind {kind}, not {count}")
            wrong += 1
    for line in sorted((ops - other_ops).keys() | (other_ops - ops).keys()):
        print(f"{ops[line]} with names, {other_ops[line]} without: {line[:200]}")
    return 0 if ops == other_ops and remarks == other_remarks and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What storing parts of a convolutional model in 16 bits costs, whoever runs it: no kpc.

    python3 rounding.py --model graphs/mobilenet_v3_large.dynamo.onnx --work-dir DIR [--precision bf16] [--batch 1,5]

The model gets its weights from weights.py and runs in onnxruntime in fp32. Chosen tensors are rounded to 16 bits and back: filters,
and values that a layer reads (a convolution, a Gemm, a mean). Prints the RMS error over the reference's RMS of each choice, the
batches beside one another, then the layers that cost most by themselves. `products` are convolutions over all channels of images that the model
has made itself: those that have to be on tensor cores. What multiplies them in 16 bits is not better than the line of their filters and what they
read, but for chance. Exits 77 (a skip) when a peer is not installed.
"""

import argparse
import pathlib
import sys

SKIPPED = 77

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(SKIPPED)

import inputs
import weights

KINDS = {"fp16": onnx.TensorProto.FLOAT16, "bf16": onnx.TensorProto.BFLOAT16}
LAYERS, MEANS = ("Conv", "Gemm"), ("ReduceMean", "GlobalAveragePool")
MOST_LAYERS = 8


def groups(node):
    return next((a.i for a in node.attribute if a.name == "group"), 1)


def with_rounded(model, names, kind):
    """The model with two casts behind each of these tensors."""
    made, renamed, nodes = onnx.ModelProto(), {}, []
    made.CopyFrom(model)

    def add(name):
        if name in names:
            nodes.append(onnx.helper.make_node("Cast", [name], [name + ".narrow"], to=kind))
            nodes.append(onnx.helper.make_node("Cast", [name + ".narrow"], [name + ".rounded"], to=onnx.TensorProto.FLOAT))
            renamed[name] = name + ".rounded"

    for value in (*made.graph.input, *made.graph.initializer):
        add(value.name)
    for node in list(made.graph.node):
        node.input[:] = [renamed.get(name, name) for name in node.input]
        nodes.append(node)
        for name in node.output:
            add(name)
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    return made


def run(model, feed):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # the casts are meant
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feed)[0].astype(np.float64)


def products_of(model):
    """Not the first layer, and not gates and classifiers, which have one place an image."""
    inputs_of_model, pooled = {value.name for value in model.graph.input}, set()
    for node in model.graph.node:
        if node.op_type in MEANS or (node.input[0] in pooled and node.op_type != "Mul"):
            pooled.update(node.output)
        elif node.op_type == "Conv" and groups(node) == 1 and node.input[0] not in inputs_of_model:
            yield node


def choices(model):
    """All layers, and words -> names of tensors."""
    layers = [node for node in model.graph.node if node.op_type in LAYERS]
    products, means = list(products_of(model)), [node for node in model.graph.node if node.op_type in MEANS]

    def filters(nodes):
        return {node.input[1] for node in nodes}

    def read(nodes):
        return {node.input[0] for node in nodes}

    every = read(layers + means)
    return layers, {"filters": filters(layers), "filters of products": filters(products),
                    "filters in groups": filters([node for node in layers if groups(node) > 1]),
                    "values": every, "values that products read": read(products), "other values": every - read(products),
                    "filters of products, and what they read": filters(products) | read(products),
                    "filters of products, and values": filters(products) | every, "filters and values": filters(layers) | every}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--precision", choices=KINDS, default="bf16")
    parser.add_argument("--batch", default="1,5", help="batch sizes, with commas")
    options = parser.parse_args()
    path = weights.generate(options.model, options.work_dir)
    model = onnx.load(str(path))
    feeds = [inputs.for_model(model, int(text)) for text in options.batch.split(",")]
    wanted = [run(model, feed) for feed in feeds]

    def errors(names):
        rounded = with_rounded(model, names, KINDS[options.precision])
        return [float(np.sqrt(np.mean((run(rounded, feed) - want) ** 2) / np.mean(want**2))) for feed, want in zip(feeds, wanted)]

    layers, chosen = choices(model)
    for words, names in chosen.items():
        print(f"{words + ':':42} " + ", ".join(f"{error:.2e}" for error in errors(names)) + f" ({len(names)} tensors)", flush=True)
    alone = sorted(((max(errors({node.input[1], node.input[0]})), node.name) for node in layers), reverse=True)
    print(f"the layers that cost most, of {len(alone)}, each alone, its filter and what it reads:")
    for error, name in alone[:MOST_LAYERS]:
        print(f"    {error:.2e} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

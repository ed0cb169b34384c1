#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives a model of test/models/graphs weights from a seed.

    python3 weights.py graphs/resnet50.dynamo.onnx --output-dir DIR [--seed 1]

writes DIR/resnet50.dynamo.onnx (a copy) and DIR/resnet50.dynamo.weights, which the copy names as external data.

The values must let a test see everything: if activations die out, saturate or stop depending on the image, an error in
a layer never reaches the output. So the model is run on a few random images while the weights are made (float64, one
node at a time), and each layer gets what training would have given it:

- filters and matrices: uniform, scaled by fan-in, then by the measured spread of each output channel, so that every
  layer's output has a variance near 1;
- a bias: what centres its channel, plus a random part of size 0.2 (a folded batch-norm looks like this);
- batch-norm: mean and variance near the measured ones (off by up to 10 %), gamma 0.7 to 1.3, beta of size 0.2.

Transformers (transformer_weights.py) need none of this: their norms keep the variance.

Uniform numbers of PCG64 are the same everywhere, and measured factors are rounded to three digits: the file is the
same on every machine.
"""

import argparse
import math
import pathlib
import sys
import zlib

import numpy as np
import onnx
from onnx import numpy_helper

import float64_reference
import transformer_weights

CALIBRATION_BATCH = 6
ENOUGH_POSITIONS = 64  # below this many samples per channel its spread cannot be measured
GATE_CENTRE = 0.5  # standard deviations
BRANCH = 0.5  # standard deviation at the end of a residual branch
LIFT = 0.25


def rounded(x, digits=3):
    """To so many significant digits."""
    x = np.asarray(x, np.float64)
    with np.errstate(divide="ignore"):
        exponent = np.where(x == 0, 0, np.floor(np.log10(np.abs(x))))
    unit = 10.0**(exponent - digits + 1)
    return np.round(x / unit) * unit


class Random:
    """Numbers that depend on the seed and the weight's name, not on the order of the graph."""

    def __init__(self, seed, name):
        self.generator = np.random.Generator(np.random.PCG64([seed, zlib.crc32(name.encode())]))

    def uniform(self, low, high, shape):
        return low + (high - low) * self.generator.random(shape)

    def spread(self, size, shape):
        """Mean 0, standard deviation `size`."""
        return self.uniform(-size * math.sqrt(3), size * math.sqrt(3), shape)


def channel_statistics(y):
    """Mean and standard deviation per channel (axis 1)."""
    rows = np.moveaxis(y, 1, -1).reshape(-1, y.shape[1])
    mean, deviation = rows.mean(0), rows.std(0)
    if len(rows) < ENOUGH_POSITIONS:
        # A gate's hidden layer or a classifier: one position per image. What differs between channels there is what
        # the weights are, hardly what the image is, so a centre of zero would switch half of the ReLUs off for good.
        size = math.sqrt(np.mean(rows**2)) or 1.0
        return mean - GATE_CENTRE * size, np.full_like(mean, size)
    layer = math.sqrt(np.mean(deviation**2)) or 1.0
    return mean, np.maximum(deviation, 0.2 * layer)


def branch_ends(nodes):
    """Values that an Add joins to a path with fewer layers: the ends of residual branches."""
    depth, ends = {}, set()
    for node in nodes:
        depths = [depth.get(name, 0) for name in node.input]
        if node.op_type == "Add" and min(depths) < max(depths):
            ends.add(node.input[int(np.argmax(depths))])
        for name in node.output:
            depth[name] = max(depths, default=0) + (node.op_type == "Conv")
    return ends


class Generator:
    def __init__(self, model, seed):
        self.model, self.seed = model, seed
        self.declared = {t.name: t for t in model.graph.initializer if t.data_location == onnx.TensorProto.EXTERNAL}
        self.weights = {}  # name -> values, float64 where a float64 run needs them
        self.values = {}
        self.branch_ends = branch_ends(model.graph.node)
        for tensor in model.graph.initializer:
            if tensor.name not in self.declared:
                self.values[tensor.name] = self.in_float64(numpy_helper.to_array(tensor))

    @staticmethod
    def in_float64(value):
        return value.astype(np.float64) if value.dtype.kind == "f" else value

    def shape(self, name):
        return tuple(self.declared[name].dims)

    def missing(self, name):
        return name in self.declared and name not in self.weights

    def set(self, name, value):
        """What is stored is float32, so the float64 run goes on from what float32 keeps."""
        self.weights[name] = np.broadcast_to(value, self.shape(name)).astype(np.float32).astype(np.float64)
        self.values[name] = self.weights[name]

    def random(self, name):
        return Random(self.seed, name)

    def linear(self, node):
        """Conv, Gemm: filters by fan-in, then by what comes out; the bias centres it."""
        weight, bias = node.input[1], node.input[2] if len(node.input) > 2 else ""
        transposed = node.op_type == "Gemm" and not float64_reference.attributes(node).get("transB", 0)
        if self.missing(weight):
            shape = self.shape(weight)
            fan_in = shape[0] if transposed else int(np.prod(shape[1:]))
            value = self.random(weight).spread(math.sqrt(2 / fan_in), shape)
            inputs = [self.values[node.input[0]], value]
            mean, deviation = channel_statistics(float64_reference.evaluate(node, inputs))
            factor = rounded(1 / deviation) * self.damping(node)
            column = (1, -1) if transposed else (-1,) + (1,) * (len(shape) - 1)
            self.set(weight, value * factor.reshape(column))
            if bias and self.missing(bias):
                centre = np.round(-mean * factor * 256) / 256
                lift = LIFT if node.op_type == "Conv" else 0.0
                lift = (lift + self.random(bias).spread(0.2, self.shape(bias))) * self.damping(node)
                self.set(bias, centre + lift)

    def damping(self, node):
        return BRANCH if node.output[0] in self.branch_ends else 1.0

    def batch_norm(self, node):
        scale, bias, mean, variance = node.input[1:5]
        centre, deviation = channel_statistics(self.values[node.input[0]])
        shape = deviation.shape
        damping = self.damping(node)
        self.set(scale, self.random(scale).uniform(0.7, 1.3, shape) * damping)
        self.set(bias, (LIFT + self.random(bias).spread(0.2, shape)) * damping)
        self.set(mean, np.round(centre * 256) / 256 + self.random(mean).uniform(-0.1, 0.1, shape) * rounded(deviation))
        self.set(variance, rounded(deviation**2) * self.random(variance).uniform(0.9, 1.1, shape))

    def visit(self, node):
        if node.op_type in ("Conv", "Gemm"):
            self.linear(node)
        elif node.op_type == "BatchNormalization":
            self.batch_norm(node)
        if any(self.missing(name) for name in node.input):
            # Only its shape may be asked for before the layer that owns it is reached.
            if node.op_type != "Shape":
                raise SystemExit(f"no rule for the weights of {node.op_type} '{node.name}'")
            inputs = [np.broadcast_to(0.0, self.shape(node.input[0]))]
        else:
            inputs = [self.values[name] if name else None for name in node.input]
        self.values[node.output[0]] = float64_reference.evaluate(node, inputs)

    def run(self):
        if is_transformer(self.model):
            self.weights = transformer_weights.generate(self.model, self.random)
            return
        for graph_input in self.model.graph.input:
            if graph_input.name not in self.declared:
                self.values[graph_input.name] = self.calibration_input(graph_input)
        last_use = {}
        for index, node in enumerate(self.model.graph.node):
            last_use.update({name: index for name in node.input})
        outputs = {value.name for value in self.model.graph.output}
        for index, node in enumerate(self.model.graph.node):
            self.visit(node)
            for name in set(node.input):
                if last_use[name] == index and name not in outputs:
                    self.values.pop(name, None)
        unused = set(self.declared) - set(self.weights)
        if unused:
            raise SystemExit(f"weights that no node uses: {sorted(unused)}")

    def calibration_input(self, graph_input):
        dims = [d.dim_value for d in graph_input.type.tensor_type.shape.dim]
        shape = [CALIBRATION_BATCH] + dims[1:]
        if len(shape) < 4:
            shape[0] = 4 * ENOUGH_POSITIONS
        return self.random(graph_input.name).spread(1.0, shape)

    def write(self, path):
        """The weights file, each tensor where the model says it is."""
        with open(path, "wb") as file:
            for name, tensor in self.declared.items():
                place = {entry.key: entry.value for entry in tensor.external_data}
                raw = self.weights[name].astype(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type), copy=False).tobytes()
                if len(raw) != int(place["length"]):
                    raise SystemExit(f"'{name}' has {len(raw)} bytes, the model says {place['length']}")
                file.seek(int(place.get("offset", 0)))
                file.write(raw)


def is_transformer(model):
    """Whether transformer_weights.py is for it."""
    return any(node.op_type in ("Softmax", "Attention") for node in model.graph.node)


def location(model):
    names = {entry.value for t in model.graph.initializer for entry in t.external_data if entry.key == "location"}
    if len(names) != 1:
        raise SystemExit(f"expected one weights file, the model names {sorted(names)}")
    return names.pop()


def generate(model_path, output_dir, seed=1):
    """Writes the model and its weights; returns the path of the model."""
    model = onnx.load(str(model_path), load_external_data=False)
    generator = Generator(model, seed)
    generator.run()
    output_dir = pathlib.Path(output_dir)
    output_dir.mkdir(parents=True, exist_ok=True)
    generator.write(output_dir / location(model))
    copy = output_dir / pathlib.Path(model_path).name
    copy.write_bytes(pathlib.Path(model_path).read_bytes())
    return copy


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--output-dir", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(generate(options.model, options.output_dir, options.seed))


if __name__ == "__main__":
    sys.exit(main())

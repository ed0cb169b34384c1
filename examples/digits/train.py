#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the digit reader of this folder and writes digits.onnx, images.npy and labels.npy.

Needs numpy, scikit-learn (the data: 1,797 handwritten digits of 8×8 pixels, which it ships) and onnx. Takes ten
seconds and gives the same network each time on the same machine.

    python3 train.py [--output-dir .]

The network: conv 3×3 to 16 channels, ReLU, conv 3×3 to 32 channels, ReLU, 2×2 max-pool, 64 hidden units, ReLU,
10 scores. One fifth of the images is held out before anything else happens: training never sees them, and they are
what images.npy and labels.npy hold.
"""

import argparse
import pathlib

import numpy as np

SEED = 20
EPOCHS = 40
BATCH = 64
RATE = 2e-3


def patches(x):
    """The 3×3 neighbourhood of every pixel, zeros outside: [n, c, h, w] → [n, h, w, c·9]."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    n, c, h, w = x.shape
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(n, h, w, c * 9)


class Convolution:
    def __init__(self, rng, inputs, outputs):
        self.weight = rng.normal(0, np.sqrt(2 / (inputs * 9)), (outputs, inputs, 3, 3)).astype(np.float32)
        self.bias = np.zeros(outputs, np.float32)

    def forward(self, x):
        self.columns, self.shape = patches(x), x.shape
        y = self.columns @ self.weight.reshape(len(self.weight), -1).T + self.bias
        return y.transpose(0, 3, 1, 2)

    def backward(self, dy):
        rows = dy.transpose(0, 2, 3, 1).reshape(-1, len(self.weight))
        self.gradients = [(rows.T @ self.columns.reshape(len(rows), -1)).reshape(self.weight.shape), rows.sum(0)]
        # The gradient of the input is a correlation with the flipped filters, inputs and outputs swapped.
        flipped = self.weight[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
        dx = patches(dy) @ flipped.reshape(self.shape[1], -1).T
        return dx.transpose(0, 3, 1, 2)


class Dense:
    def __init__(self, rng, inputs, outputs):
        self.weight = rng.normal(0, np.sqrt(2 / inputs), (outputs, inputs)).astype(np.float32)
        self.bias = np.zeros(outputs, np.float32)

    def forward(self, x):
        self.x = x
        return x @ self.weight.T + self.bias

    def backward(self, dy):
        self.gradients = [dy.T @ self.x, dy.sum(0)]
        return dy @ self.weight


class Relu:
    def forward(self, x):
        self.positive = x > 0
        return x * self.positive

    def backward(self, dy):
        return dy * self.positive


class MaxPool:
    def forward(self, x):
        n, c, h, w = x.shape
        blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
        y = blocks.max((3, 5))
        self.chosen = blocks == y[:, :, :, None, :, None]
        return y

    def backward(self, dy):
        dx = self.chosen * dy[:, :, :, None, :, None]
        n, c, h, _, w, _ = dx.shape
        return dx.reshape(n, c, h * 2, w * 2)


class Flatten:
    def forward(self, x):
        self.shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, dy):
        return dy.reshape(self.shape)


class Adam:
    def __init__(self, layers):
        self.layers = [layer for layer in layers if hasattr(layer, "weight")]
        self.first = [[np.zeros_like(p) for p in (layer.weight, layer.bias)] for layer in self.layers]
        self.second = [[np.zeros_like(p) for p in (layer.weight, layer.bias)] for layer in self.layers]
        self.step_count = 0

    def step(self, rate):
        self.step_count += 1
        scale = rate * np.sqrt(1 - 0.999**self.step_count) / (1 - 0.9**self.step_count)
        for layer, first, second in zip(self.layers, self.first, self.second):
            for value, gradient, m, v in zip((layer.weight, layer.bias), layer.gradients, first, second):
                m += 0.1 * (gradient - m)
                v += 0.001 * (gradient * gradient - v)
                value -= (scale * m / (np.sqrt(v) + 1e-7)).astype(np.float32)


def shifted(rng, images):
    """Each image moved by at most one pixel each way."""
    out = np.empty_like(images)
    for i, (dy, dx) in enumerate(rng.integers(-1, 2, (len(images), 2))):
        padded = np.pad(images[i], ((0, 0), (1, 1), (1, 1)))
        out[i] = padded[:, 1 + dy:9 + dy, 1 + dx:9 + dx]
    return out


def forward(layers, x):
    for layer in layers:
        x = layer.forward(x)
    return x


def train(rng, images, labels):
    layers = [Convolution(rng, 1, 16), Relu(), Convolution(rng, 16, 32), Relu(), MaxPool(), Flatten(),
              Dense(rng, 32 * 4 * 4, 64), Relu(), Dense(rng, 64, 10)]
    adam = Adam(layers)
    for epoch in range(EPOCHS):
        order, loss = rng.permutation(len(images)), 0.0
        for start in range(0, len(order), BATCH):
            chosen = order[start:start + BATCH]
            scores = forward(layers, shifted(rng, images[chosen]))
            scores -= scores.max(1, keepdims=True)
            probability = np.exp(scores)
            probability /= probability.sum(1, keepdims=True)
            rows = np.arange(len(chosen))
            loss -= np.log(probability[rows, labels[chosen]] + 1e-9).sum()
            probability[rows, labels[chosen]] -= 1
            gradient = probability / len(chosen)
            for layer in reversed(layers):
                gradient = layer.backward(gradient)
            adam.step(RATE * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS)))
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: loss {loss / len(images):.4f}")
    return layers


def to_onnx(layers):
    from onnx import TensorProto, helper, numpy_helper
    names = ["conv1", "relu1", "conv2", "relu2", "pool", "flatten", "hidden", "relu3", "scores"]
    nodes, weights, value = [], [], "image"
    for name, layer in zip(names, layers):
        inputs = [value]
        if hasattr(layer, "weight"):
            weights += [numpy_helper.from_array(layer.weight, name + ".weight"),
                        numpy_helper.from_array(layer.bias, name + ".bias")]
            inputs += [name + ".weight", name + ".bias"]
        op, attributes = {
            Convolution: ("Conv", dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1])), Dense: ("Gemm", dict(transB=1)),
            Relu: ("Relu", {}), MaxPool: ("MaxPool", dict(kernel_shape=[2, 2], strides=[2, 2])),
            Flatten: ("Flatten", {})}[type(layer)]
        output = "scores" if name == "scores" else name + ".out"
        nodes.append(helper.make_node(op, inputs, [output], name=name, **attributes))
        value = output
    graph = helper.make_graph(
        nodes, "digits", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", 10])], weights)
    return helper.make_model(graph, producer_name="examples/digits/train.py", ir_version=8,
                             opset_imports=[helper.make_opsetid("", 17)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output-dir", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    out = parser.parse_args().output_dir

    import onnx
    from sklearn.datasets import load_digits
    data = load_digits()
    images = (data.images / 16).astype(np.float32)[:, None]  # the data's grey levels are 0..16
    rng = np.random.default_rng(SEED)
    order = rng.permutation(len(images))
    held_out, seen = np.sort(order[:360]), order[360:]

    layers = train(rng, images[seen], data.target[seen])
    correct = forward(layers, images[held_out]).argmax(1) == data.target[held_out]
    print(f"held out: {correct.sum()} of {len(correct)} right, {100 * correct.mean():.2f} %")

    out.mkdir(parents=True, exist_ok=True)
    onnx.save(to_onnx(layers), str(out / "digits.onnx"))
    np.save(out / "images.npy", images[held_out])
    np.save(out / "labels.npy", data.target[held_out].astype(np.int64))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks of convolutional networks whose products are of codes.   code_blocks.py KPC DRIVER FOLDER [--all]

Bottlenecks, inverted residuals, projections, groups, transposed convolutions, pools and concats, quantised by a calibration to FP8 and 8-bit
integers, stored in fp16 and bf16: near fp32 on the host, whose last kernel turns a result, and on emulated chips. `--all` runs every block on
every chip. Exits 77 (a skip) where numpy or onnx is not installed.
"""

import os
import pathlib
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(77)

from fp8_layers import call, error

# The error of three to seven products in a row; a code of FP8 has 4 bits of mantissa.
BOUNDS = {"fp8": 0.1, "int8": 0.04}


class Network:
    """An ONNX model of one image with `channels`, of 9 × 11 pixels."""

    def __init__(self, channels):
        self.draw, self.nodes, self.made, self.channels = np.random.default_rng(1), [], [], channels

    def add(self, op, *inputs, **attributes):
        name = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, values):
        self.made.append(numpy_helper.from_array(np.asarray(values, np.float32), f"c{len(self.made)}"))
        return self.made[-1].name

    def conv(self, x, channels, outputs, taps=1, groups=1, stride=1):
        share = channels // groups
        w = self.draw.standard_normal((outputs, share, taps, taps)) / np.sqrt(share * taps * taps)
        return self.add("Conv", x, self.constant(w), self.constant(self.draw.standard_normal(outputs) / 8), pads=[taps // 2] * 4,
                        group=groups, strides=[stride] * 2)

    def transposed(self, x, channels, taps, stride, padding):
        w = self.draw.standard_normal((channels, channels, taps, taps)) / np.sqrt(channels) / taps * stride
        return self.add("ConvTranspose", x, self.constant(w), self.constant(self.draw.standard_normal(channels) / 8), strides=[stride] * 2,
                        pads=[padding] * 4)

    def relu(self, x):
        return self.add("Relu", x)

    def relu6(self, x):
        return self.add("Clip", x, self.constant(0), self.constant(6))

    def pool(self, x, size, stride):
        return self.add("MaxPool", x, kernel_shape=[size] * 2, strides=[stride] * 2, pads=[size // 2] * 4)

    def write(self, path, batch, y):
        self.nodes[[node.output[0] for node in self.nodes].index(y)].output[0] = "y"
        value = helper.make_tensor_value_info
        graph = helper.make_graph(self.nodes, path.stem, [value("x", TensorProto.FLOAT, [batch, self.channels, 9, 11])],
                                  [value("y", TensorProto.FLOAT, None)], self.made)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)


def bottleneck(channels):
    net = Network(channels)
    x = net.relu(net.conv("x", channels, channels))
    y = net.relu(net.conv(x, channels, channels // 2))
    y = net.relu(net.conv(y, channels // 2, channels // 2, 3))
    x = net.relu(net.add("Add", net.conv(y, channels // 2, channels), x))
    return net, net.conv(x, channels, channels)


def inverted(channels):
    """Of MobileNetV2: no activation between the sum and the codes of the next convolution."""
    net = Network(channels)
    x = net.conv("x", channels, channels)
    y = net.relu6(net.conv(x, channels, 2 * channels))
    y = net.relu6(net.conv(y, 2 * channels, 2 * channels, 3, groups=2 * channels))
    x = net.add("Add", net.conv(y, 2 * channels, channels), x)
    return net, net.conv(x, channels, channels)


def projection(channels):
    """Two convolutions are added, each with scales of its own."""
    net = Network(channels)
    x = net.relu(net.conv("x", channels, channels))
    y = net.conv(net.relu(net.conv(x, channels, channels, 3, stride=2)), channels, 2 * channels)
    x = net.relu(net.add("Add", y, net.conv(x, channels, 2 * channels, stride=2)))
    return net, net.conv(x, 2 * channels, channels)


def grouped(channels, groups):
    net = Network(channels)
    x = net.relu(net.conv("x", channels, channels))
    x = net.relu(net.conv(x, channels, channels, 3, groups))
    return net, net.conv(x, channels, channels)


def transposed(channels, taps, padding):
    net = Network(channels)
    x = net.relu(net.conv("x", channels, channels))
    x = net.relu(net.transposed(x, channels, taps, 2, padding))
    return net, net.conv(x, channels, channels)


def stem(channels):
    net = Network(channels)
    x = net.pool(net.relu(net.conv("x", channels, channels)), 3, 2)
    return net, net.conv(net.relu(net.conv(x, channels, channels, 3)), channels, channels)


def pyramid(channels):
    """Pools of pools, joined, as SPPF has them. What is negative has codes, too."""
    net = Network(channels)
    x = net.conv("x", channels, channels)
    y = net.pool(x, 5, 1)
    x = net.add("Concat", x, y, net.pool(y, 5, 1), axis=1)
    return net, net.conv(x, 3 * channels, channels)


BLOCKS = {
    "bottleneck": (bottleneck, 256), "narrow": (bottleneck, 48), "dynamic": (bottleneck, 32), "inverted": (inverted, 32),
    "projection": (projection, 64), "groups": (grouped, 64, 4), "depthwise": (grouped, 64, 64), "transposed": (transposed, 32, 4, 1),
    "uneven": (transposed, 32, 3, 1), "stem": (stem, 64), "pyramid": (pyramid, 32),
}
# On the host all of them are tried. Emulating takes longer; before a change there is a sample.
EMULATED = {"sm_90a": ("dynamic", "inverted", "projection", "stem", "pyramid"), "sm_100a": ("inverted", "stem")}
SAMPLE = {"sm_90a": ("projection", "stem"), "sm_100a": ("inverted",)}


class Block:
    def __init__(self, kpc, driver, folder, name):
        self.kpc, self.driver, self.folder, self.name = kpc, driver, folder / name, name
        self.folder.mkdir(parents=True, exist_ok=True)
        make, channels, *more = BLOCKS[name]
        net, y = make(channels, *more)
        self.model, self.calibration = self.folder / f"{name}.onnx", self.folder / "calibration"
        net.write(self.model, "batch" if name == "dynamic" else 2, y)
        self.sizes = ("--dim", "batch=1..4:opt=2") if name == "dynamic" else ()
        draw = np.random.default_rng(2)
        samples = draw.standard_normal((5, 2, channels, 9, 11)).astype(np.float32)
        np.save(self.folder / "x.npy", samples[0])
        np.savez(self.folder / "samples.npz", x=samples[1:])
        call([kpc, "calibrate", self.model, "--data", self.folder / "samples.npz", *self.sizes, "-o", self.calibration, "-q", "--no-cache"])
        self.wanted = self.run("host", "--precision", "fp32")

    def run(self, target, *options):
        artifact = self.folder / f"{target}.kpc"
        call([self.kpc, "compile", self.model, "--arch", target, *options, *self.sizes, "-o", artifact, "-q", "--no-cache"])
        device = "host" if target == "host" else f"emulate:{target}"
        call([self.kpc, "run", artifact, "--input", f"x={self.folder / 'x.npy'}", "--device", device, "--output-dir", self.folder, "-q"],
             KPC_CUDA_DRIVER=str(self.driver))
        return np.load(self.folder / "y.npy").astype(np.float64)

    def check(self, target, code, stored):
        asked = ("--precision", stored, "--precision-for", f".*={code}", "--calibration", self.calibration)
        off = error(self.run(target, *asked), self.wanted)
        good = off < BOUNDS[code]
        print(f"{self.name} on {target}, {code} and {stored}: RMS error {off:.3f}{'' if good else ', which is too much'}", flush=True)
        return good


def main():
    kpc, driver, folder = map(pathlib.Path, sys.argv[1:4])
    good = []
    for name in BLOCKS:
        block = Block(kpc, driver, folder, name)
        good += [block.check("host", code, "fp16") for code in BOUNDS]
        if name in ("bottleneck", "inverted"):
            good.append(block.check("host", "fp8", "bf16"))
        for target, names in (EMULATED if "KPC_TEST_ALL" in os.environ else SAMPLE).items():
            if name in names or "--all" in sys.argv:
                good += [block.check(target, code, "fp16") for code in BOUNDS]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())

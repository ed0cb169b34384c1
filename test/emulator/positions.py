#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Angles and coordinates in models that store 16 bits, on the emulator.   positions.py KPC DRIVER FOLDER [TARGET]

Rotary embeddings of 512 positions, a timestep of 999, waves of points and layers, and one grid of two pictures. Outputs are compared with
ONNX's reference in fp32. Ends with 77 where onnx is not installed.
"""

import pathlib
import subprocess
import sys

import emulated

try:
    import numpy
    from onnx import TensorProto, helper, numpy_helper
    from onnx.reference import ReferenceEvaluator
except ImportError:
    print("SKIPPED: onnx is not installed")
    sys.exit(77)

# The greatest error of an element, in RMS of the output: four roundings of what is stored.
BOUNDS = {"fp16": 4 * 2.0**-11, "bf16": 4 * 2.0**-8}


class Graph:
    def __init__(self):
        self.nodes, self.weights, self.inputs, self.feeds = [], [], [], {}
        self.random = numpy.random.default_rng(1)

    def input(self, name, sizes, value):
        kind = TensorProto.INT64 if value.dtype == numpy.int64 else TensorProto.FLOAT
        self.inputs.append(helper.make_tensor_value_info(name, kind, sizes))
        self.feeds[name] = value
        return name

    def node(self, kind, *inputs, **attributes):
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def constant(self, value):
        value = numpy.asarray(value)
        self.weights.append(numpy_helper.from_array(value.astype(numpy.float32) if value.dtype.kind == "f" else value, f"w{len(self.weights)}"))
        return self.weights[-1].name

    def normal(self, *sizes):
        return self.random.standard_normal(sizes).astype(numpy.float32)

    def model(self, *outputs):
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        graph = helper.make_graph(self.nodes, "positions", self.inputs, values, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def frequencies(count):
    return 10000.0**(-numpy.arange(count) / count)


def rotary():
    """As Hugging Face's Llama has it: frequencies, repeated for the batch, times positions, then turned round and doubled."""
    g, depth, rows = Graph(), 16, 512
    positions = g.node("Cast", g.node("Unsqueeze", g.input("positions", ["b", "s"], numpy.arange(rows)[None]), g.constant([1])), to=TensorProto.FLOAT)
    x = g.input("x", ["b", 2, "s", depth], g.normal(1, 2, rows, depth))
    batch = g.node("Concat", g.node("Shape", "positions", start=0, end=1), g.constant([1, 1]), axis=0)
    repeated = g.node("Expand", g.constant(frequencies(depth // 2).reshape(1, -1, 1)), batch)
    angles = g.node("Transpose", g.node("MatMul", repeated, positions), perm=[0, 2, 1])
    both = g.node("Concat", angles, angles, axis=-1)
    cos, sin = (g.node("Unsqueeze", g.node(kind, both), g.constant([1])) for kind in ("Cos", "Sin"))
    halves = [g.node("Slice", x, *(g.constant([value]) for value in part)) for part in ((0, depth // 2, 3), (depth // 2, depth, 3))]
    turned = g.node("Concat", g.node("Neg", halves[1]), halves[0], axis=-1)
    return g, [g.node("Add", g.node("Mul", x, cos), g.node("Mul", turned, sin))]


def timestep():
    g = Graph()
    time = g.node("Unsqueeze", g.input("time", ["b"], numpy.array([999, 500, 1, 3333], numpy.float32)), g.constant([1]))
    angles = g.node("Mul", time, g.constant(frequencies(16)[None]))
    waves = g.node("Concat", g.node("Cos", angles), g.node("Sin", angles), axis=1)
    return g, [g.node("Gemm", waves, g.constant(g.normal(32, 32) / 32**0.5), g.constant(g.normal(32)))]


def waves():
    """Fourier features of points in a room of 30 m, and a layer of which another sine is taken."""
    g = Graph()
    points = g.input("points", ["n", 3], g.random.uniform(-30, 30, (70, 3)).astype(numpy.float32))
    features = g.node("MatMul", points, g.constant(g.normal(3, 64) * 4))
    first = g.node("Concat", g.node("Sin", features), g.node("Cos", features), axis=-1)
    layer = g.node("MatMul", first, g.constant(g.normal(128, 64) / 128**0.5))
    return g, [first, g.node("Sin", layer), g.node("Cos", layer)]


def grid():
    g, sizes = Graph(), (1, 1, 4, 500)
    turns = g.input("turns", [1, 2, 3], numpy.array([[[1, 0, 0.001], [0, 1, 0]]], numpy.float32))
    places = g.node("AffineGrid", turns, g.constant(sizes))
    return g, [g.node("GridSample", g.input(name, sizes, g.normal(*sizes)), places) for name in ("image", "depth")]


def is_right(run, name, made, precision):
    graph, outputs = made
    case = emulated.Case(f"{name}_{precision}", graph.model(*outputs), options=("--precision", precision))
    _, artifact = run.compile(case)
    feeds, results = run.folder / f"{name}.npz", run.folder / f"{name}_{precision}"
    numpy.savez(feeds, **graph.feeds)
    subprocess.run([run.kpc, "run", artifact, "--input", feeds, "--device", "cuda:0", "-o", results, "--quiet"], check=True,
                   env=run.environment)
    right = True
    for output, wanted in zip(outputs, ReferenceEvaluator(case.model).run(None, graph.feeds)):
        got = numpy.load(pathlib.Path(results) / f"{output}.npy").astype(numpy.float64)
        error = numpy.abs(got - wanted).max() / numpy.sqrt(numpy.square(wanted, dtype=numpy.float64).mean())
        print(f"{name} {precision} {output}: {error:.1e}")
        if not error <= BOUNDS[precision]:
            print(f"WRONG: above {BOUNDS[precision]:.1e}")
            right = False
    return right


def main():
    kpc, driver, folder, *rest = sys.argv[1:]
    run = emulated.Emulated(kpc, driver, rest[0] if rest else "sm_90a", folder)
    cases = [(build, precision) for build in (rotary, timestep, waves, grid) for precision in BOUNDS]
    failed = sum(not is_right(run, build.__name__, build(), precision) for build, precision in cases)
    print(f"{len(cases)} models, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

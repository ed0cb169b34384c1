#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LSTM and GRU layers and the models of test/models/control_flow.py, compiled for a GPU where there need be none.

    python3 recurrent.py KPC FOLDER [--arch sm_90a]

FOLDER gets artifacts, inputs and onnxruntime's outputs; time_recurrent.py runs them on the GPU's machine.
"""

import argparse
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "models"))
import control_flow as models  # noqa: E402
import recurrent_layers  # noqa: E402

np, onnx, onnxruntime = models.np, models.onnx, models.onnxruntime
# Batch, hidden size (and that of the inputs), steps.
LSTMS = [(1, 512, 256), (8, 512, 256), (16, 128, 256)]


def lstm(batch, hidden, steps):
    def uniform(*dims):
        return (models.RANDOM.uniform(-1, 1, dims) / hidden ** 0.5).astype(np.float32)
    weights = [models.constant("w", uniform(1, 4 * hidden, hidden)), models.constant("r", uniform(1, 4 * hidden, hidden)),
               models.constant("b", uniform(1, 8 * hidden))]
    made = models.model([models.node("LSTM", ["x", "w", "r", "b"], ["y", "h", "c"], hidden_size=hidden)],
                        [models.value("x", [steps, batch, hidden])], [models.value(name, None) for name in "yhc"], weights)
    return made, [{"x": models.normal(steps, batch, hidden)}]


def deep(op, batch, steps, hidden):
    """As PyTorch's exporter writes two layers: the outputs of both directions side by side are the next one's inputs."""
    nodes, given = [], "x"
    weights = [models.constant("together", np.array([0, 0, -1]))]
    weights += [models.constant(name, values) for name, values in recurrent_layers.weights(op, hidden).items()]
    extra = {"linear_before_reset": 1} if op == "GRU" else {}
    for layer in range(2):
        nodes += [models.node(op, [given, f"w{layer}", f"r{layer}", f"b{layer}"], [f"all{layer}"], hidden_size=hidden, direction="bidirectional", **extra),
                  models.node("Transpose", [f"all{layer}"], [f"turned{layer}"], perm=[0, 2, 1, 3]),
                  models.node("Reshape", [f"turned{layer}", "together"], [f"y{layer}"])]
        given = f"y{layer}"
    made = models.model(nodes, [models.value("x", [steps, batch, hidden])], [models.value("y1", None)], weights)
    return made, []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kpc")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--only", default="", help="cases whose names have this in them")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    cases = dict(models.CASES)
    cases |= {f"lstm_b{b}_h{h}_s{s}": lambda b=b, h=h, s=s: lstm(b, h, s) for b, h, s in LSTMS}
    cases |= {recurrent_layers.name(*one, precision): lambda one=one: deep(*one)
              for one in recurrent_layers.DEEP for precision in recurrent_layers.PRECISIONS}
    for name, make in cases.items():
        if options.only not in name:
            continue
        made, feeds = make()
        precision = name.split(".")[1] if "." in name else "fp32"
        ports = ["--io-precision", "fp16"] if precision == "fp16" else []
        source = options.folder / f"{name}.onnx"
        onnx.save(made, source)
        free = any(dim.dim_param for given in made.graph.input for dim in given.type.tensor_type.shape.dim)
        dims = ["--dim", "steps=0..1024:opt=32"] if free else []
        subprocess.run([options.kpc, "compile", source, "--arch", options.arch, "--precision", precision, *ports, *dims, "-o", options.folder / f"{name}.kpc",
                        "--no-cache", "--quiet"], check=True)
        if name.startswith("deep_"):
            source.unlink()  # time_recurrent.py makes the rest
            print(name)
            continue
        session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
        for i, feed in enumerate(feeds):
            outputs = dict(zip((o.name for o in session.get_outputs()), session.run(None, feed)))
            np.savez(options.folder / f"{name}.{i}.npz", **{f"in_{k}": v for k, v in feed.items()},
                     **{f"out_{k}": v for k, v in outputs.items()})
        weights = {t.name: onnx.numpy_helper.to_array(t) for t in made.graph.initializer}
        np.savez(options.folder / f"{name}.weights.npz", **weights)
        print(name)


if __name__ == "__main__":
    main()

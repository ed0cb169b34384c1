#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loops that data ends of test/models/ended_loops.py, and long ones to time, compiled for a GPU where there need be none.

    python3 ended_loops.py KPC FOLDER [--arch sm_90a]

FOLDER gets artifacts, inputs and onnxruntime's outputs; time_ended_loops.py runs them on the GPU's machine.
"""

import argparse
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "models"))
import ended_loops as models  # noqa: E402

np, onnx, onnxruntime = models.np, models.onnx, models.onnxruntime


def counting(hidden):
    """h = tanh(h w) while a number that it carries is below `limit`: as many iterations as the caller says."""
    nodes = [models.node("MatMul", ["h", "w"], ["p"]), models.node("Tanh", ["p"], ["h2"]), models.node("Add", ["k", "one"], ["k2"]),
             models.node("Less", ["k2", "limit"], ["again"])]
    loop = models.node("Loop", ["", "true", "x", "zero"], ["y", "rounds"],
                       body=models.body(nodes, [("h", [1, hidden]), ("k", [], models.INT64)],
                                        [("again", [], models.BOOL), ("h2", [1, hidden]), ("k2", [], models.INT64)]))
    weights = [models.TRUE, models.constant("w", models.normal(hidden, hidden) / hidden ** 0.5)]
    weights += [models.constant(name, np.int64(n)) for name, n in (("one", 1), ("zero", 0))]
    made = models.model([loop], [models.value("x", [1, hidden]), models.value("limit", [], models.INT64)],
                        [models.value("y", [1, hidden]), models.value("rounds", [], models.INT64)], weights)
    return made, [{"x": models.normal(1, hidden), "limit": np.int64(n)} for n in (1, 2, 10, 1000)]


def branching(count):
    """So many branches on data one after another, each with a GEMM in one side: cheaper ones become selects."""
    nodes, x, sizes = [], "x", [32, 32]
    for i in range(count):
        sides = [models.helper.make_graph([models.node(op, inputs, [f"{op}{i}"])], op, [], [models.value(f"{op}{i}", sizes)])
                 for op, inputs in (("MatMul", [x, "w"]), ("Tanh", [x]))]
        nodes.append(models.node("If", [f"c{i}"], [f"x{i}"], then_branch=sides[0], else_branch=sides[1]))
        x = f"x{i}"
    nodes = [models.node("Split", ["c"], [f"s{i}" for i in range(count)], num_outputs=count)] + \
        [models.node("Squeeze", [f"s{i}"], [f"c{i}"]) for i in range(count)] + nodes
    inputs = [models.value("x", sizes), models.value("w", sizes), models.value("c", [count], models.BOOL)]
    made = models.model(nodes, inputs, [models.value(x, sizes)], [])
    weight = models.normal(*sizes) / 6
    return made, [{"x": models.normal(*sizes), "w": weight, "c": np.arange(count) % step == 0} for step in (1, 2, count)]


LONG = {"long_counting_64": lambda: counting(64), "long_counting_1024": lambda: counting(1024), "long_branches_20": lambda: branching(20)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kpc")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--only", default="", help="cases whose names have this in them")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, make in {**models.CASES, **LONG}.items():
        if options.only not in name:
            continue
        made, feeds = make()
        source = options.folder / f"{name}.onnx"
        onnx.save(made, source)
        names = {dim.dim_param for given in made.graph.input for dim in given.type.tensor_type.shape.dim if dim.dim_param}
        dims = [part for dim in sorted(names) for part in ("--dim", f"{dim}=0..1024:opt=32")]
        subprocess.run([options.kpc, "compile", source, "--arch", options.arch, "--precision", "fp32", *dims, "-o", options.folder / f"{name}.kpc",
                        "--no-cache", "--quiet"], check=True)
        session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
        for i, feed in enumerate(feeds):
            feed = {key: np.asarray(array) for key, array in feed.items()}
            outputs = dict(zip((o.name for o in session.get_outputs()), session.run(None, feed)))
            np.savez(options.folder / f"{name}.{i}.npz", **{f"in_{k}": v for k, v in feed.items()},
                     **{f"out_{k}": np.asarray(v) for k, v in outputs.items() if not isinstance(v, list)})
        print(name, flush=True)


if __name__ == "__main__":
    main()

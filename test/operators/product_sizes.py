#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of every number of rows, each a kernel of its own, against numpy: what tiles of rows leave over.

    product_sizes.py --kpc FILE --work-dir FOLDER [--arch host] [--device host]
"""

import argparse
import pathlib
import subprocess
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(77)

# (K, N): few terms, so that a block holds few rows; one and several vectors wide, whole and not.
WIDTHS = ((1, 72), (1, 80), (2, 33), (3, 16), (7, 5))
ROWS = (*range(1, 41), 98, 108, 118, 128)


def model(k, n, random):
    weight = random.normal(size=(k, n)).astype(np.float32)
    feeds = {f"x{m}": random.normal(size=(m, k)).astype(np.float32) for m in ROWS}
    nodes = [helper.make_node("MatMul", [f"x{m}", "w"], [f"y{m}"], name=f"rows{m}") for m in ROWS]
    graph = helper.make_graph(nodes, "products", [helper.make_tensor_value_info(f"x{m}", TensorProto.FLOAT, [m, k]) for m in ROWS],
                              [helper.make_tensor_value_info(f"y{m}", TensorProto.FLOAT, [m, n]) for m in ROWS],
                              [numpy_helper.from_array(weight, "w")])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return made, feeds, {f"y{m}": feeds[f"x{m}"].astype(np.float64) @ weight for m in ROWS}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--arch", default="host")
    parser.add_argument("--device", default="host")
    options = parser.parse_args()
    folder, failed = options.work_dir, 0
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(1)
    for k, n in WIDTHS:
        made, feeds, wanted = model(k, n, random)
        onnx.save(made, folder / "model.onnx")
        np.savez(folder / "in.npz", **feeds)
        for command in (("compile", folder / "model.onnx", "--arch", options.arch, "--precision", "fp32", "-o", folder / "model.kpc",
                         "--no-cache", "-q"),
                        ("run", folder / "model.kpc", "--input", folder / "in.npz", "--output-dir", folder, "--device", options.device, "-q")):
            subprocess.run([options.kpc, *map(str, command)], check=True)
        for name, want in wanted.items():
            error = np.abs(np.load(folder / f"{name}.npy") - want)
            if not np.all(error <= 1e-5 * (1 + np.abs(want))):
                failed += 1
                rows = sorted(set(np.argwhere(error > 1e-5)[:, 0].tolist()))
                print(f"WRONG: {name[1:]} rows of {k} by {n}: rows {rows[:8]}")
    print(f"{len(WIDTHS) * len(ROWS)} products, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

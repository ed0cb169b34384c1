# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a model of a few layers, which bear codes differently well, one of a large weight, and samples for both, with the standard library alone.

    python3 make_layers.py DIR
"""

import pathlib
import random
import sys

sys.dont_write_bytecode = True
from make_models import floats, npy, onnx  # noqa: E402
from make_samples import npz  # noqa: E402

WIDTH, LAYERS, ROWS = 128, 4, 32
LARGE = 1024, 512  # as many numbers as codes of 8 bits begin with


def main():
    folder = pathlib.Path(sys.argv[1])
    draw = random.Random(5)
    nodes, weights, value = [], [], "x"
    for layer in range(LAYERS):
        numbers = [draw.gauss(0, WIDTH ** -0.5) for _ in range(WIDTH * WIDTH)]
        nodes += [onnx.node("MatMul", [value, f"w{layer}"], [f"p{layer}"], name=f"fc{layer}"),
                  onnx.node("Relu", [f"p{layer}"], [f"r{layer}"], name=f"relu{layer}")]
        weights.append(onnx.floats(f"w{layer}", [WIDTH, WIDTH], numbers))
        value = f"r{layer}"
    model = onnx.model(onnx.graph(nodes, [onnx.value_info("x", ["rows", WIDTH])], [onnx.value_info(value, ["rows", WIDTH])], weights))
    (folder / "layers.onnx").write_bytes(model)
    # Outliers in some channels: what one scale serves badly.
    scale = [30.0 if channel % 50 == 0 else 1.0 for channel in range(WIDTH)]
    rows = [draw.gauss(0, 1) * scale[place % WIDTH] for place in range(4 * ROWS * WIDTH)]
    npz(folder / "rows.npz", x=npy("<f4", [4, ROWS, WIDTH], floats(rows)))
    numbers = [draw.gauss(0, LARGE[0] ** -0.5) for _ in range(LARGE[0] * LARGE[1])]
    node = onnx.node("MatMul", ["x", "w"], ["y"], name="fc")
    model = onnx.model(onnx.graph([node], [onnx.value_info("x", ["rows", LARGE[0]])], [onnx.value_info("y", ["rows", LARGE[1]])],
                                  [onnx.floats("w", list(LARGE), numbers)]))
    (folder / "large.onnx").write_bytes(model)
    npz(folder / "large.npz", x=npy("<f4", [2, 4, LARGE[0]], floats([draw.gauss(0, 1) for _ in range(2 * 4 * LARGE[0])])))


if __name__ == "__main__":
    main()

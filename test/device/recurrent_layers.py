# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two bidirectional recurrent layers: which there are, and their weights, made anew on either machine."""

import numpy as np

# Operator, batch, steps, hidden size (and that of the inputs).
DEEP = [(op, *sizes) for op in ("LSTM", "GRU") for sizes in ((1, 100, 512), (16, 128, 512), (64, 256, 1024))]
PRECISIONS = ("fp16", "tf32")
GATES = {"LSTM": 4, "GRU": 3}
# Numbers after which random ones are repeated, so that artifacts are small when compressed: a prime, no multiple of any row.
PERIOD = 65521


def name(op, batch, steps, hidden, precision):
    return f"deep_{op.lower()}_b{batch}_s{steps}_h{hidden}.{precision}"


def weights(op, hidden):
    """w, r and b of both layers, gates as ONNX has them."""
    random = np.random.default_rng(5)
    some = (random.uniform(-1, 1, PERIOD) / hidden ** 0.5).astype(np.float32)
    gates, inputs, made = GATES[op] * hidden, hidden, {}
    for layer in range(2):
        for kind, dims in (("w", (2, gates, inputs)), ("r", (2, gates, hidden)), ("b", (2, 2 * gates))):
            made[f"{kind}{layer}"] = np.resize(np.roll(some, 1000 * len(made)), dims)
        inputs = 2 * hidden
    return made

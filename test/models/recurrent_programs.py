# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of PyTorch's recurrent layers: several layers, both directions, sizes of time and batch that the run gives.
written_programs.py runs them; a case is as there. `SHOWS` is what `kpc inspect` must say of a kernel for GPUs.
`MORE` are those of the night.
"""
import numpy as np

from program_writer import Program

CASES, MORE, EVERYWHERE, SHOWS, EXACT = {}, {}, set(), {}, {}
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def drawn(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def logistic(v):
    return 1 / (1 + np.exp(-v))


def step(kind, given, own, state, memory):
    """The next state and memory; gates in PyTorch's order."""
    parts, owns = np.split(given, GATES[kind], -1), np.split(own, GATES[kind], -1)
    if kind == "gru":
        reset, update = (logistic(parts[i] + owns[i]) for i in (0, 1))
        return (1 - update) * np.tanh(parts[2] + reset * owns[2]) + update * state, memory
    sums = [a + b for a, b in zip(parts, owns)]
    if kind == "lstm":
        memory = logistic(sums[1]) * memory + logistic(sums[0]) * np.tanh(sums[2])
        return logistic(sums[3]) * np.tanh(memory), memory
    return (np.tanh(sums[0]) if kind == "rnn_tanh" else np.maximum(sums[0], 0)), memory


def wanted(kind, x, start, weights, layers, ways, biases, batch_first):
    x = x.swapaxes(0, 1) if batch_first else x
    lasts = []
    for layer in range(layers):
        sides = []
        for way in range(ways):
            at = layer * ways + way
            w, r, b, c = (weights[at * (4 if biases else 2):] + [0, 0])[:4] if biases else (*weights[at * 2:at * 2 + 2], 0, 0)
            state, memory, outs = start[0][at], start[-1][at], []
            for given in (x[::-1] if way else x):
                state, memory = step(kind, given @ w.T + b, state @ r.T + c, state, memory)
                outs.append(state)
            sides.append(np.stack(outs[::-1] if way else outs))
            lasts.append((state, memory))
        x = np.concatenate(sides, -1)
    finals = [np.stack([last[i] for last in lasts]) for i in range(len(start))]
    return [x.swapaxes(0, 1) if batch_first else x, *finals]


def layer(kind, layers=1, both=False, biases=True, batch_first=False, steps=6, batch=3, width=5, hidden=8, ranges=None, sizes=((6, 3),), change=None):
    """A program of one call; `steps` and `batch` may be symbols with `ranges`, and `sizes` are those of the runs.
    `change` takes the weights and the number of layers and gives those that are written."""
    ways = 2 if both else 1
    weights, inputs = [], width
    for at in range(layers):
        for way in range(ways):
            seed = 100 * at + 10 * way
            weights += [drawn(seed + 1, GATES[kind] * hidden, inputs) / 2, drawn(seed + 2, GATES[kind] * hidden, hidden) / 3]
            if biases:
                weights += [drawn(seed + 3, GATES[kind] * hidden) / 4, drawn(seed + 4, GATES[kind] * hidden) / 4]
        inputs = ways * hidden
    written, said_layers = change(weights, layers) if change else (weights, layers)
    p = Program(ranges or {})
    x = p.input("x", (batch, steps, width) if batch_first else (steps, batch, width))
    names = ["h", "c"] if kind == "lstm" else ["h"]
    start = [p.input(n, (layers * ways, batch, hidden)) for n in names]
    params = [p.weight(f"w{i}", v) for i, v in enumerate(written)]
    y = (batch, steps, ways * hidden) if batch_first else (steps, batch, ways * hidden)
    for value in p.node(f"aten.{kind}.input", {"input": x, "hx": start if kind == "lstm" else start[0], "params": params, "has_biases": biases,
                                               "num_layers": said_layers, "dropout": 0.0, "train": False, "bidirectional": both,
                                               "batch_first": batch_first},
                        [("f4", y)] + [("f4", (layers * ways, batch, hidden)) for _ in names]):
        p.output(value)
    runs = []
    for count, rows in sizes:
        x = drawn(7, rows, count, width) if batch_first else drawn(7, count, rows, width)
        begin = [drawn(8 + i, layers * ways, rows, hidden) / 2 for i in range(len(names))]
        runs.append(({"x": x} | dict(zip(names, begin)), wanted(kind, x, begin, weights, layers, ways, biases, batch_first)))
    return p, runs


def case(name, everywhere=False, nightly=True, **how):
    (MORE if nightly else CASES)[name] = lambda: layer(**how)
    if everywhere:
        EVERYWHERE.add(name)
        SHOWS[name] = "recurrent "
        EXACT[name] = (2e-2, 5e-3)  # products of tf32, in each step


case("lstm_one_kernel", everywhere=True, kind="lstm", layers=2, both=True, batch_first=True)
case("gru_one_kernel", everywhere=True, nightly=False, kind="gru", both=True, steps=18, sizes=((18, 3),))
case("rnn_one_kernel", everywhere=True, kind="rnn_relu", biases=False)
case("rnn_tanh_layers", kind="rnn_tanh", layers=3, batch_first=True)
case("lstm_long", kind="lstm", steps=300, batch=2, sizes=((300, 2),))
case("lstm_free", nightly=False, kind="lstm", layers=2, both=True, steps="s0", batch="s1", ranges={"s0": (2, 64), "s1": (1, 16)},
     sizes=((2, 1), (33, 7)))
case("gru_free", kind="gru", batch_first=True, biases=False, steps="s0", ranges={"s0": (2, 64)}, sizes=((2, 3), (40, 3)))


def refused(name, words, change):
    CASES[name] = lambda: (layer("lstm", change=change)[0], words)


refused("lstm_of_a_vector", "rows for each hidden unit", lambda w, n: ([w[0].reshape(-1)] + w[1:], n))
refused("lstm_of_other_rows", "expected [32, 8]", lambda w, n: ([w[0], np.concatenate([w[1], w[1]])] + w[2:], n))
refused("lstm_of_a_short_bias", "expected [32]", lambda w, n: (w[:3] + [w[3][:8]], n))
refused("lstm_of_many_layers", "'num_layers' is", lambda w, n: (w, 2 ** 62))

# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sequences without attention: a CRNN with greedy CTC, Mamba's scan."""

import numpy as np

from corpus.encoders import HIDDEN, WORDS, rms_norm, tensor_of
from corpus.writer import BOOL, FLOAT, INT64, Writer, ints


def crnn():
    """Text in an image: convolutions, two bidirectional LSTMs, and the best letters without blanks and repeats (Compress: a size that data decides)."""
    g = Writer("crnn", 14, constants=True, producer="pytorch")
    x = g.input("image", 1, 1, 32, "width")
    width = 1
    for out, pool in ((8, (2, 2)), (12, (2, 2)), (16, (4, 1))):
        x = g("Relu", g("Conv", x, g.w(out, width, 3, 3), g.bias(out), pads=[1] * 4, kernel_shape=[3, 3]))
        x = g("MaxPool", x, kernel_shape=list(pool), strides=list(pool))
        width = out
    x = g("Conv", x, g.w(16, 16, 2, 1), g.bias(16), kernel_shape=[2, 1])
    x = g("Transpose", g("Squeeze", x, ints(2)), perm=[2, 0, 1])
    for wide in (16, 16):
        start = g("ConstantOfShape", g.together(2, g.size(x, 1), 8), value=tensor_of(np.zeros(1, np.float32)))
        y, _, _ = g("LSTM", x, g.weight(g.values.normal(2, 32, wide, size=0.4)), g.weight(g.values.normal(2, 32, 8, size=0.4)),
                    g.weight(g.values.normal(2, 64, size=0.1)), None, start, start, hidden_size=8, direction="bidirectional", outputs=3)
        x = g("Reshape", g("Transpose", y, perm=[0, 2, 1, 3]), ints(0, 0, -1))
    logits = g("LogSoftmax", g.linear(x, 16, 11), axis=-1)
    g.output(logits, "log_probs", "steps", 1, 11)
    best = g("Squeeze", g("ArgMax", logits, axis=2, keepdims=0), ints(1))
    # A letter stays if it is no blank and not the one before it.
    before = g("Concat", ints(0), g("Slice", best, ints(0), ints(-1), ints(0)), axis=0)
    keep = g("And", g("Not", g("Equal", best, before)), g("Not", g("Equal", best, np.int64(0))))
    g.output(g("Compress", best, keep, axis=0), "letters", "count", kind=INT64)
    return g.model(), [{"image": g.values.normal(1, 1, 32, width)} for width in (64, 100)]


def mamba(body="scan"):
    """A selective state space: a causal depthwise convolution, then a recurrence over time (Scan, or the loop that a trace leaves)."""
    g = Writer(f"mamba{body}", 17, constants=True, producer="pytorch")
    inner, state, rank = 16, 4, 2
    ids = g.input("input_ids", "batch", "length", kind=INT64)
    x = g("Gather", g.w(WORDS, HIDDEN, size=1), ids)
    for layer in range(2):
        g.prefix = f"/layers.{layer}/"
        both = g("Transpose", g.linear(rms_norm(g, x), HIDDEN, 2 * inner, bias=False), perm=[0, 2, 1])
        u, gate = g("Split", both, ints(inner, inner), axis=1, outputs=2)
        u = g("Conv", u, g.w(inner, 1, 4), g.bias(inner), group=inner, kernel_shape=[4], pads=[3, 3])
        # The causal part: the first `length` results.
        u = g("Slice", u, ints(0), g("Unsqueeze", g.size(ids, 1), ints(0)), ints(2))
        u = g("Mul", u, g("Sigmoid", u))
        rows = g("Transpose", u, perm=[0, 2, 1])
        step, b, c = g("Split", g.linear(rows, inner, rank + 2 * state, bias=False), ints(rank, state, state), axis=-1, outputs=3)
        step = g("Softplus", g.linear(step, rank, inner))
        a = g("Neg", g("Exp", g.weight(np.log(np.tile(np.arange(1, state + 1), (inner, 1))).astype(np.float32))))
        decay = g("Exp", g("Mul", g("Unsqueeze", step, ints(3)), a))
        added = g("Mul", g("Mul", g("Unsqueeze", step, ints(3)), g("Unsqueeze", b, ints(2))), g("Unsqueeze", rows, ints(3)))
        start = g("ConstantOfShape", g.together(g.size(ids, 0), inner, state), value=tensor_of(np.zeros(1, np.float32)))

        def advance():
            h = g("Add", g("Mul", "decay_t", "h"), "added_t")
            y = g("Squeeze", g("MatMul", h, g("Unsqueeze", "c_t", ints(2))), ints(2))
            return [g("Identity", h), y]

        info = __import__("onnx").helper.make_tensor_value_info
        if body == "scan":
            kept = g.prefix
            scan = g.subgraph("scan", [info("h", FLOAT, None), info("decay_t", FLOAT, None), info("added_t", FLOAT, None), info("c_t", FLOAT, None)],
                              [(FLOAT, None), (FLOAT, None)], advance)
            _, y = g("Scan", start, decay, added, c, body=scan, num_scan_inputs=3, scan_input_axes=[1, 1, 1], scan_output_axes=[1], outputs=2)
            g.prefix = kept
        else:
            def iterate():
                for name, source in (("decay_t", decay), ("added_t", added), ("c_t", c)):
                    g("Gather", source, "i", axis=1, outputs=[name])
                h, y = advance()
                return [g("Identity", "again"), h, y]

            loop = g.subgraph("loop", [info("i", INT64, []), info("again", BOOL, []), info("h", FLOAT, None)],
                              [(BOOL, []), (FLOAT, None), (FLOAT, None)], iterate)
            _, y = g("Loop", g.size(ids, 1), np.array(True), start, body=loop, outputs=2)
            y = g("Transpose", y, perm=[1, 0, 2])
        y = g("Add", y, g("Mul", rows, g.gain(inner)))
        y = g("Mul", y, g("Transpose", g("Mul", gate, g("Sigmoid", gate)), perm=[0, 2, 1]))
        x = g("Add", x, g.linear(y, inner, HIDDEN, bias=False))
    g.prefix = ""
    g.output(g("MatMul", rms_norm(g, x), g.w(HIDDEN, WORDS)), "logits", "batch", "length", WORDS)
    return g.model(), [{"input_ids": g.values.whole(WORDS, *dims)} for dims in ((1, 5), (2, 19))]


def greedy_decoder():
    """A loop that its own data ends: letters until the end's number comes, at most 12."""
    g = Writer("greedy_decoder", 17, constants=True, producer="pytorch")
    frames = g.input("frames", 1, 8)
    info = __import__("onnx").helper.make_tensor_value_info
    words, out = g.w(6, 8, size=1.5), g.w(8, 6, size=2.0)

    def iterate():
        h = g("Tanh", g("Add", g("Gather", words, "letter", axis=0), "state"))
        best = g("ArgMax", g("MatMul", h, out), axis=-1, keepdims=0)
        return [g("Not", g("Equal", g("Squeeze", best, ints(0)), np.int64(0))), best, h, g("Identity", best)]

    body = g.subgraph("step", [info("i", INT64, []), info("go", BOOL, []), info("letter", INT64, [1]), info("state", FLOAT, [1, 8])],
                      [(BOOL, []), (INT64, [1]), (FLOAT, [1, 8]), (INT64, [1])], iterate)
    last, state, letters = g("Loop", np.int64(12), np.array(True), ints(1), frames, body=body, outputs=3)
    g.output(letters, "letters", "count", 1, kind=INT64)
    g.output(state, "state", 1, 8)
    return g.model(), [{"frames": g.values.normal(1, 8, size=2)} for _ in range(4)]

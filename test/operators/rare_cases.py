# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rarer operators of com.microsoft: hashes, norms in front of coded weights, attention of older encoders and decoders.

Those that onnxruntime has for GPUs alone are compared with numpy, by the operator's definition.
"""

import numpy as np

from branch_cases import ByNumpy, softmax
from case import Const
from microsoft_cases import f, i8, ms, scale, u8, zero

rng = np.random.default_rng(29)


def ints(low, high, shape, kind=np.int64):
    return rng.integers(low, high, shape, kind)


def hashes():
    run = dict(max_ngram_size=4, n_head_per_ngram=2, pad_id=9)
    ids, past = ints(0, 6, (2, 7)), ints(0, 6, (2, 3))
    factors, sizes = Const([-2**62 + 7, 12345678901, 77777777777777, 3]), Const([97, 101, 103, 107, 109, 113])
    segments = np.array([[0, 0, 1, 1, 1, 2, 2], [0, 0, 0, 0, 0, 0, 1]], np.int32)
    offsets, end = Const(np.arange(6) * 200), Const(np.int64(3))
    return [
        ms("MurmurHash3", ints(-9, 9, (3, 4), np.int32)), ms("MurmurHash3", ints(-2**62, 2**62, (5, )), seed=7, positive=0, name="long"),
        ms("MurmurHash3", f(6), seed=42, name="float"), ms("MurmurHash3", f(6, kind=np.float64), name="double"),
        ms("NGramHashMapping", ids, factors, sizes, outputs=2, **run),
        ms("NGramHashMapping", ids, factors, sizes, past, offsets, outputs=2, name="past", **run),
        ms("NGramHashMapping", ids, factors, sizes, past, None, end, outputs=2, name="end", reset_on_eos=1, **run),
        ms("NGramHashMapping", ids, factors, sizes, past, offsets, end, segments, outputs=2, name="segments", **run),
        ms("NGramHashMapping", ids.astype(np.int32), Const([11, -13], np.int32), Const([97], np.int32), outputs=2, name="short",
           max_ngram_size=2, n_head_per_ngram=1, pad_id=0),
    ]


def embeddings():
    words, segments = ints(0, 20, (2, 5), np.int32), ints(0, 2, (2, 5), np.int32)
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    tables = [Const(u8(*shape)) for shape in ((20, 8), (9, 8), (2, 8), (8, ), (8, ))]
    steps, zeros = [scale(x) for x in (0.02, 0.03, 0.01, 0.05, 0.04)], [zero(x) for x in (120, 128, 7, 0, 255)]
    few = [None if i == 2 else x for i, x in enumerate(tables)], [None if i == 2 else x for i, x in enumerate(steps)]
    return [
        ms("QEmbedLayerNormalization", words, segments, *tables, mask, *steps, *zeros, outputs=2),
        ms("QEmbedLayerNormalization", words, None, *few[0], None, *few[1], *[None if i == 2 else x for i, x in enumerate(zeros)], outputs=2,
           epsilon=1e-3, name="words"),
    ]


def codes(columns, k, block=32):
    """Packed codes, their scales and the matrix [k, columns] that they stand for."""
    each = rng.integers(0, 16, (columns, k), np.uint8)
    scales = (rng.random((columns, k // block)) * 0.1).astype(np.float32)
    packed = (each[:, ::2] | each[:, 1::2] << 4).reshape(columns, k // block, block // 2)
    matrix = (each.astype(np.float32) - 8) * np.repeat(scales, block, 1)
    return Const(packed), Const(scales.reshape(-1)), matrix.T


def rms(x, weight, epsilon):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight


def products():
    x, skip, norm, bias = f(2, 3, 64), f(2, 3, 64), Const(f(64)), Const(f(24))
    (gate, gate_steps, gates), (up, up_steps, ups) = codes(24, 64), codes(24, 64)
    (q, q_steps, queries), (k, k_steps, keys), (v, v_steps, values) = codes(48, 64), codes(16, 64), codes(16, 64)
    sizes = dict(K=64, bits=4, block_size=32)

    def gated(inputs, attributes):
        a, skipped, weight, _, _, first, _, _, _ = (*inputs, None)[:9]
        whole = a if skipped is None else a + skipped
        normed = whole if weight is None else rms(whole, weight, attributes.get("epsilon", 1e-5))
        opened = normed @ gates + (0 if first is None else first)
        return [opened / (1 + np.exp(-opened)) * (normed @ ups), whole][:1 if skipped is None else 2]

    def three(inputs, _):
        normed = rms(inputs[0], inputs[2], 1e-5)
        return [normed @ queries, normed @ keys, normed @ values]

    return [
        ByNumpy("MatMulNBitsMlp", x, None, None, gate, gate_steps, bias, up, up_steps, None, N=24, activation="silu", wanted=gated, **sizes),
        ByNumpy("MatMulNBitsMlp", x, skip, norm, gate, gate_steps, None, up, up_steps, None, N=24, activation="silu", epsilon=1e-3, outputs=2,
                name="skip", wanted=gated, **sizes),
        ByNumpy("MatMulNBitsQkv", x, None, norm, q, q_steps, None, k, k_steps, None, v, v_steps, None, Nq=48, Nkv=16, outputs=3,
                wanted=three, **sizes),
    ]


def heads_of(x, heads):  # [S, B, H*D] to [B, H, S, D]
    return x.reshape(*x.shape[:2], heads, -1).transpose(1, 2, 0, 3)


def decoders():
    x, source = f(4, 2, 12), f(5, 2, 12)
    weights = Const(f(12, 12)), Const(f(12, 24)), Const(f(36))
    padding = np.array([[False] * 5, [False, False, False, True, True]])
    own = np.array([[False] * 7, [True] + [False] * 6])
    past = f(2, 3, 3, 4), f(2, 3, 3, 4)

    def wanted(inputs, attributes):
        x, source, wq, w, b, hidden, k, v, cross, uses, state, pads = inputs
        parts = np.split(b, 3)
        q = heads_of(x @ wq + parts[0], 3)
        if not (cross and uses and state):
            new = np.split((source if cross else x) @ w, 2, -1)
            new = [heads_of(y + p, 3) for y, p in zip(new, parts[1:])]
            k, v = (np.concatenate(both, 2) for both in zip((k, v), new)) if uses and state else new
        scores = q @ k.transpose(0, 1, 3, 2) / 2
        if pads:
            scores = np.where(hidden[:, None, None], -np.inf, scores)
        y = softmax(scores) @ v
        return [y.transpose(2, 0, 1, 3).reshape(x.shape), k, v]

    def case(name, hidden, kept, *flags):
        return ByNumpy("DecoderAttention", x, source, *weights, hidden, *kept, *[Const(np.array(flag)) for flag in flags], num_heads=3,
                       outputs=3, name=name, wanted=wanted)

    return [case("own", None, (None, None), False, False, False, False), case("past", own, past, False, True, True, True),
            case("cross", padding, (None, None), True, False, False, True),
            case("cached", None, (f(2, 3, 5, 4), f(2, 3, 5, 4)), True, True, True, False)]


def windows():
    x = f(2, 8, 12)
    mask = np.where(np.arange(8) < [[8], [6]], 0, -10000).astype(np.float32)
    wide = np.array([[1, 0, 0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0]], np.int32)

    def wanted(inputs, attributes):
        x, w, b, mask, far_w, far_b, wide = inputs
        near, far = ([heads_of(y.transpose(1, 0, 2), 3) for y in np.split(x @ m + n, 3, -1)] for m, n in ((w, b), (far_w, far_b)))
        place = np.arange(8)
        seen = (abs(place[:, None] - place) <= attributes["window"]) | (wide != 0)[:, None, None]

        def attend(parts, seen):
            return softmax(np.where(seen, parts[0] @ parts[1].transpose(0, 1, 3, 2) / 2 + mask[:, None, None], -np.inf)) @ parts[2]
        y = np.where((wide != 0)[:, None, :, None], attend(far, True), attend(near, seen))
        return [y.transpose(0, 2, 1, 3).reshape(x.shape)]

    return [ByNumpy("LongformerAttention", x, Const(f(12, 36)), Const(f(36)), mask, Const(f(12, 36)), Const(f(36)), wide, num_heads=3, window=2,
                    wanted=wanted)]


def delta_steps(q, k, v, g, beta, state, scale):
    """[B, T, heads, x] each, all heads alike; the state [B, heads, V, D]."""
    s, outputs = state.transpose(0, 1, 3, 2).astype(np.float64), []
    for t in range(q.shape[1]):
        s = s * np.exp(g[:, t])[..., None]
        rest = v[:, t] - np.einsum("bhdv,bhd->bhv", s, k[:, t])
        s = s + np.einsum("bhd,bhv->bhdv", k[:, t], rest * beta[:, t][..., None])
        outputs.append(scale * np.einsum("bhdv,bhd->bhv", s, q[:, t]))
    return np.stack(outputs, 1).astype(np.float32), s.transpose(0, 1, 3, 2).astype(np.float32)


def deltas():
    q, k, v, state = f(2, 6, 2, 4), f(2, 6, 2, 4), f(2, 6, 4, 3), f(2, 4, 3, 4)
    decay, rate = -np.abs(f(2, 6, 4)), f(2, 6, 4)
    log, shift = Const(f(4)), Const(f(4))

    def unit(x):
        return x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6)

    def wanted(inputs, attributes):
        q, k, v, _, g, beta, state, *gates = inputs
        shape = v.shape if v is not None else None
        if k is None:
            q, k, v = (x.reshape(2, 6, heads, -1) for x, heads in zip(np.split(q, [8, 16], -1), (2, 2, 4)))
            shape = v.shape
        q, k = (unit(x.reshape(2, 6, 2, 4)).repeat(2, 2) for x in (q, k))
        g, beta = g.reshape(2, 6, 4, -1), beta.reshape(2, 6, 4)
        if gates:
            g = -np.exp(gates[0])[:, None] * np.log1p(np.exp(g + gates[1][:, None]))
            beta = 1 / (1 + np.exp(-beta))
        y, after = delta_steps(q, k, v.reshape(2, 6, 4, 3), np.broadcast_to(g, (2, 6, 4, 4)), beta, state, attributes.get("scale", 0.5))
        return [y.reshape(shape), after]

    def case(name, *inputs, **attributes):
        return ByNumpy("GatedDeltaNet", *inputs, outputs=2, name=name, qk_l2_norm=1, wanted=wanted, **attributes)

    packed = np.concatenate([x.reshape(2, 6, -1) for x in (q, k, v)], -1)
    flat = [x.reshape(12, *x.shape[2:]) for x in (q, k, v)]
    return [
        case("whole", q, k, v, None, decay, rate, state), case("keys", q, k, v, None, -np.abs(f(2, 6, 4, 4)), rate, state, scale=0.3),
        case("flat", *flat, None, decay.reshape(12, 4), rate.reshape(12, 4), state),
        case("packed", packed, None, None, None, decay, rate, state, log, shift, gate_activation="qwen", beta_activation="sigmoid"),
    ]


def others():
    x, bias, rest = f(3, 4, 8), Const(f(8)), f(3, 4, 8)
    full = np.full(3, 0xffffffff, np.uint32)
    return [
        ms("SampleOp", x), ByNumpy("TorchEmbedding", Const(f(9, 4)), ints(0, 9, (2, 3)), wanted=lambda i, _: [i[0][i[1]]]),
        ByNumpy("BitmaskDropout", x, outputs=2, wanted=lambda i, _: [i[0], full]),
        ByNumpy("BitmaskBiasDropout", x, bias, rest, outputs=2, wanted=lambda i, _: [i[0] + i[1] + i[2], full]),
    ]


def cases():
    groups = [hashes, embeddings, products, decoders, windows, deltas, others]
    return [case for group in groups for case in group()]

# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of com.microsoft around language models: gates, streams, tokens without padding, caches in blocks.

Those that onnxruntime has for GPUs alone are compared with numpy, by the operator's definition.
"""

import numpy as np

from case import Case, Const

rng = np.random.default_rng(23)


def f(*shape, kind=np.float32):
    return rng.standard_normal(shape).astype(kind)


def ms(op, *inputs, **options):
    return Case(op, *inputs, domain="com.microsoft", **options)


class ByNumpy(Case):
    """`wanted(inputs, attributes)` gives the outputs."""

    def __init__(self, op, *inputs, wanted, **options):
        super().__init__(op, *inputs, domain="com.microsoft", **options)
        self.wanted = wanted

    def reference(self):
        given = [x.value if isinstance(x, Const) else x for x in self.inputs]
        results = self.wanted(given, self.attributes)
        return {f"y{i}": np.asarray(y) for i, y in enumerate(results) if y is not None}


def softmax(x):
    parts = np.exp(x - x.max(-1, keepdims=True))
    return parts / parts.sum(-1, keepdims=True)


def gates():
    x, y = f(2, 3, 8), f(2, 3, 8)
    streams, flat = f(2, 3, 4, 6), f(2, 3, 24)
    heads = f(2, 5, 4, 6)
    scales = [Const(f(4, 6)) for _ in range(3)]
    return [
        ms("GatedAdd", x, y, f(2, 3, 1)), ms("GatedRMSNorm", x, Const(f(8)), y), ms("GatedRMSNorm", x, Const(f(4)), y, activation="sigmoid", name="heads"),
        ms("BranchwiseRMSNorm", streams), ms("BranchwiseRMSNorm", flat, Const(f(24)), num_branches=4, epsilon=1e-3, name="flat"),
        ms("BranchwiseRMSNorm", streams, Const(f(6)), name="one"),
        ms("HyperConnectionPreMix", streams, f(2, 3, 4)), ms("HyperConnectionPreMix", flat, f(2, 3, 24), num_branches=4, reduction_scale=0.25, name="flat"),
        ms("HyperConnectionPreMix", streams, f(2, 3, 4, 6), name="features"),
        ms("HyperConnectionPostMix", streams, f(2, 3, 6), f(2, 3, 4, 1), f(2, 3, 4, 4)),
        ms("HyperConnectionPostMix", flat, f(2, 3, 6), f(2, 3, 4), num_branches=4, name="flat"),
        ms("LinearAttentionGate", f(2, 3, 4) * 20, Const(f(4)), Const(-np.abs(f(4)))),
        ms("LinearAttentionGate", f(2, 3, 4), Const(f(4)), Const(-np.abs(f(4))), f(2, 3, 4), outputs=2, name="beta"),
        ms("EngramGate", heads, f(2, 5, 4, 6), f(2, 5, 6), scales[0], scales[1]),
        ms("EngramGate", heads, f(2, 5, 4, 6), f(2, 5, 6), *scales, outputs=2, epsilon=1e-2, name="normed"),
        ByNumpy("GemmFastGelu", x, Const(f(8, 5)), Const(f(5)), wanted=lambda i, _: [fast_gelu(i[0] @ i[1] + i[2]).astype(np.float32)]),
    ]


def fast_gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def states():
    def steps(name, *rest, rule, queries=4, **options):
        return ms("LinearAttention", f(2, 5, 8 * queries), f(2, 5, 16), f(2, 5, 12), *rest, q_num_heads=queries, kv_num_heads=2, update_rule=rule,
                  outputs=2, name=name, **options)

    decay, rate = -np.abs(f(2, 5, 2)), 1 / (1 + np.exp(-f(2, 5, 2)))
    x, w = f(2, 6, 7), Const(f(6, 1, 4))
    return [
        steps("linear", rule="linear"), steps("gated", f(2, 2, 8, 6), decay, rule="gated", scale=0.3),
        steps("delta", None, decay, rate, rule="gated_delta", queries=2),
        ms("CausalConvWithState", x, w, outputs=2), ms("CausalConvWithState", x, w, Const(f(6)), f(2, 6, 3), outputs=2, activation="silu", name="state"),
        ByNumpy("FusedMatMulActivation", f(2, 3, 4), Const(f(5, 4)), transB=1, alpha=0.5, activation="LeakyRelu", activation_alpha=0.2,
                wanted=lambda i, _: [leaky(i[0] @ i[1].T / 2)]),
    ]


def leaky(x):
    return np.where(x < 0, np.float32(0.2) * x, x).astype(np.float32)


def images():
    boxes = np.array([[0, 0, 1, 1], [0.2, 0.1, 0.8, 0.7], [-0.2, 0.3, 0.5, 1.3], [0.9, 0.8, 0.1, 0.2]], np.float32)
    which = np.array([0, 1, 1, 0], np.int32)
    ids = np.array([[1, 2, 3, 1, 2], [4, 4, 4, 4, 4], [7, 1, 0, 2, 5]], np.int64)
    return [
        ms("UnfoldTensor", f(2, 9), size=3, step=2), ms("UnfoldTensor", f(7, 2, 3), dim=0, size=4, name="first"),
        ms("CropAndResize", f(2, 3, 6, 7), boxes, which, Const([4, 5], np.int32)),
        ms("CropAndResize", f(2, 3, 6, 7), boxes, which, Const([1, 3], np.int32), extrapolation_value=0.5, mode="nearest", name="nearest"),
        ms("NGramRepeatBlock", ids, f(3, 9), ngram_size=3), ms("NGramRepeatBlock", ids, f(3, 9), ngram_size=1, name="one"),
    ]


def sections():
    at = rng.integers(0, 16, (3, 2, 5), np.int64)
    angles = np.arange(16)[:, None] * (0.5**np.arange(6))[None]
    tables = Const(np.cos(angles), np.float32), Const(np.sin(angles), np.float32)

    def gemma(inputs, _):
        angle, q, q_turned, k, k_turned = inputs
        sine, cosine = np.sin(angle)[:, None], np.cos(angle)[:, None]
        return q * cosine + q_turned * sine, k * cosine + k_turned * sine

    return [
        ms("MRotaryEmbedding", f(2, 3, 5, 12), at, *tables, mrope_section=[2, 2, 2]),
        ms("MRotaryEmbedding", f(2, 5, 24), at, *tables, mrope_section=[3, 2, 1], num_heads=2, mrope_layout=1, interleaved=1, name="alternate"),
        ms("MRotaryEmbedding", f(2, 5, 32), at, *tables, mrope_section=[1, 2, 3], num_heads=2, rotary_embedding_dim=12, name="part"),
        # Of f16, by the schema.
        ByNumpy("GemmaRotaryEmbedding", f(2, 5, 8), *[f(2, 3, 5, 8, kind=np.float16) for _ in range(4)], outputs=2, absolute=2e-2, relative=1e-2,
                wanted=lambda i, a: [y.astype(np.float16) for y in gemma([x.astype(np.float64) for x in i], a)]),
    ]


LENGTHS, MOST = [1, 2, 4], 4
REAL = [0, 4, 5, 8, 9, 10, 11]
OFFSETS = np.array(REAL + [1, 2, 3, 6, 7], np.int32).reshape(3, MOST)
SUMS = np.cumsum([0, *LENGTHS]).astype(np.int32)


def packed(q, k, v, heads, bias=0, scale=None):
    """Attention of the tokens of each sequence, [T, H*D]."""
    result = []
    for at, (start, end) in enumerate(zip(SUMS, SUMS[1:])):
        parts = [x[start:end].reshape(end - start, heads, -1).transpose(1, 0, 2).astype(np.float64) for x in (q, k, v)]
        each = bias if np.ndim(bias) == 0 else bias[at % len(bias), :, :end - start, :end - start]
        scores = parts[0] @ parts[1].transpose(0, 2, 1) * (scale or parts[0].shape[2]**-0.5) + each
        result.append((softmax(scores) @ parts[2]).transpose(1, 0, 2).reshape(end - start, -1))
    return [np.concatenate(result).astype(np.float32)]


def tokens():
    count = len(REAL)

    def whole(inputs, attributes):
        x, w, b, _, _, bias = (*inputs, 0)[:6]
        widths = attributes.get("qkv_hidden_sizes", [w.shape[1] // 3] * 3)
        return packed(*np.split(x @ w + b, np.cumsum(widths)[:2], 1), attributes["num_heads"], bias, attributes.get("scale"))

    def heads(inputs, attributes):
        q, k, v, b, _, _, bias = (*inputs, 0)[:7]
        if k is None:
            q, k, v = (q[:, :, i].reshape(count, -1) for i in range(3))
        if b is not None:
            parts = np.split(b, [q.shape[1], 2 * q.shape[1]])
            q, k, v = q + parts[0], k + parts[1], v + parts[2]
        return packed(q, k, v, attributes["num_heads"], bias)

    def removed(inputs, _):
        x, lengths = inputs
        places = [b * x.shape[1] + s for b, n in enumerate(lengths) for s in range(n)]
        rest = [i for i in range(x.shape[0] * x.shape[1]) if i not in places]
        return (x.reshape(-1, x.shape[2])[places], np.array(places + rest, np.int32).reshape(x.shape[:2]),
                np.cumsum([0, *lengths]).astype(np.int32), np.array([max(lengths)], np.int32))

    def restored(inputs, _):
        x, offsets = inputs
        y = np.zeros((offsets.size, x.shape[1]), np.float32)
        y[offsets.ravel()[:len(x)]] = x
        return [y.reshape(*offsets.shape, -1)]

    def positions(inputs, attributes):
        q, b, rel, w, c, eco = inputs[:6]
        q = q + b
        if len(inputs) > 6:
            q = restored([q, inputs[6]], None)[0]
        q = q.reshape(*q.shape[:2], attributes["num_heads"], -1).transpose(0, 2, 1, 3)
        gates = 1 / (1 + np.exp(-(q @ w + c).reshape(*q.shape[:3], 2, -1).sum(-1)))
        u, r = gates[..., :1], gates[..., 1:]
        return [((u * (r * eco - 1) + 2) * rel).astype(np.float32)]

    eco, rel = f(1, 2, 1, 1), f(1, 2, 4, 4)
    return [
        ByNumpy("PackedAttention", f(count, 6), Const(f(6, 24)), Const(f(24)), OFFSETS, SUMS, num_heads=2, wanted=whole),
        ByNumpy("PackedAttention", f(count, 6), Const(f(6, 28)), Const(f(28)), OFFSETS, SUMS, f(1, 2, 4, 4), num_heads=2, qkv_hidden_sizes=[8, 8, 12],
                scale=0.3, wanted=whole, name="bias"),
        ByNumpy("PackedMultiHeadAttention", f(count, 8), f(count, 8), f(count, 12), None, OFFSETS, SUMS, num_heads=2, wanted=heads),
        ByNumpy("PackedMultiHeadAttention", f(count, 2, 3, 4), None, None, Const(f(24)), OFFSETS, SUMS, f(3, 2, 4, 4), num_heads=2, wanted=heads,
                name="joined"),
        ByNumpy("RemovePadding", f(3, 4, 5), np.array(LENGTHS, np.int32), outputs=4, wanted=removed),
        ByNumpy("RestorePadding", f(count, 5), OFFSETS, wanted=restored),
        ByNumpy("GatedRelativePositionBias", f(3, 4, 8), Const(f(8)), rel, Const(f(4, 8)), Const(f(8)), eco, num_heads=2, wanted=positions),
        ByNumpy("GatedRelativePositionBias", f(count, 8), Const(f(8)), rel, Const(f(4, 8)), Const(f(8)), eco, OFFSETS, num_heads=2, wanted=positions,
                name="tokens"),
    ]


def rotated(x, at, cosines, sines):
    """Halves of heads [T, H, D]."""
    half = cosines.shape[1]
    c, s = cosines[at][:, None], sines[at][:, None]
    a, b = x[..., :half], x[..., half:2 * half]
    return np.concatenate([a * c - b * s, b * c + a * s, x[..., 2 * half:]], -1)


def paged_attention(inputs, attributes):
    (q, k, v, key_cache, value_cache, sums, past, table, cosines, sines, slots, sink, gamma_q, gamma_k) = (*inputs, *[None] * 6)[:14]
    heads, groups = attributes["num_heads"], attributes["kv_num_heads"]
    size, rows = key_cache.shape[3], key_cache.shape[1]
    if k is None:
        q, k, v = np.split(q, [heads * size, (heads + groups) * size], 1)
    q, k, v = (x.reshape(len(x), -1, size).astype(np.float64) for x in (q, k, v))
    if gamma_q is not None:
        q, k = (x / np.sqrt((x**2).mean(-1, keepdims=True) + attributes.get("qk_norm_epsilon", 1e-6)) * g for x, g in ((q, gamma_q), (k, gamma_k)))
    keys, values, out = key_cache.copy(), value_cache.copy(), np.zeros((len(q), heads, size))
    at = np.concatenate([past[b] + np.arange(sums[b + 1] - sums[b]) for b in range(len(past))])
    if cosines is not None:
        q, k = rotated(q, at, cosines, sines), rotated(k, at, cosines, sines)
    for b in range(len(past)):
        for t in range(sums[b], sums[b + 1]):
            slot = table[b, at[t] // rows] * rows + at[t] % rows if slots is None else slots[t]
            if slot >= 0:
                keys[slot // rows, slot % rows], values[slot // rows, slot % rows] = k[t], v[t]
    window = attributes.get("local_window_size", -1)
    for b in range(len(past)):
        total = past[b] + sums[b + 1] - sums[b]
        held = [x[table[b]].reshape(-1, groups, size)[:total].astype(np.float64) for x in (keys, values)]
        for t in range(sums[b], sums[b + 1]):
            end = at[t] + 1 if attributes.get("is_causal", 1) else total
            start = max(0, end - window) if window > 0 else 0
            for h in range(heads):
                g = h // (heads // groups)
                scores = held[0][start:end, g] @ q[t, h] * attributes.get("scale", size**-0.5)
                if attributes.get("softcap"):
                    scores = np.tanh(scores / attributes["softcap"]) * attributes["softcap"]
                parts = softmax(np.append(scores, sink[h]))[:-1] if sink is not None else softmax(scores)
                out[t, h] = parts @ held[1][start:end, g]
    return out.reshape(len(q), -1).astype(np.float32), keys, values


def paged():
    sums, past = np.array([0, 3, 4, 6], np.int32), np.array([2, 5, 0], np.int32)
    table = np.array([[3, 1, 0], [2, 5, 0], [4, 0, 0]], np.int32)
    angles = np.arange(16)[:, None] * (0.5**np.arange(2))[None]
    tables = Const(np.cos(angles), np.float32), Const(np.sin(angles), np.float32)

    def case(name, *rest, joined=False, **attributes):
        new = [f(6, 32), None, None] if joined else [f(6, 16), f(6, 8), f(6, 8)]
        return ByNumpy("PagedAttention", *new, f(6, 4, 2, 4), f(6, 4, 2, 4), sums, past, table, *rest, num_heads=4, kv_num_heads=2, outputs=3, name=name,
                       wanted=paged_attention, **attributes)

    slots = np.array([3 * 4 + 2, -1, 1 * 4 + 0, 5 * 4 + 1, 16, 17], np.int32)
    return [
        case(""), case("joined", joined=True, softcap=5.0), case("window", local_window_size=2), case("all", is_causal=0),
        case("rotary", *tables, do_rotary=1, scale=0.3), case("slots", None, None, slots), case("sink", None, None, None, Const(f(4))),
        case("norms", *tables, None, None, Const(f(4)), Const(f(4)), do_rotary=1, qk_norm_epsilon=1e-3)
    ]


def sparse():
    columns = np.array([[0, 0, 1, 1, 2, 1, 2, 3, -1], [0, 0, 1, 0, 1, 2, 0, 2, 3]], np.int32)
    ends = np.array([[0, 1, 3, 5, 8], [0, 1, 3, 6, 9]], np.int32)
    angles = np.arange(64)[:, None] * (0.5**np.arange(8))[None]
    tables = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)

    def case(name, length, totals, *rest, joined=False, **attributes):
        new = [f(2, length, 128), None, None] if joined else [f(2, length, 64), f(2, length, 32), f(2, length, 32)]
        # onnxruntime wants one buffer for the past and the present: the reference's is a copy.
        return SharedRows("SparseAttention", *new, f(2, 2, 64, 16), f(2, 2, 64, 16), ends, columns, np.array(max(totals), np.int32),
                          np.array(totals, np.int32), *rest, domain="com.microsoft", num_heads=4, kv_num_heads=2, sparse_block_size=16, outputs=3,
                          name=name, **attributes)

    def apart(inputs, _):
        """Of one token; onnxruntime 1.31 has other results where sequences have different lengths."""
        q, k, v, keys, values, _, _, _, totals = inputs
        keys, values, y = keys.copy(), values.copy(), np.zeros((2, 4, 16))
        for b, total in enumerate(totals):
            keys[b, :, total - 1], values[b, :, total - 1] = k[b, 0].reshape(2, 16), v[b, 0].reshape(2, 16)
            for h in range(4):
                row = (total - 1) // 16
                blocks = columns[h % 2, ends[h % 2, row]:ends[h % 2, row + 1]]
                seen = np.isin(np.arange(64) // 16, blocks) & (np.arange(64) < total)
                scores = keys[b, h // 2, seen].astype(np.float64) @ q[b, 0].reshape(4, 16)[h] / 4
                y[b, h] = softmax(scores) @ values[b, h // 2, seen]
        return y.reshape(2, 1, 64).astype(np.float32), keys, values

    lengths = np.array([41, 60], np.int32)
    return [
        ByNumpy("SparseAttention", f(2, 1, 64), f(2, 1, 32), f(2, 1, 32), f(2, 2, 64, 16), f(2, 2, 64, 16), ends, columns, np.array(60, np.int32), lengths,
                num_heads=4, kv_num_heads=2, sparse_block_size=16, outputs=3, wanted=apart, name="apart"),
        case("step", 1, [60, 60]), case("prompt", 35, [35, 35]), case("rotary", 1, [33, 33], *tables, do_rotary=1),
        case("joined", 20, [20, 20], *tables, joined=True, do_rotary=1, scale=0.2)
    ]


class SharedRows(Case):
    """Rows of a prompt's buffer behind it are what they were, of which onnxruntime is not asked."""

    def reference(self):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(self.model().SerializeToString(), options, ["CPUExecutionProvider"])
        binding = session.io_binding()
        for name, x in self.given().items():
            value = onnxruntime.OrtValue.ortvalue_from_numpy(x.copy())
            binding.bind_ortvalue_input(name, value)
            if name in ("x3", "x4"):
                binding.bind_ortvalue_output({"x3": "y1", "x4": "y2"}[name], value)
        binding.bind_output("y0")
        session.run_with_iobinding(binding)
        keys, values, result = binding.copy_outputs_to_cpu()
        return {"y0": result, "y1": keys, "y2": values}


def one_token():
    """Attention of one token whose past is in a buffer, by the projection's definition."""
    x, w, b, past = f(2, 1, 6), Const(f(6, 24)), Const(f(24)), f(2, 2, 2, 7, 4)

    def wanted(inputs, _):
        x, w, b, _, past, _, length = inputs
        q, k, v = (part.reshape(2, 2, 4) for part in np.split((x @ w + b)[:, 0], 3, 1))
        at, held = int(length[0]), past.copy()
        held[0, :, :, at], held[1, :, :, at] = k, v
        scores = np.einsum("bhd,bhkd->bhk", q, held[0, :, :, :at + 1]) / 2
        return np.einsum("bhk,bhkd->bhd", softmax(scores.astype(np.float64)), held[1, :, :, :at + 1]).reshape(2, 1, 8).astype(np.float32), held

    return [ByNumpy("DecoderMaskedSelfAttention", x, w, b, None, past, None, np.array([3], np.int32), num_heads=2, past_present_share_buffer=1, outputs=2,
                    wanted=wanted)]


def cases():
    return gates() + states() + images() + sections() + tokens() + paged() + sparse() + one_token()

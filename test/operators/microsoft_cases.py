# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of com.microsoft that onnxruntime runs on a processor, in several forms each."""

import numpy as np

from case import Case, Const

# onnxruntime has these for GPUs only.
WITHOUT_REFERENCE = {"BiasSplitGelu", "BiasAdd", "GroupNorm", "SkipGroupNorm", "NhwcConv", "NhwcFusedConv", "ComplexMul",
                     "ComplexMulConj", "IsAllFinite", "MulInteger", "ReduceSumInteger", "QLinearReduceMean", "ScaledSiLU",
                     "SimplifiedLayerNormalization", "RelativePositionBias", "BiasSoftmax", "BiasDropout"}

rng = np.random.default_rng(17)


def f(*shape, kind=np.float32):
    return rng.standard_normal(shape).astype(kind)


def u8(*shape):
    return rng.integers(0, 256, shape, dtype=np.uint8)


def i8(*shape):
    return rng.integers(-128, 128, shape, dtype=np.int8)


def ms(op, *inputs, **options):
    return Case(op, *inputs, domain="com.microsoft", **options)


def scale(value):
    return Const(value, np.float32)


def zero(value, kind=np.uint8):
    return Const(value, kind)


def activations():
    x, bias = f(2, 3, 8), Const(f(8))
    return [ms("Gelu", x), ms("FastGelu", x), ms("FastGelu", x, bias, name="bias"), ms("BiasGelu", x, bias),
            ms("QuickGelu", x), ms("QuickGelu", x, alpha=1.0, name="silu")]


def norms():
    x, skip, gamma, beta, bias = f(2, 3, 16), f(2, 3, 16), Const(f(16)), Const(f(16)), Const(f(16))
    ids, segments = rng.integers(0, 20, (2, 5), np.int32), rng.integers(0, 2, (2, 5), np.int32)
    words, places, types = Const(f(20, 8)), Const(f(9, 8)), Const(f(2, 8))
    g8, b8 = Const(f(8)), Const(f(8))
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    at = np.array([[1, 2, 3, 4, 5], [0, 1, 2, 3, 4]], np.int32)
    return [
        Case("SimplifiedLayerNormalization", x, gamma, opset=17, epsilon=1e-3),
        Case("SimplifiedLayerNormalization", x, Const(f(3, 16)), opset=17, axis=1, name="axis"),
        ms("SkipLayerNormalization", x, skip, gamma, beta), ms("SkipLayerNormalization", x, skip, gamma, name="plain", epsilon=1e-5),
        ms("SkipLayerNormalization", x, skip, gamma, beta, bias, outputs="y--y", name="sum"),
        ms("SkipSimplifiedLayerNormalization", x, skip, gamma), ms("SkipSimplifiedLayerNormalization", x, skip, gamma, bias,
                                                                   outputs="y--y", name="sum"),
        ms("EmbedLayerNormalization", ids, segments, words, places, types, g8, b8, mask, outputs=2, mask_index_type=1),
        ms("EmbedLayerNormalization", ids, None, words, places, None, g8, b8, None, at, outputs="y-y", name="positions"),
    ]


def products():
    x, w, image, kernel = f(4, 6), Const(f(6, 5)), f(1, 4, 9, 9), Const(f(6, 4, 3, 3))
    return [
        ms("FusedMatMul", f(2, 3, 4), f(2, 4, 5), alpha=0.5), ms("FusedMatMul", f(2, 4, 3), f(2, 5, 4), transA=1, transB=1, name="turned"),
        ms("FusedMatMul", f(3, 2, 4), f(2, 4, 5), transBatchA=1, name="batch"),
        ms("FusedMatMul", f(2, 3, 4), f(5, 2, 4), transB=1, transBatchB=1, name="batchB"),
        ms("TransposeMatMul", f(2, 4, 3), f(2, 4, 5), transA=1),
        ms("FusedGemm", x, w, Const(f(5)), activation="Relu", alpha=0.5, beta=2.0),
        ms("FusedGemm", x, w, activation="LeakyRelu", activation_alpha=0.2, name="leaky"),
        ms("FusedConv", image, kernel, Const(f(6)), activation="Relu", pads=[1, 1, 1, 1]),
        ms("FusedConv", image, kernel, None, f(1, 6, 7, 7), activation="Tanh", name="sum"),
        ms("FusedConv", image, kernel, activation="Clip", activation_params=[0.0, 1.0], strides=[2, 2], name="clip"),
        ms("CDist", f(4, 6), f(5, 6), metric="euclidean"), ms("CDist", f(4, 6), f(5, 6), metric="sqeuclidean", absolute=1e-4, name="squares"),
        ms("ExpandDims", f(3, 4), Const(1, np.int32)), ms("ExpandDims", f(3, 4), Const(-1, np.int32), name="last"),
        ms("Trilu", f(4, 4), upper=0), ms("GatherND", f(3, 4), Const([[0, 1], [2, 3]], np.int64)),
        ms("GridSample", f(1, 2, 4, 5), f(1, 3, 3, 2)),
    ]


def softmax(x, point, axis, version, name=""):
    """Its attribute 'opset' says which Softmax is meant."""
    case = ms("QLinearSoftmax", x, scale(0.1), point, scale(1 / 256), zero(0), axis=axis, steps=1, name=name)
    case.attributes["opset"] = version
    return case


def quantised():
    a, c, b8 = u8(3, 4), u8(3, 4), i8(3, 4)
    s1, s2, s3, z1, z2, z3 = scale(0.02), scale(0.03), scale(0.04), zero(120), zero(130), zero(100)
    signed = (scale(0.02), zero(-3, np.int8), scale(0.04), zero(5, np.int8))
    image, w8, ws = u8(1, 3, 5, 5), Const(i8(4, 6)), Const(np.abs(f(6)) * 0.02 + 0.01)
    return [
        ms("QLinearAdd", a, s1, z1, c, s2, z2, s3, z3, steps=1), ms("QLinearAdd", b8, *signed[:2], i8(4), *signed[:2], *signed[2:], steps=1, name="signed"),
        ms("QLinearMul", a, s1, z1, c, s2, z2, s3, z3, steps=1), ms("QLinearSigmoid", a, s1, z1, scale(1 / 256), zero(0), steps=1),
        ms("QLinearLeakyRelu", a, s1, z1, s3, z3, alpha=0.1, steps=1),
        softmax(a, z1, -1, 13), softmax(u8(2, 3, 4), z1, 1, 11, name="old"),
        ms("QLinearGlobalAveragePool", image, s1, z1, s3, z3, steps=1, name="first"),
        ms("QLinearGlobalAveragePool", u8(1, 5, 5, 3), s1, z1, s3, z3, channels_last=1, steps=1, name="last"),
        ms("QLinearConcat", s3, z3, a, s1, z1, c, s2, z2, axis=1, steps=1),
        ms("QLinearWhere", rng.random((3, 4)) < 0.5, a, s1, z1, c, s2, z2, s3, z3, steps=1),
        ms("MatMulIntegerToFloat", u8(3, 4), w8, s1, scale(0.01), z1, zero(2, np.int8), Const(f(6))),
        ms("MatMulIntegerToFloat", u8(2, 3, 4), w8, s1, ws, z1, Const(np.zeros(6, np.int8)), name="columns"),
        ms("DynamicQuantizeMatMul", f(3, 4), w8, scale(0.01), zero(2, np.int8), absolute=2e-3),
        ms("DynamicQuantizeMatMul", f(3, 4), w8, ws, None, Const(f(6)), absolute=2e-3, name="columns"),
        ms("MatMulInteger16", rng.integers(-99, 99, (3, 4), np.int16), rng.integers(-99, 99, (4, 5), np.int16)),
        ms("QGemm", u8(3, 4), s1, z1, w8, scale(0.01), zero(0, np.int8), Const(rng.integers(-99, 99, 6, np.int32)), scale(0.05), z3, steps=1),
        ms("QGemm", u8(3, 4), s1, z1, Const(i8(6, 4)), scale(0.01), zero(0, np.int8), transB=1, alpha=0.5, name="floats"),
        ms("QuantizeLinear", f(3, 4), s1, z1), ms("QuantizeLinear", f(3, 4), Const([0.1, 0.2, 0.3, 0.4], np.float32),
                                                  Const(np.zeros(4, np.uint16)), axis=1, name="columns"),
        ms("DequantizeLinear", a, s1, z1),
        ms("QLinearConv", image, s1, z1, Const(i8(4, 3, 3, 3)), scale(0.01), zero(0, np.int8), s3, z3, steps=1),
    ]


class Grouped(Case):
    """Beside numpy: with zero points and groups in any order onnxruntime departs from its own definition."""

    def reference(self):
        x, codes, scales, zeros, groups = (getattr(v, "value", v) for v in self.inputs)
        halves = [np.stack([v & 15, v >> 4], -1).reshape(len(codes), -1).astype(np.float64) for v in (codes, zeros)]
        groups = groups[:x.shape[1]]
        weights = (halves[0][:, :x.shape[1]] - halves[1][:, groups]) * scales[:, groups]
        return {"y0": (x @ weights.T).astype(np.float32)}


def few_bits():
    """test/operators/few_bits.py has more of them."""
    codes, scales = Const(u8(5, 3, 16)), Const(np.abs(f(5, 3)) + 0.01)
    shape = {"K": 80, "N": 5, "block_size": 32}
    return [
        ms("MatMulNBits", f(2, 3, 80), codes, scales, bits=4, **shape),
        ms("MatMulNBits", f(3, 80), codes, scales, Const(u8(5, 2)), None, Const(f(5)), bits=4, name="zeros", **shape),
        ms("MatMulNBits", f(3, 80), Const(u8(5, 3, 32)), scales, Const(u8(5, 3)), bits=8, name="bytes", **shape),
        ms("MatMulNBits", f(3, 80), codes, scales, Const(np.abs(f(5, 3)) * 7), bits=4, name="fractions", **shape),
        Grouped("MatMulNBits", f(3, 80), codes, scales, Const(u8(5, 2)), Const(rng.integers(0, 3, 96).astype(np.int32)), bits=4, name="groups",
                domain="com.microsoft", **shape),
        ms("MatMulNBits", f(2, 80), codes, scales, None, Const(rng.permutation(np.arange(96) // 32).astype(np.int32)), Const(f(5)), bits=4,
           name="order", **shape),
    ]


class Spectrum(Case):
    """Beside numpy: onnxruntime has these for GPUs alone."""

    def reference(self):
        x, axes = self.inputs[0].astype(np.float64), self.attributes["signal_ndim"]
        if self.op == "Rfft":
            spectrum = np.fft.rfftn(x, axes=tuple(range(-axes, 0)))
            return {"y0": np.stack([spectrum.real, spectrum.imag], -1).astype(np.float32)}
        return {"y0": np.fft.irfftn(x[..., 0] + 1j * x[..., 1], axes=tuple(range(-axes, 0))).astype(np.float32)}


def spectra_and_sets():
    def of(op, *shape, axes=1, name=""):
        return Spectrum(op, f(*shape), domain="com.microsoft", signal_ndim=axes, onesided=1, normalized=0, absolute=1e-4, name=name)
    whole = np.fft.rfftn(rng.standard_normal((3, 6, 10)), axes=(1, 2))
    plane = Spectrum("Irfft", np.stack([whole.real, whole.imag], -1).astype(np.float32), domain="com.microsoft", signal_ndim=2, onesided=1,
                     normalized=0, name="plane")
    return [of("Rfft", 3, 20), of("Rfft", 2, 7, 9, axes=2, name="plane"), of("Irfft", 3, 6, 2), plane,
            ms("Unique", np.float32([3, 1, 1, 0.5, 3, 2, 0.5]), outputs=3)]


def attention():
    x, w, b = f(2, 5, 16), Const(f(16, 48) * 0.3), Const(f(48))
    q, k, v, kv4 = f(2, 5, 16), f(2, 7, 16), f(2, 7, 16), f(2, 4, 7, 4)
    mask = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]], np.int32)
    keys = np.array([[1, 1, 1, 1, 0, 0, 0], [1] * 7], np.int32)
    past, rows = f(2, 2, 4, 3, 4), (rng.random((2, 5, 5)) < 0.7).astype(np.int32)
    rows[:, :, 0] = 1
    pk, pv, bias = f(2, 4, 3, 4), f(2, 4, 3, 4), Const(f(48))
    return [
        ms("Attention", x, w, b, num_heads=4), ms("Attention", x, w, b, num_heads=4, unidirectional=1, name="causal"),
        ms("Attention", x, w, b, mask, num_heads=4, name="mask"), ms("Attention", x, w, b, rows, num_heads=4, name="mask3"),
        ms("Attention", x, w, b, np.array([3, 5], np.int32), num_heads=4, name="lengths"),
        ms("Attention", x, w, b, np.array([4, 5, 1, 0], np.int32), num_heads=4, name="ends"),
        ms("Attention", x, w, b, None, past, num_heads=4, outputs=2, unidirectional=1, name="past"),
        ms("Attention", x, w, b, None, None, f(1, 4, 5, 5), num_heads=4, scale=0.7, name="bias"),
        ms("Attention", x, Const(f(16, 40)), Const(f(40)), num_heads=4, qkv_hidden_sizes=[16, 16, 8], name="widths"),
        ms("MultiHeadAttention", q, k, v, num_heads=4), ms("MultiHeadAttention", q, k, v, bias, keys, num_heads=4, name="padded"),
        ms("MultiHeadAttention", q, k, v, None, None, f(2, 1, 5, 7), num_heads=4, scale=0.3, name="bias"),
        ms("MultiHeadAttention", q, kv4, f(2, 4, 7, 4), num_heads=4, name="cross"),
        ms("MultiHeadAttention", q, q + 1, q * 2, None, None, None, pk, pv, num_heads=4, outputs=3, unidirectional=1, name="past"),
        ms("MultiHeadAttention", q, k, f(2, 7, 24), num_heads=4, name="widths"),
    ] + rotary() + grouped() + decoding()


def attended(q, k, v, heads, lengths=None, mask=None, bias=0, causal=False, scale=None):
    """Attention in f64 of q [B, S, H*D] on k and v [B, H, T, D], of which so many keys count."""
    batch, count, width = q.shape
    q = q.astype(np.float64).reshape(batch, count, heads, width // heads).transpose(0, 2, 1, 3)
    scores = q @ k.astype(np.float64).transpose(0, 1, 3, 2) * (scale or (width // heads)**-0.5) + bias
    if mask is not None:
        scores = scores + np.where(mask[:, None, None, :] != 0, 0, -10000.0)
    at = np.arange(k.shape[2])
    total = np.full(batch, k.shape[2]) if lengths is None else lengths
    seen = (at < total[:, None])[:, None, :]
    if causal:
        seen = seen & (at <= (total[:, None] - count + np.arange(count))[..., None])
    scores = np.where(seen[:, None], scores, -np.inf)
    parts = np.exp(scores - scores.max(-1, keepdims=True))
    y = parts / parts.sum(-1, keepdims=True) @ v.astype(np.float64)
    return y.transpose(0, 2, 1, 3).reshape(batch, count, -1).astype(np.float32)


def with_rows(buffer, rows, at, heads):
    """A buffer [B, H, M, D] with rows [B, S, H*D] from one row on."""
    written = buffer.copy()
    written[:, :, at:at + rows.shape[1]] = rows.reshape(*rows.shape[:2], heads, -1).transpose(0, 2, 1, 3)
    return written


class Instead(Case):
    """Beside another form that means the same, where onnxruntime's kernel for processors has none of this one."""

    def __init__(self, *inputs, instead, **options):
        super().__init__(*inputs, **options)
        self.instead = instead

    def reference(self):
        return self.instead.reference()


class First(Instead):
    """The same of the first output alone."""

    def reference(self):
        return {"y0": super().reference()["y0"]}


class Window(Case):
    """Rows of a cache behind those that it holds are not specified."""

    def difference(self, got, want):
        if want.ndim == 4:
            total, rows = int(self.inputs[5][0]) + 1, want.shape[2]
            each = rows - self.attributes["local_window_size"] + 1
            held = total if total <= rows else total - each * -(-(total - rows) // each)
            got, want = got[:, :, :held], want[:, :, :held]
        return super().difference(got, want)


class Buffers(Case):
    """Beside numpy: onnxruntime has buffers that calls share for GPUs alone."""

    def reference(self):
        q, k, v = (x.copy() for x in self.inputs[:3])
        past, heads = int(np.ravel(self.inputs[8])[0]), self.attributes["num_heads"]
        padding = self.inputs[4]
        k, v = with_rows(self.inputs[6], k, past, heads), with_rows(self.inputs[7], v, past, heads)
        lengths = np.full(len(q), past + self.inputs[1].shape[1])
        mask = None if padding is None else np.pad(padding, ((0, 0), (0, k.shape[2] - padding.shape[1])), constant_values=1)
        return {"y0": attended(q, k, v, heads, lengths, mask, causal=bool(self.attributes.get("unidirectional"))), "y1": k, "y2": v}


class FirstStep(Case):
    """The first token sees itself alone, which some versions of onnxruntime do not say."""

    def reference(self):
        q, k, v = self.inputs[:3]
        heads = self.attributes["num_heads"]
        return {"y0": v, "y1": with_rows(self.inputs[5], k, 0, heads), "y2": with_rows(self.inputs[6], v, 0, heads)}


class SharedPast(Case):
    """The same of Attention, whose past has keys and values in one tensor."""

    def reference(self):
        x, w, b, _, past, _, length = (getattr(v, "value", v) for v in self.inputs)
        q, k, v = np.split(x @ w + b, 3, -1)
        at, heads = int(length[0]), self.attributes["num_heads"]
        k, v = with_rows(past[0], k, at, heads), with_rows(past[1], v, at, heads)
        lengths = np.full(len(x), at + x.shape[1])
        return {"y0": attended(q, k, v, heads, lengths, causal=True), "y1": np.stack([k, v])}


def decoding():
    """A step with past keys in a buffer, all of it an input and an output."""
    def step(*inputs, name, **attributes):
        return ms("DecoderMaskedMultiHeadAttention", *inputs, num_heads=4, name=name, **attributes)

    def one():
        return f(2, 1, 16)

    def buffers(rows=9):
        return f(2, 4, rows, 4), f(2, 4, rows, 4)

    past, shared = np.array([5], np.int32), {"past_present_share_buffer": 1, "outputs": 3}
    mask = np.array([[1, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1]], np.int32)
    rows, apart, held = [f(2, 3, 16), f(2, 3, 16), f(2, 3, 16)], [one(), one(), one()], buffers()
    x, w, b = f(2, 3, 16), Const(f(16, 48) * 0.3), Const(f(48))
    return [
        step(one(), one(), one(), None, None, *buffers(), past, name="shared", **shared),
        step(one(), one(), one(), mask, None, *buffers(), past, name="masked", **shared),
        step(one(), one(), one(), None, f(2, 4, 1, 6), *buffers(), past, None, None, Const(f(48)), name="bias", scale=0.3, **shared),
        FirstStep("DecoderMaskedMultiHeadAttention", one(), one(), one(), None, None, *buffers(), np.array([0], np.int32), domain="com.microsoft",
                  num_heads=4, name="first", **shared),
        Instead("DecoderMaskedMultiHeadAttention", np.concatenate(apart, 2), None, None, None, None, *held, past, domain="com.microsoft",
                num_heads=4, name="packed", instead=step(*apart, None, None, *held, past, name="apart", **shared), **shared),
        step(one(), one(), one(), np.ones((2, 6), np.int32), f(1, 4, 1, 6) * 0, *buffers(), past, np.array([2], np.int32),
             rng.integers(0, 2, (1, 2, 9)).astype(np.int32), name="beams", **shared),
        step(one(), *buffers(7), name="cross"),
        step(one(), *buffers(7), np.array([[1, 1, 1, 1, 1, 0, 0], [1] * 7], np.int32), name="cross.masked"),
        Buffers("MultiHeadAttention", *rows, None, None, None, *buffers(), past, domain="com.microsoft", num_heads=4, unidirectional=1,
                outputs=3, name="shared"),
        Buffers("MultiHeadAttention", *rows, None, np.array([[1, 0, 1, 1, 1, 1, 1, 1], [1] * 8], np.int32), None, *buffers(), past,
                domain="com.microsoft", num_heads=4, outputs=3, name="shared.masked"),
        SharedPast("Attention", x, w, b, None, f(2, 2, 4, 9, 4), None, past, domain="com.microsoft", num_heads=4, unidirectional=1,
                   past_present_share_buffer=1, outputs=2, name="shared"),
    ]


def tables(length, half):
    angles = np.arange(length)[:, None] * (0.5 ** np.arange(half))[None]
    return Const(np.cos(angles), np.float32), Const(np.sin(angles), np.float32)


def rotary():
    cos, sin = tables(16, 4)
    at = np.array([[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]], np.int64)
    return [ms("RotaryEmbedding", f(2, 3, 5, 8), at, cos, sin), ms("RotaryEmbedding", f(2, 5, 24), at, cos, sin, interleaved=1, name="flat"),
            ms("RotaryEmbedding", f(2, 5, 24), np.array([3], np.int64), cos, sin, name="offset"),
            ms("RotaryEmbedding", f(2, 5, 32), at, cos, sin, num_heads=2, rotary_embedding_dim=8, name="part")]


def grouped():
    """Prompts, then steps with a past: as ONNX Runtime's model builder writes them."""
    def gqa(queries, past, lengths, total, name, packed=False, bias=None, sink=None, norms=(), outputs=3, **attributes):
        inputs = [f(2, queries, 64), f(2, queries, 32), f(2, queries, 32)]
        if packed:
            inputs = [np.concatenate(inputs, 2), None, None]
        caches = [f(2, 2, past, 16), f(2, 2, past, 16)]
        counts = [np.array(lengths, np.int32), Const(total, np.int32)]
        angles = list(tables(16, 8)) if attributes.get("do_rotary") else [None, None]
        more = [sink] if sink is not None else []
        options = {"outputs": outputs, "num_heads": 4, "kv_num_heads": 2, "domain": "com.microsoft", "name": name, **attributes}
        if not norms:
            return Case("GroupQueryAttention", *inputs, *caches, *counts, *angles, None, bias, *more, **options)
        epsilon = options.get("qk_norm_epsilon", 1e-6)
        q, k = (normalised(x, norm.value, epsilon) for x, norm in zip(inputs, norms))
        plain = Case("GroupQueryAttention", q, k, inputs[2], *caches, *counts, *angles, None, bias, **options)
        return Instead("GroupQueryAttention", *inputs, *caches, *counts, *angles, None, bias, None, None, None, *norms, instead=plain, **options)

    def normalised(x, norm, epsilon):
        heads = x.reshape(*x.shape[:2], -1, 16).astype(np.float64)
        return (heads / np.sqrt((heads**2).mean(-1, keepdims=True) + epsilon) * norm).reshape(x.shape).astype(np.float32)

    def coded(queries, past, name, bits=8, columns=False, **attributes):
        """With a cache of codes."""
        last = 2 * bits
        inputs = [f(2, queries, 64), f(2, queries, 32), f(2, queries, 32)]
        caches = [i8(2, 2, past, last) if bits == 8 else u8(2, 2, past, last) for _ in range(2)]
        scales = [Const(np.abs(f(32 if columns else 1)) * 0.02 + (0.02 if bits == 8 else 0.3)) for _ in range(2)]
        total = past + queries
        kind = "PER_CHANNEL" if columns else "PER_TENSOR"
        return ms("GroupQueryAttention", *inputs, *caches, np.full(2, total - 1, np.int32), Const(total, np.int32), None, None, None, None, None,
                  *scales, outputs=3, num_heads=4, kv_num_heads=2, k_quant_type=kind, v_quant_type=kind, kv_cache_bit_width=bits, steps=1,
                  name=name, **attributes)

    def window(rows, size, queries, past, name, bias=None, sink=None, **attributes):
        """With a cache of so many rows, behind so many positions."""
        batch, total = 1 if queries > 1 else 2, past + queries
        inputs = [f(batch, queries, 64), f(batch, queries, 32), f(batch, queries, 32), f(batch, 2, rows, 16), f(batch, 2, rows, 16)]
        counts, angles = [np.full(batch, total - 1, np.int32), Const(total, np.int32)], list(tables(40, 8))
        return Window("GroupQueryAttention", *inputs, *counts, *angles, None, bias, *([] if sink is None else [sink]), outputs=3, num_heads=4,
                      kv_num_heads=2, do_rotary=1, sliding_window_cache=1, local_window_size=size, domain="com.microsoft", name=name, **attributes)

    sink, norms = Const(f(4)), [Const(f(16)), Const(f(16))]
    return [gqa(5, 0, [4, 4], 5, "prompt"), gqa(5, 0, [4, 4], 5, "prompt.rotary", do_rotary=1),
            gqa(1, 6, [6, 6], 7, "step", do_rotary=1), gqa(1, 6, [6, 6], 7, "step.packed", packed=True, do_rotary=1, rotary_interleaved=1),
            gqa(1, 6, [6, 6], 7, "step.window", local_window_size=3), gqa(5, 0, [4, 4], 5, "prompt.window", local_window_size=2),
            gqa(1, 6, [6, 6], 7, "step.softcap", softcap=5.0, scale=0.2),
            gqa(1, 6, [6, 6], 7, "step.bias", bias=f(2, 1, 1, 7)),
            gqa(5, 0, [4, 4], 5, "prompt.smooth", smooth_softmax=1), gqa(1, 6, [6, 6], 7, "step.smooth", smooth_softmax=1),
            gqa(5, 0, [4, 4], 5, "prompt.sink", sink=sink), gqa(1, 6, [6, 6], 7, "step.sink", sink=sink, do_rotary=1),
            gqa(1, 6, [6, 6], 7, "step.sink.bias", sink=sink, bias=f(2, 1, 1, 7), softcap=5.0),
            gqa(5, 0, [4, 4], 5, "prompt.sink.window", sink=sink, local_window_size=2),
            gqa(5, 0, [4, 4], 5, "prompt.norms", norms=norms, do_rotary=1), gqa(1, 6, [6, 6], 7, "step.norms", norms=norms, qk_norm_epsilon=1e-2),
            gqa(1, 6, [6, 6], 7, "step.scores", qk_output=1, outputs=4), gqa(1, 6, [6, 6], 7, "step.weights", qk_output=2, outputs=4),
            gqa(1, 6, [6, 6], 7, "step.weights.sink", qk_output=2, outputs=4, sink=sink),
            window(6, 6, 1, 9, "window"), window(6, 6, 1, 3, "window.begun"), window(6, 6, 4, 9, "window.chunk"),
            window(9, 6, 1, 11, "window.slack"), window(9, 6, 12, 11, "window.long"), window(9, 6, 5, 0, "window.prompt"),
            window(9, 6, 1, 11, "window.bias", bias=f(2, 4, 1, 12), sink=sink),
            coded(1, 6, "step.codes"), coded(5, 0, "prompt.codes"), coded(1, 6, "step.codes.columns", columns=True),
            coded(1, 6, "step.codes.4", bits=4), coded(5, 0, "prompt.codes.4", bits=4, columns=True)]


def codes_and_pools():
    x, w, scale_w = u8(2, 5, 16), Const(i8(16, 48)), Const(np.abs(f(48)) * 0.01 + 0.001)
    table, rows = Const(u8(9, 32)), np.array([[0, 3], [8, 3]], np.int64)
    scales, zeros = Const(np.abs(f(9, 4)) + 0.01), Const(u8(9, 2))
    image = u8(1, 7, 9, 3)
    mask = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]], np.int32)
    return [
        ms("QAttention", x, w, Const(f(48)), scale(0.02), scale(0.01), None, zero(120), zero(0, np.int8), num_heads=4, absolute=1e-4),
        ms("QAttention", x, w, Const(f(48)), scale(0.02), scale_w, mask, zero(120), Const(np.zeros(48, np.int8)), num_heads=4, unidirectional=1,
           absolute=1e-4, name="columns"),
        ms("GatherBlockQuantized", table, rows, scales, block_size=16, bits=4, quantize_axis=1),
        ms("GatherBlockQuantized", table, rows, scales, zeros, block_size=16, bits=4, quantize_axis=1, name="zeros"),
        ms("GatherBlockQuantized", Const(u8(9, 64)), rows, scales, Const(u8(9, 4)), block_size=16, bits=8, quantize_axis=1, name="bytes"),
        ms("NhwcMaxPool", image, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]),
        ms("QLinearAveragePool", u8(1, 3, 7, 9), scale(0.02), zero(120), scale(0.03), zero(100), kernel_shape=[3, 3], strides=[2, 2], steps=1),
        ms("QLinearAveragePool", image, scale(0.02), zero(120), scale(0.03), zero(100), kernel_shape=[2, 2], pads=[1, 1, 0, 0], channels_last=1,
           steps=1, name="last"),
        ms("Inverse", f(3, 5, 5) + 3 * np.eye(5, dtype=np.float32), absolute=1e-4), ms("Inverse", f(20, 20), absolute=2e-3, relative=2e-3, name="pivots"),
        ms("Pad", f(3, 4), Const([1, 0, 0, 2], np.int64), Const(0.5, np.float32)), ms("Range", Const(1, np.int64), Const(9, np.int64), Const(2, np.int64)),
    ]


def recurrent():
    """onnxruntime quantises what it multiplies, by its range: the results are near, not equal."""
    def layer(hidden, directions, columns=False, more=(), name="", kind=np.int8, **attributes):
        def codes(rows):
            scales = np.abs(rng.standard_normal((directions, 4 * hidden) if columns else directions)) * 2e-3 + 2e-3
            low, high = (-128, 128) if kind == np.int8 else (0, 256)
            zeros = np.zeros(scales.shape, kind) if columns or kind == np.int8 else np.full(scales.shape, 120, kind)
            return rng.integers(low, high, (directions, rows, 4 * hidden)).astype(kind), scales.astype(np.float32), zeros
        (w, ws, wz), (r, rs, rz) = codes(6), codes(hidden)
        more = list(more) + [None] * (5 - len(more))
        return ms("DynamicQuantizeLSTM", f(5, 2, 6), Const(w), Const(r), *more, Const(ws), Const(wz), Const(rs), Const(rz), hidden_size=hidden,
                  outputs=3, absolute=0.03, relative=0.03, name=name, **attributes)
    return [layer(4, 1), layer(4, 2, direction="bidirectional", name="both"), layer(8, 1, columns=True, direction="reverse", name="columns"),
            layer(4, 1, more=[Const(f(1, 32)), None, f(1, 2, 4), f(1, 2, 4), Const(f(1, 12))], name="all"), layer(4, 1, kind=np.uint8, name="bytes")]


def experts():
    """All three activations that onnxruntime's processor kernel has without a gate, and the gated ones that are fused."""
    x, chances = f(6, 8), f(6, 4)
    up, down, up_bias, down_bias = Const(f(4, 12, 8) * 0.5), Const(f(4, 8, 12) * 0.5), Const(f(4, 12)), Const(f(4, 8))
    wide, wide_bias = Const(f(4, 24, 8) * 0.5), Const(f(4, 24))
    return [ms("MoE", x, chances, up, None, down, k=2, activation_type="relu"),
            ms("MoE", f(2, 3, 8), chances, up, up_bias, down, down_bias, k=1, activation_type="gelu", name="bias"),
            ms("MoE", x, chances, up, up_bias, down, down_bias, k=3, activation_type="silu", normalize_routing_weights=1, name="normal"),
            ms("MoE", x, chances, up, None, down, k=4, activation_type="identity", name="all"),
            ms("MoE", x, chances, wide, wide_bias, down, down_bias, k=2, activation_type="swiglu", swiglu_fusion=1, activation_alpha=1.702,
               activation_beta=1.0, swiglu_limit=0.5, normalize_routing_weights=1, name="swiglu")] + coded_experts()


def coded_experts():
    """Weights of 2, 4 and 8 bits in rows or blocks, of four experts."""
    def moe(name, bits=4, block=16, zeros=False, shares=False, biased=True, activation_type="silu", **attributes):
        each, inner, size = 8 // bits, 32, 32
        wide = 2 * inner if activation_type == "swiglu" else inner

        def codes(rows, columns):
            scales = f(4, rows, columns // block) if block else f(4, rows)
            packed = u8(4, rows, -(-(columns // block) // each)) if block else u8(4, rows // each)
            return [Const(u8(4, rows, columns // each)), Const(np.abs(scales) * 0.02)], Const(packed) if zeros else None
        (up, up_zeros), (down, down_zeros) = codes(wide, size), codes(size, inner)
        biases = [Const(f(4, wide)), Const(f(4, size))] if biased else [None, None]
        options = {"block_size": block} if block else {}
        return ms("QMoE", f(5, size), f(5, 4), *up, biases[0], *down, biases[1], None, None, None, up_zeros, down_zeros, None,
                  *([np.abs(f(5, 4))] if shares else []), k=2, expert_weight_bits=bits, activation_type=activation_type, name=name, absolute=2e-3,
                  relative=2e-2, **options, **attributes)
    gated = dict(activation_type="swiglu", swiglu_fusion=1, activation_alpha=1.702, activation_beta=1.0, swiglu_limit=0.5)
    return [moe("blocks"), moe("rows", block=0), moe("zeros", zeros=True), moe("rows.zeros", block=0, zeros=True), moe("bytes", bits=8, block=0),
            moe("two", bits=2), moe("gated", **gated), moe("gated.zeros", zeros=True, normalize_routing_weights=1, **gated),
            moe("shares", shares=True), moe("shares.normal", shares=True, normalize_routing_weights=1), moe("relu", activation_type="relu", biased=False)]


def bits_and_bytes():
    return [ms("MatMulBnb4", f(3, 64), Const(u8(64 * 24 // 2)), Const(np.abs(f(64 * 24 // block))), K=64, N=24, block_size=block, quant_type=kind,
               name=f"{kind}.{block}", absolute=1e-3) for kind in (0, 1) for block in (16, 64, 128)] + [
            ms("MatMulBnb4", f(3, 33), Const(u8(-(-33 * 5 // 2))), Const(np.abs(f(-(-33 * 5 // 16)))), K=33, N=5, block_size=16, quant_type=1,
               name="odd", absolute=1e-3)]


def turned():
    """Attention that rotates its heads: onnxruntime does so on GPUs alone, so beside attention of what numpy rotated."""
    def rotated(x, heads, count, past):
        parts = x.astype(np.float64).reshape(*x.shape[:2], heads, -1)
        angles = (past + np.arange(x.shape[1]))[:, None, None] * 10000.0 ** -(np.arange(0, count, 2) / count)
        a, b = parts[..., :count // 2], parts[..., count // 2:count]
        turned = [a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles), parts[..., count:]]
        return np.concatenate(turned, -1).reshape(x.shape).astype(np.float32)

    def case(name, count, past=None, **attributes):
        x, w, b = f(2, 5, 16), Const(f(16, 48) * 0.3), Const(f(48))
        q, k, v = np.split(x @ w.value + b.value, 3, -1)
        before = 0 if past is None else past.shape[3]
        q, k = (rotated(part, 2, count or 8, before) for part in (q, k))
        held = [None, None] if past is None else [past[0], past[1]]
        plain = ms("MultiHeadAttention", q, k, v, None, None, None, *held, num_heads=2, unidirectional=1, outputs=3)
        return First("Attention", x, w, b, None, past, num_heads=2, unidirectional=1, do_rotary=1, domain="com.microsoft", name=f"rotary.{name}",
                       instead=plain, **attributes)
    return [case("all", 0), case("part", 4, rotary_embedding_dim=4), case("past", 0, f(2, 2, 2, 3, 8))]


def float_caches():
    """Caches of 8-bit floats, which onnxruntime has for GPUs alone: beside a cache of what they stand for."""
    import ml_dtypes

    class Cached(Case):
        """The reference has wide caches: what kpc keeps is compared as what it stands for."""

        def __init__(self, *inputs, wide, scales, **options):
            super().__init__(*inputs, **options)
            self.wide, self.scales = wide, scales

        def reference(self):
            results = self.wide.reference()
            for name, scale in zip(("y1", "y2"), self.scales):
                results[name] = (results[name] / scale).astype(ml_dtypes.float8_e4m3fn)
            return results

        def difference(self, got, want):
            if want.dtype == ml_dtypes.float8_e4m3fn:
                got, want = got.view(ml_dtypes.float8_e4m3fn).astype(np.float32), want.astype(np.float32)
            return super().difference(got, want)
    scales = (np.float32(0.02), np.float32(0.03))
    q, k, v = f(2, 1, 64), f(2, 1, 32), f(2, 1, 32)
    caches = [(f(2, 2, 6, 16) / scale).astype(ml_dtypes.float8_e4m3fn) for scale in scales]
    counts = [np.full(2, 6, np.int32), Const(7, np.int32)]
    k, v = ((part / scale).astype(ml_dtypes.float8_e4m3fn).astype(np.float32) * scale for part, scale in zip((k, v), scales))
    wide = ms("GroupQueryAttention", q, k, v, *(c.astype(np.float32) * s for c, s in zip(caches, scales)), *counts, outputs=3, num_heads=4, kv_num_heads=2)
    return [Cached("GroupQueryAttention", q, k, v, *caches, *counts, None, None, None, None, None, *(Const(np.array([s])) for s in scales), wide=wide,
                   scales=scales, outputs=3, num_heads=4, kv_num_heads=2, k_quant_type="PER_TENSOR", v_quant_type="PER_TENSOR", kv_cache_bit_width=8,
                   domain="com.microsoft", name="step.floats", absolute=1e-4)]


def beams():
    """As DecoderMaskedMultiHeadAttention follows them, which onnxruntime has on processors."""
    q, k, v = f(2, 1, 16), f(2, 1, 16), f(2, 1, 16)
    held, past = [f(2, 4, 9, 4), f(2, 4, 9, 4)], np.array([5], np.int32)
    source = rng.integers(0, 2, (1, 2, 9)).astype(np.int32)
    decoder = ms("DecoderMaskedMultiHeadAttention", q, k, v, np.ones((2, 6), np.int32), None, *held, past, np.array([2], np.int32), source, num_heads=4,
                 past_present_share_buffer=1, outputs=3)
    return [Instead("MultiHeadAttention", q, k, v, None, None, None, *held, past, source, num_heads=4, outputs=3, domain="com.microsoft", name="beams",
                    instead=decoder)]


def cases():
    return codes_and_pools() + bits_and_bytes() + turned() + beams() + float_caches() + experts() + activations() + norms() + products() + quantised() + few_bits() + spectra_and_sets() + attention() + recurrent()

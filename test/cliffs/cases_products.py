# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GEMMs in all orders and types, products of codes, convolutions, attention."""

import itertools
import math

from case import Case

ALL = ("f32", "fp32", "fp16", "bf16", "f64")
MOST = ("f32", "fp32", "fp16")


def turned(g, name, axes):
    return g.op("Transpose", name, perm=axes)


def matmul(m, n, k, a=False, b=False, weight=False, batch=(), batch_b=None, name="", types=MOST, end=None, **more):
    """`a`, `b`: the operand lies the other way round in memory."""
    def build(g):
        def operand(rows, columns, turn, lead, make):
            shape = (*lead, columns, rows) if turn else (*lead, rows, columns)
            value = make(*shape)
            count = len(lead)
            return turned(g, value, [*range(count), count + 1, count]) if turn else value
        left = operand(m, k, a, batch, g.x)
        right = operand(k, n, b, batch if batch_b is None else batch_b, g.w if weight else g.x)
        out = g.op("MatMul", left, right)
        return g.out(end(g, out) if end else out)
    def side(name, turn):
        return f"{name}.mT" if turn else name
    torch = "" if end else f"{side('x0', a)} @ {side('w0' if weight else 'x1', b)}"
    # Each side may have a batch that the other repeats.
    products = math.prod(max(sizes) for sizes in itertools.zip_longest(batch[::-1], (batch_b or ())[::-1], fillvalue=1))
    return Case(name or f"matmul.{'x'.join(map(str, (*batch, m, n, k)))}.{'t' if a else 'n'}{'t' if b else 'n'}{'.weight' if weight else ''}",
                build, 2.0 * products * m * n * k, types, torch=torch, **more)


def gemms():
    yield matmul(4096, 4096, 4096, types=ALL, quick=True)
    for a, b in ((False, True), (True, False), (True, True)):
        yield matmul(4096, 4096, 4096, a, b)
    for a, b in ((False, False), (False, True), (True, False)):
        yield matmul(4096, 4096, 4096, a, b, weight=True)
    for size in (4095, 4097, 1009, 2050, 4093):
        yield matmul(size, size, size)
    yield matmul(4097, 4095, 4099, weight=True)
    yield matmul(4096, 4096, 4093, False, True)
    for m in (1, 2, 4, 8, 16, 17, 32, 64):
        yield matmul(m, 8192, 4096 if m == 1 else 2048, weight=True, types=MOST if m in (1, 8, 16, 32) else ("f32", "fp16"))
        yield matmul(m, 4096, 4096, False, True, weight=True, types=("f32", "fp16"))
    yield matmul(1, 50257, 512, False, True, weight=True, types=("f32", "fp16"))
    yield matmul(1, 16384, 4096, types=ALL)
    yield matmul(1, 16384, 4096, False, True)
    yield matmul(16384, 1, 4096, types=ALL)
    yield matmul(16384, 1, 4096, True)
    for n in (2, 4, 7, 8, 16, 24):
        yield matmul(65536, n, 512, types=MOST if n in (4, 8) else ("f32", "fp16"))
        yield matmul(65536, n, 512, False, True, weight=True, types=("f32", "fp16"))
    for k in (1, 2, 4, 8, 16, 17):
        yield matmul(4096, 4096, k)
    for m, n in ((128, 128), (64, 64), (256, 64), (16, 16), (1, 1), (8, 8)):
        yield matmul(m, n, 131072 if m > 1 else 1 << 24)
        yield matmul(m, n, 131072 if m > 1 else 1 << 24, True, False, types=("f32", "fp16"))
    yield matmul(1024, 1024, 1024, batch=(32,), types=ALL)
    yield matmul(1024, 1024, 1024, batch=(32,), batch_b=())
    yield matmul(512, 512, 64, True, True, batch=(8, 16))
    yield matmul(197, 197, 64, False, True, batch=(32, 12))
    yield matmul(197, 64, 197, batch=(32, 12))
    yield matmul(49, 49, 32, False, True, batch=(2048, 3))
    yield matmul(1, 4096, 128, False, True, batch=(8, 32))
    yield matmul(1, 128, 4096, batch=(8, 32))
    yield matmul(64, 64, 64, batch=(4096,), types=ALL)
    yield matmul(16, 16, 16, batch=(65536,))
    yield matmul(4, 4, 4, batch=(1 << 19,))
    yield matmul(3, 3, 3, batch=(1 << 20,))
    yield matmul(4, 1, 4, batch=(1 << 20,), types=("f32",))
    yield matmul(8192, 8192, 1, types=("f32", "fp16", "i32"))
    yield matmul(1, 1, (1 << 24) + 3, types=("f32", "fp16", "i32"))
    yield matmul(1, 1, 1 << 22, batch=(4,))
    yield matmul(2048, 2048, 512, batch=(2, 1, 4), batch_b=(1, 3, 1), name="matmul.broadcast")
    yield matmul(2047, 2049, 511, batch=(5, 7), name="matmul.odd.batch")
    for text, act in (("relu", lambda g, y: g.op("Relu", y)), ("gelu", lambda g, y: g.op("Gelu", y)),
                      ("softmax", lambda g, y: g.op("Softmax", y, axis=-1)),
                      ("residual", lambda g, y: g.op("Add", y, g.x(4096, 4096))),
                      ("layernorm", lambda g, y: g.op("LayerNormalization", y, g.w(4096), g.w(4096))),
                      ("transpose", lambda g, y: g.op("Transpose", y, perm=[1, 0])), ("sum", lambda g, y: g.op("ReduceSum", y, g.c([1]), keepdims=0)),
                      ("cast", lambda g, y: g.op("Cast", y, to="f32")), ("bias_column", lambda g, y: g.op("Add", y, g.w(4096, 1)))):
        yield matmul(4096, 4096, 2048, weight=True, end=act, name=f"matmul.end.{text}")
    for a in (0, 1):
        for b in (0, 1):
            yield Case(f"gemm.{'nt'[a]}{'nt'[b]}.bias", lambda g, a=a, b=b: g.out(g.op("Gemm", g.x(4096, 4096), g.w(4096, 4096), g.w(4096),
                                                                                       transA=a, transB=b)),
                       2.0 * 4096 ** 3, MOST)
    yield Case("gemm.alpha_beta", lambda g: g.out(g.op("Gemm", g.x(4096, 2048), g.x(2048, 4096), g.x(4096, 4096), alpha=0.5, beta=2.0)),
               2.0 * 4096 ** 2 * 2048)
    yield Case("matmul.dynamic", lambda g: g.out(g.op("MatMul", g.x("n", 4096), g.w(4096, 4096))), 2.0 * 4096 ** 3, MOST,
               dims=("n=1..8192:opt=4096",))
    yield Case("matmul.dynamic.all", lambda g: g.out(g.op("MatMul", g.x("m", "k"), g.x("k", "n"))), 2.0 * 4096 ** 3, MOST,
               dims=("m=1..8192:opt=4096", "n=1..8192:opt=4096", "k=1..8192:opt=4096"))
    yield Case("matmul.dynamic.few", lambda g: g.out(g.op("MatMul", g.x("n", 4096), g.w(4096, 4096))), 2.0 * 4 * 4096 ** 2, MOST,
               dims=("n=1..8192:opt=4",))
    for kind in ("i32", "u32", "i64"):
        yield Case("matmul.whole", lambda g: g.out(g.op("MatMul", g.x(2048, 2048), g.x(2048, 2048))), 2.0 * 2048 ** 3, (kind,))
    for text, sizes, equation in (("bhqd", ((8, 1024, 16, 64), (8, 1024, 16, 64)), "bqhd,bkhd->bhqk"), ("outer", ((8192,), (8192,)), "i,j->ij"),
                                  ("trace", ((1024, 1024), (1024, 1024)), "ij,ji->i"), ("last", ((64, 1024, 256), (256, 512)), "bij,jk->bik"),
                                  ("first", ((1024, 64, 256), (1024, 512)), "bij,bk->ijk"),
                                  ("three", ((64, 64, 64, 64), (64, 64, 64)), "abcd,bcd->a")):
        flops = {"bhqd": 2.0 * 8 * 16 * 1024 * 1024 * 64, "last": 2.0 * 64 * 1024 * 256 * 512, "first": 2.0 * 1024 * 64 * 256 * 512}.get(text, 0)
        yield Case(f"einsum.{text}", lambda g, s=sizes, e=equation: g.out(g.op("Einsum", g.x(*s[0]), g.x(*s[1]), equation=e)), flops,
                   torch=f"torch.einsum('{equation}', x0, x1)")
    def gate(g):
        x = g.x(4096, 2048)
        up, side = g.op("MatMul", x, g.w(2048, 5504)), g.op("MatMul", x, g.w(2048, 5504))
        return g.out(g.op("Mul", g.op("Mul", side, g.op("Sigmoid", side)), up))
    yield Case("mlp.swiglu", gate, 4.0 * 4096 * 2048 * 5504, MOST)
    def pair(g):
        x = g.x(4096, 1024)
        return g.out(g.op("Add", g.op("MatMul", g.op("Gelu", g.op("Add", g.op("MatMul", x, g.w(1024, 4096)), g.w(4096))), g.w(4096, 1024)), x))
    yield Case("mlp.gelu", pair, 4.0 * 4096 * 1024 * 4096, MOST)
    def experts(g):
        x = g.x(8, 2048, 1024)
        return g.out(g.op("MatMul", x, g.x(8, 1024, 4096)))
    yield Case("matmul.experts", experts, 2.0 * 8 * 2048 * 1024 * 4096)


def codes():
    def integer(g, m=4096, n=4096, k=4096, turn=False):
        b = g.w(n, k, kind="i8") if turn else g.w(k, n, kind="i8")
        return g.out(g.op("MatMulInteger", g.x(m, k, kind="u8"), turned(g, b, [1, 0]) if turn else b, g.c(7, "u8")))
    def qdq(g, m, n, k, weight_kind="i8", axis=1):
        x = g.op("DequantizeLinear", g.op("QuantizeLinear", g.x(m, k, kind="f32"), g.c(0.05, "f32"), g.c(0, "i8")), g.c(0.05, "f32"), g.c(0, "i8"))
        w = g.op("DequantizeLinear", g.w(k, n, kind=weight_kind), g.w(n, kind="f32"), axis=axis)
        y = g.op("MatMul", x, w)
        return g.out(g.op("DequantizeLinear", g.op("QuantizeLinear", y, g.c(0.1, "f32"), g.c(0, "i8")), g.c(0.1, "f32"), g.c(0, "i8")))
    def qlinear(g, m, n, k):
        return g.out(g.op("QLinearMatMul", g.x(m, k, kind="u8"), g.c(0.1, "f32"), g.c(3, "u8"), g.w(k, n, kind="i8"), g.c(0.1, "f32"), g.c(0, "i8"),
                          g.c(0.2, "f32"), g.c(5, "u8")))
    def dynamic(g, m, n, k):
        x, scale, zero = g.op("DynamicQuantizeLinear", g.x(m, k, kind="f32"), outputs=3)
        return g.out(g.op("Mul", g.op("Cast", g.op("MatMulInteger", x, g.w(k, n, kind="i8"), zero), to="f32"), scale))
    work = 2.0 * 4096 ** 3
    int8 = {"types": ("int8",), "products": "int8"}
    yield Case("codes.matmulinteger", integer, work, **int8)
    yield Case("codes.matmulinteger.turned", lambda g: integer(g, turn=True), work, **int8)
    yield Case("codes.matmulinteger.odd", lambda g: integer(g, 1009, 4093, 4091), 2.0 * 1009 * 4093 * 4091, **int8)
    yield Case("codes.qdq.matmul", lambda g: qdq(g, 4096, 4096, 4096), work, quick=True, **int8)
    yield Case("codes.qdq.matmul.few", lambda g: qdq(g, 8, 4096, 4096), 16.0 * 4096 ** 2, **int8)
    yield Case("codes.qdq.matmul.one", lambda g: qdq(g, 1, 8192, 4096), 2.0 * 8192 * 4096, **int8)
    yield Case("codes.qlinearmatmul", lambda g: qlinear(g, 4096, 4096, 4096), work, **int8)
    yield Case("codes.dynamic", lambda g: dynamic(g, 4096, 4096, 4096), work, **int8)
    yield Case("codes.dynamic.few", lambda g: dynamic(g, 8, 4096, 4096), 16.0 * 4096 ** 2, **int8)
    def conv(g, channels=256, groups=1, size=56, batch=32, taps=3, out=0):
        out = out or channels
        image = channels_first(g, g.x(batch, size, size, channels, kind="f32"), 2)
        x = g.op("DequantizeLinear", g.op("QuantizeLinear", image, g.c(0.05, "f32"), g.c(0, "i8")), g.c(0.05, "f32"), g.c(0, "i8"))
        w = g.op("DequantizeLinear", g.w(out, channels // groups, taps, taps, kind="i8"), g.w(out, kind="f32"), axis=0)
        y = g.op("Relu", g.op("Conv", x, w, pads=[taps // 2] * 4, group=groups))
        return g.out(channels_last(g, g.op("DequantizeLinear", g.op("QuantizeLinear", y, g.c(0.1, "f32"), g.c(0, "i8")), g.c(0.1, "f32"),
                                           g.c(0, "i8")), 2))
    yield Case("codes.qdq.conv", conv, 2.0 * 32 * 56 * 56 * 256 * 256 * 9, **int8)
    yield Case("codes.qdq.conv.depthwise", lambda g: conv(g, 512, 512), 0, **int8)
    yield Case("codes.qdq.conv.groups", lambda g: conv(g, 512, 32), 2.0 * 32 * 56 * 56 * 512 * 16 * 9, **int8)
    yield Case("codes.qdq.conv.stem", lambda g: conv(g, 3, 1, 224, 32, 7, 64), 2.0 * 32 * 224 * 224 * 64 * 147, **int8)
    def integer_conv(g):
        return g.out(g.op("ConvInteger", g.x(32, 256, 56, 56, kind="u8"), g.w(256, 256, 3, 3, kind="i8"), g.c(3, "u8"), pads=[1] * 4))
    yield Case("codes.convinteger", integer_conv, 2.0 * 32 * 56 * 56 * 256 * 256 * 9, **int8)
    # Weights of 4 bits.
    def nbits(g, m, n, k, block=32, zeros=False, bits=4):
        inputs = [g.x(m, k), g.w(n, k // block, block * bits // 8, kind="u8"), g.w(n * (k // block))]
        if zeros:
            inputs.append(g.w(n * math.ceil(k // block * bits / 8), kind="u8"))
        return g.out(g.op("MatMulNBits", *inputs, domain="com.microsoft", K=k, N=n, bits=bits, block_size=block))
    for m in (1, 4, 16, 32, 512, 4096):
        yield Case(f"codes.nbits4.{m}", lambda g, m=m: nbits(g, m, 8192, 4096), 2.0 * m * 8192 * 4096,
                   ("f32", "fp16", "bf16") if m in (1, 512) else ("f32", "fp16"))
    yield Case("codes.nbits4.1.zeros", lambda g: nbits(g, 1, 8192, 4096, zeros=True), 2.0 * 8192 * 4096)
    yield Case("codes.nbits4.1.block128", lambda g: nbits(g, 1, 8192, 4096, 128), 2.0 * 8192 * 4096)
    yield Case("codes.nbits4.1.block16", lambda g: nbits(g, 1, 8192, 4096, 16), 2.0 * 8192 * 4096)
    yield Case("codes.nbits8.1", lambda g: nbits(g, 1, 8192, 4096, bits=8), 2.0 * 8192 * 4096)
    def blocks(g, m, kind="i4", axis=0):
        w = g.op("DequantizeLinear", g.w(4096, 8192, kind=kind), g.w(4096 // 32, 8192), axis=axis, block_size=32)
        return g.out(g.op("MatMul", g.x(m, 4096), w))
    for m in (1, 8, 256, 4096):
        yield Case(f"codes.dq4.{m}", lambda g, m=m: blocks(g, m), 2.0 * m * 8192 * 4096)
    yield Case("codes.dq8.1", lambda g: g.out(g.op("MatMul", g.x(1, 4096),
                                                   g.op("DequantizeLinear", g.w(4096, 8192, kind="i8"), g.w(8192), axis=1))), 2.0 * 8192 * 4096)
    yield Case("codes.quantize", lambda g: g.out(g.op("QuantizeLinear", g.x(8192, 8192), g.c(0.1, "f32") if g.kind == "f32" else g.w(),
                                                      g.c(0, "i8"))), types=("f32",))
    yield Case("codes.dequantize.axis", lambda g: g.out(g.op("DequantizeLinear", g.x(8192, 8192, kind="i8"), g.w(8192), axis=0)))
    yield Case("codes.dynamicquantize", lambda g: g.out(*g.op("DynamicQuantizeLinear", g.x(8192, 8192), outputs=3)), types=("f32",), passes=1.8)


def channels_first(g, x, count):
    """Images are channels last where a model is given and gives them, as they are between the layers of a network."""
    return turned(g, x, [0, count + 1, *range(1, count + 1)])


def channels_last(g, y, count):
    return turned(g, y, [0, *range(2, count + 2), 1])


def conv(name, size, channels, outputs, taps, batch=32, stride=1, dilation=1, groups=1, pads=None, end=None, types=("f32", "fp16"), dims=(),
         spatial=None, **more):
    """`size`: of the image, a number for each dimension; `spatial`: their names, where they are dynamic."""
    count = len(size)
    taps = taps if isinstance(taps, tuple) else (taps,) * count
    pads = pads if pads is not None else [(t - 1) * dilation // 2 for t in taps] * 2
    out_size = [(s + pads[i] + pads[i + count] - dilation * (taps[i] - 1) - 1) // stride + 1 for i, s in enumerate(size)]
    def build(g):
        x = channels_first(g, g.x(batch if not spatial or "b" not in spatial else "b", *(spatial[-count:] if spatial else size), channels), count)
        y = g.op("Conv", x, g.w(outputs, channels // groups, *taps), g.w(outputs), pads=pads, strides=[stride] * count,
                 dilations=[dilation] * count, group=groups)
        return g.out(channels_last(g, end(g, y) if end else y, count))
    flops = 2.0 * batch * math.prod(out_size) * outputs * channels // groups * math.prod(taps)
    depthwise = groups == channels
    torch = "" if end or pads[:count] != pads[count:] else (f"torch.nn.functional.conv{count}d(x0.movedim(-1, 1), w0, w1, stride={stride}, padding={tuple(pads[:count])}, "
                                                            f"dilation={dilation}, groups={groups})")
    return Case(f"conv.{name}", build, flops, types, products="f32.loops" if depthwise else "", torch=torch, dims=dims, **more)


def convolutions():
    yield conv("3x3", (56, 56), 256, 256, 3, types=ALL, quick=True)
    yield conv("1x1", (56, 56), 256, 512, 1, types=MOST)
    yield conv("stem7x7", (224, 224), 3, 64, 7, stride=2, types=MOST)
    yield conv("stem3x3", (512, 512), 3, 32, 3, 16, stride=2)
    yield conv("stem.patch16", (224, 224), 3, 768, 16, 64, stride=16, pads=[0] * 4, types=MOST)
    yield conv("stem.gray", (512, 512), 1, 64, 3, 16)
    yield conv("few.channels4", (256, 256), 4, 64, 3)
    yield conv("few.channels8", (256, 256), 8, 8, 3)
    yield conv("few.outputs1", (256, 256), 64, 1, 3)
    yield conv("few.outputs3", (256, 256), 64, 3, 3)
    yield conv("few.outputs2.1x1", (256, 256), 64, 2, 1)
    yield conv("odd.channels", (57, 57), 250, 255, 3)
    yield conv("prime.channels", (53, 59), 127, 131, 3)
    yield conv("stride2", (112, 112), 128, 256, 3, stride=2)
    yield conv("stride2.1x1", (112, 112), 256, 512, 1, stride=2)
    yield conv("stride3", (112, 112), 128, 256, 5, stride=3)
    yield conv("dilated2", (64, 64), 256, 256, 3, 8, dilation=2)
    yield conv("dilated12", (64, 64), 256, 256, 3, 8, dilation=12)
    yield conv("5x5", (56, 56), 128, 128, 5)
    yield conv("7x1", (56, 56), 192, 192, (7, 1))
    yield conv("1x7", (56, 56), 192, 192, (1, 7))
    yield conv("2x2.stride2", (56, 56), 256, 512, 2, stride=2, pads=[0] * 4)
    yield conv("4x4.stride4", (224, 224), 3, 96, 4, stride=4, pads=[0] * 4)
    yield conv("pads.uneven", (56, 56), 256, 256, 3, pads=[0, 1, 2, 1])
    yield conv("pads.none", (56, 56), 256, 256, 3, pads=[0] * 4)
    yield conv("batch1", (128, 128), 256, 256, 3, 1, types=MOST)
    yield conv("batch1.small", (7, 7), 512, 512, 3, 1)
    yield conv("11x11", (64, 64), 64, 64, 11, 8)
    yield conv("31x31", (64, 64), 32, 32, 31, 4)
    for groups in (2, 4, 32, 64, 128):
        yield conv(f"groups{groups}", (56, 56), 256, 256, 3, groups=groups, types=MOST if groups == 32 else ("f32", "fp16"))
    yield conv("groups3.odd", (56, 56), 171, 171, 3, groups=3)
    yield conv("groups.1x1", (56, 56), 256, 512, 1, groups=8)
    yield conv("groups.stride2", (56, 56), 256, 512, 3, stride=2, groups=32)
    yield conv("groups.dilated", (56, 56), 256, 256, 3, dilation=4, groups=32)
    yield conv("groups.twice", (56, 56), 256, 512, 3, groups=256)
    yield conv("groups.batch1", (56, 56), 256, 256, 3, 1, groups=32)
    yield conv("groups.1d", (4096,), 256, 256, 7, groups=32)
    yield conv("groups.3d", (16, 28, 28), 128, 128, 3, 8, groups=16)
    for taps, types in ((3, ALL), (5, FLOATS_TOO), (7, FLOATS_TOO), (9, FLOATS_TOO), (11, FLOATS_TOO), (13, FLOATS_TOO), (31, FLOATS_TOO)):
        yield conv(f"depthwise{taps}x{taps}", (56, 56), 256, 256, taps, groups=256, types=types)
    yield conv("depthwise.stride2", (112, 112), 256, 256, 3, groups=256, stride=2)
    yield conv("depthwise.dilated", (56, 56), 256, 256, 3, groups=256, dilation=6)
    yield conv("depthwise.odd", (57, 59), 251, 251, 3, groups=251)
    yield conv("depthwise.1x7", (56, 56), 256, 256, (1, 7), groups=256)
    yield conv("depthwise.1d.3", (4096,), 1024, 1024, 3, 8, groups=1024)
    yield conv("depthwise.1d.31", (4096,), 512, 512, 31, 8, groups=512)
    yield conv("depthwise.1d.causal4", (4096,), 1024, 1024, 4, 8, groups=1024, pads=[3, 0])
    yield conv("depthwise.1d.128", (4096,), 256, 256, 128, 8, groups=256, pads=[127, 0])
    yield conv("depthwise.3d", (16, 28, 28), 256, 256, 3, 8, groups=256)
    yield conv("depthwise.batch1", (112, 112), 256, 256, 3, 1, groups=256)
    yield conv("1d.3", (4096,), 256, 256, 3, 16, types=MOST)
    yield conv("1d.15", (16000,), 64, 64, 15, 16)
    yield conv("1d.stem", (160000,), 1, 512, 10, 4, stride=5, pads=[0, 0])
    yield conv("1d.dilated", (16000,), 128, 128, 3, 16, dilation=64)
    yield conv("1d.1", (4096,), 256, 512, 1, 16)
    yield conv("1d.400", (160000,), 1, 258, 400, 4, stride=160, pads=[0, 0])
    yield conv("3d.3", (16, 56, 56), 64, 64, 3, 8, types=MOST)
    yield conv("3d.1x3x3", (16, 56, 56), 64, 144, (1, 3, 3), 8)
    yield conv("3d.3x1x1", (16, 56, 56), 144, 64, (3, 1, 1), 8)
    yield conv("3d.stem", (16, 112, 112), 3, 64, (3, 7, 7), 8, stride=2)
    yield conv("3d.1", (16, 56, 56), 64, 256, 1, 8)
    yield conv("dynamic.batch", (56, 56), 256, 256, 3, spatial=("b", 56, 56), dims=("b=1..64:opt=32",))
    yield conv("dynamic.size", (56, 56), 256, 256, 3, spatial=("h", "w"), dims=("h=8..512:opt=56", "w=8..512:opt=56"), types=MOST)
    yield conv("dynamic.stem", (224, 224), 3, 64, 7, stride=2, spatial=("h", "w"), dims=("h=32..1024:opt=224", "w=32..1024:opt=224"))
    yield conv("dynamic.depthwise", (56, 56), 256, 256, 3, groups=256, spatial=("h", "w"), dims=("h=8..512:opt=56", "w=8..512:opt=56"))
    yield conv("dynamic.groups", (56, 56), 256, 256, 3, groups=32, spatial=("h", "w"), dims=("h=8..512:opt=56", "w=8..512:opt=56"))
    yield conv("dynamic.1d", (4096,), 256, 256, 3, 16, spatial=("n",), dims=("n=16..16384:opt=4096",))
    def norm(g, y):
        return g.op("Relu", g.op("BatchNormalization", y, g.w(256), g.w(256), g.w(256), g.w(256)))
    def squeeze(g, y):
        s = g.op("GlobalAveragePool", y)
        s = g.op("Sigmoid", g.op("Conv", g.op("Relu", g.op("Conv", s, g.w(16, 256, 1, 1))), g.w(256, 16, 1, 1)))
        return g.op("Mul", y, s)
    for text, end in (("batchnorm", norm), ("squeeze", squeeze), ("maxpool", lambda g, y: g.op("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2])),
                      ("groupnorm", lambda g, y: g.op("GroupNormalization", y, g.w(256), g.w(256), num_groups=32)),
                      ("instancenorm", lambda g, y: g.op("InstanceNormalization", y, g.w(256), g.w(256))),
                      ("silu", lambda g, y: g.op("Mul", y, g.op("Sigmoid", y))),
                      ("resize2", lambda g, y: g.op("Resize", y, "", g.c([1, 1, 2, 2], "f32"), mode="nearest")),
                      ("concat", lambda g, y: g.op("Concat", y, channels_first(g, g.x(32, 56, 56, 256), 2), axis=1)),
                      ("shuffle", lambda g, y: g.op("DepthToSpace", y, blocksize=2)),
                      ("mean", lambda g, y: g.op("GlobalAveragePool", y)), ("prelu", lambda g, y: g.op("PRelu", y, g.w(256, 1, 1)))):
        yield conv(f"end.{text}", (56, 56), 256, 256, 3, end=end)
    yield Case("conv.channels_first", lambda g: g.out(g.op("Conv", g.x(32, 256, 56, 56), g.w(256, 256, 3, 3), pads=[1] * 4)),
               2.0 * 32 * 56 * 56 * 256 * 256 * 9)
    yield Case("conv.weights.input", lambda g: g.out(g.op("Conv", g.x(32, 256, 56, 56), g.x(256, 256, 3, 3), pads=[1] * 4)),
               2.0 * 32 * 56 * 56 * 256 * 256 * 9)
    for text, size, channels, outputs, taps, stride, more in (
            ("2x2", (56, 56), 256, 256, 2, 2, {}), ("4x4", (28, 28), 256, 256, 4, 2, {"pads": [1] * 4}),
                                                              ("3x3", (56, 56), 256, 128, 3, 2, {"pads": [1] * 4, "output_padding": [1, 1]}),
            ("3x3.stride1", (56, 56), 256, 256, 3, 1, {"pads": [1] * 4}), ("5x5", (56, 56), 64, 64, 5, 3, {}),
                                                              ("depthwise4x4", (28, 28), 256, 256, 4, 2, {"pads": [1] * 4, "group": 256}),
            ("groups", (28, 28), 256, 256, 4, 2, {"pads": [1] * 4, "group": 8}), ("outputs1", (112, 112), 64, 1, 2, 2, {}),
            ("1d", (2048,), 256, 128, 16, 8, {"pads": [4, 4]}), ("1d.stride2", (4096,), 256, 256, 4, 2, {"pads": [1, 1]}),
                                                              ("3d", (16, 28, 28), 128, 64, 2, 2, {}),
            ("3d.4", (8, 28, 28), 128, 64, 4, 2, {"pads": [1] * 6})):
        batch = 8 if len(size) == 3 else 16
        flops = 2.0 * batch * math.prod(size) * channels * outputs // more.get("group", 1) * taps ** len(size)
        def build(g, size=size, channels=channels, outputs=outputs, taps=taps, stride=stride, more=more, batch=batch):
            w = g.w(channels, outputs // more.get("group", 1), *[taps] * len(size))
            count = len(size)
            y = g.op("ConvTranspose", channels_first(g, g.x(batch, *size, channels), count), w, g.w(outputs), strides=[stride] * count, **more)
            return g.out(channels_last(g, y, count))
        pads = more.get("pads", [0])[0]
        torch = f"torch.nn.functional.conv_transpose{len(size)}d(x0.movedim(-1, 1), w0, w1, stride={stride}, padding={pads}, output_padding={more.get('output_padding', [0])[0]}, groups={more.get('group', 1)})"
        yield Case(f"convtranspose.{text}", build, flops, MOST if text in ("2x2", "4x4") else ("f32", "fp16"),
                   products="f32.loops" if more.get("group") == channels else "", torch=torch)
    yield Case("deformconv", lambda g: g.out(g.op("DeformConv", g.x(8, 64, 56, 56), g.w(64, 64, 3, 3), g.x(8, 18, 56, 56), pads=[1] * 4)),
               2.0 * 8 * 56 * 56 * 64 * 64 * 9)


FLOATS_TOO = ("f32", "fp16")


def attend(name, batch, heads, queries, keys, size, causal=False, mask="", groups=1, types=("f32", "fp16"), value=0, scale=True, written=True,
           end="", **more):
    """`written`: as exporters write it, of MatMul and Softmax; else ONNX's Attention."""
    value = value or size
    key_heads = heads // groups
    def build(g):
        q = g.x(batch, heads, queries, size)
        k, v = g.x(batch, key_heads, keys, size), g.x(batch, key_heads, keys, value)
        masks = {"bool": lambda: g.x(batch, 1, queries, keys, kind="bool", high=2), "float": lambda: g.x(batch, 1, queries, keys),
                 "bias": lambda: g.x(1, heads, queries, keys),
                 "keys": lambda: g.x(batch, 1, 1, keys, kind="bool", high=2)}
        m = masks[mask]() if mask else ""
        if not written:
            return g.out(g.op("Attention", q, k, v, *([m] if m else []), is_causal=int(causal), **({"softcap": 30.0} if end == "softcap" else {})))
        if groups > 1:
            def repeat(x, last):
                five = g.op("Expand", g.op("Unsqueeze", x, g.c([2])), g.c([batch, key_heads, groups, keys, last]))
                return g.op("Reshape", five, g.c([batch, heads, keys, last]))
            k, v = repeat(k, size), repeat(v, value)
        scores = g.op("Mul", g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])),
                      g.c(size ** -0.5, "f32") if g.kind in ("f32", "fp32") else g.c(size ** -0.5, g.kind))
        if end == "softcap":
            cap = g.c(30.0, g.kind)
            scores = g.op("Mul", g.op("Tanh", g.op("Div", scores, cap)), cap)
        if m and mask in ("bool", "keys"):
            scores = g.op("Where", m, scores, g.c(-1e4, g.kind))
        elif m:
            scores = g.op("Add", scores, m)
        out = g.op("MatMul", g.op("Softmax", scores, axis=-1), v)
        if end == "transpose":
            out = g.op("Reshape", g.op("Transpose", out, perm=[0, 2, 1, 3]), g.c([batch, queries, heads * value]))
        return g.out(out)
    flops = 2.0 * batch * heads * queries * keys * (size + value) * (0.5 if causal and queries == keys else 1)
    torch = "" if end == "softcap" or mask else (f"torch.nn.functional.scaled_dot_product_attention(x0, x1, x2, is_causal={causal}, "
                                                 f"enable_gqa={groups > 1})")
    return Case(f"attention.{name}", build, flops, types, torch=torch, **more)


def attentions():
    yield attend("4096", 4, 16, 4096, 4096, 128, types=("f32", "fp32", "fp16", "bf16", "f64"), quick=True)
    for size in (16, 32, 64, 72, 80, 96, 112, 160, 192, 256, 320, 512):
        yield attend(f"head{size}", 4, 16, 2048, 2048, size)
    yield attend("head40.odd", 4, 8, 4096, 4096, 40)
    yield attend("head65", 4, 16, 2048, 2048, 65)
    yield attend("mla", 4, 16, 2048, 2048, 192, value=128)
    yield attend("cross77", 8, 16, 4096, 77, 64)
    yield attend("cross1500", 8, 16, 448, 1500, 64)
    yield attend("odd", 8, 12, 1021, 1021, 64)
    yield attend("one.head", 8, 1, 4096, 4096, 512)
    for mask in ("bool", "float", "bias", "keys"):
        yield attend(f"mask.{mask}", 8, 16, 1024, 1024, 64, mask=mask)
    yield attend("softcap", 4, 16, 2048, 2048, 128, end="softcap")
    yield attend("output.turned", 4, 16, 2048, 2048, 64, end="transpose")
    yield attend("groups4", 4, 32, 2048, 2048, 128, groups=4)
    yield attend("swin", 2048, 4, 49, 49, 32, mask="bias")
    yield attend("causal", 4, 16, 4096, 4096, 128, causal=True, written=False, types=MOST)
    yield attend("causal.groups8", 4, 32, 2048, 2048, 128, causal=True, groups=8, written=False)
    yield attend("onnx", 4, 16, 2048, 2048, 64, written=False)
    yield attend("onnx.mask", 4, 16, 2048, 2048, 64, written=False, mask="float")
    yield attend("onnx.softcap", 4, 16, 2048, 2048, 64, written=False, end="softcap")
    for keys in (1024, 8192, 65536):
        yield attend(f"decode.{keys}", 8 if keys < 65536 else 1, 32, 1, keys, 128, types=MOST)
        yield attend(f"decode.groups4.{keys}", 8 if keys < 65536 else 1, 32, 1, keys, 128, groups=4)
    yield attend("decode.few.heads", 1, 4, 1, 65536, 128)
    yield attend("decode.queries4", 8, 32, 4, 8192, 128)
    yield attend("decode.queries16", 8, 32, 16, 8192, 128)
    yield attend("decode.head256", 8, 8, 1, 8192, 256)
    yield attend("decode.head80", 8, 32, 1, 8192, 80)
    yield attend("decode.odd.keys", 8, 32, 1, 8191, 128)
    yield attend("decode.mask", 8, 32, 1, 8192, 128, mask="keys")
    def dynamic(g):
        q, k, v = (g.x("b", 16, "s", 64) for _ in range(3))
        return g.out(g.op("MatMul", g.op("Softmax", g.op("Mul", g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])), g.c(0.125, g.kind)),
                                         axis=-1), v))
    yield Case("attention.dynamic", dynamic, 4.0 * 8 * 16 * 1024 * 1024 * 64, dims=("b=1..16:opt=8", "s=1..4096:opt=1024"))
    def linear(g):
        q, k, v = (g.op("Elu", g.x(8, 16, 4096, 64)) for _ in range(3))
        return g.out(g.op("MatMul", q, g.op("MatMul", g.op("Transpose", k, perm=[0, 1, 3, 2]), v)))
    yield Case("attention.linear", linear, 4.0 * 8 * 16 * 4096 * 64 * 64)
    def rope(g):
        x, cos, sin = g.x(8, 16, 2048, 128), g.x(2048, 64), g.x(2048, 64)
        a, b = g.op("Split", x, axis=-1, num_outputs=2, outputs=2)
        return g.out(g.op("Concat", g.op("Sub", g.op("Mul", a, cos), g.op("Mul", b, sin)), g.op("Add", g.op("Mul", b, cos), g.op("Mul", a, sin)),
                          axis=-1))
    yield Case("rope.halves", rope)
    def neighbours(g):
        x, cos, sin = g.x(8, 16, 2048, 64, 2), g.x(2048, 64, 1), g.x(2048, 64, 1)
        a, b = g.op("Split", x, axis=-1, num_outputs=2, outputs=2)
        out = g.op("Concat", g.op("Sub", g.op("Mul", a, cos), g.op("Mul", b, sin)), g.op("Add", g.op("Mul", b, cos), g.op("Mul", a, sin)), axis=-1)
        return g.out(g.op("Reshape", out, g.c([8, 16, 2048, 128])))
    yield Case("rope.neighbours", neighbours)


def cases():
    yield from gemms()
    yield from codes()
    yield from convolutions()
    yield from attentions()

# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax, norms, reductions, scans, pools: what goes over rows, along every set of axes."""

import itertools

from case import Case

MANY = ("f32", "fp16", "bf16", "f64")
SHAPE = (32, 64, 112, 112)


def text(numbers):
    return "x".join(map(str, numbers))


def softmaxes():
    for shape, axis in (((8192, 4096), -1), ((65536, 512), -1), ((1 << 20, 64), -1), ((1 << 22, 8), -1), ((512, 50257), -1), ((64, 1 << 20), -1),
                        ((4, 1 << 22), -1),
                        ((4096, 8192), 0), ((64, 512, 2048), 1), ((32, 21, 320, 320), 1), ((16, 1000, 64, 64), 1), ((1 << 25,), 0),
                        ((8191, 4093), -1), ((1 << 21, 3, 7), 1)):
        yield Case(f"softmax.{text(shape)}.{axis}", lambda g, s=shape, a=axis: g.out(g.op("Softmax", g.x(*s), axis=a)),
                   torch=f"torch.softmax(x0, {axis})",
                   types=MANY if shape == (8192, 4096) else ("f32", "fp16"), quick=shape == (64, 512, 2048))
    yield Case("logsoftmax.8192x4096", lambda g: g.out(g.op("LogSoftmax", g.x(8192, 4096), axis=-1)), torch="torch.log_softmax(x0, -1)")
    yield Case("logsoftmax.channels", lambda g: g.out(g.op("LogSoftmax", g.x(32, 21, 320, 320), axis=1)), torch="torch.log_softmax(x0, 1)")
    yield Case("softmax.dynamic", lambda g: g.out(g.op("Softmax", g.x("n", "m"), axis=-1)), dims=("n=1..65536:opt=8192", "m=1..65536:opt=4096"))
    yield Case("softmax.dynamic.channels", lambda g: g.out(g.op("Softmax", g.x("b", 21, "h", "w"), axis=1)),
               dims=("b=1..64:opt=32", "h=1..1024:opt=320", "w=1..1024:opt=320"))
    yield Case("hardmax", lambda g: g.out(g.op("Hardmax", g.x(8192, 4096), axis=-1)), passes=1.5)
    def crossentropy(g):
        return g.out(g.op("SoftmaxCrossEntropyLoss", g.x(8192, 32000), g.x(8192, kind="i64", high=32000)))
    yield Case("crossentropy", crossentropy)


def norms():
    for rows, columns in ((32768, 1024), (8192, 4096), (1 << 19, 64), (65537, 768), (1024, 65536), (64, 1 << 20)):
        yield Case(f"layernorm.{rows}x{columns}", lambda g, r=rows, c=columns: g.out(g.op("LayerNormalization", g.x(r, c), g.w(c), g.w(c))),
                   types=MANY[:3] if columns == 1024 else ("f32", "fp16"), torch=f"torch.nn.functional.layer_norm(x0, ({columns},), w0, w1)")
    yield Case("rmsnorm", lambda g: g.out(g.op("RMSNormalization", g.x(8192, 4096), g.w(4096))),
               torch="torch.nn.functional.rms_norm(x0, (4096,), w0)")
    def written(g):
        x = g.x(8192, 4096)
        mean = g.op("ReduceMean", g.op("Mul", x, x), g.c([-1]))
        return g.out(g.op("Mul", g.op("Mul", x, g.op("Reciprocal", g.op("Sqrt", g.op("Add", mean, g.c(1e-5, g.kind))))), g.w(4096)))
    yield Case("rmsnorm.written", written)
    yield Case("layernorm.last2", lambda g: g.out(g.op("LayerNormalization", g.x(4096, 64, 128), g.w(64, 128), g.w(64, 128), axis=1)))
    def channels_first(g):
        x = g.op("Transpose", g.x(32, 96, 112, 112), perm=[0, 2, 3, 1])
        return g.out(g.op("Transpose", g.op("LayerNormalization", x, g.w(96), g.w(96)), perm=[0, 3, 1, 2]))
    yield Case("layernorm.channels_first", channels_first)
    def added(g):
        s = g.op("Add", g.x(8192, 4096), g.x(8192, 4096))
        return g.out(g.op("LayerNormalization", s, g.w(4096), g.w(4096)), s)
    yield Case("layernorm.added", added)
    for shape, groups in ((SHAPE, 32), ((8, 320, 64, 64), 32), ((2, 128, 512, 512), 32), ((1, 512, 128, 128), 32), ((16, 64, 16384), 8),
                          ((4, 32, 16, 64, 64), 8)):
        yield Case(f"groupnorm.{text(shape)}.{groups}", lambda g, s=shape,
                   n=groups: g.out(g.op("GroupNormalization", g.x(*s), g.w(s[1]), g.w(s[1]), num_groups=n)),
                   torch=f"torch.nn.functional.group_norm(x0, {groups}, w0, w1)")
    for shape in (SHAPE, (1, 64, 512, 512), (1, 3, 2048, 2048), (16, 64, 65536), (4, 32, 16, 64, 64)):
        yield Case(f"instancenorm.{text(shape)}", lambda g, s=shape: g.out(g.op("InstanceNormalization", g.x(*s), g.w(s[1]), g.w(s[1]))),
                   torch="torch.nn.functional.instance_norm(x0, weight=w0, bias=w1)")
    yield Case("batchnorm", lambda g: g.out(g.op("BatchNormalization", g.x(*SHAPE), *(g.w(64) for _ in range(4)))),
               torch="torch.nn.functional.batch_norm(x0, w2, w3, w0, w1)")
    for axis, shape in ((-1, (32768, 1024)), (1, SHAPE)):
        yield Case(f"lpnorm.{axis}", lambda g, a=axis, s=shape: g.out(g.op("LpNormalization", g.x(*s), axis=a, p=2)),
                   torch=f"torch.nn.functional.normalize(x0, dim={axis})")
    yield Case("mvn", lambda g: g.out(g.op("MeanVarianceNormalization", g.x(*SHAPE))))
    yield Case("lrn", lambda g: g.out(g.op("LRN", g.x(*SHAPE), size=5)))


def reductions():
    subsets = [axes for count in range(1, 5) for axes in itertools.combinations(range(4), count)]
    for axes in subsets:
        torch = f"torch.sum(x0, {axes})"
        yield Case(f"reduce.sum.{text(axes)}", lambda g, a=axes: g.out(g.op("ReduceSum", g.x(*SHAPE), g.c(list(a)), keepdims=0)),
                   types=MANY if axes in ((0, 1, 2, 3), (0, 2, 3), (1,)) else
                   ("f32", "fp16"), torch=torch, quick=axes in ((0, 1, 2, 3), (0, 2)))
    for operator in ("Max", "Min", "Prod", "Mean", "L1", "L2", "SumSquare", "LogSum", "LogSumExp"):
        for axes in ((0,), (1,), (3,), (0, 1, 2, 3)):
            if operator in ("Max", "LogSumExp", "L2") or axes in ((1,), (0, 1, 2, 3)):
                yield Case(f"reduce.{operator.lower()}.{text(axes)}", lambda g, a=axes,
                           o=operator: g.out(g.op(f"Reduce{o}", g.x(*SHAPE), g.c(list(a)), keepdims=0)))
    for kind in ("i32", "i64", "i8", "u8", "bool"):
        for axes in ((0,), (1,), (3,), (0, 1, 2, 3)):
            if kind == "i64" or axes in ((3,), (0, 1, 2, 3)):
                operator = "Sum" if kind in ("i32", "i64") else "Max"
                yield Case(f"reduce.{operator.lower()}.{text(axes)}", lambda g, a=axes,
                           o=operator: g.out(g.op(f"Reduce{o}", g.x(*SHAPE), g.c(list(a)), keepdims=0)), types=(kind,))
    for shape, axes in (((1 << 26,), (0,)), ((4, 1 << 24), (1,)), ((1 << 24, 4), (0,)), ((1 << 24, 4), (1,)), ((3, 1 << 24), (0,)),
                        ((67108859,), (0,)), ((8191, 8191), (0,)), ((8191, 8191), (1,)),
                        ((127, 131, 67, 61), (1, 3)), ((8, 8, 8, 32, 32, 128), (1, 3, 5)), ((8, 8, 8, 32, 32, 128), (0, 2, 4)),
                        ((1, 1 << 26), (0,)), ((1 << 13, 1 << 13), ())):
        yield Case(f"reduce.sum.{text(shape)}.{text(axes)}", lambda g, s=shape,
                   a=axes: g.out(g.op("ReduceSum", g.x(*s), *([g.c(list(a))] if a else []), keepdims=0)))
    yield Case("reduce.sum.dynamic.rows", lambda g: g.out(g.op("ReduceSum", g.x("n", "m"), g.c([1]), keepdims=0)),
               dims=("n=1..65536:opt=8192", "m=1..65536:opt=8192"))
    yield Case("reduce.sum.dynamic.columns", lambda g: g.out(g.op("ReduceSum", g.x("n", "m"), g.c([0]), keepdims=0)),
               dims=("n=1..65536:opt=8192", "m=1..65536:opt=8192"))
    yield Case("reduce.sum.dynamic.all", lambda g: g.out(g.op("ReduceSum", g.x("n"), keepdims=0)), dims=("n=1..100000000:opt=67108864",))
    def variance(g, axes):
        x = g.x(*SHAPE)
        d = g.op("Sub", x, g.op("ReduceMean", x, g.c(axes)))
        return g.out(g.op("ReduceMean", g.op("Mul", d, d), g.c(axes), keepdims=0))
    for axes in ([3], [0, 2, 3], [1]):
        yield Case(f"reduce.variance.{text(axes)}", lambda g, a=axes: variance(g, a), torch=f"torch.var(x0, {tuple(axes)}, correction=0)", passes=2)
    for operator in ("ArgMax", "ArgMin"):
        for shape, axis in (((4096, 8192), 1), ((32, 128256), 1), ((1, 1 << 25), 1), ((8192, 4096), 0), ((64, 512, 1024), 1),
                            ((32, 21, 320, 320), 1), ((1 << 22, 8), 1), ((1 << 24, 2), 0)):
            if operator == "ArgMax" or axis == 1:
                yield Case(f"{operator.lower()}.{text(shape)}.{axis}", lambda g, o=operator, s=shape,
                           a=axis: g.out(g.op(o, g.x(*s), axis=a, keepdims=0)),
                           types=("f32", "fp16", "i32", "u8", "f64") if shape == (4096, 8192) and operator == "ArgMax" else ("f32", "fp16"),
                           torch=f"torch.{operator.lower()}(x0, {axis})", quick=shape == (32, 128256) and operator == "ArgMax")


def scans():
    for shape, axis in (((8192, 8192), 1), ((64, 1 << 20), 1), ((1, 1 << 25), 1), ((8192, 8192), 0), ((64, 1024, 512), 1), ((1 << 22, 8), 1),
                        ((1 << 20, 16), 0), ((8191, 4093), 1)):
        yield Case(f"cumsum.{text(shape)}.{axis}", lambda g, s=shape, a=axis: g.out(g.op("CumSum", g.x(*s), g.c(a))),
                   types=("f32", "fp16", "i64", "i32", "f64") if shape == (8192, 8192) and axis == 1 else ("f32",), torch=f"torch.cumsum(x0, {axis})",
                   quick=shape == (64, 1 << 20))
    yield Case("cumsum.reverse", lambda g: g.out(g.op("CumSum", g.x(8192, 8192), g.c(1), reverse=1, exclusive=1)))
    yield Case("cumprod", lambda g: g.out(g.op("CumProd", g.x(8192, 8192), g.c(1))), torch="torch.cumprod(x0, 1)")
    yield Case("cumsum.dynamic", lambda g: g.out(g.op("CumSum", g.x("n", "m"), g.c(1))), dims=("n=1..65536:opt=8192", "m=1..65536:opt=8192"))


def pools():
    for operator, kind, torch in (("MaxPool", "max", "torch.nn.functional.max_pool"), ("AveragePool", "average", "torch.nn.functional.avg_pool")):
        for shape, taps, stride in ((SHAPE, 2, 2), (SHAPE, 3, 2), (SHAPE, 3, 1), ((32, 64, 56, 56), 5, 1), ((32, 64, 56, 56), 13, 1),
                                    ((64, 256, 16384), 4, 4), ((8, 64, 16, 56, 56), 2, 2), ((16, 64, 224, 224), 7, 7),
                                    ((64, 256, 56, 56), 56, 1), ((32, 63, 113, 111), 3, 2)):
            count = len(shape) - 2
            pads = [taps // 2 if taps % 2 and taps < 50 and stride < taps else 0] * (2 * count)
            yield Case(f"pool.{kind}.{text(shape)}.{taps}.{stride}", lambda g, o=operator, s=shape, t=taps, st=stride, n=count, p=pads: g.out(
                g.op(o, g.x(*s), kernel_shape=[t] * n, strides=[st] * n, pads=p)), torch=f"{torch}{count}d(x0, {taps}, {stride}, {pads[0]})",
                       quick=taps == 13 and kind == "max")
    yield Case("pool.max.indices", lambda g: g.out(*g.op("MaxPool", g.x(*SHAPE), outputs=2, kernel_shape=[2, 2], strides=[2, 2])))
    yield Case("pool.max.u8", lambda g: g.out(g.op("MaxPool", g.x(*SHAPE), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)), types=("u8", "i8"))
    yield Case("pool.lp", lambda g: g.out(g.op("LpPool", g.x(*SHAPE), kernel_shape=[2, 2], strides=[2, 2])))
    for operator in ("Average", "Max", "Lp"):
        for shape in (SHAPE, (32, 2048, 7, 7), (8, 64, 16, 56, 56), (1, 16, 2048, 1024)):
            yield Case(f"globalpool.{operator.lower()}.{text(shape)}", lambda g, o=operator, s=shape: g.out(g.op(f"Global{o}Pool", g.x(*s))))
    def adaptive(g):
        return g.out(g.op("AveragePool", g.x(32, 256, 14, 14), kernel_shape=[7, 7], strides=[7, 7]))
    yield Case("pool.adaptive", adaptive)
    yield Case("pool.dynamic", lambda g: g.out(g.op("MaxPool", g.x("b", 64, "h", "w"), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)),
               dims=("b=1..64:opt=32", "h=8..512:opt=112", "w=8..512:opt=112"))
    yield Case("pool.unpool", lambda g: g.out(g.op("MaxUnpool", g.x(8, 32, 56, 56), g.x(8, 32, 56, 56, kind="i64", high=112 * 112),
                                                   kernel_shape=[2, 2], strides=[2, 2])), passes=3)


def cases():
    yield from softmaxes()
    yield from norms()
    yield from reductions()
    yield from scans()
    yield from pools()

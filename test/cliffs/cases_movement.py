# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operators, and what moves elements: transposes, joins, cuts, gathers, scatters, sorts, resizes."""

import itertools
import math

from case import Case, body

TYPES = ("f32", "fp16", "i64", "i8", "bool")
BIG = (64, 1024, 1024)


def text(numbers):
    return "x".join(map(str, numbers))


def elementwise():
    unary = ("Abs", "Neg", "Exp", "Log", "Sqrt", "Reciprocal", "Sigmoid", "Tanh", "Erf", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh",
             "Cosh", "Asinh", "Acosh", "Atanh", "Floor",
             "Ceil", "Round", "Sign", "Relu", "LeakyRelu", "Elu", "Selu", "Celu", "Softplus", "Softsign", "HardSigmoid", "HardSwish", "Mish",
             "Gelu", "ThresholdedRelu")
    for operator in unary:
        types = ("f32", "fp16", "bf16", "f64") if operator in ("Exp", "Erf", "Gelu", "Tanh", "Sigmoid") else ("f32", "fp16")
        yield Case(f"unary.{operator.lower()}", lambda g, o=operator: g.out(g.op(o, g.x(*BIG))), types=types)
    yield Case("unary.gelu.tanh", lambda g: g.out(g.op("Gelu", g.x(*BIG), approximate="tanh")))
    for operator in ("Add", "Mul", "Div", "Pow", "Mod", "Max", "Min", "PRelu"):
        more = {"fmod": 1} if operator == "Mod" else {}
        yield Case(f"binary.{operator.lower()}", lambda g, o=operator, m=more: g.out(g.op(o, g.x(*BIG), g.x(*BIG), **m)),
                   types=("f32", "fp16", "f64") if operator in ("Add", "Pow", "Div") else ("f32", "fp16"))
    for operator, kinds in (("Add", ("i64", "i32", "i8", "u8")), ("Div", ("i64", "i32", "u8")), ("Mod", ("i64", "i32", "i8")),
                            ("Pow", ("i64", "i32")), ("BitwiseAnd", ("i64", "u8")), ("BitShift", ("u32", "u64"))):
        more = {"direction": "LEFT"} if operator == "BitShift" else {}
        yield Case(f"whole.{operator.lower()}", lambda g, o=operator, m=more: g.out(g.op(o, g.x(*BIG, high=100), g.x(*BIG, high=5), **m)),
                   types=kinds)
    for operator in ("And", "Or", "Xor"):
        yield Case(f"logic.{operator.lower()}", lambda g, o=operator: g.out(g.op(o, g.x(*BIG, high=2), g.x(*BIG, high=2))), types=("bool",))
    yield Case("logic.not", lambda g: g.out(g.op("Not", g.x(*BIG))), types=("bool",))
    yield Case("logic.not.odd", lambda g: g.out(g.op("Not", g.x(127, 1021, 509))), types=("bool",))
    for operator in ("Equal", "Less", "GreaterOrEqual"):
        yield Case(f"compare.{operator.lower()}", lambda g, o=operator: g.out(g.op(o, g.x(*BIG), g.x(*BIG))), types=("f32", "fp16", "i64", "i8"))
    for operator in ("IsNaN", "IsInf"):
        yield Case(f"compare.{operator.lower()}", lambda g, o=operator: g.out(g.op(o, g.x(*BIG))))
    yield Case("where", lambda g: g.out(g.op("Where", g.x(*BIG, kind="bool", high=2), g.x(*BIG), g.x(*BIG))), types=("f32", "fp16", "i64", "i8"),
               quick=True)
    yield Case("where.mask", lambda g: g.out(g.op("Where", g.x(64, 1, 1024, kind="bool", high=2), g.x(*BIG), g.c(0, g.kind))))
    yield Case("clip", lambda g: g.out(g.op("Clip", g.x(*BIG), g.c(0, g.kind), g.c(6, g.kind))), types=("f32", "fp16", "i8", "i64"))
    for source, target in itertools.product(("f32", "fp16", "bf16", "f64", "i64", "i32", "i8", "u8", "bool"), repeat=2):
        if source != target and (source in ("f32", "u8", "i64", "bool") or target in ("f32", "fp16")):
            yield Case(f"cast.{target}", lambda g, t=target: g.out(g.op("Cast", g.x(*BIG, high=2), to=t)), types=(source,))
    for name, left, right in (("row", BIG, (1024,)), ("column", BIG, (1024, 1)), ("middle", BIG, (64, 1, 1024)),
                              ("channel", (32, 64, 112, 112), (64, 1, 1)), ("both", (4096, 1, 1024), (1, 16, 1)),
                              ("outer", (8192, 1), (1, 8192)), ("scalar", BIG, ()), ("six", (8, 8, 8, 32, 32, 128), (8, 1, 8, 1, 32, 1)),
                              ("six.odd", (7, 9, 11, 31, 33, 127), (7, 1, 11, 1, 33, 1)),
                              ("odd", (127, 1021, 509), (1021, 1)), ("odd.row", (127, 1021, 509), (509,)), ("few", (1 << 24, 3), (3,)),
                              ("few.column", (1 << 24, 3), (1 << 24, 1))):
        yield Case(f"broadcast.{name}", lambda g, a=left, b=right: g.out(g.op("Add", g.x(*a), g.x(*b))),
                   types=("f32", "fp16", "i8") if name in ("row", "odd", "middle") else ("f32", "fp16"),
                   torch="x0 + x1")
    yield Case("expand.first", lambda g: g.out(g.op("Expand", g.x(1, 1024, 1024), g.c([64, 1024, 1024]))), types=TYPES)
    yield Case("expand.last", lambda g: g.out(g.op("Expand", g.x(65536, 1), g.c([65536, 1024]))), types=TYPES)
    yield Case("expand.middle", lambda g: g.out(g.op("Expand", g.x(64, 1, 1024), g.c([64, 1024, 1024]))), types=TYPES)
    yield Case("tile", lambda g: g.out(g.op("Tile", g.x(64, 512, 512), g.c([1, 2, 2]))), types=TYPES)
    yield Case("tile.odd", lambda g: g.out(g.op("Tile", g.x(4093, 127), g.c([1, 127]))))
    yield Case("tile.repeat", lambda g: g.out(g.op("Reshape", g.op("Expand", g.op("Unsqueeze", g.x(1 << 20, 16), g.c([2])), g.c([1 << 20, 16, 4])),
                                                   g.c([1 << 20, 64]))))
    def chain(g):
        x = g.x(*BIG)
        for _ in range(8):
            x = g.op("Tanh", g.op("Add", g.op("Mul", x, g.w(1024)), g.w(1024)))
        return g.out(x)
    yield Case("chain", chain)
    yield Case("sum.eight", lambda g: g.out(g.op("Sum", *(g.x(16, 1024, 1024) for _ in range(8)))))
    yield Case("elementwise.dynamic", lambda g: g.out(g.op("Tanh", g.op("Add", g.x("n", "m"), g.x("m")))),
               dims=("n=1..65536:opt=8192", "m=1..65536:opt=8192"))
    yield Case("elementwise.prime", lambda g: g.out(g.op("Relu", g.x(67108859))), types=TYPES[:4])
    yield Case("elementwise.odd", lambda g: g.out(g.op("Add", g.x(127, 1021, 509), g.x(127, 1021, 509))), types=TYPES[:4])
    yield Case("elementwise.small", lambda g: g.out(g.op("Relu", g.x(7))))
    yield Case("elementwise.none", lambda g: g.out(g.op("Relu", g.x(0, 1024))))
    yield Case("range", lambda g: g.out(g.op("Add", g.op("Range", g.c(0), g.c(1 << 25), g.c(1)), g.x(1, kind="i64", high=5))), types=("i64",))
    yield Case("eyelike", lambda g: g.out(g.op("EyeLike", g.x(8192, 8192))), types=("f32",))
    yield Case("triu", lambda g: g.out(g.op("Trilu", g.x(8192, 8192), upper=1)), types=("f32", "fp16", "i64", "bool"), alone=True)
    for operator in ("RandomNormalLike", "RandomUniformLike", "Bernoulli"):
        yield Case(f"random.{operator.lower()}", lambda g, o=operator: g.out(g.op(o, g.x(8192, 8192))), alone=True)
    yield Case("random.normal", lambda g: g.out(g.op("RandomNormal", shape=[8192, 8192])), types=("f32",), alone=True)
    yield Case("random.multinomial", lambda g: g.out(g.op("Multinomial", g.x(256, 32000), sample_size=1)), types=("f32",), passes=3)
    yield Case("random.dropout", lambda g: g.out(g.op("Dropout", g.x(8192, 8192), g.c(0.5, "f32"), g.c(True, "bool"))), alone=True)


def transposes():
    for axes in itertools.permutations(range(3)):
        if axes != (0, 1, 2):
            yield Case(f"transpose.3d.{text(axes)}", lambda g, a=axes: g.out(g.op("Transpose", g.x(256, 512, 512), perm=a)), types=("f32", "fp16"),
                       torch=f"x0.permute({axes}).contiguous()")
    for axes in itertools.permutations(range(4)):
        if axes != (0, 1, 2, 3):
            yield Case(f"transpose.4d.{text(axes)}", lambda g, a=axes: g.out(g.op("Transpose", g.x(32, 64, 128, 256), perm=a)),
                       types=("f32", "fp16"), torch=f"x0.permute({axes}).contiguous()")
    for shape, axes, name in (((8192, 8192), (1, 0), "2d"), ((8191, 8209), (1, 0), "2d.odd"), ((1 << 22, 16), (1, 0), "tall"),
                              ((16, 1 << 22), (1, 0), "wide"), ((1 << 24, 3), (1, 0), "three"), ((3, 1 << 24), (1, 0), "three.back"),
                              ((1 << 24, 4), (1, 0), "four"), ((1 << 23, 7), (1, 0), "seven"), ((64, 224, 224, 3), (0, 3, 1, 2), "image"),
                              ((64, 3, 224, 224), (0, 2, 3, 1), "image.back"),
                              ((8, 8, 8, 32, 32, 128), (5, 4, 3, 2, 1, 0), "six.reversed"),
                              ((8, 8, 8, 32, 32, 128), (0, 3, 1, 4, 2, 5), "six.windows"), ((8, 8, 8, 32, 32, 128), (1, 3, 5, 0, 2, 4), "six.mixed"),
                              ((7, 9, 11, 31, 33, 127), (5, 2, 4, 0, 3, 1), "six.odd"), ((64, 197, 3, 12, 64), (2, 0, 3, 1, 4), "heads"),
                              ((8, 2048, 32, 128), (0, 2, 1, 3), "heads.back"),
                              ((8, 32, 2048, 128), (0, 1, 3, 2), "keys"), ((32, 64, 8, 16, 8, 16), (0, 2, 4, 1, 3, 5), "patches"),
                              ((64, 127, 127, 65), (3, 1, 0, 2), "odd")):
        yield Case(f"transpose.{name}", lambda g, s=shape, a=axes: g.out(g.op("Transpose", g.x(*s), perm=a)),
                   types=TYPES if name in ("2d", "heads", "image.back", "six.reversed") else ("f32", "fp16"),
                   torch=f"x0.permute({axes}).contiguous()", quick=name in ("2d.odd", "six.reversed"))
    yield Case("transpose.f64", lambda g: g.out(g.op("Transpose", g.x(8192, 8192), perm=[1, 0])), types=("f64",))
    yield Case("transpose.dynamic", lambda g: g.out(g.op("Transpose", g.x("n", "m"), perm=[1, 0])),
               dims=("n=1..65536:opt=8192", "m=1..65536:opt=8192"))
    yield Case("transpose.dynamic.heads", lambda g: g.out(g.op("Transpose", g.x("b", "n", 32, 128), perm=[0, 2, 1, 3])),
               dims=("b=1..64:opt=8", "n=1..65536:opt=2048"))
    for mode in ("DCR", "CRD"):
        yield Case(f"depthtospace.{mode.lower()}", lambda g, m=mode: g.out(g.op("DepthToSpace", g.x(16, 256, 128, 128), blocksize=2, mode=m)),
                   types=("f32", "fp16", "i8"))
    yield Case("spacetodepth", lambda g: g.out(g.op("SpaceToDepth", g.x(16, 64, 256, 256), blocksize=2)), types=("f32", "fp16", "i8"))


def joins():
    for axis in range(3):
        yield Case(f"concat.{axis}", lambda g, a=axis: g.out(g.op("Concat", g.x(*BIG), g.x(*BIG), axis=a)), types=TYPES,
                   torch=f"torch.cat((x0, x1), {axis})")
    yield Case("concat.odd", lambda g: g.out(g.op("Concat", g.x(4093, 4097), g.x(4093, 31), g.x(4093, 1), axis=1)))
    yield Case("concat.sixteen", lambda g: g.out(g.op("Concat", *(g.x(4096, 256) for _ in range(16)), axis=1)))
    yield Case("concat.sixteen.narrow", lambda g: g.out(g.op("Concat", *(g.x(1 << 21, 1) for _ in range(16)), axis=1)))
    yield Case("concat.hundred", lambda g: g.out(g.op("Concat", *(g.x(4096, 97) for _ in range(100)), axis=1)))
    yield Case("concat.dynamic", lambda g: g.out(g.op("Concat", g.x("n", "a"), g.x("n", "b"), axis=1)),
               dims=("n=1..65536:opt=8192", "a=1..65536:opt=4096", "b=1..65536:opt=4096"))
    yield Case("concat.cache", lambda g: g.out(g.op("Concat", g.x(8, 32, 4096, 128), g.x(8, 32, 1, 128), axis=2)))
    for axis in range(3):
        yield Case(f"split.{axis}", lambda g, a=axis: g.out(*g.op("Split", g.x(*BIG), outputs=4, num_outputs=4, axis=a)), types=("f32", "fp16", "i8"))
    yield Case("split.odd", lambda g: g.out(*g.op("Split", g.x(8191, 8191), g.c([1, 4090, 4100]), outputs=3, axis=1)))
    for name, shape, starts, ends, axes, steps in (("rows", (16384, 8192), [1], [8193], [0], [1]),
                                                   ("columns", (16384, 8192), [1], [4097], [1], [1]),
                                                   ("step2", (16384, 8192), [0], [8192], [1], [2]),
                                                   ("step2.rows", (16384, 8192), [0], [16384], [0], [2]),
                                                   ("reverse", (8192, 8192), [-1], [-100000], [1], [-1]),
                                                   ("reverse.rows", (8192, 8192), [-1], [-100000], [0], [-1]),
                                                   ("step7", (16384, 8192), [3], [8192], [1], [7]),
                                                   ("image", (64, 64, 130, 130), [1, 1], [129, 129], [2, 3], [1, 1]),
                                                   ("last", (1 << 24, 3), [0], [1], [1], [1]),
                                                   ("patch", (32, 64, 224, 224), [0, 0], [224, 224], [2, 3], [2, 2])):
        count = 1
        for axis, size in enumerate(shape):
            if axis in axes:
                at = axes.index(axis)
                count *= len(range(size)[slice(starts[at], None if ends[at] <= -size else ends[at], steps[at])])
            else:
                count *= size
        yield Case(f"slice.{name}", lambda g, s=shape, p=(starts, ends, axes,
                                                          steps): g.out(g.op("Slice", g.x(*s), *(g.c(list(part)) for part in p))),
                   types=TYPES if name in ("columns", "reverse") else ("f32", "fp16"),
                   moved=lambda size, total, n=count: 2 * n * size)
    for mode in ("constant", "reflect", "edge", "wrap"):
        yield Case(f"pad.{mode}", lambda g, m=mode: g.out(g.op("Pad", g.x(32, 64, 112, 112), g.c([0, 0, 1, 1, 0, 0, 1, 1]), mode=m)),
                   types=TYPES if mode == "constant" else ("f32", "fp16"))
    yield Case("pad.rows", lambda g: g.out(g.op("Pad", g.x(4096, 8191), g.c([0, 0, 0, 1]))))
    yield Case("pad.first", lambda g: g.out(g.op("Pad", g.x(4096, 8192), g.c([0, 3, 0, 0]))))
    yield Case("roll", lambda g: (lambda x: g.out(g.op("Concat", g.op("Slice", x, g.c([3]), g.c([56]), g.c([1])),
                                                       g.op("Slice", x, g.c([0]), g.c([3]), g.c([1])), axis=1)))(g.x(64, 56, 56, 96)))
    yield Case("reversesequence", lambda g: g.out(g.op("ReverseSequence", g.x(1024, 64, 512), g.x(64, kind="i64", high=1024), time_axis=0,
                                                       batch_axis=1)))


def touched(rows, more=0):
    """Bytes that a gather of so many elements has to move."""
    return lambda size, total: 2 * rows * size + more


def gathers():
    for rows, columns, count in ((50000, 512, 65536), (32000, 4096, 8192), (1 << 20, 16, 1 << 22), (1 << 22, 1, 1 << 24), (100, 7, 1 << 22),
                                 (128256, 1021, 30011)):
        yield Case(f"gather.{rows}x{columns}.{count}", lambda g, r=rows, c=columns,
                   n=count: g.out(g.op("Gather", g.x(r, c), g.x(n, kind="i64", high=r))), types=("f32", "fp16", "i8", "i64") if columns == 512 else
                   ("f32", "fp16"), moved=touched(count * columns, 8 * count), torch="x0[x1]", quick=columns == 512)
    yield Case("gather.weight", lambda g: g.out(g.op("Gather", g.w(30000, 512), g.x(128, 512, kind="i64", high=30000))),
               moved=touched(65536 * 512, 8 * 65536), torch="w0[x0]")
    yield Case("gather.int32", lambda g: g.out(g.op("Gather", g.x(50000, 512), g.x(65536, kind="i32", high=50000))),
               moved=touched(65536 * 512, 4 * 65536))
    for axis in (1, 2):
        yield Case(f"gather.axis{axis}", lambda g, a=axis: g.out(g.op("Gather", g.x(64, 1024, 1024), g.x(512, kind="i64", high=1024), axis=a)),
                   moved=touched(64 * 512 * 1024))
    yield Case("gather.one", lambda g: g.out(g.op("Gather", g.x(4096, 512, 64), g.c(0), axis=1)), moved=touched(4096 * 64))
    yield Case("gather.positions", lambda g: g.out(g.op("Gather", g.x(2401, 32, kind="f32"), g.x(49 * 49 * 64, kind="i64", high=2401))),
               moved=touched(49 * 49 * 64 * 32, 49 * 49 * 64 * 8), types=("f32",))
    yield Case("gathernd.rows", lambda g: g.out(g.op("GatherND", g.x(256, 256, 256), g.x(65536, 2, kind="i64", high=256))),
               moved=touched(65536 * 256, 65536 * 16))
    yield Case("gathernd.elements", lambda g: g.out(g.op("GatherND", g.x(256, 256, 256), g.x(1 << 22, 3, kind="i64", high=256))),
               moved=touched(1 << 22, 24 << 22))
    for axis in (0, 1):
        yield Case(f"gatherelements.{axis}", lambda g, a=axis: g.out(g.op("GatherElements", g.x(4096, 4096), g.x(4096, 4096, kind="i64", high=4096),
                                                                          axis=a)), types=("f32", "fp16"), torch=f"torch.gather(x0, {axis}, x1)")
    yield Case("gather.bags", lambda g: g.out(g.op("ReduceSum", g.op("Gather", g.x(100000, 128), g.x(8192, 40, kind="i64", high=100000)), g.c([1]),
                                                   keepdims=0)))
    yield Case("gather.dynamic", lambda g: g.out(g.op("Gather", g.x(50000, 512), g.x("n", kind="i64", high=50000))),
               dims=("n=1..1000000:opt=65536",), moved=touched(65536 * 512, 8 * 65536))
    for reduction in ("none", "add", "max", "mul"):
        yield Case(f"scatternd.rows.{reduction}", lambda g, r=reduction: g.out(g.op("ScatterND", g.x(100000, 256),
                                                                                    g.x(65536, 1, kind="i64", high=100000), g.x(65536, 256),
                                                                                    reduction=r)),
                   types=("f32", "fp16", "i64") if reduction == "add" else ("f32", "fp16"), passes=1.3, quick=reduction == "add")
    yield Case("scatternd.add.few", lambda g: g.out(g.op("ScatterND", g.x(100, 64), g.x(1 << 20, 1, kind="i64", high=100), g.x(1 << 20, 64),
                                                         reduction="add")), types=("f32",), passes=1.3,
               torch="x0.index_add(0, x1[:, 0], x2)")
    yield Case("scatternd.add.rows64", lambda g: g.out(g.op("ScatterND", g.x(100000, 64), g.x(1000000, 1, kind="i64", high=100000),
                                                            g.x(1000000, 64), reduction="add")), types=("f32",), passes=1.3,
               torch="x0.index_add(0, x1[:, 0], x2)")
    yield Case("scatternd.elements", lambda g: g.out(g.op("ScatterND", g.x(4096, 4096), g.x(1 << 20, 2, kind="i64", high=4096), g.x(1 << 20))),
               types=("f32",), passes=1.3)
    for axis in (0, 1):
        for reduction in ("none", "add"):
            yield Case(f"scatterelements.{axis}.{reduction}", lambda g, a=axis,
                       r=reduction: g.out(g.op("ScatterElements", g.x(4096, 4096), g.x(1024, 1024, kind="i64", high=1024), g.x(1024, 1024), axis=a,
                                               reduction=r)),
                       passes=1.3)
    yield Case("scatterelements.whole", lambda g: g.out(g.op("ScatterElements", g.x(4096, 4096), g.x(4096, 4096, kind="i64", high=4096),
                                                             g.x(4096, 4096), axis=1, reduction="add")), types=("f32",), passes=3,
               torch="x0.scatter_add(1, x1, x2)")
    yield Case("tensorscatter", lambda g: g.out(g.op("ScatterND", g.x(8, 32, 4096, 128), g.c([[i] for i in range(8)]), g.x(8, 32, 4096, 128))),
               types=("fp16",))
    yield Case("onehot", lambda g: g.out(g.op("OneHot", g.x(65536, kind="i64", high=1024), g.c(1024), g.c([0, 1], g.kind))), types=("f32", "fp16"))
    yield Case("onehot.axis0", lambda g: g.out(g.op("OneHot", g.x(65536, kind="i64", high=1024), g.c(1024), g.c([0, 1], "f32"), axis=0)),
               types=("f32",))
    yield Case("nonzero", lambda g: g.out(g.op("NonZero", g.x(4096, 4096))), types=("f32", "bool"), passes=3)
    yield Case("compress", lambda g: g.out(g.op("Compress", g.x(1 << 18, 256), g.x(1 << 18, kind="bool", high=2), axis=0)), types=("f32",),
               passes=1.5)
    yield Case("unique", lambda g: g.out(*g.op("Unique", g.x(1 << 22), outputs=4, sorted=1)), types=("f32", "i64"), passes=12)
    yield Case("bincount", lambda g: g.out(g.op("ScatterElements", g.x(1024), g.x(1 << 24, kind="i64", high=1024), g.x(1 << 24), axis=0,
                                                reduction="add")), types=("f32",), passes=1.3)


def sorts():
    # Of 32 bits: four passes of eight bits, each reads and writes keys and numbers, and counts before.
    for rows, columns, k in ((128, 131072, 64), (32, 128256, 50), (32, 128256, 1), (4096, 1024, 10), (65536, 64, 8), (65536, 8, 2),
                             (1 << 20, 16, 2), (8, 1 << 20, 100)):
        yield Case(f"topk.{rows}x{columns}.{k}", lambda g, r=rows, c=columns, k=k: g.out(*g.op("TopK", g.x(r, c), g.c([k]), outputs=2, axis=-1)),
                   types=("f32", "fp16", "i64") if k == 64 else ("f32", "fp16"),
                   passes=2, torch=f"torch.topk(x0, {k}, -1)", quick=k == 64)
    yield Case("topk.first", lambda g: g.out(*g.op("TopK", g.x(1024, 8192), g.c([8]), outputs=2, axis=0)), passes=2)
    for rows, columns in ((1, 1 << 20), (1, 1 << 24), (64, 65536), (4096, 4096), (65536, 256), (1 << 20, 16), (1, 100003)):
        yield Case(f"sort.{rows}x{columns}", lambda g, r=rows, c=columns: g.out(*g.op("TopK", g.x(r, c), g.c([c]), outputs=2, axis=-1)),
                   types=("f32", "i64", "fp16") if columns == 1 << 20 else ("f32",),
                   passes=4 if columns > 4096 else 1.2, torch="torch.sort(x0, -1, True)")
    yield Case("sort.dynamic", lambda g: g.out(*g.op("TopK", g.x("b", "n"), g.c([100]), outputs=2, axis=-1)),
               dims=("b=1..256:opt=128", "n=100..200000:opt=131072"), types=("f32",), passes=2)
    def nms(g):
        return g.out(g.op("NonMaxSuppression", g.x(1, 8400, 4, kind="f32"), g.x(1, 80, 8400, kind="f32"), g.c([100]), g.c([0.5], "f32"),
                          g.c([0.25], "f32")))
    yield Case("nms", nms, types=("f32",), serial=100)


def images():
    for mode in ("nearest", "linear", "cubic"):
        for name, shape, scales in (("up2", (32, 64, 112, 112), [1, 1, 2, 2]), ("down2", (32, 64, 224, 224), [1, 1, 0.5, 0.5]),
                                    ("odd", (32, 64, 112, 112), [1, 1, 1.37, 1.61]), ("3d", (8, 32, 16, 56, 56), [1, 1, 2, 2, 2]),
                                    ("1d", (64, 256, 8192), [1, 1, 2])):
            if mode == "cubic" and name in ("3d", "1d"):
                continue
            yield Case(f"resize.{mode}.{name}", lambda g, m=mode, s=shape, c=scales: g.out(g.op("Resize", g.x(*s), "", g.c(c, "f32"), mode=m)),
                       types=("f32", "fp16") if name != "up2" else ("f32", "fp16", "bf16"),
                       quick=mode == "linear" and name == "up2")
    yield Case("resize.antialias", lambda g: g.out(g.op("Resize", g.x(32, 3, 512, 512), "", g.c([1, 1, 0.4375, 0.4375], "f32"), mode="linear",
                                                        antialias=1)))
    yield Case("resize.align", lambda g: g.out(g.op("Resize", g.x(16, 256, 64, 64), "", "", g.c([16, 256, 128, 128]), mode="linear",
                                                    coordinate_transformation_mode="align_corners")))
    yield Case("resize.channels_last", lambda g: g.out(g.op("Resize", g.x(32, 112, 112, 64), "", g.c([1, 2, 2, 1], "f32"), mode="linear")))
    yield Case("resize.u8", lambda g: g.out(g.op("Resize", g.x(32, 64, 112, 112), "", g.c([1, 1, 2, 2], "f32"), mode="nearest")), types=("u8",))
    yield Case("resize.dynamic", lambda g: g.out(g.op("Resize", g.x("b", 64, "h", "w"), "", g.c([1, 1, 2, 2], "f32"), mode="linear")),
               dims=("b=1..64:opt=32", "h=1..512:opt=112", "w=1..512:opt=112"))
    for mode in ("linear", "nearest", "cubic"):
        yield Case(f"gridsample.{mode}", lambda g, m=mode: g.out(g.op("GridSample", g.x(16, 64, 128, 128), g.x(16, 128, 128, 2), mode=m)),
                   torch="torch.nn.functional.grid_sample(x0, x1, align_corners=False)" if mode == "linear" else "")
    yield Case("gridsample.volume", lambda g: g.out(g.op("GridSample", g.x(4, 32, 32, 64, 64), g.x(4, 32, 64, 64, 3), mode="linear")))
    yield Case("affinegrid", lambda g: g.out(g.op("AffineGrid", g.x(64, 2, 3), g.c([64, 3, 512, 512]))))
    yield Case("roialign", lambda g: g.out(g.op("RoiAlign", g.x(1, 256, 200, 200), g.x(1000, 4), g.x(1000, kind="i64", high=1), output_height=7,
                                                output_width=7, sampling_ratio=2)))
    yield Case("im2col", lambda g: g.out(g.op("Col2Im", g.x(16, 64 * 9, 56 * 56), g.c([56, 56]), g.c([3, 3]), pads=[1] * 4)))
    for length, count in ((1024, 16384), (4096, 4096), (1 << 20, 16), (1000, 16384), (1009, 8192), (400, 32768)):
        # Five operations for each step of n log n, as FFTs are counted.
        flops = 5.0 * count * length * math.log2(length)
        yield Case(f"dft.{count}x{length}", lambda g, n=length, c=count: g.out(g.op("DFT", g.x(c, n, 2), "", g.c(1))), flops, types=("f32",),
                   products="f32.loops", torch="torch.view_as_real(torch.fft.fft(torch.view_as_complex(x0)))")
    yield Case("dft.real", lambda g: g.out(g.op("DFT", g.x(16384, 1024, 1), "", g.c(1), onesided=1)), types=("f32",))
    yield Case("dft.inverse", lambda g: g.out(g.op("DFT", g.x(4096, 4096, 2), "", g.c(1), inverse=1)), types=("f32",))
    yield Case("dft.axis1", lambda g: g.out(g.op("DFT", g.x(64, 512, 512, 2), "", g.c(1))), types=("f32",))
    yield Case("stft", lambda g: g.out(g.op("STFT", g.x(16, 480000, 1), g.c(160), g.w(400), g.c(400))), types=("f32",), moved=lambda size,
               total: 16 * 480000 * 4 + 16 * 3000 * 201 * 8)
    yield Case("det", lambda g: g.out(g.op("Det", g.x(65536, 16, 16))), types=("f32",), passes=2)
    yield Case("det.large", lambda g: g.out(g.op("Det", g.x(64, 256, 256))), 64 * 2 / 3 * 256.0 ** 3, types=("f32",), products="f32.loops",
               serial=500)
    yield Case("window", lambda g: g.out(g.op("Mul", g.x(4096, 4096), g.op("HannWindow", g.c(4096)))), types=("f32",))


def recurrent():
    for operator, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for batch, steps, hidden, both in ((1, 100, 512, False), (16, 128, 512, False), (64, 256, 1024, True)):
            if operator == "RNN" and both:
                continue
            def build(g, o=operator, n=gates, b=batch, s=steps, h=hidden, two=both):
                sides = 2 if two else 1
                more = {"linear_before_reset": 1} if o == "GRU" else {}
                x = g.x(s, b, h)
                out = g.op(o, x, g.w(sides, n * h, h), g.w(sides, n * h, h), g.w(sides, 2 * n * h), hidden_size=h,
                           direction="bidirectional" if two else "forward", **more)
                return g.out(out)
            sides = 2 if both else 1
            # A step waits for the one before: a grid's barrier takes about two microseconds.
            yield Case(f"{operator.lower()}.{batch}x{steps}x{hidden}{'.both' if both else ''}", build,
                       2.0 * sides * batch * steps * 2 * gates * hidden * hidden, types=("f32", "fp16"), serial=2.5 * steps)
    def loop(g):
        state = [1024, 1024]
        turn = body([("Tanh", ["s"], "t"), ("Add", ["t", "s"], "u"), ("Identity", ["c"], "d")],
                    [("i", [], "i64"), ("c", [], "bool"), ("s", state, "f32")], [("d", [], "bool"), ("u", state, "f32")])
        return g.out(g.op("Loop", g.c(64), g.c(True, "bool"), g.x(*state, kind="f32"), body=turn))
    yield Case("loop.state", loop, types=("f32",), serial=64 * 2)
    def scan(g):
        state = [8, 2048, 16]
        turn = body([("Mul", ["s", "a"], "t"), ("Add", ["t", "b"], "u"), ("Identity", ["u"], "y")], [(name, state, "f32") for name in "sab"],
                    [(name, state, "f32") for name in "uy"])
        return g.out(*g.op("Scan", g.x(*state, kind="f32"), g.x(512, *state, kind="f32"), g.x(512, *state, kind="f32"), outputs=2,
                           num_scan_inputs=2, body=turn))
    yield Case("scan.selective", scan, types=("f32",))


def cases():
    yield from elementwise()
    yield from transposes()
    yield from joins()
    yield from gathers()
    yield from sorts()
    yield from images()
    yield from recurrent()

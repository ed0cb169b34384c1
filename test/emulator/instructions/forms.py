# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The forms of instructions that are compared with hardware (cases.py)."""

import itertools

from cases import Form

INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
HALVES = ("f16", "bf16", "f16x2", "bf16x2")
SINGLES = [0x3F800000, 0x40000000, 0x3FC00000, 0x40490FDB, 0x3EAAAAAB, 0x41200000, 0xBF99999A, 0x42F60000, 0x3DCCCCCD]


def unsigned(kind):
    return "b" + kind[1:]


def simple(opcode, kinds, sources, result=None):
    """One form for each type, `sources` operands of it."""
    for kind in kinds:
        names = ", ".join(f"{{s{at}}}" for at in range(sources))
        yield Form(f"{opcode}.{kind} {{d0}}, {names}", [result or kind], [kind] * sources)


def integer():
    for opcode in ("add", "sub", "mul.lo", "mul.hi", "min", "max"):
        yield from simple(opcode, INTEGERS, 2)
    yield from simple("mad.lo", INTEGERS, 3)
    yield from simple("mad.hi", INTEGERS, 3)
    yield from simple("sad", INTEGERS, 3)
    for opcode in ("abs", "neg"):
        yield from simple(opcode, ("s16", "s32", "s64"), 1)
    for kind, wide in (("u16", "u32"), ("s16", "s32"), ("u32", "u64"), ("s32", "s64")):
        yield Form(f"mul.wide.{kind} {{d0}}, {{s0}}, {{s1}}", [wide], [kind] * 2)
        yield Form(f"mad.wide.{kind} {{d0}}, {{s0}}, {{s1}}, {{s2}}", [wide], [kind, kind, wide])
    yield from simple("add.sat", ("s32",), 2)
    yield from simple("sub.sat", ("s32",), 2)
    yield from simple("mad.hi.sat", ("s32",), 3)
    # Division by zero, and of the least number by -1, is nobody's.
    for kind in INTEGERS:
        bits = int(kind[1:])
        some = [1, 2, 3, 5, 7, 10, 255, 1000, (1 << bits - 1) - 1] + ([(1 << bits) - 3, (1 << bits) - 10] if kind[0] == "s" else
                                                                     [(1 << bits) - 1, 1 << bits - 1])
        for opcode in ("div", "rem"):
            yield Form(f"cvt.u{bits}.u64 {{d0}}, %rd40; {opcode}.{kind} {{d0}}, {{s0}}, {{d0}}" if bits < 64 else
                       f"{opcode}.{kind} {{d0}}, {{s0}}, %rd40", [kind], [kind, "u32"],
                       prepare="and.b32 %r40, {s1}, 15; min.u32 %r40, %r40, 10; " + table(some))
    for kind in ("u32", "s32", "u64", "s64"):
        wide = kind[1:]
        for first, second in (("add.cc", "addc"), ("sub.cc", "subc"), ("mad.lo.cc", "madc.lo"), ("mad.hi.cc", "madc.hi")):
            if first.startswith("mad") and wide == "64":
                continue
            more = ", {s2}" if first.startswith("mad") else ""
            yield Form(f"{first}.{kind} {{d0}}, {{s0}}, {{s1}}{more}; {second}.{kind} {{d1}}, {{s1}}, {{s0}}{more}", [kind] * 2,
                       [kind] * 3)


def table(some):
    """%rd40: the entry that %r40 says."""
    text = f"mov.u64 %rd40, {some[0]};"
    for at, value in enumerate(some[1:], 1):
        text += f"setp.eq.u32 %p40, %r40, {at}; @%p40 mov.u64 %rd40, {value};"
    return text


def bits():
    for opcode in ("and", "or", "xor"):
        yield from simple(opcode, ("b16", "b32", "b64", "pred"), 2)
    yield from simple("not", ("b16", "b32", "b64", "pred"), 1)
    yield from simple("cnot", ("b16", "b32", "b64"), 1)
    amounts = [0, 1, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 0xFFFFFFFF]
    for kind in ("b16", "b32", "b64"):
        yield Form(f"shl.{kind} {{d0}}, {{s0}}, {{s1}}", [kind], [kind, amounts])
    for kind in INTEGERS:
        yield Form(f"shr.{kind} {{d0}}, {{s0}}, {{s1}}", [kind], [kind, amounts])
    for way in ("l", "r"):
        for mode in ("wrap", "clamp"):
            yield Form(f"shf.{way}.{mode}.b32 {{d0}}, {{s0}}, {{s1}}, {{s2}}", ["b32"], ["b32", "b32", amounts])
    for kind in ("u32", "s32", "u64", "s64"):
        yield Form(f"bfe.{kind} {{d0}}, {{s0}}, {{s1}}, {{s2}}", [kind], [kind, amounts, amounts])
        yield Form(f"bfind.{kind} {{d0}}, {{s0}}", ["u32"], [kind])
        yield Form(f"bfind.shiftamt.{kind} {{d0}}, {{s0}}", ["u32"], [kind])
    for kind in ("b32", "b64"):
        yield Form(f"bfi.{kind} {{d0}}, {{s0}}, {{s1}}, {{s2}}, {{s3}}", [kind], [kind, kind, amounts, amounts])
        yield Form(f"popc.{kind} {{d0}}, {{s0}}", ["u32"], [kind])
        yield Form(f"clz.{kind} {{d0}}, {{s0}}", ["u32"], [kind])
        yield Form(f"brev.{kind} {{d0}}, {{s0}}", [kind], [kind])
    for lut in (0x80, 0xFE, 0x96, 0xE8, 0xCA, 0x1B, 0x6A, 0xD8):
        yield Form(f"lop3.b32 {{d0}}, {{s0}}, {{s1}}, {{s2}}, {lut}", ["b32"], ["b32"] * 3)
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        yield Form(f"prmt.b32{mode} {{d0}}, {{s0}}, {{s1}}, {{s2}}", ["b32"], ["b32"] * 3)
    for first in ("u32", "s32"):
        for second in ("u32", "s32"):
            result = "s32" if "s32" in (first, second) else "u32"
            yield Form(f"dp4a.{first}.{second} {{d0}}, {{s0}}, {{s1}}, {{s2}}", [result], ["b32"] * 3)
            for half in ("lo", "hi"):
                yield Form(f"dp2a.{half}.{first}.{second} {{d0}}, {{s0}}, {{s1}}, {{s2}}", [result], ["b32"] * 3)
    for kind in ("b16", "b32", "b64", "u16", "s32", "f32", "f64"):
        yield Form(f"selp.{kind} {{d0}}, {{s0}}, {{s1}}, {{s2}}", [kind], [kind, kind, "pred"])


def compare():
    for kind in INTEGERS:
        names = ("eq", "ne", "lt", "le", "gt", "ge") + (("lo", "ls", "hi", "hs") if kind[0] == "u" else ())
        for name in names:
            yield Form(f"setp.{name}.{kind} {{d0}}, {{s0}}, {{s1}}", ["pred"], [kind] * 2)
    for kind in ("f32", "f64", "f16", "bf16"):
        for name in ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"):
            yield Form(f"setp.{name}.{kind} {{d0}}, {{s0}}, {{s1}}", ["pred"], [kind] * 2)
    for name in ("lt", "eq", "geu"):
        yield Form(f"setp.{name}.ftz.f32 {{d0}}, {{s0}}, {{s1}}", ["pred"], ["f32"] * 2)
    for join in ("and", "or", "xor"):
        yield Form(f"setp.lt.{join}.s32 {{d0}}|{{d1}}, {{s0}}, {{s1}}, {{s2}}", ["pred"] * 2, ["s32", "s32", "pred"])
        yield Form(f"setp.ge.{join}.f32 {{d0}}|{{d1}}, {{s0}}, {{s1}}, !{{s2}}", ["pred"] * 2, ["f32", "f32", "pred"])
    for name in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
        for kind in ("f32", "f64"):
            yield Form(f"testp.{name}.{kind} {{d0}}, {{s0}}", ["pred"], [kind])


def floating():
    for mode in ("rn", "rz", "rm", "rp"):
        for more in ("", ".ftz", ".sat", ".ftz.sat"):
            for opcode, count in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)):
                yield from simple(f"{opcode}.{mode}{more}", ("f32",), count)
        for opcode, count in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3), ("div", 2), ("sqrt", 1)):
            yield from simple(f"{opcode}.{mode}", ("f64",), count)
        for opcode, count in (("div", 2), ("rcp", 1), ("sqrt", 1)):
            yield from simple(f"{opcode}.{mode}", ("f32",), count)
            yield from simple(f"{opcode}.{mode}.ftz", ("f32",), count)
    yield from simple("rcp.rn", ("f64",), 1)
    for opcode in ("add", "sub", "mul"):
        yield from simple(opcode, ("f32", "f64"), 2)
    for more in ("", ".ftz"):
        for opcode in ("min", "max"):
            yield from simple(opcode + more, ("f32",), 2)
            yield from simple(f"{opcode}{more}.NaN", ("f32",), 2)
        yield from simple("abs" + more, ("f32",), 1)
        yield from simple("neg" + more, ("f32",), 1)
    for opcode in ("min", "max"):
        yield from simple(opcode, ("f64",), 2)
    for opcode in ("abs", "neg"):
        yield from simple(opcode, ("f64",), 1)
    yield from simple("copysign", ("f32", "f64"), 2)
    for opcode, bound in (("ex2.approx", "2 ulp"), ("lg2.approx", "lg2"), ("rcp.approx", "1 ulp"), ("rsqrt.approx", "2 ulp"),
                          ("sqrt.approx", "1 ulp"), ("sin.approx", "sin"), ("cos.approx", "sin"), ("tanh.approx", "tanh")):
        for more in ("",) if "tanh" in opcode else ("", ".ftz"):
            some = SINGLES if bound == "sin" else None
            form = Form(f"{opcode}{more}.f32 {{d0}}, {{s0}}", ["f32"], [some or "f32"], approximate=bound)
            yield form
    for opcode in ("div.approx", "div.full"):
        yield Form(f"{opcode}.f32 {{d0}}, {{s0}}, {{s1}}", ["f32"], ["f32", SINGLES], approximate="2 ulp")


def halves():
    for kind in HALVES:
        for opcode, count in (("add.rn", 2), ("sub.rn", 2), ("mul.rn", 2), ("fma.rn", 3), ("fma.rn.relu", 3), ("min", 2), ("max", 2),
                              ("min.NaN", 2), ("max.NaN", 2), ("abs", 1), ("neg", 1)):
            yield from simple(opcode, (kind,), count)
        if "bf" not in kind:
            for opcode, count in (("add", 2), ("add.rn.sat", 2), ("mul.rn.sat", 2), ("fma.rn.sat", 3), ("add.rn.ftz", 2),
                                  ("fma.rn.ftz", 3)):
                yield from simple(opcode, (kind,), count)
        one = kind.removesuffix("x2")
        yield Form(f"tanh.approx.{kind} {{d0}}, {{s0}}", [kind], [kind], approximate=f"{one} 1 ulp")
        more = ".ftz" if "bf" in kind else ""
        yield Form(f"ex2.approx{more}.{kind} {{d0}}, {{s0}}", [kind], [kind], approximate=f"{one} 1 ulp")


def convert():
    small = ("u8", "s8") + INTEGERS
    for to in small:
        for source in small:
            if to == source:
                continue
            yield Form(f"cvt.{to}.{source} {{d0}}, {{s0}}", [to if int(to[1:]) > 8 else "u16"], [source if int(source[1:]) > 8 else "u16"])
            # Not where nothing can be out of range.
            if int(to[1:]) < int(source[1:]) or (to[0] != source[0] and not (to[0] == "s" and int(to[1:]) > int(source[1:]))):
                yield Form(f"cvt.sat.{to}.{source} {{d0}}, {{s0}}", [to if int(to[1:]) > 8 else "u16"],
                           [source if int(source[1:]) > 8 else "u16"])
    for source in ("f16", "bf16", "f32", "f64"):
        for to in small:
            for mode in ("rni", "rzi", "rmi", "rpi") if source == "f32" else ("rzi", "rni"):
                if source == "bf16" and int(to[1:]) < 16:
                    continue
                yield Form(f"cvt.{mode}.{to}.{source} {{d0}}, {{s0}}", [to if int(to[1:]) > 8 else "u16"], [source])
    for to in ("f16", "bf16", "f32", "f64"):
        for source in small:
            for mode in ("rn", "rz", "rm", "rp") if to in ("f32",) else ("rn",):
                if to == "bf16" and int(source[1:]) == 8:
                    continue
                yield Form(f"cvt.{mode}.{to}.{source} {{d0}}, {{s0}}", [to], [source if int(source[1:]) > 8 else "u16"])
    for mode in ("rn", "rz", "rm", "rp"):
        yield Form(f"cvt.{mode}.f32.f64 {{d0}}, {{s0}}", ["f32"], ["f64"])
        yield Form(f"cvt.{mode}.f16.f64 {{d0}}, {{s0}}", ["f16"], ["f64"])
        yield Form(f"cvt.{mode}.f16.f32 {{d0}}, {{s0}}", ["f16"], ["f32"])
    for mode in ("rn", "rz"):
        for to in ("f16", "bf16"):
            for more in ("", ".relu", ".satfinite", ".relu.satfinite"):
                yield Form(f"cvt.{mode}{more}.{to}.f32 {{d0}}, {{s0}}", [to], ["f32"])
                yield Form(f"cvt.{mode}{more}.{to}x2.f32 {{d0}}, {{s0}}, {{s1}}", [f"{to}x2"], ["f32"] * 2)
    for mode in ("rni", "rzi", "rmi", "rpi"):
        for kind in ("f16", "f32", "f64"):
            yield Form(f"cvt.{mode}.{kind}.{kind} {{d0}}, {{s0}}", [kind], [kind])
    yield Form("cvt.rni.ftz.f32.f32 {d0}, {s0}", ["f32"], ["f32"])
    yield Form("cvt.rn.ftz.f32.f64 {d0}, {s0}", ["f32"], ["f64"])
    yield Form("cvt.rn.sat.f32.f64 {d0}, {s0}", ["f32"], ["f64"])
    yield Form("cvt.sat.f32.f32 {d0}, {s0}", ["f32"], ["f32"])
    yield Form("cvt.ftz.f32.f16 {d0}, {s0}", ["f32"], ["f16"])
    for to, source in (("f32", "f16"), ("f32", "bf16"), ("f64", "f16"), ("f64", "f32")):
        yield Form(f"cvt.{to}.{source} {{d0}}, {{s0}}", [to], [source])
    yield Form("cvt.rna.tf32.f32 {d0}, {s0}", ["b32"], ["f32"])
    yield Form("cvt.rn.tf32.f32 {d0}, {s0}", ["b32"], ["f32"])
    yield Form("cvt.rz.tf32.f32 {d0}, {s0}", ["b32"], ["f32"])
    for kind in ("e4m3x2", "e5m2x2"):
        for more in ("", ".relu"):
            yield Form(f"cvt.rn.satfinite{more}.{kind}.f32 {{d0}}, {{s0}}, {{s1}}", ["b16"], ["f32"] * 2)
            yield Form(f"cvt.rn.satfinite{more}.{kind}.f16x2 {{d0}}, {{s0}}", ["b16"], ["f16x2"])
            yield Form(f"cvt.rn{more}.f16x2.{kind} {{d0}}, {{s0}}", ["f16x2"], ["u16"])


def warp():
    for mode in ("idx", "up", "down", "bfly"):
        for clamp in (0, 31) if mode != "up" else (0,):
            for mask in (0, 0x1800, 0x1C00):
                yield Form(f"shfl.sync.{mode}.b32 {{d0}}|{{d1}}, {{s0}}, {{s1}}, {clamp | mask}, -1", ["b32", "pred"],
                           ["b32", list(range(40))])
    for name in ("all", "any", "uni"):
        yield Form(f"vote.sync.{name}.pred {{d0}}, {{s0}}, -1", ["pred"], ["pred"])
        yield Form(f"setp.eq.u32 %p40, {{s0}}, 9; vote.sync.{name}.pred {{d0}}, !%p40, -1", ["pred"], [[1]])
    yield Form("vote.sync.ballot.b32 {d0}, {s0}, -1", ["b32"], ["pred"])
    for kind in ("b32", "b64"):
        yield Form(f"match.any.sync.{kind} {{d0}}, {{s0}}, -1", ["b32"], [kind])
        yield Form(f"match.all.sync.{kind} {{d0}}|{{d1}}, {{s0}}, -1", ["b32", "pred"], [kind])
    yield Form("match.all.sync.b32 {d0}|{d1}, {s0}, -1", ["b32", "pred"], [[7]])
    for name in ("add", "min", "max"):
        for kind in ("u32", "s32"):
            yield Form(f"redux.sync.{name}.{kind} {{d0}}, {{s0}}, -1", [kind], [kind])
    for name in ("and", "or", "xor"):
        yield Form(f"redux.sync.{name}.b32 {{d0}}, {{s0}}, -1", ["b32"], ["b32"])
    yield Form("activemask.b32 {d0}", ["b32"], ["u32"])
    yield Form("elect.sync {d0}|{d1}, -1", ["b32", "pred"], ["u32"])
    shared = "mov.u32 %r41, tile; shl.b32 %r42, %r1, 4; add.u32 %r41, %r41, %r42;"
    stage = shared + "st.shared.v4.b32 [%r41], {{{s0}, {s1}, {s2}, {s3}}}; bar.warp.sync -1;"
    for count in (1, 2, 4):
        for turn in ("", ".trans"):
            names = ", ".join(f"{{d{at}}}" for at in range(count))
            yield Form(f"ldmatrix.sync.aligned.m8n8.x{count}{turn}.shared.b16 {{{{{names}}}}}, [%r41]", ["b32"] * count, ["b32"] * 4,
                       prepare=stage)
            names = ", ".join(f"{{s{at}}}" for at in range(count))
            yield Form(f"stmatrix.sync.aligned.m8n8.x{count}{turn}.shared.b16 [%r41], {{{{{names}}}}}", ["b32"] * 4, ["b32"] * 4,
                       prepare=shared + "mov.b32 %r43, 0; st.shared.v4.b32 [%r41], {{%r43, %r43, %r43, %r43}}; bar.warp.sync -1;",
                       finish="bar.warp.sync -1; ld.shared.v4.b32 {{{d0}, {d1}, {d2}, {d3}}}, [%r41];")


def memory():
    here = "mov.u32 %r41, tile; shl.b32 %r42, %r1, 3; add.u32 %r41, %r41, %r42;"
    for name in ("add", "min", "max", "and", "or", "xor", "exch", "inc", "dec"):
        for kind in {"and": ("b32", "b64"), "or": ("b32", "b64"), "xor": ("b32", "b64"), "exch": ("b32", "b64"), "inc": ("u32",),
                     "dec": ("u32",), "add": ("u32", "s32", "u64", "f32", "f64")}.get(name, ("u32", "s32", "u64", "s64")):
            bits = kind[1:]
            yield Form(f"atom.shared.{name}.{kind} {{d0}}, [%r41], {{s1}}", [kind, kind], [kind] * 2,
                       prepare=here + f"st.shared.b{bits} [%r41], {{s0}};", finish=f"ld.shared.b{bits} {{d1}}, [%r41];")
            # The result's own place in global memory.
            yield Form(f"atom.global.{name}.{kind} {{d0}}, [%rd2], {{s1}}", [kind, kind], [kind] * 2,
                       prepare=f"st.global.b{bits} [%rd2], {{s0}};", finish=f"ld.global.b{bits} {{d1}}, [%rd2];")
    for kind in ("b32", "b64"):
        yield Form(f"atom.shared.cas.{kind} {{d0}}, [%r41], {{s1}}, {{s0}}", [kind, kind], [[1, 2], [1, 2]] if kind == "b32" else [kind] * 2,
                   prepare=here + f"st.shared.{kind} [%r41], {{s0}};", finish=f"ld.shared.{kind} {{d1}}, [%r41];")
    for kind in HALVES:
        yield Form(f"atom.global.add.noftz.{kind} {{d0}}, [%rd2], {{s1}}", [kind, kind], [kind] * 2,
                   prepare=f"st.global.b{16 if len(kind) < 5 else 32} [%rd2], {{s0}};",
                   finish=f"ld.global.b{16 if len(kind) < 5 else 32} {{d1}}, [%rd2];")
    for kind, to in (("u8", "b32"), ("s8", "b32"), ("u16", "b32"), ("s16", "b32"), ("u32", "b64"), ("s32", "b64"), ("b32", "b32")):
        yield Form(f"ld.shared.{kind} {{d0}}, [%r41]", [to], ["b64"], prepare=here + "st.shared.b64 [%r41], {s0};")


def matrix():
    """mma.sync: A, B and C are random bits of their types; wgmma with N of 8 and 16, A in registers, B in shared memory."""
    shapes = [("m16n8k8", "f16", 2, 1), ("m16n8k16", "f16", 4, 2), ("m16n8k8", "bf16", 2, 1), ("m16n8k16", "bf16", 4, 2),
              ("m16n8k4", "tf32", 2, 1), ("m16n8k8", "tf32", 4, 2)]
    for shape, kind, first, second in shapes:
        source = {"f16": "f16x2", "bf16": "bf16x2", "tf32": "f32"}[kind]
        for result in ("f32", "f16") if kind == "f16" else ("f32",):
            count = 4 if result == "f32" else 2
            c = "f32" if result == "f32" else "f16x2"
            yield mma(shape, f"{result}.{kind}.{kind}.{result}", count, [source] * first, [source] * second, [c] * count, c)
    for a in ("u8", "s8"):
        for b in ("u8", "s8"):
            for more in ("", ".satfinite"):
                for shape, first, second in (("m16n8k16", 2, 1), ("m16n8k32", 4, 2)):
                    yield mma(shape, f"s32.{a}.{b}.s32", 4, ["b32"] * first, ["b32"] * second, ["s32"] * 4, "s32", more)
    for a in ("e4m3", "e5m2"):
        for b in ("e4m3", "e5m2"):
            yield mma("m16n8k32", f"f32.{a}.{b}.f32", 4, ["b32"] * 4, ["b32"] * 2, ["f32"] * 4, "f32")


def mma(shape, types, count, a, b, c, result, more=""):
    def names(prefix, start, many):
        return "{{" + ", ".join(f"{{{prefix}{start + at}}}" for at in range(many)) + "}}"
    text = (f"mma.sync.aligned.{shape}.row.col{more}.{types} {names('d', 0, count)}, {names('s', 0, len(a))}, "
            f"{names('s', len(a), len(b))}, {names('s', len(a) + len(b), len(c))}")
    return Form(text, [result] * count, a + b + c)


def wgmma():
    """Tiles without a swizzle, of any bits: A in 2048 bytes, B behind it."""
    stage = ("mov.u32 %r41, tile; shl.b32 %r42, %r1, 4; add.u32 %r42, %r41, %r42; shl.b32 %r43, %r1, 2; add.u32 %r43, %r41, %r43;"
             "st.shared.v4.b32 [%r42], {{{s0}, {s1}, {s2}, {s3}}}; st.shared.b32 [%r43+2048], {s4};"
             "fence.proxy.async; bar.sync 0; shr.u32 %r41, %r41, 4; cvt.u64.u32 %rd41, %r41; or.b64 %rd41, %rd41, 0x1000080000;"
             "add.u64 %rd42, %rd41, 128; setp.ne.u32 %p41, {s9}, 0; setp.ne.u32 %p42, 0, 0; ")
    kinds = [("f32.f16.f16", 16, "f16x2"), ("f16.f16.f16", 16, "f16x2"), ("f32.bf16.bf16", 16, "bf16x2"), ("f32.tf32.tf32", 8, "f32")]
    kinds += [(f"{d}.{a}.{b}", 32, "b32") for d in ("f32", "f16") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
    kinds += [(f"s32.{a}.{b}", 32, "b32") for a in ("s8", "u8") for b in ("s8", "u8")]
    for types, k, source in kinds:
        half, whole = types.startswith("f16"), types.startswith("s32")
        turns = k == 16
        count = 2 if half else 4
        accumulator = "f16x2" if half else "s32" if whole else "f32"
        d = "{{" + ", ".join(f"{{d{at}}}" for at in range(count)) + "}}"
        start = "".join(f"mov.b32 {{d{at}}}, {{s{5 + at}}};" for at in range(count))
        options = [("%rd41", ", ".join(["1", "1"] + ["0", "0"] * turns), True)]
        options += [("{{{s0}, {s1}, {s2}, {s3}}}", ", ".join(["1", "1"] + ["0"] * turns), True)]
        if not whole:
            options += [("%rd41", ", ".join(["-1", "1"] + ["0", "0"] * turns), True), ("%rd41", ", ".join(["1", "-1"] + ["0", "0"] * turns), False)]
        if turns:
            options += [("%rd41", "1, 1, 1, 0", True), ("%rd41", "1, 1, 0, 1", True), ("{{{s0}, {s1}, {s2}, {s3}}}", "1, 1, 1", False)]
        for a, numbers, adds in options:
            more = ".satfinite" if whole and a == "%rd41" else ""
            yield Form(f"wgmma.mma_async.sync.aligned.m64n8k{k}{more}.{types} {d}, {a}, %rd42, {'%p41' if adds else '%p42'}" +
                       ("" if whole else ", " + numbers), [accumulator] * count, [source] * 5 + [accumulator] * 4 + [[1]],
                       prepare=stage + start + "wgmma.fence.sync.aligned;",
                       finish="wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;", warps=4)


def more_matrices():
    """mma.sync of f64, of 4-bit integers and of bits, and the shapes of eight rows."""
    yield mma("m8n8k4", "f64.f64.f64.f64", 2, ["f64"], ["f64"], ["f64"] * 2, "f64")
    for k, first, second in ((4, 2, 1), (8, 4, 2), (16, 8, 4)):
        yield mma(f"m16n8k{k}", "f64.f64.f64.f64", 4, ["f64"] * first, ["f64"] * second, ["f64"] * 4, "f64")
    for a, b, more in itertools.product("us", "us", ("", ".satfinite")):
        yield mma("m8n8k16", f"s32.{a}8.{b}8.s32", 2, ["b32"], ["b32"], ["s32"] * 2, "s32", more)
        yield mma("m8n8k32", f"s32.{a}4.{b}4.s32", 2, ["b32"], ["b32"], ["s32"] * 2, "s32", more)
        yield mma("m16n8k32", f"s32.{a}4.{b}4.s32", 4, ["b32"] * 2, ["b32"], ["s32"] * 4, "s32", more)
        yield mma("m16n8k64", f"s32.{a}4.{b}4.s32", 4, ["b32"] * 4, ["b32"] * 2, ["s32"] * 4, "s32", more)
    for shape, first, second in (("m8n8k128", 1, 1), ("m16n8k128", 2, 1), ("m16n8k256", 4, 2)):
        for op in ("xor", "and"):
            many = 2 if first == 1 else 4
            yield mma(shape, f"s32.b1.b1.s32.{op}.popc", many, ["b32"] * first, ["b32"] * second, ["s32"] * many, "s32")


def pairs():
    """Integers of 16 bits in pairs, and extremes that are not below zero."""
    for opcode in ("min.relu", "max.relu"):
        yield from simple(opcode, ("s32", "s16x2"), 2)
    for opcode in ("add", "min", "max"):
        yield from simple(opcode, ("u16x2", "s16x2"), 2)


# Forms that the emulator refuses when it loads them.
REFUSED = [r"^mad\.hi\.sat\.s32", r"^mad\.hi\.cc\.s32"]


# Forms that no hardware has run yet: the emulator runs them, and nothing is compared.
UNMEASURED = []


# Forms whose last bits are not the hardware's.
DIFFERENT = []


def all_forms():
    out = []
    for group in (integer, bits, compare, floating, halves, convert, warp, memory, matrix, wgmma, more_matrices, pairs):
        out += group()
    return out

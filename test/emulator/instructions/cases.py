# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions and their operands, for a comparison of the emulator with hardware.

A form is one spelling of an instruction; it makes one kernel of one warp a block. A block is a case: 32 lanes of operands,
half of them edge values of the operand's type. Operands and results lie in memory as 64 bits each. All is seeded: the same
text and the same bytes on each machine.
"""

import dataclasses
import zlib

import numpy

SETS = 16  # cases of a form
LANES = 32


@dataclasses.dataclass
class Form:
    text: str       # with {d0}, {s0}, … for the registers
    results: list   # types
    sources: list   # types, or a list of values that a source may have
    approximate: str = ""  # how far apart results may be
    prepare: str = ""      # before it; may use %rd<40> to %rd<60>, %r<40> to %r<60>, %rs<40>…, shared memory "tile"
    finish: str = ""       # behind it
    warps: int = 1

    @property
    def lanes(self):
        return LANES * self.warps


REGISTERS = {"pred": "%p", "b16": "%rs", "b32": "%r", "b64": "%rd"}
# What a type is held in, and its edge values.
HOLDERS = {"pred": "pred", "u8": "b16", "s8": "b16", "u16": "b16", "s16": "b16", "b16": "b16", "f16": "b16", "bf16": "b16",
           "u32": "b32", "s32": "b32", "b32": "b32", "f32": "b32", "f16x2": "b32", "bf16x2": "b32", "u16x2": "b32",
           "s16x2": "b32", "tf32": "b32",
           "u64": "b64", "s64": "b64", "b64": "b64", "f64": "b64", "e4m3x2": "b16", "e5m2x2": "b16"}
EDGES = {
    "f16": [0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x8400, 0x3C00, 0xBC00, 0x3C01, 0x3BFF, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x7D01,
            0xFFFF, 0x3800, 0x5640, 0x2E66],
    "bf16": [0, 0x8000, 1, 0x8001, 0x7F, 0x80, 0x8080, 0x3F80, 0xBF80, 0x3F81, 0x3F7F, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0x7FA1,
             0xFFFF, 0x3F00, 0x42C8, 0x3DCD],
    "f32": [0, 0x80000000, 1, 0x80000001, 0x7FFFFF, 0x800000, 0x80800000, 0x3F800000, 0xBF800000, 0x3F800001, 0x3F7FFFFF, 0x7F7FFFFF,
            0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7FA12345, 0xFFFFFFFF, 0x3F000000, 0x40490FDB, 0x3E800001, 0x477FE000,
            0x477FF000, 0x33000000, 0x33000001, 0x38800000, 0x387FC000, 0x4F000000, 0x4EFFFFFF, 0xCF000000, 0x4F800000, 0x5F000000,
            0x42B17218, 0xC2CFF1B5, 0x3FC00000, 0x40200000, 0x43E00000, 0x43E80000, 0x3B000000, 0x3A800000, 0x47600000, 0x47700000],
    "f64": [0, 1 << 63, 1, (1 << 52) - 1, 1 << 52, 0x3FF0000000000000, 0xBFF0000000000000, 0x3FF0000000000001, 0x7FEFFFFFFFFFFFFF,
            0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0x7FF4000000000001, 0x400921FB54442D18, 0x36A0000000000000,
            0x3690000000000000, 0x380FFFFFFFFFFFFF, 0x47EFFFFFE0000000, 0x47EFFFFFF0000000, 0x41DFFFFFFFC00000, 0x43E0000000000000,
            0xC1E0000000000000, 0x3FE0000000000000, 0x3FF8000000000000],
}


def integers(bits):
    top = 1 << bits
    return [0, 1, 2, 3, 7, 8, bits - 1, bits, bits + 1, top - 1, top - 2, top >> 1, (top >> 1) - 1, (top >> 1) + 1, top // 3,
            top // 5, 0xFF & (top - 1), 0x80, 0x7F, top - 0x80 & (top - 1)]


def values(kind, random, count):
    """`count` operands of a type, as 64-bit numbers."""
    if isinstance(kind, list):
        return random.choice(numpy.array(kind, dtype=numpy.uint64), count)
    holder = HOLDERS[kind]
    bits = 8 if kind in ("u8", "s8") else {"pred": 1, "b16": 16, "b32": 32, "b64": 64}[holder]
    plain = random.integers(0, 1 << bits, count, dtype=numpy.uint64, endpoint=False) if bits < 64 else \
        random.integers(0, 1 << 63, count, dtype=numpy.uint64) * numpy.uint64(2) + random.integers(0, 2, count, dtype=numpy.uint64)
    pair = kind in ("f16x2", "bf16x2", "u16x2", "s16x2")
    if pair:
        low, high = (values(kind[:-2], random, count) for _ in range(2))
        return high << numpy.uint64(16) | low
    if kind in EDGES:
        edges = EDGES[kind]
        # Numbers near one, whose sums and products round.
        near = numpy.float64(2.0) ** random.integers(-6, 7, count) * random.uniform(-2, 2, count)
        if kind == "f32":
            near = near.astype(numpy.float32).view(numpy.uint32).astype(numpy.uint64)
        elif kind == "f64":
            near = near.view(numpy.uint64)
        elif kind == "f16":
            near = near.astype(numpy.float16).view(numpy.uint16).astype(numpy.uint64)
        else:
            near = near.astype(numpy.float32).view(numpy.uint32).astype(numpy.uint64) >> numpy.uint64(16)
        plain = numpy.where(random.integers(0, 3, count) == 0, plain, near)
    else:
        edges = [0, 1] if bits == 1 else integers(bits)
    edged = random.choice(numpy.array(edges, dtype=numpy.uint64), count)
    return numpy.where(random.integers(0, 2, count) == 1, edged, plain)


def operands(form):
    """[set, source, lane]"""
    random = numpy.random.Generator(numpy.random.PCG64(zlib.crc32(form.text.encode())))
    out = numpy.zeros((SETS, max(1, len(form.sources)), form.lanes), dtype=numpy.uint64)
    for one in range(SETS):
        for at, kind in enumerate(form.sources):
            out[one, at] = values(kind, random, form.lanes)
    return out


def results_shape(form):
    return SETS, len(form.results), form.lanes


def kernel(form, name):
    """PTX of one form: in[set][source][lane], out[set][result][lane]."""
    kinds = [HOLDERS.get(kind, "b32") if not isinstance(kind, list) else "b32" for kind in form.sources]
    names = {f"s{at}": f"{REGISTERS[kind]}{10 + at}" for at, kind in enumerate(kinds)}
    results = [HOLDERS[kind] for kind in form.results]
    names |= {f"d{at}": f"{REGISTERS[kind]}{24 + at}" for at, kind in enumerate(results)}
    lines = [f".visible .entry {name}(.param .u64 in, .param .u64 out) {{",
             ".reg .pred %p<64>; .reg .b16 %rs<64>; .reg .b32 %r<64>; .reg .b64 %rd<64>; .shared .align 128 .b8 tile[4096];",
             "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2;",
             "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd3, %r1, 8;",
             f"mul.wide.u32 %rd4, %r2, {max(1, len(kinds)) * form.lanes * 8}; add.u64 %rd1, %rd1, %rd4; add.u64 %rd1, %rd1, %rd3;",
             f"mul.wide.u32 %rd5, %r2, {len(results) * form.lanes * 8}; add.u64 %rd2, %rd2, %rd5; add.u64 %rd2, %rd2, %rd3;"]
    for at, kind in enumerate(kinds):
        lines.append(f"ld.global.u64 %rd6, [%rd1+{at * form.lanes * 8}];")
        register = names[f"s{at}"]
        lines.append({"pred": f"setp.ne.u64 {register}, %rd6, 0;", "b16": f"cvt.u16.u64 {register}, %rd6;",
                      "b32": f"cvt.u32.u64 {register}, %rd6;", "b64": f"mov.b64 {register}, %rd6;"}[kind])
    for text in (form.prepare, form.text, form.finish):
        if text:
            lines.append(text.format(**names) + ("" if text.endswith(";") else ";"))
    for at, kind in enumerate(results):
        register = names[f"d{at}"]
        lines.append({"pred": f"selp.u64 %rd6, 1, 0, {register};", "b16": f"cvt.u64.u16 %rd6, {register};",
                      "b32": f"cvt.u64.u32 %rd6, {register};", "b64": f"mov.b64 %rd6, {register};"}[kind])
        lines.append(f"st.global.u64 [%rd2+{at * form.lanes * 8}], %rd6;")
    return "\n".join(lines + ["ret; }"])


HEADER = ".version 8.6\n.target sm_90a\n.address_size 64\n"


def module(forms):
    """(names, text)"""
    names = [f"k{at}" for at in range(len(forms))]
    return names, HEADER + "\n".join(kernel(form, name) for form, name in zip(forms, names)) + "\n"

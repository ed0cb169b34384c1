#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mma.sync of sm_120a, with and without block scales, on the emulator.   kinds.py DRIVER

The fragments are those of the ISA's formulas, element by element of a register; the matrices are small numbers, so that every sum
is exact. Scales that nobody should look at are NaN.
"""

import ctypes
import itertools
import os
import pathlib
import sys

os.environ.setdefault("KPC_EMULATE_TARGET", "sm_120a")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "instructions"))

import numpy  # noqa: E402

import reference  # noqa: E402
from run_forms import Driver  # noqa: E402
from tensor import some  # noqa: E402

SMALL = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")
SCALES = {"ue8m0": {126: .5, 127: 1., 128: 2.}, "ue4m3": {0x30: .5, 0x38: 1., 0x3C: 1.5, 0x40: 2.}}
NAN = {"ue8m0": 0xFF, "ue4m3": 0x7F}
INPUTS = 12  # words of a lane: A, B, C, a register of scales for each of A and B


class Form:
    def __init__(self, kind, a, b, d="f32", scales=None, count=0, qualifier="", bytes_=(0, 0), threads=(0, 0)):
        self.__dict__.update(locals())
        self.k = 64 if kind in ("mxf4", "mxf4nvf4") else 32

    def name(self):
        return " ".join(str(v) for k, v in self.__dict__.items() if k != "self")

    def text(self):
        def names(first, many):
            return "{" + ", ".join(f"%r{first + at}" for at in range(many)) + "}"
        many = 2 if self.d == "f16" else 4
        scales, operands = "", ""
        if self.scales:
            scales = f".{self.scales}"
            operands = "".join(f", {{%r{30 + at}}}, {{{self.bytes_[at]}, {self.threads[at]}}}" for at in range(2))
        block = ".block_scale" + self.qualifier if self.scales else ""
        return (f"mma.sync.aligned.m16n8k{self.k}.row.col.kind::{self.kind}{block}.{self.d}.{self.a}.{self.b}.{self.d}{scales} "
                f"{names(0, many)}, {names(20, 4)}, {names(24, 2)}, {names(26, many)}{operands};")


def kernel(instruction):
    loads = "".join(f"ld.global.b32 %r{20 + at}, [%rd0+{at * 4}];" for at in range(10))
    loads += "".join(f"ld.global.b32 %r{30 + at}, [%rd0+{40 + at * 4}];" for at in range(2))
    stores = "".join(f"st.global.b32 [%rd1+{at * 4}], %r{at};" for at in range(4))
    return f"""
.version 9.0
.target sm_120a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {{
.reg .pred %p<2>; .reg .b32 %r<64>; .reg .b64 %rd<8>;
ld.param.u64 %rd0, [in]; ld.param.u64 %rd1, [out]; mov.u32 %r40, %tid.x;
mul.wide.u32 %rd2, %r40, {INPUTS * 4}; add.u64 %rd0, %rd0, %rd2; mul.wide.u32 %rd2, %r40, 16; add.u64 %rd1, %rd1, %rd2;
mov.b32 %r0, 0; mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0;
{loads}
{instruction}
{stores}
ret; }}
"""


def element_of_a(lane, i, packed):
    """Row and k of element i that a lane has of A."""
    group, quad = lane // 4, lane % 4
    if packed:
        return group + (0 if i < 8 or 16 <= i < 24 else 8), quad * 8 + i % 8 + (0 if i < 16 else 32)
    return group + (0 if i < 4 or 8 <= i < 12 else 8), quad * 4 + i % 4 + (0 if i < 8 else 16)


def element_of_b(lane, i, packed):
    """k and column."""
    group, quad = lane // 4, lane % 4
    if packed:
        return quad * 8 + i % 8 + (0 if i < 8 else 32), group
    return quad * 4 + i % 4 + (0 if i < 4 else 16), group


def element_of_d(lane, i):
    return lane // 4 + (0 if i < 2 else 8), lane % 4 * 2 + i % 2


def bits_of(value, kind, packed):
    bits = reference.encode(value, kind)
    return bits << 2 if kind == "e2m1" and not packed else bits


def fragment(matrix, kind, lane, places, packed):
    width = 4 if packed else 8
    words = [0] * (len(places) * width // 32)
    for i, place in enumerate(places):
        words[i * width // 32] |= bits_of(matrix[place], kind, packed) << i * width % 32
    return words


def build(form, random):
    packed = form.k == 64
    a, b = some(random, form.a, (16, form.k)), some(random, form.b, (form.k, 8))
    if form.d == "f16":  # sums that f16 has exactly
        a, b = numpy.clip(a, -1, 1), numpy.clip(b, -1, 1)
    c = random.integers(-8, 9, size=(16, 8)).astype(float)
    inputs = numpy.zeros((32, INPUTS), dtype=numpy.uint32)
    left, right = a.astype(float), b.astype(float)
    if form.scales:
        inputs[:, 10:] = NAN[form.scales] * 0x01010101
        known, each = SCALES[form.scales], form.k // form.count
        for which, lines in ((0, 16), (1, 8)):
            codes = random.choice(sorted(known), size=(lines, form.count))
            factors = numpy.repeat(numpy.vectorize(known.get)(codes), each, axis=1)
            if which == 0:
                left = left * factors
            else:
                right = right * factors.T
            for line, at in itertools.product(range(lines), range(form.count)):
                # Of four threads that share a row, the pair that is named: its first has the row, its second the one 8 below.
                lane = (line % 8) * 4 + form.threads[0] * 2 + line // 8 if which == 0 else line * 4 + form.threads[1]
                byte = form.bytes_[which] + at
                word = int(inputs[lane, 10 + which]) & ~(0xFF << 8 * byte)
                inputs[lane, 10 + which] = word | int(codes[line, at]) << 8 * byte
    after = left @ right + c
    outputs = numpy.zeros((32, 4), dtype=numpy.uint32)
    kind = form.d
    for lane in range(32):
        inputs[lane, 0:4] = fragment(a, form.a, lane, [element_of_a(lane, i, packed) for i in range(form.k // 2)], packed)
        inputs[lane, 4:6] = fragment(b, form.b, lane, [element_of_b(lane, i, packed) for i in range(form.k // 4)], packed)
        for i in range(4):
            place = element_of_d(lane, i)
            for words, first, value in ((inputs, 6, c[place]), (outputs, 0, after[place])):
                if kind == "f16":
                    words[lane, first + i // 2] |= numpy.uint32(reference.encode(value, kind) << i % 2 * 16)
                else:
                    words[lane, first + i] = reference.encode(value, kind)
    return inputs, outputs


def run(driver, text, inputs):
    module, function = driver.load(text.encode()), ctypes.c_void_p()
    driver.call("cuModuleGetFunction", ctypes.byref(function), module, b"k")
    out = numpy.zeros((32, 4), dtype=numpy.uint32)
    near, far = driver.allocate(inputs.nbytes), driver.allocate(out.nbytes)
    driver.call("cuMemcpyHtoD_v2", near, inputs.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(inputs.nbytes))
    parameters = (ctypes.c_void_p * 2)(ctypes.addressof(near), ctypes.addressof(far))
    driver.call("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, None, parameters, None)
    driver.call("cuMemcpyDtoH_v2", out.ctypes.data_as(ctypes.c_void_p), far, ctypes.c_size_t(out.nbytes))
    for pointer in (near, far):
        driver.call("cuMemFree_v2", pointer)
    return out


def forms():
    for a, b in itertools.product(SMALL, SMALL):
        for d in ("f32", "f16"):
            yield Form("f8f6f4", a, b, d)
        yield Form("mxf8f6f4", a, b, scales="ue8m0", count=1)
    for byte, thread, other in itertools.product(range(4), range(2), range(4)):
        yield Form("mxf8f6f4", "e4m3", "e5m2", scales="ue8m0", count=1, qualifier=".scale_vec::1X", bytes_=(byte, 3 - byte),
                   threads=(thread, other))
    for byte, thread, other in itertools.product((0, 2), range(2), range(4)):
        yield Form("mxf4", "e2m1", "e2m1", scales="ue8m0", count=2, qualifier=".scale_vec::2X", bytes_=(byte, 2 - byte),
                   threads=(thread, other))
        yield Form("mxf4nvf4", "e2m1", "e2m1", scales="ue8m0", count=2, qualifier=".scale_vec::2X", bytes_=(byte, byte),
                   threads=(thread, other))
    for scales, thread, other in itertools.product(("ue4m3", "ue8m0"), range(2), range(4)):
        yield Form("mxf4nvf4", "e2m1", "e2m1", scales=scales, count=4, qualifier=".scale_vec::4X", threads=(thread, other))


def is_refused(driver, text, words):
    try:
        run(driver, text, numpy.zeros((32, INPUTS), dtype=numpy.uint32))
    except RuntimeError as error:
        return words in str(error)
    return False


def main():
    driver, random, failed, count = Driver(sys.argv[1]), numpy.random.default_rng(11), 0, 0
    for form in forms():
        for _ in range(8):
            inputs, expected = build(form, random)
            found = run(driver, kernel(form.text()), inputs)
            count += 1
            if not numpy.array_equal(found, expected):
                lane, at = numpy.argwhere(found != expected)[0]
                print(f"{form.name()}: lane {lane}, register {at}: {found[lane, at]:#x} for {expected[lane, at]:#x}")
                failed += 1
                break
    # A scale that is NaN makes its row NaN.
    form = Form("mxf8f6f4", "e4m3", "e4m3", scales="ue8m0", count=1)
    inputs, _ = build(form, random)
    inputs[4, 10] = 0xFF  # row 1
    found = run(driver, kernel(form.text()), inputs)
    failed += not all((found[lane, at] == 0x7FFFFFFF) == (lane // 4 == 1 and at < 2) for lane in range(32) for at in range(4))
    # What is refused when the text is loaded.
    scaled = Form("mxf4", "e2m1", "e2m1", scales="ue8m0", count=2, qualifier=".scale_vec::2X").text()
    for wrong, words in ((scaled.replace("{0, 0}", "{0}"), "byte id"), (scaled.replace(".block_scale", ""), "mma"),
                         (scaled.replace("2X", "4X"), "mma"), (scaled.replace("e2m1.e2m1", "e4m3.e4m3"), "mma"),
                         (scaled.replace("mma.sync", "mma.sp.sync"), "sparse")):
        failed += not is_refused(driver, kernel(wrong), words)
    print(f"{count} cases, {failed} wrong")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())

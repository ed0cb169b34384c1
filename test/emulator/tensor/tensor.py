#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tcgen05 on the emulator against reference.py.   tensor.py DRIVER

Operands are small numbers, so that every sum is exact, and every cell of tensor memory is compared, also those that must stay as
they are.
"""

import ctypes
import itertools
import os
import pathlib
import sys

os.environ.setdefault("KPC_EMULATE_TARGET", "sm_100a")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "instructions"))

import numpy  # noqa: E402

import kernels  # noqa: E402
import reference  # noqa: E402
from run_forms import Driver  # noqa: E402

VALUES = {"u8": [0, 1, 2, 3], "s8": [-3, -2, -1, 0, 1, 2], "e2m1": [-3, -1, -.5, 0, .5, 1, 2, 6],
          "e2m3": [-1.25, -1, 0, .125, 1, 2], "e3m2": [-3, -1, 0, .25, 1, 2]}
D_CODES = {"f16": 0, "f32": 1, "s32": 2}
TYPE_CODES = {"f16": {"f16": 0, "bf16": 1}, "tf32": {"tf32": 2}, "i8": {"u8": 0, "s8": 1},
              "f8f6f4": {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5}}
TYPE_CODES["mxf8f6f4"] = TYPE_CODES["f8f6f4"]
TYPE_CODES["mxf4"] = TYPE_CODES["mxf4nvf4"] = {"e2m1": 1}


def some(random, kind, shape):
    return random.choice(VALUES.get(kind, [-2, -1.5, -1, 0, .5, 1, 2, 3]), size=shape)


class Machine:
    def __init__(self, path):
        self.driver = Driver(path)

    def run(self, text, images, columns):
        """images: of each block, bytes of shared memory and words [128][columns]. Tensor memory afterwards."""
        module = self.driver.load(text.encode())
        function = ctypes.c_void_p()
        self.driver.call("cuModuleGetFunction", ctypes.byref(function), module, b"k")
        data = b"".join(bytes(shared) + words.tobytes() for shared, words in images)
        out = numpy.zeros((len(images), 128, columns), dtype=numpy.uint32)
        near, far = self.driver.allocate(len(data)), self.driver.allocate(out.nbytes)
        self.driver.call("cuMemcpyHtoD_v2", near, data, ctypes.c_size_t(len(data)))
        parameters = (ctypes.c_void_p * 2)(ctypes.addressof(near), ctypes.addressof(far))
        self.driver.call("cuLaunchKernel", function, len(images), 1, 1, 128, 1, 1, 0, None, parameters, None)
        self.driver.call("cuMemcpyDtoH_v2", out.ctypes.data_as(ctypes.c_void_p), far, ctypes.c_size_t(out.nbytes))
        for pointer in (near, far):
            self.driver.call("cuMemFree_v2", pointer)
        return out


def d_word(value, kind):
    return int(value) & 0xFFFFFFFF if kind == "s32" else reference.encode(value, "f16" if kind == "f16" else "f32")


class Product:
    """One shape of mma, and what comes of it."""

    def __init__(self, kind, a, b, d, rows, columns, group=1, swizzles=(128, 128), majors=(True, True), in_tensor=False, half=0,
                 adds=True, steps=1, negate=False, shift=0, mask=False, scales=None, qualifier="", ids=(0, 0), ws=False):
        self.__dict__.update(locals())

    def place(self, m, n):
        if self.ws:
            return reference.place_with_ws(m, n, self.rows, self.columns)
        return reference.place_of_d(m, n, self.group, self.rows, self.columns, self.half)

    def name(self):
        return " ".join(str(v) for k, v in self.__dict__.items() if k != "self")

    def build(self, random):
        packed = self.kind in ("mxf4", "mxf4nvf4")
        depth = 2 * reference.per_unit(self.a, packed)
        group, rows, columns = self.group, self.rows, self.columns
        a, b = some(random, self.a, (rows, depth)), some(random, self.b, (columns, depth))
        before = random.integers(-8, 8, size=(rows, columns)).astype(float)
        left, right = a.copy(), b.copy()
        width = columns // 2 if group == 2 and rows == 128 else columns
        a_column = (width + 31) // 32 * 32
        scale_column = a_column + 32
        total = scale_column + 32
        images = []
        for block in range(group):
            images.append([numpy.zeros(65536, dtype=numpy.uint8),
                           random.integers(0, 1 << 30, size=(128, total)).astype(numpy.uint32)])
        descriptors = []
        for block in range(group):
            shared, start = images[block][0], 0
            one = []
            for matrix, kind, swizzle, major in ((a, self.a, self.swizzles[0], self.majors[0]),
                                                 (b, self.b, self.swizzles[1], self.majors[1])):
                lines = matrix.shape[0] // group
                found, end = reference.lay_out(shared, start, matrix[block * lines:(block + 1) * lines], kind, packed, swizzle, major)
                one.append(found)
                start = (end + 1023) // 1024 * 1024
            descriptors.append(one)
        assert all(one == descriptors[0] for one in descriptors)
        used = max(1024, start)
        for m, n in itertools.product(range(rows), range(columns)):
            block, lane, column = self.place(m, n)
            images[block][1][lane, column] = d_word(before[m, n], self.d)
        if self.in_tensor:
            for m in range(rows):
                for block, lane in reference.lanes_of_a(m, group, rows, self.half):
                    reference.put_row(images[block][1], lane, a_column, a[m], self.a, packed)
        if self.scales:
            left, right = self.put_scales(random, images, left, right, scale_column)
        expected = [words.copy() for _, words in images]
        product = left @ right.T * (-1 if self.negate else 1)
        after = product + before * 2.0 ** -self.shift if self.adds else product
        if self.steps == 2:
            after = after + product
        masked = random.integers(0, 2, size=(group, 128)) if self.mask else numpy.zeros((group, 128), dtype=int)
        for m, n in itertools.product(range(rows), range(columns)):
            block, lane, column = self.place(m, n)
            if not masked[block, lane]:
                expected[block][lane, column] = d_word(after[m, n], self.d)
        text = self.text(descriptors[0], a_column, scale_column, masked, used)
        return text, [(bytes(shared[:used]), words) for shared, words in images], expected, total

    def put_scales(self, random, images, left, right, column):
        """Scales of A at `column`, of B 16 columns further; both factors with their scales."""
        kind, count = self.scales
        each = left.shape[1] // count
        known = {"ue8m0": {126: .5, 127: 1., 128: 2.}, "ue4m3": {0x30: .5, 0x38: 1., 0x3C: 1.5, 0x40: 2.}}[kind]
        codes = numpy.array(sorted(known))
        out = []
        for which, matrix in ((0, left), (1, right)):
            bits = random.choice(codes, size=(matrix.shape[0], 4))
            first = self.ids[which]
            values = numpy.vectorize(known.get)(bits)[:, first:first + count]
            out.append(matrix * numpy.repeat(values, each, axis=1))
            for block in range(self.group):
                words = images[block][1]
                if which == 0:
                    lines = matrix.shape[0] // self.group
                    reference.put_scales(words, column, bits[block * lines:(block + 1) * lines], range(4))
                elif self.group == 2 and self.rows == 128:
                    reference.put_scales(words, column + 16, bits[:self.columns // 2], (0, 1))
                    reference.put_scales(words, column + 16, bits[self.columns // 2:], (2, 3))
                else:
                    reference.put_scales(words, column + 16, bits, range(4))
        return out

    def text(self, descriptors, a_column, scale_column, masked, used):
        codes = TYPE_CODES[self.kind]
        form = codes[self.a] << 7 | codes[self.b] << 10 | self.columns // 8 << 17 | self.rows // 16 << 24
        form |= (not self.majors[0]) << 15 | (not self.majors[1]) << 16 | self.negate << 13
        if self.scales:
            form |= self.ids[1] << 4 | (self.scales[0] == "ue8m0") << 23 | self.ids[0] << 29
        else:
            form |= D_CODES[self.d] << 4
        a = f"%rd10" if not self.in_tensor else "[%r11]"
        scales = "[%r12], [%r13], " if self.scales else ""
        masks = ""
        if self.mask:
            words = [sum(int(masked[w // 4, w % 4 * 32 + bit]) << bit for bit in range(32)) for w in range(4 * self.group)]
            masks = "{" + ", ".join(f"%r{20 + n}" for n in range(len(words))) + "}, "
        body = [f"mov.b64 %rd10, {descriptors[0]}; add.u64 %rd10, %rd10, %rd12;", f"mov.b64 %rd11, {descriptors[1]};",
                "add.u64 %rd11, %rd11, %rd12;", f"mov.b32 %r10, {form};", f"add.u32 %r11, %r5, {a_column + (self.half << 16)};",
                f"add.u32 %r12, %r5, {scale_column}; add.u32 %r13, %r5, {scale_column + 16};",
                f"add.u32 %r14, %r5, {self.half << 16};", f"setp.ne.u32 %p4, {int(self.adds)}, 0; setp.eq.u32 %p5, 0, 0;"]
        body.insert(0, "mov.u32 %r15, smem; shr.u32 %r15, %r15, 4; cvt.u64.u32 %rd12, %r15;")
        if self.mask:
            body += [f"mov.b32 %r{20 + n}, {word};" for n, word in enumerate(words)]
        shift = f", {self.shift}" if self.shift else ""
        for step in range(self.steps):
            body.append(f"tcgen05.mma{'.ws' if self.ws else ''}.cta_group::{self.group}.kind::{self.kind}{'.block_scale' if self.scales else ''}{self.qualifier} "
                        f"[%r14], {a}, %rd11, %r10, {scales}{masks}%p{4 + min(step, 1)}{shift};")
        return kernels.kernel(used, scale_column + 32, "\n".join(body), self.group)


def products():
    P = Product
    for swizzle in (0, 32, 64, 128):  # every swizzle, both ways round
        yield P("f16", "f16", "f16", "f32", 128, 32, swizzles=(swizzle, swizzle))
        yield P("f16", "bf16", "bf16", "f32", 128, 64, swizzles=(swizzle, swizzle), majors=(False, False))
        yield P("f8f6f4", "e4m3", "e5m2", "f32", 128, 16, swizzles=(swizzle, 128))
        yield P("f8f6f4", "e5m2", "e4m3", "f32", 128, 64, swizzles=(128, swizzle), majors=(False, False))
        yield P("tf32", "tf32", "tf32", "f32", 128, 16, swizzles=(swizzle, swizzle))
    yield P("tf32", "tf32", "tf32", "f32", 128, 64, swizzles=("wide", "wide"), majors=(False, False))
    yield P("f16", "f16", "f16", "f16", 128, 48, majors=(True, False), swizzles=(64, 32))
    yield P("f16", "f16", "f16", "f32", 128, 256, adds=False)
    for half in (0, 16):
        yield P("f16", "f16", "f16", "f32", 64, 24, half=half)
        yield P("f16", "bf16", "bf16", "f32", 64, 16, half=half, in_tensor=True)
    for a, b in (("e2m3", "e3m2"), ("e2m1", "e4m3"), ("e5m2", "e2m1")):
        yield P("f8f6f4", a, b, "f32", 128, 16)
        yield P("f8f6f4", a, b, "f16", 64, 16, swizzles=(0, 64))
    for a, b in (("s8", "s8"), ("u8", "s8"), ("s8", "u8"), ("u8", "u8")):
        yield P("i8", a, b, "s32", 128, 32)
    yield P("i8", "s8", "s8", "s32", 64, 24)
    for kind, a in (("f16", "f16"), ("tf32", "tf32"), ("f8f6f4", "e4m3"), ("i8", "s8")):
        yield P(kind, a, a, "s32" if kind == "i8" else "f32", 128, 32, in_tensor=True)
    yield P("f16", "f16", "f16", "f32", 128, 32, steps=2)
    yield P("f16", "f16", "f16", "f32", 128, 32, negate=True)
    yield P("f16", "f16", "f16", "f32", 128, 32, shift=1)
    yield P("f16", "f16", "f16", "f32", 128, 32, mask=True)
    # .ws: the matrix that stays is B
    for rows, columns in itertools.product((32, 64, 128), (64, 128, 256)):
        yield P("f16", "f16", "f16", "f32", rows, columns, ws=True)
    for kind, a, b, d in (("tf32", "tf32", "tf32", "f32"), ("f8f6f4", "e4m3", "e2m1", "f16"), ("i8", "s8", "u8", "s32"),
                          ("f16", "bf16", "bf16", "f32")):
        yield P(kind, a, b, d, 32, 64, ws=True, adds=False, qualifier=".collector::b1::fill")
        yield P(kind, a, b, d, 64, 64, ws=True, steps=2, qualifier=".collector::b3::lastuse")
    yield P("f16", "bf16", "bf16", "f32", 128, 64, ws=True, in_tensor=True)
    # two blocks
    for rows in (128, 256):
        yield P("f16", "f16", "f16", "f32", rows, 64, group=2)
        yield P("f16", "bf16", "bf16", "f32", rows, 256, group=2, majors=(True, False))
        yield P("f8f6f4", "e4m3", "e4m3", "f16", rows, 32, group=2)
        yield P("i8", "s8", "u8", "s32", rows, 64, group=2)
        yield P("f16", "f16", "f16", "f32", rows, 32, group=2, in_tensor=True)
    yield P("f16", "f16", "f16", "f32", 256, 32, group=2, mask=True)
    # scales
    for ids in ((0, 0), (1, 3), (2, 1), (3, 2)):
        yield P("mxf8f6f4", "e4m3", "e4m3", "f32", 128, 40, scales=("ue8m0", 1), ids=ids)
    yield P("mxf8f6f4", "e2m1", "e3m2", "f32", 128, 136, scales=("ue8m0", 1), qualifier=".block32")
    yield P("mxf8f6f4", "e4m3", "e5m2", "f32", 128, 32, scales=("ue8m0", 1), in_tensor=True, qualifier=".scale_vec::1X")
    yield P("mxf4", "e2m1", "e2m1", "f32", 128, 64, scales=("ue8m0", 2), ids=(2, 0))
    yield P("mxf4", "e2m1", "e2m1", "f32", 128, 32, scales=("ue8m0", 2), in_tensor=True, qualifier=".block32")
    yield P("mxf4nvf4", "e2m1", "e2m1", "f32", 128, 64, scales=("ue4m3", 4), qualifier=".block16")
    yield P("mxf4nvf4", "e2m1", "e2m1", "f32", 128, 24, scales=("ue8m0", 4), qualifier=".scale_vec::4X")
    yield P("mxf4nvf4", "e2m1", "e2m1", "f32", 128, 32, scales=("ue4m3", 2), ids=(0, 2), qualifier=".block32")
    for rows in (128, 256):
        yield P("mxf8f6f4", "e4m3", "e4m3", "f32", rows, 64, group=2, scales=("ue8m0", 1), ids=(1, 2))
        yield P("mxf4nvf4", "e2m1", "e2m1", "f32", rows, 128, group=2, scales=("ue4m3", 4), qualifier=".block16")


def check_moves(machine, random):
    """Every shape of ld and st: a warp stores and loads where the figures say."""
    count = 0
    for shape, times in itertools.product(("32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"), (1, 2, 4)):
        for packs, middle in itertools.product((False, True), (0, 16) if shape != "32x32b" else (0,)):
            registers = times * {"16x128b": 2, "16x256b": 4}.get(shape, 1)
            second = 16
            where = reference.cells(shape, times, second)
            names = "{" + ", ".join(f"%v{n}" for n in range(registers)) + "}"
            extra = f", {second}" if shape == "16x32bx2" else ""
            load = (f"tcgen05.ld.sync.aligned.{shape}.x{times}{'.pack::16b' if packs else ''}.b32 {names}, [%r8]{extra}; "
                    "tcgen05.wait::ld.sync.aligned;")
            store = (f"tcgen05.st.sync.aligned.{shape}.x{times}{'.unpack::16b' if packs else ''}.b32 [%r8]{extra}, {names}; "
                     "tcgen05.wait::st.sync.aligned;")
            # What a warp loads goes back 64 columns further.
            body = f"add.u32 %r8, %r6, {middle << 16}; {load} add.u32 %r8, %r8, 64; {store}"
            if packs:
                if any(column * 2 + 1 >= 64 for _, column in where.values()) or shape == "16x32bx2":
                    continue
            text = kernels.kernel(0, 128, "", everyone=body)
            words = random.integers(0, 1 << 32, size=(128, 128), dtype=numpy.uint64).astype(numpy.uint32)
            expected = words.copy()
            for warp in range(4):
                for lane, column in where.values():
                    row = warp * 32 + middle + lane
                    if packs:
                        expected[row, 64 + 2 * column] = words[row, 2 * column] & 0xFFFF
                        expected[row, 64 + 2 * column + 1] = words[row, 2 * column + 1] & 0xFFFF
                    else:
                        expected[row, 64 + column] = words[row, column]
            found = machine.run(text, [(b"", words)], 128)[0]
            assert numpy.array_equal(found, expected), f"ld and st of {shape} x{times} pack {packs} at {middle}"
            # And the registers themselves: what thread t has in register i.
            if not packs and middle == 0:
                spread = "\n".join(f"add.u32 %r9, %r6, {64 + n}; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r9], {{%v{n}}};"
                                   for n in range(registers))
                body = f"mov.u32 %r8, %r6; {load} {spread} tcgen05.wait::st.sync.aligned;"
                found = machine.run(kernels.kernel(0, 128, "", everyone=body), [(b"", words)], 128)[0]
                for (thread, register), (lane, column) in where.items():
                    for warp in range(4):
                        assert found[warp * 32 + thread, 64 + register] == words[warp * 32 + lane, column], (shape, times, thread)
            count += 1
    print(f"ld and st: {count} shapes")


def check_copies(machine, random):
    for (shape, (rows, units, lanes)), swizzle in itertools.product(reference.COPIES.items(), (0, 128)):
        shared = random.integers(0, 256, size=32768).astype(numpy.uint8)
        words = random.integers(0, 1 << 32, size=(128, 32), dtype=numpy.uint64).astype(numpy.uint32)
        expected = words.copy()
        leading, stride = (128, 128 * units) if swizzle == 0 else (0, 1024)
        for row, unit in itertools.product(range(rows), range(units)):
            at = (row // 8 * stride + row % 8 * (swizzle or 16) +
                  (unit * leading if swizzle == 0 else reference.chunk_of(swizzle, row % 8, unit) * 16))
            data = numpy.frombuffer(shared[at:at + 16].tobytes(), dtype=numpy.uint32)
            for lane in lanes(row):
                expected[lane, 4 + unit * 4:8 + unit * 4] = data
        bits = reference.descriptor(0, leading, stride, swizzle)
        body = ("mov.u32 %r15, smem; shr.u32 %r15, %r15, 4; cvt.u64.u32 %rd12, %r15;"
                f"mov.b64 %rd10, {bits}; add.u64 %rd10, %rd10, %rd12; add.u32 %r8, %r5, 4;"
                f"tcgen05.cp.cta_group::1.{shape} [%r8], %rd10;")
        found = machine.run(kernels.kernel(len(shared), 32, body), [(shared.tobytes(), words)], 32)[0]
        assert numpy.array_equal(found, expected), f"cp of {shape}, swizzle {swizzle}"
    print(f"cp: {2 * len(reference.COPIES)} shapes")


def check_published():
    """Values of descriptors as CUTLASS's examples and DeepGEMM make them."""
    # K-major bf16, 128-byte swizzle: rows of 128 bytes, groups of 8 rows 1024 bytes apart; the layout's code is 2, the version 1.
    assert reference.descriptor(0, 0, 1024, 128) == 0x4000404000000000
    # K-major without a swizzle, 128 rows: groups of rows 256 bytes apart, the second 16 bytes of k 128 bytes further.
    assert reference.descriptor(0x400, 128, 256, 0) == 0x0000401000080040
    # 128x256x16, bf16 with sums in f32: N >> 3 at 17, M >> 4 at 24.
    assert (1 << 4 | 1 << 7 | 1 << 10 | 256 // 8 << 17 | 128 // 16 << 24) == 0x8400490


def main():
    machine = Machine(sys.argv[1])
    random = numpy.random.default_rng(5)
    check_published()
    count = 0
    for product in products():
        text, images, expected, columns = product.build(random)
        found = machine.run(text, images, columns)
        for block, words in enumerate(expected):
            if not numpy.array_equal(found[block], words):
                wrong = numpy.argwhere(found[block] != words)
                lane, column = wrong[0]
                print(f"{product.name()}: block {block}, {len(wrong)} cells, the first at lane {lane}, column {column}: "
                      f"{found[block][lane, column]:#x} for {words[lane, column]:#x}")
                return 1
        count += 1
    print(f"mma: {count} products")
    check_moves(machine, random)
    check_copies(machine, random)
    return 0


if __name__ == "__main__":
    sys.exit(main())

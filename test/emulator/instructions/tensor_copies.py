#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor copies on the emulator against an H200's results.   tensor_copies.py DRIVER IMAGE RESULTS.npz [--keep]

Loads, stores and reductions of boxes and of im2col columns: types, ranks, swizzles, fills, element strides, starts outside of the
tensor. A case is a kernel; DRIVER (libcuda.so.1, or the emulator's) encodes its map and runs IMAGE, a cubin of the text that
--text FILE writes; "-" is the text itself. RESULTS holds a checksum of each case: of all bytes of shared memory, or of the tensor.
"""

import argparse
import ctypes
import dataclasses
import itertools
import pathlib
import sys
import zlib

import numpy

from cases import HEADER, values
from run_forms import Driver

SHARED = 16384
# CUtensorMapDataType: number, bytes, what the elements are for edge values
TYPES = {"u8": (0, 1, "u8"), "u16": (1, 2, "u16"), "u32": (2, 4, "u32"), "s32": (3, 4, "s32"), "u64": (4, 8, "u64"), "s64": (5, 8, "s64"),
         "f16": (6, 2, "f16"), "f32": (7, 4, "f32"), "f64": (8, 8, "f64"), "bf16": (9, 2, "bf16"), "f32.ftz": (10, 4, "f32"),
         "tf32": (11, 4, "f32"), "tf32.ftz": (12, 4, "f32")}
REDUCTIONS = {"add": ("u32", "s32", "u64", "f16", "f32", "bf16"), "min": ("u32", "s32", "u64", "s64", "f16", "bf16"),
              "inc": ("u32",), "dec": ("u32",), "and": ("u32", "s32", "u64", "s64"), "or": ("u32", "u64"), "xor": ("u32", "s64")}
REDUCTIONS["max"] = REDUCTIONS["min"]


@dataclasses.dataclass
class Copy:
    what: str      # load, store, or a reduction
    kind: str
    dims: tuple    # innermost first
    box: tuple     # im2col: channels and pixels
    start: tuple
    swizzle: int = 0
    fill: int = 0
    steps: tuple = ()
    corners: tuple = ()  # im2col: lower and upper
    offsets: tuple = ()

    def name(self):
        return " ".join(str(value) for value in dataclasses.astuple(self))

    def bytes(self):
        size = TYPES[self.kind][1]
        if self.corners:
            return self.box[0] * self.box[1] * size
        steps = self.steps or (1,) * len(self.dims)
        return int(numpy.prod([-(-b // s) if at else b for at, (b, s) in enumerate(zip(self.box, steps))])) * size


def kernel(copy, name):
    rank = len(copy.dims)
    coordinates = ", ".join(f"%r{10 + at}" for at in range(rank))
    moves = "".join(f"mov.b32 %r{10 + at}, {value};" for at, value in enumerate(copy.start))
    each = SHARED // 2048
    fill = "".join(f"ld.global.v4.b32 {{%r20, %r21, %r22, %r23}}, [%rd3+{at * 2048}]; st.shared.v4.b32 [%r3+{at * 2048}], {{%r20, %r21, %r22, %r23}};"
                   for at in range(each))
    show = "".join(f"ld.shared.v4.b32 {{%r20, %r21, %r22, %r23}}, [%r3+{at * 2048}]; st.global.v4.b32 [%rd4+{at * 2048}], {{%r20, %r21, %r22, %r23}};"
                   for at in range(each))
    if copy.what == "load":
        mode, offsets = "tile", ""
        if copy.corners:
            mode, offsets = "im2col", ", {" + ", ".join(f"%h{at}" for at in range(rank - 2)) + "}"
            moves += "".join(f"mov.b16 %h{at}, {value};" for at, value in enumerate(copy.offsets))
        body = (f"@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {copy.bytes()};"
                f"@%p1 cp.async.bulk.tensor.{rank}d.shared::cluster.global.{mode}.mbarrier::complete_tx::bytes [%r2], [%rd1, {{{coordinates}}}], "
                f"[%r5]{offsets}; W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0; @!%p3 bra W; {show}")
    else:
        mode = "im2col_no_offs" if copy.corners else "tile"
        opcode = "cp" if copy.what == "store" else "cp.reduce"
        more = "" if copy.what == "store" else f".{copy.what}"
        body = (f"@%p1 {opcode}.async.bulk.tensor.{rank}d.global.shared::cta{more}.{mode}.bulk_group [%rd1, {{{coordinates}}}], [%r2];"
                "@%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;")
    return f""".visible .entry {name}(.param .align 64 .b8 {name}_map[128], .param .u64 in, .param .u64 out) .reqntid 128 {{
.reg .pred %p<8>; .reg .b16 %h<4>; .reg .b32 %r<32>; .reg .b64 %rd<16>;
.shared .align 1024 .b8 tile[{SHARED}]; .shared .align 8 .b64 bar;
mov.b64 %rd1, {name}_map; cvta.param.u64 %rd1, %rd1; ld.param.u64 %rd2, [in]; ld.param.u64 %rd4, [out]; cvta.to.global.u64 %rd2, %rd2;
cvta.to.global.u64 %rd4, %rd4; mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r5, bar; mul.wide.u32 %rd5, %r1, 16;
add.u64 %rd3, %rd2, %rd5; add.u64 %rd4, %rd4, %rd5; shl.b32 %r4, %r1, 4; add.u32 %r3, %r2, %r4; setp.eq.u32 %p1, %r1, 0;
{fill}
@%p1 mbarrier.init.shared::cta.b64 [bar], 1;
fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta; bar.sync 0;
{moves}
{body}
ret; }}"""


def copies():
    """Stores do not begin at negative coordinates, and 64-bit integers with a sign have no bits: illegal instructions on hardware."""
    for copy in boxes():
        stores = copy.what != "load"
        if not (stores and min(copy.start) < 0) and not (copy.kind == "s64" and copy.what in ("and", "or", "xor")):
            yield copy


def boxes():
    random = numpy.random.default_rng(17)
    spans = {0: 0, 1: 32, 2: 64, 3: 128}
    for rank, kind, swizzle in itertools.product(range(1, 6), ("u8", "f16", "f32", "u64"), range(4)):
        size = TYPES[kind][1]
        inner = (spans[swizzle] or 64) // size
        if random.integers(0, 3) == 0:
            inner = 16 // size * int(random.integers(1, max(2, inner * size // 16)))
        outer = [int(random.integers(1, 6)) for _ in range(rank - 1)]
        dims = [inner + int(random.integers(0, 3)) * 16 // size] + [o + int(random.integers(0, 4)) for o in outer]
        start = [int(random.integers(-1, 2)) * 16 // size] + [int(random.integers(-2, 3)) for _ in outer]
        yield Copy("load", kind, tuple(dims), (inner, *outer), tuple(start), swizzle)
        yield Copy("store", kind, tuple(dims), (inner, *outer), tuple(start), swizzle)
    for kind in TYPES:  # conversions, and fills of both kinds
        size = TYPES[kind][1]
        for fill in (0, 1) if kind[0] in "ftb" else (0,):
            yield Copy("load", kind, (64 // size, 40), (64 // size, 32), (16 // size, 20), fill=fill)
            yield Copy("load", kind, (1024 // size, 3), (256 // size, 4), (-(16 // size), -1), fill=fill)
    for steps in ((1, 2), (1, 3), (1, 8)):
        for what in ("load", "store"):
            yield Copy(what, "f16", (32, 40), (32, 12), (0, 3), steps=steps)
            yield Copy(what, "u32", (8, 40, 5), (8, 7, 4), (0, -2, 1), steps=(*steps, 2))
    for (op, kinds), swizzle in itertools.product(REDUCTIONS.items(), (0, 3)):
        for kind in kinds:
            size = TYPES[kind][1]
            yield Copy(op, kind, (128 // size, 60), (128 // size, 64), (0, 0), swizzle)
            yield Copy(op, kind, (128 // size, 20, 3), (64 // size, 8, 4), (-(16 // size), 15, -1))
    for stride, swizzle, kind in itertools.product((1, 2), range(4), ("f16", "u8")):  # 3x3 filters with a pad of one
        channels = (spans[swizzle] or 32) // TYPES[kind][1]
        for offsets in ((0, 0), (1, 2), (2, 0)):
            yield Copy("load", kind, (channels + 16, 9, 7, 3), (channels, 40), (0, -1, 1, 0), swizzle, steps=(1, stride, stride, 1),
                       corners=((-1, -1), (-1, -1)), offsets=offsets)
    for offset in (0, 2):
        yield Copy("load", "f16", (32, 20, 4), (32, 50), (0, 5, 1), 2, corners=((-2,), (0,)), offsets=(offset,))
        yield Copy("load", "f16", (16, 6, 5, 4, 2), (16, 60), (0, -1, 0, 1, 0), 0, corners=((-1, 0, -1), (-1, -1, -2)), offsets=(offset, 1, 2))
    yield Copy("store", "f16", (32, 9, 7, 3), (32, 40), (0, 0, 1, 0), 2, corners=((0, 0), (0, 0)))
    yield Copy("add", "f16", (32, 9, 7, 3), (32, 40), (0, 3, 2, 1), 2, corners=((0, 0), (0, 0)))


def encode(driver, copy, address):
    number, size, _ = TYPES[copy.kind]
    rank, storage = len(copy.dims), ctypes.create_string_buffer(256)
    at = ctypes.addressof(storage) + 63 & ~63
    strides, far = [], copy.dims[0] * size
    for dim in copy.dims[1:]:
        far = (far + 15) // 16 * 16
        strides.append(far)
        far *= dim
    dims = (ctypes.c_uint64 * rank)(*copy.dims)
    steps = (ctypes.c_uint32 * rank)(*(copy.steps or (1,) * rank))
    pitch = (ctypes.c_uint64 * max(1, rank - 1))(*strides)
    common = (ctypes.c_void_p(at), number, rank, ctypes.c_void_p(address), dims, pitch)
    if copy.corners:
        corners = [(ctypes.c_int * (rank - 2))(*one) for one in copy.corners]
        driver.call("cuTensorMapEncodeIm2col", *common, *corners, *copy.box, steps, 0, copy.swizzle, 0, copy.fill)
    else:
        box = (ctypes.c_uint32 * rank)(*copy.box)
        driver.call("cuTensorMapEncodeTiled", *common, box, steps, 0, copy.swizzle, 0, copy.fill)
    return storage, at, max(16, far)


def some(copy, count, random):
    number, size, kind = TYPES[copy.kind]
    return values(kind, random, count).astype({1: numpy.uint8, 2: numpy.uint16, 4: numpy.uint32, 8: numpy.uint64}[size])


def run(driver, module, copy, name):
    random = numpy.random.Generator(numpy.random.PCG64(zlib.crc32(copy.name().encode())))
    size = TYPES[copy.kind][1]
    _, _, total = encode(driver, copy, 1 << 20)
    tensor = some(copy, total // size, random)
    start = some(copy, SHARED // size, random)
    pointers = [driver.allocate(total), driver.allocate(SHARED), driver.allocate(SHARED)]
    for pointer, data in zip(pointers, (tensor, start)):
        driver.call("cuMemcpyHtoD_v2", pointer, data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(data.nbytes))
    storage, at, _ = encode(driver, copy, pointers[0].value)
    function = ctypes.c_void_p()
    driver.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
    parameters = (ctypes.c_void_p * 3)(at, ctypes.addressof(pointers[1]), ctypes.addressof(pointers[2]))
    driver.call("cuLaunchKernel", function, 1, 1, 1, 128, 1, 1, 0, None, parameters, None)
    driver.call("cuCtxSynchronize")
    loads = copy.what == "load"
    out = numpy.zeros(SHARED if loads else total, dtype=numpy.uint8)
    driver.call("cuMemcpyDtoH_v2", out.ctypes.data_as(ctypes.c_void_p), pointers[2 if loads else 0], ctypes.c_size_t(out.nbytes))
    for pointer in pointers:
        driver.call("cuMemFree_v2", pointer)
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("driver", nargs="?")
    parser.add_argument("image", nargs="?")
    parser.add_argument("results", nargs="?")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--text")
    options = parser.parse_args()
    everything = list(copies())
    text = HEADER + "\n".join(kernel(copy, f"k{at}") for at, copy in enumerate(everything)) + "\n"
    if options.text:
        pathlib.Path(options.text).write_text(text)
        return 0
    driver = Driver(options.driver)
    module = driver.load(text.encode() if options.image == "-" else pathlib.Path(options.image).read_bytes())
    names = numpy.array([zlib.crc32(copy.name().encode()) for copy in everything], dtype=numpy.uint32)
    results = [run(driver, module, copy, f"k{at}") for at, copy in enumerate(everything)]
    digests = numpy.array([zlib.crc32(one.tobytes()) for one in results], dtype=numpy.uint32)
    if options.keep:
        numpy.savez_compressed(options.results, names=names, digests=digests)
        print(f"{len(everything)} copies")
        return 0
    known = numpy.load(options.results)
    if list(known["names"]) != list(names):
        print("the copies are not those that the results are of: run this with --keep on the hardware again")
        return 1
    wrong = numpy.nonzero(digests != known["digests"])[0]
    for at in wrong:
        print(f"not as the hardware: {everything[at]}")
    print(f"{len(everything)} copies, {len(wrong)} wrong")
    return 1 if len(wrong) else 0


if __name__ == "__main__":
    sys.exit(main())

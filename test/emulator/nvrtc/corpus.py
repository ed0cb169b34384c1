#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels in CUDA C++, compiled by NVRTC, on the emulator against NumPy.   corpus.py DRIVER [NVRTC]

NVRTC is its library's name or path. Without one the test is skipped, and says so.
"""

import ctypes
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "instructions"))

import numpy  # noqa: E402

from run_forms import Driver  # noqa: E402

FOLDERS = ("", "/usr/local/cuda/lib64/", "/usr/local/cuda/lib/", "/usr/local/cuda-13.0/lib64/", "/usr/local/cuda-13.0/lib/")
NAMES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")


def find_library(given):
    for path in [given] if given else [folder + name for folder in FOLDERS for name in NAMES]:
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    return None


def headers():
    for folder in (os.environ.get("CUDA_PATH", "") + "/include", "/usr/local/cuda/include", "/usr/local/cuda-13.0/include"):
        if (pathlib.Path(folder) / "cuda_fp16.h").exists():
            return folder
    return None


def compile_text(library, source, folder, target, *more):
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), source, b"kernels.cu", 0, None, None)
    options = [f"--gpu-architecture={target}".encode(), f"--include-path={folder}".encode(), b"--std=c++17", b"--fmad=false",
               *[option.encode() for option in more]]
    code = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    if code:
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, log)
        raise RuntimeError(log.value.decode())
    library.nvrtcGetPTXSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    library.nvrtcGetPTX(program, text)
    return text.value


class Corpus:
    def __init__(self, path, text):
        self.driver = Driver(path)
        self.module = self.driver.load(text)
        self.count = 0

    def launch(self, name, grid, block, *arguments, shared=0):
        """Arrays are copied in and back; numbers keep their type."""
        function = ctypes.c_void_p()
        self.driver.call("cuModuleGetFunction", ctypes.byref(function), self.module, name.encode())
        values, arrays = [], []
        for argument in arguments:
            if not argument.shape:
                values.append(ctypes.create_string_buffer(argument.tobytes()))
                continue
            pointer = self.driver.allocate(argument.nbytes)
            self.driver.call("cuMemcpyHtoD_v2", pointer, argument.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(argument.nbytes))
            arrays.append((pointer, argument))
            values.append(pointer)
        grid, block = [tuple(dims) + (1,) * (3 - len(dims)) for dims in (grid, block)]
        parameters = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
        self.driver.call("cuLaunchKernel", function, *grid, *block, shared, None, parameters, None)
        for pointer, argument in arrays:
            self.driver.call("cuMemcpyDtoH_v2", argument.ctypes.data_as(ctypes.c_void_p), pointer, ctypes.c_size_t(argument.nbytes))
            self.driver.call("cuMemFree_v2", pointer)
        self.count += 1


def same(name, found, wanted, within=0.0):
    found, wanted = numpy.asarray(found), numpy.asarray(wanted)
    close = numpy.array_equal(found, wanted) if within == 0 else numpy.allclose(found.astype(float), wanted.astype(float), within, within)
    assert close, f"{name}: {found.ravel()[:8]} for {wanted.ravel()[:8]}"


def brain(values):
    bits = values.astype(numpy.float32).view(numpy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


def check(corpus, random):
    number = numpy.int32

    def floats(*shape):
        return random.standard_normal(shape).astype(numpy.float32)

    # reductions
    values, out = floats(5000), numpy.zeros(1, numpy.float32)
    corpus.launch("sum_tree", (3,), (256,), values, out, number(5000))
    same("sum_tree", out, values.sum(dtype=float), 1e-4)
    values, out = random.integers(-9999, 9999, 3001).astype(numpy.int32), numpy.full(1, -2**31, numpy.int32)
    corpus.launch("maximum_shuffle", (4,), (96,), values, out, number(3001))
    same("maximum_shuffle", out[0], values.max())
    values, out = floats(7777), numpy.zeros(1, numpy.float32)
    corpus.launch("sum_last_block", (5,), (256,), values, numpy.zeros(5, numpy.float32), numpy.zeros(1, numpy.uint32), out, number(7777))
    same("sum_last_block", out, values.sum(dtype=float), 1e-4)
    # scans
    values, out = random.integers(-99, 99, 1000).astype(numpy.int32), numpy.zeros(1000, numpy.int32)
    corpus.launch("scan_shuffle", (1,), (1024,), values, out, number(1000))
    same("scan_shuffle", out, numpy.cumsum(values))
    values, out = random.integers(-99, 99, 250).astype(numpy.float32), numpy.zeros(250, numpy.float32)
    corpus.launch("scan_shared", (1,), (256,), values, out, number(250), shared=2048)
    same("scan_shared", out, numpy.cumsum(values))
    # stencils and transposes
    values, out = floats(37, 70), numpy.zeros((37, 70), numpy.float32)
    corpus.launch("stencil", (3, 5), (32, 8), values, out, number(37), number(70))
    padded = numpy.pad(values, 1)
    same("stencil", out, values * .5 + (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]) * .125, 1e-6)
    values, out = floats(45, 67), numpy.zeros((67, 45), numpy.float32)
    corpus.launch("transpose", (3, 2), (32, 8), values, out, number(45), number(67))
    same("transpose", out, values.T)
    # atomics, votes
    values, out = random.integers(0, 256, 10000).astype(numpy.uint8), numpy.zeros(256, numpy.uint32)
    corpus.launch("histogram", (3,), (128,), values, out, number(10000))
    same("histogram", out, numpy.bincount(values, minlength=256))
    values, out, length = random.integers(-9, 9, 500).astype(numpy.int32), numpy.zeros(500, numpy.int32), numpy.zeros(1, numpy.int32)
    corpus.launch("compact", (4,), (128,), values, out, length, number(500))
    same("compact", sorted(out[:length[0]]), sorted(values[values > 0]))
    values, out = random.standard_normal(100), numpy.full(1, -5.)
    corpus.launch("compare_and_swap", (4,), (32,), out, values, number(100))
    same("compare_and_swap", out[0], values.max())
    # half precision
    a, b, out = floats(256).astype(numpy.float16), floats(256).astype(numpy.float16), numpy.zeros(256, numpy.float16)
    corpus.launch("half_axpy", (1,), (128,), a, b, out, numpy.float16(1.5), number(128))
    same("half_axpy", out, (a.astype(float) * 1.5 + b.astype(float)).astype(numpy.float16))
    values, out = floats(3, 100).astype(numpy.float16), numpy.zeros((3, 100), numpy.float16)
    corpus.launch("half_norm", (3,), (32,), values, out, number(100))
    wide = values.astype(float)
    same("half_norm", out, wide / numpy.sqrt((wide ** 2).mean(1, keepdims=True) + 1e-5), 2e-3)
    values, out = brain(floats(2, 200)), numpy.zeros((2, 200), numpy.float32)
    corpus.launch("brain_softmax", (2,), (128,), values, out, number(200))
    wide = (values.astype(numpy.uint32) << 16).view(numpy.float32).astype(float)
    power = numpy.exp(wide - wide.max(1, keepdims=True))
    same("brain_softmax", out, power / power.sum(1, keepdims=True), 1e-5)
    # functions, local arrays, constants
    out = numpy.zeros((16, 24), numpy.int32)
    corpus.launch("mandelbrot", (3, 2), (8, 8), out, number(24), number(16), number(20))
    same("mandelbrot", out, mandelbrot(24, 16, 20))
    values, out = random.integers(-99, 99, (50, 8)).astype(numpy.int32), numpy.zeros((50, 8), numpy.int32)
    corpus.launch("sort_small", (2,), (32,), values, out, number(50))
    same("sort_small", out, numpy.sort(values, axis=1))
    values, out = floats(300), numpy.zeros(300, numpy.float32)
    corpus.launch("blur", (3,), (128,), values, out, number(300))
    edge = numpy.pad(values, 2, mode="edge")
    same("blur", out, sum(w * edge[n:n + 300] for n, w in enumerate((.0625, .25, .375, .25, .0625))), 1e-6)
    a, b, out = random.integers(-9999, 9999, 64).astype(numpy.int32), random.integers(1, 99, 64).astype(numpy.int32), numpy.zeros(64, numpy.int32)
    corpus.launch("divide", (1,), (64,), a, b, out, number(64))
    same("divide", out, (a / b).astype(int) * 1000 + numpy.fmod(a, b))
    a, b, out = floats(48, 48), floats(48, 48), numpy.zeros((48, 48), numpy.float32)
    corpus.launch("matrix_product", (3, 3), (16, 16), a, b, out, number(48))
    same("matrix_product", out, a.astype(float) @ b.astype(float), 1e-4)


def mandelbrot(width, height, limit):
    out = numpy.zeros((height, width), numpy.int32)
    for y in range(height):
        for x in range(width):
            re = im = numpy.float32(0)
            from_x, from_y = numpy.float32(x * .125 - 2), numpy.float32(y * .125 - 1)
            for n in range(limit + 1):
                out[y, x] = n
                if n == limit:
                    break
                re, im = re * re - im * im + from_x, re * im + im * re + from_y
                if re * re + im * im > 4:
                    break
    return out


def main():
    driver, given = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    library, folder = find_library(given), headers()
    if not library or not folder:
        print("SKIPPED: NVRTC and the CUDA headers are not installed")
        return 77
    source = (HERE / "kernels.cu").read_bytes()
    # As it comes, and with debug information: everything in local memory, each function called.
    for target, more in (("compute_80", ()), ("compute_90", ()), ("compute_80", ("--device-debug",))):
        corpus = Corpus(driver, compile_text(library, source, folder, target, *more))
        check(corpus, numpy.random.default_rng(7))
        print(f"{corpus.count} kernels of {target}{' ' if more else ''}{' '.join(more)} agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())

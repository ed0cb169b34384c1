#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the GPU builders' test kernels on a GPU.

    build/dev/test/bin/kpc_gpu_export FOLDER        # anywhere: compiles, makes inputs and references
    python3 test/device/run_cases.py FOLDER         # on the machine with the GPU
    compute-sanitizer python3 test/device/run_cases.py FOLDER --only NAME
    python3 test/device/run_cases.py FOLDER --benchmarks [--peers]
    python3 test/device/run_cases.py FOLDER --driver libkpc_emulator_driver.so --image ptx    # without a GPU

Needs the CUDA driver and numpy; PyTorch for --peers alone. Each kernel runs twice on fresh buffers: the results must be
the same bytes, agree with the host target's, and leave the bytes behind every buffer alone. Exit code 0: all right.
"""

import argparse
import ctypes
import json
import pathlib
import statistics
import sys

import numpy as np

GUARD_BYTES = 256
GUARD = 0x5A
DEFAULT_SHARED = 48 * 1024  # of a block, unless a kernel asks for more
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
TYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "i1": np.int8,
}


class Driver:
    """The few calls of the CUDA driver that this needs."""

    def __init__(self, library):
        self.cuda = ctypes.CDLL(library)
        self.call("cuInit", 0)
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.call("cuCtxSetCurrent", self.context)
        name = ctypes.create_string_buffer(128)
        self.call("cuDeviceGetName", name, 128, device)
        self.name = name.value.decode()

    def call(self, function, *arguments):
        code = getattr(self.cuda, function)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorString(code, ctypes.byref(text))
            raise RuntimeError(f"{function}: {code} ({(text.value or b'?').decode()})")

    def allocate(self, size):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer.value

    def free(self, pointer):
        self.call("cuMemFree_v2", ctypes.c_uint64(pointer))

    def upload(self, pointer, data):
        data = np.ascontiguousarray(data)
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(pointer), ctypes.c_void_p(data.ctypes.data),
                  ctypes.c_size_t(data.nbytes))

    def download(self, pointer, size):
        data = np.empty(size, np.uint8)
        self.call("cuMemcpyDtoH_v2", ctypes.c_void_p(data.ctypes.data), ctypes.c_uint64(pointer), ctypes.c_size_t(size))
        return data

    def load(self, path, symbol, shared=0):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), pathlib.Path(path).read_bytes() + b"\0")
        self.call("cuModuleGetFunction", ctypes.byref(function), module, symbol.encode())
        if shared > DEFAULT_SHARED:
            self.call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, shared)
        return module, function

    def launch(self, function, kernel, run, pointers):
        if 0 in run["grid"]:
            return
        values = (ctypes.c_uint64 * (len(pointers) + len(run["sizes"])))(*pointers, *run["sizes"])
        arguments = (ctypes.c_void_p * len(values))(
            *(ctypes.addressof(values) + 8 * i for i in range(len(values))))
        self.call("cuLaunchKernel", function, *run["grid"], *kernel["block"], kernel["shared"], None, arguments, None)


def as_numbers(data, kind):
    if kind == "bf16":
        return (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return data.view(TYPES[kind]).astype(np.float64)


def difference(mine, reference, kind, tolerance):
    """Empty, or in words how far the bytes are apart."""
    if np.array_equal(mine, reference):
        return ""
    a, b = as_numbers(mine, kind), as_numbers(reference, kind)
    wrong = np.flatnonzero(~((a == b) | (np.isnan(a) & np.isnan(b))))
    if tolerance == 0 or not np.isfinite(a).all():
        return f"element {wrong[0]} is {a[wrong[0]]}, not {b[wrong[0]]} ({len(wrong)} differ)" if len(wrong) else ""
    error = np.sqrt(np.sum((a - b) ** 2) / max(np.sum(b ** 2), 1e-300))
    return "" if error <= tolerance else f"RMS error {error:.3g}, allowed {tolerance:g}"


def run_once(driver, function, kernel, run, data):
    """The outputs' bytes by name, and what was written behind buffers."""
    pointers, complaints = [], []
    for buffer in run["buffers"]:
        content = np.full(buffer["bytes"] + GUARD_BYTES, GUARD, np.uint8)
        if not buffer["output"]:
            content[:buffer["bytes"]] = data[buffer["offset"]:buffer["offset"] + buffer["bytes"]]
        pointers.append(driver.allocate(len(content)))
        driver.upload(pointers[-1], content)
    driver.launch(function, kernel, run, pointers)
    driver.call("cuCtxSynchronize")
    outputs = {}
    for buffer, pointer in zip(run["buffers"], pointers):
        content = driver.download(pointer, buffer["bytes"] + GUARD_BYTES)
        if (content[buffer["bytes"]:] != GUARD).any():
            complaints.append(f"{buffer['name']} was written past its end")
        if buffer["output"]:
            outputs[buffer["name"]] = content[:buffer["bytes"]]
        driver.free(pointer)
    return outputs, complaints


def check(driver, folder, kernel, data, image):
    complaints = []
    module, function = driver.load(folder / kernel[image], kernel["name"], kernel["shared"])
    for run in kernel["runs"]:
        first, trouble = run_once(driver, function, kernel, run, data)
        again, _ = run_once(driver, function, kernel, run, data)
        for buffer in run["buffers"]:
            if not buffer["output"]:
                continue
            name = buffer["name"]
            reference = data[buffer["offset"]:buffer["offset"] + buffer["bytes"]]
            trouble.append(difference(first[name], reference, buffer["type"], kernel["tolerance"]))
            if not np.array_equal(first[name], again[name]):
                trouble.append(f"{name} differs from run to run")
        complaints += [f"{kernel['name']} ({kernel['schedule']}), sizes {run['sizes']}: {t}" for t in trouble if t]
    driver.call("cuModuleUnload", module)
    return complaints


def time_launches(driver, launch, repeat=20):
    """Median microseconds, the L2 cache not cleared."""
    start, stop = ctypes.c_void_p(), ctypes.c_void_p()
    driver.call("cuEventCreate", ctypes.byref(start), 0)
    driver.call("cuEventCreate", ctypes.byref(stop), 0)
    times = []
    for i in range(repeat + 3):
        driver.call("cuEventRecord", start, None)
        launch()
        driver.call("cuEventRecord", stop, None)
        driver.call("cuEventSynchronize", stop)
        elapsed = ctypes.c_float()
        driver.call("cuEventElapsedTime", ctypes.byref(elapsed), start, stop)
        if i >= 3:
            times.append(elapsed.value * 1e3)
    return statistics.median(times)


def peer_setup(kernel, run):
    """Inputs as PyTorch tensors, and the peer's launch."""
    import torch
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    kinds = {"f32": torch.float32, "f16": torch.float16, "f64": torch.float64}
    names = {"torch": torch}
    for b in run["buffers"]:
        names[b["name"]] = (torch.rand(b["dims"], device="cuda", dtype=torch.float32) - 0.5).to(kinds[b["type"]])
    return names, lambda: eval(kernel["peer"], names)  # pylint: disable=eval-used


def benchmark(driver, folder, kernel, with_peers):
    run = kernel["runs"][0]
    module, function = driver.load(folder / kernel["cubin"], kernel["name"], kernel["shared"])
    total = sum(b["bytes"] for b in run["buffers"])
    line = f"{kernel['name']:22} {kernel['schedule']:28}"
    if with_peers:
        import torch
        names, peer = peer_setup(kernel, run)
        pointers = [names[b["name"]].data_ptr() for b in run["buffers"]]
        torch.cuda.synchronize()
    else:
        pointers = [driver.allocate(b["bytes"]) for b in run["buffers"]]
        for b, p in zip(run["buffers"], pointers):
            driver.call("cuMemsetD8_v2", ctypes.c_uint64(p), 0, ctypes.c_size_t(b["bytes"]))
    mine = time_launches(driver, lambda: driver.launch(function, kernel, run, pointers))
    rate = f"{kernel['flops'] / mine / 1e6:8.2f} TFLOP/s" if kernel["flops"] else f"{total / mine / 1e3:8.0f} GB/s"
    line += f" {mine:9.1f} us {rate}"
    if with_peers:
        theirs = time_launches(driver, peer)
        out = names[[b["name"] for b in run["buffers"] if b["output"]][0]].double()
        want = peer().double()
        error = ((out - want).norm() / want.norm()).item()
        line += f"   PyTorch {theirs:9.1f} us   ratio {theirs / mine:5.2f}   error {error:.1e}"
        del names, out, want
    else:
        for p in pointers:
            driver.free(p)
    driver.call("cuModuleUnload", module)
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", metavar="TEXT", default="", help="kernels whose name holds TEXT")
    parser.add_argument("--benchmarks", action="store_true", help="time the benchmarks instead")
    parser.add_argument("--peers", action="store_true", help="beside PyTorch, fp32 without tf32")
    parser.add_argument("--driver", metavar="LIBRARY", help="a library with the driver's entry points")
    parser.add_argument("--image", choices=("cubin", "ptx"), default="cubin")
    options = parser.parse_args()
    cases = json.loads((options.folder / "cases.json").read_text())
    data = np.fromfile(options.folder / "cases.bin", np.uint8)
    if options.peers:
        import torch
        torch.zeros(1, device="cuda")  # its context is the primary one: ours as well
    driver = Driver(options.driver or "libcuda.so.1")
    print(f"{driver.name}, kernels for {cases['target']}")
    if options.benchmarks:
        for kernel in cases["benchmarks"]:
            if options.only in kernel["name"]:
                print(benchmark(driver, options.folder, kernel, options.peers), flush=True)
        return 0
    complaints, runs, count, skipped = [], 0, 0, []
    for kernel in cases["kernels"]:
        if options.only not in kernel["name"]:
            continue
        if kernel.get("tensor_maps"):
            skipped.append(kernel["name"])  # products.py runs these through the runtime, which encodes the maps
            continue
        count += 1
        runs += len(kernel["runs"])
        try:
            complaints += check(driver, options.folder, kernel, data, options.image)
        except RuntimeError as error:
            complaints.append(f"{kernel['name']}: {error}")
            if not options.driver:
                break  # a GPU's context is lost
    for complaint in complaints:
        print("WRONG:", complaint)
    if skipped:
        print("not run, they take tensor maps:", *skipped)
    print(f"{count} kernels, {runs} runs, {len(complaints)} wrong")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())

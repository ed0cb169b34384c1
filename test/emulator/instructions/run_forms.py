#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the forms of forms.py.   run_forms.py DRIVER IMAGE OUT.npz

DRIVER is a CUDA driver library (libcuda.so.1) or the emulator's; IMAGE the module's cubin or PTX. OUT gets an array of 64-bit
numbers [set][result][lane] for each form, by its number.
"""

import ctypes
import pathlib
import sys

import numpy

import cases
import forms


class Driver:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(code, ctypes.byref(text))
            raise RuntimeError(f"{name}: {code} {(text.value or b'').decode()}")

    def allocate(self, size):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def load(self, image):
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), image + b"\0")
        return module

    def run(self, module, name, form):
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        inputs = cases.operands(form)
        outputs = numpy.zeros(cases.results_shape(form), dtype=numpy.uint64)
        near, far = self.allocate(inputs.nbytes), self.allocate(outputs.nbytes)
        self.call("cuMemcpyHtoD_v2", near, inputs.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(inputs.nbytes))
        parameters = (ctypes.c_void_p * 2)(ctypes.addressof(near), ctypes.addressof(far))
        self.call("cuLaunchKernel", function, cases.SETS, 1, 1, form.lanes, 1, 1, 0, None, parameters, None)
        self.call("cuCtxSynchronize")
        self.call("cuMemcpyDtoH_v2", outputs.ctypes.data_as(ctypes.c_void_p), far, ctypes.c_size_t(outputs.nbytes))
        for pointer in (near, far):
            self.call("cuMemFree_v2", pointer)
        return outputs


def main():
    path, image, out = sys.argv[1:]
    driver = Driver(path)
    module = driver.load(pathlib.Path(image).read_bytes())
    results = {}
    for at, form in enumerate(forms.all_forms()):
        results[f"k{at}"] = driver.run(module, f"k{at}", form)
    numpy.savez_compressed(out, **results)
    print(f"{len(results)} forms, {len(results) * cases.SETS} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nothing that is thrown leaves the emulator's driver, nor kpc-emulate.   borders.py DRIVER KPC-EMULATE"""

import ctypes
import resource
import subprocess
import sys
import tempfile

UNKNOWN, OUT_OF_MEMORY, BAD_VALUE = 999, 2, 1
TEXT = b""".version 8.0 .target sm_90a .address_size 64
.visible .entry k(.param .u64 out) { .reg .b64 %rd<4>; .local .align 8 .b8 much[400000];
mov.u64 %rd1, much; st.local.u64 [%rd1], %rd1; ret; }\0"""


def main():
    driver = ctypes.CDLL(sys.argv[1])
    failed = 0

    def expect(what, code, *wanted):
        nonlocal failed
        if code not in wanted:
            failed += 1
            print(f"{what}: {code}, not {wanted}")

    def expect_refusal(what, *words, says):
        done = subprocess.run([sys.argv[2], *words], capture_output=True, text=True)
        expect(what, done.returncode, 2)
        expect(f"{what} says '{done.stderr.strip()}'", says in done.stderr, True)

    with tempfile.TemporaryDirectory() as folder:
        text = f"{folder}/k.ptx"
        with open(text, "wb") as file:
            file.write(TEXT[:-1])
        expect_refusal("a folder", folder, says="cannot read")
        expect_refusal("a folder's content", text, "--entry", "k", "--arg", f"in:{folder}", says="cannot read")

    driver.cuInit(0)
    out, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    expect("no name", driver.cuGetProcAddress(None, ctypes.byref(out), 12000, ctypes.c_uint64(0), None), UNKNOWN)
    expect("load", driver.cuModuleLoadData(ctypes.byref(module), TEXT), 0)
    expect("function", driver.cuModuleGetFunction(ctypes.byref(function), module, b"k"), 0)
    # 32 warps of 12 MB: more than the process may have.
    size = 200 << 20
    resource.setrlimit(resource.RLIMIT_AS, (int(open("/proc/self/statm").read().split()[0]) * 4096 + size, resource.RLIM_INFINITY))
    value = ctypes.c_uint64(0)
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(value))
    expect("launch", driver.cuLaunchKernel(function, 1, 1, 1, 1024, 1, 1, 0, None, parameters, None), BAD_VALUE, OUT_OF_MEMORY)
    print(f"{failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

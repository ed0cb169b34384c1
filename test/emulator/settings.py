#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The environment of the emulator's driver: what is wrong is told by cuInit.   settings.py DRIVER"""

import ctypes
import os
import subprocess
import sys
import tempfile

INVALID_VALUE, INVALID_PTX, TIMEOUT = 1, 218, 702
HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n"
FOREVER = HEAD + ".visible .entry k() {\nL: bra L; }\n"
WRONG = [
    ("KPC_EMULATE_TARGET", "sm_7", None),  # with the list of all targets
    ("KPC_EMULATE_TARGET", "90", None),
    ("KPC_EMULATE_THREADS", "0", "a number of threads from 1 to 1024"),
    ("KPC_EMULATE_THREADS", "two", "a number of threads from 1 to 1024"),
    ("KPC_EMULATE_STRICT", "no", "0 or 1"),
    ("KPC_EMULATE_SEED", "-1", "a whole number from 0 to 4294967295"),
    ("KPC_EMULATE_SEED", "1x", "a whole number from 0 to 4294967295"),
    ("KPC_EMULATE_MEMORY", "0", "a number of GiB from 1 to 1048576"),
    ("KPC_EMULATE_MEMORY", "16GiB", "a number of GiB from 1 to 1048576"),
    ("KPC_EMULATE_PTX", "/nowhere", "a folder that is there"),
    ("KPC_EMULATE_PTX", __file__, "a folder that is there"),
    ("KPC_EMULATE_TIME_LIMIT", "0", "a number of seconds, more than 0 and at most 1000000"),
    ("KPC_EMULATE_TIME_LIMIT", "soon", "a number of seconds, more than 0 and at most 1000000"),
]


def child(driver, what):
    """cuInit, and as `what` says a module and a launch: codes, and the driver's last text."""
    driver = ctypes.CDLL(driver)
    codes = [driver.cuInit(0)]
    log = ctypes.create_string_buffer(1000)
    module, function, pointer, text = (ctypes.c_void_p() for _ in range(4))
    if what == "allocate":
        codes.append(driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(16)))
    if what.startswith("log"):  # with the log's size
        size = int(what[3:])
        options, values = (ctypes.c_int * 2)(5, 6), (ctypes.c_void_p * 2)(ctypes.addressof(log), size)
        codes.append(driver.cuModuleLoadDataEx(ctypes.byref(module), FOREVER.encode(), 2, options, values))
    if what in ("load", "launch"):
        codes.append(driver.cuModuleLoadData(ctypes.byref(module), FOREVER.encode()))
    if what == "launch":
        codes.append(driver.cuModuleGetFunction(ctypes.byref(function), module, b"k"))
        codes.append(driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, None, None))
    driver.cuGetErrorString(codes[-1], ctypes.byref(text))
    print(*codes, ctypes.string_at(text.value).decode(), *([log.value.decode()] if what.startswith("log") else []), sep="|")


def main():
    failed = 0

    def expect(settings, what, wanted):
        nonlocal failed
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KPC_EMULATE_")}
        done = subprocess.run([sys.executable, __file__, sys.argv[1], what], env=dict(environment, **settings), capture_output=True,
                              text=True, timeout=60)
        if done.stdout.strip() != wanted:
            failed += 1
            print(f"{settings}, {what}: {done.stdout.strip()}{done.stderr}\ninstead of {wanted}")

    targets = ("one of sm_50, sm_52, sm_53, sm_60, sm_61, sm_62, sm_70, sm_72, sm_75, sm_80, sm_86, sm_87, sm_88, sm_89, sm_90, sm_90a, "
               "sm_100, sm_100a, sm_100f, sm_101, sm_101a, sm_101f, sm_103, sm_103a, sm_103f, sm_110, sm_110a, sm_110f, sm_120, sm_120a, "
               "sm_120f, sm_121, sm_121a, sm_121f")
    for name, value, must in WRONG:
        expect({name: value}, "", f"{INVALID_VALUE}|{name} is '{value}': it must be {must or targets}")
    both = {"KPC_EMULATE_SEED": "x", "KPC_EMULATE_STRICT": "y"}
    told = "KPC_EMULATE_STRICT is 'y': it must be 0 or 1; KPC_EMULATE_SEED is 'x': it must be a whole number from 0 to 4294967295"
    expect(both, "", f"{INVALID_VALUE}|{told}")
    expect(both, "allocate", f"{INVALID_VALUE}|{INVALID_VALUE}|{told}")  # for who does not look at cuInit's result
    with tempfile.TemporaryDirectory() as folder:
        right = {"KPC_EMULATE_TARGET": "sm_90", "KPC_EMULATE_THREADS": "2", "KPC_EMULATE_STRICT": "0", "KPC_EMULATE_SEED": "3",
                 "KPC_EMULATE_MEMORY": "1", "KPC_EMULATE_PTX": folder, "KPC_EMULATE_TIME_LIMIT": "0.2"}
        expect(right, "load", "0|0|no error")
        expect(dict.fromkeys(right, ""), "load", "0|0|no error")
    for target, capability in (("sm_80", "8.0"), ("sm_100a", "10.0")):
        why = f"line 2: .target sm_90a does not run on a chip of compute capability {capability}"
        refused = f"0|{INVALID_PTX}|the emulator cannot take this PTX"
        expect({"KPC_EMULATE_TARGET": target}, "load", f"{refused}:\n{why}")
        # What the log says is not said twice, unless it has no room for all of it.
        expect({"KPC_EMULATE_TARGET": target}, "log1000", f"{refused}|{why}")
        expect({"KPC_EMULATE_TARGET": target}, "log12", f"{refused}:\n{why}|{why[:11]}")
    expect({"KPC_EMULATE_TIME_LIMIT": "0.5"}, "launch", f"0|0|0|{TIMEOUT}|time-limit: kernel k, block (0, 0, 0): warps run: 0 (bra, line 5); "
           "no warp has ended. 0 of 1 blocks have ended")
    print(f"{len(WRONG)} wrong settings, {failed} not as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(child(*sys.argv[1:]) if len(sys.argv) > 2 else main())

#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What kpc-emulate says to arguments that do not fit a kernel, and its exit codes.   tool.py KPC-EMULATE"""

import pathlib
import subprocess
import sys
import tempfile

TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u32 n, .param .f32 by, .param .align 8 .b8 more[16]) {
.reg .b32 %r<4>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [x]; ld.param.b32 %r1, [by];
st.global.b32 [%rd1], %r1;
ret; }
.visible .entry forever() {
L: bra L; }
.visible .entry waits() {
bar.sync 0, 64; ret; }
"""
SIGNATURE = "\n  scale(.u64 x, .u32 n, .f32 by, .align 8 .b8 more[16])\n"
RIGHT = ["out:4:/dev/null", "i32:7", "f32:1.5", "hex:" + "00" * 16]
KINDS = "i8:, i16:, i32:, i64:, f32:, f64:, hex:, in:, inout:, out:"


def changed(at, text):
    return [*RIGHT[:at], text, *RIGHT[at + 1:]]


REFUSED = [
    (RIGHT[:2], "scale has 4 parameters, and there are 2 --arg: argument 2, '.f32 by', is missing"),
    ([], "scale has 4 parameters, and there are 0 --arg: argument 0, '.u64 x', is missing"),
    ([*RIGHT, "i32:9"], "scale has 4 parameters, and there are 5 --arg: 'i32:9' is one too many"),
    (changed(1, "i64:7"), "argument 1, '.u32 n', takes i32: or hex: with 8 digits, not 'i64:7'"),
    (changed(1, "f32:7"), "argument 1, '.u32 n', takes i32: or hex: with 8 digits, not 'f32:7'"),
    (changed(1, "in:/dev/null"), "argument 1, '.u32 n', takes i32: or hex: with 8 digits, not 'in:/dev/null'"),
    (changed(1, "hex:0000"), "argument 1, '.u32 n', takes i32: or hex: with 8 digits, not 'hex:0000'"),
    (changed(2, "i32:1"), "argument 2, '.f32 by', takes f32: or hex: with 8 digits, not 'i32:1'"),
    (changed(0, "i32:0"), "argument 0, '.u64 x', takes in:, inout:, out:, i64: or hex: with 16 digits, not 'i32:0'"),
    (changed(3, "i64:0"), "argument 3, '.align 8 .b8 more[16]', takes hex: with 32 digits, not 'i64:0'"),
    (changed(1, "7"), f"argument 1, '7', begins with none of {KINDS}"),
    (changed(1, "int:7"), f"argument 1, 'int:7', begins with none of {KINDS}"),
    (changed(1, "i32:seven"), "argument 1, 'i32:seven': 'seven' is no whole number of 64 bits"),
    (changed(1, "i32:4294967296"), "argument 1, 'i32:4294967296': '4294967296' does not fit 32 bits"),
    (changed(1, "i32:-2147483649"), "argument 1, 'i32:-2147483649': '-2147483649' does not fit 32 bits"),
    (changed(2, "f32:x"), "argument 2, 'f32:x': 'x' is no number of 32 bits"),
    (changed(3, "hex:0g"), "argument 3, 'hex:0g': '0g' are no hexadecimal digits"),
    (changed(3, "hex:000"), "argument 3, 'hex:000': the digits are no whole bytes"),
    (changed(0, "in:nowhere.bin"), "argument 0, 'in:nowhere.bin': cannot read nowhere.bin"),
    (changed(0, "in:/"), "argument 0, 'in:/': cannot read /"),
    (changed(0, "out:4"), "argument 0, 'out:4': it names no file to write to"),
    (changed(0, "out:four:/dev/null"), "argument 0, 'out:four:/dev/null': 'four' is no number of bytes"),
    (changed(0, "out:1000000000000:/dev/null"), "argument 0, 'out:1000000000000:/dev/null': there is no memory for it"),
]
OPTIONS = [
    (["--entry", "scales"], "there is no kernel scales; there is scale, forever, waits\n"),
    (["--grid", "1,x"], "--grid is one to three whole numbers, X,Y,Z, not '1,x'\n"),
    (["--threads", "0"], "--threads is 1 to 256, not '0'\n"),
    (["--time-limit", "0"], "--time-limit is a number of seconds, more than 0 and at most 1000000, not '0'\n"),
    (["--time-limit", "nan"], "--time-limit is a number of seconds, more than 0 and at most 1000000, not 'nan'\n"),
    (["--fastest", "1"], "unknown option --fastest\n"),
    (["--entry"], "--entry needs a value\n"),
    (["second.ptx"], "second.ptx is one text too many\n"),
]
# What is no PTX, and how the complaint about it goes on.
CUBIN = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xbe\x00" + bytes(44)
NO_PTX = [
    (CUBIN, "is a cubin, machine code of a GPU; the emulator runs PTX"),
    (CUBIN.replace(b"\xbe", b"\x3e"), "is an ELF file; the emulator runs PTX text\n"),
    (b"\x8bKPC\r\n\x1a\n" + bytes(56), "is a kpc artifact: `kpc run FILE --device emulate:sm_90a` runs it"),
    (b"\x08\x08\x12\x07pytorch\x3a\x00", "looks like an ONNX model: `kpc compile FILE --arch sm_90a --emit ptx`"),
    (b"\x50\xed\x55\xba" + bytes(12), "is a fat binary of CUDA's"),
    (b"\x93NUMPY\x01\x00v\x00{", "is no text"),
    (b"\n", "is empty\n"),
]


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder) / "k.ptx"
        text.write_text(TEXT)

        def expect(words, code, said, printed=""):
            nonlocal failed
            done = subprocess.run([sys.argv[1], text, *words], capture_output=True, text=True, timeout=60)
            if (done.returncode, done.stderr, done.stdout) != (code, said, printed):
                failed += 1
                print(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}instead of {code}\n{printed}{said}")

        for arguments, said in REFUSED:
            expect(["--entry", "scale", *(word for one in arguments for word in ("--arg", one))], 2, f"kpc-emulate: {said}{SIGNATURE}")
        for content, said in NO_PTX:
            other = pathlib.Path(folder) / "other"
            other.write_bytes(content)
            done = subprocess.run([sys.argv[1], other, "--entry", "k"], capture_output=True, text=True, timeout=60)
            if done.returncode != 1 or not done.stderr.startswith(f"kpc-emulate: {other} {said}"):
                failed += 1
                print(f"{content}: {done.returncode}\n{done.stdout}{done.stderr}instead of 1\n{said}")
        for words, said in OPTIONS:
            expect(words, 2, f"kpc-emulate: {said}")
        # What fits: any value of the size for what is untyped, and a buffer's address as a number.
        expect(["--entry", "scale", *(word for one in RIGHT for word in ("--arg", one))], 0, "")
        expect(["--entry", "scale", *(word for one in changed(1, "hex:07000000") for word in ("--arg", one))], 0, "")
        expect([], 0, "", "scale(.u64 x, .u32 n, .f32 by, .align 8 .b8 more[16]): 4 instructions, 32 bytes of parameters, "
               "0 bytes of shared memory\nforever(): 1 instructions, 0 bytes of parameters, 0 bytes of shared memory\n"
               "waits(): 2 instructions, 0 bytes of parameters, 0 bytes of shared memory\n")
        expect(["--entry", "waits", "--block", "32"], 1, "deadlock: kernel waits, block (0, 0, 0): barrier 0 has 32 of 64 threads; "
               "warps wait: 0 (bar.sync, line 12); no warp has ended\n")
        expect(["--entry", "forever", "--grid", "2", "--block", "64", "--time-limit", "0.5"], 3,
               "time-limit: kernel forever, block (0, 0, 0): warps run: 0, 1 (bra, line 10); no warp has ended. 0 of 2 blocks have "
               "ended\n")
    print(f"{len(REFUSED) + len(NO_PTX) + len(OPTIONS)} wrong uses, {failed} not as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast the emulator is.   speed.py KPC KPC-EMULATE DRIVER FOLDER [--resnet RESNET50.onnx]

Thread instructions a second of scalar code, FLOP a second of matrix instructions, both on one core and strict; seconds of a product
of 512x512x512 on wgmma with two cores; with --resnet, seconds of ResNet-50. Seconds are the processor's, so that other work on the
machine does not count. No test: it says what a machine gives.
"""

import argparse
import os
import pathlib
import resource
import subprocess

import emulated
import products

HEADER = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out) {
.reg .pred %p<8>; .reg .b32 %r<200>; .reg .b64 %rd<16>; .shared .align 1024 .b8 tile[49152];
mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.b32 %r3, 0; ld.param.u64 %rd0, [out]; mul.wide.u32 %rd1, %r1, 4; add.u64 %rd1, %rd1, %rd0;
mov.b32 %r10, 0f3F800000; mov.b32 %r11, 0f3F000000; mov.b32 %r12, 7; mov.b32 %r13, 0;
"""
FOOTER = "\nst.global.b32 [%rd1], %r10;\nret; }\n"


def loop(body, times):
    return HEADER + f"LOOP: {body}\nadd.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, {times}; @%p1 bra LOOP;" + FOOTER


def spent(command, environment=None):
    """Seconds of processors that a program takes."""
    def now():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    start = now()
    subprocess.run(command, check=True, env=environment)
    return now() - start


def seconds(program, text, folder, block):
    file = folder / "speed.ptx"
    file.write_text(text)
    return min(spent([program, file, "--entry", "k", "--grid", "1", "--block", str(block), "--threads", "1", "--arg",
                      f"out:4096:{folder / 'out'}"]) for _ in range(3))


def rate(program, body, folder, block, work, times):
    """Units of work of one turn of the loop a second; what a kernel takes that does nothing is taken off."""
    nothing = seconds(program, loop(body, 1), folder, block)
    return work * times / max(1e-9, seconds(program, loop(body, times), folder, block) - nothing)


def scalar(program, folder):
    # Two of three are floating point, as in loops over numbers; one branch and its counter for sixteen.
    body = "\n".join("fma.rn.f32 %r10, %r10, %r11, %r11; add.f32 %r11, %r11, %r10; mad.lo.u32 %r13, %r12, %r13, %r3; xor.b32 %r12, %r12, %r13;"
                     for _ in range(4))
    instructions, threads = 16 + 3, 256
    value = rate(program, body, folder, threads, instructions * threads, 100_000)
    print(f"scalar code: {value / 1e6:.0f} million thread instructions a second on one core")
    body = ("and.b32 %r5, %r3, 63; mad.lo.u32 %r4, %r1, 4, %r2; st.shared.b32 [%r4], %r10; bar.sync 0; ld.shared.b32 %r11, [%r4]; bar.sync 0;"
            "fma.rn.f32 %r10, %r10, %r11, %r11;")
    value = rate(program, body, folder, threads, 10 * threads, 20_000)
    print(f"with shared memory and barriers: {value / 1e6:.0f} million")


def matrices(program, folder):
    mma = ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r20, %r21, %r22, %r23}, {%r12, %r12, %r12, %r12}, {%r12, %r12}, "
           "{%r13, %r13, %r13, %r13};")
    value = rate(program, mma, folder, 32, 2 * 16 * 8 * 16, 20_000)
    print(f"mma.sync of f16: {value / 1e9:.2f} GFLOP a second on one core")
    for columns in (64, 256):
        names = ", ".join(f"%r{20 + at}" for at in range(columns // 2))
        fill = ("".join(f"st.shared.v4.b32 [%r4+{at * 2048}], {{%r12, %r12, %r12, %r12}};" for at in range(24)))
        wgmma = ("setp.ne.u32 %p3, %r3, 0; @%p3 bra GO; shl.b32 %r4, %r1, 4; add.u32 %r4, %r4, %r2;" + fill +
                 "fence.proxy.async.shared::cta; bar.sync 0; shr.u32 %r5, %r2, 4; cvt.u64.u32 %rd4, %r5; or.b64 %rd4, %rd4, 0x4000004000010000;"
                 "GO: wgmma.fence.sync.aligned; setp.ne.u32 %p2, %r3, 0;"
                 f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.f16.f16 {{{names}}}, %rd4, %rd4, %p2, 1, 1, 0, 0;"
                 "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;")
        times = 40_000 // columns
        print(f"wgmma of 64x{columns}x16, f16: {rate(program, wgmma, folder, 128, 2 * 64 * columns * 16, times) / 1e9:.2f} GFLOP")


def timed(here, case, artifact, threads, strict="1", more=()):
    environment = dict(here.environment, KPC_EMULATE_THREADS=threads, KPC_EMULATE_STRICT=strict)
    return spent([here.kpc, "run", artifact, "-i", "random", *emulated.dims(case.sizes), "--device", "cuda:0", "--quiet", *more], environment)


def models(options, folder):
    here = emulated.Emulated(options.kpc, options.driver, "sm_90a", folder)
    case = products.case("product512", "bf16", 512, 512, 512, False, False, False)
    _, artifact = here.compile(case)
    print(f"512x512x512 on wgmma, strict: {timed(here, case, artifact, '2'):.2f} s of two cores together")
    if options.resnet:
        artifact = folder / "resnet50.kpc"
        subprocess.run([options.kpc, "compile", options.resnet, "--arch", "sm_90a", "--precision", "fp16", "-o", artifact, "--quiet"], check=True)
        case.sizes = {"batch": 1}
        for threads, strict in (("1", "1"), ("1", "0")):
            print(f"ResNet-50, strict {strict}: {timed(here, case, artifact, threads, strict):.1f} s")


def main():
    parser = argparse.ArgumentParser()
    for name in ("kpc", "emulate", "driver", "folder"):
        parser.add_argument(name)
    parser.add_argument("--resnet")
    options = parser.parse_args()
    folder = pathlib.Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{os.cpu_count()} cores")
    scalar(options.emulate, folder)
    matrices(options.emulate, folder)
    models(options, folder)


if __name__ == "__main__":
    main()

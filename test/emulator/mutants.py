#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Breaks kernels on purpose: the emulator must notice.   mutants.py KPC DRIVER FOLDER [--kernel NAME] [--all]

Every fence, wait, commit, arrive, count, phase and swizzle of a kernel's PTX is removed or altered, one at a time, and the
model is run with that text. A mutant is found if the emulator names a finding, or if the result is wrong. One that
survives must be equivalent, and the reason stand in EQUIVALENT. --all prints each mutant.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

import products

try:
    from onnx import save
except ImportError:
    print("SKIPPED: onnx is not installed")
    sys.exit(77)

# name: model's arguments (products.py), rows, schedule, target. More steps along k than the ring has slots, more tiles than blocks.
KERNELS = {"product": (("bf16", 320, 136, False, False, False), 130, "gemm 64x64x64 slots 3 group 8", "sm_90a"),
           "epilogue": (("fp16", 320, 136, True, True, False), 300, "gemm 64x64x64 slots 4 group 8", "sm_90a"),
           "cluster": (("bf16", 1024, 128, False, False, False), 300, "gemm 64x64x64 slots 2 group 6 split 4", "sm_90a"),
           "tensor_memory": (("bf16", 320, 136, True, False, False), 600, "gemm 128x64x64 slots 2 group 2", "sm_100a"),
           "pair": (("fp16", 320, 264, False, False, False), 600, "gemm 256x128x64 slots 2 group 2 pair", "sm_100a")}

# What changes nothing that can be seen: kernel ("": any), the mutant's description, how many there may be (0: any number), why.
EQUIVALENT = [
    ("", r"bar\.warp\.sync.* removed", 0, "the lanes of a warp go in step here, and the branches around it touch no memory"),
    ("", r"wgmma\.fence.* removed \(no register touched\)", 0, "no register of the wgmma behind it was touched since the last fence"),
    ("", r"setmaxnreg.* removed", 0, "nobody here asks for more registers than are free"),
    ("", r"tcgen05\.relinquish.* removed", 1, "no other kernel asks for tensor memory"),
    ("", r"tcgen05\.fence.* removed", 4, "tensor memory is taken and given back with nothing under way in it"),
    *[(kernel, r"^bar\.sync removed", 1, "taking tensor memory brings a barrier that stands behind it")
      for kernel in ("tensor_memory", "pair")],
    *[(kernel, r"^try_wait (passed over|for the other phase)", 4, "who copies stays until all is read, as who finishes does")
      for kernel in ("tensor_memory", "pair")],
    ("pair", r"tcgen05\.wait::ld.* removed", 1, "registers are waited for by their use, and the last part's wait is in front of the release"),
    ("cluster", r"^try_wait (passed over|at the next slot)", 3, "the first fill of a slot waits for nobody"),
    ("cluster", r"^mbarrier\.arrive(\S* removed| twice)", 2, "a block has one tile: nobody fills a slot after its last step"),
    ("cluster", r"wait_group\.read (removed|for one)|^bar\.sync removed", 3, "a block has one tile: nothing was stored before"),
]


def last_value(lines, at, register):
    """The number that the text last moved into a register."""
    for line in reversed(lines[:at]):
        found = re.search(r"mov\.(?:b|u)32\s+" + re.escape(register) + r", (-?\d+);", line)
        if found:
            return int(found[1])
    return None


def operand(lines, at, text):
    return int(text) if re.fullmatch(r"-?\d+", text) else last_value(lines, at, text)


def shifted(address, by):
    """"[%r1+8]" with another offset."""
    base, sign, offset = re.fullmatch(r"\[([^+\-\]]+)([+-]?)(\d*)\]", address).groups()
    return f"[{base}+{(int(offset or 0) if sign != '-' else -int(offset)) + by}]"


REMOVED = re.compile(r"(fence\.proxy|fence\.mbarrier_init|wgmma\.(fence|commit|wait)|cp\.async\.(bulk\.)?(commit|wait)|bar\.(sync|arrive)|"
                     r"bar\.warp|barrier\.cluster\.(arrive|wait)|mbarrier\.(init|arrive)|setmaxnreg|cp\.async\.bulk\.tensor|cp\.async\.c[ag]|"
                     r"tcgen05\.(alloc|fence|commit|wait|dealloc|mma|relinquish))\S*")


def mutations(lines):
    """(line number, description, new text of the line)"""
    for at, line in enumerate(lines):
        code = line.split("//")[0]
        if not (found := REMOVED.search(code)) and "try_wait" not in code and "or.b64" not in code:
            continue
        if found:
            loops = "wgmma.fence" in code and any("wgmma.fence" in before for before in lines[:at])
            yield at, f"{found[0]} removed{' (no register touched)' if loops else ''}", ""
        if match := re.search(r"(wait_group(?:\.read|\.sync\.aligned)?\s+)(\d+);", code):
            yield at, f"{found[0]} for one group fewer", code.replace(match[0], f"{match[1]}{int(match[2]) + 1};")
        if match := re.search(r"bar\.(?:sync|arrive)\s+\d+, (\d+);", code):
            for by in (-32, 32):
                yield at, f"{found[0]} for {by:+} threads", re.sub(r"\d+;", f"{int(match[1]) + by};", code)
        if "barrier.cluster.arrive" in code:
            yield at, "barrier.cluster.arrive that does not release", code.replace("arrive", "arrive.relaxed")
        if match := re.search(r"mbarrier\.init\S*\s+(\[\S+\]), (%?\w+);", code):
            count = operand(lines, at, match[2])
            for by in (-1, 1):
                if count is not None and count + by > 0:
                    yield at, f"mbarrier.init with count {by:+}", code.replace(f"{match[2]};", f"{count + by};")
        if match := re.search(r"mbarrier\.arrive\.expect_tx\S* (?:%\w+|_), (\[\S+\]), (%?\w+);", code):
            count = operand(lines, at, match[2])
            for by in (-16, 16):
                if count is not None:
                    yield at, f"expect_tx of {by:+} bytes", code.replace(f"{match[2]};", f"{count + by};")
            yield at, "expect_tx at the next slot", code.replace(match[1], shifted(match[1], 16))
        elif match := re.search(r"mbarrier\.arrive\S* (?:%\w+|_), (\[\S+\]);", code):
            yield at, "mbarrier.arrive twice", code + code
            yield at, "mbarrier.arrive at the other barrier", code.replace(match[1], shifted(match[1], -8))
            yield at, "mbarrier.arrive at the next slot", code.replace(match[1], shifted(match[1], 16))
        if match := re.search(r"tcgen05\.commit\S*\s+(\[\S+\])[,;]", code):
            yield at, "commit twice", code + code
            yield at, "commit to the other barrier", code.replace(match[1], shifted(match[1], -8))
            yield at, "commit to the next slot", code.replace(match[1], shifted(match[1], 16))
        if match := re.search(r"(mbarrier\.try_wait\S*) (\w+), (\[\S+\]), (%?\w+)(, \w+)?;", code):
            yield at, "try_wait passed over", f"setp.eq.u32 {match[2]}, 0, 0;"
            yield at, "try_wait for the other phase", ("{ .reg .b32 other; xor.b32 other, " + match[4] + ", 1; " +
                                                       code.replace(match[4] + ("," if match[5] else ";"),
                                                                    "other" + ("," if match[5] else ";"), 1) + " }")
            yield at, "try_wait at the next slot", code.replace(match[3], shifted(match[3], 16))
        if match := re.search(r"cp\.async\.bulk\.tensor\S*global\S*mbarrier\S* (\[[^\]]+\]), \[.*\], (\[[^\]]+\])[,;]", code):
            yield at, "copy reports at the next slot", code.replace(match[2], shifted(match[2], 16))
            yield at, "copy 1024 bytes further", code.replace(match[1], shifted(match[1], 1024), 1)
        if match := re.search(r"or\.b64\s+%rd\d+, %rd\d+, (46116862\d+);", code):
            yield at, "descriptor of another swizzle", code.replace(match[1], str(int(match[1]) ^ 3 << 62))


def run(options, kernel, artifact, model, rows, folder):
    environment = dict(os.environ, KPC_CUDA_DRIVER=options.driver, KPC_EMULATE_TARGET=KERNELS[kernel][3], KPC_EMULATE_PTX=str(folder))
    try:
        done = subprocess.run([options.kpc, "verify", artifact, "--model", model, "-i", "random", "--dim", f"rows={rows}",
                               "--device", "cuda:0", "--no-cache"], env=environment, capture_output=True, text=True,
                              errors="replace", timeout=60)
    except subprocess.TimeoutExpired:
        return "hang"
    if done.returncode == 0:
        return ""
    if finding := re.search(r"emulator: ([a-z-]+):", done.stderr):
        return finding[1]
    return "wrong result" if done.returncode == 4 else f"exit code {done.returncode}"


def check(options, name):
    arguments, rows, schedule, target = KERNELS[name]
    folder = pathlib.Path(options.folder) / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    source, artifact, text = folder / "model.onnx", folder / "model.kpc", folder / "model.ptx"
    (folder / "schedule").write_text(f".* = {schedule}\n")
    save(products.model(products.TYPES[arguments[0]], *arguments[1:]), source)
    for more in (["-o", artifact], ["--emit", "ptx", "-o", text]):
        subprocess.run([options.kpc, "compile", source, "--arch", target, "--dim", "rows=1..4096:opt=256", "--no-cache",
                        "--quiet", "--schedule", folder / "schedule", *more], check=True)
    # The text of the module that has tensor-core instructions.
    modules = re.split(r"(?m)^(?=\.version)", text.read_text())
    module = max(modules, key=lambda one: len(re.findall(r"mbarrier|wgmma|tcgen05|cp\.async", one)))
    lines, entry = module.split("\n"), re.search(r"\.entry (\w+)", module)[1]
    if found := run(options, name, artifact, source, rows, folder / "none"):
        print(f"{name}: the kernel itself: {found}")
        return False
    everything = list(mutations(lines))

    def one(number):
        at, what, new = everything[number]
        here = folder / str(number)
        here.mkdir()
        (here / f"{entry}.ptx").write_text("\n".join(lines[:at] + [new] + lines[at + 1:]))
        found = run(options, name, artifact, source, rows, here)
        shutil.rmtree(here)
        return found

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(one, range(len(everything))))
    survivors, equivalents, allowed = [], 0, collections.Counter()
    for (at, what, _), found in zip(everything, results):
        if options.all:
            print(f"  line {at + 1}: {what}: {found or '-'}")
        if found:
            continue
        for number, (kernel, pattern, most, _) in enumerate(EQUIVALENT):
            if kernel in ("", name) and re.search(pattern, what) and (most == 0 or allowed[number] < most):
                allowed[number] += 1
                equivalents += 1
                break
        else:
            survivors.append(f"line {at + 1}: {what}: {lines[at].strip()}")
    kinds = collections.Counter(found for found in results if found)
    print(f"{name}: {len(everything)} mutants, {equivalents} equivalent, {len(survivors)} survived")
    for kind, count in kinds.most_common():
        print(f"  {count:4} {kind}")
    for survivor in survivors:
        print(f"  survived: {survivor}")
    return not survivors and "hang" not in kinds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kpc")
    parser.add_argument("driver")
    parser.add_argument("folder")
    parser.add_argument("--kernel", choices=list(KERNELS))
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    names = [options.kernel] if options.kernel else list(KERNELS)
    return 0 if all([check(options, name) for name in names]) else 1


if __name__ == "__main__":
    sys.exit(main())

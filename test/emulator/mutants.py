#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Breaks kernels on purpose: the emulator must notice.   mutants.py KPC DRIVER FOLDER [--kernel NAME]… [--all]

The kernel that the builder made is right (`kpc verify`). Then each of mutations.py is made of its PTX, one at a time, and the model
is run with that text. A mutant is found if the emulator names a finding, or if a byte of the result is another. One that survives
must be equivalent, and the reason stand in EQUIVALENT, or be where no thread of this model comes. --all prints each mutant.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys

import attention
import attention_windows
import block_scales
import conv_halo
import convolutions
import decode
import emulated
import fp8
import fp8_convolutions
import gates
import gemv
import mma_sync
import mutations
import products
import rows

# name: target, case. More steps along k than the ring has stages, more tiles than blocks.
PRODUCT = ("bf16", 130, 320, 136, False, False, False)
KERNELS = {
    "product": ("sm_90a", lambda: products.case("product", *PRODUCT, schedule="gemm 64x64x64 stages 3 group_m 8")),
    "epilogue": ("sm_90a", lambda: products.case("epilogue", "fp16", 300, 320, 136, True, True, False,
                                                 schedule="gemm 64x64x64 stages 4 group_m 8")),
    # As many steps as stages: only the vectors' own barriers keep who copies from those that a tile's end still reads.
    "vectors": ("sm_90a", lambda: products.case("vectors", "fp16", 300, 320, 136, True, True, False,
                                                schedule="gemm 64x64x64 stages 5 group_m 8")),
    "cluster": ("sm_90a", lambda: products.case("cluster", "bf16", 300, 1024, 128, False, False, False,
                                                schedule="gemm 64x64x64 stages 2 group_m 6 split_k 4")),
    "turns": ("sm_90a", lambda: products.case("turns", "bf16", 200, 200, 392, True, False, False,
                                              schedule="gemm 64x128x64 stages 3 group_m 8 pingpong")),
    "tensor_memory": ("sm_100a", lambda: products.case("tensor_memory", "bf16", 600, 320, 136, True, False, False,
                                                       schedule="gemm 128x64x64 stages 2 group_m 2")),
    "pair": ("sm_100a", lambda: products.case("pair", "fp16", 600, 320, 264, False, False, False,
                                              schedule="gemm 256x128x64 stages 2 group_m 2 pair")),
    "fp8": ("sm_100a", lambda: fp8.gemm((600, 136, 640), "rows", "bf16", "e4m3", "e5m2", "gemm 128x64x128 stages 2 group_m 2", 0)),
    "fp8_pair": ("sm_100a", lambda: fp8.gemm((600, 264, 640), "rows", "fp16", "e4m3", "e4m3", "gemm 256x128x128 stages 2 group_m 2 pair", 0)),
    "block_scales": ("sm_100a", lambda: block_scales.case("mxfp8", 600, 264, 288, "gemm 128x128x128 stages 2 group_m 2")),
    "block_scales_fp4": ("sm_100a", lambda: block_scales.case("nvfp4", 600, 264, 576, "gemm 128x128x128 stages 2 group_m 2")),
    "convolution": ("sm_90a", lambda: convolutions.case(convolutions.models.SMALL[0], "conv 64x64x64 stages 2 group_m 8")),
    "fp8_blocks": ("sm_90a", lambda: fp8.gemm((300, 264, 640), "blocks", "bf16", "e4m3", "e4m3", "gemm 64x64x128 stages 2 group_m 2", 0)),
    "fp8_convolution": ("sm_90a", lambda: fp8_convolutions.case(2, "conv ", "conv 64x64x128 stages 2 group_m 1")),
    "conv_tensor_memory": ("sm_100a", lambda: convolutions.case(convolutions.models.SMALL[10], "conv 128x64x64 stages 2 group_m 2")),
    "conv_pair": ("sm_100a", lambda: convolutions.case(convolutions.models.SMALL[10], "conv 256x128x64 stages 2 group_m 2 pair")),
    "gate_pair": ("sm_100a", lambda: gates.case("gate_pair", gates.Gate("gate_pair", "fp16", "Sigmoid", 600, 320, 264, bias=True,
                                                                       schedule="gemm 256x256x64 stages 2 group_m 2 pair"))),
    "attention": ("sm_90a", lambda: attention.case("attention", "attention", "fp16", 1, 2, 1, 150, 700, 64, False, "", False, 0)),
    "causal": ("sm_90a", lambda: attention.case("attention", "causal", "fp16", 1, 1, 1, 600, 600, 64, True, "", False, 0)),
    "window": ("sm_90a", lambda: attention_windows.case("attention", attention_windows.Window("window", 300, 900, 500))),
    "window_mmasync": ("sm_80", lambda: attention_windows.case("attention_mmasync", attention_windows.Window(
        "window_mmasync", 70, 300, 170, depth=32, schedule="attention_mmasync 64x32 warpgroup 64 stages 2 queries shared"))),
    "attention_tensor_memory": ("sm_100a", lambda: attention.case("attention_tcgen05", "attention_tensor_memory", "fp16", 1, 1, 1, 150, 500, 64, False, "",
                                                                  False, 0, schedule="attention_tcgen05 256x128 stages 2 fma 2")),
    "attention_mmasync": ("sm_80", lambda: attention.case("attention_mmasync", "attention_mmasync", "fp16", 1, 2, 1, 70, 200, 32, True, "", False, 0, 64,
                                                          schedule="attention_mmasync 64x32 warpgroup 64 stages 2 queries shared")),
    "attention_one_stage": ("sm_80", lambda: attention.case("attention_mmasync", "attention_one_stage", "fp16", 1, 1, 1, 70, 300, 32, False, "", False, 0,
                                                         schedule="attention_mmasync 64x32 warpgroup 64 stages 1 queries registers")),
    "decode": ("sm_80", lambda: attention.case("decode", "decode", "fp16", 1, 8, 2, 1, 1300, 64, False, "", False, 0)),
    "mma_sync": ("sm_80", lambda: products.case("mma_sync", "fp16", 150, 200, 72, True, False, False,
                                                schedule="mmasync 64x64x32 warpgroup 64x64 stages 3 group_m 1")),
    # More tiles than warpgroups of all blocks, so that stages are filled again.
    "conv_halo": ("sm_80", lambda: conv_halo.case(conv_halo.Case((13, 33), 32, 64, (5, 5), batch=1), 0, "4x16x64 warpgroups 1 stages 2")),
    "conv_halo_one_stage": ("sm_80", lambda: conv_halo.case(conv_halo.Case((13, 65), 32, 64, (5, 5), batch=1), 0, "4x16x64 warpgroups 2 stages 1")),
    "gemv": ("sm_90a", lambda: gemv.case(2, 1096, 2200, "bf16", True, False, 0)),
    "rows": ("sm_80", lambda: rows.case("norm_residual", 3, 768, "fp16", False)),
    "rows_cluster": ("sm_90a", lambda: rows.case("softmax", 1, 40000, "fp16", False)),
    "rows_walked": ("sm_90a", lambda: rows.case("softmax", 1, 300001, "fp16", False))}

# Those whose sums are in tensor memory.
TENSOR_MEMORY = ("tensor_memory", "pair", "fp8", "fp8_pair", "block_scales", "block_scales_fp4", "conv_tensor_memory", "conv_pair", "gate_pair",
                 "attention_tensor_memory")

# What changes nothing that can be seen: kernel ("": any), the mutant's description, how many there may be (0: any number), why.
EQUIVALENT = [
    ("", r"bar\.warp\.sync.* removed", 0, "the lanes of a warp go in step here, and the branches around it touch no memory"),
    ("", r"wgmma\.fence.* removed \(no register touched\)", 0, "no register of the wgmma behind it was touched since the last fence"),
    ("", r"setmaxnreg.* removed", 0, "nobody here asks for more registers than are free"),
    ("", r"tcgen05\.relinquish.* removed", 1, "no other kernel asks for tensor memory"),
    *[(kernel, r"tcgen05\.fence::after\S* removed", 2, "the fence of a copy of scales stands behind that of the accumulators, or of the other copy")
      for kernel in ("block_scales", "block_scales_fp4")],
    ("", r"tcgen05\.fence.* removed", 4, "tensor memory is taken and given back with nothing under way in it"),
    *[(kernel, r"^bar\.sync removed", 1, "taking tensor memory brings a barrier that stands behind it")
      for kernel in TENSOR_MEMORY],
    *[(kernel, r"^try_wait (passed over|for the other phase)", 4, "who copies stays until all is read, as who finishes does")
      for kernel in TENSOR_MEMORY],
    *[(kernel, r"^xor left out", 2, "the phase of such a wait") for kernel in TENSOR_MEMORY],
    *[(kernel, r"tcgen05\.wait::ld.* removed", 1, "registers are waited for by their use, and the last part's wait is in front of the release")
      for kernel in ("pair", "fp8_pair", "block_scales", "block_scales_fp4")],
    ("conv_pair", r"tcgen05\.wait::ld.* removed", 1, "the same"),
    ("gate_pair", r"tcgen05\.wait::ld.* removed", 8, "both sums of a part are waited for twice"),
    *[(kernel, r"^try_wait at the next stage", 1, "who copies stays until all is read, as who finishes does")
      for kernel in ("conv_tensor_memory", "conv_pair")],
    # Of the two parts of powers the later one's product says that both are over. Who waits for powers waits for all that came before them:
    # scores that were read, room for the next ones. So one of two fences in a row, or of two waits, may go.
    ("attention_tensor_memory", r"^try_wait (passed over|for the other phase|at the next stage)", 41,
     "the first fill of a stage waits for nobody, and most other waits stand behind a later one"),
    ("attention_tensor_memory", r"^xor left out", 4, "the phase of such a wait"),
    ("attention_tensor_memory", r"^tcgen05\.fence\S* removed", 9, "another fence stands behind the same wait, or behind the next one"),
    ("attention_tensor_memory", r"^commit twice", 6, "nobody waits for the last arrivals"),
    ("attention_tensor_memory", r"^tcgen05\.wait::ld\S* removed", 1, "registers are waited for by their use, and sums are not written again"),
    ("turns", r"^bar\.sync removed", 1, "the turn behind the last tile is waited for by who does nothing in it"),
    ("epilogue", r"^mbarrier\.init with count -1", 2, "the ring, of fewer stages than a tile has steps, keeps who copies vectors back"),
    ("epilogue", r"^try_wait passed over", 1, "the same: 'vectors' has a ring that does not"),
    ("vectors", r"^try_wait at the next stage", 4, "the next stage of the same round was filled, too, and is released later"),
    ("cluster", r"^try_wait (passed over|at the next stage)", 3, "the first fill of a stage waits for nobody"),
    ("cluster", r"^mbarrier\.arrive(\S* removed| twice)", 2, "a block has one tile: nobody fills a stage after its last step"),
    ("cluster", r"wait_group\.read (removed|for one)|^bar\.sync removed", 3, "a block has one tile: nothing was stored before"),
    ("convolution", r"^mbarrier\.arrive(\S* removed| twice| at the next stage)", 3, "a block has one tile: nobody fills a stage after its last step"),
    # A block has one tile of queries: each of its stages is filled once, and nobody waits for the last arrivals at a ring.
    ("attention", r"^mbarrier\.init with count", 4, "nobody waits for queries to be read"),
    ("attention", r"^try_wait (passed over|at the next stage)", 7, "the first fill of a stage waits for nobody"),
    ("attention", r"^mbarrier\.arrive(\S* removed| twice| at the (other barrier|next stage))", 9, "nobody waits for the last arrivals"),
    ("attention", r"wait_group\.read (removed|for one)|^bar\.sync removed", 3, "nothing was stored before"),
    *[(kernel, *rest) for kernel in ("causal", "window") for rest in (
        (r"^mbarrier\.init with count -1", 2, "nobody waits for queries to be read"),
        (r"^try_wait passed over", 4, "the first fill of a stage waits for nobody, and who copies stays until all is read"),
        (r"^mbarrier\.arrive(\S* removed| twice| at the other barrier)", 7, "nobody waits for the last arrivals"))],
    ("mma_sync", r"^bar\.sync removed", 2, "one stands before all else, and one where shared memory is not written any more"),
    ("mma_sync", r"^cp\.async\.wait_group (removed|for one)", 2, "the groups that are left are empty"),
    # With one stage all meet once more when the last scores are there.
    ("attention_mmasync", r"^bar\.sync removed", 1, "it stands before all else"),
    ("window_mmasync", r"^bar\.sync removed", 2, "one stands before all else, and one where a warp's results take the place of its own queries"),
    ("attention_one_stage", r"^bar\.sync removed", 2, "one stands before all else, and one where shared memory is not written any more"),
    *[(kernel, r"^cp\.async\.wait_group (removed|for one)", 2, "the groups that are left are empty")
      for kernel in ("attention_mmasync", "window_mmasync", "attention_one_stage")],
    *[(kernel, r"^bar\.sync removed", most, "one stands before all else; one warpgroup alone meets again before its first tile")
      for kernel, most in (("conv_halo", 2), ("conv_halo_one_stage", 1))],
    *[(kernel, r"^cp\.async\.commit_group; removed", 2, "the group of the filter has the first pixels, too; the last group is empty")
      for kernel in ("conv_halo", "conv_halo_one_stage")],
    ("conv_halo", r"^cp\.async\.wait_group (removed|for one)", 2, "one warpgroup waits again before its first tile"),
    ("gemv", r"^cp\.async\.commit_group; removed", 1, "a block without a tile has nothing to commit"),
    ("gemv", r"^cp\.async\.wait_group (removed|for one)", 2, "the groups that are left are empty"),
    ("convolution", r"wait_group\.read (removed|for one)|^bar\.sync removed", 3, "a block has one tile: nothing was stored before"),
]


@dataclasses.dataclass
class Broken:
    """A kernel that is right, and what is needed to run it with another text."""
    name: str
    kpc: str
    environment: dict
    artifact: pathlib.Path
    sizes: list
    folder: pathlib.Path
    expected: dict = None

    def run(self, texts):
        """What is found: "" nothing."""
        out = texts.with_suffix(".out")
        command = [self.kpc, "run", self.artifact, "-i", "random", *self.sizes, "--device", "cuda:0", "--quiet", "-o", out]
        try:
            done = subprocess.run(command, env=dict(self.environment, KPC_EMULATE_PTX=str(texts)), capture_output=True, text=True,
                                  errors="replace", timeout=60)
        except subprocess.TimeoutExpired:
            return "hang"
        values = {file.name: file.read_bytes() for file in out.glob("*.npy")}
        shutil.rmtree(out, ignore_errors=True)
        if finding := re.search(r"emulator: ([a-z-]+):", done.stderr):
            return finding[1]
        if done.returncode != 0:
            return f"exit code {done.returncode}"
        if self.expected is None:
            self.expected = values
        return "" if values == self.expected else "wrong result"


def survivors_of(name, tried):
    """Of (line, description, code, finding): what is neither found nor equivalent, and how many are equivalent."""
    survivors, equivalents, allowed = [], 0, collections.Counter()
    for at, what, code, found in tried:
        if found:
            continue
        for number, (kernel, pattern, most, _) in enumerate(EQUIVALENT):
            if kernel in ("", name) and re.search(pattern, what) and (most == 0 or allowed[number] < most):
                allowed[number] += 1
                equivalents += 1
                break
        else:
            survivors.append(f"line {at + 1}: {what}: {code.strip()}")
    return survivors, equivalents


def check(options, name):
    target, case = KERNELS[name][0], KERNELS[name][1]()
    case.name = name
    folder = pathlib.Path(options.folder) / name
    shutil.rmtree(folder, ignore_errors=True)
    here = emulated.Emulated(options.kpc, options.driver, target, folder)
    if not here.is_right(case):
        return False
    listing = folder / "model.ptx"
    here.compile(case, "--line-info")  # which keeps the kernels' names in the artifact
    here.compile(case, "--emit", "ptx", "-o", listing)
    # The text of the module that has most to break.
    modules = re.split(r"(?m)^(?=\.version)", listing.read_text())
    module = max(modules, key=lambda one: len(re.findall(r"mbarrier|wgmma|tcgen05|cp\.async|bar\.sync", one)))
    lines, entry = module.split("\n"), re.search(r"\.entry (\w+)", module)[1]
    kernel = Broken(name, options.kpc, here.environment, folder / f"{name}.kpc", emulated.dims(case.sizes), folder)
    nothing = folder / "none"
    nothing.mkdir()
    if found := kernel.run(nothing):
        print(f"{name}: the kernel itself: {found}")
        return False
    everything = list(mutations.mutations(lines))

    def one(number):
        at, _, new = everything[number]
        texts = folder / str(number)
        texts.mkdir()
        (texts / f"{entry}.ptx").write_text("\n".join(lines[:at] + [new] + lines[at + 1:]))
        found = kernel.run(texts)
        shutil.rmtree(texts)
        return found

    def is_reached(line):
        """Whether a thread comes there at all: whether a trap in its place is found."""
        guard = re.match(r"\s*(@!?%\w+)", lines[line])
        texts = folder / f"reached{line}"
        texts.mkdir()
        trap = f"{guard[1] if guard else ''} trap; {lines[line]}"
        (texts / f"{entry}.ptx").write_text("\n".join(lines[:line] + [trap] + lines[line + 1:]))
        return kernel.run(texts) != ""

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(one, range(len(everything))))
        doubtful = sorted({at for (at, _, _), found in zip(everything, results) if not found})
        reached = dict(zip(doubtful, pool.map(is_reached, doubtful)))
    tried = [(at, what, lines[at], found) for (at, what, _), found in zip(everything, results)]
    if options.all:
        for at, what, _, found in tried:
            print(f"  line {at + 1}: {what}: {found or '-'}")
    survivors, equivalents = survivors_of(name, [one for one in tried if one[3] or reached[one[0]]])
    missed = sum(not found and not reached[at] for at, _, _, found in tried)
    kinds = collections.Counter(found for found in results if found)
    print(f"{name}: {len(everything)} mutants, {equivalents} equivalent, {missed} where no thread comes, {len(survivors)} survived")
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
    parser.add_argument("--kernel", choices=list(KERNELS), action="append")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    return 0 if all([check(options, name) for name in options.kernel or KERNELS]) else 1


if __name__ == "__main__":
    sys.exit(main())

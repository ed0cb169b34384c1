#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which .target and .version each instruction needs, and which registers it takes: kpc-emulate and ptxas refuse the same lines.

    targets.py KPC-EMULATE

Left out if there is no ptxas (version 13.0), which knows these rules.
"""

import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "instructions"), str(HERE / "tensor")]
PTXAS = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
TARGETS = "sm_75 sm_80 sm_86 sm_89 sm_90 sm_90a sm_100 sm_100f sm_100a sm_103 sm_103a sm_110a sm_120 sm_120f sm_120a sm_121a".split()
VERSIONS = [(target, version) for target in ("sm_80", "sm_90a", "sm_100a", "sm_120a")
            for version in ("7.1", "7.4", "7.7", "7.8", "8.0", "8.1", "8.3", "8.6", "8.7")]
DECLARATIONS = (".reg .pred %p<8>; .reg .b8 %b<4>; .reg .b16 %rs<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>;")

# What the forms that are compared with hardware, and the kernels of tcgen05, do not have.
LINES = """
createpolicy.fractional.L2::evict_last.b64 %rd5, 1.0;
ld.global.L2::cache_hint.b32 %r5, [%rd0], %rd5;
ld.global.v8.b32 {%r5,%r6,%r7,%r8,%r9,%r10,%r11,%r12}, [%rd0];
ld.global.v4.b64 {%rd5,%rd6,%rd7,%rd8}, [%rd0];
st.global.v8.b32 [%rd0], {%r5,%r6,%r7,%r8,%r9,%r10,%r11,%r12};
st.global.v4.b64 [%rd0], {%rd5,%rd6,%rd7,%rd8};
ld.relaxed.cluster.global.b32 %r5, [%rd0];
ld.acquire.gpu.global.b32 %r5, [%rd0];
ld.shared::cta.b32 %r5, [%r1];
ld.shared::cluster.b32 %r5, [%r1];
st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r1], %r5, [%r2];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], %r5, [%r2];
griddepcontrol.wait;
prefetch.global.L2 [%rd0];
prefetch.tensormap [%rd0];
cp.async.bulk.prefetch.L2.global [%rd0], 16;
cp.async.cg.shared.global [%r1], [%rd0], 16;
cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];
cp.async.wait_all;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 16, [%r2];
cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd0, {%r1}], [%r2];
cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::1 [%r1], [%rd0, {%r1}], [%r2];
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [%r5], 16, [%r2];
cp.async.bulk.wait_group.read 0;
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd0], [%r1], 16;
atom.global.add.f64 %rd5, [%rd0], %rd6;
atom.global.v4.f32.add {%r5,%r6,%r7,%r8}, [%rd0], {%r5,%r6,%r7,%r8};
red.global.add.v4.f32 [%rd0], {%r5,%r6,%r7,%r8};
atom.cluster.global.add.u32 %r5, [%rd0], %r6;
atom.shared::cluster.add.u32 %r5, [%r1], %r6;
mbarrier.test_wait.shared.b64 %p1, [%r1], %rd5;
mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;
mbarrier.try_wait.shared.b64 %p1, [%r1], %rd5;
mbarrier.inval.shared.b64 [%r1];
mbarrier.init.shared.b64 [%r1], 1;
mbarrier.arrive.shared.b64 %rd5, [%r1];
mbarrier.arrive_drop.shared.b64 %rd5, [%r1];
mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 16;
mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r1], 16;
match.any.sync.b32 %r5, %r6, -1;
activemask.b32 %r5;
redux.sync.min.f32 %r5, %r6, -1;
fma.rn.f32x2 %rd5, %rd6, %rd7, %rd8;
add.rn.f32x2 %rd5, %rd6, %rd7;
cvt.rn.satfinite.e2m1x2.f32 %b1, %r5, %r6;
cvt.rn.satfinite.e2m3x2.f32 %rs1, %r5, %r6;
cvt.rp.satfinite.ue8m0x2.f32 %rs1, %r5, %r6;
cvt.rn.bf16x2.ue8m0x2 %r5, %rs1;
cvt.rn.f16x2.e2m3x2 %r5, %rs1;
cvt.rna.satfinite.tf32.f32 %r5, %r6;
cvt.rn.satfinite.tf32.f32 %r5, %r6;
getctarank.shared::cluster.u32 %r5, %r6;
isspacep.shared::cluster %p1, %rd5;
cvta.shared::cluster.u64 %rd5, %rd6;
barrier.cluster.arrive;
barrier.sync 0;
fence.acq_rel.cluster;
fence.proxy.async.global;
setmaxnreg.inc.sync.aligned.u32 232;
tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r3, %p1;
tcgen05.mma.cta_group::1.kind::i8 [%r1], %rd1, %rd2, %r3, %p1;
tcgen05.mma.cta_group::2.kind::f8f6f4 [%r1], %rd1, %rd2, %r3, %p1;
tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [%r1], %rd1, %rd2, %r3, [%r4], [%r5], %p1;
tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32 [%r1], %rd1, %rd2, %r3, [%r4], [%r5], %p1;
tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [%r1], %rd1, %rd2, %r3, [%r4], [%r5], %p1;
tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 [%r1], %rd1, %rd2, %r3, [%r4], [%r5], %p1;
tcgen05.mma.ws.cta_group::1.kind::tf32 [%r1], %rd1, %rd2, %r3, %p1;
tcgen05.cp.cta_group::1.128x256b [%r1], %rd1;
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1];
tcgen05.fence::before_thread_sync;
mov.u32 %r5, %cluster_nctarank;
""".strip().splitlines()

# Instructions with one register, of every type that there is.
TYPES = "u8 s8 b16 u16 s16 f16 b32 u32 s32 f32 f16x2 b64 u64 s64 f64".split()
TYPED = [f"add.{kind} X, X, X;" for kind in "u16 s32 u64 f32 f64 f16 f16x2 u16x2 s16x2".split()] + [
    *(f"{opcode}.{kind} X, X, X;" for opcode in ("min", "max.relu") for kind in ("s32", "s16x2")),
    "and.b32 X, X, X;", "shr.s32 X, X, 1;", "neg.s32 X, X;", "fma.rn.f32 X, X, X, X;", "ex2.approx.f32 X, X;", "testp.finite.f32 %p1, X;",
    *(f"mov.{kind} X, X;" for kind in "b16 u32 s32 b32 f32 u64 f64".split()), "mov.u32 X, %tid.x;", "mov.b64 %rd5, {X, X};",
    *(f"setp.lt.{kind} %p1, X, X;" for kind in "u32 f32 s64 f64".split()), *(f"selp.{kind} X, X, X, %p1;" for kind in "u32 f32 b32".split()),
    *(f"ld.global.{kind} X, [%rd0];" for kind in "u8 b16 s16 b32 u32 f32 b64 u64 f64".split()),
    *(f"st.global.{kind} [%rd0], X;" for kind in "u8 b16 s16 b32 u32 f32 b64 u64 f64".split()),
    "ld.global.v2.f32 {X, X}, [%rd0];", "ld.global.v2.u8 {X, X}, [%rd0];",
    "cvt.rn.f32.u32 X, %r5;", "cvt.rn.f32.u32 %r5, X;", "cvt.rzi.s16.f64 X, %rd5;", "cvt.rzi.s16.f64 %rs1, X;", "cvt.rn.f16.f32 X, %r5;",
    "cvt.rn.f16.f32 %rs1, X;", "cvt.u64.u32 X, %r5;", "mul.wide.s16 X, %rs1, %rs2;", "mad.wide.u32 X, %r5, %r6, X;",
    "atom.global.add.u32 X, [%rd0], X;", "atom.global.add.f32 X, [%rd0], X;", "atom.global.cas.b32 X, [%rd0], X, X;",
    "red.global.add.s32 [%rd0], X;", "shfl.sync.idx.b32 X, X, 0, 31, -1;", "cvta.global.u64 X, X;", "bfe.u32 X, X, 1, 2;"]


def modules():
    """Texts of kernels, without their heads."""
    import cases
    import documented_findings
    import forms
    import kinds
    import tensor_copies
    for at, form in enumerate(forms.all_forms()):
        yield cases.kernel(form, f"form{at}")
    for at, copy in enumerate(tensor_copies.copies()):
        yield tensor_copies.kernel(copy, f"copy{at}")
    for form in kinds.forms():
        yield kinds.kernel(form.text())
    page = (HERE.parent.parent / "docs" / "emulator-findings.md").read_text()
    for body in re.findall(r"```ptx\n(.*?)```", page, re.S):
        yield documented_findings.kernel(body, documented_findings.DEFAULTS | {"cluster": ""})


def statement(line):
    """The instruction, without what is in front of it and its operands."""
    line = re.sub(r"^[\s{}]*(\w+:\s*)*(@!?%?\w+\s+)?", "", line)
    return line.split(" ")[0].rstrip(";")


def tidy(text):
    """One statement a line."""
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"\.version \S+|\.target \S+|\.address_size 64", "", text)
    return re.sub(r"\n\s*\n+", "\n", re.sub(r";\s*", ";\n", text))


def collect():
    """One text with every form once, and what is declared in it."""
    seen, kept = set(), []
    for text in map(tidy, modules()):
        new = {statement(line) for line in text.split("\n")} - seen
        if new:
            seen |= new
            kept.append(re.sub(r"(\.entry |\bconstant\b)\w*", rf"\g<1>{len(kept)}_", text).replace(".entry ", ".entry e"))
    kept.append("\n".join([f".visible .entry lines(.param .u64 in) {{ {DECLARATIONS}", *LINES, "ret; }"]))
    return "\n".join(kept)


def typed():
    """(text, the words of each line)"""
    registers = " ".join(f".reg .{kind} %x_{kind};" for kind in TYPES)
    lines = [line.replace("X", f"%x_{kind}") for line in TYPED for kind in TYPES]
    return "\n".join([f".visible .entry k(.param .u64 in) {{ {DECLARATIONS} {registers}", *lines, "ret; }"])


def refused(command, text):
    """What is said, by line."""
    with tempfile.NamedTemporaryFile("w", suffix=".ptx", delete=False) as file:
        file.write(text)
    done = subprocess.run([word if word != "FILE" else file.name for word in command], capture_output=True, text=True)
    os.unlink(file.name)
    out = collections.defaultdict(list)
    for line in (done.stdout + done.stderr).splitlines():
        if found := re.search(r"\bline (\d+)[:;] (.*)", line):
            out[int(found[1])].append(found[2])
    return out


class Comparison:
    def __init__(self, program):
        self.program, self.compared, self.failed = program, 0, 0

    def of(self, target, version, text, mine, theirs):
        """`mine` and `theirs`: what counts among the messages. Lines that the emulator refuses for another reason do not."""
        whole = f".version {version}\n.target {target}\n.address_size 64\n{text}"
        lines = whole.split("\n")
        here = refused([self.program, "FILE"], whole)
        there = refused([PTXAS, "-O0", "-arch", target, "FILE", "-o", "/dev/null"], whole)
        told = {line for line in there | here if any("twice" in one or "expected" in one for one in here[line])}
        assert not told, f"{target}: {[here[line] for line in told]}"
        for at, line in enumerate(lines[3:], 4):
            said = " ".join(here[at])
            if said and not re.search(r"needs \.|is declared \.|has \d+ bits|smaller", said):
                continue  # not supported
            self.compared += 1
            found = bool(re.search(mine, said)), any(re.search(theirs, one) for one in there[at])
            if found[0] != found[1] and line not in told:
                told.add(line)
                self.failed += 1
                print(f"{target}, version {version}: {line}\n    here: {said or 'taken'}\n    ptxas: {'; '.join(there[at]) or 'taken'}")


def main():
    if not os.access(PTXAS, os.X_OK) or "release 13.0" not in subprocess.run([PTXAS, "--version"], capture_output=True, text=True).stdout:
        print("SKIPPED: ptxas 13.0 is not installed")
        return 77
    try:
        text = collect()
    except ImportError as error:
        print(f"SKIPPED: {error}")
        return 77
    compare = Comparison(sys.argv[1])
    lacks = r"requires \.target|not supported on|cannot be compiled|requires PTX ISA"
    for target, version in [(target, "9.0") for target in TARGETS] + VERSIONS:
        compare.of(target, version, text, r"needs \.", lacks)
    compare.of("sm_100a", "9.0", typed(), r".", r"Arguments mismatch")
    print(f"{compare.compared} lines compared, {compare.failed} not alike")
    return 1 if compare.failed else 0


if __name__ == "__main__":
    sys.exit(main())

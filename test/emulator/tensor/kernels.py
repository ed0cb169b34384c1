# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel around tcgen05 instructions: each block fills its shared memory and tensor memory from an image, one thread does what
is asked for, and tensor memory goes out as it is then."""


def moves(opcode, columns, address):
    """All lanes, 32 columns at a time."""
    registers = ", ".join(f"%v{n}" for n in range(32))
    lines = []
    for first in range(0, columns, 32):
        for n in range(32):
            far = f"[%rd4+{(first + n) * 4}]"
            if opcode == "st":
                lines.append(f"ld.global.b32 %v{n}, {far};")
        lines.append(f"add.u32 %r9, {address}, {first};")
        if opcode == "st":
            lines.append(f"tcgen05.st.sync.aligned.32x32b.x32.b32 [%r9], {{{registers}}};")
        else:
            lines.append(f"tcgen05.ld.sync.aligned.32x32b.x32.b32 {{{registers}}}, [%r9];")
            lines.append("tcgen05.wait::ld.sync.aligned;")
            lines += [f"st.global.b32 [%rd4+{(first + n) * 4}], %v{n};" for n in range(32)]
    return "\n".join(lines)


def kernel(shared, columns, body, group=1, everyone="", commit=None):
    """`body`: of one thread of the first block; %r5 is the first column's address, %rd10 and on are free. `everyone`: of all
    warps, between; %r6 is the warp's own lanes' address."""
    pair = group == 2
    sync = ("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" if pair else "bar.sync 0;")
    meet = f"tcgen05.fence::before_thread_sync; {sync} tcgen05.fence::after_thread_sync;"
    cg = f"cta_group::{group}"
    if commit is None:
        commit = (f"mov.b16 %h0, 3; tcgen05.commit.{cg}.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r7], %h0;"
                  if pair else f"tcgen05.commit.{cg}.mbarrier::arrive::one.shared::cluster.b64 [%r7];")
    wait = "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r7], 0; @!%p3 bra W; tcgen05.fence::after_thread_sync;"
    return f"""
.version 8.8
.target sm_100a
.address_size 64
.shared .align 1024 .b8 smem[{max(shared, 16)}];
.shared .align 8 .b64 bar;
.shared .align 4 .b32 where;
.visible .entry k(.param .u64 in, .param .u64 out) .reqntid 128 {".reqnctapercluster 2" if pair else ""}
{{
.reg .pred %p<8>; .reg .b16 %h<4>; .reg .b32 %r<64>; .reg .b64 %rd<64>; .reg .b32 %v<32>;
ld.param.u64 %rd0, [in]; ld.param.u64 %rd1, [out];
mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; shr.u32 %r2, %r0, 5;
mul.wide.u32 %rd2, %r1, {shared + 128 * columns * 4}; add.u64 %rd2, %rd2, %rd0;
mul.wide.u32 %rd3, %r0, 16; add.u64 %rd3, %rd3, %rd2;
mov.u32 %r3, smem; shl.b32 %r4, %r0, 4; add.u32 %r3, %r3, %r4;
FILL: setp.ge.u32 %p0, %r4, {shared}; @%p0 bra FILLED;
ld.global.v4.b32 {{%v0, %v1, %v2, %v3}}, [%rd3]; st.shared.v4.b32 [%r3], {{%v0, %v1, %v2, %v3}};
add.u64 %rd3, %rd3, 2048; add.u32 %r3, %r3, 2048; add.u32 %r4, %r4, 2048; bra FILL;
FILLED:
mov.u32 %r7, bar; setp.eq.u32 %p1, %r0, 0;
@%p1 mbarrier.init.shared::cta.b64 [%r7], 1;
@%p1 fence.mbarrier_init.release.cluster;
fence.proxy.async.shared::cta;
setp.lt.u32 %p2, %r0, 32; @!%p2 bra ALLOCATED;
tcgen05.alloc.{cg}.sync.aligned.shared::cta.b32 [where], {1 << (max(32, columns) - 1).bit_length()};
tcgen05.relinquish_alloc_permit.{cg}.sync.aligned;
ALLOCATED:
{meet}
ld.shared.b32 %r5, [where];
shl.b32 %r6, %r2, 21; add.u32 %r6, %r6, %r5;
mul.wide.u32 %rd4, %r0, {columns * 4}; add.u64 %rd4, %rd4, {shared}; add.u64 %rd4, %rd4, %rd2;
{moves("st", columns, "%r6")}
tcgen05.wait::st.sync.aligned;
{meet}
setp.eq.u32 %p1, %r0, 0; setp.eq.u32 %p2, %r1, 0; and.pred %p1, %p1, %p2; @!%p1 bra DONE;
{body}
{commit}
DONE:
{wait}
{everyone}
mul.wide.u32 %rd5, %r1, {128 * columns * 4}; mul.wide.u32 %rd4, %r0, {columns * 4};
add.u64 %rd4, %rd4, %rd5; add.u64 %rd4, %rd4, %rd1;
{moves("ld", columns, "%r6")}
{meet}
setp.lt.u32 %p2, %r0, 32; @!%p2 bra END;
tcgen05.dealloc.{cg}.sync.aligned.b32 %r5, {1 << (max(32, columns) - 1).bit_length()};
END:
ret;
}}
"""

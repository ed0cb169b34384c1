//===- ConditionKernels.cpp - What decides conditional nodes --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/cuda/ConditionKernels.h"

namespace kpc::rt::cuda {

// Of the oldest version and chip that have all of it: drivers compile it for
// any device of theirs. %rd7 is the number of iterations, %p5 the condition,
// %p6 whether the limit is not yet reached.
const char ConditionPtx[] = R"(
.version 6.0
.target sm_50
.address_size 64
.extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);
.visible .entry kpc_decide(.param .u64 condition, .param .u64 slot, .param .u64 flags, .param .u64 limit, .param .u64 first, .param .u64 second)
{
.reg .pred %p<11>;
.reg .b32 %r<5>;
.reg .b64 %rd<8>;
ld.param.u64 %rd1, [condition];
ld.param.u64 %rd2, [slot];
ld.param.u64 %rd3, [flags];
ld.param.u64 %rd4, [limit];
ld.param.u64 %rd5, [first];
ld.param.u64 %rd6, [second];
cvt.u32.u64 %r1, %rd3;
mov.u64 %rd7, 0;
and.b32 %r2, %r1, 6;
setp.ne.u32 %p1, %r2, 0;
@%p1 ld.u64 %rd7, [%rd2];
and.b32 %r2, %r1, 2;
setp.ne.u32 %p2, %r2, 0;
@%p2 add.u64 %rd7, %rd7, 1;
and.b32 %r2, %r1, 1;
setp.ne.u32 %p3, %r2, 0;
@%p3 st.u64 [%rd2], %rd7;
cvt.u32.u64 %r3, %rd7;
and.b32 %r3, %r3, 1;
and.b32 %r2, %r1, 4;
setp.eq.u32 %p4, %r2, 0;
@%p4 ld.u8 %r3, [%rd1];
setp.ne.u32 %p5, %r3, 0;
setp.lt.u64 %p6, %rd7, %rd4;
and.pred %p7, %p5, %p6;
and.b32 %r2, %r1, 32;
setp.ne.u32 %p8, %r2, 0;
and.pred %p9, %p5, %p8;
@%p6 bra GO;
@%p9 trap;
GO:
selp.b32 %r4, 1, 0, %p7;
{
.param .b64 h;
.param .b32 v;
st.param.b64 [h], %rd5;
st.param.b32 [v], %r4;
call.uni cudaGraphSetConditional, (h, v);
}
and.b32 %r2, %r1, 8;
setp.eq.u32 %p10, %r2, 0;
@%p10 ret;
shr.u32 %r2, %r1, 4;
and.b32 %r2, %r2, 1;
xor.b32 %r4, %r4, %r2;
{
.param .b64 h;
.param .b32 v;
st.param.b64 [h], %rd6;
st.param.b32 [v], %r4;
call.uni cudaGraphSetConditional, (h, v);
}
ret;
}
.visible .entry kpc_move(.param .u64 slot, .param .u64 to, .param .u64 toStep, .param .u64 from, .param .u64 fromStep, .param .u64 bytes)
{
.reg .pred %p<6>;
.reg .b32 %r<9>;
.reg .b64 %rd<16>;
ld.param.u64 %rd1, [slot];
ld.param.u64 %rd2, [to];
ld.param.u64 %rd3, [toStep];
ld.param.u64 %rd4, [from];
ld.param.u64 %rd5, [fromStep];
ld.param.u64 %rd6, [bytes];
ld.u64 %rd7, [%rd1];
shr.u64 %rd7, %rd7, 1;
mad.lo.s64 %rd2, %rd7, %rd3, %rd2;
mad.lo.s64 %rd4, %rd7, %rd5, %rd4;
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %ntid.x;
mov.u32 %r3, %tid.x;
mad.lo.u32 %r4, %r1, %r2, %r3;
mov.u32 %r5, %nctaid.x;
mul.lo.u32 %r5, %r5, %r2;
or.b64 %rd8, %rd2, %rd4;
or.b64 %rd8, %rd8, %rd6;
and.b64 %rd8, %rd8, 15;
setp.eq.u64 %p1, %rd8, 0;
selp.b32 %r6, 4, 0, %p1;
cvt.u64.u32 %rd9, %r4;
cvt.u64.u32 %rd10, %r5;
shl.b64 %rd9, %rd9, %r6;
shl.b64 %rd10, %rd10, %r6;
NEXT:
setp.ge.u64 %p2, %rd9, %rd6;
@%p2 ret;
add.u64 %rd11, %rd4, %rd9;
add.u64 %rd12, %rd2, %rd9;
@%p1 bra WIDE;
ld.u8 %r7, [%rd11];
st.u8 [%rd12], %r7;
bra DONE;
WIDE:
ld.v2.u64 {%rd13, %rd14}, [%rd11];
st.v2.u64 [%rd12], {%rd13, %rd14};
DONE:
add.u64 %rd9, %rd9, %rd10;
bra NEXT;
}
)";

} // namespace kpc::rt::cuda

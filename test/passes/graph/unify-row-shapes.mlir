// RUN: kpc-opt %s --split-input-file --unify-row-shapes | FileCheck %s
// RUN: kpc-opt %s --split-input-file --unify-row-shapes --form-regions=rows | FileCheck %s --check-prefix=KERNELS
// RUN: kpc-opt %s --split-input-file --unify-row-shapes --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY

!x = !graph.tensor<[n, 320, h, w], f32>
!g = !graph.tensor<[n, 32, "h*w*10"], f32>
!s = !graph.tensor<[n, 32], f32>
!k = !graph.tensor<[n, 32, 1], f32>
!c = !graph.tensor<[320, 1, 1], f32>

// A group norm as exporters write it, the scale of channels and an activation behind: one shape, one kernel.
// CHECK-LABEL: func.func @group_norm
// CHECK-SAME: (%[[X:.*]]: !graph.tensor<[n, 320, h, w], f32>, %[[C:.*]]: !graph.tensor<[320, 1, 1], f32>)
// CHECK-NEXT: %[[G:.*]] = graph.reshape %[[X]] : <[n, 320, h, w], f32> to <[n, 32, 10, "h*w"], f32>
// CHECK-NEXT: %[[S:.*]] = graph.reduce sum, %[[G]] axes [2, 3] : <[n, 32, 10, "h*w"], f32>
// CHECK-NEXT: %[[K:.*]] = graph.reshape %[[S]] : <[n, 32], f32> to <[n, 32, 1, 1], f32>
// CHECK-NEXT: %[[B:.*]] = graph.broadcast %[[K]] : <[n, 32, 1, 1], f32> to <[n, 32, 10, "h*w"], f32>
// CHECK-NEXT: %[[D:.*]] = graph.sub %[[G]], %[[B]]
// CHECK-NEXT: %[[W:.*]] = graph.reshape %[[C]] : <[320, 1, 1], f32> to <[32, 10, 1], f32>
// CHECK-NEXT: %[[V:.*]] = graph.broadcast %[[W]] : <[32, 10, 1], f32> to <[n, 32, 10, "h*w"], f32>
// CHECK-NEXT: %[[M:.*]] = graph.mul %[[D]], %[[V]]
// CHECK-NEXT: %[[A:.*]] = graph.sigmoid %[[M]]
// CHECK-NEXT: %[[Y:.*]] = graph.reshape %[[A]] : <[n, 32, 10, "h*w"], f32> to <[n, 320, h, w], f32>
// CHECK-NEXT: return %[[Y]]
// KERNELS-LABEL: func.func @group_norm
// KERNELS-COUNT-1: graph.region
// KERNELS-NOT: graph.region
// KERNELS: return
// WHY: [[#@LINE + 3]]:{{.*}}[Passed] rows{{.*}}Rows of [n, 32, h*w*10] and what goes with them are computed as [n, 32, 10, h*w].
func.func @group_norm(%x: !x, %scale: !c) -> !x {
  %0 = graph.reshape %x : !x to !g
  %1 = graph.reduce sum, %0 axes [2] : !g
  %2 = graph.reshape %1 : !s to !k
  %3 = graph.broadcast %2 : !k to !g
  %4 = graph.sub %0, %3 : !g
  %5 = graph.reshape %4 : !g to !x
  %6 = graph.broadcast %scale : !c to !x
  %7 = graph.mul %5, %6 : !x
  %8 = graph.sigmoid %7 : !x
  return %8 : !x
}

// -----

!x = !graph.tensor<[2, 12, 5, 7], f16>
!g = !graph.tensor<[2, 3, 4, 5, 7], f16>
!w = !graph.tensor<[2, 3, 4, 5, 7], f32>
!s = !graph.tensor<[2, 3], f32>
!k = !graph.tensor<[2, 3, 1, 1, 1], f32>
!c = !graph.tensor<[2, 12, 1, 1], f16>
!v = !graph.tensor<[2, 12], f16>

// Sizes that are numbers, another spelling. What is computed of a channel's values goes with it, and so does what is in front and
// has no other use. Images and groups, which nothing tells apart here, are one dimension.
// CHECK-LABEL: func.func @adaptive
// CHECK: %[[X:.*]] = graph.reshape %arg0 : <[2, 12, 5, 7], f16> to <[6, 4, 35], f16>
// CHECK-NEXT: %[[R:.*]] = graph.reshape %arg1 : <[2, 12, 5, 7], f16> to <[6, 4, 35], f16>
// CHECK-NEXT: graph.add %[[X]], %[[R]] : <[6, 4, 35], f16>
// CHECK: graph.reduce sum, %{{.*}} axes [1, 2] : <[6, 4, 35], f32>
// CHECK: %[[P:.*]] = graph.reshape %arg2 : <[2, 12], f16> to <[6, 4, 1], f16>
// CHECK: %[[Q:.*]] = graph.add %[[P]], %{{.*}} : <[6, 4, 1], f16>
// CHECK-NEXT: graph.broadcast %[[Q]] : <[6, 4, 1], f16> to <[6, 4, 35], f16>
// CHECK-NEXT: graph.mul
// CHECK-NEXT: graph.reshape
// CHECK-NEXT: return
// KERNELS-LABEL: func.func @adaptive
// KERNELS-COUNT-1: graph.region
// KERNELS-NOT: graph.region
// KERNELS: return
func.func @adaptive(%x: !x, %r: !x, %p: !v) -> !x {
  %one = graph.constant dense<1.0> : tensor<f16>
  %0 = graph.add %x, %r : !x
  %1 = graph.reshape %0 : !x to !g
  %2 = graph.cast %1 to f32 : !g
  %3 = graph.reduce sum, %2 axes [2, 3, 4] : !w
  %4 = graph.reshape %3 : !s to !k
  %5 = graph.rsqrt %4 : !k
  %6 = graph.broadcast %5 : !k to !w
  %7 = graph.mul %2, %6 : !w
  %8 = graph.cast %7 to f16 : !w
  %9 = graph.reshape %8 : !g to !x
  %10 = graph.reshape %p : !v to !c
  %11 = graph.broadcast %one : !graph.tensor<[], f16> to !c
  %12 = graph.add %10, %11 : !c
  %13 = graph.broadcast %12 : !c to !x
  %14 = graph.mul %9, %13 : !x
  return %14 : !x
}

// -----

!x = !graph.tensor<[n, 24, h, w], f32>
!i = !graph.tensor<[1, "n*24", h, w], f32>
!s = !graph.tensor<["n*24"], f32>
!k = !graph.tensor<[1, "n*24", 1, 1], f32>
!c = !graph.tensor<[24, 1, 1], f32>

// An instance norm that is written as a batch norm of one image: the batch, which is one element, is no dimension of the row.
// CHECK-LABEL: func.func @instances
// CHECK: graph.reduce sum, %{{.*}} axes [2] : <[n, 24, "h*w"], f32>
// CHECK: graph.reshape %{{.*}} : <[n, 24], f32> to <[n, 24, 1], f32>
// CHECK: graph.broadcast %{{.*}} : <[24, 1], f32> to <[n, 24, "h*w"], f32>
// KERNELS-LABEL: func.func @instances
// KERNELS-COUNT-1: graph.region
// KERNELS-NOT: graph.region
// KERNELS: return
func.func @instances(%x: !x, %scale: !c) -> !x {
  %0 = graph.reshape %x : !x to !i
  %1 = graph.reduce sum, %0 axes [0, 2, 3] : !i
  %2 = graph.reshape %1 : !s to !k
  %3 = graph.broadcast %2 : !k to !i
  %4 = graph.sub %0, %3 : !i
  %5 = graph.reshape %4 : !i to !x
  %6 = graph.broadcast %scale : !c to !x
  %7 = graph.mul %5, %6 : !x
  return %7 : !x
}

// -----

!x = !graph.tensor<[n, 24, 7, 7], f32>
!s = !graph.tensor<[n, 24], f32>
!k = !graph.tensor<[n, 24, 1, 1], f32>
!c = !graph.tensor<[24, 1, 1], f32>

// No reshape, but a row of two dimensions that is one piece of memory. A value of it that others read is seen by them as it was.
// CHECK-LABEL: func.func @plane
// CHECK: graph.reduce sum, %{{.*}} axes [2] : <[n, 24, 49], f32>
// CHECK: %[[Y:.*]] = graph.mul %{{.*}} : <[n, 24, 49], f32>
// CHECK: %[[V:.*]] = graph.reshape %[[Y]] : <[n, 24, 49], f32> to <[n, 24, 7, 7], f32>
// CHECK-NEXT: graph.transpose %[[V]] [0, 2, 3, 1]
func.func @plane(%x: !x, %scale: !c) -> !graph.tensor<[n, 7, 7, 24], f32> {
  %0 = graph.reduce sum, %x axes [2, 3] : !x
  %1 = graph.reshape %0 : !s to !k
  %2 = graph.broadcast %1 : !k to !x
  %3 = graph.sub %x, %2 : !x
  %4 = graph.broadcast %scale : !c to !x
  %5 = graph.mul %3, %4 : !x
  %6 = graph.transpose %5 [0, 2, 3, 1] : !x
  return %6 : !graph.tensor<[n, 7, 7, 24], f32>
}

// -----

!x = !graph.tensor<[b, s, 64], f32>
!h = !graph.tensor<[b, s, 4, 16], f32>
!s = !graph.tensor<[b, s], f32>
!k = !graph.tensor<[b, s, 1], f32>
!a = !graph.tensor<[s, 1, 16], f32>

// What is reshaped is read in another order as well, and stored for that: nothing is gained, and all stays as it is.
// CHECK-LABEL: func.func @stored
// CHECK: graph.reduce sum, %arg0 axes [2] : <[b, s, 64], f32>
// CHECK: graph.mul %{{.*}} : <[b, s, 4, 16], f32>
// CHECK: graph.slice
// WHY: [Missed] rows{{.*}}Rows of [b, s, 64] are computed without what follows a reshape, because what is reshaped is needed elsewhere as well.
func.func @stored(%x: !x, %cos: !a, %sin: !a) -> !h {
  %0 = graph.reduce sum, %x axes [2] : !x
  %1 = graph.reshape %0 : !s to !k
  %2 = graph.broadcast %1 : !k to !x
  %3 = graph.mul %x, %2 : !x
  %4 = graph.reshape %3 : !x to !h
  %5 = graph.broadcast %cos : !a to !h
  %6 = graph.mul %4, %5 : !h
  %7 = graph.slice %4 start #graph.dims<[0, 0, 0, 15]> step [1, 1, 1, -1] : !h to !h
  %8 = graph.broadcast %sin : !a to !h
  %9 = graph.mul %7, %8 : !h
  %10 = graph.add %6, %9 : !h
  return %10 : !h
}

// -----

!x = !graph.tensor<[n, 6, 4], f32>
!y = !graph.tensor<[n, 4, 6], f32>
!s = !graph.tensor<[n, 6], f32>
!k = !graph.tensor<[n, 6, 1], f32>

// Rows that the other shape has a border in.
// CHECK-LABEL: func.func @across
// CHECK: graph.sub %{{.*}} : <[n, 6, 4], f32>
// CHECK: graph.relu %{{.*}} : <[n, 4, 6], f32>
// WHY: [[#@LINE + 6]]:{{.*}}[Missed] rows{{.*}}Rows of [n, 6, 4] are computed without what follows a reshape, because its dimensions have borders within theirs.
func.func @across(%x: !x) -> !y {
  %0 = graph.reduce sum, %x axes [2] : !x
  %1 = graph.reshape %0 : !s to !k
  %2 = graph.broadcast %1 : !k to !x
  %3 = graph.sub %x, %2 : !x
  %4 = graph.reshape %3 : !x to !y
  %5 = graph.relu %4 : !y
  return %5 : !y
}

// -----

!x = !graph.tensor<[n, 32, h, w], f32>
!g = !graph.tensor<[n, 8, "h*w*4"], f32>
!s = !graph.tensor<[n, 8], f32>
!k = !graph.tensor<[n, 8, 1], f32>
!t = !graph.tensor<[n, h, w, 32], f32>

// What reads through an index stays in the kernel that has the index.
// CHECK-LABEL: func.func @behind
// CHECK: %[[N:.*]] = graph.sub %{{.*}} : <[n, 8, "h*w*4"], f32>
// CHECK: %[[V:.*]] = graph.reshape %[[N]] : <[n, 8, "h*w*4"], f32> to <[n, 32, h, w], f32>
// CHECK: graph.transpose %arg1 [0, 3, 1, 2]
// CHECK: graph.add %[[V]], %{{.*}} : <[n, 32, h, w], f32>
func.func @behind(%x: !x, %r: !t) -> !x {
  %0 = graph.reshape %x : !x to !g
  %1 = graph.reduce sum, %0 axes [2] : !g
  %2 = graph.reshape %1 : !s to !k
  %3 = graph.broadcast %2 : !k to !g
  %4 = graph.sub %0, %3 : !g
  %5 = graph.reshape %4 : !g to !x
  %6 = graph.transpose %r [0, 3, 1, 2] : !t
  %7 = graph.add %5, %6 : !x
  return %7 : !x
}

// -----

!x = !graph.tensor<[n, 32, h, w], f32>
!g = !graph.tensor<[n, 8, "h*w*4"], f32>
!s = !graph.tensor<[n, 8], f32>
!k = !graph.tensor<[n, 8, 1], f32>
!t = !graph.tensor<[n, h, w, 32], f32>

// The kernel that brings channels to the end computes what is in front of that: no kernel would go away.
// CHECK-LABEL: func.func @turned
// CHECK: graph.relu %{{.*}} : <[n, 32, h, w], f32>
// WHY: [Missed] rows{{.*}}because the kernel that needs it computes it there.
func.func @turned(%x: !x) -> !t {
  %0 = graph.reshape %x : !x to !g
  %1 = graph.reduce sum, %0 axes [2] : !g
  %2 = graph.reshape %1 : !s to !k
  %3 = graph.broadcast %2 : !k to !g
  %4 = graph.sub %0, %3 : !g
  %5 = graph.reshape %4 : !g to !x
  %6 = graph.relu %5 : !x
  %7 = graph.transpose %6 [0, 2, 3, 1] : !x
  return %7 : !t
}

// -----

!x = !graph.tensor<[n, 32, h, w], f32>
!s = !graph.tensor<[n, 32], f32>

// No norm: a sum, and what is made of it alone.
// CHECK-LABEL: func.func @pooled
// CHECK: graph.reduce sum, %arg0 axes [2, 3] : <[n, 32, h, w], f32>
func.func @pooled(%x: !x) -> !s {
  %0 = graph.reduce sum, %x axes [2, 3] : !x
  %1 = graph.relu %0 : !s
  return %1 : !s
}

// -----

!x = !graph.tensor<[n, 24, 7, 7], f32>
!s = !graph.tensor<[n, 24], f32>
!k = !graph.tensor<[n, 24, 1, 1], f32>

// The sum is stored by the norm's kernel, which a reshape behind it would prevent.
// CHECK-LABEL: func.func @residual
// CHECK: graph.reduce sum, %{{.*}} axes [2, 3] : <[n, 24, 7, 7], f32>
// KERNELS-LABEL: func.func @residual
// KERNELS-COUNT-1: graph.region
// KERNELS-NOT: graph.region
// KERNELS: return
func.func @residual(%x: !x, %r: !x) -> (!x, !x) {
  %0 = graph.add %x, %r : !x
  %1 = graph.reduce sum, %0 axes [2, 3] : !x
  %2 = graph.reshape %1 : !s to !k
  %3 = graph.broadcast %2 : !k to !x
  %4 = graph.sub %0, %3 : !x
  return %4, %0 : !x, !x
}

// -----

!x = !graph.tensor<[1, 24, h, w], f16>
!g = !graph.tensor<[1, 4, 6, h, w], f32>
!s = !graph.tensor<[1, 4], f32>
!k = !graph.tensor<[1, 4, 1, 1, 1], f32>
!m = !graph.tensor<[24, 1], f16>
!c = !graph.tensor<[4, 6, 1, 1], f32>

// A scale that is cast in another shape.
// CHECK-LABEL: func.func @cast_scale
// CHECK: graph.cast %{{.*}} to f32 : <[4, 6, 1], f16>
// KERNELS-LABEL: func.func @cast_scale
// KERNELS-COUNT-1: graph.region
// KERNELS-NOT: graph.region
// KERNELS: return
func.func @cast_scale(%x: !x, %scale: !m) -> !x {
  %0 = graph.reshape %x : !x to !graph.tensor<[1, 4, 6, h, w], f16>
  %1 = graph.cast %0 to f32 : !graph.tensor<[1, 4, 6, h, w], f16>
  %2 = graph.reduce sum, %1 axes [2, 3, 4] : !g
  %3 = graph.reshape %2 : !s to !k
  %4 = graph.broadcast %3 : !k to !g
  %5 = graph.sub %1, %4 : !g
  %6 = graph.cast %scale to f32 : !m
  %7 = graph.reshape %6 : !graph.tensor<[24, 1], f32> to !c
  %8 = graph.broadcast %7 : !c to !g
  %9 = graph.mul %5, %8 : !g
  %10 = graph.cast %9 to f16 : !g
  %11 = graph.reshape %10 : !graph.tensor<[1, 4, 6, h, w], f16> to !x
  %12 = graph.sigmoid %11 : !x
  return %12 : !x
}

// -----

!x = !graph.tensor<[n, 24, 7, 7], f32>
!s = !graph.tensor<[n, 24], f32>
!k = !graph.tensor<[n, 24, 1, 1], f32>

// Two reductions of the same rows, the second behind the first one's result alone: both go with it, and one kernel reads x.
// CHECK-LABEL: func.func @range
// CHECK-DAG: graph.reduce min, %{{.*}} axes [1] : <["n*24", 49], f32>
// CHECK-DAG: graph.reduce max, %{{.*}} axes [1] : <["n*24", 49], f32>
// CHECK: return
// KERNELS-LABEL: func.func @range
// KERNELS-COUNT-1: graph.region
// KERNELS-NOT: graph.region
// KERNELS: return
func.func @range(%x: !x) -> !x {
  %lo = graph.reduce min, %x axes [2, 3] : !x
  %hi = graph.reduce max, %x axes [2, 3] : !x
  %d = graph.sub %hi, %lo : !s
  %0 = graph.reshape %lo : !s to !k
  %1 = graph.broadcast %0 : !k to !x
  %2 = graph.reshape %d : !s to !k
  %3 = graph.broadcast %2 : !k to !x
  %4 = graph.sub %x, %1 : !x
  %5 = graph.div %4, %3 : !x
  return %5 : !x
}

// -----

!x = !graph.tensor<[n, 24, 7, 7], f32>
!s = !graph.tensor<[n, 24], f32>
!k = !graph.tensor<[n, 24, 1, 1], f32>
!c = !graph.tensor<[24, 1, 1], f32>

// The same of squares.
// CHECK-LABEL: func.func @second_moment
// CHECK-COUNT-2: graph.reduce sum, %{{.*}} axes [2] : <[n, 24, 49], f32>
// CHECK: return
// KERNELS-LABEL: func.func @second_moment
// KERNELS-COUNT-1: graph.region
// KERNELS-NOT: graph.region
// KERNELS: return
func.func @second_moment(%x: !x, %scale: !c) -> !x {
  %first = graph.reduce sum, %x axes [2, 3] : !x
  %squares = graph.mul %x, %x : !x
  %second = graph.reduce sum, %squares axes [2, 3] : !x
  %power = graph.mul %first, %first : !s
  %d = graph.sub %second, %power : !s
  %0 = graph.reshape %first : !s to !k
  %1 = graph.broadcast %0 : !k to !x
  %2 = graph.reshape %d : !s to !k
  %3 = graph.broadcast %2 : !k to !x
  %4 = graph.sub %x, %1 : !x
  %5 = graph.div %4, %3 : !x
  %6 = graph.broadcast %scale : !c to !x
  %7 = graph.mul %5, %6 : !x
  return %7 : !x
}

// RUN: kpc-opt %s --split-input-file --form-regions=rows | FileCheck %s
// RUN: kpc-opt %s --split-input-file --form-regions=rows --remark-format=emitRemark --remarks-filter=fusion 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY
// RUN: kpc-opt %s --split-input-file --form-regions | FileCheck %s --check-prefix=PLAIN

!x = !graph.tensor<[b, 1024], f32>
!s = !graph.tensor<[b], f32>
!k = !graph.tensor<[b, 1], f32>

// Softmax is one kernel, the reshapes between its reductions included; without `rows` it is four.
// CHECK-LABEL: func.func @softmax
// CHECK: %[[Y:.*]] = graph.region
// CHECK: graph.reduce max
// CHECK: graph.reshape
// CHECK: graph.exp
// CHECK: graph.reduce sum
// CHECK: graph.div
// CHECK-NOT: graph.region
// CHECK: return %[[Y]]
// PLAIN-LABEL: func.func @softmax
// PLAIN-COUNT-4: graph.region
// WHY: [Passed] fused{{.*}}reduce is fused into the kernel that ends with div.
func.func @softmax(%x: !x) -> !x {
  %0 = graph.reduce max, %x axes [1] : !x
  %1 = graph.reshape %0 : !s to !k
  %2 = graph.broadcast %1 : !k to !x
  %3 = graph.sub %x, %2 : !x
  %4 = graph.exp %3 : !x
  %5 = graph.reduce sum, %4 axes [1] : !x
  %6 = graph.reshape %5 : !s to !k
  %7 = graph.broadcast %6 : !k to !x
  %8 = graph.div %4, %7 : !x
  return %8 : !x
}

// -----

!x = !graph.tensor<[b, 64], f32>
!s = !graph.tensor<[b], f32>
!k = !graph.tensor<[b, 1], f32>

// A sum that others use later is a result beside the norm's.
// CHECK-LABEL: func.func @shared
// CHECK: %[[R:.*]]:2 = graph.region
// CHECK: %[[SUM:.*]] = graph.add
// CHECK: graph.broadcast
// CHECK: %[[Y:.*]] = graph.mul
// CHECK: graph.yield %[[Y]], %[[SUM]]
// CHECK: graph.region {{.*}}(%[[R]]#0, %{{.*}}, %[[R]]#1)
func.func @shared(%x: !x, %r: !x) -> !x {
  %0 = graph.add %x, %r : !x
  %1 = graph.mul %0, %0 : !x
  %2 = graph.reduce sum, %1 axes [1] : !x
  %3 = graph.reshape %2 : !s to !k
  %4 = graph.rsqrt %3 : !k
  %5 = graph.broadcast %4 : !k to !x
  %6 = graph.mul %0, %5 : !x
  %w = graph.weight "m.onnx#w"[] : !graph.tensor<[64, 64], f32>
  %7 = graph.matmul %6, %w : !x, !graph.tensor<[64, 64], f32>
  %8 = graph.add %7, %0 : !x
  return %8 : !x
}

// -----

!x = !graph.tensor<[b, 64], f32>
!s = !graph.tensor<[b], f32>
!k = !graph.tensor<[b, 1], f32>
!t = !graph.tensor<[64, b], f32>
!w = !graph.tensor<[64, 64], f32>

// What ends a product stays with it; what leaves the rows is a kernel behind.
// CHECK-LABEL: func.func @refused
// CHECK: graph.region
// CHECK: graph.matmul
// CHECK: graph.add
// CHECK: graph.region
// CHECK: graph.reduce sum
// CHECK: graph.mul
// CHECK: graph.region
// CHECK-NEXT: bb
// CHECK-NEXT: graph.transpose
// WHY-DAG: :[[#@LINE + 4]]:{{.*}}[Missed] refused{{.*}}add is not fused into its user's kernel, because the kernel of its product writes it.
// WHY-DAG: :[[#@LINE + 8]]:{{.*}}[Missed] refused{{.*}}mul is not fused into its user's kernel, because its rows are computed as a whole, which that kernel does not.
func.func @refused(%x: !x, %w: !w, %r: !x) -> (!t, !x) {
  %0 = graph.matmul %x, %w : !x, !w
  %1 = graph.add %0, %r : !x
  %2 = graph.mul %1, %1 : !x
  %3 = graph.reduce sum, %2 axes [1] : !x
  %4 = graph.reshape %3 : !s to !k
  %5 = graph.broadcast %4 : !k to !x
  %6 = graph.mul %1, %5 : !x
  %7 = graph.transpose %6 [1, 0] : !x
  return %7, %1 : !t, !x
}

// -----

!x = !graph.tensor<[4, 1000000], f32>
!s = !graph.tensor<[4], f32>
!k = !graph.tensor<[4, 1], f32>

// Too long for one block: two kernels.
// CHECK-LABEL: func.func @long
// CHECK-COUNT-2: graph.region
func.func @long(%x: !x) -> !x {
  %0 = graph.reduce max, %x axes [1] : !x
  %1 = graph.reshape %0 : !s to !k
  %2 = graph.broadcast %1 : !k to !x
  %3 = graph.sub %x, %2 : !x
  return %3 : !x
}

// -----

!x = !graph.tensor<[b, c, 64], f32>
!s = !graph.tensor<[b, 64], f32>
!k = !graph.tensor<[b, 1, 64], f32>

// Not the last dimension: nothing is kept.
// CHECK-LABEL: func.func @columns
// CHECK-COUNT-2: graph.region
func.func @columns(%x: !x) -> !x {
  %0 = graph.reduce max, %x axes [1] : !x
  %1 = graph.reshape %0 : !s to !k
  %2 = graph.broadcast %1 : !k to !x
  %3 = graph.sub %x, %2 : !x
  return %3 : !x
}

// -----

!x = !graph.tensor<[n, 64, 4, 8], f32>
!s = !graph.tensor<[n, 4], f32>
!k = !graph.tensor<[n, 1, 4, 1], f32>

// Rows that are some channels of each pixel.
// CHECK-LABEL: func.func @groups
// CHECK-COUNT-1: graph.region
// CHECK: graph.reduce sum, %{{.*}} axes [1, 3]
// CHECK: graph.sub
// CHECK-NOT: graph.region
// CHECK: return
func.func @groups(%x: !x) -> !x {
  %0 = graph.reduce sum, %x axes [1, 3] : !x
  %1 = graph.reshape %0 : !s to !k
  %2 = graph.broadcast %1 : !k to !x
  %3 = graph.sub %x, %2 : !x
  return %3 : !x
}

// -----

!x = !graph.tensor<[n, 16384, 4, 4], f32>
!s = !graph.tensor<[n, 4], f32>
!k = !graph.tensor<[n, 1, 4, 1], f32>

// Such rows are too long before others are: 65536 elements in pieces of 4.
// CHECK-LABEL: func.func @long_groups
// CHECK-COUNT-2: graph.region
func.func @long_groups(%x: !x) -> !x {
  %0 = graph.reduce sum, %x axes [1, 3] : !x
  %1 = graph.reshape %0 : !s to !k
  %2 = graph.broadcast %1 : !k to !x
  %3 = graph.sub %x, %2 : !x
  return %3 : !x
}

// -----

!x = !graph.tensor<[n, 96, h, 56], f32>
!s = !graph.tensor<[n, h, 56], f32>
!k = !graph.tensor<[n, 1, h, 56], f32>

// Columns.
// CHECK-LABEL: func.func @channels
// CHECK-COUNT-1: graph.region
// CHECK-NOT: graph.region
// CHECK: return
func.func @channels(%x: !x) -> !x {
  %0 = graph.reduce max, %x axes [1] : !x
  %1 = graph.reshape %0 : !s to !k
  %2 = graph.broadcast %1 : !k to !x
  %3 = graph.sub %x, %2 : !x
  return %3 : !x
}

// -----

!x = !graph.tensor<[n, c, 56], f32>
!s = !graph.tensor<[n, 56], f32>
!k = !graph.tensor<[n, 1, 56], f32>

// Columns whose length nobody knows, which may be long.
// CHECK-LABEL: func.func @long_columns
// CHECK-COUNT-2: graph.region
func.func @long_columns(%x: !x) -> !x {
  %0 = graph.reduce max, %x axes [1] : !x
  %1 = graph.reshape %0 : !s to !k
  %2 = graph.broadcast %1 : !k to !x
  %3 = graph.sub %x, %2 : !x
  return %3 : !x
}

// -----

!x = !graph.tensor<[n, 14, 14, 96], f32>
!w = !graph.tensor<[3, 3, 1, 96], f32>
!s = !graph.tensor<[n, 96], f32>
!k = !graph.tensor<[n, 1, 1, 96], f32>

// The x of x * sigmoid(x) has two uses. Its convolution computes both, and stores what the mean reads.
// CHECK-LABEL: func.func @silu
// CHECK: %[[A:.*]] = graph.region
// CHECK: graph.conv
// CHECK: graph.sigmoid
// CHECK: graph.mul
// CHECK: graph.yield %{{[^,]*}} :
// CHECK: graph.region{{.*}}(%[[A]])
// CHECK-NOT: graph.sigmoid
// CHECK: graph.reduce sum
func.func @silu(%x: !x) -> (!x, !k) {
  %w = graph.weight "m.onnx#w" [] : !w
  %y = graph.conv %x, %w stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 96 : !x, !w
  %g = graph.sigmoid %y : !x
  %a = graph.mul %y, %g : !x
  %m = graph.reduce sum, %a axes [1, 2] : !x
  %k = graph.reshape %m : !s to !k
  %e = graph.exp %k : !k
  return %a, %e : !x, !k
}

// RUN: kpc-opt %s --gather-nd-to-broadcast | FileCheck %s

// Gathers that pick each element by its own indices.

!mask = !graph.tensor<[b, s], i1>
!index = !graph.tensor<[b, 1, 1, s, 1], i64>

// CHECK-LABEL: @mask(
// CHECK-NEXT: %[[Y:.*]] = graph.reshape %arg0 : <[b, s], i1> to <[b, 1, 1, s], i1>
// CHECK-NEXT: return %[[Y]]
func.func @mask(%x: !mask) -> !graph.tensor<[b, 1, 1, s], i1> {
  %0 = graph.iota axis 0 : !graph.tensor<[b], i64>
  %1 = graph.reshape %0 : !graph.tensor<[b], i64> to !graph.tensor<[b, 1, 1, 1, 1], i64>
  %2 = graph.broadcast %1 : !graph.tensor<[b, 1, 1, 1, 1], i64> to !index
  %3 = graph.iota axis 0 : !graph.tensor<[s], i64>
  %4 = graph.reshape %3 : !graph.tensor<[s], i64> to !graph.tensor<[1, 1, 1, s, 1], i64>
  %5 = graph.broadcast %4 : !graph.tensor<[1, 1, 1, s, 1], i64> to !index
  %6 = graph.concat %2, %5 axis 4 : !index, !index
  %7 = graph.gather_nd %x, %6 batch_dims 0 : !mask, !graph.tensor<[b, 1, 1, s, 2], i64>
  return %7 : !graph.tensor<[b, 1, 1, s], i1>
}

// Along another dimension they repeat.
// CHECK-LABEL: @repeated(
// CHECK-NEXT: %[[X:.*]] = graph.reshape %arg0 : <[b, s], i1> to <[b, 1, s], i1>
// CHECK-NEXT: %[[Y:.*]] = graph.broadcast %[[X]] : <[b, 1, s], i1> to <[b, 4, s], i1>
// CHECK-NEXT: return %[[Y]]
func.func @repeated(%x: !mask) -> !graph.tensor<[b, 4, s], i1> {
  %0 = graph.iota axis 0 : !graph.tensor<[b, 4, s, 1], i64>
  %1 = graph.iota axis 2 : !graph.tensor<[b, 4, s, 1], i64>
  %2 = graph.concat %0, %1 axis 3 : !graph.tensor<[b, 4, s, 1], i64>, !graph.tensor<[b, 4, s, 1], i64>
  %3 = graph.gather_nd %x, %2 batch_dims 0 : !mask, !graph.tensor<[b, 4, s, 2], i64>
  return %3 : !graph.tensor<[b, 4, s], i1>
}

// Negative indices count from the end, and none is negative.
// CHECK-LABEL: @from_the_end(
// CHECK-NEXT: %[[Y:.*]] = graph.reshape %arg0 : <[b, s], i1> to <[b, 1, s], i1>
// CHECK-NEXT: return %[[Y]]
func.func @from_the_end(%x: !mask) -> !graph.tensor<[b, 1, s], i1> {
  %i = graph.iota axis 0 : !graph.tensor<[b, 1, s, 1], i64>
  %j = graph.iota axis 2 : !graph.tensor<[b, 1, s, 1], i64>
  %size = graph.sizes <[b]>
  %four = graph.reshape %size : !graph.tensor<[1], i64> to !graph.tensor<[1, 1, 1, 1], i64>
  %sizes = graph.broadcast %four : !graph.tensor<[1, 1, 1, 1], i64> to !graph.tensor<[b, 1, s, 1], i64>
  %zero = graph.constant dense<0> : tensor<i64>
  %zeros = graph.broadcast %zero : !graph.tensor<[], i64> to !graph.tensor<[b, 1, s, 1], i64>
  %negative = graph.compare lt, %i, %zeros : !graph.tensor<[b, 1, s, 1], i64>
  %wrapped = graph.add %i, %sizes : !graph.tensor<[b, 1, s, 1], i64>
  %from = graph.select %negative, %wrapped, %i : !graph.tensor<[b, 1, s, 1], i1>, !graph.tensor<[b, 1, s, 1], i64>
  %2 = graph.concat %from, %j axis 3 : !graph.tensor<[b, 1, s, 1], i64>, !graph.tensor<[b, 1, s, 1], i64>
  %3 = graph.gather_nd %x, %2 batch_dims 0 : !mask, !graph.tensor<[b, 1, s, 2], i64>
  return %3 : !graph.tensor<[b, 1, s], i1>
}

// Transposed, shifted, and of other sizes: a gather.
// CHECK-LABEL: @others(
// CHECK-COUNT-3: graph.gather_nd
func.func @others(%x: !graph.tensor<[8, 8], i1>) -> (!graph.tensor<[8, 8], i1>, !graph.tensor<[7, 8], i1>, !graph.tensor<[4, 8], i1>) {
  %0 = graph.iota axis 0 : !graph.tensor<[8, 8, 1], i64>
  %1 = graph.iota axis 1 : !graph.tensor<[8, 8, 1], i64>
  %2 = graph.concat %1, %0 axis 2 : !graph.tensor<[8, 8, 1], i64>, !graph.tensor<[8, 8, 1], i64>
  %3 = graph.gather_nd %x, %2 batch_dims 0 : !graph.tensor<[8, 8], i1>, !graph.tensor<[8, 8, 2], i64>
  %one = graph.constant dense<1> : tensor<i64>
  %4 = graph.broadcast %one : !graph.tensor<[], i64> to !graph.tensor<[7, 8, 1], i64>
  %5 = graph.iota axis 0 : !graph.tensor<[7, 8, 1], i64>
  %6 = graph.add %5, %4 : !graph.tensor<[7, 8, 1], i64>
  %7 = graph.iota axis 1 : !graph.tensor<[7, 8, 1], i64>
  %8 = graph.concat %6, %7 axis 2 : !graph.tensor<[7, 8, 1], i64>, !graph.tensor<[7, 8, 1], i64>
  %9 = graph.gather_nd %x, %8 batch_dims 0 : !graph.tensor<[8, 8], i1>, !graph.tensor<[7, 8, 2], i64>
  %10 = graph.iota axis 0 : !graph.tensor<[4, 8, 1], i64>
  %11 = graph.iota axis 1 : !graph.tensor<[4, 8, 1], i64>
  %12 = graph.concat %10, %11 axis 2 : !graph.tensor<[4, 8, 1], i64>, !graph.tensor<[4, 8, 1], i64>
  %13 = graph.gather_nd %x, %12 batch_dims 0 : !graph.tensor<[8, 8], i1>, !graph.tensor<[4, 8, 2], i64>
  return %3, %9, %13 : !graph.tensor<[8, 8], i1>, !graph.tensor<[7, 8], i1>, !graph.tensor<[4, 8], i1>
}

// Indices in a type that has too few numbers for them, and a piece without elements: gathers.
// CHECK-LABEL: @narrow(
// CHECK: graph.gather_nd
func.func @narrow(%x: !graph.tensor<[300, 8], i1>) -> !graph.tensor<[300, 8], i1> {
  %0 = graph.iota axis 0 : !graph.tensor<[300, 8, 1], i64>
  %1 = graph.cast %0 to i8 : !graph.tensor<[300, 8, 1], i64>
  %2 = graph.cast %1 to i64 : !graph.tensor<[300, 8, 1], i8>
  %3 = graph.iota axis 1 : !graph.tensor<[300, 8, 1], i64>
  %4 = graph.concat %2, %3 axis 2 : !graph.tensor<[300, 8, 1], i64>, !graph.tensor<[300, 8, 1], i64>
  %5 = graph.gather_nd %x, %4 batch_dims 0 : !graph.tensor<[300, 8], i1>, !graph.tensor<[300, 8, 2], i64>
  return %5 : !graph.tensor<[300, 8], i1>
}

// CHECK-LABEL: @nothing(
// CHECK: graph.gather_nd
func.func @nothing(%x: !graph.tensor<[8, 8], i1>, %i: !graph.tensor<[0, 1], i64>) -> !graph.tensor<[0], i1> {
  %0 = graph.constant dense<> : tensor<0x1xi64>
  %1 = graph.concat %0, %i axis 1 : !graph.tensor<[0, 1], i64>, !graph.tensor<[0, 1], i64>
  %2 = graph.gather_nd %x, %1 batch_dims 0 : !graph.tensor<[8, 8], i1>, !graph.tensor<[0, 2], i64>
  return %2 : !graph.tensor<[0], i1>
}

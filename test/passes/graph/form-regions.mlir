// RUN: kpc-opt %s --form-regions | FileCheck %s

!x = !graph.tensor<[n, 8], f32>
!w = !graph.tensor<[8, 4], f32>
!y = !graph.tensor<[n, 4], f32>
!v = !graph.tensor<["n*4"], f32>

// A reduction takes what is before it and what is after it.
// CHECK-LABEL: @prologue_and_epilogue(
// CHECK-NEXT: %[[R:.*]] = graph.region "exp+reduce+sqrt"(%arg0) :
// CHECK: graph.exp
// CHECK-NEXT: graph.reduce
// CHECK-NEXT: graph.sqrt
// CHECK-NEXT: graph.yield
// CHECK: return %[[R]]
func.func @prologue_and_epilogue(%x: !x) -> !graph.tensor<[n], f32> {
  %0 = graph.exp %x : !x
  %1 = graph.reduce sum, %0 axes [1] : !x
  %2 = graph.sqrt %1 : !graph.tensor<[n], f32>
  return %2 : !graph.tensor<[n], f32>
}

// A product reads each element many times, so nothing is computed before it.
// CHECK-LABEL: @matmul(
// CHECK-NEXT: %[[A:.*]] = graph.region "exp"(%arg0)
// CHECK: graph.region "matmul+add+relu"(%[[A]], %arg1, %arg2)
// CHECK: graph.matmul
// CHECK: graph.broadcast
// CHECK: graph.add
// CHECK: graph.relu
func.func @matmul(%x: !x, %w: !w, %b: !graph.tensor<[4], f32>) -> !y {
  %0 = graph.exp %x : !x
  %1 = graph.matmul %0, %w : !x, !w
  %2 = graph.broadcast %b : !graph.tensor<[4], f32> to !y
  %3 = graph.add %1, %2 : !y
  %4 = graph.relu %3 : !y
  return %4 : !y
}

// CHECK-LABEL: @two_heavy_ops(
// CHECK-NEXT: graph.region "matmul"(%arg0, %arg1)
// CHECK: graph.region "reduce"(
func.func @two_heavy_ops(%x: !x, %w: !w) -> !graph.tensor<[n], f32> {
  %0 = graph.matmul %x, %w : !x, !w
  %1 = graph.reduce sum, %0 axes [1] : !y
  return %1 : !graph.tensor<[n], f32>
}

// CHECK-LABEL: @several_kernels_use_it(
// CHECK-NEXT: %[[A:.*]] = graph.region "exp"(%arg0)
// CHECK: graph.region "sin"(%[[A]])
// CHECK: graph.region "cos"(%[[A]])
func.func @several_kernels_use_it(%x: !x) -> (!x, !x) {
  %0 = graph.exp %x : !x
  %1 = graph.sin %0 : !x
  %2 = graph.cos %0 : !x
  return %1, %2 : !x, !x
}

// CHECK-LABEL: @diamond(
// CHECK-NEXT: graph.region "exp+sin+1 more+add"(%arg0)
// CHECK-NOT: graph.region
func.func @diamond(%x: !x) -> !x {
  %0 = graph.exp %x : !x
  %1 = graph.sin %0 : !x
  %2 = graph.cos %0 : !x
  %3 = graph.add %1, %2 : !x
  return %3 : !x
}

// CHECK-LABEL: @concat(
// CHECK-NEXT: %[[A:.*]] = graph.region "exp"
// CHECK: %[[C:.*]] = graph.region "concat"(%[[A]], %arg0)
// CHECK: graph.region "sin"(%[[C]])
func.func @concat(%x: !x) -> !graph.tensor<["n*2", 8], f32> {
  %0 = graph.exp %x : !x
  %1 = graph.concat %0, %x axis 0 : !x, !x
  %2 = graph.sin %1 : !graph.tensor<["n*2", 8], f32>
  return %2 : !graph.tensor<["n*2", 8], f32>
}

// Heads that lie elsewhere, in lines, are read there; lines that are turned are not.
// CHECK-LABEL: @concat_of_heads(
// CHECK-DAG: %[[ALL:.*]] = graph.region "slice+transpose+concat"(%arg0, %arg1)
// CHECK-DAG: %[[T:.*]] = graph.region "transpose"(%arg2)
// CHECK-DAG: graph.region "concat"(%[[ALL]], %[[T]])
func.func @concat_of_heads(%x: !graph.tensor<[n, s, 12, 8], f32>, %past: !graph.tensor<[n, 2, p, 8], f32>, %y: !graph.tensor<[n, 2, 8, p], f32>)
    -> !graph.tensor<[n, 2, "p*2 + s", 8], f32> {
  %0 = graph.slice %x start <[0, 0, 10, 0]> step [1, 1, 1, 1] : !graph.tensor<[n, s, 12, 8], f32> to !graph.tensor<[n, s, 2, 8], f32>
  %1 = graph.transpose %0 [0, 2, 1, 3] : !graph.tensor<[n, s, 2, 8], f32>
  %2 = graph.concat %past, %1 axis 2 : !graph.tensor<[n, 2, p, 8], f32>, !graph.tensor<[n, 2, s, 8], f32>
  %3 = graph.transpose %y [0, 1, 3, 2] : !graph.tensor<[n, 2, 8, p], f32>
  %4 = graph.concat %2, %3 axis 2 : !graph.tensor<[n, 2, "p + s", 8], f32>, !graph.tensor<[n, 2, p, 8], f32>
  return %4 : !graph.tensor<[n, 2, "p*2 + s", 8], f32>
}

// CHECK-LABEL: @views_and_sources_stay_outside(
// CHECK: %[[W:.*]] = graph.weight "m#w"
// CHECK: %[[E:.*]] = graph.region "add"(%arg0, %[[W]])
// CHECK: %[[R:.*]] = graph.reshape %[[E]]
// CHECK: graph.region "exp"(%[[R]])
func.func @views_and_sources_stay_outside(%y: !graph.tensor<[2, 4], f32>) -> !graph.tensor<[8], f32> {
  %w = graph.weight "m#w" [] : !graph.tensor<[2, 4], f32>
  %0 = graph.add %y, %w : !graph.tensor<[2, 4], f32>
  %1 = graph.reshape %0 : !graph.tensor<[2, 4], f32> to !graph.tensor<[8], f32>
  %2 = graph.exp %1 : !graph.tensor<[8], f32>
  return %2 : !graph.tensor<[8], f32>
}

// One value repeated is made where it is used.
// CHECK-LABEL: @splat_is_cloned(
// CHECK-NEXT: graph.region "mul"(%arg0)
// CHECK: graph.constant
// CHECK: graph.broadcast
// CHECK: graph.mul
func.func @splat_is_cloned(%x: !x) -> !x {
  %c = graph.constant dense<2.0> : tensor<f32>
  %0 = graph.broadcast %c : !graph.tensor<[], f32> to !x
  %1 = graph.mul %x, %0 : !x
  return %1 : !x
}

// One value repeated that a caller reads is written by a kernel; only a little
// of it is data.
// CHECK-LABEL: @splat_is_filled(
// CHECK-DAG: %[[SMALL:.*]] = graph.constant dense<2.000000e+00> : tensor<1024xf32>
// CHECK-DAG: %[[LARGE:.*]] = graph.region "constant"() : () -> !graph.tensor<[1000000000000], f32> {
// CHECK: graph.constant dense<2.000000e+00> : tensor<1000000000000xf32>
// CHECK: return %[[SMALL]], %[[LARGE]]
func.func @splat_is_filled() -> (!graph.tensor<[1024], f32>, !graph.tensor<[1000000000000], f32>) {
  %0 = graph.constant dense<2.0> : tensor<1024xf32>
  %1 = graph.constant dense<2.0> : tensor<1000000000000xf32>
  return %0, %1 : !graph.tensor<[1024], f32>, !graph.tensor<[1000000000000], f32>
}

// CHECK-LABEL: @dead_ops_vanish(
// CHECK-NEXT: return %arg0
func.func @dead_ops_vanish(%x: !x) -> !x {
  %0 = graph.exp %x : !x
  return %x : !x
}

// The pixels of a transposed convolution: what is behind it, their order and the cut are one kernel.
// CHECK-LABEL: @interleaved(
// CHECK-NEXT: %[[Y:.*]] = graph.region
// CHECK: graph.relu
// CHECK-NEXT: graph.transpose
// CHECK-NEXT: graph.reshape
// CHECK-NEXT: graph.slice
// CHECK-NOT: graph.region
// CHECK: return %[[Y]]
func.func @interleaved(%x: !graph.tensor<[n, 17, 17, 2, 2, 32], f32>) -> !graph.tensor<[n, 32, 32, 32], f32> {
  %0 = graph.relu %x : !graph.tensor<[n, 17, 17, 2, 2, 32], f32>
  %1 = graph.transpose %0 [0, 1, 3, 2, 4, 5] : !graph.tensor<[n, 17, 17, 2, 2, 32], f32>
  %2 = graph.reshape %1 : !graph.tensor<[n, 17, 2, 17, 2, 32], f32> to !graph.tensor<[n, 34, 34, 32], f32>
  %3 = graph.slice %2 start #graph.dims<[0, 1, 1, 0]> step [1, 1, 1, 1] : !graph.tensor<[n, 34, 34, 32], f32> to !graph.tensor<[n, 32, 32, 32], f32>
  return %3 : !graph.tensor<[n, 32, 32, 32], f32>
}

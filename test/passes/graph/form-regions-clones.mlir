// RUN: kpc-opt %s --form-regions=rows | FileCheck %s
// RUN: kpc-opt %s --form-regions | FileCheck %s --check-prefix=PLAIN

!h = !graph.tensor<[1, 262144, 32, 4], f16>
!x = !graph.tensor<[1, 262144, 32, 4], f32>
!p = !graph.tensor<[1, 256, 32, 4], f32>
!s = !graph.tensor<[1, 1, 32, 1], f32>

// Wider floats, and what is left of a mean, are made in each kernel that uses them: none writes them.
// CHECK-LABEL: func.func @norm(
// CHECK: graph.region "cast+window"(%arg0)
// CHECK: graph.region "cast+sub+1 more+window"(%arg0, %arg1)
// CHECK: graph.region "cast+sub+mul"(%arg0, %arg1, %arg2)
// CHECK-NOT: graph.region
// CHECK: return
// PLAIN-LABEL: func.func @norm(
// PLAIN: graph.region "cast"(%arg0)
// PLAIN: graph.region "sub"
func.func @norm(%h: !h, %mean: !s, %scale: !s) -> (!p, !p, !x) {
  %x = graph.cast %h to f32 : !h
  %p = graph.window sum, %x window [1, 1024, 1, 1] stride [1, 1024, 1, 1] dilation [1, 1, 1, 1] low [0, 0, 0, 0] high [0, 0, 0, 0] : !x
  %m = graph.broadcast %mean : !s to !x
  %c = graph.sub %x, %m : !x
  %q = graph.mul %c, %c : !x
  %v = graph.window sum, %q window [1, 1024, 1, 1] stride [1, 1024, 1, 1] dilation [1, 1, 1, 1] low [0, 0, 0, 0] high [0, 0, 0, 0] : !x
  %f = graph.broadcast %scale : !s to !x
  %y = graph.mul %c, %f : !x
  return %p, %v, %y : !p, !p, !x
}

!a = !graph.tensor<[64, 4096], f32>
!r = !graph.tensor<[64, 4096], f16>
!b = !graph.tensor<[4096], f32>
!t = !graph.tensor<[4096, 64], f32>

// One that is an output is in memory in any case.
// CHECK-LABEL: func.func @output(
// CHECK: graph.region "cast"(%arg0)
func.func @output(%h: !r) -> (!a, !a) {
  %x = graph.cast %h to f32 : !r
  %y = graph.exp %x : !a
  return %x, %y : !a, !a
}

// What alone reads the value before it is one kernel with that.
// CHECK-LABEL: func.func @behind_exp(
// CHECK: graph.region "exp+sub"(%arg0, %arg1)
func.func @behind_exp(%x: !a, %b: !b) -> (!a, !t) {
  %e = graph.exp %x : !a
  %w = graph.broadcast %b : !b to !a
  %c = graph.sub %e, %w : !a
  %y = graph.sqrt %c : !a
  %z = graph.transpose %c [1, 0] : !a
  return %y, %z : !a, !t
}

// A product reads each element many times: it and the other read what one kernel wrote.
// CHECK-LABEL: func.func @product(
// CHECK: %[[X:.*]] = graph.region "cast"(%arg0)
// CHECK-DAG: graph.region "matmul"(%[[X]], %arg1)
// CHECK-DAG: graph.region "exp"(%[[X]])
func.func @product(%h: !r, %w: !t) -> (!graph.tensor<[64, 64], f32>, !a) {
  %x = graph.cast %h to f32 : !r
  %y = graph.matmul %x, %w : !a, !t
  %z = graph.exp %x : !a
  return %y, %z : !graph.tensor<[64, 64], f32>, !a
}

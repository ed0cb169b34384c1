// RUN: kpc-opt --sort-scatters %s | FileCheck %s

!x = !graph.tensor<[1000, 64], f32>
!u = !graph.tensor<[5000, 64], f32>

// CHECK-LABEL: func.func @rows(
// CHECK: graph.select
// CHECK: %[[T:.*]] = graph.select %{{.*}} : <[5000], i1>, <[5000], i64>
// CHECK: %[[K:.*]] = graph.cast %[[T]] to i32
// CHECK: %[[S:.*]], %[[O:.*]] = graph.sort %[[K]] axis 0 bits 10 : <[5000], i32>
// CHECK: %[[F:.*]] = graph.search_sorted %[[S]], %{{.*}} : <[5000], i32>, <[1001], i32>
// CHECK: %[[B:.*]] = graph.cast %[[F]] to i32
// CHECK: graph.fold_segments add, %arg0, %arg2, %[[O]], %[[B]]
func.func @rows(%x: !x, %i: !graph.tensor<[5000, 1], i64>, %u: !u) -> !x {
  %0 = graph.scatter_nd add, %x, %i, %u : !x, !graph.tensor<[5000, 1], i64>, !u
  return %0 : !x
}

// Few updates are looked through.
// CHECK-LABEL: func.func @few(
// CHECK: graph.scatter_nd
// CHECK-NOT: graph.sort
func.func @few(%x: !x, %i: !graph.tensor<[32, 1], i64>, %u: !graph.tensor<[32, 64], f32>) -> !x {
  %0 = graph.scatter_nd none, %x, %i, %u : !x, !graph.tensor<[32, 1], i64>, !graph.tensor<[32, 64], f32>
  return %0 : !x
}

// CHECK-LABEL: func.func @small(
// CHECK: graph.scatter_elements
// CHECK-NOT: graph.sort
func.func @small(%x: !graph.tensor<[1000], f32>, %i: !graph.tensor<[4000], i64>, %u: !graph.tensor<[4000], f32>) -> !graph.tensor<[1000], f32> {
  %0 = graph.scatter_elements max, %x, %i, %u axis 0 : !graph.tensor<[1000], f32>, !graph.tensor<[4000], i64>, !graph.tensor<[4000], f32>
  return %0 : !graph.tensor<[1000], f32>
}

// Indices that are the same in all columns: rows.
// CHECK-LABEL: func.func @spread(
// CHECK: graph.sort %{{.*}} axis 0 bits 10 : <[5000], i32>
// CHECK: graph.fold_segments add, %arg0, %arg2, %{{.*}} : <[1000, 64], f32>, <[5000, 64], f32>, <[5000], i64>, <[1001], i32>
func.func @spread(%x: !x, %i: !graph.tensor<[5000, 1], i64>, %u: !u) -> !x {
  %0 = graph.broadcast %i : !graph.tensor<[5000, 1], i64> to !graph.tensor<[5000, 64], i64>
  %1 = graph.scatter_elements add, %x, %0, %u axis 0 : !x, !graph.tensor<[5000, 64], i64>, !u
  return %1 : !x
}

// Each element meets its own.
// CHECK-LABEL: func.func @elements(
// CHECK: graph.sort %{{.*}} axis 0 bits 62 : <["m*n"], i64>
// CHECK: graph.fold_segments add, %{{.*}} : <["m*n", 1], f32>, <["m*n", 1], f32>, <["m*n"], i64>, <["m*n + 1"], i64>
func.func @elements(%x: !graph.tensor<[n, m], f32>, %i: !graph.tensor<[n, m], i64>, %u: !graph.tensor<[n, m], f32>) -> !graph.tensor<[n, m], f32> {
  %0 = graph.scatter_elements add, %x, %i, %u axis 1 : !graph.tensor<[n, m], f32>, !graph.tensor<[n, m], i64>, !graph.tensor<[n, m], f32>
  return %0 : !graph.tensor<[n, m], f32>
}

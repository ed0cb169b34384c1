// RUN: kpc-opt %s | kpc-opt | FileCheck %s

!x = !graph.tensor<[n, 4], f32>
!i = !graph.tensor<[m, 2], i64>
!s = !graph.tensor<[], f32>

// CHECK-LABEL: func.func @sizes_change(
func.func @sizes_change(%x: !x, %s: !s) -> (!graph.tensor<[4, n], f32>, !graph.tensor<["n*2", 4], f32>, !graph.tensor<["max(n*3 - 2, 0) + 1", 5], f32>) {
  // CHECK: graph.broadcast %{{.*}} : <[n, 4], f32> to <[k, n, 4], f32>
  %0 = graph.broadcast %x : !x to !graph.tensor<[k, n, 4], f32>
  // CHECK: graph.reshape %{{.*}} : <[n, 4], f32> to <["n*4"], f32>
  %1 = graph.reshape %x : !x to !graph.tensor<["n*4"], f32>
  // CHECK: graph.transpose %{{.*}} [1, 0] : <[n, 4], f32>
  %2 = graph.transpose %x [1, 0] : !x
  // CHECK: graph.slice %{{.*}} start <["n - 1", 0]> step [-1, 2] : <[n, 4], f32> to <[n, 2], f32>
  %3 = graph.slice %x start #graph.dims<["n + -1", 0]> step [-1, 2] : !x to !graph.tensor<[n, 2], f32>
  // CHECK: graph.concat %{{.*}}, %{{.*}} axis 0 : !graph.tensor<[n, 4], f32>, !graph.tensor<[n, 4], f32>
  %4 = graph.concat %x, %x axis 0 : !x, !x
  // CHECK: graph.pad %{{.*}}, %{{.*}} low [1, 0] high [0, 1] interior [2, 0] : <[n, 4], f32>, <[], f32>
  %5 = graph.pad %x, %s low [1, 0] high [0, 1] interior [2, 0] : !x, !s
  return %2, %4, %5 : !graph.tensor<[4, n], f32>, !graph.tensor<["n*2", 4], f32>, !graph.tensor<["max(n*3 - 2, 0) + 1", 5], f32>
}

// CHECK-LABEL: func.func @gathers(
func.func @gathers(%x: !x, %i: !i) -> (!graph.tensor<[n, m, 2], f32>, !graph.tensor<[m, 2], f32>, !graph.tensor<[m], f32>) {
  // CHECK: graph.gather %{{.*}}, %{{.*}} axis 1 : <[n, 4], f32>, <[m, 2], i64>
  %0 = graph.gather %x, %i axis 1 : !x, !i
  // CHECK: graph.gather_elements %{{.*}}, %{{.*}} axis 0 : <[n, 4], f32>, <[m, 2], i64>
  %1 = graph.gather_elements %x, %i axis 0 : !x, !i
  // CHECK: graph.gather_nd %{{.*}}, %{{.*}} batch_dims 0 : <[n, 4], f32>, <[m, 2], i64>
  %2 = graph.gather_nd %x, %i batch_dims 0 : !x, !i
  return %0, %1, %2 : !graph.tensor<[n, m, 2], f32>, !graph.tensor<[m, 2], f32>, !graph.tensor<[m], f32>
}

// CHECK-LABEL: func.func @scatters(
func.func @scatters(%x: !x, %i: !i, %u: !graph.tensor<[m, 2], f32>, %v: !graph.tensor<[m], f32>) -> !x {
  // CHECK: graph.scatter_elements none, %{{.*}}, %{{.*}}, %{{.*}} axis 0 : <[n, 4], f32>, <[m, 2], i64>, <[m, 2], f32>
  %0 = graph.scatter_elements none, %x, %i, %u axis 0 : !x, !i, !graph.tensor<[m, 2], f32>
  // CHECK: graph.scatter_elements add, %{{.*}}, %{{.*}}, %{{.*}} axis 1 : <[n, 4], f32>, <[m, 2], i64>, <[m, 2], f32>
  %1 = graph.scatter_elements add, %x, %i, %u axis 1 : !x, !i, !graph.tensor<[m, 2], f32>
  // CHECK: graph.scatter_nd mul, %{{.*}}, %{{.*}}, %{{.*}} : <[n, 4], f32>, <[m, 2], i64>, <[m], f32>
  %2 = graph.scatter_nd mul, %x, %i, %v : !x, !i, !graph.tensor<[m], f32>
  // CHECK: graph.scatter_nd max, %{{.*}}, %{{.*}}, %{{.*}} : <[n, 4], f32>, <[m, 2], i64>, <[m], f32>
  %3 = graph.scatter_nd max, %x, %i, %v : !x, !i, !graph.tensor<[m], f32>
  // CHECK: graph.scatter_nd min, %{{.*}}, %{{.*}}, %{{.*}} : <[n, 4], f32>, <[m, 2], i64>, <[m], f32>
  %4 = graph.scatter_nd min, %x, %i, %v : !x, !i, !graph.tensor<[m], f32>
  return %4 : !x
}

// CHECK-LABEL: func.func @iota(
func.func @iota() {
  // CHECK: graph.iota axis 1 : <[n, 4], f32>
  %0 = graph.iota axis 1 : !x
  return
}

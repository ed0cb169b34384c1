// RUN: kpc-opt %s --canonicalize | FileCheck %s

!x = !graph.tensor<[n, 4, 2], f32>

// CHECK-LABEL: @nothing_moves(
// CHECK-NEXT: return %arg0, %arg0, %arg0, %arg0, %arg0, %arg0 :
func.func @nothing_moves(%x: !x, %s: !graph.tensor<[], f32>) -> (!x, !x, !x, !x, !x, !x) {
  %0 = graph.broadcast %x : !x to !x
  %1 = graph.reshape %x : !x to !x
  %2 = graph.transpose %x [0, 1, 2] : !x
  %3 = graph.slice %x start #graph.dims<[0, 0, 0]> step [1, 1, 1] : !x to !x
  %4 = graph.concat %x axis 1 : !x
  %5 = graph.pad %x, %s low [0, 0, 0] high [0, 0, 0] interior [0, 0, 0] : !x, !graph.tensor<[], f32>
  return %0, %1, %2, %3, %4, %5 : !x, !x, !x, !x, !x, !x
}

// CHECK-LABEL: @reversed(
// CHECK-NEXT: graph.slice
func.func @reversed(%x: !x) -> !x {
  %0 = graph.slice %x start #graph.dims<[0, 3, 0]> step [1, -1, 1] : !x to !x
  return %0 : !x
}

// CHECK-LABEL: @reshapes(
// CHECK-NEXT: %[[R:.*]] = graph.reshape %arg0 : <[n, 4, 2], f32> to <["n*4", 2], f32>
// CHECK-NEXT: return %[[R]]
func.func @reshapes(%x: !x) -> !graph.tensor<["n*4", 2], f32> {
  %0 = graph.reshape %x : !x to !graph.tensor<["n*8"], f32>
  %1 = graph.reshape %0 : !graph.tensor<["n*8"], f32> to !graph.tensor<["n*4", 2], f32>
  return %1 : !graph.tensor<["n*4", 2], f32>
}

// CHECK-LABEL: @transposes(
// CHECK-NEXT: %[[T:.*]] = graph.transpose %arg0 [2, 0, 1] : <[n, 4, 2], f32>
// CHECK-NEXT: return %[[T]], %arg0 :
func.func @transposes(%x: !x) -> (!graph.tensor<[2, n, 4], f32>, !x) {
  %0 = graph.transpose %x [1, 2, 0] : !x
  %1 = graph.transpose %0 [1, 2, 0] : !graph.tensor<[4, 2, n], f32>
  %2 = graph.transpose %0 [2, 0, 1] : !graph.tensor<[4, 2, n], f32>
  return %1, %2 : !graph.tensor<[2, n, 4], f32>, !x
}

// CHECK-LABEL: @constants()
// CHECK-DAG: %[[B:.*]] = graph.constant dense<2.000000e+00> : tensor<3x2xf32>
// CHECK-DAG: %[[R:.*]] = graph.constant dense<{{\[\[}}1, 2], [3, 4]]> : tensor<2x2xi32>
// CHECK: return %[[B]], %[[R]] :
func.func @constants() -> (!graph.tensor<[3, 2], f32>, !graph.tensor<[2, 2], i32>) {
  %0 = graph.constant dense<2.0> : tensor<2xf32>
  %1 = graph.broadcast %0 : !graph.tensor<[2], f32> to !graph.tensor<[3, 2], f32>
  %2 = graph.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %3 = graph.reshape %2 : !graph.tensor<[4], i32> to !graph.tensor<[2, 2], i32>
  return %1, %3 : !graph.tensor<[3, 2], f32>, !graph.tensor<[2, 2], i32>
}

// One value repeated stays that, whatever moves it.
// CHECK-LABEL: @splats()
// CHECK-DAG: %[[T:.*]] = graph.constant dense<6.000000e+00> : tensor<2x3xf32>
// CHECK-DAG: %[[S:.*]] = graph.constant dense<6.000000e+00> : tensor<1x2xf32>
// CHECK: return %[[T]], %[[S]] :
func.func @splats() -> (!graph.tensor<[2, 3], f32>, !graph.tensor<[1, 2], f32>) {
  %0 = graph.constant dense<6.0> : tensor<f32>
  %1 = graph.broadcast %0 : !graph.tensor<[], f32> to !graph.tensor<[3, 2], f32>
  %2 = graph.transpose %1 [1, 0] : !graph.tensor<[3, 2], f32>
  %3 = graph.slice %1 start #graph.dims<[1, 0]> step [1, 1] : !graph.tensor<[3, 2], f32> to !graph.tensor<[1, 2], f32>
  return %2, %3 : !graph.tensor<[2, 3], f32>, !graph.tensor<[1, 2], f32>
}

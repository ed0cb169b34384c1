// RUN: kpc-opt %s | kpc-opt | FileCheck %s

!x = !graph.tensor<[n, 8], f32>
!w = !graph.tensor<[8, 4], f32>
!y = !graph.tensor<[n, 4], f32>

// CHECK-LABEL: func.func @sources(
func.func @sources() -> (!graph.tensor<[2], f32>, !graph.tensor<[3], i64>) {
  // CHECK: graph.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %0 = graph.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  // CHECK: graph.sizes <[n, 3, "n*2"]>
  %1 = graph.sizes #graph.dims<[n, 3, "n*2"]>
  // CHECK: graph.weight "m.onnx#w" [] : <[8, 4], f32>
  %2 = graph.weight "m.onnx#w" [] : !w
  // CHECK: graph.weight "m.onnx#w" [{transpose = array<i64: 1, 0>}, {reshape = array<i64: 8, 4>}, {cast = f16}] : <[8, 4], f16>
  %3 = graph.weight "m.onnx#w" [{transpose = array<i64: 1, 0>}, {reshape = array<i64: 8, 4>}, {cast = f16}] : !graph.tensor<[8, 4], f16>
  return %0, %1 : !graph.tensor<[2], f32>, !graph.tensor<[3], i64>
}

// CHECK-LABEL: func.func @region(
func.func @region(%x: !x, %w: !w) -> !y {
  // CHECK: graph.region "mm+relu"(%{{.*}}, %{{.*}}) : (!graph.tensor<[n, 8], f32>, !graph.tensor<[8, 4], f32>) -> !graph.tensor<[n, 4], f32> {
  %0 = graph.region "mm+relu" (%x, %w) : (!x, !w) -> !y {
  ^bb0(%a: !x, %b: !w):
    // CHECK: graph.matmul %{{.*}}, %{{.*}} : <[n, 8], f32>, <[8, 4], f32>
    %1 = graph.matmul %a, %b : !x, !w
    // CHECK: graph.relu %{{.*}} : <[n, 4], f32>
    %2 = graph.relu %1 : !y
    // CHECK: graph.yield %{{.*}} : !graph.tensor<[n, 4], f32>
    graph.yield %2 : !y
  }
  return %0 : !y
}

// CHECK-LABEL: func.func @region_of_nothing(
func.func @region_of_nothing() {
  // CHECK: graph.region "nothing"() : () -> () {
  graph.region "nothing" () : () -> () {
    // CHECK-NEXT: graph.yield{{$}}
    graph.yield
  }
  return
}

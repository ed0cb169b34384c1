// RUN: kpc-opt %s --fold-scales | FileCheck %s

!x = !graph.tensor<[n, 8], f32>
!w = !graph.tensor<[8, 4], f32>
!y = !graph.tensor<[n, 4], f32>
!s = !graph.tensor<[4], f32>

// CHECK-LABEL: @matmul(
// CHECK-DAG: %[[W:.*]] = graph.weight "m#w"
// CHECK-DAG: %[[S:.*]] = graph.weight "m#s"
// CHECK: %[[B:.*]] = graph.broadcast %[[S]] : <[4], f32> to <[8, 4], f32>
// CHECK: %[[M:.*]] = graph.mul %[[W]], %[[B]] : <[8, 4], f32>
// CHECK: %[[Y:.*]] = graph.matmul %{{.*}}, %[[M]]
// CHECK-NEXT: return %[[Y]]
func.func @matmul(%x: !x) -> !y {
  %w = graph.weight "m#w" [] : !w
  %s = graph.weight "m#s" [] : !s
  %0 = graph.matmul %x, %w : !x, !w
  %1 = graph.broadcast %s : !s to !y
  %2 = graph.mul %1, %0 : !y
  return %2 : !y
}

// CHECK-LABEL: @conv(
// CHECK: %[[V:.*]] = graph.reshape %{{.*}} : <[1, 1, 6], f32> to <[6], f32>
// CHECK: %[[B:.*]] = graph.broadcast %[[V]] : <[6], f32> to <[3, 4, 6], f32>
// CHECK: %[[M:.*]] = graph.mul %{{.*}}, %[[B]] : <[3, 4, 6], f32>
// CHECK: %[[Y:.*]] = graph.conv %{{.*}}, %[[M]]
// CHECK-NEXT: return %[[Y]]
func.func @conv(%x: !graph.tensor<[n, 8, 4], f32>) -> !graph.tensor<[n, 6, 6], f32> {
  %w = graph.weight "m#w" [] : !graph.tensor<[3, 4, 6], f32>
  %s = graph.weight "m#s" [] : !graph.tensor<[1, 1, 6], f32>
  %0 = graph.conv %x, %w stride [1] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 8, 4], f32>, !graph.tensor<[3, 4, 6], f32>
  %1 = graph.broadcast %s : !graph.tensor<[1, 1, 6], f32> to !graph.tensor<[n, 6, 6], f32>
  %2 = graph.mul %0, %1 : !graph.tensor<[n, 6, 6], f32>
  return %2 : !graph.tensor<[n, 6, 6], f32>
}

// CHECK-LABEL: @unscaled_result_is_used(
// CHECK: %[[P:.*]] = graph.matmul
// CHECK: graph.mul %[[P]]
func.func @unscaled_result_is_used(%x: !x) -> (!y, !y) {
  %w = graph.weight "m#w" [] : !w
  %s = graph.weight "m#s" [] : !s
  %0 = graph.matmul %x, %w : !x, !w
  %1 = graph.broadcast %s : !s to !y
  %2 = graph.mul %0, %1 : !y
  return %0, %2 : !y, !y
}

// CHECK-LABEL: @scale_is_not_constant(
// CHECK: %[[P:.*]] = graph.matmul
// CHECK: graph.mul %[[P]]
func.func @scale_is_not_constant(%x: !x, %s: !s) -> !y {
  %w = graph.weight "m#w" [] : !w
  %0 = graph.matmul %x, %w : !x, !w
  %1 = graph.broadcast %s : !s to !y
  %2 = graph.mul %0, %1 : !y
  return %2 : !y
}

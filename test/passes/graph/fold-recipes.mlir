// RUN: kpc-opt %s --fold-recipes | FileCheck %s

// CHECK-LABEL: @steps_in_order(
// CHECK-NEXT: %[[W:.*]] = graph.weight "m#w" [{reshape = array<i64: 8, 4>}, {transpose = array<i64: 1, 0>}, {cast = f16}] : <[4, 8], f16>
// CHECK-NEXT: return %[[W]]
func.func @steps_in_order() -> !graph.tensor<[4, 8], f16> {
  %0 = graph.weight "m#w" [] : !graph.tensor<[32], f32>
  %1 = graph.reshape %0 : !graph.tensor<[32], f32> to !graph.tensor<[8, 4], f32>
  %2 = graph.transpose %1 [1, 0] : !graph.tensor<[8, 4], f32>
  %3 = graph.cast %2 to f16 : !graph.tensor<[4, 8], f32>
  return %3 : !graph.tensor<[4, 8], f16>
}

// Recipes reshape what is in the model's order only.
// CHECK-LABEL: @reshape_of_transposed(
// CHECK-NEXT: graph.weight "m#w" [{transpose = array<i64: 1, 0>}]
// CHECK-NEXT: graph.reshape
func.func @reshape_of_transposed() -> !graph.tensor<[32], f32> {
  %0 = graph.weight "m#w" [] : !graph.tensor<[8, 4], f32>
  %1 = graph.transpose %0 [1, 0] : !graph.tensor<[8, 4], f32>
  %2 = graph.reshape %1 : !graph.tensor<[4, 8], f32> to !graph.tensor<[32], f32>
  return %2 : !graph.tensor<[32], f32>
}

// CHECK-LABEL: @integer_cast(
// CHECK: graph.weight "m#w" []
// CHECK: graph.cast
func.func @integer_cast() -> !graph.tensor<[4], f32> {
  %0 = graph.weight "m#w" [] : !graph.tensor<[4], i32>
  %1 = graph.cast %0 to f32 : !graph.tensor<[4], i32>
  return %1 : !graph.tensor<[4], f32>
}

// CHECK-LABEL: @two_users(
// CHECK-DAG: graph.weight "m#w" [] : <[8, 4], f32>
// CHECK-DAG: graph.weight "m#w" [{transpose = array<i64: 1, 0>}] : <[4, 8], f32>
func.func @two_users() -> (!graph.tensor<[8, 4], f32>, !graph.tensor<[4, 8], f32>) {
  %0 = graph.weight "m#w" [] : !graph.tensor<[8, 4], f32>
  %1 = graph.transpose %0 [1, 0] : !graph.tensor<[8, 4], f32>
  return %0, %1 : !graph.tensor<[8, 4], f32>, !graph.tensor<[4, 8], f32>
}

// A recipe rounds once: what is narrow is the first cast.
// CHECK-LABEL: @narrow_cast(
// CHECK-NEXT: %[[W:.*]] = graph.weight "m#w" [{cast = f8E4M3FN}] : <[4], f8E4M3FN>
// CHECK-NEXT: %[[H:.*]] = graph.weight "m#w" [{cast = f16}] : <[4], f16>
// CHECK-NEXT: %[[N:.*]] = graph.cast %[[H]] to f8E4M3FN
// CHECK-NEXT: return %[[W]], %[[N]]
func.func @narrow_cast() -> (!graph.tensor<[4], f8E4M3FN>, !graph.tensor<[4], f8E4M3FN>) {
  %0 = graph.weight "m#w" [] : !graph.tensor<[4], f32>
  %1 = graph.cast %0 to f8E4M3FN : !graph.tensor<[4], f32>
  %2 = graph.cast %0 to f16 : !graph.tensor<[4], f32>
  %3 = graph.cast %2 to f8E4M3FN : !graph.tensor<[4], f16>
  return %1, %3 : !graph.tensor<[4], f8E4M3FN>, !graph.tensor<[4], f8E4M3FN>
}

// RUN: kpc-opt --decompose-sort %s | FileCheck %s

module attributes {graph.symbols = {n = {min = 1, max = 10000, optimum = 10000}}} {

// CHECK-LABEL: func.func @long(
// CHECK: graph.bitcast %arg0 to i32
// CHECK: graph.is_nan
// CHECK: %[[P:.*]] = graph.add %{{.*}} : <[8, 16384], i64>
// CHECK: %[[R:.*]] = graph.sort_runs %[[P]] from 1 to 4096
// CHECK: %[[M:.*]] = graph.sort_runs %[[R]] from 4096 to 8192
// CHECK: %[[S:.*]] = graph.sort_runs %[[M]] from 8192 to 16384
// CHECK: %[[I:.*]] = graph.and %[[S]]
// CHECK: %[[V:.*]] = graph.gather_elements %arg0, %[[I]] axis 1
// CHECK: return %[[V]], %[[I]]
func.func @long(%x: !graph.tensor<[8, 16384], f32>) -> (!graph.tensor<[8, 16384], f32>, !graph.tensor<[8, 16384], i64>) {
  %v, %i = graph.sort %x axis 1 : !graph.tensor<[8, 16384], f32>
  return %v, %i : !graph.tensor<[8, 16384], f32>, !graph.tensor<[8, 16384], i64>
}

// Rows are padded with the greatest number.
// CHECK-LABEL: func.func @dynamic(
// CHECK: graph.constant dense<9223372036854775807>
// CHECK: graph.sort_runs %{{.*}} from 1 to 4096 : <["floordiv(n + 4095, 4096)*4096"], i64>
// CHECK: graph.sort_runs %{{.*}} from 4096 to 8192
// CHECK: graph.sort_runs %{{.*}} from 8192 to 16384
// CHECK-NOT: graph.sort_runs
// CHECK: graph.slice %{{.*}} to <[n], i64>
func.func @dynamic(%x: !graph.tensor<[n], i16>) -> !graph.tensor<[n], i64> {
  %v, %i = graph.sort %x axis 0 descending : !graph.tensor<[n], i16>
  return %i : !graph.tensor<[n], i64>
}

// The least elements of groups of 32 first, then the groups that have them.
// CHECK-LABEL: func.func @first(
// CHECK: graph.window min, %{{.*}} window [1, 32] stride [1, 32]
// CHECK: graph.sort_runs %{{.*}} from 1 to 4096 : <[128, 4096], i64>
// CHECK-NOT: from 4096
// CHECK: graph.sort_runs %{{.*}} from 1 to 2048 : <[128, 2048], i64>
// CHECK-NOT: from 2048
func.func @first(%x: !graph.tensor<[128, 131072], f32>) -> !graph.tensor<[128, 64], i64> {
  %v, %i = graph.sort %x axis 1 descending first <[64]> : !graph.tensor<[128, 131072], f32>
  return %i : !graph.tensor<[128, 64], i64>
}

// Short rows are ranked.
// CHECK-LABEL: func.func @short(
// CHECK-NOT: graph.sort
// CHECK: graph.reduce sum
// CHECK: graph.reduce sum
func.func @short(%x: !graph.tensor<[64, 8], f32>) -> !graph.tensor<[2, 8], i64> {
  %v, %i = graph.sort %x axis 0 descending first <[2]> : !graph.tensor<[64, 8], f32>
  return %i : !graph.tensor<[2, 8], i64>
}

// Low halves, then high ones.
// CHECK-LABEL: func.func @wide(
// CHECK: graph.sort_runs
// CHECK: graph.sort_runs
// CHECK: graph.gather_elements
func.func @wide(%x: !graph.tensor<[300], ui64>) -> !graph.tensor<[300], i64> {
  %v, %i = graph.sort %x axis 0 : !graph.tensor<[300], ui64>
  return %i : !graph.tensor<[300], i64>
}
}

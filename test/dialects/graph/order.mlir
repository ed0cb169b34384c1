// RUN: kpc-opt %s | kpc-opt | FileCheck %s

// CHECK-LABEL: func.func @sort(
func.func @sort(%x: !graph.tensor<[n, 8], f32>) -> (!graph.tensor<[n, 8], f32>, !graph.tensor<[k, 8], i64>) {
  // CHECK: graph.sort %{{.*}} axis 1 : <[n, 8], f32>
  %v, %0 = graph.sort %x axis 1 : !graph.tensor<[n, 8], f32>
  // CHECK: graph.sort %{{.*}} axis 0 descending first <[k]> : <[n, 8], f32>
  %1, %i = graph.sort %x axis 0 descending first <[k]> : !graph.tensor<[n, 8], f32>
  return %v, %i : !graph.tensor<[n, 8], f32>, !graph.tensor<[k, 8], i64>
}

// CHECK-LABEL: func.func @targets(
func.func @targets(%x: !graph.tensor<[n], i32>) -> !graph.tensor<[n], i64> {
  // CHECK: graph.sort %{{.*}} axis 0 bits 17 : <[n], i32>
  %v, %i = graph.sort %x axis 0 bits 17 : !graph.tensor<[n], i32>
  return %i : !graph.tensor<[n], i64>
}

// CHECK-LABEL: func.func @steps(
func.func @steps(%x: !graph.tensor<[n, 8192], i64>) -> !graph.tensor<[n, 8192], i64> {
  // CHECK: graph.sort_runs %{{.*}} from 1 to 4096 : <[n, 8192], i64>
  %0 = graph.sort_runs %x from 1 to 4096 : !graph.tensor<[n, 8192], i64>
  // CHECK: graph.sort_runs %{{.*}} from 4096 to 8192 : <[n, 8192], i64>
  %1 = graph.sort_runs %0 from 4096 to 8192 : !graph.tensor<[n, 8192], i64>
  return %1 : !graph.tensor<[n, 8192], i64>
}

// CHECK-LABEL: func.func @first(
func.func @first(%x: !graph.tensor<[n, 64], i64>) -> !graph.tensor<[n, k], i64> {
  // CHECK: graph.sort_runs %{{.*}} from 1 to 64 first <[k]> : <[n, 64], i64>
  %0 = graph.sort_runs %x from 1 to 64 first <[k]> : !graph.tensor<[n, 64], i64>
  return %0 : !graph.tensor<[n, k], i64>
}

// CHECK-LABEL: func.func @digits(
func.func @digits(%x: !graph.tensor<[b, n], i64>) -> !graph.tensor<[b, n], i64> {
  // CHECK: graph.digit_counts %{{.*}} shift 32 bits 8 parts 128 : <[b, n], i64>
  %0 = graph.digit_counts %x shift 32 bits 8 parts 128 : !graph.tensor<[b, n], i64>
  // CHECK: graph.order_by_digit %{{.*}}, %{{.*}} shift 32 : <[b, n], i64>, <[b, 128, 256], i32>
  %1 = graph.order_by_digit %x, %0 shift 32 : !graph.tensor<[b, n], i64>, !graph.tensor<[b, 128, 256], i32>
  return %1 : !graph.tensor<[b, n], i64>
}

// CHECK-LABEL: func.func @search(
func.func @search(%s: !graph.tensor<[n], ui8>, %v: !graph.tensor<[4, 2], ui8>) -> (!graph.tensor<[4, 2], i64>, !graph.tensor<[4, 2], i64>) {
  // CHECK: graph.search_sorted %{{.*}}, %{{.*}} : <[n], ui8>, <[4, 2], ui8>
  %0 = graph.search_sorted %s, %v : !graph.tensor<[n], ui8>, !graph.tensor<[4, 2], ui8>
  // CHECK: graph.search_sorted %{{.*}}, %{{.*}} right : <[n], ui8>, <[4, 2], ui8>
  %1 = graph.search_sorted %s, %v right : !graph.tensor<[n], ui8>, !graph.tensor<[4, 2], ui8>
  return %0, %1 : !graph.tensor<[4, 2], i64>, !graph.tensor<[4, 2], i64>
}

// CHECK-LABEL: func.func @segments(
func.func @segments(%x: !graph.tensor<[p, 64], f32>, %u: !graph.tensor<[n, 64], f32>, %o: !graph.tensor<[n], i64>,
                    %b: !graph.tensor<["p + 1"], i32>) -> !graph.tensor<[p, 64], f32> {
  // CHECK: graph.fold_segments add, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : <[p, 64], f32>, <[n, 64], f32>, <[n], i64>, <["p + 1"], i32>
  %0 = graph.fold_segments add, %x, %u, %o, %b
    : !graph.tensor<[p, 64], f32>, !graph.tensor<[n, 64], f32>, !graph.tensor<[n], i64>, !graph.tensor<["p + 1"], i32>
  return %0 : !graph.tensor<[p, 64], f32>
}

// RUN: kpc-opt %s --lower-regions | FileCheck %s

!rows = !graph.tensor<[n, 8192], i64>
!x = !graph.tensor<[p, 8], f32>
!u = !graph.tensor<[n, 8], f32>

func.func @main(%r: !rows, %s: !graph.tensor<[n], i32>, %x: !x, %u: !u, %o: !graph.tensor<[n], i64>, %b: !graph.tensor<["p + 1"], i32>) {
  // CHECK-LABEL: func.func @sort(
  // CHECK: kernel.sort_runs %{{.*}} from 1 to 4096 into %{{.*}} : tensor<?x8192xi64> -> tensor<?x8192xi64>
  %0 = graph.region "sort" (%r) : (!rows) -> !rows {
  ^bb0(%a: !rows):
    %y = graph.sort_runs %a from 1 to 4096 : !rows
    graph.yield %y : !rows
  }
  // CHECK-LABEL: func.func @merge(
  // CHECK: kernel.sort_runs %{{.*}} from 4096 to 8192 into
  %1 = graph.region "merge" (%0) : (!rows) -> !rows {
  ^bb0(%a: !rows):
    %y = graph.sort_runs %a from 4096 to 8192 : !rows
    graph.yield %y : !rows
  }
  // CHECK-LABEL: func.func @count(
  // CHECK: kernel.digit_counts %{{.*}} shift 32 into %{{.*}} : tensor<?x8192xi64> -> tensor<?x2x256xi32>
  %counts = graph.region "count" (%r) : (!rows) -> !graph.tensor<[n, 2, 256], i32> {
  ^bb0(%a: !rows):
    %y = graph.digit_counts %a shift 32 bits 8 parts 2 : !rows
    graph.yield %y : !graph.tensor<[n, 2, 256], i32>
  }
  // CHECK-LABEL: func.func @order(
  // CHECK: kernel.order_by_digit %{{.*}}, %{{.*}} shift 32 into %{{.*}} : tensor<?x8192xi64>, tensor<?x2x256xi32>
  %ordered = graph.region "order" (%r, %counts) : (!rows, !graph.tensor<[n, 2, 256], i32>) -> !rows {
  ^bb0(%a: !rows, %b0: !graph.tensor<[n, 2, 256], i32>):
    %y = graph.order_by_digit %a, %b0 shift 32 : !rows, !graph.tensor<[n, 2, 256], i32>
    graph.yield %y : !rows
  }
  // CHECK-LABEL: func.func @search(
  // CHECK: scf.while
  // CHECK: arith.cmpi slt
  %2 = graph.region "search" (%s) : (!graph.tensor<[n], i32>) -> !graph.tensor<[n], i64> {
  ^bb0(%a: !graph.tensor<[n], i32>):
    %y = graph.search_sorted %a, %a : !graph.tensor<[n], i32>, !graph.tensor<[n], i32>
    graph.yield %y : !graph.tensor<[n], i64>
  }
  // Four updates at once, then those that are left.
  // CHECK-LABEL: func.func @add(
  // CHECK: scf.for
  // CHECK-COUNT-4: arith.addf
  // CHECK: scf.for
  // CHECK: arith.addf
  %3 = graph.region "add" (%x, %u, %o, %b) : (!x, !u, !graph.tensor<[n], i64>, !graph.tensor<["p + 1"], i32>) -> !x {
  ^bb0(%a: !x, %c: !u, %d: !graph.tensor<[n], i64>, %e: !graph.tensor<["p + 1"], i32>):
    %y = graph.fold_segments add, %a, %c, %d, %e : !x, !u, !graph.tensor<[n], i64>, !graph.tensor<["p + 1"], i32>
    graph.yield %y : !x
  }
  // The last one wins.
  // CHECK-LABEL: func.func @last(
  // CHECK-NOT: scf.for
  // CHECK: scf.if
  %4 = graph.region "last" (%x, %u, %o, %b) : (!x, !u, !graph.tensor<[n], i64>, !graph.tensor<["p + 1"], i32>) -> !x {
  ^bb0(%a: !x, %c: !u, %d: !graph.tensor<[n], i64>, %e: !graph.tensor<["p + 1"], i32>):
    %y = graph.fold_segments none, %a, %c, %d, %e : !x, !u, !graph.tensor<[n], i64>, !graph.tensor<["p + 1"], i32>
    graph.yield %y : !x
  }
  return
}

// RUN: kpc-opt %s --lower-regions | FileCheck %s

// Each element looks for its updates, in order.

!f32_m_2 = !graph.tensor<[m, 2], f32>
!i64_m_2 = !graph.tensor<[m, 2], i64>
!f32_m = !graph.tensor<[m], f32>
!f32_n_4 = !graph.tensor<[n, 4], f32>

func.func @main(%x0: !f32_n_4, %x1: !i64_m_2, %x2: !f32_m_2, %x3: !f32_m) {
  // CHECK-LABEL: func.func @elements_none(
  // CHECK: linalg.generic
  // CHECK: scf.if
  %0 = graph.region "elements_none" (%x0, %x1, %x2) : (!f32_n_4, !i64_m_2, !f32_m_2) -> !f32_n_4 {
  ^bb0(%a: !f32_n_4, %b: !i64_m_2, %c: !f32_m_2):
    %y = graph.scatter_elements none, %a, %b, %c axis 0 : !f32_n_4, !i64_m_2, !f32_m_2
    graph.yield %y : !f32_n_4
  }
  // CHECK-LABEL: func.func @elements_add(
  // CHECK: linalg.generic
  // CHECK: scf.if
  // CHECK: arith.addf
  %1 = graph.region "elements_add" (%x0, %x1, %x2) : (!f32_n_4, !i64_m_2, !f32_m_2) -> !f32_n_4 {
  ^bb0(%a: !f32_n_4, %b: !i64_m_2, %c: !f32_m_2):
    %y = graph.scatter_elements add, %a, %b, %c axis 0 : !f32_n_4, !i64_m_2, !f32_m_2
    graph.yield %y : !f32_n_4
  }
  // CHECK-LABEL: func.func @elements_mul(
  // CHECK: linalg.generic
  // CHECK: scf.if
  // CHECK: arith.mulf
  %2 = graph.region "elements_mul" (%x0, %x1, %x2) : (!f32_n_4, !i64_m_2, !f32_m_2) -> !f32_n_4 {
  ^bb0(%a: !f32_n_4, %b: !i64_m_2, %c: !f32_m_2):
    %y = graph.scatter_elements mul, %a, %b, %c axis 0 : !f32_n_4, !i64_m_2, !f32_m_2
    graph.yield %y : !f32_n_4
  }
  // CHECK-LABEL: func.func @elements_max(
  // CHECK: linalg.generic
  // CHECK: scf.if
  // CHECK: arith.maximumf
  %3 = graph.region "elements_max" (%x0, %x1, %x2) : (!f32_n_4, !i64_m_2, !f32_m_2) -> !f32_n_4 {
  ^bb0(%a: !f32_n_4, %b: !i64_m_2, %c: !f32_m_2):
    %y = graph.scatter_elements max, %a, %b, %c axis 0 : !f32_n_4, !i64_m_2, !f32_m_2
    graph.yield %y : !f32_n_4
  }
  // CHECK-LABEL: func.func @elements_min(
  // CHECK: linalg.generic
  // CHECK: scf.if
  // CHECK: arith.minimumf
  %4 = graph.region "elements_min" (%x0, %x1, %x2) : (!f32_n_4, !i64_m_2, !f32_m_2) -> !f32_n_4 {
  ^bb0(%a: !f32_n_4, %b: !i64_m_2, %c: !f32_m_2):
    %y = graph.scatter_elements min, %a, %b, %c axis 0 : !f32_n_4, !i64_m_2, !f32_m_2
    graph.yield %y : !f32_n_4
  }
  // CHECK-LABEL: func.func @nd_none(
  // CHECK: linalg.generic
  // CHECK: scf.if
  %5 = graph.region "nd_none" (%x0, %x1, %x3) : (!f32_n_4, !i64_m_2, !f32_m) -> !f32_n_4 {
  ^bb0(%a: !f32_n_4, %b: !i64_m_2, %c: !f32_m):
    %y = graph.scatter_nd none, %a, %b, %c : !f32_n_4, !i64_m_2, !f32_m
    graph.yield %y : !f32_n_4
  }
  // CHECK-LABEL: func.func @nd_add(
  // CHECK: linalg.generic
  // CHECK: scf.if
  // CHECK: arith.addf
  %6 = graph.region "nd_add" (%x0, %x1, %x3) : (!f32_n_4, !i64_m_2, !f32_m) -> !f32_n_4 {
  ^bb0(%a: !f32_n_4, %b: !i64_m_2, %c: !f32_m):
    %y = graph.scatter_nd add, %a, %b, %c : !f32_n_4, !i64_m_2, !f32_m
    graph.yield %y : !f32_n_4
  }
  // CHECK-LABEL: func.func @nd_mul(
  // CHECK: linalg.generic
  // CHECK: scf.if
  // CHECK: arith.mulf
  %7 = graph.region "nd_mul" (%x0, %x1, %x3) : (!f32_n_4, !i64_m_2, !f32_m) -> !f32_n_4 {
  ^bb0(%a: !f32_n_4, %b: !i64_m_2, %c: !f32_m):
    %y = graph.scatter_nd mul, %a, %b, %c : !f32_n_4, !i64_m_2, !f32_m
    graph.yield %y : !f32_n_4
  }
  // CHECK-LABEL: func.func @nd_max(
  // CHECK: linalg.generic
  // CHECK: scf.if
  // CHECK: arith.maximumf
  %8 = graph.region "nd_max" (%x0, %x1, %x3) : (!f32_n_4, !i64_m_2, !f32_m) -> !f32_n_4 {
  ^bb0(%a: !f32_n_4, %b: !i64_m_2, %c: !f32_m):
    %y = graph.scatter_nd max, %a, %b, %c : !f32_n_4, !i64_m_2, !f32_m
    graph.yield %y : !f32_n_4
  }
  // CHECK-LABEL: func.func @nd_min(
  // CHECK: linalg.generic
  // CHECK: scf.if
  // CHECK: arith.minimumf
  %9 = graph.region "nd_min" (%x0, %x1, %x3) : (!f32_n_4, !i64_m_2, !f32_m) -> !f32_n_4 {
  ^bb0(%a: !f32_n_4, %b: !i64_m_2, %c: !f32_m):
    %y = graph.scatter_nd min, %a, %b, %c : !f32_n_4, !i64_m_2, !f32_m
    graph.yield %y : !f32_n_4
  }
  return
}

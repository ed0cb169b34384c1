// RUN: kpc-opt %s --lower-regions | FileCheck %s

// Elements are read where they lie: affine maps where they can say it, tensor.extract else.

!f32_max_n_2_1_0_4 = !graph.tensor<["max(n*2 - 1, 0)", 4], f32>
!f32_n_2_4 = !graph.tensor<["n + 2", 4], f32>
!f32_n_2_4x = !graph.tensor<["n*2", 4], f32>
!f32_n_4 = !graph.tensor<["n*4"], f32>
!i64_2 = !graph.tensor<[2], i64>
!f32_3 = !graph.tensor<[3], f32>
!f32_4_n = !graph.tensor<[4, n], f32>
!f32 = !graph.tensor<[], f32>
!f32_k_n_4 = !graph.tensor<[k, n, 4], f32>
!f32_m_2_4 = !graph.tensor<[m, 2, 4], f32>
!f32_m_2 = !graph.tensor<[m, 2], f32>
!i64_m_2 = !graph.tensor<[m, 2], i64>
!f32_m = !graph.tensor<[m], f32>
!f32_n_2 = !graph.tensor<[n, 2], f32>
!f32_n_4x = !graph.tensor<[n, 4], f32>

func.func @main(%x0: !f32_n_4x, %x1: !f32, %x2: !i64_m_2) {
  // CHECK-LABEL: func.func @broadcast(
  // CHECK: linalg.generic
  // CHECK: outs(%{{.*}} : tensor<?x?x4xf32>)
  %0 = graph.region "broadcast" (%x0) : (!f32_n_4x) -> !f32_k_n_4 {
  ^bb0(%a: !f32_n_4x):
    %y = graph.broadcast %a : !f32_n_4x to !f32_k_n_4
    graph.yield %y : !f32_k_n_4
  }
  // CHECK-LABEL: func.func @reshape(
  // CHECK: affine.linearize_index
  // CHECK: affine.delinearize_index
  // CHECK: tensor.extract
  %1 = graph.region "reshape" (%x0) : (!f32_n_4x) -> !f32_n_4 {
  ^bb0(%a: !f32_n_4x):
    %y = graph.reshape %a : !f32_n_4x to !f32_n_4
    graph.yield %y : !f32_n_4
  }
  // CHECK-LABEL: func.func @transpose(
  // CHECK: linalg.generic
  // CHECK: outs(%{{.*}} : tensor<4x?xf32>)
  %2 = graph.region "transpose" (%x0) : (!f32_n_4x) -> !f32_4_n {
  ^bb0(%a: !f32_n_4x):
    %y = graph.transpose %a [1, 0] : !f32_n_4x
    graph.yield %y : !f32_4_n
  }
  // CHECK-LABEL: func.func @slice(
  // CHECK: tensor.extract
  %3 = graph.region "slice" (%x0) : (!f32_n_4x) -> !f32_n_2 {
  ^bb0(%a: !f32_n_4x):
    %y = graph.slice %a start #graph.dims<["n + -1", 0]> step [-1, 2] : !f32_n_4x to !f32_n_2
    graph.yield %y : !f32_n_2
  }
  // CHECK-LABEL: func.func @concat(
  // CHECK: arith.cmpi
  // CHECK: scf.if
  // CHECK: tensor.extract
  // CHECK: else
  // CHECK: tensor.extract
  %4 = graph.region "concat" (%x0) : (!f32_n_4x) -> !f32_n_2_4x {
  ^bb0(%a: !f32_n_4x):
    %y = graph.concat %a, %a axis 0 : !f32_n_4x, !f32_n_4x
    graph.yield %y : !f32_n_2_4x
  }
  // CHECK-LABEL: func.func @pad(
  // CHECK: arith.cmpi ult
  // CHECK: scf.if
  %5 = graph.region "pad" (%x0, %x1) : (!f32_n_4x, !f32) -> !f32_n_2_4 {
  ^bb0(%a: !f32_n_4x, %b: !f32):
    %y = graph.pad %a, %b low [1, 0] high [1, 0] interior [0, 0] : !f32_n_4x, !f32
    graph.yield %y : !f32_n_2_4
  }
  // CHECK-LABEL: func.func @pad_spread(
  // CHECK: scf.if
  %6 = graph.region "pad_spread" (%x0, %x1) : (!f32_n_4x, !f32) -> !f32_max_n_2_1_0_4 {
  ^bb0(%a: !f32_n_4x, %b: !f32):
    %y = graph.pad %a, %b low [0, 0] high [0, 0] interior [1, 0] : !f32_n_4x, !f32
    graph.yield %y : !f32_max_n_2_1_0_4
  }
  // CHECK-LABEL: func.func @gather(
  // CHECK: arith.index_cast
  // CHECK: arith.minsi
  // CHECK: arith.maxsi
  // CHECK: tensor.extract
  %7 = graph.region "gather" (%x0, %x2) : (!f32_n_4x, !i64_m_2) -> !f32_m_2_4 {
  ^bb0(%a: !f32_n_4x, %b: !i64_m_2):
    %y = graph.gather %a, %b axis 0 : !f32_n_4x, !i64_m_2
    graph.yield %y : !f32_m_2_4
  }
  // CHECK-LABEL: func.func @gather_elements(
  // CHECK: arith.minsi
  // CHECK: arith.maxsi
  // CHECK: tensor.extract
  %8 = graph.region "gather_elements" (%x0, %x2) : (!f32_n_4x, !i64_m_2) -> !f32_m_2 {
  ^bb0(%a: !f32_n_4x, %b: !i64_m_2):
    %y = graph.gather_elements %a, %b axis 0 : !f32_n_4x, !i64_m_2
    graph.yield %y : !f32_m_2
  }
  // CHECK-LABEL: func.func @gather_nd(
  // CHECK: tensor.extract
  // CHECK: arith.minsi
  // CHECK: tensor.extract
  %9 = graph.region "gather_nd" (%x0, %x2) : (!f32_n_4x, !i64_m_2) -> !f32_m {
  ^bb0(%a: !f32_n_4x, %b: !i64_m_2):
    %y = graph.gather_nd %a, %b batch_dims 0 : !f32_n_4x, !i64_m_2
    graph.yield %y : !f32_m
  }
  // CHECK-LABEL: func.func @iota(
  // CHECK: linalg.index 1
  // CHECK: arith.index_cast
  %10 = graph.region "iota" () : () -> !f32_n_4x {
    %y = graph.iota axis 1 : !f32_n_4x
    graph.yield %y : !f32_n_4x
  }
  // CHECK-LABEL: func.func @sizes(
  // CHECK: linalg.generic
  %11 = graph.region "sizes" () : () -> !i64_2 {
    %y = graph.sizes #graph.dims<[n, 3]>
    graph.yield %y : !i64_2
  }
  // CHECK-LABEL: func.func @constant(
  // CHECK: linalg.fill
  %12 = graph.region "constant" () : () -> !f32_3 {
    %y = graph.constant dense<2.0> : tensor<3xf32>
    graph.yield %y : !f32_3
  }
  return
}

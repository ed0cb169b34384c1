// RUN: kpc-opt %s --lower-regions | FileCheck %s

// The accumulator starts at the neutral element; an extra operand states the bounds of the reduced loops.

!f32_n_4_4 = !graph.tensor<[n, 4, 4], f32>
!f32_n_4 = !graph.tensor<[n, 4], f32>
!i32_n_4 = !graph.tensor<[n, 4], i32>
!i64_n_4 = !graph.tensor<[n, 4], i64>
!f32_n_8_4 = !graph.tensor<[n, 8, 4], f32>
!i32_n_8_4 = !graph.tensor<[n, 8, 4], i32>
!f32_4096 = !graph.tensor<[4096], f32>
!f32_32 = !graph.tensor<[32], f32>
!f32_41 = !graph.tensor<[41], f32>

func.func @main(%x0: !f32_n_8_4, %x1: !i32_n_8_4, %flat: !f32_4096) {
  // CHECK-LABEL: func.func @sum(
  // CHECK: arith.constant 0.0
  // CHECK: linalg.fill
  // CHECK: tensor.empty
  // CHECK: arith.addf
  %0 = graph.region "sum" (%x0) : (!f32_n_8_4) -> !f32_n_4 {
  ^bb0(%a: !f32_n_8_4):
    %y = graph.reduce sum, %a axes [1] : !f32_n_8_4
    graph.yield %y : !f32_n_4
  }
  // CHECK-LABEL: func.func @prod(
  // CHECK: arith.constant 1.0
  // CHECK: linalg.fill
  // CHECK: arith.mulf
  %1 = graph.region "prod" (%x0) : (!f32_n_8_4) -> !f32_n_4 {
  ^bb0(%a: !f32_n_8_4):
    %y = graph.reduce prod, %a axes [1] : !f32_n_8_4
    graph.yield %y : !f32_n_4
  }
  // CHECK-LABEL: func.func @max(
  // CHECK: arith.constant 0xFF800000
  // CHECK: linalg.fill
  // CHECK: arith.maximumf
  %2 = graph.region "max" (%x0) : (!f32_n_8_4) -> !f32_n_4 {
  ^bb0(%a: !f32_n_8_4):
    %y = graph.reduce max, %a axes [1] : !f32_n_8_4
    graph.yield %y : !f32_n_4
  }
  // CHECK-LABEL: func.func @min(
  // CHECK: arith.constant 0x7F800000
  // CHECK: linalg.fill
  // CHECK: arith.minimumf
  %3 = graph.region "min" (%x0) : (!f32_n_8_4) -> !f32_n_4 {
  ^bb0(%a: !f32_n_8_4):
    %y = graph.reduce min, %a axes [1] : !f32_n_8_4
    graph.yield %y : !f32_n_4
  }
  // CHECK-LABEL: func.func @max_i(
  // CHECK: arith.constant -2147483648
  // CHECK: arith.maxsi
  %4 = graph.region "max_i" (%x1) : (!i32_n_8_4) -> !i32_n_4 {
  ^bb0(%a: !i32_n_8_4):
    %y = graph.reduce max, %a axes [1] : !i32_n_8_4
    graph.yield %y : !i32_n_4
  }
  // CHECK-LABEL: func.func @argmax(
  // CHECK: linalg.generic
  // CHECK: arith.cmpf ogt
  %5 = graph.region "argmax" (%x0) : (!f32_n_8_4) -> !i64_n_4 {
  ^bb0(%a: !f32_n_8_4):
    %y = graph.arg_reduce max, %a axis 1 : !f32_n_8_4
    graph.yield %y : !i64_n_4
  }
  // CHECK-LABEL: func.func @argmin_last(
  // CHECK: linalg.generic
  // CHECK: arith.cmpf ole
  %6 = graph.region "argmin_last" (%x0) : (!f32_n_8_4) -> !i64_n_4 {
  ^bb0(%a: !f32_n_8_4):
    %y = graph.arg_reduce min, %a axis 1 select_last : !f32_n_8_4
    graph.yield %y : !i64_n_4
  }
  // CHECK-LABEL: func.func @cumsum(
  // CHECK: linalg.generic
  // CHECK: arith.addf
  %7 = graph.region "cumsum" (%x0) : (!f32_n_8_4) -> !f32_n_8_4 {
  ^bb0(%a: !f32_n_8_4):
    %y = graph.cumsum %a axis 1 : !f32_n_8_4
    graph.yield %y : !f32_n_8_4
  }
  // CHECK-LABEL: func.func @cumsum_back(
  // CHECK: linalg.generic
  // CHECK: arith.addf
  %8 = graph.region "cumsum_back" (%x0) : (!f32_n_8_4) -> !f32_n_8_4 {
  ^bb0(%a: !f32_n_8_4):
    %y = graph.cumsum %a axis 1 exclusive reverse : !f32_n_8_4
    graph.yield %y : !f32_n_8_4
  }
  // What a window finds beside an image is around it.
  // CHECK-LABEL: func.func @window_max(
  // CHECK: kernel.pad {{.*}} low [0, 1, 0] high [0, 1, 0] outside 0xFF800000 : f32
  // CHECK: arith.constant 0xFF800000
  // CHECK: linalg.generic
  // CHECK-NOT: scf.if
  // CHECK: arith.maximumf
  %9 = graph.region "window_max" (%x0) : (!f32_n_8_4) -> !f32_n_4_4 {
  ^bb0(%a: !f32_n_8_4):
    %y = graph.window max, %a window [1, 3, 1] stride [1, 2, 1] dilation [1, 1, 1] low [0, 1, 0] high [0, 1, 0] : !f32_n_8_4
    graph.yield %y : !f32_n_4_4
  }
  // CHECK-LABEL: func.func @window_sum(
  // CHECK: arith.addf
  %10 = graph.region "window_sum" (%x0) : (!f32_n_8_4) -> !f32_n_4_4 {
  ^bb0(%a: !f32_n_8_4):
    %y = graph.window sum, %a window [1, 2, 1] stride [1, 2, 1] dilation [1, 1, 1] low [0, 0, 0] high [0, 0, 0] : !f32_n_8_4
    graph.yield %y : !f32_n_4_4
  }
  // Long windows side by side are read through a map.
  // CHECK-LABEL: func.func @parts(
  // CHECK: linalg.generic
  // CHECK-NOT: tensor.extract
  // CHECK: arith.addf
  %11 = graph.region "parts" (%flat) : (!f32_4096) -> !f32_32 {
  ^bb0(%a: !f32_4096):
    %y = graph.window sum, %a window [128] stride [128] dilation [1] low [0] high [0] : !f32_4096
    graph.yield %y : !f32_32
  }
  // Where the last one is not full, the read is guarded and not the addition.
  // CHECK-LABEL: func.func @ragged_parts(
  // CHECK: %[[X:.*]] = scf.if
  // CHECK: tensor.extract
  // CHECK: arith.addf %{{.*}}, %[[X]]
  %12 = graph.region "ragged_parts" (%flat) : (!f32_4096) -> !f32_41 {
  ^bb0(%a: !f32_4096):
    %y = graph.window sum, %a window [100] stride [100] dilation [1] low [0] high [99] : !f32_4096
    graph.yield %y : !f32_41
  }
  // CHECK-LABEL: func.func @cumsum_of_blocks(
  // CHECK: arith.divui
  // CHECK: arith.minui
  // CHECK: arith.addf
  %13 = graph.region "cumsum_of_blocks" (%flat) : (!f32_4096) -> !f32_4096 {
  ^bb0(%a: !f32_4096):
    %y = graph.cumsum %a axis 0 block 100 : !f32_4096
    graph.yield %y : !f32_4096
  }
  return
}

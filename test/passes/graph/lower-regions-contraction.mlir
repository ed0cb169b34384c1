// RUN: kpc-opt %s --lower-regions | FileCheck %s

// GEMMs and convolutions keep their names; 16-bit operands are added up in f32.

!f32_1_4_6 = !graph.tensor<[1, 4, 6], f32>
!f32_3_2_6 = !graph.tensor<[3, 2, 6], f32>
!f32_3_4_6 = !graph.tensor<[3, 4, 6], f32>
!f16_8_4 = !graph.tensor<[8, 4], f16>
!f32_8_4 = !graph.tensor<[8, 4], f32>
!f32_n_h_8_4 = !graph.tensor<[n, h, 8, 4], f32>
!f32_n_h_6_6 = !graph.tensor<[n, h, 6, 6], f32>
!f32_3_3_4_6 = !graph.tensor<[3, 3, 4, 6], f32>
!f32_n_0_4 = !graph.tensor<[n, 0, 4], f32>
!f32_n_1_6 = !graph.tensor<[n, 1, 6], f32>
!i32_8_4 = !graph.tensor<[8, 4], i32>
!f32_n_4_6 = !graph.tensor<[n, 4, 6], f32>
!f16_n_4 = !graph.tensor<[n, 4], f16>
!f32_n_4 = !graph.tensor<[n, 4], f32>
!i32_n_4 = !graph.tensor<[n, 4], i32>
!f32_n_6_6 = !graph.tensor<[n, 6, 6], f32>
!f32_n_8_4 = !graph.tensor<[n, 8, 4], f32>
!f32_n_8_6 = !graph.tensor<[n, 8, 6], f32>
!f16_n_8 = !graph.tensor<[n, 8], f16>
!f32_n_8 = !graph.tensor<[n, 8], f32>
!i32_n_8 = !graph.tensor<[n, 8], i32>

func.func @main(%x0: !f32_n_8, %x1: !f32_8_4, %x2: !f16_n_8, %x3: !f16_8_4, %x4: !i32_n_8, %x5: !i32_8_4, %x6: !f32_n_8_4, %x7: !f32_1_4_6, %x8: !f32_3_4_6, %x9: !f32_3_2_6, %x10: !f32_n_h_8_4, %x11: !f32_3_3_4_6, %x12: !f32_n_0_4) {
  // CHECK-LABEL: func.func @matmul(
  // CHECK: %[[ZEROS:.*]] = linalg.fill
  // CHECK: kernel.gemm %{{.*}}, %{{.*}} into %[[ZEROS]] : (tensor<?x8xf32>, tensor<8x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %0 = graph.region "matmul" (%x0, %x1) : (!f32_n_8, !f32_8_4) -> !f32_n_4 {
  ^bb0(%a: !f32_n_8, %b: !f32_8_4):
    %y = graph.matmul %a, %b : !f32_n_8, !f32_8_4
    graph.yield %y : !f32_n_4
  }
  // CHECK-LABEL: func.func @matmul_f16(
  // CHECK: arith.extf
  // CHECK: arith.extf
  // CHECK: kernel.gemm {{.*}} : (tensor<?x8xf32>, tensor<8x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: arith.truncf
  %1 = graph.region "matmul_f16" (%x2, %x3) : (!f16_n_8, !f16_8_4) -> !f16_n_4 {
  ^bb0(%a: !f16_n_8, %b: !f16_8_4):
    %y = graph.matmul %a, %b : !f16_n_8, !f16_8_4
    graph.yield %y : !f16_n_4
  }
  // CHECK-LABEL: func.func @matmul_i32(
  // CHECK: kernel.gemm {{.*}} : (tensor<?x8xi32>, tensor<8x4xi32>, tensor<?x4xi32>) -> tensor<?x4xi32>
  %2 = graph.region "matmul_i32" (%x4, %x5) : (!i32_n_8, !i32_8_4) -> !i32_n_4 {
  ^bb0(%a: !i32_n_8, %b: !i32_8_4):
    %y = graph.matmul %a, %b : !i32_n_8, !i32_8_4
    graph.yield %y : !i32_n_4
  }
  // CHECK-LABEL: func.func @matmul_shared(
  // CHECK: kernel.gemm {{.*}} : (tensor<?x8x4xf32>, tensor<1x4x6xf32>, tensor<?x8x6xf32>) -> tensor<?x8x6xf32>
  %3 = graph.region "matmul_shared" (%x6, %x7) : (!f32_n_8_4, !f32_1_4_6) -> !f32_n_8_6 {
  ^bb0(%a: !f32_n_8_4, %b: !f32_1_4_6):
    %y = graph.matmul %a, %b : !f32_n_8_4, !f32_1_4_6
    graph.yield %y : !f32_n_8_6
  }
  // CHECK-LABEL: func.func @conv(
  // CHECK-NOT: kernel.pad
  // CHECK: kernel.conv %{{.*}}, %{{.*}} strides [1] dilations [1] into %{{.*}} : (tensor<?x8x4xf32>, tensor<3x4x6xf32>, tensor<?x6x6xf32>) -> tensor<?x6x6xf32>
  %4 = graph.region "conv" (%x6, %x8) : (!f32_n_8_4, !f32_3_4_6) -> !f32_n_6_6 {
  ^bb0(%a: !f32_n_8_4, %b: !f32_3_4_6):
    %y = graph.conv %a, %b stride [1] dilation [1] low [0] high [0] groups 1 : !f32_n_8_4, !f32_3_4_6
    graph.yield %y : !f32_n_6_6
  }
  // CHECK-LABEL: func.func @conv_padded(
  // CHECK: %[[PADDED:.*]] = kernel.pad %{{.*}} low [0, 1, 0] high [0, 1, 0] outside 0.000000e+00 : f32 into %{{.*}} : tensor<?x8x4xf32> into tensor<?x10x4xf32>
  // CHECK: kernel.conv %[[PADDED]], %{{.*}} strides [2] dilations [1] into %{{.*}} : (tensor<?x10x4xf32>, tensor<3x4x6xf32>, tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  %5 = graph.region "conv_padded" (%x6, %x8) : (!f32_n_8_4, !f32_3_4_6) -> !f32_n_4_6 {
  ^bb0(%a: !f32_n_8_4, %b: !f32_3_4_6):
    %y = graph.conv %a, %b stride [2] dilation [1] low [1] high [1] groups 1 : !f32_n_8_4, !f32_3_4_6
    graph.yield %y : !f32_n_4_6
  }
  // CHECK-LABEL: func.func @conv_groups(
  // CHECK: kernel.conv %{{.*}}, %{{.*}} strides [1] dilations [1] groups 2 into %{{.*}} : (tensor<?x8x4xf32>, tensor<3x2x6xf32>, tensor<?x6x6xf32>) -> tensor<?x6x6xf32>
  %6 = graph.region "conv_groups" (%x6, %x9) : (!f32_n_8_4, !f32_3_2_6) -> !f32_n_6_6 {
  ^bb0(%a: !f32_n_8_4, %b: !f32_3_2_6):
    %y = graph.conv %a, %b stride [1] dilation [1] low [0] high [0] groups 2 : !f32_n_8_4, !f32_3_2_6
    graph.yield %y : !f32_n_6_6
  }
  // A height that is not known is a size of the padding; a row more is no size of its own.
  // CHECK-LABEL: func.func @conv_dynamic(
  // CHECK-SAME: memref<f32>, %[[N:[a-z0-9]+]]: index {{.*}}%[[H:[a-z0-9]+]]: index
  // CHECK: kernel.pad %{{.*}} low [0, 1, 0, 0] high [0, 1, 0, 0] outside 0.000000e+00 : f32 sizes [%[[H]]] into %{{.*}} : tensor<?x?x8x4xf32> into tensor<?x?x8x4xf32>
  // CHECK: kernel.conv {{.*}} strides [1, 1] dilations [1, 1] into
  %7 = graph.region "conv_dynamic" (%x10, %x11) : (!f32_n_h_8_4, !f32_3_3_4_6) -> !f32_n_h_6_6 {
  ^bb0(%a: !f32_n_h_8_4, %b: !f32_3_3_4_6):
    %y = graph.conv %a, %b stride [1, 1] dilation [1, 1] low [1, 0] high [1, 0] groups 1 : !f32_n_h_8_4, !f32_3_3_4_6
    graph.yield %y : !f32_n_h_6_6
  }
  // Around nothing there are zeros alone.
  // CHECK-LABEL: func.func @conv_of_nothing(
  // CHECK-NOT: kernel.pad
  // CHECK: kernel.conv
  %8 = graph.region "conv_of_nothing" (%x12, %x8) : (!f32_n_0_4, !f32_3_4_6) -> !f32_n_1_6 {
  ^bb0(%a: !f32_n_0_4, %b: !f32_3_4_6):
    %y = graph.conv %a, %b stride [1] dilation [1] low [2] high [1] groups 1 : !f32_n_0_4, !f32_3_4_6
    graph.yield %y : !f32_n_1_6
  }
  return
}

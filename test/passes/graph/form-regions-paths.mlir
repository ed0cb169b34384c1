// RUN: kpc-opt --form-regions %s | FileCheck %s
// RUN: kpc-opt --form-regions %s --remark-format=emitRemark --remarks-filter=fusion 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// A running product of 512 elements by doublings: one kernel would compute 2^9 products for each element.
// REMARK: mul is not fused into its user's kernel, because it would be computed at too many indices.

// CHECK-LABEL: func.func @running
// CHECK: graph.region
// CHECK-COUNT-2: graph.mul
// CHECK: graph.region
// CHECK-COUNT-7: graph.mul
// CHECK-NOT: graph.region
func.func @running(%x0: !graph.tensor<[512], f32>) -> !graph.tensor<[512], f32> {
  %one = graph.constant dense<1.0> : tensor<f32>
  %p0 = graph.pad %x0, %one low [1] high [0] interior [0] : <[512], f32>, <[], f32>
  %s0 = graph.slice %p0 start <[0]> step [1] : <[513], f32> to <[512], f32>
  %x1 = graph.mul %x0, %s0 : <[512], f32>
  %p1 = graph.pad %x1, %one low [2] high [0] interior [0] : <[512], f32>, <[], f32>
  %s1 = graph.slice %p1 start <[0]> step [1] : <[514], f32> to <[512], f32>
  %x2 = graph.mul %x1, %s1 : <[512], f32>
  %p2 = graph.pad %x2, %one low [4] high [0] interior [0] : <[512], f32>, <[], f32>
  %s2 = graph.slice %p2 start <[0]> step [1] : <[516], f32> to <[512], f32>
  %x3 = graph.mul %x2, %s2 : <[512], f32>
  %p3 = graph.pad %x3, %one low [8] high [0] interior [0] : <[512], f32>, <[], f32>
  %s3 = graph.slice %p3 start <[0]> step [1] : <[520], f32> to <[512], f32>
  %x4 = graph.mul %x3, %s3 : <[512], f32>
  %p4 = graph.pad %x4, %one low [16] high [0] interior [0] : <[512], f32>, <[], f32>
  %s4 = graph.slice %p4 start <[0]> step [1] : <[528], f32> to <[512], f32>
  %x5 = graph.mul %x4, %s4 : <[512], f32>
  %p5 = graph.pad %x5, %one low [32] high [0] interior [0] : <[512], f32>, <[], f32>
  %s5 = graph.slice %p5 start <[0]> step [1] : <[544], f32> to <[512], f32>
  %x6 = graph.mul %x5, %s5 : <[512], f32>
  %p6 = graph.pad %x6, %one low [64] high [0] interior [0] : <[512], f32>, <[], f32>
  %s6 = graph.slice %p6 start <[0]> step [1] : <[576], f32> to <[512], f32>
  %x7 = graph.mul %x6, %s6 : <[512], f32>
  %p7 = graph.pad %x7, %one low [128] high [0] interior [0] : <[512], f32>, <[], f32>
  %s7 = graph.slice %p7 start <[0]> step [1] : <[640], f32> to <[512], f32>
  %x8 = graph.mul %x7, %s7 : <[512], f32>
  %p8 = graph.pad %x8, %one low [256] high [0] interior [0] : <[512], f32>, <[], f32>
  %s8 = graph.slice %p8 start <[0]> step [1] : <[768], f32> to <[512], f32>
  %x9 = graph.mul %x8, %s8 : <[512], f32>
  return %x9 : !graph.tensor<[512], f32>
}

// What is asked for at one index by many is computed there once: one kernel, however long the way.

// CHECK-LABEL: func.func @diamonds
// CHECK-COUNT-1: graph.region
// CHECK-NOT: graph.region
func.func @diamonds(%x0: !graph.tensor<[512], f32>) -> !graph.tensor<[512], f32> {
  %a0 = graph.exp %x0 : <[512], f32>
  %b0 = graph.tanh %x0 : <[512], f32>
  %x1 = graph.add %a0, %b0 : <[512], f32>
  %a1 = graph.exp %x1 : <[512], f32>
  %b1 = graph.tanh %x1 : <[512], f32>
  %x2 = graph.add %a1, %b1 : <[512], f32>
  %a2 = graph.exp %x2 : <[512], f32>
  %b2 = graph.tanh %x2 : <[512], f32>
  %x3 = graph.add %a2, %b2 : <[512], f32>
  %a3 = graph.exp %x3 : <[512], f32>
  %b3 = graph.tanh %x3 : <[512], f32>
  %x4 = graph.add %a3, %b3 : <[512], f32>
  %a4 = graph.exp %x4 : <[512], f32>
  %b4 = graph.tanh %x4 : <[512], f32>
  %x5 = graph.add %a4, %b4 : <[512], f32>
  %a5 = graph.exp %x5 : <[512], f32>
  %b5 = graph.tanh %x5 : <[512], f32>
  %x6 = graph.add %a5, %b5 : <[512], f32>
  %a6 = graph.exp %x6 : <[512], f32>
  %b6 = graph.tanh %x6 : <[512], f32>
  %x7 = graph.add %a6, %b6 : <[512], f32>
  %a7 = graph.exp %x7 : <[512], f32>
  %b7 = graph.tanh %x7 : <[512], f32>
  %x8 = graph.add %a7, %b7 : <[512], f32>
  return %x8 : !graph.tensor<[512], f32>
}

// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-weights{group=32}))' | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-weights{group=32}))' --remark-format=emitRemark --remarks-filter=quantisation 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-weights{group=32 type=none for=named=int4}))' | FileCheck %s --check-prefix=FOR
// RUN: not kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-weights{group=48}))' 2>&1 | FileCheck %s --check-prefix=GROUP
// RUN: not kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-weights{type=int3}))' 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-weights{for=int4}))' 2>&1 | FileCheck %s --check-prefix=PATTERN

// GROUP: expected groups of 32, 64 or 128 elements of K, which kernels take, got 48
// TYPE: expected int4 or none, got 'int3'
// PATTERN: expected REGEX=TYPE, got 'int4'

!x = !graph.tensor<[n, 3], f32>
!w = !graph.tensor<[3, 2], f32>
!y = !graph.tensor<[n, 2], f32>

// Column 0 is 0, 3, 15: a step of 1 from 0. Column 1 is -8, 0, 7: the same step, and 0 is code 8. Two codes share a byte, the first in
// the low bits: 0x30, 0x0f | 0 << 4, 0xf8.
// CHECK-LABEL: @matrix(
// CHECK-SAME: %[[X:[^:]*]]: !graph.tensor<[n, 3], f32>
// CHECK: %[[B:.*]] = graph.constant dense<[48, 15, 248]> : tensor<3xui8>
// CHECK: %[[C:.*]] = graph.unpack %[[B]] : <[3], ui8> to <[2, 3], ui4>
// CHECK: %[[S:.*]] = graph.constant dense<1.000000e+00> : tensor<2x1xf32>
// CHECK: %[[Z:.*]] = graph.constant dense<{{\[}}[0], [8]]> : tensor<2x1xui8>
// CHECK: %[[D:.*]] = graph.dequantise %[[C]] scales %[[S]] zeros %[[Z]] blocks [1, 32]
// CHECK: %[[T:.*]] = graph.transpose %[[D]]
// CHECK: graph.matmul %[[X]], %[[T]]
// FOR-LABEL: @matrix(
// FOR: graph.dequantise
// REMARK: remark: loc("named"): [Passed] weights | {{.*}}"A weight is codes of 4 bits, each group of ", Remark=32, {{.*}}"200.0 dB"
func.func @matrix(%x: !x) -> !y {
  %w = graph.constant dense<[[0.0, -8.0], [3.0, 0.0], [15.0, 7.0]]> : tensor<3x2xf32>
  %y = graph.matmul %x, %w : !x, !w loc("named")
  return %y : !y
}

// REMARK: loc("other"): [Passed] weights
// CHECK-LABEL: @other(
// FOR-LABEL: @other(
// FOR-NOT: graph.dequantise
// FOR: return
func.func @other(%x: !x) -> !y {
  %w = graph.constant dense<[[0.0, -8.0], [3.0, 0.0], [15.0, 7.0]]> : tensor<3x2xf32>
  %y = graph.matmul %x, %w : !x, !w loc("other")
  return %y : !y
}

// A batch of weights stays.
// CHECK-LABEL: @batch(
// CHECK-NOT: graph.dequantise
// CHECK: return
// REMARK: remark: {{.*}}[Missed] refused | {{.*}}"A weight does not become codes of 4 bits, because ", Remark="it is no matrix but a batch of them."
func.func @batch(%x: !graph.tensor<[2, n, 1], f32>) -> !graph.tensor<[2, n, 2], f32> {
  %w = graph.constant dense<1.0> : tensor<2x1x2xf32>
  %y = graph.matmul %x, %w : !graph.tensor<[2, n, 1], f32>, !graph.tensor<[2, 1, 2], f32>
  return %y : !graph.tensor<[2, n, 2], f32>
}

// Frequencies of points, which sin reads the multiples of, are no codes unless a name asks for them.
// CHECK-LABEL: @frequencies(
// CHECK-NOT: graph.dequantise
// CHECK: return
// FOR-LABEL: @frequencies(
// FOR: graph.dequantise
func.func @frequencies(%x: !x) -> !y {
  %w = graph.constant dense<[[0.0, -8.0], [3.0, 0.0], [15.0, 7.0]]> : tensor<3x2xf32>
  %y = graph.matmul %x, %w : !x, !w loc("named")
  %z = graph.sin %y : !y
  return %z : !y
}

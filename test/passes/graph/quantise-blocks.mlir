// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-blocks{format=mxfp8 keep=exact}))' | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-blocks{format=nvfp4 keep=exact}))' | FileCheck %s --check-prefix=NV
// RUN: not kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-blocks{format=fp8}))' 2>&1 | FileCheck %s --check-prefix=BAD

// RUN: not kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-blocks{format=none for=exact}))' 2>&1 | FileCheck %s --check-prefix=PATTERN
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-blocks{format=none for=exact=nvfp4}))' | FileCheck %s --check-prefix=FOR

// BAD: expected the format mxfp8, mxfp4, nvfp4 or none, got 'fp8'
// PATTERN: expected REGEX=TYPE, got 'exact'

!x = !graph.tensor<[m, 64], f32>
!w = !graph.tensor<[64, 24], f32>
!y = !graph.tensor<[m, 24], f32>

// Blocks of 32 along K in both; scales are powers of two, found by the bits of the greatest magnitude, and codes need no division.
// CHECK-LABEL: @main(
// CHECK-SAME: %[[X:[^:]*]]: !graph.tensor<[m, 64], f32>
// CHECK: %[[P:.*]] = graph.reshape %[[X]] : <[m, 64], f32> to <[m, 2, 32], f32>
// CHECK: graph.reduce max, %{{.*}} axes [2] : <[m, 2, 32], f32>
// CHECK: graph.bitcast %{{.*}} to ui32
// CHECK-NOT: graph.div
// CHECK: %[[C:.*]] = graph.cast %{{.*}} to f8E4M3FN : <[m, 2, 32], f32>
// CHECK: %[[S:.*]] = graph.cast %{{.*}} to f8E8M0FNU : <[m, 2, 1], f32>
// CHECK: %[[CX:.*]] = graph.reshape %[[C]] : <[m, 2, 32], f8E4M3FN> to <[m, 64], f8E4M3FN>
// CHECK: %[[SX:.*]] = graph.reshape %[[S]] : <[m, 2, 1], f8E8M0FNU> to <[m, 2], f8E8M0FNU>
// CHECK: %[[A:.*]] = graph.dequantise %[[CX]] scales %[[SX]] blocks [1, 32]
// CHECK: graph.reduce max, %{{.*}} axes [1] : <[2, 32, 24], f32>
// CHECK: %[[B:.*]] = graph.dequantise %{{.*}} scales %{{.*}} blocks [32, 1] : !graph.tensor<[64, 24], f8E4M3FN>, !graph.tensor<[2, 24], f8E8M0FNU> to <[64, 24], f32>
// CHECK: %[[Y:.*]] = graph.matmul %[[A]], %[[B]]
// CHECK-NEXT: return %[[Y]]

// Second scales of rows and columns are factors of the result.
// NV-LABEL: @main(
// NV: graph.reduce max, %{{.*}} axes [1] : <[m, 64], f32>
// NV: graph.reshape %{{.*}} : <[m, 64], f32> to <[m, 4, 16], f32>
// NV: graph.cast %{{.*}} to f8E4M3FN : <[m, 4, 1], f32>
// NV: graph.cast %{{.*}} to f4E2M1FN : <[m, 4, 16], f32>
// NV: graph.dequantise %{{.*}} scales %{{.*}} blocks [16, 1] : !graph.tensor<[64, 24], f4E2M1FN>, !graph.tensor<[4, 24], f8E4M3FN> to <[64, 24], f32>
// NV: %[[P:.*]] = graph.matmul
// NV: %[[S:.*]] = graph.mul %{{.*}}, %{{.*}} : <[m, 24], f32>
// NV: %[[Y:.*]] = graph.mul %[[P]], %[[S]] : <[m, 24], f32>
// NV-NEXT: return %[[Y]]

// One node alone.
// FOR-LABEL: @main(
// FOR-NOT: f4E2M1FN
// FOR-LABEL: @others(
// FOR: graph.dequantise {{.*}} blocks [16, 1] : !graph.tensor<[64, 24], f4E2M1FN>
// FOR-NOT: graph.dequantise {{.*}} blocks [16, 1]
func.func @main(%x: !x) -> !y {
  %w = graph.weight "m#w" [] : !w
  %y = graph.matmul %x, %w : !x, !w
  return %y : !y
}

// What is no weight, what was named to stay, and a K of half blocks are left alone.
// CHECK-LABEL: @others(
// CHECK-NOT: f8E4M3FN
// NV-LABEL: @others(
func.func @others(%x: !x, %v: !w, %f: !graph.tensor<[m, 40], f32>) -> (!y, !y, !y) {
  %w = graph.weight "m#w" [] : !w
  %u = graph.weight "m#u" [] : !graph.tensor<[40, 24], f32>
  %0 = graph.matmul %x, %v : !x, !w
  %1 = graph.matmul %x, %w : !x, !w loc("exact")
  %2 = graph.matmul %f, %u : !graph.tensor<[m, 40], f32>, !graph.tensor<[40, 24], f32>
  return %0, %1, %2 : !y, !y, !y
}

// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-gemms{type=fp8 few-rows=multiplied for=small=fp8}))' | FileCheck %s --check-prefixes=CHECK,CODES
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-gemms{type=fp8 few-rows=rounded fp8=rounded for=small=fp8}))' | FileCheck %s --check-prefixes=CHECK,ROUNDED
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-gemms{type=int8 few-rows=multiplied int8=none}))' | FileCheck %s --check-prefix=INT8
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-gemms{type=fp8}))' | FileCheck %s --check-prefix=NONE
// RUN: not kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-gemms{type=fp8 few-rows=some}))' 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: expected none, multiplied or rounded, got 'some'
// NONE-NOT: f8E4M3FN

// Few rows: the weight alone has codes, of columns whose greatest magnitude is 448.
// CHECK-LABEL: func @large
// CHECK: graph.reduce max, %{{.*}} axes [0] : <[1024, 512], f32>
// CHECK: %[[C:.*]] = graph.cast %{{.*}} to f8E4M3FN : <[1024, 512], f32>
// CODES: %[[D:.*]] = graph.dequantise %[[C]] scales %{{.*}} blocks [1024, 1]
// CODES: graph.matmul %{{.*}}, %[[D]] : <[4, 1024], f16>
// ROUNDED: %[[F:.*]] = graph.cast %[[C]] to f32
// ROUNDED: %[[M:.*]] = graph.mul %[[F]], %{{.*}} : <[1024, 512], f32>
// ROUNDED: %[[H:.*]] = graph.cast %[[M]] to f16
// ROUNDED: graph.matmul %{{.*}}, %[[H]] : <[4, 1024], f16>
// INT8-LABEL: func @large
// INT8: %[[C:.*]] = graph.cast %{{.*}} to i8 : <[1024, 512], f32>
// INT8: %[[D:.*]] = graph.dequantise %[[C]] scales %{{.*}} blocks [1024, 1]
// INT8: graph.matmul %{{.*}}, %[[D]] : <[4, 1024], f16>
// INT8-LABEL: func @unnamed
// INT8-NOT: to i8
func.func @large(%x: !graph.tensor<[4, 1024], f16>) -> !graph.tensor<[4, 512], f16> {
  %w = graph.weight "m#w" [] : !graph.tensor<[1024, 512], f16>
  %y = graph.matmul %x, %w : <[4, 1024], f16>, <[1024, 512], f16>
  return %y : !graph.tensor<[4, 512], f16>
}

// A small weight is left alone, unless it is named.
// CHECK-LABEL: func @unnamed
// CHECK-NOT: f8E4M3FN
// CHECK-LABEL: func @named
// CHECK: f8E4M3FN
func.func @unnamed(%x: !graph.tensor<[4, 64], f16>) -> !graph.tensor<[4, 16], f16> {
  %w = graph.weight "m#v" [] : !graph.tensor<[64, 16], f16>
  %y = graph.matmul %x, %w : <[4, 64], f16>, <[64, 16], f16>
  return %y : !graph.tensor<[4, 16], f16>
}
func.func @named(%x: !graph.tensor<[4, 64], f16>) -> !graph.tensor<[4, 16], f16> {
  %w = graph.weight "m#v" [] : !graph.tensor<[64, 16], f16>
  %y = graph.matmul %x, %w : <[4, 64], f16>, <[64, 16], f16> loc("small")
  return %y : !graph.tensor<[4, 16], f16>
}

// No kernel of few rows reads a K that is no multiple of 8, nor a batch.
// CHECK-LABEL: func @odd
// CHECK-NOT: f8E4M3FN
func.func @odd(%x: !graph.tensor<[4, 1020], f16>, %z: !graph.tensor<[2, 4, 1024], f16>) -> (!graph.tensor<[4, 1024], f16>, !graph.tensor<[2, 4, 512], f16>) {
  %w = graph.weight "m#u" [] : !graph.tensor<[1020, 1024], f16>
  %v = graph.weight "m#t" [] : !graph.tensor<[2, 1024, 512], f16>
  %y = graph.matmul %x, %w : <[4, 1020], f16>, <[1020, 1024], f16>
  %1 = graph.matmul %z, %v : <[2, 4, 1024], f16>, <[2, 1024, 512], f16>
  return %y, %1 : !graph.tensor<[4, 1024], f16>, !graph.tensor<[2, 4, 512], f16>
}

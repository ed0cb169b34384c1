// RUN: kpc-opt %s --split-reductions="targets=sm_80 tf32=true" | FileCheck %s
// RUN: kpc-opt %s --split-reductions=targets=sm_120a | FileCheck %s --check-prefix=LOOPS
// RUN: kpc-opt %s --split-reductions | FileCheck %s --check-prefix=NONE
// RUN: not kpc-opt %s --split-reductions=targets=sm_1 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// NONE-NOT: graph.reduce
// UNKNOWN: error: {{.*}}sm_1

module attributes {graph.symbols = {m = {min = 1, max = 64, optimum = 64}, u = {min = 1}, k = {min = 1, max = 1000000}}} {
  // One tile: parts of K are a batch, whose sums are added up.
  // So are those of loops of multiply-adds, where two numbers of tf32 for one of f32 do not pay.
  // LOOPS-LABEL: func.func @long
  // LOOPS: graph.matmul %{{.*}} : <[[[P:[0-9]+]], 64, {{[0-9]+}}], f32>, <[[[P]], {{[0-9]+}}, 64], f32>
  // LOOPS: graph.reduce sum
  // CHECK-LABEL: func.func @long
  // CHECK: %[[A:.*]] = graph.reshape %arg0 : {{.*}} to <[64, [[P:[0-9]+]], [[K:[0-9]+]]], f32>
  // CHECK: %[[TA:.*]] = graph.transpose %[[A]] [1, 0, 2]
  // CHECK: %[[B:.*]] = graph.reshape %arg1 : {{.*}} to <[[[P]], [[K]], 64], f32>
  // CHECK: %[[Y:.*]] = graph.matmul %[[TA]], %[[B]]
  // CHECK: graph.reduce sum, %[[Y]] axes [0] : <[[[P]], 64, 64], f32>
  func.func @long(%a: !graph.tensor<[64, 131072], f32>, %b: !graph.tensor<[131072, 64], f32>) -> !graph.tensor<[64, 64], f32> {
    %y = graph.matmul %a, %b : !graph.tensor<[64, 131072], f32>, !graph.tensor<[131072, 64], f32>
    return %y : !graph.tensor<[64, 64], f32>
  }

  // A turned factor is cut as it lies in memory. Parts of 16 bits are added up in f32.
  // CHECK-LABEL: func.func @turned
  // CHECK: %[[A:.*]] = graph.reshape %arg0 : {{.*}} to <[[[P:[0-9]+]], [[K:[0-9]+]], m], f16>
  // CHECK: graph.transpose %[[A]] [0, 2, 1]
  // CHECK: %[[B:.*]] = graph.reshape %arg1 : {{.*}} to <[96, [[P]], [[K]]], f16>
  // CHECK: graph.transpose %[[B]] [1, 2, 0]
  // CHECK: graph.matmul
  // CHECK: graph.cast %{{.*}} to f32
  // CHECK: graph.reduce sum
  // CHECK: graph.cast %{{.*}} to f16
  func.func @turned(%a: !graph.tensor<[100000, m], f16>, %b: !graph.tensor<[96, 100000], f16>) -> !graph.tensor<[m, 96], f16> {
    %ta = graph.transpose %a [1, 0] : !graph.tensor<[100000, m], f16>
    %tb = graph.transpose %b [1, 0] : !graph.tensor<[96, 100000], f16>
    %y = graph.matmul %ta, %tb : !graph.tensor<[m, 100000], f16>, !graph.tensor<[100000, 96], f16>
    return %y : !graph.tensor<[m, 96], f16>
  }

  // Codes are not cut: their kernel has no parts, and numbers would have to be made of them first.
  // CHECK-LABEL: func.func @codes
  // CHECK-NOT: graph.reduce
  func.func @codes(%a: !graph.tensor<[64, 131072], f8E4M3FN>, %s: !graph.tensor<[64, 1024], f32>, %b: !graph.tensor<[64, 131072], f8E4M3FN>,
                   %t: !graph.tensor<[1, 1024], f32>) -> !graph.tensor<[64, 64], f32> {
    %x = graph.dequantise_blocks fp8 %a scales %s : !graph.tensor<[64, 131072], f8E4M3FN>, !graph.tensor<[64, 1024], f32> to <[64, 131072], f32>
    %w = graph.dequantise_blocks fp8 %b scales %t turned : !graph.tensor<[64, 131072], f8E4M3FN>, !graph.tensor<[1, 1024], f32> to <[131072, 64], f32>
    %y = graph.matmul %x, %w : !graph.tensor<[64, 131072], f32>, !graph.tensor<[131072, 64], f32>
    return %y : !graph.tensor<[64, 64], f32>
  }

  // Many tiles, a short K, few rows, a K or results whose sizes nobody knows: one kernel.
  // CHECK-LABEL: func.func @whole
  // CHECK-NOT: graph.reduce
  func.func @whole(%a: !graph.tensor<[4096, 4096], f16>, %b: !graph.tensor<[4096, 4096], f16>, %c: !graph.tensor<[64, 512], f16>, %d: !graph.tensor<[512, 64], f16>,
                   %e: !graph.tensor<[1, 131072], f16>, %f: !graph.tensor<[131072, 64], f16>, %g: !graph.tensor<[64, k], f16>, %h: !graph.tensor<[k, 64], f16>,
                   %i: !graph.tensor<[u, 131072], f16>)
      -> (!graph.tensor<[4096, 4096], f16>, !graph.tensor<[64, 64], f16>, !graph.tensor<[1, 64], f16>, !graph.tensor<[64, 64], f16>, !graph.tensor<[u, 64], f16>) {
    %0 = graph.matmul %a, %b : !graph.tensor<[4096, 4096], f16>, !graph.tensor<[4096, 4096], f16>
    %1 = graph.matmul %c, %d : !graph.tensor<[64, 512], f16>, !graph.tensor<[512, 64], f16>
    %2 = graph.matmul %e, %f : !graph.tensor<[1, 131072], f16>, !graph.tensor<[131072, 64], f16>
    %3 = graph.matmul %g, %h : !graph.tensor<[64, k], f16>, !graph.tensor<[k, 64], f16>
    %4 = graph.matmul %i, %f : !graph.tensor<[u, 131072], f16>, !graph.tensor<[131072, 64], f16>
    return %0, %1, %2, %3, %4 : !graph.tensor<[4096, 4096], f16>, !graph.tensor<[64, 64], f16>, !graph.tensor<[1, 64], f16>, !graph.tensor<[64, 64], f16>, !graph.tensor<[u, 64], f16>
  }
}

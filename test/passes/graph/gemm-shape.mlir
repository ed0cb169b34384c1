// RUN: kpc-opt --split-reductions %s | FileCheck %s

module attributes {graph.symbols = {m = {min = 1, max = 64}, k = {min = 1, max = 1000000}, s = {min = 1, max = 4096}}} {
  // One product for each result.
  // CHECK-LABEL: func.func @outer
  // CHECK-NEXT: %[[A:.*]] = graph.broadcast %arg0 : <[3, m, 1], f16> to <[3, m, 70], f16>
  // CHECK-NEXT: %[[B:.*]] = graph.broadcast %arg1 : <[1, 1, 70], f16> to <[3, m, 70], f16>
  // CHECK-NEXT: %[[Y:.*]] = graph.mul %[[A]], %[[B]] : <[3, m, 70], f16>
  // CHECK-NEXT: return %[[Y]]
  func.func @outer(%a: !graph.tensor<[3, m, 1], f16>, %b: !graph.tensor<[1, 1, 70], f16>) -> !graph.tensor<[3, m, 70], f16> {
    %y = graph.matmul %a, %b : !graph.tensor<[3, m, 1], f16>, !graph.tensor<[1, 1, 70], f16>
    return %y : !graph.tensor<[3, m, 70], f16>
  }

  // A long dot is a reduction, in two levels. Products of factors of 16 bits are f32.
  // CHECK-LABEL: func.func @dot
  // CHECK-NEXT: %[[B:.*]] = graph.reshape %arg1 : <[65537, 1], bf16> to <[1, 65537], bf16>
  // CHECK-NEXT: %[[WA:.*]] = graph.cast %arg0 to f32
  // CHECK-NEXT: %[[WB:.*]] = graph.cast %[[B]] to f32
  // CHECK-NEXT: %[[P:.*]] = graph.mul %[[WA]], %[[WB]] : <[1, 65537], f32>
  // CHECK-NEXT: %[[S:.*]] = graph.window sum, %[[P]] window [1, 4096] stride [1, 4096] dilation [1, 1] low [0, 0] high [0, 4095]
  // CHECK-NEXT: %[[R:.*]] = graph.reduce sum, %[[S]] axes [1] : <[1, 17], f32>
  // CHECK-NEXT: %[[C:.*]] = graph.cast %[[R]] to bf16
  // CHECK-NEXT: graph.reshape %[[C]] : <[1], bf16> to <[1, 1], bf16>
  func.func @dot(%a: !graph.tensor<[1, 65537], bf16>, %b: !graph.tensor<[65537, 1], bf16>) -> !graph.tensor<[1, 1], bf16> {
    %y = graph.matmul %a, %b : !graph.tensor<[1, 65537], bf16>, !graph.tensor<[65537, 1], bf16>
    return %y : !graph.tensor<[1, 1], bf16>
  }

  // A batch on one side alone, of integers, and of a length that may be long.
  // CHECK-LABEL: func.func @batch
  // CHECK: graph.broadcast %{{.*}} : <[1, 1, k], i32> to <[3, 1, k], i32>
  // CHECK: graph.mul %{{.*}} : <[3, 1, k], i32>
  // CHECK-NEXT: graph.window sum, %{{.*}} window [1, 1, 4096]
  // CHECK: graph.reduce sum, %{{.*}} axes [2]
  // CHECK: graph.reshape %{{.*}} : <[3, 1], i32> to <[3, 1, 1], i32>
  func.func @batch(%a: !graph.tensor<[3, 1, k], i32>, %b: !graph.tensor<[1, k, 1], i32>) -> !graph.tensor<[3, 1, 1], i32> {
    %y = graph.matmul %a, %b : !graph.tensor<[3, 1, k], i32>, !graph.tensor<[1, k, 1], i32>
    return %y : !graph.tensor<[3, 1, 1], i32>
  }

  // A short dot, one of several rows, and products whose sums have a type of their own.
  // CHECK-LABEL: func.func @others
  // CHECK-NEXT: graph.matmul
  // CHECK-NEXT: graph.matmul
  // CHECK-NEXT: graph.matmul
  // CHECK-NEXT: return
  func.func @others(%a: !graph.tensor<[1, s], f32>, %b: !graph.tensor<[s, 1], f32>, %c: !graph.tensor<[2, 65536], f32>, %d: !graph.tensor<[65536, 1], f32>,
                    %e: !graph.tensor<[8, 1], i8>, %f: !graph.tensor<[1, 8], i8>)
      -> (!graph.tensor<[1, 1], f32>, !graph.tensor<[2, 1], f32>, !graph.tensor<[8, 8], i32>) {
    %0 = graph.matmul %a, %b : !graph.tensor<[1, s], f32>, !graph.tensor<[s, 1], f32>
    %1 = graph.matmul %c, %d : !graph.tensor<[2, 65536], f32>, !graph.tensor<[65536, 1], f32>
    %2 = graph.matmul %e, %f : !graph.tensor<[8, 1], i8>, !graph.tensor<[1, 8], i8>
    return %0, %1, %2 : !graph.tensor<[1, 1], f32>, !graph.tensor<[2, 1], f32>, !graph.tensor<[8, 8], i32>
  }
}

// RUN: kpc-opt --flatten-batch-into-m %s | FileCheck %s

// All rows of a batch are rows of one product, and what works row by row stays with it.

!x = !graph.tensor<[b, s, 768], f32>
!y = !graph.tensor<[b, s, 64], f32>

module {
  // CHECK-LABEL: func.func @product_and_norm
  // CHECK-DAG: %[[X:.*]] = graph.reshape %arg0 : <[b, s, 768], f32> to <["b*s", 768], f32>
  // CHECK-DAG: %[[W:.*]] = graph.reshape %arg1 : <[1, 768, 64], f32> to <[768, 64], f32>
  // CHECK: %[[P:.*]] = graph.matmul %[[X]], %[[W]]
  // CHECK: %[[B:.*]] = graph.broadcast %arg2 : <[64], f32> to <["b*s", 64], f32>
  // CHECK: graph.add %[[P]], %[[B]] : <["b*s", 64], f32>
  // CHECK: %[[R:.*]] = graph.reshape %arg3 : <[b, s, 64], f32> to <["b*s", 64], f32>
  // CHECK: graph.add %{{.*}}, %[[R]]
  // CHECK: graph.reduce sum, %{{.*}} axes [1]
  // CHECK: graph.sub {{.*}} : <["b*s", 64], f32>
  // CHECK: %[[Y:.*]] = graph.reshape %{{.*}} : <["b*s", 64], f32> to <[b, s, 64], f32>
  // CHECK-NEXT: return %[[Y]]
  func.func @product_and_norm(%x: !x, %w: !graph.tensor<[1, 768, 64], f32>, %bias: !graph.tensor<[64], f32>, %r: !y) -> !y {
    %0 = graph.matmul %x, %w : !x, !graph.tensor<[1, 768, 64], f32>
    %1 = graph.broadcast %bias : !graph.tensor<[64], f32> to !y
    %2 = graph.add %0, %1 : !y
    %3 = graph.add %2, %r : !y
    %4 = graph.reduce sum, %3 axes [2] : !y
    %5 = graph.reshape %4 : !graph.tensor<[b, s], f32> to !graph.tensor<[b, s, 1], f32>
    %6 = graph.broadcast %5 : !graph.tensor<[b, s, 1], f32> to !y
    %7 = graph.sub %3, %6 : !y
    return %7 : !y
  }

  // Columns of one product.
  // CHECK-LABEL: func.func @slice
  // CHECK: graph.slice %{{.*}} start <[0, 16]> step [1, 1] : <["b*s", 64], f32> to <["b*s", 16], f32>
  // CHECK-NEXT: graph.reshape %{{.*}} : <["b*s", 16], f32> to <[b, s, 16], f32>
  func.func @slice(%x: !x, %w: !graph.tensor<[1, 768, 64], f32>) -> !graph.tensor<[b, s, 16], f32> {
    %0 = graph.matmul %x, %w : !x, !graph.tensor<[1, 768, 64], f32>
    %1 = graph.slice %0 start #graph.dims<[0, 0, 16]> step [1, 1, 1] : !y to !graph.tensor<[b, s, 16], f32>
    return %1 : !graph.tensor<[b, s, 16], f32>
  }

  // Each of a batch has its own right side, and a value for each position is the same in no two rows.
  // CHECK-LABEL: func.func @batched
  // CHECK-NEXT: graph.matmul %arg0, %arg1 : <[b, s, 768], f32>, <[b, 768, 64], f32>
  // CHECK-NEXT: graph.broadcast
  // CHECK-NEXT: graph.add %{{.*}} : <[b, s, 64], f32>
  func.func @batched(%x: !x, %w: !graph.tensor<[b, 768, 64], f32>, %p: !graph.tensor<[s, 64], f32>) -> !y {
    %0 = graph.matmul %x, %w : !x, !graph.tensor<[b, 768, 64], f32>
    %1 = graph.broadcast %p : !graph.tensor<[s, 64], f32> to !y
    %2 = graph.add %0, %1 : !y
    return %2 : !y
  }

  // Some of the heads, in halves: what is split comes after what is taken.
  // CHECK-LABEL: func.func @halves
  // CHECK: %[[H:.*]] = graph.reshape %arg0 : <["b*s", 96], f32> to <[b, s, 6, 16], f32>
  // CHECK: %[[S:.*]] = graph.slice %[[H]] start <[0, 0, 4, 0]> step [1, 1, 1, 1] : <[b, s, 6, 16], f32> to <[b, s, 1, 16], f32>
  // CHECK: graph.reshape %[[S]] : <[b, s, 1, 16], f32> to <[b, s, 1, 2, 8], f32>
  func.func @halves(%x: !graph.tensor<["b*s", 96], f32>) -> !graph.tensor<[b, s, 1, 2, 8], f32> {
    %0 = graph.slice %x start <[0, 64]> step [1, 1] : !graph.tensor<["b*s", 96], f32> to !graph.tensor<["b*s", 16], f32>
    %1 = graph.reshape %0 : !graph.tensor<["b*s", 16], f32> to !graph.tensor<[b, s, 1, 2, 8], f32>
    return %1 : !graph.tensor<[b, s, 1, 2, 8], f32>
  }

  // Of one query, heads may come before it.
  // CHECK-LABEL: func.func @one_query
  // CHECK: %[[H:.*]] = graph.reshape %arg0 : <[b, 96], f32> to <[b, 1, 6, 16], f32>
  // CHECK: %[[S:.*]] = graph.slice %[[H]] start <[0, 0, 0, 0]> step [1, 1, 1, 1] : <[b, 1, 6, 16], f32> to <[b, 1, 4, 16], f32>
  // CHECK: graph.reshape %[[S]] : <[b, 1, 4, 16], f32> to <[b, 4, 1, 16], f32>
  func.func @one_query(%x: !graph.tensor<[b, 96], f32>) -> !graph.tensor<[b, 4, 1, 16], f32> {
    %0 = graph.slice %x start <[0, 0]> step [1, 1] : !graph.tensor<[b, 96], f32> to !graph.tensor<[b, 64], f32>
    %1 = graph.reshape %0 : !graph.tensor<[b, 64], f32> to !graph.tensor<[b, 4, 1, 16], f32>
    return %1 : !graph.tensor<[b, 4, 1, 16], f32>
  }
}

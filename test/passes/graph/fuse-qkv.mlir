// RUN: kpc-opt --fuse-qkv %s | FileCheck %s

// Queries, keys and values of one input come from one product, as slices of its heads.

!x = !graph.tensor<["b*s", 64], f32>
!q = !graph.tensor<["b*s", 32], f32>
!k = !graph.tensor<["b*s", 16], f32>

module {
  // CHECK-LABEL: func.func @main
  // CHECK-DAG: %[[W:.*]] = graph.concat %{{.*}}, %{{.*}} axis 1 : !graph.tensor<[64, 32], f32>, !graph.tensor<[64, 16], f32>
  // CHECK-DAG: %[[B:.*]] = graph.concat %{{.*}}, %{{.*}} axis 0
  // CHECK-DAG: %[[Y:.*]] = graph.matmul %arg0, %[[W]] : <["b*s", 64], f32>, <[64, 48], f32>
  // CHECK: %[[A:.*]] = graph.add %[[Y]]
  // CHECK: %[[H:.*]] = graph.reshape %[[A]] : <["b*s", 48], f32> to <[b, s, 6, 8], f32>
  // CHECK-DAG: graph.slice %[[H]] start <[0, 0, 0, 0]> step [1, 1, 1, 1] : <[b, s, 6, 8], f32> to <[b, s, 4, 8], f32>
  // CHECK-DAG: graph.slice %[[H]] start <[0, 0, 4, 0]> step [1, 1, 1, 1] : <[b, s, 6, 8], f32> to <[b, s, 2, 8], f32>
  // CHECK-NOT: graph.matmul
  func.func @main(%x: !x) -> (!graph.tensor<[b, s, 4, 8], f32>, !graph.tensor<[b, s, 2, 8], f32>) {
    %wq = graph.weight "m#wq" [] : !graph.tensor<[64, 32], f32>
    %wk = graph.weight "m#wk" [] : !graph.tensor<[64, 16], f32>
    %bq = graph.weight "m#bq" [] : !graph.tensor<[32], f32>
    %bk = graph.weight "m#bk" [] : !graph.tensor<[16], f32>
    %0 = graph.matmul %x, %wq : !x, !graph.tensor<[64, 32], f32>
    %1 = graph.broadcast %bq : !graph.tensor<[32], f32> to !q
    %2 = graph.add %0, %1 : !q
    %3 = graph.reshape %2 : !q to !graph.tensor<[b, s, 4, 8], f32>
    %4 = graph.matmul %x, %wk : !x, !graph.tensor<[64, 16], f32>
    %5 = graph.broadcast %bk : !graph.tensor<[16], f32> to !k
    %6 = graph.add %5, %4 : !k
    %7 = graph.reshape %6 : !k to !graph.tensor<[b, s, 2, 8], f32>
    return %3, %7 : !graph.tensor<[b, s, 4, 8], f32>, !graph.tensor<[b, s, 2, 8], f32>
  }

  // One with a vector and one without stay two.
  // CHECK-LABEL: func.func @unlike
  // CHECK-NOT: graph.concat
  func.func @unlike(%x: !x) -> (!graph.tensor<[b, s, 4, 8], f32>, !graph.tensor<[b, s, 2, 8], f32>) {
    %wq = graph.weight "m#wq" [] : !graph.tensor<[64, 32], f32>
    %wk = graph.weight "m#wk" [] : !graph.tensor<[64, 16], f32>
    %bk = graph.weight "m#bk" [] : !graph.tensor<[16], f32>
    %0 = graph.matmul %x, %wq : !x, !graph.tensor<[64, 32], f32>
    %3 = graph.reshape %0 : !q to !graph.tensor<[b, s, 4, 8], f32>
    %4 = graph.matmul %x, %wk : !x, !graph.tensor<[64, 16], f32>
    %5 = graph.broadcast %bk : !graph.tensor<[16], f32> to !k
    %6 = graph.add %5, %4 : !k
    %7 = graph.reshape %6 : !k to !graph.tensor<[b, s, 2, 8], f32>
    return %3, %7 : !graph.tensor<[b, s, 4, 8], f32>, !graph.tensor<[b, s, 2, 8], f32>
  }

  // Heads that are split into halves for RoPE go with those that are not.
  // CHECK-LABEL: func.func @halves
  // CHECK: %[[H:.*]] = graph.reshape %{{.*}} : <["b*s", 48], f32> to <[b, s, 6, 8], f32>
  // CHECK: %[[Q:.*]] = graph.slice %[[H]] start <[0, 0, 0, 0]> step [1, 1, 1, 1] : <[b, s, 6, 8], f32> to <[b, s, 4, 8], f32>
  // CHECK: graph.reshape %[[Q]] : <[b, s, 4, 8], f32> to <[b, s, 4, 2, 4], f32>
  func.func @halves(%x: !x) -> (!graph.tensor<[b, s, 4, 2, 4], f32>, !graph.tensor<[b, s, 2, 8], f32>) {
    %wq = graph.weight "m#wq" [] : !graph.tensor<[64, 32], f32>
    %wk = graph.weight "m#wk" [] : !graph.tensor<[64, 16], f32>
    %0 = graph.matmul %x, %wq : !x, !graph.tensor<[64, 32], f32>
    %1 = graph.reshape %0 : !q to !graph.tensor<[b, s, 4, 2, 4], f32>
    %2 = graph.matmul %x, %wk : !x, !graph.tensor<[64, 16], f32>
    %3 = graph.reshape %2 : !k to !graph.tensor<[b, s, 2, 8], f32>
    return %1, %3 : !graph.tensor<[b, s, 4, 2, 4], f32>, !graph.tensor<[b, s, 2, 8], f32>
  }
}

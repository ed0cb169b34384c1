// RUN: kpc-opt --sink-broadcasts %s | FileCheck %s

// What is repeated is computed once, on the sizes that it has.

module {
  // CHECK-LABEL: func.func @mask
  // CHECK: %[[M:.*]] = graph.reshape %arg0 : <[b, t], i64> to <[b, 1, 1, t], i64>
  // CHECK: %[[F:.*]] = graph.cast %[[M]] to f32 : <[b, 1, 1, t], i64>
  // CHECK: %[[S:.*]] = graph.sub %{{.*}}, %[[F]] : <[b, 1, 1, t], f32>
  // CHECK: %[[Y:.*]] = graph.broadcast %[[S]] : <[b, 1, 1, t], f32> to <[b, 1, s, t], f32>
  // CHECK-NEXT: return %[[Y]]
  func.func @mask(%m: !graph.tensor<[b, t], i64>, %x: !graph.tensor<[s], f32>) -> !graph.tensor<[b, 1, s, t], f32> {
    %0 = graph.reshape %m : !graph.tensor<[b, t], i64> to !graph.tensor<[b, 1, 1, t], i64>
    %1 = graph.broadcast %0 : !graph.tensor<[b, 1, 1, t], i64> to !graph.tensor<[b, 1, s, t], i64>
    %2 = graph.cast %1 to f32 : !graph.tensor<[b, 1, s, t], i64>
    %one = graph.constant dense<1.0> : tensor<f32>
    %ones = graph.broadcast %one : !graph.tensor<[], f32> to !graph.tensor<[b, 1, s, t], f32>
    %3 = graph.sub %ones, %2 : !graph.tensor<[b, 1, s, t], f32>
    return %3 : !graph.tensor<[b, 1, s, t], f32>
  }

  // Sizes of 1 that a reshape adds stand in front of the broadcast.
  // CHECK-LABEL: func.func @reshape
  // CHECK-NEXT: %[[R:.*]] = graph.reshape %arg0 : <[t], f32> to <[1, 1, t], f32>
  // CHECK-NEXT: graph.broadcast %[[R]] : <[1, 1, t], f32> to <[b, 1, t], f32>
  func.func @reshape(%x: !graph.tensor<[t], f32>) -> !graph.tensor<[b, 1, t], f32> {
    %0 = graph.broadcast %x : !graph.tensor<[t], f32> to !graph.tensor<[b, t], f32>
    %1 = graph.reshape %0 : !graph.tensor<[b, t], f32> to !graph.tensor<[b, 1, t], f32>
    return %1 : !graph.tensor<[b, 1, t], f32>
  }

  // Where one operand has all elements, nothing is gained.
  // CHECK-LABEL: func.func @whole
  // CHECK-NEXT: graph.broadcast
  // CHECK-NEXT: graph.add
  // CHECK-NEXT: return
  func.func @whole(%x: !graph.tensor<[b, t], f32>, %y: !graph.tensor<[t], f32>) -> !graph.tensor<[b, t], f32> {
    %0 = graph.broadcast %y : !graph.tensor<[t], f32> to !graph.tensor<[b, t], f32>
    %1 = graph.add %x, %0 : !graph.tensor<[b, t], f32>
    return %1 : !graph.tensor<[b, t], f32>
  }
}

// RUN: kpc-opt %s --form-regions | FileCheck %s

// Bodies are formed by themselves; broadcasts from outside are cloned into
// their kernels, and what leaves a body is computed by a kernel of its own.

!t = !graph.tensor<[4, 4], f32>

// CHECK-LABEL: @loop(
// CHECK: %[[E:.*]] = graph.region "exp"(%arg0)
// CHECK: graph.loop "i" count <[20]>(%[[E]])
// CHECK-NEXT: ^bb0(%[[H:.*]]: !graph.tensor<[4, 4], f32>):
// CHECK-NEXT: %[[N:.*]] = graph.region "matmul+add"(%[[H]], %arg0, %arg1)
// CHECK: graph.broadcast
// CHECK: graph.yield %{{.*}} : !graph.tensor<[4, 4], f32>
// CHECK: }
// CHECK: graph.yield %[[N]], %[[N]]
func.func @loop(%x: !t, %b: !graph.tensor<[4], f32>) -> (!t, !graph.tensor<[20, 4, 4], f32>) {
  %e = graph.exp %x : !t
  %c = graph.broadcast %b : !graph.tensor<[4], f32> to !t
  %0:2 = graph.loop "i" count <[20]> (%e) reversed [false] : (!t) -> (!t, !graph.tensor<[20, 4, 4], f32>) {
  ^bb0(%h: !t):
    %1 = graph.matmul %h, %x : !t, !t
    %2 = graph.add %1, %c : !t
    graph.yield %2, %2 : !t, !t
  }
  return %0#0, %0#1 : !t, !graph.tensor<[20, 4, 4], f32>
}

// CHECK-LABEL: @if(
// CHECK: graph.if %arg0
// CHECK-NEXT: %[[N:.*]] = graph.region "neg+exp"(%arg1)
// CHECK: graph.yield %[[N]]
// CHECK: } else {
// CHECK-NEXT: graph.yield %arg1
func.func @if(%c: !graph.tensor<[], i1>, %x: !t) -> !t {
  %0 = graph.if %c : (!graph.tensor<[], i1>) -> !t {
    %1 = graph.neg %x : !t
    %2 = graph.exp %1 : !t
    graph.yield %2 : !t
  } else {
    graph.yield %x : !t
  }
  return %0 : !t
}

// The rows of an iteration are a place in memory, if a kernel may begin there;
// else a kernel copies them.
// CHECK-LABEL: @rows(
// CHECK: graph.loop "i"
// CHECK: %[[S:.*]] = graph.slice %arg0 start <[i, 0]>
// CHECK: %[[R:.*]] = graph.reshape %[[S]]
// CHECK: graph.region "add"(%[[R]], %{{.*}})
// CHECK: graph.yield
// CHECK: graph.loop "j"
// CHECK-NEXT: ^bb0
// CHECK-NEXT: graph.region "slice"(%arg1)
func.func @rows(%xs: !graph.tensor<[20, 16], f32>, %odd: !graph.tensor<[20, 3], f32>, %h0: !graph.tensor<[16], f32>,
                %g0: !graph.tensor<[3], f32>) -> (!graph.tensor<[16], f32>, !graph.tensor<[3], f32>) {
  %0 = graph.loop "i" count <[20]> (%h0) reversed [] : (!graph.tensor<[16], f32>) -> !graph.tensor<[16], f32> {
  ^bb0(%h: !graph.tensor<[16], f32>):
    %1 = graph.slice %xs start <[i, 0]> step [1, 1] : !graph.tensor<[20, 16], f32> to !graph.tensor<[1, 16], f32>
    %2 = graph.reshape %1 : !graph.tensor<[1, 16], f32> to !graph.tensor<[16], f32>
    %3 = graph.add %2, %h : !graph.tensor<[16], f32>
    graph.yield %3 : !graph.tensor<[16], f32>
  }
  %4 = graph.loop "j" count <[20]> (%g0) reversed [] : (!graph.tensor<[3], f32>) -> !graph.tensor<[3], f32> {
  ^bb0(%g: !graph.tensor<[3], f32>):
    %1 = graph.slice %odd start <[j, 0]> step [1, 1] : !graph.tensor<[20, 3], f32> to !graph.tensor<[1, 3], f32>
    %2 = graph.reshape %1 : !graph.tensor<[1, 3], f32> to !graph.tensor<[3], f32>
    %3 = graph.add %2, %g : !graph.tensor<[3], f32>
    graph.yield %3 : !graph.tensor<[3], f32>
  }
  return %0, %4 : !graph.tensor<[16], f32>, !graph.tensor<[3], f32>
}

// RUN: kpc-opt %s | kpc-opt | FileCheck %s

!t = !graph.tensor<[4], f32>

// CHECK-LABEL: @loop(
// CHECK: %[[R:.*]]:2 = graph.loop "i" count <[n]>(%arg0) reversed [false] : (!graph.tensor<[4], f32>) -> (!graph.tensor<[4], f32>, !graph.tensor<[n, 4], f32>) {
// CHECK-NEXT: ^bb0(%[[H:.*]]: !graph.tensor<[4], f32>):
// CHECK-NEXT: graph.slice %arg1 start <[i, 0]>
// CHECK: graph.yield %{{.*}}, %[[H]] : !graph.tensor<[4], f32>, !graph.tensor<[4], f32>
func.func @loop(%h0: !t, %xs: !graph.tensor<[n, 4], f32>) -> (!t, !graph.tensor<[n, 4], f32>) {
  %0:2 = graph.loop "i" count <[n]> (%h0) reversed [false] : (!t) -> (!t, !graph.tensor<[n, 4], f32>) {
  ^bb0(%h: !t):
    %x = graph.slice %xs start <[i, 0]> step [1, 1] : !graph.tensor<[n, 4], f32> to !graph.tensor<[1, 4], f32>
    %r = graph.reshape %x : !graph.tensor<[1, 4], f32> to !t
    %s = graph.add %h, %r : !t
    graph.yield %s, %h : !t, !t
  }
  return %0#0, %0#1 : !t, !graph.tensor<[n, 4], f32>
}

// CHECK-LABEL: @if(
// CHECK: graph.if %arg0 : (!graph.tensor<[], i1>) -> !graph.tensor<[4], f32> {
// CHECK-NEXT: graph.yield %arg1
// CHECK-NEXT: } else {
// CHECK-NEXT: graph.neg %arg1
func.func @if(%c: !graph.tensor<[], i1>, %x: !t) -> !t {
  %0 = graph.if %c : (!graph.tensor<[], i1>) -> !t {
    graph.yield %x : !t
  } else {
    %1 = graph.neg %x : !t
    graph.yield %1 : !t
  }
  return %0 : !t
}

// CHECK-LABEL: @until(
// CHECK: graph.loop "i" count <[100]> while %arg0 : !graph.tensor<[], i1>(%arg1) reversed [] : (!graph.tensor<[4], f32>) -> !graph.tensor<[4], f32> {
// CHECK-NEXT: ^bb0(%[[H:.*]]: !graph.tensor<[4], f32>):
// CHECK: graph.yield %arg0, %{{.*}} : !graph.tensor<[], i1>, !graph.tensor<[4], f32>
func.func @until(%c: !graph.tensor<[], i1>, %x: !t) -> !t {
  %0 = graph.loop "i" count <[100]> while %c : !graph.tensor<[], i1> (%x) reversed [] : (!t) -> !t {
  ^bb0(%h: !t):
    %1 = graph.neg %h : !t
    graph.yield %c, %1 : !graph.tensor<[], i1>, !t
  }
  return %0 : !t
}

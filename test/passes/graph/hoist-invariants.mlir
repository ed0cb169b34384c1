// RUN: kpc-opt %s --hoist-invariants | FileCheck %s

// What names the counter stays, in its loop; so does what depends on a carried
// value. What depends on an outer loop alone leaves the inner one.

!m = !graph.tensor<[4, 4], f32>

// CHECK-LABEL: @loop(
// CHECK: %[[T:.*]] = graph.transpose %arg1
// CHECK: graph.loop "i"
// CHECK-NEXT: ^bb0(%[[H:.*]]: !graph.tensor<[4, 4], f32>):
// CHECK-NEXT: %[[ROW:.*]] = graph.slice %arg2 start <[i, 0, 0]>
// CHECK: %[[R:.*]] = graph.reshape %[[ROW]]
// CHECK: %[[N:.*]] = graph.neg %[[R]]
// CHECK: graph.loop "j"
// CHECK: graph.slice %arg2 start <[j, 0, 0]>
// CHECK: graph.matmul %{{.*}}, %[[T]]
// CHECK: graph.add %{{.*}}, %[[N]]
func.func @loop(%h0: !m, %w: !m, %xs: !graph.tensor<[9, 4, 4], f32>) -> !m {
  %0 = graph.loop "i" count <[9]> (%h0) reversed [] : (!m) -> !m {
  ^bb0(%h: !m):
    %1 = graph.loop "j" count <[9]> (%h) reversed [] : (!m) -> !m {
    ^bb0(%g: !m):
      %t = graph.transpose %w [1, 0] : !m
      %x = graph.slice %xs start <[i, 0, 0]> step [1, 1, 1] : !graph.tensor<[9, 4, 4], f32> to !graph.tensor<[1, 4, 4], f32>
      %r = graph.reshape %x : !graph.tensor<[1, 4, 4], f32> to !m
      %n = graph.neg %r : !m
      %z = graph.slice %xs start <[j, 0, 0]> step [1, 1, 1] : !graph.tensor<[9, 4, 4], f32> to !graph.tensor<[1, 4, 4], f32>
      %y = graph.reshape %z : !graph.tensor<[1, 4, 4], f32> to !m
      %p = graph.matmul %y, %t : !m, !m
      %q = graph.add %p, %n : !m
      %s = graph.add %q, %g : !m
      graph.yield %s : !m
    }
    graph.yield %1 : !m
  }
  return %0 : !m
}

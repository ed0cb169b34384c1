// RUN: kpc-opt %s --lower-regions --set-live-intervals | FileCheck %s

// A loop that data ends: its condition has one place, which each iteration
// writes. Which part was written last is known when it has ended.

!t = !graph.tensor<[4, 4], f32>
!b = !graph.tensor<[], i1>

// CHECK: %[[X:.*]] = plan.input "x"
// CHECK: %[[C:.*]] = plan.input "c"
// CHECK: %[[Y:.*]] = plan.output "y"
// CHECK: %[[PAIR:.*]] = plan.buffer "loop.carried" live [0, 4] arena fixed : <[32], f32>
// CHECK: plan.copy %[[X]] to
// CHECK: %[[GO:.*]] = plan.buffer "loop.goes_on" live [1, 3] arena fixed : <[], i1>
// CHECK: plan.copy %[[C]] to %[[GO]]
// CHECK: plan.loop "i" count <[2147483647]> while %[[GO]] : !graph.tensor<[], i1> {
// CHECK: %[[NOW:.*]] = plan.part %[[PAIR]] at <["mod(i, 2)*16"]>
// CHECK: %[[NEXT:.*]] = plan.part %[[PAIR]] at <["mod(i + 1, 2)*16"]>
// CHECK: plan.launch @step (%[[NOW]]) -> (%[[NEXT]])
// CHECK: plan.launch @more (%[[NEXT]]) -> (%[[GO]])
// CHECK: } at_end {
// CHECK: %[[LAST:.*]] = plan.part %[[PAIR]] at <["mod(i, 2)*16"]>
// CHECK: plan.copy %[[LAST]] to %[[Y]]
module attributes {graph.symbols = {i = {min = 0, max = 2147483646}}} {
  func.func @main(%x: !t {graph.name = "x"}, %c: !b {graph.name = "c"}) -> (!t {graph.name = "y"}) {
    %0 = graph.loop "i" count <[2147483647]> while %c : !b (%x) reversed [] : (!t) -> !t {
    ^bb0(%h: !t):
      %1 = graph.region "step" (%h) : (!t) -> !t {
      ^bb0(%a: !t):
        %3 = graph.exp %a : !t
        graph.yield %3 : !t
      }
      %2 = graph.region "more" (%1) : (!t) -> !b {
      ^bb0(%a: !t):
        %3 = graph.reduce max, %a axes [0, 1] : !t
        %4 = graph.compare lt, %3, %3 : !graph.tensor<[], f32>
        graph.yield %4 : !b
      }
      graph.yield %2, %1 : !b, !t
    }
    return %0 : !t
  }
}

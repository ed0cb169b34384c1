// RUN: kpc-opt %s --lower-regions --set-live-intervals | FileCheck %s

// A carried value has memory twice, in turns; what is collected is written
// where it is to be. What an iteration only hands on is copied; the rows that
// it sees are a place in memory.

!t = !graph.tensor<[4, 4], f32>
!odd = !graph.tensor<[3], f32>

// CHECK: plan.program {
// CHECK: %[[X:.*]] = plan.input "x"
// CHECK: %[[O:.*]] = plan.input "odd"
// CHECK: %[[C:.*]] = plan.input "c"
// CHECK: %[[IN:.*]] = plan.input "in"
// CHECK: %[[Y:.*]] = plan.output "y"
// CHECK: %[[ALL:.*]] = plan.output "all"
// CHECK: %[[ODDS:.*]] = plan.output "odds"
// CHECK: %[[Z:.*]] = plan.output "z"
// CHECK: %[[PAIR:.*]] = plan.buffer "loop.carried" live [0, 7] arena fixed : <[32], f32>
// CHECK: %[[P0:.*]] = plan.part %[[PAIR]] at <[0]> : <[32], f32> to <[4, 4], f32>
// CHECK: plan.copy %[[X]] to %[[P0]]
// CHECK: plan.loop "i" count <[n]> {
// CHECK: %[[NOW:.*]] = plan.part %[[PAIR]] at <["mod(i, 2)*16"]>
// CHECK: %[[NEXT:.*]] = plan.part %[[PAIR]] at <["mod(i + 1, 2)*16"]>
// CHECK: %[[ROW:.*]] = plan.part %[[ALL]] at <["-i*16 + n*16 - 16"]> : <[n, 4, 4], f32> to <[4, 4], f32>
// CHECK: %[[ODD:.*]] = plan.part %[[ODDS]] at <["i*3"]>
// CHECK: plan.launch @step (%[[NOW]]) -> (%[[NEXT]])
// CHECK: %[[B:.*]] = plan.buffer "odd" live [2, 4] arena fixed
// CHECK: plan.launch @odd (%[[O]]) -> (%[[B]]) sizes <[i]>
// CHECK: %[[PART:.*]] = plan.part %[[IN]] at <["i*16"]> : <[99, 4, 4], f32> to <[1, 4, 4], f32>
// CHECK: %[[VIEW:.*]] = plan.view %[[PART]]
// CHECK: plan.copy %[[VIEW]] to %[[ROW]]
// CHECK: plan.copy %[[B]] to %[[ODD]]
// CHECK: }
// CHECK: %[[LAST:.*]] = plan.part %[[PAIR]] at <["mod(n, 2)*16"]>
// CHECK: plan.if %[[C]] : <[], i1> {
// CHECK: plan.launch @step (%[[X]]) -> (%[[Z]])
// CHECK: } else {
// CHECK: plan.copy %[[X]] to %[[Z]]
// CHECK: }
// CHECK: plan.copy %[[LAST]] to %[[Y]]
// CHECK: func.func @step
// CHECK: func.func @odd({{.*}}index {kernel.size = #kernel.size<max = 98, optimum = 49>}
// CHECK-NOT: func.func
module attributes {graph.symbols = {n = {min = 1, max = 99}, i = {min = 0, max = 98}}} {
  func.func @main(%x: !t {graph.name = "x"}, %o: !graph.tensor<[99], f32> {graph.name = "odd"},
                  %c: !graph.tensor<[], i1> {graph.name = "c"}, %all: !graph.tensor<[99, 4, 4], f32> {graph.name = "in"})
      -> (!t {graph.name = "y"}, !graph.tensor<[n, 4, 4], f32> {graph.name = "all"},
          !graph.tensor<[n, 3], f32> {graph.name = "odds"}, !t {graph.name = "z"}) {
    %0:3 = graph.loop "i" count <[n]> (%x) reversed [true, false] : (!t) -> (!t, !graph.tensor<[n, 4, 4], f32>, !graph.tensor<[n, 3], f32>) {
    ^bb0(%h: !t):
      %1 = graph.region "step" (%h) : (!t) -> !t {
      ^bb0(%a: !t):
        %3 = graph.exp %a : !t
        graph.yield %3 : !t
      }
      %2 = graph.region "odd" (%o) : (!graph.tensor<[99], f32>) -> !odd {
      ^bb0(%a: !graph.tensor<[99], f32>):
        %3 = graph.slice %a start <[i]> step [1] : !graph.tensor<[99], f32> to !graph.tensor<[1], f32>
        %4 = graph.broadcast %3 : !graph.tensor<[1], f32> to !odd
        graph.yield %4 : !odd
      }
      %5 = graph.slice %all start <[i, 0, 0]> step [1, 1, 1] : !graph.tensor<[99, 4, 4], f32> to !graph.tensor<[1, 4, 4], f32>
      %6 = graph.reshape %5 : !graph.tensor<[1, 4, 4], f32> to !t
      graph.yield %1, %6, %2 : !t, !t, !odd
    }
    %1 = graph.if %c : (!graph.tensor<[], i1>) -> !t {
      %2 = graph.region "step" (%x) : (!t) -> !t {
      ^bb0(%a: !t):
        %3 = graph.exp %a : !t
        graph.yield %3 : !t
      }
      graph.yield %2 : !t
    } else {
      graph.yield %x : !t
    }
    return %0#0, %0#1, %0#2, %1 : !t, !graph.tensor<[n, 4, 4], f32>, !graph.tensor<[n, 3], f32>, !t
  }
}

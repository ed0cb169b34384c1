// RUN: kpc compile %s --arch host -o %t.kpc --no-cache --quiet
// RUN: kpc inspect %t.kpc --dim n=7 | FileCheck %s

// Loops and branches, as far as an artifact.

// CHECK: dims:
// CHECK-NEXT: n  1..8
// CHECK-NEXT: targets:
// CHECK: loops and branches of host
// CHECK-NEXT: steps 1 to 2  run n = 7 times
// CHECK-NEXT: steps 3 to 4  if c step 3, else step 4
// CHECK-NEXT: kernels of

!t = !graph.tensor<[16], f32>

module attributes {graph.symbols = {n = {min = 1, max = 8}, i = {min = 0, max = 7}}} {
  func.func @main(%x: !t {graph.name = "x"}, %xs: !graph.tensor<[n, 16], f32> {graph.name = "xs"},
                  %c: !graph.tensor<[], i1> {graph.name = "c"})
      -> (!t {graph.name = "y"}, !graph.tensor<[n, 16], f32> {graph.name = "ys"}) {
    %0:2 = graph.loop "i" count <[n]> (%x) reversed [false] : (!t) -> (!t, !graph.tensor<[n, 16], f32>) {
    ^bb0(%h: !t):
      %1 = graph.slice %xs start <[i, 0]> step [1, 1] : !graph.tensor<[n, 16], f32> to !graph.tensor<[1, 16], f32>
      %2 = graph.reshape %1 : !graph.tensor<[1, 16], f32> to !t
      %3 = graph.add %h, %2 : !t
      %4 = graph.tanh %3 : !t
      %5 = graph.neg %4 : !t
      graph.yield %4, %5 : !t, !graph.tensor<[16], f32>
    }
    %1 = graph.if %c : (!graph.tensor<[], i1>) -> !t {
      %2 = graph.exp %0#0 : !t
      graph.yield %2 : !t
    } else {
      %2 = graph.neg %0#0 : !t
      graph.yield %2 : !t
    }
    return %1, %0#1 : !t, !graph.tensor<[n, 16], f32>
  }
}

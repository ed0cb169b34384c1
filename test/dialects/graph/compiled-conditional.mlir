// RUN: kpc compile %s --arch sm_80 -o %t.kpc --no-cache --quiet
// RUN: kpc inspect %t.kpc | FileCheck %s
// RUN: kpc inspect %t.kpc --json | FileCheck %s --check-prefix=JSON
// RUN: kpc check %s --arch sm_80 | FileCheck %s --check-prefix=CHECKED
// RUN: kpc check %s --arch sm_80 --json | FileCheck %s --check-prefix=CHECKED-JSON

// What data decides on a GPU: the first loop and the branch are nodes of a
// graph. A kernel of the second loop takes the iteration's number; a graph
// could not change that, so the condition is read back.

// CHECK: loops and branches of sm_80
// CHECK-NEXT: run while first.goes_on, at most 100 times; {{.*}}  node of the graph
// CHECK-NEXT: run while second.goes_on, at most 50 times; {{.*}}  read back: a kernel takes the iteration's number
// CHECK-NEXT: {{if|run if}} {{.*}}  node of the graph
// CHECK-NEXT: nodes of the graph take a driver for CUDA 12.3

// JSON: "decided": "node of the graph"
// JSON: "decided": "read back: a kernel takes the iteration's number"
// JSON: "decided": "node of the graph"

// CHECKED: loops and branches:
// CHECKED-NEXT: loop first: until data ends it, at most 100 iterations; a node of a GPU's graph
// CHECKED-NEXT: loop second: until data ends it, at most 50 iterations; a GPU is waited for in each: a kernel takes the iteration's number
// CHECKED-NEXT: branch branch: a node of a GPU's graph

// CHECKED-JSON: "on_gpus":"node of the graph"
// CHECKED-JSON: "on_gpus":"read back: a kernel takes the iteration's number"

// No block can keep what they carry, so that each step is kernels.
!t = !graph.tensor<[100000], f32>
!b = !graph.tensor<[], i1>

module attributes {graph.symbols = {i = {min = 0, max = 99}, j = {min = 0, max = 49}}} {
  func.func @main(%x: !t {graph.name = "x"}, %c: !b {graph.name = "c"}) -> (!t {graph.name = "y"}) {
    %0 = graph.loop "i" count <[100]> while %c : !b (%x) reversed [] : (!t) -> !t {
    ^bb0(%h: !t):
      %1 = graph.exp %h : !t
      %2 = graph.reduce max, %1 axes [0] : !t
      %3 = graph.constant dense<1.0> : tensor<f32>
      %4 = graph.compare lt, %2, %3 : !graph.tensor<[], f32>
      graph.yield %4, %1 : !b, !t
    } loc("first")
    %5 = graph.loop "j" count <[50]> while %c : !b (%0) reversed [] : (!t) -> !t {
    ^bb0(%h: !t):
      %20 = graph.sizes <[j]>
      %6 = graph.cast %20 to f32 : !graph.tensor<[1], i64>
      %7 = graph.broadcast %6 : !graph.tensor<[1], f32> to !t
      %8 = graph.add %h, %7 : !t
      %9 = graph.reduce max, %8 axes [0] : !t
      %10 = graph.constant dense<9.0> : tensor<f32>
      %11 = graph.compare lt, %9, %10 : !graph.tensor<[], f32>
      graph.yield %11, %8 : !b, !t
    } loc("second")
    %12 = graph.if %c : (!b) -> !t {
      %13 = graph.exp %5 : !t
      graph.yield %13 : !t
    } else {
      %14 = graph.neg %5 : !t
      graph.yield %14 : !t
    } loc("branch")
    return %12 : !t
  }
}

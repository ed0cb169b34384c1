// RUN: kpc compile %s --arch host -o %t.kpc --no-cache --quiet
// RUN: kpc inspect %t.kpc | FileCheck %s
// RUN: kpc inspect %t.kpc --json | FileCheck %s --check-prefix=JSON
// RUN: kpc check %s | FileCheck %s --check-prefix=CHECKED
// RUN: kpc check %s --json | FileCheck %s --check-prefix=CHECKED-JSON
// RUN: kpc run %t.kpc --input x=zeros --input c=zeros | FileCheck %s --check-prefix=NONE

// A loop that data ends: what is said of it. Without iterations the result is
// what the loop began with.

// CHECK: loops and branches of host
// CHECK-NEXT: steps 2 to 3  run while loop.goes_on, at most 100 times; then step 4

// JSON: "kind": "loop",
// JSON-NEXT: "first_step": 2,
// JSON-NEXT: "end_step": 5,
// JSON-NEXT: "condition": "loop.goes_on",
// JSON-NEXT: "behind_step": 4,
// JSON-NEXT: "count_for": "100",
// JSON-NEXT: "count": 100

// CHECKED: loops and branches:
// CHECKED-NEXT: loop {{.*}}: until data ends it, at most 100 iterations; a node of a GPU's graph

// CHECKED-JSON: "data_ends":true

// NONE: y  f32[16]  0 .. 0, mean 0

!t = !graph.tensor<[16], f32>
!b = !graph.tensor<[], i1>

module attributes {graph.symbols = {i = {min = 0, max = 99}}} {
  func.func @main(%x: !t {graph.name = "x"}, %c: !b {graph.name = "c"}) -> (!t {graph.name = "y"}) {
    %0 = graph.loop "i" count <[100]> while %c : !b (%x) reversed [] : (!t) -> !t {
    ^bb0(%h: !t):
      %1 = graph.exp %h : !t
      %2 = graph.reduce max, %1 axes [0] : !t
      %3 = graph.constant dense<1.0> : tensor<f32>
      %4 = graph.compare lt, %2, %3 : !graph.tensor<[], f32>
      graph.yield %4, %1 : !b, !t
    }
    return %0 : !t
  }
}

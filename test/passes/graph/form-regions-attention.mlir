// RUN: kpc-opt --form-regions %s | FileCheck %s

// Transposes that keep the rows of heads are an order of strides: they join. What computes does not.

!flat = !graph.tensor<[2, s, 4, 64], f16>
!q = !graph.tensor<[2, 4, s, 64], f16>

module attributes {graph.symbols = {s = {min = 1}}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%q: !flat {graph.name = "q"}, %k: !flat {graph.name = "k"}, %v: !q {graph.name = "v"}) -> (!flat {graph.name = "y"}) {
    // CHECK: graph.region
    // CHECK-NEXT: ^bb0
    // CHECK-NEXT: graph.relu
    // CHECK-NEXT: graph.yield
    %r = graph.relu %v : !q
    // CHECK: graph.region
    // CHECK-NEXT: ^bb0
    // CHECK-NEXT: graph.transpose
    // CHECK-NEXT: graph.transpose
    // CHECK-NEXT: graph.attention
    // CHECK-NEXT: graph.transpose
    // CHECK-NEXT: graph.yield
    %0 = graph.transpose %q [0, 2, 1, 3] : !flat
    %1 = graph.transpose %k [0, 2, 1, 3] : !flat
    %2 = graph.attention %0, %1, %r scale 0.125 : !q, !q, !q
    %3 = graph.transpose %2 [0, 2, 1, 3] : !q
    return %3 : !flat
  }
}

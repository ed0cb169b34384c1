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

  // Some of the heads of one tensor: a place to begin at.
  // CHECK-LABEL: func.func @slices
  // CHECK: graph.region {{.*}}(%arg0) :
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: graph.slice
  // CHECK: graph.slice
  // CHECK: graph.slice
  // CHECK: graph.attention
  // CHECK: graph.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: return
  func.func @slices(%x: !graph.tensor<[2, s, 12, 64], f16> {graph.name = "x"}) -> (!q {graph.name = "y"}) {
    %q = graph.slice %x start #graph.dims<[0, 0, 0, 0]> step [1, 1, 1, 1] : !graph.tensor<[2, s, 12, 64], f16> to !flat
    %k = graph.slice %x start #graph.dims<[0, 0, 4, 0]> step [1, 1, 1, 1] : !graph.tensor<[2, s, 12, 64], f16> to !flat
    %v = graph.slice %x start #graph.dims<[0, 0, 8, 0]> step [1, 1, 1, 1] : !graph.tensor<[2, s, 12, 64], f16> to !flat
    %0 = graph.transpose %q [0, 2, 1, 3] : !flat
    %1 = graph.transpose %k [0, 2, 1, 3] : !flat
    %2 = graph.transpose %v [0, 2, 1, 3] : !flat
    %3 = graph.attention %0, %1, %2 scale 0.125 : !q, !q, !q
    return %3 : !q
  }

  // Some of the keys are no place that copies know: a kernel of its own.
  // CHECK-LABEL: func.func @window
  // CHECK: graph.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: graph.slice
  // CHECK-NEXT: graph.yield
  // CHECK: graph.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: graph.attention
  func.func @window(%q: !q {graph.name = "q"}, %k: !graph.tensor<[2, 4, "s + 1", 64], f16> {graph.name = "k"}) -> (!q {graph.name = "y"}) {
    %0 = graph.slice %k start #graph.dims<[0, 0, 1, 0]> step [1, 1, 1, 1] : !graph.tensor<[2, 4, "s + 1", 64], f16> to !q
    %1 = graph.attention %q, %0, %0 scale 0.125 : !q, !q, !q
    return %1 : !q
  }

  // An attention that reads codes holds their casts, its factor and what turns it.
  // CHECK-LABEL: func.func @codes
  // CHECK: graph.region {{.*}}(%arg1, %arg0) :
  // CHECK-NEXT: ^bb0
  // CHECK-DAG: graph.transpose %{{.*}} [0, 2, 1, 3] : <[2, s, 4, 64], f8E4M3FN>
  // CHECK-DAG: graph.cast %{{.*}} to f16 : <[2, 4, s, 64], f8E4M3FN>
  // CHECK: graph.attention {{.*}} {{{.*}}graph.codes}
  // CHECK: graph.mul
  // CHECK: graph.transpose
  // CHECK-NEXT: graph.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: return
  func.func @codes(%q: !q {graph.name = "q"}, %k: !graph.tensor<[2, s, 4, 64], f8E4M3FN> {graph.name = "k"}) -> (!flat {graph.name = "y"}) {
    %half = graph.constant dense<5.0e-01> : tensor<f16>
    %t = graph.transpose %k [0, 2, 1, 3] : !graph.tensor<[2, s, 4, 64], f8E4M3FN>
    %c = graph.cast %t to f16 : !graph.tensor<[2, 4, s, 64], f8E4M3FN>
    %0 = graph.attention %q, %c, %c scale 0.125 {graph.codes} : !q, !q, !q
    %all = graph.broadcast %half : !graph.tensor<[], f16> to !q
    %1 = graph.mul %0, %all : !q
    %2 = graph.transpose %1 [0, 2, 1, 3] : !q
    return %2 : !flat
  }
}

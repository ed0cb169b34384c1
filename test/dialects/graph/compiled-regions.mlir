// RUN: kpc-opt %s --lower-regions --verify-kernel-form > %t.plan.mlir
// RUN: kpc compile %t.plan.mlir --arch host -o %t.kpc --no-cache --quiet
// RUN: kpc inspect %t.kpc | FileCheck %s

// A region that is written by hand is a kernel of that name.

// CHECK: add_and_relu

!x = !graph.tensor<[n, 4], f32>

module attributes {graph.symbols = {n = {min = 1, max = 8}}} {
  func.func @main(%x: !x {graph.name = "x"}) -> (!x {graph.name = "y"}) {
    %0 = graph.region "add_and_relu" (%x) : (!x) -> !x {
    ^bb0(%a: !x):
      %1 = graph.add %a, %a : !x
      %2 = graph.relu %1 : !x
      graph.yield %2 : !x
    }
    return %0 : !x
  }
}

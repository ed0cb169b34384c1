// RUN: kpc-opt --lower-regions --verify-kernel-form %s | FileCheck %s

// Operands are widened like all others; the offset of a causal mask is a size.

!q = !graph.tensor<[2, 4, s, 64], f16>
!k = !graph.tensor<[2, 2, "past + s", 64], f16>

module attributes {graph.symbols = {s = {min = 1}, past = {min = 1}}} {
  func.func @main(%q: !q {graph.name = "q"}, %k: !k {graph.name = "k"}) -> (!q {graph.name = "y"}) {
    %0 = graph.region "attention" (%q, %k) : (!q, !k) -> !q {
    ^bb0(%a: !q, %b: !k):
      %1 = graph.attention %a, %b, %b scale 0.125 softcap 30.0 causal <[past]> : !q, !k, !k
      graph.yield %1 : !q
    }
    return %0 : !q
  }
}

// CHECK: plan.launch @attention (%{{.*}}, %{{.*}}) -> (%{{.*}}) sizes <{{.*}}past
// CHECK-LABEL: func.func @attention(
// CHECK: %[[Q:.*]] = linalg.generic
// CHECK: %[[K:.*]] = linalg.generic
// CHECK: %[[EMPTY:.*]] = tensor.empty
// CHECK: %[[Y:.*]] = kernel.attention %[[Q]], %[[K]], %[[K]] causal %arg{{[0-9]+}} scale 1.250000e-01 softcap 3.000000e+01 into %[[EMPTY]]
// CHECK: arith.truncf

// RUN: kpc-opt %s --set-precision -verify-diagnostics

!x = !graph.tensor<[n], f32>
func.func @main(%x: !x) -> !x {
  // expected-error @below {{a region is formed already; set-precision comes before form-regions}}
  %0 = graph.region "exp" (%x) : (!x) -> !x {
  ^bb0(%a: !x):
    %1 = graph.exp %a : !x
    graph.yield %1 : !x
  }
  return %0 : !x
}

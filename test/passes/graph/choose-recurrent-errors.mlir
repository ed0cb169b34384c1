// RUN: kpc-opt %s -lower-regions -verify-diagnostics

!x = !graph.tensor<[5, 3, 32], f32>
!r = !graph.tensor<[1, 32, 32], f32>
!h = !graph.tensor<[1, 3, 32], f32>
!y = !graph.tensor<[5, 3, 1, 32], f32>

func.func @main(%x: !x, %r: !r, %h0: !h) -> !y {
  %y, %h = graph.region "layer"(%x, %r, %h0) : (!x, !r, !h) -> (!y, !h) {
  ^bb0(%a: !x, %b: !r, %c: !h):
    // expected-error @below {{a recurrent layer becomes a kernel when choose-recurrent has taken its loops}}
    %0, %1 = graph.recurrent tanh(%a) weights %b state %c reversed [false] : (!x, !r, !h) -> (!y, !h) {
      %2 = graph.reshape %a : !x to !y
      graph.recurrent_yield %2, %c : !y, !h
    }
    graph.yield %0, %1 : !y, !h
  }
  return %y : !y
}

// RUN: kpc-opt %s | kpc-opt | FileCheck %s

!x = !graph.tensor<[steps, 3, 160], f32>
!r = !graph.tensor<[1, 160, 40], f32>
!h = !graph.tensor<[1, 3, 40], f32>
!y = !graph.tensor<[steps, 3, 1, 40], f32>

module attributes {graph.symbols = {steps = {max = 64, min = 1}}} {
  // CHECK-LABEL: func.func @lstm
  func.func @lstm(%x: !x, %r: !r, %h0: !h, %c0: !h, %n: !graph.tensor<[3], i64>, %y0: !y) -> !y {
    // CHECK: graph.recurrent lstm(%{{.*}}) weights %{{.*}} lengths %{{.*}} state %{{.*}} cell %{{.*}} reversed [false] :
    // CHECK: graph.recurrent_yield %{{.*}}, %{{.*}}, %{{.*}} :
    %y, %h, %c = graph.recurrent lstm(%x) weights %r lengths %n state %h0 cell %c0 reversed [false]
        : (!x, !r, !graph.tensor<[3], i64>, !h, !h) -> (!y, !h, !h) {
      graph.recurrent_yield %y0, %h0, %c0 : !y, !h, !h
    }
    return %y : !y
  }
}

// RUN: kpc-opt --split-reductions=longest-row=524288 %s | FileCheck %s
// RUN: kpc-opt --split-reductions %s | FileCheck %s --check-prefix=BLOCK

module attributes {graph.models = {}, graph.symbols = {}} {
  // The blocks of a cluster keep the row of a norm, which reads it again.
  // CHECK-LABEL: func.func @norm
  // CHECK-NOT: graph.window
  // BLOCK-LABEL: func.func @norm
  // BLOCK: graph.window
  func.func @norm(%x: !graph.tensor<[1, 400000], f32>) -> !graph.tensor<[1, 400000], f32> {
    %s = graph.reduce sum, %x axes [1] : !graph.tensor<[1, 400000], f32>
    %k = graph.reshape %s : !graph.tensor<[1], f32> to !graph.tensor<[1, 1], f32>
    %b = graph.broadcast %k : !graph.tensor<[1, 1], f32> to !graph.tensor<[1, 400000], f32>
    %y = graph.sub %x, %b : !graph.tensor<[1, 400000], f32>
    return %y : !graph.tensor<[1, 400000], f32>
  }

  // A sum whose operand something else reads as well is no norm: it is split as on other chips.
  // CHECK-LABEL: func.func @sum
  // CHECK: graph.window
  // BLOCK-LABEL: func.func @sum
  // BLOCK: graph.window
  func.func @sum(%x: !graph.tensor<[1, 400000], f32>) -> (!graph.tensor<[1], f32>, !graph.tensor<[1, 400000], f32>) {
    %e = graph.exp %x : !graph.tensor<[1, 400000], f32>
    %s = graph.reduce sum, %e axes [1] : !graph.tensor<[1, 400000], f32>
    return %s, %e : !graph.tensor<[1], f32>, !graph.tensor<[1, 400000], f32>
  }
}

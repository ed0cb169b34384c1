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

  // A row of several pieces of memory is in a kernel of rows up to half of the length: 401408 elements are split.
  // CHECK-LABEL: func.func @pieces
  // CHECK: graph.window sum, %arg0 window [2, 1, 112, 112]
  // BLOCK-LABEL: func.func @pieces
  // BLOCK: graph.window sum, %arg0 window [2, 1, 112, 112]
  func.func @pieces(%x: !graph.tensor<[32, 64, 112, 112], f32>) -> !graph.tensor<[32, 64, 112, 112], f32> {
    %s = graph.reduce sum, %x axes [0, 2, 3] : !graph.tensor<[32, 64, 112, 112], f32>
    %k = graph.reshape %s : !graph.tensor<[64], f32> to !graph.tensor<[1, 64, 1, 1], f32>
    %b = graph.broadcast %k : !graph.tensor<[1, 64, 1, 1], f32> to !graph.tensor<[32, 64, 112, 112], f32>
    %y = graph.sub %x, %b : !graph.tensor<[32, 64, 112, 112], f32>
    return %y : !graph.tensor<[32, 64, 112, 112], f32>
  }

  // A cluster keeps 100352, a block does not.
  // CHECK-LABEL: func.func @fewer_pieces
  // CHECK-NOT: graph.window
  // BLOCK-LABEL: func.func @fewer_pieces
  // BLOCK: graph.window
  func.func @fewer_pieces(%x: !graph.tensor<[8, 64, 112, 112], f32>) -> !graph.tensor<[8, 64, 112, 112], f32> {
    %s = graph.reduce sum, %x axes [0, 2, 3] : !graph.tensor<[8, 64, 112, 112], f32>
    %k = graph.reshape %s : !graph.tensor<[64], f32> to !graph.tensor<[1, 64, 1, 1], f32>
    %b = graph.broadcast %k : !graph.tensor<[1, 64, 1, 1], f32> to !graph.tensor<[8, 64, 112, 112], f32>
    %y = graph.sub %x, %b : !graph.tensor<[8, 64, 112, 112], f32>
    return %y : !graph.tensor<[8, 64, 112, 112], f32>
  }
}

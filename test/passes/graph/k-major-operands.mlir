// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(k-major-operands{wgmma keep=exact}))' | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(k-major-operands))' | FileCheck %s --check-prefix=GEMMS
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(k-major-operands{wgmma split}))' | FileCheck %s --check-prefix=GEMMS

// A weight [K, N] becomes [N, K] in the artifact; the region's transpose is a view.
// CHECK-LABEL: @main
// CHECK: %[[FC:.*]] = graph.weight "m#fc" [{transpose = array<i64: 1, 0>}] : <[8, 4], f32>
// CHECK: graph.region "fc"(%{{.*}}, %[[FC]])
// CHECK-NEXT: ^bb0(%[[A:.*]]: !graph.tensor<[n, 4], f32>, %[[B:.*]]: !graph.tensor<[8, 4], f32>):
// CHECK-NEXT:   %[[T:.*]] = graph.transpose %[[B]] [1, 0] : <[8, 4], f32>
// CHECK-NEXT:   graph.matmul %[[A]], %[[T]]

// One that the region turns itself is left as it lies.
// CHECK: %[[TURNED:.*]] = graph.weight "m#turned" [] : <[8, 8], f32>
// CHECK: graph.region "turned"(%{{.*}}, %[[TURNED]])
// K of 6 elements begins at no multiple of 16 bytes; 16 bits are read in any order; what stays exact stays.
// CHECK: graph.weight "m#odd" [] : <[6, 8], f32>
// CHECK: graph.weight "m#half" [] : <[8, 8], f16>
// CHECK: graph.weight "m#exact" [] : <[8, 8], f32>

// Filters: outputs behind the taps, or in front of the last of them.
// CHECK: graph.weight "m#conv" [{transpose = array<i64: 0, 1, 3, 2>}] : <[3, 3, 16, 8], f32>
// CHECK: graph.weight "m#stem" [{transpose = array<i64: 0, 3, 1, 2>}] : <[7, 16, 7, 4], f32>
// CHECK: graph.transpose %{{.*}} [0, 2, 3, 1] : <[7, 16, 7, 4], f32>
// CHECK: graph.weight "m#groups" [] : <[3, 3, 4, 16], f32>
// GEMMS: graph.weight "m#fc" [{transpose
// GEMMS: graph.weight "m#conv" []
func.func @main(%x: !graph.tensor<[n, 4], f32>, %h: !graph.tensor<[n, 8], f16>, %p: !graph.tensor<[n, 9, 9, 8], f32>,
                %s: !graph.tensor<[n, 13, 13, 4], f32>, %o: !graph.tensor<[n, 6], f32>) {
  %fc = graph.weight "m#fc" [] : <[4, 8], f32>
  %y0 = graph.region "fc" (%x, %fc) : (!graph.tensor<[n, 4], f32>, !graph.tensor<[4, 8], f32>) -> !graph.tensor<[n, 8], f32> {
  ^bb0(%a: !graph.tensor<[n, 4], f32>, %b: !graph.tensor<[4, 8], f32>):
    %y = graph.matmul %a, %b : <[n, 4], f32>, <[4, 8], f32>
    graph.yield %y : !graph.tensor<[n, 8], f32>
  }
  %turned = graph.weight "m#turned" [] : <[8, 8], f32>
  %y1 = graph.region "turned" (%y0, %turned) : (!graph.tensor<[n, 8], f32>, !graph.tensor<[8, 8], f32>) -> !graph.tensor<[n, 8], f32> {
  ^bb0(%a: !graph.tensor<[n, 8], f32>, %b: !graph.tensor<[8, 8], f32>):
    %t = graph.transpose %b [1, 0] : <[8, 8], f32>
    %y = graph.matmul %a, %t : <[n, 8], f32>, <[8, 8], f32>
    graph.yield %y : !graph.tensor<[n, 8], f32>
  }
  %odd = graph.weight "m#odd" [] : <[6, 8], f32>
  %y2 = graph.region "odd" (%o, %odd) : (!graph.tensor<[n, 6], f32>, !graph.tensor<[6, 8], f32>) -> !graph.tensor<[n, 8], f32> {
  ^bb0(%a: !graph.tensor<[n, 6], f32>, %b: !graph.tensor<[6, 8], f32>):
    %y = graph.matmul %a, %b : <[n, 6], f32>, <[6, 8], f32>
    graph.yield %y : !graph.tensor<[n, 8], f32>
  }
  %half = graph.weight "m#half" [] : <[8, 8], f16>
  %y3 = graph.region "half" (%h, %half) : (!graph.tensor<[n, 8], f16>, !graph.tensor<[8, 8], f16>) -> !graph.tensor<[n, 8], f16> {
  ^bb0(%a: !graph.tensor<[n, 8], f16>, %b: !graph.tensor<[8, 8], f16>):
    %y = graph.matmul %a, %b : <[n, 8], f16>, <[8, 8], f16>
    graph.yield %y : !graph.tensor<[n, 8], f16>
  }
  %exact = graph.weight "m#exact" [] : <[8, 8], f32>
  %y4 = graph.region "exact" (%y1, %exact) : (!graph.tensor<[n, 8], f32>, !graph.tensor<[8, 8], f32>) -> !graph.tensor<[n, 8], f32> {
  ^bb0(%a: !graph.tensor<[n, 8], f32>, %b: !graph.tensor<[8, 8], f32>):
    %y = graph.matmul %a, %b : <[n, 8], f32>, <[8, 8], f32> loc("exact")
    graph.yield %y : !graph.tensor<[n, 8], f32>
  }
  %conv = graph.weight "m#conv" [] : <[3, 3, 8, 16], f32>
  %y5 = graph.region "conv" (%p, %conv) : (!graph.tensor<[n, 9, 9, 8], f32>, !graph.tensor<[3, 3, 8, 16], f32>) -> !graph.tensor<[n, 9, 9, 16], f32> {
  ^bb0(%a: !graph.tensor<[n, 9, 9, 8], f32>, %b: !graph.tensor<[3, 3, 8, 16], f32>):
    %y = graph.conv %a, %b stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 1 : <[n, 9, 9, 8], f32>, <[3, 3, 8, 16], f32>
    graph.yield %y : !graph.tensor<[n, 9, 9, 16], f32>
  }
  %stem = graph.weight "m#stem" [] : <[7, 7, 4, 16], f32>
  %y6 = graph.region "stem" (%s, %stem) : (!graph.tensor<[n, 13, 13, 4], f32>, !graph.tensor<[7, 7, 4, 16], f32>) -> !graph.tensor<[n, 4, 4, 16], f32> {
  ^bb0(%a: !graph.tensor<[n, 13, 13, 4], f32>, %b: !graph.tensor<[7, 7, 4, 16], f32>):
    %y = graph.conv %a, %b stride [2, 2] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : <[n, 13, 13, 4], f32>, <[7, 7, 4, 16], f32>
    graph.yield %y : !graph.tensor<[n, 4, 4, 16], f32>
  }
  %groups = graph.weight "m#groups" [] : <[3, 3, 4, 16], f32>
  %y7 = graph.region "groups" (%p, %groups) : (!graph.tensor<[n, 9, 9, 8], f32>, !graph.tensor<[3, 3, 4, 16], f32>) -> !graph.tensor<[n, 9, 9, 16], f32> {
  ^bb0(%a: !graph.tensor<[n, 9, 9, 8], f32>, %b: !graph.tensor<[3, 3, 4, 16], f32>):
    %y = graph.conv %a, %b stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 2 : <[n, 9, 9, 8], f32>, <[3, 3, 4, 16], f32>
    graph.yield %y : !graph.tensor<[n, 9, 9, 16], f32>
  }
  return
}

// Of an operand that is no weight a copy is turned, where that pays: here each element has part in n multiply-adds.
// CHECK-LABEL: @copied
// CHECK-SAME: %[[X:[a-z0-9]+]]: {{.*}}, %[[B:[a-z0-9]+]]: !graph.tensor<[64, 32], f32> {graph.name = "b"}
// CHECK: %[[COPY:.*]] = graph.region "b_k_major"(%[[B]])
// CHECK:   graph.transpose %{{.*}} [1, 0] : <[64, 32], f32>
// CHECK: graph.region "product"(%[[X]], %[[COPY]])
// CHECK:   graph.transpose %{{.*}} [1, 0] : <[32, 64], f32>
// GEMMS-LABEL: @copied
// GEMMS-NOT: k_major
func.func @copied(%x: !graph.tensor<[1024, 64], f32>, %b: !graph.tensor<[64, 32], f32> {graph.name = "b"}) -> !graph.tensor<[1024, 32], f32> {
  %y = graph.region "product" (%x, %b) : (!graph.tensor<[1024, 64], f32>, !graph.tensor<[64, 32], f32>) -> !graph.tensor<[1024, 32], f32> {
  ^bb0(%a: !graph.tensor<[1024, 64], f32>, %w: !graph.tensor<[64, 32], f32>):
    %p = graph.matmul %a, %w : <[1024, 64], f32>, <[64, 32], f32>
    graph.yield %p : !graph.tensor<[1024, 32], f32>
  }
  return %y : !graph.tensor<[1024, 32], f32>
}

// A read with K in front is copied, where wgmma multiplies; the transpose that was there is gone.
// CHECK-LABEL: @turned_copy
// CHECK: %[[COPY:.*]] = graph.region "x_k_major"(%arg0)
// CHECK: graph.region "rows"(%[[COPY]], %arg1)
// CHECK-NEXT: ^bb0(%[[A:.*]]: !graph.tensor<[256, 64], f32>, %[[B:.*]]: !graph.tensor<[1024, 64], f32>):
// CHECK-NOT: <[64, 256], f32>
// CHECK: graph.matmul
func.func @turned_copy(%x: !graph.tensor<[64, 256], f32> {graph.name = "x"}, %w: !graph.tensor<[1024, 64], f32>) -> !graph.tensor<[256, 1024], f32> {
  %y0 = graph.region "rows" (%x, %w) : (!graph.tensor<[64, 256], f32>, !graph.tensor<[1024, 64], f32>) -> !graph.tensor<[256, 1024], f32> {
  ^bb0(%a: !graph.tensor<[64, 256], f32>, %b: !graph.tensor<[1024, 64], f32>):
    %ta = graph.transpose %a [1, 0] : <[64, 256], f32>
    %tb = graph.transpose %b [1, 0] : <[1024, 64], f32>
    %y = graph.matmul %ta, %tb : <[256, 64], f32>, <[64, 1024], f32>
    graph.yield %y : !graph.tensor<[256, 1024], f32>
  }
  return %y0 : !graph.tensor<[256, 1024], f32>
}

// A weight in other dims is turned in its recipe, too: phases of a transposed convolution are folded so. What a recipe
// has turned before it does not reshape; there it is copied, as a filter that is an input, where there are many places.
// CHECK-LABEL: @phases
// CHECK: %[[TURNED:.*]] = graph.weight "folded#1" [{reshape = array<i64: 2, 2, 8, 64>}, {transpose = array<i64: 0, 1, 3, 2>}] : <[2, 2, 64, 8], f32>
// CHECK: graph.region "conv"(%arg0, %[[TURNED]])
// CHECK:   %[[W:.*]] = graph.transpose %{{.*}} [0, 1, 3, 2] : <[2, 2, 64, 8], f32>
// CHECK:   graph.conv %{{.*}}, %[[W]]
// CHECK: graph.weight "m#w" [{transpose = array<i64: 1, 0>}] : <[8, 32], f32>
// GEMMS-LABEL: @phases
// GEMMS: graph.weight "folded#1" [] : <[2, 2, 8, 2, 2, 16], f32>
func.func @phases(%x: !graph.tensor<[1, 3, 3, 8], f32>, %s: !graph.tensor<[1, 9, 8], f32>) {
  %w = graph.weight "folded#1" [] : <[2, 2, 8, 2, 2, 16], f32>
  %v = graph.reshape %w : <[2, 2, 8, 2, 2, 16], f32> to <[2, 2, 8, 64], f32>
  %y = graph.region "conv" (%x, %v) : (!graph.tensor<[1, 3, 3, 8], f32>, !graph.tensor<[2, 2, 8, 64], f32>) -> !graph.tensor<[1, 4, 4, 64], f32> {
  ^bb0(%a: !graph.tensor<[1, 3, 3, 8], f32>, %b: !graph.tensor<[2, 2, 8, 64], f32>):
    %c = graph.conv %a, %b stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 1 : <[1, 3, 3, 8], f32>, <[2, 2, 8, 64], f32>
    graph.yield %c : !graph.tensor<[1, 4, 4, 64], f32>
  }
  %t = graph.weight "m#w" [{transpose = array<i64: 1, 0>}] : <[8, 32], f32>
  %u = graph.reshape %t : <[8, 32], f32> to <[1, 8, 32], f32>
  %z = graph.region "turned" (%s, %u) : (!graph.tensor<[1, 9, 8], f32>, !graph.tensor<[1, 8, 32], f32>) -> !graph.tensor<[1, 9, 32], f32> {
  ^bb0(%a: !graph.tensor<[1, 9, 8], f32>, %b: !graph.tensor<[1, 8, 32], f32>):
    %c = graph.conv %a, %b stride [1] dilation [1] low [0] high [0] groups 1 : <[1, 9, 8], f32>, <[1, 8, 32], f32>
    graph.yield %c : !graph.tensor<[1, 9, 32], f32>
  }
  return
}

// CHECK-LABEL: @filter
// CHECK: graph.region "w_k_major"(%arg1)
// CHECK:   graph.transpose %{{.*}} [0, 2, 1] : <[3, 8, 16], f32>
func.func @filter(%x: !graph.tensor<[8, 66, 8], f32>, %w: !graph.tensor<[3, 8, 16], f32> {graph.name = "w"}) -> !graph.tensor<[8, 64, 16], f32> {
  %y = graph.region "conv" (%x, %w) : (!graph.tensor<[8, 66, 8], f32>, !graph.tensor<[3, 8, 16], f32>) -> !graph.tensor<[8, 64, 16], f32> {
  ^bb0(%a: !graph.tensor<[8, 66, 8], f32>, %b: !graph.tensor<[3, 8, 16], f32>):
    %c = graph.conv %a, %b stride [1] dilation [1] low [0] high [0] groups 1 : <[8, 66, 8], f32>, <[3, 8, 16], f32>
    graph.yield %c : !graph.tensor<[8, 64, 16], f32>
  }
  return %y : !graph.tensor<[8, 64, 16], f32>
}

// CHECK-LABEL: @few_places
// CHECK-NOT: k_major
func.func @few_places(%x: !graph.tensor<[1, 66, 8], f32>, %w: !graph.tensor<[3, 8, 16], f32> {graph.name = "w"}) -> !graph.tensor<[1, 64, 16], f32> {
  %y = graph.region "conv" (%x, %w) : (!graph.tensor<[1, 66, 8], f32>, !graph.tensor<[3, 8, 16], f32>) -> !graph.tensor<[1, 64, 16], f32> {
  ^bb0(%a: !graph.tensor<[1, 66, 8], f32>, %b: !graph.tensor<[3, 8, 16], f32>):
    %c = graph.conv %a, %b stride [1] dilation [1] low [0] high [0] groups 1 : <[1, 66, 8], f32>, <[3, 8, 16], f32>
    graph.yield %c : !graph.tensor<[1, 64, 16], f32>
  }
  return %y : !graph.tensor<[1, 64, 16], f32>
}

// RUN: kpc-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(pad-leading-dimension{narrow=f16 keep=kept}))' | FileCheck %s
// RUN: kpc-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(pad-leading-dimension))' | FileCheck %s --check-prefix=STAYS
// STAYS-NOT: _f16

// Tensor Cores multiply operands of one type: an fp32 input of the model is copied as its weight is stored.

// CHECK-LABEL: @main
// CHECK-SAME: %[[X:[a-z0-9]+]]: !graph.tensor<[rows, 128], f32>
// CHECK: %[[COPY:.*]] = graph.region "x_f16"(%[[X]]) : (!graph.tensor<[rows, 128], f32>) -> !graph.tensor<[rows, 128], f16>
// CHECK: graph.cast %{{.*}} to f16
// CHECK: graph.region "fc"(%[[COPY]], %{{.*}})
// CHECK-NEXT: ^bb0(%[[A:.*]]: !graph.tensor<[rows, 128], f16>, %[[W:.*]]: !graph.tensor<[128, 256], f16>):
// CHECK-NEXT: %[[WIDE:.*]] = graph.cast %[[A]] to f32
// CHECK-NEXT: %[[WEIGHT:.*]] = graph.cast %[[W]] to f32
// CHECK-NEXT: graph.matmul %[[WIDE]], %[[WEIGHT]]
module attributes {graph.symbols = {rows = {min = 1 : i64}}} {
  func.func @main(%x: !graph.tensor<[rows, 128], f32> {graph.name = "x"}) -> (!graph.tensor<[rows, 256], f16> {graph.name = "y"}) {
    %w = graph.weight "m#w" [{cast = f16}] : !graph.tensor<[128, 256], f16>
    %y = graph.region "fc" (%x, %w) : (!graph.tensor<[rows, 128], f32>, !graph.tensor<[128, 256], f16>) -> !graph.tensor<[rows, 256], f16> {
    ^bb0(%a: !graph.tensor<[rows, 128], f32>, %b: !graph.tensor<[128, 256], f16>):
      %0 = graph.cast %b to f32 : !graph.tensor<[128, 256], f16>
      %1 = graph.matmul %a, %0 : !graph.tensor<[rows, 128], f32>, !graph.tensor<[128, 256], f32>
      %2 = graph.cast %1 to f16 : !graph.tensor<[rows, 256], f32>
      graph.yield %2 : !graph.tensor<[rows, 256], f16>
    }
    return %y : !graph.tensor<[rows, 256], f16>
  }
}

// -----

// Not where few multiply-adds want each element, where the weight is fp32, or where the input is added as well.

// CHECK-LABEL: @main
// CHECK-NOT: _f16
// CHECK: graph.region "thin"
// CHECK: graph.region "wide"
// CHECK: graph.region "residual"
module attributes {graph.symbols = {rows = {min = 1 : i64}}} {
  func.func @main(%x: !graph.tensor<[rows, 128], f32> {graph.name = "x"}) -> (!graph.tensor<[rows, 8], f16> {graph.name = "a"}, !graph.tensor<[rows, 256], f32> {graph.name = "b"}, !graph.tensor<[rows, 128], f32> {graph.name = "c"}) {
    %w1 = graph.weight "m#w1" [{cast = f16}] : !graph.tensor<[128, 8], f16>
    %w2 = graph.weight "m#w2" [] : !graph.tensor<[128, 256], f32>
    %w3 = graph.weight "m#w3" [{cast = f16}] : !graph.tensor<[128, 128], f16>
    %a = graph.region "thin" (%x, %w1) : (!graph.tensor<[rows, 128], f32>, !graph.tensor<[128, 8], f16>) -> !graph.tensor<[rows, 8], f16> {
    ^bb0(%p: !graph.tensor<[rows, 128], f32>, %q: !graph.tensor<[128, 8], f16>):
      %0 = graph.cast %q to f32 : !graph.tensor<[128, 8], f16>
      %1 = graph.matmul %p, %0 : !graph.tensor<[rows, 128], f32>, !graph.tensor<[128, 8], f32>
      %2 = graph.cast %1 to f16 : !graph.tensor<[rows, 8], f32>
      graph.yield %2 : !graph.tensor<[rows, 8], f16>
    }
    %b = graph.region "wide" (%x, %w2) : (!graph.tensor<[rows, 128], f32>, !graph.tensor<[128, 256], f32>) -> !graph.tensor<[rows, 256], f32> {
    ^bb0(%p: !graph.tensor<[rows, 128], f32>, %q: !graph.tensor<[128, 256], f32>):
      %0 = graph.matmul %p, %q : !graph.tensor<[rows, 128], f32>, !graph.tensor<[128, 256], f32>
      graph.yield %0 : !graph.tensor<[rows, 256], f32>
    }
    %c = graph.region "residual" (%x, %w3) : (!graph.tensor<[rows, 128], f32>, !graph.tensor<[128, 128], f16>) -> !graph.tensor<[rows, 128], f32> {
    ^bb0(%p: !graph.tensor<[rows, 128], f32>, %q: !graph.tensor<[128, 128], f16>):
      %0 = graph.cast %q to f32 : !graph.tensor<[128, 128], f16>
      %1 = graph.matmul %p, %0 : !graph.tensor<[rows, 128], f32>, !graph.tensor<[128, 128], f32>
      %2 = graph.add %1, %p : !graph.tensor<[rows, 128], f32>
      graph.yield %2 : !graph.tensor<[rows, 128], f32>
    }
    return %a, %b, %c : !graph.tensor<[rows, 8], f16>, !graph.tensor<[rows, 256], f32>, !graph.tensor<[rows, 128], f32>
  }
}

// -----

// Two inputs of the model; a node that is kept in fp32 reads them as they are.

// CHECK-LABEL: @main
// CHECK: graph.region "x_f16"
// CHECK: graph.region "w_f16"
// CHECK: graph.region "fc"(%{{[0-9]+}}, %{{[0-9]+}}) : (!graph.tensor<[rows, 128], f16>, !graph.tensor<[128, 256], f16>)
// CHECK: graph.region "exact"(%{{.*}}) : (!graph.tensor<[rows, 128], f32>, !graph.tensor<[128, 256], f32>)
module attributes {graph.symbols = {rows = {min = 1 : i64, optimum = 256 : i64}}} {
  func.func @main(%x: !graph.tensor<[rows, 128], f32> {graph.name = "x"}, %w: !graph.tensor<[128, 256], f32> {graph.name = "w"}) -> (!graph.tensor<[rows, 256], f32> {graph.name = "y"}, !graph.tensor<[rows, 256], f32> {graph.name = "z"}) {
    %y = graph.region "fc" (%x, %w) : (!graph.tensor<[rows, 128], f32>, !graph.tensor<[128, 256], f32>) -> !graph.tensor<[rows, 256], f32> {
    ^bb0(%a: !graph.tensor<[rows, 128], f32>, %b: !graph.tensor<[128, 256], f32>):
      %0 = graph.matmul %a, %b : !graph.tensor<[rows, 128], f32>, !graph.tensor<[128, 256], f32>
      graph.yield %0 : !graph.tensor<[rows, 256], f32>
    }
    %z = graph.region "exact" (%x, %w) : (!graph.tensor<[rows, 128], f32>, !graph.tensor<[128, 256], f32>) -> !graph.tensor<[rows, 256], f32> {
    ^bb0(%a: !graph.tensor<[rows, 128], f32>, %b: !graph.tensor<[128, 256], f32>):
      %0 = graph.matmul %a, %b : !graph.tensor<[rows, 128], f32>, !graph.tensor<[128, 256], f32> loc("kept")
      graph.yield %0 : !graph.tensor<[rows, 256], f32>
    }
    return %y, %z : !graph.tensor<[rows, 256], f32>, !graph.tensor<[rows, 256], f32>
  }
}

// -----

// So are pixels that are convolved with filters of 16 bits; not those of depthwise ones, which are no product of matrices.

// CHECK-LABEL: @main
// CHECK-SAME: %[[X:[a-z0-9]+]]: !graph.tensor<[n, 32, 32, 16], f32>
// CHECK: %[[COPY:.*]] = graph.region "x_f16"(%[[X]])
// CHECK: graph.region "conv"(%[[COPY]], %{{.*}})
// CHECK: graph.region "depthwise"(%arg1, %{{.*}})
module attributes {graph.symbols = {n = {min = 1 : i64}}} {
  func.func @main(%x: !graph.tensor<[n, 32, 32, 16], f32> {graph.name = "x"}, %z: !graph.tensor<[n, 32, 32, 16], f32> {graph.name = "z"}) -> (!graph.tensor<[n, 32, 32, 3], f16> {graph.name = "y"}, !graph.tensor<[n, 32, 32, 16], f16> {graph.name = "d"}) {
    %w = graph.weight "m#w" [{cast = f16}] : !graph.tensor<[3, 3, 16, 3], f16>
    %v = graph.weight "m#v" [{cast = f16}] : !graph.tensor<[3, 3, 1, 16], f16>
    %y = graph.region "conv" (%x, %w) : (!graph.tensor<[n, 32, 32, 16], f32>, !graph.tensor<[3, 3, 16, 3], f16>) -> !graph.tensor<[n, 32, 32, 3], f16> {
    ^bb0(%a: !graph.tensor<[n, 32, 32, 16], f32>, %b: !graph.tensor<[3, 3, 16, 3], f16>):
      %0 = graph.cast %b to f32 : !graph.tensor<[3, 3, 16, 3], f16>
      %1 = graph.conv %a, %0 stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 1 : !graph.tensor<[n, 32, 32, 16], f32>, !graph.tensor<[3, 3, 16, 3], f32>
      %2 = graph.cast %1 to f16 : !graph.tensor<[n, 32, 32, 3], f32>
      graph.yield %2 : !graph.tensor<[n, 32, 32, 3], f16>
    }
    %d = graph.region "depthwise" (%z, %v) : (!graph.tensor<[n, 32, 32, 16], f32>, !graph.tensor<[3, 3, 1, 16], f16>) -> !graph.tensor<[n, 32, 32, 16], f16> {
    ^bb0(%a: !graph.tensor<[n, 32, 32, 16], f32>, %b: !graph.tensor<[3, 3, 1, 16], f16>):
      %0 = graph.cast %b to f32 : !graph.tensor<[3, 3, 1, 16], f16>
      %1 = graph.conv %a, %0 stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 16 : !graph.tensor<[n, 32, 32, 16], f32>, !graph.tensor<[3, 3, 1, 16], f32>
      %2 = graph.cast %1 to f16 : !graph.tensor<[n, 32, 32, 16], f32>
      graph.yield %2 : !graph.tensor<[n, 32, 32, 16], f16>
    }
    return %y, %d : !graph.tensor<[n, 32, 32, 3], f16>, !graph.tensor<[n, 32, 32, 16], f16>
  }
}

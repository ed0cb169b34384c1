// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(pad-leading-dimension))' | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(pad-leading-dimension),lower-regions)' -o %t
// RUN: FileCheck %s --check-prefix=PLAN < %t
// RUN: FileCheck %s --check-prefix=KERNELS < %t
// A plan that is read back is checked against its kernels.
// RUN: kpc-opt %t --verify-launch-sizes -o /dev/null

// Tensor cores copy rows that begin at multiples of 16 bytes. The caller's do not; what is kpc's own does.

// CHECK-LABEL: @main
// CHECK-SAME: %[[X:[a-z0-9]+]]: !graph.tensor<[rows, 131], f16>
// CHECK: %[[COPY:.*]] = graph.region "x_rows"(%[[X]])
// CHECK: graph.cast
// CHECK: %[[H:.*]] = graph.region "first"(%[[COPY]], %{{.*}})
// CHECK: %[[Y:.*]] = graph.region "second"(%[[H]], %{{.*}})
// CHECK: %[[OUT:.*]] = graph.region "second_rows"(%[[Y]])
// CHECK: return %[[OUT]]

// Short rows are brought to 16 bytes, long ones to lines of 128; a weight's by a step of its recipe.
// PLAN-DAG: plan.weight "m#w1" [{pad = array<i64: 1088>}] : <[131, 1088], f16>
// PLAN-DAG: plan.weight "m#w2" [{pad = array<i64: 72>}] : <[1030, 72], f16>
// PLAN: plan.buffer "x_rows" : <[rows, 136], f16>
// PLAN: plan.buffer "first" : <[rows, 1088], f16>
// PLAN: plan.buffer "second" : <[rows, 72], f16>
// KERNELS: func.func @x_rows
// KERNELS: strides: [131, 1]
// KERNELS: strides: [136, 1]
// KERNELS: func.func @first
// KERNELS: sizes: [%{{.*}}, 131], strides: [136, 1]
// KERNELS: sizes: [131, 1030], strides: [1088, 1]
// KERNELS: sizes: [%{{.*}}, 1030], strides: [1088, 1]
module {
  func.func @main(%x: !graph.tensor<[rows, 131], f16> {graph.name = "x"}) -> (!graph.tensor<[rows, 67], f16> {graph.name = "y"}) {
    %w1 = graph.weight "m#w1" [] : !graph.tensor<[131, 1030], f16>
    %w2 = graph.weight "m#w2" [] : !graph.tensor<[1030, 67], f16>
    %h = graph.region "first" (%x, %w1) : (!graph.tensor<[rows, 131], f16>, !graph.tensor<[131, 1030], f16>) -> !graph.tensor<[rows, 1030], f16> {
    ^bb0(%a: !graph.tensor<[rows, 131], f16>, %b: !graph.tensor<[131, 1030], f16>):
      %0 = graph.matmul %a, %b : !graph.tensor<[rows, 131], f16>, !graph.tensor<[131, 1030], f16>
      graph.yield %0 : !graph.tensor<[rows, 1030], f16>
    }
    %y = graph.region "second" (%h, %w2) : (!graph.tensor<[rows, 1030], f16>, !graph.tensor<[1030, 67], f16>) -> !graph.tensor<[rows, 67], f16> {
    ^bb0(%a: !graph.tensor<[rows, 1030], f16>, %b: !graph.tensor<[1030, 67], f16>):
      %0 = graph.matmul %a, %b : !graph.tensor<[rows, 1030], f16>, !graph.tensor<[1030, 67], f16>
      graph.yield %0 : !graph.tensor<[rows, 67], f16>
    }
    return %y : !graph.tensor<[rows, 67], f16>
  }
}

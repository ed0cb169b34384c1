// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(share-kernels))' | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(share-kernels),lower-regions)' | FileCheck %s --check-prefix=KERNELS

// Layers that differ in scalars alone read these, each as an operand of one element.
// CHECK-LABEL: @main
// CHECK-DAG: %[[S:.*]] = graph.constant dense<2.000000e+00> : tensor<1x1xf32>
// CHECK: %[[H:.*]] = graph.region "first"(%{{.*}}, %[[S]])
// CHECK-NEXT: ^bb0(%[[X:.*]]: !graph.tensor<[n, 8], f32>, %[[Y:.*]]: !graph.tensor<[1, 1], f32>):
// CHECK-NEXT: %[[B:.*]] = graph.broadcast %[[Y]]
// CHECK-NEXT: graph.mul %[[X]], %[[B]]
// A number that both have stays, and so does one that is no factor and no term.
// CHECK: graph.constant dense<5.000000e+00>
// CHECK: graph.constant dense<4.480000e+02>
// CHECK: graph.constant dense<3.000000e+00> : tensor<1x1xf32>
// CHECK: graph.region "second"(%[[H]], %{{.*}})
// CHECK: graph.region "third"(%{{[^,]*}})
// CHECK: graph.constant dense<4.000000e+00>
// CHECK: graph.region "fourth"(%{{[^,]*}})
// CHECK: graph.constant dense<6.000000e+00>
// CHECK: graph.region "fifth"(%{{[^,]*}})
// CHECK: graph.constant dense<7.000000e+00>

// KERNELS: plan.launch @first
// KERNELS: plan.launch @first
// KERNELS: plan.launch @third
// KERNELS: plan.launch @fourth
// KERNELS: plan.launch @fifth
// KERNELS: func.func @first
// KERNELS: func.func @third
// KERNELS: func.func @fourth
// KERNELS: func.func @fifth
// KERNELS-NOT: func.func @
func.func @main(%x: !graph.tensor<[n, 8], f32> {graph.name = "x"}) -> (!graph.tensor<[n, 8], f32> {graph.name = "y"}) {
  %0 = graph.region "first"(%x) : (!graph.tensor<[n, 8], f32>) -> !graph.tensor<[n, 8], f32> {
  ^bb0(%a: !graph.tensor<[n, 8], f32>):
    %c = graph.constant dense<2.0> : tensor<1x1xf32>
    %s = graph.broadcast %c : <[1, 1], f32> to <[n, 8], f32>
    %m = graph.mul %a, %s : <[n, 8], f32>
    %d = graph.constant dense<5.0> : tensor<1x1xf32>
    %t = graph.broadcast %d : <[1, 1], f32> to <[n, 8], f32>
    %p = graph.add %m, %t : <[n, 8], f32>
    %e = graph.constant dense<448.0> : tensor<1x1xf32>
    %u = graph.broadcast %e : <[1, 1], f32> to <[n, 8], f32>
    %q = graph.min %p, %u : <[n, 8], f32>
    graph.yield %q : !graph.tensor<[n, 8], f32>
  }
  %1 = graph.region "second"(%0) : (!graph.tensor<[n, 8], f32>) -> !graph.tensor<[n, 8], f32> {
  ^bb0(%a: !graph.tensor<[n, 8], f32>):
    %c = graph.constant dense<3.0> : tensor<1x1xf32>
    %s = graph.broadcast %c : <[1, 1], f32> to <[n, 8], f32>
    %m = graph.mul %a, %s : <[n, 8], f32>
    %d = graph.constant dense<5.0> : tensor<1x1xf32>
    %t = graph.broadcast %d : <[1, 1], f32> to <[n, 8], f32>
    %p = graph.add %m, %t : <[n, 8], f32>
    %e = graph.constant dense<448.0> : tensor<1x1xf32>
    %u = graph.broadcast %e : <[1, 1], f32> to <[n, 8], f32>
    %q = graph.min %p, %u : <[n, 8], f32>
    graph.yield %q : !graph.tensor<[n, 8], f32>
  }
  // A region without an equal one keeps its number.
  %2 = graph.region "third"(%1) : (!graph.tensor<[n, 8], f32>) -> !graph.tensor<[n, 8], f32> {
  ^bb0(%a: !graph.tensor<[n, 8], f32>):
    %c = graph.constant dense<4.0> : tensor<1x1xf32>
    %s = graph.broadcast %c : <[1, 1], f32> to <[n, 8], f32>
    %m = graph.mul %a, %s : <[n, 8], f32>
    graph.yield %m : !graph.tensor<[n, 8], f32>
  }
  // Divisors stay in their kernels.
  %3 = graph.region "fourth"(%2) : (!graph.tensor<[n, 8], f32>) -> !graph.tensor<[n, 8], f32> {
  ^bb0(%a: !graph.tensor<[n, 8], f32>):
    %c = graph.constant dense<6.0> : tensor<1x1xf32>
    %s = graph.broadcast %c : <[1, 1], f32> to <[n, 8], f32>
    %m = graph.div %a, %s : <[n, 8], f32>
    graph.yield %m : !graph.tensor<[n, 8], f32>
  }
  %4 = graph.region "fifth"(%3) : (!graph.tensor<[n, 8], f32>) -> !graph.tensor<[n, 8], f32> {
  ^bb0(%a: !graph.tensor<[n, 8], f32>):
    %c = graph.constant dense<7.0> : tensor<1x1xf32>
    %s = graph.broadcast %c : <[1, 1], f32> to <[n, 8], f32>
    %m = graph.div %a, %s : <[n, 8], f32>
    graph.yield %m : !graph.tensor<[n, 8], f32>
  }
  return %4 : !graph.tensor<[n, 8], f32>
}

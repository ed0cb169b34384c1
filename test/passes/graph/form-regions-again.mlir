// RUN: kpc-opt %s --form-regions | FileCheck %s

// What is no program of graph stays as it is, and so does a region that is there.

!x = !graph.tensor<[n], f32>

// CHECK-LABEL: func.func @main
func.func @main(%x: !x) -> !x {
  // CHECK: graph.region "first"
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: graph.exp
  // CHECK-NEXT: graph.yield
  %0 = graph.region "first" (%x) : (!x) -> !x {
  ^bb0(%a: !x):
    %1 = graph.exp %a : !x
    graph.yield %1 : !x
  }
  // CHECK: graph.region "relu"
  %2 = graph.relu %0 : !x
  return %2 : !x
}

// CHECK-LABEL: func.func @kernel
func.func @kernel(%x: memref<f32>) {
  // CHECK-NEXT: arith.constant
  // CHECK-NEXT: memref.store
  %0 = arith.constant 1.0 : f32
  memref.store %0, %x[] : memref<f32>
  return
}

// CHECK-LABEL: func.func private @declared
func.func private @declared(!x) -> !x

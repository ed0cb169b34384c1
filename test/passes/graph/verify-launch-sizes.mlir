// RUN: kpc-opt %s -split-input-file -verify-diagnostics -verify-launch-sizes

// Sizes are compared as expressions: two args that multiply to what the buffer has.
module attributes {graph.symbols = {n = {min = 1 : i64}, m = {min = 1 : i64}}} {
  plan.program {
    %x = plan.input "x" : !graph.tensor<["n*m"], f32>
    %y = plan.output "y" : !graph.tensor<[m, n], f32>
    plan.launch @copy (%x) -> (%y) sizes <[n, m]> : (!graph.tensor<["n*m"], f32>) -> (!graph.tensor<[m, n], f32>)
  }
  func.func @copy(%x: memref<f32>, %y: memref<f32>, %n: index, %m: index) {
    %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%n, %m], strides: [%m, 1] : memref<f32> to memref<?x?xf32, strided<[?, 1]>>
    %ym = memref.reinterpret_cast %y to offset: [0], sizes: [%m, %n], strides: [%n, 1] : memref<f32> to memref<?x?xf32, strided<[?, 1]>>
    return
  }
}

// -----

// Strides of convolutions are products in the kernel.
module attributes {graph.symbols = {n = {min = 1 : i64}, m = {min = 1 : i64}}} {
  plan.program {
    %x = plan.input "x" : !graph.tensor<[n, m, 3], f32>
    %y = plan.output "y" : !graph.tensor<[n, m, 3], f32>
    plan.launch @copy (%x) -> (%y) sizes <[n, m]> : (!graph.tensor<[n, m, 3], f32>) -> (!graph.tensor<[n, m, 3], f32>)
    // expected-error @+1 {{argument 0: dim 0 of the kernel's view has stride n*3, but the dims after it have m*3 elements}}
    plan.launch @turned (%x) -> (%y) sizes <[n, m]> : (!graph.tensor<[n, m, 3], f32>) -> (!graph.tensor<[n, m, 3], f32>)
  }
  func.func @copy(%x: memref<f32>, %y: memref<f32>, %n: index, %m: index) {
    %c3 = arith.constant 3 : index
    %s = arith.muli %c3, %m : index
    %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%n, %m, 3], strides: [%s, 3, 1] : memref<f32> to memref<?x?x3xf32, strided<[?, 3, 1]>>
    return
  }
  func.func @turned(%x: memref<f32>, %y: memref<f32>, %n: index, %m: index) {
    %c3 = arith.constant 3 : index
    %s = arith.muli %c3, %n : index
    %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%n, %m, 3], strides: [%s, 3, 1] : memref<f32> to memref<?x?x3xf32, strided<[?, 3, 1]>>
    return
  }
}

// -----

module attributes {graph.symbols = {n = {min = 1 : i64}}} {
  plan.program {
    %x = plan.input "x" : !graph.tensor<[n, 4], f32>
    %y = plan.output "y" : !graph.tensor<[n, 5], f32>
    // expected-error @+1 {{launch 'named' of kernel 'copy': argument 1 is a buffer of n*5 elements, but with the launch's sizes the kernel's view has n*4}}
    plan.launch @copy (%x) -> (%y) sizes <[n]> {name = "named"} : (!graph.tensor<[n, 4], f32>) -> (!graph.tensor<[n, 5], f32>)
    // expected-error @+1 {{launch 'copy' of kernel 'copy': argument 0 is a buffer of n*4 elements, but with the launch's sizes the kernel's view has 20}}
    plan.launch @copy (%x) -> (%y) sizes <[5]> : (!graph.tensor<[n, 4], f32>) -> (!graph.tensor<[n, 5], f32>)
  }
  func.func @copy(%x: memref<f32>, %y: memref<f32>, %n: index) {
    %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%n, 4], strides: [4, 1] : memref<f32> to memref<?x4xf32, strided<[4, 1]>>
    %ym = memref.reinterpret_cast %y to offset: [0], sizes: [%n, 4], strides: [4, 1] : memref<f32> to memref<?x4xf32, strided<[4, 1]>>
    return
  }
}

// -----

// A stride that is an argument too.
module attributes {graph.symbols = {n = {min = 1 : i64}, m = {min = 1 : i64}}} {
  plan.program {
    %x = plan.input "x" : !graph.tensor<[n, m], f32>
    %y = plan.output "y" : !graph.tensor<[], f32>
    // expected-error @+1 {{argument 0: dim 0 of the kernel's view has stride m + 1, but the dims after it have m elements}}
    plan.launch @sum (%x) -> (%y) sizes <[n, m, "m + 1"]> : (!graph.tensor<[n, m], f32>) -> (!graph.tensor<[], f32>)
  }
  func.func @sum(%x: memref<f32>, %y: memref<f32>, %n: index, %m: index, %s: index) {
    %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%n, %m], strides: [%s, 1] : memref<f32> to memref<?x?xf32, strided<[?, 1]>>
    %ym = memref.reinterpret_cast %y to offset: [0], sizes: [], strides: [] : memref<f32> to memref<f32, strided<[]>>
    return
  }
}

// -----

module attributes {graph.symbols = {n = {min = 1 : i64}}} {
  plan.program {
    %x = plan.input "x" : !graph.tensor<[n], f32>
    %y = plan.output "y" : !graph.tensor<[n], f32>
    // expected-error @+1 {{argument 0 is seen through a view whose sizes are computed in the kernel}}
    plan.launch @copy (%x) -> (%y) sizes <[n]> : (!graph.tensor<[n], f32>) -> (!graph.tensor<[n], f32>)
  }
  func.func @copy(%x: memref<f32>, %y: memref<f32>, %n: index) {
    %one = arith.divui %n, %n : index
    %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%one], strides: [1] : memref<f32> to memref<?xf32, strided<[1]>>
    return
  }
}

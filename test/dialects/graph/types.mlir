// RUN: kpc-opt %s | kpc-opt | FileCheck %s

// Sizes are canonical, so equal sizes are equal types however they are written.

// CHECK: module attributes {graph.symbols = {batch = {max = 32 : i64, min = 1 : i64, optimum = 8 : i64}}}
module attributes {graph.symbols = {batch = {min = 1, max = 32, optimum = 8}}} {
  // CHECK: @scalar(!graph.tensor<[], i1>)
  func.func private @scalar(!graph.tensor<[], i1>)
  // CHECK: @empty(!graph.tensor<[0], f32>)
  func.func private @empty(!graph.tensor<[0], f32>)
  // CHECK: @symbol(!graph.tensor<[batch, 3], f16>, !graph.tensor<[batch], bf16>)
  func.func private @symbol(!graph.tensor<[batch, 3], f16>, !graph.tensor<["batch"], bf16>)
  // CHECK: @expression(!graph.tensor<["batch*2 + 1"], f64>, !graph.tensor<["batch*2 + 1"], f64>)
  func.func private @expression(!graph.tensor<["batch*2 + 1"], f64>, !graph.tensor<["1 + 2*batch"], f64>)
  // CHECK: @signed(!graph.tensor<[1], i8>, !graph.tensor<[1], i16>, !graph.tensor<[1], i32>, !graph.tensor<[1], i64>)
  func.func private @signed(!graph.tensor<[1], i8>, !graph.tensor<[1], i16>, !graph.tensor<[1], i32>, !graph.tensor<[1], i64>)
  // CHECK: @unsigned(!graph.tensor<[1], ui8>, !graph.tensor<[1], ui16>, !graph.tensor<[1], ui32>, !graph.tensor<[1], ui64>)
  func.func private @unsigned(!graph.tensor<[1], ui8>, !graph.tensor<[1], ui16>, !graph.tensor<[1], ui32>, !graph.tensor<[1], ui64>)
  // CHECK: @dims() attributes {a = #graph.dims<[]>, b = #graph.dims<[batch, 3, "batch*2"]>}
  func.func private @dims() attributes {a = #graph.dims<[]>, b = #graph.dims<[batch, 3, "2*batch"]>}
}

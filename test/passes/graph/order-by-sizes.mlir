// RUN: kpc-opt %s --split-input-file --verify-diagnostics --order-by-sizes | FileCheck %s

// Steps that name the size come behind those that lead to it; all others keep their order.

!x = !graph.tensor<[8], f32>
!n = !graph.tensor<[], i64>
!y = !graph.tensor<[n], f32>

module attributes {graph.symbols = {n = {max = 8 : i64}}} {
func.func private @fill(memref<f32>, index)
func.func private @k(memref<f32>, memref<f32>)
func.func private @count(memref<f32>, memref<i64>)

// CHECK-LABEL: plan.program
plan.program {
  %x = plan.input "x" : !x
  %y = plan.output "y" : !y
  // CHECK: plan.output "size n" decides <[n]> at_most <[8]> : <[], i64>
  %n = plan.output "size n" decides <[n]> at_most <[8]> : !n
  %h = plan.buffer "h" : !x
  %a = plan.buffer "a" : !y
  // CHECK: plan.launch @k
  // CHECK: plan.launch @count
  // CHECK: plan.launch @fill
  // CHECK: plan.copy
  plan.launch @fill () -> (%a) sizes <[n]> : () -> (!y)
  plan.launch @k (%x) -> (%h) sizes <[]> : (!x) -> (!x)
  plan.copy %a to %y : !y to !y
  plan.launch @count (%h) -> (%n) sizes <[]> : (!x) -> (!n)
}
}

// -----

// Without such a size nothing moves.

!x = !graph.tensor<[8], f32>
func.func private @k(memref<f32>, memref<f32>)

// CHECK-LABEL: plan.program
plan.program {
  // CHECK: plan.launch @k
  // CHECK: plan.buffer "h"
  // CHECK: plan.copy
  %x = plan.input "x" : !x
  %y = plan.output "y" : !x
  %z = plan.output "z" : !x
  plan.launch @k (%x) -> (%y) sizes <[]> : (!x) -> (!x)
  %h = plan.buffer "h" : !x
  plan.copy %x to %z : !x to !x
}

// -----

// What is counted from what it counts.

!n = !graph.tensor<[], i64>
!y = !graph.tensor<[n], f32>

module attributes {graph.symbols = {n = {max = 8 : i64}}} {
func.func private @fill(memref<f32>, index)
func.func private @count(memref<f32>, memref<i64>)

// expected-error @+1 {{a size that data decides is needed by the steps that count it}}
plan.program {
  %y = plan.output "y" : !y
  %n = plan.output "size n" decides <[n]> at_most <[8]> : !n
  plan.launch @fill () -> (%y) sizes <[n]> : () -> (!y)
  plan.launch @count (%y) -> (%n) sizes <[]> : (!y) -> (!n)
}
}

// RUN: kpc-opt %s -verify-diagnostics -split-input-file

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{'graph.abs' op requires the same type for all operands and results}}
  %0 = "graph.abs"(%x) : (!graph.tensor<[n], f32>) -> !graph.tensor<[m], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], i1>) {
  // expected-error @below {{'graph.add' op operand #0 must be symbolic tensor of floats or integers, but got '!graph.tensor<[n], i1>'}}
  %0 = graph.add %x, %x : !graph.tensor<[n], i1>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], i32>) {
  // expected-error @below {{'graph.exp' op operand #0 must be symbolic tensor of floats, but got '!graph.tensor<[n], i32>'}}
  %0 = graph.exp %x : !graph.tensor<[n], i32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{'graph.and' op operand #0 must be symbolic tensor of integers or bools, but got '!graph.tensor<[n], f32>'}}
  %0 = graph.and %x, %x : !graph.tensor<[n], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[m], i1>, %y: !graph.tensor<[n], f32>) {
  // expected-error @below {{'graph.select' op condition and values differ in size: '!graph.tensor<[m], i1>' and '!graph.tensor<[n], f32>'}}
  %0 = graph.select %x, %y, %y : !graph.tensor<[m], i1>, !graph.tensor<[n], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{'graph.compare' op result #0 must be symbolic tensor of bools, but got '!graph.tensor<[n], f32>'}}
  %0 = "graph.compare"(%x, %x) <{predicate = 0 : i32}> : (!graph.tensor<[n], f32>, !graph.tensor<[n], f32>) -> !graph.tensor<[n], f32>
  return
}

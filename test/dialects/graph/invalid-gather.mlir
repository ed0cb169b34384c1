// RUN: kpc-opt %s -verify-diagnostics -split-input-file

func.func @f(%x: !graph.tensor<[n], f32>, %y: !graph.tensor<[2], i64>) {
  // expected-error @below {{axis 1 is outside [0, 1)}}
  %0 = graph.gather %x, %y axis 1 : !graph.tensor<[n], f32>, !graph.tensor<[2], i64>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>, %y: !graph.tensor<[2], f32>) {
  // expected-error @below {{'graph.gather' op operand #1 must be symbolic tensor of integers or bools, but got '!graph.tensor<[2], f32>'}}
  %0 = graph.gather %x, %y axis 0 : !graph.tensor<[n], f32>, !graph.tensor<[2], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>, %y: !graph.tensor<[2, 2], i64>) {
  // expected-error @below {{indices of rank 2 for x of rank 1}}
  %0 = graph.gather_elements %x, %y axis 0 : !graph.tensor<[n], f32>, !graph.tensor<[2, 2], i64>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>, %y: !graph.tensor<[2], i64>) {
  // expected-error @below {{batch_dims 1 does not fit the ranks of x and indices}}
  %0 = graph.gather_nd %x, %y batch_dims 1 : !graph.tensor<[n], f32>, !graph.tensor<[2], i64>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>, %y: !graph.tensor<[m, 2], i64>) {
  // expected-error @below {{the index vectors' length 2 is not a number of dimensions of x}}
  %0 = graph.gather_nd %x, %y batch_dims 0 : !graph.tensor<[n], f32>, !graph.tensor<[m, 2], i64>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>, %y: !graph.tensor<[m, k], i64>) {
  // expected-error @below {{the index vectors' length k is not a number of dimensions of x}}
  %0 = graph.gather_nd %x, %y batch_dims 0 : !graph.tensor<[n], f32>, !graph.tensor<[m, k], i64>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>, %y: !graph.tensor<[2], i64>, %z: !graph.tensor<[3], f32>) {
  // expected-error @below {{x '!graph.tensor<[n], f32>', indices '!graph.tensor<[2], i64>', updates '!graph.tensor<[3], f32>' do not fit}}
  %0 = graph.scatter_elements none, %x, %y, %z axis 0 : !graph.tensor<[n], f32>, !graph.tensor<[2], i64>, !graph.tensor<[3], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 4], f32>, %y: !graph.tensor<[2, 1], i64>, %z: !graph.tensor<[2, 3], f32>) {
  // expected-error @below {{updates '!graph.tensor<[2, 3], f32>' should be '!graph.tensor<[2, 4], f32>'}}
  %0 = graph.scatter_nd add, %x, %y, %z : !graph.tensor<[n, 4], f32>, !graph.tensor<[2, 1], i64>, !graph.tensor<[2, 3], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[4, 3], f32>, %y: !graph.tensor<[2, 5], i64>) {
  // expected-error @below {{indices have size 5 in dimension 1, x has 3}}
  %0 = graph.gather_elements %x, %y axis 0 : !graph.tensor<[4, 3], f32>, !graph.tensor<[2, 5], i64>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 3], f32>, %y: !graph.tensor<[m, 1], i64>) {
  // expected-error @below {{batch sizes n and m differ in dimension 0}}
  %0 = graph.gather_nd %x, %y batch_dims 1 : !graph.tensor<[n, 3], f32>, !graph.tensor<[m, 1], i64>
  return
}

// RUN: kpc-opt %s -verify-diagnostics -split-input-file

func.func @f(%x: !graph.tensor<[n, 4], f32>, %y: !graph.tensor<[4, 5], f16>) {
  // expected-error @below {{operands '!graph.tensor<[n, 4], f32>' and '!graph.tensor<[4, 5], f16>' need one element type and one rank of at least 2}}
  %0 = graph.matmul %x, %y : !graph.tensor<[n, 4], f32>, !graph.tensor<[4, 5], f16>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 4], f32>, %y: !graph.tensor<[5, 4], f32>) {
  // expected-error @below {{a has 4 columns, b has 5 rows}}
  %0 = graph.matmul %x, %y : !graph.tensor<[n, 4], f32>, !graph.tensor<[5, 4], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[2, n, 4], f32>, %y: !graph.tensor<[3, 4, 5], f32>) {
  // expected-error @below {{batch sizes 2 and 3 differ}}
  %0 = graph.matmul %x, %y : !graph.tensor<[2, n, 4], f32>, !graph.tensor<[3, 4, 5], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 8], f32>, %y: !graph.tensor<[3, 8], f32>) {
  // expected-error @below {{operands '!graph.tensor<[n, 8], f32>' and '!graph.tensor<[3, 8], f32>' need one element type and one rank of at least 3}}
  %0 = graph.conv %x, %y stride [1] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 8], f32>, !graph.tensor<[3, 8], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 8, 4], f32>, %y: !graph.tensor<[3, 2, 8], f32>) {
  // expected-error @below {{x has 4 channels, w takes 2 in each of 1 groups}}
  %0 = graph.conv %x, %y stride [1] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 8, 4], f32>, !graph.tensor<[3, 2, 8], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 8, 4], f32>, %y: !graph.tensor<[3, 2, 7], f32>) {
  // expected-error @below {{7 output channels do not divide into 2 groups}}
  %0 = graph.conv %x, %y stride [1] dilation [1] low [0] high [0] groups 2 : !graph.tensor<[n, 8, 4], f32>, !graph.tensor<[3, 2, 7], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 8, 4], f32>, %y: !graph.tensor<[k, 4, 8], f32>) {
  // expected-error @below {{kernel size k is not a positive number}}
  %0 = graph.conv %x, %y stride [1] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 8, 4], f32>, !graph.tensor<[k, 4, 8], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 8, 4], f32>, %y: !graph.tensor<[3, 4, 8], f32>) {
  // expected-error @below {{needs 1 entries in stride, dilation, low, high}}
  %0 = graph.conv %x, %y stride [1, 1] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 8, 4], f32>, !graph.tensor<[3, 4, 8], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[1, 1, 4], f32>, %y: !graph.tensor<[1, 4, 8], f32>) {
  // expected-error @below {{size -2 is negative}}
  %0 = graph.conv %x, %y stride [5] dilation [1] low [-3] high [0] groups 1 : !graph.tensor<[1, 1, 4], f32>, !graph.tensor<[1, 4, 8], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 8, 4], f32>, %y: !graph.tensor<[3, 4, 8], f32>) {
  // expected-error @below {{a tensor of more than 2^63 bytes}}
  %0 = graph.conv %x, %y stride [4611686018427387904] dilation [1] low [4611686018427387904] high [0] groups 1 : !graph.tensor<[n, 8, 4], f32>, !graph.tensor<[3, 4, 8], f32>
  return
}

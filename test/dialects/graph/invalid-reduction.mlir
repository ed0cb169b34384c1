// RUN: kpc-opt %s -verify-diagnostics -split-input-file

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{axis 1 is outside the rank or named twice}}
  %0 = graph.reduce sum, %x axes [1] : !graph.tensor<[n], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{axis 0 is outside the rank or named twice}}
  %0 = graph.reduce sum, %x axes [0, 0] : !graph.tensor<[n], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{axis 1 is outside the rank}}
  %0 = graph.arg_reduce max, %x axis 1 : !graph.tensor<[n], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{kind is neither max nor min}}
  %0 = graph.arg_reduce sum, %x axis 0 : !graph.tensor<[n], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{kind is neither max nor min}}
  %0 = graph.arg_reduce "", %x axis 0 : !graph.tensor<[n], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{axis 1 is outside the rank}}
  %0 = graph.cumsum %x axis 1 : !graph.tensor<[n], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{axis -1 is outside the rank}}
  %0 = graph.cumsum %x axis -1 : !graph.tensor<[n], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{expected a block of 1 or more, got -2}}
  %0 = graph.cumsum %x axis 0 block -2 : !graph.tensor<[n], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{expected a block of 1 or more, got 0}}
  %0 = graph.cumsum %x axis 0 block 0 : !graph.tensor<[n], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{needs 1 positive window sizes}}
  %0 = graph.window max, %x window [0] stride [1] dilation [1] low [0] high [0] : !graph.tensor<[n], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{needs 1 entries in stride, dilation, low, high}}
  %0 = graph.window max, %x window [2] stride [1, 1] dilation [1] low [0] high [0] : !graph.tensor<[n], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{strides and dilations must be positive}}
  %0 = graph.window max, %x window [2] stride [0] dilation [1] low [0] high [0] : !graph.tensor<[n], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[4], f32>) {
  // expected-error @below {{size -8 is negative}}
  %0 = graph.window sum, %x window [4] stride [1] dilation [4] low [0] high [0] : !graph.tensor<[4], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[4], f32>) {
  // expected-error @below {{a size leaves the range of 64-bit integers}}
  %0 = graph.window sum, %x window [9223372036854775807] stride [1] dilation [9223372036854775807] low [9223372036854775807] high [9223372036854775807] : !graph.tensor<[4], f32>
  return
}

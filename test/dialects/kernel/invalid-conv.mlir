// RUN: kpc-opt %s -verify-diagnostics -split-input-file

func.func @f(%x: tensor<2x8x4xf32>, %w: tensor<3x4x6xf32>, %i: tensor<2x6x?xf32>) {
  // expected-error @below {{'kernel.conv' op expected 'into' of the result's type 'tensor<2x6x6xf32>', got 'tensor<2x6x?xf32>'}}
  %0 = kernel.conv %x, %w strides [1] dilations [1] into %i : (tensor<2x8x4xf32>, tensor<3x4x6xf32>, tensor<2x6x?xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x4xf16>, %w: tensor<3x4x6xf16>, %i: tensor<2x6x6xf32>) {
  // expected-error @below {{'kernel.conv' op expected factors of the accumulator's type 'f32', got 'f16'; widen them in front}}
  %0 = kernel.conv %x, %w strides [1] dilations [1] into %i : (tensor<2x8x4xf16>, tensor<3x4x6xf16>, tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x4xi32>, %w: tensor<3x4x6xi32>, %i: tensor<2x6x6xi32>) {
  // expected-error @below {{'kernel.conv' op expected an accumulator of f32 beside 'tf32', got 'i32'}}
  %0 = kernel.conv %x, %w strides [1] dilations [1] tf32 into %i : (tensor<2x8x4xi32>, tensor<3x4x6xi32>, tensor<2x6x6xi32>) -> tensor<2x6x6xi32>
  return
}

// -----

func.func @f(%x: tensor<2x4xf32>, %w: tensor<4x6xf32>, %i: tensor<2x6xf32>) {
  // expected-error @below {{'kernel.conv' op expected a result of [N, spatial…, O], got 'tensor<2x6xf32>'}}
  %0 = kernel.conv %x, %w strides [] dilations [] into %i : (tensor<2x4xf32>, tensor<4x6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x4xf32>, %w: tensor<3x3x4x6xf32>, %i: tensor<2x6x6xf32>) {
  // expected-error @below {{'kernel.conv' op expected x and w of the result's 3 dimensions, got 'tensor<3x3x4x6xf32>'}}
  %0 = kernel.conv %x, %w strides [1] dilations [1] into %i : (tensor<2x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x4xf32>, %w: tensor<3x4x6xf32>, %i: tensor<2x6x6xf32>) {
  // expected-error @below {{'kernel.conv' op expected 1 strides and dilations of at least 1}}
  %0 = kernel.conv %x, %w strides [1, 1] dilations [1] into %i : (tensor<2x8x4xf32>, tensor<3x4x6xf32>, tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x4xf32>, %w: tensor<3x4x6xf32>, %i: tensor<2x6x6xf32>) {
  // expected-error @below {{'kernel.conv' op expected 1 strides and dilations of at least 1}}
  %0 = kernel.conv %x, %w strides [1] dilations [0] into %i : (tensor<2x8x4xf32>, tensor<3x4x6xf32>, tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x4xf32>, %w: tensor<3x4x6xf32>, %i: tensor<2x6x6xf32>) {
  // expected-error @below {{'kernel.conv' op expected at least one group, got 0}}
  %0 = kernel.conv %x, %w strides [1] dilations [1] groups 0 into %i : (tensor<2x8x4xf32>, tensor<3x4x6xf32>, tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x4xf32>, %w: tensor<3x2x5xf32>, %i: tensor<2x6x5xf32>) {
  // expected-error @below {{'kernel.conv' op expected a constant number of channels and one of outputs that 2 groups divide, got w of 'tensor<3x2x5xf32>'}}
  %0 = kernel.conv %x, %w strides [1] dilations [1] groups 2 into %i : (tensor<2x8x4xf32>, tensor<3x2x5xf32>, tensor<2x6x5xf32>) -> tensor<2x6x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x?xf32>, %w: tensor<3x?x6xf32>, %i: tensor<2x6x6xf32>) {
  // expected-error @below {{'kernel.conv' op expected a constant number of channels and one of outputs that 2 groups divide, got w of 'tensor<3x?x6xf32>'}}
  %0 = kernel.conv %x, %w strides [1] dilations [1] groups 2 into %i : (tensor<2x8x?xf32>, tensor<3x?x6xf32>, tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x4xf32>, %w: tensor<3x3x6xf32>, %i: tensor<2x6x6xf32>) {
  // expected-error @below {{'kernel.conv' op expected x of 6 channels as w and groups say, got 4}}
  %0 = kernel.conv %x, %w strides [1] dilations [1] groups 2 into %i : (tensor<2x8x4xf32>, tensor<3x3x6xf32>, tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x4xf32>, %w: tensor<3x4x6xf32>, %i: tensor<3x6x6xf32>) {
  // expected-error @below {{'kernel.conv' op expected a result of 2 images as x, got 3}}
  %0 = kernel.conv %x, %w strides [1] dilations [1] into %i : (tensor<2x8x4xf32>, tensor<3x4x6xf32>, tensor<3x6x6xf32>) -> tensor<3x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x4xf32>, %w: tensor<3x4x6xf32>, %i: tensor<2x6x7xf32>) {
  // expected-error @below {{'kernel.conv' op expected a result of 6 outputs as w, got 7}}
  %0 = kernel.conv %x, %w strides [1] dilations [1] into %i : (tensor<2x8x4xf32>, tensor<3x4x6xf32>, tensor<2x6x7xf32>) -> tensor<2x6x7xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x4xf32>, %w: tensor<3x4x6xf32>, %i: tensor<2x6x6xf32>) {
  // expected-error @below {{'kernel.conv' op expected 3 places in spatial dimension 0, got 6}}
  %0 = kernel.conv %x, %w strides [2] dilations [1] into %i : (tensor<2x8x4xf32>, tensor<3x4x6xf32>, tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x4xf32>, %w: tensor<3x4x6xf32>, %i: tensor<2x6x6xf32>) {
  // expected-error @below {{expected one result, got 0}}
  kernel.conv %x, %w strides [1] dilations [1] into %i : (tensor<2x8x4xf32>, tensor<3x4x6xf32>, tensor<2x6x6xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<2x8x4xf32>, %w: tensor<3x4x6xf32>, %i: tensor<2x6x6xf32>) {
  // expected-error @below {{expected 'dilations'}}
  %0 = kernel.conv %x, %w strides [1] into %i : (tensor<2x8x4xf32>, tensor<3x4x6xf32>, tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x4xf32>, %w: tensor<3x4x6xf32>, %i: tensor<2x6x6xf32>) {
  // expected-error @below {{'kernel.conv' op 'kernel.live_taps': expected a constant number of outputs of one group that divides into 4 parts for w of 'tensor<3x4x6xf32>'}}
  %0 = kernel.conv %x, %w strides [1] dilations [1] into %i {kernel.live_taps = array<i64: 1, 2, 3, 4>} : (tensor<2x8x4xf32>, tensor<3x4x6xf32>, tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x4xf32>, %w: tensor<3x4x6xf32>, %i: tensor<2x6x6xf32>) {
  // expected-error @below {{'kernel.conv' op 'kernel.live_taps': expected masks of 1 to 32 taps, none of them empty, got 0 for w of 'tensor<3x4x6xf32>'}}
  %0 = kernel.conv %x, %w strides [1] dilations [1] into %i {kernel.live_taps = array<i64: 1, 0>} : (tensor<2x8x4xf32>, tensor<3x4x6xf32>, tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x4xf32>) {
  // expected-error @below {{expected 'kernel.live_taps' at a kernel.conv}}
  %0 = tensor.empty() {kernel.live_taps = array<i64: 1>} : tensor<4xf32>
  return
}

// RUN: kpc-opt %s -verify-diagnostics -split-input-file

func.func @f(%x: tensor<8x4xf32>, %i: tensor<10x4x1xf32>, %n: index) {
  // expected-error @below {{'kernel.pad' op expected a result of x's 2 dimensions, got 3}}
  %0 = kernel.pad %x low [1, 0] high [1, 0] outside 0.0 : f32 into %i : tensor<8x4xf32> into tensor<10x4x1xf32>
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>, %i: tensor<10x4xf32>, %n: index) {
  // expected-error @below {{'kernel.pad' op expected x, 'outside' and the result of one type, got 'f32', 'f16' and 'f32'}}
  %0 = kernel.pad %x low [1, 0] high [1, 0] outside 0.0 : f16 into %i : tensor<8x4xf32> into tensor<10x4xf32>
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>, %i: tensor<10x4xf32>, %n: index) {
  // expected-error @below {{'kernel.pad' op expected 'low' and 'high' of 2 numbers, got 1 and 2}}
  %0 = kernel.pad %x low [1] high [1, 0] outside 0.0 : f32 into %i : tensor<8x4xf32> into tensor<10x4xf32>
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>, %i: tensor<9x4xf32>, %n: index) {
  // expected-error @below {{'kernel.pad' op expected 10 elements in dimension 0, got 9}}
  %0 = kernel.pad %x low [1, 0] high [1, 0] outside 0.0 : f32 into %i : tensor<8x4xf32> into tensor<9x4xf32>
  return
}

// -----

func.func @f(%x: tensor<0x4xf32>, %i: tensor<2x4xf32>, %n: index) {
  // expected-error @below {{'kernel.pad' op expected elements in dimension 0 of x, got none; fill the result}}
  %0 = kernel.pad %x low [1, 0] high [1, 0] outside 0.0 : f32 into %i : tensor<0x4xf32> into tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %i: tensor<?x4xf32>, %n: index) {
  // expected-error @below {{'kernel.pad' op expected 1 sizes of padded dimensions, got 0}}
  %0 = kernel.pad %x low [1, 0] high [1, 0] outside 0.0 : f32 into %i : tensor<?x4xf32> into tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>, %i: tensor<10x4xf32>, %n: index) {
  // expected-error @below {{'kernel.pad' op expected 0 sizes of padded dimensions, got 1}}
  %0 = kernel.pad %x low [1, 0] high [1, 0] outside 0.0 : f32 sizes [%n] into %i : tensor<8x4xf32> into tensor<10x4xf32>
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>, %i: tensor<10x4xf32>, %n: index) {
  // expected-error @below {{expected 'high'}}
  %0 = kernel.pad %x low [1, 0] outside 0.0 : f32 into %i : tensor<8x4xf32> into tensor<10x4xf32>
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>, %i: tensor<10x4xf32>) {
  // expected-error @below {{'kernel.pad' op expected 'into' of the result's type 'tensor<?x4xf32>', got 'tensor<10x4xf32>'}}
  %0 = "kernel.pad"(%x, %i) ({
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }) {low = array<i64: 1, 0>, high = array<i64: 1, 0>, outside = 0.0 : f32} : (tensor<8x4xf32>, tensor<10x4xf32>) -> tensor<?x4xf32>
  return
}

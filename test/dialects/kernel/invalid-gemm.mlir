// RUN: kpc-opt %s -verify-diagnostics -split-input-file

func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>, %d: tensor<4x?xf32>) {
  // expected-error @below {{'kernel.gemm' op expected 'into' of the result's type 'tensor<4x6xf32>', got 'tensor<4x?xf32>'}}
  %0 = kernel.gemm %a, %b into %d : (tensor<4x8xf32>, tensor<8x6xf32>, tensor<4x?xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xindex>, %b: tensor<8x6xindex>, %d: tensor<4x6xindex>) {
  // expected-error @below {{'kernel.gemm' op expected elements that are floats or integers, got 'index'}}
  %0 = kernel.gemm %a, %b into %d : (tensor<4x8xindex>, tensor<8x6xindex>, tensor<4x6xindex>) -> tensor<4x6xindex>
  return
}

// -----

func.func @f(%a: tensor<4x8xf16>, %b: tensor<8x6xf16>, %d: tensor<4x6xf32>) {
  // expected-error @below {{'kernel.gemm' op expected factors of the accumulator's type 'f32', got 'f16'; widen them in front}}
  %0 = kernel.gemm %a, %b into %d : (tensor<4x8xf16>, tensor<8x6xf16>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%a: tensor<8xf32>, %b: tensor<8x6xf32>, %d: tensor<4x6xf32>) {
  // expected-error @below {{'kernel.gemm' op expected A of at least two dimensions, M and K, got 'tensor<8xf32>'}}
  %0 = kernel.gemm %a, %b into %d : (tensor<8xf32>, tensor<8x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8xf32>, %b: tensor<8x6xf32>, %d: tensor<4x6xf32>) {
  // expected-error @below {{'kernel.gemm' op expected a result of at least A's 3 dimensions, got 2}}
  %0 = kernel.gemm %a, %b into %d : (tensor<2x4x8xf32>, tensor<8x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8xf32>, %b: tensor<8x6xf32>, %d: tensor<2x4x6xf32>) {
  // expected-error @below {{'kernel.gemm' op expected B of the result's 3 dimensions, got 2}}
  %0 = kernel.gemm %a, %b into %d : (tensor<2x4x8xf32>, tensor<8x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x8xf32>, %b: tensor<3x8x6xf32>, %d: tensor<2x4x6xf32>) {
  // expected-error @below {{'kernel.gemm' op expected a batch of 2 as elsewhere, got 3}}
  %0 = kernel.gemm %a, %b into %d : (tensor<2x4x8xf32>, tensor<3x8x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>, %d: tensor<5x6xf32>) {
  // expected-error @below {{'kernel.gemm' op expected M of 4 as elsewhere, got 5}}
  %0 = kernel.gemm %a, %b into %d : (tensor<4x8xf32>, tensor<8x6xf32>, tensor<5x6xf32>) -> tensor<5x6xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<9x6xf32>, %d: tensor<4x6xf32>) {
  // expected-error @below {{'kernel.gemm' op expected K of 8 as elsewhere, got 9}}
  %0 = kernel.gemm %a, %b into %d : (tensor<4x8xf32>, tensor<9x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2x3xf32>, %d: tensor<4x2x4xf32>) {
  // expected-error @below {{'kernel.gemm' op expected N of 3 as elsewhere, got 4}}
  %0 = kernel.gemm %a, %b into %d : (tensor<4x8xf32>, tensor<8x2x3xf32>, tensor<4x2x4xf32>) -> tensor<4x2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf64>, %b: tensor<8x6xf64>, %d: tensor<4x6xf64>) {
  // expected-error @below {{'kernel.gemm' op expected an accumulator of f32 beside 'tf32', got 'f64'}}
  %0 = kernel.gemm %a, %b tf32 into %d : (tensor<4x8xf64>, tensor<8x6xf64>, tensor<4x6xf64>) -> tensor<4x6xf64>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>, %d: tensor<4x6xf32>) {
  // expected-error @below {{expected one result, got 0}}
  kernel.gemm %a, %b into %d : (tensor<4x8xf32>, tensor<8x6xf32>, tensor<4x6xf32>) -> ()
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>, %d: tensor<4x6xf32>) {
  // expected-error @below {{expected 'into'}}
  %0 = kernel.gemm %a, %b tf16 into %d : (tensor<4x8xf32>, tensor<8x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

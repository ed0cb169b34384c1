// RUN: kpc-opt %s -verify-diagnostics -split-input-file

func.func @f(%q: tensor<2x4x8x16xf16>, %e: tensor<2x4x8x16xf16>) {
  // expected-error @below {{'kernel.attention' op works on f32 tensors of four dimensions}}
  %0 = kernel.attention %q, %q, %q scale 1.0 into %e : (tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>) -> tensor<2x4x8x16xf16>
  return
}

// -----

func.func @f(%q: tensor<2x4x8x16xf32>, %e: tensor<2x4x8x?xf32>) {
  // expected-error @below {{'kernel.attention' op gives a tensor of the type of 'into'}}
  %0 = kernel.attention %q, %q, %q scale 1.0 into %e : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x?xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x32xf32>) {
  // expected-error @below {{'kernel.attention' op has operands whose sizes do not fit together}}
  %0 = kernel.attention %q, %k, %k scale 1.0 into %q : (tensor<2x4x8x16xf32>, tensor<2x4x8x32xf32>, tensor<2x4x8x32xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%q: tensor<2x4x8x16xf32>, %m: tensor<8x8xi1>) {
  // expected-error @below {{'kernel.attention' op has a bias of f32 and a mask of i1, both of four dimensions}}
  %0 = kernel.attention %q, %q, %q mask %m scale 1.0 into %q : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<8x8xi1>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%q: tensor<2x4x8x16xf32>, %m: tensor<1x1x8x9xf32>) {
  // expected-error @below {{'kernel.attention' op has a bias or mask that does not fit the scores}}
  %0 = kernel.attention %q, %q, %q bias %m scale 1.0 into %q : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<1x1x8x9xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @f(%q: tensor<2x4x8x16xf32>) {
  // expected-error @below {{'kernel.attention' op has a scale that is not positive}}
  %0 = kernel.attention %q, %q, %q scale -1.0 into %q : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @softcap_of_attention(%q: tensor<2x4x8x16xf32>) {
  // expected-error @below {{'kernel.attention' op has a softcap that is not positive}}
  %0 = kernel.attention %q, %q, %q scale 1.0 softcap -2.0 into %q : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

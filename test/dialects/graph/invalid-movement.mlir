// RUN: kpc-opt %s -verify-diagnostics -split-input-file

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{'graph.broadcast' op changes the element type from 'f32' to 'f16'}}
  %0 = graph.broadcast %x : !graph.tensor<[n], f32> to !graph.tensor<[n], f16>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 4], f32>) {
  // expected-error @below {{'graph.broadcast' op lowers the rank from 2 to 1}}
  %0 = graph.broadcast %x : !graph.tensor<[n, 4], f32> to !graph.tensor<[4], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 4], f32>) {
  // expected-error @below {{'graph.broadcast' op size 4 does not become 5 in dimension 1}}
  %0 = graph.broadcast %x : !graph.tensor<[n, 4], f32> to !graph.tensor<[m, n, 5], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{'graph.reshape' op changes the element type from 'f32' to 'f16'}}
  %0 = graph.reshape %x : !graph.tensor<[n], f32> to !graph.tensor<[n], f16>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 4], f32>) {
  // expected-error @below {{'graph.reshape' op changes the number of elements from n*4 to n*5}}
  %0 = graph.reshape %x : !graph.tensor<[n, 4], f32> to !graph.tensor<["n*5"], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 4], f32>) {
  // expected-error @below {{perm is not a permutation of 2 dimensions}}
  %0 = graph.transpose %x [0, 0] : !graph.tensor<[n, 4], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 4], f32>) {
  // expected-error @below {{perm is not a permutation of 2 dimensions}}
  %0 = graph.transpose %x [0] : !graph.tensor<[n, 4], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{'graph.slice' op changes the element type}}
  %0 = graph.slice %x start #graph.dims<[0]> step [1] : !graph.tensor<[n], f32> to !graph.tensor<[2], f16>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 4], f32>) {
  // expected-error @below {{'graph.slice' op needs 2 starts, steps and sizes}}
  %0 = graph.slice %x start #graph.dims<[0]> step [1, 1] : !graph.tensor<[n, 4], f32> to !graph.tensor<[2, 4], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{'graph.slice' op has a step of 0}}
  %0 = graph.slice %x start #graph.dims<[0]> step [0] : !graph.tensor<[n], f32> to !graph.tensor<[2], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 4], f32>, %y: !graph.tensor<[n, 5], f32>) {
  // expected-error @below {{sizes 4 and 5 differ in dimension 1}}
  %0 = graph.concat %x, %y axis 0 : !graph.tensor<[n, 4], f32>, !graph.tensor<[n, 5], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n, 4], f32>, %y: !graph.tensor<[n], f32>) {
  // expected-error @below {{joins '!graph.tensor<[n, 4], f32>' and '!graph.tensor<[n], f32>'}}
  %0 = graph.concat %x, %y axis 0 : !graph.tensor<[n, 4], f32>, !graph.tensor<[n], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{axis 1 is outside [0, 1)}}
  %0 = graph.concat %x axis 1 : !graph.tensor<[n], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>, %y: !graph.tensor<[1], f32>) {
  // expected-error @below {{filler '!graph.tensor<[1], f32>' is not a scalar of 'f32'}}
  %0 = graph.pad %x, %y low [0] high [0] interior [0] : !graph.tensor<[n], f32>, !graph.tensor<[1], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>, %y: !graph.tensor<[], f32>) {
  // expected-error @below {{needs 1 entries in low, high, interior}}
  %0 = graph.pad %x, %y low [0, 1] high [0] interior [0] : !graph.tensor<[n], f32>, !graph.tensor<[], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>, %y: !graph.tensor<[], f32>) {
  // expected-error @below {{interior padding -1 is negative}}
  %0 = graph.pad %x, %y low [0] high [0] interior [-1] : !graph.tensor<[n], f32>, !graph.tensor<[], f32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{axis -1 is outside [0, 1)}}
  %0 = graph.iota axis -1 : !graph.tensor<[n], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[4], f32>) {
  // expected-error @below {{'graph.slice' op reaches outside x in dimension 0: start 2, step 1, size 3 of 4}}
  %0 = graph.slice %x start #graph.dims<[2]> step [1] : !graph.tensor<[4], f32> to !graph.tensor<[3], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>) {
  // expected-error @below {{'graph.slice' op reaches outside x in dimension 0: start n, step 1, size 1 of n}}
  %0 = graph.slice %x start #graph.dims<[n]> step [1] : !graph.tensor<[n], f32> to !graph.tensor<[1], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[4], f32>) {
  // expected-error @below {{reaches outside x in dimension 0: start 2, step -9223372036854775808, size 3 of 4}}
  %0 = graph.slice %x start #graph.dims<[2]> step [-9223372036854775808] : !graph.tensor<[4], f32> to !graph.tensor<[3], f32>
  return
}

// -----

// The parser infers types before operands are verified.
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{operand #0 must be symbolic tensor, but got 'tensor<4xf32>'}}
  %0 = graph.concat %x, %x axis 0 : tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{joins nothing}}
  // expected-error @below {{failed to infer returned types}}
  %0 = "graph.concat"() <{axis = 0 : i64}> : () -> !graph.tensor<[4], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[4], f32>, %y: !graph.tensor<[], f32>) {
  // expected-error @below {{size -5 is negative}}
  %0 = graph.pad %x, %y low [-9] high [0] interior [0] : !graph.tensor<[4], f32>, !graph.tensor<[], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[n], f32>, %y: !graph.tensor<[], f32>) {
  // expected-error @below {{a size leaves the range of 64-bit integers}}
  %0 = graph.pad %x, %y low [0] high [0] interior [9223372036854775807] : !graph.tensor<[n], f32>, !graph.tensor<[], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[9223372036854775807, 0], i8>, %y: !graph.tensor<[1, 0], i8>) {
  // expected-error @below {{a size leaves the range of 64-bit integers}}
  %0 = graph.concat %x, %y axis 0 : !graph.tensor<[9223372036854775807, 0], i8>, !graph.tensor<[1, 0], i8>
  return
}

// -----

func.func @f(%x: !graph.tensor<[4], f32>) {
  // expected-error @below {{element type 'index' is none of}}
  %0 = graph.cast %x to index : !graph.tensor<[4], f32>
  return
}

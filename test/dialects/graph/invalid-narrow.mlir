// RUN: kpc-opt %s -verify-diagnostics -split-input-file

func.func @f(%x: !graph.tensor<[4], f8E5M2>) {
  // expected-error @below {{'graph.compare' op compares elements of 'f8E5M2'; cast them to a wider type}}
  %0 = graph.compare lt, %x, %x : !graph.tensor<[4], f8E5M2>
  return
}

// -----

func.func @f(%x: !graph.tensor<[4], i4>) {
  // expected-error @below {{'graph.add' op operand #0 must be symbolic tensor of floats or integers, but got '!graph.tensor<[4], i4>'}}
  %0 = graph.add %x, %x : !graph.tensor<[4], i4>
  return
}

// -----

func.func @f(%x: !graph.tensor<[4], f32>) {
  // expected-error @below {{'graph.bitcast' op reads the bits of 'f32' as 'i16'; expected two types of as many bytes, not bool}}
  %0 = graph.bitcast %x to i16 : !graph.tensor<[4], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<[4], i8>) {
  // expected-error @below {{packs elements of 'i8'; expected elements of 2 or 4 bits}}
  %0 = graph.pack %x : !graph.tensor<[4], i8>
  return
}

// -----

func.func @f(%x: !graph.tensor<[4], ui8>) {
  // expected-error @below {{'graph.unpack' op unpacks elements of 'f8E5M2'; expected elements of 2 or 4 bits}}
  %0 = graph.unpack %x : !graph.tensor<[4], ui8> to !graph.tensor<[4], f8E5M2>
  return
}

// -----

func.func @f(%x: !graph.tensor<[4], ui8>) {
  // expected-error @below {{'graph.unpack' op unpacks '!graph.tensor<[4], ui8>'; expected '!graph.tensor<[2], ui8>'}}
  %0 = graph.unpack %x : !graph.tensor<[4], ui8> to !graph.tensor<[7], ui2>
  return
}

// -----

func.func @f() {
  // expected-error @below {{recipe step {cast = f4E2M1FN} needs a permutation, sizes or a float type}}
  %0 = graph.weight "m#w" [{cast = f4E2M1FN}] : !graph.tensor<[4], f4E2M1FN>
  return
}

// RUN: kpc-opt %s -split-input-file -verify-diagnostics

func.func @wide(%w: !graph.tensor<[4, 8], i32>, %s: !graph.tensor<[4, 1], f32>) {
  // expected-error @below {{takes elements of 'i32'; expected integers of 2, 4 or 8 bits}}
  %y = graph.dequantise %w scales %s blocks [1, 8] : !graph.tensor<[4, 8], i32>, !graph.tensor<[4, 1], f32> to <[4, 8], f32>
  return
}

// -----

func.func @sizes(%w: !graph.tensor<[4, 8], i8>, %s: !graph.tensor<[4, 1], f32>) {
  // expected-error @below {{gives '!graph.tensor<[8, 4], f32>'; expected the sizes of '!graph.tensor<[4, 8], i8>'}}
  %y = graph.dequantise %w scales %s blocks [1, 8] : !graph.tensor<[4, 8], i8>, !graph.tensor<[4, 1], f32> to <[8, 4], f32>
  return
}

// -----

func.func @blocks(%w: !graph.tensor<[4, 8], i8>, %s: !graph.tensor<[4, 1], f32>) {
  // expected-error @below {{has the blocks [8]; expected a size of 1 or more for each dimension of '!graph.tensor<[4, 8], i8>'}}
  %y = graph.dequantise %w scales %s blocks [8] : !graph.tensor<[4, 8], i8>, !graph.tensor<[4, 1], f32> to <[4, 8], f32>
  return
}

// -----

func.func @scales(%w: !graph.tensor<[4, 9], i8>, %s: !graph.tensor<[4, 2], f32>) {
  // expected-error @below {{has scales '!graph.tensor<[4, 2], f32>'; expected '!graph.tensor<[4, 3], f32>'}}
  %y = graph.dequantise %w scales %s blocks [1, 4] : !graph.tensor<[4, 9], i8>, !graph.tensor<[4, 2], f32> to <[4, 9], f32>
  return
}

// -----

func.func @zeros(%w: !graph.tensor<[4, 8], i8>, %s: !graph.tensor<[4, 2], f32>, %z: !graph.tensor<[4, 1], i8>) {
  // expected-error @below {{has zero points '!graph.tensor<[4, 1], i8>'; expected the sizes of the scales '!graph.tensor<[4, 2], f32>'}}
  %y = graph.dequantise %w scales %s zeros %z blocks [1, 4] : !graph.tensor<[4, 8], i8>, !graph.tensor<[4, 2], f32>, !graph.tensor<[4, 1], i8> to <[4, 8], f32>
  return
}

// -----

func.func @bits(%t: !graph.tensor<[1, 1, 512], ui8>, %s: !graph.tensor<[1, 8], f16>) {
  // expected-error @below {{has codes of 2 bits; expected 4 or 8}}
  %y = graph.dequantise_tiles %t scales %s bits 2 block 64 offset 0 : !graph.tensor<[1, 1, 512], ui8>, !graph.tensor<[1, 8], f16> to <[64, 8], f16>
  return
}

// -----

func.func @number(%t: !graph.tensor<[1, 1, 512], ui8>, %s: !graph.tensor<[1, 8], f16>) {
  // expected-error @below {{has codes of 'f8E4M3FNUZ'; expected f8E4M3FN or f8E5M2 of 8 bits without zero points}}
  %y = graph.dequantise_tiles %t scales %s bits 8 block 64 offset 0 number f8E4M3FNUZ : !graph.tensor<[1, 1, 512], ui8>, !graph.tensor<[1, 8], f16> to <[64, 8], f16>
  return
}

// -----

func.func @number_with_offset(%t: !graph.tensor<[1, 1, 512], ui8>, %s: !graph.tensor<[1, 8], f16>) {
  // expected-error @below {{has codes of 'f8E5M2'; expected f8E4M3FN or f8E5M2 of 8 bits without zero points}}
  %y = graph.dequantise_tiles %t scales %s bits 8 block 64 offset 128 number f8E5M2 : !graph.tensor<[1, 1, 512], ui8>, !graph.tensor<[1, 8], f16> to <[64, 8], f16>
  return
}

// -----

func.func @block(%t: !graph.tensor<[1, 1, 512], ui8>, %s: !graph.tensor<[1, 8], f16>) {
  // expected-error @below {{has blocks of 0 elements; expected 1 or more}}
  %y = graph.dequantise_tiles %t scales %s bits 4 block 0 offset 0 : !graph.tensor<[1, 1, 512], ui8>, !graph.tensor<[1, 8], f16> to <[64, 8], f16>
  return
}

// -----

func.func @matrix(%t: !graph.tensor<[1, 1, 512], ui8>, %s: !graph.tensor<[1, 8], f16>) {
  // expected-error @below {{gives '!graph.tensor<[64], f16>'; expected a matrix}}
  %y = graph.dequantise_tiles %t scales %s bits 4 block 64 offset 0 : !graph.tensor<[1, 1, 512], ui8>, !graph.tensor<[1, 8], f16> to <[64], f16>
  return
}

// -----

func.func @tiles(%t: !graph.tensor<[1, 1, 512], ui8>, %s: !graph.tensor<[1, 16], f16>) {
  // expected-error @below {{has tiles '!graph.tensor<[1, 1, 512], ui8>'; expected '!graph.tensor<[2, 1, 512], ui8>'}}
  %y = graph.dequantise_tiles %t scales %s bits 8 block 64 offset 0 : !graph.tensor<[1, 1, 512], ui8>, !graph.tensor<[1, 16], f16> to <[64, 9], f16>
  return
}

// -----

func.func @tile_scales(%t: !graph.tensor<[2, 1, 512], ui8>, %s: !graph.tensor<[1, 9], f16>) {
  // expected-error @below {{has scales '!graph.tensor<[1, 9], f16>'; expected '!graph.tensor<[1, 16], f16>'}}
  %y = graph.dequantise_tiles %t scales %s bits 8 block 64 offset 0 : !graph.tensor<[2, 1, 512], ui8>, !graph.tensor<[1, 9], f16> to <[64, 9], f16>
  return
}

// -----

// expected-error @below {{recipe step {tiles = array<i64: 4, 0, 8, 1, 8, 0>} needs}}
%w = graph.weight "m#w" [{tiles = array<i64: 4, 0, 8, 1, 8, 0>}] : !graph.tensor<[1, 1, 512], ui8>

// -----

func.func @f(%w: !graph.tensor<[64, 8], f4E2M1FN>, %s: !graph.tensor<[2, 8], f8E8M0FNU>) {
  // expected-error @below {{has zero points beside codes of 'f4E2M1FN'; expected none}}
  %y = graph.dequantise %w scales %s zeros %s blocks [32, 1] : !graph.tensor<[64, 8], f4E2M1FN>, !graph.tensor<[2, 8], f8E8M0FNU>, !graph.tensor<[2, 8], f8E8M0FNU> to <[64, 8], f32>
  return
}

// -----

func.func @f(%w: !graph.tensor<[64, 8], i32>, %s: !graph.tensor<[2, 8], f32>) {
  // expected-error @below {{takes elements of 'i32'; expected integers of 2, 4 or 8 bits, or floats of 4 or 8 bits}}
  %y = graph.dequantise %w scales %s blocks [32, 1] : !graph.tensor<[64, 8], i32>, !graph.tensor<[2, 8], f32> to <[64, 8], f32>
  return
}

// -----

func.func @f(%c: !graph.tensor<[24, 64], ui8>, %s: !graph.tensor<[1, 24, 4], ui8>) {
  // expected-error @below {{has codes '!graph.tensor<[24, 64], ui8>'; expected bytes of two of the rows of '!graph.tensor<[24, 64], f32>'}}
  %y = graph.dequantise_blocks mxfp4 %c scales %s : !graph.tensor<[24, 64], ui8>, !graph.tensor<[1, 24, 4], ui8> to <[24, 64], f32>
  return
}

// -----

func.func @f(%c: !graph.tensor<[24, 32], ui8>, %s: !graph.tensor<[1, 1, 24, 16], ui8>) {
  // expected-error @below {{has scales '!graph.tensor<[1, 1, 24, 16], ui8>'; expected '!graph.tensor<[1, 24, 4], ui8>' or '!graph.tensor<[1, 1, 32, 16], ui8>'}}
  %y = graph.dequantise_blocks mxfp4 %c scales %s : !graph.tensor<[24, 32], ui8>, !graph.tensor<[1, 1, 24, 16], ui8> to <[24, 64], f32>
  return
}

// -----

func.func @f(%c: !graph.tensor<[200, 256], f8E4M3FN>, %s: !graph.tensor<[2, 200], f32>) {
  // expected-error @below {{has scales '!graph.tensor<[2, 200], f32>'; expected '!graph.tensor<[200, 2], f32>' or '!graph.tensor<[2, 2], f32>'}}
  %y = graph.dequantise_blocks fp8 %c scales %s : !graph.tensor<[200, 256], f8E4M3FN>, !graph.tensor<[2, 200], f32> to <[200, 256], f32>
  return
}

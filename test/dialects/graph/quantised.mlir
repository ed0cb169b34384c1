// RUN: kpc-opt %s | kpc-opt | FileCheck %s

// CHECK-LABEL: func @blocks
func.func @blocks(%w: !graph.tensor<[16, 250], ui4>, %s: !graph.tensor<[16, 4], f16>, %z: !graph.tensor<[16, 4], ui4>)
    -> !graph.tensor<[16, 250], f16> {
  // CHECK: graph.dequantise %{{.*}} scales %{{.*}} zeros %{{.*}} blocks [1, 64] : !graph.tensor<[16, 250], ui4>, !graph.tensor<[16, 4], f16>, !graph.tensor<[16, 4], ui4> to <[16, 250], f16>
  %y = graph.dequantise %w scales %s zeros %z blocks [1, 64] : !graph.tensor<[16, 250], ui4>, !graph.tensor<[16, 4], f16>, !graph.tensor<[16, 4], ui4> to <[16, 250], f16>
  return %y : !graph.tensor<[16, 250], f16>
}

// CHECK-LABEL: func @tiles
func.func @tiles(%t: !graph.tensor<[3, 2, 512], ui8>, %s: !graph.tensor<[4, 24], f16>) -> !graph.tensor<[250, 20], f16> {
  // CHECK: graph.dequantise_tiles %{{.*}} scales %{{.*}} bits 4 block 64 offset 8 : !graph.tensor<[3, 2, 512], ui8>, !graph.tensor<[4, 24], f16> to <[250, 20], f16>
  %y = graph.dequantise_tiles %t scales %s bits 4 block 64 offset 8 : !graph.tensor<[3, 2, 512], ui8>, !graph.tensor<[4, 24], f16> to <[250, 20], f16>
  return %y : !graph.tensor<[250, 20], f16>
}

// CHECK-LABEL: func @tiles_of_floats
func.func @tiles_of_floats(%t: !graph.tensor<[3, 4, 512], ui8>, %s: !graph.tensor<[4, 24], f16>) -> !graph.tensor<[250, 20], f16> {
  // CHECK: graph.dequantise_tiles %{{.*}} scales %{{.*}} bits 8 block 64 offset 0 number f8E4M3FN : !graph.tensor<[3, 4, 512], ui8>
  %y = graph.dequantise_tiles %t scales %s bits 8 block 64 offset 0 number f8E4M3FN : !graph.tensor<[3, 4, 512], ui8>, !graph.tensor<[4, 24], f16> to <[250, 20], f16>
  return %y : !graph.tensor<[250, 20], f16>
}

// CHECK-LABEL: func @block_scales
func.func @block_scales(%c: !graph.tensor<[24, 32], ui8>, %s: !graph.tensor<[1, 24, 4], ui8>) -> !graph.tensor<[64, 24], f32> {
  // CHECK: graph.dequantise_blocks nvfp4 %{{.*}} scales %{{.*}} turned : !graph.tensor<[24, 32], ui8>, !graph.tensor<[1, 24, 4], ui8> to <[64, 24], f32>
  %y = graph.dequantise_blocks nvfp4 %c scales %s turned : !graph.tensor<[24, 32], ui8>, !graph.tensor<[1, 24, 4], ui8> to <[64, 24], f32>
  return %y : !graph.tensor<[64, 24], f32>
}

// CHECK-LABEL: func @blocks_of_128
func.func @blocks_of_128(%c: !graph.tensor<[200, 256], f8E4M3FN>, %s: !graph.tensor<[200, 2], f32>, %t: !graph.tensor<[2, 2], f32>)
    -> (!graph.tensor<[200, 256], f32>, !graph.tensor<[256, 200], f32>) {
  // CHECK: graph.dequantise_blocks fp8 %{{.*}} scales %{{.*}} : !graph.tensor<[200, 256], f8E4M3FN>, !graph.tensor<[200, 2], f32> to <[200, 256], f32>
  %x = graph.dequantise_blocks fp8 %c scales %s : !graph.tensor<[200, 256], f8E4M3FN>, !graph.tensor<[200, 2], f32> to <[200, 256], f32>
  // CHECK: graph.dequantise_blocks fp8 %{{.*}} scales %{{.*}} turned : !graph.tensor<[200, 256], f8E4M3FN>, !graph.tensor<[2, 2], f32> to <[256, 200], f32>
  %w = graph.dequantise_blocks fp8 %c scales %t turned : !graph.tensor<[200, 256], f8E4M3FN>, !graph.tensor<[2, 2], f32> to <[256, 200], f32>
  return %x, %w : !graph.tensor<[200, 256], f32>, !graph.tensor<[256, 200], f32>
}

// RUN: kpc-opt --kpc-host-build-kernel=vector-bits=256 %s | FileCheck %s

// The named convolution is loops on the host: a branch for the zeros around x, which all lanes share.

// CHECK-LABEL: func.func @conv(
// CHECK-SAME: kernel.schedule = #kernel.schedule<"tile
// CHECK: arith.cmpi ult
// CHECK: scf.if
// CHECK: vector.fma
func.func @conv(%x_p: memref<f32>, %w_p: memref<f32>, %y_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [2, 8, 8, 16], strides: [1024, 128, 16, 1] : memref<f32> to memref<2x8x8x16xf32, strided<[1024, 128, 16, 1]>>
  %x = bufferization.to_tensor %x_m restrict : memref<2x8x8x16xf32, strided<[1024, 128, 16, 1]>> to tensor<2x8x8x16xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [3, 3, 16, 32], strides: [1536, 512, 32, 1] : memref<f32> to memref<3x3x16x32xf32, strided<[1536, 512, 32, 1]>>
  %w = bufferization.to_tensor %w_m restrict : memref<3x3x16x32xf32, strided<[1536, 512, 32, 1]>> to tensor<3x3x16x32xf32>
  %p_e = tensor.empty() : tensor<2x10x10x16xf32>
  %p = kernel.pad %x low [0, 1, 1, 0] high [0, 1, 1, 0] outside 0.0 : f32 into %p_e : tensor<2x8x8x16xf32> into tensor<2x10x10x16xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [2, 8, 8, 32], strides: [2048, 256, 32, 1] : memref<f32> to memref<2x8x8x32xf32, strided<[2048, 256, 32, 1]>>
  %e = tensor.empty() : tensor<2x8x8x32xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x8x32xf32>) -> tensor<2x8x8x32xf32>
  %y = kernel.conv %p, %w strides [1, 1] dilations [1, 1] into %zeros : (tensor<2x10x10x16xf32>, tensor<3x3x16x32xf32>, tensor<2x8x8x32xf32>) -> tensor<2x8x8x32xf32>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<2x8x8x32xf32>, memref<2x8x8x32xf32, strided<[2048, 256, 32, 1]>>) -> ()
  return
}

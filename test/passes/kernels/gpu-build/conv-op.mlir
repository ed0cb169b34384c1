// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_80 %s | FileCheck %s --check-prefix=SYNC

// The named convolution, as lower-regions writes it: families ask it for strides, dilations, groups and tf32, and
// `kernel.pad` for the zeros around x. Builders of loops take it as a reduction.

// CHECK-LABEL: gpu.module @groups
// CHECK: kernel.schedule = #kernel.schedule<"conv_mmasync
// SYNC-LABEL: gpu.module @groups
// SYNC: kernel.schedule = #kernel.schedule<"conv_mmasync
func.func @groups(%x_p: memref<f32>, %w_p: memref<f32>, %y_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [4, 16, 16, 64], strides: [16384, 1024, 64, 1] : memref<f32> to memref<4x16x16x64xf32, strided<[16384, 1024, 64, 1]>>
  %x = bufferization.to_tensor %x_m restrict : memref<4x16x16x64xf32, strided<[16384, 1024, 64, 1]>> to tensor<4x16x16x64xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [3, 3, 16, 64], strides: [3072, 1024, 64, 1] : memref<f32> to memref<3x3x16x64xf32, strided<[3072, 1024, 64, 1]>>
  %w = bufferization.to_tensor %w_m restrict : memref<3x3x16x64xf32, strided<[3072, 1024, 64, 1]>> to tensor<3x3x16x64xf32>
  %p_e = tensor.empty() : tensor<4x18x18x64xf32>
  %p = kernel.pad %x low [0, 1, 1, 0] high [0, 1, 1, 0] outside 0.0 : f32 into %p_e : tensor<4x16x16x64xf32> into tensor<4x18x18x64xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [4, 8, 8, 64], strides: [4096, 512, 64, 1] : memref<f32> to memref<4x8x8x64xf32, strided<[4096, 512, 64, 1]>>
  %e = tensor.empty() : tensor<4x8x8x64xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8x8x64xf32>) -> tensor<4x8x8x64xf32>
  %y = kernel.conv %p, %w strides [2, 2] dilations [1, 1] groups 4 tf32 into %zeros : (tensor<4x18x18x64xf32>, tensor<3x3x16x64xf32>, tensor<4x8x8x64xf32>) -> tensor<4x8x8x64xf32>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<4x8x8x64xf32>, memref<4x8x8x64xf32, strided<[4096, 512, 64, 1]>>) -> ()
  return
}

// Without tf32 factors of f32 are split.
// CHECK-LABEL: gpu.module @groups_of_f32
// CHECK: kernel.schedule = #kernel.schedule<"conv_mmasync
// SYNC-LABEL: gpu.module @groups_of_f32
// SYNC: kernel.schedule = #kernel.schedule<"conv_mmasync
func.func @groups_of_f32(%x_p: memref<f32>, %w_p: memref<f32>, %y_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [4, 16, 16, 64], strides: [16384, 1024, 64, 1] : memref<f32> to memref<4x16x16x64xf32, strided<[16384, 1024, 64, 1]>>
  %x = bufferization.to_tensor %x_m restrict : memref<4x16x16x64xf32, strided<[16384, 1024, 64, 1]>> to tensor<4x16x16x64xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [3, 3, 16, 64], strides: [3072, 1024, 64, 1] : memref<f32> to memref<3x3x16x64xf32, strided<[3072, 1024, 64, 1]>>
  %w = bufferization.to_tensor %w_m restrict : memref<3x3x16x64xf32, strided<[3072, 1024, 64, 1]>> to tensor<3x3x16x64xf32>
  %p_e = tensor.empty() : tensor<4x18x18x64xf32>
  %p = kernel.pad %x low [0, 1, 1, 0] high [0, 1, 1, 0] outside 0.0 : f32 into %p_e : tensor<4x16x16x64xf32> into tensor<4x18x18x64xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [4, 8, 8, 64], strides: [4096, 512, 64, 1] : memref<f32> to memref<4x8x8x64xf32, strided<[4096, 512, 64, 1]>>
  %e = tensor.empty() : tensor<4x8x8x64xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8x8x64xf32>) -> tensor<4x8x8x64xf32>
  %y = kernel.conv %p, %w strides [2, 2] dilations [1, 1] groups 4 into %zeros : (tensor<4x18x18x64xf32>, tensor<3x3x16x64xf32>, tensor<4x8x8x64xf32>) -> tensor<4x8x8x64xf32>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<4x8x8x64xf32>, memref<4x8x8x64xf32, strided<[4096, 512, 64, 1]>>) -> ()
  return
}

// One channel a group: a window that slides. Dilations are the op's, zeros the pad's.
// CHECK-LABEL: gpu.module @depthwise
// CHECK: kernel.schedule = #kernel.schedule<"window {{[0-9]+}} x {{[0-9]+}} x {{[0-9]+}}">
// SYNC-LABEL: gpu.module @depthwise
// SYNC: kernel.schedule = #kernel.schedule<"window {{[0-9]+}} x {{[0-9]+}} x {{[0-9]+}}">
func.func @depthwise(%x_p: memref<f32>, %w_p: memref<f32>, %y_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [4, 16, 16, 32], strides: [8192, 512, 32, 1] : memref<f32> to memref<4x16x16x32xf32, strided<[8192, 512, 32, 1]>>
  %x = bufferization.to_tensor %x_m restrict : memref<4x16x16x32xf32, strided<[8192, 512, 32, 1]>> to tensor<4x16x16x32xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [3, 3, 1, 32], strides: [96, 32, 32, 1] : memref<f32> to memref<3x3x1x32xf32, strided<[96, 32, 32, 1]>>
  %w = bufferization.to_tensor %w_m restrict : memref<3x3x1x32xf32, strided<[96, 32, 32, 1]>> to tensor<3x3x1x32xf32>
  %p_e = tensor.empty() : tensor<4x20x20x32xf32>
  %p = kernel.pad %x low [0, 2, 2, 0] high [0, 2, 2, 0] outside 0.0 : f32 into %p_e : tensor<4x16x16x32xf32> into tensor<4x20x20x32xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [4, 16, 16, 32], strides: [8192, 512, 32, 1] : memref<f32> to memref<4x16x16x32xf32, strided<[8192, 512, 32, 1]>>
  %e = tensor.empty() : tensor<4x16x16x32xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16x16x32xf32>) -> tensor<4x16x16x32xf32>
  %y = kernel.conv %p, %w strides [1, 1] dilations [2, 2] groups 32 into %zeros : (tensor<4x20x20x32xf32>, tensor<3x3x1x32xf32>, tensor<4x16x16x32xf32>) -> tensor<4x16x16x32xf32>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<4x16x16x32xf32>, memref<4x16x16x32xf32, strided<[8192, 512, 32, 1]>>) -> ()
  return
}

// One spatial dimension.
// CHECK-LABEL: gpu.module @signal
// CHECK: kernel.schedule = #kernel.schedule<"conv_mmasync
// SYNC-LABEL: gpu.module @signal
// SYNC: kernel.schedule = #kernel.schedule<"conv_mmasync
func.func @signal(%x_p: memref<f32>, %w_p: memref<f32>, %y_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [4, 100, 32], strides: [3200, 32, 1] : memref<f32> to memref<4x100x32xf32, strided<[3200, 32, 1]>>
  %x = bufferization.to_tensor %x_m restrict : memref<4x100x32xf32, strided<[3200, 32, 1]>> to tensor<4x100x32xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [5, 32, 64], strides: [2048, 64, 1] : memref<f32> to memref<5x32x64xf32, strided<[2048, 64, 1]>>
  %w = bufferization.to_tensor %w_m restrict : memref<5x32x64xf32, strided<[2048, 64, 1]>> to tensor<5x32x64xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [4, 96, 64], strides: [6144, 64, 1] : memref<f32> to memref<4x96x64xf32, strided<[6144, 64, 1]>>
  %e = tensor.empty() : tensor<4x96x64xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<4x96x64xf32>) -> tensor<4x96x64xf32>
  %y = kernel.conv %x, %w strides [1] dilations [1] tf32 into %zeros : (tensor<4x100x32xf32>, tensor<5x32x64xf32>, tensor<4x96x64xf32>) -> tensor<4x96x64xf32>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<4x96x64xf32>, memref<4x96x64xf32, strided<[6144, 64, 1]>>) -> ()
  return
}

// What stands around x is no zero, or the pad cuts elements off: families that make zeros themselves refuse it.
// CHECK-LABEL: gpu.module @ones_around
// CHECK: kernel.schedule = #kernel.schedule<"contraction
// SYNC-LABEL: gpu.module @ones_around
// SYNC: kernel.schedule = #kernel.schedule<"contraction
func.func @ones_around(%x_p: memref<f32>, %w_p: memref<f32>, %y_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [4, 16, 16, 32], strides: [8192, 512, 32, 1] : memref<f32> to memref<4x16x16x32xf32, strided<[8192, 512, 32, 1]>>
  %x = bufferization.to_tensor %x_m restrict : memref<4x16x16x32xf32, strided<[8192, 512, 32, 1]>> to tensor<4x16x16x32xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [3, 3, 32, 64], strides: [6144, 2048, 64, 1] : memref<f32> to memref<3x3x32x64xf32, strided<[6144, 2048, 64, 1]>>
  %w = bufferization.to_tensor %w_m restrict : memref<3x3x32x64xf32, strided<[6144, 2048, 64, 1]>> to tensor<3x3x32x64xf32>
  %p_e = tensor.empty() : tensor<4x18x18x32xf32>
  %p = kernel.pad %x low [0, 1, 1, 0] high [0, 1, 1, 0] outside 1.0 : f32 into %p_e : tensor<4x16x16x32xf32> into tensor<4x18x18x32xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [4, 16, 16, 64], strides: [16384, 1024, 64, 1] : memref<f32> to memref<4x16x16x64xf32, strided<[16384, 1024, 64, 1]>>
  %e = tensor.empty() : tensor<4x16x16x64xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16x16x64xf32>) -> tensor<4x16x16x64xf32>
  %y = kernel.conv %p, %w strides [1, 1] dilations [1, 1] tf32 into %zeros : (tensor<4x18x18x32xf32>, tensor<3x3x32x64xf32>, tensor<4x16x16x64xf32>) -> tensor<4x16x16x64xf32>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<4x16x16x64xf32>, memref<4x16x16x64xf32, strided<[16384, 1024, 64, 1]>>) -> ()
  return
}

// CHECK-LABEL: gpu.module @cut
// CHECK: kernel.schedule = #kernel.schedule<"contraction
// SYNC-LABEL: gpu.module @cut
// SYNC: kernel.schedule = #kernel.schedule<"contraction
func.func @cut(%x_p: memref<f32>, %w_p: memref<f32>, %y_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [4, 18, 18, 32], strides: [10368, 576, 32, 1] : memref<f32> to memref<4x18x18x32xf32, strided<[10368, 576, 32, 1]>>
  %x = bufferization.to_tensor %x_m restrict : memref<4x18x18x32xf32, strided<[10368, 576, 32, 1]>> to tensor<4x18x18x32xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [3, 3, 32, 64], strides: [6144, 2048, 64, 1] : memref<f32> to memref<3x3x32x64xf32, strided<[6144, 2048, 64, 1]>>
  %w = bufferization.to_tensor %w_m restrict : memref<3x3x32x64xf32, strided<[6144, 2048, 64, 1]>> to tensor<3x3x32x64xf32>
  %p_e = tensor.empty() : tensor<4x17x17x32xf32>
  %p = kernel.pad %x low [0, -1, -1, 0] high [0, 0, 0, 0] outside 0.0 : f32 into %p_e : tensor<4x18x18x32xf32> into tensor<4x17x17x32xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [4, 15, 15, 64], strides: [14400, 960, 64, 1] : memref<f32> to memref<4x15x15x64xf32, strided<[14400, 960, 64, 1]>>
  %e = tensor.empty() : tensor<4x15x15x64xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<4x15x15x64xf32>) -> tensor<4x15x15x64xf32>
  %y = kernel.conv %p, %w strides [1, 1] dilations [1, 1] tf32 into %zeros : (tensor<4x17x17x32xf32>, tensor<3x3x32x64xf32>, tensor<4x15x15x64xf32>) -> tensor<4x15x15x64xf32>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<4x15x15x64xf32>, memref<4x15x15x64xf32, strided<[14400, 960, 64, 1]>>) -> ()
  return
}

// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_120a %s | FileCheck %s

// On a chip whose tf32 is no faster than fp32: slices of both operands go through shared memory, and the next ones are loaded while these are multiplied.

// CHECK-LABEL: gpu.module @matmul_known
// CHECK: workgroup(%[[A:.*]] : memref<32x36xf32, #gpu.address_space<workgroup>>, %[[B:.*]] : memref<32x36xf32
// CHECK: no_early_pdl_trigger = true
// CHECK-SAME: kernel.schedule = #kernel.schedule<"contraction 32x32x32 simt">
// CHECK: vector.load
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[A]]
// CHECK: gpu.barrier
// CHECK: vector.load %{{.*}} : memref<
// CHECK: vector.load %[[A]]
// CHECK: math.fma
// CHECK: gpu.barrier
// CHECK: scf.yield
func.func @matmul_known(%x_p: memref<f32>, %w_p: memref<f32>, %y_p: memref<f32>, %m: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<f32> to memref<?x64xf32, strided<[64, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x64xf32, strided<[64, 1]>> to tensor<?x64xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [64, 48], strides: [48, 1] : memref<f32> to memref<64x48xf32, strided<[48, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<64x48xf32, strided<[48, 1]>> to tensor<64x48xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%m, 48], strides: [48, 1] : memref<f32> to memref<?x48xf32, strided<[48, 1]>>
  %y_empty = tensor.empty(%m) : tensor<?x48xf32>
  %y_init = arith.constant 0.0 : f32
  %y_fill = linalg.fill ins(%y_init : f32) outs(%y_empty : tensor<?x48xf32>) -> tensor<?x48xf32>
  %y_t = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x64xf32>, tensor<64x48xf32>) outs(%y_fill : tensor<?x48xf32>) {
    ^bb0(%x: f32, %w: f32, %y: f32):
    %mul = arith.mulf %x, %w : f32
    %r = arith.addf %y, %mul : f32
    linalg.yield %r : f32
  } -> tensor<?x48xf32>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x48xf32>, memref<?x48xf32, strided<[48, 1]>>) -> ()
  return
}

// An implicit product: rows are places of the output, the sum goes over taps and channels.
// CHECK-LABEL: gpu.module @conv_3x3
// CHECK: kernel.schedule = #kernel.schedule<"contraction
// CHECK: math.fma
// CHECK: arith.addf
// CHECK: arith.maximumf
func.func @conv_3x3(%x_p: memref<f32>, %w_p: memref<f32>, %b_p: memref<f32>, %y_p: memref<f32>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 8, 8, 16], strides: [1024, 128, 16, 1] : memref<f32> to memref<?x8x8x16xf32, strided<[1024, 128, 16, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x8x8x16xf32, strided<[1024, 128, 16, 1]>> to tensor<?x8x8x16xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [3, 3, 16, 24], strides: [1152, 384, 24, 1] : memref<f32> to memref<3x3x16x24xf32, strided<[1152, 384, 24, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<3x3x16x24xf32, strided<[1152, 384, 24, 1]>> to tensor<3x3x16x24xf32>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [24], strides: [1] : memref<f32> to memref<24xf32, strided<[1]>>
  %b_t = bufferization.to_tensor %b_m restrict : memref<24xf32, strided<[1]>> to tensor<24xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 8, 8, 24], strides: [1536, 192, 24, 1] : memref<f32> to memref<?x8x8x24xf32, strided<[1536, 192, 24, 1]>>
  %p_empty = tensor.empty(%n) : tensor<?x10x10x16xf32>
  %p_t = kernel.pad %x_t low [0, 1, 1, 0] high [0, 1, 1, 0] outside 0.0 : f32 into %p_empty : tensor<?x8x8x16xf32> into tensor<?x10x10x16xf32>
    %s_empty = tensor.empty(%n) : tensor<?x8x8x24xf32>
    %s_init = arith.constant 0.0 : f32
    %s_fill = linalg.fill ins(%s_init : f32) outs(%s_empty : tensor<?x8x8x24xf32>) -> tensor<?x8x8x24xf32>
    %s_t = kernel.conv %p_t, %w_t strides [1, 1] dilations [1, 1] into %s_fill : (tensor<?x10x10x16xf32>, tensor<3x3x16x24xf32>, tensor<?x8x8x24xf32>) -> tensor<?x8x8x24xf32>
    %y_empty = tensor.empty(%n) : tensor<?x8x8x24xf32>
    %y_t = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s_t, %b_t : tensor<?x8x8x24xf32>, tensor<24xf32>) outs(%y_empty : tensor<?x8x8x24xf32>) {
      ^bb0(%s: f32, %b: f32, %y: f32):
      %t = arith.addf %s, %b : f32
      %z = arith.constant 0.0 : f32
      %r = arith.maximumf %t, %z : f32
      linalg.yield %r : f32
    } -> tensor<?x8x8x24xf32>
    bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x8x8x24xf32>, memref<?x8x8x24xf32, strided<[1536, 192, 24, 1]>>) -> ()
    return
  }

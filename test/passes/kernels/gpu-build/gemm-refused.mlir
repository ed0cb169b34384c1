// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s

// What TMA and wgmma cannot do goes to mma.sync, and what that cannot do to loops of multiply-adds.

// CHECK-NOT: kernel.tensor_maps

// Rows of x begin every 140 bytes: no multiple of 16.
// CHECK-LABEL: gpu.module @unaligned_sum
// CHECK: kernel.schedule = #kernel.schedule<"mmasync
// CHECK-NOT: kernel.tensor_maps
// CHECK: tile.mma_factors
func.func @unaligned_sum(%x_p: memref<bf16>, %w_p: memref<bf16>, %y_p: memref<bf16>, %m: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%m, 70], strides: [70, 1] : memref<bf16> to memref<?x70xbf16, strided<[70, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x70xbf16, strided<[70, 1]>> to tensor<?x70xbf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [70, 64], strides: [64, 1] : memref<bf16> to memref<70x64xbf16, strided<[64, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<70x64xbf16, strided<[64, 1]>> to tensor<70x64xbf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<bf16> to memref<?x64xbf16, strided<[64, 1]>>
  %s_empty = tensor.empty(%m) : tensor<?x64xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x64xf32>) -> tensor<?x64xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x70xbf16>, tensor<70x64xbf16>) outs(%s_fill : tensor<?x64xf32>) {
  ^bb0(%x: bf16, %w: bf16, %s: f32):
    %e = arith.extf %x : bf16 to f32
    %f = arith.extf %w : bf16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x64xf32>
  %y_empty = tensor.empty(%m) : tensor<?x64xbf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%s_t : tensor<?x64xf32>) outs(%y_empty : tensor<?x64xbf16>) {
  ^bb0(%s: f32, %y: bf16):
    %r = arith.truncf %s : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<?x64xbf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x64xbf16>, memref<?x64xbf16, strided<[64, 1]>>) -> ()
  return
}

// Rows of w and y begin every 136 bytes.
// CHECK-LABEL: gpu.module @unaligned_columns
// CHECK: kernel.schedule = #kernel.schedule<"mmasync
// CHECK-NOT: kernel.tensor_maps
// CHECK: tile.mma_factors
func.func @unaligned_columns(%x_p: memref<f16>, %w_p: memref<f16>, %y_p: memref<f16>, %m: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<f16> to memref<?x64xf16, strided<[64, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x64xf16, strided<[64, 1]>> to tensor<?x64xf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [64, 68], strides: [68, 1] : memref<f16> to memref<64x68xf16, strided<[68, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<64x68xf16, strided<[68, 1]>> to tensor<64x68xf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%m, 68], strides: [68, 1] : memref<f16> to memref<?x68xf16, strided<[68, 1]>>
  %s_empty = tensor.empty(%m) : tensor<?x68xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x68xf32>) -> tensor<?x68xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x64xf16>, tensor<64x68xf16>) outs(%s_fill : tensor<?x68xf32>) {
  ^bb0(%x: f16, %w: f16, %s: f32):
    %e = arith.extf %x : f16 to f32
    %f = arith.extf %w : f16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x68xf32>
  %y_empty = tensor.empty(%m) : tensor<?x68xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%s_t : tensor<?x68xf32>) outs(%y_empty : tensor<?x68xf16>) {
  ^bb0(%s: f32, %y: f16):
    %r = arith.truncf %s : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x68xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x68xf16>, memref<?x68xf16, strided<[68, 1]>>) -> ()
  return
}

// Nothing is known of the columns, the stride of w and y. Elements are copied one by one, so no factors are loaded ahead.
// CHECK-LABEL: gpu.module @unknown_columns
// CHECK: kernel.schedule = #kernel.schedule<"mmasync
// CHECK-NOT: kernel.tensor_maps
// CHECK: tile.mma_sync
func.func @unknown_columns(%x_p: memref<f16>, %w_p: memref<f16>, %y_p: memref<f16>, %m: index, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<f16> to memref<?x64xf16, strided<[64, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x64xf16, strided<[64, 1]>> to tensor<?x64xf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [64, %n], strides: [%n, 1] : memref<f16> to memref<64x?xf16, strided<[?, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<64x?xf16, strided<[?, 1]>> to tensor<64x?xf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%m, %n], strides: [%n, 1] : memref<f16> to memref<?x?xf16, strided<[?, 1]>>
  %s_empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x?xf32>) -> tensor<?x?xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x64xf16>, tensor<64x?xf16>) outs(%s_fill : tensor<?x?xf32>) {
  ^bb0(%x: f16, %w: f16, %s: f32):
    %e = arith.extf %x : f16 to f32
    %f = arith.extf %w : f16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x?xf32>
  %y_empty = tensor.empty(%m, %n) : tensor<?x?xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%s_t : tensor<?x?xf32>) outs(%y_empty : tensor<?x?xf16>) {
  ^bb0(%s: f32, %y: f16):
    %r = arith.truncf %s : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x?xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x?xf16>, memref<?x?xf16, strided<[?, 1]>>) -> ()
  return
}

// A sum of nothing has no first product; that rows are whole lines does not help.
// CHECK-LABEL: gpu.module @perhaps_no_sum
// CHECK: kernel.schedule = #kernel.schedule<"mmasync
// CHECK-NOT: kernel.tensor_maps
// CHECK: tile.mma_factors
func.func @perhaps_no_sum(%x_p: memref<bf16>, %w_p: memref<bf16>, %y_p: memref<bf16>, %m: index, %k: index {kernel.size = #kernel.size<divisor = 64>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%m, %k], strides: [%k, 1] : memref<bf16> to memref<?x?xbf16, strided<[?, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x?xbf16, strided<[?, 1]>> to tensor<?x?xbf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [%k, 64], strides: [64, 1] : memref<bf16> to memref<?x64xbf16, strided<[64, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<?x64xbf16, strided<[64, 1]>> to tensor<?x64xbf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<bf16> to memref<?x64xbf16, strided<[64, 1]>>
  %s_empty = tensor.empty(%m) : tensor<?x64xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x64xf32>) -> tensor<?x64xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x?xbf16>, tensor<?x64xbf16>) outs(%s_fill : tensor<?x64xf32>) {
  ^bb0(%x: bf16, %w: bf16, %s: f32):
    %e = arith.extf %x : bf16 to f32
    %f = arith.extf %w : bf16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x64xf32>
  %y_empty = tensor.empty(%m) : tensor<?x64xbf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%s_t : tensor<?x64xf32>) outs(%y_empty : tensor<?x64xbf16>) {
  ^bb0(%s: f32, %y: bf16):
    %r = arith.truncf %s : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<?x64xbf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x64xbf16>, memref<?x64xbf16, strided<[64, 1]>>) -> ()
  return
}

// Not rounded to tf32 unasked, so not for wgmma.
// CHECK-LABEL: gpu.module @single
// CHECK: kernel.schedule = #kernel.schedule<"mmasync
// CHECK-NOT: kernel.tensor_maps
// CHECK: tile.mma_sync split
func.func @single(%x_p: memref<f32>, %w_p: memref<f32>, %y_p: memref<f32>, %m: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<f32> to memref<?x64xf32, strided<[64, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x64xf32, strided<[64, 1]>> to tensor<?x64xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [64, 64], strides: [64, 1] : memref<f32> to memref<64x64xf32, strided<[64, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<64x64xf32, strided<[64, 1]>> to tensor<64x64xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<f32> to memref<?x64xf32, strided<[64, 1]>>
  %s_empty = tensor.empty(%m) : tensor<?x64xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x64xf32>) -> tensor<?x64xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x64xf32>, tensor<64x64xf32>) outs(%s_fill : tensor<?x64xf32>) {
  ^bb0(%x: f32, %w: f32, %s: f32):
    %p = arith.mulf %x, %w : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x64xf32>
  bufferization.materialize_in_destination %s_t in restrict writable %y_m : (tensor<?x64xf32>, memref<?x64xf32, strided<[64, 1]>>) -> ()
  return
}

// Sums in f16, as the model asks, are not what the tensor cores' are here.
// CHECK-LABEL: gpu.module @half_sums
// CHECK: kernel.schedule = #kernel.schedule<"contraction
// CHECK-NOT: tile.
// CHECK-NOT: kernel.tensor_maps
func.func @half_sums(%x_p: memref<f16>, %w_p: memref<f16>, %y_p: memref<f16>, %m: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<f16> to memref<?x64xf16, strided<[64, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x64xf16, strided<[64, 1]>> to tensor<?x64xf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [64, 64], strides: [64, 1] : memref<f16> to memref<64x64xf16, strided<[64, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<64x64xf16, strided<[64, 1]>> to tensor<64x64xf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<f16> to memref<?x64xf16, strided<[64, 1]>>
  %s_empty = tensor.empty(%m) : tensor<?x64xf16>
  %zero = arith.constant 0.0 : f16
  %s_fill = linalg.fill ins(%zero : f16) outs(%s_empty : tensor<?x64xf16>) -> tensor<?x64xf16>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x64xf16>, tensor<64x64xf16>) outs(%s_fill : tensor<?x64xf16>) {
  ^bb0(%x: f16, %w: f16, %s: f16):
    %p = arith.mulf %x, %w : f16
    %r = arith.addf %s, %p : f16
    linalg.yield %r : f16
  } -> tensor<?x64xf16>
  bufferization.materialize_in_destination %s_t in restrict writable %y_m : (tensor<?x64xf16>, memref<?x64xf16, strided<[64, 1]>>) -> ()
  return
}

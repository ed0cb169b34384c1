// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s

// Short rows: a warp each. Long rows: a block each, joined through shared memory in the order of its warps.

// CHECK-LABEL: gpu.module @row_sum_short
// CHECK: kernel.schedule = #kernel.schedule<"row-reduction warp x2">
// CHECK-NOT: gpu.barrier
// CHECK: scf.for
// CHECK: vector.load
// CHECK: scf.yield
// CHECK: gpu.shuffle xor
// CHECK: gpu.shuffle xor
// CHECK: gpu.shuffle xor
// CHECK: gpu.shuffle xor
// CHECK: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK: memref.store
func.func @row_sum_short(%x_p: memref<f32>, %y_p: memref<f32>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 100], strides: [100, 1] : memref<f32> to memref<?x100xf32, strided<[100, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x100xf32, strided<[100, 1]>> to tensor<?x100xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n], strides: [1] : memref<f32> to memref<?xf32, strided<[1]>>
  %y_empty = tensor.empty(%n) : tensor<?xf32>
  %y_init = arith.constant 0.0 : f32
  %y_fill = linalg.fill ins(%y_init : f32) outs(%y_empty : tensor<?xf32>) -> tensor<?xf32>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a)>], iterator_types = ["parallel", "reduction"]} ins(%x_t : tensor<?x100xf32>) outs(%y_fill : tensor<?xf32>) {
    ^bb0(%x: f32, %y: f32):
    %r = arith.addf %y, %x : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?xf32>, memref<?xf32, strided<[1]>>) -> ()
  return
}

// CHECK-LABEL: gpu.module @row_mean_vector
// CHECK: workgroup(%[[PARTS:.*]] : memref<8xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: grid = ["arg3", "1", "1"]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"row-reduction block x8">
// CHECK: gpu.shuffle xor
// CHECK: gpu.shuffle xor
// CHECK: gpu.shuffle xor
// CHECK: gpu.shuffle xor
// CHECK: gpu.shuffle xor
// CHECK: memref.store %{{.*}}, %[[PARTS]]
// CHECK: gpu.barrier
// CHECK: memref.load %[[PARTS]]
// CHECK: memref.load %[[PARTS]]
// CHECK: memref.load %[[PARTS]]
// CHECK: memref.load %[[PARTS]]
// CHECK: memref.load %[[PARTS]]
// CHECK: memref.load %[[PARTS]]
// CHECK: memref.load %[[PARTS]]
// CHECK: memref.load %[[PARTS]]
// CHECK: memref.store
func.func @row_mean_vector(%x_p: memref<f16>, %b_p: memref<f32>, %y_p: memref<f16>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 4096], strides: [4096, 1] : memref<f16> to memref<?x4096xf16, strided<[4096, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x4096xf16, strided<[4096, 1]>> to tensor<?x4096xf16>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [%n], strides: [1] : memref<f32> to memref<?xf32, strided<[1]>>
  %b_t = bufferization.to_tensor %b_m restrict : memref<?xf32, strided<[1]>> to tensor<?xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n], strides: [1] : memref<f16> to memref<?xf16, strided<[1]>>
  %s_empty = tensor.empty(%n) : tensor<?xf32>
  %s_init = arith.constant 0.5 : f32
  %s_fill = linalg.fill ins(%s_init : f32) outs(%s_empty : tensor<?xf32>) -> tensor<?xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a)>], iterator_types = ["parallel", "reduction"]} ins(%x_t : tensor<?x4096xf16>) outs(%s_fill : tensor<?xf32>) {
    ^bb0(%x: f16, %s: f32):
    %e = arith.extf %x : f16 to f32
    %r = arith.addf %s, %e : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  %y_empty = tensor.empty(%n) : tensor<?xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a)->(a)>, affine_map<(a)->(a)>, affine_map<(a)->(a)>], iterator_types = ["parallel"]} ins(%s_t, %b_t : tensor<?xf32>, tensor<?xf32>) outs(%y_empty : tensor<?xf16>) {
    ^bb0(%s: f32, %b: f32, %y: f16):
    %c = arith.constant 2.44140625e-04 : f32
    %m = arith.mulf %s, %c : f32
    %q = arith.addf %m, %b : f32
    %r = arith.truncf %q : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?xf16>, memref<?xf16, strided<[1]>>) -> ()
  return
}

// Results with dims of one element behind them are those of rows all the same.
// CHECK-LABEL: gpu.module @kept_dims
// CHECK: kernel.schedule = #kernel.schedule<"row-reduction block x4">
// CHECK: gpu.shuffle
// CHECK: memref.store %{{.*}}, %{{.*}} : memref<?x64x1x1xf32
func.func @kept_dims(%x_p: memref<f32>, %y_p: memref<f32>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 64, 12544], strides: [802816, 12544, 1] : memref<f32> to memref<?x64x12544xf32, strided<[802816, 12544, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x64x12544xf32, strided<[802816, 12544, 1]>> to tensor<?x64x12544xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 64, 1, 1], strides: [64, 1, 1, 1] : memref<f32> to memref<?x64x1x1xf32, strided<[64, 1, 1, 1]>>
  %s_empty = tensor.empty(%n) : tensor<?x64xf32>
  %s_init = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%s_init : f32) outs(%s_empty : tensor<?x64xf32>) -> tensor<?x64xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(a,b,k)->(a,b,k)>, affine_map<(a,b,k)->(a,b)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t : tensor<?x64x12544xf32>) outs(%s_fill : tensor<?x64xf32>) {
    ^bb0(%x: f32, %y: f32):
    %r = arith.addf %y, %x : f32
    linalg.yield %r : f32
  } -> tensor<?x64xf32>
  %y_empty = tensor.empty(%n) : tensor<?x64x1x1xf32>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s_t : tensor<?x64xf32>) outs(%y_empty : tensor<?x64x1x1xf32>) {
    ^bb0(%s: f32, %y: f32):
    %half = arith.constant 0.5 : f32
    %r = arith.mulf %s, %half : f32
    linalg.yield %r : f32
  } -> tensor<?x64x1x1xf32>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x64x1x1xf32>, memref<?x64x1x1xf32, strided<[64, 1, 1, 1]>>) -> ()
  return
}

// Parts of a reduction in two levels: axes of one element after those that vary.
// CHECK-LABEL: gpu.module @row_of_parts
// CHECK: kernel.schedule = #kernel.schedule<"row-reduction warp x1">
// CHECK: scf.for %{{.*}} = %{{.*}} to %c512 step %c32
// CHECK: memref.load
// CHECK: scf.yield
// CHECK: gpu.shuffle xor
func.func @row_of_parts(%x_p: memref<f32>, %y_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [5, 16, 32, 1, 1], strides: [512, 32, 1, 1, 1] : memref<f32> to memref<5x16x32x1x1xf32, strided<[512, 32, 1, 1, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<5x16x32x1x1xf32, strided<[512, 32, 1, 1, 1]>> to tensor<5x16x32x1x1xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [5], strides: [1] : memref<f32> to memref<5xf32, strided<[1]>>
  %y_empty = tensor.empty() : tensor<5xf32>
  %y_init = arith.constant 0.0 : f32
  %y_fill = linalg.fill ins(%y_init : f32) outs(%y_empty : tensor<5xf32>) -> tensor<5xf32>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b,c,d,e)->(a,b,c,d,e)>, affine_map<(a,b,c,d,e)->(a)>], iterator_types = ["parallel", "reduction", "reduction", "reduction", "reduction"]} ins(%x_t : tensor<5x16x32x1x1xf32>) outs(%y_fill : tensor<5xf32>) {
    ^bb0(%x: f32, %y: f32):
    %r = arith.addf %y, %x : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<5xf32>, memref<5xf32, strided<[1]>>) -> ()
  return
}

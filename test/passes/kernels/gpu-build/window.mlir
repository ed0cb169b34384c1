// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s

// A thread reads the pixels under a tile of windows once, as vectors, without a branch: what is beside the image is chosen word by word.

// CHECK-LABEL: gpu.module @max_pool_3x3_s2
// CHECK: kernel.schedule = #kernel.schedule<"window 1 x 4 x 4">
// CHECK-NOT: scf.for
// CHECK: arith.cmpi ult
// CHECK: arith.maxsi
// CHECK: arith.minsi
// CHECK: vector.load {{.*}} vector<4xf32>
// CHECK: arith.select {{.*}} : i32
// CHECK: arith.maximumf
// CHECK-NOT: scf.if
// CHECK: vector.store
func.func @max_pool_3x3_s2(%x_p: memref<f32>, %k_p: memref<f32>, %y_p: memref<f32>, %n: index)
    attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>, kernel.forced_schedule = #kernel.schedule<"window 1 x 4 x 4">} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 13, 13, 8], strides: [1352, 104, 8, 1] : memref<f32> to memref<?x13x13x8xf32, strided<[1352, 104, 8, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x13x13x8xf32, strided<[1352, 104, 8, 1]>> to tensor<?x13x13x8xf32>
  %k_m = memref.reinterpret_cast %k_p to offset: [0], sizes: [3, 3], strides: [3, 1] : memref<f32> to memref<3x3xf32, strided<[3, 1]>>
  %k_t = bufferization.to_tensor %k_m restrict : memref<3x3xf32, strided<[3, 1]>> to tensor<3x3xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 7, 7, 8], strides: [392, 56, 8, 1] : memref<f32> to memref<?x7x7x8xf32, strided<[392, 56, 8, 1]>>
  %p_empty = tensor.empty(%n) : tensor<?x15x15x8xf32>
  %p_t = kernel.pad %x_t low [0, 1, 1, 0] high [0, 1, 1, 0] outside 0xFF800000 : f32 into %p_empty : tensor<?x13x13x8xf32> into tensor<?x15x15x8xf32>
    %y_empty = tensor.empty(%n) : tensor<?x7x7x8xf32>
    %y_init = arith.constant 0xFF800000 : f32
    %y_fill = linalg.fill ins(%y_init : f32) outs(%y_empty : tensor<?x7x7x8xf32>) -> tensor<?x7x7x8xf32>
    %y_t = linalg.generic {indexing_maps = [affine_map<(n,h,w,c,i,j)->(n,h*2+i,w*2+j,c)>, affine_map<(n,h,w,c,i,j)->(i,j)>, affine_map<(n,h,w,c,i,j)->(n,h,w,c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%p_t, %k_t : tensor<?x15x15x8xf32>, tensor<3x3xf32>) outs(%y_fill : tensor<?x7x7x8xf32>) {
      ^bb0(%p: f32, %k: f32, %y: f32):
      %r = arith.maximumf %y, %p : f32
      linalg.yield %r : f32
    } -> tensor<?x7x7x8xf32>
    bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x7x7x8xf32>, memref<?x7x7x8xf32, strided<[392, 56, 8, 1]>>) -> ()
    return
  }

// An accumulator used twice: there is no joining of parts, whatever the length.
// CHECK-LABEL: gpu.module @horner
// CHECK: kernel.schedule = #kernel.schedule<"window x1">
func.func @horner(%x_p: memref<f32>, %y_p: memref<f32>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 40], strides: [40, 1] : memref<f32> to memref<?x40xf32, strided<[40, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x40xf32, strided<[40, 1]>> to tensor<?x40xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n], strides: [1] : memref<f32> to memref<?xf32, strided<[1]>>
  %y_empty = tensor.empty(%n) : tensor<?xf32>
  %y_init = arith.constant 0.0 : f32
  %y_fill = linalg.fill ins(%y_init : f32) outs(%y_empty : tensor<?xf32>) -> tensor<?xf32>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a)>], iterator_types = ["parallel", "reduction"]} ins(%x_t : tensor<?x40xf32>) outs(%y_fill : tensor<?xf32>) {
    ^bb0(%x: f32, %y: f32):
    %q = arith.mulf %y, %y : f32
    %h = arith.constant 0.25 : f32
    %t = arith.mulf %q, %h : f32
    %r = arith.addf %t, %x : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?xf32>, memref<?xf32, strided<[1]>>) -> ()
  return
}

// A depthwise convolution: products that are added up may be rounded once.
// CHECK-LABEL: gpu.module @depthwise
// CHECK: kernel.schedule = #kernel.schedule<"window 2 x 4 x 4">
// CHECK-NOT: scf.for
// CHECK: vector.load {{.*}} vector<4xf16>
// CHECK: arith.extf {{.*}} : f16 to f32
// CHECK: arith.mulf {{.*}} fastmath<contract>
// CHECK: arith.addf {{.*}} fastmath<contract>
// CHECK: vector.store
func.func @depthwise(%x_p: memref<f16>, %w_p: memref<f16>, %y_p: memref<f32>, %n: index {kernel.size = #kernel.size<optimum = 4>})
    attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>, kernel.forced_schedule = #kernel.schedule<"window 2 x 4 x 4">} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 9, 9, 16], strides: [1296, 144, 16, 1] : memref<f16> to memref<?x9x9x16xf16, strided<[1296, 144, 16, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x9x9x16xf16, strided<[1296, 144, 16, 1]>> to tensor<?x9x9x16xf16>
  %wide_e = tensor.empty(%n) : tensor<?x9x9x16xf32>
  %wide = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x_t : tensor<?x9x9x16xf16>) outs(%wide_e : tensor<?x9x9x16xf32>) {
    ^bb0(%a: f16, %o: f32):
    %e = arith.extf %a : f16 to f32
    linalg.yield %e : f32
  } -> tensor<?x9x9x16xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [3, 3, 1, 16], strides: [48, 16, 16, 1] : memref<f16> to memref<3x3x1x16xf16, strided<[48, 16, 16, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<3x3x1x16xf16, strided<[48, 16, 16, 1]>> to tensor<3x3x1x16xf16>
  %w_wide_e = tensor.empty() : tensor<3x3x1x16xf32>
  %w_wide = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%w_t : tensor<3x3x1x16xf16>) outs(%w_wide_e : tensor<3x3x1x16xf32>) {
    ^bb0(%a: f16, %o: f32):
    %e = arith.extf %a : f16 to f32
    linalg.yield %e : f32
  } -> tensor<3x3x1x16xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 7, 7, 16], strides: [784, 112, 16, 1] : memref<f32> to memref<?x7x7x16xf32, strided<[784, 112, 16, 1]>>
  %zero = arith.constant 0.0 : f32
  %y_empty = tensor.empty(%n) : tensor<?x7x7x16xf32>
  %y_fill = linalg.fill ins(%zero : f32) outs(%y_empty : tensor<?x7x7x16xf32>) -> tensor<?x7x7x16xf32>
  %y_t = kernel.conv %wide, %w_wide strides [1, 1] dilations [1, 1] groups 16 into %y_fill : (tensor<?x9x9x16xf32>, tensor<3x3x1x16xf32>, tensor<?x7x7x16xf32>) -> tensor<?x7x7x16xf32>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x7x7x16xf32>, memref<?x7x7x16xf32, strided<[784, 112, 16, 1]>>) -> ()
  return
}

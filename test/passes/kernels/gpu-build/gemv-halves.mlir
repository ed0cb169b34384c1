// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s

// Few rows where results of two columns meet: a tile has both, in two halves.

// A gate's two products: the second half's columns are the second matrix's, at the same places.
// CHECK-LABEL: gpu.func @gate_up(
// Tiles of 32 columns of the sums are tiles of 16 of the result.
// CHECK-SAME: grid = ["4", "1", "1"]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"gemv 32x64 warps 8 stages 3 tiles 1">
// CHECK: %[[SUMS:.*]] = tile.alloc : !smem
// CHECK: %[[BACK:.*]] = arith.cmpi uge, %{{.*}}, %c16{{.*}} : index
// CHECK: arith.select %[[BACK]], %c-16{{.*}}, %c0{{.*}} : index
// CHECK: %[[AGAIN:.*]] = arith.cmpi uge, %{{.*}}, %c16{{.*}} : index
// CHECK: arith.select %[[AGAIN]], %{{.*}}, %{{.*}} : memref<?xf16
// K is no multiple of a stage's.
// CHECK: tile.cp_async_vector %{{.*}}[%{{.*}}] inside %
// CHECK: nvvm.mma.sync
// The sums of both products at one place, then what the kernel makes of them.
// CHECK: tile.load_vector %[[SUMS]][%[[ROW:.*]], %{{.*}}]
// CHECK-COUNT-7: tile.load_vector %[[SUMS]][%[[ROW]] + {{[0-9]+}}, %{{.*}}]
// CHECK: %[[G:.*]] = arith.addf
// CHECK: arith.select %{{.*}}, %c-16{{.*}}, %c16{{.*}} : index
// CHECK: tile.load_vector %[[SUMS]][%[[ROW]], %{{.*}}]
// CHECK-COUNT-7: tile.load_vector %[[SUMS]][%[[ROW]] + {{[0-9]+}}, %{{.*}}]
// CHECK: %[[U:.*]] = arith.addf
// CHECK: %[[R:.*]] = arith.maximumf %[[G]], %{{.*}}
// CHECK: arith.mulf %[[R]], %[[U]]
func.func @gate_up(%x_p: memref<f16>, %w_p: memref<f16>, %v_p: memref<f16>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 16, optimum = 4>}) attributes {kernel.forced_schedule = #kernel.schedule<"gemv 32x64 warps 8 stages 3 tiles 1">, kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 72], strides: [72, 1] : memref<f16> to memref<?x72xf16, strided<[72, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x72xf16, strided<[72, 1]>> to tensor<?x72xf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [72, 64], strides: [64, 1] : memref<f16> to memref<72x64xf16, strided<[64, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<72x64xf16, strided<[64, 1]>> to tensor<72x64xf16>
  %v_m = memref.reinterpret_cast %v_p to offset: [0], sizes: [72, 64], strides: [64, 1] : memref<f16> to memref<72x64xf16, strided<[64, 1]>>
  %v_t = bufferization.to_tensor %v_m restrict : memref<72x64xf16, strided<[64, 1]>> to tensor<72x64xf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 64], strides: [64, 1] : memref<f16> to memref<?x64xf16, strided<[64, 1]>>
  %zero = arith.constant 0.0 : f32
  %g_empty = tensor.empty(%n) : tensor<?x64xf32>
  %g_fill = linalg.fill ins(%zero : f32) outs(%g_empty : tensor<?x64xf32>) -> tensor<?x64xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x72xf16>, tensor<72x64xf16>) outs(%g_fill : tensor<?x64xf32>) {
  ^bb0(%x: f16, %w: f16, %s: f32):
    %e = arith.extf %x : f16 to f32
    %f = arith.extf %w : f16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x64xf32>
  %u = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %v_t : tensor<?x72xf16>, tensor<72x64xf16>) outs(%g_fill : tensor<?x64xf32>) {
  ^bb0(%x: f16, %w: f16, %s: f32):
    %e = arith.extf %x : f16 to f32
    %f = arith.extf %w : f16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x64xf32>
  %y_empty = tensor.empty(%n) : tensor<?x64xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%g, %u : tensor<?x64xf32>, tensor<?x64xf32>) outs(%y_empty : tensor<?x64xf16>) {
  ^bb0(%a: f32, %b: f32, %y: f16):
    %z = arith.constant 0.0 : f32
    %t = arith.maximumf %a, %z : f32
    %p = arith.mulf %t, %b : f32
    %r = arith.truncf %p : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x64xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x64xf16>, memref<?x64xf16, strided<[64, 1]>>) -> ()
  return
}

// Heads: the second half's columns are half a head behind the first's, and each is an element of the result.
// CHECK-LABEL: gpu.func @turn(
// CHECK-SAME: grid = ["4", "1", "1"]
// Two tiles make one head of 64: each has 16 columns of its front and the 16 at their places in its back.
// CHECK: %[[HEAD:.*]] = arith.divui %{{.*}}, %c2
// CHECK: %[[PART:.*]] = arith.remui %{{.*}}, %c2
// CHECK: arith.muli %[[HEAD]], %c64
// CHECK: arith.muli %[[PART]], %c16
// CHECK: %[[BACK:.*]] = arith.cmpi uge, %{{.*}}, %c16{{.*}} : index
// CHECK: arith.select %[[BACK]], %c16{{.*}}, %c0{{.*}} : index
// CHECK: tile.cp_async_vector
// CHECK: nvvm.mma.sync
// CHECK: %[[OWN:.*]] = arith.addf
// CHECK: arith.select %{{.*}}, %c-16{{.*}}, %c16{{.*}} : index
// CHECK: %[[C:.*]] = memref.load %{{.*}} : memref<2x32xf32
// CHECK: arith.mulf %{{.*}}, %[[C]]
func.func @turn(%x_p: memref<f16>, %w_p: memref<f16>, %c_p: memref<f32>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 16, optimum = 1>}) attributes {kernel.forced_schedule = #kernel.schedule<"gemv 32x64 warps 8 stages 3 tiles 1">, kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 72], strides: [72, 1] : memref<f16> to memref<?x72xf16, strided<[72, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x72xf16, strided<[72, 1]>> to tensor<?x72xf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [72, 2, 2, 32], strides: [128, 64, 32, 1] : memref<f16> to memref<72x2x2x32xf16, strided<[128, 64, 32, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<72x2x2x32xf16, strided<[128, 64, 32, 1]>> to tensor<72x2x2x32xf16>
  %c_m = memref.reinterpret_cast %c_p to offset: [0], sizes: [2, 32], strides: [32, 1] : memref<f32> to memref<2x32xf32, strided<[32, 1]>>
  %c_t = bufferization.to_tensor %c_m restrict : memref<2x32xf32, strided<[32, 1]>> to tensor<2x32xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 2, 2, 32], strides: [128, 64, 32, 1] : memref<f16> to memref<?x2x2x32xf16, strided<[128, 64, 32, 1]>>
  %zero = arith.constant 0.0 : f32
  %s_empty = tensor.empty(%n) : tensor<?x2x2x32xf32>
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x2x2x32xf32>) -> tensor<?x2x2x32xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p,k)->(m,k)>, affine_map<(m,h,t,p,k)->(k,h,t,p)>, affine_map<(m,h,t,p,k)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x72xf16>, tensor<72x2x2x32xf16>) outs(%s_fill : tensor<?x2x2x32xf32>) {
  ^bb0(%x: f16, %w: f16, %s: f32):
    %e = arith.extf %x : f16 to f32
    %f = arith.extf %w : f16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x2x2x32xf32>
  %e_empty = tensor.empty(%n) : tensor<?x2x2x32xf32>
  %e_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%e_empty : tensor<?x2x2x32xf32>) {
  ^bb0(%e: f32):
    %row = linalg.index 0 : index
    %head = linalg.index 1 : index
    %two = linalg.index 2 : index
    %minus = arith.constant -1 : index
    %one = arith.constant 1 : index
    %back = arith.muli %two, %minus : index
    %other = arith.addi %one, %back : index
    %at = linalg.index 3 : index
    %v = tensor.extract %s_t[%row, %head, %other, %at] : tensor<?x2x2x32xf32>
    linalg.yield %v : f32
  } -> tensor<?x2x2x32xf32>
  %y_empty = tensor.empty(%n) : tensor<?x2x2x32xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s_t, %e_t, %c_t : tensor<?x2x2x32xf32>, tensor<?x2x2x32xf32>, tensor<2x32xf32>) outs(%y_empty : tensor<?x2x2x32xf16>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %y: f16):
    %p = arith.mulf %b, %c : f32
    %q = arith.addf %a, %p : f32
    %r = arith.truncf %q : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x2x2x32xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x2x2x32xf16>, memref<?x2x2x32xf16, strided<[128, 64, 32, 1]>>) -> ()
  return
}

// Typically one row, but perhaps many: by wgmma, since no builder but these two has such ends.
// CHECK-LABEL: gpu.func @turn_one_of_many(
// CHECK-SAME: kernel.schedule = #kernel.schedule<"gemm 64x
func.func @turn_one_of_many(%x_p: memref<f16>, %w_p: memref<f16>, %c_p: memref<f32>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 4096, optimum = 1>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 72], strides: [72, 1] : memref<f16> to memref<?x72xf16, strided<[72, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x72xf16, strided<[72, 1]>> to tensor<?x72xf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [72, 2, 2, 32], strides: [128, 64, 32, 1] : memref<f16> to memref<72x2x2x32xf16, strided<[128, 64, 32, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<72x2x2x32xf16, strided<[128, 64, 32, 1]>> to tensor<72x2x2x32xf16>
  %c_m = memref.reinterpret_cast %c_p to offset: [0], sizes: [2, 32], strides: [32, 1] : memref<f32> to memref<2x32xf32, strided<[32, 1]>>
  %c_t = bufferization.to_tensor %c_m restrict : memref<2x32xf32, strided<[32, 1]>> to tensor<2x32xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 2, 2, 32], strides: [128, 64, 32, 1] : memref<f16> to memref<?x2x2x32xf16, strided<[128, 64, 32, 1]>>
  %zero = arith.constant 0.0 : f32
  %s_empty = tensor.empty(%n) : tensor<?x2x2x32xf32>
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x2x2x32xf32>) -> tensor<?x2x2x32xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p,k)->(m,k)>, affine_map<(m,h,t,p,k)->(k,h,t,p)>, affine_map<(m,h,t,p,k)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x72xf16>, tensor<72x2x2x32xf16>) outs(%s_fill : tensor<?x2x2x32xf32>) {
  ^bb0(%x: f16, %w: f16, %s: f32):
    %e = arith.extf %x : f16 to f32
    %f = arith.extf %w : f16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x2x2x32xf32>
  %e_empty = tensor.empty(%n) : tensor<?x2x2x32xf32>
  %e_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%e_empty : tensor<?x2x2x32xf32>) {
  ^bb0(%e: f32):
    %row = linalg.index 0 : index
    %head = linalg.index 1 : index
    %two = linalg.index 2 : index
    %minus = arith.constant -1 : index
    %one = arith.constant 1 : index
    %back = arith.muli %two, %minus : index
    %other = arith.addi %one, %back : index
    %at = linalg.index 3 : index
    %v = tensor.extract %s_t[%row, %head, %other, %at] : tensor<?x2x2x32xf32>
    linalg.yield %v : f32
  } -> tensor<?x2x2x32xf32>
  %y_empty = tensor.empty(%n) : tensor<?x2x2x32xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s_t, %e_t, %c_t : tensor<?x2x2x32xf32>, tensor<?x2x2x32xf32>, tensor<2x32xf32>) outs(%y_empty : tensor<?x2x2x32xf16>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %y: f16):
    %p = arith.mulf %b, %c : f32
    %q = arith.addf %a, %p : f32
    %r = arith.truncf %q : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x2x2x32xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x2x2x32xf16>, memref<?x2x2x32xf16, strided<[128, 64, 32, 1]>>) -> ()
  return
}

// Weights with the sum side by side, which no pass makes of these, are left to wgmma.
// CHECK-LABEL: gpu.func @turned_weights(
// CHECK-SAME: kernel.schedule = #kernel.schedule<"gemm 64x
func.func @turned_weights(%x_p: memref<f16>, %w_p: memref<f16>, %v_p: memref<f16>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 16, optimum = 4>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 72], strides: [72, 1] : memref<f16> to memref<?x72xf16, strided<[72, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x72xf16, strided<[72, 1]>> to tensor<?x72xf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [64, 72], strides: [72, 1] : memref<f16> to memref<64x72xf16, strided<[72, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<64x72xf16, strided<[72, 1]>> to tensor<64x72xf16>
  %v_m = memref.reinterpret_cast %v_p to offset: [0], sizes: [64, 72], strides: [72, 1] : memref<f16> to memref<64x72xf16, strided<[72, 1]>>
  %v_t = bufferization.to_tensor %v_m restrict : memref<64x72xf16, strided<[72, 1]>> to tensor<64x72xf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 64], strides: [64, 1] : memref<f16> to memref<?x64xf16, strided<[64, 1]>>
  %zero = arith.constant 0.0 : f32
  %g_empty = tensor.empty(%n) : tensor<?x64xf32>
  %g_fill = linalg.fill ins(%zero : f32) outs(%g_empty : tensor<?x64xf32>) -> tensor<?x64xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(n,k)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x72xf16>, tensor<64x72xf16>) outs(%g_fill : tensor<?x64xf32>) {
  ^bb0(%x: f16, %w: f16, %s: f32):
    %e = arith.extf %x : f16 to f32
    %f = arith.extf %w : f16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x64xf32>
  %u = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(n,k)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %v_t : tensor<?x72xf16>, tensor<64x72xf16>) outs(%g_fill : tensor<?x64xf32>) {
  ^bb0(%x: f16, %w: f16, %s: f32):
    %e = arith.extf %x : f16 to f32
    %f = arith.extf %w : f16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x64xf32>
  %y_empty = tensor.empty(%n) : tensor<?x64xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%g, %u : tensor<?x64xf32>, tensor<?x64xf32>) outs(%y_empty : tensor<?x64xf16>) {
  ^bb0(%a: f32, %b: f32, %y: f16):
    %z = arith.constant 0.0 : f32
    %t = arith.maximumf %a, %z : f32
    %p = arith.mulf %t, %b : f32
    %r = arith.truncf %p : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x64xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x64xf16>, memref<?x64xf16, strided<[64, 1]>>) -> ()
  return
}

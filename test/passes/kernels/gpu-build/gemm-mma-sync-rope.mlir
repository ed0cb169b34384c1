// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_80 %s | FileCheck %s
// RUN: sed 's/warpgroup 64x64/warpgroup 64x32/' %s | not kpc-opt --kpc-gpu-build-kernels=arch=sm_80 2>&1 | FileCheck %s --check-prefix=NARROW

// Each element is made of its own sum and of the one in the head's other half, in other registers of the same thread: a warpgroup has whole heads.

// CHECK-LABEL: gpu.func @turn(
// CHECK-SAME: grid = ["floordiv(arg4 + 63, 64)", "1", "1"]
// CHECK-SAME: block = [256, 1, 1]
// CHECK: %[[SUMS:.*]]:4 = scf.for
// CHECK: tile.mma_factors
// CHECK: %[[OWN:.*]] = tile.extract_columns %[[SUMS]]#0 from 0 : !fragment -> !fragment
// CHECK: %[[OTHER:.*]] = tile.extract_columns %[[SUMS]]#0 from 0 rotate_half 32 : !fragment -> !fragment
// All columns are inside: no bound of theirs.
// CHECK: tile.map %[[OWN]] at[%{{.*}}, %{{.*}}] within[%{{[a-z0-9]+}}] with %[[OTHER]]
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %{{.*}}: index, %{{.*}}: index, %[[B:.*]]: f32):
// CHECK: %[[C:.*]] = memref.load %{{.*}} : memref<2x32xf32
// CHECK: %[[P:.*]] = arith.mulf %[[B]], %[[C]]
// CHECK: arith.addf %[[A]], %[[P]]
// CHECK: tile.yield

// Half a head is no warpgroup's.
// NARROW: error: the schedule 'mmasync 64x128x32 warpgroup 64x32 stages 3 group_m 2' is none of this kernel's
func.func @turn(%x_p: memref<f16>, %w_p: memref<f16>, %c_p: memref<f32>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 4096, optimum = 64>}) attributes {kernel.forced_schedule = #kernel.schedule<"mmasync 64x128x32 warpgroup 64x64 stages 3 group_m 2">, kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
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

// Interleaved pairs are next to each other in a thread.
// CHECK-LABEL: gpu.func @interleaved(
// CHECK: %[[SUMS:.*]]:4 = scf.for
// CHECK: %[[OWN:.*]] = tile.extract_columns %[[SUMS]]#0 from 0 : !fragment -> !fragment
// CHECK: %[[OTHER:.*]] = tile.extract_columns %[[SUMS]]#0 from 0 rotate_half 1 : !fragment -> !fragment
// CHECK: tile.map %[[OWN]] at[%{{.*}}, %{{.*}}] within[%{{[a-z0-9]+}}] with %[[OTHER]]
func.func @interleaved(%x_p: memref<f16>, %w_p: memref<f16>, %c_p: memref<f32>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 4096, optimum = 64>}) attributes {kernel.forced_schedule = #kernel.schedule<"mmasync 64x128x32 warpgroup 64x64 stages 3 group_m 2">, kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 72], strides: [72, 1] : memref<f16> to memref<?x72xf16, strided<[72, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x72xf16, strided<[72, 1]>> to tensor<?x72xf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [72, 2, 32, 2], strides: [128, 64, 2, 1] : memref<f16> to memref<72x2x32x2xf16, strided<[128, 64, 2, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<72x2x32x2xf16, strided<[128, 64, 2, 1]>> to tensor<72x2x32x2xf16>
  %c_m = memref.reinterpret_cast %c_p to offset: [0], sizes: [32, 2], strides: [2, 1] : memref<f32> to memref<32x2xf32, strided<[2, 1]>>
  %c_t = bufferization.to_tensor %c_m restrict : memref<32x2xf32, strided<[2, 1]>> to tensor<32x2xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 2, 32, 2], strides: [128, 64, 2, 1] : memref<f16> to memref<?x2x32x2xf16, strided<[128, 64, 2, 1]>>
  %zero = arith.constant 0.0 : f32
  %s_empty = tensor.empty(%n) : tensor<?x2x32x2xf32>
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x2x32x2xf32>) -> tensor<?x2x32x2xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p,k)->(m,k)>, affine_map<(m,h,t,p,k)->(k,h,t,p)>, affine_map<(m,h,t,p,k)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x72xf16>, tensor<72x2x32x2xf16>) outs(%s_fill : tensor<?x2x32x2xf32>) {
  ^bb0(%x: f16, %w: f16, %s: f32):
    %e = arith.extf %x : f16 to f32
    %f = arith.extf %w : f16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x2x32x2xf32>
  %e_empty = tensor.empty(%n) : tensor<?x2x32x2xf32>
  %e_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%e_empty : tensor<?x2x32x2xf32>) {
  ^bb0(%e: f32):
    %row = linalg.index 0 : index
    %head = linalg.index 1 : index
    %two = linalg.index 3 : index
    %minus = arith.constant -1 : index
    %one = arith.constant 1 : index
    %back = arith.muli %two, %minus : index
    %other = arith.addi %one, %back : index
    %at = linalg.index 2 : index
    %v = tensor.extract %s_t[%row, %head, %at, %other] : tensor<?x2x32x2xf32>
    linalg.yield %v : f32
  } -> tensor<?x2x32x2xf32>
  %y_empty = tensor.empty(%n) : tensor<?x2x32x2xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s_t, %e_t, %c_t : tensor<?x2x32x2xf32>, tensor<?x2x32x2xf32>, tensor<32x2xf32>) outs(%y_empty : tensor<?x2x32x2xf16>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %y: f16):
    %p = arith.mulf %b, %c : f32
    %q = arith.addf %a, %p : f32
    %r = arith.truncf %q : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x2x32x2xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x2x32x2xf16>, memref<?x2x32x2xf16, strided<[128, 64, 2, 1]>>) -> ()
  return
}

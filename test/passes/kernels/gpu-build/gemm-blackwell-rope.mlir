// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_100a --split-input-file %s | FileCheck %s

// RoPE behind a GEMM by tcgen05. A thread has a row of the sums, 32 columns at a time: of heads of 64, the other half is another part.

// CHECK-LABEL: gpu.func @turn(
// CHECK: %[[FIRST:.*]] = tile.tmem_load %[[D:.*]][%c0]
// CHECK-NEXT: %[[SECOND:.*]] = tile.tmem_load %[[D]][%c32]
// CHECK-NEXT: %[[OWN:.*]] = tile.await %[[FIRST]]
// CHECK-NEXT: %[[OTHER:.*]] = tile.await %[[SECOND]]
// CHECK: tile.map %[[OWN]] at[%{{.*}}, %{{.*}}] within[%{{[a-z0-9]+}}] with %[[OTHER]]
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %{{.*}}: index, %{{.*}}: index, %[[B:.*]]: f32):
// CHECK: %[[C:.*]] = memref.load %{{.*}} : memref<2x32xf32
// CHECK: %[[P:.*]] = arith.mulf %[[B]], %[[C]]
// CHECK: arith.addf %[[A]], %[[P]]
// CHECK: %[[FIRST:.*]] = tile.tmem_load %[[D]][%c32]
// CHECK-NEXT: %[[SECOND:.*]] = tile.tmem_load %[[D]][%c0]
// CHECK-NEXT: %[[OWN:.*]] = tile.await %[[FIRST]]
// CHECK-NEXT: %[[OTHER:.*]] = tile.await %[[SECOND]]
// CHECK-NEXT: tile.release
func.func @turn(%x_p: memref<f16>, %w_p: memref<f16>, %c_p: memref<f32>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 4096, optimum = 64>}) attributes {kernel.forced_schedule = #kernel.schedule<"gemm 128x64x64 stages 4 group_m 1">, kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
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

// -----

// Heads of 32 are whole in a part.
// CHECK-LABEL: gpu.func @short(
// CHECK: %[[OWN:.*]] = tile.await
// CHECK-NEXT: %[[OTHER:.*]] = tile.extract_columns %[[OWN]] from 0 rotate_half 16 :
// CHECK: tile.map %[[OWN]] at[%{{.*}}, %{{.*}}] within[%{{[a-z0-9]+}}] with %[[OTHER]]
func.func @short(%x_p: memref<f16>, %w_p: memref<f16>, %c_p: memref<f32>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 4096, optimum = 64>}) attributes {kernel.forced_schedule = #kernel.schedule<"gemm 128x64x64 stages 4 group_m 1">, kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 72], strides: [72, 1] : memref<f16> to memref<?x72xf16, strided<[72, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x72xf16, strided<[72, 1]>> to tensor<?x72xf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [72, 4, 2, 16], strides: [128, 32, 16, 1] : memref<f16> to memref<72x4x2x16xf16, strided<[128, 32, 16, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<72x4x2x16xf16, strided<[128, 32, 16, 1]>> to tensor<72x4x2x16xf16>
  %c_m = memref.reinterpret_cast %c_p to offset: [0], sizes: [2, 16], strides: [16, 1] : memref<f32> to memref<2x16xf32, strided<[16, 1]>>
  %c_t = bufferization.to_tensor %c_m restrict : memref<2x16xf32, strided<[16, 1]>> to tensor<2x16xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 4, 2, 16], strides: [128, 32, 16, 1] : memref<f16> to memref<?x4x2x16xf16, strided<[128, 32, 16, 1]>>
  %zero = arith.constant 0.0 : f32
  %s_empty = tensor.empty(%n) : tensor<?x4x2x16xf32>
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x4x2x16xf32>) -> tensor<?x4x2x16xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p,k)->(m,k)>, affine_map<(m,h,t,p,k)->(k,h,t,p)>, affine_map<(m,h,t,p,k)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x72xf16>, tensor<72x4x2x16xf16>) outs(%s_fill : tensor<?x4x2x16xf32>) {
  ^bb0(%x: f16, %w: f16, %s: f32):
    %e = arith.extf %x : f16 to f32
    %f = arith.extf %w : f16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x4x2x16xf32>
  %e_empty = tensor.empty(%n) : tensor<?x4x2x16xf32>
  %e_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%e_empty : tensor<?x4x2x16xf32>) {
  ^bb0(%e: f32):
    %row = linalg.index 0 : index
    %head = linalg.index 1 : index
    %two = linalg.index 2 : index
    %minus = arith.constant -1 : index
    %one = arith.constant 1 : index
    %back = arith.muli %two, %minus : index
    %other = arith.addi %one, %back : index
    %at = linalg.index 3 : index
    %v = tensor.extract %s_t[%row, %head, %other, %at] : tensor<?x4x2x16xf32>
    linalg.yield %v : f32
  } -> tensor<?x4x2x16xf32>
  %y_empty = tensor.empty(%n) : tensor<?x4x2x16xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s_t, %e_t, %c_t : tensor<?x4x2x16xf32>, tensor<?x4x2x16xf32>, tensor<2x16xf32>) outs(%y_empty : tensor<?x4x2x16xf16>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %y: f16):
    %p = arith.mulf %b, %c : f32
    %q = arith.addf %a, %p : f32
    %r = arith.truncf %q : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x4x2x16xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x4x2x16xf16>, memref<?x4x2x16xf16, strided<[128, 32, 16, 1]>>) -> ()
  return
}

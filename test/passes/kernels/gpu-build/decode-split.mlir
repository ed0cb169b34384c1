// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s
// RUN: sed 's/kernel.buffers =/kernel.forced_schedule = #kernel.schedule<"decode 8 rows x 16 keys x 4 warps stages 2 cluster 4">, kernel.buffers =/' %s | kpc-opt --kpc-gpu-build-kernels=arch=sm_90a | FileCheck %s --check-prefix=WHOLE

// Attention of one token of four heads on one, with 32768 keys: 32 blocks of the grid share them. Two of the results are memory: parts of sums, and
// a counter that is zero.

// CHECK-LABEL: gpu.func @attention(
// CHECK-SAME: grid = ["32", "1", "1"]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"decode 8 rows x 16 keys x 8 warps stages 3 cluster 1 split 32">
// CHECK: scf.for
// CHECK: nvvm.mma.sync
// The warps' parts, joined, and stored.
// CHECK: tile.sync block
// CHECK: scf.for
// CHECK: vector.store {{.*}} vector<4xf32>
// CHECK: vector.store {{.*}} vector<2xf32>
// The last block to count has all of them, and adds them up in their order.
// CHECK: tile.sync block
// CHECK: %[[BEFORE:.*]] = nvvm.inline_ptx "atom.acq_rel.gpu.global.add.u32
// CHECK: arith.sitofp %[[BEFORE]]
// CHECK: tile.store_vector
// CHECK: tile.sync block
// CHECK: tile.load_vector
// CHECK: %[[IS_LAST:.*]] = arith.cmpf oeq
// CHECK: scf.if %[[IS_LAST]]
// CHECK-COUNT-16: vector.load
// CHECK: scf.for
// CHECK-COUNT-16: vector.load
// CHECK: vector.store {{.*}} vector<4xf16>

// A schedule that does not split leaves the memory alone.
// WHOLE: cluster = 4
// WHOLE-NOT: atom.
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0) -> ()>
#map2 = affine_map<(d0) -> (d0)>
func.func @attention(%arg0: memref<f16>, %arg1: memref<f16>, %arg2: memref<f16>, %arg3: memref<f16>, %arg4: memref<f32>, %arg5: memref<i32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3, 4, 5]>} {
  %reinterpret_cast = memref.reinterpret_cast %arg0 to offset: [0], sizes: [1, 4, 1, 128], strides: [512, 128, 128, 1] : memref<f16> to memref<1x4x1x128xf16, strided<[512, 128, 128, 1]>>
  %0 = bufferization.to_tensor %reinterpret_cast restrict : memref<1x4x1x128xf16, strided<[512, 128, 128, 1]>> to tensor<1x4x1x128xf16>
  %1 = tensor.empty() : tensor<1x4x1x128xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%0 : tensor<1x4x1x128xf16>) outs(%1 : tensor<1x4x1x128xf32>) {
  ^bb0(%in: f16, %out: f32):
    %21 = arith.extf %in : f16 to f32
    linalg.yield %21 : f32
  } -> tensor<1x4x1x128xf32>
  %reinterpret_cast_0 = memref.reinterpret_cast %arg1 to offset: [0], sizes: [1, 1, 32768, 128], strides: [4194304, 4194304, 128, 1] : memref<f16> to memref<1x1x32768x128xf16, strided<[4194304, 4194304, 128, 1]>>
  %3 = bufferization.to_tensor %reinterpret_cast_0 restrict : memref<1x1x32768x128xf16, strided<[4194304, 4194304, 128, 1]>> to tensor<1x1x32768x128xf16>
  %4 = tensor.empty() : tensor<1x1x32768x128xf32>
  %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3 : tensor<1x1x32768x128xf16>) outs(%4 : tensor<1x1x32768x128xf32>) {
  ^bb0(%in: f16, %out: f32):
    %21 = arith.extf %in : f16 to f32
    linalg.yield %21 : f32
  } -> tensor<1x1x32768x128xf32>
  %reinterpret_cast_1 = memref.reinterpret_cast %arg2 to offset: [0], sizes: [1, 1, 32768, 128], strides: [4194304, 4194304, 128, 1] : memref<f16> to memref<1x1x32768x128xf16, strided<[4194304, 4194304, 128, 1]>>
  %6 = bufferization.to_tensor %reinterpret_cast_1 restrict : memref<1x1x32768x128xf16, strided<[4194304, 4194304, 128, 1]>> to tensor<1x1x32768x128xf16>
  %7 = tensor.empty() : tensor<1x1x32768x128xf32>
  %8 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6 : tensor<1x1x32768x128xf16>) outs(%7 : tensor<1x1x32768x128xf32>) {
  ^bb0(%in: f16, %out: f32):
    %21 = arith.extf %in : f16 to f32
    linalg.yield %21 : f32
  } -> tensor<1x1x32768x128xf32>
  %9 = tensor.empty() : tensor<1x4x1x128xf32>
  %10 = kernel.attention %2, %5, %8 scale 0.088388347648318433 tf32 into %9 : (tensor<1x4x1x128xf32>, tensor<1x1x32768x128xf32>, tensor<1x1x32768x128xf32>, tensor<1x4x1x128xf32>) -> tensor<1x4x1x128xf32>
  %cst = arith.constant 0.000000e+00 : f32
  %11 = tensor.empty() : tensor<f32>
  %12 = linalg.fill ins(%cst : f32) outs(%11 : tensor<f32>) -> tensor<f32>
  %13 = tensor.empty() : tensor<540672xf32>
  %14 = linalg.generic {indexing_maps = [#map1, #map2], iterator_types = ["parallel"]} ins(%12 : tensor<f32>) outs(%13 : tensor<540672xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<540672xf32>
  %c0_i32 = arith.constant 0 : i32
  %15 = tensor.empty() : tensor<i32>
  %16 = linalg.fill ins(%c0_i32 : i32) outs(%15 : tensor<i32>) -> tensor<i32>
  %17 = tensor.empty() : tensor<256xi32>
  %18 = linalg.generic {indexing_maps = [#map1, #map2], iterator_types = ["parallel"]} ins(%16 : tensor<i32>) outs(%17 : tensor<256xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<256xi32>
  %reinterpret_cast_2 = memref.reinterpret_cast %arg3 to offset: [0], sizes: [1, 4, 1, 128], strides: [512, 128, 128, 1] : memref<f16> to memref<1x4x1x128xf16, strided<[512, 128, 128, 1]>>
  %19 = tensor.empty() : tensor<1x4x1x128xf16>
  %20 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10 : tensor<1x4x1x128xf32>) outs(%19 : tensor<1x4x1x128xf16>) {
  ^bb0(%in: f32, %out: f16):
    %21 = arith.truncf %in : f32 to f16
    linalg.yield %21 : f16
  } -> tensor<1x4x1x128xf16>
  bufferization.materialize_in_destination %20 in restrict writable %reinterpret_cast_2 : (tensor<1x4x1x128xf16>, memref<1x4x1x128xf16, strided<[512, 128, 128, 1]>>) -> ()
  %reinterpret_cast_3 = memref.reinterpret_cast %arg4 to offset: [0], sizes: [540672], strides: [1] : memref<f32> to memref<540672xf32, strided<[1]>>
  bufferization.materialize_in_destination %14 in restrict writable %reinterpret_cast_3 : (tensor<540672xf32>, memref<540672xf32, strided<[1]>>) -> ()
  %reinterpret_cast_4 = memref.reinterpret_cast %arg5 to offset: [0], sizes: [256], strides: [1] : memref<i32> to memref<256xi32, strided<[1]>>
  bufferization.materialize_in_destination %18 in restrict writable %reinterpret_cast_4 : (tensor<256xi32>, memref<256xi32, strided<[1]>>) -> ()
  return
}

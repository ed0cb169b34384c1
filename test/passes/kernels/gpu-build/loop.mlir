// RUN: kpc-opt %s -kpc-gpu-build-kernels=arch=sm_90a | FileCheck %s

#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (0, d0)>
#map2 = affine_map<(d0, d1) -> (d0, 0)>
#map3 = affine_map<(d0, d1) -> (d1)>
#map4 = affine_map<(d0, d1) -> (d0)>

// A block has 8 of 64 rows, and their state in shared memory once: a next element takes the place of its own old one.
// What a step reads is loaded in the step before, and 4 lanes share a sum.
// CHECK: gpu.func @scan
// CHECK-SAME: #kernel.launch<grid = ["8", "1", "1"], block = [32, 1, 1], shared = 1024
// CHECK-SAME: schedule<"loop axis 0 x 8 32 threads">
// CHECK: %[[STATE:.*]] = memref.view %{{.*}} to memref<128xf32, #gpu.address_space<workgroup>>
// CHECK-NOT: memref.view
// CHECK: gpu.barrier
// CHECK: %[[FIRST:.*]] = memref.load %[[X:.*]][%c0, %{{.*}}] : memref<100x64xf32
// CHECK: scf.for %[[I:.*]] = %c0 to %c100 step %c1 iter_args(%[[AHEAD:.*]] = %[[FIRST]],
// CHECK: arith.addi %[[I]], %c1
// CHECK: %[[LAST:.*]] = arith.minsi %{{.*}}, %c99
// CHECK: %[[NEXT:.*]] = memref.load %[[X]][%[[LAST]], %{{.*}}]
// CHECK: %[[OLD:.*]] = memref.load %[[STATE]][%[[AT:.*]]]
// CHECK: %[[HALF:.*]] = arith.mulf %[[OLD]]
// CHECK: %[[NEW:.*]] = arith.addf %[[HALF]], %[[AHEAD]]
// CHECK: memref.store %[[NEW]], %[[STATE]][%[[AT]]]
// CHECK: gpu.barrier
// CHECK-COUNT-2: gpu.shuffle xor
// CHECK: scf.if
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[I]], %{{.*}}] : memref<100x64xf32
// CHECK: gpu.barrier
// CHECK: scf.yield %[[NEXT]],
func.func @scan(%arg0: memref<f32>, %arg1: memref<f32>, %arg2: memref<f32>, %arg3: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2, 3]>} {
  %reinterpret_cast = memref.reinterpret_cast %arg0 to offset: [0], sizes: [64, 16], strides: [16, 1] : memref<f32> to memref<64x16xf32, strided<[16, 1]>>
  %0 = bufferization.to_tensor %reinterpret_cast restrict : memref<64x16xf32, strided<[16, 1]>> to tensor<64x16xf32>
  %reinterpret_cast_0 = memref.reinterpret_cast %arg1 to offset: [0], sizes: [100, 64], strides: [64, 1] : memref<f32> to memref<100x64xf32, strided<[64, 1]>>
  %1 = bufferization.to_tensor %reinterpret_cast_0 restrict : memref<100x64xf32, strided<[64, 1]>> to tensor<100x64xf32>
  %cst = arith.constant 5.000000e-01 : f32
  %2 = tensor.empty() : tensor<64x16xf32>
  %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<64x16xf32>) -> tensor<64x16xf32>
  %c100 = arith.constant 100 : index
  %4:2 = kernel.loop %c100(%0) reversed [false] : (tensor<64x16xf32>) -> (tensor<64x16xf32>, tensor<100x64xf32>) {
  ^bb0(%arg4: index, %arg5: tensor<64x16xf32>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %5 = arith.muli %c1, %arg4 : index
    %6 = arith.addi %c0, %5 : index
    %c0_3 = arith.constant 0 : index
    %7 = tensor.empty() : tensor<1x64xf32>
    %8 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]} outs(%7 : tensor<1x64xf32>) {
    ^bb0(%out: f32):
      %21 = linalg.index 0 : index
      %22 = linalg.index 1 : index
      %23 = arith.addi %6, %21 : index
      %24 = arith.addi %c0_3, %22 : index
      %extracted = tensor.extract %1[%23, %24] : tensor<100x64xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x64xf32>
    %9 = tensor.empty() : tensor<64x1xf32>
    %10 = linalg.generic {indexing_maps = [#map1, #map], iterator_types = ["parallel", "parallel"]} ins(%8 : tensor<1x64xf32>) outs(%9 : tensor<64x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<64x1xf32>
    %11 = tensor.empty() : tensor<64x16xf32>
    %12 = linalg.generic {indexing_maps = [#map2, #map], iterator_types = ["parallel", "parallel"]} ins(%10 : tensor<64x1xf32>) outs(%11 : tensor<64x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<64x16xf32>
    %13 = tensor.empty() : tensor<64x16xf32>
    %14 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg5, %3 : tensor<64x16xf32>, tensor<64x16xf32>) outs(%13 : tensor<64x16xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %21 = arith.mulf %in, %in_5 : f32
      linalg.yield %21 : f32
    } -> tensor<64x16xf32>
    %15 = tensor.empty() : tensor<64x16xf32>
    %16 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%14, %12 : tensor<64x16xf32>, tensor<64x16xf32>) outs(%15 : tensor<64x16xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %21 = arith.addf %in, %in_5 : f32
      linalg.yield %21 : f32
    } -> tensor<64x16xf32>
    %c16 = arith.constant 16 : index
    %cst_4 = arith.constant 0.000000e+00 : f32
    %17 = tensor.empty() : tensor<64xf32>
    %18 = linalg.fill ins(%cst_4 : f32) outs(%17 : tensor<64xf32>) -> tensor<64xf32>
    %19 = tensor.empty() : tensor<16xi1>
    %20 = linalg.generic {indexing_maps = [#map, #map3, #map4], iterator_types = ["parallel", "reduction"]} ins(%16, %19 : tensor<64x16xf32>, tensor<16xi1>) outs(%18 : tensor<64xf32>) {
    ^bb0(%in: f32, %in_5: i1, %out: f32):
      %21 = arith.addf %out, %in : f32
      linalg.yield %21 : f32
    } -> tensor<64xf32>
    kernel.next %16, %20 : tensor<64x16xf32>, tensor<64xf32>
  }
  %reinterpret_cast_1 = memref.reinterpret_cast %arg2 to offset: [0], sizes: [64, 16], strides: [16, 1] : memref<f32> to memref<64x16xf32, strided<[16, 1]>>
  bufferization.materialize_in_destination %4#0 in restrict writable %reinterpret_cast_1 : (tensor<64x16xf32>, memref<64x16xf32, strided<[16, 1]>>) -> ()
  %reinterpret_cast_2 = memref.reinterpret_cast %arg3 to offset: [0], sizes: [100, 64], strides: [64, 1] : memref<f32> to memref<100x64xf32, strided<[64, 1]>>
  bufferization.materialize_in_destination %4#1 in restrict writable %reinterpret_cast_2 : (tensor<100x64xf32>, memref<100x64xf32, strided<[64, 1]>>) -> ()
  return
}

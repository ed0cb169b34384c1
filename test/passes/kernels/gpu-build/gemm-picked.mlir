// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_80 %s | FileCheck %s --check-prefix=SYNC
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_100a %s | FileCheck %s --check-prefix=PAIRS

// Each index of the batch has the matrix of a stack that a vector says: the tensor map is the stack's, and its index is read once for a tile.

// CHECK-LABEL: gpu.module @picked
// CHECK: kernel.schedule = #kernel.schedule<"gemm
// CHECK-SAME: #kernel.tensor_map<buffer = 2, element = f16, dims = ["136", "arg5", "arg4"]
// CHECK-SAME: #kernel.tensor_map<buffer = 0, element = f16, dims = ["72", "136", "3"], strides = ["144", "19584"]
// CHECK: memref.load %{{.*}} : memref<?xi64
// CHECK: scf.for
// CHECK-NOT: memref.load
// CHECK: %[[LAST:.*]] = arith.minsi
// CHECK: %[[INSIDE:.*]] = arith.maxsi %[[LAST]]
// CHECK: tile.tma_load %{{.*}}[%[[INSIDE]],
// SYNC-LABEL: gpu.module @picked
// SYNC: kernel.schedule = #kernel.schedule<"mmasync
// SYNC: memref.load %{{.*}} : memref<?xi64
// SYNC: %[[INSIDE:.*]] = arith.maxsi
// SYNC: arith.muli %[[INSIDE]], %c9792
// PAIRS-LABEL: gpu.module @picked
// PAIRS: #kernel.tensor_map<buffer = 0, element = f16, dims = ["72", "136", "3"]
#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
func.func @picked(%w_p: memref<f16>, %i_p: memref<i64>, %x_p: memref<f16>, %y_p: memref<f16>, %b: index {kernel.size = #kernel.size<min = 1, max = 64, optimum = 32>}, %m: index {kernel.size = #kernel.size<min = 1, max = 64, optimum = 32>}, %sx: index {kernel.size = #kernel.size<min = 136, max = 8704, divisor = 136, optimum = 4352>}, %sy: index {kernel.size = #kernel.size<min = 72, max = 4608, divisor = 72, optimum = 2304>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [3, 136, 72], strides: [9792, 72, 1] : memref<f16> to memref<3x136x72xf16, strided<[9792, 72, 1]>>
  %w = bufferization.to_tensor %w_m restrict : memref<3x136x72xf16, strided<[9792, 72, 1]>> to tensor<3x136x72xf16>
  %i_m = memref.reinterpret_cast %i_p to offset: [0], sizes: [%b], strides: [1] : memref<i64> to memref<?xi64, strided<[1]>>
  %i = bufferization.to_tensor %i_m restrict : memref<?xi64, strided<[1]>> to tensor<?xi64>
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%b, %m, 136], strides: [%sx, 136, 1] : memref<f16> to memref<?x?x136xf16, strided<[?, 136, 1]>>
  %x = bufferization.to_tensor %x_m restrict : memref<?x?x136xf16, strided<[?, 136, 1]>> to tensor<?x?x136xf16>
  %xe = tensor.empty(%b, %m) : tensor<?x?x136xf32>
  %xw = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<?x?x136xf16>) outs(%xe : tensor<?x?x136xf32>) {
  ^bb0(%in: f16, %out: f32):
    %e = arith.extf %in : f16 to f32
    linalg.yield %e : f32
  } -> tensor<?x?x136xf32>
  %we = tensor.empty() : tensor<3x136x72xf32>
  %ww = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w : tensor<3x136x72xf16>) outs(%we : tensor<3x136x72xf32>) {
  ^bb0(%in: f16, %out: f32):
    %e = arith.extf %in : f16 to f32
    linalg.yield %e : f32
  } -> tensor<3x136x72xf32>
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %oe = tensor.empty(%b) : tensor<?x136x72xf32>
  %own = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel"]} outs(%oe : tensor<?x136x72xf32>) {
  ^bb0(%out: f32):
    %d0 = linalg.index 0 : index
    %d1 = linalg.index 1 : index
    %d2 = linalg.index 2 : index
    %at = tensor.extract %i[%d0] : tensor<?xi64>
    %index = arith.index_cast %at : i64 to index
    %low = arith.minsi %index, %c2 : index
    %inside = arith.maxsi %low, %c0 : index
    %e = tensor.extract %ww[%inside, %d1, %d2] : tensor<3x136x72xf32>
    linalg.yield %e : f32
  } -> tensor<?x136x72xf32>
  %zero = arith.constant 0.0 : f32
  %ze = tensor.empty(%b, %m) : tensor<?x?x72xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%ze : tensor<?x?x72xf32>) -> tensor<?x?x72xf32>
  %g = kernel.gemm %xw, %own into %zeros : (tensor<?x?x136xf32>, tensor<?x136x72xf32>, tensor<?x?x72xf32>) -> tensor<?x?x72xf32>
  %ye = tensor.empty(%b, %m) : tensor<?x?x72xf16>
  %y = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%g : tensor<?x?x72xf32>) outs(%ye : tensor<?x?x72xf16>) {
  ^bb0(%in: f32, %out: f16):
    %t = arith.truncf %in : f32 to f16
    linalg.yield %t : f16
  } -> tensor<?x?x72xf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%b, %m, 72], strides: [%sy, 72, 1] : memref<f16> to memref<?x?x72xf16, strided<[?, 72, 1]>>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<?x?x72xf16>, memref<?x?x72xf16, strided<[?, 72, 1]>>) -> ()
  return
}

// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s

// A tile goes through shared memory, whose lines have one element more so that columns are in different banks.

// CHECK-LABEL: gpu.module @transpose_matrix
// CHECK: gpu.func @transpose_matrix(
// CHECK-SAME: workgroup(%[[TILE:.*]] : memref<32x33xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: kernel.schedule = #kernel.schedule<"transpose 32x32">
// CHECK-SAME: known_block_size = array<i32: 32, 8, 1>
// CHECK: memref.store %{{.*}}, %[[TILE]]
// CHECK: gpu.barrier
// CHECK: memref.load %[[TILE]]
// CHECK: memref.store
func.func @transpose_matrix(%x_p: memref<f32>, %y_p: memref<f32>, %m: index, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_s1_0 = arith.constant 1 : index
  %x_s1 = arith.muli %x_s1_0, %n : index
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%m, %n], strides: [%x_s1, 1] : memref<f32> to memref<?x?xf32, strided<[?, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x?xf32, strided<[?, 1]>> to tensor<?x?xf32>
  %y_s1_0 = arith.constant 1 : index
  %y_s1 = arith.muli %y_s1_0, %m : index
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, %m], strides: [%y_s1, 1] : memref<f32> to memref<?x?xf32, strided<[?, 1]>>
  %y_empty = tensor.empty(%n, %m) : tensor<?x?xf32>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(b,a)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%x_t : tensor<?x?xf32>) outs(%y_empty : tensor<?x?xf32>) {
    ^bb0(%x: f32, %y: f32):
    %r = arith.addf %x, %x : f32
    linalg.yield %r : f32
  } -> tensor<?x?xf32>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x?xf32>, memref<?x?xf32, strided<[?, 1]>>) -> ()
  return
}

// Rows that stay rows need no tile.
// CHECK-LABEL: gpu.module @swap_long_rows
// CHECK: kernel.schedule = #kernel.schedule<"map
// CHECK-NOT: workgroup
func.func @swap_long_rows(%x_p: memref<i64>, %y_p: memref<i64>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_s1_0 = arith.constant 64 : index
  %x_s1 = arith.muli %x_s1_0, %n : index
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [3, %n, 64], strides: [%x_s1, 64, 1] : memref<i64> to memref<3x?x64xi64, strided<[?, 64, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<3x?x64xi64, strided<[?, 64, 1]>> to tensor<3x?x64xi64>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 3, 64], strides: [192, 64, 1] : memref<i64> to memref<?x3x64xi64, strided<[192, 64, 1]>>
  %y_empty = tensor.empty(%n) : tensor<?x3x64xi64>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b,c)->(b,a,c)>, affine_map<(a,b,c)->(a,b,c)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x_t : tensor<3x?x64xi64>) outs(%y_empty : tensor<?x3x64xi64>) {
    ^bb0(%x: i64, %y: i64):
    %r = arith.addi %x, %x : i64
    linalg.yield %r : i64
  } -> tensor<?x3x64xi64>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x3x64xi64>, memref<?x3x64xi64, strided<[192, 64, 1]>>) -> ()
  return
}

// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s

// A block walks a row in tiles: sums of threads, of warps by shuffles, then what is in front of each.

// CHECK-LABEL: gpu.module @rows
// CHECK: workgroup(%[[TOTALS:.*]] : memref<2x8xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: kernel.schedule = #kernel.schedule<"scan 256 x4">
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK: scf.for {{.*}} iter_args
// CHECK: vector.load {{.*}} vector<4xf32>
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: memref.store %{{.*}}, %[[TOTALS]]
// CHECK: gpu.barrier
// CHECK-COUNT-8: memref.load %[[TOTALS]]
// CHECK: vector.store {{.*}} vector<4xf32>
func.func @rows(%x_p: memref<f32>, %y_p: memref<f32>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 4096], strides: [4096, 1] : memref<f32> to memref<?x4096xf32, strided<[4096, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x4096xf32, strided<[4096, 1]>> to tensor<?x4096xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 4096], strides: [4096, 1] : memref<f32> to memref<?x4096xf32, strided<[4096, 1]>>
  %taps = tensor.empty() : tensor<4096xi1>
  %y_empty = tensor.empty(%n) : tensor<?x4096xf32>
  %y_init = arith.constant 0.0 : f32
  %y_fill = linalg.fill ins(%y_init : f32) outs(%y_empty : tensor<?x4096xf32>) -> tensor<?x4096xf32>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b,k)->(k)>, affine_map<(a,b,k)->(a,b)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%taps : tensor<4096xi1>) outs(%y_fill : tensor<?x4096xf32>) {
    ^bb0(%t: i1, %acc: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = linalg.index 2 : index
    %taken = arith.cmpi ule, %k, %j : index
    %e = tensor.extract %x_t[%i, %k] : tensor<?x4096xf32>
    %sum = arith.addf %acc, %e : f32
    %r = arith.select %taken, %sum, %acc : f32
    linalg.yield %r : f32
  } -> tensor<?x4096xf32>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x4096xf32>, memref<?x4096xf32, strided<[4096, 1]>>) -> ()
  return
}

// Across lines a thread walks a column, here from the end of each block to its start.

// CHECK-LABEL: gpu.module @columns
// CHECK-NOT: workgroup
// CHECK: kernel.schedule = #kernel.schedule<"scan columns x8">
// CHECK: scf.if
// CHECK: scf.for
// CHECK-COUNT-8: memref.load
// CHECK-COUNT-8: memref.store
// CHECK: scf.for
// CHECK: memref.load
// CHECK: memref.store
func.func @columns(%x_p: memref<i32>, %y_p: memref<i32>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 24], strides: [24, 1] : memref<i32> to memref<?x24xi32, strided<[24, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x24xi32, strided<[24, 1]>> to tensor<?x24xi32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 24], strides: [24, 1] : memref<i32> to memref<?x24xi32, strided<[24, 1]>>
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %taps = tensor.empty() : tensor<256xi1>
  %y_empty = tensor.empty(%n) : tensor<?x24xi32>
  %y_init = arith.constant 0 : i32
  %y_fill = linalg.fill ins(%y_init : i32) outs(%y_empty : tensor<?x24xi32>) -> tensor<?x24xi32>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b,k)->(k)>, affine_map<(a,b,k)->(a,b)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%taps : tensor<256xi1>) outs(%y_fill : tensor<?x24xi32>) {
    ^bb0(%t: i1, %acc: i32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = linalg.index 2 : index
    %block = arith.divui %i, %c256 : index
    %first = arith.muli %block, %c256 : index
    %tap = arith.addi %first, %k : index
    %last = arith.subi %n, %c1 : index
    %at = arith.minui %tap, %last : index
    %behind = arith.cmpi ugt, %tap, %i : index
    %inside = arith.cmpi ult, %tap, %n : index
    %taken = arith.andi %behind, %inside : i1
    %e = tensor.extract %x_t[%at, %j] : tensor<?x24xi32>
    %sum = arith.addi %acc, %e : i32
    %r = arith.select %taken, %sum, %acc : i32
    linalg.yield %r : i32
  } -> tensor<?x24xi32>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x24xi32>, memref<?x24xi32, strided<[24, 1]>>) -> ()
  return
}

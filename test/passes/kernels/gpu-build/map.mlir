// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s

// Neighbouring elements are loaded and stored as one vector, 16 bytes on Hopper; a ragged end is done one by one.

// CHECK-LABEL: gpu.module @relu_dynamic
// CHECK: gpu.func @relu_dynamic(%[[X:.*]]: memref<f32> {llvm.align = 64 : i64}, %[[Y:.*]]: memref<f32> {llvm.align = 64 : i64}, %[[N:.*]]: index) kernel
// CHECK-SAME: grid = ["ceildiv(floordiv(arg2 + 3, 4), 256)", "1", "1"]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"map x4">
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK: gpu.block_id x
// CHECK: gpu.thread_id x
// CHECK: scf.if
// CHECK: vector.load %{{.*}} {alignment = 16 : i64} : {{.*}}, vector<4xf32>
// CHECK: arith.maximumf
// CHECK: vector.store %{{.*}} {alignment = 16 : i64} : {{.*}}, vector<4xf32>
// CHECK: else
// CHECK: scf.for
// CHECK: memref.load
// CHECK: memref.store
// CHECK-NOT: linalg
// CHECK-NOT: tensor
func.func @relu_dynamic(%x_p: memref<f32>, %y_p: memref<f32>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n], strides: [1] : memref<f32> to memref<?xf32, strided<[1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?xf32, strided<[1]>> to tensor<?xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n], strides: [1] : memref<f32> to memref<?xf32, strided<[1]>>
  %y_empty = tensor.empty(%n) : tensor<?xf32>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a)->(a)>, affine_map<(a)->(a)>], iterator_types = ["parallel"]} ins(%x_t : tensor<?xf32>) outs(%y_empty : tensor<?xf32>) {
    ^bb0(%x: f32, %y: f32):
    %z = arith.constant 0.0 : f32
    %r = arith.maximumf %x, %z : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?xf32>, memref<?xf32, strided<[1]>>) -> ()
  return
}

// Bools are bytes in memory.
// CHECK-LABEL: gpu.module @not
// CHECK: gpu.func @not(%{{.*}}: memref<i8>
// CHECK: vector.load %{{.*}} {alignment = 8 : i64} : {{.*}}, vector<8xi8>
// CHECK: arith.cmpi ne
// CHECK: arith.extui %{{.*}} : vector<8xi1> to vector<8xi8>
func.func @not(%x_p: memref<i1>, %y_p: memref<i1>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n], strides: [1] : memref<i1> to memref<?xi1, strided<[1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?xi1, strided<[1]>> to tensor<?xi1>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n], strides: [1] : memref<i1> to memref<?xi1, strided<[1]>>
  %y_empty = tensor.empty(%n) : tensor<?xi1>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a)->(a)>, affine_map<(a)->(a)>], iterator_types = ["parallel"]} ins(%x_t : tensor<?xi1>) outs(%y_empty : tensor<?xi1>) {
    ^bb0(%x: i1, %y: i1):
    %t = arith.constant true
    %r = arith.xori %x, %t : i1
    linalg.yield %r : i1
  } -> tensor<?xi1>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?xi1>, memref<?xi1, strided<[1]>>) -> ()
  return
}

// Rows of 5 elements: no vectors.
// CHECK-LABEL: gpu.module @bias_ragged
// CHECK: kernel.schedule = #kernel.schedule<"map x1">
// CHECK-NOT: vector
// CHECK: arith.remui
// CHECK: memref.store
func.func @bias_ragged(%x_p: memref<f32>, %b_p: memref<f32>, %y_p: memref<f32>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 4, 5], strides: [20, 5, 1] : memref<f32> to memref<?x4x5xf32, strided<[20, 5, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x4x5xf32, strided<[20, 5, 1]>> to tensor<?x4x5xf32>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [5], strides: [1] : memref<f32> to memref<5xf32, strided<[1]>>
  %b_t = bufferization.to_tensor %b_m restrict : memref<5xf32, strided<[1]>> to tensor<5xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 4, 5], strides: [20, 5, 1] : memref<f32> to memref<?x4x5xf32, strided<[20, 5, 1]>>
  %y_empty = tensor.empty(%n) : tensor<?x4x5xf32>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b,c)->(a,b,c)>, affine_map<(a,b,c)->(c)>, affine_map<(a,b,c)->(a,b,c)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x_t, %b_t : tensor<?x4x5xf32>, tensor<5xf32>) outs(%y_empty : tensor<?x4x5xf32>) {
    ^bb0(%x: f32, %b: f32, %y: f32):
    %r = arith.addf %x, %b : f32
    linalg.yield %r : f32
  } -> tensor<?x4x5xf32>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x4x5xf32>, memref<?x4x5xf32, strided<[20, 5, 1]>>) -> ()
  return
}

// Outputs of two shapes: every thread walks both.
// CHECK-LABEL: gpu.module @two_shapes
// CHECK: kernel.schedule = #kernel.schedule<"map sections">
// CHECK: gpu.grid_dim x
// CHECK: scf.for
// CHECK: scf.for
func.func @two_shapes(%x_p: memref<f32>, %y_p: memref<f32>, %w_p: memref<f32>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1, 2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 8], strides: [8, 1] : memref<f32> to memref<?x8xf32, strided<[8, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x8xf32, strided<[8, 1]>> to tensor<?x8xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 8], strides: [8, 1] : memref<f32> to memref<?x8xf32, strided<[8, 1]>>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [%n], strides: [1] : memref<f32> to memref<?xf32, strided<[1]>>
  %y_empty = tensor.empty(%n) : tensor<?x8xf32>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%x_t : tensor<?x8xf32>) outs(%y_empty : tensor<?x8xf32>) {
    ^bb0(%x: f32, %y: f32):
    %z = arith.constant 0.0 : f32
    %r = arith.maximumf %x, %z : f32
    linalg.yield %r : f32
  } -> tensor<?x8xf32>
  %w_empty = tensor.empty(%n) : tensor<?xf32>
  %w_t = linalg.generic {indexing_maps = [affine_map<(a)->(a,0)>, affine_map<(a)->(a)>], iterator_types = ["parallel"]} ins(%x_t : tensor<?x8xf32>) outs(%w_empty : tensor<?xf32>) {
    ^bb0(%x: f32, %w: f32):
    %z = arith.constant 0.0 : f32
    %r = arith.maximumf %x, %z : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x8xf32>, memref<?x8xf32, strided<[8, 1]>>) -> ()
  bufferization.materialize_in_destination %w_t in restrict writable %w_m : (tensor<?xf32>, memref<?xf32, strided<[1]>>) -> ()
  return
}

// A copy into padded rows, which are aligned: vectors, and less at a row's end.
// CHECK-LABEL: gpu.module @into_padded
// CHECK: grid = ["ceildiv(arg2*126, 256)", "1", "1"]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"map x8 ragged">
// CHECK: %[[END:.*]] = arith.addi %{{.*}}, %c8
// CHECK: %[[WHOLE:.*]] = arith.cmpi sle, %[[END]], %c1001
// CHECK: scf.if %[[WHOLE]]
// CHECK-COUNT-8: memref.load
// CHECK: vector.store %{{.*}} {alignment = 16 : i64} : {{.*}}, vector<8xf16>
// CHECK: else
// CHECK: scf.for
// CHECK: memref.store
func.func @into_padded(%x_p: memref<f16>, %y_p: memref<f16>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 1001], strides: [1001, 1] : memref<f16> to memref<?x1001xf16, strided<[1001, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x1001xf16, strided<[1001, 1]>> to tensor<?x1001xf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 1001], strides: [1024, 1] : memref<f16> to memref<?x1001xf16, strided<[1024, 1]>>
  bufferization.materialize_in_destination %x_t in restrict writable %y_m : (tensor<?x1001xf16>, memref<?x1001xf16, strided<[1024, 1]>>) -> ()
  return
}

// And out of them, into rows that begin anywhere: 8 elements a thread, a warp apart, all loaded before one is stored.
// CHECK-LABEL: gpu.module @from_padded
// CHECK: grid = ["ceildiv(arg2*128, 256)", "1", "1"]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"map x8 spread">
// CHECK: arith.remui %{{.*}}, %c32
// CHECK: %[[LAST:.*]] = arith.minsi %{{.*}}, %c1000
// CHECK-COUNT-8: memref.load
// CHECK-NOT: memref.load
// CHECK-COUNT-8: memref.store
func.func @from_padded(%x_p: memref<f16>, %y_p: memref<f16>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 1001], strides: [1024, 1] : memref<f16> to memref<?x1001xf16, strided<[1024, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x1001xf16, strided<[1024, 1]>> to tensor<?x1001xf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 1001], strides: [1001, 1] : memref<f16> to memref<?x1001xf16, strided<[1001, 1]>>
  bufferization.materialize_in_destination %x_t in restrict writable %y_m : (tensor<?x1001xf16>, memref<?x1001xf16, strided<[1001, 1]>>) -> ()
  return
}

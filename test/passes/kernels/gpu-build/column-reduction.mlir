// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s

// Threads along a line read it together; groups of them split the rows.

// CHECK-LABEL: gpu.module @column_sum
// CHECK: workgroup(%[[PARTS:.*]] : memref<32x32xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: kernel.schedule = #kernel.schedule<"column-reduction 32 groups">
// CHECK-SAME: known_block_size = array<i32: 32, 32, 1>
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[PARTS]]
// CHECK: gpu.barrier
// CHECK-COUNT-32: memref.load %[[PARTS]]
// CHECK: memref.store
func.func @column_sum(%x_p: memref<f32>, %y_p: memref<f32>, %n: index, %c: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_s1_0 = arith.constant 1 : index
  %x_s1 = arith.muli %x_s1_0, %c : index
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, %c], strides: [%x_s1, 1] : memref<f32> to memref<?x?xf32, strided<[?, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x?xf32, strided<[?, 1]>> to tensor<?x?xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%c], strides: [1] : memref<f32> to memref<?xf32, strided<[1]>>
  %y_empty = tensor.empty(%c) : tensor<?xf32>
  %y_init = arith.constant 0.0 : f32
  %y_fill = linalg.fill ins(%y_init : f32) outs(%y_empty : tensor<?xf32>) -> tensor<?xf32>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(b,a)>, affine_map<(a,b)->(a)>], iterator_types = ["parallel", "reduction"]} ins(%x_t : tensor<?x?xf32>) outs(%y_fill : tensor<?xf32>) {
    ^bb0(%x: f32, %y: f32):
    %r = arith.addf %y, %x : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?xf32>, memref<?xf32, strided<[1]>>) -> ()
  return
}

// Of 3 columns a warp reads ten rows and more; groups are joined in halves.

// CHECK-LABEL: gpu.module @narrow
// CHECK: workgroup(%[[PARTS:.*]] : memref<341x3xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: kernel.schedule = #kernel.schedule<"column-reduction 341 groups of 3">
// CHECK-SAME: known_block_size = array<i32: 3, 341, 1>
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[PARTS]]
// CHECK-COUNT-10: gpu.barrier
// CHECK: memref.load %[[PARTS]]
func.func @narrow(%x_p: memref<f32>, %y_p: memref<f32>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 3], strides: [3, 1] : memref<f32> to memref<?x3xf32, strided<[3, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x3xf32, strided<[3, 1]>> to tensor<?x3xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [3], strides: [1] : memref<f32> to memref<3xf32, strided<[1]>>
  %y_empty = tensor.empty() : tensor<3xf32>
  %y_init = arith.constant 0.0 : f32
  %y_fill = linalg.fill ins(%y_init : f32) outs(%y_empty : tensor<3xf32>) -> tensor<3xf32>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(b,a)>, affine_map<(a,b)->(a)>], iterator_types = ["parallel", "reduction"]} ins(%x_t : tensor<?x3xf32>) outs(%y_fill : tensor<3xf32>) {
    ^bb0(%x: f32, %y: f32):
    %r = arith.addf %y, %x : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<3xf32>, memref<3xf32, strided<[1]>>) -> ()
  return
}

// The 32 channels of an image: a thread has four, and loads four rows before it adds them up.

// CHECK-LABEL: gpu.module @channels
// CHECK: workgroup(%[[PARTS:.*]] : memref<32x32xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: kernel.schedule = #kernel.schedule<"column-reduction 32 groups of 8 x4">
// CHECK-SAME: known_block_size = array<i32: 8, 32, 1>
// CHECK: scf.for
// CHECK-COUNT-4: vector.load %{{.*}} : {{.*}}, vector<4xf32>
// CHECK: scf.yield
// CHECK-NOT: scf.for
// CHECK: gpu.barrier
// CHECK: memref.store
func.func @channels(%x_p: memref<f32>, %y_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [1024, 512, 32], strides: [16384, 32, 1] : memref<f32> to memref<1024x512x32xf32, strided<[16384, 32, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<1024x512x32xf32, strided<[16384, 32, 1]>> to tensor<1024x512x32xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [1024, 32], strides: [32, 1] : memref<f32> to memref<1024x32xf32, strided<[32, 1]>>
  %y_empty = tensor.empty() : tensor<1024x32xf32>
  %y_init = arith.constant 0.0 : f32
  %y_fill = linalg.fill ins(%y_init : f32) outs(%y_empty : tensor<1024x32xf32>) -> tensor<1024x32xf32>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b,c)->(a,c,b)>, affine_map<(a,b,c)->(a,b)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t : tensor<1024x512x32xf32>) outs(%y_fill : tensor<1024x32xf32>) {
    ^bb0(%x: f32, %y: f32):
    %r = arith.addf %y, %x : f32
    linalg.yield %r : f32
  } -> tensor<1024x32xf32>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<1024x32xf32>, memref<1024x32xf32, strided<[32, 1]>>) -> ()
  return
}

// The 144 channels of 32 images are few blocks of 128 columns. Eight threads of a line fill the chip, and read as wide.

// CHECK-LABEL: gpu.module @means
// CHECK: workgroup(%{{.*}} : memref<128x32xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: kernel.schedule = #kernel.schedule<"column-reduction 128 groups of 8 x4">
// CHECK-SAME: known_block_size = array<i32: 8, 128, 1>
// CHECK-COUNT-4: vector.load %{{.*}} : {{.*}}, vector<4xf32>
func.func @means(%x_p: memref<f32>, %y_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [32, 3136, 144], strides: [451584, 144, 1] : memref<f32> to memref<32x3136x144xf32, strided<[451584, 144, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<32x3136x144xf32, strided<[451584, 144, 1]>> to tensor<32x3136x144xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [32, 144], strides: [144, 1] : memref<f32> to memref<32x144xf32, strided<[144, 1]>>
  %y_empty = tensor.empty() : tensor<32x144xf32>
  %y_init = arith.constant 0.0 : f32
  %y_fill = linalg.fill ins(%y_init : f32) outs(%y_empty : tensor<32x144xf32>) -> tensor<32x144xf32>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b,c)->(a,c,b)>, affine_map<(a,b,c)->(a,b)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t : tensor<32x3136x144xf32>) outs(%y_fill : tensor<32x144xf32>) {
    ^bb0(%x: f32, %y: f32):
    %r = arith.addf %y, %x : f32
    linalg.yield %r : f32
  } -> tensor<32x144xf32>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<32x144xf32>, memref<32x144xf32, strided<[144, 1]>>) -> ()
  return
}

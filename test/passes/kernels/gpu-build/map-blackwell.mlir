// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_100a %s | FileCheck %s

// From sm_100 on a thread loads 32 bytes at once.

// CHECK: kernel.schedule = #kernel.schedule<"map x8">
// CHECK: vector.load %{{.*}} {alignment = 32 : i64} : {{.*}}, vector<8xf32>
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

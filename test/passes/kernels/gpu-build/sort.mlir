// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s

// A block sorts a run in shared memory: eight elements of each thread in registers, then pairs of runs. Memory has a hole behind
// every eight elements.

// CHECK-LABEL: gpu.func @sort(
// CHECK-SAME: workgroup(%[[M:.*]] : memref<4608xi64, #gpu.address_space<workgroup>>)
// CHECK-SAME: grid = ["arg2*2", "1", "1"], block = [512, 1, 1]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"sort 4096 x8">
// CHECK-COUNT-8: memref.load %{{.*}} : memref<?x8192xi64, strided<[8192, 1]>>
// CHECK-COUNT-8: memref.store %{{.*}}, %[[M]]
// CHECK: gpu.barrier
// CHECK-COUNT-19: arith.minsi
// CHECK-COUNT-8: memref.store %{{.*}}, %[[M]]
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK: scf.while
// CHECK: gpu.barrier
// CHECK-COUNT-8: memref.store %{{.*}}, %[[M]]
// CHECK: gpu.barrier
// CHECK-COUNT-8: memref.store %{{.*}} : memref<?x8192xi64, strided<[8192, 1]>>
// CHECK-NOT: tensor
func.func @sort(%x_p: memref<i64>, %y_p: memref<i64>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 8192], strides: [8192, 1] : memref<i64> to memref<?x8192xi64, strided<[8192, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x8192xi64, strided<[8192, 1]>> to tensor<?x8192xi64>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 8192], strides: [8192, 1] : memref<i64> to memref<?x8192xi64, strided<[8192, 1]>>
  %y_e = tensor.empty(%n) : tensor<?x8192xi64>
  %y_t = kernel.sort_runs %x_t from 1 to 4096 into %y_e : tensor<?x8192xi64>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x8192xi64>, memref<?x8192xi64, strided<[8192, 1]>>) -> ()
  return
}

// Each thread finds where its eight elements begin, and stores two at once.
// CHECK-LABEL: gpu.func @merge(
// CHECK-SAME: grid = ["arg2*4", "1", "1"], block = [256, 1, 1]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"merge 4096 x8">
// CHECK: scf.while
// CHECK-COUNT-4: vector.store %{{.*}} {alignment = 16 : i64} : {{.*}}, vector<2xi64>
func.func @merge(%x_p: memref<i64>, %y_p: memref<i64>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 8192], strides: [8192, 1] : memref<i64> to memref<?x8192xi64, strided<[8192, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x8192xi64, strided<[8192, 1]>> to tensor<?x8192xi64>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 8192], strides: [8192, 1] : memref<i64> to memref<?x8192xi64, strided<[8192, 1]>>
  %y_e = tensor.empty(%n) : tensor<?x8192xi64>
  %y_t = kernel.sort_runs %x_t from 4096 to 8192 into %y_e : tensor<?x8192xi64>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x8192xi64>, memref<?x8192xi64, strided<[8192, 1]>>) -> ()
  return
}

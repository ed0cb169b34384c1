// RUN: kpc-opt --kpc-host-build-kernel %s | FileCheck %s

// A unit sorts a run in memory on the stack: pairs of runs, from single elements on.

// CHECK-LABEL: func.func @sort(
// CHECK-SAME: kernel.schedule = #kernel.schedule<"sort 1024">
// CHECK-SAME: kernel.work = #kernel.work<units = "arg2*8", grain = 1>
// CHECK: memref.alloca() : memref<1024xi64>
// CHECK: scf.for
// CHECK-COUNT-10: scf.while
// CHECK-NOT: scf.while
func.func @sort(%x_p: memref<i64>, %y_p: memref<i64>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 8192], strides: [8192, 1] : memref<i64> to memref<?x8192xi64, strided<[8192, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x8192xi64, strided<[8192, 1]>> to tensor<?x8192xi64>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 8192], strides: [8192, 1] : memref<i64> to memref<?x8192xi64, strided<[8192, 1]>>
  %y_e = tensor.empty(%n) : tensor<?x8192xi64>
  %y_t = kernel.sort_runs %x_t from 1 to 1024 into %y_e : tensor<?x8192xi64> -> tensor<?x8192xi64>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x8192xi64>, memref<?x8192xi64, strided<[8192, 1]>>) -> ()
  return
}

// A unit is a part of the result, which begins where halving says.
// CHECK-LABEL: func.func @merge(
// CHECK-SAME: kernel.schedule = #kernel.schedule<"merge 4096">
// CHECK-SAME: kernel.work = #kernel.work<units = "arg2*2", grain = 1>
// CHECK: scf.while
// CHECK: scf.for
func.func @merge(%x_p: memref<i64>, %y_p: memref<i64>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 8192], strides: [8192, 1] : memref<i64> to memref<?x8192xi64, strided<[8192, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x8192xi64, strided<[8192, 1]>> to tensor<?x8192xi64>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 8192], strides: [8192, 1] : memref<i64> to memref<?x8192xi64, strided<[8192, 1]>>
  %y_e = tensor.empty(%n) : tensor<?x8192xi64>
  %y_t = kernel.sort_runs %x_t from 4096 to 8192 into %y_e : tensor<?x8192xi64> -> tensor<?x8192xi64>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x8192xi64>, memref<?x8192xi64, strided<[8192, 1]>>) -> ()
  return
}

// Only the first elements are written: what is sorted lies on the stack.
// CHECK-LABEL: func.func @first(
// CHECK-COUNT-2: memref.alloca() : memref<64xi64>
// CHECK-COUNT-6: scf.while
// CHECK: scf.for
// CHECK: memref.store %{{.*}} : memref<?x3xi64, strided<[3, 1]>>
// CHECK-NOT: memref.store
func.func @first(%x_p: memref<i64>, %y_p: memref<i64>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 64], strides: [64, 1] : memref<i64> to memref<?x64xi64, strided<[64, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x64xi64, strided<[64, 1]>> to tensor<?x64xi64>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 3], strides: [3, 1] : memref<i64> to memref<?x3xi64, strided<[3, 1]>>
  %y_e = tensor.empty(%n) : tensor<?x3xi64>
  %y_t = kernel.sort_runs %x_t from 1 to 64 into %y_e : tensor<?x64xi64> -> tensor<?x3xi64>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x3xi64>, memref<?x3xi64, strided<[3, 1]>>) -> ()
  return
}

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
  %y_t = kernel.sort_runs %x_t from 1 to 4096 into %y_e : tensor<?x8192xi64> -> tensor<?x8192xi64>
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
  %y_t = kernel.sort_runs %x_t from 4096 to 8192 into %y_e : tensor<?x8192xi64> -> tensor<?x8192xi64>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x8192xi64>, memref<?x8192xi64, strided<[8192, 1]>>) -> ()
  return
}

// Eight lanes sort a row: 19 pairs of each, then three rounds of merges. A mirrored exchange is two shuffles for each element.
// CHECK-LABEL: gpu.func @network(
// CHECK-SAME: grid = ["floordiv(arg2 + 31, 32)", "1", "1"], block = [256, 1, 1]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"sort 64 in registers">
// CHECK-COUNT-8: memref.load
// CHECK-COUNT-19: arith.minsi
// CHECK-COUNT-16: gpu.shuffle
// CHECK-COUNT-12: arith.minsi
// CHECK-NOT: gpu.barrier
// CHECK-COUNT-4: vector.store %{{.*}} {alignment = 16 : i64} : {{.*}}, vector<2xi64>
func.func @network(%x_p: memref<i64>, %y_p: memref<i64>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 64], strides: [64, 1] : memref<i64> to memref<?x64xi64, strided<[64, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x64xi64, strided<[64, 1]>> to tensor<?x64xi64>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 64], strides: [64, 1] : memref<i64> to memref<?x64xi64, strided<[64, 1]>>
  %y_e = tensor.empty(%n) : tensor<?x64xi64>
  %y_t = kernel.sort_runs %x_t from 1 to 64 into %y_e : tensor<?x64xi64> -> tensor<?x64xi64>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x64xi64>, memref<?x64xi64, strided<[64, 1]>>) -> ()
  return
}

// Only the first elements are stored.
// CHECK-LABEL: gpu.func @network_first(
// CHECK-SAME: kernel.schedule = #kernel.schedule<"sort 64 in registers">
// CHECK-COUNT-8: memref.store %{{.*}} : memref<?x3xi64, strided<[3, 1]>>
func.func @network_first(%x_p: memref<i64>, %y_p: memref<i64>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 64], strides: [64, 1] : memref<i64> to memref<?x64xi64, strided<[64, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x64xi64, strided<[64, 1]>> to tensor<?x64xi64>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 3], strides: [3, 1] : memref<i64> to memref<?x3xi64, strided<[3, 1]>>
  %y_e = tensor.empty(%n) : tensor<?x3xi64>
  %y_t = kernel.sort_runs %x_t from 1 to 64 into %y_e : tensor<?x64xi64> -> tensor<?x3xi64>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x3xi64>, memref<?x3xi64, strided<[3, 1]>>) -> ()
  return
}

// A ballot for each bit, and one for whether there is an element; one lane of those that agree counts.
// CHECK-LABEL: gpu.func @count(
// CHECK-SAME: workgroup(%{{.*}} : memref<16x256xi32, #gpu.address_space<workgroup>>)
// CHECK-SAME: grid = ["arg2*2", "1", "1"], block = [512, 1, 1]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"count 8 bits in 2 parts">
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK-COUNT-72: nvvm.vote.sync ballot
// CHECK-NOT: nvvm.vote.sync
// CHECK: gpu.barrier
// CHECK-COUNT-16: memref.load
// CHECK: memref.store %{{.*}} : memref<?x2x256xi32
// CHECK-NOT: atomic
func.func @count(%x_p: memref<i64>, %y_p: memref<i32>, %n: index, %m: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, %m], strides: [%m, 1] : memref<i64> to memref<?x?xi64, strided<[?, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x?xi64, strided<[?, 1]>> to tensor<?x?xi64>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 2, 256], strides: [512, 256, 1] : memref<i32> to memref<?x2x256xi32, strided<[512, 256, 1]>>
  %y_e = tensor.empty(%n) : tensor<?x2x256xi32>
  %y_t = kernel.digit_counts %x_t shift 40 into %y_e : tensor<?x?xi64> -> tensor<?x2x256xi32>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x2x256xi32>, memref<?x2x256xi32, strided<[512, 256, 1]>>) -> ()
  return
}

// The counts of all parts are added up first, of four digits in each thread; elements go through shared memory. Registers are left for
// one block on a multiprocessor; where the size of a row is known, for two.
// CHECK-LABEL: gpu.func @order(
// CHECK-SAME: workgroup(%[[M:.*]] : memref<4096xi64, #gpu.address_space<workgroup>>, %{{.*}} : memref<16x256xi16
// CHECK-SAME: block = [512, 1, 1]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"order by 8 bits in 2 parts">
// CHECK-SAME: nvvm.minctasm = 1 : i32
// CHECK: vector.load %{{.*}} : memref<?x2x256xi32, strided<[512, 256, 1]>>, vector<4xi32>
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK-COUNT-72: nvvm.vote.sync ballot
// CHECK: memref.store %{{.*}}, %[[M]]
// CHECK: gpu.barrier
// CHECK: memref.load %[[M]]
// CHECK: memref.store %{{.*}} : memref<?x?xi64
func.func @order(%x_p: memref<i64>, %c_p: memref<i32>, %y_p: memref<i64>, %n: index, %m: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, %m], strides: [%m, 1] : memref<i64> to memref<?x?xi64, strided<[?, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x?xi64, strided<[?, 1]>> to tensor<?x?xi64>
  %c_m = memref.reinterpret_cast %c_p to offset: [0], sizes: [%n, 2, 256], strides: [512, 256, 1] : memref<i32> to memref<?x2x256xi32, strided<[512, 256, 1]>>
  %c_t = bufferization.to_tensor %c_m restrict : memref<?x2x256xi32, strided<[512, 256, 1]>> to tensor<?x2x256xi32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, %m], strides: [%m, 1] : memref<i64> to memref<?x?xi64, strided<[?, 1]>>
  %y_e = tensor.empty(%n, %m) : tensor<?x?xi64>
  %y_t = kernel.order_by_digit %x_t, %c_t shift 40 into %y_e : tensor<?x?xi64>, tensor<?x2x256xi32>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x?xi64>, memref<?x?xi64, strided<[?, 1]>>) -> ()
  return
}

// CHECK-LABEL: gpu.func @order_known(
// CHECK-SAME: nvvm.minctasm = 2 : i32
func.func @order_known(%x_p: memref<i64>, %c_p: memref<i32>, %y_p: memref<i64>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 8192], strides: [8192, 1] : memref<i64> to memref<?x8192xi64, strided<[8192, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x8192xi64, strided<[8192, 1]>> to tensor<?x8192xi64>
  %c_m = memref.reinterpret_cast %c_p to offset: [0], sizes: [%n, 2, 256], strides: [512, 256, 1] : memref<i32> to memref<?x2x256xi32, strided<[512, 256, 1]>>
  %c_t = bufferization.to_tensor %c_m restrict : memref<?x2x256xi32, strided<[512, 256, 1]>> to tensor<?x2x256xi32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 8192], strides: [8192, 1] : memref<i64> to memref<?x8192xi64, strided<[8192, 1]>>
  %y_e = tensor.empty(%n) : tensor<?x8192xi64>
  %y_t = kernel.order_by_digit %x_t, %c_t shift 40 into %y_e : tensor<?x8192xi64>, tensor<?x2x256xi32>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x8192xi64>, memref<?x8192xi64, strided<[8192, 1]>>) -> ()
  return
}

// RUN: kpc-opt --kpc-host-build-kernel=vector-bits=512 %s | FileCheck %s

// All buffers are walked in one step: units are elements, and one loop is left to LLVM's vectoriser.

// CHECK-LABEL: func.func @relu(
// CHECK-SAME: %[[X:.*]]: memref<f32>, %[[Y:.*]]: memref<f32>, %[[N:.*]]: index, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// CHECK-SAME: kernel.schedule = #kernel.schedule<"map flat">
// CHECK-SAME: kernel.work = #kernel.work<units = "arg2*12", grain = 16384>
// CHECK: scf.for %[[I:.*]] = %[[BEGIN]] to %[[END]]
// CHECK: memref.load %{{.*}}[%{{.*}}, %[[I]]]
// CHECK: arith.maximumf
// CHECK: memref.store %{{.*}}[%{{.*}}, %[[I]]]
// CHECK-NOT: tensor
func.func @relu(%x_p: memref<f32>, %y_p: memref<f32>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 12], strides: [12, 1] : memref<f32> to memref<?x12xf32, strided<[12, 1]>>
  %x = bufferization.to_tensor %x_m restrict : memref<?x12xf32, strided<[12, 1]>> to tensor<?x12xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 12], strides: [12, 1] : memref<f32> to memref<?x12xf32, strided<[12, 1]>>
  %e = tensor.empty(%n) : tensor<?x12xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x12xf32>) outs(%e : tensor<?x12xf32>) {
  ^bb0(%p: f32, %o: f32):
    %z = arith.constant 0.0 : f32
    %r = arith.maximumf %p, %z : f32
    linalg.yield %r : f32
  } -> tensor<?x12xf32>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<?x12xf32>, memref<?x12xf32, strided<[12, 1]>>) -> ()
  return
}

// An operand that repeats keeps the rows apart: a unit is a row.

// CHECK-LABEL: func.func @add_bias(
// CHECK-SAME: kernel.schedule = #kernel.schedule<"map rows">
// CHECK-SAME: units = "arg3"
// CHECK: scf.for
// CHECK: scf.for
func.func @add_bias(%x_p: memref<f32>, %b_p: memref<f32>, %y_p: memref<f32>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 12], strides: [12, 1] : memref<f32> to memref<?x12xf32, strided<[12, 1]>>
  %x = bufferization.to_tensor %x_m restrict : memref<?x12xf32, strided<[12, 1]>> to tensor<?x12xf32>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [12], strides: [1] : memref<f32> to memref<12xf32, strided<[1]>>
  %b = bufferization.to_tensor %b_m restrict : memref<12xf32, strided<[1]>> to tensor<12xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 12], strides: [12, 1] : memref<f32> to memref<?x12xf32, strided<[12, 1]>>
  %e = tensor.empty(%n) : tensor<?x12xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%x, %b : tensor<?x12xf32>, tensor<12xf32>) outs(%e : tensor<?x12xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %r = arith.addf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<?x12xf32>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<?x12xf32>, memref<?x12xf32, strided<[12, 1]>>) -> ()
  return
}

// Read across the rows that are written: squares of vectors are transposed in registers.

// CHECK-LABEL: func.func @transpose(
// CHECK-SAME: kernel.schedule = #kernel.schedule<"transpose side=16">
// CHECK-SAME: units = "3"
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<16x64xf32>
// CHECK-COUNT-16: vector.load
// CHECK: vector.shuffle
// CHECK-COUNT-16: vector.store
func.func @transpose(%x_p: memref<f32>, %y_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [100, 40], strides: [40, 1] : memref<f32> to memref<100x40xf32, strided<[40, 1]>>
  %x = bufferization.to_tensor %x_m restrict : memref<100x40xf32, strided<[40, 1]>> to tensor<100x40xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [40, 100], strides: [100, 1] : memref<f32> to memref<40x100xf32, strided<[100, 1]>>
  %e = tensor.empty() : tensor<40x100xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(a, b) -> (b, a)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<100x40xf32>) outs(%e : tensor<40x100xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<40x100xf32>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<40x100xf32>, memref<40x100xf32, strided<[100, 1]>>) -> ()
  return
}

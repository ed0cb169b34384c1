// RUN: kpc-opt --kpc-gpu-build-kernels %s | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// All outputs have 16 bits: marked.
// CHECK-LABEL: gpu.func @narrow
// CHECK: math.exp {{.*}} fastmath<afn>
// CHECK: arith.divf {{.*}} fastmath<afn>
func.func @narrow(%x: memref<f16>, %y: memref<f16>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [8], strides: [1] : memref<f16> to memref<8xf16, strided<[1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<8xf16, strided<[1]>> to tensor<8xf16>
  %e = tensor.empty() : tensor<8xf16>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%xt : tensor<8xf16>) outs(%e : tensor<8xf16>) {
  ^bb0(%a: f16, %o: f16):
    %w = arith.extf %a : f16 to f32
    %p = math.exp %w : f32
    %d = arith.divf %p, %w : f32
    %r = arith.truncf %d : f32 to f16
    linalg.yield %r : f16
  } -> tensor<8xf16>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [8], strides: [1] : memref<f16> to memref<8xf16, strided<[1]>>
  bufferization.materialize_in_destination %q in restrict writable %ym : (tensor<8xf16>, memref<8xf16, strided<[1]>>) -> ()
  return
}

// An f32 output: not. A quotient that is rounded to a whole number: not either.
// CHECK-LABEL: gpu.func @wide
// CHECK-NOT: fastmath
// CHECK: return
func.func @wide(%x: memref<f32>, %y: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [8], strides: [1] : memref<f32> to memref<8xf32, strided<[1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<8xf32, strided<[1]>> to tensor<8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%xt : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %p = math.exp %a : f32
    linalg.yield %p : f32
  } -> tensor<8xf32>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [8], strides: [1] : memref<f32> to memref<8xf32, strided<[1]>>
  bufferization.materialize_in_destination %q in restrict writable %ym : (tensor<8xf32>, memref<8xf32, strided<[1]>>) -> ()
  return
}

// CHECK-LABEL: gpu.func @steps
// CHECK-NOT: arith.divf {{.*}} fastmath
// CHECK: math.floor
func.func @steps(%x: memref<f16>, %y: memref<f16>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [8], strides: [1] : memref<f16> to memref<8xf16, strided<[1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<8xf16, strided<[1]>> to tensor<8xf16>
  %e = tensor.empty() : tensor<8xf16>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%xt : tensor<8xf16>) outs(%e : tensor<8xf16>) {
  ^bb0(%a: f16, %o: f16):
    %w = arith.extf %a : f16 to f32
    %three = arith.constant 3.0 : f32
    %d = arith.divf %w, %three : f32
    %f = math.floor %d : f32
    %r = arith.truncf %f : f32 to f16
    linalg.yield %r : f16
  } -> tensor<8xf16>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [8], strides: [1] : memref<f16> to memref<8xf16, strided<[1]>>
  bufferization.materialize_in_destination %q in restrict writable %ym : (tensor<8xf16>, memref<8xf16, strided<[1]>>) -> ()
  return
}

// Of codes 4 bits are stored, which GELU's approximation is told.
// CHECK-LABEL: gpu.func @codes
// CHECK: math.erf {{.*}} fastmath<afn> {kernel.stored_bits = 4 : i32} : f32
func.func @codes(%x: memref<f16>, %y: memref<i8>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [8], strides: [1] : memref<f16> to memref<8xf16, strided<[1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<8xf16, strided<[1]>> to tensor<8xf16>
  %e = tensor.empty() : tensor<8xi8>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%xt : tensor<8xf16>) outs(%e : tensor<8xi8>) {
  ^bb0(%a: f16, %o: i8):
    %w = arith.extf %a : f16 to f32
    %p = math.erf %w : f32
    %r = arith.truncf %p : f32 to f8E4M3FN
    %c = arith.bitcast %r : f8E4M3FN to i8
    linalg.yield %c : i8
  } -> tensor<8xi8>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [8], strides: [1] : memref<i8> to memref<8xi8, strided<[1]>>
  bufferization.materialize_in_destination %q in restrict writable %ym : (tensor<8xi8>, memref<8xi8, strided<[1]>>) -> ()
  return
}

// RUN: kpc-opt --kpc-host-build-kernel --split-input-file --verify-diagnostics %s

// expected-error @below {{is not a kernel in linalg form: it writes nothing}}
func.func @nothing(%x_p: memref<f32>) {
  return
}

// -----

func.func @foreign(%x_p: memref<f32>, %y_p: memref<f32>) {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [4], strides: [1] : memref<f32> to memref<4xf32, strided<[1]>>
  %x = bufferization.to_tensor %x_m restrict : memref<4xf32, strided<[1]>> to tensor<4xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [4], strides: [1] : memref<f32> to memref<4xf32, strided<[1]>>
  // expected-error @below {{'linalg.map' op has no place in the linalg form of a kernel}}
  %y = linalg.map { arith.negf } ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>)
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<4xf32>, memref<4xf32, strided<[1]>>) -> ()
  return
}

// -----

// expected-error @below {{'func.func' op has an output whose size is no expression over the kernel's size arguments}}
func.func @sizes(%x: memref<f32>, %y: memref<f32>, %n: index, %m: index) {
  %s = arith.xori %n, %m : index
  %xv = memref.reinterpret_cast %x to offset: [0], sizes: [%s], strides: [1] : memref<f32> to memref<?xf32, strided<[1]>>
  %yv = memref.reinterpret_cast %y to offset: [0], sizes: [%s], strides: [1] : memref<f32> to memref<?xf32, strided<[1]>>
  %t = bufferization.to_tensor %xv restrict : memref<?xf32, strided<[1]>> to tensor<?xf32>
  bufferization.materialize_in_destination %t in restrict writable %yv : (tensor<?xf32>, memref<?xf32, strided<[1]>>) -> ()
  return
}

// -----

// expected-error @below {{'func.func' op has rows whose size is no expression over the kernel's size arguments}}
func.func @sorted(%x: memref<i64>, %y: memref<i64>, %n: index, %m: index) {
  %s = arith.xori %n, %m : index
  %xv = memref.reinterpret_cast %x to offset: [0], sizes: [%s, 1024], strides: [1024, 1] : memref<i64> to memref<?x1024xi64, strided<[1024, 1]>>
  %yv = memref.reinterpret_cast %y to offset: [0], sizes: [%s, 1024], strides: [1024, 1] : memref<i64> to memref<?x1024xi64, strided<[1024, 1]>>
  %t = bufferization.to_tensor %xv restrict : memref<?x1024xi64, strided<[1024, 1]>> to tensor<?x1024xi64>
  %e = tensor.empty(%s) : tensor<?x1024xi64>
  %r = kernel.sort_runs %t from 1 to 1024 into %e : tensor<?x1024xi64> -> tensor<?x1024xi64>
  bufferization.materialize_in_destination %r in restrict writable %yv : (tensor<?x1024xi64>, memref<?x1024xi64, strided<[1024, 1]>>) -> ()
  return
}

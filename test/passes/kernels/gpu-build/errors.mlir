// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a --split-input-file --verify-diagnostics %s

// expected-error@+1 {{is not a kernel in linalg form: it writes nothing}}
func.func @nothing(%x: memref<f32>) attributes {kpc.reads = [0], kpc.writes = []} {
  return
}

// -----

func.func @foreign(%x: memref<4xf32>, %y: memref<f32>) attributes {kpc.reads = [0], kpc.writes = [1]} {
  %v = memref.reinterpret_cast %y to offset: [0], sizes: [2], strides: [1] : memref<f32> to memref<2xf32, strided<[1]>>
  %t = bufferization.to_tensor %x restrict : memref<4xf32> to tensor<4xf32>
  // expected-error@+1 {{has no place in the linalg form of a kernel}}
  %s = tensor.extract_slice %t[0] [2] [2] : tensor<4xf32> to tensor<2xf32>
  bufferization.materialize_in_destination %s in restrict writable %v : (tensor<2xf32>, memref<2xf32, strided<[1]>>) -> ()
  return
}

// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a --split-input-file --verify-diagnostics %s

// expected-error@+1 {{is not a kernel in linalg form: it writes nothing}}
func.func @nothing(%x: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = []>} {
  return
}

// -----

func.func @foreign(%x: memref<4xf32>, %y: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %v = memref.reinterpret_cast %y to offset: [0], sizes: [2], strides: [1] : memref<f32> to memref<2xf32, strided<[1]>>
  %t = bufferization.to_tensor %x restrict : memref<4xf32> to tensor<4xf32>
  // expected-error@+1 {{has no place in the linalg form of a kernel}}
  %s = tensor.extract_slice %t[0] [2] [2] : tensor<4xf32> to tensor<2xf32>
  bufferization.materialize_in_destination %s in restrict writable %v : (tensor<2xf32>, memref<2xf32, strided<[1]>>) -> ()
  return
}

// -----

// expected-error@+1 {{'func.func' op is not a kernel in linalg form: it has several blocks}}
func.func @blocks(%x: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = []>} {
  cf.br ^bb1
^bb1:
  return
}

// -----

func.func @values(%x: memref<4xf32>, %y: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %t = bufferization.to_tensor %x restrict : memref<4xf32> to tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  // expected-error@+1 {{'bufferization.materialize_in_destination' op of a kernel must write to a memref}}
  %r = bufferization.materialize_in_destination %t in %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-error@+1 {{a kernel's tensors must come from operations}}
func.func @argument(%t: tensor<4xf32>, %y: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %v = memref.reinterpret_cast %y to offset: [0], sizes: [4], strides: [1] : memref<f32> to memref<4xf32, strided<[1]>>
  bufferization.materialize_in_destination %t in restrict writable %v : (tensor<4xf32>, memref<4xf32, strided<[1]>>) -> ()
  return
}

// -----

func.func @lost_loop(%x: memref<4xf32>, %y: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %v = memref.reinterpret_cast %y to offset: [0], sizes: [1], strides: [1] : memref<f32> to memref<1xf32, strided<[1]>>
  %t = bufferization.to_tensor %x restrict : memref<4xf32> to tensor<4xf32>
  %e = tensor.empty() : tensor<1xf32>
  // expected-error@+1 {{'linalg.generic' op has a parallel loop that its result has not}}
  %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (0)>], iterator_types = ["parallel"]}
      ins(%t : tensor<4xf32>) outs(%e : tensor<1xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<1xf32>
  bufferization.materialize_in_destination %s in restrict writable %v : (tensor<1xf32>, memref<1xf32, strided<[1]>>) -> ()
  return
}

// -----

// expected-error@+1 {{'func.func' op fits no kernel family; 'map' does not take it, because it has an output whose size is no expression over the kernel's size arguments}}
func.func @sizes(%x: memref<f32>, %y: memref<f32>, %n: index, %m: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %s = arith.xori %n, %m : index
  %xv = memref.reinterpret_cast %x to offset: [0], sizes: [%s], strides: [1] : memref<f32> to memref<?xf32, strided<[1]>>
  %yv = memref.reinterpret_cast %y to offset: [0], sizes: [%s], strides: [1] : memref<f32> to memref<?xf32, strided<[1]>>
  %t = bufferization.to_tensor %xv restrict : memref<?xf32, strided<[1]>> to tensor<?xf32>
  bufferization.materialize_in_destination %t in restrict writable %yv : (tensor<?xf32>, memref<?xf32, strided<[1]>>) -> ()
  return
}

// -----

func.func @bools(%x: memref<i1>, %y: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %v = memref.reinterpret_cast %y to offset: [0], sizes: [4], strides: [1] : memref<f32> to memref<4xf32, strided<[1]>>
  // expected-error@+1 {{'memref.copy' op reads or writes bools in a way that has no form in bytes}}
  memref.copy %x, %x : memref<i1> to memref<i1>
  %c = arith.constant dense<1.0> : tensor<4xf32>
  bufferization.materialize_in_destination %c in restrict writable %v : (tensor<4xf32>, memref<4xf32, strided<[1]>>) -> ()
  return
}

// -----

func.func @unknown(%x: memref<?xf32>, %y: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %v = memref.reinterpret_cast %y to offset: [0], sizes: [], strides: [] : memref<f32> to memref<f32>
  %t = bufferization.to_tensor %x restrict : memref<?xf32> to tensor<?xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  // expected-error@+1 {{'linalg.generic' op has a reduction loop of unknown size}}
  %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%t : tensor<?xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    linalg.yield %sum : f32
  } -> tensor<f32>
  bufferization.materialize_in_destination %s in restrict writable %v : (tensor<f32>, memref<f32>) -> ()
  return
}

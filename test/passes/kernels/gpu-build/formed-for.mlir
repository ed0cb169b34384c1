// RUN: env KPC_STRICT_FAMILIES=1 not kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s 2>&1 | FileCheck %s
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s --check-prefix=LOOPS

// Two reductions along different dimensions are no rows of one kernel. Loops compute the inner one again for each element
// of the outer one: in tests it is an error that fusion joined them.

// CHECK: error: 'func.func' op expected a family that it was formed for, as it has several reductions, got 'map'; let fusion ask the registry first
// CHECK: note: 'few-row GEMM' does not take it, because
// CHECK: note: 'rows' does not take it, because
// LOOPS: gpu.module @sum_of_sums
// LOOPS: kernel.schedule = #kernel.schedule<"map
func.func @sum_of_sums(%x_p: memref<f32>, %y_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [8, 40], strides: [40, 1] : memref<f32> to memref<8x40xf32, strided<[40, 1]>>
  %x = bufferization.to_tensor %x_m restrict : memref<8x40xf32, strided<[40, 1]>> to tensor<8x40xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [40], strides: [1] : memref<f32> to memref<40xf32, strided<[1]>>
  %zero = arith.constant 0.0 : f32
  %rows_e = tensor.empty() : tensor<8xf32>
  %rows_i = linalg.fill ins(%zero : f32) outs(%rows_e : tensor<8xf32>) -> tensor<8xf32>
  %rows = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x40xf32>) outs(%rows_i : tensor<8xf32>) {
  ^bb0(%v: f32, %s: f32):
    %r = arith.addf %s, %v : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %y_e = tensor.empty() : tensor<40xf32>
  %y_i = linalg.fill ins(%zero : f32) outs(%y_e : tensor<40xf32>) -> tensor<40xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(a, b) -> (b, a)>, affine_map<(a, b) -> (b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]} ins(%x, %rows : tensor<8x40xf32>, tensor<8xf32>) outs(%y_i : tensor<40xf32>) {
  ^bb0(%v: f32, %w: f32, %s: f32):
    %d = arith.subf %v, %w : f32
    %r = arith.addf %s, %d : f32
    linalg.yield %r : f32
  } -> tensor<40xf32>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<40xf32>, memref<40xf32, strided<[1]>>) -> ()
  return
}

// RUN: kpc-opt %s --split-input-file --kpc-gpu-build-kernels | FileCheck %s

#read = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
#outer = affine_map<(d0, d1, d2) -> (d0, d1)>
#whole = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#spread = affine_map<(d0, d1, d2) -> (d0, d2)>

// x minus the sum of its channels, channels first: threads have four neighbouring columns, and walk down four rows at a time.
// CHECK-LABEL: gpu.func @centred
// CHECK-SAME: workgroup(%{{.*}} : memref<8x128xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: block = [32, 8, 1]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"columns 32 x 8 threads x 4">
// CHECK: scf.for
// CHECK-COUNT-4: vector.load {{.*}} vector<4xf16>
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK-COUNT-4: vector.load {{.*}} vector<4xf16>
// CHECK: vector.store {{.*}} vector<4xf16>
func.func @centred(%x: memref<f16>, %y: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 65536, optimum = 32>})
    attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%n, 96, 3136], strides: [301056, 3136, 1]
      : memref<f16> to memref<?x96x3136xf16, strided<[301056, 3136, 1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<?x96x3136xf16, strided<[301056, 3136, 1]>> to tensor<?x96x3136xf16>
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty(%n) : tensor<?x3136xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s : tensor<?x3136xf32>) -> tensor<?x3136xf32>
  %z = linalg.generic {indexing_maps = [#read, #outer], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%xt : tensor<?x96x3136xf16>) outs(%s0 : tensor<?x3136xf32>) {
  ^bb0(%a: f16, %acc: f32):
    %w = arith.extf %a : f16 to f32
    %r = arith.addf %acc, %w : f32
    linalg.yield %r : f32
  } -> tensor<?x3136xf32>
  %h = tensor.empty(%n) : tensor<?x96x3136xf16>
  %q = linalg.generic {indexing_maps = [#whole, #spread, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%xt, %z : tensor<?x96x3136xf16>, tensor<?x3136xf32>) outs(%h : tensor<?x96x3136xf16>) {
  ^bb0(%a: f16, %b: f32, %o: f16):
    %w = arith.extf %a : f16 to f32
    %d = arith.subf %w, %b : f32
    %r = arith.truncf %d : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x96x3136xf16>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [%n, 96, 3136], strides: [301056, 3136, 1]
      : memref<f16> to memref<?x96x3136xf16, strided<[301056, 3136, 1]>>
  bufferization.materialize_in_destination %q in restrict writable %ym
      : (tensor<?x96x3136xf16>, memref<?x96x3136xf16, strided<[301056, 3136, 1]>>) -> ()
  return
}

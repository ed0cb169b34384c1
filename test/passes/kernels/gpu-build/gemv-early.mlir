// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_80 %s | FileCheck %s --check-prefix=LATE
// RUN: sed 's/, weight_bytes = \[0, 8388608\]//' %s | kpc-opt --kpc-gpu-build-kernels=arch=sm_90a | FileCheck %s --check-prefix=LATE

// Argument 1 is a weight, which no kernel writes. Copies of it into all stages but one begin before the kernel waits for the one that writes x.
// CHECK-LABEL: gpu.func @one_row
// CHECK: %[[RING:.*]] = tile.pipe cp_async
// CHECK: %[[FIRST:.*]] = tile.acquire %[[RING]]
// CHECK: tile.cp_async_vector %[[W:[a-z_0-9]+]][
// CHECK-NOT: tile.commit
// CHECK: %[[SECOND:.*]] = tile.acquire %[[RING]]
// CHECK: tile.cp_async_vector %[[W]][
// CHECK-NOT: tile.cp_async_vector if
// CHECK: tile.grid_dependency_wait
// CHECK-NOT: tile.acquire
// CHECK: tile.cp_async_vector if %{{.*}} %[[X:[a-z_0-9]+]][
// CHECK: tile.commit %[[RING]][%[[FIRST]]]
// CHECK: tile.cp_async_vector if %{{.*}} %[[X]][
// CHECK: tile.commit %[[RING]][%[[SECOND]]]
// CHECK: scf.for
// CHECK-NOT: tile.grid_dependency_wait
// Chips before sm_90 launch no kernel early, and what is no weight may be another kernel's result.
// LATE-LABEL: gpu.func @one_row
// LATE-NOT: tile.grid_dependency_wait
func.func @one_row(%x: memref<bf16>, %w: memref<bf16>, %y: memref<bf16>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2], weight_bytes = [0, 8388608]>} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [1, 4096], strides: [4096, 1] : memref<bf16> to memref<1x4096xbf16, strided<[4096, 1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<1x4096xbf16, strided<[4096, 1]>> to tensor<1x4096xbf16>
  %wm = memref.reinterpret_cast %w to offset: [0], sizes: [1024, 4096], strides: [4096, 1] : memref<bf16> to memref<1024x4096xbf16, strided<[4096, 1]>>
  %wt = bufferization.to_tensor %wm restrict : memref<1024x4096xbf16, strided<[4096, 1]>> to tensor<1024x4096xbf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x1024xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x1024xf32>) -> tensor<1x1024xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(n,k)>, affine_map<(m,n,k)->(m,n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%xt, %wt : tensor<1x4096xbf16>, tensor<1024x4096xbf16>) outs(%z : tensor<1x1024xf32>) {
  ^bb0(%a: bf16, %b: bf16, %acc: f32):
    %c = arith.extf %a : bf16 to f32
    %d = arith.extf %b : bf16 to f32
    %p = arith.mulf %c, %d : f32
    %r = arith.addf %acc, %p : f32
    linalg.yield %r : f32
  } -> tensor<1x1024xf32>
  %h = tensor.empty() : tensor<1x1024xbf16>
  %q = linalg.generic {indexing_maps = [affine_map<(m,n)->(m,n)>, affine_map<(m,n)->(m,n)>], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<1x1024xf32>) outs(%h : tensor<1x1024xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %r = arith.truncf %a : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<1x1024xbf16>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [1, 1024], strides: [1024, 1] : memref<bf16> to memref<1x1024xbf16, strided<[1024, 1]>>
  bufferization.materialize_in_destination %q in restrict writable %ym : (tensor<1x1024xbf16>, memref<1x1024xbf16, strided<[1024, 1]>>) -> ()
  return
}

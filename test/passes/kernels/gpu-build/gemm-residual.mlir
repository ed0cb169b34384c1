// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s

// A residual is copied to shared memory as operands are: parts of 64 columns, as the epilogue stores them, in a pipe of their own.

// CHECK-DAG: !smem = !tile.smem<[64, 64], bf16, swizzle 128>
// CHECK-DAG: !view = !tile.view<bf16, box[64, 64], swizzle 128>
// Of two tiles at once.
// CHECK-DAG: !pipe2 = !tile.pipe<2 of [!smem]>
// CHECK-LABEL: gpu.func @residual(
// CHECK-SAME: %[[VIEW:[a-z0-9]+]]: !view, %{{[a-z0-9]+}}: !view1)
// CHECK-SAME: #kernel.tensor_map<buffer = 3, element = bf16, dims = ["64", "arg5"], strides = ["128"], box = [64, 64], swizzle = 128>
// CHECK: %[[VECTORS:.*]] = tile.pipe tma consumers 4 : !pipe1
// CHECK-NEXT: %[[RESIDUALS:.*]] = tile.pipe tma consumers 4 : !pipe2

// Its copies begin before those of the tile's operands.
// CHECK: tile.role "producer"
// CHECK: %[[FREE:.*]] = tile.acquire %[[RESIDUALS]][%[[AT:.*]]] : !pipe2
// CHECK-NEXT: %[[PART:.*]] = tile.tiles %[[RESIDUALS]][%[[FREE]]]
// CHECK-NEXT: tile.tma_load %[[VIEW]][%{{.*}}, %{{.*}}] into %[[PART]] signal %[[RESIDUALS]][%[[FREE]]]
// CHECK-NEXT: tile.commit %[[RESIDUALS]][%[[FREE]]]
// CHECK-NEXT: tile.next %[[RESIDUALS]][%[[AT]]]
// CHECK: tile.acquire %[[VECTORS]]
// CHECK: scf.for

// A part is given back before it is added.
// CHECK: tile.role "consumer"
// CHECK: %[[SUMS:.*]] = tile.await
// CHECK: %[[OWN:.*]] = tile.extract_columns %[[SUMS]] from 0
// CHECK: %[[FULL:.*]] = tile.wait %[[RESIDUALS]][%[[HERE:.*]]] : !pipe2
// CHECK-NEXT: %[[TILE:.*]] = tile.tiles %[[RESIDUALS]][%[[FULL]]]
// CHECK-NEXT: %[[ADDED:.*]] = tile.load_shared %[[TILE]] : !smem -> !fragment1
// CHECK-NEXT: tile.release %[[RESIDUALS]][%[[FULL]]]
// CHECK-NEXT: tile.next %[[RESIDUALS]][%[[HERE]]]
// CHECK-NEXT: tile.map %[[OWN]] at[{{.*}}] within[{{.*}}] with %{{.*}}, %[[ADDED]]
// CHECK-NOT: memref.load
// CHECK: gpu.return
func.func @residual(%x_p: memref<bf16>, %w_p: memref<bf16>, %b_p: memref<bf16>, %r_p: memref<bf16>, %y_p: memref<bf16>, %m: index {kernel.size = #kernel.size<optimum = 64>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2, 3], writes = [4]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%m, 72], strides: [72, 1] : memref<bf16> to memref<?x72xbf16, strided<[72, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x72xbf16, strided<[72, 1]>> to tensor<?x72xbf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [72, 64], strides: [64, 1] : memref<bf16> to memref<72x64xbf16, strided<[64, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<72x64xbf16, strided<[64, 1]>> to tensor<72x64xbf16>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [64], strides: [1] : memref<bf16> to memref<64xbf16, strided<[1]>>
  %b_t = bufferization.to_tensor %b_m restrict : memref<64xbf16, strided<[1]>> to tensor<64xbf16>
  %r_m = memref.reinterpret_cast %r_p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<bf16> to memref<?x64xbf16, strided<[64, 1]>>
  %r_t = bufferization.to_tensor %r_m restrict : memref<?x64xbf16, strided<[64, 1]>> to tensor<?x64xbf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<bf16> to memref<?x64xbf16, strided<[64, 1]>>
  %s_empty = tensor.empty(%m) : tensor<?x64xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x64xf32>) -> tensor<?x64xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x72xbf16>, tensor<72x64xbf16>) outs(%s_fill : tensor<?x64xf32>) {
  ^bb0(%x: bf16, %w: bf16, %s: f32):
    %e = arith.extf %x : bf16 to f32
    %f = arith.extf %w : bf16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x64xf32>
  %y_empty = tensor.empty(%m) : tensor<?x64xbf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(b)>, affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%s_t, %b_t, %r_t : tensor<?x64xf32>, tensor<64xbf16>, tensor<?x64xbf16>) outs(%y_empty : tensor<?x64xbf16>) {
  ^bb0(%s: f32, %b: bf16, %o: bf16, %y: bf16):
    %e = arith.extf %b : bf16 to f32
    %i = arith.extf %o : bf16 to f32
    %h = arith.addf %s, %e : f32
    %t = arith.addf %h, %i : f32
    %z = arith.constant 0.0 : f32
    %u = arith.maximumf %t, %z : f32
    %r = arith.truncf %u : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<?x64xbf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x64xbf16>, memref<?x64xbf16, strided<[64, 1]>>) -> ()
  return
}

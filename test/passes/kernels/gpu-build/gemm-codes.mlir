// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s

// A GEMM of any number of rows whose weight is codes in tiles, as its transpose: 64 columns of the weight are a warpgroup's left operand.
// CHECK-LABEL: gpu.func @product(
// Codes are copied as words, 8 columns a row; of scales a step has two blocks. The result is stored 64 rows at a time.
// CHECK-SAME: kernel.schedule = #kernel.schedule<"codes int4 64x128x128 stages 4 group_m 2">
// CHECK-SAME: #kernel.tensor_map<buffer = 0, element = f16, dims = ["256", "arg4"], strides = ["512"], box = [64, 64], swizzle = 128>
// CHECK-SAME: #kernel.tensor_map<buffer = 1, element = i32, dims = ["256", "24"], strides = ["1024"], box = [128, 16]>
// CHECK-SAME: #kernel.tensor_map<buffer = 2, element = f16, dims = ["192", "4"], strides = ["384"], box = [128, 2]>
// CHECK-SAME: #kernel.tensor_map<buffer = 3, element = f16, dims = ["192", "arg4"], strides = ["384"], box = [64, 64], swizzle = 128>
// Numbers of 4 bits are 1024 more than codes, whose zero point is 8.
// CHECK: %[[OFF:.*]] = arith.constant dense<-1.032000e+03> : vector<2xf16>
// CHECK: %[[X:.*]] = tile.pipe tma consumers 8 : !pipe{{$}}
// CHECK: %[[W:.*]] = tile.pipe tma consumers 8 : !pipe1
// Codes of the first step, and then, after each step's rows, those of the next.
// CHECK: tile.role "producer"
// CHECK: tile.acquire %[[W]]
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tile.acquire %[[X]]
// CHECK: tile.acquire %[[X]]
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %{{.*}}, %c256
// CHECK: arith.select %[[MORE]]
// CHECK: tile.acquire %[[W]]
// All lanes of a column load its words; each shifts them to its own pair.
// CHECK: tile.role "consumer"
// CHECK: tile.load_vector %{{.*}}#0[%[[SLICE:.*]], %[[WORD:.*]]] : !smem1 -> vector<4xi32>
// CHECK: tile.load_vector %{{.*}}#0[%[[SLICE]] + 1, %[[WORD]]] : !smem1 -> vector<4xi32>
// CHECK: nvvm.bar.warp.sync
// CHECK: tile.release %[[W]]
// CHECK: %[[LOW:.*]] = arith.shrui %{{.*}}, %[[BIT:.*]] : i32
// CHECK: nvvm.inline_ptx "lop3.b32 {{.*}} ro(%[[LOW]]
// CHECK: llvm.intr.fma(%{{.*}}, %{{.*}}, %[[OFF]])
// CHECK: tile.pack_words
// The first step of a tile begins new sums; each product is followed by what the next one multiplies.
// CHECK: scf.for
// CHECK: tile.mma %{{[^,]*}}, %{{[^,]*}} transposed : !packed, !smem -> !pending
// CHECK: tile.wgmma_wait<1>
// CHECK: tile.pack_words
// CHECK: tile.mma %{{[^,]*}}, %{{[^,]*}} transposed, %{{.*}} : !packed
// CHECK: tile.wgmma_wait<1>
// CHECK: tile.release %[[X]]
// CHECK: tile.wait %[[W]]
// CHECK: tile.pack_words
// CHECK: scf.for
// CHECK: tile.mma
// CHECK: tile.release %[[X]]
// CHECK: tile.mma
// CHECK: tile.release %[[X]]
// CHECK: scf.yield
// CHECK: tile.await
// Rows of a fragment are columns of the result.
// CHECK: tile.map %{{.*}} at{{ ?}}[%{{.*}}, %{{.*}}] within{{ ?}}[%c192{{.*}}, %arg4]
// CHECK: tile.store_shared %{{.*}} into %{{.*}} transposed : !fragment1
func.func @product(%x_p: memref<f16>, %w_p: memref<i8>, %ws_p: memref<f16>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 4096, optimum = 512>}) attributes {kernel.forced_schedule = #kernel.schedule<"codes int4 64x128x128 stages 4 group_m 2">, kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %c0 = arith.constant 0 : index
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 256], strides: [256, 1] : memref<f16> to memref<?x256xf16, strided<[256, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x256xf16, strided<[256, 1]>> to tensor<?x256xf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 192], strides: [192, 1] : memref<f16> to memref<?x192xf16, strided<[192, 1]>>
  %w_empty = tensor.empty() : tensor<256x192xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [24, 2, 512], strides: [1024, 512, 1] : memref<i8> to memref<24x2x512xi8, strided<[1024, 512, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<24x2x512xi8, strided<[1024, 512, 1]>> to tensor<24x2x512xi8>
  %ws_m = memref.reinterpret_cast %ws_p to offset: [0], sizes: [4, 192], strides: [192, 1] : memref<f16> to memref<4x192xf16, strided<[192, 1]>>
  %ws_t = bufferization.to_tensor %ws_m restrict : memref<4x192xf16, strided<[192, 1]>> to tensor<4x192xf16>
  %w = linalg.generic {indexing_maps = [affine_map<(k,n)->(k,n)>], iterator_types = ["parallel", "parallel"]} outs(%w_empty : tensor<256x192xf32>) attrs = {kernel.tiles = #kernel.tiles<bits = 4, block = 64, offset = 8>} {
  ^bb0(%o: f32):
    %n_i = linalg.index 1 : index
    %byte = tensor.extract %w_t[%c0, %c0, %n_i] : tensor<24x2x512xi8>
    %scale = tensor.extract %ws_t[%c0, %n_i] : tensor<4x192xf16>
    %code = arith.uitofp %byte : i8 to f32
    %wide = arith.extf %scale : f16 to f32
    %number = arith.mulf %code, %wide : f32
    linalg.yield %number : f32
  } -> tensor<256x192xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty(%n) : tensor<?x192xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x192xf32>) -> tensor<?x192xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %w : tensor<?x256xf16>, tensor<256x192xf32>) outs(%fill : tensor<?x192xf32>) {
  ^bb0(%a: f16, %b: f32, %s: f32):
    %e = arith.extf %a : f16 to f32
    %p = arith.mulf %e, %b : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x192xf32>
  %y_empty = tensor.empty(%n) : tensor<?x192xf16>
  %y = linalg.generic {indexing_maps = [affine_map<(m,n)->(m,n)>, affine_map<(m,n)->(m,n)>], iterator_types = ["parallel", "parallel"]} ins(%g : tensor<?x192xf32>) outs(%y_empty : tensor<?x192xf16>) {
  ^bb0(%a: f32, %o: f16):
    %t = arith.truncf %a : f32 to f16
    linalg.yield %t : f16
  } -> tensor<?x192xf16>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<?x192xf16>, memref<?x192xf16, strided<[192, 1]>>) -> ()
  return
}

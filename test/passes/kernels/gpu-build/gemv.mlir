// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_80 %s | FileCheck %s --check-prefix=AMPERE

// One row, weights contiguous along the sum: copies go ahead into a ring of stages, one for each warp; what is loaded from there goes to
// mma.sync as it is; warps' sums are added in order. Few weights stay in the second cache.
// CHECK: = !tile.smem<[8, 64], bf16, row_swizzle [3, 4, 3]>
// CHECK-LABEL: gpu.func @one_row
// CHECK-SAME: kernel.schedule = #kernel.schedule<"gemv [[COLUMNS:[0-9]+]]x64 warps [[WARPS:[0-9]+]] stages {{[0-9]+}} tiles {{[0-9]+}}">
// Lanes that load weights, or rows, together have other units of the lines of 128 bytes.
// CHECK: %[[RING:.*]] = tile.pipe cp_async warps [[WARPS]] : !pipe
// CHECK: %[[SUMS:.*]] = tile.alloc : !smem
// CHECK: %[[POLICY:.*]] = tile.cache_policy evict_normal
// CHECK: %[[BEGIN:.*]] = tile.cursor of %[[RING]]
// CHECK: %[[FREE:.*]] = tile.acquire %[[RING]][%[[BEGIN]]]
// All stages and tiles are whole: nothing is compared.
// CHECK-NOT: arith.minsi
// CHECK: tile.cp_async_vector %{{.*}}[%{{.*}}] into %{{.*}}[%{{.*}}, %{{.*}}] by 16 policy %[[POLICY]] signal %[[RING]][%[[FREE]]]
// The rows that are there.
// CHECK: tile.cp_async_vector if %{{.*}}
// CHECK: tile.commit %[[RING]][%[[FREE]]]
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[FULL:.*]] = tile.wait %[[RING]][%{{.*}}] in_flight
// CHECK: tile.acquire
// CHECK: scf.if
// CHECK: tile.cp_async_vector
// CHECK: tile.commit
// CHECK: tile.load_vector {{.*}} -> vector<4xi32>
// CHECK-NOT: tile.load_matrix
// CHECK: nvvm.mma.sync
// CHECK-SAME: multiplicandAPtxType = #nvvm.mma_type<bf16>
// CHECK-SAME: shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK: tile.release %[[RING]][%[[FULL]]]
// CHECK: scf.yield
// CHECK: tile.store_vector %{{.*}} to %[[SUMS]]
// CHECK: tile.sync block
// CHECK: scf.if
// CHECK: tile.load_vector %[[SUMS]]
// CHECK: arith.addf
// CHECK: arith.truncf
// CHECK: memref.store {{.*}}xbf16
// CHECK: tile.sync block
// CHECK: tile.drain %[[RING]]
// AMPERE-LABEL: gpu.func @one_row
// AMPERE-SAME: kernel.schedule = #kernel.schedule<"gemv
func.func @one_row(%x: memref<bf16>, %w: memref<bf16>, %y: memref<bf16>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
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

// Up to 40 rows, 16 at a time; weights contiguous along the columns are transposed on their way to registers.
// CHECK-LABEL: gpu.func @some_rows
// CHECK-SAME: kernel.schedule = #kernel.schedule<"gemv
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tile.wait
// CHECK: tile.load_matrix
// CHECK: nvvm.mma.sync
// CHECK: tile.sync block
// CHECK: tile.sync block
// The stages are free for the next rows.
// CHECK: tile.drain
// CHECK-NEXT: tile.sync block
func.func @some_rows(%x: memref<f16>, %w: memref<f16>, %y: memref<f32>, %m: index {kernel.size = #kernel.size<min = 1, max = 40, optimum = 4>})
    attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%m, 256], strides: [256, 1] : memref<f16> to memref<?x256xf16, strided<[256, 1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<?x256xf16, strided<[256, 1]>> to tensor<?x256xf16>
  %wm = memref.reinterpret_cast %w to offset: [0], sizes: [256, 512], strides: [512, 1] : memref<f16> to memref<256x512xf16, strided<[512, 1]>>
  %wt = bufferization.to_tensor %wm restrict : memref<256x512xf16, strided<[512, 1]>> to tensor<256x512xf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%m) : tensor<?x512xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x512xf32>) -> tensor<?x512xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%xt, %wt : tensor<?x256xf16>, tensor<256x512xf16>) outs(%z : tensor<?x512xf32>) {
  ^bb0(%a: f16, %b: f16, %acc: f32):
    %c = arith.extf %a : f16 to f32
    %d = arith.extf %b : f16 to f32
    %p = arith.mulf %c, %d : f32
    %r = arith.addf %acc, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x512xf32>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [%m, 512], strides: [512, 1] : memref<f32> to memref<?x512xf32, strided<[512, 1]>>
  bufferization.materialize_in_destination %s in restrict writable %ym : (tensor<?x512xf32>, memref<?x512xf32, strided<[512, 1]>>) -> ()
  return
}

// Rows without an end: the weights would be read again and again. For the family of many rows, which takes 8 and more.
// CHECK-LABEL: gpu.func @any_rows
// CHECK-NOT: kernel.schedule = #kernel.schedule<"gemv
func.func @any_rows(%x: memref<f16>, %w: memref<f16>, %y: memref<f32>, %m: index {kernel.size = #kernel.size<min = 1, optimum = 12>})
    attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%m, 256], strides: [256, 1] : memref<f16> to memref<?x256xf16, strided<[256, 1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<?x256xf16, strided<[256, 1]>> to tensor<?x256xf16>
  %wm = memref.reinterpret_cast %w to offset: [0], sizes: [256, 512], strides: [512, 1] : memref<f16> to memref<256x512xf16, strided<[512, 1]>>
  %wt = bufferization.to_tensor %wm restrict : memref<256x512xf16, strided<[512, 1]>> to tensor<256x512xf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%m) : tensor<?x512xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x512xf32>) -> tensor<?x512xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%xt, %wt : tensor<?x256xf16>, tensor<256x512xf16>) outs(%z : tensor<?x512xf32>) {
  ^bb0(%a: f16, %b: f16, %acc: f32):
    %c = arith.extf %a : f16 to f32
    %d = arith.extf %b : f16 to f32
    %p = arith.mulf %c, %d : f32
    %r = arith.addf %acc, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x512xf32>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [%m, 512], strides: [512, 1] : memref<f32> to memref<?x512xf32, strided<[512, 1]>>
  bufferization.materialize_in_destination %s in restrict writable %ym : (tensor<?x512xf32>, memref<?x512xf32, strided<[512, 1]>>) -> ()
  return
}

// Weights that the second cache does not hold make room for others; a transpose of an input is read through.
// CHECK-LABEL: gpu.func @large
// CHECK-SAME: kernel.schedule = #kernel.schedule<"gemv {{[0-9]+}}x64 warps
// CHECK: tile.cache_policy evict_first
// CHECK-NOT: tile.load_matrix
// CHECK: nvvm.mma.sync
func.func @large(%x: memref<f16>, %w: memref<f16>, %y: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [2, 8192], strides: [8192, 1] : memref<f16> to memref<2x8192xf16, strided<[8192, 1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<2x8192xf16, strided<[8192, 1]>> to tensor<2x8192xf16>
  %wm = memref.reinterpret_cast %w to offset: [0], sizes: [8192, 8192], strides: [8192, 1] : memref<f16> to memref<8192x8192xf16, strided<[8192, 1]>>
  %wt = bufferization.to_tensor %wm restrict : memref<8192x8192xf16, strided<[8192, 1]>> to tensor<8192x8192xf16>
  %te = tensor.empty() : tensor<8192x8192xf16>
  %t = linalg.generic {indexing_maps = [affine_map<(a,b)->(b,a)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]}
      ins(%wt : tensor<8192x8192xf16>) outs(%te : tensor<8192x8192xf16>) {
  ^bb0(%a: f16, %o: f16):
    linalg.yield %a : f16
  } -> tensor<8192x8192xf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x8192xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8192xf32>) -> tensor<2x8192xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%xt, %t : tensor<2x8192xf16>, tensor<8192x8192xf16>) outs(%z : tensor<2x8192xf32>) {
  ^bb0(%a: f16, %b: f16, %acc: f32):
    %c = arith.extf %a : f16 to f32
    %d = arith.extf %b : f16 to f32
    %p = arith.mulf %c, %d : f32
    %r = arith.addf %acc, %p : f32
    linalg.yield %r : f32
  } -> tensor<2x8192xf32>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [2, 8192], strides: [8192, 1] : memref<f32> to memref<2x8192xf32, strided<[8192, 1]>>
  bufferization.materialize_in_destination %s in restrict writable %ym : (tensor<2x8192xf32>, memref<2x8192xf32, strided<[8192, 1]>>) -> ()
  return
}

// One row typically, and a prompt's at most: tiles of Tensor Cores are not for so few, so the kernel of the optimum is this one, and
// begins again with the next rows. Sizes of prompts are variants.
// CHECK-LABEL: gpu.func @token_or_prompt
// CHECK-SAME: kernel.schedule = #kernel.schedule<"gemv
// AMPERE-LABEL: gpu.func @token_or_prompt
// AMPERE-SAME: kernel.schedule = #kernel.schedule<"gemv
func.func @token_or_prompt(%x: memref<f16>, %w: memref<f16>, %y: memref<f16>, %m: index {kernel.size = #kernel.size<min = 1, max = 1024, optimum = 1>})
    attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%m, 2048], strides: [2048, 1] : memref<f16> to memref<?x2048xf16, strided<[2048, 1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<?x2048xf16, strided<[2048, 1]>> to tensor<?x2048xf16>
  %wm = memref.reinterpret_cast %w to offset: [0], sizes: [2048, 1024], strides: [1024, 1] : memref<f16> to memref<2048x1024xf16, strided<[1024, 1]>>
  %wt = bufferization.to_tensor %wm restrict : memref<2048x1024xf16, strided<[1024, 1]>> to tensor<2048x1024xf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%m) : tensor<?x1024xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x1024xf32>) -> tensor<?x1024xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%xt, %wt : tensor<?x2048xf16>, tensor<2048x1024xf16>) outs(%z : tensor<?x1024xf32>) {
  ^bb0(%a: f16, %b: f16, %acc: f32):
    %c = arith.extf %a : f16 to f32
    %d = arith.extf %b : f16 to f32
    %p = arith.mulf %c, %d : f32
    %r = arith.addf %acc, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x1024xf32>
  %h = tensor.empty(%m) : tensor<?x1024xf16>
  %q = linalg.generic {indexing_maps = [affine_map<(m,n)->(m,n)>, affine_map<(m,n)->(m,n)>], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<?x1024xf32>) outs(%h : tensor<?x1024xf16>) {
  ^bb0(%a: f32, %o: f16):
    %r = arith.truncf %a : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x1024xf16>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [%m, 1024], strides: [1024, 1] : memref<f16> to memref<?x1024xf16, strided<[1024, 1]>>
  bufferization.materialize_in_destination %q in restrict writable %ym : (tensor<?x1024xf16>, memref<?x1024xf16, strided<[1024, 1]>>) -> ()
  return
}

// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s

// The epilogue reads the sums of squares of A's rows (an RMSNorm's factor). The kernel multiplies the rows by themselves on the way: their
// squares are on the diagonal. So it does not read the argument, and starts to prefetch its weights while the kernel before it runs.
// CHECK: = !tile.smem<[{{[0-9]+}}, 1], f32>
// CHECK-LABEL: gpu.func @one_row
// CHECK-SAME: kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [3], weight_bytes = [0, 262144]>
// CHECK-SAME: prefetches_part = true
// CHECK-SAME: kernel.schedule = #kernel.schedule<"gemv
// CHECK: %[[SUMS:.*]] = tile.alloc : !smem
// CHECK: %[[SQUARES:.*]] = tile.alloc : !smem
// CHECK: tile.store_vector %{{.*}} to %[[SUMS]]
// CHECK: scf.if
// CHECK: tile.store_vector %{{.*}} to %[[SQUARES]][%{{.*}}, %{{.*}}] : vector<1xf32>
// CHECK: tile.sync block
// CHECK: tile.load_vector %[[SQUARES]]
// CHECK-NOT: memref.load
// CHECK: math.sqrt

// Another family reads them.
// CHECK-LABEL: gpu.func @many_rows
// CHECK-SAME: kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3], weight_bytes = [0, 262144, 0]>
// CHECK-SAME: kernel.schedule = #kernel.schedule<"gemm
// CHECK: memref.load
// CHECK: math.sqrt

// With weights of codes, x is the right operand of the MMA. The one that has the sums of its rows has the squares as well: rows 0 to 7 of
// its left operand are x, and the others ones.
// CHECK-LABEL: gpu.func @of_codes
// CHECK-SAME: kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [4]>
// CHECK-NOT: prefetches_part = true
// CHECK-SAME: kernel.schedule = #kernel.schedule<"gemv int4 16x128 warps 8 stages 2 tiles 1">
// CHECK: %[[SUMS:.*]] = tile.alloc : !smem
// CHECK: %[[SQUARES:.*]] = tile.alloc : !smem
// CHECK: %[[X:.*]] = tile.load_vector %{{.*}}#1
// CHECK: %[[A:.*]] = vector.extract %[[X]][0]
// CHECK: %[[LEFT:.*]] = llvm.bitcast %[[A]]
// CHECK: %[[ONES:.*]] = llvm.bitcast %c1006648320_i32
// CHECK: %[[RIGHT:.*]] = llvm.bitcast %[[A]]
// CHECK: nvvm.mma.sync A[%[[LEFT]], %[[ONES]], %{{.*}}, %{{.*}}] B[%[[RIGHT]], %{{.*}}]
// CHECK: tile.store_vector %{{.*}} to %[[SUMS]]
// CHECK: tile.store_vector %{{.*}} to %[[SQUARES]]
// CHECK: tile.load_vector %[[SQUARES]]
// CHECK-NOT: memref.load
// CHECK: math.sqrt

// A fragment of many rows has many rows of x in each thread. So the factors of a tile's rows are computed once, two by
// each of 128 threads.
// CHECK-LABEL: gpu.func @of_codes_of_many_rows
// CHECK-SAME: kernel.schedule = #kernel.schedule<"codes int4 256x64x128 stages 4 group_m 2">
// CHECK: tile.alloc : !smem
// CHECK: %[[FACTORS:.*]] = tile.alloc : !smem
// CHECK: tile.role "consumer"
// CHECK-COUNT-2: math.sqrt
// CHECK: tile.mma
// They are stored after the tile's first products, when the last tile's are read.
// CHECK: tile.sync role
// CHECK-COUNT-2: tile.store_vector %{{.*}} to %[[FACTORS]]
// CHECK-NOT: math.sqrt
// CHECK: tile.await
// CHECK: tile.sync role
// CHECK: %[[OF_ROWS:.*]] = tile.load_columns %[[FACTORS]]
// CHECK: tile.map %{{.*}} with %[[OF_ROWS]]
// CHECK-NOT: math.sqrt
// CHECK: gpu.return

#rows = affine_map<(m, n) -> (m, n)>
#first = affine_map<(m, n) -> (m, 0)>

func.func @one_row(%x: memref<f16>, %w: memref<f16>, %q: memref<f32> {kernel.row_squares = 0 : i64}, %y: memref<f16>,
                   %m: index {kernel.size = #kernel.size<min = 1, max = 8, optimum = 1>})
    attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3], weight_bytes = [0, 262144, 0]>} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%m, 256], strides: [256, 1] : memref<f16> to memref<?x256xf16, strided<[256, 1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<?x256xf16, strided<[256, 1]>> to tensor<?x256xf16>
  %wm = memref.reinterpret_cast %w to offset: [0], sizes: [256, 512], strides: [512, 1] : memref<f16> to memref<256x512xf16, strided<[512, 1]>>
  %wt = bufferization.to_tensor %wm restrict : memref<256x512xf16, strided<[512, 1]>> to tensor<256x512xf16>
  %qm = memref.reinterpret_cast %q to offset: [0], sizes: [%m, 1], strides: [1, 1] : memref<f32> to memref<?x1xf32, strided<[1, 1]>>
  %qt = bufferization.to_tensor %qm restrict : memref<?x1xf32, strided<[1, 1]>> to tensor<?x1xf32>
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
  %h = tensor.empty(%m) : tensor<?x512xf16>
  %o = linalg.generic {indexing_maps = [#rows, #first, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%s, %qt : tensor<?x512xf32>, tensor<?x1xf32>) outs(%h : tensor<?x512xf16>) {
  ^bb0(%a: f32, %b: f32, %out: f16):
    %root = math.sqrt %b : f32
    %p = arith.divf %a, %root : f32
    %r = arith.truncf %p : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x512xf16>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [%m, 512], strides: [512, 1] : memref<f16> to memref<?x512xf16, strided<[512, 1]>>
  bufferization.materialize_in_destination %o in restrict writable %ym : (tensor<?x512xf16>, memref<?x512xf16, strided<[512, 1]>>) -> ()
  return
}

func.func @many_rows(%x: memref<f16>, %w: memref<f16>, %q: memref<f32> {kernel.row_squares = 0 : i64}, %y: memref<f16>,
                     %m: index {kernel.size = #kernel.size<min = 1, optimum = 512>})
    attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3], weight_bytes = [0, 262144, 0]>} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%m, 256], strides: [256, 1] : memref<f16> to memref<?x256xf16, strided<[256, 1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<?x256xf16, strided<[256, 1]>> to tensor<?x256xf16>
  %wm = memref.reinterpret_cast %w to offset: [0], sizes: [256, 512], strides: [512, 1] : memref<f16> to memref<256x512xf16, strided<[512, 1]>>
  %wt = bufferization.to_tensor %wm restrict : memref<256x512xf16, strided<[512, 1]>> to tensor<256x512xf16>
  %qm = memref.reinterpret_cast %q to offset: [0], sizes: [%m, 1], strides: [1, 1] : memref<f32> to memref<?x1xf32, strided<[1, 1]>>
  %qt = bufferization.to_tensor %qm restrict : memref<?x1xf32, strided<[1, 1]>> to tensor<?x1xf32>
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
  %h = tensor.empty(%m) : tensor<?x512xf16>
  %o = linalg.generic {indexing_maps = [#rows, #first, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%s, %qt : tensor<?x512xf32>, tensor<?x1xf32>) outs(%h : tensor<?x512xf16>) {
  ^bb0(%a: f32, %b: f32, %out: f16):
    %root = math.sqrt %b : f32
    %p = arith.divf %a, %root : f32
    %r = arith.truncf %p : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x512xf16>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [%m, 512], strides: [512, 1] : memref<f16> to memref<?x512xf16, strided<[512, 1]>>
  bufferization.materialize_in_destination %o in restrict writable %ym : (tensor<?x512xf16>, memref<?x512xf16, strided<[512, 1]>>) -> ()
  return
}

func.func @of_codes(%x: memref<f16>, %w: memref<i8>, %s: memref<f16>, %q: memref<f32> {kernel.row_squares = 0 : i64}, %y: memref<f16>,
                    %m: index {kernel.size = #kernel.size<min = 1, max = 8, optimum = 1>})
    attributes {kernel.forced_schedule = #kernel.schedule<"gemv int4 16x128 warps 8 stages 2 tiles 1">, kernel.buffers = #kernel.buffers<reads = [0, 1, 2, 3], writes = [4]>} {
  %c0 = arith.constant 0 : index
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%m, 256], strides: [256, 1] : memref<f16> to memref<?x256xf16, strided<[256, 1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<?x256xf16, strided<[256, 1]>> to tensor<?x256xf16>
  %wm = memref.reinterpret_cast %w to offset: [0], sizes: [64, 2, 512], strides: [1024, 512, 1] : memref<i8> to memref<64x2x512xi8, strided<[1024, 512, 1]>>
  %wt = bufferization.to_tensor %wm restrict : memref<64x2x512xi8, strided<[1024, 512, 1]>> to tensor<64x2x512xi8>
  %sm = memref.reinterpret_cast %s to offset: [0], sizes: [2, 512], strides: [512, 1] : memref<f16> to memref<2x512xf16, strided<[512, 1]>>
  %st = bufferization.to_tensor %sm restrict : memref<2x512xf16, strided<[512, 1]>> to tensor<2x512xf16>
  %qm = memref.reinterpret_cast %q to offset: [0], sizes: [%m, 1], strides: [1, 1] : memref<f32> to memref<?x1xf32, strided<[1, 1]>>
  %qt = bufferization.to_tensor %qm restrict : memref<?x1xf32, strided<[1, 1]>> to tensor<?x1xf32>
  %we = tensor.empty() : tensor<256x512xf32>
  %wn = linalg.generic {indexing_maps = [affine_map<(k,n)->(k,n)>], iterator_types = ["parallel", "parallel"]} outs(%we : tensor<256x512xf32>) attrs = {kernel.tiles = #kernel.tiles<bits = 4, block = 128, offset = 8>} {
  ^bb0(%o: f32):
    %i = linalg.index 1 : index
    %byte = tensor.extract %wt[%c0, %c0, %i] : tensor<64x2x512xi8>
    %scale = tensor.extract %st[%c0, %i] : tensor<2x512xf16>
    %code = arith.uitofp %byte : i8 to f32
    %wide = arith.extf %scale : f16 to f32
    %number = arith.mulf %code, %wide : f32
    linalg.yield %number : f32
  } -> tensor<256x512xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%m) : tensor<?x512xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x512xf32>) -> tensor<?x512xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%xt, %wn : tensor<?x256xf16>, tensor<256x512xf32>) outs(%z : tensor<?x512xf32>) {
  ^bb0(%a: f16, %b: f32, %acc: f32):
    %c = arith.extf %a : f16 to f32
    %d = arith.mulf %c, %b : f32
    %r = arith.addf %acc, %d : f32
    linalg.yield %r : f32
  } -> tensor<?x512xf32>
  %h = tensor.empty(%m) : tensor<?x512xf16>
  %o = linalg.generic {indexing_maps = [#rows, #first, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%p, %qt : tensor<?x512xf32>, tensor<?x1xf32>) outs(%h : tensor<?x512xf16>) {
  ^bb0(%a: f32, %b: f32, %out: f16):
    %root = math.sqrt %b : f32
    %d = arith.divf %a, %root : f32
    %r = arith.truncf %d : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x512xf16>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [%m, 512], strides: [512, 1] : memref<f16> to memref<?x512xf16, strided<[512, 1]>>
  bufferization.materialize_in_destination %o in restrict writable %ym : (tensor<?x512xf16>, memref<?x512xf16, strided<[512, 1]>>) -> ()
  return
}

func.func @of_codes_of_many_rows(%x: memref<f16>, %w: memref<i8>, %s: memref<f16>, %q: memref<f32> {kernel.row_squares = 0 : i64}, %y: memref<f16>,
                    %m: index {kernel.size = #kernel.size<min = 1, max = 4096, optimum = 512>})
    attributes {kernel.forced_schedule = #kernel.schedule<"codes int4 256x64x128 stages 4 group_m 2">, kernel.buffers = #kernel.buffers<reads = [0, 1, 2, 3], writes = [4]>} {
  %c0 = arith.constant 0 : index
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%m, 256], strides: [256, 1] : memref<f16> to memref<?x256xf16, strided<[256, 1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<?x256xf16, strided<[256, 1]>> to tensor<?x256xf16>
  %wm = memref.reinterpret_cast %w to offset: [0], sizes: [64, 2, 512], strides: [1024, 512, 1] : memref<i8> to memref<64x2x512xi8, strided<[1024, 512, 1]>>
  %wt = bufferization.to_tensor %wm restrict : memref<64x2x512xi8, strided<[1024, 512, 1]>> to tensor<64x2x512xi8>
  %sm = memref.reinterpret_cast %s to offset: [0], sizes: [2, 512], strides: [512, 1] : memref<f16> to memref<2x512xf16, strided<[512, 1]>>
  %st = bufferization.to_tensor %sm restrict : memref<2x512xf16, strided<[512, 1]>> to tensor<2x512xf16>
  %qm = memref.reinterpret_cast %q to offset: [0], sizes: [%m, 1], strides: [1, 1] : memref<f32> to memref<?x1xf32, strided<[1, 1]>>
  %qt = bufferization.to_tensor %qm restrict : memref<?x1xf32, strided<[1, 1]>> to tensor<?x1xf32>
  %we = tensor.empty() : tensor<256x512xf32>
  %wn = linalg.generic {indexing_maps = [affine_map<(k,n)->(k,n)>], iterator_types = ["parallel", "parallel"]} outs(%we : tensor<256x512xf32>) attrs = {kernel.tiles = #kernel.tiles<bits = 4, block = 128, offset = 8>} {
  ^bb0(%o: f32):
    %i = linalg.index 1 : index
    %byte = tensor.extract %wt[%c0, %c0, %i] : tensor<64x2x512xi8>
    %scale = tensor.extract %st[%c0, %i] : tensor<2x512xf16>
    %code = arith.uitofp %byte : i8 to f32
    %wide = arith.extf %scale : f16 to f32
    %number = arith.mulf %code, %wide : f32
    linalg.yield %number : f32
  } -> tensor<256x512xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%m) : tensor<?x512xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x512xf32>) -> tensor<?x512xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%xt, %wn : tensor<?x256xf16>, tensor<256x512xf32>) outs(%z : tensor<?x512xf32>) {
  ^bb0(%a: f16, %b: f32, %acc: f32):
    %c = arith.extf %a : f16 to f32
    %d = arith.mulf %c, %b : f32
    %r = arith.addf %acc, %d : f32
    linalg.yield %r : f32
  } -> tensor<?x512xf32>
  %re = tensor.empty(%m) : tensor<?x1xf32>
  %root = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]} ins(%qt : tensor<?x1xf32>) outs(%re : tensor<?x1xf32>) {
  ^bb0(%a: f32, %out: f32):
    %r = math.sqrt %a : f32
    linalg.yield %r : f32
  } -> tensor<?x1xf32>
  %h = tensor.empty(%m) : tensor<?x512xf16>
  %o = linalg.generic {indexing_maps = [#rows, #first, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%p, %root : tensor<?x512xf32>, tensor<?x1xf32>) outs(%h : tensor<?x512xf16>) {
  ^bb0(%a: f32, %b: f32, %out: f16):
    %d = arith.divf %a, %b : f32
    %r = arith.truncf %d : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x512xf16>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [%m, 512], strides: [512, 1] : memref<f16> to memref<?x512xf16, strided<[512, 1]>>
  bufferization.materialize_in_destination %o in restrict writable %ym : (tensor<?x512xf16>, memref<?x512xf16, strided<[512, 1]>>) -> ()
  return
}

// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s

// Products of 16-bit matrices on the tensor cores of sm_90a.

// The sizes of this text are those of the smallest tile: one warpgroup multiplies 64×64. The sum of 72 is two stages, of which the
// second ends in zeros that the copy makes.

// CHECK-DAG: !fragment = !tile.fragment<[64, 64], f32>
// CHECK-DAG: !fragment1 = !tile.fragment<[64, 64], bf16>
// CHECK-DAG: !smem = !tile.smem<[64, 64], bf16, swizzle 128>
// CHECK-DAG: !smem1 = !tile.smem<[1, 64], bf16>
// CHECK-DAG: !smem2 = !tile.smem<[128, 64], bf16, swizzle 128>
// CHECK-DAG: !smem3 = !tile.smem<[64, 64], bf16, swizzle 128, pitch 128>
// CHECK-DAG: !view = !tile.view<bf16, box[64, 64], swizzle 128>
// CHECK-DAG: !view1 = !tile.view<bf16, box[64], swizzle 0>
// CHECK-DAG: !pipe = !tile.pipe<13 of [!smem, !smem]>
// The bias of as many tiles as the ring's 13 stages may be ahead, two for each tile, and of the one that is multiplied.
// CHECK-DAG: !pipe1 = !tile.pipe<8 of [!smem1]>

// CHECK-LABEL: gpu.func @linear(
// CHECK-SAME: %[[M:[a-z0-9]+]]: index {kernel.size = #kernel.size<optimum = 64>}, %[[X:[a-z0-9]+]]: !view, %[[W:[a-z0-9]+]]: !view, %[[Y:[a-z0-9]+]]: !view, %[[B:[a-z0-9]+]]: !view1)
// Blocks stay: there are no more than multiprocessors.
// CHECK-SAME: grid = ["min(sm_count, floordiv(arg4 + 63, 64))", "1", "1"]
// CHECK-SAME: block = [256, 1, 1]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"gemm 64x64x64 stages 13 group_m {{[0-9]+}}">
// CHECK-SAME: kernel.tensor_maps = [
// CHECK-SAME: #kernel.tensor_map<buffer = 0, element = bf16, dims = ["72", "arg4"], strides = ["144"], box = [64, 64], swizzle = 128>
// CHECK-SAME: #kernel.tensor_map<buffer = 1, element = bf16, dims = ["64", "72"], strides = ["128"], box = [64, 64], swizzle = 128>
// CHECK-SAME: #kernel.tensor_map<buffer = 3, element = bf16, dims = ["64", "arg4"], strides = ["128"], box = [64, 64], swizzle = 128>
// CHECK-SAME: #kernel.tensor_map<buffer = 2, element = bf16, dims = ["64"], strides = [], box = [64]>]

// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : index
// CHECK-DAG: %[[SUM:.*]] = arith.constant 72 : index
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[PIPE:.*]] = tile.pipe tma consumers 4 : !pipe
// CHECK-NEXT: %[[VECTORS:.*]] = tile.pipe tma consumers 4 : !pipe1
// CHECK-NEXT: %[[STAGES:.*]] = tile.alloc : !smem2
// CHECK: tile.barrier_init

// CHECK-NEXT: tile.role "producer" warps 0 to 4 registers 40 {
// CHECK: tile.elect role {
// CHECK-NEXT: %[[START:.*]] = tile.cursor
// CHECK-NEXT: %[[FIRST_VECTOR:.*]] = tile.cursor
// CHECK: scf.for %{{.*}} iter_args(%[[OF_TILE:.*]] = %[[START]], %[[VECTOR_AT:.*]] = %[[FIRST_VECTOR]]) -> (!tile.cursor, !tile.cursor)
// The tile's bias is copied before its operands.
// CHECK: %[[FREE_VECTOR:.*]] = tile.acquire %[[VECTORS]][%[[VECTOR_AT]]] : !pipe1 -> !tile.stage<free>
// CHECK-NEXT: %[[OF_BIAS:.*]] = tile.tiles %[[VECTORS]][%[[FREE_VECTOR]]]
// CHECK-NEXT: tile.tma_load %[[B]][%{{.*}}] into %[[OF_BIAS]] signal %[[VECTORS]][%[[FREE_VECTOR]]]
// CHECK-NEXT: tile.commit %[[VECTORS]][%[[FREE_VECTOR]]]
// CHECK: scf.for %[[K:[a-z0-9]+]] = %[[C0]] to %[[SUM]] step %[[C64]] iter_args(%[[AT:.*]] = %[[OF_TILE]]) -> (!tile.cursor) {
// CHECK-NEXT: %[[FREE:.*]] = tile.acquire %[[PIPE]][%[[AT]]] : !pipe -> !tile.stage<free>
// CHECK-NEXT: %[[AB:.*]]:2 = tile.tiles %[[PIPE]][%[[FREE]]]
// CHECK-NEXT: tile.tma_load %[[X]][%{{.*}}, %[[K]]] into %[[AB]]#0 signal %[[PIPE]][%[[FREE]]]
// CHECK-NEXT: tile.tma_load %[[W]][%[[K]], %{{.*}}] into %[[AB]]#1 signal %[[PIPE]][%[[FREE]]]
// CHECK-NEXT: tile.commit %[[PIPE]][%[[FREE]]]
// CHECK-NEXT: %[[NEXT:.*]] = tile.next %[[PIPE]][%[[AT]]]
// CHECK-NEXT: scf.yield %[[NEXT]]

// CHECK: tile.role "consumer" warps 4 to 8 registers 240 {
// CHECK: scf.for
// The first product begins the sums; a stage is given back one product later.
// CHECK: %[[SLOT0:.*]] = tile.wait %[[PIPE]]
// CHECK: %[[SUMS0:.*]] = tile.mma %{{.*}}, %{{.*}} : !smem, !smem -> !pending
// CHECK-NEXT: %[[CURSOR1:.*]] = tile.next %[[PIPE]]
// CHECK-NEXT: %[[LAST:.*]]:3 = scf.for %{{.*}} = %[[C64]] to %[[SUM]] step %[[C64]] iter_args(%[[SUMS:.*]] = %[[SUMS0]], %[[HELD:.*]] = %[[SLOT0]], %[[AT:.*]] = %[[CURSOR1]])
// CHECK-NEXT: %[[SLOT:.*]] = tile.wait %[[PIPE]][%[[AT]]]
// CHECK-NEXT: tile.tiles
// CHECK-NEXT: tile.subview_rows
// CHECK-NEXT: %[[MORE:.*]] = tile.mma %{{.*}}, %{{.*}}, %[[SUMS]] : !smem, !smem, !pending -> !pending
// CHECK-NEXT: %[[CURSOR2:.*]] = tile.next %[[PIPE]][%[[AT]]]
// CHECK-NEXT: %[[STILL:.*]] = tile.wgmma_wait<1> %[[MORE]]
// CHECK-NEXT: tile.release %[[PIPE]][%[[HELD]]]
// CHECK-NEXT: scf.yield %[[STILL]], %[[SLOT]], %[[CURSOR2]]
// CHECK-NEXT: }
// Nothing stands between the products and the wait for them.
// CHECK-NEXT: %[[DONE:.*]] = tile.await %[[LAST]]#0 : !pending -> !fragment
// CHECK-NEXT: tile.release %[[PIPE]][%[[LAST]]#1]

// Bias, ReLU and rounding happen in registers.
// CHECK: %[[FULL_VECTOR:.*]] = tile.wait %[[VECTORS]]
// CHECK: %[[PART:.*]] = tile.extract_columns %[[DONE]] from 0
// CHECK-NEXT: %[[BIASES:.*]] = tile.load_columns %{{.*}}[%[[C0]]] : !smem1 -> !fragment1
// CHECK-NEXT: %[[OUT:.*]] = tile.map %[[PART]] at[%[[ROW:[a-z0-9]+]], %[[COLUMN:[a-z0-9]+]]] within[%[[M]]] with %[[BIASES]] : !fragment, !fragment1 -> !fragment1 {
// CHECK-NEXT: ^bb0(%[[V:.*]]: f32, %{{.*}}: index, %{{.*}}: index, %[[BIAS:.*]]: bf16):
// CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[BIAS]]
// CHECK-NEXT: %[[ADDED:.*]] = arith.addf %[[V]], %[[WIDE]]
// CHECK-NEXT: %[[RELU:.*]] = arith.maximumf %[[ADDED]], %[[ZERO]]
// CHECK-NEXT: %[[ROUNDED:.*]] = arith.truncf %[[RELU]]
// CHECK-NEXT: tile.yield %[[ROUNDED]] : bf16

// CHECK: tile.release %[[VECTORS]][%[[FULL_VECTOR]]]
// One part of 64 columns: the tile before has used the same buffer last, so its store must have read it.
// CHECK: %[[STAGE:.*]] = tile.subview_rows %[[STAGES]]
// CHECK-NEXT: tile.elect warpgroup {
// CHECK-NEXT: tile.tma_store_wait<0>
// CHECK-NEXT: }
// CHECK-NEXT: tile.sync warpgroup
// CHECK-NEXT: tile.store_shared %[[OUT]] into %[[STAGE]]
// CHECK-NEXT: tile.fence_proxy
// CHECK-NEXT: tile.sync warpgroup
// CHECK-NEXT: tile.elect warpgroup {
// CHECK-NEXT: tile.tma_store %[[STAGE]] to %[[Y]][%[[ROW]], %[[COLUMN]]]
// CHECK-NEXT: tile.tma_store_commit
// CHECK-NEXT: }
// CHECK-NEXT: scf.yield %[[LAST]]#2, %{{.*}}
// CHECK: tile.tma_store_wait<0>
func.func @linear(%x_p: memref<bf16>, %w_p: memref<bf16>, %b_p: memref<bf16>, %y_p: memref<bf16>, %m: index {kernel.size = #kernel.size<optimum = 64>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%m, 72], strides: [72, 1] : memref<bf16> to memref<?x72xbf16, strided<[72, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x72xbf16, strided<[72, 1]>> to tensor<?x72xbf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [72, 64], strides: [64, 1] : memref<bf16> to memref<72x64xbf16, strided<[64, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<72x64xbf16, strided<[64, 1]>> to tensor<72x64xbf16>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [64], strides: [1] : memref<bf16> to memref<64xbf16, strided<[1]>>
  %b_t = bufferization.to_tensor %b_m restrict : memref<64xbf16, strided<[1]>> to tensor<64xbf16>
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
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%s_t, %b_t : tensor<?x64xf32>, tensor<64xbf16>) outs(%y_empty : tensor<?x64xbf16>) {
  ^bb0(%s: f32, %b: bf16, %y: bf16):
    %e = arith.extf %b : bf16 to f32
    %t = arith.addf %s, %e : f32
    %z = arith.constant 0.0 : f32
    %u = arith.maximumf %t, %z : f32
    %r = arith.truncf %u : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<?x64xbf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x64xbf16>, memref<?x64xbf16, strided<[64, 1]>>) -> ()
  return
}

// A batch is one dimension more of each view; its index is the tile's number by the tiles of one product.

// CHECK-LABEL: gpu.module @batched
// CHECK: gpu.func @batched(
// CHECK-SAME: kernel.schedule = #kernel.schedule<"gemm
// CHECK-SAME: #kernel.tensor_map<buffer = 0, element = f16, dims = ["64", "96", "arg3"], strides = ["128", "12288"], box = [64, {{[0-9]+}}, 1], swizzle = 128>
// CHECK-SAME: #kernel.tensor_map<buffer = 1, element = f16, dims = ["128", "64", "arg3"], strides = ["256", "16384"], box = [64, 64, 1], swizzle = 128>
// CHECK-SAME: #kernel.tensor_map<buffer = 2, element = f16, dims = ["128", "96", "arg3"], strides = ["256", "24576"], box = [64, 64, 1], swizzle = 128>
// CHECK: tile.role "producer"
// CHECK: scf.for %[[TILE:[a-z0-9]+]] =
// CHECK: %[[QUOTIENT:.*]] = arith.divui %[[TILE]], %[[PER_BATCH:[a-z0-9_]+]] : i32
// CHECK: %[[BATCH:.*]] = arith.index_cast %[[QUOTIENT]] : i32 to index
// CHECK: arith.remui %[[TILE]], %[[PER_BATCH]]
// CHECK: tile.tma_load %{{.*}}[%[[BATCH]], %{{.*}}, %{{.*}}] into
// CHECK: tile.tma_load %{{.*}}[%[[BATCH]], %{{.*}}, %{{.*}}] into
// CHECK: tile.role "consumer"
// CHECK: tile.tma_store %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}]
func.func @batched(%x_p: memref<f16>, %w_p: memref<f16>, %y_p: memref<f16>, %b: index {kernel.size = #kernel.size<min = 1>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%b, 96, 64], strides: [6144, 64, 1] : memref<f16> to memref<?x96x64xf16, strided<[6144, 64, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x96x64xf16, strided<[6144, 64, 1]>> to tensor<?x96x64xf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [%b, 64, 128], strides: [8192, 128, 1] : memref<f16> to memref<?x64x128xf16, strided<[8192, 128, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<?x64x128xf16, strided<[8192, 128, 1]>> to tensor<?x64x128xf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%b, 96, 128], strides: [12288, 128, 1] : memref<f16> to memref<?x96x128xf16, strided<[12288, 128, 1]>>
  %s_empty = tensor.empty(%b) : tensor<?x96x128xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x96x128xf32>) -> tensor<?x96x128xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(b,m,n,k)->(b,m,k)>, affine_map<(b,m,n,k)->(b,k,n)>, affine_map<(b,m,n,k)->(b,m,n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x96x64xf16>, tensor<?x64x128xf16>) outs(%s_fill : tensor<?x96x128xf32>) {
  ^bb0(%x: f16, %w: f16, %s: f32):
    %e = arith.extf %x : f16 to f32
    %f = arith.extf %w : f16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x96x128xf32>
  %y_empty = tensor.empty(%b) : tensor<?x96x128xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b,c)->(a,b,c)>, affine_map<(a,b,c)->(a,b,c)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s_t : tensor<?x96x128xf32>) outs(%y_empty : tensor<?x96x128xf16>) {
  ^bb0(%s: f32, %y: f16):
    %r = arith.truncf %s : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x96x128xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x96x128xf16>, memref<?x96x128xf16, strided<[12288, 128, 1]>>) -> ()
  return
}

// The sum is contiguous in w: its tile has a row for each column of the product, and is read transposed.

// CHECK-LABEL: gpu.module @transposed
// CHECK: gpu.func @transposed(
// CHECK-SAME: #kernel.tensor_map<buffer = 1, element = bf16, dims = ["128", "192"], strides = ["256"], box = [64, [[COLUMNS:[0-9]+]]], swizzle = 128>
// CHECK: tile.role "producer"
// CHECK: scf.for %[[K:[a-z0-9]+]] = %c0 to
// CHECK: tile.tma_load %{{.*}}[%{{.*}}, %[[K]]] into
// CHECK: tile.tma_load %{{.*}}[%{{.*}}, %[[K]]] into
// CHECK: tile.role "consumer"
// CHECK: tile.mma %{{.*}}, %{{.*}} transposed : !
// CHECK: tile.mma %{{.*}}, %{{.*}} transposed, %{{.*}} : !
func.func @transposed(%x_p: memref<bf16>, %w_p: memref<bf16>, %y_p: memref<bf16>, %m: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%m, 128], strides: [128, 1] : memref<bf16> to memref<?x128xbf16, strided<[128, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x128xbf16, strided<[128, 1]>> to tensor<?x128xbf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [192, 128], strides: [128, 1] : memref<bf16> to memref<192x128xbf16, strided<[128, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<192x128xbf16, strided<[128, 1]>> to tensor<192x128xbf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%m, 192], strides: [192, 1] : memref<bf16> to memref<?x192xbf16, strided<[192, 1]>>
  %s_empty = tensor.empty(%m) : tensor<?x192xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x192xf32>) -> tensor<?x192xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(n,k)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x128xbf16>, tensor<192x128xbf16>) outs(%s_fill : tensor<?x192xf32>) {
  ^bb0(%x: bf16, %w: bf16, %s: f32):
    %e = arith.extf %x : bf16 to f32
    %f = arith.extf %w : bf16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x192xf32>
  %y_empty = tensor.empty(%m) : tensor<?x192xbf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%s_t : tensor<?x192xf32>) outs(%y_empty : tensor<?x192xbf16>) {
  ^bb0(%s: f32, %y: bf16):
    %r = arith.truncf %s : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<?x192xbf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x192xbf16>, memref<?x192xbf16, strided<[192, 1]>>) -> ()
  return
}

// Weights that all of a batch share: rows of the batch are rows of one product, since they lie behind each other.

// CHECK-LABEL: gpu.module @shared_weights
// CHECK: gpu.func @shared_weights(
// CHECK-SAME: element = f16, dims = ["64", "arg3*96"], strides = ["128"]
// CHECK-SAME: element = f16, dims = ["128", "64"], strides = ["256"]
// CHECK-SAME: element = f16, dims = ["128", "arg3*96"], strides = ["256"]
// CHECK: tile.tma_load %{{.*}}[%{{[a-z0-9]+}}, %{{[a-z0-9]+}}] into
func.func @shared_weights(%x_p: memref<f16>, %w_p: memref<f16>, %y_p: memref<f16>, %b: index {kernel.size = #kernel.size<min = 1>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%b, 96, 64], strides: [6144, 64, 1] : memref<f16> to memref<?x96x64xf16, strided<[6144, 64, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x96x64xf16, strided<[6144, 64, 1]>> to tensor<?x96x64xf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [64, 128], strides: [128, 1] : memref<f16> to memref<64x128xf16, strided<[128, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<64x128xf16, strided<[128, 1]>> to tensor<64x128xf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%b, 96, 128], strides: [12288, 128, 1] : memref<f16> to memref<?x96x128xf16, strided<[12288, 128, 1]>>
  %s_empty = tensor.empty(%b) : tensor<?x96x128xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x96x128xf32>) -> tensor<?x96x128xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(b,m,n,k)->(b,m,k)>, affine_map<(b,m,n,k)->(k,n)>, affine_map<(b,m,n,k)->(b,m,n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x96x64xf16>, tensor<64x128xf16>) outs(%s_fill : tensor<?x96x128xf32>) {
  ^bb0(%x: f16, %w: f16, %s: f32):
    %e = arith.extf %x : f16 to f32
    %f = arith.extf %w : f16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x96x128xf32>
  %y_empty = tensor.empty(%b) : tensor<?x96x128xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b,c)->(a,b,c)>, affine_map<(a,b,c)->(a,b,c)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s_t : tensor<?x96x128xf32>) outs(%y_empty : tensor<?x96x128xf16>) {
  ^bb0(%s: f32, %y: f16):
    %r = arith.truncf %s : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x96x128xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x96x128xf16>, memref<?x96x128xf16, strided<[12288, 128, 1]>>) -> ()
  return
}

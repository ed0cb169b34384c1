// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_100a %s | FileCheck %s

// y = relu(x·w + b) in tensor memory: one warp copies, one thread multiplies, a warpgroup finishes. The sum does not fill whole stages.

// CHECK-DAG: !fragment = !tile.fragment<[128, 64], f32, tmem_32x32b>
// CHECK-DAG: !fragment1 = !tile.fragment<[128, 64], bf16, tmem_32x32b>
// CHECK-DAG: !tmem = !tile.tmem<[128, 64], f32>
// CHECK-DAG: !tmem1 = !tile.tmem<[128, 128], f32>
// CHECK-DAG: !pipe1 = !tile.pipe<2 of [!tmem]>

// CHECK-LABEL: gpu.module @linear
// CHECK-SAME: kernel.schedule_costs = ["gemm 128x64x64 stages 8 group_m 9: 2.8 us = 1 waves x max(0.14 mma, 0.64 load, 0.51 epilogue) + 0.51 epilogue + 1.62 launch",
// CHECK: gpu.func @linear(
// CHECK-SAME: %[[M:[a-z0-9]+]]: index {kernel.size = #kernel.size<optimum = 64>}, %[[X:.*]]: !view, %[[W:.*]]: !view1, %[[Y:.*]]: !view) kernel
// CHECK-SAME: grid = ["min(sm_count, floordiv(arg4 + 127, 128))", "1", "1"]
// CHECK-SAME: block = [256, 1, 1]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"gemm 128x64x64 stages 8 group_m 9">
// CHECK-SAME: #kernel.tensor_map<buffer = 0, element = bf16, dims = ["72", "arg4"], strides = ["144"], box = [64, 128], swizzle = 128>
// CHECK-SAME: #kernel.tensor_map<buffer = 1, element = bf16, dims = ["64", "72"], strides = ["128"], box = [64, 64], swizzle = 128>
// CHECK-SAME: #kernel.tensor_map<buffer = 3, element = bf16, dims = ["64", "arg4"], strides = ["128"], box = [64, 128], swizzle = 128>

// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : index
// CHECK-DAG: %[[SUM:.*]] = arith.constant 72 : index
// One thread multiplies and gives stages of operands back; four warps give those of sums back.
// CHECK: %[[PIPE:.*]] = tile.pipe tma consumers 1 : !pipe
// CHECK-NEXT: %[[STAGES:.*]] = tile.alloc : !smem2
// CHECK: %[[SUMS:.*]] = tile.pipe mma consumers 4 : !pipe1
// CHECK-NEXT: tile.barrier_init
// CHECK-NEXT: %[[MEMORY:.*]] = tile.tmem_alloc : !tmem1

// CHECK-NEXT: tile.role "producer" warps 0 to 1 {
// CHECK: tile.elect role {
// CHECK: %[[LAST:.*]] = scf.for
// CHECK: scf.for %[[K:[a-z0-9]+]] = %[[C0]] to %[[SUM]] step %[[C64]] iter_args(%[[AT:.*]] = %{{.*}}) -> (!tile.cursor) {
// CHECK-NEXT: %[[FREE:.*]] = tile.acquire %[[PIPE]][%[[AT]]]
// CHECK-NEXT: %[[AB:.*]]:2 = tile.tiles %[[PIPE]][%[[FREE]]]
// CHECK-NEXT: tile.tma_load %[[X]][%{{.*}}, %[[K]]] into %[[AB]]#0 signal %[[PIPE]][%[[FREE]]]
// CHECK-NEXT: tile.tma_load %[[W]][%[[K]], %{{.*}}] into %[[AB]]#1 signal %[[PIPE]][%[[FREE]]]
// CHECK-NEXT: tile.commit %[[PIPE]][%[[FREE]]]
// CHECK: tile.drain %[[PIPE]][%[[LAST]]]

// CHECK: tile.role "mma" warps 1 to 2 {
// CHECK: tile.elect role {
// CHECK: scf.for {{.*}} iter_args(%[[CURSOR:[a-z0-9]+]] = %{{.*}}, %[[OF_SUMS:[a-z0-9]+]] = %{{.*}}) -> (!tile.cursor, !tile.cursor)
// CHECK-NEXT: %[[TILE:.*]] = tile.acquire %[[SUMS]][%[[OF_SUMS]]] : !pipe1 -> !tile.stage<free>
// CHECK-NEXT: %[[D:.*]] = tile.tiles %[[SUMS]][%[[TILE]]] in %[[MEMORY]]
// CHECK-NEXT: %[[BEHIND:.*]] = scf.for %[[K:[a-z0-9]+]] = %[[C0]] to %[[SUM]] step %[[C64]] iter_args(%[[AT:.*]] = %[[CURSOR]]) -> (!tile.cursor) {
// CHECK-NEXT: %[[FULL:.*]] = tile.wait %[[PIPE]][%[[AT]]]
// CHECK-NEXT: %[[AB:.*]]:2 = tile.tiles %[[PIPE]][%[[FULL]]]
// The first slice begins the sums.
// CHECK-NEXT: %[[ADD:.*]] = arith.cmpi ne, %[[K]], %[[C0]]
// CHECK-NEXT: tile.tmem_mma %[[AB]]#0, %[[AB]]#1 into %[[D]] add %[[ADD]] : !smem, !smem1, !tmem
// CHECK-NEXT: tile.release %[[PIPE]][%[[FULL]]] after_mma
// CHECK-NEXT: %[[NEXT:.*]] = tile.next %[[PIPE]][%[[AT]]]
// CHECK-NEXT: scf.yield %[[NEXT]]
// CHECK-NEXT: }
// CHECK-NEXT: tile.commit %[[SUMS]][%[[TILE]]]
// CHECK-NEXT: tile.next %[[SUMS]][%[[OF_SUMS]]]

// CHECK: tile.role "epilogue" warps 4 to 8 {
// CHECK: %[[FULL:.*]] = tile.wait %[[SUMS]]
// CHECK: %[[D:.*]] = tile.tiles %[[SUMS]][%[[FULL]]] in %[[MEMORY]]
// CHECK-NEXT: %[[READ:.*]] = tile.tmem_load %[[D]][%[[C0]]] : !tmem -> !pending
// CHECK-NEXT: %[[PART:.*]] = tile.await %[[READ]] : !pending -> !fragment
// All is in registers: the next tile but one may be multiplied.
// CHECK-NEXT: tile.release %[[SUMS]][%[[FULL]]]
// CHECK-NEXT: %[[OUT:.*]] = tile.map %[[PART]] at[%[[ROW:[a-z0-9]+]], %[[COLUMN:[a-z0-9]+]]] within[%[[M]]] : !fragment -> !fragment1 {
// CHECK: memref.load
// CHECK: arith.maximumf
// CHECK: }
// CHECK: %[[STAGE:.*]] = tile.subview_rows %[[STAGES]]
// CHECK: tile.store_shared %[[OUT]] into %[[STAGE]]
// CHECK-NEXT: tile.fence_proxy
// CHECK-NEXT: tile.sync warpgroup
// CHECK-NEXT: tile.elect warpgroup {
// CHECK-NEXT: tile.tma_store %[[STAGE]] to %[[Y]][%[[ROW]], %[[COLUMN]]]
// CHECK: tile.tma_store_wait<0>
// CHECK: tile.tmem_free %[[MEMORY]]
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

// A pair: each block has 128 rows of x and half of the columns of w, whose sum is contiguous; the even one multiplies.

// CHECK-LABEL: gpu.module @pair
// CHECK: gpu.func @pair(
// CHECK-SAME: grid = ["min(floordiv(sm_count, 2)*2, floordiv(arg3 + 255, 256)*4)", "1", "1"]
// CHECK-SAME: cluster = 2
// CHECK-SAME: #kernel.tensor_map<buffer = 1, element = bf16, dims = ["128", "192"], strides = ["256"], box = [64, 64], swizzle = 128>
// CHECK: %[[PIPE:.*]] = tile.pipe tma pair consumers 1
// CHECK: %[[SUMS:.*]] = tile.pipe mma pair consumers 8
// CHECK: %[[MEMORY:.*]] = tile.tmem_alloc pair
// CHECK-NEXT: %[[RANK:.*]] = tile.block_rank
// CHECK-NEXT: tile.cluster_sync
// CHECK: tile.role "producer"
// CHECK: %[[ROWS:.*]] = arith.muli %[[RANK]], %c128
// CHECK: arith.addi %{{.*}}, %[[ROWS]]
// CHECK: %[[OWN:.*]] = arith.muli %[[RANK]], %c64
// CHECK: arith.addi %{{.*}}, %[[OWN]]
// CHECK: tile.role "mma"
// CHECK: %[[EVEN:.*]] = arith.cmpi eq, %[[RANK]], %c0
// CHECK-NEXT: scf.if %[[EVEN]] {
// CHECK: tile.tmem_mma %{{.*}}, %{{.*}} transposed into %{{.*}} add %{{.*}} pair
// CHECK: tile.role "epilogue"
// CHECK: tile.tmem_free %[[MEMORY]]
func.func @pair(%x_p: memref<bf16>, %w_p: memref<bf16>, %y_p: memref<bf16>, %m: index) attributes {kernel.forced_schedule = #kernel.schedule<"gemm 256x128x64 stages 3 group_m 2 pair">, kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
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

// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s
// RUN: sed 's/kernel.buffers =/kernel.forced_schedule = #kernel.schedule<"gemm 256x256x64 stages 3 group_m 2 pair">, kernel.buffers =/' %s | kpc-opt --kpc-gpu-build-kernels=arch=sm_100a | FileCheck %s --check-prefix=TCGEN05
// RUN: sed 's/kernel.buffers =/kernel.forced_schedule = #kernel.schedule<"mmasync 64x128x32 warpgroup 64x64 stages 3 group_m 2">, kernel.buffers =/' %s | kpc-opt --kpc-gpu-build-kernels=arch=sm_80 | FileCheck %s --check-prefix=SYNC

// A gate's two products on wgmma: a stage's B has columns of the one and behind them as many of the other, and so have the sums.

// CHECK-DAG: !fragment = !tile.fragment<[64, 128], f32>
// CHECK-DAG: !pipe = !tile.pipe<{{[0-9]+}} of [!smem{{[0-9]*}}, !smem{{[0-9]*}}]>
// CHECK-LABEL: gpu.func @gate_up(
// Tiles of 128 columns of the sums are tiles of 64 of the result.
// CHECK-SAME: grid = ["min(sm_count, floordiv(arg4 + 63, 64))", "1", "1"]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"gemm 64x128x64 stages
// CHECK-SAME: #kernel.tensor_map<buffer = 1, {{[^>]*}}, dims = ["64", "72"], {{[^>]*}}, box = [64, 64]
// CHECK-SAME: #kernel.tensor_map<buffer = 2, {{[^>]*}}, dims = ["64", "72"], {{[^>]*}}, box = [64, 64]
// CHECK-SAME: #kernel.tensor_map<buffer = 3, {{[^>]*}}, dims = ["64", "arg4"], {{[^>]*}}, box = [64, 64]
// CHECK: %[[AB:.*]]:2 = tile.tiles
// CHECK: tile.tma_load %{{.*}} into %[[AB]]#0
// CHECK: %[[FRONT:.*]] = tile.subview_columns %[[AB]]#1[%{{.*}}]
// CHECK: tile.tma_load %[[W:.*]][%{{.*}}] into %[[FRONT]]
// CHECK: %[[BACK:.*]] = tile.subview_columns %[[AB]]#1[%{{.*}}]
// CHECK: tile.tma_load %[[V:.*]][%{{.*}}] into %[[BACK]]
// CHECK: tile.mma %{{.*}}, %{{.*}} : !smem{{[0-9]*}}, !smem{{[0-9]*}} -> !pending
// CHECK: %[[D:.*]] = tile.await
// CHECK-DAG: %[[G:.*]] = tile.extract_columns %[[D]] from 0
// CHECK-DAG: %[[U:.*]] = tile.extract_columns %[[D]] from 64
// CHECK: tile.map %[[G]] at[%{{.*}}] within[%{{.*}}] with %[[U]] : !fragment{{[0-9]*}}, !fragment{{[0-9]*}} -> !fragment{{[0-9]*}} {
// CHECK-NEXT: ^bb0(%[[GATE:.*]]: f32, %{{.*}}: index, %{{.*}}: index, %[[UP:.*]]: f32):
// CHECK: arith.mulf %{{.*}}, %[[UP]]
// CHECK: tile.yield

// The same on mma.sync: of each warpgroup's 64 columns of sums, the front half is of the one, the back half of the other. Two warpgroups have
// columns 0 to 32 and 32 to 64 of the result; each half has a copy of its own.
// SYNC-DAG: !fragment = !tile.fragment<[64, 64], f32>
// SYNC-DAG: !fragment1 = !tile.fragment<[64, 32], f32>
// Three stages of w and v, in lines of a half's columns.
// SYNC-DAG: !smem1 = !tile.smem<[96, 128], f16, swizzle 64>
// SYNC-DAG: !smem3 = !tile.smem<[32, 128], f16, swizzle 64, pitch 96>
// SYNC-DAG: !smem4 = !tile.smem<[32, 32], f16, swizzle 64, pitch 96>
// SYNC-LABEL: gpu.func @gate_up(
// SYNC-SAME: grid = ["floordiv(arg4 + 63, 64)", "1", "1"]
// SYNC-SAME: block = [256, 1, 1]
// SYNC-DAG: %[[C0:.*]] = arith.constant 0 : index
// SYNC-DAG: %[[C32:.*]] = arith.constant 32 : index
// SYNC-DAG: %[[C64:.*]] = arith.constant 64 : index
// SYNC-DAG: %[[C96:.*]] = arith.constant 96 : index
// SYNC-DAG: %[[W:.*]] = memref.reinterpret_cast %arg1
// SYNC-DAG: %[[V:.*]] = memref.reinterpret_cast %arg2
// SYNC: %[[STAGE:.*]] = tile.subview_rows %{{.*}}[%[[C0]]] : !smem1 -> !smem3
// SYNC-NEXT: %[[W0:.*]] = tile.subview_columns %[[STAGE]][%[[C0]]] : !smem3 -> !smem4
// SYNC-NEXT: tile.cp_async %[[W]] into %[[W0]]
// SYNC: %[[V0:.*]] = tile.subview_columns %[[STAGE]][%[[C32]]] : !smem3 -> !smem4
// SYNC-NEXT: tile.cp_async %[[V]] into %[[V0]]
// SYNC: %[[W1:.*]] = tile.subview_columns %[[STAGE]][%[[C64]]] : !smem3 -> !smem4
// SYNC-NEXT: tile.cp_async %[[W]] into %[[W1]]
// SYNC: %[[V1:.*]] = tile.subview_columns %[[STAGE]][%[[C96]]] : !smem3 -> !smem4
// SYNC-NEXT: tile.cp_async %[[V]] into %[[V1]]
// SYNC: %[[SUMS:.*]]:4 = scf.for
// SYNC: tile.mma_factors
// SYNC: %[[G:.*]] = tile.extract_columns %[[SUMS]]#0 from 0 : !fragment -> !fragment1
// SYNC: %[[U:.*]] = tile.extract_columns %[[SUMS]]#0 from 32 : !fragment -> !fragment1
// SYNC: tile.map %[[G]] at[%{{.*}}] within[%{{.*}}] with %[[U]] : !fragment1, !fragment1 -> !fragment2 {
// SYNC-NEXT: ^bb0(%[[GATE:.*]]: f32, %{{.*}}: index, %{{.*}}: index, %[[UP:.*]]: f32):
// SYNC: arith.mulf %{{.*}}, %[[UP]]

// By tcgen05, as a pair: the even block has columns 0 to 64 of both, the odd one 64 to 128. So have the sums, of which a thread has a row.
// TCGEN05-LABEL: gpu.func @gate_up(
// TCGEN05-SAME: grid = ["min(floordiv(sm_count, 2)*2, floordiv(arg4 + 255, 256)*2)", "1", "1"]
// TCGEN05-SAME: #kernel.tensor_map<buffer = 1, {{[^>]*}}, dims = ["64", "72"], {{[^>]*}}, box = [64, 64]
// TCGEN05-SAME: #kernel.tensor_map<buffer = 2, {{[^>]*}}, dims = ["64", "72"], {{[^>]*}}, box = [64, 64]
// TCGEN05: %[[RANK:.*]] = tile.block_rank
// TCGEN05: %[[AB:.*]]:2 = tile.tiles
// TCGEN05: arith.muli %[[RANK]], %c64
// TCGEN05: %[[FRONT:.*]] = tile.subview_columns %[[AB]]#1[%c0]
// TCGEN05-NEXT: tile.tma_load %{{.*}} into %[[FRONT]]
// TCGEN05: %[[BACK:.*]] = tile.subview_columns %[[AB]]#1[%c64]
// TCGEN05-NEXT: tile.tma_load %{{.*}} into %[[BACK]]
// TCGEN05: tile.tmem_mma %{{.*}} pair
// TCGEN05: %[[READ:.*]] = tile.tmem_load %[[D:.*]][%c0]
// TCGEN05-NEXT: %[[OTHER:.*]] = tile.tmem_load %[[D]][%c64]
// TCGEN05-NEXT: %[[G:.*]] = tile.await %[[READ]]
// TCGEN05-NEXT: %[[U:.*]] = tile.await %[[OTHER]]
// TCGEN05: tile.map %[[G]] at[%{{.*}}] within[%{{.*}}] with %[[U]]
// TCGEN05: tile.tmem_load %[[D]][%c32]
// TCGEN05: tile.tmem_load %[[D]][%c96]
// TCGEN05: tile.tmem_load %[[D]][%c128]
// TCGEN05: tile.tmem_load %[[D]][%c192]
// TCGEN05: tile.tmem_load %[[D]][%c160]
// TCGEN05: tile.tmem_load %[[D]][%c224]
// TCGEN05: tile.release
func.func @gate_up(%x_p: memref<f16>, %w_p: memref<f16>, %v_p: memref<f16>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 4096, optimum = 64>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 72], strides: [72, 1] : memref<f16> to memref<?x72xf16, strided<[72, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x72xf16, strided<[72, 1]>> to tensor<?x72xf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [72, 64], strides: [64, 1] : memref<f16> to memref<72x64xf16, strided<[64, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<72x64xf16, strided<[64, 1]>> to tensor<72x64xf16>
  %v_m = memref.reinterpret_cast %v_p to offset: [0], sizes: [72, 64], strides: [64, 1] : memref<f16> to memref<72x64xf16, strided<[64, 1]>>
  %v_t = bufferization.to_tensor %v_m restrict : memref<72x64xf16, strided<[64, 1]>> to tensor<72x64xf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 64], strides: [64, 1] : memref<f16> to memref<?x64xf16, strided<[64, 1]>>
  %zero = arith.constant 0.0 : f32
  %g_empty = tensor.empty(%n) : tensor<?x64xf32>
  %g_fill = linalg.fill ins(%zero : f32) outs(%g_empty : tensor<?x64xf32>) -> tensor<?x64xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x72xf16>, tensor<72x64xf16>) outs(%g_fill : tensor<?x64xf32>) {
  ^bb0(%x: f16, %w: f16, %s: f32):
    %e = arith.extf %x : f16 to f32
    %f = arith.extf %w : f16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x64xf32>
  %u = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %v_t : tensor<?x72xf16>, tensor<72x64xf16>) outs(%g_fill : tensor<?x64xf32>) {
  ^bb0(%x: f16, %w: f16, %s: f32):
    %e = arith.extf %x : f16 to f32
    %f = arith.extf %w : f16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x64xf32>
  %y_empty = tensor.empty(%n) : tensor<?x64xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%g, %u : tensor<?x64xf32>, tensor<?x64xf32>) outs(%y_empty : tensor<?x64xf16>) {
  ^bb0(%a: f32, %b: f32, %y: f16):
    %z = arith.constant 0.0 : f32
    %t = arith.maximumf %a, %z : f32
    %p = arith.mulf %t, %b : f32
    %r = arith.truncf %p : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x64xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x64xf16>, memref<?x64xf16, strided<[64, 1]>>) -> ()
  return
}

// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_80 %s | FileCheck %s

// A product on mma.sync: stages, products, and the way back through A's stages. The sum of 72 is three steps of 32, of which the last
// ends in zeros: pieces beyond the sum have no elements. Two warpgroups have 32 columns each.

// CHECK-DAG: !fragment = !tile.fragment<[64, 32], f32>
// CHECK-DAG: !fragment1 = !tile.fragment<[64, 32], bf16>
// Three stages of 64 rows of x, and of 32 rows of w, in lines of one warpgroup's columns.
// CHECK-DAG: !smem = !tile.smem<[192, 32], bf16, swizzle 64>
// CHECK-DAG: !smem1 = !tile.smem<[96, 64], bf16, swizzle 64>
// CHECK-DAG: !smem2 = !tile.smem<[64, 32], bf16, swizzle 64, pitch 192>
// CHECK-DAG: !smem3 = !tile.smem<[32, 64], bf16, swizzle 64, pitch 96>
// CHECK-DAG: !smem4 = !tile.smem<[32, 32], bf16, swizzle 64, pitch 96>
// CHECK-DAG: !smem5 = !tile.smem<[64, 64], bf16, swizzle 64>
// CHECK-DAG: !smem6 = !tile.smem<[64, 32], bf16, swizzle 64>

// CHECK-LABEL: gpu.func @linear(
// CHECK-SAME: grid = ["floordiv(arg4 + 63, 64)", "1", "1"]
// CHECK-SAME: block = [256, 1, 1]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"mmasync 64x64x32 warpgroup 64x32 stages 3 group_m 2">
// CHECK-SAME: nvvm.minctasm = 1 : i32
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[C8:.*]] = arith.constant 8 : index
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : index
// CHECK-DAG: %[[C32:.*]] = arith.constant 32 : index
// CHECK-DAG: %[[SUM:.*]] = arith.constant 72 : index
// CHECK: %[[A:.*]] = tile.alloc : !smem
// CHECK-NEXT: %[[B:.*]] = tile.alloc : !smem1
// CHECK-NEXT: tile.barrier_init
// CHECK-NEXT: %[[ZERO:.*]] = tile.splat
// Two steps ahead. Rows beyond the end, and elements beyond the sum, are zeros: all of a piece or none, since 72 is whole pieces.
// CHECK-NEXT: %[[SLOT:.*]] = tile.subview_rows %[[A]][%[[C0]]] : !smem -> !smem2
// CHECK-NEXT: tile.cp_async %{{.*}} into %[[SLOT]] by 16 row_stride %[[SUM]] : memref<?xbf16, strided<[1]>>, !smem2 {
// CHECK-NEXT: ^bb0(%[[ROW:.*]]: index, %[[K:.*]]: index):
// CHECK-NEXT: %[[LINE:.*]] = arith.addi %{{.*}}, %[[ROW]] : index
// CHECK-NEXT: %[[FIRST:.*]] = arith.muli %[[LINE]], %[[SUM]] : index
// CHECK-NEXT: %[[AT:.*]] = arith.addi %[[FIRST]], %[[K]] : index
// CHECK-NEXT: %[[IN_SUM:.*]] = arith.cmpi slt, %[[K]], %[[SUM]] : index
// CHECK-NEXT: %[[SOME:.*]] = arith.select %[[IN_SUM]], %[[C8]], %[[C0]] : index
// CHECK-NEXT: %[[LEFT_OVER:.*]] = arith.subi %arg4, %{{.*}} : index
// CHECK-NEXT: %[[MOST:.*]] = arith.minsi %[[LEFT_OVER]], %[[C64]] : index
// CHECK-NEXT: %[[ROW32:.*]] = arith.index_cast %[[ROW]] : index to i32
// CHECK-NEXT: %[[MOST32:.*]] = arith.index_cast %[[MOST]] : index to i32
// CHECK-NEXT: %[[IN_ROWS:.*]] = arith.cmpi slt, %[[ROW32]], %[[MOST32]] : i32
// CHECK-NEXT: %[[COUNT:.*]] = arith.select %[[IN_ROWS]], %[[SOME]], %[[C0]] : index
// CHECK-NEXT: tile.yield_address %[[AT]], %[[COUNT]]
// CHECK: tile.cp_async %{{.*}} by 16 row_stride %[[C64]] : memref<?xbf16, strided<[1]>>, !smem3
// CHECK: tile.cp_async_commit
// CHECK-COUNT-2: tile.cp_async
// CHECK: tile.cp_async_commit
// CHECK-NEXT: tile.cp_async_wait<1>
// CHECK-NEXT: tile.sync block
// CHECK: %[[EARLY:.*]] = tile.load_factors %{{.*}}, %{{.*}} step 0 : !smem2, !smem4 -> !factors
// CHECK-NEXT: %[[HAS_ROWS:.*]] = arith.cmpi slt, %{{.*}}, %arg4 : index
// CHECK-NEXT: %[[END:.*]] = arith.select %[[HAS_ROWS]], %[[SUM]], %[[C0]] : index
// CHECK-NEXT: %[[LOOP:.*]]:4 = scf.for %[[STEP:.*]] = %[[C0]] to %[[END]] step %[[C32]] iter_args(%[[SUMS:.*]] = %[[ZERO]], %[[NOW:.*]] = %[[EARLY]], %[[READ:.*]] = %[[C0]], %[[WRITE:.*]] = %[[C2]])
// CHECK: %[[NEXT:.*]] = arith.select
// The second 32 bytes along the sum are loaded while the first are multiplied. All have done with the stage before, which is filled
// again, with zeros beyond the sum: there is no branch.
// CHECK: %[[LEFT:.*]] = tile.subview_rows %[[A]][%{{.*}}] : !smem -> !smem2
// CHECK: %[[SLOTB:.*]] = tile.subview_rows %[[B]][%{{.*}}] : !smem1 -> !smem3
// CHECK: %[[RIGHT:.*]] = tile.subview_columns %[[SLOTB]][%{{.*}}] : !smem3 -> !smem4
// CHECK-NEXT: %[[THEN:.*]] = tile.load_factors %[[LEFT]], %[[RIGHT]] step 1 : !smem2, !smem4 -> !factors
// CHECK-NOT: scf.if
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %{{.*}}, %[[SUM]] : index
// CHECK: tile.cp_async
// CHECK: arith.select %[[EXISTS]], %{{.*}}, %[[C0]] : index
// CHECK-NEXT: arith.minsi
// CHECK: %[[ALL:.*]] = arith.select %[[EXISTS]], %{{.*}}, %[[C0]] : index
// CHECK-NEXT: tile.yield_address %{{.*}}, %[[ALL]]
// CHECK: tile.cp_async
// CHECK: tile.cp_async_commit
// CHECK-NEXT: %[[MORE:.*]] = tile.mma_factors %[[NOW]], %[[SUMS]] : !factors, !fragment
// The barrier comes before the last products: the next stage's first factors are loaded while tensor cores have work.
// CHECK-NEXT: tile.cp_async_wait<1>
// CHECK-NEXT: tile.sync block
// CHECK-NEXT: %[[ROW_OF_NEXT:.*]] = arith.muli %[[NEXT]], %[[C64]]
// CHECK-NEXT: tile.subview_rows %[[A]][%[[ROW_OF_NEXT]]]
// CHECK: %[[AHEAD:.*]] = tile.load_factors %{{.*}}, %{{.*}} step 0
// CHECK-NEXT: %[[LAST:.*]] = tile.mma_factors %[[THEN]], %[[MORE]]
// CHECK: scf.yield %[[LAST]], %[[AHEAD]], %[[NEXT]]
// CHECK: tile.cp_async_wait<0>
// CHECK-NEXT: tile.sync block
// CHECK-NEXT: %[[STAGE:.*]] = tile.reuse %[[A]] : !smem -> !smem5
// CHECK: %[[OUT:.*]] = tile.map
// CHECK: arith.maximumf
// CHECK: %[[MINE:.*]] = tile.subview_columns %[[STAGE]][%{{.*}}] : !smem5 -> !smem6
// CHECK-NEXT: tile.store_shared %[[OUT]] into %[[MINE]] in pairs : !fragment1, !smem6
// CHECK-NEXT: tile.sync block
// CHECK: tile.store_global %[[STAGE]] to %{{.*}} by 16 whole : !smem5, memref<?xbf16, strided<[1]>> {
// CHECK: %[[THERE:.*]] = arith.cmpi slt
// CHECK-NEXT: arith.subi %[[C64]]
// CHECK-NEXT: %[[SOME:.*]] = arith.select %[[THERE]]
// CHECK-NEXT: tile.yield_address %{{.*}}, %[[SOME]]
func.func @linear(%x_p: memref<bf16>, %w_p: memref<bf16>, %b_p: memref<bf16>, %y_p: memref<bf16>, %m: index {kernel.size = #kernel.size<optimum = 64>}) attributes {kernel.forced_schedule = #kernel.schedule<"mmasync 64x64x32 warpgroup 64x32 stages 3 group_m 2">, kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
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

// Rows of w and y that begin at odd elements: w's are loaded one by one, x's in pieces.
// CHECK-LABEL: gpu.func @odd(
// CHECK: tile.cp_async %{{.*}} by 16
// CHECK: tile.cp_async %{{.*}} by 2
// CHECK: tile.store_global %{{.*}} by 2
func.func @odd(%x_p: memref<bf16>, %w_p: memref<bf16>, %b_p: memref<bf16>, %y_p: memref<bf16>, %m: index {kernel.size = #kernel.size<optimum = 64>}) attributes {kernel.forced_schedule = #kernel.schedule<"mmasync 64x64x32 warpgroup 64x32 stages 3 group_m 2">, kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%m, 72], strides: [72, 1] : memref<bf16> to memref<?x72xbf16, strided<[72, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x72xbf16, strided<[72, 1]>> to tensor<?x72xbf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [72, 63], strides: [63, 1] : memref<bf16> to memref<72x63xbf16, strided<[63, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<72x63xbf16, strided<[63, 1]>> to tensor<72x63xbf16>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [63], strides: [1] : memref<bf16> to memref<63xbf16, strided<[1]>>
  %b_t = bufferization.to_tensor %b_m restrict : memref<63xbf16, strided<[1]>> to tensor<63xbf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%m, 63], strides: [63, 1] : memref<bf16> to memref<?x63xbf16, strided<[63, 1]>>
  %s_empty = tensor.empty(%m) : tensor<?x63xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x63xf32>) -> tensor<?x63xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x72xbf16>, tensor<72x63xbf16>) outs(%s_fill : tensor<?x63xf32>) {
  ^bb0(%x: bf16, %w: bf16, %s: f32):
    %e = arith.extf %x : bf16 to f32
    %f = arith.extf %w : bf16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x63xf32>
  %y_empty = tensor.empty(%m) : tensor<?x63xbf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%s_t, %b_t : tensor<?x63xf32>, tensor<63xbf16>) outs(%y_empty : tensor<?x63xbf16>) {
  ^bb0(%s: f32, %b: bf16, %y: bf16):
    %e = arith.extf %b : bf16 to f32
    %t = arith.addf %s, %e : f32
    %z = arith.constant 0.0 : f32
    %u = arith.maximumf %t, %z : f32
    %r = arith.truncf %u : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<?x63xbf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x63xbf16>, memref<?x63xbf16, strided<[63, 1]>>) -> ()
  return
}

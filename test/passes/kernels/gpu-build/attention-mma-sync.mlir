// RUN: sed 's/kernel.buffers =/kernel.forced_schedule = #kernel.schedule<"attention_mmasync 128x64 warpgroup 64 stages 2 queries registers">, kernel.buffers =/' %s | kpc-opt --kpc-gpu-build-kernels=arch=sm_80 | FileCheck %s
// RUN: sed 's/kernel.buffers =/kernel.forced_schedule = #kernel.schedule<"attention_mmasync 64x32 warpgroup 64 stages 1 queries shared">, kernel.buffers =/' %s | kpc-opt --kpc-gpu-build-kernels=arch=sm_120a | FileCheck %s --check-prefix=SHARED
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_86 %s | FileCheck %s --check-prefix=CHOSEN
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=compute_80 %s | FileCheck %s --check-prefix=CHOSEN
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_120a %s | FileCheck %s --check-prefix=CHOSEN
// RUN: sed 's/kernel.buffers =/kernel.forced_schedule = #kernel.schedule<"attention_mmasync 64x48 warpgroup 64 stages 1 queries shared">, kernel.buffers =/' %s | not kpc-opt --kpc-gpu-build-kernels=arch=sm_80 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: sed 's/kernel.buffers =/kernel.forced_schedule = #kernel.schedule<"attention_mmasync 64x64 warpgroup 64 stages 1 queries shared">, kernel.buffers =/' %s | not kpc-opt --kpc-gpu-build-kernels=arch=sm_90a 2>&1 | FileCheck %s --check-prefix=HOPPER
// RUN: sed 's/scale 0.125/scale 0.125 softcap 30.0/' %s | kpc-opt --kpc-gpu-build-kernels=arch=sm_80 | FileCheck %s --check-prefix=CAPPED

// A softcap bends each score before anything is added: 1 - 2 / (2^x + 1).
// CAPPED: tile.mma_sync
// CAPPED-NEXT: tile.apply
// CAPPED: arith.mulf
// CAPPED-NEXT: tile.approximate exp2
// CAPPED-NEXT: arith.addf
// CAPPED-NEXT: tile.approximate reciprocal
// CAPPED-NEXT: math.fma
// CAPPED-NEXT: tile.yield
// CAPPED: tile.map

// CHOSEN: gpu.module @attention attributes {kernel.schedule_costs = ["attention_mmasync {{[^"]*}} us = {{[^"]*}}", "attention_mmasync {{[^"]*}}", "attention_mmasync {{[^"]*}}"]
// CHOSEN: kernel.schedule = #kernel.schedule<"attention_mmasync {{[^"]*}}">
// REFUSED: error: the schedule 'attention_mmasync 64x48 warpgroup 64 stages 1 queries shared' is none of this kernel's: legal are 'attention_mmasync {{[^']*}}', {{.*}} and {{[0-9]+}} more{{$}}
// Hopper has a faster one.
// HOPPER: error: the schedule 'attention_mmasync 64x64 warpgroup 64 stages 1 queries shared' is none of this kernel's: legal are 'attention 128x80

// Fused attention by mma.sync: six heads of queries on two of keys, a causal mask and a mask in memory. q, k and v are stored
// [batch, sequence, head, depth], as a projection writes them: that is an order of strides.

// CHECK-LABEL: gpu.func @attention(
// CHECK-SAME: grid = ["floordiv(arg5 + 127, 128)*12", "1", "1"], block = [256, 1, 1]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"attention_mmasync 128x64 warpgroup 64 stages 2 queries registers">
// CHECK-SAME: nvvm.minctasm = 1 : i32

// Queries, where results will be; two stages of keys, and of values.
// CHECK: %[[QUERIES:.*]] = tile.alloc : !smem
// CHECK-NEXT: %[[KEYS:.*]] = tile.alloc : !smem
// CHECK-NEXT: %[[VALUES:.*]] = tile.alloc : !smem
// CHECK-NEXT: tile.barrier_init

// The first copies: queries, and a block of keys and values. Rows behind the last one are zeros.
// CHECK: tile.cp_async %{{.*}} into %[[QUERIES]] by 16
// CHECK: arith.select %{{.*}}, %c8, %c0 : index
// CHECK: tile.yield_address
// CHECK: tile.subview_rows %[[KEYS]]
// CHECK: tile.cp_async
// CHECK: tile.subview_rows %[[VALUES]]
// CHECK: tile.cp_async
// CHECK: tile.cp_async_commit
// CHECK: tile.cp_async_wait<0>
// CHECK-NEXT: tile.sync block
// CHECK: %[[MINE:.*]] = tile.subview_rows %[[QUERIES]]
// CHECK: %[[HELD:.*]] = tile.load_packed %[[MINE]]

// A block of keys: the next one is copied while it is multiplied.
// CHECK: scf.for
// CHECK: nvvm.inline_ptx "mov.b32
// CHECK: tile.cp_async_wait<0>
// CHECK-NEXT: tile.sync block
// CHECK: scf.if
// CHECK: tile.subview_rows %[[KEYS]]
// CHECK: scf.if
// CHECK: tile.subview_rows %[[VALUES]]
// CHECK: tile.cp_async_commit
// CHECK: %[[RAW:.*]] = tile.mma_sync %[[HELD]], %{{.*}} transposed, %{{.*}} : !packed
// CHECK-NOT: tile.sync
// In blocks on the diagonal, and in the last, a row sees the columns before its limit.
// CHECK: %[[SCORES:.*]] = scf.if
// CHECK: tile.map %[[RAW]] at[%{{.*}}, %{{.*}}] within[%arg5, %arg6]
// CHECK: memref.load
// CHECK: tile.row_numbers
// CHECK: tile.apply
// CHECK: } else {
// CHECK: tile.map %[[RAW]] at[%{{.*}}, %{{.*}}] within[%arg5]
// CHECK-NOT: tile.row_numbers
// CHECK: tile.thread_reduce max %[[SCORES]]
// CHECK-NEXT: tile.lane_reduce max
// Sums and totals shrink only where powers could become large.
// CHECK: %[[GROWS:.*]] = tile.warp_above
// CHECK: scf.if %[[GROWS]]
// CHECK: tile.approximate exp2
// CHECK: } else {
// CHECK-NEXT: scf.yield
// CHECK: tile.approximate exp2
// CHECK: tile.thread_reduce add
// CHECK: %[[LEFT:.*]] = tile.pack
// CHECK: tile.mma_sync %[[LEFT]], %{{.*}}, %{{.*}} : !packed
// CHECK: scf.yield

// CHECK: tile.lane_reduce add
// CHECK: tile.approximate reciprocal
// CHECK: tile.cp_async_wait<0>
// CHECK-NEXT: tile.sync block
// CHECK: tile.store_shared %{{.*}} into %{{.*}} in pairs
// CHECK: tile.sync block
// CHECK: tile.store_global %[[QUERIES]] to

// With one stage values are copied beside the scores, and the next keys beside the softmax; queries are loaded with each block of
// keys; from sm_90 on there is stmatrix.
// SHARED-LABEL: gpu.func @attention(
// SHARED-SAME: block = [128, 1, 1]
// SHARED-NOT: tile.load_packed
// SHARED: scf.for
// SHARED: tile.cp_async_wait<0>
// SHARED-NEXT: tile.sync block
// SHARED: tile.cp_async
// SHARED: tile.cp_async_commit
// SHARED: tile.mma_sync %{{.*}}, %{{.*}} transposed, %{{.*}} : !smem
// SHARED: tile.cp_async_wait<0>
// SHARED-NEXT: tile.sync block
// SHARED: tile.cp_async
// SHARED: tile.cp_async_commit
// SHARED: tile.store_shared
// SHARED-NOT: in pairs

#id = affine_map<(a, b, c, d) -> (a, b, c, d)>
#turned = affine_map<(a, b, c, d) -> (a, c, b, d)>
func.func @attention(%q: memref<f16>, %k: memref<f16>, %v: memref<f16>, %m: memref<i1>, %y: memref<f16>,
                     %s: index {kernel.size = #kernel.size<min = 1, optimum = 100>}, %t: index {kernel.size = #kernel.size<min = 1, optimum = 70>},
                     %qs: index {kernel.size = #kernel.size<divisor = 384>}, %ks: index {kernel.size = #kernel.size<divisor = 128>}, %st: index)
    attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2, 3], writes = [4]>} {
  %c0 = arith.constant 0 : index
  %c384 = arith.constant 384 : index
  %c128 = arith.constant 128 : index
  %qrow = arith.muli %s, %c384 : index
  %krow = arith.muli %t, %c128 : index
  %qm = memref.reinterpret_cast %q to offset: [0], sizes: [2, %s, 6, 64], strides: [%qrow, 384, 64, 1] : memref<f16> to memref<2x?x6x64xf16, strided<[?, 384, 64, 1]>>
  %qt = bufferization.to_tensor %qm restrict : memref<2x?x6x64xf16, strided<[?, 384, 64, 1]>> to tensor<2x?x6x64xf16>
  %qe = tensor.empty(%s) : tensor<2x6x?x64xf32>
  %qw = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%qt : tensor<2x?x6x64xf16>) outs(%qe : tensor<2x6x?x64xf32>) {
  ^bb0(%a: f16, %b: f32):
    %x = arith.extf %a : f16 to f32
    linalg.yield %x : f32
  } -> tensor<2x6x?x64xf32>
  %km = memref.reinterpret_cast %k to offset: [0], sizes: [2, %t, 2, 64], strides: [%krow, 128, 64, 1] : memref<f16> to memref<2x?x2x64xf16, strided<[?, 128, 64, 1]>>
  %kt = bufferization.to_tensor %km restrict : memref<2x?x2x64xf16, strided<[?, 128, 64, 1]>> to tensor<2x?x2x64xf16>
  %ke = tensor.empty(%t) : tensor<2x2x?x64xf32>
  %kw = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%kt : tensor<2x?x2x64xf16>) outs(%ke : tensor<2x2x?x64xf32>) {
  ^bb0(%a: f16, %b: f32):
    %x = arith.extf %a : f16 to f32
    linalg.yield %x : f32
  } -> tensor<2x2x?x64xf32>
  %vm = memref.reinterpret_cast %v to offset: [0], sizes: [2, %t, 2, 64], strides: [%krow, 128, 64, 1] : memref<f16> to memref<2x?x2x64xf16, strided<[?, 128, 64, 1]>>
  %vt = bufferization.to_tensor %vm restrict : memref<2x?x2x64xf16, strided<[?, 128, 64, 1]>> to tensor<2x?x2x64xf16>
  %ve = tensor.empty(%t) : tensor<2x2x?x64xf32>
  %vw = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%vt : tensor<2x?x2x64xf16>) outs(%ve : tensor<2x2x?x64xf32>) {
  ^bb0(%a: f16, %b: f32):
    %x = arith.extf %a : f16 to f32
    linalg.yield %x : f32
  } -> tensor<2x2x?x64xf32>
  %mm = memref.reinterpret_cast %m to offset: [0], sizes: [2, 1, %s, %t], strides: [%st, %st, %t, 1] : memref<i1> to memref<2x1x?x?xi1, strided<[?, ?, ?, 1]>>
  %mt = bufferization.to_tensor %mm restrict : memref<2x1x?x?xi1, strided<[?, ?, ?, 1]>> to tensor<2x1x?x?xi1>
  %e = tensor.empty(%s) : tensor<2x6x?x64xf32>
  %r = kernel.attention %qw, %kw, %vw mask %mt causal %c0 scale 0.125 into %e
      : (tensor<2x6x?x64xf32>, tensor<2x2x?x64xf32>, tensor<2x2x?x64xf32>, tensor<2x1x?x?xi1>, index, tensor<2x6x?x64xf32>) -> tensor<2x6x?x64xf32>
  %z = tensor.empty(%s) : tensor<2x?x6x64xf16>
  %n = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%r : tensor<2x6x?x64xf32>) outs(%z : tensor<2x?x6x64xf16>) {
  ^bb0(%a: f32, %b: f16):
    %x = arith.truncf %a : f32 to f16
    linalg.yield %x : f16
  } -> tensor<2x?x6x64xf16>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [2, %s, 6, 64], strides: [%qrow, 384, 64, 1] : memref<f16> to memref<2x?x6x64xf16, strided<[?, 384, 64, 1]>>
  bufferization.materialize_in_destination %n in restrict writable %ym : (tensor<2x?x6x64xf16>, memref<2x?x6x64xf16, strided<[?, 384, 64, 1]>>) -> ()
  return
}

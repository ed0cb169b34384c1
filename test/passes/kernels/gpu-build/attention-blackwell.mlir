// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_100a %s | FileCheck %s
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_100a %s | FileCheck %s --check-prefix=CHOSEN
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_103a %s | FileCheck %s --check-prefix=CHOSEN
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_110a %s | FileCheck %s --check-prefix=CHOSEN
// RUN: sed 's/kernel.buffers =/kernel.forced_schedule = #kernel.schedule<"attention_tcgen05 128x64 stages 2 fma 0">, kernel.buffers =/' %s | kpc-opt --kpc-gpu-build-kernels=arch=sm_100a | FileCheck %s --check-prefix=ONE
// RUN: sed 's/kernel.buffers =/kernel.forced_schedule = #kernel.schedule<"attention_tcgen05 256x128 stages 3 fma 2">, kernel.buffers =/' %s | not kpc-opt --kpc-gpu-build-kernels=arch=sm_100a 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: sed 's/kernel.buffers =/kernel.forced_schedule = #kernel.schedule<"attention_tcgen05 256x128 stages 2 fma 2">, kernel.buffers =/' %s | not kpc-opt --kpc-gpu-build-kernels=arch=sm_80 2>&1 | FileCheck %s --check-prefix=OTHER

// Fused attention in tensor memory: four heads of queries on two of keys, two tiles of 128 queries a block.

// CHOSEN: kernel.schedule_costs = ["attention_tcgen05 256x128 stages 2 fma {{[0-4]}}: {{[^"]*}}, limited by mma"
// REFUSED: error: the schedule 'attention_tcgen05 256x128 stages 3 fma 2' is none of this kernel's: legal are 'attention_tcgen05 256x128
// OTHER: error: the schedule 'attention_tcgen05 256x128 stages 2 fma 2' is none of this kernel's: legal are 'attention_mmasync

// CHECK-DAG: ![[HALF:tmem[0-9]*]] = !tile.tmem<[128, 64], f16>
// CHECK-DAG: ![[SCORES:tmem[0-9]*]] = !tile.tmem<[128, 128], f32>
// CHECK-LABEL: gpu.func @attention(
// CHECK-SAME: grid = ["{{[0-9]+}}", "1", "1"], block = [384, 1, 1]
// CHECK-SAME: box = [64, 128, 1, 1], swizzle = 128

// Copies give way to products; these hand scores to four warps, and four warps hand powers to them.
// CHECK: %[[Q:.*]] = tile.pipe tma consumers 1
// CHECK-NEXT: %[[K:.*]] = tile.pipe tma consumers 1
// CHECK-NEXT: %[[V:.*]] = tile.pipe tma consumers 1
// CHECK-NEXT: %[[S:.*]] = tile.pipe mma consumers 4
// CHECK-NEXT: %[[P:.*]] = tile.pipe threads producers 4 consumers 1
// CHECK: tile.barrier_init
// CHECK-NEXT: %[[MEMORY:.*]] = tile.tmem_alloc

// CHECK: tile.role "products" warps 0 to 4 registers 72 {
// CHECK: tile.role "producer" warps 0 to 1 {
// CHECK: tile.elect role {
// CHECK: scf.for
// CHECK: tile.drain %[[Q]]
// CHECK: tile.drain %[[K]]
// CHECK: tile.drain %[[V]]

// The first scores of both tiles.
// CHECK: tile.role "mma" warps 1 to 2 {
// CHECK: tile.elect role {
// CHECK-COUNT-2: tile.tmem_mma %{{.*}}, %{{.*}} transposed into
// CHECK: tile.release %[[K]][%{{.*}}] after_mma
// A tile's sums grow by powers of both halves, and its next scores take the powers' place when these have been read.
// CHECK: scf.for
// CHECK: tile.wait %[[V]]
// CHECK: tile.wait %[[P]]
// CHECK: %[[POWERS:.*]] = tile.tmem_part %{{.*}}[%{{.*}}] : !tmem{{[0-9]*}} -> ![[HALF]]
// CHECK: tile.tmem_mma %[[POWERS]], %{{.*}} into %{{.*}} add %{{.*}} : ![[HALF]]
// CHECK-NEXT: tile.release %[[P]][%{{.*}}] after_mma
// CHECK: tile.tmem_mma %{{.*}}, %{{.*}} into %{{.*}} add %true
// CHECK-NEXT: tile.release %[[P]][%{{.*}}] after_mma
// CHECK: tile.wait %[[K]]
// CHECK: tile.drain %[[P]][%{{.*}}] count 2
// CHECK: tile.acquire %[[S]]
// CHECK: tile.tmem_mma %{{.*}}, %{{.*}} transposed into
// CHECK-NEXT: tile.commit %[[S]]
// CHECK: tile.release %[[V]][%{{.*}}] after_mma
// CHECK: tile.drain %[[P]][%{{.*}}] count 2

// A warpgroup for each tile; a thread has a row.
// CHECK: tile.role "softmax" warps 4 to 12 registers 216 {
// CHECK: tile.skip %[[S]]
// CHECK: scf.for
// CHECK: tile.wait %[[S]]
// CHECK: %[[READ:.*]] = tile.tmem_load %{{.*}}[%c0] : ![[SCORES]]
// CHECK-NEXT: %[[RAW:.*]] = tile.await %[[READ]]
// CHECK-NEXT: tile.release %[[S]]
// What is behind the last key is hidden.
// CHECK: %[[SEEN:.*]] = scf.if
// CHECK: tile.apply %[[RAW]]
// CHECK-COUNT-2: tile.acquire %[[P]]
// CHECK: tile.thread_reduce max %[[SEEN]] chains 4
// CHECK: %[[GROWS:.*]] = tile.warp_above
// CHECK: scf.if %[[GROWS]]
// Sums shrink where there are some.
// CHECK: scf.if
// CHECK: tile.tmem_load
// CHECK: tile.tmem_store
// CHECK: } else {
// One in four powers by multiply-adds.
// CHECK: tile.extract_columns %[[SEEN]] from 0
// CHECK: tile.apply
// CHECK: arith.maximumf
// CHECK: arith.shli
// CHECK: tile.approximate exp2
// CHECK: arith.select
// CHECK: tile.thread_reduce add
// CHECK: tile.tmem_store %{{.*}} into %{{.*}}[%c0] : !fragment{{[0-9]*}}, ![[HALF]]
// CHECK-NEXT: tile.commit %[[P]]
// CHECK: tile.extract_columns %[[SEEN]] from 64
// CHECK: tile.commit %[[P]]

// The last product is over: sums over their total, 32 columns at a time.
// CHECK: tile.drain %[[P]][%{{.*}}] count 2
// CHECK: tile.approximate reciprocal
// CHECK-COUNT-4: tile.store_shared
// CHECK: tile.tma_store %
// CHECK: tile.tmem_free %[[MEMORY]]

// One tile, and no power by multiply-adds.
// ONE: block = [256, 1, 1]
// ONE: tile.role "softmax" warps 4 to 8 registers 240 {
// ONE-NOT: arith.maximumf
// ONE: tile.tmem_free

#id = affine_map<(a, b, c, d) -> (a, b, c, d)>
func.func @attention(%q: memref<f16>, %k: memref<f16>, %v: memref<f16>, %y: memref<f16>)
    attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %qm = memref.reinterpret_cast %q to offset: [0], sizes: [8, 4, 1200, 128], strides: [614400, 153600, 128, 1] : memref<f16> to memref<8x4x1200x128xf16, strided<[614400, 153600, 128, 1]>>
  %qt = bufferization.to_tensor %qm restrict : memref<8x4x1200x128xf16, strided<[614400, 153600, 128, 1]>> to tensor<8x4x1200x128xf16>
  %qe = tensor.empty() : tensor<8x4x1200x128xf32>
  %qw = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%qt : tensor<8x4x1200x128xf16>) outs(%qe : tensor<8x4x1200x128xf32>) {
  ^bb0(%a: f16, %b: f32):
    %x = arith.extf %a : f16 to f32
    linalg.yield %x : f32
  } -> tensor<8x4x1200x128xf32>
  %km = memref.reinterpret_cast %k to offset: [0], sizes: [8, 2, 1100, 128], strides: [281600, 140800, 128, 1] : memref<f16> to memref<8x2x1100x128xf16, strided<[281600, 140800, 128, 1]>>
  %kt = bufferization.to_tensor %km restrict : memref<8x2x1100x128xf16, strided<[281600, 140800, 128, 1]>> to tensor<8x2x1100x128xf16>
  %ke = tensor.empty() : tensor<8x2x1100x128xf32>
  %kw = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%kt : tensor<8x2x1100x128xf16>) outs(%ke : tensor<8x2x1100x128xf32>) {
  ^bb0(%a: f16, %b: f32):
    %x = arith.extf %a : f16 to f32
    linalg.yield %x : f32
  } -> tensor<8x2x1100x128xf32>
  %vm = memref.reinterpret_cast %v to offset: [0], sizes: [8, 2, 1100, 128], strides: [281600, 140800, 128, 1] : memref<f16> to memref<8x2x1100x128xf16, strided<[281600, 140800, 128, 1]>>
  %vt = bufferization.to_tensor %vm restrict : memref<8x2x1100x128xf16, strided<[281600, 140800, 128, 1]>> to tensor<8x2x1100x128xf16>
  %ve = tensor.empty() : tensor<8x2x1100x128xf32>
  %vw = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%vt : tensor<8x2x1100x128xf16>) outs(%ve : tensor<8x2x1100x128xf32>) {
  ^bb0(%a: f16, %b: f32):
    %x = arith.extf %a : f16 to f32
    linalg.yield %x : f32
  } -> tensor<8x2x1100x128xf32>
  %e = tensor.empty() : tensor<8x4x1200x128xf32>
  %r = kernel.attention %qw, %kw, %vw scale 0.125 into %e
      : (tensor<8x4x1200x128xf32>, tensor<8x2x1100x128xf32>, tensor<8x2x1100x128xf32>, tensor<8x4x1200x128xf32>) -> tensor<8x4x1200x128xf32>
  %z = tensor.empty() : tensor<8x4x1200x128xf16>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%r : tensor<8x4x1200x128xf32>) outs(%z : tensor<8x4x1200x128xf16>) {
  ^bb0(%a: f32, %b: f16):
    %x = arith.truncf %a : f32 to f16
    linalg.yield %x : f16
  } -> tensor<8x4x1200x128xf16>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [8, 4, 1200, 128], strides: [614400, 153600, 128, 1] : memref<f16> to memref<8x4x1200x128xf16, strided<[614400, 153600, 128, 1]>>
  bufferization.materialize_in_destination %n in restrict writable %ym : (tensor<8x4x1200x128xf16>, memref<8x4x1200x128xf16, strided<[614400, 153600, 128, 1]>>) -> ()
  return
}

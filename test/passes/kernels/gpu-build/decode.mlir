// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s --check-prefixes=CHECK,HOPPER
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_80 %s | FileCheck %s --check-prefixes=CHECK,AMPERE
// RUN: sed 's/kernel.buffers =/kernel.forced_schedule = #kernel.schedule<"decode 8 rows x 16 keys x 4 warps stages 9 cluster 1">, kernel.buffers =/' %s | not kpc-opt --kpc-gpu-build-kernels=arch=sm_80 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: sed 's/scale 0.125/scale 0.125 softcap 30.0/' %s | kpc-opt --kpc-gpu-build-kernels=arch=sm_80 | FileCheck %s --check-prefix=CAPPED

// A softcap bends each score before it is masked: 1 - 2 / (2^x + 1).
// CAPPED: nvvm.mma.sync
// CAPPED: llvm.nvvm.ex2.approx.ftz.f
// CAPPED-NEXT: arith.addf
// CAPPED-NEXT: nvvm.rcp.approx.ftz.f
// CAPPED-NEXT: math.fma
// CAPPED: gpu.shuffle xor

// REFUSED: error: the schedule 'decode 8 rows x 16 keys x 4 warps stages 9 cluster 1' is none of this kernel's: legal are 'decode {{[^']*}}', {{.*}} and {{[0-9]+}} more{{$}}

// Attention of typically one query, six heads on two: a causal mask and a mask in memory. Three rows of a product for each two keys' heads.

// Rows of keys and of values, whose units of 16 bytes change places.
// CHECK: !smem = !tile.smem<[{{16|32}}, 64], f16, row_swizzle [1, 6, 1]>
// CHECK: !smem1 = !tile.smem<[{{16|32}}, 64], f16, row_swizzle [2, 5, 3]>
// CHECK: !pipe = !tile.pipe<{{[0-9]+}} of [!smem, !smem1]>
// CHECK-LABEL: gpu.module @decode
// CHECK-SAME: kernel.schedule_costs = ["decode 8 rows x
// CHECK: gpu.func @decode(
// HOPPER-SAME: grid = ["floordiv(arg5*3 + 7, 8)*32", "1", "1"]
// AMPERE-SAME: grid = ["floordiv(arg5*3 + 7, 8)*4", "1", "1"]
// CHECK-SAME: block = [{{[0-9]+}}, 1, 1]
// HOPPER-SAME: cluster = 8
// Its few blocks are placed evenly where the kernels before have ended.
// CHECK-SAME: no_early_start = true
// CHECK-SAME: nvvm.minctasm = 1 : i32

// Each warp has a ring; the lane's queries, then the first steps' copies.
// CHECK: tile.warp
// CHECK: %[[RING:.*]] = tile.pipe cp_async warps {{[0-9]+}} : !pipe
// CHECK: vector.load {{.*}} vector<8xf16>
// CHECK: tile.acquire %[[RING]]
// CHECK: tile.cp_async_rows %{{.*}} stride %{{.*}} rows %{{.*}} columns 64 into %{{.*}} signal %[[RING]]
// CHECK: tile.cp_async_rows
// CHECK: tile.commit %[[RING]]

// A step: the next copies begin before this one is multiplied.
// CHECK: scf.for
// CHECK: %[[FULL:.*]] = tile.wait %[[RING]]
// CHECK: %[[FREE:.*]] = tile.acquire %[[RING]]
// CHECK: tile.cp_async_rows
// CHECK: tile.commit %[[RING]][%[[FREE]]]
// CHECK: %[[STEP:.*]]:2 = tile.tiles %[[RING]][%[[FULL]]]
// CHECK: tile.load_vector %[[STEP]]#0[%{{.*}}, %{{.*}}] : !smem -> vector<4xi32>
// CHECK: nvvm.mma.sync
// CHECK: memref.load %{{.*}} : memref<2x1x?x?xi8
// CHECK: gpu.shuffle xor
// CHECK: llvm.nvvm.ex2.approx.ftz.f
// CHECK: gpu.shuffle idx
// CHECK: nvvm.bar.warp.sync
// CHECK: tile.load_vector %[[STEP]]#1
// CHECK: nvvm.prmt
// CHECK: nvvm.mma.sync
// CHECK: tile.release %[[RING]][%[[FULL]]]
// CHECK: scf.yield

// Warps' parts, in order.
// CHECK: tile.drain %[[RING]]
// CHECK-NEXT: tile.sync block
// CHECK: %[[PARTS:.*]] = tile.reuse %[[RING]] : !pipe -> !smem
// CHECK: tile.store_vector %{{.*}} to %[[PARTS]]{{.*}} vector<4xf32>
// CHECK: tile.sync block
// CHECK: scf.for
// CHECK: tile.load_vector %[[PARTS]]
// CHECK: arith.maxnumf
// HOPPER: tile.cluster_sync aligned
// HOPPER: scf.for
// HOPPER: tile.load_vector %[[PARTS]]{{.*}} of block 7 : !{{.*}} -> vector<4xf32>
// AMPERE-NOT: of block
// CHECK: vector.store %{{.*}} : memref<?xf16, strided<[1]>>, vector<4xf16>
// HOPPER: tile.cluster_sync aligned

#id = affine_map<(a, b, c, d) -> (a, b, c, d)>
#turned = affine_map<(a, b, c, d) -> (a, c, b, d)>
func.func @decode(%q: memref<f16>, %k: memref<f16>, %v: memref<f16>, %m: memref<i1>, %y: memref<f16>,
                     %s: index {kernel.size = #kernel.size<min = 1, optimum = 1>}, %t: index {kernel.size = #kernel.size<min = 1, optimum = 4000>},
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

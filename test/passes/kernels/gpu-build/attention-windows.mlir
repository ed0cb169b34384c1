// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s --check-prefixes=CHECK,HOPPER
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_80 %s | FileCheck %s --check-prefixes=CHECK,SYNC
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_100a %s | FileCheck %s --check-prefixes=CHECK

// A mask that compares places: a query sees the 100 keys up to its own. No score computes it: it says between which keys blocks are walked, and
// rows of the blocks at both ends have limits.

// CHECK-LABEL: gpu.func @window(
// Tiles of queries have equal work: there are no pairs.
// HOPPER-SAME: kernel.schedule = #kernel.schedule<"attention {{[0-9]+x[0-9]+}} stages 2 ahead 16">
// CHECK-NOT: tile.map
// HOPPER: tile.role "producer"
// The first key of a tile's first query, down to a block.
// HOPPER: %[[FROM:.*]] = arith.subi %{{.*}}, %{{.*}} : i64
// HOPPER: arith.index_cast %[[FROM]] : i64 to index
// HOPPER: arith.maxsi
// HOPPER: arith.minsi
// HOPPER: arith.divui
// HOPPER: tile.role "consumer"
// On the diagonal, inside of the window, and where it begins.
// HOPPER: tile.mma
// HOPPER: scf.for
// HOPPER: tile.row_numbers
// HOPPER: scf.for
// HOPPER-NOT: tile.row_numbers
// HOPPER: scf.for
// HOPPER: tile.row_numbers
// HOPPER: arith.cmpi slt
// HOPPER: arith.cmpi sge
// HOPPER: arith.andi
// HOPPER: arith.select {{.*}} : f32
// SYNC: scf.for
// SYNC: tile.mma_sync
// SYNC: arith.cmpi sge
// SYNC: arith.cmpi slt
// SYNC: arith.ori
// SYNC: scf.if
// SYNC: tile.row_numbers
// SYNC: } else {
// SYNC-NOT: tile.row_numbers
// SYNC: tile.thread_reduce max

// What else the mask says is read: a number for each key of a batch, which Hopper's second warp puts into a pipe.
// CHECK-LABEL: gpu.func @padded(
// HOPPER: tile.pipe threads consumers
// HOPPER: memref.load {{.*}} : memref<{{.*}}xi8
// HOPPER-NOT: tile.map
// SYNC: tile.map
// SYNC-NOT: arith.cmpi sge, %{{.*}} : i64
// SYNC: memref.load {{.*}} : memref<{{.*}}xi8
// SYNC-NOT: arith.cmpi {{.*}} : i64
// SYNC: tile.yield
#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#keys = affine_map<(d0, d1, d2, d3) -> (d0, d3)>

func.func @window(%q: memref<f16>, %k: memref<f16>, %v: memref<f16>, %y: memref<f16>)
    attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %qm = memref.reinterpret_cast %q to offset: [0], sizes: [2, 4, 2048, 64], strides: [524288, 131072, 64, 1] : memref<f16> to memref<2x4x2048x64xf16, strided<[524288, 131072, 64, 1]>>
  %qt = bufferization.to_tensor %qm restrict : memref<2x4x2048x64xf16, strided<[524288, 131072, 64, 1]>> to tensor<2x4x2048x64xf16>
  %qe = tensor.empty() : tensor<2x4x2048x64xf32>
  %qw = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%qt : tensor<2x4x2048x64xf16>) outs(%qe : tensor<2x4x2048x64xf32>) {
  ^bb0(%a: f16, %b: f32):
    %x = arith.extf %a : f16 to f32
    linalg.yield %x : f32
  } -> tensor<2x4x2048x64xf32>
  %km = memref.reinterpret_cast %k to offset: [0], sizes: [2, 2, 2048, 64], strides: [262144, 131072, 64, 1] : memref<f16> to memref<2x2x2048x64xf16, strided<[262144, 131072, 64, 1]>>
  %kt = bufferization.to_tensor %km restrict : memref<2x2x2048x64xf16, strided<[262144, 131072, 64, 1]>> to tensor<2x2x2048x64xf16>
  %ke = tensor.empty() : tensor<2x2x2048x64xf32>
  %kw = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%kt : tensor<2x2x2048x64xf16>) outs(%ke : tensor<2x2x2048x64xf32>) {
  ^bb0(%a: f16, %b: f32):
    %x = arith.extf %a : f16 to f32
    linalg.yield %x : f32
  } -> tensor<2x2x2048x64xf32>
  %vm = memref.reinterpret_cast %v to offset: [0], sizes: [2, 2, 2048, 64], strides: [262144, 131072, 64, 1] : memref<f16> to memref<2x2x2048x64xf16, strided<[262144, 131072, 64, 1]>>
  %vt = bufferization.to_tensor %vm restrict : memref<2x2x2048x64xf16, strided<[262144, 131072, 64, 1]>> to tensor<2x2x2048x64xf16>
  %ve = tensor.empty() : tensor<2x2x2048x64xf32>
  %vw = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%vt : tensor<2x2x2048x64xf16>) outs(%ve : tensor<2x2x2048x64xf32>) {
  ^bb0(%a: f16, %b: f32):
    %x = arith.extf %a : f16 to f32
    linalg.yield %x : f32
  } -> tensor<2x2x2048x64xf32>
  %me = tensor.empty() : tensor<1x1x2048x2048xi1>
  %m = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%me : tensor<1x1x2048x2048xi1>) {
  ^bb0(%b: i1):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %query = arith.index_cast %i : index to i64
    %key = arith.index_cast %j : index to i64
    %width = arith.constant 100 : i64
    %from = arith.subi %query, %width : i64
    %x = arith.cmpi sgt, %key, %from : i64
    linalg.yield %x : i1
  } -> tensor<1x1x2048x2048xi1>
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<2x4x2048x64xf32>
  %r = kernel.attention %qw, %kw, %vw mask %m causal %c0 scale 0.125 into %e
      : (tensor<2x4x2048x64xf32>, tensor<2x2x2048x64xf32>, tensor<2x2x2048x64xf32>, tensor<1x1x2048x2048xi1>, index, tensor<2x4x2048x64xf32>) -> tensor<2x4x2048x64xf32>
  %ze = tensor.empty() : tensor<2x4x2048x64xf16>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%r : tensor<2x4x2048x64xf32>) outs(%ze : tensor<2x4x2048x64xf16>) {
  ^bb0(%a: f32, %b: f16):
    %x = arith.truncf %a : f32 to f16
    linalg.yield %x : f16
  } -> tensor<2x4x2048x64xf16>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [2, 4, 2048, 64], strides: [524288, 131072, 64, 1] : memref<f16> to memref<2x4x2048x64xf16, strided<[524288, 131072, 64, 1]>>
  bufferization.materialize_in_destination %n in restrict writable %ym : (tensor<2x4x2048x64xf16>, memref<2x4x2048x64xf16, strided<[524288, 131072, 64, 1]>>) -> ()
  return
}

func.func @padded(%q: memref<f16>, %k: memref<f16>, %v: memref<f16>, %p: memref<i1>, %y: memref<f16>)
    attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2, 3], writes = [4]>} {
  %qm = memref.reinterpret_cast %q to offset: [0], sizes: [2, 4, 2048, 64], strides: [524288, 131072, 64, 1] : memref<f16> to memref<2x4x2048x64xf16, strided<[524288, 131072, 64, 1]>>
  %qt = bufferization.to_tensor %qm restrict : memref<2x4x2048x64xf16, strided<[524288, 131072, 64, 1]>> to tensor<2x4x2048x64xf16>
  %qe = tensor.empty() : tensor<2x4x2048x64xf32>
  %qw = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%qt : tensor<2x4x2048x64xf16>) outs(%qe : tensor<2x4x2048x64xf32>) {
  ^bb0(%a: f16, %b: f32):
    %x = arith.extf %a : f16 to f32
    linalg.yield %x : f32
  } -> tensor<2x4x2048x64xf32>
  %km = memref.reinterpret_cast %k to offset: [0], sizes: [2, 2, 2048, 64], strides: [262144, 131072, 64, 1] : memref<f16> to memref<2x2x2048x64xf16, strided<[262144, 131072, 64, 1]>>
  %kt = bufferization.to_tensor %km restrict : memref<2x2x2048x64xf16, strided<[262144, 131072, 64, 1]>> to tensor<2x2x2048x64xf16>
  %ke = tensor.empty() : tensor<2x2x2048x64xf32>
  %kw = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%kt : tensor<2x2x2048x64xf16>) outs(%ke : tensor<2x2x2048x64xf32>) {
  ^bb0(%a: f16, %b: f32):
    %x = arith.extf %a : f16 to f32
    linalg.yield %x : f32
  } -> tensor<2x2x2048x64xf32>
  %vm = memref.reinterpret_cast %v to offset: [0], sizes: [2, 2, 2048, 64], strides: [262144, 131072, 64, 1] : memref<f16> to memref<2x2x2048x64xf16, strided<[262144, 131072, 64, 1]>>
  %vt = bufferization.to_tensor %vm restrict : memref<2x2x2048x64xf16, strided<[262144, 131072, 64, 1]>> to tensor<2x2x2048x64xf16>
  %ve = tensor.empty() : tensor<2x2x2048x64xf32>
  %vw = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%vt : tensor<2x2x2048x64xf16>) outs(%ve : tensor<2x2x2048x64xf32>) {
  ^bb0(%a: f16, %b: f32):
    %x = arith.extf %a : f16 to f32
    linalg.yield %x : f32
  } -> tensor<2x2x2048x64xf32>
  %pm = memref.reinterpret_cast %p to offset: [0], sizes: [2, 2048], strides: [2048, 1] : memref<i1> to memref<2x2048xi1, strided<[2048, 1]>>
  %pt = bufferization.to_tensor %pm restrict : memref<2x2048xi1, strided<[2048, 1]>> to tensor<2x2048xi1>
  %me = tensor.empty() : tensor<2x1x2048x2048xi1>
  %m = linalg.generic {indexing_maps = [#keys, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%pt : tensor<2x2048xi1>) outs(%me : tensor<2x1x2048x2048xi1>) {
  ^bb0(%a: i1, %b: i1):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %query = arith.index_cast %i : index to i64
    %key = arith.index_cast %j : index to i64
    %width = arith.constant 100 : i64
    %from = arith.subi %query, %width : i64
    %x = arith.cmpi sgt, %key, %from : i64
    %z = arith.andi %x, %a : i1
    linalg.yield %z : i1
  } -> tensor<2x1x2048x2048xi1>
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<2x4x2048x64xf32>
  %r = kernel.attention %qw, %kw, %vw mask %m causal %c0 scale 0.125 into %e
      : (tensor<2x4x2048x64xf32>, tensor<2x2x2048x64xf32>, tensor<2x2x2048x64xf32>, tensor<2x1x2048x2048xi1>, index, tensor<2x4x2048x64xf32>) -> tensor<2x4x2048x64xf32>
  %ze = tensor.empty() : tensor<2x4x2048x64xf16>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%r : tensor<2x4x2048x64xf32>) outs(%ze : tensor<2x4x2048x64xf16>) {
  ^bb0(%a: f32, %b: f16):
    %x = arith.truncf %a : f32 to f16
    linalg.yield %x : f16
  } -> tensor<2x4x2048x64xf16>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [2, 4, 2048, 64], strides: [524288, 131072, 64, 1] : memref<f16> to memref<2x4x2048x64xf16, strided<[524288, 131072, 64, 1]>>
  bufferization.materialize_in_destination %n in restrict writable %ym : (tensor<2x4x2048x64xf16>, memref<2x4x2048x64xf16, strided<[524288, 131072, 64, 1]>>) -> ()
  return
}

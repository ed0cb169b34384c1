// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s

// Keys of a cache with a new row behind them. The kernel copies each row from where it lies, and stores all of them.

// CHECK-LABEL: gpu.func @append(
// CHECK: %[[RING:.*]] = tile.pipe cp_async warps
// A row of the cache, or one behind it: one of two copies is made.
// CHECK: %[[IS_PAST:.*]] = arith.cmpi slt, %{{.*}}, %c0
// CHECK: %[[IS_NEW:.*]] = arith.xori %[[IS_PAST]], %true
// CHECK: tile.cp_async_vector if %[[IS_PAST]] %{{.*}} inside %[[INSIDE:.*]] into %{{.*}} by 16 signal %[[RING]]
// CHECK: tile.cp_async_vector if %[[IS_NEW]] %{{.*}} inside %[[INSIDE]] into %{{.*}} by 16 signal %[[RING]]
// CHECK: scf.for
// CHECK: %[[FULL:.*]] = tile.wait %[[RING]]
// CHECK: %[[STEP:.*]]:2 = tile.tiles %[[RING]][%[[FULL]]]
// All rows are stored, whole lines of them, before they are multiplied.
// CHECK: %[[LEFT:.*]] = arith.subi %{{.*}}, %{{.*}} : index
// CHECK: arith.cmpi slt, %{{.*}}, %[[LEFT]]
// CHECK: scf.if
// CHECK: %[[PIECE:.*]] = tile.load_vector %[[STEP]]#0{{.*}} -> vector<8xf16>
// CHECK: vector.store %[[PIECE]], %{{.*}} {alignment = 16 : i64}
// CHECK: tile.load_vector %[[STEP]]#1{{.*}} -> vector<8xf16>
// CHECK: nvvm.mma.sync
// CHECK: tile.release %[[RING]][%[[FULL]]]

#id = affine_map<(a, b, c, d) -> (a, b, c, d)>
func.func @append(%q: memref<f16>, %pk: memref<f16>, %k: memref<f16>, %pv: memref<f16>, %v: memref<f16>,
                  %y: memref<f16>, %ks: memref<f16>, %vs: memref<f16>,
                  %p: index {kernel.size = #kernel.size<min = 0, max = 8192, optimum = 1024>},
                  %t: index {kernel.size = #kernel.size<min = 1, max = 8193, optimum = 1025>},
                  %ps: index {kernel.size = #kernel.size<divisor = 64>}, %pb: index {kernel.size = #kernel.size<divisor = 64>},
                  %ts: index {kernel.size = #kernel.size<divisor = 64>}, %tb: index {kernel.size = #kernel.size<divisor = 64>})
    attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2, 3, 4], writes = [5, 6, 7]>} {
  %qm = memref.reinterpret_cast %q to offset: [0], sizes: [2, 4, 1, 64], strides: [256, 64, 64, 1] : memref<f16> to memref<2x4x1x64xf16, strided<[256, 64, 64, 1]>>
  %qt = bufferization.to_tensor %qm restrict : memref<2x4x1x64xf16, strided<[256, 64, 64, 1]>> to tensor<2x4x1x64xf16>
  %qe = tensor.empty() : tensor<2x4x1x64xf32>
  %qw = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%qt : tensor<2x4x1x64xf16>) outs(%qe : tensor<2x4x1x64xf32>) {
  ^bb0(%a: f16, %b: f32):
    %x = arith.extf %a : f16 to f32
    linalg.yield %x : f32
  } -> tensor<2x4x1x64xf32>
  %pkm = memref.reinterpret_cast %pk to offset: [0], sizes: [2, 2, %p, 64], strides: [%pb, %ps, 64, 1] : memref<f16> to memref<2x2x?x64xf16, strided<[?, ?, 64, 1]>>
  %pkt = bufferization.to_tensor %pkm restrict : memref<2x2x?x64xf16, strided<[?, ?, 64, 1]>> to tensor<2x2x?x64xf16>
  %pvm = memref.reinterpret_cast %pv to offset: [0], sizes: [2, 2, %p, 64], strides: [%pb, %ps, 64, 1] : memref<f16> to memref<2x2x?x64xf16, strided<[?, ?, 64, 1]>>
  %pvt = bufferization.to_tensor %pvm restrict : memref<2x2x?x64xf16, strided<[?, ?, 64, 1]>> to tensor<2x2x?x64xf16>
  %km = memref.reinterpret_cast %k to offset: [0], sizes: [2, 2, 1, 64], strides: [128, 64, 64, 1] : memref<f16> to memref<2x2x1x64xf16, strided<[128, 64, 64, 1]>>
  %kt = bufferization.to_tensor %km restrict : memref<2x2x1x64xf16, strided<[128, 64, 64, 1]>> to tensor<2x2x1x64xf16>
  %vm = memref.reinterpret_cast %v to offset: [0], sizes: [2, 2, 1, 64], strides: [128, 64, 64, 1] : memref<f16> to memref<2x2x1x64xf16, strided<[128, 64, 64, 1]>>
  %vt = bufferization.to_tensor %vm restrict : memref<2x2x1x64xf16, strided<[128, 64, 64, 1]>> to tensor<2x2x1x64xf16>
  %je = tensor.empty(%t) : tensor<2x2x?x64xf16>
  %jk = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%je : tensor<2x2x?x64xf16>) {
  ^bb0(%b: f16):
    %i0 = linalg.index 0 : index
    %i1 = linalg.index 1 : index
    %at = linalg.index 2 : index
    %i3 = linalg.index 3 : index
    %in = arith.cmpi slt, %at, %p : index
    %x = scf.if %in -> (f16) {
      %e = tensor.extract %pkt[%i0, %i1, %at, %i3] : tensor<2x2x?x64xf16>
      scf.yield %e : f16
    } else {
      %m = arith.subi %at, %p : index
      %e = tensor.extract %kt[%i0, %i1, %m, %i3] : tensor<2x2x1x64xf16>
      scf.yield %e : f16
    }
    linalg.yield %x : f16
  } -> tensor<2x2x?x64xf16>
  %jv = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%je : tensor<2x2x?x64xf16>) {
  ^bb0(%b: f16):
    %i0 = linalg.index 0 : index
    %i1 = linalg.index 1 : index
    %at = linalg.index 2 : index
    %i3 = linalg.index 3 : index
    %in = arith.cmpi slt, %at, %p : index
    %x = scf.if %in -> (f16) {
      %e = tensor.extract %pvt[%i0, %i1, %at, %i3] : tensor<2x2x?x64xf16>
      scf.yield %e : f16
    } else {
      %m = arith.subi %at, %p : index
      %e = tensor.extract %vt[%i0, %i1, %m, %i3] : tensor<2x2x1x64xf16>
      scf.yield %e : f16
    }
    linalg.yield %x : f16
  } -> tensor<2x2x?x64xf16>
  %we = tensor.empty(%t) : tensor<2x2x?x64xf32>
  %kw = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%jk : tensor<2x2x?x64xf16>) outs(%we : tensor<2x2x?x64xf32>) {
  ^bb0(%a: f16, %b: f32):
    %x = arith.extf %a : f16 to f32
    linalg.yield %x : f32
  } -> tensor<2x2x?x64xf32>
  %vw = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%jv : tensor<2x2x?x64xf16>) outs(%we : tensor<2x2x?x64xf32>) {
  ^bb0(%a: f16, %b: f32):
    %x = arith.extf %a : f16 to f32
    linalg.yield %x : f32
  } -> tensor<2x2x?x64xf32>
  %r = kernel.attention %qw, %kw, %vw scale 0.125 into %qe
      : (tensor<2x4x1x64xf32>, tensor<2x2x?x64xf32>, tensor<2x2x?x64xf32>, tensor<2x4x1x64xf32>) -> tensor<2x4x1x64xf32>
  %ye = tensor.empty() : tensor<2x4x1x64xf16>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%r : tensor<2x4x1x64xf32>) outs(%ye : tensor<2x4x1x64xf16>) {
  ^bb0(%a: f32, %b: f16):
    %x = arith.truncf %a : f32 to f16
    linalg.yield %x : f16
  } -> tensor<2x4x1x64xf16>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [2, 4, 1, 64], strides: [256, 64, 64, 1] : memref<f16> to memref<2x4x1x64xf16, strided<[256, 64, 64, 1]>>
  bufferization.materialize_in_destination %n in restrict writable %ym : (tensor<2x4x1x64xf16>, memref<2x4x1x64xf16, strided<[256, 64, 64, 1]>>) -> ()
  %ksm = memref.reinterpret_cast %ks to offset: [0], sizes: [2, 2, %t, 64], strides: [%tb, %ts, 64, 1] : memref<f16> to memref<2x2x?x64xf16, strided<[?, ?, 64, 1]>>
  bufferization.materialize_in_destination %jk in restrict writable %ksm : (tensor<2x2x?x64xf16>, memref<2x2x?x64xf16, strided<[?, ?, 64, 1]>>) -> ()
  %vsm = memref.reinterpret_cast %vs to offset: [0], sizes: [2, 2, %t, 64], strides: [%tb, %ts, 64, 1] : memref<f16> to memref<2x2x?x64xf16, strided<[?, ?, 64, 1]>>
  bufferization.materialize_in_destination %jv in restrict writable %vsm : (tensor<2x2x?x64xf16>, memref<2x2x?x64xf16, strided<[?, ?, 64, 1]>>) -> ()
  return
}

// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s

// A buffer of keys, one row of which is new: that at a place which only the run knows. Keys count up to that row. The kernel copies each row from
// where it is, and stores all of them, or the new one alone where that is the buffer itself.

// CHECK-LABEL: gpu.func @replace(
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %{{.*}}, %{{.*}} : index
// CHECK: %[[SAME_VALUES:.*]] = arith.cmpi eq, %{{.*}}, %{{.*}} : index
// Keys after the new row are not read in place: they end where the mask does, or after the new row.
// CHECK: %[[SEEN:.*]] = arith.maxsi
// CHECK: %[[NEW_END:.*]] = arith.maxsi
// CHECK: %[[BOTH:.*]] = arith.maxsi %[[SEEN]], %[[NEW_END]] : index
// CHECK: %[[KEYS:.*]] = arith.select %[[SAME]], %[[BOTH]], %arg9 : index
// CHECK: %[[END:.*]] = arith.select %[[SAME_VALUES]], %{{.*}}, %arg9 : index
// CHECK: %[[RING:.*]] = tile.pipe cp_async warps
// CHECK: %[[IS_NEW:.*]] = arith.cmpi eq
// CHECK: %[[IS_PAST:.*]] = arith.xori %[[IS_NEW]], %true
// CHECK: tile.cp_async_vector if %[[IS_PAST]] %{{.*}} inside %[[INSIDE:.*]] into %{{.*}} by 16 signal %[[RING]]
// CHECK: tile.cp_async_vector if %[[IS_NEW]] %{{.*}} inside %[[INSIDE]] into %{{.*}} by 16 signal %[[RING]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[END]]
// CHECK: %[[FULL:.*]] = tile.wait %[[RING]]
// CHECK: %[[STEP:.*]]:2 = tile.tiles %[[RING]][%[[FULL]]]
// CHECK: %[[NEW:.*]] = arith.cmpi eq
// CHECK: %[[ELSEWHERE:.*]] = arith.xori %[[SAME]], %true
// CHECK: %[[STORED:.*]] = arith.ori %[[ELSEWHERE]], %[[NEW]]
// CHECK: %[[IF:.*]] = arith.andi %{{.*}}, %[[STORED]]
// CHECK: scf.if %[[IF]]
// CHECK: %[[PIECE:.*]] = tile.load_vector %[[STEP]]#0{{.*}} -> vector<8xf16>
// CHECK: vector.store %[[PIECE]], %{{.*}} {alignment = 16 : i64}
// CHECK: tile.load_vector %[[STEP]]#1{{.*}} -> vector<8xf16>
// CHECK: nvvm.mma.sync

#id = affine_map<(a, b, c, d) -> (a, b, c, d)>
#batch = affine_map<(a, b, c, d) -> (a)>
#rows = affine_map<(a, b, c, d) -> (a, 0, c, 0)>
func.func @replace(%q: memref<f16>, %pk: memref<f16>, %k: memref<f16>, %pv: memref<f16>, %v: memref<f16>, %at: memref<i64>,
                  %y: memref<f16>, %ks: memref<f16>, %vs: memref<f16>,
                  %t: index {kernel.size = #kernel.size<min = 1, max = 8192, optimum = 1024>},
                  %ts: index {kernel.size = #kernel.size<divisor = 64>}, %tb: index {kernel.size = #kernel.size<divisor = 64>})
    attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2, 3, 4, 5], writes = [6, 7, 8]>} {
  %qm = memref.reinterpret_cast %q to offset: [0], sizes: [2, 4, 1, 64], strides: [256, 64, 64, 1] : memref<f16> to memref<2x4x1x64xf16, strided<[256, 64, 64, 1]>>
  %qt = bufferization.to_tensor %qm restrict : memref<2x4x1x64xf16, strided<[256, 64, 64, 1]>> to tensor<2x4x1x64xf16>
  %qe = tensor.empty() : tensor<2x4x1x64xf32>
  %qw = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%qt : tensor<2x4x1x64xf16>) outs(%qe : tensor<2x4x1x64xf32>) {
  ^bb0(%a: f16, %b: f32):
    %x = arith.extf %a : f16 to f32
    linalg.yield %x : f32
  } -> tensor<2x4x1x64xf32>
  %pkm = memref.reinterpret_cast %pk to offset: [0], sizes: [2, 2, %t, 64], strides: [%tb, %ts, 64, 1] : memref<f16> to memref<2x2x?x64xf16, strided<[?, ?, 64, 1]>>
  %pkt = bufferization.to_tensor %pkm restrict : memref<2x2x?x64xf16, strided<[?, ?, 64, 1]>> to tensor<2x2x?x64xf16>
  %pvm = memref.reinterpret_cast %pv to offset: [0], sizes: [2, 2, %t, 64], strides: [%tb, %ts, 64, 1] : memref<f16> to memref<2x2x?x64xf16, strided<[?, ?, 64, 1]>>
  %pvt = bufferization.to_tensor %pvm restrict : memref<2x2x?x64xf16, strided<[?, ?, 64, 1]>> to tensor<2x2x?x64xf16>
  %km = memref.reinterpret_cast %k to offset: [0], sizes: [2, 2, 1, 64], strides: [128, 64, 64, 1] : memref<f16> to memref<2x2x1x64xf16, strided<[128, 64, 64, 1]>>
  %kt = bufferization.to_tensor %km restrict : memref<2x2x1x64xf16, strided<[128, 64, 64, 1]>> to tensor<2x2x1x64xf16>
  %vm = memref.reinterpret_cast %v to offset: [0], sizes: [2, 2, 1, 64], strides: [128, 64, 64, 1] : memref<f16> to memref<2x2x1x64xf16, strided<[128, 64, 64, 1]>>
  %vt = bufferization.to_tensor %vm restrict : memref<2x2x1x64xf16, strided<[128, 64, 64, 1]>> to tensor<2x2x1x64xf16>
  %am = memref.reinterpret_cast %at to offset: [0], sizes: [2], strides: [1] : memref<i64> to memref<2xi64, strided<[1]>>
  %first = bufferization.to_tensor %am restrict : memref<2xi64, strided<[1]>> to tensor<2xi64>
  %ie = tensor.empty(%t) : tensor<2x1x?x1xi64>
  %row = linalg.generic {indexing_maps = [#batch, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%first : tensor<2xi64>) outs(%ie : tensor<2x1x?x1xi64>) {
  ^bb0(%a: i64, %b: i64):
    %i = linalg.index 2 : index
    %c = arith.index_cast %i : index to i64
    %x = arith.subi %c, %a : i64
    linalg.yield %x : i64
  } -> tensor<2x1x?x1xi64>
  %be = tensor.empty(%t) : tensor<2x1x?x1xi1>
  %is = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%row : tensor<2x1x?x1xi64>) outs(%be : tensor<2x1x?x1xi1>) {
  ^bb0(%a: i64, %b: i1):
    %zero = arith.constant 0 : i64
    %x = arith.cmpi eq, %a, %zero : i64
    linalg.yield %x : i1
  } -> tensor<2x1x?x1xi1>
  %we1 = tensor.empty(%t) : tensor<2x2x?x64xi1>
  %is_new = linalg.generic {indexing_maps = [#rows, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%is : tensor<2x1x?x1xi1>) outs(%we1 : tensor<2x2x?x64xi1>) {
  ^bb0(%a: i1, %b: i1):
    linalg.yield %a : i1
  } -> tensor<2x2x?x64xi1>
  %we2 = tensor.empty(%t) : tensor<2x2x?x64xi64>
  %which = linalg.generic {indexing_maps = [#rows, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%row : tensor<2x1x?x1xi64>) outs(%we2 : tensor<2x2x?x64xi64>) {
  ^bb0(%a: i64, %b: i64):
    linalg.yield %a : i64
  } -> tensor<2x2x?x64xi64>
  %je = tensor.empty(%t) : tensor<2x2x?x64xf16>
  %gk = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%je : tensor<2x2x?x64xf16>) {
  ^bb0(%b: f16):
    %i0 = linalg.index 0 : index
    %i1 = linalg.index 1 : index
    %i2 = linalg.index 2 : index
    %i3 = linalg.index 3 : index
    %e = tensor.extract %which[%i0, %i1, %i2, %i3] : tensor<2x2x?x64xi64>
    %c = arith.index_cast %e : i64 to index
    %zero = arith.constant 0 : index
    %low = arith.maxsi %c, %zero : index
    %high = arith.minsi %low, %zero : index
    %x = tensor.extract %kt[%i0, %i1, %high, %i3] : tensor<2x2x1x64xf16>
    linalg.yield %x : f16
  } -> tensor<2x2x?x64xf16>
  %jk = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%is_new, %gk, %pkt : tensor<2x2x?x64xi1>, tensor<2x2x?x64xf16>, tensor<2x2x?x64xf16>) outs(%je : tensor<2x2x?x64xf16>) {
  ^bb0(%i: i1, %n: f16, %p: f16, %b: f16):
    %x = arith.select %i, %n, %p : f16
    linalg.yield %x : f16
  } -> tensor<2x2x?x64xf16>
  %gv = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%je : tensor<2x2x?x64xf16>) {
  ^bb0(%b: f16):
    %i0 = linalg.index 0 : index
    %i1 = linalg.index 1 : index
    %i2 = linalg.index 2 : index
    %i3 = linalg.index 3 : index
    %e = tensor.extract %which[%i0, %i1, %i2, %i3] : tensor<2x2x?x64xi64>
    %c = arith.index_cast %e : i64 to index
    %zero = arith.constant 0 : index
    %low = arith.maxsi %c, %zero : index
    %high = arith.minsi %low, %zero : index
    %x = tensor.extract %vt[%i0, %i1, %high, %i3] : tensor<2x2x1x64xf16>
    linalg.yield %x : f16
  } -> tensor<2x2x?x64xf16>
  %jv = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%is_new, %gv, %pvt : tensor<2x2x?x64xi1>, tensor<2x2x?x64xf16>, tensor<2x2x?x64xf16>) outs(%je : tensor<2x2x?x64xf16>) {
  ^bb0(%i: i1, %n: f16, %p: f16, %b: f16):
    %x = arith.select %i, %n, %p : f16
    linalg.yield %x : f16
  } -> tensor<2x2x?x64xf16>
  %me = tensor.empty(%t) : tensor<2x1x1x?xi1>
  %mask = linalg.generic {indexing_maps = [#batch, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%first : tensor<2xi64>) outs(%me : tensor<2x1x1x?xi1>) {
  ^bb0(%a: i64, %b: i1):
    %i = linalg.index 3 : index
    %c = arith.index_cast %i : index to i64
    %x = arith.cmpi sle, %c, %a : i64
    linalg.yield %x : i1
  } -> tensor<2x1x1x?xi1>
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
  %r = kernel.attention %qw, %kw, %vw mask %mask scale 0.125 into %qe
      : (tensor<2x4x1x64xf32>, tensor<2x2x?x64xf32>, tensor<2x2x?x64xf32>, tensor<2x1x1x?xi1>, tensor<2x4x1x64xf32>) -> tensor<2x4x1x64xf32>
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

// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s
// RUN: not kpc-opt --kpc-gpu-build-kernels=arch=sm_80 %s 2>&1 | FileCheck %s --check-prefix=REFUSED

// Keys and values are codes of FP8: 16 bytes are 16 elements, which an instruction widens to f16. What two keys have of two columns is put
// side by side first. The factor of the result is that of the last division. Without the instruction no builder takes it: the graph has
// dequantised codes before.

// REFUSED: error:

// CHECK-LABEL: gpu.module @codes
// CHECK: kernel.schedule = #kernel.schedule<"decode 8 rows x
// CHECK: %[[BY:.*]] = arith.constant 2.500000e-01 : f32
// CHECK: tile.cp_async_rows {{.*}} : memref<?xi8
// CHECK: scf.for
// CHECK: nvvm.convert.f8x2.to.f16x2 %{{.*}} : vector<2xi8>{{ ?}}(f8E4M3FN) -> vector<2xf16>
// CHECK: nvvm.mma.sync
// CHECK: nvvm.prmt
// CHECK: nvvm.convert.f8x2.to.f16x2
// CHECK: nvvm.mma.sync
// CHECK: arith.divf %[[BY]], %{{.*}} : f32
#id = affine_map<(a, b, c, d) -> (a, b, c, d)>
func.func @codes(%q: memref<f16>, %k: memref<i8>, %v: memref<i8>, %y: memref<f16>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %qm = memref.reinterpret_cast %q to offset: [0], sizes: [2, 6, 1, 64], strides: [384, 64, 64, 1] : memref<f16> to memref<2x6x1x64xf16, strided<[384, 64, 64, 1]>>
  %qt = bufferization.to_tensor %qm restrict : memref<2x6x1x64xf16, strided<[384, 64, 64, 1]>> to tensor<2x6x1x64xf16>
  %qe = tensor.empty() : tensor<2x6x1x64xf32>
  %qw = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%qt : tensor<2x6x1x64xf16>) outs(%qe : tensor<2x6x1x64xf32>) {
  ^bb0(%a: f16, %b: f32):
    %x = arith.extf %a : f16 to f32
    linalg.yield %x : f32
  } -> tensor<2x6x1x64xf32>
  %km = memref.reinterpret_cast %k to offset: [0], sizes: [2, 2, 300, 64], strides: [38400, 19200, 64, 1] : memref<i8> to memref<2x2x300x64xi8, strided<[38400, 19200, 64, 1]>>
  %kt = bufferization.to_tensor %km restrict : memref<2x2x300x64xi8, strided<[38400, 19200, 64, 1]>> to tensor<2x2x300x64xi8>
  %ke = tensor.empty() : tensor<2x2x300x64xf32>
  %kw = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%kt : tensor<2x2x300x64xi8>) outs(%ke : tensor<2x2x300x64xf32>) {
  ^bb0(%a: i8, %b: f32):
    %c = arith.bitcast %a : i8 to f8E4M3FN
    %x = arith.extf %c : f8E4M3FN to f32
    linalg.yield %x : f32
  } -> tensor<2x2x300x64xf32>
  %vm = memref.reinterpret_cast %v to offset: [0], sizes: [2, 2, 300, 64], strides: [38400, 19200, 64, 1] : memref<i8> to memref<2x2x300x64xi8, strided<[38400, 19200, 64, 1]>>
  %vt = bufferization.to_tensor %vm restrict : memref<2x2x300x64xi8, strided<[38400, 19200, 64, 1]>> to tensor<2x2x300x64xi8>
  %ve = tensor.empty() : tensor<2x2x300x64xf32>
  %vw = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%vt : tensor<2x2x300x64xi8>) outs(%ve : tensor<2x2x300x64xf32>) {
  ^bb0(%a: i8, %b: f32):
    %c = arith.bitcast %a : i8 to f8E4M3FN
    %x = arith.extf %c : f8E4M3FN to f32
    linalg.yield %x : f32
  } -> tensor<2x2x300x64xf32>
  %e = tensor.empty() : tensor<2x6x1x64xf32>
  %r = kernel.attention %qw, %kw, %vw scale 0.125 into %e : (tensor<2x6x1x64xf32>, tensor<2x2x300x64xf32>, tensor<2x2x300x64xf32>, tensor<2x6x1x64xf32>) -> tensor<2x6x1x64xf32>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [2, 6, 1, 64], strides: [384, 64, 64, 1] : memref<f16> to memref<2x6x1x64xf16, strided<[384, 64, 64, 1]>>
  %ye = tensor.empty() : tensor<2x6x1x64xf16>
  %by = arith.constant 2.5e-01 : f32
  %yt = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%r : tensor<2x6x1x64xf32>) outs(%ye : tensor<2x6x1x64xf16>) {
  ^bb0(%a: f32, %b: f16):
    %m = arith.mulf %a, %by : f32
    %x = arith.truncf %m : f32 to f16
    linalg.yield %x : f16
  } -> tensor<2x6x1x64xf16>
  bufferization.materialize_in_destination %yt in restrict writable %ym : (tensor<2x6x1x64xf16>, memref<2x6x1x64xf16, strided<[384, 64, 64, 1]>>) -> ()
  return
}

// bf16 has the code's bits at another place, and 2^120 makes the number of them.
// CHECK-LABEL: gpu.module @bf16
// CHECK: scf.for
// CHECK-NOT: nvvm.convert
// CHECK: arith.shrui %{{.*}} : i32
// CHECK: arith.ori
// CHECK: arith.mulf %{{.*}} : vector<2xbf16>
// CHECK: nvvm.mma.sync
func.func @bf16(%q: memref<bf16>, %k: memref<i8>, %v: memref<i8>, %y: memref<bf16>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %qm = memref.reinterpret_cast %q to offset: [0], sizes: [2, 6, 1, 64], strides: [384, 64, 64, 1] : memref<bf16> to memref<2x6x1x64xbf16, strided<[384, 64, 64, 1]>>
  %qt = bufferization.to_tensor %qm restrict : memref<2x6x1x64xbf16, strided<[384, 64, 64, 1]>> to tensor<2x6x1x64xbf16>
  %qe = tensor.empty() : tensor<2x6x1x64xf32>
  %qw = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%qt : tensor<2x6x1x64xbf16>) outs(%qe : tensor<2x6x1x64xf32>) {
  ^bb0(%a: bf16, %b: f32):
    %x = arith.extf %a : bf16 to f32
    linalg.yield %x : f32
  } -> tensor<2x6x1x64xf32>
  %km = memref.reinterpret_cast %k to offset: [0], sizes: [2, 2, 300, 64], strides: [38400, 19200, 64, 1] : memref<i8> to memref<2x2x300x64xi8, strided<[38400, 19200, 64, 1]>>
  %kt = bufferization.to_tensor %km restrict : memref<2x2x300x64xi8, strided<[38400, 19200, 64, 1]>> to tensor<2x2x300x64xi8>
  %ke = tensor.empty() : tensor<2x2x300x64xf32>
  %kw = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%kt : tensor<2x2x300x64xi8>) outs(%ke : tensor<2x2x300x64xf32>) {
  ^bb0(%a: i8, %b: f32):
    %c = arith.bitcast %a : i8 to f8E4M3FN
    %x = arith.extf %c : f8E4M3FN to f32
    linalg.yield %x : f32
  } -> tensor<2x2x300x64xf32>
  %vm = memref.reinterpret_cast %v to offset: [0], sizes: [2, 2, 300, 64], strides: [38400, 19200, 64, 1] : memref<i8> to memref<2x2x300x64xi8, strided<[38400, 19200, 64, 1]>>
  %vt = bufferization.to_tensor %vm restrict : memref<2x2x300x64xi8, strided<[38400, 19200, 64, 1]>> to tensor<2x2x300x64xi8>
  %ve = tensor.empty() : tensor<2x2x300x64xf32>
  %vw = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%vt : tensor<2x2x300x64xi8>) outs(%ve : tensor<2x2x300x64xf32>) {
  ^bb0(%a: i8, %b: f32):
    %c = arith.bitcast %a : i8 to f8E4M3FN
    %x = arith.extf %c : f8E4M3FN to f32
    linalg.yield %x : f32
  } -> tensor<2x2x300x64xf32>
  %e = tensor.empty() : tensor<2x6x1x64xf32>
  %r = kernel.attention %qw, %kw, %vw scale 0.125 into %e : (tensor<2x6x1x64xf32>, tensor<2x2x300x64xf32>, tensor<2x2x300x64xf32>, tensor<2x6x1x64xf32>) -> tensor<2x6x1x64xf32>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [2, 6, 1, 64], strides: [384, 64, 64, 1] : memref<bf16> to memref<2x6x1x64xbf16, strided<[384, 64, 64, 1]>>
  %ye = tensor.empty() : tensor<2x6x1x64xbf16>
  %by = arith.constant 2.5e-01 : f32
  %yt = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%r : tensor<2x6x1x64xf32>) outs(%ye : tensor<2x6x1x64xbf16>) {
  ^bb0(%a: f32, %b: bf16):
    %m = arith.mulf %a, %by : f32
    %x = arith.truncf %m : f32 to bf16
    linalg.yield %x : bf16
  } -> tensor<2x6x1x64xbf16>
  bufferization.materialize_in_destination %yt in restrict writable %ym : (tensor<2x6x1x64xbf16>, memref<2x6x1x64xbf16, strided<[384, 64, 64, 1]>>) -> ()
  return
}

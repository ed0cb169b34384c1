// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s

// A gate of few rows whose two weights are codes in tiles: the first half of a tile's slices is of one weight, the second of the other.
// CHECK-LABEL: gpu.func @gate_up(
// CHECK-SAME: : memref<f16>{{.*}}, %[[W_P:[^ ]*]]: memref<i8>{{.*}}, %[[S_P:[^ ]*]]: memref<f32>{{.*}}, %[[V_P:[^ ]*]]: memref<i8>{{.*}}, %[[R_P:[^ ]*]]: memref<f32>
// Tiles of 32 columns of the sums are tiles of 16 of the result.
// CHECK-SAME: grid = ["4", "1", "1"]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"gemv int4 32x128 warps 8 stages 3 tiles 1">
// Numbers of 4 bits are 64 more than codes, and each weight has a zero point of its own.
// CHECK-DAG: %[[OF_W:.*]] = arith.constant -7.200000e+01 : f32
// CHECK-DAG: %[[OF_V:.*]] = arith.constant -7.100000e+01 : f32
// CHECK: %[[W:.*]] = memref.reinterpret_cast %[[W_P]]
// CHECK: %[[S:.*]] = memref.reinterpret_cast %[[S_P]]
// CHECK: %[[V:.*]] = memref.reinterpret_cast %[[V_P]]
// CHECK: %[[R:.*]] = memref.reinterpret_cast %[[R_P]]
// CHECK: tile.cp_async_vector %[[W]][%[[AT:.*]]] inside
// CHECK: tile.cp_async_vector %[[W]][%[[NEXT:.*]]] inside
// CHECK: tile.cp_async_vector %[[V]][%[[AT]]] inside
// CHECK: tile.cp_async_vector %[[V]][%[[NEXT]]] inside
// Scales lie in one tile of both.
// CHECK: %[[BACK:.*]] = arith.cmpi uge, %{{.*}}, %c16 : index
// CHECK: %[[FROM:.*]] = arith.select %[[BACK]], %[[R]], %[[S]] : memref<?xf32
// CHECK: tile.cp_async_vector if %{{.*}} %[[FROM]]
// CHECK: tile.wait
// Of four slices the first two are of w.
// CHECK: llvm.intr.fma(%{{.*}}, %[[OF_W]], %{{.*}})
// CHECK: llvm.intr.fma(%{{.*}}, %[[OF_V]], %{{.*}})
// The sums of both at one place, then what the kernel makes of them.
// CHECK: tile.load_vector %[[SUMS:.*]][%[[ROW:.*]], %{{.*}}]
// CHECK: %[[G:.*]] = arith.addf
// CHECK: arith.select %{{.*}}, %c-16{{.*}}, %c16{{.*}} : index
// CHECK: %[[U:.*]] = arith.addf
// CHECK: arith.maximumf
// CHECK: arith.mulf
func.func @gate_up(%x_p: memref<f16>, %w_p: memref<i8>, %ws_p: memref<f32>, %v_p: memref<i8>, %vs_p: memref<f32>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 8, optimum = 1>}) attributes {kernel.forced_schedule = #kernel.schedule<"gemv int4 32x128 warps 8 stages 3 tiles 1">, kernel.buffers = #kernel.buffers<reads = [0, 1, 2, 3, 4], writes = [5]>} {
  %c0 = arith.constant 0 : index
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 256], strides: [256, 1] : memref<f16> to memref<?x256xf16, strided<[256, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x256xf16, strided<[256, 1]>> to tensor<?x256xf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 64], strides: [64, 1] : memref<f16> to memref<?x64xf16, strided<[64, 1]>>
  %w_empty = tensor.empty() : tensor<256x64xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [8, 2, 512], strides: [1024, 512, 1] : memref<i8> to memref<8x2x512xi8, strided<[1024, 512, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<8x2x512xi8, strided<[1024, 512, 1]>> to tensor<8x2x512xi8>
  %ws_m = memref.reinterpret_cast %ws_p to offset: [0], sizes: [4, 64], strides: [64, 1] : memref<f32> to memref<4x64xf32, strided<[64, 1]>>
  %ws_t = bufferization.to_tensor %ws_m restrict : memref<4x64xf32, strided<[64, 1]>> to tensor<4x64xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(k,n)->(k,n)>], iterator_types = ["parallel", "parallel"]} outs(%w_empty : tensor<256x64xf32>) attrs = {kernel.tiles = #kernel.tiles<bits = 4, block = 64, offset = 8>} {
  ^bb0(%o: f32):
    %n_i = linalg.index 1 : index
    %byte = tensor.extract %w_t[%c0, %c0, %n_i] : tensor<8x2x512xi8>
    %scale = tensor.extract %ws_t[%c0, %n_i] : tensor<4x64xf32>
    %code = arith.uitofp %byte : i8 to f32
    %number = arith.mulf %code, %scale : f32
    linalg.yield %number : f32
  } -> tensor<256x64xf32>
  %v_m = memref.reinterpret_cast %v_p to offset: [0], sizes: [8, 2, 512], strides: [1024, 512, 1] : memref<i8> to memref<8x2x512xi8, strided<[1024, 512, 1]>>
  %v_t = bufferization.to_tensor %v_m restrict : memref<8x2x512xi8, strided<[1024, 512, 1]>> to tensor<8x2x512xi8>
  %vs_m = memref.reinterpret_cast %vs_p to offset: [0], sizes: [4, 64], strides: [64, 1] : memref<f32> to memref<4x64xf32, strided<[64, 1]>>
  %vs_t = bufferization.to_tensor %vs_m restrict : memref<4x64xf32, strided<[64, 1]>> to tensor<4x64xf32>
  %v = linalg.generic {indexing_maps = [affine_map<(k,n)->(k,n)>], iterator_types = ["parallel", "parallel"]} outs(%w_empty : tensor<256x64xf32>) attrs = {kernel.tiles = #kernel.tiles<bits = 4, block = 64, offset = 7>} {
  ^bb0(%o: f32):
    %n_i = linalg.index 1 : index
    %byte = tensor.extract %v_t[%c0, %c0, %n_i] : tensor<8x2x512xi8>
    %scale = tensor.extract %vs_t[%c0, %n_i] : tensor<4x64xf32>
    %code = arith.uitofp %byte : i8 to f32
    %number = arith.mulf %code, %scale : f32
    linalg.yield %number : f32
  } -> tensor<256x64xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty(%n) : tensor<?x64xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x64xf32>) -> tensor<?x64xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %w : tensor<?x256xf16>, tensor<256x64xf32>) outs(%fill : tensor<?x64xf32>) {
  ^bb0(%a: f16, %b: f32, %s: f32):
    %e = arith.extf %a : f16 to f32
    %p = arith.mulf %e, %b : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x64xf32>
  %u = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %v : tensor<?x256xf16>, tensor<256x64xf32>) outs(%fill : tensor<?x64xf32>) {
  ^bb0(%a: f16, %b: f32, %s: f32):
    %e = arith.extf %a : f16 to f32
    %p = arith.mulf %e, %b : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x64xf32>
  %y_empty = tensor.empty(%n) : tensor<?x64xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%g, %u : tensor<?x64xf32>, tensor<?x64xf32>) outs(%y_empty : tensor<?x64xf16>) {
  ^bb0(%a: f32, %b: f32, %y: f16):
    %t = arith.maximumf %a, %zero : f32
    %p = arith.mulf %t, %b : f32
    %r = arith.truncf %p : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x64xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x64xf16>, memref<?x64xf16, strided<[64, 1]>>) -> ()
  return
}

// A variant for more than 16 rows reads the codes again for each 16: no other family multiplies them by Tensor Cores.
// CHECK-LABEL: gpu.func @many_rows(
// CHECK-SAME: kernel.schedule = #kernel.schedule<"gemv int4
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %{{.*}} step %c16
func.func @many_rows(%x_p: memref<f16>, %w_p: memref<i8>, %ws_p: memref<f32>, %v_p: memref<i8>, %vs_p: memref<f32>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 17, max = 64, optimum = 48>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2, 3, 4], writes = [5]>} {
  %c0 = arith.constant 0 : index
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 256], strides: [256, 1] : memref<f16> to memref<?x256xf16, strided<[256, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x256xf16, strided<[256, 1]>> to tensor<?x256xf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 64], strides: [64, 1] : memref<f16> to memref<?x64xf16, strided<[64, 1]>>
  %w_empty = tensor.empty() : tensor<256x64xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [8, 2, 512], strides: [1024, 512, 1] : memref<i8> to memref<8x2x512xi8, strided<[1024, 512, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<8x2x512xi8, strided<[1024, 512, 1]>> to tensor<8x2x512xi8>
  %ws_m = memref.reinterpret_cast %ws_p to offset: [0], sizes: [4, 64], strides: [64, 1] : memref<f32> to memref<4x64xf32, strided<[64, 1]>>
  %ws_t = bufferization.to_tensor %ws_m restrict : memref<4x64xf32, strided<[64, 1]>> to tensor<4x64xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(k,n)->(k,n)>], iterator_types = ["parallel", "parallel"]} outs(%w_empty : tensor<256x64xf32>) attrs = {kernel.tiles = #kernel.tiles<bits = 4, block = 64, offset = 8>} {
  ^bb0(%o: f32):
    %n_i = linalg.index 1 : index
    %byte = tensor.extract %w_t[%c0, %c0, %n_i] : tensor<8x2x512xi8>
    %scale = tensor.extract %ws_t[%c0, %n_i] : tensor<4x64xf32>
    %code = arith.uitofp %byte : i8 to f32
    %number = arith.mulf %code, %scale : f32
    linalg.yield %number : f32
  } -> tensor<256x64xf32>
  %v_m = memref.reinterpret_cast %v_p to offset: [0], sizes: [8, 2, 512], strides: [1024, 512, 1] : memref<i8> to memref<8x2x512xi8, strided<[1024, 512, 1]>>
  %v_t = bufferization.to_tensor %v_m restrict : memref<8x2x512xi8, strided<[1024, 512, 1]>> to tensor<8x2x512xi8>
  %vs_m = memref.reinterpret_cast %vs_p to offset: [0], sizes: [4, 64], strides: [64, 1] : memref<f32> to memref<4x64xf32, strided<[64, 1]>>
  %vs_t = bufferization.to_tensor %vs_m restrict : memref<4x64xf32, strided<[64, 1]>> to tensor<4x64xf32>
  %v = linalg.generic {indexing_maps = [affine_map<(k,n)->(k,n)>], iterator_types = ["parallel", "parallel"]} outs(%w_empty : tensor<256x64xf32>) attrs = {kernel.tiles = #kernel.tiles<bits = 4, block = 64, offset = 7>} {
  ^bb0(%o: f32):
    %n_i = linalg.index 1 : index
    %byte = tensor.extract %v_t[%c0, %c0, %n_i] : tensor<8x2x512xi8>
    %scale = tensor.extract %vs_t[%c0, %n_i] : tensor<4x64xf32>
    %code = arith.uitofp %byte : i8 to f32
    %number = arith.mulf %code, %scale : f32
    linalg.yield %number : f32
  } -> tensor<256x64xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty(%n) : tensor<?x64xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x64xf32>) -> tensor<?x64xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %w : tensor<?x256xf16>, tensor<256x64xf32>) outs(%fill : tensor<?x64xf32>) {
  ^bb0(%a: f16, %b: f32, %s: f32):
    %e = arith.extf %a : f16 to f32
    %p = arith.mulf %e, %b : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x64xf32>
  %u = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %v : tensor<?x256xf16>, tensor<256x64xf32>) outs(%fill : tensor<?x64xf32>) {
  ^bb0(%a: f16, %b: f32, %s: f32):
    %e = arith.extf %a : f16 to f32
    %p = arith.mulf %e, %b : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x64xf32>
  %y_empty = tensor.empty(%n) : tensor<?x64xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%g, %u : tensor<?x64xf32>, tensor<?x64xf32>) outs(%y_empty : tensor<?x64xf16>) {
  ^bb0(%a: f32, %b: f32, %y: f16):
    %t = arith.maximumf %a, %zero : f32
    %p = arith.mulf %t, %b : f32
    %r = arith.truncf %p : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x64xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x64xf16>, memref<?x64xf16, strided<[64, 1]>>) -> ()
  return
}

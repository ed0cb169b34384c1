// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s

// RoPE after GEMMs whose weights are codes in tiles.

// Few rows: of four slices of 8 columns, two are half a head further, and so are their scales.
// CHECK-LABEL: gpu.func @few(
// CHECK-SAME: grid = ["4", "1", "1"]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"gemv int4 32x128 warps 8 stages 2 tiles 1">
// A slice's codes have 1024 bytes. The third is 32 columns, four slices, after the first.
// CHECK: tile.cp_async_vector %[[W:.*]][%[[FIRST:.*]]] inside
// CHECK: %[[SECOND:.*]] = arith.addi %[[FIRST]], %c1024 : index
// CHECK: tile.cp_async_vector %[[W]][%[[SECOND]]]
// CHECK: %[[THIRD:.*]] = arith.addi %[[FIRST]], %c4096 : index
// CHECK: tile.cp_async_vector %[[W]][%[[THIRD]]]
// CHECK: %[[FOURTH:.*]] = arith.addi %[[FIRST]], %c5120 : index
// CHECK: tile.cp_async_vector %[[W]][%[[FOURTH]]]
// CHECK: %[[BACK:.*]] = arith.cmpi uge, %{{.*}}, %c16{{.*}} : index
// CHECK: arith.select %[[BACK]], %c2{{.*}}, %c0{{.*}} : index
// CHECK: nvvm.mma.sync
// The sums of both halves meet in the epilogue.
// CHECK: arith.select %{{.*}}, %c-16{{.*}}, %c16{{.*}} : index
// CHECK: arith.mulf
func.func @few(%x_p: memref<f16>, %w_p: memref<i8>, %ws_p: memref<f16>, %c_p: memref<f32>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 16, optimum = 1>}) attributes {kernel.forced_schedule = #kernel.schedule<"gemv int4 32x128 warps 8 stages 2 tiles 1">, kernel.buffers = #kernel.buffers<reads = [0, 1, 2, 3], writes = [4]>} {
  %c0 = arith.constant 0 : index
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 256], strides: [256, 1] : memref<f16> to memref<?x256xf16, strided<[256, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x256xf16, strided<[256, 1]>> to tensor<?x256xf16>
  %c_m = memref.reinterpret_cast %c_p to offset: [0], sizes: [32], strides: [1] : memref<f32> to memref<32xf32, strided<[1]>>
  %c_t = bufferization.to_tensor %c_m restrict : memref<32xf32, strided<[1]>> to tensor<32xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 2, 2, 32], strides: [128, 64, 32, 1] : memref<f16> to memref<?x2x2x32xf16, strided<[128, 64, 32, 1]>>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [16, 2, 512], strides: [1024, 512, 1] : memref<i8> to memref<16x2x512xi8, strided<[1024, 512, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<16x2x512xi8, strided<[1024, 512, 1]>> to tensor<16x2x512xi8>
  %ws_m = memref.reinterpret_cast %ws_p to offset: [0], sizes: [4, 128], strides: [128, 1] : memref<f16> to memref<4x128xf16, strided<[128, 1]>>
  %ws_t = bufferization.to_tensor %ws_m restrict : memref<4x128xf16, strided<[128, 1]>> to tensor<4x128xf16>
  %w_empty = tensor.empty() : tensor<256x2x2x32xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(k,h,t,p)->(k,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%w_empty : tensor<256x2x2x32xf32>) attrs = {kernel.tiles = #kernel.tiles<bits = 4, block = 64, offset = 8>} {
  ^bb0(%o: f32):
    %h_i = linalg.index 1 : index
    %t_i = linalg.index 2 : index
    %p_i = linalg.index 3 : index
    %n_i = affine.linearize_index disjoint [%h_i, %t_i, %p_i] by (2, 2, 32) : index
    %byte = tensor.extract %w_t[%c0, %c0, %n_i] : tensor<16x2x512xi8>
    %scale = tensor.extract %ws_t[%c0, %n_i] : tensor<4x128xf16>
    %code = arith.uitofp %byte : i8 to f32
    %wide = arith.extf %scale : f16 to f32
    %number = arith.mulf %code, %wide : f32
    linalg.yield %number : f32
  } -> tensor<256x2x2x32xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty(%n) : tensor<?x2x2x32xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x2x2x32xf32>) -> tensor<?x2x2x32xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p,k)->(m,k)>, affine_map<(m,h,t,p,k)->(k,h,t,p)>, affine_map<(m,h,t,p,k)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x_t, %w : tensor<?x256xf16>, tensor<256x2x2x32xf32>) outs(%fill : tensor<?x2x2x32xf32>) {
  ^bb0(%a: f16, %b: f32, %s: f32):
    %e = arith.extf %a : f16 to f32
    %p = arith.mulf %e, %b : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x2x2x32xf32>
  %e_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%empty : tensor<?x2x2x32xf32>) {
  ^bb0(%o: f32):
    %row = linalg.index 0 : index
    %head = linalg.index 1 : index
    %two = linalg.index 2 : index
    %minus = arith.constant -1 : index
    %one = arith.constant 1 : index
    %back = arith.muli %two, %minus : index
    %other = arith.addi %one, %back : index
    %at = linalg.index 3 : index
    %v = tensor.extract %s_t[%row, %head, %other, %at] : tensor<?x2x2x32xf32>
    linalg.yield %v : f32
  } -> tensor<?x2x2x32xf32>
  %y_empty = tensor.empty(%n) : tensor<?x2x2x32xf16>
  %y = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(p)>, affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s_t, %e_t, %c_t : tensor<?x2x2x32xf32>, tensor<?x2x2x32xf32>, tensor<32xf32>) outs(%y_empty : tensor<?x2x2x32xf16>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f16):
    %p = arith.mulf %b, %c : f32
    %q = arith.addf %a, %p : f32
    %r = arith.truncf %q : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x2x2x32xf16>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<?x2x2x32xf16>, memref<?x2x2x32xf16, strided<[128, 64, 32, 1]>>) -> ()
  return
}

// Many rows: a warp has eight columns of either half. A thread has both, and 64 columns of a head of 64 are one warpgroup's.
// CHECK-LABEL: gpu.func @many(
// CHECK-SAME: kernel.schedule = #kernel.schedule<"codes int4 64x128x128 stages 4 group_m 2">
// CHECK: %[[STAGED:.*]] = tile.alloc : !smem
// Of the warps of a run, the first slices follow one another; the other half's are four further.
// CHECK: arith.divui %{{.*}}, %c4
// CHECK: tile.load_vector %{{.*}}[%{{.*}} + 4, %{{.*}}]
// CHECK: tile.await
// CHECK: %[[OWN:.*]] = tile.extract_columns
// CHECK: %[[OTHER:.*]] = tile.paired_rows %[[OWN]] by 8
// CHECK: tile.map %[[OWN]] at{{ ?}}[%c0{{.*}}, %{{.*}}] within{{ ?}}[%c64{{.*}}, %{{.*}}] with %[[OTHER]]
// CHECK: %[[ALL:.*]] = tile.subview_rows %[[STAGED]]
// CHECK: %[[MINE:.*]] = tile.subview_columns %[[ALL]]
// CHECK: tile.sync warpgroup
// CHECK: tile.store_shared %{{.*}} into %[[ALL]] transposed of %{{.*}} apart 32
// CHECK: tile.sync warpgroup
// CHECK: tile.tma_store %[[MINE]]
func.func @many(%x_p: memref<f16>, %w_p: memref<i8>, %ws_p: memref<f16>, %c_p: memref<f32>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 4096, optimum = 512>}) attributes {kernel.forced_schedule = #kernel.schedule<"codes int4 64x128x128 stages 4 group_m 2">, kernel.buffers = #kernel.buffers<reads = [0, 1, 2, 3], writes = [4]>} {
  %c0 = arith.constant 0 : index
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 256], strides: [256, 1] : memref<f16> to memref<?x256xf16, strided<[256, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x256xf16, strided<[256, 1]>> to tensor<?x256xf16>
  %c_m = memref.reinterpret_cast %c_p to offset: [0], sizes: [32], strides: [1] : memref<f32> to memref<32xf32, strided<[1]>>
  %c_t = bufferization.to_tensor %c_m restrict : memref<32xf32, strided<[1]>> to tensor<32xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 4, 2, 32], strides: [256, 64, 32, 1] : memref<f16> to memref<?x4x2x32xf16, strided<[256, 64, 32, 1]>>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [32, 2, 512], strides: [1024, 512, 1] : memref<i8> to memref<32x2x512xi8, strided<[1024, 512, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<32x2x512xi8, strided<[1024, 512, 1]>> to tensor<32x2x512xi8>
  %ws_m = memref.reinterpret_cast %ws_p to offset: [0], sizes: [4, 256], strides: [256, 1] : memref<f16> to memref<4x256xf16, strided<[256, 1]>>
  %ws_t = bufferization.to_tensor %ws_m restrict : memref<4x256xf16, strided<[256, 1]>> to tensor<4x256xf16>
  %w_empty = tensor.empty() : tensor<256x4x2x32xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(k,h,t,p)->(k,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%w_empty : tensor<256x4x2x32xf32>) attrs = {kernel.tiles = #kernel.tiles<bits = 4, block = 64, offset = 8>} {
  ^bb0(%o: f32):
    %h_i = linalg.index 1 : index
    %t_i = linalg.index 2 : index
    %p_i = linalg.index 3 : index
    %n_i = affine.linearize_index disjoint [%h_i, %t_i, %p_i] by (4, 2, 32) : index
    %byte = tensor.extract %w_t[%c0, %c0, %n_i] : tensor<32x2x512xi8>
    %scale = tensor.extract %ws_t[%c0, %n_i] : tensor<4x256xf16>
    %code = arith.uitofp %byte : i8 to f32
    %wide = arith.extf %scale : f16 to f32
    %number = arith.mulf %code, %wide : f32
    linalg.yield %number : f32
  } -> tensor<256x4x2x32xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty(%n) : tensor<?x4x2x32xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x4x2x32xf32>) -> tensor<?x4x2x32xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p,k)->(m,k)>, affine_map<(m,h,t,p,k)->(k,h,t,p)>, affine_map<(m,h,t,p,k)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x_t, %w : tensor<?x256xf16>, tensor<256x4x2x32xf32>) outs(%fill : tensor<?x4x2x32xf32>) {
  ^bb0(%a: f16, %b: f32, %s: f32):
    %e = arith.extf %a : f16 to f32
    %p = arith.mulf %e, %b : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x4x2x32xf32>
  %e_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%empty : tensor<?x4x2x32xf32>) {
  ^bb0(%o: f32):
    %row = linalg.index 0 : index
    %head = linalg.index 1 : index
    %two = linalg.index 2 : index
    %minus = arith.constant -1 : index
    %one = arith.constant 1 : index
    %back = arith.muli %two, %minus : index
    %other = arith.addi %one, %back : index
    %at = linalg.index 3 : index
    %v = tensor.extract %s_t[%row, %head, %other, %at] : tensor<?x4x2x32xf32>
    linalg.yield %v : f32
  } -> tensor<?x4x2x32xf32>
  %y_empty = tensor.empty(%n) : tensor<?x4x2x32xf16>
  %y = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(p)>, affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s_t, %e_t, %c_t : tensor<?x4x2x32xf32>, tensor<?x4x2x32xf32>, tensor<32xf32>) outs(%y_empty : tensor<?x4x2x32xf16>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f16):
    %p = arith.mulf %b, %c : f32
    %q = arith.addf %a, %p : f32
    %r = arith.truncf %q : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x4x2x32xf16>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<?x4x2x32xf16>, memref<?x4x2x32xf16, strided<[256, 64, 32, 1]>>) -> ()
  return
}

// Heads of 128 columns are those of two warpgroups, which store them together.
// CHECK-LABEL: gpu.func @long(
// CHECK: tile.load_vector %{{.*}}[%{{.*}} + 8, %{{.*}}]
// CHECK: tile.paired_rows %{{.*}} by 8
// CHECK: tile.sync role
// CHECK: tile.store_shared %{{.*}} transposed of %{{.*}} apart 64
// CHECK: tile.sync role
func.func @long(%x_p: memref<f16>, %w_p: memref<i8>, %ws_p: memref<f16>, %c_p: memref<f32>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 4096, optimum = 512>}) attributes {kernel.forced_schedule = #kernel.schedule<"codes int4 64x128x128 stages 4 group_m 2">, kernel.buffers = #kernel.buffers<reads = [0, 1, 2, 3], writes = [4]>} {
  %c0 = arith.constant 0 : index
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 256], strides: [256, 1] : memref<f16> to memref<?x256xf16, strided<[256, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x256xf16, strided<[256, 1]>> to tensor<?x256xf16>
  %c_m = memref.reinterpret_cast %c_p to offset: [0], sizes: [64], strides: [1] : memref<f32> to memref<64xf32, strided<[1]>>
  %c_t = bufferization.to_tensor %c_m restrict : memref<64xf32, strided<[1]>> to tensor<64xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 2, 2, 64], strides: [256, 128, 64, 1] : memref<f16> to memref<?x2x2x64xf16, strided<[256, 128, 64, 1]>>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [32, 2, 512], strides: [1024, 512, 1] : memref<i8> to memref<32x2x512xi8, strided<[1024, 512, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<32x2x512xi8, strided<[1024, 512, 1]>> to tensor<32x2x512xi8>
  %ws_m = memref.reinterpret_cast %ws_p to offset: [0], sizes: [4, 256], strides: [256, 1] : memref<f16> to memref<4x256xf16, strided<[256, 1]>>
  %ws_t = bufferization.to_tensor %ws_m restrict : memref<4x256xf16, strided<[256, 1]>> to tensor<4x256xf16>
  %w_empty = tensor.empty() : tensor<256x2x2x64xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(k,h,t,p)->(k,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%w_empty : tensor<256x2x2x64xf32>) attrs = {kernel.tiles = #kernel.tiles<bits = 4, block = 64, offset = 8>} {
  ^bb0(%o: f32):
    %h_i = linalg.index 1 : index
    %t_i = linalg.index 2 : index
    %p_i = linalg.index 3 : index
    %n_i = affine.linearize_index disjoint [%h_i, %t_i, %p_i] by (2, 2, 64) : index
    %byte = tensor.extract %w_t[%c0, %c0, %n_i] : tensor<32x2x512xi8>
    %scale = tensor.extract %ws_t[%c0, %n_i] : tensor<4x256xf16>
    %code = arith.uitofp %byte : i8 to f32
    %wide = arith.extf %scale : f16 to f32
    %number = arith.mulf %code, %wide : f32
    linalg.yield %number : f32
  } -> tensor<256x2x2x64xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty(%n) : tensor<?x2x2x64xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x2x2x64xf32>) -> tensor<?x2x2x64xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p,k)->(m,k)>, affine_map<(m,h,t,p,k)->(k,h,t,p)>, affine_map<(m,h,t,p,k)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x_t, %w : tensor<?x256xf16>, tensor<256x2x2x64xf32>) outs(%fill : tensor<?x2x2x64xf32>) {
  ^bb0(%a: f16, %b: f32, %s: f32):
    %e = arith.extf %a : f16 to f32
    %p = arith.mulf %e, %b : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x2x2x64xf32>
  %e_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%empty : tensor<?x2x2x64xf32>) {
  ^bb0(%o: f32):
    %row = linalg.index 0 : index
    %head = linalg.index 1 : index
    %two = linalg.index 2 : index
    %minus = arith.constant -1 : index
    %one = arith.constant 1 : index
    %back = arith.muli %two, %minus : index
    %other = arith.addi %one, %back : index
    %at = linalg.index 3 : index
    %v = tensor.extract %s_t[%row, %head, %other, %at] : tensor<?x2x2x64xf32>
    linalg.yield %v : f32
  } -> tensor<?x2x2x64xf32>
  %y_empty = tensor.empty(%n) : tensor<?x2x2x64xf16>
  %y = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(p)>, affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s_t, %e_t, %c_t : tensor<?x2x2x64xf32>, tensor<?x2x2x64xf32>, tensor<64xf32>) outs(%y_empty : tensor<?x2x2x64xf16>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f16):
    %p = arith.mulf %b, %c : f32
    %q = arith.addf %a, %p : f32
    %r = arith.truncf %q : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x2x2x64xf16>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<?x2x2x64xf16>, memref<?x2x2x64xf16, strided<[256, 128, 64, 1]>>) -> ()
  return
}

// Interleaved pairs follow one another as other columns do, and two lanes have one each. Scales of columns multiply sums before.
// CHECK-LABEL: gpu.func @interleaved(
// CHECK: %[[SCALED:.*]] = tile.map
// CHECK: %[[OTHER:.*]] = tile.paired_rows %[[SCALED]] by 1
// CHECK: tile.map %[[SCALED]] at{{.*}} with %[[OTHER]]
// CHECK: tile.store_shared %{{.*}} into %{{.*}} transposed :
func.func @interleaved(%x_p: memref<f16>, %w_p: memref<i8>, %ws_p: memref<f16>, %c_p: memref<f32>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 4096, optimum = 512>}) attributes {kernel.forced_schedule = #kernel.schedule<"codes int4 64x128x128 stages 4 group_m 2">, kernel.buffers = #kernel.buffers<reads = [0, 1, 2, 3], writes = [4]>} {
  %c0 = arith.constant 0 : index
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 256], strides: [256, 1] : memref<f16> to memref<?x256xf16, strided<[256, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x256xf16, strided<[256, 1]>> to tensor<?x256xf16>
  %c_m = memref.reinterpret_cast %c_p to offset: [0], sizes: [32], strides: [1] : memref<f32> to memref<32xf32, strided<[1]>>
  %c_t = bufferization.to_tensor %c_m restrict : memref<32xf32, strided<[1]>> to tensor<32xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 4, 32, 2], strides: [256, 64, 2, 1] : memref<f16> to memref<?x4x32x2xf16, strided<[256, 64, 2, 1]>>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [32, 2, 512], strides: [1024, 512, 1] : memref<i8> to memref<32x2x512xi8, strided<[1024, 512, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<32x2x512xi8, strided<[1024, 512, 1]>> to tensor<32x2x512xi8>
  %ws_m = memref.reinterpret_cast %ws_p to offset: [0], sizes: [1, 256], strides: [256, 1] : memref<f16> to memref<1x256xf16, strided<[256, 1]>>
  %ws_t = bufferization.to_tensor %ws_m restrict : memref<1x256xf16, strided<[256, 1]>> to tensor<1x256xf16>
  %w_empty = tensor.empty() : tensor<256x4x32x2xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(k,h,t,p)->(k,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%w_empty : tensor<256x4x32x2xf32>) attrs = {kernel.tiles = #kernel.tiles<bits = 4, block = 256, offset = 8>} {
  ^bb0(%o: f32):
    %h_i = linalg.index 1 : index
    %t_i = linalg.index 2 : index
    %p_i = linalg.index 3 : index
    %n_i = affine.linearize_index disjoint [%h_i, %t_i, %p_i] by (4, 32, 2) : index
    %byte = tensor.extract %w_t[%c0, %c0, %n_i] : tensor<32x2x512xi8>
    %scale = tensor.extract %ws_t[%c0, %n_i] : tensor<1x256xf16>
    %code = arith.uitofp %byte : i8 to f32
    %wide = arith.extf %scale : f16 to f32
    %number = arith.mulf %code, %wide : f32
    linalg.yield %number : f32
  } -> tensor<256x4x32x2xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty(%n) : tensor<?x4x32x2xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x4x32x2xf32>) -> tensor<?x4x32x2xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p,k)->(m,k)>, affine_map<(m,h,t,p,k)->(k,h,t,p)>, affine_map<(m,h,t,p,k)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x_t, %w : tensor<?x256xf16>, tensor<256x4x32x2xf32>) outs(%fill : tensor<?x4x32x2xf32>) {
  ^bb0(%a: f16, %b: f32, %s: f32):
    %e = arith.extf %a : f16 to f32
    %p = arith.mulf %e, %b : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x4x32x2xf32>
  %e_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%empty : tensor<?x4x32x2xf32>) {
  ^bb0(%o: f32):
    %row = linalg.index 0 : index
    %head = linalg.index 1 : index
    %two = linalg.index 3 : index
    %minus = arith.constant -1 : index
    %one = arith.constant 1 : index
    %back = arith.muli %two, %minus : index
    %other = arith.addi %one, %back : index
    %at = linalg.index 2 : index
    %v = tensor.extract %s_t[%row, %head, %at, %other] : tensor<?x4x32x2xf32>
    linalg.yield %v : f32
  } -> tensor<?x4x32x2xf32>
  %y_empty = tensor.empty(%n) : tensor<?x4x32x2xf16>
  %y = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(t)>, affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s_t, %e_t, %c_t : tensor<?x4x32x2xf32>, tensor<?x4x32x2xf32>, tensor<32xf32>) outs(%y_empty : tensor<?x4x32x2xf16>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f16):
    %p = arith.mulf %b, %c : f32
    %q = arith.addf %a, %p : f32
    %r = arith.truncf %q : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x4x32x2xf16>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<?x4x32x2xf16>, memref<?x4x32x2xf16, strided<[256, 64, 2, 1]>>) -> ()
  return
}

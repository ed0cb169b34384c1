// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a --split-input-file %s | FileCheck %s

// Each element is made of its own sum and of the one in the head's other half, which is in other registers of the same thread.

// CHECK-LABEL: gpu.func @turn(
// CHECK-SAME: kernel.schedule = #kernel.schedule<"gemm 64x{{64|128}}x64 stages
// The columns are one dimension of w and y in memory.
// CHECK-SAME: #kernel.tensor_map<buffer = 1, element = f16, dims = ["128", "72"]
// CHECK-SAME: #kernel.tensor_map<buffer = 3, element = f16, dims = ["128", "arg4"]
// CHECK: %[[D:.*]] = tile.await
// CHECK-DAG: %[[OWN:.*]] = tile.extract_columns %[[D]] from 0 :
// CHECK-DAG: %[[OTHER:.*]] = tile.extract_columns %[[D]] from 0 rotate_half 32 :
// All columns are inside: no bound of theirs.
// CHECK: tile.map %[[OWN]] at[%{{.*}}, %{{.*}}] within[%{{[a-z0-9]+}}] with %[[OTHER]]
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %{{.*}}: index, %{{.*}}: index, %[[B:.*]]: f32):
// CHECK: %[[C:.*]] = memref.load %{{.*}} : memref<2x32xf32
// CHECK: %[[P:.*]] = arith.mulf %[[B]], %[[C]]
// CHECK: arith.addf %[[A]], %[[P]]
// CHECK: tile.yield
func.func @turn(%x_p: memref<f16>, %w_p: memref<f16>, %c_p: memref<f32>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 4096, optimum = 64>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 72], strides: [72, 1] : memref<f16> to memref<?x72xf16, strided<[72, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x72xf16, strided<[72, 1]>> to tensor<?x72xf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [72, 2, 2, 32], strides: [128, 64, 32, 1] : memref<f16> to memref<72x2x2x32xf16, strided<[128, 64, 32, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<72x2x2x32xf16, strided<[128, 64, 32, 1]>> to tensor<72x2x2x32xf16>
  %c_m = memref.reinterpret_cast %c_p to offset: [0], sizes: [2, 32], strides: [32, 1] : memref<f32> to memref<2x32xf32, strided<[32, 1]>>
  %c_t = bufferization.to_tensor %c_m restrict : memref<2x32xf32, strided<[32, 1]>> to tensor<2x32xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 2, 2, 32], strides: [128, 64, 32, 1] : memref<f16> to memref<?x2x2x32xf16, strided<[128, 64, 32, 1]>>
  %zero = arith.constant 0.0 : f32
  %s_empty = tensor.empty(%n) : tensor<?x2x2x32xf32>
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x2x2x32xf32>) -> tensor<?x2x2x32xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p,k)->(m,k)>, affine_map<(m,h,t,p,k)->(k,h,t,p)>, affine_map<(m,h,t,p,k)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x72xf16>, tensor<72x2x2x32xf16>) outs(%s_fill : tensor<?x2x2x32xf32>) {
  ^bb0(%x: f16, %w: f16, %s: f32):
    %e = arith.extf %x : f16 to f32
    %f = arith.extf %w : f16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x2x2x32xf32>
  %e_empty = tensor.empty(%n) : tensor<?x2x2x32xf32>
  %e_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%e_empty : tensor<?x2x2x32xf32>) {
  ^bb0(%e: f32):
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
  %y_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s_t, %e_t, %c_t : tensor<?x2x2x32xf32>, tensor<?x2x2x32xf32>, tensor<2x32xf32>) outs(%y_empty : tensor<?x2x2x32xf16>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %y: f16):
    %p = arith.mulf %b, %c : f32
    %q = arith.addf %a, %p : f32
    %r = arith.truncf %q : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x2x2x32xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x2x2x32xf16>, memref<?x2x2x32xf16, strided<[128, 64, 32, 1]>>) -> ()
  return
}

// -----

// Three heads are one tile and a half: the last part begins inside.
// CHECK-LABEL: gpu.func @part(
// CHECK: arith.minui %{{.*}}, %{{.*}} : index
// CHECK: tile.map
func.func @part(%x_p: memref<f16>, %w_p: memref<f16>, %c_p: memref<f32>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 4096, optimum = 64>}) attributes {kernel.forced_schedule = #kernel.schedule<"gemm 64x128x64 stages 2 group_m 1">, kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 72], strides: [72, 1] : memref<f16> to memref<?x72xf16, strided<[72, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x72xf16, strided<[72, 1]>> to tensor<?x72xf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [72, 3, 2, 32], strides: [192, 64, 32, 1] : memref<f16> to memref<72x3x2x32xf16, strided<[192, 64, 32, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<72x3x2x32xf16, strided<[192, 64, 32, 1]>> to tensor<72x3x2x32xf16>
  %c_m = memref.reinterpret_cast %c_p to offset: [0], sizes: [2, 32], strides: [32, 1] : memref<f32> to memref<2x32xf32, strided<[32, 1]>>
  %c_t = bufferization.to_tensor %c_m restrict : memref<2x32xf32, strided<[32, 1]>> to tensor<2x32xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 3, 2, 32], strides: [192, 64, 32, 1] : memref<f16> to memref<?x3x2x32xf16, strided<[192, 64, 32, 1]>>
  %zero = arith.constant 0.0 : f32
  %s_empty = tensor.empty(%n) : tensor<?x3x2x32xf32>
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x3x2x32xf32>) -> tensor<?x3x2x32xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p,k)->(m,k)>, affine_map<(m,h,t,p,k)->(k,h,t,p)>, affine_map<(m,h,t,p,k)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x72xf16>, tensor<72x3x2x32xf16>) outs(%s_fill : tensor<?x3x2x32xf32>) {
  ^bb0(%x: f16, %w: f16, %s: f32):
    %e = arith.extf %x : f16 to f32
    %f = arith.extf %w : f16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x3x2x32xf32>
  %e_empty = tensor.empty(%n) : tensor<?x3x2x32xf32>
  %e_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%e_empty : tensor<?x3x2x32xf32>) {
  ^bb0(%e: f32):
    %row = linalg.index 0 : index
    %head = linalg.index 1 : index
    %two = linalg.index 2 : index
    %minus = arith.constant -1 : index
    %one = arith.constant 1 : index
    %back = arith.muli %two, %minus : index
    %other = arith.addi %one, %back : index
    %at = linalg.index 3 : index
    %v = tensor.extract %s_t[%row, %head, %other, %at] : tensor<?x3x2x32xf32>
    linalg.yield %v : f32
  } -> tensor<?x3x2x32xf32>
  %y_empty = tensor.empty(%n) : tensor<?x3x2x32xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s_t, %e_t, %c_t : tensor<?x3x2x32xf32>, tensor<?x3x2x32xf32>, tensor<2x32xf32>) outs(%y_empty : tensor<?x3x2x32xf16>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %y: f16):
    %p = arith.mulf %b, %c : f32
    %q = arith.addf %a, %p : f32
    %r = arith.truncf %q : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x3x2x32xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x3x2x32xf16>, memref<?x3x2x32xf16, strided<[192, 64, 32, 1]>>) -> ()
  return
}

// -----

// Of a split sum, what a block collects has whole heads.
// CHECK-LABEL: gpu.func @split(
// CHECK: %[[OWN:.*]] = tile.cluster_reduce
// CHECK: %[[OTHER:.*]] = tile.extract_columns %[[OWN]] from 0 rotate_half 16 :
// CHECK: tile.map %[[OWN]] at[%{{.*}}] within[%{{.*}}] with %[[OTHER]]
func.func @split(%x_p: memref<f16>, %w_p: memref<f16>, %c_p: memref<f32>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 4096, optimum = 64>}) attributes {kernel.forced_schedule = #kernel.schedule<"gemm 64x128x64 stages 4 group_m 1 split_k 2">, kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 72], strides: [72, 1] : memref<f16> to memref<?x72xf16, strided<[72, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x72xf16, strided<[72, 1]>> to tensor<?x72xf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [72, 4, 2, 16], strides: [128, 32, 16, 1] : memref<f16> to memref<72x4x2x16xf16, strided<[128, 32, 16, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<72x4x2x16xf16, strided<[128, 32, 16, 1]>> to tensor<72x4x2x16xf16>
  %c_m = memref.reinterpret_cast %c_p to offset: [0], sizes: [2, 16], strides: [16, 1] : memref<f32> to memref<2x16xf32, strided<[16, 1]>>
  %c_t = bufferization.to_tensor %c_m restrict : memref<2x16xf32, strided<[16, 1]>> to tensor<2x16xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 4, 2, 16], strides: [128, 32, 16, 1] : memref<f16> to memref<?x4x2x16xf16, strided<[128, 32, 16, 1]>>
  %zero = arith.constant 0.0 : f32
  %s_empty = tensor.empty(%n) : tensor<?x4x2x16xf32>
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x4x2x16xf32>) -> tensor<?x4x2x16xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p,k)->(m,k)>, affine_map<(m,h,t,p,k)->(k,h,t,p)>, affine_map<(m,h,t,p,k)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x72xf16>, tensor<72x4x2x16xf16>) outs(%s_fill : tensor<?x4x2x16xf32>) {
  ^bb0(%x: f16, %w: f16, %s: f32):
    %e = arith.extf %x : f16 to f32
    %f = arith.extf %w : f16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x4x2x16xf32>
  %e_empty = tensor.empty(%n) : tensor<?x4x2x16xf32>
  %e_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%e_empty : tensor<?x4x2x16xf32>) {
  ^bb0(%e: f32):
    %row = linalg.index 0 : index
    %head = linalg.index 1 : index
    %two = linalg.index 2 : index
    %minus = arith.constant -1 : index
    %one = arith.constant 1 : index
    %back = arith.muli %two, %minus : index
    %other = arith.addi %one, %back : index
    %at = linalg.index 3 : index
    %v = tensor.extract %s_t[%row, %head, %other, %at] : tensor<?x4x2x16xf32>
    linalg.yield %v : f32
  } -> tensor<?x4x2x16xf32>
  %y_empty = tensor.empty(%n) : tensor<?x4x2x16xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s_t, %e_t, %c_t : tensor<?x4x2x16xf32>, tensor<?x4x2x16xf32>, tensor<2x16xf32>) outs(%y_empty : tensor<?x4x2x16xf16>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %y: f16):
    %p = arith.mulf %b, %c : f32
    %q = arith.addf %a, %p : f32
    %r = arith.truncf %q : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x4x2x16xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x4x2x16xf16>, memref<?x4x2x16xf16, strided<[128, 32, 16, 1]>>) -> ()
  return
}

// -----

// Halves of 20, and elements in another order, have no tiles: loops.
// CHECK-LABEL: gpu.func @short(
// CHECK-NOT: tile.
// CHECK: gpu.return
func.func @short(%x_p: memref<f16>, %w_p: memref<f16>, %c_p: memref<f32>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 4096, optimum = 64>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 72], strides: [72, 1] : memref<f16> to memref<?x72xf16, strided<[72, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x72xf16, strided<[72, 1]>> to tensor<?x72xf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [72, 2, 2, 20], strides: [80, 40, 20, 1] : memref<f16> to memref<72x2x2x20xf16, strided<[80, 40, 20, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<72x2x2x20xf16, strided<[80, 40, 20, 1]>> to tensor<72x2x2x20xf16>
  %c_m = memref.reinterpret_cast %c_p to offset: [0], sizes: [2, 20], strides: [20, 1] : memref<f32> to memref<2x20xf32, strided<[20, 1]>>
  %c_t = bufferization.to_tensor %c_m restrict : memref<2x20xf32, strided<[20, 1]>> to tensor<2x20xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 2, 2, 20], strides: [80, 40, 20, 1] : memref<f16> to memref<?x2x2x20xf16, strided<[80, 40, 20, 1]>>
  %zero = arith.constant 0.0 : f32
  %s_empty = tensor.empty(%n) : tensor<?x2x2x20xf32>
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x2x2x20xf32>) -> tensor<?x2x2x20xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p,k)->(m,k)>, affine_map<(m,h,t,p,k)->(k,h,t,p)>, affine_map<(m,h,t,p,k)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x72xf16>, tensor<72x2x2x20xf16>) outs(%s_fill : tensor<?x2x2x20xf32>) {
  ^bb0(%x: f16, %w: f16, %s: f32):
    %e = arith.extf %x : f16 to f32
    %f = arith.extf %w : f16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x2x2x20xf32>
  %e_empty = tensor.empty(%n) : tensor<?x2x2x20xf32>
  %e_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%e_empty : tensor<?x2x2x20xf32>) {
  ^bb0(%e: f32):
    %row = linalg.index 0 : index
    %head = linalg.index 1 : index
    %two = linalg.index 2 : index
    %minus = arith.constant -1 : index
    %one = arith.constant 1 : index
    %back = arith.muli %two, %minus : index
    %other = arith.addi %one, %back : index
    %at = linalg.index 3 : index
    %v = tensor.extract %s_t[%row, %head, %other, %at] : tensor<?x2x2x20xf32>
    linalg.yield %v : f32
  } -> tensor<?x2x2x20xf32>
  %y_empty = tensor.empty(%n) : tensor<?x2x2x20xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s_t, %e_t, %c_t : tensor<?x2x2x20xf32>, tensor<?x2x2x20xf32>, tensor<2x20xf32>) outs(%y_empty : tensor<?x2x2x20xf16>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %y: f16):
    %p = arith.mulf %b, %c : f32
    %q = arith.addf %a, %p : f32
    %r = arith.truncf %q : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x2x2x20xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x2x2x20xf16>, memref<?x2x2x20xf16, strided<[80, 40, 20, 1]>>) -> ()
  return
}

// -----

// CHECK-LABEL: gpu.func @order(
// CHECK-NOT: tile.
// CHECK: gpu.return
func.func @order(%x_p: memref<f16>, %w_p: memref<f16>, %c_p: memref<f32>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 4096, optimum = 64>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 72], strides: [72, 1] : memref<f16> to memref<?x72xf16, strided<[72, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x72xf16, strided<[72, 1]>> to tensor<?x72xf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [72, 2, 2, 32], strides: [128, 64, 32, 1] : memref<f16> to memref<72x2x2x32xf16, strided<[128, 64, 32, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<72x2x2x32xf16, strided<[128, 64, 32, 1]>> to tensor<72x2x2x32xf16>
  %c_m = memref.reinterpret_cast %c_p to offset: [0], sizes: [2, 32], strides: [32, 1] : memref<f32> to memref<2x32xf32, strided<[32, 1]>>
  %c_t = bufferization.to_tensor %c_m restrict : memref<2x32xf32, strided<[32, 1]>> to tensor<2x32xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 2, 2, 32], strides: [128, 64, 32, 1] : memref<f16> to memref<?x2x2x32xf16, strided<[128, 64, 32, 1]>>
  %zero = arith.constant 0.0 : f32
  %s_empty = tensor.empty(%n) : tensor<?x2x2x32xf32>
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x2x2x32xf32>) -> tensor<?x2x2x32xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p,k)->(m,k)>, affine_map<(m,h,t,p,k)->(k,h,t,p)>, affine_map<(m,h,t,p,k)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x72xf16>, tensor<72x2x2x32xf16>) outs(%s_fill : tensor<?x2x2x32xf32>) {
  ^bb0(%x: f16, %w: f16, %s: f32):
    %e = arith.extf %x : f16 to f32
    %f = arith.extf %w : f16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x2x2x32xf32>
  %e_empty = tensor.empty(%n) : tensor<?x2x2x32xf32>
  %e_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%e_empty : tensor<?x2x2x32xf32>) {
  ^bb0(%e: f32):
    %row = linalg.index 0 : index
    %head = linalg.index 1 : index
    %two = linalg.index 2 : index
    %three = linalg.index 3 : index
    %minus = arith.constant -1 : index
    %last = arith.constant 31 : index
    %back = arith.muli %three, %minus : index
    %at = arith.addi %last, %back : index
    %v = tensor.extract %s_t[%row, %head, %two, %at] : tensor<?x2x2x32xf32>
    linalg.yield %v : f32
  } -> tensor<?x2x2x32xf32>
  %y_empty = tensor.empty(%n) : tensor<?x2x2x32xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>, affine_map<(m,h,t,p)->(t,p)>, affine_map<(m,h,t,p)->(m,h,t,p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s_t, %e_t, %c_t : tensor<?x2x2x32xf32>, tensor<?x2x2x32xf32>, tensor<2x32xf32>) outs(%y_empty : tensor<?x2x2x32xf16>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %y: f16):
    %p = arith.mulf %b, %c : f32
    %q = arith.addf %a, %p : f32
    %r = arith.truncf %q : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x2x2x32xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x2x2x32xf16>, memref<?x2x2x32xf16, strided<[128, 64, 32, 1]>>) -> ()
  return
}

// RUN: kpc-opt --kpc-host-build-kernel=vector-bits=256 %s | FileCheck %s

// Along memory: four vectors of partial sums, combined in one order.

// CHECK-LABEL: func.func @rows(
// CHECK-SAME: kernel.schedule = #kernel.schedule<"reduction lanes=8 partials=4">
// CHECK-SAME: units = "5"
// CHECK: iter_args
// CHECK-COUNT-4: vector.load
// CHECK: vector.maskedload
// CHECK: vector.shuffle
// CHECK: memref.store
func.func @rows(%x_p: memref<f32>, %y_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [5, 100], strides: [100, 1] : memref<f32> to memref<5x100xf32, strided<[100, 1]>>
  %x = bufferization.to_tensor %x_m restrict : memref<5x100xf32, strided<[100, 1]>> to tensor<5x100xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [5], strides: [1] : memref<f32> to memref<5xf32, strided<[1]>>
  %e = tensor.empty() : tensor<5xf32>
  %z = arith.constant 0.0 : f32
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<5x100xf32>) outs(%i : tensor<5xf32>) {
  ^bb0(%p: f32, %s: f32):
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<5xf32>, memref<5xf32, strided<[1]>>) -> ()
  return
}

// Across memory: accumulators along the contiguous dim; the last ones under a mask.

// CHECK-LABEL: func.func @columns(
// CHECK-SAME: kernel.schedule = #kernel.schedule<"tile rows=1 vectors=5 lanes=8 block=40 direct">
// CHECK: vector.maskedload
// CHECK: vector.maskedstore
func.func @columns(%x_p: memref<f32>, %y_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [100, 37], strides: [37, 1] : memref<f32> to memref<100x37xf32, strided<[37, 1]>>
  %x = bufferization.to_tensor %x_m restrict : memref<100x37xf32, strided<[37, 1]>> to tensor<100x37xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [37], strides: [1] : memref<f32> to memref<37xf32, strided<[1]>>
  %e = tensor.empty() : tensor<37xf32>
  %z = arith.constant 0.0 : f32
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<37xf32>) -> tensor<37xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(a, b) -> (b, a)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<100x37xf32>) outs(%i : tensor<37xf32>) {
  ^bb0(%p: f32, %s: f32):
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<37xf32>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<37xf32>, memref<37xf32, strided<[1]>>) -> ()
  return
}

// A matrix product: a tile of 4 rows by 3 vectors, the second operand packed into a panel.

// CHECK-LABEL: func.func @matmul(
// CHECK-SAME: kernel.schedule = #kernel.schedule<"tile rows=4 vectors=3 lanes=8 block=64x24 direct panel">
// CHECK-SAME: units = "2"
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<768xf32>
// CHECK: vector.store
// CHECK: iter_args
// CHECK-COUNT-12: vector.fma
// CHECK: scf.yield
func.func @matmul(%a_p: memref<f32>, %b_p: memref<f32>, %c_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %a_m = memref.reinterpret_cast %a_p to offset: [0], sizes: [64, 32], strides: [32, 1] : memref<f32> to memref<64x32xf32, strided<[32, 1]>>
  %a = bufferization.to_tensor %a_m restrict : memref<64x32xf32, strided<[32, 1]>> to tensor<64x32xf32>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [32, 48], strides: [48, 1] : memref<f32> to memref<32x48xf32, strided<[48, 1]>>
  %b = bufferization.to_tensor %b_m restrict : memref<32x48xf32, strided<[48, 1]>> to tensor<32x48xf32>
  %c_m = memref.reinterpret_cast %c_p to offset: [0], sizes: [64, 48], strides: [48, 1] : memref<f32> to memref<64x48xf32, strided<[48, 1]>>
  %e = tensor.empty() : tensor<64x48xf32>
  %z = arith.constant 0.0 : f32
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<64x48xf32>) -> tensor<64x48xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<64x32xf32>, tensor<32x48xf32>) outs(%i : tensor<64x48xf32>) {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %1 = arith.mulf %p, %q : f32
    %2 = arith.addf %s, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x48xf32>
  bufferization.materialize_in_destination %c in restrict writable %c_m : (tensor<64x48xf32>, memref<64x48xf32, strided<[48, 1]>>) -> ()
  return
}

// A long sum: blocks of 128 rows, and of 128 blocks. The blocks' sums are added up.

// CHECK-LABEL: func.func @long_columns(
// CHECK-DAG: %[[BLOCK:.*]] = arith.constant 128 : index
// CHECK-DAG: %[[BLOCKS:.*]] = arith.constant 16384 : index
// CHECK: scf.for {{.*}} step %[[BLOCKS]] iter_args(%[[ALL:[^ ]+]] =
// CHECK: %[[NONE:.*]] = arith.constant dense<-0.000000e+00> : vector<8xf32>
// CHECK: %[[MIDDLE:.*]] = scf.for {{.*}} step %[[BLOCK]] iter_args(%[[SOME:[^ ]+]] = %[[NONE]]
// CHECK: %[[AGAIN:.*]] = arith.constant dense<-0.000000e+00> : vector<8xf32>
// CHECK: %[[INNER:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[AGAIN]]
// CHECK: vector.load
// CHECK: arith.addf %[[SOME]], %[[INNER]]
// CHECK: arith.addf %[[ALL]], %[[MIDDLE]]
func.func @long_columns(%x_p: memref<f32>, %y_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [262144, 8], strides: [8, 1] : memref<f32> to memref<262144x8xf32, strided<[8, 1]>>
  %x = bufferization.to_tensor %x_m restrict : memref<262144x8xf32, strided<[8, 1]>> to tensor<262144x8xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [8], strides: [1] : memref<f32> to memref<8xf32, strided<[1]>>
  %e = tensor.empty() : tensor<8xf32>
  %z = arith.constant 0.0 : f32
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(a, b) -> (b, a)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<262144x8xf32>) outs(%i : tensor<8xf32>) {
  ^bb0(%p: f32, %s: f32):
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<8xf32>, memref<8xf32, strided<[1]>>) -> ()
  return
}

// The greatest element is the same in any order: one loop.

// CHECK-LABEL: func.func @long_maximum(
// CHECK-NOT: arith.constant 128 : index
// CHECK: arith.maximumf
func.func @long_maximum(%x_p: memref<f32>, %y_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [262144, 8], strides: [8, 1] : memref<f32> to memref<262144x8xf32, strided<[8, 1]>>
  %x = bufferization.to_tensor %x_m restrict : memref<262144x8xf32, strided<[8, 1]>> to tensor<262144x8xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [8], strides: [1] : memref<f32> to memref<8xf32, strided<[1]>>
  %e = tensor.empty() : tensor<8xf32>
  %z = arith.constant 0.0 : f32
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(a, b) -> (b, a)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<262144x8xf32>) outs(%i : tensor<8xf32>) {
  ^bb0(%p: f32, %s: f32):
    %r = arith.maximumf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<8xf32>, memref<8xf32, strided<[1]>>) -> ()
  return
}

// A slice is read at its first row, which is the same for all lanes, and at each row, which are apart in memory: no vector holds these.

// CHECK-LABEL: func.func @row_and_rows(
// CHECK-NOT: vector.load
// CHECK-NOT: vector.maskedload
// CHECK: return
func.func @row_and_rows(%x_p: memref<f32>, %y_p: memref<f32>, %n: index {kernel.size = #kernel.size<min = 1, max = 64, optimum = 32>}) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 3, 1], strides: [3, 1, 1] : memref<f32> to memref<?x3x1xf32, strided<[3, 1, 1]>>
  %x = bufferization.to_tensor %x_m restrict : memref<?x3x1xf32, strided<[3, 1, 1]>> to tensor<?x3x1xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [2, 1], strides: [1, 1] : memref<f32> to memref<2x1xf32, strided<[1, 1]>>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %slice_e = tensor.empty(%n) : tensor<?x2x1xf32>
  %slice = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%slice_e : tensor<?x2x1xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = linalg.index 2 : index
    %to = arith.addi %j, %c1 : index
    %r = tensor.extract %x[%i, %to, %k] : tensor<?x3x1xf32>
    linalg.yield %r : f32
  } -> tensor<?x2x1xf32>
  %first_e = tensor.empty() : tensor<1x2x1xf32>
  %first = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%first_e : tensor<1x2x1xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = linalg.index 2 : index
    %r = tensor.extract %slice[%i, %j, %k] : tensor<?x2x1xf32>
    linalg.yield %r : f32
  } -> tensor<1x2x1xf32>
  %product_e = tensor.empty(%n) : tensor<?x2x1xf32>
  %product = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (0, b, c)>, affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%first, %slice : tensor<1x2x1xf32>, tensor<?x2x1xf32>) outs(%product_e : tensor<?x2x1xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %r = arith.mulf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<?x2x1xf32>
  %e = tensor.empty() : tensor<2x1xf32>
  %z = arith.constant 0.0 : f32
  %init = linalg.fill ins(%z : f32) outs(%e : tensor<2x1xf32>) -> tensor<2x1xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (c, a, b)>, affine_map<(a, b, c) -> (a, b)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%product : tensor<?x2x1xf32>) outs(%init : tensor<2x1xf32>) {
  ^bb0(%p: f32, %s: f32):
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<2x1xf32>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<2x1xf32>, memref<2x1xf32, strided<[1, 1]>>) -> ()
  return
}

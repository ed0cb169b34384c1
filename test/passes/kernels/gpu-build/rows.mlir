// RUN: kpc-opt %s --split-input-file --kpc-gpu-build-kernels | FileCheck %s

#whole = affine_map<(d0, d1) -> (d0, d1)>
#outer = affine_map<(d0, d1) -> (d0)>
#row = affine_map<(d0, d1) -> (d1)>

// Softmax of rows of 1024: two warps hold a row, one pass over memory; nothing is masked along the row.
// CHECK-LABEL: gpu.func @softmax
// CHECK-SAME: workgroup(%{{.*}} : memref<4xf32, #gpu.address_space<workgroup>>, %{{.*}} : memref<4xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: grid = ["{{.*}}", "1", "1"]
// CHECK-SAME: block = [128, 1, 1]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"rows 2 x 64 threads x 2 x 8">
// CHECK: arith.minsi
// CHECK-COUNT-2: vector.load {{.*}} vector<8xf16>
// CHECK: arith.maximumf
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK: gpu.shuffle xor
// CHECK: math.exp
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK: gpu.shuffle xor
// CHECK-NOT: vector.load
// CHECK-NOT: math.exp
// CHECK: arith.divf
// CHECK: vector.store {{.*}} vector<8xf16>
func.func @softmax(%x: memref<f16>, %y: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 65536, optimum = 8192>})
    attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%n, 1024], strides: [1024, 1]
      : memref<f16> to memref<?x1024xf16, strided<[1024, 1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<?x1024xf16, strided<[1024, 1]>> to tensor<?x1024xf16>
  %e = tensor.empty(%n) : tensor<?x1024xf32>
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty(%n) : tensor<?xf32>
  %m0 = linalg.fill ins(%low : f32) outs(%s : tensor<?xf32>) -> tensor<?xf32>
  %m = linalg.generic {indexing_maps = [#whole, #outer], iterator_types = ["parallel", "reduction"]}
      ins(%xt : tensor<?x1024xf16>) outs(%m0 : tensor<?xf32>) {
  ^bb0(%a: f16, %acc: f32):
    %w = arith.extf %a : f16 to f32
    %r = arith.maximumf %acc, %w : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  %p = linalg.generic {indexing_maps = [#whole, #outer, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%xt, %m : tensor<?x1024xf16>, tensor<?xf32>) outs(%e : tensor<?x1024xf32>) {
  ^bb0(%a: f16, %top: f32, %o: f32):
    %w = arith.extf %a : f16 to f32
    %d = arith.subf %w, %top : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<?x1024xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%s : tensor<?xf32>) -> tensor<?xf32>
  %z = linalg.generic {indexing_maps = [#whole, #outer], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<?x1024xf32>) outs(%z0 : tensor<?xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %r = arith.addf %acc, %a : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  %h = tensor.empty(%n) : tensor<?x1024xf16>
  %q = linalg.generic {indexing_maps = [#whole, #outer, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%p, %z : tensor<?x1024xf32>, tensor<?xf32>) outs(%h : tensor<?x1024xf16>) {
  ^bb0(%a: f32, %b: f32, %o: f16):
    %d = arith.divf %a, %b : f32
    %r = arith.truncf %d : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x1024xf16>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [%n, 1024], strides: [1024, 1]
      : memref<f16> to memref<?x1024xf16, strided<[1024, 1]>>
  bufferization.materialize_in_destination %q in restrict writable %ym
      : (tensor<?x1024xf16>, memref<?x1024xf16, strided<[1024, 1]>>) -> ()
  return
}

// -----

#whole = affine_map<(d0, d1) -> (d0, d1)>
#outer = affine_map<(d0, d1) -> (d0)>
#size = affine_map<(d0, d1) -> (d1)>

// x minus the row's sum, rows of any length: in registers or from memory, in vectors or element by element.
// CHECK-LABEL: gpu.func @free
// CHECK-SAME: nvvm.minctasm = {{[1-9]}} : i32
// CHECK: scf.if
// CHECK: arith.remui
// CHECK: scf.if
// CHECK: vector.load {{.*}} vector<4xf32>
// CHECK: } else {
// CHECK: memref.load {{.*}} strided<[?, 1]>
// CHECK: } else {
// CHECK: scf.if
// CHECK: scf.for
// CHECK: vector.load {{.*}} vector<4xf32>
// CHECK: } else {
// CHECK: scf.for
func.func @free(%x: memref<f32>, %y: memref<f32>, %n: index, %c: index {kernel.size = #kernel.size<max = 100000, optimum = 512>})
    attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%n, %c], strides: [%c, 1] : memref<f32> to memref<?x?xf32, strided<[?, 1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<?x?xf32, strided<[?, 1]>> to tensor<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty(%n) : tensor<?xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%s : tensor<?xf32>) -> tensor<?xf32>
  %z = linalg.generic {indexing_maps = [#whole, #outer], iterator_types = ["parallel", "reduction"]}
      ins(%xt : tensor<?x?xf32>) outs(%z0 : tensor<?xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %r = arith.addf %acc, %a : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  %e = tensor.empty(%n, %c) : tensor<?x?xf32>
  %q = linalg.generic {indexing_maps = [#whole, #outer, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%xt, %z : tensor<?x?xf32>, tensor<?xf32>) outs(%e : tensor<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  } -> tensor<?x?xf32>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [%n, %c], strides: [%c, 1] : memref<f32> to memref<?x?xf32, strided<[?, 1]>>
  bufferization.materialize_in_destination %q in restrict writable %ym : (tensor<?x?xf32>, memref<?x?xf32, strided<[?, 1]>>) -> ()
  return
}

// -----

#whole = affine_map<(d0, d1) -> (d0, d1)>
#outer = affine_map<(d0, d1) -> (d0)>
#first = affine_map<(d0, d1) -> (0)>

// Another row's sum is no business of a thread that holds this one: left to the builder that takes everything.
// CHECK-LABEL: gpu.func @other_row
// CHECK-SAME: kernel.schedule = #kernel.schedule<"map
func.func @other_row(%x: memref<f32>, %y: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [6, 64], strides: [64, 1] : memref<f32> to memref<6x64xf32, strided<[64, 1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<6x64xf32, strided<[64, 1]>> to tensor<6x64xf32>
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty() : tensor<6xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%s : tensor<6xf32>) -> tensor<6xf32>
  %z = linalg.generic {indexing_maps = [#whole, #outer], iterator_types = ["parallel", "reduction"]}
      ins(%xt : tensor<6x64xf32>) outs(%z0 : tensor<6xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %r = arith.addf %acc, %a : f32
    linalg.yield %r : f32
  } -> tensor<6xf32>
  %e = tensor.empty() : tensor<6x64xf32>
  %q = linalg.generic {indexing_maps = [#whole, #first, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%xt, %z : tensor<6x64xf32>, tensor<6xf32>) outs(%e : tensor<6x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  } -> tensor<6x64xf32>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [6, 64], strides: [64, 1] : memref<f32> to memref<6x64xf32, strided<[64, 1]>>
  bufferization.materialize_in_destination %q in restrict writable %ym : (tensor<6x64xf32>, memref<6x64xf32, strided<[64, 1]>>) -> ()
  return
}

// -----

#whole = affine_map<(d0, d1) -> (d0, d1)>
#outer = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// Rows of 1001 begin anywhere, in x and y alike: vectors from the first multiple of 8 elements on, and the elements in front
// of them and behind them, one for each of 14 threads. The factor of a column lies otherwise: element by element.
// CHECK-LABEL: gpu.func @odd
// CHECK-SAME: kernel.schedule = #kernel.schedule<"rows {{[0-9]+}} x {{[0-9]+}} threads x {{[0-9]+}} x 8">
// CHECK: %[[START:.*]] = arith.muli %{{.*}}, %c1001
// CHECK: %[[BACK:.*]] = arith.subi %c0, %[[START]]
// CHECK: %[[BEFORE:.*]] = arith.andi %[[BACK]], %c7
// CHECK: %[[INNER:.*]] = arith.subi %c1001, %[[BEFORE]]
// CHECK: %[[BEHIND:.*]] = arith.andi %[[INNER]], %c7
// CHECK: arith.select
// CHECK: vector.load %{{.*}} {alignment = 16 : i64} : {{.*}} vector<8xf16>
// CHECK: memref.load %{{.*}} : memref<?x1001xf16, strided<[1001, 1]>>
// CHECK: gpu.shuffle xor
// CHECK-NOT: vector.load
// CHECK: vector.store %{{.*}} {alignment = 16 : i64} : {{.*}} vector<8xf16>
// CHECK: memref.store %{{.*}} : memref<?x1001xf16, strided<[1001, 1]>>
func.func @odd(%x: memref<f16>, %f: memref<f16>, %y: memref<f16>, %n: index {kernel.size = #kernel.size<optimum = 8192>})
    attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%n, 1001], strides: [1001, 1] : memref<f16> to memref<?x1001xf16, strided<[1001, 1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<?x1001xf16, strided<[1001, 1]>> to tensor<?x1001xf16>
  %fm = memref.reinterpret_cast %f to offset: [0], sizes: [1001], strides: [1] : memref<f16> to memref<1001xf16, strided<[1]>>
  %ft = bufferization.to_tensor %fm restrict : memref<1001xf16, strided<[1]>> to tensor<1001xf16>
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty(%n) : tensor<?xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%s : tensor<?xf32>) -> tensor<?xf32>
  %z = linalg.generic {indexing_maps = [#whole, #outer], iterator_types = ["parallel", "reduction"]}
      ins(%xt : tensor<?x1001xf16>) outs(%z0 : tensor<?xf32>) {
  ^bb0(%a: f16, %acc: f32):
    %w = arith.extf %a : f16 to f32
    %r = arith.addf %acc, %w : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?x1001xf16>
  %q = linalg.generic {indexing_maps = [#whole, #outer, #column, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%xt, %z, %ft : tensor<?x1001xf16>, tensor<?xf32>, tensor<1001xf16>) outs(%e : tensor<?x1001xf16>) {
  ^bb0(%a: f16, %b: f32, %c: f16, %o: f16):
    %w = arith.extf %a : f16 to f32
    %v = arith.extf %c : f16 to f32
    %d = arith.subf %w, %b : f32
    %p = arith.mulf %d, %v : f32
    %r = arith.truncf %p : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x1001xf16>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [%n, 1001], strides: [1001, 1] : memref<f16> to memref<?x1001xf16, strided<[1001, 1]>>
  bufferization.materialize_in_destination %q in restrict writable %ym : (tensor<?x1001xf16>, memref<?x1001xf16, strided<[1001, 1]>>) -> ()
  return
}

// -----

#whole = affine_map<(d0, d1) -> (d0, d1)>
#outer = affine_map<(d0, d1) -> (d0)>

// Two rows of 65536 would be two blocks. The eight blocks of a cluster share one, read the others' results, and end together. They arrive before they store, so that nothing is under way.
// CHECK-LABEL: gpu.func @few_long
// CHECK-SAME: cluster = 8
// CHECK-SAME: kernel.schedule = #kernel.schedule<"rows 1 x {{[0-9]+}} threads x {{[0-9]+}} x 8 cluster 8">
// CHECK: vector.load {{.*}} vector<8xf16>
// CHECK: arith.maximumf
// CHECK: gpu.barrier
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: nvvm.mapa
// CHECK-NEXT: llvm.load
// CHECK-COUNT-3: gpu.shuffle xor
// CHECK: nvvm.cluster.arrive
// CHECK-NOT: vector.load
// CHECK: arith.subf
// CHECK: vector.store {{.*}} vector<8xf16>
// CHECK: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
func.func @few_long(%x: memref<f16>, %y: memref<f16>) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [2, 65536], strides: [65536, 1]
      : memref<f16> to memref<2x65536xf16, strided<[65536, 1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<2x65536xf16, strided<[65536, 1]>> to tensor<2x65536xf16>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [2, 65536], strides: [65536, 1]
      : memref<f16> to memref<2x65536xf16, strided<[65536, 1]>>
  %low = arith.constant 0xFF800000 : f32
  %s = tensor.empty() : tensor<2xf32>
  %e = tensor.empty() : tensor<2x65536xf16>
  %m0 = linalg.fill ins(%low : f32) outs(%s : tensor<2xf32>) -> tensor<2xf32>
  %m = linalg.generic {indexing_maps = [#whole, #outer], iterator_types = ["parallel", "reduction"]}
      ins(%xt : tensor<2x65536xf16>) outs(%m0 : tensor<2xf32>) {
  ^bb0(%a: f16, %acc: f32):
    %w = arith.extf %a : f16 to f32
    %r = arith.maximumf %acc, %w : f32
    linalg.yield %r : f32
  } -> tensor<2xf32>
  %d = linalg.generic {indexing_maps = [#whole, #outer, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%xt, %m : tensor<2x65536xf16>, tensor<2xf32>) outs(%e : tensor<2x65536xf16>) {
  ^bb0(%a: f16, %b: f32, %c: f16):
    %w = arith.extf %a : f16 to f32
    %r = arith.subf %w, %b : f32
    %t = arith.truncf %r : f32 to f16
    linalg.yield %t : f16
  } -> tensor<2x65536xf16>
  bufferization.materialize_in_destination %d in restrict writable %ym
      : (tensor<2x65536xf16>, memref<2x65536xf16, strided<[65536, 1]>>) -> ()
  return
}

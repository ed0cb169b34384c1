// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>

// A cache in the memory that it had: threads whose elements stay write nothing.
// CHECK-LABEL: gpu.func @replace(
// CHECK-DAG: %[[Y:.*]] = memref.extract_aligned_pointer_as_index %{{.*}} : memref<?x128xf16
// CHECK-DAG: %[[P:.*]] = memref.extract_aligned_pointer_as_index %{{.*}} : memref<?x128xf16
// CHECK: arith.cmpi ne, %[[Y]], %[[P]]
// CHECK: memref.load %{{.*}} : memref<?x1xi8
// CHECK: arith.ori
// CHECK: scf.if
// CHECK: vector.store
func.func @replace(%w_p: memref<i1>, %n_p: memref<f16>, %x_p: memref<f16>, %y_p: memref<f16>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [%n, 1], strides: [1, 1] : memref<i1> to memref<?x1xi1, strided<[1, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<?x1xi1, strided<[1, 1]>> to tensor<?x1xi1>
  %n_m = memref.reinterpret_cast %n_p to offset: [0], sizes: [%n, 128], strides: [128, 1] : memref<f16> to memref<?x128xf16, strided<[128, 1]>>
  %n_t = bufferization.to_tensor %n_m restrict : memref<?x128xf16, strided<[128, 1]>> to tensor<?x128xf16>
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 128], strides: [128, 1] : memref<f16> to memref<?x128xf16, strided<[128, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x128xf16, strided<[128, 1]>> to tensor<?x128xf16>
  %e = tensor.empty(%n) : tensor<?x128xf32>
  %x_w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x_t : tensor<?x128xf16>) outs(%e : tensor<?x128xf32>) {
  ^bb0(%a: f16, %o: f32):
    %f = arith.extf %a : f16 to f32
    linalg.yield %f : f32
  } -> tensor<?x128xf32>
  %n_w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%n_t : tensor<?x128xf16>) outs(%e : tensor<?x128xf32>) {
  ^bb0(%a: f16, %o: f32):
    %f = arith.extf %a : f16 to f32
    linalg.yield %f : f32
  } -> tensor<?x128xf32>
  %b = tensor.empty(%n) : tensor<?x128xi1>
  %w = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%w_t : tensor<?x1xi1>) outs(%b : tensor<?x128xi1>) {
  ^bb0(%a: i1, %o: i1):
    linalg.yield %a : i1
  } -> tensor<?x128xi1>
  %s = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%w, %n_w, %x_w : tensor<?x128xi1>, tensor<?x128xf32>, tensor<?x128xf32>) outs(%e : tensor<?x128xf32>) {
  ^bb0(%c: i1, %p: f32, %q: f32, %o: f32):
    %f = arith.select %c, %p, %q : f32
    linalg.yield %f : f32
  } -> tensor<?x128xf32>
  %h = tensor.empty(%n) : tensor<?x128xf16>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<?x128xf32>) outs(%h : tensor<?x128xf16>) {
  ^bb0(%a: f32, %o: f16):
    %f = arith.truncf %a : f32 to f16
    linalg.yield %f : f16
  } -> tensor<?x128xf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 128], strides: [128, 1] : memref<f16> to memref<?x128xf16, strided<[128, 1]>>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<?x128xf16>, memref<?x128xf16, strided<[128, 1]>>) -> ()
  return
}

// A condition of its own for each element is computed with them.
// CHECK-LABEL: gpu.func @each(
// CHECK-NOT: extract_aligned_pointer
// CHECK: vector.store
func.func @each(%w_p: memref<i1>, %n_p: memref<f32>, %x_p: memref<f32>, %y_p: memref<f32>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2], writes = [3]>} {
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [%n, 128], strides: [128, 1] : memref<i1> to memref<?x128xi1, strided<[128, 1]>>
  %w = bufferization.to_tensor %w_m restrict : memref<?x128xi1, strided<[128, 1]>> to tensor<?x128xi1>
  %n_m = memref.reinterpret_cast %n_p to offset: [0], sizes: [%n, 128], strides: [128, 1] : memref<f32> to memref<?x128xf32, strided<[128, 1]>>
  %n_t = bufferization.to_tensor %n_m restrict : memref<?x128xf32, strided<[128, 1]>> to tensor<?x128xf32>
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 128], strides: [128, 1] : memref<f32> to memref<?x128xf32, strided<[128, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x128xf32, strided<[128, 1]>> to tensor<?x128xf32>
  %e = tensor.empty(%n) : tensor<?x128xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%w, %n_t, %x_t : tensor<?x128xi1>, tensor<?x128xf32>, tensor<?x128xf32>) outs(%e : tensor<?x128xf32>) {
  ^bb0(%c: i1, %p: f32, %q: f32, %o: f32):
    %f = arith.select %c, %p, %q : f32
    linalg.yield %f : f32
  } -> tensor<?x128xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 128], strides: [128, 1] : memref<f32> to memref<?x128xf32, strided<[128, 1]>>
  bufferization.materialize_in_destination %s in restrict writable %y_m : (tensor<?x128xf32>, memref<?x128xf32, strided<[128, 1]>>) -> ()
  return
}

// Two caches in one kernel: a thread stores both where either has new elements, or lies elsewhere.
// CHECK-LABEL: gpu.func @two(
// CHECK: %[[FIRST:.*]] = arith.cmpi ne, %{{.*}}, %{{.*}} : index
// CHECK: arith.ori %[[FIRST]]
// CHECK: %[[SECOND:.*]] = arith.cmpi ne, %{{.*}}, %{{.*}} : index
// CHECK: arith.ori %[[SECOND]]
// CHECK: scf.if
// CHECK-COUNT-2: vector.store
func.func @two(%w_p: memref<i1>, %n_p: memref<f32>, %x_p: memref<f32>, %v_p: memref<f32>, %y_p: memref<f32>, %z_p: memref<f32>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1, 2, 3], writes = [4, 5]>} {
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [%n, 1], strides: [1, 1] : memref<i1> to memref<?x1xi1, strided<[1, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<?x1xi1, strided<[1, 1]>> to tensor<?x1xi1>
  %n_m = memref.reinterpret_cast %n_p to offset: [0], sizes: [%n, 128], strides: [128, 1] : memref<f32> to memref<?x128xf32, strided<[128, 1]>>
  %n_t = bufferization.to_tensor %n_m restrict : memref<?x128xf32, strided<[128, 1]>> to tensor<?x128xf32>
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 128], strides: [128, 1] : memref<f32> to memref<?x128xf32, strided<[128, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x128xf32, strided<[128, 1]>> to tensor<?x128xf32>
  %v_m = memref.reinterpret_cast %v_p to offset: [0], sizes: [%n, 128], strides: [128, 1] : memref<f32> to memref<?x128xf32, strided<[128, 1]>>
  %v_t = bufferization.to_tensor %v_m restrict : memref<?x128xf32, strided<[128, 1]>> to tensor<?x128xf32>
  %e = tensor.empty(%n) : tensor<?x128xf32>
  %b = tensor.empty(%n) : tensor<?x128xi1>
  %w = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%w_t : tensor<?x1xi1>) outs(%b : tensor<?x128xi1>) {
  ^bb0(%a: i1, %o: i1):
    linalg.yield %a : i1
  } -> tensor<?x128xi1>
  %s = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%w, %n_t, %x_t : tensor<?x128xi1>, tensor<?x128xf32>, tensor<?x128xf32>) outs(%e : tensor<?x128xf32>) {
  ^bb0(%c: i1, %p: f32, %q: f32, %o: f32):
    %f = arith.select %c, %p, %q : f32
    linalg.yield %f : f32
  } -> tensor<?x128xf32>
  %t = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%w, %n_t, %v_t : tensor<?x128xi1>, tensor<?x128xf32>, tensor<?x128xf32>) outs(%e : tensor<?x128xf32>) {
  ^bb0(%c: i1, %p: f32, %q: f32, %o: f32):
    %f = arith.select %c, %p, %q : f32
    linalg.yield %f : f32
  } -> tensor<?x128xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 128], strides: [128, 1] : memref<f32> to memref<?x128xf32, strided<[128, 1]>>
  bufferization.materialize_in_destination %s in restrict writable %y_m : (tensor<?x128xf32>, memref<?x128xf32, strided<[128, 1]>>) -> ()
  %z_m = memref.reinterpret_cast %z_p to offset: [0], sizes: [%n, 128], strides: [128, 1] : memref<f32> to memref<?x128xf32, strided<[128, 1]>>
  bufferization.materialize_in_destination %t in restrict writable %z_m : (tensor<?x128xf32>, memref<?x128xf32, strided<[128, 1]>>) -> ()
  return
}

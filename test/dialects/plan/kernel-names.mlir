// RUN: rm -rf %t && mkdir %t && cp %s %t/names.plan.mlir
// RUN: kpc compile %t/names.plan.mlir --arch host -o %t/names.kpc --no-cache --quiet
// RUN: kpc inspect %t/names.kpc | FileCheck %s

// Kernels of one node are told apart; a kernel that is launched twice keeps one name.

// CHECK: kernel family type
// CHECK-NEXT: sm_1 map
// CHECK-NEXT: sm map

#same = affine_map<(d0) -> (d0)>

module attributes {graph.symbols = {n = {max = 8 : i64, min = 1 : i64}}} {
  plan.program {
    %x = plan.input "x" : !graph.tensor<[n], f32>
    %y = plan.output "y" : !graph.tensor<[n], f32>
    %a = plan.buffer "a" : !graph.tensor<[n], f32>
    %b = plan.buffer "b" : !graph.tensor<[n], f32>
    plan.launch @negate (%x) -> (%a) sizes <[n]> {name = "sm"} : (!graph.tensor<[n], f32>) -> !graph.tensor<[n], f32>
    plan.launch @double (%a) -> (%b) sizes <[n]> {name = "sm"} : (!graph.tensor<[n], f32>) -> !graph.tensor<[n], f32>
    plan.launch @negate (%b) -> (%y) sizes <[n]> {name = "sm"} : (!graph.tensor<[n], f32>) -> !graph.tensor<[n], f32>
  }
  func.func @negate(%x: memref<f32>, %y: memref<f32>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
    %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%n], strides: [1] : memref<f32> to memref<?xf32, strided<[1]>>
    %xt = bufferization.to_tensor %xm restrict : memref<?xf32, strided<[1]>> to tensor<?xf32>
    %ym = memref.reinterpret_cast %y to offset: [0], sizes: [%n], strides: [1] : memref<f32> to memref<?xf32, strided<[1]>>
    %empty = tensor.empty(%n) : tensor<?xf32>
    %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%xt : tensor<?xf32>) outs(%empty : tensor<?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %v = arith.negf %in : f32
      linalg.yield %v : f32
    } -> tensor<?xf32>
    bufferization.materialize_in_destination %r in restrict writable %ym : (tensor<?xf32>, memref<?xf32, strided<[1]>>) -> ()
    return
  }
  func.func @double(%x: memref<f32>, %y: memref<f32>, %n: index) attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
    %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%n], strides: [1] : memref<f32> to memref<?xf32, strided<[1]>>
    %xt = bufferization.to_tensor %xm restrict : memref<?xf32, strided<[1]>> to tensor<?xf32>
    %ym = memref.reinterpret_cast %y to offset: [0], sizes: [%n], strides: [1] : memref<f32> to memref<?xf32, strided<[1]>>
    %empty = tensor.empty(%n) : tensor<?xf32>
    %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%xt : tensor<?xf32>) outs(%empty : tensor<?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %v = arith.addf %in, %in : f32
      linalg.yield %v : f32
    } -> tensor<?xf32>
    bufferization.materialize_in_destination %r in restrict writable %ym : (tensor<?xf32>, memref<?xf32, strided<[1]>>) -> ()
    return
  }
}

// RUN: rm -rf %t && mkdir %t && cp %S/../../../examples/digits/digits.onnx %t && cp %s %t/all.plan.mlir
// RUN: kpc compile %t/all.plan.mlir --arch host -o %t/all.kpc --no-cache --quiet
// RUN: kpc inspect %t/all.kpc | FileCheck %s

// Every op of the dialect in a program that becomes an artifact.

// CHECK: negate

#same = affine_map<(d0) -> (d0)>

module attributes {graph.symbols = {n = {max = 8 : i64, min = 1 : i64}}} {
  plan.program {
    %0 = plan.input "x" : !graph.tensor<[n, 4], f32>
    %1 = plan.output "y" : !graph.tensor<["n*4"], f32>
    %2 = plan.output "z" : !graph.tensor<[2], f32>
    %3 = plan.output "w" : !graph.tensor<[16, 1, 3, 3], f32>
    %4 = plan.buffer "between" : !graph.tensor<["n*4"], f32>
    %5 = plan.weight "digits.onnx#conv1.weight" [] : !graph.tensor<[16, 1, 3, 3], f32>
    %6 = plan.constant dense<1.0> : tensor<2xf32> : !graph.tensor<[2], f32>
    %7 = plan.view %0 : !graph.tensor<[n, 4], f32> to !graph.tensor<["n*4"], f32>
    plan.launch @negate (%7) -> (%4) sizes <["n*4"]> : (!graph.tensor<["n*4"], f32>) -> (!graph.tensor<["n*4"], f32>)
    plan.launch @negate (%4) -> (%1) sizes <["n*4"]> : (!graph.tensor<["n*4"], f32>) -> (!graph.tensor<["n*4"], f32>)
    plan.copy %6 to %2 : !graph.tensor<[2], f32> to !graph.tensor<[2], f32>
    plan.copy %5 to %3 : !graph.tensor<[16, 1, 3, 3], f32> to !graph.tensor<[16, 1, 3, 3], f32>
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
}

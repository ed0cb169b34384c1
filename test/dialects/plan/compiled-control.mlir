// RUN: kpc compile %s --arch host -o %t.kpc --no-cache --quiet
// RUN: kpc inspect %t.kpc | FileCheck %s
// RUN: kpc inspect %t.kpc --json | FileCheck %s --check-prefix=JSON

// Loops and branches that are written by hand; a branch without steps is none.

// CHECK: loops and branches of host
// CHECK-NEXT: steps 0 to 2  run 3 times
// CHECK-NEXT: step 2        run if c
// CHECK-NEXT: step 3        run unless c
// CHECK: x+1 {{.*}} 24

// JSON: "kind": "loop",
// JSON-NEXT: "first_step": 0,
// JSON-NEXT: "end_step": 3,
// JSON-NEXT: "count_for": "3",
// JSON-NEXT: "count": 3
// JSON: "kind": "if",
// JSON-NEXT: "first_step": 2,
// JSON-NEXT: "end_step": 3,
// JSON-NEXT: "else_step": 3,
// JSON-NEXT: "condition": "c"

#same = affine_map<(d0) -> (d0)>

module attributes {graph.symbols = {i = {min = 0, max = 2}}} {
  plan.program {
    %x = plan.input "x" : !graph.tensor<[8], f32>
    %c = plan.input "c" : !graph.tensor<[], i1>
    %y = plan.output "y" : !graph.tensor<[3, 8], f32>
    %z = plan.output "z" : !graph.tensor<[8], f32>
    plan.loop "i" count <[3]> {
      %row = plan.part %y at <["i*8"]> : !graph.tensor<[3, 8], f32> to !graph.tensor<[8], f32>
      %t = plan.buffer "t" : !graph.tensor<[8], f32>
      plan.launch @negate (%x) -> (%t) sizes <[8]> {flops = #graph.dims<[8]>, name = "x+1"} : (!graph.tensor<[8], f32>) -> (!graph.tensor<[8], f32>)
      plan.copy %t to %row : !graph.tensor<[8], f32> to !graph.tensor<[8], f32>
      plan.if %c : !graph.tensor<[], i1> {
        plan.copy %t to %z : !graph.tensor<[8], f32> to !graph.tensor<[8], f32>
      } else {
      }
    }
    plan.if %c : !graph.tensor<[], i1> {
    } else {
      plan.copy %x to %z : !graph.tensor<[8], f32> to !graph.tensor<[8], f32>
    }
    plan.if %c : !graph.tensor<[], i1> {
    } else {
    }
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

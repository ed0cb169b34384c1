// RUN: kpc-opt %s --form-regions --lower-regions | FileCheck %s

// A kernel that waits for another asks for its weights meanwhile. The first of a run has nobody to wait for.
!x = !graph.tensor<[rows, 256], f16>
!w = !graph.tensor<[256, 256], f16>

module attributes {graph.symbols = {rows = {min = 1}}} {
  // CHECK: func.func @{{.*}}attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>
  // CHECK: func.func @{{.*}}attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2], weight_bytes = [0, 131072]>
  func.func @main(%x: !x) -> !x {
    %w = graph.weight "m#w" [] : !w
    %0 = graph.matmul %x, %w : !x, !w loc("one")
    %v = graph.weight "m#v" [] : !w
    %1 = graph.matmul %0, %v : !x, !w loc("two")
    return %1 : !x
  }
}

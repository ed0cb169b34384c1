// RUN: kpc-opt %s --form-regions --set-precision --lower-regions | FileCheck %s

// The factors of a norm's rows are made of sums, which stay f32. A GEMM's rows times these are what the norm's GEMM would be, and are stored
// in 16 bits. An attribute of the GEMM's kernel says which argument has the sums of squares of its rows: it may add them up itself.

// CHECK-LABEL: func.func @sum(%arg0: memref<f16>, %arg1: memref<f32>
// CHECK-NOT: kernel.row_squares
// CHECK: return
// CHECK-LABEL: func.func @normed(%arg0: memref<f32> {kernel.row_squares = 1 : i64}, %arg1: memref<f16>, %arg2: memref<f16>, %arg3: memref<f16>
// CHECK: kernel.gemm
// CHECK: arith.truncf %{{.*}} : f32 to f16
!x = !graph.tensor<[n, 64], f32>
!w = !graph.tensor<[64, 64], f32>
!r = !graph.tensor<[n, 1], f32>
module attributes {graph.symbols = {n = {min = 1, max = 64, optimum = 1}}} {
  func.func @main(%in: !x) -> !x {
    %v = graph.weight "m#v" [] : !w
    %w = graph.weight "m#w" [] : !w
    %u = graph.weight "m#u" [] : !w
    %x = graph.matmul %in, %v : !x, !w loc("first")
    %squares = graph.mul %x, %x : !x loc("sum")
    %sum = graph.reduce sum, %squares axes [1] : !x loc("sum")
    %column = graph.reshape %sum : !graph.tensor<[n], f32> to !r loc("normed")
    %root = graph.sqrt %column : !r loc("normed")
    %factor = graph.reciprocal %root : !r loc("normed")
    %product = graph.matmul %x, %w : !x, !w loc("normed")
    %factors = graph.broadcast %factor : !r to !x loc("normed")
    %y = graph.mul %product, %factors : !x loc("normed")
    %z = graph.matmul %y, %u : !x, !w loc("last")
    return %z : !x
  }
}

// RUN: rm -rf %t && mkdir %t && cp %S/../../../examples/digits/digits.onnx %t && cp %s %t/all.graph.mlir
// RUN: kpc compile %t/all.graph.mlir --arch host -o %t/all.kpc --no-cache --quiet
// RUN: kpc inspect %t/all.kpc | FileCheck %s

// Every other op in a program that becomes machine code.

// CHECK: moved
// CHECK: combined

!x = !graph.tensor<[n, 4], f32>
!row = !graph.tensor<[4], f32>
!s = !graph.tensor<[], f32>
!i = !graph.tensor<[2], i64>

module attributes {graph.symbols = {n = {min = 2, max = 8}}} {
  func.func @main(%x: !x {graph.name = "x"}, %i: !i {graph.name = "i"})
      -> (!graph.tensor<[4, "n*2"], f32> {graph.name = "moved"}, !row {graph.name = "picked"},
          !x {graph.name = "combined"}, !graph.tensor<[4], i64> {graph.name = "places"},
          !graph.tensor<[2], i64> {graph.name = "sizes"}, !graph.tensor<[16, 1, 3, 3], f32> {graph.name = "weight"}) {
    // Movement.
    %zero = graph.constant dense<0.0> : tensor<f32>
    %0 = graph.broadcast %zero : !s to !x
    %1 = graph.concat %x, %0 axis 0 : !x, !x
    %2 = graph.transpose %1 [1, 0] : !graph.tensor<["n*2", 4], f32>
    %3 = graph.slice %x start #graph.dims<["n - 1", 0]> step [-1, 1] : !x to !x
    %4 = graph.pad %3, %zero low [1, 0] high [0, 0] interior [0, 0] : !x, !s
    %5 = graph.gather %4, %i axis 0 : !graph.tensor<["n + 1", 4], f32>, !i
    %6 = graph.reshape %i : !i to !graph.tensor<[1, 2], i64>
    %7 = graph.gather_elements %5, %6 axis 0 : !graph.tensor<[2, 4], f32>, !graph.tensor<[1, 2], i64>
    %8 = graph.gather_nd %5, %6 batch_dims 0 : !graph.tensor<[2, 4], f32>, !graph.tensor<[1, 2], i64>
    %9 = graph.scatter_elements add, %5, %6, %7 axis 0 : !graph.tensor<[2, 4], f32>, !graph.tensor<[1, 2], i64>, !graph.tensor<[1, 2], f32>
    %10 = graph.scatter_nd max, %9, %6, %8 : !graph.tensor<[2, 4], f32>, !graph.tensor<[1, 2], i64>, !graph.tensor<[1], f32>
    %11 = graph.reduce sum, %10 axes [0] : !graph.tensor<[2, 4], f32>
    // Reductions and contractions.
    %12 = graph.iota axis 1 : !graph.tensor<[4, 4], f32>
    %13 = graph.matmul %x, %12 : !x, !graph.tensor<[4, 4], f32>
    %14 = graph.window max, %13 window [1, 3] stride [1, 1] dilation [1, 1] low [0, 1] high [0, 1] : !x
    %15 = graph.cumsum %14 axis 1 exclusive : !x
    %16 = graph.reshape %15 : !x to !graph.tensor<[n, 4, 1], f32>
    %17 = graph.constant dense<0.5> : tensor<3x1x1xf32>
    %18 = graph.conv %16, %17 stride [1] dilation [1] low [1] high [1] groups 1 : !graph.tensor<[n, 4, 1], f32>, !graph.tensor<[3, 1, 1], f32>
    %24 = graph.conv_transpose %18, %17 stride [1] dilation [1] low [1] high [1] groups 1 : !graph.tensor<[n, 4, 1], f32>, !graph.tensor<[3, 1, 1], f32>
    %19 = graph.reshape %24 : !graph.tensor<[n, 4, 1], f32> to !x
    %20 = graph.arg_reduce max, %19 axis 0 : !x
    // Where values come from.
    %21 = graph.sizes #graph.dims<[n, "n*2"]>
    %22 = graph.weight "digits.onnx#conv1.weight" [] : !graph.tensor<[16, 1, 3, 3], f32>
    return %2, %11, %19, %20, %21, %22 : !graph.tensor<[4, "n*2"], f32>, !row, !x, !graph.tensor<[4], i64>, !graph.tensor<[2], i64>, !graph.tensor<[16, 1, 3, 3], f32>
  }
}

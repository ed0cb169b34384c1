// RUN: rm -rf %t && mkdir %t && cp %s %t/custom.graph.mlir
// RUN: kpc compile %t/custom.graph.mlir --arch host -o %t/custom.kpc --no-cache --quiet
// RUN: kpc inspect %t/custom.kpc | FileCheck %s

// A user's operator, in a program that becomes machine code.

// CHECK: custom code {{.*}} libf.so, found when it is loaded, for the host
// CHECK: my.ops::F  custom f

func.func @main(%x: !graph.tensor<[8], f32> {graph.name = "x"}) -> (!graph.tensor<[8], f32> {graph.name = "y"}) {
  %0 = graph.exp %x : !graph.tensor<[8], f32>
  %y = graph.custom "my.ops::F" (%0) host {arguments = ["f32"], function = "f", library = "libf.so", sizes = #graph.dims<[1065353216]>}
    : (!graph.tensor<[8], f32>) -> !graph.tensor<[8], f32>
  return %y : !graph.tensor<[8], f32>
}

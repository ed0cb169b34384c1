// RUN: kpc compile %s --arch host -o %t.kpc --no-cache --quiet
// RUN: kpc inspect %t.kpc | FileCheck %s

// Inputs and outputs keep their types, whatever lies between the kernels.

// CHECK: q{{ +}}i4
// CHECK: y{{ +}}f8e4m3fn
// CHECK: z{{ +}}f4e2m1
// CHECK: t{{ +}}u2

module attributes {graph.symbols = {n = {min = 1, max = 8}}} {
  func.func @main(%x: !graph.tensor<[n, 3], f32> {graph.name = "x"}, %q: !graph.tensor<[n, 3], i4> {graph.name = "q"})
      -> (!graph.tensor<[n, 3], f8E4M3FN> {graph.name = "y"}, !graph.tensor<[3, n], f4E2M1FN> {graph.name = "z"},
          !graph.tensor<[n, 3], ui2> {graph.name = "t"}) {
    %0 = graph.cast %x to f8E4M3FN : !graph.tensor<[n, 3], f32>
    %1 = graph.bitcast %q to f4E2M1FN : !graph.tensor<[n, 3], i4>
    %2 = graph.transpose %1 [1, 0] : !graph.tensor<[n, 3], f4E2M1FN>
    %3 = graph.cast %q to ui2 : !graph.tensor<[n, 3], i4>
    %4 = graph.pack %3 : !graph.tensor<[n, 3], ui2>
    %5 = graph.unpack %4 : !graph.tensor<["ceildiv(n*3, 4)"], ui8> to !graph.tensor<[n, 3], ui2>
    return %0, %2, %5 : !graph.tensor<[n, 3], f8E4M3FN>, !graph.tensor<[3, n], f4E2M1FN>, !graph.tensor<[n, 3], ui2>
  }
}

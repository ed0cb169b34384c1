// RUN: kpc-opt %s --pack-borders | FileCheck %s
// RUN: kpc-opt %s --pack-borders --pack-borders | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(pack-borders,form-regions),lower-regions)' | FileCheck %s --check-prefix=PLAN

!q = !graph.tensor<[n, 3], i4>

// CHECK-LABEL: @main(
// CHECK-SAME: %arg0: !graph.tensor<["n + floordiv(n + 1, 2)"], ui8> {graph.name = "q", graph.port = !graph.tensor<[n, 3], i4>}
// CHECK-SAME: -> (!graph.tensor<["n + floordiv(n + 1, 2)"], ui8> {graph.name = "y", graph.port = !graph.tensor<[3, n], i4>}
// CHECK-SAME: !graph.tensor<[2, 5], f32> {graph.name = "d"})
// CHECK: %[[Q:.*]] = graph.unpack %arg0
// CHECK: %[[T:.*]] = graph.transpose %[[Q]]
// CHECK: %[[B:.*]] = graph.weight "m#w" [] : <[3], ui8>
// CHECK: %[[W:.*]] = graph.unpack %[[B]] : <[3], ui8> to <[2, 5], ui2>
// CHECK: %[[D:.*]] = graph.cast %[[W]] to f32
// CHECK: %[[Y:.*]] = graph.pack %[[T]] : <[3, n], i4>
// CHECK: return %[[Y]], %[[D]]

// PLAN: plan.input "q" as !graph.tensor<[n, 3], i4> : <["n + floordiv(n + 1, 2)"], ui8>
// PLAN: plan.output "y" as !graph.tensor<[3, n], i4> : <["n + floordiv(n + 1, 2)"], ui8>
module attributes {graph.symbols = {n = {min = 1}}} {
  func.func @main(%q: !q {graph.name = "q"})
      -> (!graph.tensor<[3, n], i4> {graph.name = "y"}, !graph.tensor<[2, 5], f32> {graph.name = "d"}) {
    %0 = graph.transpose %q [1, 0] : !q
    %1 = graph.weight "m#w" [] : !graph.tensor<[2, 5], ui2>
    %2 = graph.cast %1 to f32 : !graph.tensor<[2, 5], ui2>
    return %0, %2 : !graph.tensor<[3, n], i4>, !graph.tensor<[2, 5], f32>
  }
}

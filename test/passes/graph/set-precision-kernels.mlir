// RUN: kpc-opt %s --form-regions --set-precision --lower-regions | FileCheck %s

// A kernel widens what it reads and rounds what it writes, once each.
// CHECK-LABEL: func.func @gemm(%arg0: memref<f32>, %arg1: memref<f16>, %arg2: memref<f32>, %arg3: memref<f16>
// CHECK-COUNT-1: arith.extf %{{.*}} : f16 to f32
// CHECK-NOT: extf
// CHECK: arith.addf
// CHECK-NOT: extf
// CHECK-COUNT-1: arith.truncf %{{.*}} : f32 to f16
// CHECK-NOT: truncf
// CHECK: return
// CHECK-LABEL: func.func @last(%arg0: memref<f16>, %arg1: memref<f16>, %arg2: memref<f32>
// CHECK-COUNT-2: arith.extf %{{.*}} : f16 to f32
// CHECK-NOT: truncf
// CHECK: return
!x = !graph.tensor<[n, 64], f32>
!w = !graph.tensor<[64, 64], f32>
!b = !graph.tensor<[64], f32>
func.func @main(%x: !x) -> !x {
  %w = graph.weight "m#w" [] : !w
  %b = graph.weight "m#b" [] : !b
  %v = graph.weight "m#v" [] : !w
  %0 = graph.matmul %x, %w : !x, !w loc("gemm")
  %1 = graph.broadcast %b : !b to !x
  %2 = graph.add %0, %1 : !x
  %3 = graph.matmul %2, %v : !x, !w loc("last")
  return %3 : !x
}

// RUN: kpc-opt %s --lower-regions | FileCheck %s

// A GEMM whose columns are heads, and its weight codes in tiles (RoPE): what the tiles hold is made in the GEMM's loops, and nowhere else.

!x = !graph.tensor<[8, 128], f32>
!c = !graph.tensor<[8, 1, 512], ui8>
!s = !graph.tensor<[2, 64], f32>
!p = !graph.tensor<[8, 64], f32>
!heads = !graph.tensor<[8, 2, 2, 16], f32>

// CHECK-LABEL: func.func @queries(
// CHECK-NOT: tensor<128x64xf32>
// CHECK: %[[W:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<128x2x2x16xf32>) attrs = {kernel.tiles = #kernel.tiles<bits = 4, block = 64, offset = 8>}
// CHECK: %[[N:.*]] = affine.linearize_index disjoint [%{{.*}}, %{{.*}}, %{{.*}}] by (2, 2, 16)
// CHECK: tensor.extract %{{.*}}[%{{.*}}, %[[N]]] : tensor<2x64xf32>
// CHECK: kernel.gemm %{{.*}}, %[[W]] into %{{.*}} : (tensor<8x128xf32>, tensor<128x2x2x16xf32>, tensor<8x2x2x16xf32>) -> tensor<8x2x2x16xf32>
// CHECK-NOT: kernel.tiles
// CHECK: return
func.func @main(%x: !x, %c: !c, %s: !s) -> !heads {
  %y = graph.region "queries" (%x, %c, %s) : (!x, !c, !s) -> !heads {
  ^bb0(%a: !x, %b: !c, %r: !s):
    %0 = graph.dequantise_tiles %b scales %r bits 4 block 64 offset 8 : !c, !s to <[128, 64], f32>
    %1 = graph.matmul %a, %0 : !x, !graph.tensor<[128, 64], f32>
    %2 = graph.reshape %1 : !p to !heads
    %3 = graph.neg %2 : !heads
    graph.yield %3 : !heads
  }
  return %y : !heads
}

// RUN: kpc-opt %s | kpc-opt | FileCheck %s

!q = tensor<2x8x?x64xf32>
!kv = tensor<2x2x?x64xf32>
!bias = tensor<2x8x1x?xf32>
!mask = tensor<1x1x?x?xi1>

// CHECK-LABEL: func.func @attention
func.func @attention(%q: !q, %k: !kv, %v: !kv, %b: !bias, %m: !mask, %past: index, %e: !q) -> (!q, !q) {
  // CHECK: kernel.attention %{{.*}}, %{{.*}}, %{{.*}} scale 1.250000e-01 into %{{.*}} : (tensor<2x8x?x64xf32>, tensor<2x2x?x64xf32>, tensor<2x2x?x64xf32>, tensor<2x8x?x64xf32>) -> tensor<2x8x?x64xf32>
  %0 = kernel.attention %q, %k, %v scale 0.125 into %e : (!q, !kv, !kv, !q) -> !q
  // CHECK: kernel.attention %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} mask %{{.*}} causal %{{.*}} scale 1.250000e-01 into %{{.*}} :
  %1 = kernel.attention %q, %k, %v bias %b mask %m causal %past scale 0.125 into %e : (!q, !kv, !kv, !bias, !mask, index, !q) -> !q
  return %0, %1 : !q, !q
}

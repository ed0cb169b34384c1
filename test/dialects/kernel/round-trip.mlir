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

// CHECK-LABEL: func.func @gemm
func.func @gemm(%a: tensor<?x64xf32>, %b: tensor<64x8xf32>, %heads: tensor<64x4x16xf32>, %x: tensor<8x?x64xf32>, %w: tensor<1x64x8xf32>, %ia: tensor<2x3xi32>, %ib: tensor<3x4xi32>,
                %d: tensor<?x8xf32>, %dh: tensor<?x4x16xf32>, %dx: tensor<8x?x8xf32>, %id: tensor<2x4xi32>) {
  // CHECK: kernel.gemm %{{.*}}, %{{.*}} into %{{.*}} : (tensor<?x64xf32>, tensor<64x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %0 = kernel.gemm %a, %b into %d : (tensor<?x64xf32>, tensor<64x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: kernel.gemm %{{.*}}, %{{.*}} tf32 into %{{.*}} {note = 1 : i64} : (tensor<?x64xf32>, tensor<64x4x16xf32>, tensor<?x4x16xf32>) -> tensor<?x4x16xf32>
  %1 = kernel.gemm %a, %heads tf32 into %dh {note = 1} : (tensor<?x64xf32>, tensor<64x4x16xf32>, tensor<?x4x16xf32>) -> tensor<?x4x16xf32>
  // CHECK: kernel.gemm %{{.*}}, %{{.*}} into %{{.*}} : (tensor<8x?x64xf32>, tensor<1x64x8xf32>, tensor<8x?x8xf32>) -> tensor<8x?x8xf32>
  %2 = kernel.gemm %x, %w into %dx : (tensor<8x?x64xf32>, tensor<1x64x8xf32>, tensor<8x?x8xf32>) -> tensor<8x?x8xf32>
  // CHECK: kernel.gemm %{{.*}}, %{{.*}} into %{{.*}} : (tensor<2x3xi32>, tensor<3x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi32>
  %3 = kernel.gemm %ia, %ib into %id : (tensor<2x3xi32>, tensor<3x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi32>
  return
}

// CHECK-LABEL: func.func @sort_runs
func.func @sort_runs(%x: tensor<4x?xi64>, %e: tensor<4x?xi64>) -> tensor<4x?xi64> {
  // CHECK: kernel.sort_runs %{{.*}} from 1 to 4096 into %{{.*}} : tensor<4x?xi64>
  %0 = kernel.sort_runs %x from 1 to 4096 into %e : tensor<4x?xi64>
  return %0 : tensor<4x?xi64>
}

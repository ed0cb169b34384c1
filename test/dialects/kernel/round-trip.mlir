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
  // CHECK: kernel.attention %{{.*}}, %{{.*}}, %{{.*}} scale 1.250000e-01 softcap 3.000000e+01 tf32 into %{{.*}} :
  %2 = kernel.attention %q, %k, %v scale 0.125 softcap 30.0 tf32 into %e : (!q, !kv, !kv, !q) -> !q
  return %0, %2 : !q, !q
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

// CHECK-LABEL: func.func @conv
func.func @conv(%x: tensor<?x16x?x64xf32>, %w: tensor<3x3x16x128xf32>, %y: tensor<?x7x?x128xf32>, %ix: tensor<2x8x4xi32>, %iw: tensor<3x4x6xi32>, %iy: tensor<2x6x6xi32>) {
  // CHECK: kernel.conv %{{.*}}, %{{.*}} strides [2, 1] dilations [1, 2] groups 4 tf32 into %{{.*}} {note = 1 : i64} : (tensor<?x16x?x64xf32>, tensor<3x3x16x128xf32>, tensor<?x7x?x128xf32>) -> tensor<?x7x?x128xf32>
  %0 = kernel.conv %x, %w strides [2, 1] dilations [1, 2] groups 4 tf32 into %y {note = 1} : (tensor<?x16x?x64xf32>, tensor<3x3x16x128xf32>, tensor<?x7x?x128xf32>) -> tensor<?x7x?x128xf32>
  // CHECK: kernel.conv %{{.*}}, %{{.*}} strides [1] dilations [1] into %{{.*}} : (tensor<2x8x4xi32>, tensor<3x4x6xi32>, tensor<2x6x6xi32>) -> tensor<2x6x6xi32>
  %1 = kernel.conv %ix, %iw strides [1] dilations [1] into %iy : (tensor<2x8x4xi32>, tensor<3x4x6xi32>, tensor<2x6x6xi32>) -> tensor<2x6x6xi32>
  // CHECK: kernel.conv %{{.*}}, %{{.*}} strides [1] dilations [1] into %{{.*}} {kernel.live_taps = array<i64: 1, 7>} : (tensor<2x8x4xi32>, tensor<3x4x6xi32>, tensor<2x6x6xi32>) -> tensor<2x6x6xi32>
  %2 = kernel.conv %ix, %iw strides [1] dilations [1] into %iy {kernel.live_taps = array<i64: 1, 7>} : (tensor<2x8x4xi32>, tensor<3x4x6xi32>, tensor<2x6x6xi32>) -> tensor<2x6x6xi32>
  return
}

// CHECK-LABEL: func.func @pad
func.func @pad(%x: tensor<?x8x?x4xf32>, %h: index, %y: tensor<?x9x?x4xf32>, %ix: tensor<3xi32>, %iy: tensor<5xi32>) {
  // CHECK: kernel.pad %{{.*}} low [0, 1, 2, 0] high [0, 0, 1, 0] outside 0.000000e+00 : f32 sizes [%{{.*}}] into %{{.*}} {note = 1 : i64} : tensor<?x8x?x4xf32> into tensor<?x9x?x4xf32>
  %0 = kernel.pad %x low [0, 1, 2, 0] high [0, 0, 1, 0] outside 0.0 : f32 sizes [%h] into %y {note = 1} : tensor<?x8x?x4xf32> into tensor<?x9x?x4xf32>
  // CHECK: kernel.pad %{{.*}} low [1] high [1] outside 7 : i32 into %{{.*}} : tensor<3xi32> into tensor<5xi32>
  %1 = kernel.pad %ix low [1] high [1] outside 7 : i32 into %iy : tensor<3xi32> into tensor<5xi32>
  return
}

// CHECK-LABEL: func.func @sort_runs
func.func @sort_runs(%x: tensor<4x?xi64>, %e: tensor<4x?xi64>) -> tensor<4x?xi64> {
  // CHECK: kernel.sort_runs %{{.*}} from 1 to 4096 into %{{.*}} : tensor<4x?xi64> -> tensor<4x?xi64>
  %0 = kernel.sort_runs %x from 1 to 4096 into %e : tensor<4x?xi64> -> tensor<4x?xi64>
  return %0 : tensor<4x?xi64>
}

// CHECK-LABEL: func.func @first
func.func @first(%x: tensor<4x64xi64>, %e: tensor<4x3xi64>) -> tensor<4x3xi64> {
  // CHECK: kernel.sort_runs %{{.*}} from 1 to 64 into %{{.*}} : tensor<4x64xi64> -> tensor<4x3xi64>
  %0 = kernel.sort_runs %x from 1 to 64 into %e : tensor<4x64xi64> -> tensor<4x3xi64>
  return %0 : tensor<4x3xi64>
}

// CHECK-LABEL: func.func @digits
func.func @digits(%x: tensor<4x?xi64>, %c: tensor<4x64x256xi32>, %e: tensor<4x?xi64>) -> tensor<4x?xi64> {
  // CHECK: kernel.digit_counts %{{.*}} shift 32 into %{{.*}} : tensor<4x?xi64> -> tensor<4x64x256xi32>
  %0 = kernel.digit_counts %x shift 32 into %c : tensor<4x?xi64> -> tensor<4x64x256xi32>
  // CHECK: kernel.order_by_digit %{{.*}}, %{{.*}} shift 32 into %{{.*}} : tensor<4x?xi64>, tensor<4x64x256xi32>
  %1 = kernel.order_by_digit %x, %0 shift 32 into %e : tensor<4x?xi64>, tensor<4x64x256xi32>
  return %1 : tensor<4x?xi64>
}

// CHECK-LABEL: func.func @custom
func.func @custom(%x: memref<f32>, %y: memref<f32>, %n: index) {
  // CHECK: kernel.custom "my.ops::F"(%{{.*}}) -> (%{{.*}}) sizes(%{{.*}}) {function = "f"} : (memref<f32>) -> memref<f32>
  kernel.custom "my.ops::F" (%x) -> (%y) sizes (%n) {function = "f"} : (memref<f32>) -> memref<f32>
  // CHECK: kernel.custom "my.ops::F"() -> (%{{.*}}) sizes() cuda {function = "f"} : () -> memref<f32>
  kernel.custom "my.ops::F" () -> (%y) sizes () cuda {function = "f"} : () -> memref<f32>
  return
}

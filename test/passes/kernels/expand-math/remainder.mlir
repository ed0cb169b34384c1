// RUN: kpc-opt --kpc-expand-math %s | FileCheck %s --implicit-check-not=arith.remf

// CHECK-LABEL: func.func @remf_f32(
// CHECK: scf.while
// CHECK: arith.cmpi sgt
// CHECK: scf.condition
// CHECK: arith.remui %{{.*}} : i64
// CHECK: scf.yield
func.func @remf_f32(%x: f32, %y: f32) -> f32 {
  %0 = arith.remf %x, %y : f32
  return %0 : f32
}

// All lanes go on until the last is done.
// CHECK-LABEL: func.func @remf_vector(
// CHECK: vector.shape_cast %{{.*}} : vector<2x4xi1> to vector<8xi1>
// CHECK: vector.reduction <or>, %{{.*}} : vector<8xi1> into i1
func.func @remf_vector(%x: vector<2x4xf64>, %y: vector<2x4xf64>) -> vector<2x4xf64> {
  %0 = arith.remf %x, %y : vector<2x4xf64>
  return %0 : vector<2x4xf64>
}

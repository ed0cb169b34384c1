// RUN: kpc-opt --kpc-expand-math %s | FileCheck %s --implicit-check-not=math.sin --implicit-check-not="math.cos " --implicit-check-not=math.tan

// f32 is computed in two numbers of f32. What is large is multiplied by a window of 2/pi's bits, in a branch of its own.

// CHECK-LABEL: func.func @sin_f32(
// CHECK-SAME: %[[X:.*]]: f32
// CHECK-NOT: f64
// CHECK: math.fma %[[X]]
// CHECK: %[[A:.*]] = math.absf %[[X]] : f32
// CHECK: %[[SMALL:.*]] = arith.cmpf olt, %[[A]], %{{.*}} : f32
// CHECK: scf.if %[[SMALL]] -> (f32, f32, i32) {
// CHECK-NEXT: scf.yield
// CHECK-NEXT: } else {
// CHECK: arith.mului_extended {{.*}} : i32
// CHECK-NOT: f64
// CHECK: return
func.func @sin_f32(%x: f32) -> f32 {
  %r = math.sin %x : f32
  return %r : f32
}

// A vector branches where any of its lanes is large.
// CHECK-LABEL: func.func @sin_vector(
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %{{.*}} : vector<8xi1> into i1
// CHECK: scf.if %[[ANY]] -> (vector<8xf32>, vector<8xf32>, vector<8xi32>) {
func.func @sin_vector(%x: vector<8xf32>) -> vector<8xf32> {
  %r = math.sin %x : vector<8xf32>
  return %r : vector<8xf32>
}

// No number of f16 is large.
// CHECK-LABEL: func.func @cos_f16(
// CHECK-NOT: scf
// CHECK-NOT: f64
// CHECK: return
func.func @cos_f16(%x: f16) -> f16 {
  %r = math.cos %x : f16
  return %r : f16
}

// In f64 both reductions are done and the right one selected: no branch.
// CHECK-LABEL: func.func @sin_f64(
// CHECK-SAME: %[[X:.*]]: f64
// CHECK-NOT: scf
// CHECK: arith.mului_extended
// CHECK: math.absf %[[X]] : f64
// CHECK: return
func.func @sin_f64(%x: f64) -> f64 {
  %r = math.sin %x : f64
  return %r : f64
}

// CHECK-LABEL: func.func @others(
// CHECK: return
func.func @others(%x: f32, %y: f64) -> (f32, f32, f64, f64, f64) {
  %0 = math.cos %x : f32
  %1 = math.tan %x : f32
  %2, %3 = math.sincos %y : f64
  %4 = math.tan %y : f64
  return %0, %1, %2, %3, %4 : f32, f32, f64, f64, f64
}

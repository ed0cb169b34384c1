// RUN: kpc-opt --kpc-expand-math %s | FileCheck %s --implicit-check-not=math.sin --implicit-check-not="math.cos " --implicit-check-not=math.tan

// Both reductions are done and the right one selected: no branch. The large one multiplies by a window of 2/pi's bits.

// CHECK-LABEL: func.func @sin_f32(
// CHECK-SAME: %[[X:.*]]: f32
// CHECK-NOT: scf
// CHECK: %[[W:.*]] = arith.extf %[[X]] : f32 to f64
// CHECK: math.fma
// CHECK: arith.mului_extended
// CHECK: math.absf %[[W]] : f64
// CHECK: arith.truncf %{{.*}} : f64 to f32
// CHECK: return
func.func @sin_f32(%x: f32) -> f32 {
  %r = math.sin %x : f32
  return %r : f32
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

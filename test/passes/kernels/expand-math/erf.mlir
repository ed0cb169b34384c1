// RUN: kpc-opt --kpc-expand-math %s | FileCheck %s --implicit-check-not=math.erf

// CHECK-LABEL: func.func @erf_f32(
// CHECK-NOT: f64
// CHECK: arith.xori
// CHECK: return
func.func @erf_f32(%x: f32) -> f32 {
  %0 = math.erf %x : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @others(
// CHECK: return
func.func @others(%x: f64, %y: f32) -> (f64, f64, f32) {
  %0 = math.erf %x : f64
  %1 = math.erfc %x : f64
  %2 = math.erfc %y : f32
  return %0, %1, %2 : f64, f64, f32
}

// RUN: kpc-opt --kpc-expand-math %s | FileCheck %s --implicit-check-not=math.asin --implicit-check-not=math.acos --implicit-check-not=math.atan

// CHECK-LABEL: func.func @asin_acos(
// CHECK: math.sqrt
// CHECK: return
func.func @asin_acos(%x: f64) -> (f64, f64) {
  %0 = math.asin %x : f64
  %1 = math.acos %x : f64
  return %0, %1 : f64, f64
}

// The quadrant comes from the sign bits, so that -0 counts as negative.
// CHECK-LABEL: func.func @atan2(
// CHECK-SAME: %[[Y:.*]]: f64, %[[X:.*]]: f64
// CHECK: arith.divf
// CHECK: arith.bitcast %[[X]] : f64 to i64
// CHECK: %[[R:.*]] = arith.bitcast %{{.*}} : i64 to f64
// CHECK: return %[[R]]
func.func @atan2(%y: f64, %x: f64) -> f64 {
  %0 = math.atan2 %y, %x : f64
  return %0 : f64
}

// f32 needs no f64.
// CHECK-LABEL: func.func @f32(
// CHECK-NOT: f64
// CHECK: return
func.func @f32(%x: f32) -> (f32, f32, f32) {
  %0 = math.atan %x : f32
  %1 = math.asin %x : f32
  %2 = math.acos %x : f32
  return %0, %1, %2 : f32, f32, f32
}

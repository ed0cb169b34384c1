// RUN: kpc-opt --kpc-expand-math %s | FileCheck %s --implicit-check-not=math.log --implicit-check-not=math.asinh --implicit-check-not=math.acosh --implicit-check-not=math.atanh

// Subnormal numbers are scaled up; zero, negative numbers, infinity and NaN are put right at the end.

// CHECK-LABEL: func.func @log_f32(
// CHECK-SAME: %[[X:.*]]: f32
// CHECK-DAG: %[[NAN:.*]] = arith.constant 0x7FC00000 : f32
// CHECK-DAG: %[[INF:.*]] = arith.constant 0x7F800000 : f32
// CHECK-DAG: %[[MINUS:.*]] = arith.constant 0xFF800000 : f32
// CHECK-DAG: %[[TINY:.*]] = arith.constant 1.17549435E-38 : f32
// CHECK-NOT: f64
// CHECK: arith.cmpf olt, %[[X]], %[[TINY]] : f32
// CHECK: arith.cmpf olt, %[[X]], %[[INF]] : f32
// CHECK: arith.select %{{.*}}, %[[NAN]], %{{.*}} : f32
// CHECK: arith.cmpf oeq, %[[X]], %{{.*}} : f32
// CHECK: %[[R:.*]] = arith.select %{{.*}}, %[[MINUS]], %{{.*}} : f32
// CHECK: return %[[R]] : f32
func.func @log_f32(%x: f32) -> f32 {
  %r = math.log %x : f32
  return %r : f32
}

// CHECK-LABEL: func.func @log1p_f32(
// CHECK-NOT: f64
// CHECK: return
func.func @log1p_f32(%x: f32) -> f32 {
  %r = math.log1p %x : f32
  return %r : f32
}

// CHECK-LABEL: func.func @others(
// CHECK: return
func.func @others(%x: f32, %y: f64) -> (f32, f32, f64, f64, f64) {
  %0 = math.log2 %x : f32
  %1 = math.log10 %x : f32
  %2 = math.asinh %y : f64
  %3 = math.acosh %y : f64
  %4 = math.atanh %y : f64
  return %0, %1, %2, %3, %4 : f32, f32, f64, f64, f64
}

// CHECK-LABEL: func.func @inverse_hyperbolic_f32(
// CHECK-NOT: f64
// CHECK: return
func.func @inverse_hyperbolic_f32(%x: f32) -> (f32, f32, f32) {
  %0 = math.asinh %x : f32
  %1 = math.acosh %x : f32
  %2 = math.atanh %x : f32
  return %0, %1, %2 : f32, f32, f32
}

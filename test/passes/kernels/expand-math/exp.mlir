// RUN: kpc-opt --kpc-expand-math %s | FileCheck %s --implicit-check-not=math.exp --implicit-check-not=math.tanh --implicit-check-not=math.sinh --implicit-check-not=math.cosh

// The argument is drawn into the range where 2^k can be made by halves, reduced by k ln(2) in two parts, and the
// polynomial is scaled twice, so that subnormal results are rounded once.

// CHECK-LABEL: func.func @exp_f32(
// CHECK-SAME: %[[X:.*]]: f32
// CHECK-DAG: %[[HIGH:.*]] = arith.constant 8.900000e+01 : f32
// CHECK-DAG: %[[LOW:.*]] = arith.constant -1.040000e+02 : f32
// CHECK-DAG: %[[LN2:.*]] = arith.constant -0.693147182 : f32
// CHECK: arith.cmpf olt, %[[HIGH]], %[[X]] : f32
// CHECK: %[[C:.*]] = arith.select %{{.*}}, %[[LOW]], %{{.*}} : f32
// CHECK: %[[SHIFTED:.*]] = math.fma %[[C]], %{{.*}}, %{{.*}} : f32
// CHECK: %[[K:.*]] = arith.subf %[[SHIFTED]], %{{.*}} : f32
// CHECK: arith.bitcast %[[SHIFTED]] : f32 to i32
// CHECK: math.fma %[[K]], %[[LN2]], %[[C]] : f32
// CHECK-COUNT-6: math.fma
// CHECK: arith.shrsi
// CHECK: %[[ONE:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK: %[[HALF:.*]] = arith.mulf %{{.*}}, %[[ONE]] : f32
// CHECK: %[[OTHER:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK: %[[R:.*]] = arith.mulf %[[HALF]], %[[OTHER]] : f32
// CHECK: return %[[R]] : f32
func.func @exp_f32(%x: f32) -> f32 {
  %r = math.exp %x : f32
  return %r : f32
}

// CHECK-LABEL: func.func @exp_f64(
// CHECK-COUNT-13: math.fma {{.*}} : f64
// CHECK-NOT: f32
// CHECK: return
func.func @exp_f64(%x: f64) -> f64 {
  %r = math.exp %x : f64
  return %r : f64
}

// CHECK-LABEL: func.func @exp2_f32(
// CHECK-NOT: f64
// CHECK: return
func.func @exp2_f32(%x: f32) -> f32 {
  %r = math.exp2 %x : f32
  return %r : f32
}

// The sign of zero comes from the argument.
// CHECK-LABEL: func.func @expm1_f32(
// CHECK-SAME: %[[X:.*]]: f32
// CHECK-NOT: f64
// CHECK: arith.cmpf oeq, %[[X]], %{{.*}} : f32
// CHECK: return
func.func @expm1_f32(%x: f32) -> f32 {
  %r = math.expm1 %x : f32
  return %r : f32
}

// CHECK-LABEL: func.func @tanh_f32(
// CHECK-NOT: f64
// CHECK: arith.divf
// CHECK: arith.xori
// CHECK: return
func.func @tanh_f32(%x: f32) -> f32 {
  %r = math.tanh %x : f32
  return %r : f32
}

// CHECK-LABEL: func.func @sinh_cosh_f32(
// CHECK-NOT: f64
// CHECK: return
func.func @sinh_cosh_f32(%x: f32) -> (f32, f32) {
  %s = math.sinh %x : f32
  %c = math.cosh %x : f32
  return %s, %c : f32, f32
}

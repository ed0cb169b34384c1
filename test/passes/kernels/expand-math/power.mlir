// RUN: kpc-opt --kpc-expand-math %s | FileCheck %s --implicit-check-not=math.powf --implicit-check-not=math.fpowi --implicit-check-not=math.ipowi --implicit-check-not=math.cbrt --implicit-check-not=math.rsqrt --implicit-check-not="math.round "

// A power of 0 and a power of 1 is 1, whatever the other operand is, even NaN.
// CHECK-LABEL: func.func @powf_f32(
// CHECK-SAME: %[[X:.*]]: f32, %[[Y:.*]]: f32
// CHECK-NOT: scf
// CHECK-NOT: f64
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[Y0:.*]] = arith.cmpf oeq, %[[Y]], %[[ZERO]] : f32
// CHECK: %[[X1:.*]] = arith.cmpf oeq, %[[X]], %[[ONE]] : f32
// CHECK: %[[ANY:.*]] = arith.ori %[[Y0]], %[[X1]] : i1
// CHECK: %[[R:.*]] = arith.select %[[ANY]], %[[ONE]], %{{.*}} : f32
// CHECK: return %[[R]]
func.func @powf_f32(%x: f32, %y: f32) -> f32 {
  %0 = math.powf %x, %y : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @fpowi(
// CHECK: arith.sitofp %{{.*}} : i32 to f64
func.func @fpowi(%x: f32, %n: i32) -> f32 {
  %0 = math.fpowi %x, %n : f32, i32
  return %0 : f32
}

// CHECK-LABEL: func.func @ipowi(
// CHECK: scf.while
// CHECK: arith.muli
func.func @ipowi(%x: i64, %n: i64) -> i64 {
  %0 = math.ipowi %x, %n : i64
  return %0 : i64
}

// CHECK-LABEL: func.func @rsqrt(
// CHECK-SAME: %[[X:.*]]: f32
// CHECK: %[[ROOT:.*]] = math.sqrt %[[X]] : f32
// CHECK: arith.divf %{{.*}}, %[[ROOT]] : f32
func.func @rsqrt(%x: f32) -> f32 {
  %0 = math.rsqrt %x : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @round(
// CHECK: arith.xori
// CHECK: math.trunc
func.func @round(%x: f32) -> f32 {
  %0 = math.round %x : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @cbrt(
// CHECK: arith.xori
func.func @cbrt(%x: f64) -> f64 {
  %0 = math.cbrt %x : f64
  return %0 : f64
}

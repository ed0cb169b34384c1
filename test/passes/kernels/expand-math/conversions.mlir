// RUN: kpc-opt --kpc-expand-math %s | FileCheck %s

// CHECK-LABEL: func.func @from_bf16(
// CHECK-SAME: %[[X:.*]]: bf16
// CHECK: %[[B:.*]] = arith.bitcast %[[X]] : bf16 to i16
// CHECK: %[[W:.*]] = arith.extui %[[B]] : i16 to i32
// CHECK: %[[S:.*]] = arith.shli %[[W]], %{{.*}} : i32
// CHECK: %[[R:.*]] = arith.bitcast %[[S]] : i32 to f32
// CHECK: return %[[R]]
func.func @from_bf16(%x: bf16) -> f32 {
  %0 = arith.extf %x : bf16 to f32
  return %0 : f32
}

// CHECK-LABEL: func.func @to_bf16(
// CHECK-SAME: %[[X:.*]]: f32
// CHECK-NOT: arith.truncf
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %[[X]], %[[X]] : f32
// CHECK: arith.select %[[NAN]]
// CHECK: arith.bitcast %{{.*}} : i16 to bf16
func.func @to_bf16(%x: f32) -> bf16 {
  %0 = arith.truncf %x : f32 to bf16
  return %0 : bf16
}

// Rounded to odd on the way, so that it is rounded once in all.
// CHECK-LABEL: func.func @f64_to_f16(
// CHECK-SAME: %[[X:.*]]: f64
// CHECK: %[[N:.*]] = arith.truncf %[[X]] : f64 to f32
// CHECK: arith.extf %[[N]] : f32 to f64
// CHECK: %[[O:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK: arith.truncf %[[O]] : f32 to f16
func.func @f64_to_f16(%x: f64) -> f16 {
  %0 = arith.truncf %x : f64 to f16
  return %0 : f16
}

// What has an instruction is left alone.
// CHECK-LABEL: func.func @kept(
// CHECK-NEXT: arith.extf %{{.*}} : f16 to f32
// CHECK-NEXT: arith.truncf %{{.*}} : f32 to f16
// CHECK-NEXT: arith.truncf %{{.*}} : f64 to f32
// CHECK-NEXT: return
func.func @kept(%x: f16, %y: f32, %z: f64) -> (f32, f16, f32) {
  %0 = arith.extf %x : f16 to f32
  %1 = arith.truncf %y : f32 to f16
  %2 = arith.truncf %z : f64 to f32
  return %0, %1, %2 : f32, f16, f32
}

// CHECK-LABEL: func.func @integers(
// CHECK-SAME: %[[X:.*]]: i64
// CHECK: arith.sitofp %[[X]] : i64 to f32
// CHECK: arith.uitofp %{{.*}} : i64 to f64
// CHECK: arith.fptosi %{{.*}} : f32 to i8
func.func @integers(%x: i64, %y: bf16) -> (f16, bf16, i8) {
  %0 = arith.sitofp %x : i64 to f16
  %1 = arith.uitofp %x : i64 to bf16
  %2 = arith.fptosi %y : bf16 to i8
  return %0, %1, %2 : f16, bf16, i8
}

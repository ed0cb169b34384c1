// RUN: kpc-opt --kpc-expand-math %s | FileCheck %s

// f16 and bf16 are computed in f32.
// CHECK-LABEL: func.func @add_f16(
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: arith.addf %{{.*}} : f32
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func @add_f16(%x: f16, %y: f16) -> f16 {
  %0 = arith.addf %x, %y : f16
  return %0 : f16
}

// CHECK-LABEL: func.func @exp_bf16(
// CHECK-NOT: math.exp
// CHECK: arith.bitcast %{{.*}} : vector<4xi16> to vector<4xbf16>
func.func @exp_bf16(%x: vector<4xbf16>) -> vector<4xbf16> {
  %0 = math.exp %x : vector<4xbf16>
  return %0 : vector<4xbf16>
}

// CHECK-LABEL: func.func @classes(
// CHECK-SAME: %[[X:.*]]: f32
// CHECK-DAG: %[[NAN:.*]] = arith.cmpf uno, %[[X]], %[[X]] : f32
// CHECK-DAG: %[[INF:.*]] = arith.cmpf oeq, %{{.*}}, %{{.*}} : f32
// CHECK: return %[[NAN]], %[[INF]]
func.func @classes(%x: f32) -> (i1, i1, i1, i1) {
  %0 = math.isnan %x : f32
  %1 = math.isinf %x : f32
  %2 = math.isfinite %x : f32
  %3 = math.isnormal %x : f32
  return %0, %1, %2, %3 : i1, i1, i1, i1
}

// CHECK-LABEL: func.func @clamp(
// CHECK: arith.maximumf
// CHECK: arith.minimumf
func.func @clamp(%x: f32, %low: f32, %high: f32) -> f32 {
  %0 = math.clampf %x to [%low, %high] : f32
  return %0 : f32
}

// These are instructions everywhere.
// CHECK-LABEL: func.func @kept(
// CHECK-NEXT: math.sqrt
// CHECK-NEXT: math.floor
// CHECK-NEXT: math.roundeven
// CHECK-NEXT: math.fma
// CHECK-NEXT: return
func.func @kept(%x: f32) -> f32 {
  %0 = math.sqrt %x : f32
  %1 = math.floor %0 : f32
  %2 = math.roundeven %1 : f32
  %3 = math.fma %2, %2, %x : f32
  return %3 : f32
}

// Tensors are expanded when they have become scalars.
// CHECK-LABEL: func.func @tensor(
// CHECK-NEXT: math.exp
func.func @tensor(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

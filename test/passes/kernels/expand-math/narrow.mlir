// RUN: kpc-opt %s --kpc-expand-math | FileCheck %s

// Codes of 8 and 4 bits become numbers by integer arithmetic, which every target has.
// CHECK-LABEL: @scalar(
// CHECK-NOT: f8E4M3FN
// CHECK: arith.extui %{{.*}} : i8 to i32
// CHECK: arith.uitofp %{{.*}} : i32 to f32
// CHECK-NOT: arith.extf
func.func @scalar(%x: i8) -> f32 {
  %0 = arith.bitcast %x : i8 to f8E4M3FN
  %1 = arith.extf %0 : f8E4M3FN to f32
  return %1 : f32
}

// CHECK-LABEL: @vector(
// CHECK: arith.extui %{{.*}} : vector<8xi8> to vector<8xi32>
// CHECK-NOT: arith.extf
func.func @vector(%x: vector<8xi8>) -> vector<8xf32> {
  %0 = arith.bitcast %x : vector<8xi8> to vector<8xf8E5M2>
  %1 = arith.extf %0 : vector<8xf8E5M2> to vector<8xf32>
  return %1 : vector<8xf32>
}

// CHECK-LABEL: @half_a_byte(
// CHECK: arith.extui %{{.*}} : i4 to i32
// CHECK-NOT: arith.extf
func.func @half_a_byte(%x: i4) -> f32 {
  %0 = arith.bitcast %x : i4 to f4E2M1FN
  %1 = arith.extf %0 : f4E2M1FN to f32
  return %1 : f32
}

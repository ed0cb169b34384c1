// RUN: kpc-opt %s --kpc-expand-math | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline="builtin.module(kpc-expand-math{fp8-instructions})" | FileCheck %s --check-prefix=FP8

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

// Numbers become codes: by arithmetic on bits, or by the instruction that GPUs have from sm_89 on, which saturates.
// CHECK-LABEL: @to_codes(
// CHECK-NOT: arith.truncf
// CHECK: arith.trunci %{{.*}} : i32 to i8
// CHECK-NOT: f8E4M3FN
func.func @to_codes(%x: f32) -> i8 {
  %0 = arith.truncf %x : f32 to f8E4M3FN
  %1 = arith.bitcast %0 : f8E4M3FN to i8
  return %1 : i8
}

// CHECK-LABEL: @kernel
// CHECK-NOT: nvvm.convert
// FP8-LABEL: @kernel
// FP8: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// FP8: nvvm.convert.f32x2.to.f8x2 %[[ZERO]], %{{.*}} {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
// FP8: %[[INSIDE:.*]] = arith.cmpf oge, %{{.*}}, %{{.*}} : f32
// FP8: arith.select %[[INSIDE]]
gpu.module @m {
  gpu.func @kernel(%x: f32, %y: memref<i8>) kernel {
    %0 = arith.truncf %x : f32 to f8E4M3FN
    %1 = arith.bitcast %0 : f8E4M3FN to i8
    memref.store %1, %y[] : memref<i8>
    gpu.return
  }
}

// The canonicaliser makes one op of an integer's way through f32.
// CHECK-LABEL: @integer(
// CHECK: arith.sitofp %{{.*}} : i32 to f32
// CHECK-NOT: f8E5M2
func.func @integer(%x: i32) -> i8 {
  %0 = arith.sitofp %x : i32 to f8E5M2
  %1 = arith.bitcast %0 : f8E5M2 to i8
  return %1 : i8
}

// Chips from sm_89 on have an instruction for two codes of E4M3; those of E5M2 are the upper bytes of f16.
// FP8-LABEL: @by_instruction(
// FP8: %[[WORD:.*]] = arith.extui %{{.*}} : i8 to i16
// FP8-NEXT: %[[BYTES:.*]] = llvm.bitcast %[[WORD]] : i16 to vector<2xi8>
// FP8-NEXT: %[[BOTH:.*]] = nvvm.convert.f8x2.to.f16x2 %[[BYTES]] {{.*}}: vector<2xi8>(f8E4M3FN) -> vector<2xf16>
// FP8: %[[FIRST:.*]] = llvm.extractelement %[[BOTH]]
// FP8-NEXT: arith.extf %[[FIRST]] : f16 to f32
// FP8: %[[HIGH:.*]] = arith.shli %{{.*}}, %{{.*}} : i16
// FP8-NEXT: %[[HALF:.*]] = arith.bitcast %[[HIGH]] : i16 to f16
// FP8-NEXT: arith.extf %[[HALF]] : f16 to f32
// CHECK-LABEL: @by_instruction(
// CHECK-NOT: nvvm
gpu.module @codes {
  gpu.func @by_instruction(%x: i8, %y: i8, %to: memref<2xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = arith.bitcast %x : i8 to f8E4M3FN
    %1 = arith.extf %0 : f8E4M3FN to f32
    %2 = arith.bitcast %y : i8 to f8E5M2
    %3 = arith.extf %2 : f8E5M2 to f32
    memref.store %1, %to[%c0] : memref<2xf32>
    memref.store %3, %to[%c1] : memref<2xf32>
    gpu.return
  }
}

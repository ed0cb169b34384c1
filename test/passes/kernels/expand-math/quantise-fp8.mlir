// RUN: kpc-opt %s --split-input-file --pass-pipeline="builtin.module(kpc-expand-math{fp8-instructions})" | FileCheck %s
// RUN: kpc-opt %s --split-input-file --kpc-expand-math | FileCheck %s --check-prefix=BITS

// What both ends of the format bound is one instruction: it saturates, and arithmetic's NaN has no sign on a GPU.
// 0.02 needs 48 bits of its reciprocal.
// CHECK-LABEL: @by_selects
// CHECK-NOT: arith.divf
// CHECK-NOT: arith.select
// CHECK: %[[REST:.*]] = arith.mulf %[[X:.*]], %{{.*}} : f32
// CHECK: %[[QUOTIENT:.*]] = math.fma %[[X]], %{{.*}}, %[[REST]] : f32
// CHECK: %[[TWO:.*]] = nvvm.convert.f32x2.to.f8x2 %{{.*}}, %[[QUOTIENT]] {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
// CHECK-NEXT: %[[CODE:.*]] = arith.trunci %[[TWO]] : i16 to i8
// CHECK-NEXT: memref.store %[[CODE]]
// BITS-LABEL: @by_selects
// BITS: arith.divf
// BITS-NOT: nvvm
gpu.module @selects {
  gpu.func @by_selects(%x: f32, %y: memref<i8>) kernel {
    %scale = arith.constant 2.0e-02 : f32
    %most = arith.constant 448.0 : f32
    %least = arith.constant -448.0 : f32
    %quotient = arith.divf %x, %scale : f32
    %above = arith.cmpf ogt, %quotient, %most : f32
    %high = arith.select %above, %most, %quotient : f32
    %below = arith.cmpf olt, %high, %least : f32
    %in = arith.select %below, %least, %high : f32
    %0 = arith.truncf %in : f32 to f8E4M3FN
    %1 = arith.bitcast %0 : f8E4M3FN to i8
    memref.store %1, %y[] : memref<i8>
    gpu.return
  }
}

// -----

// The reciprocal of a power of two is exact. E5M2's NaN is the first one, not the instruction's.
// CHECK-LABEL: @by_bounds
// CHECK-NOT: arith.minimumf
// CHECK: %[[QUOTIENT:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK-NOT: math.fma
// CHECK: nvvm.convert.f32x2.to.f8x2 %{{.*}}, %[[QUOTIENT]]
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %[[QUOTIENT]], %[[QUOTIENT]] : f32
// CHECK: arith.select %[[NAN]]
gpu.module @bounds {
  gpu.func @by_bounds(%x: f32, %y: memref<i8>) kernel {
    %scale = arith.constant 0.125 : f32
    %most = arith.constant 57344.0 : f32
    %least = arith.constant -57344.0 : f32
    %quotient = arith.divf %x, %scale : f32
    %high = arith.minimumf %quotient, %most : f32
    %in = arith.maximumf %high, %least : f32
    %0 = arith.truncf %in : f32 to f8E5M2
    %1 = arith.bitcast %0 : f8E5M2 to i8
    memref.store %1, %y[] : memref<i8>
    gpu.return
  }
}

// -----

// A number that was loaded may be a NaN with a sign, which codes keep; what is bounded on one side alone may become infinity.
// CHECK-LABEL: @loaded
// CHECK: arith.select
// CHECK: nvvm.convert.f32x2.to.f8x2
// CHECK: arith.cmpf oge
// CHECK-LABEL: @one_side
// CHECK: nvvm.convert.f32x2.to.f8x2
// CHECK: arith.cmpf oge
gpu.module @others {
  gpu.func @loaded(%x: f32, %y: memref<i8>) kernel {
    %most = arith.constant 448.0 : f32
    %least = arith.constant -448.0 : f32
    %above = arith.cmpf ogt, %x, %most : f32
    %high = arith.select %above, %most, %x : f32
    %below = arith.cmpf olt, %high, %least : f32
    %in = arith.select %below, %least, %high : f32
    %0 = arith.truncf %in : f32 to f8E4M3FN
    %1 = arith.bitcast %0 : f8E4M3FN to i8
    memref.store %1, %y[] : memref<i8>
    gpu.return
  }
  gpu.func @one_side(%x: f32, %y: memref<i8>) kernel {
    %most = arith.constant 448.0 : f32
    %sum = arith.addf %x, %x : f32
    %in = arith.minimumf %sum, %most : f32
    %0 = arith.truncf %in : f32 to f8E4M3FN
    %1 = arith.bitcast %0 : f8E4M3FN to i8
    memref.store %1, %y[] : memref<i8>
    gpu.return
  }
}

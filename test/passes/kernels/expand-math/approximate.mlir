// RUN: kpc-opt --kpc-expand-math %s | FileCheck %s

// What a kernel of 16-bit outputs marks is approximated, on a GPU alone; 1 + erf and 1 + tanh are shorter than the functions.
gpu.module @m {
  // CHECK-LABEL: func.func @exp
  // CHECK: arith.mulf
  // CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
  // CHECK-NEXT: return
  func.func @exp(%x: f32) -> f32 {
    %0 = math.exp %x fastmath<afn> : f32
    return %0 : f32
  }

  // CHECK-LABEL: func.func @exact
  // CHECK-NOT: ex2
  // CHECK: return
  func.func @exact(%x: f32) -> f32 {
    %0 = math.exp %x : f32
    return %0 : f32
  }

  // A power is one exponential of a logarithm in f32.
  // CHECK-LABEL: func.func @power
  // CHECK-NOT: f64
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
  // CHECK-NOT: f64
  // CHECK: return
  func.func @power(%x: f32, %y: f32) -> f32 {
    %0 = math.powf %x, %y fastmath<afn> : f32
    return %0 : f32
  }

  // CHECK-LABEL: func.func @gate
  // CHECK-NOT: bitcast
  // CHECK: ex2.approx
  // CHECK: nvvm.rcp.approx.ftz.f
  // CHECK: ex2.approx
  // CHECK-NOT: bitcast
  // CHECK: return
  func.func @gate(%x: f32) -> (f32, f32) {
    %one = arith.constant 1.0 : f32
    %0 = math.tanh %x fastmath<afn> : f32
    %1 = arith.addf %0, %one : f32
    %2 = math.erf %x fastmath<afn> : f32
    %3 = arith.addf %one, %2 : f32
    return %1, %3 : f32, f32
  }

  // GELU is one exponential and four to six products of |x|, by the bits that are stored.
  // CHECK-LABEL: func.func @gelu
  // CHECK-SAME: %[[X:.*]]: f32
  // CHECK: %[[ABS:.*]] = math.absf %[[X]]
  // CHECK: %[[A:.*]] = arith.minnumf %[[ABS]], %{{.*}}
  // CHECK-COUNT-6: math.fma {{.*}}, %[[A]],
  // CHECK-NEXT: %[[SHARE:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
  // CHECK: %[[POSITIVE:.*]] = arith.maximumf %[[X]]
  // CHECK: %[[MINUS:.*]] = arith.negf %[[A]]
  // CHECK-NEXT: %[[Y:.*]] = math.fma %[[MINUS]], %[[SHARE]], %[[POSITIVE]]
  // CHECK-NEXT: return %[[Y]]
  func.func @gelu(%x: f32) -> f32 {
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %root = arith.constant 0.707106769 : f32
    %0 = arith.mulf %x, %half : f32
    %1 = arith.mulf %x, %root : f32
    %2 = math.erf %1 fastmath<afn> : f32
    %3 = arith.addf %2, %one : f32
    %4 = arith.mulf %0, %3 : f32
    return %4 : f32
  }

  // CHECK-LABEL: func.func @gelu_fp8
  // CHECK-COUNT-4: math.fma
  // CHECK-NEXT: llvm.call_intrinsic
  // CHECK: math.fma
  // CHECK-NEXT: return
  func.func @gelu_fp8(%x: f32) -> f32 {
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %root = arith.constant 0.707106769 : f32
    %1 = arith.mulf %x, %root : f32
    %2 = math.erf %1 fastmath<afn> {kernel.stored_bits = 4 : i32} : f32
    %3 = arith.addf %one, %2 : f32
    %4 = arith.mulf %3, %x : f32
    %5 = arith.mulf %half, %4 : f32
    return %5 : f32
  }

  // By tanh: its argument is recognised as a polynomial, however it is spelled.
  // CHECK-LABEL: func.func @gelu_tanh
  // CHECK-SAME: %[[X:.*]]: f32
  // CHECK: arith.mulf %[[X]], %[[X]]
  // CHECK-NEXT: math.fma
  // CHECK-NEXT: arith.mulf %[[X]]
  // CHECK-NEXT: llvm.call_intrinsic
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: %[[SHARE:.*]] = nvvm.rcp.approx.ftz.f
  // CHECK-NEXT: %[[Y:.*]] = arith.mulf %[[X]], %[[SHARE]]
  // CHECK-NEXT: return %[[Y]]
  func.func @gelu_tanh(%x: f32) -> f32 {
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %third = arith.constant 0.044715 : f32
    %slope = arith.constant 0.797884583 : f32
    %0 = arith.mulf %x, %x : f32
    %1 = arith.mulf %0, %x : f32
    %2 = arith.mulf %1, %third : f32
    %3 = arith.addf %2, %x : f32
    %4 = arith.mulf %slope, %3 : f32
    %5 = math.tanh %4 fastmath<afn> : f32
    %6 = arith.addf %5, %one : f32
    %7 = arith.mulf %x, %half : f32
    %8 = arith.mulf %7, %6 : f32
    return %8 : f32
  }

  // Another factor than x/2, or another argument, is no GELU.
  // CHECK-LABEL: func.func @not_gelu
  // CHECK-NOT: maximumf
  // CHECK: return
  func.func @not_gelu(%x: f32, %y: f32) -> (f32, f32) {
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %root = arith.constant 0.707106769 : f32
    %0 = arith.mulf %y, %half : f32
    %1 = arith.mulf %x, %root : f32
    %2 = math.erf %1 fastmath<afn> : f32
    %3 = arith.addf %2, %one : f32
    %4 = arith.mulf %0, %3 : f32
    %5 = math.erf %x fastmath<afn> : f32
    %6 = arith.addf %5, %one : f32
    %7 = arith.mulf %x, %half : f32
    %8 = arith.mulf %7, %6 : f32
    return %4, %8 : f32, f32
  }

  // A divisor of any size is scaled first; 1 + exp(x) need not be.
  // CHECK-LABEL: func.func @divide
  // CHECK: arith.select
  // CHECK: nvvm.rcp.approx.ftz.f
  // CHECK-NOT: arith.divf
  // CHECK-NOT: arith.select
  // CHECK: nvvm.rcp.approx.ftz.f
  // CHECK: return
  func.func @divide(%x: f32, %y: f32) -> (f32, f32) {
    %one = arith.constant 1.0 : f32
    %0 = arith.divf %x, %y fastmath<afn> : f32
    %1 = math.exp %x fastmath<afn> : f32
    %2 = arith.addf %1, %one : f32
    %3 = arith.divf %one, %2 fastmath<afn> : f32
    return %0, %3 : f32, f32
  }

  // The quotient in an exact tanh is that of div.rn, without its branch.
  // CHECK-LABEL: func.func @tanh
  // CHECK: nvvm.rcp.approx.ftz.f
  // CHECK-NOT: arith.divf
  // CHECK: return
  func.func @tanh(%x: f32) -> f32 {
    %0 = math.tanh %x : f32
    return %0 : f32
  }
}

// CHECK-LABEL: func.func @host
// CHECK-NOT: ex2
// CHECK-NOT: rcp
// CHECK: arith.divf
func.func @host(%x: f32, %y: f32) -> (f32, f32) {
  %0 = arith.divf %x, %y fastmath<afn> : f32
  %1 = math.tanh %x fastmath<afn> : f32
  return %0, %1 : f32, f32
}

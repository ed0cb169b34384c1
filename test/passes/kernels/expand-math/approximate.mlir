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

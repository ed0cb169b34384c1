// RUN: kpc-opt %s --lower-regions | FileCheck %s

// Scalar bodies of ops with two operands; integer division and shifts are guarded.

!f32_n = !graph.tensor<[n], f32>
!i32_n = !graph.tensor<[n], i32>
!ui32_n = !graph.tensor<[n], ui32>

func.func @main(%x0: !f32_n, %x1: !i32_n, %x2: !ui32_n) {
  // CHECK-LABEL: func.func @add_f(
  // CHECK: linalg.generic
  // CHECK: arith.addf %
  %0 = graph.region "add_f" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.add %a, %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @sub_f(
  // CHECK: linalg.generic
  // CHECK: arith.subf %
  %1 = graph.region "sub_f" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.sub %a, %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @mul_f(
  // CHECK: linalg.generic
  // CHECK: arith.mulf %
  %2 = graph.region "mul_f" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.mul %a, %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @div_f(
  // CHECK: linalg.generic
  // CHECK: arith.divf %
  %3 = graph.region "div_f" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.div %a, %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @pow_f(
  // CHECK: linalg.generic
  // CHECK: math.powf %
  %4 = graph.region "pow_f" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.pow %a, %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @min_f(
  // CHECK: linalg.generic
  // CHECK: arith.minimumf %
  %5 = graph.region "min_f" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.min %a, %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @max_f(
  // CHECK: linalg.generic
  // CHECK: arith.maximumf %
  %6 = graph.region "max_f" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.max %a, %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @rem_f(
  // CHECK: linalg.generic
  // CHECK: arith.remf %
  %7 = graph.region "rem_f" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.rem %a, %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @mod_f(
  // CHECK: linalg.generic
  // CHECK: arith.remf %
  %8 = graph.region "mod_f" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.mod %a, %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @add_i(
  // CHECK: arith.addi %
  %9 = graph.region "add_i" (%x1) : (!i32_n) -> !i32_n {
  ^bb0(%a: !i32_n):
    %y = graph.add %a, %a : !i32_n
    graph.yield %y : !i32_n
  }
  // CHECK-LABEL: func.func @sub_i(
  // CHECK: arith.subi %
  %10 = graph.region "sub_i" (%x1) : (!i32_n) -> !i32_n {
  ^bb0(%a: !i32_n):
    %y = graph.sub %a, %a : !i32_n
    graph.yield %y : !i32_n
  }
  // CHECK-LABEL: func.func @mul_i(
  // CHECK: arith.muli %
  %11 = graph.region "mul_i" (%x1) : (!i32_n) -> !i32_n {
  ^bb0(%a: !i32_n):
    %y = graph.mul %a, %a : !i32_n
    graph.yield %y : !i32_n
  }
  // CHECK-LABEL: func.func @div_i(
  // CHECK: arith.cmpi eq
  // CHECK: arith.divsi %
  %12 = graph.region "div_i" (%x1) : (!i32_n) -> !i32_n {
  ^bb0(%a: !i32_n):
    %y = graph.div %a, %a : !i32_n
    graph.yield %y : !i32_n
  }
  // CHECK-LABEL: func.func @pow_i(
  // CHECK: math.ipowi %
  %13 = graph.region "pow_i" (%x1) : (!i32_n) -> !i32_n {
  ^bb0(%a: !i32_n):
    %y = graph.pow %a, %a : !i32_n
    graph.yield %y : !i32_n
  }
  // CHECK-LABEL: func.func @min_i(
  // CHECK: arith.minsi %
  %14 = graph.region "min_i" (%x1) : (!i32_n) -> !i32_n {
  ^bb0(%a: !i32_n):
    %y = graph.min %a, %a : !i32_n
    graph.yield %y : !i32_n
  }
  // CHECK-LABEL: func.func @max_i(
  // CHECK: arith.maxsi %
  %15 = graph.region "max_i" (%x1) : (!i32_n) -> !i32_n {
  ^bb0(%a: !i32_n):
    %y = graph.max %a, %a : !i32_n
    graph.yield %y : !i32_n
  }
  // CHECK-LABEL: func.func @rem_i(
  // CHECK: arith.cmpi eq
  // CHECK: arith.remsi %
  %16 = graph.region "rem_i" (%x1) : (!i32_n) -> !i32_n {
  ^bb0(%a: !i32_n):
    %y = graph.rem %a, %a : !i32_n
    graph.yield %y : !i32_n
  }
  // CHECK-LABEL: func.func @mod_i(
  // CHECK: arith.remsi %
  // CHECK: arith.cmpi slt
  %17 = graph.region "mod_i" (%x1) : (!i32_n) -> !i32_n {
  ^bb0(%a: !i32_n):
    %y = graph.mod %a, %a : !i32_n
    graph.yield %y : !i32_n
  }
  // CHECK-LABEL: func.func @shl_i(
  // CHECK: arith.cmpi ult
  // CHECK: arith.shli %
  %18 = graph.region "shl_i" (%x1) : (!i32_n) -> !i32_n {
  ^bb0(%a: !i32_n):
    %y = graph.shl %a, %a : !i32_n
    graph.yield %y : !i32_n
  }
  // CHECK-LABEL: func.func @shr_i(
  // CHECK: arith.cmpi ult
  // CHECK: arith.shrui %
  %19 = graph.region "shr_i" (%x1) : (!i32_n) -> !i32_n {
  ^bb0(%a: !i32_n):
    %y = graph.shr %a, %a : !i32_n
    graph.yield %y : !i32_n
  }
  // CHECK-LABEL: func.func @and_i(
  // CHECK: arith.andi %
  %20 = graph.region "and_i" (%x1) : (!i32_n) -> !i32_n {
  ^bb0(%a: !i32_n):
    %y = graph.and %a, %a : !i32_n
    graph.yield %y : !i32_n
  }
  // CHECK-LABEL: func.func @or_i(
  // CHECK: arith.ori %
  %21 = graph.region "or_i" (%x1) : (!i32_n) -> !i32_n {
  ^bb0(%a: !i32_n):
    %y = graph.or %a, %a : !i32_n
    graph.yield %y : !i32_n
  }
  // CHECK-LABEL: func.func @xor_i(
  // CHECK: arith.xori %
  %22 = graph.region "xor_i" (%x1) : (!i32_n) -> !i32_n {
  ^bb0(%a: !i32_n):
    %y = graph.xor %a, %a : !i32_n
    graph.yield %y : !i32_n
  }
  // CHECK-LABEL: func.func @div_u(
  // CHECK: arith.divui %
  %23 = graph.region "div_u" (%x2) : (!ui32_n) -> !ui32_n {
  ^bb0(%a: !ui32_n):
    %y = graph.div %a, %a : !ui32_n
    graph.yield %y : !ui32_n
  }
  // CHECK-LABEL: func.func @rem_u(
  // CHECK: arith.remui %
  %24 = graph.region "rem_u" (%x2) : (!ui32_n) -> !ui32_n {
  ^bb0(%a: !ui32_n):
    %y = graph.rem %a, %a : !ui32_n
    graph.yield %y : !ui32_n
  }
  // CHECK-LABEL: func.func @max_u(
  // CHECK: arith.maxui %
  %25 = graph.region "max_u" (%x2) : (!ui32_n) -> !ui32_n {
  ^bb0(%a: !ui32_n):
    %y = graph.max %a, %a : !ui32_n
    graph.yield %y : !ui32_n
  }
  // CHECK-LABEL: func.func @min_u(
  // CHECK: arith.minui %
  %26 = graph.region "min_u" (%x2) : (!ui32_n) -> !ui32_n {
  ^bb0(%a: !ui32_n):
    %y = graph.min %a, %a : !ui32_n
    graph.yield %y : !ui32_n
  }
  return
}

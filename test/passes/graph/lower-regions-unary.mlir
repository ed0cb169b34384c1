// RUN: kpc-opt %s --lower-regions | FileCheck %s

// Scalar bodies of ops with one operand.

!f32_n = !graph.tensor<[n], f32>
!i1_n = !graph.tensor<[n], i1>
!i32_n = !graph.tensor<[n], i32>
!ui32_n = !graph.tensor<[n], ui32>

func.func @main(%x0: !f32_n, %x1: !i32_n, %x2: !ui32_n, %x3: !i1_n) {
  // CHECK-LABEL: func.func @abs(
  // CHECK: linalg.generic
  // CHECK: math.absf %
  %0 = graph.region "abs" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.abs %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @neg(
  // CHECK: linalg.generic
  // CHECK: arith.negf %
  %1 = graph.region "neg" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.neg %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @sign(
  // CHECK: linalg.generic
  // CHECK: arith.cmpf ogt,
  %2 = graph.region "sign" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.sign %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @ceil(
  // CHECK: linalg.generic
  // CHECK: math.ceil %
  %3 = graph.region "ceil" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.ceil %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @floor(
  // CHECK: linalg.generic
  // CHECK: math.floor %
  %4 = graph.region "floor" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.floor %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @round(
  // CHECK: linalg.generic
  // CHECK: math.roundeven %
  %5 = graph.region "round" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.round %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @sqrt(
  // CHECK: linalg.generic
  // CHECK: math.sqrt %
  %6 = graph.region "sqrt" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.sqrt %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @rsqrt(
  // CHECK: linalg.generic
  // CHECK: math.rsqrt %
  %7 = graph.region "rsqrt" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.rsqrt %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @reciprocal(
  // CHECK: linalg.generic
  // CHECK: arith.divf %
  %8 = graph.region "reciprocal" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.reciprocal %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @exp(
  // CHECK: linalg.generic
  // CHECK: math.exp %
  %9 = graph.region "exp" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.exp %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @expm1(
  // CHECK: linalg.generic
  // CHECK: math.expm1 %
  %10 = graph.region "expm1" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.expm1 %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @log(
  // CHECK: linalg.generic
  // CHECK: math.log %
  %11 = graph.region "log" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.log %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @log1p(
  // CHECK: linalg.generic
  // CHECK: math.log1p %
  %12 = graph.region "log1p" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.log1p %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @sin(
  // CHECK: linalg.generic
  // CHECK: math.sin %
  %13 = graph.region "sin" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.sin %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @cos(
  // CHECK: linalg.generic
  // CHECK: math.cos %
  %14 = graph.region "cos" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.cos %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @tan(
  // CHECK: linalg.generic
  // CHECK: math.tan %
  %15 = graph.region "tan" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.tan %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @asin(
  // CHECK: linalg.generic
  // CHECK: math.asin %
  %16 = graph.region "asin" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.asin %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @acos(
  // CHECK: linalg.generic
  // CHECK: math.acos %
  %17 = graph.region "acos" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.acos %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @atan(
  // CHECK: linalg.generic
  // CHECK: math.atan %
  %18 = graph.region "atan" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.atan %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @sinh(
  // CHECK: linalg.generic
  // CHECK: math.sinh %
  %19 = graph.region "sinh" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.sinh %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @cosh(
  // CHECK: linalg.generic
  // CHECK: math.cosh %
  %20 = graph.region "cosh" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.cosh %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @tanh(
  // CHECK: linalg.generic
  // CHECK: math.tanh %
  %21 = graph.region "tanh" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.tanh %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @asinh(
  // CHECK: linalg.generic
  // CHECK: math.asinh %
  %22 = graph.region "asinh" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.asinh %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @acosh(
  // CHECK: linalg.generic
  // CHECK: math.acosh %
  %23 = graph.region "acosh" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.acosh %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @atanh(
  // CHECK: linalg.generic
  // CHECK: math.atanh %
  %24 = graph.region "atanh" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.atanh %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @erf(
  // CHECK: linalg.generic
  // CHECK: math.erf %
  %25 = graph.region "erf" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.erf %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @sigmoid(
  // CHECK: linalg.generic
  // CHECK: math.exp %
  %26 = graph.region "sigmoid" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.sigmoid %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @relu(
  // CHECK: linalg.generic
  // CHECK: arith.maximumf %
  %27 = graph.region "relu" (%x0) : (!f32_n) -> !f32_n {
  ^bb0(%a: !f32_n):
    %y = graph.relu %a : !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @abs_i(
  // CHECK: math.absi %
  %28 = graph.region "abs_i" (%x1) : (!i32_n) -> !i32_n {
  ^bb0(%a: !i32_n):
    %y = graph.abs %a : !i32_n
    graph.yield %y : !i32_n
  }
  // CHECK-LABEL: func.func @neg_i(
  // CHECK: arith.subi %
  %29 = graph.region "neg_i" (%x1) : (!i32_n) -> !i32_n {
  ^bb0(%a: !i32_n):
    %y = graph.neg %a : !i32_n
    graph.yield %y : !i32_n
  }
  // CHECK-LABEL: func.func @sign_i(
  // CHECK: arith.cmpi sgt
  // CHECK: arith.cmpi slt
  %30 = graph.region "sign_i" (%x1) : (!i32_n) -> !i32_n {
  ^bb0(%a: !i32_n):
    %y = graph.sign %a : !i32_n
    graph.yield %y : !i32_n
  }
  // CHECK-LABEL: func.func @sign_u(
  // CHECK: arith.cmpi eq
  %31 = graph.region "sign_u" (%x2) : (!ui32_n) -> !ui32_n {
  ^bb0(%a: !ui32_n):
    %y = graph.sign %a : !ui32_n
    graph.yield %y : !ui32_n
  }
  // CHECK-LABEL: func.func @relu_i(
  // CHECK: arith.maxsi %
  %32 = graph.region "relu_i" (%x1) : (!i32_n) -> !i32_n {
  ^bb0(%a: !i32_n):
    %y = graph.relu %a : !i32_n
    graph.yield %y : !i32_n
  }
  // CHECK-LABEL: func.func @not_i(
  // CHECK: arith.constant -1
  // CHECK: arith.xori %
  %33 = graph.region "not_i" (%x1) : (!i32_n) -> !i32_n {
  ^bb0(%a: !i32_n):
    %y = graph.not %a : !i32_n
    graph.yield %y : !i32_n
  }
  // CHECK-LABEL: func.func @not_b(
  // CHECK: arith.xori %
  %34 = graph.region "not_b" (%x3) : (!i1_n) -> !i1_n {
  ^bb0(%a: !i1_n):
    %y = graph.not %a : !i1_n
    graph.yield %y : !i1_n
  }
  // CHECK-LABEL: func.func @is_nan(
  // CHECK: arith.cmpf uno
  %35 = graph.region "is_nan" (%x0) : (!f32_n) -> !i1_n {
  ^bb0(%a: !f32_n):
    %y = graph.is_nan %a : !f32_n
    graph.yield %y : !i1_n
  }
  // CHECK-LABEL: func.func @is_inf(
  // CHECK: arith.cmpf oeq
  // CHECK: arith.cmpf oeq
  %36 = graph.region "is_inf" (%x0) : (!f32_n) -> !i1_n {
  ^bb0(%a: !f32_n):
    %y = graph.is_inf %a : !f32_n
    graph.yield %y : !i1_n
  }
  return
}

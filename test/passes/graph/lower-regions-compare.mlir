// RUN: kpc-opt %s --lower-regions | FileCheck %s

// Comparisons, selection and conversions.

!f16_n = !graph.tensor<[n], f16>
!f32_n = !graph.tensor<[n], f32>
!i1_n = !graph.tensor<[n], i1>
!i8_n = !graph.tensor<[n], i8>
!i32_n = !graph.tensor<[n], i32>
!i64_n = !graph.tensor<[n], i64>
!ui32_n = !graph.tensor<[n], ui32>

func.func @main(%x0: !f32_n, %x1: !i32_n, %x2: !ui32_n, %x3: !i1_n, %x4: !f16_n) {
  // CHECK-LABEL: func.func @eq_f(
  // CHECK: arith.cmpf oeq
  %0 = graph.region "eq_f" (%x0) : (!f32_n) -> !i1_n {
  ^bb0(%a: !f32_n):
    %y = graph.compare eq, %a, %a : !f32_n
    graph.yield %y : !i1_n
  }
  // CHECK-LABEL: func.func @ne_f(
  // CHECK: arith.cmpf une
  %1 = graph.region "ne_f" (%x0) : (!f32_n) -> !i1_n {
  ^bb0(%a: !f32_n):
    %y = graph.compare ne, %a, %a : !f32_n
    graph.yield %y : !i1_n
  }
  // CHECK-LABEL: func.func @lt_f(
  // CHECK: arith.cmpf olt
  %2 = graph.region "lt_f" (%x0) : (!f32_n) -> !i1_n {
  ^bb0(%a: !f32_n):
    %y = graph.compare lt, %a, %a : !f32_n
    graph.yield %y : !i1_n
  }
  // CHECK-LABEL: func.func @le_f(
  // CHECK: arith.cmpf ole
  %3 = graph.region "le_f" (%x0) : (!f32_n) -> !i1_n {
  ^bb0(%a: !f32_n):
    %y = graph.compare le, %a, %a : !f32_n
    graph.yield %y : !i1_n
  }
  // CHECK-LABEL: func.func @gt_f(
  // CHECK: arith.cmpf ogt
  %4 = graph.region "gt_f" (%x0) : (!f32_n) -> !i1_n {
  ^bb0(%a: !f32_n):
    %y = graph.compare gt, %a, %a : !f32_n
    graph.yield %y : !i1_n
  }
  // CHECK-LABEL: func.func @ge_f(
  // CHECK: arith.cmpf oge
  %5 = graph.region "ge_f" (%x0) : (!f32_n) -> !i1_n {
  ^bb0(%a: !f32_n):
    %y = graph.compare ge, %a, %a : !f32_n
    graph.yield %y : !i1_n
  }
  // CHECK-LABEL: func.func @eq_i(
  // CHECK: arith.cmpi eq
  %6 = graph.region "eq_i" (%x1) : (!i32_n) -> !i1_n {
  ^bb0(%a: !i32_n):
    %y = graph.compare eq, %a, %a : !i32_n
    graph.yield %y : !i1_n
  }
  // CHECK-LABEL: func.func @ne_i(
  // CHECK: arith.cmpi ne
  %7 = graph.region "ne_i" (%x1) : (!i32_n) -> !i1_n {
  ^bb0(%a: !i32_n):
    %y = graph.compare ne, %a, %a : !i32_n
    graph.yield %y : !i1_n
  }
  // CHECK-LABEL: func.func @lt_i(
  // CHECK: arith.cmpi slt
  %8 = graph.region "lt_i" (%x1) : (!i32_n) -> !i1_n {
  ^bb0(%a: !i32_n):
    %y = graph.compare lt, %a, %a : !i32_n
    graph.yield %y : !i1_n
  }
  // CHECK-LABEL: func.func @le_i(
  // CHECK: arith.cmpi sle
  %9 = graph.region "le_i" (%x1) : (!i32_n) -> !i1_n {
  ^bb0(%a: !i32_n):
    %y = graph.compare le, %a, %a : !i32_n
    graph.yield %y : !i1_n
  }
  // CHECK-LABEL: func.func @gt_i(
  // CHECK: arith.cmpi sgt
  %10 = graph.region "gt_i" (%x1) : (!i32_n) -> !i1_n {
  ^bb0(%a: !i32_n):
    %y = graph.compare gt, %a, %a : !i32_n
    graph.yield %y : !i1_n
  }
  // CHECK-LABEL: func.func @ge_i(
  // CHECK: arith.cmpi sge
  %11 = graph.region "ge_i" (%x1) : (!i32_n) -> !i1_n {
  ^bb0(%a: !i32_n):
    %y = graph.compare ge, %a, %a : !i32_n
    graph.yield %y : !i1_n
  }
  // CHECK-LABEL: func.func @lt_u(
  // CHECK: arith.cmpi ult
  %12 = graph.region "lt_u" (%x2) : (!ui32_n) -> !i1_n {
  ^bb0(%a: !ui32_n):
    %y = graph.compare lt, %a, %a : !ui32_n
    graph.yield %y : !i1_n
  }
  // CHECK-LABEL: func.func @le_u(
  // CHECK: arith.cmpi ule
  %13 = graph.region "le_u" (%x2) : (!ui32_n) -> !i1_n {
  ^bb0(%a: !ui32_n):
    %y = graph.compare le, %a, %a : !ui32_n
    graph.yield %y : !i1_n
  }
  // CHECK-LABEL: func.func @gt_u(
  // CHECK: arith.cmpi ugt
  %14 = graph.region "gt_u" (%x2) : (!ui32_n) -> !i1_n {
  ^bb0(%a: !ui32_n):
    %y = graph.compare gt, %a, %a : !ui32_n
    graph.yield %y : !i1_n
  }
  // CHECK-LABEL: func.func @ge_u(
  // CHECK: arith.cmpi uge
  %15 = graph.region "ge_u" (%x2) : (!ui32_n) -> !i1_n {
  ^bb0(%a: !ui32_n):
    %y = graph.compare ge, %a, %a : !ui32_n
    graph.yield %y : !i1_n
  }
  // CHECK-LABEL: func.func @select(
  // CHECK: arith.select
  %16 = graph.region "select" (%x3, %x0) : (!i1_n, !f32_n) -> !f32_n {
  ^bb0(%a: !i1_n, %b: !f32_n):
    %y = graph.select %a, %b, %b : !i1_n, !f32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @f32_to_f16(
  // CHECK: arith.truncf %{{.*}} : f32 to f16
  %17 = graph.region "f32_to_f16" (%x0) : (!f32_n) -> !f16_n {
  ^bb0(%a: !f32_n):
    %y = graph.cast %a to f16 : !f32_n
    graph.yield %y : !f16_n
  }
  // CHECK-LABEL: func.func @f16_to_f32(
  // CHECK: arith.extf %{{.*}} : f16 to f32
  %18 = graph.region "f16_to_f32" (%x4) : (!f16_n) -> !f32_n {
  ^bb0(%a: !f16_n):
    %y = graph.cast %a to f32 : !f16_n
    graph.yield %y : !f32_n
  }
  // What an i32 cannot hold becomes its least or greatest value, NaN zero.
  // CHECK-LABEL: func.func @f32_to_i32(
  // CHECK: %[[NONE:.*]] = arith.constant 0 : i32
  // CHECK: %[[LOW:.*]] = arith.constant -2147483648 : i32
  // CHECK: %[[HIGH:.*]] = arith.constant 2147483647 : i32
  // CHECK: %[[LEAST:.*]] = arith.constant -2.14748365E+9 : f32
  // CHECK: %[[IS_LOW:.*]] = arith.cmpf ole, %[[X:.*]], %[[LEAST]] : f32
  // CHECK: %[[END:.*]] = arith.constant 2.14748365E+9 : f32
  // CHECK: %[[IS_HIGH:.*]] = arith.cmpf oge, %[[X]], %[[END]] : f32
  // CHECK: %[[IS_NAN:.*]] = arith.cmpf uno, %[[X]], %[[X]] : f32
  // CHECK: %[[Y0:.*]] = arith.fptosi %[[X]] : f32 to i32
  // CHECK: %[[Y1:.*]] = arith.select %[[IS_LOW]], %[[LOW]], %[[Y0]] : i32
  // CHECK: %[[Y2:.*]] = arith.select %[[IS_HIGH]], %[[HIGH]], %[[Y1]] : i32
  // CHECK: arith.select %[[IS_NAN]], %[[NONE]], %[[Y2]] : i32
  %19 = graph.region "f32_to_i32" (%x0) : (!f32_n) -> !i32_n {
  ^bb0(%a: !f32_n):
    %y = graph.cast %a to i32 : !f32_n
    graph.yield %y : !i32_n
  }
  // The same of 8 bits, by bounds that every float type holds.
  // CHECK-LABEL: func.func @f32_to_i8(
  // CHECK: %[[NONE:.*]] = arith.constant 0 : i8
  // CHECK: %[[ABOVE:.*]] = arith.maxnumf %[[X:.*]], %{{.*}} : f32
  // CHECK: %[[IN:.*]] = arith.minnumf %[[ABOVE]], %{{.*}} : f32
  // CHECK: %[[IS_NAN:.*]] = arith.cmpf uno, %[[X]], %[[X]] : f32
  // CHECK: %[[CODE:.*]] = arith.fptosi %[[IN]] : f32 to i8
  // CHECK: arith.select %[[IS_NAN]], %[[NONE]], %[[CODE]] : i8
  %narrow = graph.region "f32_to_i8" (%x0) : (!f32_n) -> !i8_n {
  ^bb0(%a: !f32_n):
    %y = graph.cast %a to i8 : !f32_n
    graph.yield %y : !i8_n
  }
  // CHECK-LABEL: func.func @f32_to_ui32(
  // CHECK: %[[HIGH:.*]] = arith.constant -1 : i32
  // CHECK: arith.constant 0.000000e+00 : f32
  // CHECK: arith.cmpf ole
  // CHECK: arith.constant 4.2949673E+9 : f32
  // CHECK: arith.cmpf oge
  // CHECK: arith.fptoui %{{.*}} : f32 to i32
  // CHECK: arith.select %{{.*}}, %[[HIGH]]
  %20 = graph.region "f32_to_ui32" (%x0) : (!f32_n) -> !ui32_n {
  ^bb0(%a: !f32_n):
    %y = graph.cast %a to ui32 : !f32_n
    graph.yield %y : !ui32_n
  }
  // CHECK-LABEL: func.func @i32_to_f32(
  // CHECK: arith.sitofp
  %21 = graph.region "i32_to_f32" (%x1) : (!i32_n) -> !f32_n {
  ^bb0(%a: !i32_n):
    %y = graph.cast %a to f32 : !i32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @ui32_to_f32(
  // CHECK: arith.uitofp
  %22 = graph.region "ui32_to_f32" (%x2) : (!ui32_n) -> !f32_n {
  ^bb0(%a: !ui32_n):
    %y = graph.cast %a to f32 : !ui32_n
    graph.yield %y : !f32_n
  }
  // CHECK-LABEL: func.func @i32_to_i64(
  // CHECK: arith.extsi
  %23 = graph.region "i32_to_i64" (%x1) : (!i32_n) -> !i64_n {
  ^bb0(%a: !i32_n):
    %y = graph.cast %a to i64 : !i32_n
    graph.yield %y : !i64_n
  }
  // CHECK-LABEL: func.func @ui32_to_i64(
  // CHECK: arith.extui
  %24 = graph.region "ui32_to_i64" (%x2) : (!ui32_n) -> !i64_n {
  ^bb0(%a: !ui32_n):
    %y = graph.cast %a to i64 : !ui32_n
    graph.yield %y : !i64_n
  }
  // CHECK-LABEL: func.func @f32_to_i1(
  // CHECK: arith.cmpf une
  %25 = graph.region "f32_to_i1" (%x0) : (!f32_n) -> !i1_n {
  ^bb0(%a: !f32_n):
    %y = graph.cast %a to i1 : !f32_n
    graph.yield %y : !i1_n
  }
  // CHECK-LABEL: func.func @i1_to_f32(
  // CHECK: arith.uitofp
  %26 = graph.region "i1_to_f32" (%x3) : (!i1_n) -> !f32_n {
  ^bb0(%a: !i1_n):
    %y = graph.cast %a to f32 : !i1_n
    graph.yield %y : !f32_n
  }
  return
}

// RUN: kpc-opt %s | kpc-opt | FileCheck %s

!f = !graph.tensor<[n, 4], f32>
!i = !graph.tensor<[n, 4], i32>
!b = !graph.tensor<[n, 4], i1>

// CHECK-LABEL: func.func @float_unary(
func.func @float_unary(%x: !f) {
  // CHECK: graph.abs %{{.*}} : <[n, 4], f32>
  %0 = graph.abs %x : !f
  // CHECK: graph.neg %{{.*}} : <[n, 4], f32>
  %1 = graph.neg %x : !f
  // CHECK: graph.sign %{{.*}} : <[n, 4], f32>
  %2 = graph.sign %x : !f
  // CHECK: graph.ceil %{{.*}} : <[n, 4], f32>
  %3 = graph.ceil %x : !f
  // CHECK: graph.floor %{{.*}} : <[n, 4], f32>
  %4 = graph.floor %x : !f
  // CHECK: graph.round %{{.*}} : <[n, 4], f32>
  %5 = graph.round %x : !f
  // CHECK: graph.sqrt %{{.*}} : <[n, 4], f32>
  %6 = graph.sqrt %x : !f
  // CHECK: graph.rsqrt %{{.*}} : <[n, 4], f32>
  %7 = graph.rsqrt %x : !f
  // CHECK: graph.reciprocal %{{.*}} : <[n, 4], f32>
  %8 = graph.reciprocal %x : !f
  // CHECK: graph.exp %{{.*}} : <[n, 4], f32>
  %9 = graph.exp %x : !f
  // CHECK: graph.expm1 %{{.*}} : <[n, 4], f32>
  %10 = graph.expm1 %x : !f
  // CHECK: graph.log %{{.*}} : <[n, 4], f32>
  %11 = graph.log %x : !f
  // CHECK: graph.log1p %{{.*}} : <[n, 4], f32>
  %12 = graph.log1p %x : !f
  // CHECK: graph.sin %{{.*}} : <[n, 4], f32>
  %13 = graph.sin %x : !f
  // CHECK: graph.cos %{{.*}} : <[n, 4], f32>
  %14 = graph.cos %x : !f
  // CHECK: graph.tan %{{.*}} : <[n, 4], f32>
  %15 = graph.tan %x : !f
  // CHECK: graph.asin %{{.*}} : <[n, 4], f32>
  %16 = graph.asin %x : !f
  // CHECK: graph.acos %{{.*}} : <[n, 4], f32>
  %17 = graph.acos %x : !f
  // CHECK: graph.atan %{{.*}} : <[n, 4], f32>
  %18 = graph.atan %x : !f
  // CHECK: graph.sinh %{{.*}} : <[n, 4], f32>
  %19 = graph.sinh %x : !f
  // CHECK: graph.cosh %{{.*}} : <[n, 4], f32>
  %20 = graph.cosh %x : !f
  // CHECK: graph.tanh %{{.*}} : <[n, 4], f32>
  %21 = graph.tanh %x : !f
  // CHECK: graph.asinh %{{.*}} : <[n, 4], f32>
  %22 = graph.asinh %x : !f
  // CHECK: graph.acosh %{{.*}} : <[n, 4], f32>
  %23 = graph.acosh %x : !f
  // CHECK: graph.atanh %{{.*}} : <[n, 4], f32>
  %24 = graph.atanh %x : !f
  // CHECK: graph.erf %{{.*}} : <[n, 4], f32>
  %25 = graph.erf %x : !f
  // CHECK: graph.sigmoid %{{.*}} : <[n, 4], f32>
  %26 = graph.sigmoid %x : !f
  // CHECK: graph.relu %{{.*}} : <[n, 4], f32>
  %27 = graph.relu %x : !f
  return
}

// CHECK-LABEL: func.func @integer_unary(
func.func @integer_unary(%x: !i, %c: !b) {
  // CHECK: graph.abs %{{.*}} : <[n, 4], i32>
  %0 = graph.abs %x : !i
  // CHECK: graph.neg %{{.*}} : <[n, 4], i32>
  %1 = graph.neg %x : !i
  // CHECK: graph.sign %{{.*}} : <[n, 4], i32>
  %2 = graph.sign %x : !i
  // CHECK: graph.relu %{{.*}} : <[n, 4], i32>
  %3 = graph.relu %x : !i
  // CHECK: graph.not %{{.*}} : <[n, 4], i32>
  %4 = graph.not %x : !i
  // CHECK: graph.not %{{.*}} : <[n, 4], i1>
  %5 = graph.not %c : !b
  return
}

// CHECK-LABEL: func.func @float_binary(
func.func @float_binary(%a: !f, %b: !f) {
  // CHECK: graph.add %{{.*}}, %{{.*}} : <[n, 4], f32>
  %0 = graph.add %a, %b : !f
  // CHECK: graph.sub %{{.*}}, %{{.*}} : <[n, 4], f32>
  %1 = graph.sub %a, %b : !f
  // CHECK: graph.mul %{{.*}}, %{{.*}} : <[n, 4], f32>
  %2 = graph.mul %a, %b : !f
  // CHECK: graph.div %{{.*}}, %{{.*}} : <[n, 4], f32>
  %3 = graph.div %a, %b : !f
  // CHECK: graph.pow %{{.*}}, %{{.*}} : <[n, 4], f32>
  %4 = graph.pow %a, %b : !f
  // CHECK: graph.min %{{.*}}, %{{.*}} : <[n, 4], f32>
  %5 = graph.min %a, %b : !f
  // CHECK: graph.max %{{.*}}, %{{.*}} : <[n, 4], f32>
  %6 = graph.max %a, %b : !f
  // CHECK: graph.mod %{{.*}}, %{{.*}} : <[n, 4], f32>
  %7 = graph.mod %a, %b : !f
  // CHECK: graph.rem %{{.*}}, %{{.*}} : <[n, 4], f32>
  %8 = graph.rem %a, %b : !f
  return
}

// CHECK-LABEL: func.func @integer_binary(
func.func @integer_binary(%a: !i, %b: !i) {
  // CHECK: graph.add %{{.*}}, %{{.*}} : <[n, 4], i32>
  %0 = graph.add %a, %b : !i
  // CHECK: graph.sub %{{.*}}, %{{.*}} : <[n, 4], i32>
  %1 = graph.sub %a, %b : !i
  // CHECK: graph.mul %{{.*}}, %{{.*}} : <[n, 4], i32>
  %2 = graph.mul %a, %b : !i
  // CHECK: graph.div %{{.*}}, %{{.*}} : <[n, 4], i32>
  %3 = graph.div %a, %b : !i
  // CHECK: graph.pow %{{.*}}, %{{.*}} : <[n, 4], i32>
  %4 = graph.pow %a, %b : !i
  // CHECK: graph.min %{{.*}}, %{{.*}} : <[n, 4], i32>
  %5 = graph.min %a, %b : !i
  // CHECK: graph.max %{{.*}}, %{{.*}} : <[n, 4], i32>
  %6 = graph.max %a, %b : !i
  // CHECK: graph.mod %{{.*}}, %{{.*}} : <[n, 4], i32>
  %7 = graph.mod %a, %b : !i
  // CHECK: graph.rem %{{.*}}, %{{.*}} : <[n, 4], i32>
  %8 = graph.rem %a, %b : !i
  // CHECK: graph.and %{{.*}}, %{{.*}} : <[n, 4], i32>
  %9 = graph.and %a, %b : !i
  // CHECK: graph.or %{{.*}}, %{{.*}} : <[n, 4], i32>
  %10 = graph.or %a, %b : !i
  // CHECK: graph.xor %{{.*}}, %{{.*}} : <[n, 4], i32>
  %11 = graph.xor %a, %b : !i
  // CHECK: graph.shl %{{.*}}, %{{.*}} : <[n, 4], i32>
  %12 = graph.shl %a, %b : !i
  // CHECK: graph.shr %{{.*}}, %{{.*}} : <[n, 4], i32>
  %13 = graph.shr %a, %b : !i
  return
}

// CHECK-LABEL: func.func @to_bool(
func.func @to_bool(%a: !f, %b: !f) -> (!b, !b, !b, !b, !b, !b, !b, !b) {
  // CHECK: graph.compare eq, %{{.*}}, %{{.*}} : <[n, 4], f32>
  %0 = graph.compare eq, %a, %b : !f
  // CHECK: graph.compare ne, %{{.*}}, %{{.*}} : <[n, 4], f32>
  %1 = graph.compare ne, %a, %b : !f
  // CHECK: graph.compare lt, %{{.*}}, %{{.*}} : <[n, 4], f32>
  %2 = graph.compare lt, %a, %b : !f
  // CHECK: graph.compare le, %{{.*}}, %{{.*}} : <[n, 4], f32>
  %3 = graph.compare le, %a, %b : !f
  // CHECK: graph.compare gt, %{{.*}}, %{{.*}} : <[n, 4], f32>
  %4 = graph.compare gt, %a, %b : !f
  // CHECK: graph.compare ge, %{{.*}}, %{{.*}} : <[n, 4], f32>
  %5 = graph.compare ge, %a, %b : !f
  // CHECK: graph.is_nan %{{.*}} : <[n, 4], f32>
  %6 = graph.is_nan %a : !f
  // CHECK: graph.is_inf %{{.*}} {negative = false} : <[n, 4], f32>
  %7 = graph.is_inf %a {negative = false} : !f
  return %0, %1, %2, %3, %4, %5, %6, %7 : !b, !b, !b, !b, !b, !b, !b, !b
}

// CHECK-LABEL: func.func @select_and_cast(
func.func @select_and_cast(%c: !b, %a: !f, %b: !f) -> (!f, !graph.tensor<[n, 4], f16>) {
  // CHECK: graph.select %{{.*}}, %{{.*}}, %{{.*}} : <[n, 4], i1>, <[n, 4], f32>
  %0 = graph.select %c, %a, %b : !b, !f
  // CHECK: graph.cast %{{.*}} to f16 : <[n, 4], f32>
  %1 = graph.cast %a to f16 : !f
  return %0, %1 : !f, !graph.tensor<[n, 4], f16>
}

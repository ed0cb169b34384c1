// RUN: kpc-opt %s --recognise-gelu --canonicalize | FileCheck %s
// RUN: kpc-opt %s --recognise-gelu --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

!x = !graph.tensor<[n, 8], f32>
!s = !graph.tensor<[], f32>

// The exporter by TorchScript.
// CHECK-LABEL: @half_last(
// CHECK-SAME: %[[X:.*]]: !graph.tensor<[n, 8], f32>
// CHECK-DAG: %[[R:.*]] = graph.constant dense<0.707106769> : tensor<f32>
// CHECK-DAG: %[[FACTOR:.*]] = graph.broadcast %[[R]]
// CHECK-DAG: %[[H:.*]] = graph.constant dense<5.000000e-01> : tensor<f32>
// CHECK-DAG: %[[HALF:.*]] = graph.broadcast %[[H]]
// CHECK-DAG: %[[O:.*]] = graph.constant dense<1.000000e+00> : tensor<f32>
// CHECK-DAG: %[[ONE:.*]] = graph.broadcast %[[O]]
// CHECK: %[[A:.*]] = graph.mul %[[X]], %[[FACTOR]]
// CHECK-NEXT: %[[E:.*]] = graph.erf %[[A]]
// CHECK-NEXT: %[[HX:.*]] = graph.mul %[[X]], %[[HALF]]
// CHECK-NEXT: %[[SUM:.*]] = graph.add %[[E]], %[[ONE]]
// CHECK-NEXT: %[[Y:.*]] = graph.mul %[[HX]], %[[SUM]]
// CHECK-NEXT: return %[[Y]]
// REMARK: GELU is recognised: its argument is multiplied, not divided.
func.func @half_last(%x: !x) -> !x {
  %r = graph.constant dense<1.41421354> : tensor<f32>
  %root = graph.broadcast %r : !s to !x
  %h = graph.constant dense<0.5> : tensor<f32>
  %half = graph.broadcast %h : !s to !x
  %o = graph.constant dense<1.0> : tensor<f32>
  %one = graph.broadcast %o : !s to !x
  %0 = graph.div %x, %root : !x
  %1 = graph.erf %0 : !x
  %2 = graph.add %1, %one : !x
  %3 = graph.mul %x, %2 : !x
  %4 = graph.mul %3, %half : !x
  return %4 : !x
}

// The half at the sum, and factors on the other sides.
// CHECK-LABEL: @half_of_sum(
// CHECK-SAME: %[[X:.*]]: !graph.tensor<[n, 8], f32>
// CHECK-NOT: graph.div
// CHECK: graph.erf
// CHECK-NEXT: %[[HX:.*]] = graph.mul %[[X]],
// CHECK-NEXT: %[[SUM:.*]] = graph.add
// CHECK-NEXT: graph.mul %[[HX]], %[[SUM]]
// REMARK: GELU is recognised
func.func @half_of_sum(%x: !x) -> !x {
  %r = graph.constant dense<0.707106769> : tensor<f32>
  %root = graph.broadcast %r : !s to !x
  %h = graph.constant dense<0.5> : tensor<f32>
  %half = graph.broadcast %h : !s to !x
  %o = graph.constant dense<1.0> : tensor<f32>
  %one = graph.broadcast %o : !s to !x
  %0 = graph.mul %root, %x : !x
  %1 = graph.erf %0 : !x
  %2 = graph.add %one, %1 : !x
  %3 = graph.mul %half, %2 : !x
  %4 = graph.mul %3, %x : !x
  return %4 : !x
}

// One of another: both.
// CHECK-LABEL: @twice(
// CHECK-NOT: graph.div
// CHECK: return
// REMARK: GELU is recognised
// REMARK: GELU is recognised
func.func @twice(%x: !x) -> !x {
  %r = graph.constant dense<1.41421354> : tensor<f32>
  %root = graph.broadcast %r : !s to !x
  %h = graph.constant dense<0.5> : tensor<f32>
  %half = graph.broadcast %h : !s to !x
  %o = graph.constant dense<1.0> : tensor<f32>
  %one = graph.broadcast %o : !s to !x
  %0 = graph.div %x, %root : !x
  %1 = graph.erf %0 : !x
  %2 = graph.add %1, %one : !x
  %3 = graph.mul %x, %half : !x
  %4 = graph.mul %3, %2 : !x
  %5 = graph.div %4, %root : !x
  %6 = graph.erf %5 : !x
  %7 = graph.add %6, %one : !x
  %8 = graph.mul %4, %7 : !x
  %9 = graph.mul %8, %half : !x
  return %9 : !x
}

// What is left as it is: another divisor, another factor than what is in erf, a sum that others use, and f16, whose
// quotient has another rounding.
// CHECK-LABEL: @others(
// CHECK-COUNT-4: graph.div
// CHECK: return
// REMARK-NOT: GELU
func.func @others(%x: !x, %z: !x, %f: !graph.tensor<[n, 8], f16>) -> (!x, !x, !x, !x, !graph.tensor<[n, 8], f16>) {
  %r = graph.constant dense<1.41421354> : tensor<f32>
  %root = graph.broadcast %r : !s to !x
  %t = graph.constant dense<2.0> : tensor<f32>
  %two = graph.broadcast %t : !s to !x
  %h = graph.constant dense<0.5> : tensor<f32>
  %half = graph.broadcast %h : !s to !x
  %o = graph.constant dense<1.0> : tensor<f32>
  %one = graph.broadcast %o : !s to !x
  %0 = graph.div %x, %two : !x
  %1 = graph.erf %0 : !x
  %2 = graph.add %1, %one : !x
  %3 = graph.mul %x, %2 : !x
  %4 = graph.mul %3, %half : !x
  %5 = graph.div %x, %root : !x
  %6 = graph.erf %5 : !x
  %7 = graph.add %6, %one : !x
  %8 = graph.mul %z, %7 : !x
  %9 = graph.mul %8, %half : !x
  %10 = graph.div %z, %root : !x
  %11 = graph.erf %10 : !x
  %12 = graph.add %11, %one : !x
  %13 = graph.mul %z, %12 : !x
  %14 = graph.mul %13, %half : !x
  %fr = graph.constant dense<1.4140625> : tensor<f16>
  %froot = graph.broadcast %fr : !graph.tensor<[], f16> to !graph.tensor<[n, 8], f16>
  %fh = graph.constant dense<0.5> : tensor<f16>
  %fhalf = graph.broadcast %fh : !graph.tensor<[], f16> to !graph.tensor<[n, 8], f16>
  %fo = graph.constant dense<1.0> : tensor<f16>
  %fone = graph.broadcast %fo : !graph.tensor<[], f16> to !graph.tensor<[n, 8], f16>
  %15 = graph.div %f, %froot : !graph.tensor<[n, 8], f16>
  %16 = graph.erf %15 : !graph.tensor<[n, 8], f16>
  %17 = graph.add %16, %fone : !graph.tensor<[n, 8], f16>
  %18 = graph.mul %f, %17 : !graph.tensor<[n, 8], f16>
  %19 = graph.mul %18, %fhalf : !graph.tensor<[n, 8], f16>
  return %4, %9, %14, %12, %19 : !x, !x, !x, !x, !graph.tensor<[n, 8], f16>
}

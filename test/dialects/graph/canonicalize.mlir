// RUN: kpc-opt %s --canonicalize | FileCheck %s

!f = !graph.tensor<[4], f32>
!i = !graph.tensor<[4], i32>

// CHECK-LABEL: @neutral_elements(
// CHECK-SAME: %[[X:.*]]: !graph.tensor<[4], f32>, %[[I:.*]]: !graph.tensor<[4], i32>
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[I]], %[[I]] :
func.func @neutral_elements(%x: !f, %i: !i) -> (!f, !f, !f, !f, !i, !i) {
  %one = graph.constant dense<1.0> : tensor<4xf32>
  %zero = graph.constant dense<0.0> : tensor<4xf32>
  %minus = graph.constant dense<-0.0> : tensor<4xf32>
  %izero = graph.constant dense<0> : tensor<4xi32>
  %0 = graph.add %x, %minus : !f
  %1 = graph.sub %x, %zero : !f
  %2 = graph.mul %one, %x : !f
  %3 = graph.div %x, %one : !f
  %4 = graph.add %i, %izero : !i
  %5 = graph.sub %i, %izero : !i
  return %0, %1, %2, %3, %4, %5 : !f, !f, !f, !f, !i, !i
}

// -0.0 + 0.0 is 0.0, NaN * 0 is NaN.
// CHECK-LABEL: @not_neutral(
// CHECK: graph.add
// CHECK: graph.sub
// CHECK: graph.mul
func.func @not_neutral(%x: !f) -> (!f, !f, !f) {
  %zero = graph.constant dense<0.0> : tensor<4xf32>
  %minus = graph.constant dense<-0.0> : tensor<4xf32>
  %0 = graph.add %x, %zero : !f
  %1 = graph.sub %x, %minus : !f
  %2 = graph.mul %x, %zero : !f
  return %0, %1, %2 : !f, !f, !f
}

// CHECK-LABEL: @splat_through_broadcast(
// CHECK-SAME: %[[X:.*]]: !graph.tensor<[n], f32>
// CHECK-NEXT: return %[[X]]
func.func @splat_through_broadcast(%x: !graph.tensor<[n], f32>) -> !graph.tensor<[n], f32> {
  %one = graph.constant dense<1.0> : tensor<f32>
  %ones = graph.broadcast %one : !graph.tensor<[], f32> to !graph.tensor<[n], f32>
  %0 = graph.mul %ones, %x : !graph.tensor<[n], f32>
  return %0 : !graph.tensor<[n], f32>
}

// A repeated operand is the second, on whichever side it was written.
// CHECK-LABEL: @repeated_last(
// CHECK-SAME: %[[X:.*]]: !graph.tensor<[n, 4], f32>, %[[B:.*]]: !graph.tensor<[4], f32>
// CHECK-NEXT: %[[R:.*]] = graph.broadcast %[[B]]
// CHECK-NEXT: %[[SUM:.*]] = graph.add %[[X]], %[[R]]
// CHECK-NEXT: %[[Y:.*]] = graph.mul %[[SUM]], %[[R]]
// CHECK-NEXT: %[[D:.*]] = graph.sub %[[R]], %[[Y]]
// CHECK-NEXT: %[[Z:.*]] = graph.add %[[R]], %[[R]]
func.func @repeated_last(%x: !graph.tensor<[n, 4], f32>, %b: !f) -> (!graph.tensor<[n, 4], f32>, !graph.tensor<[n, 4], f32>) {
  %r = graph.broadcast %b : !f to !graph.tensor<[n, 4], f32>
  %0 = graph.add %r, %x : !graph.tensor<[n, 4], f32>
  %1 = graph.mul %r, %0 : !graph.tensor<[n, 4], f32>
  %2 = graph.sub %r, %1 : !graph.tensor<[n, 4], f32>
  %3 = graph.add %r, %r : !graph.tensor<[n, 4], f32>
  return %2, %3 : !graph.tensor<[n, 4], f32>, !graph.tensor<[n, 4], f32>
}

// CHECK-LABEL: @casts(
// CHECK-SAME: %[[X:.*]]: !graph.tensor<[4], f32>, %[[H:.*]]: !graph.tensor<[4], f16>
// CHECK-NEXT: %[[N:.*]] = graph.cast %[[X]] to f16
// CHECK-NEXT: %[[W:.*]] = graph.cast %[[N]] to f32
// CHECK-NEXT: return %[[X]], %[[H]], %[[W]] :
func.func @casts(%x: !f, %h: !graph.tensor<[4], f16>) -> (!f, !graph.tensor<[4], f16>, !f) {
  %same = graph.cast %x to f32 : !f
  %wide = graph.cast %h to f32 : !graph.tensor<[4], f16>
  %back = graph.cast %wide to f16 : !f
  %narrow = graph.cast %x to f16 : !f
  %lost = graph.cast %narrow to f32 : !graph.tensor<[4], f16>
  return %same, %back, %lost : !f, !graph.tensor<[4], f16>, !f
}

// CHECK-LABEL: @idempotent(
// CHECK: %[[R:.*]] = graph.relu
// CHECK-NEXT: return %[[R]], %arg1
func.func @idempotent(%x: !f, %i: !i) -> (!f, !i) {
  %0 = graph.relu %x : !f
  %1 = graph.relu %0 : !f
  %2 = graph.not %i : !i
  %3 = graph.not %2 : !i
  return %1, %3 : !f, !i
}

// Numbers of a trace, which are f64, in the type that computes with them.
// CHECK-LABEL: @cast_of_a_number(
// CHECK-DAG: %[[N:.*]] = graph.constant dense<9.99999974E-6> : tensor<f32>
// CHECK-DAG: %[[H:.*]] = graph.constant dense<5.000000e-01> : tensor<2xf16>
// CHECK-DAG: %[[I:.*]] = graph.constant dense<5.000000e-01> : tensor<f64>
// CHECK-NEXT: %[[C:.*]] = graph.cast %[[I]] to i64
// CHECK-NEXT: return %[[N]], %[[H]], %[[C]]
func.func @cast_of_a_number() -> (!graph.tensor<[], f32>, !graph.tensor<[2], f16>, !graph.tensor<[], i64>) {
  %epsilon = graph.constant dense<1.0e-5> : tensor<f64>
  %0 = graph.cast %epsilon to f32 : <[], f64>
  %half = graph.constant dense<0.5> : tensor<2xf64>
  %1 = graph.cast %half to f16 : <[2], f64>
  %number = graph.constant dense<0.5> : tensor<f64>
  %2 = graph.cast %number to i64 : <[], f64>
  return %0, %1, %2 : !graph.tensor<[], f32>, !graph.tensor<[2], f16>, !graph.tensor<[], i64>
}

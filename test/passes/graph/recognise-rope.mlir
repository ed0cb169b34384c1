// RUN: kpc-opt %s --recognise-rope | FileCheck %s
// RUN: kpc-opt %s --recognise-rope --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Rotary embeddings swap the halves of heads by an index.

!all = !graph.tensor<[b, s, 12, 16], f32>
!q = !graph.tensor<[b, s, 8, 16], f32>
!k = !graph.tensor<[b, s, 2, 16], f32>
!angles = !graph.tensor<[1, s, 1, 16], f32>

// Queries and keys of one tensor are turned together; the sine gets the signs once.
// REMARK: RoPE of 10 heads of 16 elements is recognised: rotate-half is an index, not a copy.
// CHECK-LABEL: @together(
// CHECK-DAG: %[[SIGN:.*]] = graph.constant dense<{{\[\[}}-1.000000e+00], [1.000000e+00]]> : tensor<2x1xf32>
// CHECK-DAG: %[[H:.*]] = graph.reshape %arg0 : <[b, s, 12, 16], f32> to <[b, s, 12, 2, 8], f32>
// CHECK-DAG: %[[X:.*]] = graph.slice %[[H]] start <[0, 0, 0, 0, 0]> step [1, 1, 1, 1, 1] : <[b, s, 12, 2, 8], f32> to <[b, s, 10, 2, 8], f32>
// CHECK-DAG: %[[SWAPPED:.*]] = graph.slice %[[X]] start <[0, 0, 0, 1, 0]> step [1, 1, 1, -1, 1] : <[b, s, 10, 2, 8], f32> to <[b, s, 10, 2, 8], f32>
// CHECK-DAG: %[[COS:.*]] = graph.reshape %arg1 : <[1, s, 1, 16], f32> to <[1, s, 1, 2, 8], f32>
// CHECK-DAG: %[[SIN:.*]] = graph.reshape %arg2 : <[1, s, 1, 16], f32> to <[1, s, 1, 2, 8], f32>
// CHECK-DAG: %[[SIGNS:.*]] = graph.broadcast %[[SIGN]] : <[2, 1], f32> to <[1, s, 1, 2, 8], f32>
// CHECK-DAG: %[[SIGNED:.*]] = graph.mul %[[SIN]], %[[SIGNS]]
// CHECK-DAG: %[[C:.*]] = graph.broadcast %[[COS]] : <[1, s, 1, 2, 8], f32> to <[b, s, 10, 2, 8], f32>
// CHECK-DAG: %[[S:.*]] = graph.broadcast %[[SIGNED]] : <[1, s, 1, 2, 8], f32> to <[b, s, 10, 2, 8], f32>
// CHECK-DAG: %[[A:.*]] = graph.mul %[[X]], %[[C]]
// CHECK-DAG: %[[T:.*]] = graph.mul %[[SWAPPED]], %[[S]]
// CHECK: %[[SUM:.*]] = graph.add %[[A]], %[[T]]
// CHECK: %[[Y:.*]] = graph.reshape %[[SUM]] : <[b, s, 10, 2, 8], f32> to <[b, s, 10, 16], f32>
// CHECK-DAG: graph.slice %[[Y]] start <[0, 0, 0, 0]> step [1, 1, 1, 1] : <[b, s, 10, 16], f32> to <[b, s, 8, 16], f32>
// CHECK-DAG: graph.slice %[[Y]] start <[0, 0, 8, 0]> step [1, 1, 1, 1] : <[b, s, 10, 16], f32> to <[b, s, 2, 16], f32>
// CHECK-NOT: graph.concat
func.func @together(%x: !all, %cos: !angles, %sin: !angles) -> (!q, !k) {
  %q = graph.slice %x start <[0, 0, 0, 0]> step [1, 1, 1, 1] : !all to !q
  %k = graph.slice %x start <[0, 0, 8, 0]> step [1, 1, 1, 1] : !all to !k
  %cq = graph.broadcast %cos : !angles to !q
  %sq = graph.broadcast %sin : !angles to !q
  %ck = graph.broadcast %cos : !angles to !k
  %sk = graph.broadcast %sin : !angles to !k
  %0 = graph.mul %q, %cq : !q
  %1 = graph.slice %q start <[0, 0, 0, 0]> step [1, 1, 1, 1] : !q to !graph.tensor<[b, s, 8, 8], f32>
  %2 = graph.slice %q start <[0, 0, 0, 8]> step [1, 1, 1, 1] : !q to !graph.tensor<[b, s, 8, 8], f32>
  %3 = graph.neg %2 : !graph.tensor<[b, s, 8, 8], f32>
  %4 = graph.concat %3, %1 axis 3 : !graph.tensor<[b, s, 8, 8], f32>, !graph.tensor<[b, s, 8, 8], f32>
  %5 = graph.mul %4, %sq : !q
  %6 = graph.add %0, %5 : !q
  // In the other order.
  %7 = graph.slice %k start <[0, 0, 0, 8]> step [1, 1, 1, 1] : !k to !graph.tensor<[b, s, 2, 8], f32>
  %8 = graph.slice %k start <[0, 0, 0, 0]> step [1, 1, 1, 1] : !k to !graph.tensor<[b, s, 2, 8], f32>
  %9 = graph.neg %7 : !graph.tensor<[b, s, 2, 8], f32>
  %10 = graph.concat %9, %8 axis 3 : !graph.tensor<[b, s, 2, 8], f32>, !graph.tensor<[b, s, 2, 8], f32>
  %11 = graph.mul %sk, %10 : !k
  %12 = graph.mul %ck, %k : !k
  %13 = graph.add %11, %12 : !k
  return %6, %13 : !q, !k
}

// Alone, with angles for each element and no sign.
// CHECK-LABEL: @alone(
// CHECK-DAG: %[[H:.*]] = graph.reshape %arg0 : <[n, 4], f16> to <[n, 2, 2], f16>
// CHECK-DAG: graph.slice %[[H]] start <[0, 1, 0]> step [1, -1, 1]
// CHECK-DAG: graph.reshape %arg1 : <[n, 4], f16> to <[n, 2, 2], f16>
// CHECK-NOT: graph.constant
// CHECK: graph.reshape %{{.*}} : <[n, 2, 2], f16> to <[n, 4], f16>
func.func @alone(%x: !graph.tensor<[n, 4], f16>, %c: !graph.tensor<[n, 4], f16>, %s: !graph.tensor<[n, 4], f16>) -> !graph.tensor<[n, 4], f16> {
  %0 = graph.mul %x, %c : !graph.tensor<[n, 4], f16>
  %1 = graph.slice %x start <[0, 0]> step [1, 1] : !graph.tensor<[n, 4], f16> to !graph.tensor<[n, 2], f16>
  %2 = graph.slice %x start <[0, 2]> step [1, 1] : !graph.tensor<[n, 4], f16> to !graph.tensor<[n, 2], f16>
  %3 = graph.concat %2, %1 axis 1 : !graph.tensor<[n, 2], f16>, !graph.tensor<[n, 2], f16>
  %4 = graph.mul %3, %s : !graph.tensor<[n, 4], f16>
  %5 = graph.add %0, %4 : !graph.tensor<[n, 4], f16>
  return %5 : !graph.tensor<[n, 4], f16>
}

// REMARK: Rotated halves are not recognised as RoPE: they are not multiplied by a sine alone.
// CHECK-LABEL: @swapped(
// CHECK: graph.concat
func.func @swapped(%x: !graph.tensor<[n, 4], f32>) -> !graph.tensor<[n, 4], f32> {
  %1 = graph.slice %x start <[0, 0]> step [1, 1] : !graph.tensor<[n, 4], f32> to !graph.tensor<[n, 2], f32>
  %2 = graph.slice %x start <[0, 2]> step [1, 1] : !graph.tensor<[n, 4], f32> to !graph.tensor<[n, 2], f32>
  %3 = graph.concat %2, %1 axis 1 : !graph.tensor<[n, 2], f32>, !graph.tensor<[n, 2], f32>
  return %3 : !graph.tensor<[n, 4], f32>
}

// REMARK: Rotated halves are not recognised as RoPE: what is added to them is not the whole by a cosine.
// CHECK-LABEL: @without_cosine(
// CHECK: graph.concat
func.func @without_cosine(%x: !graph.tensor<[n, 4], f32>, %s: !graph.tensor<[n, 4], f32>) -> !graph.tensor<[n, 4], f32> {
  %1 = graph.slice %x start <[0, 0]> step [1, 1] : !graph.tensor<[n, 4], f32> to !graph.tensor<[n, 2], f32>
  %2 = graph.slice %x start <[0, 2]> step [1, 1] : !graph.tensor<[n, 4], f32> to !graph.tensor<[n, 2], f32>
  %3 = graph.concat %2, %1 axis 1 : !graph.tensor<[n, 2], f32>, !graph.tensor<[n, 2], f32>
  %4 = graph.mul %3, %s : !graph.tensor<[n, 4], f32>
  %5 = graph.add %4, %x : !graph.tensor<[n, 4], f32>
  return %5 : !graph.tensor<[n, 4], f32>
}

// Other parts than halves are left alone.
// CHECK-LABEL: @quarters(
// CHECK: graph.concat
func.func @quarters(%x: !graph.tensor<[n, 4], f32>) -> !graph.tensor<[n, 4], f32> {
  %1 = graph.slice %x start <[0, 0]> step [1, 1] : !graph.tensor<[n, 4], f32> to !graph.tensor<[n, 3], f32>
  %2 = graph.slice %x start <[0, 3]> step [1, 1] : !graph.tensor<[n, 4], f32> to !graph.tensor<[n, 1], f32>
  %3 = graph.concat %2, %1 axis 1 : !graph.tensor<[n, 1], f32>, !graph.tensor<[n, 3], f32>
  return %3 : !graph.tensor<[n, 4], f32>
}

// As RotaryEmbedding is imported, with halves as a dimension. Heads of one product that turn by the same angles are turned together.
// CHECK-LABEL: @imported(
// CHECK: %[[H:.*]] = graph.reshape %arg0 : <[b, s, 6, 4], f16> to <[b, s, 6, 2, 2], f16>
// CHECK: %[[X:.*]] = graph.slice %[[H]] start <[0, 0, 0, 0, 0]> step [1, 1, 1, 1, 1] : <[b, s, 6, 2, 2], f16> to <[b, s, 5, 2, 2], f16>
// CHECK: %[[R:.*]] = graph.slice %[[X]] start <[0, 0, 0, 1, 0]> step [1, 1, 1, -1, 1] : <[b, s, 5, 2, 2], f16> to <[b, s, 5, 2, 2], f16>
// CHECK: graph.mul %[[X]]
// CHECK: graph.mul %[[R]]
// CHECK: graph.add
// CHECK-NOT: graph.add
// CHECK: return
func.func @imported(%x: !graph.tensor<[b, s, 6, 4], f16>, %c: !graph.tensor<[b, s, 1, 1, 2], f16>, %d: !graph.tensor<[b, s, 1, 2, 2], f16>)
    -> (!graph.tensor<[b, s, 4, 2, 2], f16>, !graph.tensor<[b, s, 1, 2, 2], f16>) {
  %q0 = graph.slice %x start <[0, 0, 0, 0]> step [1, 1, 1, 1] : !graph.tensor<[b, s, 6, 4], f16> to !graph.tensor<[b, s, 4, 4], f16>
  %q = graph.reshape %q0 : !graph.tensor<[b, s, 4, 4], f16> to !graph.tensor<[b, s, 4, 2, 2], f16>
  %qr = graph.slice %q start <[0, 0, 0, 1, 0]> step [1, 1, 1, -1, 1] : !graph.tensor<[b, s, 4, 2, 2], f16> to !graph.tensor<[b, s, 4, 2, 2], f16>
  %qc = graph.broadcast %c : !graph.tensor<[b, s, 1, 1, 2], f16> to !graph.tensor<[b, s, 4, 2, 2], f16>
  %qd = graph.broadcast %d : !graph.tensor<[b, s, 1, 2, 2], f16> to !graph.tensor<[b, s, 4, 2, 2], f16>
  %0 = graph.mul %q, %qc : !graph.tensor<[b, s, 4, 2, 2], f16>
  %1 = graph.mul %qr, %qd : !graph.tensor<[b, s, 4, 2, 2], f16>
  %2 = graph.add %0, %1 : !graph.tensor<[b, s, 4, 2, 2], f16>
  %k0 = graph.slice %x start <[0, 0, 4, 0]> step [1, 1, 1, 1] : !graph.tensor<[b, s, 6, 4], f16> to !graph.tensor<[b, s, 1, 4], f16>
  %k = graph.reshape %k0 : !graph.tensor<[b, s, 1, 4], f16> to !graph.tensor<[b, s, 1, 2, 2], f16>
  %kr = graph.slice %k start <[0, 0, 0, 1, 0]> step [1, 1, 1, -1, 1] : !graph.tensor<[b, s, 1, 2, 2], f16> to !graph.tensor<[b, s, 1, 2, 2], f16>
  %kc = graph.broadcast %c : !graph.tensor<[b, s, 1, 1, 2], f16> to !graph.tensor<[b, s, 1, 2, 2], f16>
  %kd = graph.broadcast %d : !graph.tensor<[b, s, 1, 2, 2], f16> to !graph.tensor<[b, s, 1, 2, 2], f16>
  %3 = graph.mul %k, %kc : !graph.tensor<[b, s, 1, 2, 2], f16>
  %4 = graph.mul %kr, %kd : !graph.tensor<[b, s, 1, 2, 2], f16>
  %5 = graph.add %3, %4 : !graph.tensor<[b, s, 1, 2, 2], f16>
  return %2, %5 : !graph.tensor<[b, s, 4, 2, 2], f16>, !graph.tensor<[b, s, 1, 2, 2], f16>
}

// Of one query, heads may come before it.
// CHECK-LABEL: @one_query(
// CHECK: %[[H:.*]] = graph.reshape %arg0 : <[b, 1, 6, 4], f16> to <[b, 1, 6, 2, 2], f16>
// CHECK: graph.slice %[[H]] start <[0, 0, 0, 0, 0]> step [1, 1, 1, 1, 1] : <[b, 1, 6, 2, 2], f16> to <[b, 1, 4, 2, 2], f16>
// CHECK: %[[Y:.*]] = graph.add
// CHECK: graph.reshape %[[Y]] : <[b, 1, 4, 2, 2], f16> to <[b, 4, 1, 2, 2], f16>
func.func @one_query(%x: !graph.tensor<[b, 1, 6, 4], f16>, %c: !graph.tensor<[b, 1, 1, 1, 2], f16>, %d: !graph.tensor<[b, 1, 1, 2, 2], f16>)
    -> !graph.tensor<[b, 4, 1, 2, 2], f16> {
  %q0 = graph.slice %x start <[0, 0, 0, 0]> step [1, 1, 1, 1] : !graph.tensor<[b, 1, 6, 4], f16> to !graph.tensor<[b, 1, 4, 4], f16>
  %q = graph.reshape %q0 : !graph.tensor<[b, 1, 4, 4], f16> to !graph.tensor<[b, 4, 1, 2, 2], f16>
  %qr = graph.slice %q start <[0, 0, 0, 1, 0]> step [1, 1, 1, -1, 1] : !graph.tensor<[b, 4, 1, 2, 2], f16> to !graph.tensor<[b, 4, 1, 2, 2], f16>
  %qc = graph.broadcast %c : !graph.tensor<[b, 1, 1, 1, 2], f16> to !graph.tensor<[b, 4, 1, 2, 2], f16>
  %qd = graph.broadcast %d : !graph.tensor<[b, 1, 1, 2, 2], f16> to !graph.tensor<[b, 4, 1, 2, 2], f16>
  %0 = graph.mul %q, %qc : !graph.tensor<[b, 4, 1, 2, 2], f16>
  %1 = graph.mul %qr, %qd : !graph.tensor<[b, 4, 1, 2, 2], f16>
  %2 = graph.add %0, %1 : !graph.tensor<[b, 4, 1, 2, 2], f16>
  return %2 : !graph.tensor<[b, 4, 1, 2, 2], f16>
}

// RUN: kpc-opt --decompose-attention=targets=sm_90a %s | FileCheck %s --check-prefixes=CHECK,KEPT,WIDE
// RUN: kpc-opt --decompose-attention='targets=sm_80,sm_120a tf32=true' %s | FileCheck %s --check-prefixes=CHECK,KEPT,WIDE
// RUN: kpc-opt --decompose-attention=targets=sm_120a %s --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=LOOPS
// RUN: kpc-opt --decompose-attention=targets=sm_90a,host %s | FileCheck %s --check-prefixes=CHECK,ALL,NARROW
// RUN: kpc-opt --decompose-attention %s | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: kpc-opt --decompose-attention=targets=sm_80,sm_86,sm_89,sm_90a,sm_100a,sm_120a,portable %s | FileCheck %s --check-prefixes=CHECK,KEPT,NARROW
// RUN: kpc-opt --decompose-attention=targets=sm_90a,host:x86-64-v3 %s --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: kpc-opt --decompose-attention=targets=host:x86-64-v3 %s --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=HOST --allow-empty
// RUN: not kpc-opt --decompose-attention=targets=sm_9 %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: sm_9

// REMARK: An attention is not one kernel, because there is none for host:x86-64-v3.
// HOST-NOT: remark

!q = !graph.tensor<[2, 4, s, 64], f16>
!k = !graph.tensor<[2, 4, t, 64], f16>
!few = !graph.tensor<[2, 2, t, 64], f16>
!one = !graph.tensor<[2, 4, 1, 64], f16>
!new = !graph.tensor<[2, 4, n, 64], f16>
!wide = !graph.tensor<[2, 4, s, 64], f32>
!wide_one = !graph.tensor<[2, 4, 1, 64], f32>
!m = !graph.tensor<[1, 1, s, t], i1>

module attributes {graph.symbols = {s = {min = 1}, t = {min = 1}, n = {min = 1, optimum = 2}}} {
  // Both factors are scaled by the root; the softmax is in f32.
  // CHECK-LABEL: func.func @plain
  // KEPT-NEXT: graph.attention
  // ALL: %[[TURNED:.*]] = graph.transpose %arg1 [0, 1, 3, 2]
  // ALL: graph.constant dense<3.535160e-01> : tensor<f16>
  // ALL: %[[Q:.*]] = graph.mul %arg0
  // ALL: %[[K:.*]] = graph.mul %[[TURNED]]
  // ALL: %[[S:.*]] = graph.matmul %[[Q]], %[[K]]
  // ALL: %[[X:.*]] = graph.cast %[[S]] to f32
  // ALL: graph.reduce max, %[[X]] axes [3]
  // ALL: graph.exp
  // ALL: graph.reduce sum
  // ALL: graph.div
  // ALL: %[[P:.*]] = graph.cast %{{.*}} to f16
  // ALL: graph.matmul %[[P]], %arg2
  func.func @plain(%q: !q, %k: !k, %v: !k) -> !q {
    %0 = graph.attention %q, %k, %v scale 0.125 : !q, !k, !k
    return %0 : !q
  }

  // Heads share keys by a dimension of their own; the triangle is a comparison of indices; what sees nothing is zero.
  // CHECK-LABEL: func.func @causal
  // KEPT-NEXT: graph.attention
  // ALL: graph.reshape %{{.*}} to <[2, 2, 2, s, 64], f16>
  // ALL: graph.iota axis 2 : <[1, 1, s, t], i64>
  // ALL: graph.iota axis 3
  // ALL: graph.compare ge
  // ALL: graph.compare eq
  // ALL: graph.select
  func.func @causal(%q: !q, %k: !few, %v: !few, %m: !m) -> !q {
    %0 = graph.attention %q, %k, %v mask %m scale 0.125 causal <[0]> : !q, !few, !few, !m
    return %0 : !q
  }

  // Few queries have a builder of their own.
  // CHECK-LABEL: func.func @few
  // KEPT-NEXT: graph.attention
  // KEPT-NEXT: graph.attention
  // ALL-NOT: graph.attention
  func.func @few(%q: !one, %n: !new, %k: !few, %v: !few) -> (!one, !new) {
    %0 = graph.attention %q, %k, %v scale 0.125 : !one, !few, !few
    %1 = graph.attention %n, %k, %v scale 0.125 : !new, !few, !few
    return %0, %1 : !one, !new
  }

  // No builder has a softcap.
  // CHECK-LABEL: func.func @softcap
  // CHECK: graph.tanh
  // CHECK-NOT: graph.attention
  func.func @softcap(%q: !q, %k: !k, %v: !k) -> !q {
    %0 = graph.attention %q, %k, %v scale 0.125 softcap 50.0 : !q, !k, !k
    return %0 : !q
  }

  // Heads of f32 where they may be rounded, or where splitting them is faster than multiply-adds; not of few queries.
  // LOOPS: An attention is not one kernel, because f32 is not rounded, and multiply-adds are as fast on sm_120a.
  // LOOPS: An attention is not one kernel, because it is of f32 and has few queries.
  // CHECK-LABEL: func.func @wide
  // WIDE-NEXT: graph.attention
  // NARROW-NOT: graph.attention
  // CHECK-LABEL: func.func @wide_few
  // CHECK-NOT: graph.attention
  func.func @wide(%q: !wide) -> !wide {
    %0 = graph.attention %q, %q, %q scale 0.125 : !wide, !wide, !wide
    return %0 : !wide
  }
  func.func @wide_few(%q: !wide_one, %k: !wide) -> !wide_one {
    %0 = graph.attention %q, %k, %k scale 0.125 : !wide_one, !wide, !wide
    return %0 : !wide_one
  }
}

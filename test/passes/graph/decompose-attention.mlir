// RUN: kpc-opt --decompose-attention=targets=sm_90a %s | FileCheck %s --check-prefixes=CHECK,KEPT,WIDE
// RUN: kpc-opt --decompose-attention='targets=sm_80,sm_120a tf32=true' %s | FileCheck %s --check-prefixes=CHECK,KEPT,WIDE
// RUN: kpc-opt --decompose-attention=targets=sm_120a %s --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=LOOPS
// RUN: kpc-opt --decompose-attention=targets=sm_90a,host %s | FileCheck %s --check-prefixes=CHECK,ALL,NARROW
// RUN: kpc-opt --decompose-attention %s | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: kpc-opt --decompose-attention=targets=sm_80,sm_86,sm_89,sm_90a,sm_100a,sm_120a,portable %s | FileCheck %s --check-prefixes=CHECK,KEPT,NARROW
// RUN: kpc-opt --decompose-attention=targets=sm_90a,host:x86-64-v3 %s --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: kpc-opt --decompose-attention=targets=host:x86-64-v3 %s --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=HOST --allow-empty
// RUN: kpc-opt --decompose-attention=targets=sm_90a %s --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=FILLED
// RUN: kpc-opt --decompose-attention='targets=sm_90a,sm_100a tf32=true' %s --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=SYNC
// RUN: kpc-opt --decompose-attention=targets=sm_80,sm_90a,sm_100a %s | FileCheck %s --check-prefix=BIASED
// RUN: not kpc-opt --decompose-attention=targets=sm_9 %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: sm_9

// REMARK: An attention is not one kernel, because there is none for host:x86-64-v3.
// HOST-NOT: remark
// Heads of 65 and of f32; those of 64 need no word.
// SYNC: On sm_100a an attention of many queries uses mma.sync, not tcgen05, because its heads are not of at most 256 elements of 16 bits, or 192 with a causal mask. Heads of these sizes, with --precision fp16 or bf16, use tcgen05.

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

  // A softcap bends the scores before anything is added.
  // CHECK-LABEL: func.func @softcap
  // KEPT-NEXT: graph.attention %arg0, %arg1, %arg2 scale 1.250000e-01 softcap 5.000000e+01
  // ALL: graph.matmul
  // ALL: graph.div
  // ALL-NEXT: graph.tanh
  // ALL: graph.reduce max
  // ALL-NOT: graph.attention
  func.func @softcap(%q: !q, %k: !k, %v: !k) -> !q {
    %0 = graph.attention %q, %k, %v scale 0.125 softcap 50.0 : !q, !k, !k
    return %0 : !q
  }

  // The kernel's tanh has an absolute error, which a large softcap makes larger.
  // LOOPS: An attention is not one kernel, because its softcap is too large for the kernel's tanh.
  // CHECK-LABEL: func.func @large_softcap
  // CHECK-NOT: graph.attention
  // CHECK: graph.tanh
  // CHECK-LABEL: func.func @largest_softcap
  // KEPT-NEXT: graph.attention
  // ALL-NOT: graph.attention
  func.func @large_softcap(%q: !q, %k: !k, %v: !k) -> !q {
    %0 = graph.attention %q, %k, %v scale 0.125 softcap 10000.0 : !q, !k, !k
    return %0 : !q
  }
  func.func @largest_softcap(%q: !q, %k: !k, %v: !k) -> !q {
    %0 = graph.attention %q, %k, %v scale 0.125 softcap 4096.0 : !q, !k, !k
    return %0 : !q
  }

  // Heads that are no multiple of 8 elements are filled up with zeros, and the columns that were there are cut out; not for few queries,
  // as all keys would be copied for them.
  // FILLED: Kernels in front of an attention fill up its heads to a multiple of 8 elements, as copies of 16 bytes ask.
  // FILLED: An attention is not one kernel, because it has few queries, and its heads are no multiple of 8 elements.
  // CHECK-LABEL: func.func @ragged
  // KEPT: %[[Q:.*]] = graph.pad %arg0, %{{.*}} low [0, 0, 0, 0] high [0, 0, 0, 7] interior [0, 0, 0, 0]
  // KEPT: %[[K:.*]] = graph.pad %arg1, %{{.*}} low [0, 0, 0, 0] high [0, 0, 0, 7]
  // KEPT: %[[V:.*]] = graph.pad %arg2, %{{.*}} low [0, 0, 0, 0] high [0, 0, 0, 5]
  // KEPT: %[[Y:.*]] = graph.attention %[[Q]], %[[K]], %[[V]] scale 1.250000e-01
  // KEPT: graph.slice %[[Y]] start <[0, 0, 0, 0]> step [1, 1, 1, 1] : <[2, 4, s, 40], f16> to <[2, 4, s, 35], f16>
  // ALL-NOT: graph.attention
  // CHECK-LABEL: func.func @ragged_few
  // CHECK-NOT: graph.attention
  func.func @ragged(%q: !graph.tensor<[2, 4, s, 65], f16>, %k: !graph.tensor<[2, 4, t, 65], f16>, %v: !graph.tensor<[2, 4, t, 35], f16>) -> !graph.tensor<[2, 4, s, 35], f16> {
    %0 = graph.attention %q, %k, %v scale 0.125 : !graph.tensor<[2, 4, s, 65], f16>, !graph.tensor<[2, 4, t, 65], f16>, !graph.tensor<[2, 4, t, 35], f16>
    return %0 : !graph.tensor<[2, 4, s, 35], f16>
  }
  func.func @ragged_few(%q: !graph.tensor<[2, 4, 1, 65], f16>, %k: !graph.tensor<[2, 4, t, 65], f16>) -> !graph.tensor<[2, 4, 1, 65], f16> {
    %0 = graph.attention %q, %k, %k scale 0.125 : !graph.tensor<[2, 4, 1, 65], f16>, !graph.tensor<[2, 4, t, 65], f16>, !graph.tensor<[2, 4, t, 65], f16>
    return %0 : !graph.tensor<[2, 4, 1, 65], f16>
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

  // Scores with a bias need more registers than those without: with heads of 128
  // of f32, no schedule has them.
  // CHECK-LABEL: func.func @bias_of_f32
  // BIASED-LABEL: func.func @bias_of_f32
  // BIASED-NOT: graph.attention
  func.func @bias_of_f32(%q: !graph.tensor<[1, 8, 49, 32], f32>, %k: !graph.tensor<[1, 8, 49, 32], f32>,
                         %v: !graph.tensor<[1, 8, 49, 128], f32>, %bias: !graph.tensor<[1, 8, 49, 49], f32>)
      -> !graph.tensor<[1, 8, 49, 128], f32> {
    %y = graph.attention %q, %k, %v bias %bias scale 0.1767 : !graph.tensor<[1, 8, 49, 32], f32>, !graph.tensor<[1, 8, 49, 32], f32>, !graph.tensor<[1, 8, 49, 128], f32>, !graph.tensor<[1, 8, 49, 49], f32>
    return %y : !graph.tensor<[1, 8, 49, 128], f32>
  }

  // BIASED-LABEL: func.func @no_bias_of_f32
  // BIASED: graph.attention
  func.func @no_bias_of_f32(%q: !graph.tensor<[1, 8, 49, 32], f32>, %k: !graph.tensor<[1, 8, 49, 32], f32>,
                            %v: !graph.tensor<[1, 8, 49, 128], f32>) -> !graph.tensor<[1, 8, 49, 128], f32> {
    %y = graph.attention %q, %k, %v scale 0.1767 : !graph.tensor<[1, 8, 49, 32], f32>, !graph.tensor<[1, 8, 49, 32], f32>, !graph.tensor<[1, 8, 49, 128], f32>
    return %y : !graph.tensor<[1, 8, 49, 128], f32>
  }
}

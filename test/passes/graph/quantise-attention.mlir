// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-gemms{for=asked.*=fp8 targets=sm_90a}))' | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-gemms{for=asked.*=fp8 targets=sm_90a}))' --remark-format=emitRemark --remarks-filter=quantisation 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-gemms{for=asked.*=fp8}))' --remark-format=emitRemark --remarks-filter=quantisation 2>&1 >/dev/null | FileCheck %s --check-prefix=NONE

// Rows of queries have a scale each, keys and values one each. Values become columns, which the attention reads as rows. The scale of values is a factor of the
// result, and no float is stored on the way.
!q = !graph.tensor<[4, 16, 16384, 128], f32>
!k = !graph.tensor<[4, 4, 16384, 128], f32>
// CHECK-LABEL: @main(
// CHECK-SAME: %[[Q:[^:]*]]: !graph.tensor<[4, 16, 16384, 128], f32>, %[[K:[^:]*]]: {{.*}}, %[[V:[^:]*]]: !graph.tensor<[4, 4, 16384, 128], f32>)
// CHECK: graph.reduce max, %{{.*}} axes [3] : <[4, 16, 16384, 128], f32>
// CHECK: %[[QC:.*]] = graph.cast %{{.*}} to f8E4M3FN
// CHECK: %[[SQ:.*]] = graph.mul %{{.*}} : <[4, 16, 16384, 1], f32>
// CHECK: graph.reduce max, %{{.*}} axes [0, 1, 2, 3]
// CHECK: %[[KC:.*]] = graph.cast %{{.*}} to f8E4M3FN
// CHECK: graph.reduce max, %{{.*}} axes [0, 1, 2, 3]
// CHECK: %[[VC:.*]] = graph.cast %{{.*}} to f8E4M3FN
// CHECK: %[[SV:.*]] = graph.mul %{{.*}} : <[1, 1, 1, 1], f32>
// CHECK: %[[WQ:.*]] = graph.cast %[[QC]] to f32
// CHECK: %[[F:.*]] = graph.mul %[[SQ]], %{{.*}} : <[4, 16, 16384, 1], f32>
// CHECK: %[[FQ:.*]] = graph.broadcast %[[F]]
// CHECK: %[[XQ:.*]] = graph.mul %[[WQ]], %[[FQ]]
// CHECK: %[[VT:.*]] = graph.transpose %[[VC]] [0, 1, 3, 2] : <[4, 4, 16384, 128], f8E4M3FN>
// CHECK: %[[WV:.*]] = graph.cast %[[VT]] to f32
// CHECK: %[[XV:.*]] = graph.transpose %[[WV]] [0, 1, 3, 2] : <[4, 4, 128, 16384], f32>
// CHECK: %[[XK:.*]] = graph.cast %[[KC]] to f32
// CHECK: %[[P:.*]] = graph.attention %[[XQ]], %[[XK]], %[[XV]] scale 1.250000e-01 causal <[0]> {graph.codes}
// CHECK: %[[ALL:.*]] = graph.broadcast %[[SV]]
// CHECK: %[[Y:.*]] = graph.mul %[[P]], %[[ALL]]
// CHECK: return %[[Y]]
// SAID: An attention multiplies FP8, with a scale for each row of queries and one each for keys and values.
func.func @main(%q: !q, %k: !k, %v: !k) -> !q {
  %y = graph.attention %q, %k, %v scale 1.250000e-01 causal <[0]> : !q, !k, !k loc("long")
  return %y : !q
}

// By the cost model the kernels that make codes take longer than FP8 saves; by name it is FP8 all the same.
!s = !graph.tensor<[1, 2, 256, 64], f32>
// NONE: refused{{.*}}An attention{{.*}}the target has no kernel of it in FP8
// CHECK-LABEL: @short(
// CHECK: graph.attention {{.*}} {graph.codes}
// CHECK-NOT: graph.attention {{.*}} {graph.codes}
// CHECK: return
// SAID: refused{{.*}}An attention{{.*}}by the cost model of sm_90a it takes {{[0-9.]+}} us, and {{[0-9.]+}} in 16 bits
func.func @short(%q: !s, %k: !s, %v: !s) -> (!s, !s) {
  %y = graph.attention %q, %k, %v scale 1.250000e-01 : !s, !s, !s loc("asked")
  %z = graph.attention %q, %k, %v scale 1.250000e-01 : !s, !s, !s loc("kept")
  return %y, %z : !s, !s
}

// CHECK-LABEL: @others(
// CHECK-NOT: f8E4M3FN
!r = !graph.tensor<[1, 2, 250, 64], f32>
!n = !graph.tensor<[1, 2, 256, 40], f32>
!f = !graph.tensor<[1, 2, 4, 64], f32>
!w = !graph.tensor<[1, 2, 128, 256], f32>
func.func @others(%q: !s, %r: !r, %n: !n, %f: !f, %w: !w, %m: !graph.tensor<[1, 1, 256, 256], i1>) -> (!s, !s, !s, !n, !f, !w) {
  // SAID: refused{{.*}}An attention{{.*}}its scores have a bias or a mask
  %0 = graph.attention %q, %q, %q mask %m scale 1.250000e-01 : !s, !s, !s, !graph.tensor<[1, 1, 256, 256], i1> loc("asked.mask")
  // SAID: refused{{.*}}An attention{{.*}}its scores have a softcap
  %1 = graph.attention %q, %q, %q scale 1.250000e-01 softcap 2.000000e+00 : !s, !s, !s loc("asked.cap")
  // SAID: refused{{.*}}An attention{{.*}}its number of keys is no multiple of 16, or may be 0
  %2 = graph.attention %q, %r, %r scale 1.250000e-01 : !s, !r, !r loc("asked.ragged")
  // SAID: refused{{.*}}An attention{{.*}}its heads are no multiple of 32 elements, or more than 256
  %3 = graph.attention %n, %n, %n scale 1.250000e-01 : !n, !n, !n loc("asked.narrow")
  // SAID: refused{{.*}}An attention{{.*}}it has few queries
  %4 = graph.attention %f, %q, %q scale 1.250000e-01 : !f, !s, !s loc("asked.few")
  // SAID: refused{{.*}}An attention{{.*}}its heads of more than 128 elements have few keys
  %5 = graph.attention %w, %w, %w scale 1.250000e-01 : !w, !w, !w loc("asked.wide")
  return %0, %1, %2, %3, %4, %5 : !s, !s, !s, !n, !f, !w
}

// RUN: kpc-opt --decompose-attention='targets=sm_90a narrow=true' --form-regions --set-precision=to=f16 %s | FileCheck %s
// RUN: kpc-opt --decompose-attention='targets=sm_90a narrow=true keep=heads' %s | FileCheck %s --check-prefix=KEPT

// f32 heads that are stored in 16 bits: attention stays one kernel.

!x = !graph.tensor<[r, 64], f32>
!h = !graph.tensor<[2, 4, r, 16], f32>
!bias = !graph.tensor<[2, 1, 1, r], f32>

module attributes {graph.symbols = {r = {min = 1}}} {
  // What hides a score is larger than f16 has numbers for.
  // CHECK-LABEL: func.func @main
  // CHECK: graph.region {{.*}} -> !graph.tensor<[2, 1, 1, r], f32>
  // CHECK: graph.select
  // Heads of the caller's are narrowed by a kernel of their own.
  // CHECK: %[[Q:.*]] = graph.region "cast"(%arg0) {{.*}} -> !graph.tensor<[2, 4, r, 16], f16>
  // CHECK: %[[K:.*]] = graph.region "cast"(%arg1)
  // CHECK: %[[V:.*]] = graph.region "cast"(%arg2)
  // CHECK: %[[Y:.*]] = graph.region "heads"(%[[Q]], %[[K]], %[[V]], %{{.*}}) : {{.*}} -> !graph.tensor<[2, 4, r, 16], f16>
  // CHECK: graph.attention
  // CHECK: graph.region "cast"(%[[Y]]) {{.*}} -> !graph.tensor<[2, 4, r, 16], f32>
  // A node that stays f32 is one of f32, which splits factors.
  // KEPT-LABEL: func.func @main
  // KEPT: graph.attention
  func.func @main(%q: !h, %k: !h, %v: !h, %m: !graph.tensor<[2, 1, 1, r], i1>) -> (!h, !bias) {
    %zero = graph.constant dense<0.0> : tensor<f32>
    %low = graph.constant dense<-3.40282347E+38> : tensor<f32>
    %zeros = graph.broadcast %zero : !graph.tensor<[], f32> to !bias
    %lows = graph.broadcast %low : !graph.tensor<[], f32> to !bias
    %b = graph.select %m, %zeros, %lows : !graph.tensor<[2, 1, 1, r], i1>, !bias
    %0 = graph.attention %q, %k, %v bias %b scale 0.25 : !h, !h, !h, !bias loc("heads")
    %1 = graph.relu %b : !bias
    return %0, %1 : !h, !bias
  }
}

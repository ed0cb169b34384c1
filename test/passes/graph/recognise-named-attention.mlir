// RUN: kpc-opt --recognise-attention %s | FileCheck %s
// RUN: kpc-opt --recognise-attention %s --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Attention that a model names itself, as programs of PyTorch do: what its mask says in many words becomes what the op has
// words for, and heads are not repeated.

!q = !graph.tensor<[b, 4, s, 64], f32>
!few = !graph.tensor<[b, 2, s, 64], f32>
!m = !graph.tensor<[b, 1, s, s], i1>

module attributes {graph.symbols = {b = {min = 1}, s = {min = 1}}} {
  // Positions of keys and queries, and that no position is negative.
  // CHECK-LABEL: func.func @triangle
  // CHECK-NEXT: graph.attention %arg0, %arg1, %arg2 scale 1.250000e-01 causal <[0]>
  // CHECK-NEXT: return
  // REMARK: The model's attention is one of 4 heads of 64, causal.
  func.func @triangle(%q: !q, %k: !q, %v: !q) -> !q {
    %range = graph.iota axis 0 : !graph.tensor<[s], i64>
    %column = graph.reshape %range : !graph.tensor<[s], i64> to !graph.tensor<[s, 1], i64>
    %queries = graph.broadcast %column : !graph.tensor<[s, 1], i64> to !graph.tensor<[s, s], i64>
    %keys = graph.broadcast %range : !graph.tensor<[s], i64> to !graph.tensor<[s, s], i64>
    %below = graph.compare le, %keys, %queries : !graph.tensor<[s, s], i64>
    %zero = graph.constant dense<0> : tensor<i64>
    %zeros = graph.broadcast %zero : !graph.tensor<[], i64> to !graph.tensor<[s, s], i64>
    %there = graph.compare ge, %queries, %zeros : !graph.tensor<[s, s], i64>
    %both = graph.and %below, %there : !graph.tensor<[s, s], i1>
    %four = graph.reshape %both : !graph.tensor<[s, s], i1> to !graph.tensor<[1, 1, s, s], i1>
    %seen = graph.broadcast %four : !graph.tensor<[1, 1, s, s], i1> to !m
    %y = graph.attention %q, %k, %v mask %seen scale 0.125 : !q, !q, !q, !m
    return %y : !q
  }

  // A padding that was spread over all queries has its own sizes again.
  // CHECK-LABEL: func.func @padding
  // CHECK-NEXT: %[[M:.*]] = graph.reshape %arg3 : <[b, s], i1> to <[b, 1, 1, s], i1>
  // CHECK-NEXT: graph.attention %arg0, %arg1, %arg2 mask %[[M]] scale 1.250000e-01
  // CHECK-NEXT: return
  // REMARK: The model's attention is one of 4 heads of 64, with a mask.
  func.func @padding(%q: !q, %k: !q, %v: !q, %pad: !graph.tensor<[b, s], i1>) -> !q {
    %four = graph.reshape %pad : !graph.tensor<[b, s], i1> to !graph.tensor<[b, 1, 1, s], i1>
    %seen = graph.broadcast %four : !graph.tensor<[b, 1, 1, s], i1> to !m
    %y = graph.attention %q, %k, %v mask %seen scale 0.125 : !q, !q, !q, !m
    return %y : !q
  }

  // A bias of the lowest number above the triangle, and a softcap that stays.
  // CHECK-LABEL: func.func @bias
  // CHECK-NEXT: graph.attention %arg0, %arg1, %arg2 scale 1.250000e-01 softcap 3.000000e+01 causal <[0]>
  // CHECK-NEXT: return
  func.func @bias(%q: !q, %k: !q, %v: !q) -> !q {
    %i = graph.iota axis 2 : !graph.tensor<[1, 1, s, s], i64>
    %j = graph.iota axis 3 : !graph.tensor<[1, 1, s, s], i64>
    %above = graph.compare gt, %j, %i : !graph.tensor<[1, 1, s, s], i64>
    %zero = graph.constant dense<0.0> : tensor<f32>
    %low = graph.constant dense<-3.40282347E+38> : tensor<f32>
    %zeros = graph.broadcast %zero : !graph.tensor<[], f32> to !graph.tensor<[1, 1, s, s], f32>
    %lows = graph.broadcast %low : !graph.tensor<[], f32> to !graph.tensor<[1, 1, s, s], f32>
    %b = graph.select %above, %lows, %zeros : !graph.tensor<[1, 1, s, s], i1>, !graph.tensor<[1, 1, s, s], f32>
    %y = graph.attention %q, %k, %v bias %b scale 0.125 softcap 30.0 : !q, !q, !q, !graph.tensor<[1, 1, s, s], f32>
    return %y : !q
  }

  // Two heads of keys and values, each repeated for two of the queries', and a factor in front of the queries.
  // CHECK-LABEL: func.func @groups
  // CHECK-NEXT: graph.attention %arg0, %arg1, %arg2 scale 1.250000e-01 causal <[0]>
  // CHECK-NEXT: return
  // REMARK: The model's attention is one of 4 heads of 64 on 2 of keys and values, causal.
  func.func @groups(%q: !q, %k: !few, %v: !few) -> !q {
    %factor = graph.constant dense<0.125> : tensor<f32>
    %factors = graph.broadcast %factor : !graph.tensor<[], f32> to !q
    %scaled = graph.mul %q, %factors : !q
    %k5 = graph.reshape %k : !few to !graph.tensor<[b, 2, 1, s, 64], f32>
    %ks = graph.broadcast %k5 : !graph.tensor<[b, 2, 1, s, 64], f32> to !graph.tensor<[b, 2, 2, s, 64], f32>
    %k4 = graph.reshape %ks : !graph.tensor<[b, 2, 2, s, 64], f32> to !q
    %v5 = graph.reshape %v : !few to !graph.tensor<[b, 2, 1, s, 64], f32>
    %vs = graph.broadcast %v5 : !graph.tensor<[b, 2, 1, s, 64], f32> to !graph.tensor<[b, 2, 2, s, 64], f32>
    %v4 = graph.reshape %vs : !graph.tensor<[b, 2, 2, s, 64], f32> to !q
    %y = graph.attention %scaled, %k4, %v4 scale 1.0 causal <[0]> : !q, !q, !q
    return %y : !q
  }

  // Nothing better is known of these: a mask that is an input, one beside a triangle, and a negative factor.
  // CHECK-LABEL: func.func @as_they_are
  // CHECK-NEXT: graph.attention %arg0, %arg1, %arg2 mask %arg3 scale 1.250000e-01 :
  // CHECK-NEXT: %[[Y:.*]] = graph.attention %{{.*}}, %arg1, %arg2 mask %arg3 scale 1.250000e-01 causal <[0]>
  // CHECK: %[[N:.*]] = graph.mul %[[Y]]
  // CHECK-NEXT: graph.attention %[[N]], %arg1, %arg2 scale 1.000000e+00
  func.func @as_they_are(%q: !q, %k: !q, %v: !q, %seen: !m) -> !q {
    %x = graph.attention %q, %k, %v mask %seen scale 0.125 : !q, !q, !q, !m
    %y = graph.attention %x, %k, %v mask %seen scale 0.125 causal <[0]> : !q, !q, !q, !m
    %factor = graph.constant dense<-0.125> : tensor<f32>
    %factors = graph.broadcast %factor : !graph.tensor<[], f32> to !q
    %scaled = graph.mul %y, %factors : !q
    %z = graph.attention %scaled, %k, %v scale 1.0 : !q, !q, !q
    return %z : !q
  }
}

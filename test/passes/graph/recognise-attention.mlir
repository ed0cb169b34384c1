// RUN: kpc-opt --sink-broadcasts --recognise-attention %s | FileCheck %s
// RUN: kpc-opt --sink-broadcasts --recognise-attention %s --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// A softmax between two products, as exporters spell it, is one op.

!q = !graph.tensor<[b, 4, s, 64], f32>
!k = !graph.tensor<[b, 4, t, 64], f32>
!kt = !graph.tensor<[b, 4, 64, t], f32>
!s = !graph.tensor<[b, 4, s, t], f32>
!r = !graph.tensor<[b, 4, s], f32>
!r1 = !graph.tensor<[b, 4, s, 1], f32>

module attributes {graph.symbols = {b = {min = 1}, h = {min = 1}, s = {min = 1}, t = {min = 1}}} {
  // A factor on the product, and a bias of few sizes.
  // CHECK-LABEL: func.func @factor_and_bias
  // CHECK-NEXT: %[[Y:.*]] = graph.attention %arg0, %arg1, %arg2 bias %arg3 scale 1.250000e-01
  // CHECK-NEXT: return %[[Y]]
  // REMARK: A softmax between two GEMMs is one attention of 4 heads of 64, with a bias.
  func.func @factor_and_bias(%q: !q, %k: !k, %v: !k, %m: !graph.tensor<[b, 1, 1, t], f32>) -> !q {
    %kt = graph.transpose %k [0, 1, 3, 2] : !k
    %p = graph.matmul %q, %kt : !q, !kt
    %c = graph.constant dense<0.125> : tensor<f32>
    %cs = graph.broadcast %c : !graph.tensor<[], f32> to !s
    %x = graph.mul %p, %cs : !s
    %ms = graph.broadcast %m : !graph.tensor<[b, 1, 1, t], f32> to !s
    %l = graph.add %x, %ms : !s
    %top = graph.reduce max, %l axes [3] : !s
    %top1 = graph.reshape %top : !r to !r1
    %tops = graph.broadcast %top1 : !r1 to !s
    %d = graph.sub %l, %tops : !s
    %e = graph.exp %d : !s
    %sum = graph.reduce sum, %e axes [3] : !s
    %sum1 = graph.reshape %sum : !r to !r1
    %sums = graph.broadcast %sum1 : !r1 to !s
    %w = graph.div %e, %sums : !s
    %y = graph.matmul %w, %v : !s, !k
    return %y : !q
  }

  // Factors in front of the product, computed as exporters do; a triangle and a padding mask joined in front of a select with
  // the lowest number; NaN made 0. The triangle becomes `causal`; the rest stays a bias of the sizes that it has.
  // CHECK-LABEL: func.func @causal_and_padding
  // CHECK: %[[B:.*]] = graph.select %{{.*}} : <[b, 1, 1, s], i1>, <[b, 1, 1, s], f32>
  // CHECK-NEXT: graph.attention %arg0, %arg1, %arg2 bias %[[B]] scale 0.12{{[0-9]*}} causal <[0]>
  // CHECK-NEXT: return
  // REMARK: A softmax between two GEMMs is one attention of 4 heads of 64, causal, with a bias.
  func.func @causal_and_padding(%q: !q, %k: !q, %v: !q, %m: !graph.tensor<[b, s], i1>) -> !q {
    %eight = graph.constant dense<64.0> : tensor<f32>
    %root = graph.sqrt %eight : !graph.tensor<[], f32>
    %one = graph.constant dense<1.0> : tensor<f32>
    %scale = graph.div %one, %root : !graph.tensor<[], f32>
    %half = graph.sqrt %scale : !graph.tensor<[], f32>
    %hq = graph.broadcast %half : !graph.tensor<[], f32> to !q
    %qs = graph.mul %q, %hq : !q
    %kt = graph.transpose %k [0, 1, 3, 2] : !q
    %hk = graph.broadcast %half : !graph.tensor<[], f32> to !graph.tensor<[b, 4, 64, s], f32>
    %ks = graph.mul %kt, %hk : !graph.tensor<[b, 4, 64, s], f32>
    %p = graph.matmul %qs, %ks : !q, !graph.tensor<[b, 4, 64, s], f32>
    %range = graph.iota axis 0 : !graph.tensor<[s], i64>
    %qi = graph.reshape %range : !graph.tensor<[s], i64> to !graph.tensor<[1, 1, s, 1], i64>
    %ki = graph.reshape %range : !graph.tensor<[s], i64> to !graph.tensor<[1, 1, 1, s], i64>
    %qb = graph.broadcast %qi : !graph.tensor<[1, 1, s, 1], i64> to !graph.tensor<[1, 1, s, s], i64>
    %kb = graph.broadcast %ki : !graph.tensor<[1, 1, 1, s], i64> to !graph.tensor<[1, 1, s, s], i64>
    %tri = graph.compare le, %kb, %qb : !graph.tensor<[1, 1, s, s], i64>
    %m4 = graph.reshape %m : !graph.tensor<[b, s], i1> to !graph.tensor<[b, 1, 1, s], i1>
    %trib = graph.broadcast %tri : !graph.tensor<[1, 1, s, s], i1> to !graph.tensor<[b, 1, s, s], i1>
    %mb = graph.broadcast %m4 : !graph.tensor<[b, 1, 1, s], i1> to !graph.tensor<[b, 1, s, s], i1>
    %seen = graph.and %trib, %mb : !graph.tensor<[b, 1, s, s], i1>
    %zero = graph.constant dense<0.0> : tensor<f32>
    %low = graph.constant dense<-3.40282347E+38> : tensor<f32>
    %zeros = graph.broadcast %zero : !graph.tensor<[], f32> to !graph.tensor<[b, 1, s, s], f32>
    %lows = graph.broadcast %low : !graph.tensor<[], f32> to !graph.tensor<[b, 1, s, s], f32>
    %bias = graph.select %seen, %zeros, %lows : !graph.tensor<[b, 1, s, s], i1>, !graph.tensor<[b, 1, s, s], f32>
    %bs = graph.broadcast %bias : !graph.tensor<[b, 1, s, s], f32> to !graph.tensor<[b, 4, s, s], f32>
    %l = graph.add %bs, %p : !graph.tensor<[b, 4, s, s], f32>
    %top = graph.reduce max, %l axes [3] : !graph.tensor<[b, 4, s, s], f32>
    %top1 = graph.reshape %top : !r to !r1
    %tops = graph.broadcast %top1 : !r1 to !graph.tensor<[b, 4, s, s], f32>
    %d = graph.sub %l, %tops : !graph.tensor<[b, 4, s, s], f32>
    %e = graph.exp %d : !graph.tensor<[b, 4, s, s], f32>
    %sum = graph.reduce sum, %e axes [3] : !graph.tensor<[b, 4, s, s], f32>
    %sum1 = graph.reshape %sum : !r to !r1
    %sums = graph.broadcast %sum1 : !r1 to !graph.tensor<[b, 4, s, s], f32>
    %w = graph.div %e, %sums : !graph.tensor<[b, 4, s, s], f32>
    %nan = graph.is_nan %w : !graph.tensor<[b, 4, s, s], f32>
    %none = graph.broadcast %zero : !graph.tensor<[], f32> to !graph.tensor<[b, 4, s, s], f32>
    %safe = graph.select %nan, %none, %w : !graph.tensor<[b, 4, s, s], i1>, !graph.tensor<[b, 4, s, s], f32>
    %y = graph.matmul %safe, %v : !graph.tensor<[b, 4, s, s], f32>, !q
    return %y : !q
  }

  // Keys and values repeated for four heads each; a select with minus infinity is a mask.
  // CHECK-LABEL: func.func @groups
  // CHECK: graph.attention %arg0, %arg1, %arg2 mask %arg3 scale 1.000000e+00
  // CHECK-NEXT: return
  // REMARK: one attention of 4 heads of 64 on 2 of keys and values, with a mask.
  func.func @groups(%q: !q, %k: !graph.tensor<[b, 2, t, 64], f32>, %v: !graph.tensor<[b, 2, t, 64], f32>,
                    %m: !graph.tensor<[b, 1, s, t], i1>) -> !q {
    %k5 = graph.reshape %k : !graph.tensor<[b, 2, t, 64], f32> to !graph.tensor<[b, 2, 1, t, 64], f32>
    %kr = graph.broadcast %k5 : !graph.tensor<[b, 2, 1, t, 64], f32> to !graph.tensor<[b, 2, 2, t, 64], f32>
    %k4 = graph.reshape %kr : !graph.tensor<[b, 2, 2, t, 64], f32> to !k
    %v5 = graph.reshape %v : !graph.tensor<[b, 2, t, 64], f32> to !graph.tensor<[b, 2, 1, t, 64], f32>
    %vr = graph.broadcast %v5 : !graph.tensor<[b, 2, 1, t, 64], f32> to !graph.tensor<[b, 2, 2, t, 64], f32>
    %v4 = graph.reshape %vr : !graph.tensor<[b, 2, 2, t, 64], f32> to !k
    %kt = graph.transpose %k4 [0, 1, 3, 2] : !k
    %p = graph.matmul %q, %kt : !q, !kt
    %ms = graph.broadcast %m : !graph.tensor<[b, 1, s, t], i1> to !graph.tensor<[b, 4, s, t], i1>
    %low = graph.constant dense<0xFF800000> : tensor<f32>
    %lows = graph.broadcast %low : !graph.tensor<[], f32> to !s
    %l = graph.select %ms, %p, %lows : !graph.tensor<[b, 4, s, t], i1>, !s
    %top = graph.reduce max, %l axes [3] : !s
    %top1 = graph.reshape %top : !r to !r1
    %tops = graph.broadcast %top1 : !r1 to !s
    %d = graph.sub %l, %tops : !s
    %e = graph.exp %d : !s
    %sum = graph.reduce sum, %e axes [3] : !s
    %sum1 = graph.reshape %sum : !r to !r1
    %sums = graph.broadcast %sum1 : !r1 to !s
    %w = graph.div %e, %sums : !s
    %y = graph.matmul %w, %v4 : !s, !k
    return %y : !q
  }

  // The weights are a result as well.
  // CHECK-LABEL: func.func @weights_shown
  // CHECK-NOT: graph.attention
  // REMARK: A softmax between two GEMMs is not one attention, because its weights are used elsewhere as well.
  func.func @weights_shown(%q: !q, %k: !k, %v: !k) -> (!q, !s) {
    %kt = graph.transpose %k [0, 1, 3, 2] : !k
    %l = graph.matmul %q, %kt : !q, !kt
    %top = graph.reduce max, %l axes [3] : !s
    %top1 = graph.reshape %top : !r to !r1
    %tops = graph.broadcast %top1 : !r1 to !s
    %d = graph.sub %l, %tops : !s
    %e = graph.exp %d : !s
    %sum = graph.reduce sum, %e axes [3] : !s
    %sum1 = graph.reshape %sum : !r to !r1
    %sums = graph.broadcast %sum1 : !r1 to !s
    %w = graph.div %e, %sums : !s
    %y = graph.matmul %w, %v : !s, !k
    return %y, %w : !q, !s
  }

  // A product shares one head of queries among those of keys as well; attention does not.
  // CHECK-LABEL: func.func @one_head_of_queries
  // CHECK-NOT: graph.attention
  // REMARK: because its keys or values are shared in a way that has no word.
  func.func @one_head_of_queries(%q: !graph.tensor<[b, 1, s, 64], f32>, %k: !k, %v: !k) -> !q {
    %kt = graph.transpose %k [0, 1, 3, 2] : !k
    %l = graph.matmul %q, %kt : !graph.tensor<[b, 1, s, 64], f32>, !kt
    %top = graph.reduce max, %l axes [3] : !s
    %top1 = graph.reshape %top : !r to !r1
    %tops = graph.broadcast %top1 : !r1 to !s
    %d = graph.sub %l, %tops : !s
    %e = graph.exp %d : !s
    %sum = graph.reduce sum, %e axes [3] : !s
    %sum1 = graph.reshape %sum : !r to !r1
    %sums = graph.broadcast %sum1 : !r1 to !s
    %w = graph.div %e, %sums : !s
    %y = graph.matmul %w, %v : !s, !k
    return %y : !q
  }

  // How many heads share one must be known.
  // CHECK-LABEL: func.func @heads_of_any_number
  // CHECK-NOT: graph.attention
  // REMARK: because its keys or values are shared in a way that has no word.
  func.func @heads_of_any_number(%q: !graph.tensor<[b, h, s, 64], f32>, %k: !graph.tensor<[b, 1, t, 64], f32>,
                                 %v: !graph.tensor<[b, 1, t, 64], f32>) -> !graph.tensor<[b, h, s, 64], f32> {
    %kt = graph.transpose %k [0, 1, 3, 2] : !graph.tensor<[b, 1, t, 64], f32>
    %l = graph.matmul %q, %kt : !graph.tensor<[b, h, s, 64], f32>, !graph.tensor<[b, 1, 64, t], f32>
    %top = graph.reduce max, %l axes [3] : !graph.tensor<[b, h, s, t], f32>
    %top1 = graph.reshape %top : !graph.tensor<[b, h, s], f32> to !graph.tensor<[b, h, s, 1], f32>
    %tops = graph.broadcast %top1 : !graph.tensor<[b, h, s, 1], f32> to !graph.tensor<[b, h, s, t], f32>
    %d = graph.sub %l, %tops : !graph.tensor<[b, h, s, t], f32>
    %e = graph.exp %d : !graph.tensor<[b, h, s, t], f32>
    %sum = graph.reduce sum, %e axes [3] : !graph.tensor<[b, h, s, t], f32>
    %sum1 = graph.reshape %sum : !graph.tensor<[b, h, s], f32> to !graph.tensor<[b, h, s, 1], f32>
    %sums = graph.broadcast %sum1 : !graph.tensor<[b, h, s, 1], f32> to !graph.tensor<[b, h, s, t], f32>
    %w = graph.div %e, %sums : !graph.tensor<[b, h, s, t], f32>
    %y = graph.matmul %w, %v : !graph.tensor<[b, h, s, t], f32>, !graph.tensor<[b, 1, t, 64], f32>
    return %y : !graph.tensor<[b, h, s, 64], f32>
  }

  // A factor behind the bias would scale it too.
  // CHECK-LABEL: func.func @factor_behind_bias
  // CHECK-NOT: graph.attention
  // REMARK: because a factor stands after what is added to its scores.
  func.func @factor_behind_bias(%q: !q, %k: !k, %v: !k, %b: !s) -> !q {
    %kt = graph.transpose %k [0, 1, 3, 2] : !k
    %p = graph.matmul %q, %kt : !q, !kt
    %a = graph.add %p, %b : !s
    %c = graph.constant dense<0.125> : tensor<f32>
    %cs = graph.broadcast %c : !graph.tensor<[], f32> to !s
    %l = graph.mul %a, %cs : !s
    %top = graph.reduce max, %l axes [3] : !s
    %top1 = graph.reshape %top : !r to !r1
    %tops = graph.broadcast %top1 : !r1 to !s
    %d = graph.sub %l, %tops : !s
    %e = graph.exp %d : !s
    %sum = graph.reduce sum, %e axes [3] : !s
    %sum1 = graph.reshape %sum : !r to !r1
    %sums = graph.broadcast %sum1 : !r1 to !s
    %w = graph.div %e, %sums : !s
    %y = graph.matmul %w, %v : !s, !k
    return %y : !q
  }
}

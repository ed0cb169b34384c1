// RUN: kpc-opt --sink-broadcasts --recognise-attention --canonicalize %s | FileCheck %s

// Where a model is given no mask, `transformers` asks whether its positions go on one by one, for several sequences may be
// packed into one row: a new one begins where they do not, the number of each is a running sum, and a query sees the keys of
// its own sequence. Positions 0, 1, 2, … are one sequence, and nothing of that is left.

!q = !graph.tensor<[b, 4, s, 64], f32>
!s = !graph.tensor<[b, 4, s, s], f32>
!r = !graph.tensor<[b, 4, s], f32>
!r1 = !graph.tensor<[b, 4, s, 1], f32>
!p = !graph.tensor<[b, s], i64>

module attributes {graph.symbols = {b = {min = 1}, s = {min = 1}}} {
  // Positions are computed.
  // CHECK-LABEL: func.func @one_sequence
  // CHECK-NEXT: %[[Y:.*]] = graph.attention %arg0, %arg1, %arg2 scale 1.000000e+00 causal <[0]>
  // CHECK-NEXT: return %[[Y]]
  func.func @one_sequence(%q: !q, %k: !q, %v: !q) -> !q {
    %range = graph.iota axis 0 : !graph.tensor<[s], i64>
    %positions1 = graph.reshape %range : !graph.tensor<[s], i64> to !graph.tensor<[1, s], i64>
    %positions = graph.broadcast %positions1 : !graph.tensor<[1, s], i64> to !p
    %first = graph.slice %positions start <[0, 0]> step [1, 1] : !p to !graph.tensor<[b, 1], i64>
    %one = graph.constant dense<1> : tensor<i64>
    %one1 = graph.broadcast %one : !graph.tensor<[], i64> to !graph.tensor<[b, 1], i64>
    %before = graph.sub %first, %one1 : !graph.tensor<[b, 1], i64>
    %longer = graph.concat %before, %positions axis 1 : !graph.tensor<[b, 1], i64>, !p
    %behind = graph.slice %longer start <[0, 0]> step [1, 1] : !graph.tensor<[b, "s + 1"], i64> to !p
    %ahead = graph.slice %longer start <[0, 1]> step [1, 1] : !graph.tensor<[b, "s + 1"], i64> to !p
    %apart = graph.sub %ahead, %behind : !p
    %ones = graph.broadcast %one : !graph.tensor<[], i64> to !p
    %next = graph.compare eq, %apart, %ones : !p
    %new = graph.not %next : !graph.tensor<[b, s], i1>
    %news = graph.cast %new to i64 : !graph.tensor<[b, s], i1>
    %number = graph.cumsum %news axis 1 : !p
    %batches = graph.iota axis 0 : !graph.tensor<[b], i64>
    %b5 = graph.reshape %batches : !graph.tensor<[b], i64> to !graph.tensor<[b, 1, 1, 1], i64>
    %bs = graph.broadcast %b5 : !graph.tensor<[b, 1, 1, 1], i64> to !graph.tensor<[b, 1, s, 1], i64>
    %s5 = graph.reshape %range : !graph.tensor<[s], i64> to !graph.tensor<[1, 1, s, 1], i64>
    %ss = graph.broadcast %s5 : !graph.tensor<[1, 1, s, 1], i64> to !graph.tensor<[b, 1, s, 1], i64>
    %at = graph.concat %bs, %ss axis 3 : !graph.tensor<[b, 1, s, 1], i64>, !graph.tensor<[b, 1, s, 1], i64>
    %each = graph.gather_nd %number, %at batch_dims 0 : !p, !graph.tensor<[b, 1, s, 2], i64>
    %of_query = graph.reshape %each : !graph.tensor<[b, 1, s], i64> to !graph.tensor<[b, 1, s, 1], i64>
    %of_key = graph.reshape %each : !graph.tensor<[b, 1, s], i64> to !graph.tensor<[b, 1, 1, s], i64>
    %queries = graph.broadcast %of_query : !graph.tensor<[b, 1, s, 1], i64> to !graph.tensor<[b, 1, s, s], i64>
    %keys = graph.broadcast %of_key : !graph.tensor<[b, 1, 1, s], i64> to !graph.tensor<[b, 1, s, s], i64>
    %same = graph.compare eq, %queries, %keys : !graph.tensor<[b, 1, s, s], i64>
    %qi = graph.reshape %range : !graph.tensor<[s], i64> to !graph.tensor<[1, 1, s, 1], i64>
    %ki = graph.reshape %range : !graph.tensor<[s], i64> to !graph.tensor<[1, 1, 1, s], i64>
    %qb = graph.broadcast %qi : !graph.tensor<[1, 1, s, 1], i64> to !graph.tensor<[b, 1, s, s], i64>
    %kb = graph.broadcast %ki : !graph.tensor<[1, 1, 1, s], i64> to !graph.tensor<[b, 1, s, s], i64>
    %triangle = graph.compare le, %kb, %qb : !graph.tensor<[b, 1, s, s], i64>
    %seen = graph.and %triangle, %same : !graph.tensor<[b, 1, s, s], i1>
    %zero = graph.constant dense<0.0> : tensor<f32>
    %low = graph.constant dense<-3.40282347E+38> : tensor<f32>
    %zeros = graph.broadcast %zero : !graph.tensor<[], f32> to !graph.tensor<[b, 1, s, s], f32>
    %lows = graph.broadcast %low : !graph.tensor<[], f32> to !graph.tensor<[b, 1, s, s], f32>
    %bias = graph.select %seen, %zeros, %lows : !graph.tensor<[b, 1, s, s], i1>, !graph.tensor<[b, 1, s, s], f32>
    %biases = graph.broadcast %bias : !graph.tensor<[b, 1, s, s], f32> to !s
    %kt = graph.transpose %k [0, 1, 3, 2] : !q
    %p = graph.matmul %q, %kt : !q, !graph.tensor<[b, 4, 64, s], f32>
    %l = graph.add %p, %biases : !s
    %top = graph.reduce max, %l axes [3] : !s
    %top1 = graph.reshape %top : !r to !r1
    %tops = graph.broadcast %top1 : !r1 to !s
    %d = graph.sub %l, %tops : !s
    %e = graph.exp %d : !s
    %sum = graph.reduce sum, %e axes [3] : !s
    %sum1 = graph.reshape %sum : !r to !r1
    %sums = graph.broadcast %sum1 : !r1 to !s
    %w = graph.div %e, %sums : !s
    %y = graph.matmul %w, %v : !s, !q
    return %y : !q
  }

  // Behind earlier tokens: 5, 6, 7, …
  // CHECK-LABEL: func.func @later_positions
  // CHECK-NEXT: %[[Y:.*]] = graph.attention %arg0, %arg1, %arg2 scale 1.000000e+00 causal <[0]>
  // CHECK-NEXT: return %[[Y]]
  func.func @later_positions(%q: !q, %k: !q, %v: !q) -> !q {
    %range = graph.iota axis 0 : !graph.tensor<[s], i64>
    %five = graph.constant dense<5> : tensor<i64>
    %fives = graph.broadcast %five : !graph.tensor<[], i64> to !graph.tensor<[s], i64>
    %later = graph.add %range, %fives : !graph.tensor<[s], i64>
    %positions1 = graph.reshape %later : !graph.tensor<[s], i64> to !graph.tensor<[1, s], i64>
    %positions = graph.broadcast %positions1 : !graph.tensor<[1, s], i64> to !p
    %first = graph.slice %positions start <[0, 0]> step [1, 1] : !p to !graph.tensor<[b, 1], i64>
    %one = graph.constant dense<1> : tensor<i64>
    %one1 = graph.broadcast %one : !graph.tensor<[], i64> to !graph.tensor<[b, 1], i64>
    %before = graph.sub %first, %one1 : !graph.tensor<[b, 1], i64>
    %longer = graph.concat %before, %positions axis 1 : !graph.tensor<[b, 1], i64>, !p
    %behind = graph.slice %longer start <[0, 0]> step [1, 1] : !graph.tensor<[b, "s + 1"], i64> to !p
    %ahead = graph.slice %longer start <[0, 1]> step [1, 1] : !graph.tensor<[b, "s + 1"], i64> to !p
    %apart = graph.sub %ahead, %behind : !p
    %ones = graph.broadcast %one : !graph.tensor<[], i64> to !p
    %next = graph.compare eq, %apart, %ones : !p
    %new = graph.not %next : !graph.tensor<[b, s], i1>
    %news = graph.cast %new to i64 : !graph.tensor<[b, s], i1>
    %number = graph.cumsum %news axis 1 : !p
    %batches = graph.iota axis 0 : !graph.tensor<[b], i64>
    %b5 = graph.reshape %batches : !graph.tensor<[b], i64> to !graph.tensor<[b, 1, 1, 1], i64>
    %bs = graph.broadcast %b5 : !graph.tensor<[b, 1, 1, 1], i64> to !graph.tensor<[b, 1, s, 1], i64>
    %s5 = graph.reshape %range : !graph.tensor<[s], i64> to !graph.tensor<[1, 1, s, 1], i64>
    %ss = graph.broadcast %s5 : !graph.tensor<[1, 1, s, 1], i64> to !graph.tensor<[b, 1, s, 1], i64>
    %at = graph.concat %bs, %ss axis 3 : !graph.tensor<[b, 1, s, 1], i64>, !graph.tensor<[b, 1, s, 1], i64>
    %each = graph.gather_nd %number, %at batch_dims 0 : !p, !graph.tensor<[b, 1, s, 2], i64>
    %of_query = graph.reshape %each : !graph.tensor<[b, 1, s], i64> to !graph.tensor<[b, 1, s, 1], i64>
    %of_key = graph.reshape %each : !graph.tensor<[b, 1, s], i64> to !graph.tensor<[b, 1, 1, s], i64>
    %queries = graph.broadcast %of_query : !graph.tensor<[b, 1, s, 1], i64> to !graph.tensor<[b, 1, s, s], i64>
    %keys = graph.broadcast %of_key : !graph.tensor<[b, 1, 1, s], i64> to !graph.tensor<[b, 1, s, s], i64>
    %same = graph.compare eq, %queries, %keys : !graph.tensor<[b, 1, s, s], i64>
    %qi = graph.reshape %range : !graph.tensor<[s], i64> to !graph.tensor<[1, 1, s, 1], i64>
    %ki = graph.reshape %range : !graph.tensor<[s], i64> to !graph.tensor<[1, 1, 1, s], i64>
    %qb = graph.broadcast %qi : !graph.tensor<[1, 1, s, 1], i64> to !graph.tensor<[b, 1, s, s], i64>
    %kb = graph.broadcast %ki : !graph.tensor<[1, 1, 1, s], i64> to !graph.tensor<[b, 1, s, s], i64>
    %triangle = graph.compare le, %kb, %qb : !graph.tensor<[b, 1, s, s], i64>
    %seen = graph.and %triangle, %same : !graph.tensor<[b, 1, s, s], i1>
    %zero = graph.constant dense<0.0> : tensor<f32>
    %low = graph.constant dense<-3.40282347E+38> : tensor<f32>
    %zeros = graph.broadcast %zero : !graph.tensor<[], f32> to !graph.tensor<[b, 1, s, s], f32>
    %lows = graph.broadcast %low : !graph.tensor<[], f32> to !graph.tensor<[b, 1, s, s], f32>
    %bias = graph.select %seen, %zeros, %lows : !graph.tensor<[b, 1, s, s], i1>, !graph.tensor<[b, 1, s, s], f32>
    %biases = graph.broadcast %bias : !graph.tensor<[b, 1, s, s], f32> to !s
    %kt = graph.transpose %k [0, 1, 3, 2] : !q
    %p = graph.matmul %q, %kt : !q, !graph.tensor<[b, 4, 64, s], f32>
    %l = graph.add %p, %biases : !s
    %top = graph.reduce max, %l axes [3] : !s
    %top1 = graph.reshape %top : !r to !r1
    %tops = graph.broadcast %top1 : !r1 to !s
    %d = graph.sub %l, %tops : !s
    %e = graph.exp %d : !s
    %sum = graph.reduce sum, %e axes [3] : !s
    %sum1 = graph.reshape %sum : !r to !r1
    %sums = graph.broadcast %sum1 : !r1 to !s
    %w = graph.div %e, %sums : !s
    %y = graph.matmul %w, %v : !s, !q
    return %y : !q
  }

  // 0, 2, 4, …: each is a sequence of its own, so a mask is needed.
  // CHECK-LABEL: func.func @every_other
  // CHECK: graph.cumsum
  // CHECK: graph.attention %arg0, %arg1, %arg2 bias %{{.*}} scale 1.000000e+00 causal <[0]>
  func.func @every_other(%q: !q, %k: !q, %v: !q) -> !q {
    %range = graph.iota axis 0 : !graph.tensor<[s], i64>
    %later = graph.add %range, %range : !graph.tensor<[s], i64>
    %positions1 = graph.reshape %later : !graph.tensor<[s], i64> to !graph.tensor<[1, s], i64>
    %positions = graph.broadcast %positions1 : !graph.tensor<[1, s], i64> to !p
    %first = graph.slice %positions start <[0, 0]> step [1, 1] : !p to !graph.tensor<[b, 1], i64>
    %one = graph.constant dense<1> : tensor<i64>
    %one1 = graph.broadcast %one : !graph.tensor<[], i64> to !graph.tensor<[b, 1], i64>
    %before = graph.sub %first, %one1 : !graph.tensor<[b, 1], i64>
    %longer = graph.concat %before, %positions axis 1 : !graph.tensor<[b, 1], i64>, !p
    %behind = graph.slice %longer start <[0, 0]> step [1, 1] : !graph.tensor<[b, "s + 1"], i64> to !p
    %ahead = graph.slice %longer start <[0, 1]> step [1, 1] : !graph.tensor<[b, "s + 1"], i64> to !p
    %apart = graph.sub %ahead, %behind : !p
    %ones = graph.broadcast %one : !graph.tensor<[], i64> to !p
    %next = graph.compare eq, %apart, %ones : !p
    %new = graph.not %next : !graph.tensor<[b, s], i1>
    %news = graph.cast %new to i64 : !graph.tensor<[b, s], i1>
    %number = graph.cumsum %news axis 1 : !p
    %batches = graph.iota axis 0 : !graph.tensor<[b], i64>
    %b5 = graph.reshape %batches : !graph.tensor<[b], i64> to !graph.tensor<[b, 1, 1, 1], i64>
    %bs = graph.broadcast %b5 : !graph.tensor<[b, 1, 1, 1], i64> to !graph.tensor<[b, 1, s, 1], i64>
    %s5 = graph.reshape %range : !graph.tensor<[s], i64> to !graph.tensor<[1, 1, s, 1], i64>
    %ss = graph.broadcast %s5 : !graph.tensor<[1, 1, s, 1], i64> to !graph.tensor<[b, 1, s, 1], i64>
    %at = graph.concat %bs, %ss axis 3 : !graph.tensor<[b, 1, s, 1], i64>, !graph.tensor<[b, 1, s, 1], i64>
    %each = graph.gather_nd %number, %at batch_dims 0 : !p, !graph.tensor<[b, 1, s, 2], i64>
    %of_query = graph.reshape %each : !graph.tensor<[b, 1, s], i64> to !graph.tensor<[b, 1, s, 1], i64>
    %of_key = graph.reshape %each : !graph.tensor<[b, 1, s], i64> to !graph.tensor<[b, 1, 1, s], i64>
    %queries = graph.broadcast %of_query : !graph.tensor<[b, 1, s, 1], i64> to !graph.tensor<[b, 1, s, s], i64>
    %keys = graph.broadcast %of_key : !graph.tensor<[b, 1, 1, s], i64> to !graph.tensor<[b, 1, s, s], i64>
    %same = graph.compare eq, %queries, %keys : !graph.tensor<[b, 1, s, s], i64>
    %qi = graph.reshape %range : !graph.tensor<[s], i64> to !graph.tensor<[1, 1, s, 1], i64>
    %ki = graph.reshape %range : !graph.tensor<[s], i64> to !graph.tensor<[1, 1, 1, s], i64>
    %qb = graph.broadcast %qi : !graph.tensor<[1, 1, s, 1], i64> to !graph.tensor<[b, 1, s, s], i64>
    %kb = graph.broadcast %ki : !graph.tensor<[1, 1, 1, s], i64> to !graph.tensor<[b, 1, s, s], i64>
    %triangle = graph.compare le, %kb, %qb : !graph.tensor<[b, 1, s, s], i64>
    %seen = graph.and %triangle, %same : !graph.tensor<[b, 1, s, s], i1>
    %zero = graph.constant dense<0.0> : tensor<f32>
    %low = graph.constant dense<-3.40282347E+38> : tensor<f32>
    %zeros = graph.broadcast %zero : !graph.tensor<[], f32> to !graph.tensor<[b, 1, s, s], f32>
    %lows = graph.broadcast %low : !graph.tensor<[], f32> to !graph.tensor<[b, 1, s, s], f32>
    %bias = graph.select %seen, %zeros, %lows : !graph.tensor<[b, 1, s, s], i1>, !graph.tensor<[b, 1, s, s], f32>
    %biases = graph.broadcast %bias : !graph.tensor<[b, 1, s, s], f32> to !s
    %kt = graph.transpose %k [0, 1, 3, 2] : !q
    %p = graph.matmul %q, %kt : !q, !graph.tensor<[b, 4, 64, s], f32>
    %l = graph.add %p, %biases : !s
    %top = graph.reduce max, %l axes [3] : !s
    %top1 = graph.reshape %top : !r to !r1
    %tops = graph.broadcast %top1 : !r1 to !s
    %d = graph.sub %l, %tops : !s
    %e = graph.exp %d : !s
    %sum = graph.reduce sum, %e axes [3] : !s
    %sum1 = graph.reshape %sum : !r to !r1
    %sums = graph.broadcast %sum1 : !r1 to !s
    %w = graph.div %e, %sums : !s
    %y = graph.matmul %w, %v : !s, !q
    return %y : !q
  }

  // Positions that the caller gives are anything.
  // CHECK-LABEL: func.func @given
  // CHECK: graph.cumsum
  // CHECK: graph.attention %arg0, %arg1, %arg2 bias %{{.*}} scale 1.000000e+00 causal <[0]>
  func.func @given(%q: !q, %k: !q, %v: !q, %positions: !p) -> !q {
    %range = graph.iota axis 0 : !graph.tensor<[s], i64>
    %first = graph.slice %positions start <[0, 0]> step [1, 1] : !p to !graph.tensor<[b, 1], i64>
    %one = graph.constant dense<1> : tensor<i64>
    %one1 = graph.broadcast %one : !graph.tensor<[], i64> to !graph.tensor<[b, 1], i64>
    %before = graph.sub %first, %one1 : !graph.tensor<[b, 1], i64>
    %longer = graph.concat %before, %positions axis 1 : !graph.tensor<[b, 1], i64>, !p
    %behind = graph.slice %longer start <[0, 0]> step [1, 1] : !graph.tensor<[b, "s + 1"], i64> to !p
    %ahead = graph.slice %longer start <[0, 1]> step [1, 1] : !graph.tensor<[b, "s + 1"], i64> to !p
    %apart = graph.sub %ahead, %behind : !p
    %ones = graph.broadcast %one : !graph.tensor<[], i64> to !p
    %next = graph.compare eq, %apart, %ones : !p
    %new = graph.not %next : !graph.tensor<[b, s], i1>
    %news = graph.cast %new to i64 : !graph.tensor<[b, s], i1>
    %number = graph.cumsum %news axis 1 : !p
    %batches = graph.iota axis 0 : !graph.tensor<[b], i64>
    %b5 = graph.reshape %batches : !graph.tensor<[b], i64> to !graph.tensor<[b, 1, 1, 1], i64>
    %bs = graph.broadcast %b5 : !graph.tensor<[b, 1, 1, 1], i64> to !graph.tensor<[b, 1, s, 1], i64>
    %s5 = graph.reshape %range : !graph.tensor<[s], i64> to !graph.tensor<[1, 1, s, 1], i64>
    %ss = graph.broadcast %s5 : !graph.tensor<[1, 1, s, 1], i64> to !graph.tensor<[b, 1, s, 1], i64>
    %at = graph.concat %bs, %ss axis 3 : !graph.tensor<[b, 1, s, 1], i64>, !graph.tensor<[b, 1, s, 1], i64>
    %each = graph.gather_nd %number, %at batch_dims 0 : !p, !graph.tensor<[b, 1, s, 2], i64>
    %of_query = graph.reshape %each : !graph.tensor<[b, 1, s], i64> to !graph.tensor<[b, 1, s, 1], i64>
    %of_key = graph.reshape %each : !graph.tensor<[b, 1, s], i64> to !graph.tensor<[b, 1, 1, s], i64>
    %queries = graph.broadcast %of_query : !graph.tensor<[b, 1, s, 1], i64> to !graph.tensor<[b, 1, s, s], i64>
    %keys = graph.broadcast %of_key : !graph.tensor<[b, 1, 1, s], i64> to !graph.tensor<[b, 1, s, s], i64>
    %same = graph.compare eq, %queries, %keys : !graph.tensor<[b, 1, s, s], i64>
    %qi = graph.reshape %range : !graph.tensor<[s], i64> to !graph.tensor<[1, 1, s, 1], i64>
    %ki = graph.reshape %range : !graph.tensor<[s], i64> to !graph.tensor<[1, 1, 1, s], i64>
    %qb = graph.broadcast %qi : !graph.tensor<[1, 1, s, 1], i64> to !graph.tensor<[b, 1, s, s], i64>
    %kb = graph.broadcast %ki : !graph.tensor<[1, 1, 1, s], i64> to !graph.tensor<[b, 1, s, s], i64>
    %triangle = graph.compare le, %kb, %qb : !graph.tensor<[b, 1, s, s], i64>
    %seen = graph.and %triangle, %same : !graph.tensor<[b, 1, s, s], i1>
    %zero = graph.constant dense<0.0> : tensor<f32>
    %low = graph.constant dense<-3.40282347E+38> : tensor<f32>
    %zeros = graph.broadcast %zero : !graph.tensor<[], f32> to !graph.tensor<[b, 1, s, s], f32>
    %lows = graph.broadcast %low : !graph.tensor<[], f32> to !graph.tensor<[b, 1, s, s], f32>
    %bias = graph.select %seen, %zeros, %lows : !graph.tensor<[b, 1, s, s], i1>, !graph.tensor<[b, 1, s, s], f32>
    %biases = graph.broadcast %bias : !graph.tensor<[b, 1, s, s], f32> to !s
    %kt = graph.transpose %k [0, 1, 3, 2] : !q
    %p = graph.matmul %q, %kt : !q, !graph.tensor<[b, 4, 64, s], f32>
    %l = graph.add %p, %biases : !s
    %top = graph.reduce max, %l axes [3] : !s
    %top1 = graph.reshape %top : !r to !r1
    %tops = graph.broadcast %top1 : !r1 to !s
    %d = graph.sub %l, %tops : !s
    %e = graph.exp %d : !s
    %sum = graph.reduce sum, %e axes [3] : !s
    %sum1 = graph.reshape %sum : !r to !r1
    %sums = graph.broadcast %sum1 : !r1 to !s
    %w = graph.div %e, %sums : !s
    %y = graph.matmul %w, %v : !s, !q
    return %y : !q
  }

  // One query behind a cache sees all keys: the last of them is its own.
  // CHECK-LABEL: func.func @one_query
  // CHECK: graph.attention %arg0, %arg1, %arg2 scale 1.000000e+00 :
  func.func @one_query(%q: !graph.tensor<[b, 4, 1, 64], f32>, %k: !graph.tensor<[b, 4, "s + 1", 64], f32>,
                       %v: !graph.tensor<[b, 4, "s + 1", 64], f32>) -> !graph.tensor<[b, 4, 1, 64], f32> {
    %kt = graph.transpose %k [0, 1, 3, 2] : !graph.tensor<[b, 4, "s + 1", 64], f32>
    %p = graph.matmul %q, %kt : !graph.tensor<[b, 4, 1, 64], f32>, !graph.tensor<[b, 4, 64, "s + 1"], f32>
    %keys = graph.iota axis 0 : !graph.tensor<["s + 1"], i64>
    %all = graph.iota axis 0 : !graph.tensor<["s + 1"], i64>
    %at = graph.slice %all start <[s]> step [1] : !graph.tensor<["s + 1"], i64> to !graph.tensor<[1], i64>
    %query = graph.broadcast %at : !graph.tensor<[1], i64> to !graph.tensor<["s + 1"], i64>
    %seen = graph.compare le, %keys, %query : !graph.tensor<["s + 1"], i64>
    %mask = graph.broadcast %seen : !graph.tensor<["s + 1"], i1> to !graph.tensor<[b, 4, 1, "s + 1"], i1>
    %c = graph.constant dense<-1.0e9> : tensor<f32>
    %cs = graph.broadcast %c : !graph.tensor<[], f32> to !graph.tensor<[b, 4, 1, "s + 1"], f32>
    %l = graph.select %mask, %p, %cs : !graph.tensor<[b, 4, 1, "s + 1"], i1>, !graph.tensor<[b, 4, 1, "s + 1"], f32>
    %top = graph.reduce max, %l axes [3] : !graph.tensor<[b, 4, 1, "s + 1"], f32>
    %top1 = graph.reshape %top : !graph.tensor<[b, 4, 1], f32> to !graph.tensor<[b, 4, 1, 1], f32>
    %tops = graph.broadcast %top1 : !graph.tensor<[b, 4, 1, 1], f32> to !graph.tensor<[b, 4, 1, "s + 1"], f32>
    %d = graph.sub %l, %tops : !graph.tensor<[b, 4, 1, "s + 1"], f32>
    %e = graph.exp %d : !graph.tensor<[b, 4, 1, "s + 1"], f32>
    %sum = graph.reduce sum, %e axes [3] : !graph.tensor<[b, 4, 1, "s + 1"], f32>
    %sum1 = graph.reshape %sum : !graph.tensor<[b, 4, 1], f32> to !graph.tensor<[b, 4, 1, 1], f32>
    %sums = graph.broadcast %sum1 : !graph.tensor<[b, 4, 1, 1], f32> to !graph.tensor<[b, 4, 1, "s + 1"], f32>
    %w = graph.div %e, %sums : !graph.tensor<[b, 4, 1, "s + 1"], f32>
    %y = graph.matmul %w, %v : !graph.tensor<[b, 4, 1, "s + 1"], f32>, !graph.tensor<[b, 4, "s + 1", 64], f32>
    return %y : !graph.tensor<[b, 4, 1, 64], f32>
  }
}

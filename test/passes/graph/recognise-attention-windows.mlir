// RUN: kpc-opt --sink-broadcasts --recognise-attention %s | FileCheck %s
// RUN: kpc-opt --sink-broadcasts --recognise-attention %s --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: kpc-opt --sink-broadcasts --recognise-attention --cse --form-regions %s | FileCheck %s --check-prefix=REGIONS

// Windows of keys are a mask that compares places, with four sizes and no reshape: the attention's kernel computes it.

!q = !graph.tensor<[2, 4, s, 64], f16>
!qk = !graph.tensor<[s, s], i64>
!seen = !graph.tensor<[s, s], i1>
!row = !graph.tensor<[s, 1], i64>
!column = !graph.tensor<[1, s], i64>

module attributes {graph.symbols = {s = {min = 1}}} {
  // key > query - 100 and key <= query, as a mask of two dimensions.
  // CHECK-LABEL: func.func @window
  // CHECK-DAG: %[[KEY:.*]] = graph.iota axis 3 : <[1, 1, s, s], i64>
  // CHECK-DAG: %[[QUERY:.*]] = graph.iota axis 2 : <[1, 1, s, s], i64>
  // CHECK-DAG: %[[BEFORE:.*]] = graph.constant dense<-99> : tensor<i64>
  // CHECK: %[[FROM:.*]] = graph.add %[[QUERY]], %{{.*}} : <[1, 1, s, s], i64>
  // CHECK-NEXT: %[[SEEN:.*]] = graph.compare ge, %[[KEY]], %[[FROM]]
  // CHECK-NEXT: graph.attention %arg0, %arg1, %arg2 mask %[[SEEN]] scale 1.250000e-01 causal <[0]>
  // REMARK: The model's attention is one of 4 heads of 64, causal, with a mask that compares places.
  // REGIONS-LABEL: func.func @window
  // REGIONS: graph.region "{{.*}}"(%arg0, %arg1, %arg2)
  // REGIONS-NOT: graph.region
  // REGIONS: graph.compare ge
  // REGIONS: graph.attention
  // REGIONS-NOT: graph.region
  // REGIONS: return
  func.func @window(%q: !q {graph.name = "q"}, %k: !q {graph.name = "k"}, %v: !q {graph.name = "v"}) -> (!q {graph.name = "y"}) {
    %range = graph.iota axis 0 : !graph.tensor<[s], i64>
    %qi = graph.reshape %range : !graph.tensor<[s], i64> to !row
    %ki = graph.reshape %range : !graph.tensor<[s], i64> to !column
    %w = graph.constant dense<100> : tensor<i64>
    %ws = graph.broadcast %w : !graph.tensor<[], i64> to !row
    %from = graph.sub %qi, %ws : !row
    %qs = graph.broadcast %qi : !row to !qk
    %ks = graph.broadcast %ki : !column to !qk
    %froms = graph.broadcast %from : !row to !qk
    %a = graph.compare gt, %ks, %froms : !qk
    %b = graph.compare le, %ks, %qs : !qk
    %seen = graph.and %a, %b : !seen
    %m = graph.reshape %seen : !seen to !graph.tensor<[1, 1, s, s], i1>
    %y = graph.attention %q, %k, %v mask %m scale 0.125 : !q, !q, !q, !graph.tensor<[1, 1, s, s], i1>
    return %y : !q
  }

  // A finite number that hides, and padding: a window becomes a mask, padding stays what is added, with its own sizes.
  // CHECK-LABEL: func.func @added
  // CHECK: %[[PADDING:.*]] = graph.select {{.*}} : <[2, 1, 1, s], i1>, <[2, 1, 1, s], f16>
  // CHECK: graph.attention %arg0, %arg1, %arg2 bias %[[PADDING]] mask %{{.*}} scale 1.250000e-01 causal <[0]> : {{.*}}<[2, 1, 1, s], f16>, !graph.tensor<[1, 1, s, s], i1>
  // REMARK: The model's attention is one of 4 heads of 64, causal, with a mask that compares places, with a bias.
  func.func @added(%q: !q {graph.name = "q"}, %k: !q {graph.name = "k"}, %v: !q {graph.name = "v"}, %p: !graph.tensor<[2, 1, 1, s], i1> {graph.name = "p"}) -> (!q {graph.name = "y"}) {
    %ki = graph.iota axis 3 : !graph.tensor<[2, 1, s, s], i64>
    %qi = graph.iota axis 2 : !graph.tensor<[2, 1, s, s], i64>
    %w = graph.constant dense<16> : tensor<i64>
    %ws = graph.broadcast %w : !graph.tensor<[], i64> to !graph.tensor<[2, 1, s, s], i64>
    %d = graph.sub %qi, %ki : !graph.tensor<[2, 1, s, s], i64>
    %a = graph.compare lt, %d, %ws : !graph.tensor<[2, 1, s, s], i64>
    %b = graph.compare le, %ki, %qi : !graph.tensor<[2, 1, s, s], i64>
    %ps = graph.broadcast %p : !graph.tensor<[2, 1, 1, s], i1> to !graph.tensor<[2, 1, s, s], i1>
    %ab = graph.and %a, %b : !graph.tensor<[2, 1, s, s], i1>
    %seen = graph.and %ab, %ps : !graph.tensor<[2, 1, s, s], i1>
    %zero = graph.constant dense<0.0> : tensor<f16>
    %low = graph.constant dense<-65504.0> : tensor<f16>
    %zeros = graph.broadcast %zero : !graph.tensor<[], f16> to !graph.tensor<[2, 1, s, s], f16>
    %lows = graph.broadcast %low : !graph.tensor<[], f16> to !graph.tensor<[2, 1, s, s], f16>
    %m = graph.select %seen, %zeros, %lows : !graph.tensor<[2, 1, s, s], i1>, !graph.tensor<[2, 1, s, s], f16>
    %y = graph.attention %q, %k, %v bias %m scale 0.125 : !q, !q, !q, !graph.tensor<[2, 1, s, s], f16>
    return %y : !q
  }

  // Each batch begins elsewhere: both ends of the window stay comparisons, of indices in four dimensions and a number of the batch.
  // CHECK-LABEL: func.func @batches
  // CHECK-DAG: graph.iota axis 2 : <[1, 1, s, s], i64>
  // CHECK-DAG: graph.iota axis 3 : <[1, 1, s, s], i64>
  // CHECK: %[[BEHIND:.*]] = graph.add {{.*}} : <[2, 1, s, s], i64>
  // CHECK-NOT: graph.reshape
  // CHECK: %[[SEEN:.*]] = graph.and {{.*}} : <[2, 1, s, s], i1>
  // CHECK-NEXT: graph.attention %arg0, %arg1, %arg2 mask %[[SEEN]] scale
  // REGIONS-LABEL: func.func @batches
  // REGIONS: graph.region "{{.*}}"(%arg3, %arg0, %arg1, %arg2)
  // REGIONS-NOT: graph.region
  // REGIONS: return
  func.func @batches(%q: !q {graph.name = "q"}, %k: !q {graph.name = "k"}, %v: !q {graph.name = "v"}, %c: !graph.tensor<[2, 1, 1, 1], i64> {graph.name = "c"}) -> (!q {graph.name = "y"}) {
    %qi = graph.iota axis 0 : !qk
    %ki = graph.iota axis 1 : !qk
    %d2 = graph.sub %qi, %ki : !qk
    %d4 = graph.reshape %d2 : !qk to !graph.tensor<[1, 1, s, s], i64>
    %d = graph.broadcast %d4 : !graph.tensor<[1, 1, s, s], i64> to !graph.tensor<[2, 1, s, s], i64>
    %cs = graph.broadcast %c : !graph.tensor<[2, 1, 1, 1], i64> to !graph.tensor<[2, 1, s, s], i64>
    %behind = graph.add %d, %cs : !graph.tensor<[2, 1, s, s], i64>
    %zero = graph.constant dense<0> : tensor<i64>
    %w = graph.constant dense<32> : tensor<i64>
    %zeros = graph.broadcast %zero : !graph.tensor<[], i64> to !graph.tensor<[2, 1, s, s], i64>
    %ws = graph.broadcast %w : !graph.tensor<[], i64> to !graph.tensor<[2, 1, s, s], i64>
    %a = graph.compare ge, %behind, %zeros : !graph.tensor<[2, 1, s, s], i64>
    %b = graph.compare le, %behind, %ws : !graph.tensor<[2, 1, s, s], i64>
    %seen = graph.and %a, %b : !graph.tensor<[2, 1, s, s], i1>
    %y = graph.attention %q, %k, %v mask %seen scale 0.125 : !q, !q, !q, !graph.tensor<[2, 1, s, s], i1>
    return %y : !q
  }

  // Two attentions that share a mask have their own copies of it.
  // REGIONS-LABEL: func.func @shared
  // REGIONS-COUNT-2: graph.compare ge
  // REGIONS-NOT: graph.region
  // REGIONS: return
  func.func @shared(%q: !q {graph.name = "q"}, %k: !q {graph.name = "k"}, %v: !q {graph.name = "v"}) -> (!q {graph.name = "y"}) {
    %ki = graph.iota axis 3 : !graph.tensor<[1, 1, s, s], i64>
    %qi = graph.iota axis 2 : !graph.tensor<[1, 1, s, s], i64>
    %a = graph.compare ge, %ki, %qi : !graph.tensor<[1, 1, s, s], i64>
    %x = graph.attention %q, %k, %v mask %a scale 0.125 : !q, !q, !q, !graph.tensor<[1, 1, s, s], i1>
    %y = graph.attention %x, %k, %v mask %a scale 0.125 : !q, !q, !q, !graph.tensor<[1, 1, s, s], i1>
    return %y : !q
  }

  // A softmax's sink: a first key that all queries see, and a window of the others.
  // CHECK-LABEL: func.func @sink
  // CHECK-NOT: graph.reshape
  // CHECK: %[[LEAD:.*]] = graph.compare lt, {{.*}} : <[1, 1, s, "s + 1"], i64>
  // CHECK: %[[SEEN:.*]] = graph.or %[[LEAD]], {{.*}} : <[1, 1, s, "s + 1"], i1>
  // CHECK-NEXT: graph.attention %arg0, %arg1, %arg2 mask %[[SEEN]] scale
  // REMARK: The model's attention is one of 4 heads of 64, with a mask that compares places.
  // REGIONS-LABEL: func.func @sink
  // REGIONS: graph.region "{{.*}}"(%arg0, %arg1, %arg2)
  // REGIONS-NOT: graph.region
  // REGIONS: return
  func.func @sink(%q: !q {graph.name = "q"}, %k: !graph.tensor<[2, 4, "s + 1", 64], f16> {graph.name = "k"}, %v: !graph.tensor<[2, 4, "s + 1", 64], f16> {graph.name = "v"}) -> (!q {graph.name = "y"}) {
    %column = graph.iota axis 1 : !graph.tensor<[s, "s + 1"], i64>
    %one = graph.constant dense<1> : tensor<i64>
    %ones = graph.broadcast %one : !graph.tensor<[], i64> to !graph.tensor<[s, "s + 1"], i64>
    %lead = graph.compare lt, %column, %ones : !graph.tensor<[s, "s + 1"], i64>
    %key = graph.sub %column, %ones : !graph.tensor<[s, "s + 1"], i64>
    %query = graph.iota axis 0 : !graph.tensor<[s, "s + 1"], i64>
    %behind = graph.sub %query, %key : !graph.tensor<[s, "s + 1"], i64>
    %zero = graph.constant dense<0> : tensor<i64>
    %zeros = graph.broadcast %zero : !graph.tensor<[], i64> to !graph.tensor<[s, "s + 1"], i64>
    %w = graph.constant dense<127> : tensor<i64>
    %ws = graph.broadcast %w : !graph.tensor<[], i64> to !graph.tensor<[s, "s + 1"], i64>
    %a = graph.compare ge, %behind, %zeros : !graph.tensor<[s, "s + 1"], i64>
    %b = graph.compare le, %behind, %ws : !graph.tensor<[s, "s + 1"], i64>
    %ab = graph.and %a, %b : !graph.tensor<[s, "s + 1"], i1>
    %seen = graph.or %lead, %ab : !graph.tensor<[s, "s + 1"], i1>
    %m = graph.reshape %seen : !graph.tensor<[s, "s + 1"], i1> to !graph.tensor<[1, 1, s, "s + 1"], i1>
    %y = graph.attention %q, %k, %v mask %m scale 0.125 : !q, !graph.tensor<[2, 4, "s + 1", 64], f16>, !graph.tensor<[2, 4, "s + 1", 64], f16>, !graph.tensor<[1, 1, s, "s + 1"], i1>
    return %y : !q
  }

  // What a key has in memory, and masks of other comparisons, stay as they are.
  // CHECK-LABEL: func.func @positions
  // CHECK: graph.attention %arg0, %arg1, %arg2 mask %{{.*}} scale
  // REGIONS-LABEL: func.func @positions
  // REGIONS: graph.region
  // REGIONS: graph.compare
  // REGIONS: graph.region
  // REGIONS: graph.attention
  func.func @positions(%q: !q {graph.name = "q"}, %k: !q {graph.name = "k"}, %v: !q {graph.name = "v"}, %at: !graph.tensor<[2, 1, s, 1], i64> {graph.name = "at"}) -> (!q {graph.name = "y"}) {
    %ki = graph.iota axis 3 : !graph.tensor<[2, 1, s, s], i64>
    %ats = graph.broadcast %at : !graph.tensor<[2, 1, s, 1], i64> to !graph.tensor<[2, 1, s, s], i64>
    %a = graph.compare ge, %ki, %ats : !graph.tensor<[2, 1, s, s], i64>
    %y = graph.attention %q, %k, %v mask %a scale 0.125 : !q, !q, !q, !graph.tensor<[2, 1, s, s], i1>
    return %y : !q
  }
}

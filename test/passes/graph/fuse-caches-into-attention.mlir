// RUN: kpc-opt --form-regions --fuse-caches-into-attention=targets=sm_90a,sm_80 %s | FileCheck %s
// RUN: kpc-opt --form-regions --fuse-caches-into-attention=targets=sm_90a,sm_80 %s --remark-format=emitRemark --remarks-filter=fusion 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

!q = !graph.tensor<[b, 32, s, 64], f16>
!past = !graph.tensor<[b, 8, past, 64], f16>
!new = !graph.tensor<[b, 8, s, 64], f16>
!q1 = !graph.tensor<[b, 32, 1, 64], f16>
!new1 = !graph.tensor<[b, 8, 1, 64], f16>
!more = !graph.tensor<[b, 8, "past + 1", 64], f16>
!rows = !graph.tensor<[b, s, 16, 64], f16>
!present = !graph.tensor<[b, 8, "past + s", 64], f16>

module attributes {graph.symbols = {b = {min = 1, max = 64, optimum = 1}, s = {min = 1, max = 16, optimum = 1}, past = {max = 8192, optimum = 1024},
                                    many = {min = 1, max = 17, optimum = 1}}} {
  // The kernel of the attention stores what it reads of the caches and of the new rows.
  // CHECK-LABEL: func.func @caches
  // CHECK: %[[R:.*]]:3 = graph.region "{{.*}}"(%arg1, %arg3, %arg2, %arg4, %arg0)
  // CHECK-NEXT: ^bb0(%[[PK:[^:]*]]: {{.*}}, %[[K:[^:]*]]: {{.*}}, %[[PV:[^:]*]]: {{.*}}, %[[V:[^:]*]]: {{.*}}, %[[Q:[^:]*]]: {{.*}}):
  // CHECK-NEXT: %[[KEYS:.*]] = graph.concat %[[PK]], %[[K]] axis 2
  // CHECK-NEXT: %[[VALUES:.*]] = graph.concat %[[PV]], %[[V]] axis 2
  // CHECK-NEXT: %[[Y:.*]] = graph.attention %[[Q]], %[[KEYS]], %[[VALUES]]
  // CHECK-NEXT: graph.yield %[[Y]], %[[KEYS]], %[[VALUES]]
  // CHECK-NOT: graph.region
  // CHECK: return %[[R]]#0, %[[R]]#1, %[[R]]#2
  // REMARK: The kernel of an attention appends new keys and values to their caches.
  func.func @caches(%q: !q, %pk: !past, %pv: !past, %k: !new, %v: !new) -> (!q, !present, !present) {
    %0 = graph.concat %pk, %k axis 2 : !past, !new
    %1 = graph.concat %pv, %v axis 2 : !past, !new
    %y = graph.attention %q, %0, %1 scale 0.125 causal <[past]> : !q, !present, !present
    return %y, %0, %1 : !q, !present, !present
  }

  // New rows are some of the heads of a product's result, in another order.
  // CHECK-LABEL: func.func @heads
  // CHECK: %[[R:.*]]:3 = graph.region
  // CHECK-COUNT-2: graph.concat
  // CHECK: graph.attention
  // CHECK-NOT: graph.region
  // REMARK: The kernel of an attention appends new keys and values to their caches.
  func.func @heads(%q: !q, %pk: !past, %pv: !past, %rows: !rows) -> (!q, !present, !present) {
    %k0 = graph.slice %rows start <[0, 0, 0, 0]> step [1, 1, 1, 1] : !rows to !graph.tensor<[b, s, 8, 64], f16>
    %v0 = graph.slice %rows start <[0, 0, 8, 0]> step [1, 1, 1, 1] : !rows to !graph.tensor<[b, s, 8, 64], f16>
    %k = graph.transpose %k0 [0, 2, 1, 3] : !graph.tensor<[b, s, 8, 64], f16>
    %v = graph.transpose %v0 [0, 2, 1, 3] : !graph.tensor<[b, s, 8, 64], f16>
    %0 = graph.concat %pk, %k axis 2 : !past, !new
    %1 = graph.concat %pv, %v axis 2 : !past, !new
    %y = graph.attention %q, %0, %1 scale 0.125 causal <[past]> : !q, !present, !present
    return %y, %0, %1 : !q, !present, !present
  }

  // Rows of keys that another kernel reads, too, are in memory before it.
  // CHECK-LABEL: func.func @read
  // CHECK-COUNT-4: graph.region
  // REMARK: A kernel before the attention appends new keys and values to their caches, because other kernels read them, too.
  func.func @read(%q: !q, %pk: !past, %pv: !past, %k: !new, %v: !new) -> (!q, !present, !present, !present) {
    %0 = graph.concat %pk, %k axis 2 : !past, !new
    %1 = graph.concat %pv, %v axis 2 : !past, !new
    %y = graph.attention %q, %0, %1 scale 0.125 causal <[past]> : !q, !present, !present
    %e = graph.exp %1 : !present
    return %y, %0, %1, %e : !q, !present, !present, !present
  }

  // 17 queries of 4 heads are more than 64 rows.
  // CHECK-LABEL: func.func @many
  // CHECK-COUNT-3: graph.region
  // REMARK: because it may have more queries than a kernel of few reads its keys for at once: 64 of all heads that share keys. To fix: give the number of queries a range (--dim).
  func.func @many(%q: !graph.tensor<[b, 32, many, 64], f16>, %pk: !past, %pv: !past, %k: !graph.tensor<[b, 8, many, 64], f16>,
                  %v: !graph.tensor<[b, 8, many, 64], f16>)
      -> (!graph.tensor<[b, 32, many, 64], f16>, !graph.tensor<[b, 8, "past + many", 64], f16>, !graph.tensor<[b, 8, "past + many", 64], f16>) {
    %0 = graph.concat %pk, %k axis 2 : !past, !graph.tensor<[b, 8, many, 64], f16>
    %1 = graph.concat %pv, %v axis 2 : !past, !graph.tensor<[b, 8, many, 64], f16>
    %y = graph.attention %q, %0, %1 scale 0.125 causal <[past]>
        : !graph.tensor<[b, 32, many, 64], f16>, !graph.tensor<[b, 8, "past + many", 64], f16>, !graph.tensor<[b, 8, "past + many", 64], f16>
    return %y, %0, %1
        : !graph.tensor<[b, 32, many, 64], f16>, !graph.tensor<[b, 8, "past + many", 64], f16>, !graph.tensor<[b, 8, "past + many", 64], f16>
  }

  // Three parts, or parts along another axis, are no cache with new rows.
  // CHECK-LABEL: func.func @parts
  // CHECK-COUNT-3: graph.region
  func.func @parts(%q: !q, %pk: !past, %pv: !past, %k: !new, %v: !new) -> (!q, !graph.tensor<[b, 8, "past + 2*s", 64], f16>, !graph.tensor<[b, 8, "past + 2*s", 64], f16>) {
    %0 = graph.concat %pk, %k, %k axis 2 : !past, !new, !new
    %1 = graph.concat %pv, %v, %v axis 2 : !past, !new, !new
    %y = graph.attention %q, %0, %1 scale 0.125 : !q, !graph.tensor<[b, 8, "past + 2*s", 64], f16>, !graph.tensor<[b, 8, "past + 2*s", 64], f16>
    return %y, %0, %1 : !q, !graph.tensor<[b, 8, "past + 2*s", 64], f16>, !graph.tensor<[b, 8, "past + 2*s", 64], f16>
  }

  // In a buffer that past and present share, new rows replace others where only the run knows it. The kernel computes which, and which keys count.
  // CHECK-LABEL: func.func @replaced
  // CHECK-NOT: graph.region "
  // CHECK: %[[R:.*]]:3 = graph.region "{{.*}}"(%arg3, %{{.*}}, %arg1, %arg4, %arg2, %arg0)
  // CHECK: graph.iota
  // CHECK: graph.compare ge
  // CHECK: %[[KEYS:.*]] = graph.select
  // CHECK: %[[VALUES:.*]] = graph.select
  // CHECK: graph.compare lt
  // CHECK: %[[Y:.*]] = graph.attention %{{.*}}, %[[KEYS]], %[[VALUES]] mask
  // CHECK: graph.yield %[[Y]], %[[KEYS]], %[[VALUES]]
  // CHECK-NOT: graph.region "
  // CHECK: return %[[R]]#0, %[[R]]#1, %[[R]]#2
  // REMARK: The kernel of an attention appends new keys and values to their caches.
  func.func @replaced(%q: !q1, %pk: !past, %pv: !past, %k: !new1, %v: !new1, %at: !graph.tensor<[b], i64>) -> (!q1, !past, !past) {
    %first = graph.reshape %at : !graph.tensor<[b], i64> to !graph.tensor<[b, 1, 1, 1], i64>
    %iota = graph.iota axis 2 : !graph.tensor<[b, 1, past, 1], i64>
    %firsts = graph.broadcast %first : !graph.tensor<[b, 1, 1, 1], i64> to !graph.tensor<[b, 1, past, 1], i64>
    %row = graph.sub %iota, %firsts : !graph.tensor<[b, 1, past, 1], i64>
    %c0 = graph.constant dense<0> : tensor<i64>
    %zeros = graph.broadcast %c0 : !graph.tensor<[], i64> to !graph.tensor<[b, 1, past, 1], i64>
    %from = graph.compare ge, %row, %zeros : !graph.tensor<[b, 1, past, 1], i64>
    %to = graph.compare le, %row, %zeros : !graph.tensor<[b, 1, past, 1], i64>
    %is = graph.and %from, %to : !graph.tensor<[b, 1, past, 1], i1>
    %is_new = graph.broadcast %is : !graph.tensor<[b, 1, past, 1], i1> to !graph.tensor<[b, 8, past, 64], i1>
    %which = graph.broadcast %row : !graph.tensor<[b, 1, past, 1], i64> to !graph.tensor<[b, 8, past, 64], i64>
    %ks = graph.gather_elements %k, %which axis 2 : !new1, !graph.tensor<[b, 8, past, 64], i64>
    %vs = graph.gather_elements %v, %which axis 2 : !new1, !graph.tensor<[b, 8, past, 64], i64>
    %0 = graph.select %is_new, %ks, %pk : !graph.tensor<[b, 8, past, 64], i1>, !past
    %1 = graph.select %is_new, %vs, %pv : !graph.tensor<[b, 8, past, 64], i1>, !past
    %key = graph.iota axis 3 : !graph.tensor<[b, 1, 1, past], i64>
    %ends = graph.broadcast %first : !graph.tensor<[b, 1, 1, 1], i64> to !graph.tensor<[b, 1, 1, past], i64>
    %seen = graph.compare lt, %key, %ends : !graph.tensor<[b, 1, 1, past], i64>
    %y = graph.attention %q, %0, %1 mask %seen scale 0.125 : !q1, !past, !past, !graph.tensor<[b, 1, 1, past], i1>
    return %y, %0, %1 : !q1, !past, !past
  }

  // The sink of a softmax: a row of zeros before the present ones, for the attention alone.
  // CHECK-LABEL: func.func @sink
  // CHECK: %[[R:.*]]:3 = graph.region
  // CHECK: %[[KEYS:.*]] = graph.concat %{{.*}}, %{{.*}} axis 2 : !graph.tensor<[b, 8, past, 64], f16>, !graph.tensor<[b, 8, 1, 64], f16>
  // CHECK: %[[ALL:.*]] = graph.concat %{{.*}}, %[[KEYS]] axis 2
  // CHECK: %[[VALUES:.*]] = graph.concat %{{.*}}, %{{.*}} axis 2 : !graph.tensor<[b, 8, past, 64], f16>, !graph.tensor<[b, 8, 1, 64], f16>
  // CHECK: graph.attention %{{.*}}, %[[ALL]]
  // CHECK: graph.yield %{{.*}}, %[[KEYS]], %[[VALUES]]
  // CHECK-NOT: graph.region "
  func.func @sink(%q: !q1, %pk: !past, %pv: !past, %k: !new1, %v: !new1) -> (!q1, !more, !more) {
    %c0 = graph.constant dense<0.0> : tensor<f16>
    %zeros = graph.broadcast %c0 : !graph.tensor<[], f16> to !new1
    %0 = graph.concat %pk, %k axis 2 : !past, !new1
    %1 = graph.concat %pv, %v axis 2 : !past, !new1
    %2 = graph.concat %zeros, %0 axis 2 : !new1, !more
    %3 = graph.concat %zeros, %1 axis 2 : !new1, !more
    %y = graph.attention %q, %2, %3 scale 0.125 : !q1, !graph.tensor<[b, 8, "past + 2", 64], f16>, !graph.tensor<[b, 8, "past + 2", 64], f16>
    return %y, %0, %1 : !q1, !more, !more
  }
}

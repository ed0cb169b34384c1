// RUN: kpc-opt --form-regions --split-attention-keys=targets=sm_90a %s | FileCheck %s
// RUN: kpc-opt --form-regions --split-attention-keys=targets=sm_80 %s | FileCheck %s --check-prefix=AMPERE
// RUN: kpc-opt --form-regions --split-attention-keys %s | FileCheck %s --check-prefix=NONE
// RUN: kpc-opt --form-regions --split-attention-keys=targets=sm_90a %s --remark-format=emitRemark --remarks-filter=fusion 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// One token of few heads with many keys: the region gets memory for parts of sums and for counters, which nobody reads.
// NONE-NOT: graph.counters

// AMPERE: attributes {graph.counters}
!q = !graph.tensor<[1, 4, 1, 128], f16>
!k = !graph.tensor<[1, 1, 32768, 128], f16>

module attributes {graph.symbols = {b = {min = 1}, s = {min = 1, optimum = 32768}}} {
  // CHECK-LABEL: func.func @few
  // CHECK: %[[ALL:.*]]:3 = graph.region "attention"(%arg0, %arg1, %arg2) : {{.*}} -> (!graph.tensor<[1, 4, 1, 128], f16>, !graph.tensor<[540672], f32>, !graph.tensor<[256], i32>) attributes {graph.counters}
  // CHECK: %[[Y:.*]] = graph.attention
  // CHECK: graph.yield %[[Y]], %{{.*}}, %{{.*}}
  // CHECK: return %[[ALL]]#0
  // REMARK: The keys of the attention are split over all multiprocessors, and the last block adds up.
  func.func @few(%q: !q {graph.name = "q"}, %k: !k {graph.name = "k"}, %v: !k {graph.name = "v"}) -> (!q {graph.name = "y"}) {
    %0 = graph.attention %q, %k, %v scale 0.125 : !q, !k, !k
    return %0 : !q
  }

  // Eight heads fill the chip with clusters, which join their sums without memory. On chips without clusters it pays.
  // CHECK-LABEL: func.func @several
  // CHECK-NOT: graph.counters
  // AMPERE-LABEL: func.func @several
  // AMPERE: attributes {graph.counters}
  func.func @several(%q: !graph.tensor<[1, 32, 1, 128], f16> {graph.name = "q"}, %k: !graph.tensor<[1, 8, 32768, 128], f16> {graph.name = "k"}) -> (!graph.tensor<[1, 32, 1, 128], f16> {graph.name = "y"}) {
    %0 = graph.attention %q, %k, %k scale 0.125 : !graph.tensor<[1, 32, 1, 128], f16>, !graph.tensor<[1, 8, 32768, 128], f16>, !graph.tensor<[1, 8, 32768, 128], f16>
    return %0 : !graph.tensor<[1, 32, 1, 128], f16>
  }

  // Memory is for so many blocks: a batch without a bound has none, and few keys need none.
  // CHECK-LABEL: func.func @batches
  // CHECK-NOT: graph.counters
  // AMPERE-LABEL: func.func @batches
  // AMPERE-NOT: graph.counters
  func.func @batches(%q: !graph.tensor<[b, 4, 1, 128], f16> {graph.name = "q"}, %k: !graph.tensor<[b, 1, s, 128], f16> {graph.name = "k"}) -> (!graph.tensor<[b, 4, 1, 128], f16> {graph.name = "y"}) {
    %0 = graph.attention %q, %k, %k scale 0.125 : !graph.tensor<[b, 4, 1, 128], f16>, !graph.tensor<[b, 1, s, 128], f16>, !graph.tensor<[b, 1, s, 128], f16>
    return %0 : !graph.tensor<[b, 4, 1, 128], f16>
  }
  func.func @short(%q: !q {graph.name = "q"}, %k: !graph.tensor<[1, 1, 500, 128], f16> {graph.name = "k"}) -> (!q {graph.name = "y"}) {
    %0 = graph.attention %q, %k, %k scale 0.125 : !q, !graph.tensor<[1, 1, 500, 128], f16>, !graph.tensor<[1, 1, 500, 128], f16>
    return %0 : !q
  }

  // Keys in a number that a run knows.
  // CHECK-LABEL: func.func @open
  // AMPERE-LABEL: func.func @open
  // CHECK: attributes {graph.counters}
  func.func @open(%q: !q {graph.name = "q"}, %k: !graph.tensor<[1, 1, s, 128], f16> {graph.name = "k"}) -> (!q {graph.name = "y"}) {
    %0 = graph.attention %q, %k, %k scale 0.125 : !q, !graph.tensor<[1, 1, s, 128], f16>, !graph.tensor<[1, 1, s, 128], f16>
    return %0 : !q
  }
}

// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(fuse-norm-into-gemm{targets=sm_90a}))' --split-input-file | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(fuse-norm-into-gemm{targets=sm_90a}))' --split-input-file --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// A norm that one GEMM of few rows reads is computed by the GEMM's kernel. Rows of a batch become one dimension, and the
// norm is rounded as it was.

!x = !graph.tensor<[1, n, 2048], f16>
!f = !graph.tensor<[1, n, 2048], f32>
!r = !graph.tensor<[n, 2048], f16>
!w = !graph.tensor<[2048, 4096], f16>
!y = !graph.tensor<[n, 4096], f16>

// REMARK: [Passed] norm | {{.*}}Remark="A norm is computed by the kernel of its GEMM."
// CHECK-LABEL: @one(
// CHECK: %[[X:.*]] = graph.reshape %arg0 : <[1, n, 2048], f16> to <[n, 2048], f16>
// CHECK-NEXT: %[[Y:.*]] = graph.region "norm+gemm"(%[[X]], %arg1, %arg2) :
// CHECK: %[[SUM:.*]] = graph.reduce sum, %{{.*}} axes [1] : <[n, 2048], f32>
// CHECK: graph.reshape %[[SUM]] : <[n], f32> to <[n, 1], f32>
// CHECK: graph.rsqrt
// CHECK: %[[N:.*]] = graph.cast %{{.*}} to f16 : <[n, 2048], f32>
// CHECK-NEXT: %[[A:.*]] = graph.cast %[[N]] to f32
// CHECK: graph.matmul %[[A]]
// CHECK-NOT: graph.region
// CHECK: return %[[Y]]
module attributes {graph.symbols = {n = {min = 1, max = 8, optimum = 1}}} {
  func.func @one(%x: !x, %g: !graph.tensor<[2048], f32>, %w: !w) -> !y {
    %n = graph.region "norm" (%x, %g) : (!x, !graph.tensor<[2048], f32>) -> !x {
    ^bb0(%a: !x, %b: !graph.tensor<[2048], f32>):
      %0 = graph.cast %a to f32 : !x
      %1 = graph.mul %0, %0 : !f
      %2 = graph.reduce sum, %1 axes [2] : !f
      %3 = graph.reshape %2 : <[1, n], f32> to <[1, n, 1], f32>
      %4 = graph.rsqrt %3 : !graph.tensor<[1, n, 1], f32>
      %5 = graph.broadcast %4 : <[1, n, 1], f32> to <[1, n, 2048], f32>
      %6 = graph.mul %0, %5 : !f
      %7 = graph.broadcast %b : <[2048], f32> to <[1, n, 2048], f32>
      %8 = graph.mul %6, %7 : !f
      %9 = graph.cast %8 to f16 : !f
      graph.yield %9 : !x
    }
    %v = graph.reshape %n : !x to !r
    %y = graph.region "gemm" (%v, %w) : (!r, !w) -> !y {
    ^bb0(%a: !r, %b: !w):
      %0 = graph.cast %a to f32 : !r
      %1 = graph.cast %b to f32 : !w
      %2 = graph.matmul %0, %1 : !graph.tensor<[n, 2048], f32>, !graph.tensor<[2048, 4096], f32>
      %3 = graph.cast %2 to f16 : !graph.tensor<[n, 4096], f32>
      graph.yield %3 : !y
    }
    return %y : !y
  }
}

// -----

!r = !graph.tensor<[n, 2048], f16>
!f = !graph.tensor<[n, 2048], f32>
!w = !graph.tensor<[2048, 4096], f16>
!y = !graph.tensor<[n, 4096], f16>

// With more rows the norm is a kernel, which is launched only then. Each of two GEMMs computes it.
// REMARK: [Passed] norm | {{.*}}Remark="A norm is computed by the kernel of its GEMM, up to 16 rows."
// CHECK-LABEL: @more(
// CHECK: %[[N:.*]] = graph.region "norm"(%arg0) : {{.*}} attributes {graph.launched_above = 16 : i64} {
// CHECK: %[[Y:.*]] = graph.region "norm+one"(%arg0, %[[N]], %arg1) :
// CHECK-NEXT: ^bb0(%{{.*}}: !graph.tensor<[n, 2048], f16>, %[[M:.*]]: !graph.tensor<[n, 2048], f16>, %{{.*}}
// CHECK: %[[C:.*]] = graph.cast %{{.*}} to f16
// CHECK-NEXT: %[[S:.*]] = graph.stored %[[C]] in %[[M]] above 16 : <[n, 2048], f16>
// CHECK-NEXT: graph.cast %[[S]] to f32
// CHECK: graph.region "norm+other"(%arg0, %[[N]], %arg2)
module attributes {graph.symbols = {n = {min = 1, max = 1024, optimum = 1}}} {
  func.func @more(%x: !r, %w: !w, %v: !w) -> (!y, !y) {
    %n = graph.region "norm" (%x) : (!r) -> !r {
    ^bb0(%a: !r):
      %0 = graph.cast %a to f32 : !r
      %2 = graph.reduce max, %0 axes [1] : !f
      %3 = graph.reshape %2 : <[n], f32> to <[n, 1], f32>
      %5 = graph.broadcast %3 : <[n, 1], f32> to <[n, 2048], f32>
      %6 = graph.sub %0, %5 : !f
      %9 = graph.cast %6 to f16 : !f
      graph.yield %9 : !r
    }
    %y = graph.region "one" (%n, %w) : (!r, !w) -> !y {
    ^bb0(%a: !r, %b: !w):
      %0 = graph.cast %a to f32 : !r
      %1 = graph.cast %b to f32 : !w
      %2 = graph.matmul %0, %1 : !graph.tensor<[n, 2048], f32>, !graph.tensor<[2048, 4096], f32>
      %3 = graph.cast %2 to f16 : !graph.tensor<[n, 4096], f32>
      graph.yield %3 : !y
    }
    %z = graph.region "other" (%n, %v) : (!r, !w) -> !y {
    ^bb0(%a: !r, %b: !w):
      %0 = graph.cast %a to f32 : !r
      %1 = graph.cast %b to f32 : !w
      %2 = graph.matmul %0, %1 : !graph.tensor<[n, 2048], f32>, !graph.tensor<[2048, 4096], f32>
      %3 = graph.cast %2 to f16 : !graph.tensor<[n, 4096], f32>
      graph.yield %3 : !y
    }
    return %y, %z : !y, !y
  }
}

// -----

!r = !graph.tensor<[n, 2048], f16>
!f = !graph.tensor<[n, 2048], f32>
!w = !graph.tensor<[2048, 4096], f16>
!y = !graph.tensor<[n, 4096], f16>

// Read elsewhere as well, it is written anyway.
// REMARK: [Missed] norm | {{.*}}A norm is not computed by the kernel of its GEMM: its result leaves the model or a loop.
// CHECK-LABEL: @elsewhere(
// CHECK: graph.region "norm"(
// CHECK: graph.region "gemm"(
module attributes {graph.symbols = {n = {min = 1, max = 8, optimum = 1}}} {
  func.func @elsewhere(%x: !r, %w: !w) -> (!y, !r) {
    %n = graph.region "norm" (%x) : (!r) -> !r {
    ^bb0(%a: !r):
      %0 = graph.cast %a to f32 : !r
      %2 = graph.reduce max, %0 axes [1] : !f
      %3 = graph.reshape %2 : <[n], f32> to <[n, 1], f32>
      %5 = graph.broadcast %3 : <[n, 1], f32> to <[n, 2048], f32>
      %6 = graph.sub %0, %5 : !f
      %9 = graph.cast %6 to f16 : !f
      graph.yield %9 : !r
    }
    %y = graph.region "gemm" (%n, %w) : (!r, !w) -> !y {
    ^bb0(%a: !r, %b: !w):
      %0 = graph.cast %a to f32 : !r
      %1 = graph.cast %b to f32 : !w
      %2 = graph.matmul %0, %1 : !graph.tensor<[n, 2048], f32>, !graph.tensor<[2048, 4096], f32>
      %3 = graph.cast %2 to f16 : !graph.tensor<[n, 4096], f32>
      graph.yield %3 : !y
    }
    return %y, %n : !y, !r
  }
}

// -----

!r = !graph.tensor<[16, 16384], f16>
!f = !graph.tensor<[16, 16384], f32>
!w = !graph.tensor<[16384, 64], f16>
!y = !graph.tensor<[16, 64], f16>

// Sixteen long rows have no room in shared memory.
// REMARK: [Missed] norm | {{.*}}A norm is not computed by the kernel of its GEMM: one kernel is no faster, on sm_90a it has no schedule.
// CHECK-LABEL: @long(
// CHECK: graph.region "norm"(
// CHECK: graph.region "gemm"(
module {
  func.func @long(%x: !r, %w: !w) -> !y {
    %n = graph.region "norm" (%x) : (!r) -> !r {
    ^bb0(%a: !r):
      %0 = graph.cast %a to f32 : !r
      %2 = graph.reduce max, %0 axes [1] : !f
      %3 = graph.reshape %2 : <[16], f32> to <[16, 1], f32>
      %5 = graph.broadcast %3 : <[16, 1], f32> to <[16, 16384], f32>
      %6 = graph.sub %0, %5 : !f
      %9 = graph.cast %6 to f16 : !f
      graph.yield %9 : !r
    }
    %y = graph.region "gemm" (%n, %w) : (!r, !w) -> !y {
    ^bb0(%a: !r, %b: !w):
      %0 = graph.cast %a to f32 : !r
      %1 = graph.cast %b to f32 : !w
      %2 = graph.matmul %0, %1 : !graph.tensor<[16, 16384], f32>, !graph.tensor<[16384, 64], f32>
      %3 = graph.cast %2 to f16 : !graph.tensor<[16, 64], f32>
      graph.yield %3 : !y
    }
    return %y : !y
  }
}

// -----

!r = !graph.tensor<[n, 2048], f32>
!w = !graph.tensor<[2048, 4096], f32>
!y = !graph.tensor<[n, 4096], f32>

// REMARK: [Missed] norm | {{.*}}its GEMM has no operands of 16 bits, or its K or N is no multiple of 8.
// CHECK-LABEL: @wide(
// CHECK: graph.region "norm"(
module attributes {graph.symbols = {n = {min = 1, max = 8, optimum = 1}}} {
  func.func @wide(%x: !r, %w: !w) -> !y {
    %n = graph.region "norm" (%x) : (!r) -> !r {
    ^bb0(%a: !r):
      %2 = graph.reduce max, %a axes [1] : !r
      %3 = graph.reshape %2 : <[n], f32> to <[n, 1], f32>
      %5 = graph.broadcast %3 : <[n, 1], f32> to <[n, 2048], f32>
      %6 = graph.sub %a, %5 : !r
      graph.yield %6 : !r
    }
    %y = graph.region "gemm" (%n, %w) : (!r, !w) -> !y {
    ^bb0(%a: !r, %b: !w):
      %2 = graph.matmul %a, %b : !r, !w
      graph.yield %2 : !y
    }
    return %y : !y
  }
}

// -----

!r = !graph.tensor<[n, 2048], f16>
!f = !graph.tensor<[n, 2048], f32>
!w = !graph.tensor<[2048, 4096], f16>
!y = !graph.tensor<[n, 4096], f16>

// Of many rows nothing is said: that is what norms are.
// REMARK-NOT: norm |
// CHECK-LABEL: @many(
// CHECK: graph.region "norm"(
// CHECK-NOT: graph.stored
module attributes {graph.symbols = {n = {min = 1, max = 1024, optimum = 512}}} {
  func.func @many(%x: !r, %w: !w) -> !y {
    %n = graph.region "norm" (%x) : (!r) -> !r {
    ^bb0(%a: !r):
      %0 = graph.cast %a to f32 : !r
      %2 = graph.reduce max, %0 axes [1] : !f
      %3 = graph.reshape %2 : <[n], f32> to <[n, 1], f32>
      %5 = graph.broadcast %3 : <[n, 1], f32> to <[n, 2048], f32>
      %6 = graph.sub %0, %5 : !f
      %9 = graph.cast %6 to f16 : !f
      graph.yield %9 : !r
    }
    %y = graph.region "gemm" (%n, %w) : (!r, !w) -> !y {
    ^bb0(%a: !r, %b: !w):
      %0 = graph.cast %a to f32 : !r
      %1 = graph.cast %b to f32 : !w
      %2 = graph.matmul %0, %1 : !graph.tensor<[n, 2048], f32>, !graph.tensor<[2048, 4096], f32>
      %3 = graph.cast %2 to f16 : !graph.tensor<[n, 4096], f32>
      graph.yield %3 : !y
    }
    return %y : !y
  }
}

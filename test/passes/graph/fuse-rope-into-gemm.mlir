// RUN: kpc-opt %s --fuse-rope-into-gemm --split-input-file | FileCheck %s
// RUN: kpc-opt %s --fuse-rope-into-gemm --split-input-file --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// A rotary embedding is the end of the product that makes its heads.

!x = !graph.tensor<["b*s", 64], f16>
!w = !graph.tensor<[64, 192], f16>
!p = !graph.tensor<["b*s", 192], f16>
!heads = !graph.tensor<[b, s, 12, 16], f16>
!pairs = !graph.tensor<[b, s, 12, 2, 8], f16>
!turned = !graph.tensor<[b, s, 10, 2, 8], f16>
!qk = !graph.tensor<[b, s, 10, 16], f16>
!angles = !graph.tensor<[1, s, 1, 2, 8], f32>
!q = !graph.tensor<[b, 8, s, 16], f16>
!kv = !graph.tensor<[b, 2, s, 16], f16>

// Of queries, keys and values the first two are turned; who reads them reads them among all heads. What is rounded on the way to memory alone is
// not, and angles by position are picked by a row's remainder.
// REMARK: RoPE of 10 heads of 16 is fused into its GEMM's epilogue.
// CHECK-LABEL: @together(
// CHECK-DAG: %[[COS:.*]] = graph.reshape %arg2 : <[1, s, 1, 2, 8], f32> to <[s, 1, 2, 8], f32>
// CHECK-DAG: %[[SIN:.*]] = graph.reshape %arg3 : <[1, s, 1, 2, 8], f32> to <[s, 1, 2, 8], f32>
// CHECK: %[[Y:.*]] = graph.region "qkv+rotary"(%arg0, %arg1, %[[COS]], %[[SIN]])
// CHECK-SAME: -> !graph.tensor<["b*s", 12, 2, 8], f16> {
// CHECK: %[[SUM:.*]] = graph.matmul %{{.*}}, %{{.*}} : <["b*s", 64], f32>, <[64, 192], f32>
// CHECK: %[[H:.*]] = graph.reshape %[[SUM]] : <["b*s", 192], f32> to <["b*s", 12, 2, 8], f32>
// CHECK: %[[E:.*]] = graph.slice %[[H]] start <[0, 0, 1, 0]> step [1, 1, -1, 1] : <["b*s", 12, 2, 8], f32> to <["b*s", 12, 2, 8], f32>
// CHECK: %[[ROW:.*]] = graph.iota axis 0 : <["b*s"], ui32>
// CHECK: %[[SIZE:.*]] = graph.sizes <[s]>
// CHECK: graph.cast %[[SIZE]] to ui32
// CHECK: %[[POSITION:.*]] = graph.mod %[[ROW]], %{{.*}} : <["b*s"], ui32>
// CHECK: %[[C:.*]] = graph.gather %{{.*}}, %[[POSITION]] axis 0 : <[s, 1, 2, 8], f32>, <["b*s"], ui32>
// CHECK: graph.broadcast %[[C]] : <["b*s", 1, 2, 8], f32> to <["b*s", 12, 2, 8], f32>
// CHECK: graph.gather %{{.*}}, %[[POSITION]] axis 0
// CHECK: %[[TURNED:.*]] = graph.add %{{.*}}, %{{.*}} : <["b*s", 12, 2, 8], f32>
// CHECK: %[[HEAD:.*]] = graph.iota axis 0 : <[12, 1, 1], ui32>
// CHECK: %[[LESS:.*]] = graph.compare lt, %[[HEAD]]
// CHECK: %[[WITHIN:.*]] = graph.broadcast %[[LESS]] : <[12, 1, 1], i1> to <["b*s", 12, 2, 8], i1>
// CHECK: %[[ALL:.*]] = graph.select %[[WITHIN]], %[[TURNED]], %[[H]]
// CHECK: %[[ROUNDED:.*]] = graph.cast %[[ALL]] to f16
// CHECK: graph.yield %[[ROUNDED]]
// CHECK: %[[HEADS:.*]] = graph.reshape %[[Y]] : <["b*s", 12, 2, 8], f16> to <[b, s, 12, 16], f16>
// CHECK-NOT: graph.reshape
// The keys begin at head 8 as before; one input is all of them.
// CHECK: graph.region "keys and values"(%[[HEADS]]) : (!graph.tensor<[b, s, 12, 16], f16>) ->
// CHECK-NEXT: ^bb0(%[[IN:.*]]: !graph.tensor<[b, s, 12, 16], f16>):
// CHECK: %[[WIDE:.*]] = graph.cast %[[IN]] to f32 : <[b, s, 12, 16], f16>
// CHECK: graph.slice %[[WIDE]] start <[0, 0, 8, 0]> step [1, 1, 1, 1] : <[b, s, 12, 16], f32> to <[b, s, 2, 16], f32>
// CHECK: graph.slice %[[IN]] start <[0, 0, 10, 0]>
// What takes all of the turned heads takes these from the whole.
// CHECK: graph.region "turned"(%[[HEADS]])
// CHECK: %[[PART:.*]] = graph.slice %{{.*}} start <[0, 0, 0, 0]> step [1, 1, 1, 1] : <[b, s, 12, 16], f16> to <[b, s, 10, 16], f16>
// CHECK: graph.neg %[[PART]]
// CHECK-NOT: graph.region
module attributes {graph.symbols = {b = {min = 1, max = 8, optimum = 2}, s = {min = 1, max = 512, optimum = 128}}} {
  func.func @together(%x: !x, %w: !w, %cos: !angles, %sin: !angles) -> (!kv, !kv, !qk) {
    %p = graph.region "qkv" (%x, %w) : (!x, !w) -> !p {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.cast %a to f32 : !x
      %1 = graph.cast %b to f32 : !w
      %2 = graph.matmul %0, %1 : !graph.tensor<["b*s", 64], f32>, !graph.tensor<[64, 192], f32>
      %3 = graph.cast %2 to f16 : !graph.tensor<["b*s", 192], f32>
      graph.yield %3 : !p
    }
    %v = graph.reshape %p : !p to !heads
    %h = graph.reshape %p : !p to !pairs
    %r = graph.region "rotary" (%h, %cos, %sin) : (!pairs, !angles, !angles) -> !turned {
    ^bb0(%a: !pairs, %c: !angles, %s: !angles):
      %0 = graph.cast %a to f32 : !pairs
      %1 = graph.slice %0 start <[0, 0, 0, 0, 0]> step [1, 1, 1, 1, 1] : !graph.tensor<[b, s, 12, 2, 8], f32> to !graph.tensor<[b, s, 10, 2, 8], f32>
      %2 = graph.slice %1 start <[0, 0, 0, 1, 0]> step [1, 1, 1, -1, 1] : !graph.tensor<[b, s, 10, 2, 8], f32> to !graph.tensor<[b, s, 10, 2, 8], f32>
      %3 = graph.broadcast %c : !angles to !graph.tensor<[b, s, 10, 2, 8], f32>
      %4 = graph.mul %1, %3 : !graph.tensor<[b, s, 10, 2, 8], f32>
      %5 = graph.broadcast %s : !angles to !graph.tensor<[b, s, 10, 2, 8], f32>
      %6 = graph.mul %2, %5 : !graph.tensor<[b, s, 10, 2, 8], f32>
      %7 = graph.add %4, %6 : !graph.tensor<[b, s, 10, 2, 8], f32>
      %8 = graph.cast %7 to f16 : !graph.tensor<[b, s, 10, 2, 8], f32>
      graph.yield %8 : !turned
    }
    %qk = graph.reshape %r : !turned to !qk
    %k, %u = graph.region "keys and values" (%qk, %v) : (!qk, !heads) -> (!kv, !kv) {
    ^bb0(%a: !qk, %d: !heads):
      %0 = graph.cast %a to f32 : !qk
      %1 = graph.slice %0 start <[0, 0, 8, 0]> step [1, 1, 1, 1] : !graph.tensor<[b, s, 10, 16], f32> to !graph.tensor<[b, s, 2, 16], f32>
      %2 = graph.transpose %1 [0, 2, 1, 3] : !graph.tensor<[b, s, 2, 16], f32>
      %3 = graph.cast %2 to f16 : !graph.tensor<[b, 2, s, 16], f32>
      %4 = graph.slice %d start <[0, 0, 10, 0]> step [1, 1, 1, 1] : !heads to !graph.tensor<[b, s, 2, 16], f16>
      %5 = graph.transpose %4 [0, 2, 1, 3] : !graph.tensor<[b, s, 2, 16], f16>
      graph.yield %3, %5 : !kv, !kv
    }
    %n = graph.region "turned" (%qk) : (!qk) -> !qk {
    ^bb0(%a: !qk):
      %0 = graph.neg %a : !qk
      graph.yield %0 : !qk
    }
    return %k, %u, %n : !kv, !kv, !qk
  }
}

// -----

!x = !graph.tensor<[n, 64], bf16>
!w = !graph.tensor<[64, 128], bf16>
!p = !graph.tensor<[n, 128], bf16>
!b = !graph.tensor<[128], bf16>
!pairs = !graph.tensor<[n, 2, 2, 32], bf16>
!angles = !graph.tensor<[n, 1, 1, 32], bf16>
!sign = !graph.tensor<[2, 1], bf16>

// All heads, with a bias in front and angles of each row, one for both halves: nothing is picked and nothing selected.
// REMARK: RoPE of 2 heads of 64 is fused into its GEMM's epilogue.
// CHECK-LABEL: @alone(
// CHECK-DAG: %[[BIAS:.*]] = graph.reshape %arg2 : <[128], bf16> to <[2, 2, 32], bf16>
// CHECK: %[[Y:.*]] = graph.region "q+rotary"(%arg0, %arg1, %[[BIAS]], %arg3, %arg4, %arg5)
// CHECK: %[[M:.*]] = graph.matmul
// CHECK: %[[H:.*]] = graph.reshape %[[M]] : <[n, 128], bf16> to <[n, 2, 2, 32], bf16>
// CHECK: %[[WIDE:.*]] = graph.broadcast %{{.*}} : <[2, 2, 32], bf16> to <[n, 2, 2, 32], bf16>
// CHECK: %[[S:.*]] = graph.add %[[H]], %[[WIDE]] : <[n, 2, 2, 32], bf16>
// CHECK: graph.slice %[[S]] start <[0, 0, 1, 0]>
// CHECK-NOT: graph.gather
// CHECK-NOT: graph.select
// CHECK: return %[[Y]]
module attributes {graph.symbols = {m = {min = 1, max = 64, optimum = 32}, n = {min = 1, max = 64, optimum = 32}}} {
  func.func @alone(%x: !x, %w: !w, %bias: !b, %cos: !angles, %sin: !angles, %sign: !sign) -> !pairs {
    %p = graph.region "q" (%x, %w, %bias) : (!x, !w, !b) -> !p {
    ^bb0(%a: !x, %b: !w, %c: !b):
      %0 = graph.matmul %a, %b : !x, !w
      %1 = graph.broadcast %c : !b to !p
      %2 = graph.add %0, %1 : !p
      graph.yield %2 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %r = graph.region "rotary" (%h, %cos, %sin, %sign) : (!pairs, !angles, !angles, !sign) -> !pairs {
    ^bb0(%a: !pairs, %c: !angles, %s: !angles, %n: !sign):
      %0 = graph.slice %a start <[0, 0, 1, 0]> step [1, 1, -1, 1] : !pairs to !pairs
      %1 = graph.broadcast %s : !angles to !graph.tensor<[n, 1, 2, 32], bf16>
      %2 = graph.broadcast %n : !sign to !graph.tensor<[n, 1, 2, 32], bf16>
      %3 = graph.mul %1, %2 : !graph.tensor<[n, 1, 2, 32], bf16>
      %4 = graph.broadcast %3 : !graph.tensor<[n, 1, 2, 32], bf16> to !pairs
      %5 = graph.broadcast %c : !angles to !pairs
      %6 = graph.mul %a, %5 : !pairs
      %7 = graph.mul %0, %4 : !pairs
      %8 = graph.add %6, %7 : !pairs
      graph.yield %8 : !pairs
    }
    return %r : !pairs
  }
}

// -----

!x = !graph.tensor<[n, 64], f32>
!w = !graph.tensor<[64, 64], f32>
!p = !graph.tensor<[n, 64], f32>
!pairs = !graph.tensor<[n, 2, 2, 16], f32>
!angles = !graph.tensor<[1, 1, 1, 16], f32>

// Sums in f32 that are stored so.
// REMARK: RoPE is not fused into its GEMM: its operands are not of 16 bits. To fix: compile with --precision fp16 or bf16.
// CHECK-LABEL: @wide(
// CHECK: graph.region "q"
// CHECK: graph.region "rotary"
module attributes {graph.symbols = {m = {min = 1, max = 64, optimum = 32}, n = {min = 1, max = 64, optimum = 32}}} {
  func.func @wide(%x: !x, %w: !w, %cos: !angles) -> (!pairs) {
    %p = graph.region "q" (%x, %w) : (!x, !w) -> !p {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      graph.yield %0 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %r = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !pairs {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.slice %a start <[0, 0, 1, 0]> step [1, 1, -1, 1] : !pairs to !pairs
      %1 = graph.broadcast %c : !angles to !pairs
      %2 = graph.mul %0, %1 : !pairs
      graph.yield %2 : !pairs
    }
    return %r : !pairs
  }
}

// -----

!x = !graph.tensor<[n, 64], f16>
!w = !graph.tensor<[64, 48], f16>
!p = !graph.tensor<[n, 48], f16>
!pairs = !graph.tensor<[n, 2, 2, 12], f16>
!angles = !graph.tensor<[1, 1, 1, 12], f16>

// Halves that do not fill a thread's places of eight columns are in other threads.
// REMARK: RoPE is not fused into its GEMM: half a head is not a multiple of 8 elements.
// CHECK-LABEL: @short(
// CHECK: graph.region "q"
// CHECK: graph.region "rotary"
module attributes {graph.symbols = {m = {min = 1, max = 64, optimum = 32}, n = {min = 1, max = 64, optimum = 32}}} {
  func.func @short(%x: !x, %w: !w, %cos: !angles) -> (!pairs) {
    %p = graph.region "q" (%x, %w) : (!x, !w) -> !p {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      graph.yield %0 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %r = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !pairs {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.slice %a start <[0, 0, 1, 0]> step [1, 1, -1, 1] : !pairs to !pairs
      %1 = graph.broadcast %c : !angles to !pairs
      %2 = graph.mul %0, %1 : !pairs
      graph.yield %2 : !pairs
    }
    return %r : !pairs
  }
}

// -----

!x = !graph.tensor<[n, 64], f16>
!w = !graph.tensor<[64, 512], f16>
!p = !graph.tensor<[n, 512], f16>
!pairs = !graph.tensor<[n, 2, 2, 128], f16>
!angles = !graph.tensor<[1, 1, 1, 128], f16>

// REMARK: RoPE is not fused into its GEMM: its heads have more than 128 elements.
// CHECK-LABEL: @long(
// CHECK: graph.region "q"
// CHECK: graph.region "rotary"
module attributes {graph.symbols = {m = {min = 1, max = 64, optimum = 32}, n = {min = 1, max = 64, optimum = 32}}} {
  func.func @long(%x: !x, %w: !w, %cos: !angles) -> (!pairs) {
    %p = graph.region "q" (%x, %w) : (!x, !w) -> !p {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      graph.yield %0 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %r = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !pairs {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.slice %a start <[0, 0, 1, 0]> step [1, 1, -1, 1] : !pairs to !pairs
      %1 = graph.broadcast %c : !angles to !pairs
      %2 = graph.mul %0, %1 : !pairs
      graph.yield %2 : !pairs
    }
    return %r : !pairs
  }
}

// -----

!x = !graph.tensor<[n, 64], f16>
!w = !graph.tensor<[64, 160], f16>
!p = !graph.tensor<[n, 160], f16>
!pairs = !graph.tensor<[n, 2, 2, 40], f16>
!angles = !graph.tensor<[1, 1, 1, 40], f16>

// Tiles have 64, 128, 192 or 256 columns.
// REMARK: RoPE is not fused into its GEMM: no tile of the GEMM holds whole heads.
// CHECK-LABEL: @odd(
// CHECK: graph.region "q"
// CHECK: graph.region "rotary"
module attributes {graph.symbols = {m = {min = 1, max = 64, optimum = 32}, n = {min = 1, max = 64, optimum = 32}}} {
  func.func @odd(%x: !x, %w: !w, %cos: !angles) -> (!pairs) {
    %p = graph.region "q" (%x, %w) : (!x, !w) -> !p {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      graph.yield %0 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %r = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !pairs {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.slice %a start <[0, 0, 1, 0]> step [1, 1, -1, 1] : !pairs to !pairs
      %1 = graph.broadcast %c : !angles to !pairs
      %2 = graph.mul %0, %1 : !pairs
      graph.yield %2 : !pairs
    }
    return %r : !pairs
  }
}

// -----

!x = !graph.tensor<[n, 64], f16>
!w = !graph.tensor<[64, 64], f16>
!p = !graph.tensor<[n, 64], f16>
!pairs = !graph.tensor<[n, 2, 2, 16], f16>
!angles = !graph.tensor<[1, 1, 1, 16], f16>

// The heads before they are turned are a result, too.
// REMARK: RoPE is not fused into its GEMM: the heads without RoPE are used elsewhere as well.
// CHECK-LABEL: @elsewhere(
// CHECK: graph.region "q"
// CHECK: graph.region "rotary"
module attributes {graph.symbols = {m = {min = 1, max = 64, optimum = 32}, n = {min = 1, max = 64, optimum = 32}}} {
  func.func @elsewhere(%x: !x, %w: !w, %cos: !angles) -> (!pairs, !pairs) {
    %p = graph.region "q" (%x, %w) : (!x, !w) -> !p {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      graph.yield %0 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %r = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !pairs {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.slice %a start <[0, 0, 1, 0]> step [1, 1, -1, 1] : !pairs to !pairs
      %1 = graph.broadcast %c : !angles to !pairs
      %2 = graph.mul %0, %1 : !pairs
      graph.yield %2 : !pairs
    }
    return %r, %h : !pairs, !pairs
  }
}

// -----

!x = !graph.tensor<[n, 64], f16>
!w = !graph.tensor<[64, 64], f16>
!p = !graph.tensor<[n, 64], f16>
!pairs = !graph.tensor<[n, 2, 2, 16], f16>
!angles = !graph.tensor<[1, 1, 1, 16], f16>

// More than a vector behind the product, which reads its input again.
// REMARK: RoPE is not fused into its GEMM: its GEMM has an epilogue of more than a bias.
// CHECK-LABEL: @per_row(
// CHECK: graph.region "q"
// CHECK: graph.region "rotary"
module attributes {graph.symbols = {m = {min = 1, max = 64, optimum = 32}, n = {min = 1, max = 64, optimum = 32}}} {
  func.func @per_row(%x: !x, %w: !w, %cos: !angles) -> (!pairs) {
    %p = graph.region "q" (%x, %w) : (!x, !w) -> !p {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      %1 = graph.add %0, %a : !p
      graph.yield %1 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %r = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !pairs {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.slice %a start <[0, 0, 1, 0]> step [1, 1, -1, 1] : !pairs to !pairs
      %1 = graph.broadcast %c : !angles to !pairs
      %2 = graph.mul %0, %1 : !pairs
      graph.yield %2 : !pairs
    }
    return %r : !pairs
  }
}

// -----

!x = !graph.tensor<["m*n", 64], f16>
!w = !graph.tensor<[64, 64], f16>
!p = !graph.tensor<["m*n", 64], f16>
!pairs = !graph.tensor<[n, m, 4, 2, 8], f16>
!turned = !graph.tensor<[n, m, 2, 2, 8], f16>
!heads = !graph.tensor<[n, m, 4, 16], f16>
!qk = !graph.tensor<[n, m, 2, 16], f16>
!angles = !graph.tensor<[n, 1, 1, 1, 8], f16>

// Angles of a batch's element are not found by a row's remainder.
// REMARK: RoPE is not fused into its GEMM: its angles do not depend on positions alone.
// CHECK-LABEL: @per_batch(
// CHECK: graph.region "q"
// CHECK: graph.region "rotary"
module attributes {graph.symbols = {m = {min = 1, max = 64, optimum = 32}, n = {min = 1, max = 64, optimum = 32}}} {
  func.func @per_batch(%x: !x, %w: !w, %cos: !angles) -> (!qk) {
    %p = graph.region "q" (%x, %w) : (!x, !w) -> !p {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      graph.yield %0 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %r = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !turned {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.slice %a start <[0, 0, 0, 0, 0]> step [1, 1, 1, 1, 1] : !pairs to !turned
      %1 = graph.slice %0 start <[0, 0, 0, 1, 0]> step [1, 1, 1, -1, 1] : !turned to !turned
      %2 = graph.broadcast %c : !angles to !turned
      %3 = graph.mul %1, %2 : !turned
      graph.yield %3 : !turned
    }
    %qk = graph.reshape %r : !turned to !qk
    %y = graph.region "neg" (%qk) : (!qk) -> !qk {
    ^bb0(%a: !qk):
      %0 = graph.neg %a : !qk
      graph.yield %0 : !qk
    }
    return %y : !qk
  }
}

// -----

!x = !graph.tensor<["m*n", 64], f16>
!w = !graph.tensor<[64, 64], f16>
!p = !graph.tensor<["m*n", 64], f16>
!pairs = !graph.tensor<[n, m, 4, 2, 8], f16>
!turned = !graph.tensor<[n, m, 2, 2, 8], f16>
!heads = !graph.tensor<[n, m, 4, 16], f16>
!qk = !graph.tensor<[n, m, 2, 16], f16>
!angles = !graph.tensor<[1, m, 2, 1, 8], f16>

// Each of the turned heads has angles of its own, the others have none.
// REMARK: RoPE is not fused into its GEMM: its angles do not depend on positions alone.
// CHECK-LABEL: @per_head(
// CHECK: graph.region "q"
// CHECK: graph.region "rotary"
module attributes {graph.symbols = {m = {min = 1, max = 64, optimum = 32}, n = {min = 1, max = 64, optimum = 32}}} {
  func.func @per_head(%x: !x, %w: !w, %cos: !angles) -> (!qk) {
    %p = graph.region "q" (%x, %w) : (!x, !w) -> !p {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      graph.yield %0 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %r = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !turned {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.slice %a start <[0, 0, 0, 0, 0]> step [1, 1, 1, 1, 1] : !pairs to !turned
      %1 = graph.slice %0 start <[0, 0, 0, 1, 0]> step [1, 1, 1, -1, 1] : !turned to !turned
      %2 = graph.broadcast %c : !angles to !turned
      %3 = graph.mul %1, %2 : !turned
      graph.yield %3 : !turned
    }
    %qk = graph.reshape %r : !turned to !qk
    %y = graph.region "neg" (%qk) : (!qk) -> !qk {
    ^bb0(%a: !qk):
      %0 = graph.neg %a : !qk
      graph.yield %0 : !qk
    }
    return %y : !qk
  }
}

// -----

!x = !graph.tensor<["m*n", 64], f16>
!w = !graph.tensor<[64, 64], f16>
!p = !graph.tensor<["m*n", 64], f16>
!pairs = !graph.tensor<[n, m, 4, 2, 8], f16>
!turned = !graph.tensor<[n, m, 2, 2, 8], f16>
!heads = !graph.tensor<[n, m, 4, 16], f16>
!qk = !graph.tensor<[n, m, 2, 16], f16>
!angles = !graph.tensor<[1, m, 1, 1, 8], f16>

// A result of the model has the turned heads alone.
// REMARK: RoPE is not fused into its GEMM: its result is used by more than kernels that read heads.
// CHECK-LABEL: @given(
// CHECK: graph.region "q"
// CHECK: graph.region "rotary"
module attributes {graph.symbols = {m = {min = 1, max = 64, optimum = 32}, n = {min = 1, max = 64, optimum = 32}}} {
  func.func @given(%x: !x, %w: !w, %cos: !angles) -> (!qk) {
    %p = graph.region "q" (%x, %w) : (!x, !w) -> !p {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      graph.yield %0 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %r = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !turned {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.slice %a start <[0, 0, 0, 0, 0]> step [1, 1, 1, 1, 1] : !pairs to !turned
      %1 = graph.slice %0 start <[0, 0, 0, 1, 0]> step [1, 1, 1, -1, 1] : !turned to !turned
      %2 = graph.broadcast %c : !angles to !turned
      %3 = graph.mul %1, %2 : !turned
      graph.yield %3 : !turned
    }
    %qk = graph.reshape %r : !turned to !qk
    return %qk : !qk
  }
}

// -----

!x = !graph.tensor<["m*n", 64], f16>
!w = !graph.tensor<[64, 64], f16>
!p = !graph.tensor<["m*n", 64], f16>
!pairs = !graph.tensor<[n, m, 4, 2, 8], f16>
!turned = !graph.tensor<[n, m, 2, 2, 8], f16>
!heads = !graph.tensor<[n, m, 4, 16], f16>
!qk = !graph.tensor<[n, m, 2, 16], f16>
!angles = !graph.tensor<[1, m, 1, 1, 8], f16>

// A kernel reads a head from before it was turned.
// REMARK: RoPE is not fused into its GEMM: the heads without RoPE are used elsewhere as well.
// CHECK-LABEL: @read_before(
// CHECK: graph.region "q"
// CHECK: graph.region "rotary"
module attributes {graph.symbols = {m = {min = 1, max = 64, optimum = 32}, n = {min = 1, max = 64, optimum = 32}}} {
  func.func @read_before(%x: !x, %w: !w, %cos: !angles) -> (!qk, !qk) {
    %p = graph.region "q" (%x, %w) : (!x, !w) -> !p {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      graph.yield %0 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %r = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !turned {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.slice %a start <[0, 0, 0, 0, 0]> step [1, 1, 1, 1, 1] : !pairs to !turned
      %1 = graph.slice %0 start <[0, 0, 0, 1, 0]> step [1, 1, 1, -1, 1] : !turned to !turned
      %2 = graph.broadcast %c : !angles to !turned
      %3 = graph.mul %1, %2 : !turned
      graph.yield %3 : !turned
    }
    %qk = graph.reshape %r : !turned to !qk
    %y = graph.region "neg" (%qk) : (!qk) -> !qk {
    ^bb0(%a: !qk):
      %0 = graph.neg %a : !qk
      graph.yield %0 : !qk
    }
    %v = graph.reshape %p : !p to !heads
    %z = graph.region "before" (%v) : (!heads) -> !qk {
    ^bb0(%a: !heads):
      %0 = graph.slice %a start <[0, 0, 1, 0]> step [1, 1, 1, 1] : !heads to !qk
      graph.yield %0 : !qk
    }
    return %y, %z : !qk, !qk
  }
}

// -----

!x = !graph.tensor<["m*n", 64], f16>
!w = !graph.tensor<[64, 64], f16>
!p = !graph.tensor<["m*n", 64], f16>
!pairs = !graph.tensor<[n, m, 4, 2, 8], f16>
!turned = !graph.tensor<[n, m, 2, 2, 8], f16>
!heads = !graph.tensor<[n, m, 4, 16], f16>
!qk = !graph.tensor<[n, m, 2, 16], f16>
!angles = !graph.tensor<[n, m, 1, 1, 8], f16>

// Angles that are made of the heads which are not turned.
// REMARK: RoPE is not fused into its GEMM: its angles depend on the GEMM's result.
// CHECK-LABEL: @circle(
// CHECK: graph.region "q"
// CHECK: graph.region "rotary"
module attributes {graph.symbols = {m = {min = 1, max = 64, optimum = 32}, n = {min = 1, max = 64, optimum = 32}}} {
  func.func @circle(%x: !x, %w: !w, %cos: !angles) -> (!qk) {
    %p = graph.region "q" (%x, %w) : (!x, !w) -> !p {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      graph.yield %0 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %v = graph.reshape %p : !p to !heads
    %made = graph.region "angles" (%v) : (!heads) -> !angles {
    ^bb0(%a: !heads):
      %0 = graph.slice %a start <[0, 0, 2, 0]> step [1, 1, 1, 1] : !heads to !graph.tensor<[n, m, 1, 16], f16>
      %1 = graph.slice %0 start <[0, 0, 0, 0]> step [1, 1, 1, 1] : !graph.tensor<[n, m, 1, 16], f16> to !graph.tensor<[n, m, 1, 8], f16>
      %2 = graph.reshape %1 : !graph.tensor<[n, m, 1, 8], f16> to !angles
      graph.yield %2 : !angles
    }
    %r = graph.region "rotary" (%h, %made) : (!pairs, !angles) -> !turned {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.slice %a start <[0, 0, 0, 0, 0]> step [1, 1, 1, 1, 1] : !pairs to !turned
      %1 = graph.slice %0 start <[0, 0, 0, 1, 0]> step [1, 1, 1, -1, 1] : !turned to !turned
      %2 = graph.broadcast %c : !angles to !turned
      %3 = graph.mul %1, %2 : !turned
      graph.yield %3 : !turned
    }
    %qk = graph.reshape %r : !turned to !qk
    %y = graph.region "neg" (%qk) : (!qk) -> !qk {
    ^bb0(%a: !qk):
      %0 = graph.neg %a : !qk
      graph.yield %0 : !qk
    }
    return %y : !qk
  }
}

// -----

!x = !graph.tensor<[n, 64], f16>
!w = !graph.tensor<[64, 32], f16>
!p = !graph.tensor<[n, 32], f16>
!pairs = !graph.tensor<[n, 2, 8, 2], f16>
!angles = !graph.tensor<[1, 1, 8, 1], f16>

// Interleaved pairs are in one thread's registers.
// REMARK: RoPE of 2 heads of 16 is fused into its GEMM's epilogue.
// CHECK-LABEL: @interleaved(
// CHECK: graph.region "q+rotary"(
// CHECK: %[[SUM:.*]] = graph.matmul
// CHECK: %[[H:.*]] = graph.reshape %[[SUM]] : <[n, 32], f16> to <[n, 2, 8, 2], f16>
// CHECK: graph.slice %[[H]] start <[0, 0, 0, 1]> step [1, 1, 1, -1] : <[n, 2, 8, 2], f16> to <[n, 2, 8, 2], f16>
// CHECK-NOT: graph.region
module attributes {graph.symbols = {n = {min = 1, max = 64, optimum = 32}}} {
  func.func @interleaved(%x: !x, %w: !w, %cos: !angles) -> (!pairs) {
    %p = graph.region "q" (%x, %w) : (!x, !w) -> !p {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      graph.yield %0 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %r = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !pairs {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.slice %a start <[0, 0, 0, 1]> step [1, 1, 1, -1] : !pairs to !pairs
      %1 = graph.broadcast %c : !angles to !pairs
      %2 = graph.mul %0, %1 : !pairs
      graph.yield %2 : !pairs
    }
    return %r : !pairs
  }
}

// -----

!x = !graph.tensor<[n, 64], f16>
!w = !graph.tensor<[64, 32], f16>
!p = !graph.tensor<[n, 32], f16>
!pairs = !graph.tensor<[n, 2, 8, 2], f16>
!angles = !graph.tensor<[1, 1, 8, 1], f16>

// Of few rows as well: a tile has both of a pair.
// REMARK: RoPE of 2 heads of 16 is fused into its GEMM's epilogue.
// CHECK-LABEL: @interleaved_few_rows(
// CHECK: graph.region "q+rotary"
// CHECK: graph.slice %{{.*}} start <[0, 0, 0, 1]> step [1, 1, 1, -1]
// CHECK-NOT: graph.region
module attributes {graph.symbols = {n = {min = 1, max = 64, optimum = 1}}} {
  func.func @interleaved_few_rows(%x: !x, %w: !w, %cos: !angles) -> (!pairs) {
    %p = graph.region "q" (%x, %w) : (!x, !w) -> !p {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      graph.yield %0 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %r = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !pairs {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.slice %a start <[0, 0, 0, 1]> step [1, 1, 1, -1] : !pairs to !pairs
      %1 = graph.broadcast %c : !angles to !pairs
      %2 = graph.mul %0, %1 : !pairs
      graph.yield %2 : !pairs
    }
    return %r : !pairs
  }
}

// -----

!x = !graph.tensor<[n, 64], f16>
!w = !graph.tensor<[64, 48], f16>
!p = !graph.tensor<[n, 48], f16>
!pairs = !graph.tensor<[n, 2, 12, 2], f16>
!angles = !graph.tensor<[1, 1, 12, 1], f16>

// REMARK: RoPE is not fused into its GEMM: it is interleaved, and its heads are no power of two.
// CHECK-LABEL: @interleaved_odd(
// CHECK: graph.region "q"
// CHECK: graph.region "rotary"
module attributes {graph.symbols = {n = {min = 1, max = 64, optimum = 32}}} {
  func.func @interleaved_odd(%x: !x, %w: !w, %cos: !angles) -> (!pairs) {
    %p = graph.region "q" (%x, %w) : (!x, !w) -> !p {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      graph.yield %0 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %r = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !pairs {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.slice %a start <[0, 0, 0, 1]> step [1, 1, 1, -1] : !pairs to !pairs
      %1 = graph.broadcast %c : !angles to !pairs
      %2 = graph.mul %0, %1 : !pairs
      graph.yield %2 : !pairs
    }
    return %r : !pairs
  }
}

// -----

!x = !graph.tensor<[n, 64], f16>
!w = !graph.tensor<[32, 64], f16>
!p = !graph.tensor<[n, 32], f16>
!pairs = !graph.tensor<[n, 2, 2, 8], f16>
!angles = !graph.tensor<[1, 1, 1, 8], f16>

// REMARK: RoPE is not fused into its GEMM: that kernel reads an operand in another order, or does more than elementwise work after it.
// CHECK-LABEL: @transposed_weight(
// CHECK: graph.region "q"
// CHECK: graph.region "rotary"
module attributes {graph.symbols = {n = {min = 1, max = 64, optimum = 32}}} {
  func.func @transposed_weight(%x: !x, %w: !w, %cos: !angles) -> (!pairs) {
    %p = graph.region "q" (%x, %w) : (!x, !w) -> !p {
    ^bb0(%a: !x, %b: !w):
      %t = graph.transpose %b [1, 0] : !w
      %0 = graph.matmul %a, %t : !x, !graph.tensor<[64, 32], f16>
      graph.yield %0 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %r = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !pairs {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.slice %a start <[0, 0, 1, 0]> step [1, 1, -1, 1] : !pairs to !pairs
      %1 = graph.broadcast %c : !angles to !pairs
      %2 = graph.mul %0, %1 : !pairs
      graph.yield %2 : !pairs
    }
    return %r : !pairs
  }
}

// -----

// Of one row, numbers that are the same for all rows have its sizes, and get those of the heads.

!x = !graph.tensor<[1, 64], f16>
!w = !graph.tensor<[64, 64], f16>
!p = !graph.tensor<[1, 64], f16>
!one = !graph.tensor<[1, 1], f32>
!pairs = !graph.tensor<[1, 1, 4, 2, 8], f16>
!angles = !graph.tensor<[1, 1, 1, 2, 8], f32>

// CHECK-LABEL: @one_row(
// CHECK: graph.region "qkv+rotary"
// CHECK: %[[N:.*]] = graph.constant dense<2.000000e+00> : tensor<1x1x1x1xf32>
// CHECK: %[[F:.*]] = graph.mul %{{.*}}, %[[N]] : <[1, 1, 1, 1], f32>
// CHECK: graph.broadcast %[[F]] : <[1, 1, 1, 1], f32> to <[1, 4, 2, 8], f32>
module {
  func.func @one_row(%x: !x, %w: !w, %f: !one, %cos: !angles) -> !pairs {
    %p = graph.region "qkv" (%x, %w, %f) : (!x, !w, !one) -> !p {
    ^bb0(%a: !x, %b: !w, %c: !one):
      %0 = graph.cast %a to f32 : !x
      %1 = graph.cast %b to f32 : !w
      %n = graph.constant dense<2.0> : tensor<1x1xf32>
      %2 = graph.matmul %0, %1 : !graph.tensor<[1, 64], f32>, !graph.tensor<[64, 64], f32>
      %3 = graph.mul %c, %n : !one
      %4 = graph.broadcast %3 : !one to !graph.tensor<[1, 64], f32>
      %5 = graph.mul %2, %4 : !graph.tensor<[1, 64], f32>
      %6 = graph.cast %5 to f16 : !graph.tensor<[1, 64], f32>
      graph.yield %6 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %r = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !pairs {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.cast %a to f32 : !pairs
      %1 = graph.slice %0 start <[0, 0, 0, 1, 0]> step [1, 1, 1, -1, 1] : !graph.tensor<[1, 1, 4, 2, 8], f32> to !graph.tensor<[1, 1, 4, 2, 8], f32>
      %2 = graph.broadcast %c : !angles to !graph.tensor<[1, 1, 4, 2, 8], f32>
      %3 = graph.mul %1, %2 : !graph.tensor<[1, 1, 4, 2, 8], f32>
      %4 = graph.add %0, %3 : !graph.tensor<[1, 1, 4, 2, 8], f32>
      %5 = graph.cast %4 to f16 : !graph.tensor<[1, 1, 4, 2, 8], f32>
      graph.yield %5 : !pairs
    }
    return %r : !pairs
  }
}

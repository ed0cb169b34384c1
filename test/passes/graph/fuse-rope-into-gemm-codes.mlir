// RUN: kpc-opt %s --fuse-rope-into-gemm --split-input-file | FileCheck %s
// RUN: kpc-opt %s --fuse-rope-into-gemm=code-targets=sm_90a --split-input-file --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefixes=REMARK,HOPPER
// RUN: kpc-opt %s --fuse-rope-into-gemm=targets=sm_80 --split-input-file --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefixes=REMARK,AMPERE

// RoPE after a GEMM whose weight is codes in tiles. Cost models are asked, and schedules of few rows and of many.

!x = !graph.tensor<[n, 256], f16>
!c = !graph.tensor<[128, 2, 512], ui8>
!s = !graph.tensor<[4, 1024], f16>
!p = !graph.tensor<[n, 1024], f16>
!pairs = !graph.tensor<[n, 16, 2, 32], f16>
!wide = !graph.tensor<[n, 16, 2, 32], f32>
!angles = !graph.tensor<[n, 1, 2, 32], f32>

// REMARK: RoPE of 16 heads of 64 is fused into its GEMM's epilogue.
// CHECK-LABEL: @few(
// CHECK: graph.region "queries+rotary"(%arg0, %arg1, %arg2, %{{.*}})
// CHECK: %[[W:.*]] = graph.dequantise_tiles
// CHECK: %[[S:.*]] = graph.matmul %{{.*}}, %[[W]]
// CHECK: graph.reshape %[[S]]
// CHECK-NOT: graph.region
// CHECK: return
module attributes {graph.symbols = {n = {min = 1, max = 16, optimum = 1}}} {
  func.func @few(%x: !x, %w: !c, %s: !s, %cos: !angles) -> !pairs {
    %p = graph.region "queries" (%x, %w, %s) : (!x, !c, !s) -> !p {
    ^bb0(%a: !x, %b: !c, %r: !s):
      %0 = graph.cast %a to f32 : !x
      %1 = graph.cast %r to f32 : !s
      %2 = graph.dequantise_tiles %b scales %1 bits 4 block 64 offset 8 : !c, !graph.tensor<[4, 1024], f32> to <[256, 1024], f32>
      %3 = graph.matmul %0, %2 : !graph.tensor<[n, 256], f32>, !graph.tensor<[256, 1024], f32>
      %4 = graph.cast %3 to f16 : !graph.tensor<[n, 1024], f32>
      graph.yield %4 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %y = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !pairs {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.cast %a to f32 : !pairs
      %1 = graph.slice %0 start <[0, 0, 1, 0]> step [1, 1, -1, 1] : !wide to !wide
      %2 = graph.broadcast %c : !angles to !wide
      %3 = graph.mul %1, %2 : !wide
      %4 = graph.add %0, %3 : !wide
      %5 = graph.cast %4 to f16 : !wide
      graph.yield %5 : !pairs
    }
    return %y : !pairs
  }
}

// -----

!x = !graph.tensor<[n, 256], f16>
!c = !graph.tensor<[128, 4, 512], ui8>
!s = !graph.tensor<[4, 1024], f16>
!p = !graph.tensor<[n, 1024], f16>
!pairs = !graph.tensor<[n, 16, 32, 2], f16>
!wide = !graph.tensor<[n, 16, 32, 2], f32>
!angles = !graph.tensor<[n, 1, 32, 2], f32>

// REMARK: RoPE of 16 heads of 64 is fused into its GEMM's epilogue.
// CHECK-LABEL: @pairs(
// CHECK: graph.region "queries+rotary"(%arg0, %arg1, %arg2, %{{.*}})
// CHECK: %[[W:.*]] = graph.dequantise_tiles
// CHECK: %[[S:.*]] = graph.matmul %{{.*}}, %[[W]]
// CHECK: graph.reshape %[[S]]
// CHECK-NOT: graph.region
// CHECK: return
module attributes {graph.symbols = {n = {min = 1, max = 16, optimum = 1}}} {
  func.func @pairs(%x: !x, %w: !c, %s: !s, %cos: !angles) -> !pairs {
    %p = graph.region "queries" (%x, %w, %s) : (!x, !c, !s) -> !p {
    ^bb0(%a: !x, %b: !c, %r: !s):
      %0 = graph.cast %a to f32 : !x
      %1 = graph.cast %r to f32 : !s
      %2 = graph.dequantise_tiles %b scales %1 bits 8 block 64 offset 128 : !c, !graph.tensor<[4, 1024], f32> to <[256, 1024], f32>
      %3 = graph.matmul %0, %2 : !graph.tensor<[n, 256], f32>, !graph.tensor<[256, 1024], f32>
      %4 = graph.cast %3 to f16 : !graph.tensor<[n, 1024], f32>
      graph.yield %4 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %y = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !pairs {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.cast %a to f32 : !pairs
      %1 = graph.slice %0 start <[0, 0, 0, 1]> step [1, 1, 1, -1] : !wide to !wide
      %2 = graph.broadcast %c : !angles to !wide
      %3 = graph.mul %1, %2 : !wide
      %4 = graph.add %0, %3 : !wide
      %5 = graph.cast %4 to f16 : !wide
      graph.yield %5 : !pairs
    }
    return %y : !pairs
  }
}

// -----

!x = !graph.tensor<[n, 256], f16>
!c = !graph.tensor<[256, 2, 512], ui8>
!s = !graph.tensor<[4, 2048], f16>
!p = !graph.tensor<[n, 2048], f16>
!pairs = !graph.tensor<[n, 16, 2, 64], f16>
!wide = !graph.tensor<[n, 16, 2, 64], f32>
!angles = !graph.tensor<[n, 1, 2, 64], f32>

// One artifact for prompts and tokens; targets without wgmma have no kernel of codes for so many rows.
// HOPPER: RoPE of 16 heads of 128 is fused into its GEMM's epilogue.
// AMPERE: RoPE is not fused into its GEMM: no tile of the GEMM holds whole heads.
// CHECK-LABEL: @any(
// CHECK: graph.region "queries+rotary"(%arg0, %arg1, %arg2, %{{.*}})
// CHECK: %[[W:.*]] = graph.dequantise_tiles
// CHECK: %[[S:.*]] = graph.matmul %{{.*}}, %[[W]]
// CHECK: graph.reshape %[[S]]
// CHECK-NOT: graph.region
// CHECK: return
module attributes {graph.symbols = {n = {min = 1, max = 4096, optimum = 1}}} {
  func.func @any(%x: !x, %w: !c, %s: !s, %cos: !angles) -> !pairs {
    %p = graph.region "queries" (%x, %w, %s) : (!x, !c, !s) -> !p {
    ^bb0(%a: !x, %b: !c, %r: !s):
      %0 = graph.cast %a to f32 : !x
      %1 = graph.cast %r to f32 : !s
      %2 = graph.dequantise_tiles %b scales %1 bits 4 block 64 offset 8 : !c, !graph.tensor<[4, 2048], f32> to <[256, 2048], f32>
      %3 = graph.matmul %0, %2 : !graph.tensor<[n, 256], f32>, !graph.tensor<[256, 2048], f32>
      %4 = graph.cast %3 to f16 : !graph.tensor<[n, 2048], f32>
      graph.yield %4 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %y = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !pairs {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.cast %a to f32 : !pairs
      %1 = graph.slice %0 start <[0, 0, 1, 0]> step [1, 1, -1, 1] : !wide to !wide
      %2 = graph.broadcast %c : !angles to !wide
      %3 = graph.mul %1, %2 : !wide
      %4 = graph.add %0, %3 : !wide
      %5 = graph.cast %4 to f16 : !wide
      graph.yield %5 : !pairs
    }
    return %y : !pairs
  }
}

// -----

!x = !graph.tensor<[n, 256], f16>
!c = !graph.tensor<[128, 2, 512], ui8>
!s = !graph.tensor<[4, 1024], f16>
!p = !graph.tensor<[n, 1024], f16>
!pairs = !graph.tensor<[n, 16, 2, 32], f16>
!wide = !graph.tensor<[n, 16, 2, 32], f32>
!angles = !graph.tensor<[n, 1, 2, 32], f32>

// HOPPER: RoPE of 16 heads of 64 is fused into its GEMM's epilogue.
// AMPERE: RoPE is not fused into its GEMM: no tile of the GEMM holds whole heads.
// CHECK-LABEL: @many(
// CHECK: graph.region "queries+rotary"(%arg0, %arg1, %arg2, %{{.*}})
// CHECK: %[[W:.*]] = graph.dequantise_tiles
// CHECK: %[[S:.*]] = graph.matmul %{{.*}}, %[[W]]
// CHECK: graph.reshape %[[S]]
// CHECK-NOT: graph.region
// CHECK: return
module attributes {graph.symbols = {n = {min = 1, max = 4096, optimum = 512}}} {
  func.func @many(%x: !x, %w: !c, %s: !s, %cos: !angles) -> !pairs {
    %p = graph.region "queries" (%x, %w, %s) : (!x, !c, !s) -> !p {
    ^bb0(%a: !x, %b: !c, %r: !s):
      %0 = graph.cast %a to f32 : !x
      %1 = graph.cast %r to f32 : !s
      %2 = graph.dequantise_tiles %b scales %1 bits 4 block 64 offset 8 : !c, !graph.tensor<[4, 1024], f32> to <[256, 1024], f32>
      %3 = graph.matmul %0, %2 : !graph.tensor<[n, 256], f32>, !graph.tensor<[256, 1024], f32>
      %4 = graph.cast %3 to f16 : !graph.tensor<[n, 1024], f32>
      graph.yield %4 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %y = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !pairs {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.cast %a to f32 : !pairs
      %1 = graph.slice %0 start <[0, 0, 1, 0]> step [1, 1, -1, 1] : !wide to !wide
      %2 = graph.broadcast %c : !angles to !wide
      %3 = graph.mul %1, %2 : !wide
      %4 = graph.add %0, %3 : !wide
      %5 = graph.cast %4 to f16 : !wide
      graph.yield %5 : !pairs
    }
    return %y : !pairs
  }
}

// -----

!x = !graph.tensor<[n, 256], f16>
!c = !graph.tensor<[192, 2, 512], ui8>
!s = !graph.tensor<[4, 1536], f16>
!p = !graph.tensor<[n, 1536], f16>
!pairs = !graph.tensor<[n, 16, 2, 48], f16>
!wide = !graph.tensor<[n, 16, 2, 48], f32>
!angles = !graph.tensor<[n, 1, 2, 48], f32>

// HOPPER: RoPE of 16 heads of 96 is fused into its GEMM's epilogue.
// AMPERE: RoPE is not fused into its GEMM: no tile of the GEMM holds whole heads.
// CHECK-LABEL: @three_quarters(
module attributes {graph.symbols = {n = {min = 1, max = 4096, optimum = 1}}} {
  func.func @three_quarters(%x: !x, %w: !c, %s: !s, %cos: !angles) -> !pairs {
    %p = graph.region "queries" (%x, %w, %s) : (!x, !c, !s) -> !p {
    ^bb0(%a: !x, %b: !c, %r: !s):
      %0 = graph.cast %a to f32 : !x
      %1 = graph.cast %r to f32 : !s
      %2 = graph.dequantise_tiles %b scales %1 bits 4 block 64 offset 8 : !c, !graph.tensor<[4, 1536], f32> to <[256, 1536], f32>
      %3 = graph.matmul %0, %2 : !graph.tensor<[n, 256], f32>, !graph.tensor<[256, 1536], f32>
      %4 = graph.cast %3 to f16 : !graph.tensor<[n, 1536], f32>
      graph.yield %4 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %y = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !pairs {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.cast %a to f32 : !pairs
      %1 = graph.slice %0 start <[0, 0, 1, 0]> step [1, 1, -1, 1] : !wide to !wide
      %2 = graph.broadcast %c : !angles to !wide
      %3 = graph.mul %1, %2 : !wide
      %4 = graph.add %0, %3 : !wide
      %5 = graph.cast %4 to f16 : !wide
      graph.yield %5 : !pairs
    }
    return %y : !pairs
  }
}

// -----

!x = !graph.tensor<[n, 256], f16>
!c = !graph.tensor<[160, 2, 512], ui8>
!s = !graph.tensor<[4, 1280], f16>
!p = !graph.tensor<[n, 1280], f16>
!pairs = !graph.tensor<[n, 16, 2, 40], f16>
!wide = !graph.tensor<[n, 16, 2, 40], f32>
!angles = !graph.tensor<[n, 1, 2, 40], f32>

// Warpgroups have 64 columns each, and up to four multiply: none has whole heads of 80.
// REMARK: RoPE is not fused into its GEMM: no tile of the GEMM holds whole heads.
// CHECK-LABEL: @five_eighths(
module attributes {graph.symbols = {n = {min = 1, max = 4096, optimum = 1}}} {
  func.func @five_eighths(%x: !x, %w: !c, %s: !s, %cos: !angles) -> !pairs {
    %p = graph.region "queries" (%x, %w, %s) : (!x, !c, !s) -> !p {
    ^bb0(%a: !x, %b: !c, %r: !s):
      %0 = graph.cast %a to f32 : !x
      %1 = graph.cast %r to f32 : !s
      %2 = graph.dequantise_tiles %b scales %1 bits 4 block 64 offset 8 : !c, !graph.tensor<[4, 1280], f32> to <[256, 1280], f32>
      %3 = graph.matmul %0, %2 : !graph.tensor<[n, 256], f32>, !graph.tensor<[256, 1280], f32>
      %4 = graph.cast %3 to f16 : !graph.tensor<[n, 1280], f32>
      graph.yield %4 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %y = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !pairs {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.cast %a to f32 : !pairs
      %1 = graph.slice %0 start <[0, 0, 1, 0]> step [1, 1, -1, 1] : !wide to !wide
      %2 = graph.broadcast %c : !angles to !wide
      %3 = graph.mul %1, %2 : !wide
      %4 = graph.add %0, %3 : !wide
      %5 = graph.cast %4 to f16 : !wide
      graph.yield %5 : !pairs
    }
    return %y : !pairs
  }
}

// -----

!x = !graph.tensor<[n, 256], f16>
!c = !graph.tensor<[192, 2, 512], ui8>
!s = !graph.tensor<[4, 1536], f16>
!p = !graph.tensor<[n, 1536], f16>
!pairs = !graph.tensor<[n, 16, 2, 48], f16>
!wide = !graph.tensor<[n, 16, 2, 48], f32>
!angles = !graph.tensor<[n, 1, 2, 48], f32>

// REMARK: RoPE of 16 heads of 96 is fused into its GEMM's epilogue.
// CHECK-LABEL: @three_quarters_of_few_rows(
// CHECK: graph.region "queries+rotary"(%arg0, %arg1, %arg2, %{{.*}})
// CHECK: %[[W:.*]] = graph.dequantise_tiles
// CHECK: %[[S:.*]] = graph.matmul %{{.*}}, %[[W]]
// CHECK: graph.reshape %[[S]]
// CHECK-NOT: graph.region
// CHECK: return
module attributes {graph.symbols = {n = {min = 1, max = 16, optimum = 1}}} {
  func.func @three_quarters_of_few_rows(%x: !x, %w: !c, %s: !s, %cos: !angles) -> !pairs {
    %p = graph.region "queries" (%x, %w, %s) : (!x, !c, !s) -> !p {
    ^bb0(%a: !x, %b: !c, %r: !s):
      %0 = graph.cast %a to f32 : !x
      %1 = graph.cast %r to f32 : !s
      %2 = graph.dequantise_tiles %b scales %1 bits 4 block 64 offset 8 : !c, !graph.tensor<[4, 1536], f32> to <[256, 1536], f32>
      %3 = graph.matmul %0, %2 : !graph.tensor<[n, 256], f32>, !graph.tensor<[256, 1536], f32>
      %4 = graph.cast %3 to f16 : !graph.tensor<[n, 1536], f32>
      graph.yield %4 : !p
    }
    %h = graph.reshape %p : !p to !pairs
    %y = graph.region "rotary" (%h, %cos) : (!pairs, !angles) -> !pairs {
    ^bb0(%a: !pairs, %c: !angles):
      %0 = graph.cast %a to f32 : !pairs
      %1 = graph.slice %0 start <[0, 0, 1, 0]> step [1, 1, -1, 1] : !wide to !wide
      %2 = graph.broadcast %c : !angles to !wide
      %3 = graph.mul %1, %2 : !wide
      %4 = graph.add %0, %3 : !wide
      %5 = graph.cast %4 to f16 : !wide
      graph.yield %5 : !pairs
    }
    return %y : !pairs
  }
}

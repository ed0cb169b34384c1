// RUN: kpc-opt %s --fuse-gated-mlp --split-input-file | FileCheck %s
// RUN: kpc-opt %s --fuse-gated-mlp='targets=sm_80,sm_120a' --split-input-file | FileCheck %s
// RUN: kpc-opt %s --fuse-gated-mlp --split-input-file --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

!x = !graph.tensor<[n, 256], f16>
!c = !graph.tensor<[128, 2, 512], ui8>
!s = !graph.tensor<[4, 1024], f16>
!w = !graph.tensor<[256, 1024], f16>
!h = !graph.tensor<[n, 1024], f16>

// Weights of codes, which few rows read in tiles. Their zero points may be other numbers.
// REMARK: The two GEMMs of a gated MLP are fused into one kernel.
// CHECK-LABEL: @of_nibbles(
// CHECK: graph.region "gate+up"(%arg0, %arg1, %arg3, %arg2, %arg4)
// CHECK: %[[W:.*]] = graph.dequantise_tiles %{{.*}} bits 4 block 64 offset 8
// CHECK: graph.matmul %{{.*}}, %[[W]]
// CHECK: %[[V:.*]] = graph.dequantise_tiles %{{.*}} bits 4 block 64 offset 7
// CHECK: graph.matmul %{{.*}}, %[[V]]
// CHECK-NOT: graph.region
// CHECK: return
module attributes {graph.symbols = {n = {min = 1, max = 16, optimum = 1}}} {
  func.func @of_nibbles(%x: !x, %w: !c, %v: !c, %s: !s, %t: !s) -> !h {
    %g = graph.region "gate" (%x, %w, %s) : (!x, !c, !s) -> !h {
    ^bb0(%a: !x, %b: !c, %r: !s):
      %0 = graph.dequantise_tiles %b scales %r bits 4 block 64 offset 8 : !c, !s to <[256, 1024], f16>
      %1 = graph.matmul %a, %0 : !x, !w
      graph.yield %1 : !h
    }
    %y = graph.region "up" (%g, %x, %v, %t) : (!h, !x, !c, !s) -> !h {
    ^bb0(%gate: !h, %a: !x, %b: !c, %r: !s):
      %0 = graph.dequantise_tiles %b scales %r bits 4 block 64 offset 7 : !c, !s to <[256, 1024], f16>
      %1 = graph.matmul %a, %0 : !x, !w
      %2 = graph.mul %gate, %1 : !h
      graph.yield %2 : !h
    }
    return %y : !h
  }
}

// -----

!x = !graph.tensor<[n, 256], f16>
!c = !graph.tensor<[128, 4, 512], ui8>
!s = !graph.tensor<[4, 1024], f16>
!w = !graph.tensor<[256, 1024], f16>
!h = !graph.tensor<[n, 1024], f16>

// REMARK: The two GEMMs of a gated MLP are not fused: the two weights differ in size or type.
// CHECK-LABEL: @of_two_types(
// CHECK-COUNT-2: graph.region
module attributes {graph.symbols = {n = {min = 1, max = 16, optimum = 1}}} {
  func.func @of_two_types(%x: !x, %w: !c, %v: !c, %s: !s) -> !h {
    %g = graph.region "gate" (%x, %w, %s) : (!x, !c, !s) -> !h {
    ^bb0(%a: !x, %b: !c, %r: !s):
      %0 = graph.dequantise_tiles %b scales %r bits 8 block 64 offset 0 number f8E4M3FN : !c, !s to <[256, 1024], f16>
      %1 = graph.matmul %a, %0 : !x, !w
      graph.yield %1 : !h
    }
    %y = graph.region "up" (%g, %x, %v, %s) : (!h, !x, !c, !s) -> !h {
    ^bb0(%gate: !h, %a: !x, %b: !c, %r: !s):
      %0 = graph.dequantise_tiles %b scales %r bits 8 block 64 offset 0 number f8E5M2 : !c, !s to <[256, 1024], f16>
      %1 = graph.matmul %a, %0 : !x, !w
      %2 = graph.mul %gate, %1 : !h
      graph.yield %2 : !h
    }
    return %y : !h
  }
}

// -----

!x = !graph.tensor<[n, 256], f16>
!c = !graph.tensor<[128, 2, 512], ui8>
!s = !graph.tensor<[4, 1024], f16>
!w = !graph.tensor<[256, 1024], f16>
!h = !graph.tensor<[n, 1024], f16>

// REMARK: The two GEMMs of a gated MLP are not fused: the two weights differ in size or type.
// CHECK-LABEL: @of_codes_and_numbers(
// CHECK-COUNT-2: graph.region
module attributes {graph.symbols = {n = {min = 1, max = 16, optimum = 1}}} {
  func.func @of_codes_and_numbers(%x: !x, %w: !c, %v: !w, %s: !s) -> !h {
    %g = graph.region "gate" (%x, %w, %s) : (!x, !c, !s) -> !h {
    ^bb0(%a: !x, %b: !c, %r: !s):
      %0 = graph.dequantise_tiles %b scales %r bits 4 block 64 offset 8 : !c, !s to <[256, 1024], f16>
      %1 = graph.matmul %a, %0 : !x, !w
      graph.yield %1 : !h
    }
    %y = graph.region "up" (%g, %x, %v) : (!h, !x, !w) -> !h {
    ^bb0(%gate: !h, %a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      %1 = graph.mul %gate, %0 : !h
      graph.yield %1 : !h
    }
    return %y : !h
  }
}

// -----

!x = !graph.tensor<[n, 256], f32>
!c = !graph.tensor<[128, 2, 512], ui8>
!s = !graph.tensor<[4, 1024], f32>
!w = !graph.tensor<[256, 1024], f32>
!h = !graph.tensor<[n, 1024], f32>

// A loop reads these codes.
// REMARK: The two GEMMs of a gated MLP are not fused: what is multiplied by codes is not of 16 bits. To fix: compile with --precision fp16 or bf16, and --io-precision, too.
// CHECK-LABEL: @of_wide_rows(
// CHECK-COUNT-2: graph.region
module attributes {graph.symbols = {n = {min = 1, max = 16, optimum = 1}}} {
  func.func @of_wide_rows(%x: !x, %w: !c, %v: !c, %s: !s) -> !h {
    %g = graph.region "gate" (%x, %w, %s) : (!x, !c, !s) -> !h {
    ^bb0(%a: !x, %b: !c, %r: !s):
      %0 = graph.dequantise_tiles %b scales %r bits 4 block 64 offset 8 : !c, !s to <[256, 1024], f32>
      %1 = graph.matmul %a, %0 : !x, !w
      graph.yield %1 : !h
    }
    %y = graph.region "up" (%g, %x, %v, %s) : (!h, !x, !c, !s) -> !h {
    ^bb0(%gate: !h, %a: !x, %b: !c, %r: !s):
      %0 = graph.dequantise_tiles %b scales %r bits 4 block 64 offset 8 : !c, !s to <[256, 1024], f32>
      %1 = graph.matmul %a, %0 : !x, !w
      %2 = graph.mul %gate, %1 : !h
      graph.yield %2 : !h
    }
    return %y : !h
  }
}

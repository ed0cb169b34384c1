// RUN: kpc-opt %s --fuse-gated-mlp --split-input-file | FileCheck %s
// RUN: kpc-opt %s --fuse-gated-mlp --split-input-file --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Two products of one left side whose results meet element by element are one region.

!x = !graph.tensor<[n, 64], f16>
!w = !graph.tensor<[64, 128], f16>
!h = !graph.tensor<[n, 128], f16>
!wide = !graph.tensor<[n, 128], f32>

// The gate is not rounded on its way, and what both read is one input.
// REMARK: The two GEMMs of a gated MLP are fused into one kernel.
// CHECK-LABEL: @swiglu(
// CHECK: %[[Y:.*]] = graph.region "gate+up"(%arg0, %arg1, %arg2) : (!graph.tensor<[n, 64], f16>, !graph.tensor<[64, 128], f16>, !graph.tensor<[64, 128], f16>) -> !graph.tensor<[n, 128], f16> {
// CHECK-NEXT: ^bb0(%[[X:.*]]: !graph.tensor<[n, 64], f16>, %[[W:.*]]: !graph.tensor<[64, 128], f16>, %[[V:.*]]: !graph.tensor<[64, 128], f16>):
// CHECK: %[[G:.*]] = graph.matmul
// CHECK-NOT: graph.cast %[[G]]
// CHECK: %[[U:.*]] = graph.matmul
// CHECK: %[[S:.*]] = graph.sigmoid %[[G]]
// CHECK: %[[SILU:.*]] = graph.mul %[[G]], %[[S]]
// CHECK: graph.mul %[[SILU]], %[[U]]
// CHECK: return %[[Y]]
module attributes {graph.symbols = {n = {min = 1, max = 4096, optimum = 1024}}} {
  func.func @swiglu(%x: !x, %w: !w, %v: !w) -> !h {
    %g = graph.region "gate" (%x, %w) : (!x, !w) -> !h {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.cast %a to f32 : !x
      %1 = graph.cast %b to f32 : !w
      %2 = graph.matmul %0, %1 : !graph.tensor<[n, 64], f32>, !graph.tensor<[64, 128], f32>
      %3 = graph.cast %2 to f16 : !wide
      graph.yield %3 : !h
    }
    %y = graph.region "up" (%g, %x, %v) : (!h, !x, !w) -> !h {
    ^bb0(%gate: !h, %a: !x, %b: !w):
      %0 = graph.cast %gate to f32 : !h
      %1 = graph.cast %a to f32 : !x
      %2 = graph.cast %b to f32 : !w
      %3 = graph.matmul %1, %2 : !graph.tensor<[n, 64], f32>, !graph.tensor<[64, 128], f32>
      %4 = graph.sigmoid %0 : !wide
      %5 = graph.mul %0, %4 : !wide
      %6 = graph.mul %5, %3 : !wide
      %7 = graph.cast %6 to f16 : !wide
      graph.yield %7 : !h
    }
    return %y : !h
  }
}

// -----

!x = !graph.tensor<[n, 64], f16>
!w = !graph.tensor<[64, 128], f16>
!h = !graph.tensor<[n, 128], f16>
!b = !graph.tensor<[128], f16>

// With vectors that are added; the function stands with the first.
// REMARK: The two GEMMs of a gated MLP are fused into one kernel.
// CHECK-LABEL: @geglu(
// CHECK: graph.region "gate+up"(%arg0, %arg1, %arg3, %arg2, %arg4)
// CHECK-NOT: graph.region
module attributes {graph.symbols = {n = {min = 1, max = 4096, optimum = 1024}}} {
  func.func @geglu(%x: !x, %w: !w, %v: !w, %c: !b, %d: !b) -> !h {
    %g = graph.region "gate" (%x, %w, %c) : (!x, !w, !b) -> !h {
    ^bb0(%a: !x, %b: !w, %s: !b):
      %0 = graph.matmul %a, %b : !x, !w
      %1 = graph.broadcast %s : !b to !h
      %2 = graph.add %0, %1 : !h
      %3 = graph.erf %2 : !h
      %4 = graph.mul %2, %3 : !h
      graph.yield %4 : !h
    }
    %y = graph.region "up" (%x, %v, %g, %d) : (!x, !w, !h, !b) -> !h {
    ^bb0(%a: !x, %b: !w, %gate: !h, %s: !b):
      %0 = graph.matmul %a, %b : !x, !w
      %1 = graph.broadcast %s : !b to !h
      %2 = graph.add %0, %1 : !h
      %3 = graph.mul %gate, %2 : !h
      graph.yield %3 : !h
    }
    return %y : !h
  }
}

// -----

!x = !graph.tensor<[n, 64], f32>
!w = !graph.tensor<[64, 128], f32>
!h = !graph.tensor<[n, 128], f32>

// REMARK: The two GEMMs of a gated MLP are not fused: its operands are not of 16 bits. To fix: compile with --precision fp16 or bf16.
// CHECK-LABEL: @wide(
// CHECK-COUNT-2: graph.region
module {
  func.func @wide(%x: !x, %w: !w, %v: !w) -> !h {
    %g = graph.region "gate" (%x, %w) : (!x, !w) -> !h {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      graph.yield %0 : !h
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

!x = !graph.tensor<[n, 64], f16>
!w = !graph.tensor<[64, 12], f16>
!h = !graph.tensor<[n, 12], f16>

// REMARK: The two GEMMs of a gated MLP are not fused: K or N is not a multiple of 8. To fix: pad the weight in the model.
// CHECK-LABEL: @ragged(
// CHECK-COUNT-2: graph.region
module {
  func.func @ragged(%x: !x, %w: !w, %v: !w) -> !h {
    %g = graph.region "gate" (%x, %w) : (!x, !w) -> !h {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      graph.yield %0 : !h
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

!x = !graph.tensor<[n, 64], f16>
!w = !graph.tensor<[64, 128], f16>
!h = !graph.tensor<[n, 128], f16>

// However few rows there are.
// REMARK: The two GEMMs of a gated MLP are fused into one kernel.
// CHECK-LABEL: @typically_four(
// CHECK: graph.region "gate+up"(%arg0, %arg1, %arg2)
// CHECK-NOT: graph.region
module attributes {graph.symbols = {n = {min = 1, max = 4096, optimum = 4}}} {
  func.func @typically_four(%x: !x, %w: !w, %v: !w) -> !h {
    %g = graph.region "gate" (%x, %w) : (!x, !w) -> !h {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      graph.yield %0 : !h
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

!x = !graph.tensor<[64, 64], f16>

// A gate that others read as well, one that is the left side itself, and one whose elements are wanted elsewhere.
// REMARK-NOT: remark:
// CHECK-LABEL: @others(
// CHECK-COUNT-4: graph.region
module {
  func.func @others(%x: !x, %w: !x, %v: !x) -> (!x, !x, !x) {
    %g = graph.region "gate" (%x, %w) : (!x, !x) -> !x {
    ^bb0(%a: !x, %b: !x):
      %0 = graph.matmul %a, %b : !x, !x
      graph.yield %0 : !x
    }
    %y = graph.region "up" (%g, %x, %v) : (!x, !x, !x) -> !x {
    ^bb0(%gate: !x, %a: !x, %b: !x):
      %0 = graph.matmul %a, %b : !x, !x
      %1 = graph.mul %gate, %0 : !x
      graph.yield %1 : !x
    }
    %h = graph.region "turned" (%x, %v) : (!x, !x) -> !x {
    ^bb0(%a: !x, %b: !x):
      %0 = graph.matmul %a, %b : !x, !x
      graph.yield %0 : !x
    }
    %z = graph.region "up2" (%h, %x, %w) : (!x, !x, !x) -> !x {
    ^bb0(%gate: !x, %a: !x, %b: !x):
      %0 = graph.matmul %a, %b : !x, !x
      %1 = graph.transpose %gate [1, 0] : !x
      %2 = graph.mul %1, %0 : !x
      graph.yield %2 : !x
    }
    return %g, %y, %z : !x, !x, !x
  }
}

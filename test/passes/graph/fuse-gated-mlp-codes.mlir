// RUN: kpc-opt %s --fuse-gated-mlp --split-input-file | FileCheck %s
// RUN: kpc-opt %s --fuse-gated-mlp --split-input-file --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

!x = !graph.tensor<[n, 64], f8E4M3FN>
!w = !graph.tensor<[64, 128], f8E4M3FN>
!h = !graph.tensor<[n, 128], f16>
!wide = !graph.tensor<[n, 128], f32>

// Codes of FP8 are multiplied by wgmma, which adds both products up.
// REMARK: The two GEMMs of a gated MLP are fused into one kernel.
// CHECK-LABEL: @of_codes(
// CHECK: graph.region "gate+up"(%arg0, %arg1, %arg2)
// CHECK-NOT: graph.region
// CHECK: return
module attributes {graph.symbols = {n = {min = 1, max = 4096, optimum = 1024}}} {
  func.func @of_codes(%x: !x, %w: !w, %v: !w) -> !h {
    %g = graph.region "gate" (%x, %w) : (!x, !w) -> !h {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      %1 = graph.cast %0 to f16 : !wide
      graph.yield %1 : !h
    }
    %y = graph.region "up" (%g, %x, %v) : (!h, !x, !w) -> !h {
    ^bb0(%gate: !h, %a: !x, %b: !w):
      %0 = graph.cast %gate to f32 : !h
      %1 = graph.matmul %a, %b : !x, !w
      %2 = graph.mul %0, %1 : !wide
      %3 = graph.cast %2 to f16 : !wide
      graph.yield %3 : !h
    }
    return %y : !h
  }
}

// -----

!x = !graph.tensor<[n, 72], f8E4M3FN>
!w = !graph.tensor<[72, 128], f8E4M3FN>
!h = !graph.tensor<[n, 128], f16>
!wide = !graph.tensor<[n, 128], f32>

// REMARK: The two GEMMs of a gated MLP are not fused: K is not a multiple of 16, or N not one of 8. To fix: pad the weight in the model.
// CHECK-LABEL: @of_ragged_codes(
// CHECK-COUNT-2: graph.region
module attributes {graph.symbols = {n = {min = 1, max = 4096, optimum = 1024}}} {
  func.func @of_ragged_codes(%x: !x, %w: !w, %v: !w) -> !h {
    %g = graph.region "gate" (%x, %w) : (!x, !w) -> !h {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      %1 = graph.cast %0 to f16 : !wide
      graph.yield %1 : !h
    }
    %y = graph.region "up" (%g, %x, %v) : (!h, !x, !w) -> !h {
    ^bb0(%gate: !h, %a: !x, %b: !w):
      %0 = graph.cast %gate to f32 : !h
      %1 = graph.matmul %a, %b : !x, !w
      %2 = graph.mul %0, %1 : !wide
      %3 = graph.cast %2 to f16 : !wide
      graph.yield %3 : !h
    }
    return %y : !h
  }
}

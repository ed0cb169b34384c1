// RUN: kpc-opt %s --fuse-gated-mlp='targets=sm_80,sm_120a' --split-input-file | FileCheck %s
// RUN: kpc-opt %s --fuse-gated-mlp='targets=sm_80,sm_120a' --split-input-file --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: kpc-opt %s --fuse-gated-mlp='targets=sm_100a' --split-input-file | FileCheck %s --check-prefix=TCGEN05
// RUN: not kpc-opt %s --fuse-gated-mlp='targets=sm_800' --split-input-file 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// Where mma.sync or tcgen05 multiplies, cost models decide.
// UNKNOWN: error: {{.*}}sm_800

!x = !graph.tensor<[n, 2048], f16>
!w = !graph.tensor<[2048, 8192], f16>
!h = !graph.tensor<[n, 8192], f16>

// REMARK: The two GEMMs of a gated MLP are fused into one kernel.
// TCGEN05-LABEL: @gains(
// TCGEN05: graph.region "gate+up"(%arg0, %arg1, %arg2)
// CHECK-LABEL: @gains(
// CHECK: graph.region "gate+up"(%arg0, %arg1, %arg2)
// CHECK-NOT: graph.region
module attributes {graph.symbols = {n = {min = 1, max = 4096, optimum = 1024}}} {
  func.func @gains(%x: !x, %w: !w, %v: !w) -> !h {
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

!x = !graph.tensor<[n, 2048], f16>
!w = !graph.tensor<[2048, 8192], f16>
!h = !graph.tensor<[n, 8192], f16>

// Few rows read two weights by shorter lines than one.
// REMARK: The two GEMMs of a gated MLP are not fused: one kernel is no faster, by the cost model of sm_80: {{[0-9.]+}} us as one, {{[0-9.]+}} as two.
// TCGEN05-LABEL: @loses(
// TCGEN05-COUNT-2: graph.region
// CHECK-LABEL: @loses(
// CHECK-COUNT-2: graph.region
module attributes {graph.symbols = {n = {min = 1, max = 16, optimum = 1}}} {
  func.func @loses(%x: !x, %w: !w, %v: !w) -> !h {
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

!x = !graph.tensor<[n, 2048], f16>
!w = !graph.tensor<[2048, 8192], f16>
!h = !graph.tensor<[n, 8192], f16>

// Typically one row, whatever a prompt has: each GEMM alone is one of few rows. By tcgen05 one kernel of both is faster.
// TCGEN05-LABEL: @loses_with_prompts(
// TCGEN05: graph.region "gate+up"
// REMARK: The two GEMMs of a gated MLP are not fused: one kernel is no faster, by the cost model of sm_80: {{[0-9.]+}} us as one, {{[0-9.]+}} as two.
// CHECK-LABEL: @loses_with_prompts(
// CHECK-COUNT-2: graph.region
module attributes {graph.symbols = {n = {min = 1, max = 4096, optimum = 1}}} {
  func.func @loses_with_prompts(%x: !x, %w: !w, %v: !w) -> !h {
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

!x = !graph.tensor<[n, 2048], f16>
!w = !graph.tensor<[2048, 8192], f16>
!h = !graph.tensor<[n, 8192], f16>
!b = !graph.tensor<[n, 8192], i1>

// REMARK: The two GEMMs of a gated MLP are not fused: no kernel of two products stores its result's type.
// CHECK-LABEL: @flags(
// CHECK-COUNT-2: graph.region
module attributes {graph.symbols = {n = {min = 1, max = 4096, optimum = 1024}}} {
  func.func @flags(%x: !x, %w: !w, %v: !w) -> !b {
    %g = graph.region "gate" (%x, %w) : (!x, !w) -> !h {
    ^bb0(%a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      graph.yield %0 : !h
    }
    %y = graph.region "up" (%g, %x, %v) : (!h, !x, !w) -> !b {
    ^bb0(%gate: !h, %a: !x, %b: !w):
      %0 = graph.matmul %a, %b : !x, !w
      %1 = graph.compare gt, %gate, %0 : !h
      graph.yield %1 : !b
    }
    return %y : !b
  }
}

// RUN: kpc-opt %s --split-gate-up | FileCheck %s
// RUN: kpc-opt %s --split-gate-up --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// A GEMM whose halves meet element by element is split into two.

!m = !graph.tensor<[n, 256], f32>
!h = !graph.tensor<[n, 128], f32>
!x = !graph.tensor<[n, 64], f32>
!w = !graph.tensor<[64, 256], f32>

// REMARK: A gate-up GEMM is split into two with N = 128.
// CHECK-LABEL: @swiglu(
// CHECK-DAG: %[[W:.*]] = graph.weight "m#w"
// CHECK-DAG: %[[B:.*]] = graph.weight "m#b"
// CHECK-DAG: %[[W0:.*]] = graph.slice %[[W]] start <[0, 0]> step [1, 1] : <[64, 256], f32> to <[64, 128], f32>
// CHECK-DAG: %[[W1:.*]] = graph.slice %[[W]] start <[0, 128]> step [1, 1] : <[64, 256], f32> to <[64, 128], f32>
// CHECK-DAG: %[[B0:.*]] = graph.slice %[[B]] start <[0]> step [1] : <[256], f32> to <[128], f32>
// CHECK-DAG: %[[B1:.*]] = graph.slice %[[B]] start <[128]> step [1] : <[256], f32> to <[128], f32>
// CHECK-DAG: %[[G:.*]] = graph.matmul %arg0, %[[W0]]
// CHECK-DAG: %[[U:.*]] = graph.matmul %arg0, %[[W1]]
// CHECK-DAG: %[[BG:.*]] = graph.broadcast %[[B0]] : <[128], f32> to <[n, 128], f32>
// CHECK-DAG: %[[BU:.*]] = graph.broadcast %[[B1]] : <[128], f32> to <[n, 128], f32>
// CHECK-DAG: %[[GATE:.*]] = graph.add %[[G]], %[[BG]]
// CHECK-DAG: %[[UP:.*]] = graph.add %[[U]], %[[BU]]
// CHECK: %[[S:.*]] = graph.sigmoid %[[GATE]]
// CHECK: %[[SILU:.*]] = graph.mul %[[GATE]], %[[S]]
// CHECK: graph.mul %[[SILU]], %[[UP]]
func.func @swiglu(%x: !x) -> !h {
  %w = graph.weight "m#w" [] : !w
  %b = graph.weight "m#b" [] : !graph.tensor<[256], f32>
  %0 = graph.matmul %x, %w : !x, !w
  %1 = graph.broadcast %b : !graph.tensor<[256], f32> to !m
  %2 = graph.add %0, %1 : !m
  %3 = graph.slice %2 start <[0, 0]> step [1, 1] : !m to !h
  %4 = graph.slice %2 start <[0, 128]> step [1, 1] : !m to !h
  %5 = graph.sigmoid %3 : !h
  %6 = graph.mul %3, %5 : !h
  %7 = graph.mul %6, %4 : !h
  return %7 : !h
}

// Few rows read the codes of all of a weight.
// CHECK-LABEL: @of_codes(
// CHECK: graph.matmul %arg0, %{{.*}} : <[n, 64], f32>, <[64, 256], f32>
// CHECK-NOT: graph.matmul
func.func @of_codes(%x: !x) -> !h {
  %c = graph.weight "m#c" [] : !graph.tensor<[64, 256], i8>
  %s = graph.weight "m#s" [] : !graph.tensor<[1, 256], f32>
  %w = graph.dequantise %c scales %s blocks [64, 1] : !graph.tensor<[64, 256], i8>, !graph.tensor<[1, 256], f32> to <[64, 256], f32>
  %0 = graph.matmul %x, %w : !x, !w
  %1 = graph.slice %0 start <[0, 0]> step [1, 1] : !m to !h
  %2 = graph.slice %0 start <[0, 128]> step [1, 1] : !m to !h
  %3 = graph.sigmoid %1 : !h
  %4 = graph.mul %3, %2 : !h
  return %4 : !h
}

// Halves that do not meet, that others use as well, or whose right side is no constant.
// REMARK-NOT: split
// CHECK-LABEL: @others(
// CHECK-COUNT-3: graph.matmul
// CHECK-NOT: graph.matmul
func.func @others(%x: !x, %v: !w) -> (!h, !h, !h, !m, !h) {
  %w = graph.weight "m#w" [] : !w
  %0 = graph.matmul %x, %w : !x, !w
  %1 = graph.slice %0 start <[0, 0]> step [1, 1] : !m to !h
  %2 = graph.slice %0 start <[0, 128]> step [1, 1] : !m to !h
  %u = graph.weight "m#u" [] : !w
  %3 = graph.matmul %x, %u : !x, !w
  %4 = graph.slice %3 start <[0, 0]> step [1, 1] : !m to !h
  %5 = graph.slice %3 start <[0, 128]> step [1, 1] : !m to !h
  %6 = graph.mul %4, %5 : !h
  %7 = graph.matmul %x, %v : !x, !w
  %8 = graph.slice %7 start <[0, 0]> step [1, 1] : !m to !h
  %9 = graph.slice %7 start <[0, 128]> step [1, 1] : !m to !h
  %10 = graph.mul %8, %9 : !h
  return %1, %2, %6, %3, %10 : !h, !h, !h, !m, !h
}

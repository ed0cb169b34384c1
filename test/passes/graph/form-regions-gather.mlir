// RUN: kpc-opt --form-regions %s | FileCheck %s
// RUN: kpc-opt --form-regions %s --remark-format=emitRemark --remarks-filter=fusion 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Pixels become lines of channels before they are gathered many times: read as they lie in memory, the channels of a pixel would be far apart.
// REMARK: transpose is not fused into its user's kernel, because its user gathers its lines, each many times.

// CHECK-LABEL: func.func @often
// CHECK: graph.region
// CHECK: graph.transpose
// CHECK-NEXT: graph.yield
// CHECK: graph.region
// CHECK: graph.gather_nd
// CHECK: graph.relu
func.func @often(%x: !graph.tensor<[2, 64, 100], f16>, %i: !graph.tensor<[2, 900, 1], i64>) -> !graph.tensor<[2, 900, 64], f16> {
  %t = graph.transpose %x [0, 2, 1] : <[2, 64, 100], f16>
  %g = graph.gather_nd %t, %i batch_dims 1 : !graph.tensor<[2, 100, 64], f16>, !graph.tensor<[2, 900, 1], i64>
  %y = graph.relu %g : <[2, 900, 64], f16>
  return %y : !graph.tensor<[2, 900, 64], f16>
}

// Once each: it reads them where they are.
// CHECK-LABEL: func.func @once
// CHECK: graph.region
// CHECK: graph.transpose
// CHECK-NEXT: graph.gather_nd
func.func @once(%x: !graph.tensor<[2, 64, 100], f16>, %i: !graph.tensor<[2, 90, 1], i64>) -> !graph.tensor<[2, 90, 64], f16> {
  %t = graph.transpose %x [0, 2, 1] : <[2, 64, 100], f16>
  %g = graph.gather_nd %t, %i batch_dims 1 : !graph.tensor<[2, 100, 64], f16>, !graph.tensor<[2, 90, 1], i64>
  return %g : !graph.tensor<[2, 90, 64], f16>
}

// A result that is turned back has neighbours of the image side by side.
// CHECK-LABEL: func.func @turned_back
// CHECK: graph.region
// CHECK: graph.transpose
// CHECK-NEXT: graph.gather_nd
// CHECK-NEXT: graph.transpose
func.func @turned_back(%x: !graph.tensor<[2, 64, 100], f16>, %i: !graph.tensor<[2, 900, 1], i64>) -> !graph.tensor<[2, 64, 900], f16> {
  %t = graph.transpose %x [0, 2, 1] : <[2, 64, 100], f16>
  %g = graph.gather_nd %t, %i batch_dims 1 : !graph.tensor<[2, 100, 64], f16>, !graph.tensor<[2, 900, 1], i64>
  %y = graph.transpose %g [0, 2, 1] : <[2, 900, 64], f16>
  return %y : !graph.tensor<[2, 64, 900], f16>
}

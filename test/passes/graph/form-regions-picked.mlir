// RUN: kpc-opt --form-regions=transposed=16 %s | FileCheck %s
// RUN: kpc-opt --form-regions %s | FileCheck %s --check-prefix=COPIED
// RUN: kpc-opt --form-regions=transposed=16 %s --remark-format=emitRemark --remarks-filter=fusion 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// A product whose operand is a matrix of a stack for each index of its batch reads the stack. What makes the indices, and the stack, is in memory.
// REMARK-DAG: gather is fused into the kernel that ends with relu.
// REMARK-DAG: add is not fused into its user's kernel, because its user reads each element many times.

// CHECK-LABEL: func.func @picked
// CHECK: %[[AT:.*]] = graph.region
// CHECK: graph.add
// CHECK-NEXT: graph.yield
// CHECK: graph.region "gather+matmul+relu"({{.*}}, %[[AT]],
// CHECK: %[[OWN:.*]] = graph.gather %{{.*}}, %{{.*}} axis 0
// CHECK-NEXT: %[[Y:.*]] = graph.matmul %{{.*}}, %[[OWN]]
// CHECK-NEXT: graph.relu %[[Y]]
// COPIED-LABEL: func.func @picked
// COPIED: graph.gather
// COPIED-NEXT: graph.yield
// COPIED: graph.matmul
func.func @picked(%x: !graph.tensor<[9, 64, 32], f16>, %w: !graph.tensor<[5, 32, 24], f16>, %i: !graph.tensor<[9], i32>, %j: !graph.tensor<[9], i32>) -> !graph.tensor<[9, 64, 24], f16> {
  %at = graph.add %i, %j : <[9], i32>
  %own = graph.gather %w, %at axis 0 : !graph.tensor<[5, 32, 24], f16>, !graph.tensor<[9], i32>
  %y = graph.matmul %x, %own : !graph.tensor<[9, 64, 32], f16>, !graph.tensor<[9, 32, 24], f16>
  %z = graph.relu %y : <[9, 64, 24], f16>
  return %z : !graph.tensor<[9, 64, 24], f16>
}

// Along another axis, and by more than a vector, lines are gathered: a kernel of its own.
// CHECK-LABEL: func.func @columns
// CHECK: graph.gather
// CHECK-NEXT: graph.yield
// CHECK: graph.matmul
func.func @columns(%x: !graph.tensor<[5, 64, 32], f16>, %w: !graph.tensor<[5, 32, 24], f16>, %i: !graph.tensor<[7], i32>) -> !graph.tensor<[5, 64, 7], f16> {
  %own = graph.gather %w, %i axis 2 : !graph.tensor<[5, 32, 24], f16>, !graph.tensor<[7], i32>
  %y = graph.matmul %x, %own : !graph.tensor<[5, 64, 32], f16>, !graph.tensor<[5, 32, 7], f16>
  return %y : !graph.tensor<[5, 64, 7], f16>
}

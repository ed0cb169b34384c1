// RUN: kpc-opt %s --set-precision | FileCheck %s
// RUN: kpc-opt %s --set-precision=to=bf16 | FileCheck %s --check-prefix=BF16
// RUN: kpc-opt %s --set-precision="keep=^gem" | FileCheck %s --check-prefix=KEEP
// RUN: kpc-opt %s --set-precision="to= io=f16" | FileCheck %s --check-prefix=IO

!x = !graph.tensor<[n, 8], f32>
!w = !graph.tensor<[8, 4], f32>
!y = !graph.tensor<[n, 4], f32>

// CHECK-LABEL: @contraction(%arg0: !graph.tensor<[n, 8], f32>) -> !graph.tensor<[n, 4], f32>
// CHECK-DAG: %[[X:.*]] = graph.cast %arg0 to f16
// CHECK-DAG: %[[W:.*]] = graph.cast %{{.*}} to f16 : <[8, 4], f32>
// CHECK: %[[M:.*]] = graph.matmul %[[X]], %[[W]] : <[n, 8], f16>, <[8, 4], f16>
// CHECK: %[[R:.*]] = graph.relu %[[M]] : <[n, 4], f16>
// CHECK: %[[Y:.*]] = graph.cast %[[R]] to f32
// CHECK: return %[[Y]]
// BF16: graph.matmul {{.*}} : <[n, 8], bf16>, <[8, 4], bf16>
// KEEP-LABEL: @contraction(
// KEEP: graph.matmul {{.*}} : <[n, 8], f32>, <[8, 4], f32>
// IO-LABEL: @contraction(%arg0: !graph.tensor<[n, 8], f16>) -> !graph.tensor<[n, 4], f16>
// IO: graph.matmul {{.*}} : <[n, 8], f32>, <[8, 4], f32>
// IO: %[[Y:.*]] = graph.cast %{{.*}} to f16
// IO: return %[[Y]]
func.func @contraction(%x: !x) -> !y {
  %w = graph.weight "m#w" [] : !w
  %0 = graph.matmul %x, %w : !x, !w loc("gemm")
  %1 = graph.relu %0 : !y
  return %1 : !y
}

// What loses too much in 16 bits stays, with the elementwise ops behind it.
// CHECK-LABEL: @softmax(
// CHECK: graph.exp %{{.*}} : <[n, 8], f32>
// CHECK: graph.reduce sum, %{{.*}} axes [1] : <[n, 8], f32>
// CHECK: graph.div %{{.*}}, %{{.*}} : <[n, 8], f32>
func.func @softmax(%x: !x) -> !x {
  %0 = graph.exp %x : !x
  %1 = graph.reduce sum, %0 axes [1] : !x
  %2 = graph.reshape %1 : !graph.tensor<[n], f32> to !graph.tensor<[n, 1], f32>
  %3 = graph.broadcast %2 : !graph.tensor<[n, 1], f32> to !x
  %4 = graph.div %0, %3 : !x
  return %4 : !x
}

// CHECK-LABEL: @integers(
// CHECK-NEXT: graph.add %arg0, %arg0 : <[n], i32>
// CHECK-NEXT: return
func.func @integers(%i: !graph.tensor<[n], i32>) -> !graph.tensor<[n], i32> {
  %0 = graph.add %i, %i : !graph.tensor<[n], i32>
  return %0 : !graph.tensor<[n], i32>
}

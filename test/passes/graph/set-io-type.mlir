// RUN: kpc-opt %s --set-io-type=to=f16 | FileCheck %s
// RUN: kpc-opt %s --set-io-type | FileCheck %s --check-prefix=SAME
// RUN: not kpc-opt %s --set-io-type=to=f15 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: 'f15' is none of f32, f16, bf16

!x = !graph.tensor<[n, 8], f32>
!i = !graph.tensor<[n], i32>

// CHECK-LABEL: @main(%arg0: !graph.tensor<[n, 8], f16>, %arg1: !graph.tensor<[n], i32>)
// CHECK-SAME: -> (!graph.tensor<[n, 8], f16>, !graph.tensor<[n], i32>)
// CHECK: %[[X:.*]] = graph.cast %arg0 to f32
// CHECK: %[[R:.*]] = graph.relu %[[X]] : <[n, 8], f32>
// CHECK: %[[Y:.*]] = graph.cast %[[R]] to f16
// CHECK: return %[[Y]], %arg1
// SAME-LABEL: @main(%arg0: !graph.tensor<[n, 8], f32>
// SAME-NOT: graph.cast
func.func @main(%x: !x, %i: !i) -> (!x, !i) {
  %0 = graph.relu %x : !x
  return %0, %i : !x, !i
}

// CHECK-LABEL: func.func private @declared(f32)
func.func private @declared(f32)

// CHECK-LABEL: @kernel(%arg0: memref<f32>)
func.func @kernel(%x: memref<f32>) {
  return
}

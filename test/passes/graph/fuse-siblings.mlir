// RUN: kpc-opt --form-regions --fuse-siblings %s | FileCheck %s
// RUN: kpc-opt --form-regions --fuse-siblings %s --remark-format=emitRemark --remarks-filter=fusion 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

!past = !graph.tensor<[b, 8, past, 64], f32>
!new = !graph.tensor<[b, 8, 1, 64], f32>
!present = !graph.tensor<[b, 8, "past + 1", 64], f32>
!narrow = !graph.tensor<[b, 8, "past + 1", 64], f16>

module {
  // What appends to two caches, each with a cast that others read, is one kernel with four results.
  // CHECK-LABEL: func.func @caches
  // CHECK: %[[R:.*]]:4 = graph.region "{{.*}}"(%arg0, %arg2, %arg1, %arg3)
  // CHECK-COUNT-2: graph.concat
  // CHECK: graph.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} :
  // CHECK-NOT: graph.region
  // CHECK: return %[[R]]#0, %[[R]]#2, %[[R]]#1, %[[R]]#3
  // REMARK: A kernel that reads each element of another's result is part of that.
  // REMARK: 2 kernels of the same form and sizes are one launch.
  func.func @caches(%pk: !past, %pv: !past, %k: !new, %v: !new) -> (!present, !present, !narrow, !narrow) {
    %0 = graph.concat %pk, %k axis 2 : !past, !new
    %1 = graph.concat %pv, %v axis 2 : !past, !new
    %2 = graph.cast %0 to f16 : !present
    %3 = graph.cast %1 to f16 : !present
    return %0, %1, %2, %3 : !present, !present, !narrow, !narrow
  }

  // New rows are heads in another order. An order alone is no map: kernels of transposes are others.
  // CHECK-LABEL: func.func @heads
  // CHECK: graph.region
  // CHECK-COUNT-2: graph.concat
  // CHECK-NOT: graph.concat
  // CHECK-COUNT-2: graph.region
  // CHECK-NOT: graph.region
  // REMARK: 2 kernels of the same form and sizes are one launch.
  func.func @heads(%pk: !past, %pv: !past, %k: !graph.tensor<[b, 1, 8, 64], f32>, %v: !graph.tensor<[b, 1, 8, 64], f32>)
      -> (!present, !present, !graph.tensor<[b, 8, 64, 1], f32>, !graph.tensor<[b, 8, 64, 1], f32>) {
    %tk = graph.transpose %k [0, 2, 1, 3] : !graph.tensor<[b, 1, 8, 64], f32>
    %tv = graph.transpose %v [0, 2, 1, 3] : !graph.tensor<[b, 1, 8, 64], f32>
    %0 = graph.concat %pk, %tk axis 2 : !past, !new
    %1 = graph.concat %pv, %tv axis 2 : !past, !new
    %2 = graph.transpose %k [0, 2, 3, 1] : !graph.tensor<[b, 1, 8, 64], f32>
    %3 = graph.transpose %v [0, 2, 3, 1] : !graph.tensor<[b, 1, 8, 64], f32>
    return %0, %1, %2, %3 : !present, !present, !graph.tensor<[b, 8, 64, 1], f32>, !graph.tensor<[b, 8, 64, 1], f32>
  }

  // One that waits for the other, through a kernel between, stays apart; so do others of other sizes.
  // CHECK-LABEL: func.func @apart
  // CHECK-COUNT-4: graph.region
  func.func @apart(%a: !graph.tensor<[n, 64], f32>, %w: !graph.tensor<[64, 64], f32>, %c: !graph.tensor<[m, 64], f32>)
      -> (!graph.tensor<[n, 64], f32>, !graph.tensor<[n, 64], f32>, !graph.tensor<[m, 64], f32>) {
    %0 = graph.exp %a : !graph.tensor<[n, 64], f32>
    %1 = graph.matmul %0, %w : !graph.tensor<[n, 64], f32>, !graph.tensor<[64, 64], f32>
    %2 = graph.reduce sum, %1 axes [0] : !graph.tensor<[n, 64], f32>
    %3 = graph.broadcast %2 : !graph.tensor<[64], f32> to !graph.tensor<[n, 64], f32>
    %4 = graph.exp %3 : !graph.tensor<[n, 64], f32>
    %5 = graph.exp %c : !graph.tensor<[m, 64], f32>
    return %0, %4, %5 : !graph.tensor<[n, 64], f32>, !graph.tensor<[n, 64], f32>, !graph.tensor<[m, 64], f32>
  }

  // Constants are no step: what is made of them alone is computed once, elsewhere.
  // CHECK-LABEL: func.func @constants
  // CHECK-COUNT-2: graph.region
  func.func @constants() -> (!graph.tensor<[64], f16>, !graph.tensor<[64], f16>) {
    %a = graph.weight "m#a" [] : <[64], f32>
    %c = graph.weight "m#c" [] : <[64], f32>
    %0 = graph.cast %a to f16 : !graph.tensor<[64], f32>
    %1 = graph.cast %c to f16 : !graph.tensor<[64], f32>
    return %0, %1 : !graph.tensor<[64], f16>, !graph.tensor<[64], f16>
  }

  // What replaces rows of two caches in their places is one kernel, which leaves the other rows of both as they are.
  // CHECK-LABEL: func.func @replaced
  // CHECK: graph.region
  // CHECK-COUNT-2: graph.select
  // CHECK-NOT: graph.region
  func.func @replaced(%at: !graph.tensor<[b, 8, 64, 1], i1>, %k: !graph.tensor<[b, 8, 64, 64], f32>, %v: !graph.tensor<[b, 8, 64, 64], f32>,
                      %pk: !graph.tensor<[b, 8, 64, 64], f32>, %pv: !graph.tensor<[b, 8, 64, 64], f32>)
      -> (!graph.tensor<[b, 8, 64, 64], f32>, !graph.tensor<[b, 8, 64, 64], f32>) {
    %new = graph.broadcast %at : !graph.tensor<[b, 8, 64, 1], i1> to !graph.tensor<[b, 8, 64, 64], i1>
    %0 = graph.select %new, %k, %pk : !graph.tensor<[b, 8, 64, 64], i1>, !graph.tensor<[b, 8, 64, 64], f32>
    %1 = graph.select %new, %v, %pv : !graph.tensor<[b, 8, 64, 64], i1>, !graph.tensor<[b, 8, 64, 64], f32>
    return %0, %1 : !graph.tensor<[b, 8, 64, 64], f32>, !graph.tensor<[b, 8, 64, 64], f32>
  }

  // With a cast in the same kernel the other rows would be read, so that stays apart.
  // CHECK-LABEL: func.func @replaced_and_cast
  // CHECK-COUNT-2: graph.region
  func.func @replaced_and_cast(%at: !graph.tensor<[b, 8, 64, 1], i1>, %k: !graph.tensor<[b, 8, 64, 64], f32>, %pk: !graph.tensor<[b, 8, 64, 64], f32>)
      -> (!graph.tensor<[b, 8, 64, 64], f32>, !graph.tensor<[b, 8, 64, 64], f16>) {
    %new = graph.broadcast %at : !graph.tensor<[b, 8, 64, 1], i1> to !graph.tensor<[b, 8, 64, 64], i1>
    %0 = graph.select %new, %k, %pk : !graph.tensor<[b, 8, 64, 64], i1>, !graph.tensor<[b, 8, 64, 64], f32>
    %1 = graph.cast %0 to f16 : !graph.tensor<[b, 8, 64, 64], f32>
    return %0, %1 : !graph.tensor<[b, 8, 64, 64], f32>, !graph.tensor<[b, 8, 64, 64], f16>
  }
}

// RUN: kpc-opt %s --form-regions --remark-format=emitRemark --remarks-filter=fusion 2>&1 >/dev/null | FileCheck %s
// RUN: kpc-opt %s --form-regions=max-ops=1 --remark-format=emitRemark --remarks-filter=fusion 2>&1 >/dev/null | FileCheck %s --check-prefix=SMALL
// RUN: kpc-opt %s --form-regions=fuse=false --remark-format=emitRemark --remarks-filter=fusion 2>&1 >/dev/null | FileCheck %s --check-prefix=OFF

!x = !graph.tensor<[n, 8], f32>
!w = !graph.tensor<[8, 8], f32>
!r = !graph.tensor<[n], f32>

// SMALL-DAG: [Missed] refused | Category:fusion | {{.*}}is not fused into its user's kernel, because that kernel is as large as allowed.
// OFF-DAG: [Missed] refused | Category:fusion | {{.*}}is not fused into its user's kernel, because fusion is off.

func.func @main(%x: !x, %w: !w) -> (!r, !x, !x, !graph.tensor<[n, 16], f32>) {
  // CHECK-DAG: :[[#@LINE + 1]]:{{.*}}[Missed] refused | Category:fusion | {{.*}}exp is not fused into its user's kernel, because several kernels use its result
  %0 = graph.exp %x : !x
  // CHECK-DAG: :[[#@LINE + 1]]:{{.*}}[Missed] refused | Category:fusion | {{.*}}sin is not fused into its user's kernel, because its user reads each element many times.
  %1 = graph.sin %0 : !x
  // CHECK-DAG: :[[#@LINE + 1]]:{{.*}}[Missed] refused | Category:fusion | {{.*}}matmul is not fused into its user's kernel, because that kernel has a root op already (a reduction, product, window or scatter).
  %2 = graph.matmul %1, %w : !x, !w
  // CHECK-DAG: :[[#@LINE + 1]]:{{.*}}[Passed] fused | Category:fusion | {{.*}}cos is fused into the kernel that ends with reduce.
  %3 = graph.cos %2 : !x
  %4 = graph.reduce sum, %3 axes [1] : !x

  // CHECK-DAG: :[[#@LINE + 1]]:{{.*}}[Missed] refused | Category:fusion | {{.*}}cumsum is not fused into its user's kernel, because its elements would be computed more than once
  %5 = graph.cumsum %0 axis 1 : !x
  %6 = graph.slice %5 start #graph.dims<[0, 7]> step [1, -1] : !x to !x
  %7 = graph.tan %0 : !x

  // CHECK-DAG: :[[#@LINE + 1]]:{{.*}}[Missed] refused | Category:fusion | {{.*}}tanh is not fused into its user's kernel, because a concat reads its parts from memory.
  %8 = graph.tanh %x : !x
  // CHECK-DAG: :[[#@LINE + 1]]:{{.*}}[Missed] refused | Category:fusion | {{.*}}concat is not fused into its user's kernel, because a concat is a kernel of its own
  %9 = graph.concat %8, %x axis 1 : !x, !x
  %10 = graph.erf %9 : !graph.tensor<[n, 16], f32>
  return %4, %6, %7, %10 : !r, !x, !x, !graph.tensor<[n, 16], f32>
}

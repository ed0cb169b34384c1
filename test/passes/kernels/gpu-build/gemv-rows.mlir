// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(fuse-norm-into-gemm{targets=sm_90a}),lower-regions)' | sed '/plan.program/,/^  }/d' | kpc-opt --kpc-gpu-build-kernels=arch=sm_90a | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(fuse-norm-into-gemm{targets=sm_80}),lower-regions)' | sed '/plan.program/,/^  }/d' | kpc-opt --kpc-gpu-build-kernels=arch=sm_80 | FileCheck %s --check-prefix=AMPERE

// The norm's own kernel has no blocks for up to 16 rows.
// CHECK-LABEL: gpu.func @norm(
// CHECK-NOT: kernel.launched_if
// CHECK-SAME: kernel.launch = #kernel.launch<grid = ["{{[^"]*}}min({{[^"]*}}floordiv(arg2, 17){{[^"]*}}", "1", "1"]

// Copies of weights come first, then rows: loaded as vectors, reduced by shuffles, stored in 16 bits. The loop over K copies weights
// alone, and fragments come from the rows. More than 16 rows are computed 16 at a time.
// CHECK-LABEL: gpu.func @norm_one(
// CHECK-SAME: kernel.schedule = #kernel.schedule<"gemv rows {{[0-9]+}}x{{[0-9]+}} warps
// CHECK: memref.view {{.*}} to memref<16x{{[0-9]+}}xf16, #gpu.address_space<workgroup>>
// CHECK: scf.for
// CHECK: nvvm.inline_ptx "cp.async.cg
// CHECK: nvvm.cp.async.commit.group
// CHECK: vector.load {{.*}} vector<8xf16>
// CHECK: gpu.shuffle
// CHECK: math.rsqrt
// CHECK: arith.truncf
// CHECK: vector.store {{.*}} memref<16x{{[0-9]+}}xf16, #gpu.address_space<workgroup>>, vector<8xf16>
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK: nvvm.cp.async.wait.group
// CHECK: nvvm.inline_ptx "cp.async.cg
// CHECK: llvm.load {{.*}} -> vector<4xi32>
// CHECK: nvvm.mma.sync
// CHECK: gpu.barrier
// AMPERE-LABEL: gpu.func @norm_one(
// AMPERE-SAME: kernel.schedule = #kernel.schedule<"gemv rows

!r = !graph.tensor<[n, 256], f16>
!f = !graph.tensor<[n, 256], f32>
!w = !graph.tensor<[256, 512], f16>
!y = !graph.tensor<[n, 512], f16>
module attributes {graph.symbols = {n = {min = 1, max = 256, optimum = 1}}} {
  func.func @main(%x: !r {graph.name = "x"}, %w: !w {graph.name = "w"}) -> (!y {graph.name = "y"}) {
    %n = graph.region "norm" (%x) : (!r) -> !r {
    ^bb0(%a: !r):
      %0 = graph.cast %a to f32 : !r
      %1 = graph.mul %0, %0 : !f
      %2 = graph.reduce sum, %1 axes [1] : !f
      %3 = graph.reshape %2 : <[n], f32> to <[n, 1], f32>
      %4 = graph.rsqrt %3 : !graph.tensor<[n, 1], f32>
      %5 = graph.broadcast %4 : <[n, 1], f32> to <[n, 256], f32>
      %6 = graph.mul %0, %5 : !f
      %9 = graph.cast %6 to f16 : !f
      graph.yield %9 : !r
    }
    %y = graph.region "one" (%n, %w) : (!r, !w) -> !y {
    ^bb0(%a: !r, %b: !w):
      %0 = graph.cast %a to f32 : !r
      %1 = graph.cast %b to f32 : !w
      %2 = graph.matmul %0, %1 : !graph.tensor<[n, 256], f32>, !graph.tensor<[256, 512], f32>
      %3 = graph.cast %2 to f16 : !graph.tensor<[n, 512], f32>
      graph.yield %3 : !y
    }
    return %y : !y
  }
}

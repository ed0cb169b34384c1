// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-place-shared,kpc-lower-tile,canonicalize,cse))' %s | FileCheck %s

// Sums of 32: two wgmma of 16 each. A thread holds 8 of the 64×16 results. Bits of a matrix descriptor (PTX ISA, wgmma): 62–63
// swizzle (1, 2, 3: 128, 64, 32 bytes), 32–45 and 16–29 distances of the pattern in 16 bytes.

!p = !tile.pending<!tile.fragment<[64, 16], f32>>
!d = !tile.fragment<[64, 16], f32>
!a = !tile.smem<[64, 32], bf16, swizzle 64>
!at = !tile.smem<[32, 64], bf16, swizzle 128>
!b = !tile.smem<[32, 16], bf16, swizzle 32>
!bt = !tile.smem<[16, 32], bf16, swizzle 64>
gpu.module @m {
  // The sum is contiguous in a; a step of it is 32 bytes, in a's descriptor 2. In b a step is 16 rows of 32 bytes: 32.
  // CHECK-LABEL: gpu.func @row_row
  gpu.func @row_row() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    // CHECK-DAG: %[[A:.*]] = llvm.mlir.addressof @kpc_shared
    // CHECK-DAG: %[[NONE:.*]] = llvm.mlir.undef : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
    // CHECK-DAG: %[[B:.*]] = llvm.getelementptr %[[A]][4096]
    %a = tile.alloc : <[64, 32], bf16, swizzle 64>
    %b = tile.alloc : <[32, 16], bf16, swizzle 32>
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      // CHECK: %[[A_ADDRESS:.*]] = llvm.ptrtoint %[[A]]
      // CHECK: %[[A_LOW:.*]] = arith.andi %[[A_ADDRESS]], %{{.*}}
      // CHECK: %[[A_START:.*]] = arith.shrui %[[A_LOW]], %{{.*}}
      // CHECK: %[[B_ADDRESS:.*]] = llvm.ptrtoint %[[B]]
      // CHECK: %[[B_LOW:.*]] = arith.andi %[[B_ADDRESS]], %{{.*}}
      // CHECK: %[[B_START:.*]] = arith.shrui %[[B_LOW]], %{{.*}}
      // CHECK: nvvm.wgmma.fence.aligned
      // CHECK-NEXT: %[[A0:.*]] = arith.extui %[[A_START]]
      // CHECK-NEXT: %[[A_FIRST:.*]] = arith.ori %[[A0]], %[[A_FIXED:.*]] : i64
      // CHECK-NEXT: %[[B0:.*]] = arith.extui %[[B_START]]
      // CHECK-NEXT: %[[B_FIRST:.*]] = arith.ori %[[B0]], %[[B_FIXED:.*]] : i64
      // The first step overwrites, the second adds.
      // CHECK-NEXT: %[[ONE:.*]] = nvvm.wgmma.mma_async %[[A_FIRST]], %[[B_FIRST]], %[[NONE]], <m = 64, n = 16, k = 16>, D[<f32>, <zero>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <row>]
      // CHECK-NEXT: arith.addi %[[A_START]], %c2_i32
      // CHECK: arith.addi %[[B_START]], %c32_i32
      // CHECK: %[[TWO:.*]] = nvvm.wgmma.mma_async %{{.*}}, %{{.*}}, %[[ONE]], <m = 64, n = 16, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <row>]
      // CHECK-NEXT: nvvm.wgmma.commit.group.sync.aligned
      %p = tile.mma %a, %b : !a, !b -> !p
      // CHECK-NEXT: nvvm.wgmma.wait.group.sync.aligned 1
      %q = tile.wgmma_wait<1> %p : !p
      // Behind the last wait, an empty asm keeps reads of the sums where they are.
      // CHECK-NEXT: nvvm.wgmma.wait.group.sync.aligned 0
      // CHECK-NEXT: llvm.extractvalue %[[TWO]][0]
      // CHECK-COUNT-7: llvm.extractvalue %[[TWO]]
      // CHECK-NEXT: llvm.inline_asm has_side_effects "", "=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7"
      %d = tile.await %q : !p -> !d
    }
    gpu.return
  }

  // NVVM's "col" of b: the sum is contiguous. Both steps are 32 bytes.
  // CHECK-LABEL: gpu.func @row_col
  gpu.func @row_col() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %a = tile.alloc : <[64, 32], bf16, swizzle 64>
    %b = tile.alloc : <[16, 32], bf16, swizzle 64>
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      // CHECK: %[[ONE:.*]] = nvvm.wgmma.mma_async %{{.*}}, D[<f32>, <zero>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
      // CHECK: arith.addi %{{.*}}, %c2_i32
      // CHECK: arith.addi %{{.*}}, %c2_i32
      // CHECK: nvvm.wgmma.mma_async %{{.*}}, %[[ONE]], {{.*}} D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
      %p = tile.mma %a, %b transposed : !a, !bt -> !p
      %d = tile.await %p : !p -> !d
    }
    gpu.return
  }

  // A step of a is 16 rows of 128 bytes: 128.
  // CHECK-LABEL: gpu.func @col_row
  gpu.func @col_row() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %a = tile.alloc : <[32, 64], bf16, swizzle 128>
    %b = tile.alloc : <[32, 16], bf16, swizzle 32>
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      // CHECK: %[[ONE:.*]] = nvvm.wgmma.mma_async %{{.*}}, D[<f32>, <zero>], A[<bf16>, <one>, <col>], B[<bf16>, <one>, <row>]
      // CHECK: arith.addi %{{.*}}, %c128_i32
      // CHECK: arith.addi %{{.*}}, %c32_i32
      // CHECK: nvvm.wgmma.mma_async %{{.*}}, %[[ONE]], {{.*}} D[<f32>, <one>], A[<bf16>, <one>, <col>], B[<bf16>, <one>, <row>]
      %p = tile.mma %a transposed, %b : !at, !b -> !p
      %d = tile.await %p : !p -> !d
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @col_col
  gpu.func @col_col() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %a = tile.alloc : <[32, 64], bf16, swizzle 128>
    %b = tile.alloc : <[16, 32], bf16, swizzle 64>
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      // CHECK: %[[ONE:.*]] = nvvm.wgmma.mma_async %{{.*}}, D[<f32>, <zero>], A[<bf16>, <one>, <col>], B[<bf16>, <one>, <col>]
      // CHECK: arith.addi %{{.*}}, %c128_i32
      // CHECK: arith.addi %{{.*}}, %c2_i32
      // CHECK: nvvm.wgmma.mma_async %{{.*}}, %[[ONE]], {{.*}} D[<f32>, <one>], A[<bf16>, <one>, <col>], B[<bf16>, <one>, <col>]
      %p = tile.mma %a transposed, %b transposed : !at, !bt -> !p
      %d = tile.await %p : !p -> !d
    }
    gpu.return
  }

  // 128 rows are two products of 64 in one group, each with its half of the registers; the second's rows are 64 · 64 bytes
  // further: 256. A product that is pending is added to.
  // CHECK-LABEL: gpu.func @two_blocks
  gpu.func @two_blocks() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %a = tile.alloc : <[128, 32], f16, swizzle 64>
    %b = tile.alloc : <[16, 32], f16, swizzle 64>
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      // CHECK: nvvm.wgmma.fence.aligned
      // CHECK-COUNT-2: nvvm.wgmma.mma_async
      // CHECK: arith.addi %{{.*}}, %c256_i32
      // CHECK-COUNT-2: nvvm.wgmma.mma_async
      // CHECK: nvvm.wgmma.commit.group.sync.aligned
      // CHECK: nvvm.wgmma.fence.aligned
      // CHECK: nvvm.wgmma.mma_async {{.*}} D[<f32>, <one>], A[<f16>
      // CHECK-COUNT-3: nvvm.wgmma.mma_async
      // CHECK: nvvm.wgmma.commit.group.sync.aligned
      // CHECK-NEXT: nvvm.wgmma.wait.group.sync.aligned 0
      %p = tile.mma %a, %b transposed : !tile.smem<[128, 32], f16, swizzle 64>, !tile.smem<[16, 32], f16, swizzle 64> -> !tile.pending<!tile.fragment<[128, 16], f32>>
      %q = tile.mma %a, %b transposed, %p : !tile.smem<[128, 32], f16, swizzle 64>, !tile.smem<[16, 32], f16, swizzle 64>, !tile.pending<!tile.fragment<[128, 16], f32>> -> !tile.pending<!tile.fragment<[128, 16], f32>>
      %d = tile.await %q : !tile.pending<!tile.fragment<[128, 16], f32>> -> !tile.fragment<[128, 16], f32>
    }
    gpu.return
  }

  // tf32: steps of 8.
  // CHECK-LABEL: gpu.func @tf32
  gpu.func @tf32() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %a = tile.alloc : <[64, 8], f32, swizzle 32>
    %b = tile.alloc : <[16, 8], f32, swizzle 32>
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      // CHECK: nvvm.wgmma.mma_async {{.*}}, <m = 64, n = 16, k = 8>, D[<f32>, <zero>], A[<tf32>, <one>, <row>], B[<tf32>, <one>, <col>]
      %p = tile.mma %a, %b transposed : !tile.smem<[64, 8], f32, swizzle 32>, !tile.smem<[16, 8], f32, swizzle 32> -> !p
      %d = tile.await %p : !p -> !d
    }
    gpu.return
  }
}

// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-place-shared,kpc-lower-tile,canonicalize,cse))' %s | FileCheck %s

// Of 64×16 elements a thread holds 8: of rows 16w + g (registers 0, 1, 4, 5) and 8 below it (2, 3, 6, 7). A column is a value for each of the two.

!q = !tile.smem<[64, 16], f16, swizzle 32>
!k = !tile.smem<[16, 16], f16, swizzle 32>
!s = !tile.fragment<[64, 16], f32>
!row = !tile.column<64, f32>
!parts = !tile.column<64, f32, partial>
gpu.module @m {
  // CHECK-LABEL: gpu.func @softmax
  gpu.func @softmax(%limit: i32, %sink: memref<f32>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    // CHECK-DAG: %[[ALL:.*]] = arith.constant -1 : i32
    // CHECK-DAG: %[[C31:.*]] = arith.constant 31 : i32
    // CHECK-DAG: %[[C1:.*]] = arith.constant 1 : i32
    // CHECK-DAG: %[[C2:.*]] = arith.constant 2 : i32
    %zero = arith.constant 0.0 : f32
    %q = tile.alloc : <[64, 16], f16, swizzle 32>
    %k = tile.alloc : <[16, 16], f16, swizzle 32>
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      // The product of the keys goes on while the scores are awaited: one group is left.
      // CHECK: nvvm.wgmma.mma_async
      // CHECK: nvvm.wgmma.mma_async
      // CHECK: nvvm.wgmma.wait.group.sync.aligned 1
      // CHECK-NEXT: llvm.extractvalue
      // CHECK: %[[S:.*]] = llvm.inline_asm has_side_effects {{.*}}"", "=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7"
      %0 = tile.mma %q, %k transposed : !q, !k -> !tile.pending<!s>
      %1 = tile.mma %q, %k transposed : !q, !k -> !tile.pending<!s>
      %s = tile.await<1> %0 : !tile.pending<!s> -> !s
      // CHECK: %[[S0:.*]] = llvm.extractvalue %[[S]][0]
      // CHECK: %[[S1:.*]] = llvm.extractvalue %[[S]][1]
      // CHECK: %[[S2:.*]] = llvm.extractvalue %[[S]][2]
      // CHECK: %[[S3:.*]] = llvm.extractvalue %[[S]][3]
      // CHECK: %[[S4:.*]] = llvm.extractvalue %[[S]][4]
      // CHECK: %[[S5:.*]] = llvm.extractvalue %[[S]][5]
      // In the order of the columns.
      // CHECK: %[[A:.*]] = arith.maxnumf %[[S0]], %[[S1]]
      // CHECK: %[[B:.*]] = arith.maxnumf %[[S2]], %[[S3]]
      // CHECK: %[[A4:.*]] = arith.maxnumf %[[A]], %[[S4]]
      // CHECK: %[[A5:.*]] = arith.maxnumf %[[A4]], %[[S5]]
      %m = tile.thread_reduce max %s : !s -> !parts
      // The four threads of a row are neighbours.
      // CHECK: %[[O1:.*]] = nvvm.shfl.sync bfly %[[ALL]], %[[A5]], %[[C1]], %[[C31]] : f32 -> f32
      // CHECK: %[[J1:.*]] = arith.maxnumf %[[A5]], %[[O1]]
      // CHECK: nvvm.shfl.sync bfly %[[ALL]], %[[J1]], %[[C2]], %[[C31]] : f32 -> f32
      %top = tile.lane_reduce max %m : !parts -> !row
      // CHECK: %[[Y:.*]] = arith.subf %[[S0]], %[[TOP:.*]] : f32
      // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"(%[[Y]]) : (f32) -> f32
      // CHECK: arith.subf %[[S1]], %[[TOP]] : f32
      // CHECK: arith.subf %[[S2]], %{{.*}} : f32
      %p = tile.apply %s, %top : !s, !row -> !s {
      ^bb0(%x: f32, %most: f32, %column: i32):
        %less = arith.subf %x, %most : f32
        %e = tile.approximate exp2 %less
        tile.yield %e : f32
      }
      // The first of two is the low half.
      // CHECK: %[[PAIR:.*]] = nvvm.convert.f32x2.to.f16x2 %{{.*}}, %{{.*}} {rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xf16>
      // CHECK: llvm.bitcast %[[PAIR]] : vector<2xf16> to i32
      %packed = tile.pack %p : !s -> !tile.packed<[64, 16], f16>
      // From registers: four words of 16 columns, and a descriptor.
      // The fence stands behind the copies of operands that LLVM makes for an asm.
      // CHECK: llvm.inline_asm has_side_effects {{.*}}"wgmma.fence.sync.aligned; { .reg .pred p; setp.ne.b32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {$0, $1, $2, $3, $4, $5, $6, $7}, {$16, $17, $18, $19}, $20, p, 1, 1, 1; }", "=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7,r,r,r,r,l"
      // CHECK: nvvm.wgmma.commit.group.sync.aligned
      %2 = tile.mma %packed, %k : !tile.packed<[64, 16], f16>, !k -> !tile.pending<!s>
      %o = tile.await %2 : !tile.pending<!s> -> !s
      %d = tile.await %1 : !tile.pending<!s> -> !s
      %out = tile.apply %o, %d : !s, !s -> !s {
      ^bb0(%x: f32, %y: f32, %column: i32):
        %inside = arith.cmpi slt, %column, %limit : i32
        %z = arith.select %inside, %x, %y : f32
        memref.store %z, %sink[] : memref<f32>
        tile.yield %z : f32
      }
    }
    gpu.return
  }

  // Whether one of a thread's two rows is above the number, then whether any thread of the warp has one.
  // CHECK-LABEL: gpu.func @above(%arg0: f32, %arg1: f32, %arg2: memref<i1>)
  gpu.func @above(%x: f32, %bound: f32, %sink: memref<i1>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %c = tile.splat %x : f32 -> !row
    // CHECK: %[[ABOVE:.*]] = arith.cmpf ogt, %arg0, %arg1 : f32
    // CHECK: %[[ANY:.*]] = arith.ori %[[ABOVE]], %[[ABOVE]] : i1
    // CHECK: nvvm.vote.sync any %{{.*}}, %[[ANY]] -> i1
    %0 = tile.warp_above %c, %bound : !row
    memref.store %0, %sink[] : memref<i1>
    gpu.return
  }

  // Fragments side by side: the columns of both, of each 64 rows in turn.
  // CHECK-LABEL: gpu.func @pack_rows(%arg0: f32, %arg1: f32
  gpu.func @pack_rows(%x: f32, %y: f32, %sink: memref<f32>, %i: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %k = tile.alloc : <[32, 16], f16, swizzle 32>
    tile.barrier_init
    %left = tile.splat %x : f32 -> !tile.fragment<[128, 16], f32>
    %right = tile.splat %y : f32 -> !tile.fragment<[128, 16], f32>
    // CHECK-DAG: %[[X:.*]] = nvvm.convert.f32x2.to.f16x2 %arg0, %arg0
    // CHECK-DAG: %[[Y:.*]] = nvvm.convert.f32x2.to.f16x2 %arg1, %arg1
    // CHECK: nvvm.mma.sync A[%[[X]], %[[X]], %[[X]], %[[X]]]
    // CHECK: nvvm.mma.sync A[%[[X]], %[[X]], %[[X]], %[[X]]]
    // CHECK: nvvm.mma.sync A[%[[X]], %[[X]], %[[X]], %[[X]]]
    // CHECK: nvvm.mma.sync A[%[[X]], %[[X]], %[[X]], %[[X]]]
    // CHECK: nvvm.mma.sync A[%[[Y]], %[[Y]], %[[Y]], %[[Y]]]
    %p = tile.pack %left, %right : !tile.fragment<[128, 16], f32>, !tile.fragment<[128, 16], f32> -> !tile.packed<[128, 32], f16>
    %d = tile.mma_sync %p, %k, %left : !tile.packed<[128, 32], f16>, !tile.smem<[32, 16], f16, swizzle 32> -> !tile.fragment<[128, 16], f32>
    %e = tile.map %d at [%i, %i] within [%i, %i] : !tile.fragment<[128, 16], f32> -> !tile.fragment<[128, 16], f32> {
    ^bb0(%v: f32, %row: index, %column: index):
      memref.store %v, %sink[] : memref<f32>
      tile.yield %v : f32
    }
    gpu.return
  }

  // Of FP8 a word has two neighbours of each of two blocks of 8 columns: the thread's own, of one row and then of the row 8 below it.
  // CHECK-LABEL: gpu.func @pack_codes
  gpu.func @pack_codes(%sink: memref<f32>, %i: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %q = tile.alloc : <[64, 32], f8E4M3FN, swizzle 32>
    %k = tile.alloc : <[32, 32], f8E4M3FN, swizzle 32>
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      %0 = tile.mma %q, %k transposed : !tile.smem<[64, 32], f8E4M3FN, swizzle 32>, !tile.smem<[32, 32], f8E4M3FN, swizzle 32> -> !tile.pending<!tile.fragment<[64, 32], f32>>
      // CHECK: %[[S:.*]] = llvm.inline_asm has_side_effects {{.*}}"", "=f,
      %s = tile.await %0 : !tile.pending<!tile.fragment<[64, 32], f32>> -> !tile.fragment<[64, 32], f32>
      // CHECK-DAG: %[[S0:.*]] = llvm.extractvalue %[[S]][0]
      // CHECK-DAG: %[[S1:.*]] = llvm.extractvalue %[[S]][1]
      // CHECK-DAG: %[[S2:.*]] = llvm.extractvalue %[[S]][2]
      // CHECK-DAG: %[[S3:.*]] = llvm.extractvalue %[[S]][3]
      // CHECK-DAG: %[[S4:.*]] = llvm.extractvalue %[[S]][4]
      // CHECK-DAG: %[[S5:.*]] = llvm.extractvalue %[[S]][5]
      // CHECK-DAG: %[[S6:.*]] = llvm.extractvalue %[[S]][6]
      // CHECK-DAG: %[[S7:.*]] = llvm.extractvalue %[[S]][7]
      // CHECK: nvvm.convert.f32x2.to.f8x2 %[[S1]], %[[S0]]
      // CHECK: nvvm.convert.f32x2.to.f8x2 %[[S5]], %[[S4]]
      // CHECK: %[[FIRST:.*]] = llvm.bitcast %{{.*}} : vector<2xi16> to i32
      // CHECK: nvvm.convert.f32x2.to.f8x2 %[[S3]], %[[S2]]
      // CHECK: nvvm.convert.f32x2.to.f8x2 %[[S7]], %[[S6]]
      %p = tile.pack %s : !tile.fragment<[64, 32], f32> -> !tile.packed<[64, 32], f8E4M3FN>
      // Both operands are contiguous along K: no number says which is transposed.
      // CHECK: llvm.inline_asm has_side_effects {{.*}}wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e4m3 {{.*}}, p, 1, 1; }"{{.*}} %[[FIRST]],
      %1 = tile.mma %p, %k transposed : !tile.packed<[64, 32], f8E4M3FN>, !tile.smem<[32, 32], f8E4M3FN, swizzle 32> -> !tile.pending<!tile.fragment<[64, 32], f32>>
      %o = tile.await %1 : !tile.pending<!tile.fragment<[64, 32], f32>> -> !tile.fragment<[64, 32], f32>
      %e = tile.map %o at [%i, %i] within [%i, %i] : !tile.fragment<[64, 32], f32> -> !tile.fragment<[64, 32], f32> {
      ^bb0(%v: f32, %row: index, %column: index):
        memref.store %v, %sink[] : memref<f32>
        tile.yield %v : f32
      }
    }
    gpu.return
  }
}

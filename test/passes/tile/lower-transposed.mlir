// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-place-shared,kpc-lower-tile,canonicalize,cse))' %s | FileCheck %s

// Words that threads made are the left operand of a wgmma. Of its results, columns become rows of shared memory.

!x = !tile.smem<[16, 16], bf16, swizzle 32>
!p = !tile.packed<[64, 16], bf16>
!s = !tile.fragment<[64, 16], f32>
gpu.module @m {
  // CHECK-LABEL: gpu.func @transposed
  gpu.func @transposed(%a: i32, %b: i32, %c: i32, %d: i32) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %x = tile.alloc : !x
    %wide = tile.alloc : <[16, 64], f32, swizzle 128>
    %narrow = tile.alloc : <[16, 64], bf16, swizzle 128>
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      // CHECK: llvm.inline_asm has_side_effects {{.*}}wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16{{.*}}r,r,r,r,l"{{.*}}, %arg0, %arg1, %arg2, %arg3, %{{[0-9]+}} :
      %left = tile.pack_words %a, %b, %c, %d : !p
      %0 = tile.mma %left, %x transposed : !p, !x -> !tile.pending<!s>
      %s = tile.await %0 : !tile.pending<!s> -> !s
      // Of 32 bits each element by itself, eight of a thread.
      // CHECK-COUNT-8: llvm.store %{{.*}} : f32, !llvm.ptr<3>
      // CHECK-NOT: llvm.store
      tile.store_shared %s into %wide transposed : !s, !tile.smem<[16, 64], f32, swizzle 128>
      %n = tile.apply %s : !s -> !tile.fragment<[64, 16], bf16> {
      ^bb0(%v: f32, %column: i32):
        %t = arith.truncf %v : f32 to bf16
        tile.yield %t : bf16
      }
      // CHECK: nvvm.stmatrix %{{.*}} {eltType = {{.*}}layout = #nvvm.mma_layout<col>
      tile.store_shared %n into %narrow transposed : !tile.fragment<[64, 16], bf16>, !tile.smem<[16, 64], bf16, swizzle 128>
    }
    gpu.return
  }

  // Heads of 128 columns: a warp's rows from 8 on are the other half's, 64 columns further, and two warpgroups fill the tile. Of each four
  // elements of a thread, two are of either row. Rows that follow one another are in lanes four apart.
  // CHECK-LABEL: gpu.func @heads
  gpu.func @heads() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [256, 1, 1]>} {
    %x = tile.alloc : !x
    %wide = tile.alloc : <[16, 128], f32, swizzle 128>
    %narrow = tile.alloc : <[16, 128], bf16, swizzle 128>
    tile.barrier_init
    tile.role "all" warps 0 to 8 registers 128 {
    ^bb0(%group: index):
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %c1_i32 = arith.constant 1 : i32
      %left = tile.pack_words %c1_i32, %c1_i32, %c1_i32, %c1_i32 : !p
      %0 = tile.mma %left, %x transposed : !p, !x -> !tile.pending<!s>
      // CHECK: nvvm.wgmma.wait.group.sync.aligned 0
      // CHECK: %[[ALL:.*]] = llvm.inline_asm has_side_effects "", "=f
      %s = tile.await %0 : !tile.pending<!s> -> !s
      // CHECK-DAG: %[[FIRST:.*]] = llvm.extractvalue %[[ALL]][0]
      // CHECK-DAG: %[[THIRD:.*]] = llvm.extractvalue %[[ALL]][2]
      %other = tile.paired_rows %s by 8 : !s
      // CHECK-COUNT-8: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : f32 -> f32
      %next = tile.paired_rows %s by 1 : !s
      // CHECK: arith.subf %[[FIRST]], %[[THIRD]]
      %t = tile.map %s at [%c0, %c0] within [%c64, %c64] with %other, %next : !s, !s, !s -> !s {
      ^bb0(%v: f32, %row: index, %column: index, %o: f32, %n: f32):
        %less = arith.subf %v, %o : f32
        %both = arith.addf %less, %n : f32
        tile.yield %both : f32
      }
      // Warps 0 to 3 of either warpgroup have eight columns each from 0 or 32 on.
      // CHECK: %[[NUMBER:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
      // CHECK: arith.divui %[[NUMBER]], %c8{{.*}} : i32
      // CHECK: arith.remui %[[NUMBER]], %c8{{.*}} : i32
      // CHECK-COUNT-8: llvm.store %{{.*}} : f32, !llvm.ptr<3>
      tile.store_shared %t into %wide transposed of %group apart 64 : !s, !tile.smem<[16, 128], f32, swizzle 128>
      %b = tile.apply %t : !s -> !tile.fragment<[64, 16], bf16> {
      ^bb0(%v: f32, %column: i32):
        %e = arith.truncf %v : f32 to bf16
        tile.yield %e : bf16
      }
      // CHECK: nvvm.stmatrix %{{.*}} {eltType = {{.*}}layout = #nvvm.mma_layout<col>
      tile.store_shared %b into %narrow transposed of %group apart 64 : !tile.fragment<[64, 16], bf16>, !tile.smem<[16, 128], bf16, swizzle 128>
    }
    gpu.return
  }
}

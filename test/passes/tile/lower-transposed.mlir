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
}

// RUN: kpc-opt %s | kpc-opt | FileCheck %s

// Scores, powers in their place, and what these are a factor of: threads fill stages of tensor memory that products read.

!q = !tile.smem<[128, 64], bf16, swizzle 128>
!k = !tile.smem<[64, 64], bf16, swizzle 128>
!s = !tile.tmem<[128, 64], f32>
!p = !tile.tmem<[128, 64], bf16>
!f = !tile.fragment<[128, 64], f32, tmem_32x32b>
!h = !tile.fragment<[128, 64], bf16, tmem_32x32b>
!row = !tile.column<128, f32, tmem_32x32b>
!parts = !tile.column<128, f32, partial, tmem_32x32b>
!numbers = !tile.column<128, i32, tmem_32x32b>
!scores = !tile.pipe<1 of [!s]>
// CHECK-DAG: !tmem{{[0-9]*}} = !tile.tmem<[128, 64], bf16>
// CHECK-DAG: !fragment{{[0-9]*}} = !tile.fragment<[128, 64], bf16, tmem_32x32b>

// CHECK-LABEL: gpu.func @attention
gpu.module @kernels {
  gpu.func @attention(%q: !q, %k: !k) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [256, 1, 1]>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %no = arith.constant false
    %zero = arith.constant 0.0 : f32
    %scores = tile.pipe mma consumers 4 : !scores
    // CHECK: tile.pipe threads producers 4 consumers 1 : !pipe
    %powers = tile.pipe threads producers 4 consumers 1 : !scores
    tile.barrier_init
    %memory = tile.tmem_alloc : !tile.tmem<[128, 128], f32>
    // CHECK: tile.role "products" warps 0 to 4 registers 40 {
    tile.role "products" warps 0 to 4 registers 40 {
    ^bb0(%group: index):
      // CHECK: tile.role "mma" warps 1 to 2 {
      tile.role "mma" warps 1 to 2 {
      ^bb0(%inner: index):
        tile.elect role {
          %at = tile.cursor
          %free = tile.acquire %scores[%at] : !scores -> !tile.stage<free>
          %s = tile.tiles %scores[%free] in %memory : !scores, !tile.stage<free>, !tile.tmem<[128, 128], f32> -> !s
          tile.tmem_mma %q, %k transposed into %s add %no : !q, !k, !s
          tile.commit %scores[%free] : !scores, !tile.stage<free>
          %full = tile.wait %powers[%at] : !scores -> !tile.stage<full>
          %there = tile.tiles %powers[%full] in %memory : !scores, !tile.stage<full>, !tile.tmem<[128, 128], f32> -> !s
          // CHECK: tile.tmem_part %{{.*}}[%{{.*}}] : !tmem{{[0-9]*}} -> !tmem{{[0-9]*}}
          %p = tile.tmem_part %there[%c0] : !s -> !p
          %o = tile.tmem_part %memory[%c64] : !tile.tmem<[128, 128], f32> -> !s
          // CHECK: tile.tmem_mma %{{.*}}, %{{.*}} into %{{.*}} add %{{.*}} : !tmem{{[0-9]*}}, !smem{{[0-9]*}}, !tmem{{[0-9]*}}
          tile.tmem_mma %p, %k into %o add %no : !p, !k, !s
          tile.release %powers[%full] after_mma : !scores, !tile.stage<full>
          %next = tile.next %powers[%at] : !scores
          // CHECK: tile.drain %{{.*}}[%{{.*}}] count 1 : !pipe
          tile.drain %powers[%next] count 1 : !scores
        }
      }
    }
    tile.role "softmax" warps 4 to 8 registers 240 {
    ^bb0(%group: index):
      %at = tile.cursor
      %full = tile.wait %scores[%at] : !scores -> !tile.stage<full>
      %s = tile.tiles %scores[%full] in %memory : !scores, !tile.stage<full>, !tile.tmem<[128, 128], f32> -> !s
      %read = tile.tmem_load %s[%c0] : !s -> !tile.pending<!f>
      %x = tile.await %read : !tile.pending<!f> -> !f
      tile.release %scores[%full] : !scores, !tile.stage<full>
      // CHECK: tile.splat %{{.*}} : f32 -> !tile.column<128, f32, tmem_32x32b>
      %least = tile.splat %zero : f32 -> !row
      // CHECK: tile.row_numbers : !tile.column<128, i32, tmem_32x32b>
      %rows = tile.row_numbers : !numbers
      // CHECK: tile.thread_reduce max %{{.*}} chains 4 : !fragment{{[0-9]*}} -> !tile.column<128, f32, partial, tmem_32x32b>
      %m = tile.thread_reduce max %x chains 4 : !f -> !parts
      %top = tile.lane_reduce max %m : !parts -> !row
      %y = tile.apply %x, %top : !f, !row -> !h {
      ^bb0(%v: f32, %most: f32, %column: i32):
        %less = arith.subf %v, %most : f32
        %n = arith.truncf %less : f32 to bf16
        tile.yield %n : bf16
      }
      %free = tile.acquire %powers[%at] : !scores -> !tile.stage<free>
      %room = tile.tiles %powers[%free] in %memory : !scores, !tile.stage<free>, !tile.tmem<[128, 128], f32> -> !s
      %p = tile.tmem_part %room[%c0] : !s -> !p
      // CHECK: tile.tmem_store %{{.*}} into %{{.*}}[%{{.*}}] : !fragment{{[0-9]*}}, !tmem{{[0-9]*}}
      tile.tmem_store %y into %p[%c0] : !h, !p
      tile.commit %powers[%free] : !scores, !tile.stage<free>
    }
    tile.tmem_free %memory : !tile.tmem<[128, 128], f32>
    gpu.return
  }
}

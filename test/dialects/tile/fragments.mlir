// RUN: kpc-opt %s | kpc-opt | FileCheck %s

// What a softmax is made of: arithmetic on fragments, values of rows, and their way into the next product.

!q = !tile.smem<[64, 64], f16, swizzle 128>
!v = !tile.smem<[32, 64], f16, swizzle 128>
!s = !tile.fragment<[64, 32], f32>
!o = !tile.fragment<[64, 64], f32>
!row = !tile.column<64, f32>
!parts = !tile.column<64, f32, partial>
!p = !tile.packed<[64, 32], f16>

// CHECK-LABEL: func.func @softmax
func.func @softmax(%q: !q, %k: !v, %v: !v, %old: !p, %sum: !o) -> !o {
  %zero = arith.constant 0.0 : f32
  // CHECK: %[[S:.*]] = tile.mma %{{.*}}, %{{.*}} transposed : !smem{{.*}}, !smem{{.*}} -> !pending
  %0 = tile.mma %q, %k transposed : !q, !v -> !tile.pending<!s>
  // CHECK: %[[O:.*]] = tile.mma %{{.*}}, %{{.*}}, %{{.*}} : !packed, !smem{{.*}}, !fragment{{.*}} -> !pending
  %1 = tile.mma %old, %v, %sum : !p, !v, !o -> !tile.pending<!o>
  // CHECK: tile.await<1> %[[S]] : !pending{{.*}} -> !fragment
  %s = tile.await<1> %0 : !tile.pending<!s> -> !s
  // CHECK: tile.row_numbers : !tile.column<64, i32>
  %n = tile.row_numbers : !tile.column<64, i32>
  // CHECK: tile.apply %{{.*}}, %{{.*}} : !fragment{{.*}}, !tile.column<64, i32> -> !fragment{{.*}} {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: i32, %{{.*}}: i32):
  %seen = tile.apply %s, %n : !s, !tile.column<64, i32> -> !s {
  ^bb0(%x: f32, %row: i32, %column: i32):
    %c = arith.cmpi sle, %column, %row : i32
    %y = arith.select %c, %x, %zero : f32
    tile.yield %y : f32
  }
  // CHECK: tile.thread_reduce max %{{.*}} chains 2 : !fragment{{.*}} -> !tile.column<64, f32, partial>
  %m = tile.thread_reduce max %seen chains 2 : !s -> !parts
  // CHECK: tile.lane_reduce max %{{.*}} : !tile.column<64, f32, partial> -> !tile.column<64, f32>
  %most = tile.lane_reduce max %m : !parts -> !row
  // CHECK: tile.warp_above %{{.*}}, %{{.*}} : !tile.column<64, f32>
  %above = tile.warp_above %most, %zero : !row
  // CHECK: tile.apply %{{.*}} : !tile.column<64, f32> -> !tile.column<64, f32> {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32):
  // CHECK-NEXT: tile.approximate exp2 %{{.*}}
  %e = tile.apply %most : !row -> !row {
  ^bb0(%x: f32):
    %y = tile.approximate exp2 %x
    tile.yield %y : f32
  }
  // CHECK: tile.splat %{{.*}} : f32 -> !tile.column<64, f32, partial>
  %start = tile.splat %zero : f32 -> !parts
  // CHECK: tile.thread_reduce add %{{.*}}, %{{.*}} : !fragment{{.*}}, !tile.column<64, f32, partial> -> !tile.column<64, f32, partial>
  %total = tile.thread_reduce add %seen, %start : !s, !parts -> !parts
  // CHECK: tile.pack %{{.*}} : !fragment{{.*}} -> !packed
  %p = tile.pack %seen : !s -> !p
  // CHECK: tile.pack_words %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : !packed
  %word = arith.constant 0 : i32
  %w = tile.pack_words %word, %word, %word, %word : !tile.packed<[64, 16], bf16>
  // CHECK: tile.await %[[O]] : !pending{{.*}} -> !fragment
  %o = tile.await %1 : !tile.pending<!o> -> !o
  return %o : !o
}

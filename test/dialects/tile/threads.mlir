// RUN: kpc-opt %s | kpc-opt | FileCheck %s

// Copies and products that threads make: a slot is filled, multiplied, and its memory used again for the result.

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 128], bf16, swizzle 128>
!d = !tile.fragment<[64, 128], f32>
!out = !tile.fragment<[64, 128], bf16>
!stage = !tile.smem<[64, 128], bf16, swizzle 128>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @product
  gpu.func @product(%x: memref<?xbf16>, %w: memref<?xbf16>, %y: memref<?xbf16>, %n: index) kernel attributes {kpc.block = array<i32: 128, 1, 1>} {
    %a = tile.alloc : !a
    %b = tile.alloc : !b
    tile.start
    // CHECK: tile.gather %arg0 into %{{.*}} by 16 : memref<?xbf16>, !smem {
    // CHECK-NEXT: ^bb0(%[[ROW:.*]]: index, %[[COLUMN:.*]]: index):
    // CHECK: tile.place %{{.*}}, %{{.*}}
    tile.gather %x into %a by 16 : memref<?xbf16>, !a {
    ^bb0(%row: index, %column: index):
      %line = arith.muli %row, %n : index
      %at = arith.addi %line, %column : index
      %count = arith.subi %n, %column : index
      tile.place %at, %count
    }
    // CHECK: tile.gather %arg1 into %{{.*}} by 2
    tile.gather %w into %b by 2 : memref<?xbf16>, !b {
    ^bb0(%row: index, %column: index):
      // CHECK: tile.place %{{[a-z0-9]+$}}
      tile.place %column
    }
    // CHECK: tile.commit_gathers
    tile.commit_gathers
    // CHECK: tile.wait_gathers keep 0
    tile.wait_gathers keep 0
    tile.sync block
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> !d
    // CHECK: tile.multiply %{{.*}}, %{{.*}}, %{{.*}} : !smem, !smem1 -> !fragment
    %d = tile.multiply %a, %b, %c : !a, !b -> !d
    // CHECK: tile.multiply %{{.*}} transposed, %{{.*}}, %{{.*}} : !smem, !smem1 -> !fragment
    %e = tile.multiply %a transposed, %b, %d : !a, !b -> !d
    %out = tile.map %e at [%n, %n] within [%n, %n] : !d -> !out {
    ^bb0(%v: f32, %row: index, %column: index):
      %r = arith.truncf %v : f32 to bf16
      tile.yield %r : bf16
    }
    tile.sync block
    // CHECK: tile.reuse %{{.*}} : !smem1 -> !smem1
    %stage = tile.reuse %b : !b -> !stage
    // CHECK: tile.put %{{.*}} into %{{.*}} in pairs : !fragment1, !smem1
    tile.put %out into %stage in pairs : !out, !stage
    tile.sync block
    // CHECK: tile.scatter %{{.*}} to %arg2 by 16 : !smem1, memref<?xbf16> {
    tile.scatter %stage to %y by 16 : !stage, memref<?xbf16> {
    ^bb0(%row: index, %column: index):
      tile.place %column, %row
    }
    gpu.return
  }
}

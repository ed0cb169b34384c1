// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-place-shared,kpc-lower-tile,canonicalize,cse))' %s | FileCheck %s

// Numbers of rows, one value for all elements, and lines of a tile.

!wide = !tile.smem<[64, 128], bf16, swizzle 128>
!half = !tile.smem<[64, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!s = !tile.fragment<[64, 64], f32>
!numbers = !tile.column<64, i32>
gpu.module @m {
  // CHECK-LABEL: gpu.func @rows
  gpu.func @rows(%i: index, %sink: memref<?xf32>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc : !wide
    %b = tile.alloc : !b
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      // Row 16w + g of the warpgroup's warp w and the lane's four g, and the row 8 below.
      // CHECK: %[[WARP:.*]] = arith.andi %{{.*}}, %c3_i32 : i32
      // CHECK: %[[OF_WARP:.*]] = arith.shli %[[WARP]], %c4_i32 : i32
      // CHECK: %[[OF_LANE:.*]] = arith.shrui %{{.*}}, %c2_i32 : i32
      // CHECK: %[[FIRST:.*]] = arith.addi %[[OF_WARP]], %[[OF_LANE]] : i32
      // CHECK: %[[BELOW:.*]] = arith.addi %[[FIRST]], %c8_i32 : i32
      %n = tile.row_numbers : !numbers
      // A splat is the value itself in every register.
      // CHECK: llvm.insertvalue %[[ZERO:.*]], %{{.*}}[0]
      // CHECK: llvm.insertvalue %[[ZERO]], %{{.*}}[31]
      %s = tile.splat %zero : f32 -> !s
      // A column has 2 bytes of each of 64 rows.
      // CHECK: %[[COLUMN:.*]] = arith.index_cast %arg0 : index to i32
      // CHECK: %[[BYTES:.*]] = arith.muli %[[COLUMN]], %c128_i32 : i32
      // CHECK: llvm.getelementptr %{{.*}}[%[[BYTES]]]
      %l = tile.subview_columns %a[%i] : !wide -> !half
      %p = tile.mma %l, %b transposed, %s : !half, !b, !s -> !tile.pending<!s>
      %d = tile.await %p : !tile.pending<!s> -> !s
      %e = tile.apply %d, %n : !s, !numbers -> !s {
      ^bb0(%x: f32, %row: i32, %column: i32):
        %at = arith.index_cast %row : i32 to index
        memref.store %x, %sink[%at] : memref<?xf32>
        tile.yield %x : f32
      }
    }
    gpu.return
  }
}

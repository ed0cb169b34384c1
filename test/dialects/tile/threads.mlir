// RUN: kpc-opt %s | kpc-opt | FileCheck %s

// Copies and products that threads make: a stage is filled, multiplied, and its memory used again for the result.

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 128], bf16, swizzle 128>
!d = !tile.fragment<[64, 128], f32>
!out = !tile.fragment<[64, 128], bf16>
!staging = !tile.smem<[64, 128], bf16, swizzle 128>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @product
  gpu.func @product(%x: memref<?xbf16>, %w: memref<?xbf16>, %y: memref<?xbf16>, %n: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %a = tile.alloc : !a
    %b = tile.alloc : !b
    tile.barrier_init
    // CHECK: tile.cp_async %arg0 into %{{.*}} by 16 : memref<?xbf16>, !smem {
    // CHECK-NEXT: ^bb0(%[[ROW:.*]]: index, %[[COLUMN:.*]]: index):
    // CHECK: tile.yield_address %{{.*}}, %{{.*}}
    tile.cp_async %x into %a by 16 : memref<?xbf16>, !a {
    ^bb0(%row: index, %column: index):
      %line = arith.muli %row, %n : index
      %at = arith.addi %line, %column : index
      %count = arith.subi %n, %column : index
      tile.yield_address %at, %count
    }
    // CHECK: tile.cp_async %arg0 into %{{.*}} by 16 cached : memref<?xbf16>, !smem {
    tile.cp_async %x into %a by 16 cached : memref<?xbf16>, !a {
    ^bb0(%row: index, %column: index):
      tile.yield_address %column
    }
    // CHECK: tile.cp_async %arg1 into %{{.*}} by 2
    tile.cp_async %w into %b by 2 : memref<?xbf16>, !b {
    ^bb0(%row: index, %column: index):
      // CHECK: tile.yield_address %{{[a-z0-9]+$}}
      tile.yield_address %column
    }
    // CHECK: tile.cp_async_commit
    tile.cp_async_commit
    // CHECK: tile.cp_async_wait<0>
    tile.cp_async_wait<0>
    tile.sync block
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> !d
    // CHECK: tile.mma_sync %{{.*}}, %{{.*}}, %{{.*}} : !smem, !smem1 -> !fragment
    %d = tile.mma_sync %a, %b, %c : !a, !b -> !d
    // CHECK: tile.mma_sync %{{.*}} transposed, %{{.*}}, %{{.*}} : !smem, !smem1 -> !fragment
    %e = tile.mma_sync %a transposed, %b, %d : !a, !b -> !d
    // What is multiplied many times is loaded once.
    // CHECK: %[[HELD:.*]] = tile.load_packed %{{.*}} : !smem -> !packed
    %held = tile.load_packed %a : !a -> !tile.packed<[64, 64], bf16>
    // CHECK: tile.mma_sync %[[HELD]], %{{.*}}, %{{.*}} : !packed, !smem1 -> !fragment
    %f = tile.mma_sync %held, %b, %e : !tile.packed<[64, 64], bf16>, !b -> !d
    // A step of 32 bytes along K, in two ops.
    // CHECK: %[[STEP:.*]] = tile.load_factors %{{.*}}, %{{.*}} step 1 : !smem, !smem1 -> !factors
    %step = tile.load_factors %a, %b step 1 : !a, !b -> !tile.factors<[64, 128], bf16, bf16>
    // CHECK: tile.mma_factors %[[STEP]], %{{.*}} : !factors, !fragment
    %g = tile.mma_factors %step, %f : !tile.factors<[64, 128], bf16, bf16>, !d
    %out = tile.map %g at [%n, %n] within [%n, %n] : !d -> !out {
    ^bb0(%v: f32, %row: index, %column: index):
      %r = arith.truncf %v : f32 to bf16
      tile.yield %r : bf16
    }
    tile.sync block
    // CHECK: tile.reuse %{{.*}} : !smem1 -> !smem1
    %staging = tile.reuse %b : !b -> !staging
    // CHECK: tile.store_shared %{{.*}} into %{{.*}} in pairs : !fragment1, !smem1
    tile.store_shared %out into %staging in pairs : !out, !staging
    tile.sync block
    // CHECK: tile.store_global %{{.*}} to %arg2 by 16 : !smem1, memref<?xbf16> {
    tile.store_global %staging to %y by 16 : !staging, memref<?xbf16> {
    ^bb0(%row: index, %column: index):
      tile.yield_address %column, %row
    }
    // CHECK: tile.store_global %{{.*}} to %arg2 by 16 whole : !smem1, memref<?xbf16> {
    tile.store_global %staging to %y by 16 whole : !staging, memref<?xbf16> {
    ^bb0(%row: index, %column: index):
      tile.yield_address %column, %row
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @scaled
  gpu.func @scaled(%a: !tile.smem<[64, 32], ui8, swizzle 32>, %s: !tile.smem<[1, 256], ui8>, %i: index, %c: !tile.fragment<[64, 64], f32>) {
    // CHECK: tile.mma_scaled nvfp4 %{{.*}} scales %{{.*}}, %{{.*}} scales %{{.*}} rows[%{{.*}}, %{{.*}}], %{{.*}} : !{{.*}} -> !fragment
    %d = tile.mma_scaled nvfp4 %a scales %s, %a scales %s rows [%i, %i], %c : !tile.smem<[64, 32], ui8, swizzle 32>, !tile.smem<[1, 256], ui8>, !tile.smem<[64, 32], ui8, swizzle 32>, !tile.smem<[1, 256], ui8> -> !tile.fragment<[64, 64], f32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @split
  gpu.func @split(%a: !tile.smem<[64, 8], f32, swizzle 32>, %v: !tile.smem<[64, 64], f32, swizzle 128>, %c: !tile.fragment<[64, 64], f32>) {
    // CHECK: tile.mma_sync split %{{.*}}, %{{.*}} transposed, %{{.*}} : !smem{{.*}}, !smem{{.*}} -> !fragment
    %d = tile.mma_sync split %a, %a transposed, %c : !tile.smem<[64, 8], f32, swizzle 32>, !tile.smem<[64, 8], f32, swizzle 32> -> !tile.fragment<[64, 64], f32>
    // CHECK: tile.mma_sync truncated %{{.*}}, %{{.*}} transposed
    %t = tile.mma_sync truncated %a, %a transposed, %d : !tile.smem<[64, 8], f32, swizzle 32>, !tile.smem<[64, 8], f32, swizzle 32> -> !tile.fragment<[64, 64], f32>
    // CHECK: tile.pack %{{.*}} : !fragment{{.*}} -> !packed{{.*}}
    %p = tile.pack %t : !tile.fragment<[64, 64], f32> -> !tile.packed<[64, 64], f32>
    // CHECK: tile.mma_sync cut %{{.*}}, %{{.*}}, %{{.*}} : !packed{{.*}}, !smem{{.*}} -> !fragment
    %e = tile.mma_sync cut %p, %v, %t : !tile.packed<[64, 64], f32>, !tile.smem<[64, 64], f32, swizzle 128> -> !tile.fragment<[64, 64], f32>
    // CHECK: tile.load_factors cut %{{.*}}, %{{.*}} transposed step 0
    %s = tile.load_factors cut %a, %a transposed step 0 : !tile.smem<[64, 8], f32, swizzle 32>, !tile.smem<[64, 8], f32, swizzle 32> -> !tile.factors<[64, 64], f32, f32>
    // CHECK: tile.any_nan %{{.*}} : !fragment
    %any = tile.any_nan %d : !tile.fragment<[64, 64], f32>
    gpu.return
  }

  // A tile of an image: 4 lines of 16 places under 3 × 3 taps, 16 channels of rows of 24.
  // CHECK-LABEL: gpu.func @window
  gpu.func @window(%x: memref<?xf16>, %w: !tile.smem<[144, 32], f16, swizzle 64>, %c: !tile.fragment<[64, 32], f32>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %image = tile.alloc : !tile.smem<[108, 24], f16>
    %tile = tile.alloc : !tile.smem<[64, 32], f16, swizzle 64>
    %stem = tile.alloc : !tile.smem<[247, 8], f16>
    %v = tile.alloc : !tile.smem<[224, 32], f16, swizzle 64>
    tile.barrier_init
    // CHECK: tile.cp_async %arg0 into %{{.*}} by 16 columns 16 : memref<?xf16>, !smem{{.*}} {
    tile.cp_async %x into %image by 16 columns 16 : memref<?xf16>, !tile.smem<[108, 24], f16> {
    ^bb0(%row: index, %column: index):
      tile.yield_address %column
    }
    // Each warpgroup of a role copies and stores a tile of its own.
    tile.role "tiles" warps 0 to 4 {
    ^bb0(%group: index):
      // CHECK: tile.cp_async %arg0 into %{{.*}} by 16 columns 16 warpgroup : memref<?xf16>, !smem{{.*}} {
      tile.cp_async %x into %image by 16 columns 16 warpgroup : memref<?xf16>, !tile.smem<[108, 24], f16> {
      ^bb0(%row: index, %column: index):
        tile.yield_address %column
      }
      // CHECK: tile.store_global %{{.*}} to %arg0 by 16 warpgroup : !smem{{.*}}, memref<?xf16> {
      tile.store_global %w to %x by 16 warpgroup : !tile.smem<[144, 32], f16, swizzle 64>, memref<?xf16> {
      ^bb0(%row: index, %column: index):
        tile.yield_address %column
      }
    }
    // CHECK: tile.mma_window %{{.*}} width 18 channels 16, %{{.*}}, %{{.*}} taps [3, 3] strides [1, 1] dilations [1, 1] lines 4 : !smem{{.*}}, !smem{{.*}} -> !fragment
    %d = tile.mma_window %image width 18 channels 16, %w, %c taps [3, 3] strides [1, 1] dilations [1, 1] lines 4 : !tile.smem<[108, 24], f16>, !tile.smem<[144, 32], f16, swizzle 64> -> !tile.fragment<[64, 32], f32>
    // 28 channels are in 4 pixels of 8: three more in a line.
    // CHECK: tile.mma_window %{{.*}} width 19 channels 28, %{{.*}}, %{{.*}} taps [7, 1] strides [2, 1] dilations [1, 1] lines 4
    %e = tile.mma_window %stem width 19 channels 28, %v, %c taps [7, 1] strides [2, 1] dilations [1, 1] lines 4 : !tile.smem<[247, 8], f16>, !tile.smem<[224, 32], f16, swizzle 64> -> !tile.fragment<[64, 32], f32>
    // CHECK: tile.load_shared %{{.*}} : !smem{{.*}} -> !fragment
    %back = tile.load_shared %tile : !tile.smem<[64, 32], f16, swizzle 64> -> !tile.fragment<[64, 32], f16>
    gpu.return
  }
}

// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-place-shared))' %s | FileCheck %s

// Tiles come first, the largest alignment in front, since they have whole multiples of it; pipes behind, whose barriers (16
// bytes a stage) end them anywhere. The kernel gets the sum.

gpu.module @m {
  // CHECK-LABEL: gpu.func @mixed
  // CHECK-SAME: shared = 33824
  gpu.func @mixed() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [256, 1, 1]>} {
    // Two stages of 8,192 bytes and their barriers, behind both tiles.
    // CHECK: tile.pipe tma consumers 4 {offset = 17408 : i64}
    %pipe = tile.pipe tma consumers 4 : <2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
    // Aligned to 256 bytes.
    // CHECK: tile.alloc {offset = 16384 : i64}
    %small = tile.alloc : <[32, 16], bf16, swizzle 32>
    // CHECK: tile.alloc {offset = 0 : i64}
    %large = tile.alloc : <[128, 64], bf16, swizzle 128>
    tile.barrier_init
    gpu.return
  }

  // The second pipe is aligned again.
  // CHECK-LABEL: gpu.func @two_pipes
  // CHECK-SAME: shared = 17424
  gpu.func @two_pipes() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [256, 1, 1]>} {
    // CHECK: tile.pipe tma consumers 4 {offset = 0 : i64}
    %first = tile.pipe tma consumers 4 : <1 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
    // CHECK: tile.pipe tma consumers 4 {offset = 9216 : i64}
    %second = tile.pipe tma consumers 4 : <1 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
    tile.barrier_init
    gpu.return
  }

  // CHECK-LABEL: gpu.func @none
  // CHECK-NOT: shared =
  gpu.func @none() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [256, 1, 1]>} {
    gpu.return
  }
}

// RUN: kpc-opt %s | kpc-opt | FileCheck %s

// Words of scales in tensor memory, and products of codes with them.

!a = !tile.smem<[128, 128], f8E4M3FN, swizzle 128>
!s = !tile.smem<[2, 256], ui8>
!d = !tile.tmem<[128, 128], f32>
!w = !tile.tmem<[128, 4], ui32>
gpu.module @m {
  // CHECK-LABEL: gpu.func @kernel
  gpu.func @kernel(%a: !a, %s: !s, %d: !d, %column: index, %more: i1) kernel {
    tile.barrier_init
    tile.role "mma" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // CHECK: %[[W:.*]] = tile.tmem_part %{{.*}}[%{{.*}}] : !tmem -> !tmem1
        %w = tile.tmem_part %d[%column] : !d -> !w
        // CHECK: tile.tmem_copy %{{.*}} panels 1 into %[[W]] : !smem1, !tmem1
        tile.tmem_copy %s panels 1 into %w : !s, !w
        // CHECK: tile.tmem_copy %{{.*}} panels 1 into %[[W]] pair : !smem1, !tmem1
        tile.tmem_copy %s panels 1 into %w pair : !s, !w
        // CHECK: tile.tmem_mma_scaled mxfp8 %{{.*}} scales %[[W]], %{{.*}} scales %[[W]] into %{{.*}} add %{{.*}} : !smem, !tmem1, !smem, !tmem1, !tmem
        tile.tmem_mma_scaled mxfp8 %a scales %w, %a scales %w into %d add %more : !a, !w, !a, !w, !d
      }
    }
    gpu.return
  }
}

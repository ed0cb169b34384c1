// RUN: kpc-opt %s -split-input-file -verify-diagnostics | kpc-opt -split-input-file -verify-diagnostics | FileCheck %s

// Copies that walk as a convolution does.

!x = !tile.view<f16, box [128, 64], swizzle 128>
!a = !tile.smem<[128, 128], f16, swizzle 128>
!pipe = !tile.pipe<2 of [!a]>
gpu.module @m {
  gpu.func @kernel(%x: !x, %i: index) kernel {
    %pipe = tile.pipe tma consumers 4 : <2 of [!a]>
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      %cursor = tile.cursor
      %free = tile.acquire %pipe[%cursor] : !pipe -> !tile.stage<free>
      %tile = tile.tiles %pipe[%free] : !pipe, !tile.stage<free> -> !a
      // CHECK: tile.tma_load_im2col %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] tap[%{{.*}}, %{{.*}}] into %{{.*}} signal %{{.*}}[%{{.*}}] : !view, !smem, !pipe, !tile.stage<free>
      tile.tma_load_im2col %x[%i, %i, %i, %i] tap [%i, %i] into %tile signal %pipe[%free] : !x, !a, !pipe, !tile.stage<free>
      tile.commit %pipe[%free] : !pipe, !tile.stage<free>
    }
    gpu.return
  }
}

// -----

!x = !tile.view<f16, box [128, 64], swizzle 128>
!a = !tile.smem<[128, 64], f16, swizzle 128>
!pipe = !tile.pipe<2 of [!a]>
func.func @offsets(%x: !x, %a: !a, %pipe: !pipe, %free: !tile.stage<free>, %i: index) {
  // expected-error @below {{'tile.tma_load_im2col' op expected three to five coordinates, and an offset for all but the first and the last}}
  tile.tma_load_im2col %x[%i, %i, %i, %i] tap [%i] into %a signal %pipe[%free] : !x, !a, !pipe, !tile.stage<free>
  return
}

// -----

!x = !tile.view<f16, box [64, 64], swizzle 128>
!a = !tile.smem<[128, 64], f16, swizzle 128>
!pipe = !tile.pipe<2 of [!a]>
func.func @pixels(%x: !x, %a: !a, %pipe: !pipe, %free: !tile.stage<free>, %i: index) {
  // expected-error @below {{'tile.tma_load_im2col' op expected boxes of 128 pixels and 64 channels}}
  tile.tma_load_im2col %x[%i, %i, %i, %i] tap [%i, %i] into %a signal %pipe[%free] : !x, !a, !pipe, !tile.stage<free>
  return
}

// -----

!x = !tile.view<bf16, box [128, 64], swizzle 128>
!a = !tile.smem<[128, 64], f16, swizzle 128>
!pipe = !tile.pipe<2 of [!a]>
func.func @elements(%x: !x, %a: !a, %pipe: !pipe, %free: !tile.stage<free>, %i: index) {
  // expected-error @below {{'tile.tma_load_im2col' op expected a tile with the view's element type and swizzle}}
  tile.tma_load_im2col %x[%i, %i, %i, %i] tap [%i, %i] into %a signal %pipe[%free] : !x, !a, !pipe, !tile.stage<free>
  return
}

// -----

!x = !tile.view<f16, box [128, 64], swizzle 128>
!a = !tile.smem<[128, 64], f16, swizzle 128>
!pipe = !tile.pipe<2 of [!a]>
func.func @state(%x: !x, %a: !a, %pipe: !pipe, %full: !tile.stage<full>, %i: index) {
  // expected-error @below {{'tile.tma_load_im2col' op expected a free stage, got a full one}}
  tile.tma_load_im2col %x[%i, %i, %i, %i] tap [%i, %i] into %a signal %pipe[%full] : !x, !a, !pipe, !tile.stage<full>
  return
}

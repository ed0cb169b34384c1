// RUN: kpc-opt %s -verify-diagnostics -split-input-file

// Several blocks together.

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!v = !tile.view<bf16, box [64, 64], swizzle 128>
!pipe = !tile.pipe<2 of [!a]>
func.func @f(%v: !v, %a: !a, %pipe: !pipe, %full: !tile.stage<full>, %i: index) {
  // expected-error @below {{'tile.tma_multicast' op expected a free stage, got a full one}}
  tile.tma_multicast %v[%i, %i] into %a signal %pipe[%full] of 2 : !v, !a, !pipe, !tile.stage<full>
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!v = !tile.view<bf16, box [64, 64], swizzle 128>
!pipe = !tile.pipe<2 of [!a]>
func.func @f(%v: !v, %a: !a, %pipe: !pipe, %free: !tile.stage<free>, %i: index) {
  // expected-error @below {{'tile.tma_multicast' op expected 2 to 8 blocks, got 16}}
  tile.tma_multicast %v[%i, %i] into %a signal %pipe[%free] of 16 : !v, !a, !pipe, !tile.stage<free>
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!v = !tile.view<bf16, box [128, 64], swizzle 128>
!pipe = !tile.pipe<2 of [!a]>
func.func @f(%v: !v, %a: !a, %pipe: !pipe, %free: !tile.stage<free>, %i: index) {
  // expected-error @below {{'tile.tma_multicast' op expected a tile of a multiple of the box's 128 rows, got 64}}
  tile.tma_multicast %v[%i, %i] into %a signal %pipe[%free] of 2 : !v, !a, !pipe, !tile.stage<free>
  return
}

// -----

!pipe = !tile.pipe<2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
func.func @f(%pipe: !pipe, %full: !tile.stage<full>) {
  // expected-error @below {{'tile.release' op expected 1 to 8 blocks, got 9}}
  tile.release %pipe[%full] to 9 : !pipe, !tile.stage<full>
  return
}

// -----

func.func @f(%a: !tile.smem<[64, 128], bf16, swizzle 128>, %i: index) {
  // expected-error @below {{'tile.subview_columns' op expected a part with the tile's rows, element type, swizzle and pitch}}
  %b = tile.subview_columns %a[%i] : !tile.smem<[64, 128], bf16, swizzle 128> -> !tile.smem<[32, 64], bf16, swizzle 128>
  return
}

// -----

func.func @f(%a: !tile.smem<[64, 64], bf16, swizzle 128>, %i: index) {
  // expected-error @below {{'tile.subview_columns' op expected whole lines of the swizzle within the tile's 64 columns, got 128}}
  %b = tile.subview_columns %a[%i] : !tile.smem<[64, 64], bf16, swizzle 128> -> !tile.smem<[64, 128], bf16, swizzle 128>
  return
}

// -----

!pipe = !tile.pipe<2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
func.func @f(%pipe: !pipe) {
  // expected-error @below {{'tile.reuse' op expected a whole tile of at most 16384 bytes, the size of the pipe's stages}}
  %a = tile.reuse %pipe : !pipe -> !tile.smem<[64, 128], f32>
  return
}

// -----

func.func @f(%t: !tile.smem<[64, 64], bf16, swizzle 128>) {
  // expected-error @below {{'tile.reuse' op expected a whole tile of at most 8192 bytes, the size of the other tile}}
  %a = tile.reuse %t : !tile.smem<[64, 64], bf16, swizzle 128> -> !tile.smem<[64, 64], f32, swizzle 128>
  return
}

// -----

func.func @f(%t: !tile.smem<[64, 64], bf16, swizzle 64>) {
  // expected-error @below {{'tile.reuse' op expected the memory of a whole tile that is aligned as the result}}
  %a = tile.reuse %t : !tile.smem<[64, 64], bf16, swizzle 64> -> !tile.smem<[32, 64], bf16, swizzle 128>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 64], f32>, %a: !tile.smem<[128, 64], f32>) {
  // expected-error @below {{'tile.cluster_store' op expected a fragment of f32 or i32 and a tile of its type and rows without swizzle}}
  tile.cluster_store %d in %a : !tile.fragment<[64, 64], f32>, !tile.smem<[128, 64], f32>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 32], f32>, %a: !tile.smem<[64, 64], f32>) {
  // expected-error @below {{'tile.cluster_store' op expected a tile of the fragment's 32 columns, got 64}}
  tile.cluster_store %d in %a : !tile.fragment<[64, 32], f32>, !tile.smem<[64, 64], f32>
  return
}

// -----

func.func @f(%a: !tile.smem<[64, 64], f32>, %i: index) {
  // expected-error @below {{'tile.cluster_reduce' op expected 2 to 8 blocks, got 1}}
  %d = tile.cluster_reduce %a[%i] of 1 : !tile.smem<[64, 64], f32> -> !tile.fragment<[64, 32], f32>
  return
}

// -----

func.func @f(%a: !tile.smem<[128, 64], f32>, %i: index) {
  // expected-error @below {{'tile.cluster_reduce' op expected a fragment of 64 rows, got 128}}
  %d = tile.cluster_reduce %a[%i] of 2 : !tile.smem<[128, 64], f32> -> !tile.fragment<[128, 32], f32>
  return
}

// -----

func.func @f(%a: !tile.smem<[64, 32], f32>, %i: index) {
  // expected-error @below {{'tile.cluster_reduce' op expected at most the tile's 32 columns, got 64}}
  %d = tile.cluster_reduce %a[%i] of 2 : !tile.smem<[64, 32], f32> -> !tile.fragment<[64, 64], f32>
  return
}

// -----

func.func @f(%a: !tile.smem<[64, 32], bf16>, %i: index) {
  // expected-error @below {{'tile.cluster_reduce' op expected a fragment of f32 or i32 and a tile of its type and rows without swizzle}}
  %d = tile.cluster_reduce %a[%i] of 2 : !tile.smem<[64, 32], bf16> -> !tile.fragment<[64, 32], f32>
  return
}

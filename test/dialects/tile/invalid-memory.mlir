// RUN: kpc-opt %s -verify-diagnostics -split-input-file

// Shared memory and copies.

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.alloc' op expected a whole tile, whose pitch is its number of rows}}
    %a = tile.alloc : <[32, 64], bf16, swizzle 128, pitch 64>
    tile.barrier_init
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.alloc' op expected in front of a 'tile.barrier_init'}}
    %a = tile.alloc : <[64, 64], bf16, swizzle 128>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel(%c: i1) kernel {
    scf.if %c {
      // expected-error @below {{'tile.alloc' op expected in the entry block of a kernel}}
      %a = tile.alloc : <[64, 64], bf16, swizzle 128>
    }
    tile.barrier_init
    gpu.return
  }
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%a: !a, %i: index) {
  // expected-error @below {{'tile.subview_rows' op expected a part with the tile's columns, element type, swizzle and pitch}}
  %p = tile.subview_rows %a[%i] : !a -> !tile.smem<[32, 64], bf16, swizzle 128>
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%a: !a, %i: index) {
  // expected-error @below {{'tile.subview_rows' op expected a multiple of 8 rows within the tile's 64, got 12}}
  %p = tile.subview_rows %a[%i] : !a -> !tile.smem<[12, 64], bf16, swizzle 128, pitch 64>
  return
}

// -----

!p = !tile.smem<[32, 64], bf16, swizzle 128, pitch 64>
func.func @f(%p: !p, %i: index) {
  // expected-error @below {{'tile.subview_rows' op expected a multiple of 8 rows within the tile's 32, got 40}}
  %a = tile.subview_rows %p[%i] : !p -> !tile.smem<[40, 64], bf16, swizzle 128, pitch 64>
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!v = !tile.view<bf16, box [64, 64], swizzle 128>
!pipe = !tile.pipe<2 of [!a]>
func.func @f(%v: !v, %a: !a, %pipe: !pipe, %full: !tile.stage<full>, %i: index) {
  // expected-error @below {{'tile.tma_load' op expected a free stage, got a full one}}
  tile.tma_load %v[%i, %i] into %a signal %pipe[%full] : !v, !a, !pipe, !tile.stage<full>
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!v = !tile.view<bf16, box [1, 64, 64], swizzle 128>
!pipe = !tile.pipe<2 of [!a]>
func.func @f(%v: !v, %a: !a, %pipe: !pipe, %free: !tile.stage<free>, %i: index) {
  // expected-error @below {{'tile.tma_load' op expected 3 coordinates, got 2}}
  tile.tma_load %v[%i, %i] into %a signal %pipe[%free] : !v, !a, !pipe, !tile.stage<free>
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!v = !tile.view<f16, box [64, 64], swizzle 128>
func.func @f(%v: !v, %a: !a, %i: index) {
  // expected-error @below {{'tile.tma_store' op expected a tile with the view's element type and swizzle}}
  tile.tma_store %a to %v[%i, %i] : !a, !v
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!v = !tile.view<bf16, box [64, 32], swizzle 64>
func.func @f(%v: !v, %a: !a, %i: index) {
  // expected-error @below {{'tile.tma_store' op expected a tile with the view's element type and swizzle}}
  tile.tma_store %a to %v[%i, %i] : !a, !v
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!v = !tile.view<bf16, box [64, 32], swizzle 128>
func.func @f(%v: !v, %a: !a, %i: index) {
  // expected-error @below {{'tile.tma_store' op expected boxes of 64 columns, a line of the tile, got 32}}
  tile.tma_store %a to %v[%i, %i] : !a, !v
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!v = !tile.view<bf16, box [128, 64], swizzle 128>
func.func @f(%v: !v, %a: !a, %i: index) {
  // expected-error @below {{'tile.tma_store' op expected a tile of a multiple of the box's 128 rows, got 64}}
  tile.tma_store %a to %v[%i, %i] : !a, !v
  return
}

// -----

// Which dimension the second box goes on in would be a guess.
!a = !tile.smem<[64, 64], bf16, swizzle 128>
!v = !tile.view<bf16, box [2, 16, 64], swizzle 128>
func.func @f(%v: !v, %a: !a, %i: index) {
  // expected-error @below {{'tile.tma_store' op expected boxes of rows alone where a tile takes several}}
  tile.tma_store %a to %v[%i, %i, %i] : !a, !v
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.tma_store_wait' op expected 0 or more groups in flight, got -1}}
  tile.tma_store_wait<-1>
  return
}

// RUN: kpc-opt %s -verify-diagnostics -split-input-file

// Rings of warps, and what their lanes copy and load.

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.pipe' op with 'cp_async' expected 'warps', whose lanes fill and read their own stages, and nobody else}}
    %ring = tile.pipe cp_async consumers 4 : <2 of [!tile.smem<[16, 64], f16>]>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.pipe' op with 'cp_async' expected stages in shared memory}}
    %ring = tile.pipe cp_async warps 4 : <2 of [!tile.tmem<[128, 64], f32>]>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.pipe' op expected 'warps' only with 'cp_async'}}
    %pipe = tile.pipe tma warps 4 consumers 4 : <2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
    tile.barrier_init
    gpu.return
  }
}

// -----

func.func @f() {
  // expected-error @below {{'tile.pipe' op expected in the entry block of a kernel}}
  %ring = tile.pipe cp_async warps 4 : <2 of [!tile.smem<[16, 64], f16>]>
  return
}

// -----

!pipe = !tile.pipe<2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
gpu.module @m {
  gpu.func @kernel() kernel {
    %pipe = tile.pipe tma consumers 4 : !pipe
    tile.barrier_init
    %c = tile.cursor
    // expected-error @below {{'tile.wait' op expected 'in_flight' only with 'cp_async'}}
    %full = tile.wait %pipe[%c] in_flight 1 : !pipe -> !tile.stage<full>
    tile.release %pipe[%full] : !pipe, !tile.stage<full>
    gpu.return
  }
}

// -----

!k = !tile.smem<[16, 64], f16>
!pipe = !tile.pipe<2 of [!k]>
gpu.module @m {
  gpu.func @kernel(%x: memref<?xf16>, %i: index) kernel {
    %pipe = tile.pipe threads producers 4 consumers 4 : !pipe
    tile.barrier_init
    %c = tile.cursor
    %free = tile.acquire %pipe[%c] : !pipe -> !tile.stage<free>
    %k = tile.tiles %pipe[%free] : !pipe, !tile.stage<free> -> !k
    // expected-error @below {{'tile.cp_async_rows' op expected a pipe with 'cp_async', each warp's ring}}
    tile.cp_async_rows %x[%i] stride %i rows %i columns 64 into %k signal %pipe[%free] : memref<?xf16>, !k, !pipe, !tile.stage<free>
    tile.commit %pipe[%free] : !pipe, !tile.stage<free>
    gpu.return
  }
}

// -----

!k = !tile.smem<[16, 64], f16>
!ring = !tile.pipe<2 of [!k]>
func.func @f(%x: memref<?xf16>, %k: !k, %ring: !ring, %s: !tile.stage<full>, %i: index) {
  // expected-error @below {{'tile.cp_async_rows' op expected a free stage, got a full one}}
  tile.cp_async_rows %x[%i] stride %i rows %i columns 64 into %k signal %ring[%s] : memref<?xf16>, !k, !ring, !tile.stage<full>
  return
}

// -----

!k = !tile.smem<[16, 64], f16>
!ring = !tile.pipe<2 of [!k]>
func.func @f(%x: memref<?xf32>, %k: !k, %ring: !ring, %s: !tile.stage<free>, %i: index) {
  // expected-error @below {{'tile.cp_async_rows' op expected a memref of one dimension and of the tile's element type}}
  tile.cp_async_rows %x[%i] stride %i rows %i columns 64 into %k signal %ring[%s] : memref<?xf32>, !k, !ring, !tile.stage<free>
  return
}

// -----

!k = !tile.smem<[16, 96], f16>
!ring = !tile.pipe<2 of [!k]>
func.func @f(%x: memref<?xf16>, %k: !k, %ring: !ring, %s: !tile.stage<free>, %i: index) {
  // expected-error @below {{'tile.cp_async_rows' op expected plain rows of a power of two units of 16 bytes, which the 32 lanes of a warp share}}
  tile.cp_async_rows %x[%i] stride %i rows %i columns 96 into %k signal %ring[%s] : memref<?xf16>, !k, !ring, !tile.stage<free>
  return
}

// -----

!k = !tile.smem<[16, 64], f16, swizzle 128>
!ring = !tile.pipe<2 of [!k]>
func.func @f(%x: memref<?xf16>, %k: !k, %ring: !ring, %s: !tile.stage<free>, %i: index) {
  // expected-error @below {{'tile.cp_async_rows' op expected plain rows of a power of two units of 16 bytes, which the 32 lanes of a warp share}}
  tile.cp_async_rows %x[%i] stride %i rows %i columns 64 into %k signal %ring[%s] : memref<?xf16>, !k, !ring, !tile.stage<free>
  return
}

// -----

!k = !tile.smem<[16, 64], f16>
!ring = !tile.pipe<2 of [!k]>
func.func @f(%x: memref<?xf16>, %k: !k, %ring: !ring, %s: !tile.stage<free>, %i: index) {
  // expected-error @below {{'tile.cp_async_rows' op expected whole units of 16 bytes among the tile's 64 columns, got 60}}
  tile.cp_async_rows %x[%i] stride %i rows %i columns 60 into %k signal %ring[%s] : memref<?xf16>, !k, !ring, !tile.stage<free>
  return
}

// -----

func.func @f(%k: !tile.smem<[16, 64], f16>, %i: index) {
  // expected-error @below {{'tile.load_vector' op expected a vector of 2, 4, 8 or 16 bytes and a tile of plain rows of whole vectors}}
  %v = tile.load_vector %k[%i, %i] : !tile.smem<[16, 64], f16> -> vector<3xi32>
  return
}

// -----

func.func @f(%k: !tile.smem<[16, 64], f16, swizzle 128>, %v: vector<4xi32>, %i: index) {
  // expected-error @below {{'tile.store_vector' op expected a vector of 2, 4, 8 or 16 bytes and a tile of plain rows of whole vectors}}
  tile.store_vector %v to %k[%i, %i] : vector<4xi32>, !tile.smem<[16, 64], f16, swizzle 128>
  return
}

// -----

func.func @f(%k: !tile.smem<[16, 64], f16>, %i: index) {
  // expected-error @below {{'tile.load_vector' op expected offsets of 0 or more}}
  %v = tile.load_vector %k[%i + -8, %i] : !tile.smem<[16, 64], f16> -> vector<4xi32>
  return
}

// -----

// Copies that nobody has waited for.
!k = !tile.smem<[16, 64], f16>
!ring = !tile.pipe<2 of [!k]>
func.func @f(%ring: !ring, %s: !tile.stage<free>, %i: index) {
  %k = tile.tiles %ring[%s] : !ring, !tile.stage<free> -> !k
  // expected-error @below {{'tile.load_vector' op expected a full stage, got a free one}}
  %v = tile.load_vector %k[%i, %i] : !k -> vector<4xi32>
  return
}

// -----

!k = !tile.smem<[16, 64], f16>
!ring = !tile.pipe<2 of [!k]>
func.func @f(%ring: !ring, %s: !tile.stage<full>, %v: vector<4xi32>, %i: index) {
  %k = tile.tiles %ring[%s] : !ring, !tile.stage<full> -> !k
  // expected-error @below {{'tile.store_vector' op expected a free stage, got a full one}}
  tile.store_vector %v to %k[%i, %i] : vector<4xi32>, !k
  return
}

// -----

func.func @f(%v: !tile.view<f16, box [16, 64], swizzle 0>, %k: !tile.smem<[16, 64], f16, row_swizzle [1, 6, 1]>, %i: index) {
  // expected-error @below {{'tile.tma_store' op expected a tile with the view's element type and swizzle}}
  tile.tma_store %k to %v[%i, %i] : !tile.smem<[16, 64], f16, row_swizzle [1, 6, 1]>, !tile.view<f16, box [16, 64], swizzle 0>
  return
}

// -----

// expected-error @below {{a row swizzle is [bits, base, shift], once or twice, of rows of a power of two bytes}}
func.func @f(%k: !tile.smem<[16, 96], f16, row_swizzle [1, 6, 2]>)

// -----

// expected-error @below {{a row swizzle is [bits, base, shift], once or twice, of rows of a power of two bytes}}
func.func @f(%k: !tile.smem<[16, 64], f16, row_swizzle [1, 6]>)

// -----

// Units of 8 bytes would not stay whole.
// expected-error @below {{a row swizzle exchanges units of 16 bytes within rows of 128 bytes by bits of the row's number; [1, 3, 4] does not}}
func.func @f(%k: !tile.smem<[16, 64], f16, row_swizzle [1, 3, 4]>)

// -----

// Bits of the place in the row are none of the row's number.
// expected-error @below {{a row swizzle exchanges units of 16 bytes within rows of 128 bytes by bits of the row's number; [1, 4, 1] does not}}
func.func @f(%k: !tile.smem<[16, 64], f16, row_swizzle [1, 4, 1]>)

// -----

// expected-error @below {{a tile has a swizzle of its lines or of its rows, not both}}
func.func @f(%k: !tile.smem<[16, 64], f16, swizzle 128, row_swizzle [1, 6, 1]>)

// -----

!k = !tile.smem<[16, 64], f16>
!pipe = !tile.pipe<2 of [!k]>
gpu.module @m {
  gpu.func @kernel() kernel {
    %pipe = tile.pipe threads producers 4 consumers 4 : !pipe
    tile.barrier_init
    // expected-error @below {{'tile.cursor' op with 'of' expected a warp's ring, a pipe with 'cp_async'}}
    %c = tile.cursor of %pipe : !pipe
    gpu.return
  }
}

// -----

!k = !tile.smem<[16, 64], f16>
!pipe = !tile.pipe<2 of [!k]>
gpu.module @m {
  gpu.func @kernel(%x: memref<?xf16>, %i: index) kernel {
    %pipe = tile.pipe threads producers 4 consumers 4 : !pipe
    tile.barrier_init
    %c = tile.cursor
    %free = tile.acquire %pipe[%c] : !pipe -> !tile.stage<free>
    %k = tile.tiles %pipe[%free] : !pipe, !tile.stage<free> -> !k
    // expected-error @below {{'tile.cp_async_vector' op expected a pipe with 'cp_async', each warp's ring}}
    tile.cp_async_vector %x[%i] into %k[%i, %i] by 16 signal %pipe[%free] : memref<?xf16>, !k, !pipe, !tile.stage<free>
    tile.commit %pipe[%free] : !pipe, !tile.stage<free>
    gpu.return
  }
}

// -----

!k = !tile.smem<[16, 64], f16>
!ring = !tile.pipe<2 of [!k]>
func.func @f(%x: memref<?xf16>, %k: !k, %ring: !ring, %s: !tile.stage<full>, %i: index) {
  // expected-error @below {{'tile.cp_async_vector' op expected a free stage, got a full one}}
  tile.cp_async_vector %x[%i] into %k[%i, %i] by 16 signal %ring[%s] : memref<?xf16>, !k, !ring, !tile.stage<full>
  return
}

// -----

!k = !tile.smem<[16, 64], f16>
!ring = !tile.pipe<2 of [!k]>
func.func @f(%x: memref<?xf32>, %k: !k, %ring: !ring, %s: !tile.stage<free>, %i: index) {
  // expected-error @below {{'tile.cp_async_vector' op expected a memref of one dimension and of the tile's element type}}
  tile.cp_async_vector %x[%i] into %k[%i, %i] by 16 signal %ring[%s] : memref<?xf32>, !k, !ring, !tile.stage<free>
  return
}

// -----

!k = !tile.smem<[16, 64], f16>
!ring = !tile.pipe<2 of [!k]>
func.func @f(%x: memref<?xf16>, %k: !k, %ring: !ring, %s: !tile.stage<free>, %i: index) {
  // expected-error @below {{'tile.cp_async_vector' op expected 4, 8 or 16 bytes and a tile of plain rows of whole pieces of them}}
  tile.cp_async_vector %x[%i] into %k[%i, %i] by 2 signal %ring[%s] : memref<?xf16>, !k, !ring, !tile.stage<free>
  return
}

// -----

!k = !tile.smem<[16, 64], f16>
!ring = !tile.pipe<2 of [!k]>
func.func @f(%x: memref<?xf16>, %k: !k, %ring: !ring, %s: !tile.stage<free>, %i: index) {
  %p = arith.constant 0 : i64
  // expected-error @below {{'tile.cp_async_vector' op expected a policy of 'tile.cache_policy'}}
  tile.cp_async_vector %x[%i] into %k[%i, %i] by 16 policy %p signal %ring[%s] : memref<?xf16>, !k, !ring, !tile.stage<free>
  return
}

// -----

func.func @f(%k: !tile.smem<[16, 64], f32>, %i: index) {
  // expected-error @below {{'tile.load_matrix' op expected elements of 16 bits, and vector<4xi32>: two elements of each of the four matrices}}
  %v = tile.load_matrix %k[%i, %i] : !tile.smem<[16, 64], f32> -> vector<4xi32>
  return
}

// -----

// The second swizzle changes what the first one has.
// expected-error @below {{a row swizzle exchanges units of 16 bytes within rows of 128 bytes by bits of the row's number; [2, 4, 3, 2, 5, 5] does not}}
func.func @f(%k: !tile.smem<[16, 64], f16, row_swizzle [2, 4, 3, 2, 5, 5]>)

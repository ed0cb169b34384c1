// RUN: kpc-opt %s -verify-diagnostics -split-input-file

// Copies and products that threads make.

!a = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%x: memref<?xf16>, %a: !a) {
  // expected-error @below {{'tile.cp_async' op expected a memref of one dimension and of the tile's element type}}
  tile.cp_async %x into %a by 16 : memref<?xf16>, !a {
  ^bb0(%row: index, %column: index):
    tile.yield_address %row
  }
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%x: memref<?x64xbf16>, %a: !a) {
  // expected-error @below {{'tile.store_global' op expected a memref of one dimension and of the tile's element type}}
  tile.store_global %a to %x by 16 : !a, memref<?x64xbf16> {
  ^bb0(%row: index, %column: index):
    tile.yield_address %row
  }
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%x: memref<?xbf16>, %a: !a) {
  // expected-error @below {{'tile.cp_async' op expected pieces of 1, 2, 4, 8 or 16 bytes and of an element at least, got 12}}
  tile.cp_async %x into %a by 12 : memref<?xbf16>, !a {
  ^bb0(%row: index, %column: index):
    tile.yield_address %row
  }
  return
}

// -----

!a = !tile.smem<[64, 32], f32, swizzle 128>
func.func @f(%x: memref<?xf32>, %a: !a) {
  // expected-error @below {{'tile.cp_async' op expected pieces of 1, 2, 4, 8 or 16 bytes and of an element at least, got 2}}
  tile.cp_async %x into %a by 2 : memref<?xf32>, !a {
  ^bb0(%row: index, %column: index):
    tile.yield_address %row
  }
  return
}

// -----

!a = !tile.smem<[64, 64], bf16>
func.func @f(%x: memref<?xbf16>, %a: !a) {
  // expected-error @below {{'tile.cp_async' op expected a swizzled tile}}
  tile.cp_async %x into %a by 16 : memref<?xbf16>, !a {
  ^bb0(%row: index, %column: index):
    tile.yield_address %row
  }
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
gpu.module @m {
  gpu.func @kernel(%x: memref<?xbf16>) kernel {
    %a = tile.alloc : !a
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      // expected-error @below {{'tile.cp_async' op expected outside of roles: all threads of the block take part}}
      tile.cp_async %x into %a by 16 : memref<?xbf16>, !a {
      ^bb0(%row: index, %column: index):
        tile.yield_address %row
      }
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%x: memref<?xbf16>, %a: !a) {
  // expected-error @below {{'tile.cp_async' op expected a block with a piece's row and column}}
  tile.cp_async %x into %a by 16 : memref<?xbf16>, !a {
  ^bb0(%row: index):
    tile.yield_address %row
  }
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%x: memref<?xbf16>, %a: !a) {
  // expected-error @below {{'tile.cp_async' op expected a block that ends in 'tile.yield_address'}}
  tile.cp_async %x into %a by 16 : memref<?xbf16>, !a {
  ^bb0(%row: index, %column: index):
    llvm.unreachable
  }
  return
}

// -----

func.func @f(%i: index) {
  // expected-error @below {{'tile.yield_address' op expects parent op to be one of 'tile.cp_async, tile.store_global'}}
  tile.yield_address %i
}

// -----

func.func @f() {
  // expected-error @below {{'tile.cp_async_wait' op expected 0 or more groups in flight, got -1}}
  tile.cp_async_wait<-1>
  return
}

// -----

func.func @f(%a: !tile.smem<[64, 64], bf16, swizzle 128>, %b: !tile.smem<[64, 64], f16, swizzle 128>, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_sync' op expected two operands of f16, of bf16, of f32 (as tf32), of FP8 or of integers of 8 bits, got 'bf16' and 'f16'}}
  %d = tile.mma_sync %a, %b, %c : !tile.smem<[64, 64], bf16, swizzle 128>, !tile.smem<[64, 64], f16, swizzle 128> -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%a: !t, %c: !tile.fragment<[64, 64], bf16>) {
  // expected-error @below {{'tile.mma_sync' op expected accumulators of 'f32', got 'bf16'}}
  %d = tile.mma_sync %a, %a, %c : !t, !t -> !tile.fragment<[64, 64], bf16>
  return
}

// -----

!t = !tile.smem<[64, 64], bf16>
func.func @f(%a: !t, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_sync' op expected swizzled tiles}}
  %d = tile.mma_sync %a, %a, %c : !t, !t -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%a: !t, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_sync' op expected operands of f32 with 'split', got 'bf16'}}
  %d = tile.mma_sync split %a, %a, %c : !t, !t -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%a: !t, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_sync' op expected operands of f32 with 'cut', got 'bf16'}}
  %d = tile.mma_sync cut %a, %a, %c : !t, !t -> !tile.fragment<[64, 64], f32>
  return
}

// -----

func.func @f(%a: !tile.packed<[64, 32], f32>, %b: !tile.smem<[64, 32], f32, swizzle 128>, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_sync' op expected a b without 'transposed' beside packed f32}}
  %d = tile.mma_sync split %a, %b transposed, %c : !tile.packed<[64, 32], f32>, !tile.smem<[64, 32], f32, swizzle 128> -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[64, 64], bf16, swizzle 64>
func.func @f(%a: !t, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_sync' op expected a swizzle of 128 bytes for a transposed a}}
  %d = tile.mma_sync %a transposed, %a, %c : !t, !t -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[64, 64], bf16, swizzle 128>
!u = !tile.smem<[32, 64], bf16, swizzle 128>
func.func @f(%a: !t, %b: !u, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_sync' op expected one K in both operands, got 64 in a and 32 in b}}
  %d = tile.mma_sync %a, %b, %c : !t, !u -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[72, 64], bf16, swizzle 128>
func.func @f(%a: !t, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_sync' op expected a K that is a multiple of 16, got 72}}
  %d = tile.mma_sync %a transposed, %a, %c : !t, !t -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[32, 64], bf16, swizzle 128>
!u = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%a: !t, %b: !u, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_sync' op expected an M that is a multiple of 64 and an N of 16, got 32 and 64}}
  %d = tile.mma_sync %a, %b, %c : !t, !u -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%a: !t, %c: !tile.fragment<[64, 128], f32>) {
  // expected-error @below {{'tile.mma_sync' op expected a result of 64 rows and 64 columns, got 64 and 128}}
  %d = tile.mma_sync %a, %a, %c : !t, !t -> !tile.fragment<[64, 128], f32>
  return
}

// -----

!a = !tile.smem<[64, 64], i8, swizzle 64>
func.func @f(%x: memref<?xi8>, %a: !a) {
  // expected-error @below {{'tile.cp_async' op expected pieces of 4, 8 or 16 bytes, or of one element, got 2}}
  tile.cp_async %x into %a by 2 : memref<?xi8>, !a {
  ^bb0(%row: index, %column: index):
    tile.yield_address %row
  }
  return
}

// -----

!t = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%a: !tile.packed<[64, 64], bf16>, %b: !t, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_sync' op expected a packed operand without 'transposed'}}
  %d = tile.mma_sync %a transposed, %b, %c : !tile.packed<[64, 64], bf16>, !t -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[64, 64], i8, swizzle 64>
func.func @f(%a: !t, %c: !tile.fragment<[64, 64], i32>) {
  // expected-error @below {{'tile.mma_sync' op on 'i8' expected both operands contiguous along K}}
  %d = tile.mma_sync %a, %a, %c : !t, !t -> !tile.fragment<[64, 64], i32>
  return
}

// -----

!t = !tile.smem<[64, 64], f8E4M3FN, swizzle 64>
func.func @f(%a: !t, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_sync' op on 'f8E4M3FN' expected both operands contiguous along K}}
  %d = tile.mma_sync %a, %a, %c : !t, !t -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[64, 64], i8, swizzle 64>
func.func @f(%a: !t, %c: !tile.fragment<[64, 64], i32>) {
  // expected-error @below {{'tile.mma_sync' op expected operands of FP8 beside 'promoted', got 'i8'}}
  %d = tile.mma_sync promoted %a, %a transposed, %c : !t, !t -> !tile.fragment<[64, 64], i32>
  return
}

// -----

func.func @f(%a: !tile.smem<[64, 64], bf16, swizzle 128>) {
  // expected-error @below {{'tile.load_packed' op expected a result of the tile's shape and element type}}
  %d = tile.load_packed %a : !tile.smem<[64, 64], bf16, swizzle 128> -> !tile.packed<[64, 32], bf16>
  return
}

// -----

!t = !tile.smem<[64, 64], i8, swizzle 64>
func.func @f(%a: !t, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_sync' op expected accumulators of 'i32', got 'f32'}}
  %d = tile.mma_sync %a, %a transposed, %c : !t, !t -> !tile.fragment<[64, 64], f32>
  return
}

// -----

func.func @f(%a: !tile.smem<[64, 64], bf16>) {
  // expected-error @below {{'tile.load_packed' op expected a swizzled tile of 16-bit elements, a multiple of 64 rows and of 16 columns}}
  %d = tile.load_packed %a : !tile.smem<[64, 64], bf16> -> !tile.packed<[64, 64], bf16>
  return
}

// -----

func.func @f(%a: !tile.fragment<[64, 64], f16>) {
  // expected-error @below {{'tile.any_nan' op expected elements of f32, got 'f16'}}
  %any = tile.any_nan %a : !tile.fragment<[64, 64], f16>
  return
}

// -----

gpu.module @m {
  gpu.func @f(%v: f32) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      %a = tile.splat %v : f32 -> !tile.fragment<[64, 64], f32>
      // expected-error @below {{'tile.any_nan' op expected to be outside of roles: all threads of the block meet}}
      %any = tile.any_nan %a : !tile.fragment<[64, 64], f32>
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[64, 64], f8E4M3FN, swizzle 64>
!s = !tile.smem<[1, 256], ui8>
func.func @f(%a: !a, %s: !s, %i: index, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_scaled' op expected bytes of two codes, got 'f8E4M3FN'}}
  %d = tile.mma_scaled mxfp4 %a scales %s, %a scales %s rows [%i, %i], %c : !a, !s, !a, !s -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!a = !tile.smem<[64, 64], ui8, swizzle 64>
!s = !tile.smem<[1, 256], i8>
func.func @f(%a: !a, %s: !s, %i: index, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_scaled' op expected scales as bytes, without a swizzle}}
  %d = tile.mma_scaled mxfp4 %a scales %s, %a scales %s rows [%i, %i], %c : !a, !s, !a, !s -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!a = !tile.smem<[64, 64], ui8, swizzle 64>
!s = !tile.smem<[1, 256], ui8>
func.func @f(%a: !a, %s: !s, %i: index, %c: !tile.fragment<[64, 32], f32>) {
  // expected-error @below {{'tile.mma_scaled' op expected a result of 64 rows and 64 columns of f32, got '!tile.fragment<[64, 32], f32>'}}
  %d = tile.mma_scaled mxfp4 %a scales %s, %a scales %s rows [%i, %i], %c : !a, !s, !a, !s -> !tile.fragment<[64, 32], f32>
  return
}

// -----

!s = !tile.smem<[1, 256], ui8>
func.func @f(%a: !tile.smem<[64, 128], ui8, swizzle 128>, %s: !s, %i: index, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_scaled' op expected codes of FP8, got 'ui8'}}
  %d = tile.mma_scaled mxfp8 %a scales %s, %a scales %s rows [%i, %i], %c : !tile.smem<[64, 128], ui8, swizzle 128>, !s, !tile.smem<[64, 128], ui8, swizzle 128>, !s -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!a = !tile.smem<[64, 64], f8E4M3FN, swizzle 64>
!s = !tile.smem<[1, 256], ui8>
func.func @f(%a: !a, %s: !s, %i: index, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_scaled' op expected one number of bytes along K in both operands, a multiple of 128, got 64 and 64}}
  %d = tile.mma_scaled mxfp8 %a scales %s, %a scales %s rows [%i, %i], %c : !a, !s, !a, !s -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!a = !tile.smem<[64, 64], ui8, swizzle 64>
!s = !tile.smem<[1, 256], ui8>
func.func @f(%a: !a, %s: !s, %i: index, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_scaled' op expected scales of 2 words for at least 64 rows, got 1 for 64}}
  %d = tile.mma_scaled nvfp4 %a scales %s, %a scales %s rows [%i, %i], %c : !a, !s, !a, !s -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!a = !tile.smem<[192, 64], ui8, swizzle 64>
!s = !tile.smem<[1, 768], ui8>
func.func @f(%a: !a, %s: !s, %i: index, %c: !tile.fragment<[192, 192], f32>) {
  // expected-error @below {{'tile.mma_scaled' op expected an M of 64 or a multiple of 128, and an N that is one of 32, got 192 and 192}}
  %d = tile.mma_scaled mxfp4 %a scales %s, %a scales %s rows [%i, %i], %c : !a, !s, !a, !s -> !tile.fragment<[192, 192], f32>
  return
}

// -----

!t = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%a: !t) {
  // expected-error @below {{'tile.load_factors' op expected a step less than 4, got 4}}
  %d = tile.load_factors %a, %a transposed step 4 : !t, !t -> !tile.factors<[64, 64], bf16, bf16>
  return
}

// -----

!t = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%a: !t) {
  // expected-error @below {{'tile.load_factors' op expected a result of the operands' rows, columns and types, got '!tile.factors<[64, 64], f16, f16>'}}
  %d = tile.load_factors %a, %a transposed step 0 : !t, !t -> !tile.factors<[64, 64], f16, f16>
  return
}

// -----

!t = !tile.smem<[64, 8], f32, swizzle 32>
func.func @f(%a: !t) {
  // expected-error @below {{'tile.load_factors' op expected factors that are not 'split'}}
  %d = tile.load_factors split %a, %a transposed step 0 : !t, !t -> !tile.factors<[64, 64], f32, f32>
  return
}

// -----

func.func @f(%f: !tile.factors<[64, 64], i8, ui8>, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_factors' op expected a result of the factors' rows and columns, of 'i32', got '!tile.fragment<[64, 64], f32>'}}
  %d = tile.mma_factors %f, %c : !tile.factors<[64, 64], i8, ui8>, !tile.fragment<[64, 64], f32>
  return
}

// -----

// expected-error @below {{factors are of a multiple of 64 rows and of 16 columns}}
func.func @f(%f: !tile.factors<[64, 24], f16, f16>)

// -----

// expected-error @below {{factors are of as many bits, not 'f16' and 'i8'}}
func.func @f(%f: !tile.factors<[64, 32], f16, i8>)

// -----

!a = !tile.smem<[64, 24], bf16>
func.func @f(%x: memref<?xbf16>, %a: !a) {
  // expected-error @below {{'tile.cp_async' op expected whole pieces within a plain row of 24 columns, got 20}}
  tile.cp_async %x into %a by 16 columns 20 : memref<?xbf16>, !a {
  ^bb0(%row: index, %column: index):
    tile.yield_address %row
  }
  return
}

// -----

!image = !tile.smem<[108, 24], f16>
!filter = !tile.smem<[144, 32], bf16, swizzle 64>
!d = !tile.fragment<[64, 32], f32>
func.func @f(%x: !image, %w: !filter, %c: !d) {
  // expected-error @below {{'tile.mma_window' op expected an image and a filter of f16 or of bf16, got 'f16' and 'bf16'}}
  %d = tile.mma_window %x width 18 channels 16, %w, %c taps [3, 3] strides [1, 1] dilations [1, 1] lines 4 : !image, !filter -> !d
  return
}

// -----

!image = !tile.smem<[108, 24], f16>
!filter = !tile.smem<[144, 32], f16, swizzle 64>
!d = !tile.fragment<[64, 32], f32>
func.func @f(%x: !image, %w: !filter, %c: !d) {
  // expected-error @below {{'tile.mma_window' op expected two taps, strides and dilations of 1 or more}}
  %d = tile.mma_window %x width 18 channels 16, %w, %c taps [3, 3] strides [1, 0] dilations [1, 1] lines 4 : !image, !filter -> !d
  return
}

// -----

!image = !tile.smem<[108, 24], f16>
!filter = !tile.smem<[144, 32], f16, swizzle 64>
!d = !tile.fragment<[64, 32], f32>
func.func @f(%x: !image, %w: !filter, %c: !d) {
  // expected-error @below {{'tile.mma_window' op expected a multiple of 8 channels, or more than an image's row has, with one tap in a line and no bytes between rows}}
  %d = tile.mma_window %x width 18 channels 12, %w, %c taps [3, 3] strides [1, 1] dilations [1, 1] lines 4 : !image, !filter -> !d
  return
}

// -----

!image = !tile.smem<[108, 20], f16>
!filter = !tile.smem<[144, 32], f16, swizzle 64>
!d = !tile.fragment<[64, 32], f32>
func.func @f(%x: !image, %w: !filter, %c: !d) {
  // expected-error @below {{'tile.mma_window' op expected plain rows of an image of a multiple of 8 columns}}
  %d = tile.mma_window %x width 18 channels 16, %w, %c taps [3, 3] strides [1, 1] dilations [1, 1] lines 4 : !image, !filter -> !d
  return
}

// -----

// More channels than a row has go on in the next rows: with one tap in a line.
!image = !tile.smem<[108, 8], f16>
!filter = !tile.smem<[144, 32], f16, swizzle 64>
!d = !tile.fragment<[64, 32], f32>
func.func @f(%x: !image, %w: !filter, %c: !d) {
  // expected-error @below {{'tile.mma_window' op expected a multiple of 8 channels, or more than an image's row has, with one tap in a line and no bytes between rows}}
  %d = tile.mma_window %x width 18 channels 12, %w, %c taps [3, 3] strides [1, 1] dilations [1, 1] lines 4 : !image, !filter -> !d
  return
}

// -----

// Channels of the last pixel need another one in each line.
!image = !tile.smem<[96, 8], f16>
!filter = !tile.smem<[48, 32], f16, swizzle 64>
!d = !tile.fragment<[64, 32], f32>
func.func @f(%x: !image, %w: !filter, %c: !d) {
  // expected-error @below {{'tile.mma_window' op expected a width of pixels for a multiple of 16 places, got 16}}
  %d = tile.mma_window %x width 16 channels 12, %w, %c taps [3, 1] strides [1, 1] dilations [1, 1] lines 4 : !image, !filter -> !d
  return
}

// -----

!image = !tile.smem<[108, 24], f16>
!filter = !tile.smem<[128, 32], f16, swizzle 64>
!d = !tile.fragment<[64, 32], f32>
func.func @f(%x: !image, %w: !filter, %c: !d) {
  // expected-error @below {{'tile.mma_window' op expected a swizzled filter of 144 rows, 16 at least, and of a multiple of 16 columns}}
  %d = tile.mma_window %x width 18 channels 16, %w, %c taps [3, 3] strides [1, 1] dilations [1, 1] lines 4 : !image, !filter -> !d
  return
}

// -----

!image = !tile.smem<[108, 24], f16>
!filter = !tile.smem<[144, 32], f16, swizzle 64>
!d = !tile.fragment<[64, 64], f32>
func.func @f(%x: !image, %w: !filter, %c: !d) {
  // expected-error @below {{'tile.mma_window' op expected a result of f32 with the filter's 32 columns, got '!tile.fragment<[64, 64], f32>'}}
  %d = tile.mma_window %x width 18 channels 16, %w, %c taps [3, 3] strides [1, 1] dilations [1, 1] lines 4 : !image, !filter -> !d
  return
}

// -----

!image = !tile.smem<[108, 24], f16>
!filter = !tile.smem<[144, 32], f16, swizzle 64>
!d = !tile.fragment<[64, 32], f32>
func.func @f(%x: !image, %w: !filter, %c: !d) {
  // expected-error @below {{'tile.mma_window' op expected a width of pixels for a multiple of 16 places, got 17}}
  %d = tile.mma_window %x width 17 channels 16, %w, %c taps [3, 3] strides [1, 1] dilations [1, 1] lines 4 : !image, !filter -> !d
  return
}

// -----

!image = !tile.smem<[108, 24], f16>
!filter = !tile.smem<[144, 32], f16, swizzle 64>
!d = !tile.fragment<[128, 32], f32>
func.func @f(%x: !image, %w: !filter, %c: !d) {
  // expected-error @below {{'tile.mma_window' op expected lines that are a multiple of the 2 of a warp, got 3}}
  %d = tile.mma_window %x width 18 channels 16, %w, %c taps [3, 3] strides [1, 1] dilations [1, 1] lines 3 : !image, !filter -> !d
  return
}

// -----

!image = !tile.smem<[90, 24], f16>
!filter = !tile.smem<[144, 32], f16, swizzle 64>
!d = !tile.fragment<[64, 32], f32>
func.func @f(%x: !image, %w: !filter, %c: !d) {
  // expected-error @below {{'tile.mma_window' op expected an image of 108 pixels, got 90}}
  %d = tile.mma_window %x width 18 channels 16, %w, %c taps [3, 3] strides [1, 1] dilations [1, 1] lines 4 : !image, !filter -> !d
  return
}

// -----

!image = !tile.smem<[108, 24], f16>
!filter = !tile.smem<[144, 32], f16, swizzle 64>
func.func @f(%x: !image, %w: !filter, %c: !tile.fragment<[128, 32], f32>) {
  // expected-error @below {{'tile.mma_window' op expected a result of 64 rows, the places of all lines, got 128}}
  %d = tile.mma_window %x width 18 channels 16, %w, %c taps [3, 3] strides [1, 1] dilations [1, 1] lines 4 : !image, !filter -> !tile.fragment<[128, 32], f32>
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%x: memref<?xbf16>, %a: !a) {
  // expected-error @below {{'tile.cp_async' op with 'warpgroup' expected in a role of whole warpgroups}}
  tile.cp_async %x into %a by 16 warpgroup : memref<?xbf16>, !a {
  ^bb0(%row: index, %column: index):
    tile.yield_address %row
  }
  return
}

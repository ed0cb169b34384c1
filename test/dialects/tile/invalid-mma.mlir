// RUN: kpc-opt %s -verify-diagnostics -split-input-file

// Products and fragments.

!a = !tile.smem<[64, 64], f16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 64], f32>>
func.func @f(%a: !a, %b: !b) {
  // expected-error @below {{'tile.mma' op expected two operands of f16, of bf16, of f32 (as tf32), of FP8 or of integers of 8 bits, got 'f16' and 'bf16'}}
  %d = tile.mma %a, %b : !a, !b -> !p
  return
}

// -----

!a = !tile.smem<[64, 128], i8, swizzle 128>
!b = !tile.smem<[128, 128], i8, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 128], f32>>
func.func @f(%a: !a, %b: !b) {
  // expected-error @below {{'tile.mma' op expected accumulators of 'i32', got 'f32'}}
  %d = tile.mma %a, %b transposed : !a, !b -> !p
  return
}

// -----

!a = !tile.smem<[64, 128], i8, swizzle 128>
!b = !tile.smem<[128, 128], ui8, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 128], i32>>
func.func @f(%a: !a, %b: !b) {
  // expected-error @below {{'tile.mma' op on 'i8' expected both operands contiguous along K}}
  %d = tile.mma %a, %b : !a, !b -> !p
  return
}

// -----

!a = !tile.smem<[64, 128], i8, swizzle 128>
!b = !tile.smem<[40, 128], i8, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 40], i32>>
func.func @f(%a: !a, %b: !b) {
  // expected-error @below {{'tile.mma' op of integers expected an N of 8 up to 32, or a multiple of 16, got 40}}
  %d = tile.mma %a, %b transposed : !a, !b -> !p
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 64], bf16>>
func.func @f(%a: !a) {
  // expected-error @below {{'tile.mma' op expected accumulators of 'f32', got 'bf16'}}
  %d = tile.mma %a, %a : !a, !a -> !p
  return
}

// -----

!a = !tile.smem<[64, 128], f8E4M3FN, swizzle 128>
!b = !tile.smem<[128, 128], f8E5M2, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 128], f32>>
func.func @f(%a: !a, %b: !b) {
  // expected-error @below {{'tile.mma' op on 'f8E4M3FN' expected both operands contiguous along K}}
  %d = tile.mma %a, %b : !a, !b -> !p
  return
}

// -----

!a = !tile.smem<[64, 64], f32, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 64], f32>>
func.func @f(%a: !a) {
  // expected-error @below {{'tile.mma' op on 'f32' expected both operands contiguous along K}}
  %d = tile.mma %a, %a : !a, !a -> !p
  return
}

// -----

!a = !tile.smem<[64, 64], bf16>
!p = !tile.pending<!tile.fragment<[64, 64], f32>>
func.func @f(%a: !a) {
  // expected-error @below {{'tile.mma' op expected swizzled tiles}}
  %d = tile.mma %a, %a : !a, !a -> !p
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!b = !tile.smem<[32, 64], bf16, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 64], f32>>
func.func @f(%a: !a, %b: !b) {
  // expected-error @below {{'tile.mma' op expected one K in both operands, got 64 in a and 32 in b}}
  %d = tile.mma %a, %b : !a, !b -> !p
  return
}

// -----

!a = !tile.smem<[24, 64], bf16, swizzle 128>
!b = !tile.smem<[24, 64], bf16, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 64], f32>>
func.func @f(%a: !a, %b: !b) {
  // expected-error @below {{'tile.mma' op expected a K that is a multiple of 16, got 24}}
  %d = tile.mma %a transposed, %b : !a, !b -> !p
  return
}

// -----

!a = !tile.smem<[32, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 64], f32>>
func.func @f(%a: !a, %b: !b) {
  // expected-error @below {{'tile.mma' op expected an M that is a multiple of 64 and an N of 8 up to 256, got 32 and 64}}
  %d = tile.mma %a, %b : !a, !b -> !p
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 320], bf16, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 320], f32>>
func.func @f(%a: !a, %b: !b) {
  // expected-error @below {{'tile.mma' op expected an M that is a multiple of 64 and an N of 8 up to 256, got 64 and 320}}
  %d = tile.mma %a, %b : !a, !b -> !p
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 128], f32>>
func.func @f(%a: !a) {
  // expected-error @below {{'tile.mma' op expected a result of 64 rows and 64 columns, got 64 and 128}}
  %d = tile.mma %a, %a : !a, !a -> !p
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 64], f32>>
!c = !tile.fragment<[64, 128], f32>
func.func @f(%a: !a, %c: !c) {
  // expected-error @below {{'tile.mma' op expected accumulators of the result's type}}
  %d = tile.mma %a, %a, %c : !a, !a, !c -> !p
  return
}

// -----

// Nobody would wait for it.
!a = !tile.smem<[64, 64], bf16, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 64], f32>>
func.func @f(%a: !a) {
  // expected-error @below {{'tile.mma' op expected exactly one use of the pending fragment, got 0}}
  %d = tile.mma %a, %a : !a, !a -> !p
  return
}

// -----

// Two products that add to the same sums at once.
!p = !tile.pending<!tile.fragment<[64, 64], f32>>
!d = !tile.fragment<[64, 64], f32>
func.func @f(%p: !p) {
  // expected-error @below {{'tile.wgmma_wait' op expected exactly one use of the pending fragment, got 2}}
  %q = tile.wgmma_wait<0> %p : !p
  %x = tile.await %q : !p -> !d
  %y = tile.await %q : !p -> !d
  return
}

// -----

!p = !tile.pending<!tile.fragment<[64, 64], f32>>
func.func @f(%p: !p) {
  // expected-error @below {{'tile.await' op expected the type of the pending fragment as result}}
  %d = tile.await %p : !p -> !tile.fragment<[64, 32], f32>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.extract_columns' op expected a part with the fragment's rows and element type}}
  %p = tile.extract_columns %d from 0 : !tile.fragment<[64, 64], f32> -> !tile.fragment<[64, 32], bf16>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.extract_columns' op expected columns of the fragment, from a multiple of 8 on}}
  %p = tile.extract_columns %d from 4 : !tile.fragment<[64, 64], f32> -> !tile.fragment<[64, 32], f32>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.extract_columns' op expected columns of the fragment, from a multiple of 8 on}}
  %p = tile.extract_columns %d from 40 : !tile.fragment<[64, 64], f32> -> !tile.fragment<[64, 32], f32>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.extract_columns' op expected columns of the fragment, from a multiple of 8 on}}
  %q = tile.extract_columns %d from -8 : !tile.fragment<[64, 64], f32> -> !tile.fragment<[64, 32], f32>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.extract_columns' op expected a rotate_half that is 1 or a multiple of 8, and half of a divisor of the fragment's columns, got 4}}
  %p = tile.extract_columns %d from 0 rotate_half 4 : !tile.fragment<[64, 64], f32> -> !tile.fragment<[64, 32], f32>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.extract_columns' op expected a rotate_half that is 1 or a multiple of 8, and half of a divisor of the fragment's columns, got -8}}
  %p = tile.extract_columns %d from 0 rotate_half -8 : !tile.fragment<[64, 64], f32> -> !tile.fragment<[64, 32], f32>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.extract_columns' op expected a rotate_half that is 1 or a multiple of 8, and half of a divisor of the fragment's columns, got 24}}
  %p = tile.extract_columns %d from 0 rotate_half 24 : !tile.fragment<[64, 64], f32> -> !tile.fragment<[64, 32], f32>
  return
}

// -----

!d = !tile.fragment<[64, 64], f32>
func.func @f(%d: !d, %i: index) {
  // expected-error @below {{'tile.map' op expected a result of the fragment's shape}}
  %y = tile.map %d at [%i, %i] within [%i, %i] : !d -> !tile.fragment<[64, 32], f32> {
  ^bb0(%v: f32, %row: index, %column: index):
    tile.yield %v : f32
  }
  return
}

// -----

!d = !tile.fragment<[64, 64], f32>
func.func @f(%d: !d, %i: index) {
  // expected-error @below {{'tile.map' op expected two coordinates, a bound of the rows and perhaps one of the columns}}
  %y = tile.map %d at [%i] within [%i, %i] : !d -> !d {
  ^bb0(%v: f32, %row: index, %column: index):
    tile.yield %v : f32
  }
  return
}

// -----

!d = !tile.fragment<[64, 64], f32>
func.func @f(%d: !d, %i: index) {
  // expected-error @below {{'tile.map' op expected a block with the element, its row and its column, and the paired elements}}
  %y = tile.map %d at [%i, %i] within [%i, %i] : !d -> !d {
  ^bb0(%v: f32, %row: index):
    tile.yield %v : f32
  }
  return
}

// -----

!d = !tile.fragment<[64, 64], f32>
func.func @f(%d: !d, %i: index) {
  // expected-error @below {{'tile.map' op expected a block with the element, its row and its column, and the paired elements}}
  %y = tile.map %d at [%i, %i] within [%i, %i] with %d : !d, !d -> !d {
  ^bb0(%v: f32, %row: index, %column: index):
    tile.yield %v : f32
  }
  return
}

// -----

!d = !tile.fragment<[64, 64], f32>
func.func @f(%d: !d, %e: !tile.fragment<[64, 32], f32>, %i: index) {
  // expected-error @below {{'tile.map' op expected paired fragments of one shape and layout}}
  %y = tile.map %d at [%i, %i] within [%i, %i] with %e : !d, !tile.fragment<[64, 32], f32> -> !d {
  ^bb0(%v: f32, %row: index, %column: index, %w: f32):
    tile.yield %v : f32
  }
  return
}

// -----

!d = !tile.fragment<[64, 64], f32>
func.func @f(%d: !d, %i: index) {
  // expected-error @below {{'tile.map' op expected to yield 'f16'}}
  %y = tile.map %d at [%i, %i] within [%i, %i] : !d -> !tile.fragment<[64, 64], f16> {
  ^bb0(%v: f32, %row: index, %column: index):
    tile.yield %v : f32
  }
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 64], bf16>, %t: !tile.smem<[64, 128], bf16, swizzle 128>) {
  // expected-error @below {{'tile.store_shared' op expected a tile of the fragment's shape and element type}}
  tile.store_shared %d into %t : !tile.fragment<[64, 64], bf16>, !tile.smem<[64, 128], bf16, swizzle 128>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 32], bf16>, %t: !tile.smem<[64, 32], bf16, swizzle 64>) {
  // expected-error @below {{'tile.store_shared' op expected a tile of the fragment's shape and element type}}
  tile.store_shared %d into %t transposed : !tile.fragment<[64, 32], bf16>, !tile.smem<[64, 32], bf16, swizzle 64>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 24], bf16>, %t: !tile.smem<[24, 64], bf16, swizzle 128>) {
  // expected-error @below {{'tile.store_shared' op with 'transposed' expected 64 rows and a multiple of 16 columns, and no 'in pairs'}}
  tile.store_shared %d into %t transposed : !tile.fragment<[64, 24], bf16>, !tile.smem<[24, 64], bf16, swizzle 128>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 64], i64>, %t: !tile.smem<[64, 64], i64, swizzle 128>) {
  // expected-error @below {{'tile.store_shared' op expected elements of 8, 16 or 32 bits, a multiple of 16 columns and a swizzled tile}}
  tile.store_shared %d into %t : !tile.fragment<[64, 64], i64>, !tile.smem<[64, 64], i64, swizzle 128>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 64], bf16>, %t: !tile.smem<[64, 64], bf16>) {
  // expected-error @below {{'tile.store_shared' op expected elements of 8, 16 or 32 bits, a multiple of 16 columns and a swizzled tile}}
  tile.store_shared %d into %t : !tile.fragment<[64, 64], bf16>, !tile.smem<[64, 64], bf16>
  return
}

// -----

func.func @f(%t: !tile.smem<[64, 64], bf16, swizzle 128>) {
  // expected-error @below {{'tile.load_shared' op expected a tile of the fragment's shape and element type}}
  %d = tile.load_shared %t : !tile.smem<[64, 64], bf16, swizzle 128> -> !tile.fragment<[64, 64], f16>
  return
}

// -----

func.func @f(%t: !tile.smem<[64, 64], bf16>) {
  // expected-error @below {{'tile.load_shared' op expected elements of 8, 16 or 32 bits, a multiple of 16 columns and a swizzled tile}}
  %d = tile.load_shared %t : !tile.smem<[64, 64], bf16> -> !tile.fragment<[64, 64], bf16>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.yield' op expects parent op to be one of 'tile.map, tile.apply, tile.role, tile.elect'}}
  tile.yield
}

// -----

!p = !tile.pending<!tile.fragment<[64, 64], f32>>
!d = !tile.fragment<[64, 64], f32>
func.func @f(%p: !p) {
  // expected-error @below {{'tile.wgmma_wait' op expected 0 or more products in flight, got -1}}
  %q = tile.wgmma_wait<-1> %p : !p
  %x = tile.await %q : !p -> !d
  return
}

// -----

!d = !tile.fragment<[64, 64], f32>
func.func @f(%d: !d, %i: index) {
  // expected-error @below {{'tile.map' op expects a non-empty block}}
  %y = tile.map %d at [%i, %i] within [%i, %i] : !d -> !d {
  ^bb0(%v: f32, %row: index, %column: index):
  }
  return
}

// -----

func.func @f(%t: !tile.smem<[2, 64], f32, swizzle 0>, %i: index) {
  // expected-error @below {{'tile.load_columns' op expected a tile of one plain row}}
  %b = tile.load_columns %t[%i] : !tile.smem<[2, 64], f32, swizzle 0> -> !tile.fragment<[64, 64], f32>
  return
}

// -----

func.func @f(%t: !tile.smem<[1, 64], f32, swizzle 0>, %i: index) {
  // expected-error @below {{'tile.load_columns' op expected elements of 16 or 32 bits, and of one type, in both}}
  %b = tile.load_columns %t[%i] : !tile.smem<[1, 64], f32, swizzle 0> -> !tile.fragment<[64, 64], f16>
  return
}

// -----

func.func @f(%t: !tile.smem<[1, 64], f32, swizzle 0>, %i: index) {
  // expected-error @below {{'tile.load_columns' op expected a multiple of 8 columns, at most the tile's 32, got 64}}
  %b = tile.load_columns twice %t[%i] : !tile.smem<[1, 64], f32, swizzle 0> -> !tile.fragment<[64, 64], f32>
  return
}

// -----

func.func @f(%t: !tile.smem<[1, 64], f16, swizzle 0>, %i: index) {
  // expected-error @below {{'tile.load_columns' op with 'twice' expected elements of 32 bits}}
  %b = tile.load_columns twice %t[%i] : !tile.smem<[1, 64], f16, swizzle 0> -> !tile.fragment<[64, 32], f16>
  return
}

// -----

func.func @f(%t: !tile.smem<[1, 64], f32, swizzle 0>, %i: index) {
  // expected-error @below {{'tile.load_columns' op expected a multiple of 8 columns, at most the tile's 64, got 72}}
  %b = tile.load_columns %t[%i] : !tile.smem<[1, 64], f32, swizzle 0> -> !tile.fragment<[64, 72], f32>
  return
}

// -----

func.func @f(%t: !tile.smem<[1, 64], f32, swizzle 0>, %i: index) {
  // expected-error @below {{'tile.load_columns' op expected fragments in the layout of wgmma, got tmem_32x32b}}
  %b = tile.load_columns %t[%i] : !tile.smem<[1, 64], f32, swizzle 0> -> !tile.fragment<[128, 64], f32, tmem_32x32b>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.paired_rows' op expected 1 or 8 rows, got 16}}
  %p = tile.paired_rows %d by 16 : !tile.fragment<[64, 64], f32>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 32], bf16>, %t: !tile.smem<[32, 128], bf16, swizzle 128>, %group: index) {
  // expected-error @below {{'tile.store_shared' op with 'of' expected 'transposed', rows a multiple of 8 apart, and a multiple of 64 columns that are whole runs of twice as many}}
  tile.store_shared %d into %t transposed of %group apart 20 : !tile.fragment<[64, 32], bf16>, !tile.smem<[32, 128], bf16, swizzle 128>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 32], bf16>, %t: !tile.smem<[32, 192], bf16, swizzle 128>, %group: index) {
  // expected-error @below {{'tile.store_shared' op with 'of' expected 'transposed', rows a multiple of 8 apart, and a multiple of 64 columns that are whole runs of twice as many}}
  tile.store_shared %d into %t transposed of %group apart 64 : !tile.fragment<[64, 32], bf16>, !tile.smem<[32, 192], bf16, swizzle 128>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 32], bf16>, %t: !tile.smem<[64, 64], bf16, swizzle 128>, %group: index) {
  // expected-error @below {{'tile.store_shared' op expected a tile of the fragment's shape and element type}}
  tile.store_shared %d into %t transposed of %group apart 32 : !tile.fragment<[64, 32], bf16>, !tile.smem<[64, 64], bf16, swizzle 128>
  return
}

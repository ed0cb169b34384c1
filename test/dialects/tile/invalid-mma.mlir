// RUN: kpc-opt %s -verify-diagnostics -split-input-file

// Products and fragments.

!a = !tile.smem<[64, 64], f16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 64], f32>>
func.func @f(%a: !a, %b: !b) {
  // expected-error @below {{'tile.mma' op multiplies f16, bf16 or f32 (as tf32), both alike}}
  %d = tile.mma %a, %b : !a, !b -> !p
  return
}

// -----

!a = !tile.smem<[64, 128], i8, swizzle 128>
!b = !tile.smem<[128, 128], i8, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 128], f32>>
func.func @f(%a: !a, %b: !b) {
  // expected-error @below {{'tile.mma' op multiplies f16, bf16 or f32 (as tf32), both alike}}
  %d = tile.mma %a, %b : !a, !b -> !p
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 64], bf16>>
func.func @f(%a: !a) {
  // expected-error @below {{'tile.mma' op sums up in f32}}
  %d = tile.mma %a, %a : !a, !a -> !p
  return
}

// -----

!a = !tile.smem<[64, 64], f32, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 64], f32>>
func.func @f(%a: !a) {
  // expected-error @below {{'tile.mma' op on f32 needs both operands with K side by side}}
  %d = tile.mma %a, %a : !a, !a -> !p
  return
}

// -----

!a = !tile.smem<[64, 64], bf16>
!p = !tile.pending<!tile.fragment<[64, 64], f32>>
func.func @f(%a: !a) {
  // expected-error @below {{'tile.mma' op reads swizzled tiles}}
  %d = tile.mma %a, %a : !a, !a -> !p
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!b = !tile.smem<[32, 64], bf16, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 64], f32>>
func.func @f(%a: !a, %b: !b) {
  // expected-error @below {{'tile.mma' op has sums of 64 in a and of 32 in b}}
  %d = tile.mma %a, %b : !a, !b -> !p
  return
}

// -----

!a = !tile.smem<[24, 64], bf16, swizzle 128>
!b = !tile.smem<[24, 64], bf16, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 64], f32>>
func.func @f(%a: !a, %b: !b) {
  // expected-error @below {{'tile.mma' op has sums of 24, not a multiple of 16}}
  %d = tile.mma %a transposed, %b : !a, !b -> !p
  return
}

// -----

!a = !tile.smem<[32, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 64], f32>>
func.func @f(%a: !a, %b: !b) {
  // expected-error @below {{'tile.mma' op of 32 rows and 64 columns: rows are a multiple of 64, columns of 8 up to 256}}
  %d = tile.mma %a, %b : !a, !b -> !p
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 320], bf16, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 320], f32>>
func.func @f(%a: !a, %b: !b) {
  // expected-error @below {{'tile.mma' op of 64 rows and 320 columns: rows are a multiple of 64, columns of 8 up to 256}}
  %d = tile.mma %a, %b : !a, !b -> !p
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 128], f32>>
func.func @f(%a: !a) {
  // expected-error @below {{'tile.mma' op gives 64 rows and 64 columns}}
  %d = tile.mma %a, %a : !a, !a -> !p
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 64], f32>>
!c = !tile.fragment<[64, 128], f32>
func.func @f(%a: !a, %c: !c) {
  // expected-error @below {{'tile.mma' op adds to a fragment of the result's type}}
  %d = tile.mma %a, %a, %c : !a, !a, !c -> !p
  return
}

// -----

// Nobody would wait for it.
!a = !tile.smem<[64, 64], bf16, swizzle 128>
!p = !tile.pending<!tile.fragment<[64, 64], f32>>
func.func @f(%a: !a) {
  // expected-error @below {{'tile.mma' op gives a pending fragment that is not used exactly once}}
  %d = tile.mma %a, %a : !a, !a -> !p
  return
}

// -----

// Two products that add to the same sums at once.
!p = !tile.pending<!tile.fragment<[64, 64], f32>>
!d = !tile.fragment<[64, 64], f32>
func.func @f(%p: !p) {
  // expected-error @below {{'tile.wgmma_wait' op gives a pending fragment that is not used exactly once}}
  %q = tile.wgmma_wait<0> %p : !p
  %x = tile.await %q : !p -> !d
  %y = tile.await %q : !p -> !d
  return
}

// -----

!p = !tile.pending<!tile.fragment<[64, 64], f32>>
func.func @f(%p: !p) {
  // expected-error @below {{'tile.await' op gives the fragment that is pending}}
  %d = tile.await %p : !p -> !tile.fragment<[64, 32], f32>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.extract_columns' op keeps rows and element}}
  %p = tile.extract_columns %d from 0 : !tile.fragment<[64, 64], f32> -> !tile.fragment<[64, 32], bf16>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.extract_columns' op takes columns that are there, from a multiple of 8}}
  %p = tile.extract_columns %d from 4 : !tile.fragment<[64, 64], f32> -> !tile.fragment<[64, 32], f32>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.extract_columns' op takes columns that are there, from a multiple of 8}}
  %p = tile.extract_columns %d from 40 : !tile.fragment<[64, 64], f32> -> !tile.fragment<[64, 32], f32>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.extract_columns' op takes columns that are there, from a multiple of 8}}
  %q = tile.extract_columns %d from -8 : !tile.fragment<[64, 64], f32> -> !tile.fragment<[64, 32], f32>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.extract_columns' op exchanges runs of a multiple of 8 columns, of which the fragment has pairs}}
  %p = tile.extract_columns %d from 0 rotate_half 4 : !tile.fragment<[64, 64], f32> -> !tile.fragment<[64, 32], f32>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.extract_columns' op exchanges runs of a multiple of 8 columns, of which the fragment has pairs}}
  %p = tile.extract_columns %d from 0 rotate_half -8 : !tile.fragment<[64, 64], f32> -> !tile.fragment<[64, 32], f32>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.extract_columns' op exchanges runs of a multiple of 8 columns, of which the fragment has pairs}}
  %p = tile.extract_columns %d from 0 rotate_half 24 : !tile.fragment<[64, 64], f32> -> !tile.fragment<[64, 32], f32>
  return
}

// -----

!d = !tile.fragment<[64, 64], f32>
func.func @f(%d: !d, %i: index) {
  // expected-error @below {{'tile.map' op keeps rows and columns}}
  %y = tile.map %d at [%i, %i] within [%i, %i] : !d -> !tile.fragment<[64, 32], f32> {
  ^bb0(%v: f32, %row: index, %column: index):
    tile.yield %v : f32
  }
  return
}

// -----

!d = !tile.fragment<[64, 64], f32>
func.func @f(%d: !d, %i: index) {
  // expected-error @below {{'tile.map' op has two coordinates, a bound of the rows and perhaps one of the columns}}
  %y = tile.map %d at [%i] within [%i, %i] : !d -> !d {
  ^bb0(%v: f32, %row: index, %column: index):
    tile.yield %v : f32
  }
  return
}

// -----

!d = !tile.fragment<[64, 64], f32>
func.func @f(%d: !d, %i: index) {
  // expected-error @below {{'tile.map' op has a block of the element, its row and its column}}
  %y = tile.map %d at [%i, %i] within [%i, %i] : !d -> !d {
  ^bb0(%v: f32, %row: index):
    tile.yield %v : f32
  }
  return
}

// -----

!d = !tile.fragment<[64, 64], f32>
func.func @f(%d: !d, %i: index) {
  // expected-error @below {{'tile.map' op has a block of the element, its row and its column, and of the elements beside it}}
  %y = tile.map %d at [%i, %i] within [%i, %i] with %d : !d, !d -> !d {
  ^bb0(%v: f32, %row: index, %column: index):
    tile.yield %v : f32
  }
  return
}

// -----

!d = !tile.fragment<[64, 64], f32>
func.func @f(%d: !d, %e: !tile.fragment<[64, 32], f32>, %i: index) {
  // expected-error @below {{'tile.map' op has fragments of one shape and layout}}
  %y = tile.map %d at [%i, %i] within [%i, %i] with %e : !d, !tile.fragment<[64, 32], f32> -> !d {
  ^bb0(%v: f32, %row: index, %column: index, %w: f32):
    tile.yield %v : f32
  }
  return
}

// -----

!d = !tile.fragment<[64, 64], f32>
func.func @f(%d: !d, %i: index) {
  // expected-error @below {{'tile.map' op yields a 'f16'}}
  %y = tile.map %d at [%i, %i] within [%i, %i] : !d -> !tile.fragment<[64, 64], f16> {
  ^bb0(%v: f32, %row: index, %column: index):
    tile.yield %v : f32
  }
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 64], bf16>, %t: !tile.smem<[64, 128], bf16, swizzle 128>) {
  // expected-error @below {{'tile.store_shared' op keeps rows, columns and element}}
  tile.store_shared %d into %t : !tile.fragment<[64, 64], bf16>, !tile.smem<[64, 128], bf16, swizzle 128>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 128], i8>, %t: !tile.smem<[64, 128], i8, swizzle 128>) {
  // expected-error @below {{'tile.store_shared' op writes elements of 16 or 32 bits, 16 columns at a time, into a swizzled tile}}
  tile.store_shared %d into %t : !tile.fragment<[64, 128], i8>, !tile.smem<[64, 128], i8, swizzle 128>
  return
}

// -----

func.func @f(%d: !tile.fragment<[64, 64], bf16>, %t: !tile.smem<[64, 64], bf16>) {
  // expected-error @below {{'tile.store_shared' op writes elements of 16 or 32 bits, 16 columns at a time, into a swizzled tile}}
  tile.store_shared %d into %t : !tile.fragment<[64, 64], bf16>, !tile.smem<[64, 64], bf16>
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
  // expected-error @below {{'tile.wgmma_wait' op keeps no less than no product}}
  %q = tile.wgmma_wait<-1> %p : !p
  %x = tile.await %q : !p -> !d
  return
}

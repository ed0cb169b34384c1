// RUN: kpc-opt %s -verify-diagnostics -split-input-file

func.func @f(%x: f32) {
  // expected-error @below {{a column has a multiple of 64 rows}}
  %0 = tile.splat %x : f32 -> !tile.column<32, f32>
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 32], f32>) {
  // expected-error @below {{packed elements are f16, bf16, f32 or f8E4M3FN, not 'f64'}}
  %0 = tile.pack %s : !tile.fragment<[64, 32], f32> -> !tile.packed<[64, 32], f64>
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 32], f32>) {
  // expected-error @below {{packed are a multiple of 64 rows and of 16 columns}}
  %0 = tile.pack %s : !tile.fragment<[64, 32], f32> -> !tile.packed<[96, 32], f16>
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 32], f32>) {
  // expected-error @below {{'tile.pack' op expected f32 fragments of the result's rows}}
  %0 = tile.pack %s : !tile.fragment<[64, 32], f32> -> !tile.packed<[128, 32], f16>
  return
}

// -----

func.func @f(%x: f16) {
  // expected-error @below {{'tile.splat' op expected a value of the result's element type}}
  %0 = tile.splat %x : f16 -> !tile.fragment<[64, 32], f32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.row_numbers' op expected a whole column of i32 as result}}
  %0 = tile.row_numbers : !tile.column<64, f32>
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 32], f32>) {
  // expected-error @below {{'tile.apply' op expected operands of the result's shape, got '!tile.fragment<[64, 32], f32>' for '!tile.column<64, f32>'}}
  %0 = tile.apply %s : !tile.fragment<[64, 32], f32> -> !tile.column<64, f32> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  return
}

// -----

func.func @f(%s: !tile.column<64, f32, partial>) {
  // expected-error @below {{'tile.apply' op expected a partial result of partial operands: 'tile.lane_reduce' alone makes a whole}}
  %0 = tile.apply %s : !tile.column<64, f32, partial> -> !tile.column<64, f32> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 32], f32>) {
  // expected-error @below {{'tile.apply' op expected a block with one element of each operand, and with the column's number where the result is a fragment}}
  %0 = tile.apply %s : !tile.fragment<[64, 32], f32> -> !tile.fragment<[64, 32], f32> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 32], f32>) {
  // expected-error @below {{'tile.apply' op expected to yield 'f32'}}
  %0 = tile.apply %s : !tile.fragment<[64, 32], f32> -> !tile.fragment<[64, 32], f32> {
  ^bb0(%x: f32, %c: i32):
    tile.yield %c : i32
  }
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 32], f32>) {
  // expected-error @below {{'tile.thread_reduce' op expected a fragment of f32 and a partial column of its rows}}
  %0 = tile.thread_reduce add %s : !tile.fragment<[64, 32], f32> -> !tile.column<64, f32>
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 32], f32>, %c: !tile.column<64, f32>) {
  // expected-error @below {{'tile.thread_reduce' op expected an initial value of the result's type}}
  %0 = tile.thread_reduce add %s, %c : !tile.fragment<[64, 32], f32>, !tile.column<64, f32> -> !tile.column<64, f32, partial>
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 32], f32>) {
  // expected-error @below {{'tile.thread_reduce' op expected a number of chains that divides a thread's columns, got 3}}
  %0 = tile.thread_reduce add %s chains 3 : !tile.fragment<[64, 32], f32> -> !tile.column<64, f32, partial>
  return
}

// -----

func.func @f(%c: !tile.column<64, f32>) {
  // expected-error @below {{'tile.lane_reduce' op expected a partial column of f32, and a whole one of its rows as result}}
  %0 = tile.lane_reduce add %c : !tile.column<64, f32> -> !tile.column<64, f32>
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 32], f16>) {
  // expected-error @below {{'tile.pack' op expected f32 fragments of the result's rows}}
  %0 = tile.pack %s : !tile.fragment<[64, 32], f16> -> !tile.packed<[64, 32], f16>
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 32], f32>) {
  // expected-error @below {{'tile.pack' op expected 32 columns, got 64}}
  %0 = tile.pack %s, %s : !tile.fragment<[64, 32], f32>, !tile.fragment<[64, 32], f32> -> !tile.packed<[64, 32], f16>
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 24], f32>, %t: !tile.fragment<[64, 8], f32>) {
  // expected-error @below {{'tile.pack' op to FP8 expected fragments of a multiple of 16 columns, got 24}}
  %0 = tile.pack %s, %t : !tile.fragment<[64, 24], f32>, !tile.fragment<[64, 8], f32> -> !tile.packed<[64, 32], f8E4M3FN>
  return
}

// -----

func.func @f(%p: !tile.packed<[64, 32], f8E4M3FN>, %v: !tile.smem<[32, 64], f8E4M3FN, swizzle 64>) {
  // expected-error @below {{'tile.mma' op on 'f8E4M3FN' expected both operands contiguous along K}}
  %0 = tile.mma %p, %v : !tile.packed<[64, 32], f8E4M3FN>, !tile.smem<[32, 64], f8E4M3FN, swizzle 64> -> !tile.pending<!tile.fragment<[64, 64], f32>>
  return
}

// -----

func.func @f(%p: !tile.packed<[64, 32], f16>, %v: !tile.smem<[32, 64], f16, swizzle 128>) {
  // expected-error @below {{'tile.mma' op expected a packed operand without 'transposed'}}
  %0 = tile.mma %p transposed, %v : !tile.packed<[64, 32], f16>, !tile.smem<[32, 64], f16, swizzle 128> -> !tile.pending<!tile.fragment<[64, 64], f32>>
  return
}

// -----

!q = !tile.smem<[64, 64], f16, swizzle 128>
!s = !tile.fragment<[64, 64], f32>
func.func @f(%q: !q) {
  %0 = tile.mma %q, %q transposed : !q, !q -> !tile.pending<!s>
  // expected-error @below {{'tile.await' op expected 1 products that were begun in this block after the one it awaits, got 0}}
  %1 = tile.await<1> %0 : !tile.pending<!s> -> !s
  return
}

// -----

!q = !tile.smem<[64, 64], f16, swizzle 128>
!s = !tile.fragment<[64, 64], f32>
func.func @f(%q: !q) {
  %0 = tile.mma %q, %q transposed : !q, !q -> !tile.pending<!s>
  // expected-error @below {{'tile.await' op expected 0 or more products in flight, got -1}}
  %1 = tile.await<-1> %0 : !tile.pending<!s> -> !s
  return
}

// -----

func.func @f(%p: !tile.packed<[64, 32], f32>, %v: !tile.smem<[64, 32], f32, swizzle 128>) {
  // expected-error @below {{'tile.mma' op expected a packed operand of 16 bits or FP8, got 'f32'}}
  %0 = tile.mma %p, %v transposed : !tile.packed<[64, 32], f32>, !tile.smem<[64, 32], f32, swizzle 128> -> !tile.pending<!tile.fragment<[64, 64], f32>>
  return
}

// -----

func.func @f(%p: !tile.packed<[128, 32], f16>, %v: !tile.smem<[32, 64], f16, swizzle 128>) {
  // expected-error @below {{'tile.mma' op expected a packed operand of 64 rows, got 128}}
  %0 = tile.mma %p, %v : !tile.packed<[128, 32], f16>, !tile.smem<[32, 64], f16, swizzle 128> -> !tile.pending<!tile.fragment<[128, 64], f32>>
  return
}

// -----

func.func @f(%c: !tile.column<64, i32>, %x: f32) {
  // expected-error @below {{'tile.warp_above' op expected a column of f32}}
  %0 = tile.warp_above %c, %x : !tile.column<64, i32>
  return
}

// -----

func.func @f(%w: i32) {
  // expected-error @below {{'tile.pack_words' op expected elements of 16 bits, got 'f32'}}
  %0 = tile.pack_words %w : !tile.packed<[64, 16], f32>
  return
}

// -----

func.func @f(%w: i32) {
  // expected-error @below {{'tile.pack_words' op expected 4 words, got 2}}
  %0 = tile.pack_words %w, %w : !tile.packed<[64, 16], f16>
  return
}

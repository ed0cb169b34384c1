// RUN: kpc-opt %s -verify-diagnostics -split-input-file

func.func @f(%x: f32) {
  // expected-error @below {{a column has a multiple of 64 rows}}
  %0 = tile.splat %x : f32 -> !tile.column<32, f32>
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 32], f32>) {
  // expected-error @below {{packed elements are f16 or bf16, not 'f32'}}
  %0 = tile.pack %s : !tile.fragment<[64, 32], f32> -> !tile.packed<[64, 32], f32>
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 32], f32>) {
  // expected-error @below {{packed are 64 rows and a multiple of 16 columns}}
  %0 = tile.pack %s : !tile.fragment<[64, 32], f32> -> !tile.packed<[128, 32], f16>
  return
}

// -----

func.func @f(%x: f16) {
  // expected-error @below {{'tile.splat' op repeats a value of another type than its result's}}
  %0 = tile.splat %x : f16 -> !tile.fragment<[64, 32], f32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.row_numbers' op gives a column of i32}}
  %0 = tile.row_numbers : !tile.column<64, f32>
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 32], f32>) {
  // expected-error @below {{'tile.apply' op joins '!tile.fragment<[64, 32], f32>' and '!tile.column<64, f32>'}}
  %0 = tile.apply %s : !tile.fragment<[64, 32], f32> -> !tile.column<64, f32> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  return
}

// -----

func.func @f(%s: !tile.column<64, f32, partial>) {
  // expected-error @below {{'tile.apply' op makes a whole of parts, as only 'tile.lane_reduce' does}}
  %0 = tile.apply %s : !tile.column<64, f32, partial> -> !tile.column<64, f32> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 32], f32>) {
  // expected-error @below {{'tile.apply' op has a block of one element of each operand, and of the column's number where it gives a fragment}}
  %0 = tile.apply %s : !tile.fragment<[64, 32], f32> -> !tile.fragment<[64, 32], f32> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 32], f32>) {
  // expected-error @below {{'tile.apply' op yields a 'f32'}}
  %0 = tile.apply %s : !tile.fragment<[64, 32], f32> -> !tile.fragment<[64, 32], f32> {
  ^bb0(%x: f32, %c: i32):
    tile.yield %c : i32
  }
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 32], f32>) {
  // expected-error @below {{'tile.thread_reduce' op of f32 gives parts, one for each row}}
  %0 = tile.thread_reduce add %s : !tile.fragment<[64, 32], f32> -> !tile.column<64, f32>
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 32], f32>, %c: !tile.column<64, f32>) {
  // expected-error @below {{'tile.thread_reduce' op begins with parts of the result's type}}
  %0 = tile.thread_reduce add %s, %c : !tile.fragment<[64, 32], f32>, !tile.column<64, f32> -> !tile.column<64, f32, partial>
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 32], f32>) {
  // expected-error @below {{'tile.thread_reduce' op has chains that do not share a thread's columns}}
  %0 = tile.thread_reduce add %s chains 3 : !tile.fragment<[64, 32], f32> -> !tile.column<64, f32, partial>
  return
}

// -----

func.func @f(%c: !tile.column<64, f32>) {
  // expected-error @below {{'tile.lane_reduce' op makes a whole of parts of f32}}
  %0 = tile.lane_reduce add %c : !tile.column<64, f32> -> !tile.column<64, f32>
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 32], f16>) {
  // expected-error @below {{'tile.pack' op rounds f32 fragments of as many rows}}
  %0 = tile.pack %s : !tile.fragment<[64, 32], f16> -> !tile.packed<[64, 32], f16>
  return
}

// -----

func.func @f(%s: !tile.fragment<[64, 32], f32>) {
  // expected-error @below {{'tile.pack' op has 64 columns for 32}}
  %0 = tile.pack %s, %s : !tile.fragment<[64, 32], f32>, !tile.fragment<[64, 32], f32> -> !tile.packed<[64, 32], f16>
  return
}

// -----

func.func @f(%p: !tile.packed<[64, 32], f16>, %v: !tile.smem<[32, 64], f16, swizzle 128>) {
  // expected-error @below {{'tile.mma' op takes a packed operand as it is, not transposed}}
  %0 = tile.mma %p transposed, %v : !tile.packed<[64, 32], f16>, !tile.smem<[32, 64], f16, swizzle 128> -> !tile.pending<!tile.fragment<[64, 64], f32>>
  return
}

// -----

!q = !tile.smem<[64, 64], f16, swizzle 128>
!s = !tile.fragment<[64, 64], f32>
func.func @f(%q: !q) {
  %0 = tile.mma %q, %q transposed : !q, !q -> !tile.pending<!s>
  // expected-error @below {{'tile.await' op keeps 1 products, but 0 were begun in this block after the one it awaits}}
  %1 = tile.await<1> %0 : !tile.pending<!s> -> !s
  return
}

// -----

!q = !tile.smem<[64, 64], f16, swizzle 128>
!s = !tile.fragment<[64, 64], f32>
func.func @f(%q: !q) {
  %0 = tile.mma %q, %q transposed : !q, !q -> !tile.pending<!s>
  // expected-error @below {{'tile.await' op keeps no less than no product}}
  %1 = tile.await<-1> %0 : !tile.pending<!s> -> !s
  return
}

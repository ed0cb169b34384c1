// RUN: kpc-opt %s -verify-diagnostics -split-input-file

// Copies and products that threads make.

!a = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%x: memref<?xf16>, %a: !a) {
  // expected-error @below {{'tile.gather' op joins a tile and a memref of one dimension, of the same elements}}
  tile.gather %x into %a by 16 : memref<?xf16>, !a {
  ^bb0(%row: index, %column: index):
    tile.place %row
  }
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%x: memref<?x64xbf16>, %a: !a) {
  // expected-error @below {{'tile.scatter' op joins a tile and a memref of one dimension, of the same elements}}
  tile.scatter %a to %x by 16 : !a, memref<?x64xbf16> {
  ^bb0(%row: index, %column: index):
    tile.place %row
  }
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%x: memref<?xbf16>, %a: !a) {
  // expected-error @below {{'tile.gather' op copies pieces of 2, 4, 8 or 16 bytes and of an element at least, not of 12}}
  tile.gather %x into %a by 12 : memref<?xbf16>, !a {
  ^bb0(%row: index, %column: index):
    tile.place %row
  }
  return
}

// -----

!a = !tile.smem<[64, 32], f32, swizzle 128>
func.func @f(%x: memref<?xf32>, %a: !a) {
  // expected-error @below {{'tile.gather' op copies pieces of 2, 4, 8 or 16 bytes and of an element at least, not of 2}}
  tile.gather %x into %a by 2 : memref<?xf32>, !a {
  ^bb0(%row: index, %column: index):
    tile.place %row
  }
  return
}

// -----

!a = !tile.smem<[64, 64], bf16>
func.func @f(%x: memref<?xbf16>, %a: !a) {
  // expected-error @below {{'tile.gather' op copies swizzled tiles}}
  tile.gather %x into %a by 16 : memref<?xbf16>, !a {
  ^bb0(%row: index, %column: index):
    tile.place %row
  }
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
gpu.module @m {
  gpu.func @kernel(%x: memref<?xbf16>) kernel {
    %a = tile.alloc : !a
    tile.start
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      // expected-error @below {{'tile.gather' op is done by all threads of the block, not by a role's}}
      tile.gather %x into %a by 16 : memref<?xbf16>, !a {
      ^bb0(%row: index, %column: index):
        tile.place %row
      }
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%x: memref<?xbf16>, %a: !a) {
  // expected-error @below {{'tile.gather' op has a block of a piece's row and column}}
  tile.gather %x into %a by 16 : memref<?xbf16>, !a {
  ^bb0(%row: index):
    tile.place %row
  }
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%x: memref<?xbf16>, %a: !a) {
  // expected-error @below {{'tile.gather' op has a block that ends in 'tile.place'}}
  tile.gather %x into %a by 16 : memref<?xbf16>, !a {
  ^bb0(%row: index, %column: index):
    llvm.unreachable
  }
  return
}

// -----

func.func @f(%i: index) {
  // expected-error @below {{'tile.place' op expects parent op to be one of 'tile.gather, tile.scatter'}}
  tile.place %i
}

// -----

func.func @f() {
  // expected-error @below {{'tile.wait_gathers' op keeps no less than no group}}
  tile.wait_gathers keep -1
  return
}

// -----

func.func @f(%a: !tile.smem<[64, 64], bf16, swizzle 128>, %b: !tile.smem<[64, 64], f16, swizzle 128>, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.multiply' op multiplies f16, bf16 or f32 (as tf32), both alike}}
  %d = tile.multiply %a, %b, %c : !tile.smem<[64, 64], bf16, swizzle 128>, !tile.smem<[64, 64], f16, swizzle 128> -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%a: !t, %c: !tile.fragment<[64, 64], bf16>) {
  // expected-error @below {{'tile.multiply' op sums up in f32}}
  %d = tile.multiply %a, %a, %c : !t, !t -> !tile.fragment<[64, 64], bf16>
  return
}

// -----

!t = !tile.smem<[64, 64], bf16>
func.func @f(%a: !t, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.multiply' op reads swizzled tiles}}
  %d = tile.multiply %a, %a, %c : !t, !t -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[64, 64], bf16, swizzle 64>
func.func @f(%a: !t, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.multiply' op reads a transposed operand in lines of 128 bytes}}
  %d = tile.multiply %a transposed, %a, %c : !t, !t -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[64, 64], bf16, swizzle 128>
!u = !tile.smem<[32, 64], bf16, swizzle 128>
func.func @f(%a: !t, %b: !u, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.multiply' op has sums of 64 in a and of 32 in b}}
  %d = tile.multiply %a, %b, %c : !t, !u -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[72, 64], bf16, swizzle 128>
func.func @f(%a: !t, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.multiply' op has sums of 72, not a multiple of 16}}
  %d = tile.multiply %a transposed, %a, %c : !t, !t -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[32, 64], bf16, swizzle 128>
!u = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%a: !t, %b: !u, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.multiply' op of 32 rows and 64 columns: rows are a multiple of 64, columns of 16}}
  %d = tile.multiply %a, %b, %c : !t, !u -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%a: !t, %c: !tile.fragment<[64, 128], f32>) {
  // expected-error @below {{'tile.multiply' op gives 64 rows and 64 columns}}
  %d = tile.multiply %a, %a, %c : !t, !t -> !tile.fragment<[64, 128], f32>
  return
}

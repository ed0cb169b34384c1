// RUN: kpc-opt %s -verify-diagnostics -split-input-file

// Copies and products that threads make.

!a = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%x: memref<?xf16>, %a: !a) {
  // expected-error @below {{'tile.cp_async' op joins a tile and a memref of one dimension, of the same elements}}
  tile.cp_async %x into %a by 16 : memref<?xf16>, !a {
  ^bb0(%row: index, %column: index):
    tile.yield_address %row
  }
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%x: memref<?x64xbf16>, %a: !a) {
  // expected-error @below {{'tile.store_global' op joins a tile and a memref of one dimension, of the same elements}}
  tile.store_global %a to %x by 16 : !a, memref<?x64xbf16> {
  ^bb0(%row: index, %column: index):
    tile.yield_address %row
  }
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%x: memref<?xbf16>, %a: !a) {
  // expected-error @below {{'tile.cp_async' op copies pieces of 2, 4, 8 or 16 bytes and of an element at least, not of 12}}
  tile.cp_async %x into %a by 12 : memref<?xbf16>, !a {
  ^bb0(%row: index, %column: index):
    tile.yield_address %row
  }
  return
}

// -----

!a = !tile.smem<[64, 32], f32, swizzle 128>
func.func @f(%x: memref<?xf32>, %a: !a) {
  // expected-error @below {{'tile.cp_async' op copies pieces of 2, 4, 8 or 16 bytes and of an element at least, not of 2}}
  tile.cp_async %x into %a by 2 : memref<?xf32>, !a {
  ^bb0(%row: index, %column: index):
    tile.yield_address %row
  }
  return
}

// -----

!a = !tile.smem<[64, 64], bf16>
func.func @f(%x: memref<?xbf16>, %a: !a) {
  // expected-error @below {{'tile.cp_async' op copies swizzled tiles}}
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
      // expected-error @below {{'tile.cp_async' op is done by all threads of the block, not by a role's}}
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
  // expected-error @below {{'tile.cp_async' op has a block of a piece's row and column}}
  tile.cp_async %x into %a by 16 : memref<?xbf16>, !a {
  ^bb0(%row: index):
    tile.yield_address %row
  }
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%x: memref<?xbf16>, %a: !a) {
  // expected-error @below {{'tile.cp_async' op has a block that ends in 'tile.yield_address'}}
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
  // expected-error @below {{'tile.cp_async_wait' op keeps no less than no group}}
  tile.cp_async_wait<-1>
  return
}

// -----

func.func @f(%a: !tile.smem<[64, 64], bf16, swizzle 128>, %b: !tile.smem<[64, 64], f16, swizzle 128>, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_sync' op multiplies f16, bf16 or f32 (as tf32), both alike}}
  %d = tile.mma_sync %a, %b, %c : !tile.smem<[64, 64], bf16, swizzle 128>, !tile.smem<[64, 64], f16, swizzle 128> -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%a: !t, %c: !tile.fragment<[64, 64], bf16>) {
  // expected-error @below {{'tile.mma_sync' op sums up in f32}}
  %d = tile.mma_sync %a, %a, %c : !t, !t -> !tile.fragment<[64, 64], bf16>
  return
}

// -----

!t = !tile.smem<[64, 64], bf16>
func.func @f(%a: !t, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_sync' op reads swizzled tiles}}
  %d = tile.mma_sync %a, %a, %c : !t, !t -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[64, 64], bf16, swizzle 64>
func.func @f(%a: !t, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_sync' op reads a transposed operand in lines of 128 bytes}}
  %d = tile.mma_sync %a transposed, %a, %c : !t, !t -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[64, 64], bf16, swizzle 128>
!u = !tile.smem<[32, 64], bf16, swizzle 128>
func.func @f(%a: !t, %b: !u, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_sync' op has sums of 64 in a and of 32 in b}}
  %d = tile.mma_sync %a, %b, %c : !t, !u -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[72, 64], bf16, swizzle 128>
func.func @f(%a: !t, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_sync' op has sums of 72, not a multiple of 16}}
  %d = tile.mma_sync %a transposed, %a, %c : !t, !t -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[32, 64], bf16, swizzle 128>
!u = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%a: !t, %b: !u, %c: !tile.fragment<[64, 64], f32>) {
  // expected-error @below {{'tile.mma_sync' op of 32 rows and 64 columns: rows are a multiple of 64, columns of 16}}
  %d = tile.mma_sync %a, %b, %c : !t, !u -> !tile.fragment<[64, 64], f32>
  return
}

// -----

!t = !tile.smem<[64, 64], bf16, swizzle 128>
func.func @f(%a: !t, %c: !tile.fragment<[64, 128], f32>) {
  // expected-error @below {{'tile.mma_sync' op gives 64 rows and 64 columns}}
  %d = tile.mma_sync %a, %a, %c : !t, !t -> !tile.fragment<[64, 128], f32>
  return
}

// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-lower-tile))' -verify-diagnostics -split-input-file %s

gpu.module @m {
  gpu.func @pipe() kernel {
    // expected-error @below {{'tile.pipe' op has no place in shared memory; kpc-place-shared gives it one}}
    // expected-error @below {{failed to legalize operation 'tile.pipe' that was explicitly marked illegal}}
    %pipe = tile.pipe tma consumers 4 : <1 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
    tile.start
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @alloc() kernel {
    // expected-error @below {{'tile.alloc' op has no place in shared memory; kpc-place-shared gives it one}}
    // expected-error @below {{failed to legalize operation 'tile.alloc' that was explicitly marked illegal}}
    %a = tile.alloc : <[64, 64], bf16, swizzle 128>
    tile.start
    gpu.return
  }
}

// RUN: kpc-opt %s -verify-diagnostics -split-input-file

// Scales in tensor memory, and products with them.

gpu.module @m {
  gpu.func @kernel(%m: !tile.tmem<[128, 8], f32>, %i: index) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_part' op expected at most the 8 columns of the memory, got 16}}
        %p = tile.tmem_part %m[%i] : !tile.tmem<[128, 8], f32> -> !tile.tmem<[128, 16], f32>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel(%s: !tile.smem<[8, 64], ui8, swizzle 64>, %w: !tile.tmem<[128, 4], ui32>) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_copy' op expected scales as bytes, all of a tile without a swizzle}}
        tile.tmem_copy %s panels 1 into %w : !tile.smem<[8, 64], ui8, swizzle 64>, !tile.tmem<[128, 4], ui32>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel(%s: !tile.smem<[2, 256], ui8>, %w: !tile.tmem<[128, 4], f32>) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_copy' op expected tensor memory of ui32, got 'f32'}}
        tile.tmem_copy %s panels 1 into %w : !tile.smem<[2, 256], ui8>, !tile.tmem<[128, 4], f32>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel(%s: !tile.smem<[2, 256], ui8>, %w: !tile.tmem<[128, 4], ui32>) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_copy' op expected 4 columns for each of 1 or more panels, got 4 for 2}}
        tile.tmem_copy %s panels 2 into %w : !tile.smem<[2, 256], ui8>, !tile.tmem<[128, 4], ui32>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel(%s: !tile.smem<[4, 256], ui8>, %w: !tile.tmem<[128, 4], ui32>) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_copy' op expected 512 bytes of scales, got 1024}}
        tile.tmem_copy %s panels 1 into %w : !tile.smem<[4, 256], ui8>, !tile.tmem<[128, 4], ui32>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel(%s: !tile.smem<[2, 256], ui8>, %w: !tile.tmem<[128, 4], ui32>) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      // expected-error @below {{'tile.tmem_copy' op expected in 'tile.elect': one thread begins it}}
      tile.tmem_copy %s panels 1 into %w : !tile.smem<[2, 256], ui8>, !tile.tmem<[128, 4], ui32>
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 128], ui8, swizzle 128>
!b = !tile.smem<[64, 128], f8E5M2, swizzle 128>
!sa = !tile.tmem<[128, 4], ui32>
!sb = !tile.tmem<[128, 4], ui32>
!d = !tile.tmem<[128, 64], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %sa: !sa, %sb: !sb, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma_scaled' op expected codes of FP8, got 'ui8'}}
        tile.tmem_mma_scaled mxfp8 %a scales %sa, %b scales %sb into %d add %no : !a, !sa, !b, !sb, !d
      }
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 128], f8E4M3FN, swizzle 128>
!b = !tile.smem<[64, 128], f8E5M2, swizzle 128>
!sa = !tile.tmem<[128, 4], ui32>
!sb = !tile.tmem<[128, 4], ui32>
!d = !tile.tmem<[128, 64], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %sa: !sa, %sb: !sb, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma_scaled' op expected bytes of two codes, got 'f8E4M3FN'}}
        tile.tmem_mma_scaled nvfp4 %a scales %sa, %b scales %sb into %d add %no : !a, !sa, !b, !sb, !d
      }
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 128], f8E4M3FN, swizzle 128>
!b = !tile.smem<[64, 128], f8E5M2>
!sa = !tile.tmem<[128, 4], ui32>
!sb = !tile.tmem<[128, 4], ui32>
!d = !tile.tmem<[128, 64], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %sa: !sa, %sb: !sb, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma_scaled' op expected swizzled tiles}}
        tile.tmem_mma_scaled mxfp8 %a scales %sa, %b scales %sb into %d add %no : !a, !sa, !b, !sb, !d
      }
    }
    gpu.return
  }
}

// -----

// Steps take single bytes of a word: all four of a stage.
!a = !tile.smem<[128, 64], f8E4M3FN, swizzle 64>
!b = !tile.smem<[64, 64], f8E4M3FN, swizzle 64>
!sa = !tile.tmem<[128, 4], ui32>
!sb = !tile.tmem<[128, 4], ui32>
!d = !tile.tmem<[128, 64], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %sa: !sa, %sb: !sb, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma_scaled' op expected one number of bytes along K in both operands, a multiple of 128, got 64 and 64}}
        tile.tmem_mma_scaled mxfp8 %a scales %sa, %b scales %sb into %d add %no : !a, !sa, !b, !sb, !d
      }
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[64, 128], f8E4M3FN, swizzle 128>
!b = !tile.smem<[64, 128], f8E5M2, swizzle 128>
!sa = !tile.tmem<[128, 4], ui32>
!sb = !tile.tmem<[128, 4], ui32>
!d = !tile.tmem<[128, 64], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %sa: !sa, %sb: !sb, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma_scaled' op expected an M of 128 and an N that is a multiple of 16 up to 256, got 64 and 64}}
        tile.tmem_mma_scaled mxfp8 %a scales %sa, %b scales %sb into %d add %no : !a, !sa, !b, !sb, !d
      }
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 128], f8E4M3FN, swizzle 128>
!b = !tile.smem<[256, 128], f8E5M2, swizzle 128>
!sa = !tile.tmem<[128, 4], ui32>
!sb = !tile.tmem<[128, 4], ui32>
!d = !tile.tmem<[128, 64], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %sa: !sa, %sb: !sb, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma_scaled' op expected an M of 256 and an N that is a multiple of 16 up to 256, got 256 and 512}}
        tile.tmem_mma_scaled mxfp8 %a scales %sa, %b scales %sb into %d add %no pair : !a, !sa, !b, !sb, !d
      }
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 128], f8E4M3FN, swizzle 128>
!b = !tile.smem<[64, 128], f8E5M2, swizzle 128>
!sa = !tile.tmem<[128, 4], ui32>
!sb = !tile.tmem<[128, 4], ui32>
!d = !tile.tmem<[128, 128], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %sa: !sa, %sb: !sb, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma_scaled' op expected a d of 64 columns, got 128}}
        tile.tmem_mma_scaled mxfp8 %a scales %sa, %b scales %sb into %d add %no : !a, !sa, !b, !sb, !d
      }
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 128], f8E4M3FN, swizzle 128>
!b = !tile.smem<[64, 128], f8E5M2, swizzle 128>
!sa = !tile.tmem<[128, 8], ui32>
!sb = !tile.tmem<[128, 4], ui32>
!d = !tile.tmem<[128, 64], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %sa: !sa, %sb: !sb, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma_scaled' op expected scales of ui32 in 4 columns for 128 rows, got '!tile.tmem<[128, 8], ui32>'}}
        tile.tmem_mma_scaled mxfp8 %a scales %sa, %b scales %sb into %d add %no : !a, !sa, !b, !sb, !d
      }
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 128], f8E4M3FN, swizzle 128>
!b = !tile.smem<[256, 128], f8E5M2, swizzle 128>
!sa = !tile.tmem<[128, 4], ui32>
!sb = !tile.tmem<[128, 4], ui32>
!d = !tile.tmem<[128, 256], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %sa: !sa, %sb: !sb, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma_scaled' op expected scales of ui32 in 8 columns for 256 rows, got '!tile.tmem<[128, 4], ui32>'}}
        tile.tmem_mma_scaled mxfp8 %a scales %sa, %b scales %sb into %d add %no : !a, !sa, !b, !sb, !d
      }
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 128], f8E4M3FN, swizzle 128>
!b = !tile.smem<[64, 128], f8E5M2, swizzle 128>
!sa = !tile.tmem<[128, 4], ui32>
!sb = !tile.tmem<[128, 4], ui32>
!d = !tile.tmem<[128, 64], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %sa: !sa, %sb: !sb, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      // expected-error @below {{'tile.tmem_mma_scaled' op expected in 'tile.elect': one thread begins it}}
      tile.tmem_mma_scaled mxfp8 %a scales %sa, %b scales %sb into %d add %no : !a, !sa, !b, !sb, !d
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 128], f8E4M3FN, swizzle 128>
!b = !tile.smem<[64, 128], f8E5M2, swizzle 128>
!sa = !tile.tmem<[128, 4], ui32>
!sb = !tile.tmem<[128, 4], ui32>
!d = !tile.tmem<[128, 64], ui32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %sa: !sa, %sb: !sb, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma_scaled' op expected a d of f32, got 'ui32'}}
        tile.tmem_mma_scaled mxfp8 %a scales %sa, %b scales %sb into %d add %no : !a, !sa, !b, !sb, !d
      }
    }
    gpu.return
  }
}

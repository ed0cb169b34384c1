// RUN: kpc-opt %s -verify-diagnostics -split-input-file

// Products into tensor memory.

!a = !tile.smem<[128, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 64], f16, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma' op expected two operands of f16, of bf16, of f32 (as tf32), of FP8 or of integers of 8 bits, got 'bf16' and 'f16'}}
        tile.tmem_mma %a, %b into %d add %no : !a, !b, !d
      }
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 64], f32, swizzle 128>
!b = !tile.smem<[64, 64], f32, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma' op on 'f32' expected both operands contiguous along K}}
        tile.tmem_mma %a, %b into %d add %no : !a, !b, !d
      }
    }
    gpu.return
  }
}

// -----

// Instructions would take K that is not contiguous in one that is (PTX ISA, tcgen05.mma, transposes of 8 bits); no kernel does.
!a = !tile.smem<[128, 128], f8E4M3FN, swizzle 128>
!b = !tile.smem<[128, 64], f8E5M2, swizzle 64>
!d = !tile.tmem<[128, 64], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma' op on 'f8E4M3FN' expected both operands contiguous along K}}
        tile.tmem_mma %a, %b into %d add %no : !a, !b, !d
      }
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 64], bf16>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma' op expected swizzled tiles}}
        tile.tmem_mma %a, %b into %d add %no : !a, !b, !d
      }
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 64], bf16, swizzle 128>
!b = !tile.smem<[32, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma' op expected one K in both operands, got 64 in a and 32 in b}}
        tile.tmem_mma %a, %b into %d add %no : !a, !b, !d
      }
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[24, 128], bf16, swizzle 128>
!b = !tile.smem<[24, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma' op expected a K that is a multiple of 16, got 24}}
        tile.tmem_mma %a transposed, %b into %d add %no : !a, !b, !d
      }
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma' op expected an M of 128 and an N that is a multiple of 16 up to 256, got 64 and 64}}
        tile.tmem_mma %a, %b into %d add %no : !a, !b, !d
      }
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 64], bf16, swizzle 128>
!b = !tile.smem<[24, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 24], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma' op expected an M of 128 and an N that is a multiple of 16 up to 256, got 128 and 24}}
        tile.tmem_mma %a, %b transposed into %d add %no : !a, !b, !d
      }
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 320], bf16, swizzle 128>
!d = !tile.tmem<[128, 320], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma' op expected an M of 128 and an N that is a multiple of 16 up to 256, got 128 and 320}}
        tile.tmem_mma %a, %b into %d add %no : !a, !b, !d
      }
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 64], bf16, swizzle 128>
!b = !tile.smem<[160, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 320], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma' op expected an M of 256 and an N that is a multiple of 16 up to 256, got 256 and 320}}
        tile.tmem_mma %a, %b transposed into %d add %no pair : !a, !b, !d
      }
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 128], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma' op expected a d of 64 columns, got 128}}
        tile.tmem_mma %a, %b into %d add %no : !a, !b, !d
      }
    }
    gpu.return
  }
}

// -----

// Each block of a pair has half of the columns of b.
!a = !tile.smem<[128, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma' op expected a d of 128 columns, got 64}}
        tile.tmem_mma %a, %b into %d add %no pair : !a, !b, !d
      }
    }
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      // expected-error @below {{'tile.tmem_mma' op expected in 'tile.elect': one thread begins it}}
      tile.tmem_mma %a, %b into %d add %no : !a, !b, !d
    }
    gpu.return
  }
}

// -----

// Somebody reads it.
!a = !tile.smem<[128, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
!sums = !tile.pipe<1 of [!tile.tmem<[128, 64], f32>]>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %no: i1, %c0: index) kernel {
    %sums = tile.pipe mma consumers 4 : !sums
    tile.barrier_init
    %memory = tile.tmem_alloc : !d
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        %at = tile.cursor
        %full = tile.wait %sums[%at] : !sums -> !tile.stage<full>
        %d = tile.tiles %sums[%full] in %memory : !sums, !tile.stage<full>, !d -> !d
        // expected-error @below {{'tile.tmem_mma' op expected a d of a free stage, got a full one}}
        tile.tmem_mma %a, %b into %d add %no : !a, !b, !d
        tile.release %sums[%full] : !sums, !tile.stage<full>
      }
    }
    tile.tmem_free %memory : !d
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 128], i8, swizzle 128>
!b = !tile.smem<[64, 128], i8, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma' op expected floats, whose sums tensor memory holds, got 'i8'}}
        tile.tmem_mma %a, %b transposed into %d add %no : !a, !b, !d
      }
    }
    gpu.return
  }
}

// -----

// Of a pair each block would have its own: not here yet.
!a = !tile.tmem<[128, 64], bf16>
!b = !tile.smem<[64, 32], bf16, swizzle 64>
!d = !tile.tmem<[128, 64], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma' op expected an a of 16 bits in tensor memory, without 'transposed' and 'pair'}}
        tile.tmem_mma %a, %b into %d add %no pair : !a, !b, !d
      }
    }
    gpu.return
  }
}

// -----

!a = !tile.tmem<[128, 48], bf16>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %d: !d, %no: i1) kernel {
    tile.barrier_init
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // expected-error @below {{'tile.tmem_mma' op expected one K in both operands, got 48 in a and 64 in b}}
        tile.tmem_mma %a, %b into %d add %no : !a, !b, !d
      }
    }
    gpu.return
  }
}

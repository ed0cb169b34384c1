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
        // expected-error @below {{'tile.tmem_mma' op multiplies f16, bf16 or f32 (as tf32), both alike}}
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
        // expected-error @below {{'tile.tmem_mma' op on f32 needs both operands with K side by side}}
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
        // expected-error @below {{'tile.tmem_mma' op reads swizzled tiles}}
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
        // expected-error @below {{'tile.tmem_mma' op has sums of 64 in a and of 32 in b}}
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
        // expected-error @below {{'tile.tmem_mma' op has sums of 24, not a multiple of 16}}
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
        // expected-error @below {{'tile.tmem_mma' op of 64 rows and 64 columns: rows are 128, columns a multiple of 16 up to 256}}
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
        // expected-error @below {{'tile.tmem_mma' op of 128 rows and 24 columns: rows are 128, columns a multiple of 16 up to 256}}
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
        // expected-error @below {{'tile.tmem_mma' op of 128 rows and 320 columns: rows are 128, columns a multiple of 16 up to 256}}
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
        // expected-error @below {{'tile.tmem_mma' op of 256 rows and 320 columns: rows are 256, columns a multiple of 16 up to 256}}
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
        // expected-error @below {{'tile.tmem_mma' op gives 64 columns}}
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
        // expected-error @below {{'tile.tmem_mma' op gives 128 columns}}
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
      // expected-error @below {{'tile.tmem_mma' op is begun by one thread: it stands in 'tile.elect'}}
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
        // expected-error @below {{'tile.tmem_mma' op writes into a stage that is full}}
        tile.tmem_mma %a, %b into %d add %no : !a, !b, !d
        tile.release %sums[%full] : !sums, !tile.stage<full>
      }
    }
    tile.tmem_free %memory : !d
    gpu.return
  }
}

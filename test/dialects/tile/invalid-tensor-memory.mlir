// RUN: kpc-opt %s -verify-diagnostics -split-input-file

// Tensor memory.

// expected-error @below {{elements of tensor memory are f32, ui32, f16 or bf16, not 'f64'}}
func.func private @f(!tile.tmem<[128, 64], f64>)

// -----

// expected-error @below {{elements of 16 bits come in pairs: columns are even}}
func.func private @f(!tile.tmem<[128, 33], bf16>)

// -----

// expected-error @below {{a column in the layout tmem_32x32b has 128 rows}}
func.func private @f(!tile.column<64, f32, tmem_32x32b>)

// -----

// expected-error @below {{tensor memory has 128 rows and up to 512 columns}}
func.func private @f(!tile.tmem<[64, 64], f32>)

// -----

// expected-error @below {{tensor memory has 128 rows and up to 512 columns}}
func.func private @f(!tile.tmem<[128, 1024], f32>)

// -----

// expected-error @below {{a fragment in the layout tmem_32x32b has 128 rows}}
func.func private @f(!tile.fragment<[64, 64], f32, tmem_32x32b>)

// -----

// expected-error @below {{a stage holds tiles of shared memory, or of tensor memory}}
func.func private @f(!tile.pipe<2 of [!tile.smem<[64, 64], bf16, swizzle 128>, !tile.tmem<[128, 64], f32>]>)

// -----

// expected-error @below {{a stage holds tiles of shared memory, or of tensor memory}}
func.func private @f(!tile.pipe<2 of [f32]>)

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.pipe' op expected completion 'mma' or 'threads' for stages in tensor memory, and 'mma' for no others}}
    %p = tile.pipe tma consumers 4 : !tile.pipe<2 of [!tile.tmem<[128, 64], f32>]>
    tile.barrier_init
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.pipe' op expected completion 'mma' or 'threads' for stages in tensor memory, and 'mma' for no others}}
    %p = tile.pipe mma consumers 4 : !tile.pipe<2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
    tile.barrier_init
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.pipe' op expected completion 'tma' or 'mma' for a pair, got 'threads'}}
    %p = tile.pipe threads pair consumers 4 : !tile.pipe<2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
    tile.barrier_init
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.tmem_alloc' op expected after a 'tile.barrier_init'}}
    %m = tile.tmem_alloc : !tile.tmem<[128, 64], f32>
    tile.barrier_init
    tile.tmem_free %m : !tile.tmem<[128, 64], f32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    tile.barrier_init
    %c = arith.constant true
    scf.if %c {
      // expected-error @below {{'tile.tmem_alloc' op expected in the entry block of a kernel}}
      %m = tile.tmem_alloc : !tile.tmem<[128, 64], f32>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    tile.barrier_init
    // expected-error @below {{'tile.tmem_alloc' op expected a power of two of columns, at least 32, got 96}}
    %m = tile.tmem_alloc : !tile.tmem<[128, 96], f32>
    tile.tmem_free %m : !tile.tmem<[128, 96], f32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    tile.barrier_init
    // expected-error @below {{'tile.tmem_alloc' op expected a power of two of columns, at least 32, got 16}}
    %m = tile.tmem_alloc : !tile.tmem<[128, 16], f32>
    tile.tmem_free %m : !tile.tmem<[128, 16], f32>
    gpu.return
  }
}

// -----

// The next kernel on this multiprocessor would wait for it.
gpu.module @m {
  gpu.func @kernel() kernel {
    tile.barrier_init
    // expected-error @below {{'tile.tmem_alloc' op expected exactly one 'tile.tmem_free', got 0}}
    %m = tile.tmem_alloc : !tile.tmem<[128, 64], f32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    tile.barrier_init
    %m = tile.tmem_alloc : !tile.tmem<[128, 512], f32>
    // expected-error @below {{'tile.tmem_alloc' op expected at most 512 columns in a block, got 544}}
    %n = tile.tmem_alloc : !tile.tmem<[128, 32], f32>
    tile.tmem_free %n : !tile.tmem<[128, 32], f32>
    tile.tmem_free %m : !tile.tmem<[128, 512], f32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    tile.barrier_init
    %m = tile.tmem_alloc : !tile.tmem<[128, 64], f32>
    // expected-error @below {{'tile.tmem_alloc' op expected all of a kernel's to be of pairs, or none}}
    %n = tile.tmem_alloc pair : !tile.tmem<[128, 32], f32>
    tile.tmem_free %n : !tile.tmem<[128, 32], f32>
    tile.tmem_free %m : !tile.tmem<[128, 64], f32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel(%m: !tile.tmem<[128, 64], f32>) kernel {
    tile.barrier_init
    // expected-error @below {{'tile.tmem_free' op expected what a 'tile.tmem_alloc' gave}}
    tile.tmem_free %m : !tile.tmem<[128, 64], f32>
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
!sums = !tile.pipe<1 of [!tile.tmem<[128, 64], f32>]>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %no: i1, %c0: index) kernel {
    %sums = tile.pipe mma consumers 4 : !sums
    tile.barrier_init
    %memory = tile.tmem_alloc : !d
    tile.role "finisher" warps 4 to 8 {
    ^bb0(%group: index):
      %at = tile.cursor
      %stage = tile.acquire %sums[%at] : !sums -> !tile.stage<free>
      %d = tile.tiles %sums[%stage] in %memory : !sums, !tile.stage<free>, !d -> !d
      // expected-error @below {{'tile.tmem_load' op expected a full stage, got a free one}}
      %p = tile.tmem_load %d[%c0] : !d -> !tile.pending<!tile.fragment<[128, 64], f32, tmem_32x32b>>
      %f = tile.await %p : !tile.pending<!tile.fragment<[128, 64], f32, tmem_32x32b>> -> !tile.fragment<[128, 64], f32, tmem_32x32b>
      tile.commit %sums[%stage] : !sums, !tile.stage<free>
    }
    tile.tmem_free %memory : !d
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
!sums = !tile.pipe<1 of [!tile.tmem<[128, 64], f32>]>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %no: i1, %c0: index) kernel {
    %sums = tile.pipe mma consumers 4 : !sums
    tile.barrier_init
    %memory = tile.tmem_alloc : !d
    tile.role "finisher" warps 4 to 8 {
    ^bb0(%group: index):
      %at = tile.cursor
      %stage = tile.wait %sums[%at] : !sums -> !tile.stage<full>
      %d = tile.tiles %sums[%stage] in %memory : !sums, !tile.stage<full>, !d -> !d
      // expected-error @below {{'tile.tmem_load' op expected a fragment of f32 in the layout tmem_32x32b}}
      %p = tile.tmem_load %d[%c0] : !d -> !tile.pending<!tile.fragment<[128, 64], f32>>
      %f = tile.await %p : !tile.pending<!tile.fragment<[128, 64], f32>> -> !tile.fragment<[128, 64], f32>
      tile.release %sums[%stage] : !sums, !tile.stage<full>
    }
    tile.tmem_free %memory : !d
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
!sums = !tile.pipe<1 of [!tile.tmem<[128, 64], f32>]>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %no: i1, %c0: index) kernel {
    %sums = tile.pipe mma consumers 4 : !sums
    tile.barrier_init
    %memory = tile.tmem_alloc : !d
    tile.role "finisher" warps 4 to 8 {
    ^bb0(%group: index):
      %at = tile.cursor
      %stage = tile.wait %sums[%at] : !sums -> !tile.stage<full>
      %d = tile.tiles %sums[%stage] in %memory : !sums, !tile.stage<full>, !d -> !d
      // expected-error @below {{'tile.tmem_load' op expected at most the 64 columns of the memory, got 128}}
      %p = tile.tmem_load %d[%c0] : !d -> !tile.pending<!tile.fragment<[128, 128], f32, tmem_32x32b>>
      %f = tile.await %p : !tile.pending<!tile.fragment<[128, 128], f32, tmem_32x32b>> -> !tile.fragment<[128, 128], f32, tmem_32x32b>
      tile.release %sums[%stage] : !sums, !tile.stage<full>
    }
    tile.tmem_free %memory : !d
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
!sums = !tile.pipe<1 of [!tile.tmem<[128, 64], f32>]>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %no: i1, %c0: index) kernel {
    %sums = tile.pipe mma consumers 4 : !sums
    tile.barrier_init
    %memory = tile.tmem_alloc : !d
    tile.role "finisher" warps 2 to 6 {
    ^bb0(%group: index):
      %at = tile.cursor
      %stage = tile.wait %sums[%at] : !sums -> !tile.stage<full>
      %d = tile.tiles %sums[%stage] in %memory : !sums, !tile.stage<full>, !d -> !d
      // expected-error @below {{'tile.tmem_load' op expected in a role of whole warpgroups: each warp reaches 32 rows}}
      %p = tile.tmem_load %d[%c0] : !d -> !tile.pending<!tile.fragment<[128, 64], f32, tmem_32x32b>>
      %f = tile.await %p : !tile.pending<!tile.fragment<[128, 64], f32, tmem_32x32b>> -> !tile.fragment<[128, 64], f32, tmem_32x32b>
      tile.release %sums[%stage] : !sums, !tile.stage<full>
    }
    tile.tmem_free %memory : !d
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
!sums = !tile.pipe<1 of [!tile.tmem<[128, 64], f32>]>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %no: i1, %c0: index) kernel {
    %sums = tile.pipe mma consumers 4 : !sums
    tile.barrier_init
    %memory = tile.tmem_alloc : !d
    tile.role "finisher" warps 4 to 8 {
    ^bb0(%group: index):
      tile.elect role {
        %at = tile.cursor
        %stage = tile.wait %sums[%at] : !sums -> !tile.stage<full>
        %d = tile.tiles %sums[%stage] in %memory : !sums, !tile.stage<full>, !d -> !d
        // expected-error @below {{'tile.tmem_load' op expected in a role of whole warpgroups: each warp reaches 32 rows}}
        %p = tile.tmem_load %d[%c0] : !d -> !tile.pending<!tile.fragment<[128, 64], f32, tmem_32x32b>>
        %f = tile.await %p : !tile.pending<!tile.fragment<[128, 64], f32, tmem_32x32b>> -> !tile.fragment<[128, 64], f32, tmem_32x32b>
        tile.release %sums[%stage] : !sums, !tile.stage<full>
      }
    }
    tile.tmem_free %memory : !d
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
!sums = !tile.pipe<1 of [!tile.tmem<[128, 64], f32>]>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %no: i1, %c0: index) kernel {
    %sums = tile.pipe mma consumers 4 : !sums
    tile.barrier_init
    %memory = tile.tmem_alloc : !d
    tile.role "finisher" warps 4 to 8 {
    ^bb0(%group: index):
      %at = tile.cursor
      %stage = tile.wait %sums[%at] : !sums -> !tile.stage<full>
      %d = tile.tiles %sums[%stage] in %memory : !sums, !tile.stage<full>, !d -> !d
      // expected-error @below {{'tile.tmem_load' op expected exactly one use of the pending fragment, got 2}}
      %p = tile.tmem_load %d[%c0] : !d -> !tile.pending<!tile.fragment<[128, 64], f32, tmem_32x32b>>
      %f = tile.await %p : !tile.pending<!tile.fragment<[128, 64], f32, tmem_32x32b>> -> !tile.fragment<[128, 64], f32, tmem_32x32b>
      %g = tile.await %p : !tile.pending<!tile.fragment<[128, 64], f32, tmem_32x32b>> -> !tile.fragment<[128, 64], f32, tmem_32x32b>
      tile.release %sums[%stage] : !sums, !tile.stage<full>
    }
    tile.tmem_free %memory : !d
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
!sums = !tile.pipe<1 of [!tile.tmem<[128, 64], f32>]>
gpu.module @m {
  gpu.func @kernel(%a: !a, %b: !b, %no: i1, %c0: index) kernel {
    %sums = tile.pipe mma consumers 4 : !sums
    tile.barrier_init
    %memory = tile.tmem_alloc : !d
    tile.role "finisher" warps 4 to 8 {
    ^bb0(%group: index):
      %f = arith.constant 0.0 : f32
      %p = tile.tmem_load %memory[%c0] : !d -> !tile.pending<!tile.fragment<[128, 64], f32, tmem_32x32b>>
      // expected-error @below {{'tile.await' op expected no reads of tensor memory in flight, got 1}}
      %g = tile.await<1> %p : !tile.pending<!tile.fragment<[128, 64], f32, tmem_32x32b>> -> !tile.fragment<[128, 64], f32, tmem_32x32b>
    }
    tile.tmem_free %memory : !d
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
func.func @f(%f: !tile.fragment<[128, 64], bf16, tmem_32x32b>, %d: !d, %c0: index) {
  // expected-error @below {{'tile.tmem_store' op expected a fragment of the memory's floats in the layout tmem_32x32b}}
  tile.tmem_store %f into %d[%c0] : !tile.fragment<[128, 64], bf16, tmem_32x32b>, !d
  return
}

// -----

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
        %stage = tile.acquire %sums[%at] : !sums -> !tile.stage<free>
        // expected-error @below {{'tile.tiles' op expected 'in' with tensor memory for stages in tensor memory, and for no others}}
        %d = tile.tiles %sums[%stage] : !sums, !tile.stage<free> -> !d
        tile.commit %sums[%stage] : !sums, !tile.stage<free>
      }
    }
    tile.tmem_free %memory : !d
    gpu.return
  }
}

// -----

!a = !tile.smem<[128, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
!sums = !tile.pipe<2 of [!tile.tmem<[128, 64], f32>]>
func.func @f(%sums: !sums, %stage: !tile.stage<free>, %memory: !d) {
  // expected-error @below {{'tile.tiles' op expected tensor memory of at least 128 columns for the stages, got 64}}
  %d = tile.tiles %sums[%stage] in %memory : !sums, !tile.stage<free>, !d -> !d
  return
}

// -----

!pipe = !tile.pipe<1 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
func.func @f(%pipe: !pipe, %stage: !tile.stage<full>) {
  // expected-error @below {{'tile.release' op with 'after_mma' expected in 'tile.elect' and without 'to'}}
  tile.release %pipe[%stage] after_mma : !pipe, !tile.stage<full>
  return
}

// -----

func.func @f(%f: !tile.fragment<[128, 64], f32, tmem_32x32b>, %c: !tile.column<128, f32>) {
  // expected-error @below {{'tile.apply' op expected operands of the result's shape, got '!tile.column<128, f32>' for '!tile.fragment<[128, 64], f32, tmem_32x32b>'}}
  %g = tile.apply %f, %c : !tile.fragment<[128, 64], f32, tmem_32x32b>, !tile.column<128, f32> -> !tile.fragment<[128, 64], f32, tmem_32x32b> {
  ^bb0(%x: f32, %y: f32, %column: i32):
    tile.yield %x : f32
  }
  return
}

// -----

func.func @f(%p: !tile.pending<!tile.fragment<[128, 64], f32, tmem_32x32b>>) {
  // expected-error @below {{'tile.wgmma_wait' op expected fragments in the layout of wgmma, got tmem_32x32b}}
  %q = tile.wgmma_wait<0> %p : !tile.pending<!tile.fragment<[128, 64], f32, tmem_32x32b>>
  return
}

// -----

func.func @f(%f: !tile.fragment<[128, 64], f32, tmem_32x32b>, %t: !tile.smem<[128, 64], f32>) {
  // expected-error @below {{'tile.cluster_store' op expected fragments in the layout of wgmma, got tmem_32x32b}}
  tile.cluster_store %f in %t : !tile.fragment<[128, 64], f32, tmem_32x32b>, !tile.smem<[128, 64], f32>
  return
}

// -----

func.func @f(%f: !tile.fragment<[128, 64], f32, tmem_32x32b>) {
  // expected-error @below {{'tile.thread_reduce' op expected a result in the fragment's layout}}
  %c = tile.thread_reduce add %f : !tile.fragment<[128, 64], f32, tmem_32x32b> -> !tile.column<128, f32, partial>
  return
}

// -----

func.func @f(%f: !tile.fragment<[128, 64], f32, tmem_32x32b>) {
  // expected-error @below {{'tile.extract_columns' op expected a result in the fragment's layout}}
  %g = tile.extract_columns %f from 0 : !tile.fragment<[128, 64], f32, tmem_32x32b> -> !tile.fragment<[128, 32], f32>
  return
}

// -----

func.func @f(%f: !tile.fragment<[128, 64], f32, tmem_32x32b>, %i: index) {
  // expected-error @below {{'tile.map' op expected a result in the fragment's layout}}
  %g = tile.map %f at [%i, %i] within [%i, %i] : !tile.fragment<[128, 64], f32, tmem_32x32b> -> !tile.fragment<[128, 64], f32> {
  ^bb0(%v: f32, %row: index, %column: index):
    tile.yield %v : f32
  }
  return
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.role' op expected a range of warps, got 2 to 2}}
    tile.role "nobody" warps 2 to 2 {
    ^bb0(%group: index):
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    tile.role "few" warps 1 to 2 {
    ^bb0(%group: index):
      // expected-error @below {{'tile.sync' op expected in a role of whole warpgroups}}
      tile.sync role
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    tile.role "few" warps 1 to 2 {
    ^bb0(%group: index):
      // expected-error @below {{'tile.elect' op of a warpgroup expected in a role of whole warpgroups}}
      tile.elect warpgroup {
      }
    }
    gpu.return
  }
}

// -----

func.func @f(%f: !tile.fragment<[128, 64], bf16, tmem_32x32b>, %t: !tile.smem<[128, 64], bf16, swizzle 128>) {
  // expected-error @below {{'tile.store_shared' op of tmem_32x32b expected no 'in pairs' and no 'transposed'}}
  tile.store_shared %f into %t in pairs : !tile.fragment<[128, 64], bf16, tmem_32x32b>, !tile.smem<[128, 64], bf16, swizzle 128>
  return
}

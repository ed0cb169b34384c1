// RUN: kpc-opt %s -verify-diagnostics -split-input-file

// Pipes and their stages.

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.pipe' op expected at least one producer warp and one consumer warp}}
    %pipe = tile.pipe tma consumers 0 : <2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
    tile.barrier_init
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.pipe' op expected at least one producer warp and one consumer warp}}
    %pipe = tile.pipe threads producers 0 consumers 4 : <2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
    tile.barrier_init
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    tile.barrier_init
    // expected-error @below {{'tile.pipe' op expected in front of a 'tile.barrier_init'}}
    %pipe = tile.pipe tma consumers 4 : <2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
    gpu.return
  }
}

// -----

func.func @f() {
  // expected-error @below {{'tile.pipe' op expected in the entry block of a kernel}}
  %pipe = tile.pipe tma consumers 4 : <2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
  return
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.barrier_init' op expected once in a kernel}}
    tile.barrier_init
    tile.barrier_init
    gpu.return
  }
}

// -----

func.func @f() {
  // expected-error @below {{'tile.barrier_init' op expected in the entry block of a kernel}}
  tile.barrier_init
  return
}

// -----

!pipe = !tile.pipe<2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
func.func @f(%pipe: !pipe, %cursor: !tile.cursor) {
  // expected-error @below {{'tile.acquire' op expected a free stage, got a full one}}
  %stage = tile.acquire %pipe[%cursor] : !pipe -> !tile.stage<full>
  return
}

// -----

// A stage that nobody fills: readers wait for ever.
!pipe = !tile.pipe<2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
func.func @f(%pipe: !pipe, %cursor: !tile.cursor) {
  // expected-error @below {{'tile.acquire' op expected exactly one op that commits, releases or carries its stage, got 0}}
  %stage = tile.acquire %pipe[%cursor] : !pipe -> !tile.stage<free>
  return
}

// -----

!pipe = !tile.pipe<2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
func.func @f(%pipe: !pipe, %cursor: !tile.cursor) {
  // expected-error @below {{'tile.wait' op expected a full stage, got a free one}}
  %stage = tile.wait %pipe[%cursor] : !pipe -> !tile.stage<free>
  return
}

// -----

// A stage that is given back twice: the second time under another reader.
!pipe = !tile.pipe<2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
func.func @f(%pipe: !pipe, %cursor: !tile.cursor) {
  // expected-error @below {{'tile.wait' op expected exactly one op that commits, releases or carries its stage, got 2}}
  %stage = tile.wait %pipe[%cursor] : !pipe -> !tile.stage<full>
  tile.release %pipe[%stage] : !pipe, !tile.stage<full>
  tile.release %pipe[%stage] : !pipe, !tile.stage<full>
  return
}

// -----

!pipe = !tile.pipe<2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
func.func @f(%pipe: !pipe, %full: !tile.stage<full>) {
  // expected-error @below {{'tile.commit' op expected a free stage, got a full one}}
  tile.commit %pipe[%full] : !pipe, !tile.stage<full>
  return
}

// -----

!pipe = !tile.pipe<2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
func.func @f(%pipe: !pipe, %free: !tile.stage<free>) {
  // expected-error @below {{'tile.release' op expected a full stage, got a free one}}
  tile.release %pipe[%free] : !pipe, !tile.stage<free>
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!pipe = !tile.pipe<2 of [!a]>
func.func @f(%pipe: !pipe, %free: !tile.stage<free>) {
  // expected-error @below {{'tile.tiles' op expected the types of the pipe's tiles as results}}
  %a, %b = tile.tiles %pipe[%free] : !pipe, !tile.stage<free> -> !a, !a
  return
}

// -----

!pipe = !tile.pipe<2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
func.func @f(%pipe: !pipe, %cursor: !tile.cursor) {
  // expected-error @below {{'tile.drain' op expected at most the 2 stages of the pipe, got 3}}
  tile.drain %pipe[%cursor] count 3 : !pipe
  return
}

// RUN: kpc-opt %s -verify-diagnostics -split-input-file

// Pipes and their slots.

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.pipe' op has at least one producing and one consuming warp}}
    %pipe = tile.pipe tma consumers 0 : <2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
    tile.start
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.pipe' op has at least one producing and one consuming warp}}
    %pipe = tile.pipe threads producers 0 consumers 4 : <2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
    tile.start
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    tile.start
    // expected-error @below {{'tile.pipe' op needs a 'tile.start' behind it}}
    %pipe = tile.pipe tma consumers 4 : <2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
    gpu.return
  }
}

// -----

func.func @f() {
  // expected-error @below {{'tile.pipe' op stands in the entry block of a kernel}}
  %pipe = tile.pipe tma consumers 4 : <2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
  return
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.start' op comes once in a kernel}}
    tile.start
    tile.start
    gpu.return
  }
}

// -----

func.func @f() {
  // expected-error @below {{'tile.start' op stands in the entry block of a kernel}}
  tile.start
  return
}

// -----

!pipe = !tile.pipe<2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
func.func @f(%pipe: !pipe, %cursor: !tile.cursor) {
  // expected-error @below {{'tile.acquire' op needs a free slot}}
  %slot = tile.acquire %pipe[%cursor] : !pipe -> !tile.slot<full>
  return
}

// -----

// A slot that nobody fills: readers wait for ever.
!pipe = !tile.pipe<2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
func.func @f(%pipe: !pipe, %cursor: !tile.cursor) {
  // expected-error @below {{'tile.acquire' op gives a slot that is handed on 0 times, not once}}
  %slot = tile.acquire %pipe[%cursor] : !pipe -> !tile.slot<free>
  return
}

// -----

!pipe = !tile.pipe<2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
func.func @f(%pipe: !pipe, %cursor: !tile.cursor) {
  // expected-error @below {{'tile.wait' op needs a full slot}}
  %slot = tile.wait %pipe[%cursor] : !pipe -> !tile.slot<free>
  return
}

// -----

// A slot that is given back twice: the second time under another reader.
!pipe = !tile.pipe<2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
func.func @f(%pipe: !pipe, %cursor: !tile.cursor) {
  // expected-error @below {{'tile.wait' op gives a slot that is handed on 2 times, not once}}
  %slot = tile.wait %pipe[%cursor] : !pipe -> !tile.slot<full>
  tile.release %pipe[%slot] : !pipe, !tile.slot<full>
  tile.release %pipe[%slot] : !pipe, !tile.slot<full>
  return
}

// -----

!pipe = !tile.pipe<2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
func.func @f(%pipe: !pipe, %full: !tile.slot<full>) {
  // expected-error @below {{'tile.commit' op needs a free slot}}
  tile.commit %pipe[%full] : !pipe, !tile.slot<full>
  return
}

// -----

!pipe = !tile.pipe<2 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
func.func @f(%pipe: !pipe, %free: !tile.slot<free>) {
  // expected-error @below {{'tile.release' op needs a full slot}}
  tile.release %pipe[%free] : !pipe, !tile.slot<free>
  return
}

// -----

!a = !tile.smem<[64, 64], bf16, swizzle 128>
!pipe = !tile.pipe<2 of [!a]>
func.func @f(%pipe: !pipe, %free: !tile.slot<free>) {
  // expected-error @below {{'tile.tiles' op does not give the tiles of the pipe's slots}}
  %a, %b = tile.tiles %pipe[%free] : !pipe, !tile.slot<free> -> !a, !a
  return
}

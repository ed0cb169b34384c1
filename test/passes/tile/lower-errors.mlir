// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-lower-tile))' -verify-diagnostics -split-input-file %s

gpu.module @m {
  gpu.func @pipe() kernel {
    // expected-error @below {{'tile.pipe' op has no place in shared memory; kpc-place-shared gives it one}}
    // expected-error @below {{failed to legalize operation 'tile.pipe' that was explicitly marked illegal}}
    %pipe = tile.pipe tma consumers 4 : <1 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
    tile.barrier_init
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @alloc() kernel {
    // expected-error @below {{'tile.alloc' op has no place in shared memory; kpc-place-shared gives it one}}
    // expected-error @below {{failed to legalize operation 'tile.alloc' that was explicitly marked illegal}}
    %a = tile.alloc : <[64, 64], bf16, swizzle 128>
    tile.barrier_init
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'gpu.func' op has a role for warps that the block of 128 threads lacks}}
  gpu.func @kernel() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    tile.barrier_init
    tile.role "all" warps 0 to 8 registers 64 {
    ^bb0(%group: index):
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'gpu.func' op has roles with 71680 registers together; a block has 65536, and would wait for more for ever}}
  gpu.func @kernel() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [384, 1, 1]>} {
    tile.barrier_init
    tile.role "producer" warps 0 to 4 registers 80 {
    ^bb0(%group: index):
    }
    tile.role "consumer" warps 4 to 12 registers 240 {
    ^bb0(%group: index):
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [1024, 1, 1]>} {
    tile.barrier_init
    tile.role "last" warps 28 to 32 registers 64 {
    ^bb0(%group: index):
      // expected-error @below {{'tile.sync' op of a role that begins with warp 28 has no barrier: there are 16}}
      // expected-error @below {{failed to legalize operation 'tile.sync' that was explicitly marked illegal}}
      tile.sync role
    }
    gpu.return
  }
}

// -----

// Roles of so large a block may have the barriers of turns.
gpu.module @m {
  // expected-error @below {{'gpu.func' op has warpgroups that take turns; expected at most 512 threads, got 640: there are 16 named barriers}}
  gpu.func @kernel() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [640, 1, 1]>} {
    tile.barrier_init
    tile.role "consumer" warps 12 to 20 registers 96 {
    ^bb0(%group: index):
      tile.wait_turn
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @tensor_memory() kernel {
    tile.barrier_init
    // expected-error @below {{'tile.tmem_alloc' op has no place in shared memory for its address; kpc-place-shared gives it one}}
    // expected-error @below {{failed to legalize operation 'tile.tmem_alloc' that was explicitly marked illegal}}
    %memory = tile.tmem_alloc : !tile.tmem<[128, 64], f32>
    tile.tmem_free %memory : !tile.tmem<[128, 64], f32>
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'gpu.func' op works in pairs of blocks: the cluster of its kernel.launch is 2}}
  gpu.func @pair() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    tile.barrier_init
    %memory = tile.tmem_alloc pair : !tile.tmem<[128, 64], f32>
    tile.tmem_free %memory : !tile.tmem<[128, 64], f32>
    gpu.return
  }
}

// -----

// What is known of a pipe stands where it is declared.
!pipe = !tile.pipe<1 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
gpu.module @m {
  gpu.func @kernel(%pipe: !pipe) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    tile.barrier_init
    %at = tile.cursor
    // expected-error @below {{'tile.acquire' op needs the pipe that a 'tile.pipe' declares}}
    // expected-error @below {{failed to legalize operation 'tile.acquire' that was explicitly marked illegal}}
    %free = tile.acquire %pipe[%at] : !pipe -> !tile.stage<free>
    tile.commit %pipe[%free] : !pipe, !tile.stage<free>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @pieces(%x: memref<?xbf16>) kernel {
    %a = tile.alloc {offset = 0 : i64} : <[64, 64], bf16, swizzle 128>
    tile.barrier_init
    // expected-error @below {{'tile.cp_async' op needs a kernel with 'kernel.launch': its threads share the pieces}}
    // expected-error @below {{failed to legalize operation 'tile.cp_async' that was explicitly marked illegal}}
    tile.cp_async %x into %a by 16 : memref<?xbf16>, !tile.smem<[64, 64], bf16, swizzle 128> {
    ^bb0(%row: index, %column: index):
      tile.yield_address %row
    }
    gpu.return
  }
}

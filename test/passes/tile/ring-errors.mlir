// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-place-shared,kpc-lower-tile))' -verify-diagnostics -split-input-file %s

// A ring of warps has no barriers: its stages are counted along the program.

!ring = !tile.pipe<2 of [!tile.smem<[16, 64], f16>]>
gpu.module @m {
  gpu.func @two() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %a = tile.pipe cp_async warps 1 : !ring
    // expected-error @below {{'tile.pipe' op expected one ring of warps in a kernel: a thread counts the groups of its copies once}}
    %b = tile.pipe cp_async warps 1 : !ring
    gpu.return
  }
}

// -----

!ring = !tile.pipe<2 of [!tile.smem<[16, 64], f16>]>
gpu.module @m {
  gpu.func @few() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    // expected-error @below {{'tile.pipe' op expected rings for the block's 4 warps, got 2}}
    %ring = tile.pipe cp_async warps 2 : !ring
    gpu.return
  }
}

// -----

!ring = !tile.pipe<2 of [!tile.smem<[16, 64], f16>]>
gpu.module @m {
  gpu.func @others() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %ring = tile.pipe cp_async warps 1 : !ring
    // expected-error @below {{'tile.cp_async_commit' op expected no other copies in a kernel with a ring of warps, which counts the groups of each thread}}
    tile.cp_async_commit
    gpu.return
  }
}

// -----

// Two stages, both being filled.
!ring = !tile.pipe<2 of [!tile.smem<[16, 64], f16>]>
gpu.module @m {
  gpu.func @overfull() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %ring = tile.pipe cp_async warps 1 : !ring
    %c = tile.cursor of %ring : !ring
    %a = tile.acquire %ring[%c] : !ring -> !tile.stage<free>
    tile.commit %ring[%a] : !ring, !tile.stage<free>
    %c1 = tile.next %ring[%c] : !ring
    %b = tile.acquire %ring[%c1] : !ring -> !tile.stage<free>
    tile.commit %ring[%b] : !ring, !tile.stage<free>
    // expected-error @below {{'tile.acquire' op expected a stage that is free: of 2, 2 are being filled, 0 are read, and 0 are released but not free before the next 'tile.wait'}}
    %d = tile.acquire %ring[%c] : !ring -> !tile.stage<free>
    tile.commit %ring[%d] : !ring, !tile.stage<free>
    gpu.return
  }
}

// -----

// The stage was released, but other lanes may still read it: it is free behind the next wait, where lanes meet.
!ring = !tile.pipe<2 of [!tile.smem<[16, 64], f16>]>
gpu.module @m {
  gpu.func @early(%n: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ring = tile.pipe cp_async warps 1 : !ring
    %c = tile.cursor of %ring : !ring
    %a = tile.acquire %ring[%c] : !ring -> !tile.stage<free>
    tile.commit %ring[%a] : !ring, !tile.stage<free>
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%at = %c) -> (!tile.cursor) {
      %next = tile.next %ring[%at] : !ring
      // expected-error @below {{'tile.acquire' op expected a stage that is free: of 2, 1 are being filled, 0 are read, and 1 are released but not free before the next 'tile.wait'}}
      %b = tile.acquire %ring[%next] : !ring -> !tile.stage<free>
      tile.commit %ring[%b] : !ring, !tile.stage<free>
      %full = tile.wait %ring[%at] in_flight 1 : !ring -> !tile.stage<full>
      tile.release %ring[%full] : !ring, !tile.stage<full>
      scf.yield %next : !tile.cursor
    }
    tile.drain %ring[%c] : !ring
    gpu.return
  }
}

// -----

!ring = !tile.pipe<2 of [!tile.smem<[16, 64], f16>]>
gpu.module @m {
  gpu.func @nothing() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %ring = tile.pipe cp_async warps 1 : !ring
    %c = tile.cursor of %ring : !ring
    // expected-error @below {{'tile.wait' op expected a stage that was committed before}}
    %full = tile.wait %ring[%c] : !ring -> !tile.stage<full>
    tile.release %ring[%full] : !ring, !tile.stage<full>
    gpu.return
  }
}

// -----

// One group too many is left in flight: that of the stage itself.
!ring = !tile.pipe<3 of [!tile.smem<[16, 64], f16>]>
gpu.module @m {
  gpu.func @not_full() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %ring = tile.pipe cp_async warps 1 : !ring
    %c = tile.cursor of %ring : !ring
    %a = tile.acquire %ring[%c] : !ring -> !tile.stage<free>
    tile.commit %ring[%a] : !ring, !tile.stage<free>
    %c1 = tile.next %ring[%c] : !ring
    %b = tile.acquire %ring[%c1] : !ring -> !tile.stage<free>
    tile.commit %ring[%b] : !ring, !tile.stage<free>
    // expected-error @below {{'tile.wait' op expected at most the 1 younger groups in flight, got 2: the stage would not be full}}
    %full = tile.wait %ring[%c] in_flight 2 : !ring -> !tile.stage<full>
    tile.release %ring[%full] : !ring, !tile.stage<full>
    tile.drain %ring[%c] : !ring
    gpu.return
  }
}

// -----

!ring = !tile.pipe<2 of [!tile.smem<[16, 64], f16>]>
gpu.module @m {
  gpu.func @foreign(%a: !tile.stage<free>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %ring = tile.pipe cp_async warps 1 : !ring
    // expected-error @below {{'tile.commit' op expected a stage that was acquired before}}
    tile.commit %ring[%a] : !ring, !tile.stage<free>
    gpu.return
  }
}

// -----

!ring = !tile.pipe<2 of [!tile.smem<[16, 64], f16>]>
gpu.module @m {
  gpu.func @foreign(%a: !tile.stage<full>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %ring = tile.pipe cp_async warps 1 : !ring
    // expected-error @below {{'tile.release' op expected a stage that was waited for before}}
    tile.release %ring[%a] : !ring, !tile.stage<full>
    gpu.return
  }
}

// -----

// The step before reads its stage while the next wait may already be passed.
!k = !tile.smem<[16, 64], f16>
!ring = !tile.pipe<2 of [!k]>
gpu.module @m {
  gpu.func @late(%n: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %ring = tile.pipe cp_async warps 1 : !ring
    %c = tile.cursor of %ring : !ring
    %a = tile.acquire %ring[%c] : !ring -> !tile.stage<free>
    tile.commit %ring[%a] : !ring, !tile.stage<free>
    %full = tile.wait %ring[%c] : !ring -> !tile.stage<full>
    %k = tile.tiles %ring[%full] : !ring, !tile.stage<full> -> !k
    tile.release %ring[%full] : !ring, !tile.stage<full>
    // expected-error @below {{'tile.load_vector' op expected in front of the op that commits or releases its stage}}
    %v = tile.load_vector %k[%n, %n] : !k -> vector<4xi32>
    gpu.return
  }
}

// -----

!k = !tile.smem<[16, 64], f16>
!ring = !tile.pipe<2 of [!k]>
gpu.module @m {
  gpu.func @early_reuse() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %ring = tile.pipe cp_async warps 1 : !ring
    %c = tile.cursor of %ring : !ring
    %a = tile.acquire %ring[%c] : !ring -> !tile.stage<free>
    tile.commit %ring[%a] : !ring, !tile.stage<free>
    tile.sync block
    tile.drain %ring[%c] : !ring
    // expected-error @below {{'tile.reuse' op expected 'tile.drain' and then 'tile.sync block' before the memory of a ring of warps}}
    %parts = tile.reuse %ring : !ring -> !k
    gpu.return
  }
}

// -----

!ring = !tile.pipe<2 of [!tile.smem<[16, 64], f16>]>
gpu.module @m {
  gpu.func @skips(%n: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %ring = tile.pipe cp_async warps 1 : !ring
    %c = tile.cursor of %ring : !ring
    // expected-error @below {{'tile.skip' op is not for a ring of warps, which only the warp's own lanes fill, read and release}}
    %next = tile.skip %ring[%c] by %n : !ring
    gpu.return
  }
}

// -----

!ring = !tile.pipe<2 of [!tile.smem<[16, 64], f16>]>
gpu.module @m {
  gpu.func @alone() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %ring = tile.pipe cp_async warps 4 : !ring
    tile.barrier_init
    %c = tile.cursor of %ring : !ring
    // expected-error @below {{'tile.role' op expected 'scf.for' or 'scf.if' around a ring of warps, which all lanes execute together}}
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      %a = tile.acquire %ring[%c] : !ring -> !tile.stage<free>
      tile.commit %ring[%a] : !ring, !tile.stage<free>
    }
    gpu.return
  }
}

// -----

// Each round leaves one stage more.
!ring = !tile.pipe<3 of [!tile.smem<[16, 64], f16>]>
gpu.module @m {
  gpu.func @grows(%n: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ring = tile.pipe cp_async warps 1 : !ring
    %c = tile.cursor of %ring : !ring
    // expected-error @below {{'scf.for' op expected as many stages of a ring of warps on each way: 0 committed and 0 held, or 1 and 0}}
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%at = %c) -> (!tile.cursor) {
      %b = tile.acquire %ring[%at] : !ring -> !tile.stage<free>
      tile.commit %ring[%b] : !ring, !tile.stage<free>
      %next = tile.next %ring[%at] : !ring
      scf.yield %next : !tile.cursor
    }
    gpu.return
  }
}

// -----

!ring = !tile.pipe<3 of [!tile.smem<[16, 64], f16>]>
gpu.module @m {
  gpu.func @branch(%is: i1) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %ring = tile.pipe cp_async warps 1 : !ring
    %c = tile.cursor of %ring : !ring
    // expected-error @below {{'scf.if' op expected as many stages of a ring of warps on each way: 0 committed and 0 held, or 1 and 0}}
    scf.if %is {
      %b = tile.acquire %ring[%c] : !ring -> !tile.stage<free>
      tile.commit %ring[%b] : !ring, !tile.stage<free>
    }
    gpu.return
  }
}

// -----

!ring = !tile.pipe<3 of [!tile.smem<[16, 64], f16>]>
gpu.module @m {
  gpu.func @not_drained() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    // expected-error @below {{'tile.pipe' op expected all of a ring of warps to be released and drained at the kernel's end, got 1 stages that are being filled and 0 held}}
    %ring = tile.pipe cp_async warps 1 : !ring
    %c = tile.cursor of %ring : !ring
    %b = tile.acquire %ring[%c] : !ring -> !tile.stage<free>
    tile.commit %ring[%b] : !ring, !tile.stage<free>
    gpu.return
  }
}

// -----

// The second stage is filled where the first is.
!ring = !tile.pipe<3 of [!tile.smem<[16, 64], f16>]>
gpu.module @m {
  gpu.func @same_place() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %ring = tile.pipe cp_async warps 1 : !ring
    %c = tile.cursor of %ring : !ring
    %a = tile.acquire %ring[%c] : !ring -> !tile.stage<free>
    tile.commit %ring[%a] : !ring, !tile.stage<free>
    // expected-error @below {{'tile.acquire' op expected the place after the stage that was acquired last}}
    %b = tile.acquire %ring[%c] : !ring -> !tile.stage<free>
    tile.commit %ring[%b] : !ring, !tile.stage<free>
    gpu.return
  }
}

// -----

!ring = !tile.pipe<3 of [!tile.smem<[16, 64], f16>]>
gpu.module @m {
  gpu.func @younger() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %ring = tile.pipe cp_async warps 1 : !ring
    %c = tile.cursor of %ring : !ring
    %a = tile.acquire %ring[%c] : !ring -> !tile.stage<free>
    tile.commit %ring[%a] : !ring, !tile.stage<free>
    %next = tile.next %ring[%c] : !ring
    // expected-error @below {{'tile.wait' op expected the place of the oldest stage that is committed}}
    %full = tile.wait %ring[%next] : !ring -> !tile.stage<full>
    tile.release %ring[%full] : !ring, !tile.stage<full>
    gpu.return
  }
}

// -----

!ring = !tile.pipe<3 of [!tile.smem<[16, 64], f16>]>
gpu.module @m {
  gpu.func @committed_out_of_order() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %ring = tile.pipe cp_async warps 1 : !ring
    %c = tile.cursor of %ring : !ring
    %next = tile.next %ring[%c] : !ring
    %a = tile.acquire %ring[%c] : !ring -> !tile.stage<free>
    %b = tile.acquire %ring[%next] : !ring -> !tile.stage<free>
    // expected-error @below {{'tile.commit' op expected stages to be committed in the order in which they were acquired}}
    tile.commit %ring[%b] : !ring, !tile.stage<free>
    tile.commit %ring[%a] : !ring, !tile.stage<free>
    gpu.return
  }
}

// -----

!ring = !tile.pipe<3 of [!tile.smem<[16, 64], f16>]>
gpu.module @m {
  gpu.func @two_held() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %ring = tile.pipe cp_async warps 1 : !ring
    %c = tile.cursor of %ring : !ring
    %next = tile.next %ring[%c] : !ring
    %a = tile.acquire %ring[%c] : !ring -> !tile.stage<free>
    tile.commit %ring[%a] : !ring, !tile.stage<free>
    %b = tile.acquire %ring[%next] : !ring -> !tile.stage<free>
    tile.commit %ring[%b] : !ring, !tile.stage<free>
    %first = tile.wait %ring[%c] : !ring -> !tile.stage<full>
    // expected-error @below {{'tile.wait' op expected the stage before to be released: stages are freed in their order}}
    %second = tile.wait %ring[%next] : !ring -> !tile.stage<full>
    tile.release %ring[%second] : !ring, !tile.stage<full>
    tile.release %ring[%first] : !ring, !tile.stage<full>
    gpu.return
  }
}

// -----

// The loop waits for a stage in each round, and stays at its place.
!ring = !tile.pipe<2 of [!tile.smem<[16, 64], f16>]>
gpu.module @m {
  gpu.func @stays(%n: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ring = tile.pipe cp_async warps 1 : !ring
    %c = tile.cursor of %ring : !ring
    %a = tile.acquire %ring[%c] : !ring -> !tile.stage<free>
    tile.commit %ring[%a] : !ring, !tile.stage<free>
    // expected-error @below {{'scf.for' op expected a loop that carries the places of a ring of warps on by the stages it waits for}}
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%at = %c) -> (!tile.cursor) {
      %full = tile.wait %ring[%at] : !ring -> !tile.stage<full>
      %next = tile.next %ring[%at] : !ring
      %b = tile.acquire %ring[%next] : !ring -> !tile.stage<free>
      tile.commit %ring[%b] : !ring, !tile.stage<free>
      tile.release %ring[%full] : !ring, !tile.stage<full>
      scf.yield %at : !tile.cursor
    }
    tile.drain %ring[%last] : !ring
    gpu.return
  }
}

// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-place-shared,kpc-lower-tile,canonicalize,cse))' %s | FileCheck %s

// A pipe of three stages of 8,192 bytes: its barriers are behind them, full at 24,576 + 16 · stage, empty 8 bytes further.

!pipe = !tile.pipe<3 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
gpu.module @m {
  // CHECK: llvm.mlir.global external @kpc_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

  // CHECK-LABEL: gpu.func @tma
  // CHECK-DAG: %[[BASE:.*]] = llvm.mlir.addressof @kpc_shared
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i32
  // CHECK-DAG: %[[C1:.*]] = arith.constant 1 : i32
  // CHECK-DAG: %[[C2:.*]] = arith.constant 2 : i32
  // CHECK-DAG: %[[C4:.*]] = arith.constant 4 : i32
  // CHECK-DAG: %[[C16:.*]] = arith.constant 16 : i32
  // CHECK-DAG: %[[BYTES:.*]] = arith.constant 8192 : i32
  // CHECK-DAG: %[[ROUND:.*]] = arith.constant 65536 : i32
  // CHECK-DAG: %[[SLOTS:.*]] = arith.constant 65535 : i32
  gpu.func @tma(%n: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [256, 1, 1]>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %pipe = tile.pipe tma consumers 4 : <3 of [!tile.smem<[64, 64], bf16, swizzle 128>]>

    // One arrival (that of who announces the bytes) fills a stage; four warps free it.
    // CHECK: scf.if
    // CHECK: %[[FULL0:.*]] = llvm.getelementptr %{{.*}}[24576]
    // CHECK: nvvm.mbarrier.init %[[FULL0]], %[[C1]]
    // CHECK: nvvm.mbarrier.init %{{.*}}, %[[C4]]
    // CHECK-COUNT-4: nvvm.mbarrier.init
    // CHECK-NOT: nvvm.mbarrier.init
    // CHECK: nvvm.fence.mbarrier.init
    // CHECK: }
    // CHECK: nvvm.barrier
    tile.barrier_init
    tile.role "all" warps 0 to 8 registers 128 {
    ^bb0(%group: index):
      %first = tile.cursor
      // A cursor is a word: the stage, and above it the parity of the round.
      // CHECK: scf.for {{.*}} iter_args(%[[AT:.*]] = %[[C0]]) -> (i32)
      %last = scf.for %i = %c0 to %n step %c1 iter_args(%cursor = %first) -> (!tile.cursor) {
        // The stage is free when the reads of the round before are over: the other parity.
        // CHECK: %[[SLOT:.*]] = arith.andi %[[AT]], %[[SLOTS]]
        // CHECK: %[[PARITY:.*]] = arith.shrui %[[AT]], %[[C16]]
        // CHECK: %[[OTHER:.*]] = arith.xori %[[PARITY]], %[[C1]]
        // CHECK: %[[PAIR:.*]] = arith.muli %[[SLOT]], %[[C16]]
        // CHECK: %[[BARRIERS:.*]] = llvm.getelementptr %[[BASE]][%[[PAIR]]]
        // CHECK: %[[EMPTY:.*]] = llvm.getelementptr %[[BARRIERS]][24584]
        // CHECK: nvvm.mbarrier.try_wait.parity %[[EMPTY]], %[[OTHER]]
        // CHECK: %[[FULL:.*]] = llvm.getelementptr %[[BARRIERS]][24576]
        // CHECK: nvvm.mbarrier.arrive.expect_tx %[[FULL]], %[[BYTES]]
        %free = tile.acquire %pipe[%cursor] : !pipe -> !tile.stage<free>

        // Copies make the stage full; nothing is left of the commit.
        tile.commit %pipe[%free] : !pipe, !tile.stage<free>

        // CHECK-NEXT: nvvm.mbarrier.try_wait.parity %[[FULL]], %[[PARITY]]
        %full = tile.wait %pipe[%cursor] : !pipe -> !tile.stage<full>

        // One lane arrives for its warp; a predicate, no branch.
        // CHECK-NEXT: %[[FIRST_LANE:.*]] = arith.cmpi eq, %{{.*}}, %[[C0]]
        // CHECK-NEXT: nvvm.inline_ptx "mbarrier.arrive.shared::cta.b64 _, [{$r0}];" ro(%[[EMPTY]] : !llvm.ptr<3>), predicate = %[[FIRST_LANE]]
        tile.release %pipe[%full] : !pipe, !tile.stage<full>

        // Behind stage 2 comes stage 0 with the parity turned round.
        // CHECK: %[[TURNED:.*]] = arith.xori %[[AT]], %[[ROUND]]
        // CHECK: %[[WRAPPED:.*]] = arith.andi %[[TURNED]], %[[ROUND]]
        // CHECK: %[[IS_LAST:.*]] = arith.cmpi eq, %[[SLOT]], %[[C2]]
        // CHECK: %[[ONE_ON:.*]] = arith.addi %[[AT]], %[[C1]]
        // CHECK: arith.select %[[IS_LAST]], %[[WRAPPED]], %[[ONE_ON]]
        %next = tile.next %pipe[%cursor] : !pipe
        scf.yield %next : !tile.cursor
      }
    }
    gpu.return
  }

  // Threads that write a stage themselves: no bytes are announced, a commit is an arrival of each warp.
  // CHECK-LABEL: gpu.func @threads
  gpu.func @threads() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [256, 1, 1]>} {
    // CHECK-DAG: %[[THREE:.*]] = arith.constant 3 : i32
    // CHECK: nvvm.mbarrier.init %{{.*}}, %[[THREE]]
    %pipe = tile.pipe threads producers 3 consumers 4 : <3 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
    tile.barrier_init
    tile.role "all" warps 0 to 8 registers 128 {
    ^bb0(%group: index):
      %cursor = tile.cursor
      // CHECK: nvvm.mbarrier.try_wait.parity
      // CHECK-NOT: expect_tx
      %free = tile.acquire %pipe[%cursor] : !pipe -> !tile.stage<free>
      // CHECK: nvvm.bar.warp.sync
      // CHECK: mbarrier.arrive.shared::cta.b64
      tile.commit %pipe[%free] : !pipe, !tile.stage<free>
    }
    gpu.return
  }

  // So many stages further: each whole round turns the parity.
  // CHECK-LABEL: gpu.func @skip
  gpu.func @skip(%count: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %pipe = tile.pipe tma consumers 4 : <3 of [!tile.smem<[64, 64], bf16, swizzle 128>]>
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      %first = tile.cursor
      %next = tile.next %pipe[%first] : !pipe
      // CHECK: %[[COUNT:.*]] = arith.index_cast %arg0 : index to i32
      // CHECK: %[[BEHIND:.*]] = arith.addi %[[COUNT]], %c1_i32
      // CHECK: %[[ROUNDS:.*]] = arith.divui %[[BEHIND]], %c3_i32
      // CHECK: %[[SLOT:.*]] = arith.remui %[[BEHIND]], %c3_i32
      // CHECK: %[[PARITY:.*]] = arith.andi %[[ROUNDS]], %{{.*}}
      // CHECK: %[[HIGH:.*]] = arith.shli %[[PARITY]], %c16_i32
      // CHECK: arith.addi %[[SLOT]], %[[HIGH]]
      %behind = tile.skip %pipe[%next] by %count : !pipe
      %full = tile.wait %pipe[%behind] : !pipe -> !tile.stage<full>
      tile.release %pipe[%full] : !pipe, !tile.stage<full>
    }
    gpu.return
  }
}

// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-place-shared,kpc-lower-tile,canonicalize,cse))' %s | FileCheck %s

// Tensor memory is taken by the first warp, whose address all read from shared memory; products are begun on descriptors
// (PTX ISA, tcgen05, shared memory descriptor: bit 46 is 1, 61–63 the swizzle, 2 for 128 bytes).

!a = !tile.smem<[128, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
!f = !tile.fragment<[128, 64], f32, tmem_32x32b>
!o = !tile.fragment<[128, 64], bf16, tmem_32x32b>
!pipe = !tile.pipe<2 of [!a, !b]>
!sums = !tile.pipe<2 of [!d]>
gpu.module @m {
  // CHECK-LABEL: gpu.func @alone
  gpu.func @alone(%i: index, %more: i1) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [256, 1, 1]>} {
    %c0 = arith.constant 0 : index
    // CHECK-DAG: %[[SHARED:.*]] = llvm.mlir.addressof @kpc_shared
    // CHECK-DAG: %[[COLUMNS:.*]] = arith.constant 128 : i32
    // CHECK-DAG: %[[YES:.*]] = arith.constant true
    // 1<<4 sums of f32, 1<<7 and 1<<10 bf16, 1<<16 b's columns are contiguous, 8<<17 columns, 8<<24 rows.
    // CHECK-DAG: %[[INSTRUCTION:.*]] = arith.constant 135333008 : i32
    %pipe = tile.pipe tma consumers 1 : !pipe
    %sums = tile.pipe mma consumers 4 : !sums
    %staging = tile.alloc : !a
    // One arrival makes a stage of sums full, that of the products; four warps free it.
    // CHECK: nvvm.fence.mbarrier.init
    tile.barrier_init
    // CHECK: nvvm.barrier
    // CHECK: scf.if
    // CHECK-NEXT: nvvm.tcgen05.alloc %[[PLACE:.*]], %[[COLUMNS]] : !llvm.ptr<3>, i32
    // CHECK-NEXT: nvvm.tcgen05.relinquish_alloc_permit
    // CHECK-NEXT: }
    // CHECK-NEXT: nvvm.tcgen05.fence <before>
    // CHECK-NEXT: nvvm.barrier
    // CHECK-NEXT: nvvm.tcgen05.fence <after>
    // CHECK-NEXT: %[[ADDRESS:.*]] = llvm.load %[[PLACE]] : !llvm.ptr<3> -> i32
    // CHECK-NEXT: %[[MEMORY:.*]] = llvm.inttoptr %[[ADDRESS]] : i32 to !llvm.ptr<6>
    %memory = tile.tmem_alloc : !tile.tmem<[128, 128], f32>
    tile.role "mma" warps 1 to 2 {
    ^bb0(%group: index):
      // CHECK: nvvm.elect.sync
      tile.elect role {
        %at = tile.cursor
        // What follows a barrier stays behind it.
        // CHECK: nvvm.mbarrier.try_wait.parity
        // CHECK-NEXT: nvvm.tcgen05.fence <after>
        %free = tile.acquire %sums[%at] : !sums -> !tile.stage<free>
        %d = tile.tiles %sums[%free] in %memory : !sums, !tile.stage<free>, !tile.tmem<[128, 128], f32> -> !d
        // Through shared memory, no fence is needed.
        // CHECK: nvvm.mbarrier.try_wait.parity
        // CHECK-NOT: fence
        %full = tile.wait %pipe[%at] : !pipe -> !tile.stage<full>
        %a, %b = tile.tiles %pipe[%full] : !pipe, !tile.stage<full> -> !a, !b
        // A step of a is 32 bytes, of b 16 rows of 128.
        // CHECK: nvvm.tcgen05.mma %[[MEMORY]], %{{.*}}, %{{.*}}, %[[INSTRUCTION]], %arg1 {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, i64, i64, i32, i1)
        // CHECK: arith.addi %{{.*}}, %c2_i32
        // CHECK: arith.addi %{{.*}}, %c128_i32
        // CHECK: nvvm.tcgen05.mma %[[MEMORY]], %{{.*}}, %{{.*}}, %[[INSTRUCTION]], %[[YES]]
        // CHECK: nvvm.tcgen05.mma %[[MEMORY]], %{{.*}}, %{{.*}}, %[[INSTRUCTION]], %[[YES]]
        // CHECK: nvvm.tcgen05.mma %[[MEMORY]], %{{.*}}, %{{.*}}, %[[INSTRUCTION]], %[[YES]]
        tile.tmem_mma %a, %b into %d add %more : !a, !b, !d
        // CHECK: nvvm.tcgen05.commit %[[READ:.*]] : !llvm.ptr<3>
        tile.release %pipe[%full] after_mma : !pipe, !tile.stage<full>
        // CHECK: nvvm.tcgen05.commit %[[DONE:.*]] : !llvm.ptr<3>
        tile.commit %sums[%free] : !sums, !tile.stage<free>
      }
    }
    tile.role "epilogue" warps 4 to 8 {
    ^bb0(%group: index):
      %at = tile.cursor
      // CHECK: nvvm.mbarrier.try_wait.parity
      // CHECK-NEXT: nvvm.tcgen05.fence <after>
      %full = tile.wait %sums[%at] : !sums -> !tile.stage<full>
      %d = tile.tiles %sums[%full] in %memory : !sums, !tile.stage<full>, !tile.tmem<[128, 128], f32> -> !d
      // The lane is the high half of the address: 32 for each warp of four.
      // CHECK: %[[WARP:.*]] = arith.andi %{{.*}}, %c3_i32
      // CHECK: %[[LANE:.*]] = arith.shli %[[WARP]], %c21_i32
      // CHECK: nvvm.tcgen05.ld %{{.*}} {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<32xi32>
      // CHECK: llvm.getelementptr %{{.*}}[32] : (!llvm.ptr<6>) -> !llvm.ptr<6>, i8
      // CHECK-NEXT: nvvm.tcgen05.ld %{{.*}} {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<32xi32>
      %p = tile.tmem_load %d[%c0] : !d -> !tile.pending<!f>
      // CHECK: nvvm.tcgen05.wait <load>
      // CHECK: llvm.inline_asm has_side_effects "", "=r,=r,
      %f = tile.await %p : !tile.pending<!f> -> !f
      // CHECK: nvvm.tcgen05.st %{{.*}}, %{{.*}} {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<32xi32>
      // CHECK: nvvm.tcgen05.st
      // CHECK: nvvm.tcgen05.wait <store>
      tile.tmem_store %f into %d[%c0] : !f, !d
      // All lanes have read before one of them tells.
      // CHECK: nvvm.tcgen05.fence <before>
      // CHECK-NEXT: nvvm.bar.warp.sync
      // CHECK: nvvm.inline_ptx "mbarrier.arrive.shared::cta.b64 _, [{$r0}];"
      tile.release %sums[%full] : !sums, !tile.stage<full>
      // A thread has a row, inside of the bound like its columns.
      // CHECK: %[[THREAD:.*]] = arith.andi %{{.*}}, %c127_i32
      // CHECK: %[[LANE:.*]] = arith.index_cast %[[THREAD]] : i32 to index
      // CHECK: %[[BELOW:.*]] = arith.addi %arg0, %[[LANE]] : index
      // CHECK: %[[ROW:.*]] = arith.minsi %[[BELOW]], %[[LAST:.*]] : index
      // CHECK: %[[COLUMN:.*]] = arith.minsi %arg0, %[[LAST]] : index
      // CHECK: arith.addi %[[ROW]], %[[COLUMN]]
      // CHECK: %[[RIGHT:.*]] = arith.addi %arg0, %c1
      // CHECK: %[[NEXT:.*]] = arith.minsi %[[RIGHT]], %[[LAST]] : index
      // CHECK: arith.addi %[[ROW]], %[[NEXT]]
      %out = tile.map %f at [%i, %i] within [%i, %i] : !f -> !o {
      ^bb0(%v: f32, %row: index, %column: index):
        %sum = arith.addi %row, %column : index
        %word = arith.index_cast %sum : index to i32
        %number = arith.sitofp %word : i32 to f32
        %more_v = arith.addf %v, %number : f32
        %t = arith.truncf %more_v : f32 to bf16
        tile.yield %t : bf16
      }
      // Eight columns are 16 bytes.
      // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
      // CHECK-COUNT-7: llvm.store
      // CHECK-NOT: llvm.store
      tile.store_shared %out into %staging : !o, !a
    }
    // CHECK: nvvm.tcgen05.fence <before>
    // CHECK-NEXT: nvvm.barrier
    // CHECK-NEXT: nvvm.tcgen05.fence <after>
    // CHECK-NEXT: scf.if
    // CHECK-NEXT: nvvm.tcgen05.dealloc %[[MEMORY]], %[[COLUMNS]] : !llvm.ptr<6>, i32
    tile.tmem_free %memory : !tile.tmem<[128, 128], f32>
    gpu.return
  }

  // tf32, both operands K-major: kind and types 2, columns 64, rows 128.
  // CHECK-LABEL: gpu.func @tf32
  gpu.func @tf32(%more: i1) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    // CHECK-DAG: %[[INSTRUCTION:.*]] = arith.constant 135268624 : i32
    %a = tile.alloc : !tile.smem<[128, 32], f32, swizzle 128>
    %b = tile.alloc : !tile.smem<[64, 32], f32, swizzle 128>
    tile.barrier_init
    %memory = tile.tmem_alloc : !d
    tile.role "mma" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // CHECK-COUNT-4: nvvm.tcgen05.mma %{{.*}}, %[[INSTRUCTION]], %{{.*}} {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<tf32>}
        // CHECK-NOT: nvvm.tcgen05.mma
        tile.tmem_mma %a, %b transposed into %memory add %more : !tile.smem<[128, 32], f32, swizzle 128>, !tile.smem<[64, 32], f32, swizzle 128>, !d
      }
    }
    tile.tmem_free %memory : !d
    gpu.return
  }

  // FP8, each of its own type: E4M3 is 0, E5M2 is 1 in bits 10 to 12; 128 elements of K are four steps of 32 bytes.
  // CHECK-LABEL: gpu.func @fp8
  gpu.func @fp8(%more: i1) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    // CHECK-DAG: %[[INSTRUCTION:.*]] = arith.constant 135267344 : i32
    %a = tile.alloc : !tile.smem<[128, 128], f8E4M3FN, swizzle 128>
    %b = tile.alloc : !tile.smem<[64, 128], f8E5M2, swizzle 128>
    tile.barrier_init
    %memory = tile.tmem_alloc : !d
    tile.role "mma" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        // CHECK-COUNT-4: nvvm.tcgen05.mma %{{.*}}, %[[INSTRUCTION]], %{{.*}} {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f8f6f4>}
        // CHECK-NOT: nvvm.tcgen05.mma
        tile.tmem_mma %a, %b transposed into %memory add %more : !tile.smem<[128, 128], f8E4M3FN, swizzle 128>, !tile.smem<[64, 128], f8E5M2, swizzle 128>, !d
      }
    }
    tile.tmem_free %memory : !d
    gpu.return
  }

  // A pair: the even block hears of all copies, begins the products of both, and tells both.
  // CHECK-LABEL: gpu.func @pair
  gpu.func @pair(%x: !tile.view<bf16, box [128, 64], swizzle 128>, %i: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [256, 1, 1], cluster = 2>, kernel.tensor_maps = [#kernel.tensor_map<buffer = 0, element = bf16, dims = ["64", "128"], strides = ["128"], box = [64, 128], swizzle = 128>]} {
    %no = arith.constant false
    %c0 = arith.constant 0 : index
    // CHECK-DAG: %[[BOTH:.*]] = arith.constant 3 : i16
    // 128 rows and 64 columns of 64 halfwords, of two blocks.
    // CHECK-DAG: %[[BYTES:.*]] = arith.constant 49152 : i32
    // CHECK-DAG: %[[INSTRUCTION:.*]] = arith.constant 270599312 : i32
    %pipe = tile.pipe tma pair consumers 1 : !pipe
    %sums = tile.pipe mma pair consumers 8 : !tile.pipe<1 of [!tile.tmem<[128, 128], f32>]>
    tile.barrier_init
    // CHECK: nvvm.tcgen05.alloc %{{.*}}, %{{.*}} {group = #nvvm.cta_group<cta_2>}
    // CHECK-NEXT: nvvm.tcgen05.relinquish_alloc_permit {group = #nvvm.cta_group<cta_2>}
    %memory = tile.tmem_alloc pair : !tile.tmem<[128, 128], f32>
    tile.role "producer" warps 0 to 1 {
    ^bb0(%group: index):
      tile.elect role {
        %at = tile.cursor
        // CHECK: nvvm.mbarrier.try_wait.parity
        // CHECK: %[[RANK:.*]] = nvvm.read.ptx.sreg.cluster.ctaid.x
        // CHECK: %[[LEADER:.*]] = arith.cmpi eq, %[[RANK]], %c0_i32
        // CHECK: nvvm.mbarrier.arrive.expect_tx %[[FULL:.*]], %[[BYTES]], predicate = %[[LEADER]]
        %free = tile.acquire %pipe[%at] : !pipe -> !tile.stage<free>
        %a, %b = tile.tiles %pipe[%free] : !pipe, !tile.stage<free> -> !a, !b
        // CHECK: %[[THERE:.*]] = nvvm.mapa %[[FULL]], %c0_i32 : !llvm.ptr<3> -> !llvm.ptr<7>
        // CHECK: %[[WORD:.*]] = llvm.ptrtoint %[[THERE]]
        // CHECK: %[[BARRIER:.*]] = llvm.inttoptr %[[WORD]]
        // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %{{.*}}, %[[BARRIER]], {{.*}}group = #nvvm.cta_group<cta_2>
        tile.tma_load %x[%i, %i] into %a signal %pipe[%free] : !tile.view<bf16, box [128, 64], swizzle 128>, !a, !pipe, !tile.stage<free>
        tile.commit %pipe[%free] : !pipe, !tile.stage<free>
        %next = tile.next %pipe[%at] : !pipe
        // Both stages are free again.
        // CHECK: scf.for %{{.*}} = %c0_i32 to %c2_i32 step %c1_i32
        // CHECK: nvvm.mbarrier.try_wait.parity
        // CHECK: scf.yield
        // CHECK: nvvm.bar.warp.sync
        tile.drain %pipe[%next] : !pipe
      }
    }
    tile.role "mma" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        %at = tile.cursor
        %free = tile.acquire %sums[%at] : !tile.pipe<1 of [!tile.tmem<[128, 128], f32>]> -> !tile.stage<free>
        %full = tile.wait %pipe[%at] : !pipe -> !tile.stage<full>
        %a, %b = tile.tiles %pipe[%full] : !pipe, !tile.stage<full> -> !a, !b
        // CHECK-COUNT-4: nvvm.tcgen05.mma %{{.*}}, %{{.*}}, %{{.*}}, %[[INSTRUCTION]], %{{.*}} {ctaGroup = #nvvm.cta_group<cta_2>, kind = #nvvm.tcgen05_mma_kind<f16>}
        tile.tmem_mma %a, %b into %memory add %no pair : !a, !b, !tile.tmem<[128, 128], f32>
        // CHECK: nvvm.tcgen05.commit %{{.*}}, multicast_mask = %[[BOTH]] {group = #nvvm.cta_group<cta_2>} : !llvm.ptr<3>, i16
        tile.release %pipe[%full] after_mma : !pipe, !tile.stage<full>
        // CHECK: nvvm.tcgen05.commit %{{.*}}, multicast_mask = %[[BOTH]] {group = #nvvm.cta_group<cta_2>} : !llvm.ptr<3>, i16
        tile.commit %sums[%free] : !tile.pipe<1 of [!tile.tmem<[128, 128], f32>]>, !tile.stage<free>
      }
    }
    tile.role "epilogue" warps 4 to 8 {
    ^bb0(%group: index):
      %at = tile.cursor
      // CHECK: nvvm.mbarrier.try_wait.parity
      %full = tile.wait %sums[%at] : !tile.pipe<1 of [!tile.tmem<[128, 128], f32>]> -> !tile.stage<full>
      // CHECK: nvvm.tcgen05.fence <before>
      // CHECK: %[[EMPTY:.*]] = nvvm.mapa %{{.*}}, %c0_i32
      // CHECK: nvvm.inline_ptx "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [{$r0}];" ro(%[[EMPTY]]
      tile.release %sums[%full] : !tile.pipe<1 of [!tile.tmem<[128, 128], f32>]>, !tile.stage<full>
    }
    // CHECK: nvvm.tcgen05.fence <before>
    // CHECK-NEXT: nvvm.cluster.arrive
    // CHECK-NEXT: nvvm.cluster.wait
    // CHECK-NEXT: nvvm.tcgen05.fence <after>
    // CHECK: nvvm.tcgen05.dealloc %{{.*}}, %{{.*}} {group = #nvvm.cta_group<cta_2>}
    tile.tmem_free %memory : !tile.tmem<[128, 128], f32>
    gpu.return
  }
}

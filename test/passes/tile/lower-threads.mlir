// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-place-shared,kpc-lower-tile,canonicalize,cse))' %s | FileCheck %s

// Copies that all threads make, and products whose operands warps load.

!a = !tile.smem<[64, 32], bf16, swizzle 64>
!b = !tile.smem<[16, 64], bf16, swizzle 128>
!d = !tile.fragment<[64, 16], f32>
gpu.module @m {
  // A tile of 4096 bytes is two pieces of 16 for each of 128 threads: 32 rows apart, so that the second is 2048 bytes behind the
  // first in shared memory. A piece's elements that are there become bytes.
  // CHECK-LABEL: gpu.func @pieces(%arg0: memref<?xbf16>, %arg1: index)
  gpu.func @pieces(%x: memref<?xbf16>, %n: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    // CHECK-DAG: %[[C32:.*]] = arith.constant 32 : index
    // CHECK-DAG: %[[C8:.*]] = arith.constant 8 : index
    // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
    %a = tile.alloc : !a
    // Without a pipe there are no barriers to set up.
    // CHECK-NOT: mbarrier
    // CHECK: nvvm.barrier
    tile.barrier_init
    // CHECK: %[[BASE:.*]] = memref.extract_aligned_pointer_as_index %arg0
    // CHECK: %[[FROM:.*]] = llvm.inttoptr %{{.*}} : i64 to !llvm.ptr<1>
    // CHECK: %[[TO:.*]] = llvm.getelementptr
    // CHECK: %[[COUNT:.*]] = arith.subi %arg1, %[[COLUMN:.*]] : index
    // CHECK: llvm.getelementptr %[[FROM]][%{{.*}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    // CHECK: %[[LEAST:.*]] = arith.maxsi %[[COUNT]], %[[C0]] : index
    // CHECK: %[[THERE:.*]] = arith.minsi %[[LEAST]], %[[C8]] : index
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %{{.*}} : !llvm.ptr<3>, !llvm.ptr<1>, i32
    // CHECK: arith.addi %{{.*}}, %[[C32]] : index
    // CHECK: llvm.getelementptr %{{.*}}[2048]
    // CHECK: nvvm.cp.async.shared.global
    // CHECK-NOT: nvvm.cp.async.shared.global
    tile.cp_async %x into %a by 16 : memref<?xbf16>, !a {
    ^bb0(%row: index, %column: index):
      %line = arith.muli %row, %n : index
      %at = arith.addi %line, %column : index
      %count = arith.subi %n, %column : index
      tile.yield_address %at, %count
    }
    // CHECK: nvvm.cp.async.commit.group
    tile.cp_async_commit
    // CHECK: nvvm.cp.async.wait.group 1
    tile.cp_async_wait<1>
    gpu.return
  }

  // With a stride of rows, the second piece is 32 of them after the first. Its own number of elements is the region's.
  // CHECK-LABEL: gpu.func @strided(%arg0: memref<?xbf16>, %arg1: index)
  gpu.func @strided(%x: memref<?xbf16>, %n: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    // CHECK-DAG: %[[C64:.*]] = arith.constant 64 : index
    %a = tile.alloc : !a
    tile.barrier_init
    // CHECK: %[[FIRST:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %[[FIRST]], 16
    // CHECK: %[[BYTES:.*]] = arith.muli %arg1, %[[C64]] : index
    // CHECK: %[[MORE:.*]] = arith.index_cast %[[BYTES]] : index to i64
    // CHECK: %[[SECOND:.*]] = llvm.getelementptr %[[FIRST]][%[[MORE]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %[[SECOND]], 16, cache = cg, %{{.*}} : !llvm.ptr<3>
    tile.cp_async %x into %a by 16 row_stride %n : memref<?xbf16>, !a {
    ^bb0(%row: index, %column: index):
      %line = arith.muli %row, %n : index
      %at = arith.addi %line, %column : index
      %count = arith.subi %n, %row : index
      tile.yield_address %at, %count
    }
    gpu.return
  }

  // Single elements of 16 bits go through registers; what is not there is not read.
  // CHECK-LABEL: gpu.func @elements
  gpu.func @elements(%x: memref<?xbf16>, %n: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [1024, 1, 1]>} {
    %b = tile.alloc : !b
    tile.barrier_init
    // CHECK-NOT: nvvm.cp.async
    // CHECK: %[[THERE:.*]] = arith.cmpi sgt, %{{.*}}, %{{.*}} : index
    // CHECK: %[[VALUE:.*]] = scf.if %[[THERE]] -> (bf16) {
    // CHECK-NEXT: memref.load %arg0
    // CHECK: llvm.store %[[VALUE]], %{{.*}} {alignment = 2 : i64} : bf16, !llvm.ptr<3>
    tile.cp_async %x into %b by 2 : memref<?xbf16>, !b {
    ^bb0(%row: index, %column: index):
      %count = arith.subi %n, %row : index
      tile.yield_address %column, %count
    }
    gpu.return
  }

  // More threads than pieces: the others have none.
  // CHECK-LABEL: gpu.func @few
  gpu.func @few(%x: memref<?xbf16>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [256, 1, 1]>} {
    // CHECK-DAG: %[[PIECES:.*]] = arith.constant 128 : i32
    %b = tile.alloc : !b
    tile.barrier_init
    // CHECK: %[[MINE:.*]] = arith.cmpi slt, %{{.*}}, %[[PIECES]] : i32
    // CHECK: scf.if %[[MINE]] {
    // All of a piece is there: no size.
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    tile.cp_async %x into %b by 16 : memref<?xbf16>, !b {
    ^bb0(%row: index, %column: index):
      tile.yield_address %column
    }
    gpu.return
  }

  // What the block copies again goes through the first cache.
  // CHECK-LABEL: gpu.func @again
  gpu.func @again(%x: memref<?xbf16>, %n: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %a = tile.alloc : !a
    tile.barrier_init
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = ca
    tile.cp_async %x into %a by 16 cached : memref<?xbf16>, !a {
    ^bb0(%row: index, %column: index):
      tile.yield_address %column
    }
    tile.cp_async_commit
    tile.cp_async_wait<0>
    gpu.return
  }

  // The way back: a whole piece at once, or its elements one by one.
  // CHECK-LABEL: gpu.func @back
  gpu.func @back(%y: memref<?xbf16>, %n: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %b = tile.alloc : !b
    tile.barrier_init
    // CHECK: %[[WHOLE:.*]] = arith.cmpi sge, %[[COUNT:.*]], %{{.*}} : index
    // CHECK: scf.if %[[WHOLE]] {
    // CHECK-NEXT: %[[EIGHT:.*]] = llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xbf16>
    // CHECK-NEXT: vector.store %[[EIGHT]], %arg0[%{{.*}}] {alignment = 16 : i64}
    // CHECK: } else {
    // CHECK: arith.cmpi sgt, %[[COUNT]]
    // CHECK-COUNT-7: memref.store
    tile.store_global %b to %y by 16 : !b, memref<?xbf16> {
    ^bb0(%row: index, %column: index):
      %count = arith.subi %n, %column : index
      tile.yield_address %row, %count
    }
    gpu.return
  }

  // Of rows that end with a piece, none is a part.
  // CHECK-LABEL: gpu.func @back_whole
  gpu.func @back_whole(%y: memref<?xbf16>, %n: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %b = tile.alloc : !b
    tile.barrier_init
    // CHECK: arith.cmpi sge
    // CHECK-NEXT: scf.if
    // CHECK-NEXT: llvm.load
    // CHECK-NEXT: vector.store
    // CHECK-NOT: else
    // CHECK-NOT: memref.store
    // CHECK: gpu.return
    tile.store_global %b to %y by 16 whole : !b, memref<?xbf16> {
    ^bb0(%row: index, %column: index):
      %count = arith.subi %n, %column : index
      tile.yield_address %row, %count
    }
    gpu.return
  }

  // 32 elements of the sum are two steps; in each, the warp's 16 rows and 16 columns, and two products.
  // CHECK-LABEL: gpu.func @multiply
  gpu.func @multiply(%sink: memref<f32>, %i: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc : !a
    %b = tile.alloc : !tile.smem<[16, 32], bf16, swizzle 64>
    tile.barrier_init
    %c = tile.splat %zero : f32 -> !d
    // CHECK-COUNT-2: nvvm.ldmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32
    // CHECK: %[[FIRST:.*]] = nvvm.mma.sync A[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] B[%{{.*}}, %{{.*}}] C[
    // CHECK-SAME: multiplicandAPtxType = #nvvm.mma_type<bf16>
    // CHECK-SAME: shape = #nvvm.shape<m = 16, n = 8, k = 16>
    // The sums of the first step go into the second.
    // CHECK: %[[SUM:.*]] = llvm.extractvalue %[[FIRST]][0]
    // CHECK: nvvm.mma.sync
    // CHECK-COUNT-2: nvvm.ldmatrix
    // CHECK: nvvm.mma.sync {{.*}} C[%[[SUM]],
    // CHECK: nvvm.mma.sync
    // CHECK-NOT: nvvm.mma.sync
    %d = tile.mma_sync %a, %b transposed, %c : !a, !tile.smem<[16, 32], bf16, swizzle 64> -> !d
    %e = tile.map %d at [%i, %i] within [%i, %i] : !d -> !d {
    ^bb0(%v: f32, %row: index, %column: index):
      memref.store %v, %sink[] : memref<f32>
      tile.yield %v : f32
    }
    gpu.return
  }

  // What is packed is loaded once: of each 64 rows and 16 columns four words, which products take as they are.
  // CHECK-LABEL: gpu.func @packed
  gpu.func @packed(%sink: memref<f32>, %i: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc : !tile.smem<[128, 32], bf16, swizzle 64>
    %b = tile.alloc : !tile.smem<[16, 32], bf16, swizzle 64>
    tile.barrier_init
    // CHECK: %[[UPPER:.*]] = nvvm.ldmatrix
    // CHECK: %[[UPPER0:.*]] = llvm.extractvalue %[[UPPER]][0]
    // CHECK: nvvm.ldmatrix
    // CHECK: %[[LOWER:.*]] = nvvm.ldmatrix
    // CHECK: %[[LOWER0:.*]] = llvm.extractvalue %[[LOWER]][0]
    // CHECK: nvvm.ldmatrix
    %p = tile.load_packed %a : !tile.smem<[128, 32], bf16, swizzle 64> -> !tile.packed<[128, 32], bf16>
    %c = tile.splat %zero : f32 -> !tile.fragment<[128, 16], f32>
    // The columns of b for both 64 rows.
    // CHECK: nvvm.ldmatrix
    // CHECK: nvvm.mma.sync A[%[[UPPER0]],
    // CHECK: nvvm.mma.sync A[%[[UPPER0]],
    // CHECK: nvvm.mma.sync A[%[[LOWER0]],
    // CHECK: nvvm.mma.sync A[%[[LOWER0]],
    // CHECK: nvvm.ldmatrix
    // CHECK-COUNT-4: nvvm.mma.sync
    // CHECK-NOT: nvvm.mma.sync
    %d = tile.mma_sync %p, %b transposed, %c : !tile.packed<[128, 32], bf16>, !tile.smem<[16, 32], bf16, swizzle 64> -> !tile.fragment<[128, 16], f32>
    %e = tile.map %d at [%i, %i] within [%i, %i] : !tile.fragment<[128, 16], f32> -> !tile.fragment<[128, 16], f32> {
    ^bb0(%v: f32, %row: index, %column: index):
      memref.store %v, %sink[] : memref<f32>
      tile.yield %v : f32
    }
    gpu.return
  }

  // A step of K in two ops: loads of 64 rows each and of 16 columns, from 32 bytes on, and then the products.
  // CHECK-LABEL: gpu.func @factors
  gpu.func @factors(%sink: memref<f32>, %i: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc : !tile.smem<[128, 32], bf16, swizzle 64>
    %b = tile.alloc : !tile.smem<[16, 32], bf16, swizzle 64>
    tile.barrier_init
    // CHECK-COUNT-3: nvvm.ldmatrix
    // CHECK-NOT: nvvm.ldmatrix
    %f = tile.load_factors %a, %b transposed step 1 : !tile.smem<[128, 32], bf16, swizzle 64>, !tile.smem<[16, 32], bf16, swizzle 64> -> !tile.factors<[128, 16], bf16, bf16>
    // CHECK: nvvm.barrier
    tile.sync block
    %c = tile.splat %zero : f32 -> !tile.fragment<[128, 16], f32>
    // CHECK-COUNT-4: nvvm.mma.sync
    // CHECK-NOT: nvvm.mma.sync
    %d = tile.mma_factors %f, %c : !tile.factors<[128, 16], bf16, bf16>, !tile.fragment<[128, 16], f32>
    %e = tile.map %d at [%i, %i] within [%i, %i] : !tile.fragment<[128, 16], f32> -> !tile.fragment<[128, 16], f32> {
    ^bb0(%v: f32, %row: index, %column: index):
      memref.store %v, %sink[] : memref<f32>
      tile.yield %v : f32
    }
    gpu.return
  }

  // Operands whose rows are the sum are turned as they are loaded.
  // CHECK-LABEL: gpu.func @turned
  gpu.func @turned(%sink: memref<f32>, %i: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc : !b
    %b = tile.alloc : !tile.smem<[16, 16], bf16, swizzle 32>
    tile.barrier_init
    %c = tile.splat %zero : f32 -> !d
    // CHECK-COUNT-2: nvvm.ldmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>, num = 4 : i32
    // CHECK-NOT: nvvm.ldmatrix
    %d = tile.mma_sync %a transposed, %b, %c : !b, !tile.smem<[16, 16], bf16, swizzle 32> -> !d
    %e = tile.map %d at [%i, %i] within [%i, %i] : !d -> !d {
    ^bb0(%v: f32, %row: index, %column: index):
      memref.store %v, %sink[] : memref<f32>
      tile.yield %v : f32
    }
    gpu.return
  }

  // tf32: words along the sum come by ldmatrix, others one by one.
  // CHECK-LABEL: gpu.func @tf32
  gpu.func @tf32(%sink: memref<f32>, %i: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc : !tile.smem<[64, 8], f32, swizzle 32>
    %b = tile.alloc : !tile.smem<[8, 16], f32, swizzle 64>
    tile.barrier_init
    %c = tile.splat %zero : f32 -> !d
    // CHECK-COUNT-1: nvvm.ldmatrix
    // CHECK-NOT: nvvm.ldmatrix
    // CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
    // CHECK-COUNT-2: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>{{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 8>
    %d = tile.mma_sync %a, %b, %c : !tile.smem<[64, 8], f32, swizzle 32>, !tile.smem<[8, 16], f32, swizzle 64> -> !d
    %e = tile.map %d at [%i, %i] within [%i, %i] : !d -> !d {
    ^bb0(%v: f32, %row: index, %column: index):
      memref.store %v, %sink[] : memref<f32>
      tile.yield %v : f32
    }
    gpu.return
  }

  // Integers of 8 bits: a step of K is 32 elements, with the sums in i32. Single bytes are copied by the thread itself.
  // CHECK-LABEL: gpu.func @bytes
  gpu.func @bytes(%x: memref<?xi8>, %i: index, %sink: memref<i32>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %a = tile.alloc : !tile.smem<[64, 64], ui8, swizzle 64>
    %b = tile.alloc : !tile.smem<[16, 64], i8, swizzle 64>
    tile.barrier_init
    // CHECK-NOT: nvvm.cp.async.shared.global
    // CHECK: memref.load %{{.*}} : memref<?xi8>
    // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 1 : i64} : i8, !llvm.ptr<3>
    tile.cp_async %x into %b by 1 : memref<?xi8>, !tile.smem<[16, 64], i8, swizzle 64> {
    ^bb0(%row: index, %column: index):
      tile.yield_address %row, %column
    }
    %zero = arith.constant 0 : i32
    %c = tile.splat %zero : i32 -> !tile.fragment<[64, 16], i32>
    // CHECK-COUNT-2: nvvm.ldmatrix
    // CHECK-COUNT-2: nvvm.mma.sync {{.*}}intOverflowBehavior = #nvvm.mma_int_overflow<wrapped>{{.*}}multiplicandAPtxType = #nvvm.mma_type<u8>{{.*}}multiplicandBPtxType = #nvvm.mma_type<s8>{{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 32>
    // CHECK-COUNT-2: nvvm.ldmatrix
    // CHECK-COUNT-2: nvvm.mma.sync
    // CHECK-NOT: nvvm.mma.sync
    %d = tile.mma_sync %a, %b transposed, %c : !tile.smem<[64, 64], ui8, swizzle 64>, !tile.smem<[16, 64], i8, swizzle 64> -> !tile.fragment<[64, 16], i32>
    %e = tile.map %d at [%i, %i] within [%i, %i] : !tile.fragment<[64, 16], i32> -> !tile.fragment<[64, 16], i32> {
    ^bb0(%v: i32, %row: index, %column: index):
      memref.store %v, %sink[] : memref<i32>
      tile.yield %v : i32
    }
    gpu.return
  }

  // FP8: each operand has its own type. Codes in memory are integers.
  // CHECK-LABEL: gpu.func @fp8
  gpu.func @fp8(%x: memref<?xi8>, %i: index, %sink: memref<f32>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %a = tile.alloc : !tile.smem<[64, 128], f8E5M2, swizzle 128>
    %b = tile.alloc : !tile.smem<[16, 128], f8E4M3FN, swizzle 128>
    tile.barrier_init
    // CHECK: nvvm.cp.async.shared.global
    tile.cp_async %x into %b by 16 : memref<?xi8>, !tile.smem<[16, 128], f8E4M3FN, swizzle 128> {
    ^bb0(%row: index, %column: index):
      tile.yield_address %row, %column
    }
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> !d
    // CHECK-COUNT-8: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.f32.e5m2.e4m3.f32"
    // CHECK-NOT: llvm.fadd
    %d = tile.mma_sync %a, %b transposed, %c : !tile.smem<[64, 128], f8E5M2, swizzle 128>, !tile.smem<[16, 128], f8E4M3FN, swizzle 128> -> !d
    // Promoted: sums of two steps, for 16 columns 8 of a thread, are added in f32.
    // CHECK: memref.store
    // CHECK-COUNT-4: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.f32.e5m2.e4m3.f32"
    // CHECK-COUNT-8: llvm.fadd
    // CHECK-COUNT-4: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.f32.e5m2.e4m3.f32"
    // CHECK-COUNT-8: llvm.fadd
    // CHECK-NOT: llvm.call_intrinsic
    memref.store %zero, %sink[] : memref<f32>
    %p = tile.mma_sync promoted %a, %b transposed, %d : !tile.smem<[64, 128], f8E5M2, swizzle 128>, !tile.smem<[16, 128], f8E4M3FN, swizzle 128> -> !d
    %e = tile.map %p at [%i, %i] within [%i, %i] : !d -> !d {
    ^bb0(%v: f32, %row: index, %column: index):
      memref.store %v, %sink[] : memref<f32>
      tile.yield %v : f32
    }
    gpu.return
  }

  // Split factors: the rounded part and the rest; three products, the small ones first, added in f32.
  // CHECK-LABEL: gpu.func @split
  gpu.func @split(%sink: memref<f32>, %i: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc : !tile.smem<[64, 8], f32, swizzle 32>
    %b = tile.alloc : !tile.smem<[16, 8], f32, swizzle 32>
    tile.barrier_init
    %c = tile.splat %zero : f32 -> !d
    // CHECK-NOT: nvvm.convert.float.to.tf32
    // CHECK: %[[WIDE:.*]] = llvm.bitcast %[[WORD:.*]] : i32 to f32
    // CHECK: %[[UP:.*]] = llvm.add %[[WORD]], %{{.*}} : i32
    // CHECK: %[[HIGH:.*]] = llvm.and %[[UP]], %{{.*}} : i32
    // CHECK: %[[ROUNDED:.*]] = llvm.bitcast %[[HIGH]] : i32 to f32
    // CHECK: %[[REST:.*]] = llvm.fsub %[[WIDE]], %[[ROUNDED]]
    // CHECK: llvm.bitcast %[[REST]] : f32 to i32
    // CHECK-COUNT-6: nvvm.mma.sync
    // CHECK-COUNT-8: llvm.fadd
    // CHECK-NOT: nvvm.mma.sync
    %d = tile.mma_sync split %a, %b transposed, %c : !tile.smem<[64, 8], f32, swizzle 32>, !tile.smem<[16, 8], f32, swizzle 32> -> !d
    // All threads of the block meet.
    // CHECK: llvm.fcmp "uno"
    // CHECK: nvvm.barrier #nvvm.reduction<or>
    %any = tile.any_nan %d : !d
    scf.if %any {
      memref.store %zero, %sink[] : memref<f32>
    }
    %e = tile.map %d at [%i, %i] within [%i, %i] : !d -> !d {
    ^bb0(%v: f32, %row: index, %column: index):
      memref.store %v, %sink[] : memref<f32>
      tile.yield %v : f32
    }
    gpu.return
  }

  // A fragment of f32 is an operand as it lies: its even columns are the first four along K. So rows 2 · lane and
  // 2 · lane + 1 of the other operand are read, word by word. Cut: one multiplication a word.
  // CHECK-LABEL: gpu.func @packed_words
  gpu.func @packed_words(%sink: memref<f32>, %i: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %zero = arith.constant 0.0 : f32
    %v = tile.alloc : !tile.smem<[16, 16], f32, swizzle 64>
    tile.barrier_init
    %s = tile.splat %zero : f32 -> !d
    // CHECK: llvm.mlir.constant(1.00035155 : f32)
    // CHECK: llvm.fmul
    // CHECK-NOT: nvvm.ldmatrix
    // Each row of the pair, and of another step, is the same address and a number.
    // CHECK: %[[FIRST:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}]
    // CHECK: llvm.load %[[FIRST]]
    // CHECK: llvm.getelementptr %[[FIRST]][64]
    // CHECK: %[[NEXT:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}]
    // CHECK: llvm.getelementptr %[[NEXT]][64]
    // CHECK: nvvm.mma.sync
    // CHECK: llvm.getelementptr %[[FIRST]][512]
    // CHECK: llvm.getelementptr %[[FIRST]][576]
    // CHECK: llvm.getelementptr %[[NEXT]][512]
    // CHECK: llvm.getelementptr %[[NEXT]][576]
    %p = tile.pack %s : !d -> !tile.packed<[64, 16], f32>
    %d = tile.mma_sync cut %p, %v, %s : !tile.packed<[64, 16], f32>, !tile.smem<[16, 16], f32, swizzle 64> -> !d
    // CHECK: llvm.fcmp "uno"
    // CHECK: llvm.select
    // CHECK: nvvm.mma.sync
    %t = tile.mma_sync truncated %p, %v, %d : !tile.packed<[64, 16], f32>, !tile.smem<[16, 16], f32, swizzle 64> -> !d
    %e = tile.map %t at [%i, %i] within [%i, %i] : !d -> !d {
    ^bb0(%x: f32, %row: index, %column: index):
      memref.store %x, %sink[] : memref<f32>
      tile.yield %x : f32
    }
    gpu.return
  }

  // Pairs: each thread stores two neighbours; of the rows 8 below, 8 lines of 32 bytes behind.
  // CHECK-LABEL: gpu.func @pairs
  gpu.func @pairs(%v: f32, %w: bf16) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %s = tile.alloc : !tile.smem<[64, 16], bf16, swizzle 32>
    %t = tile.alloc : !tile.smem<[64, 16], f32, swizzle 64>
    tile.barrier_init
    %x = tile.splat %w : bf16 -> !tile.fragment<[64, 16], bf16>
    // CHECK-NOT: stmatrix
    // CHECK-COUNT-4: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : vector<2xbf16>, !llvm.ptr<3>
    tile.store_shared %x into %s in pairs : !tile.fragment<[64, 16], bf16>, !tile.smem<[64, 16], bf16, swizzle 32>
    %y = tile.splat %v : f32 -> !d
    // CHECK-COUNT-4: llvm.store %{{.*}}, %{{.*}} {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr<3>
    tile.store_shared %y into %t : !d, !tile.smem<[64, 16], f32, swizzle 64>
    gpu.return
  }
}

// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-place-shared,kpc-lower-tile,canonicalize,cse))' %s | FileCheck %s

// A thread holds 4 of 64×8 elements: columns 2q and 2q + 1 of row 16w + g and of the row 8 below.

!a = !tile.smem<[64, 16], bf16, swizzle 32>
!bt = !tile.smem<[16, 16], bf16, swizzle 32>
!d = !tile.fragment<[64, 16], f32>
!half = !tile.fragment<[64, 8], f32>
!out = !tile.fragment<[64, 8], bf16>
gpu.module @m {
  // The right half of 16 columns is registers 4 to 7. Each register gets the body, with its own row and column, kept inside.
  // CHECK-LABEL: gpu.func @map(%arg0: memref<?xf32>, %arg1: index, %arg2: index, %arg3: index, %arg4: memref<f32>)
  gpu.func @map(%bias: memref<?xf32>, %rows: index, %row0: index, %column0: index, %sink: memref<f32>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    // CHECK-DAG: %[[C8:.*]] = arith.constant 8 : index
    // CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
    // CHECK-DAG: %[[LAST_PAIR:.*]] = arith.constant 10 : index
    %columns = arith.constant 12 : index
    %a = tile.alloc : <[64, 16], bf16, swizzle 32>
    %b = tile.alloc : <[16, 16], bf16, swizzle 32>
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      // CHECK: %[[D:.*]] = llvm.inline_asm
      %p = tile.mma %a, %b transposed : !a, !bt -> !tile.pending<!d>
      %d = tile.await %p : !tile.pending<!d> -> !d
      // CHECK-NEXT: %[[V4:.*]] = llvm.extractvalue %[[D]][4]
      // CHECK: %[[V5:.*]] = llvm.extractvalue %[[D]][5]
      // CHECK: %[[V6:.*]] = llvm.extractvalue %[[D]][6]
      // CHECK: %[[V7:.*]] = llvm.extractvalue %[[D]][7]
      %half = tile.extract_columns %d from 8 : !d -> !half
      // CHECK: %[[ROW_IN_TILE:.*]] = arith.index_cast %{{.*}} : i32 to index
      // CHECK: %[[ROW:.*]] = arith.addi %arg2, %[[ROW_IN_TILE]]
      // CHECK: %[[COLUMN_IN_TILE:.*]] = arith.index_cast %{{.*}} : i32 to index
      // CHECK: %[[COLUMN:.*]] = arith.addi %arg3, %[[COLUMN_IN_TILE]]
      // CHECK: %[[LAST_ROW:.*]] = arith.subi %arg1, %[[C1]]
      // CHECK: %[[ROW_INSIDE:.*]] = arith.minsi %[[ROW]], %[[LAST_ROW]]
      // 12 columns are even: two neighbours are kept inside together.
      // CHECK: %[[COLUMN_INSIDE:.*]] = arith.minsi %[[COLUMN]], %[[LAST_PAIR]]
      // CHECK: memref.load %arg0[%[[COLUMN_INSIDE]]]
      // CHECK: arith.addf %[[V4]]
      // CHECK: %[[NEIGHBOUR:.*]] = arith.addi %[[COLUMN_INSIDE]], %[[C1]]
      // CHECK: memref.load %arg0[%[[NEIGHBOUR]]]
      // CHECK: arith.addf %[[V5]]
      // CHECK: %[[BELOW:.*]] = arith.addi %[[ROW]], %[[C8]]
      // CHECK: %[[BELOW_INSIDE:.*]] = arith.minsi %[[BELOW]], %[[LAST_ROW]]
      // CHECK: arith.addf %[[V6]]
      // CHECK: arith.addf %[[V7]]
      %out = tile.map %half at [%row0, %column0] within [%rows, %columns] : !half -> !half {
      ^bb0(%v: f32, %row: index, %column: index):
        %b1 = memref.load %bias[%column] : memref<?xf32>
        %r1 = memref.load %bias[%row] : memref<?xf32>
        %s = arith.addf %v, %b1 : f32
        %t = arith.addf %s, %r1 : f32
        memref.store %t, %sink[] : memref<f32>
        tile.yield %t : f32
      }
    }
    gpu.return
  }

  // One stmatrix writes a warp's 16 rows of 16 columns; its address is swizzled: bits 4 of a row of 32 bytes are turned by
  // bits 7 of its offset.
  // CHECK-LABEL: gpu.func @put
  gpu.func @put() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %a = tile.alloc : <[64, 16], bf16, swizzle 32>
    %b = tile.alloc : <[16, 16], bf16, swizzle 32>
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      %p = tile.mma %a, %b transposed : !a, !bt -> !tile.pending<!d>
      %d = tile.await %p : !tile.pending<!d> -> !d
      %c = arith.constant 64 : index
      %out = tile.map %d at [%group, %group] within [%c, %c] : !d -> !tile.fragment<[64, 16], bf16> {
      ^bb0(%v: f32, %row: index, %column: index):
        %t = arith.truncf %v : f32 to bf16
        tile.yield %t : bf16
      }
      // CHECK-COUNT-8: arith.truncf
      // CHECK: %[[BYTES:.*]] = arith.muli %{{.*}}, %c32_i32
      // CHECK: %[[MOVED:.*]] = arith.shrui %[[BYTES]], %c3_i32
      // CHECK: %[[SWIZZLE:.*]] = arith.andi %[[MOVED]], %c16_i32
      // CHECK: %[[START:.*]] = llvm.getelementptr %{{.*}}[%[[BYTES]]]
      // CHECK: %[[TURNED:.*]] = arith.xori %{{.*}}, %[[SWIZZLE]]
      // CHECK: %[[ADDRESS:.*]] = llvm.getelementptr %[[START]][%[[TURNED]]]
      // CHECK-COUNT-4: llvm.bitcast %{{.*}} : vector<2xbf16> to i32
      // CHECK: nvvm.stmatrix %[[ADDRESS]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>}
      // CHECK-NOT: nvvm.stmatrix
      tile.store_shared %out into %a : !tile.fragment<[64, 16], bf16>, !a
    }
    gpu.return
  }

  // One ldmatrix reads what one stmatrix writes, from the same address. Two bytes are one word.
  // CHECK-LABEL: gpu.func @get
  gpu.func @get(%sink: memref<bf16>, %bytes: memref<i8>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %a = tile.alloc : <[64, 16], bf16, swizzle 32>
    %c = tile.alloc : <[64, 32], i8, swizzle 32>
    tile.barrier_init
    %zero = arith.constant 0 : index
    // CHECK: %[[BYTES:.*]] = arith.muli %{{.*}}, %c32_i32
    // CHECK: %[[SWIZZLE:.*]] = arith.andi %{{.*}}, %c16_i32
    // CHECK: %[[TURNED:.*]] = arith.xori %{{.*}}, %[[SWIZZLE]]
    // CHECK: %[[ADDRESS:.*]] = llvm.getelementptr %{{.*}}[%[[TURNED]]]
    // CHECK: %[[FOUR:.*]] = nvvm.ldmatrix %[[ADDRESS]] {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32
    // CHECK: %[[WORD:.*]] = llvm.extractvalue %[[FOUR]][0]
    // CHECK-NEXT: %[[PAIR:.*]] = llvm.bitcast %[[WORD]] : i32 to vector<2xbf16>
    // CHECK-NEXT: llvm.extractelement %[[PAIR]]
    // CHECK-NOT: nvvm.ldmatrix
    %f = tile.load_shared %a : !a -> !tile.fragment<[64, 16], bf16>
    // CHECK: %[[TWO:.*]] = llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<3> -> i16
    // CHECK: %[[HIGH:.*]] = arith.shrui %[[TWO]], %c8_i16
    // CHECK: arith.trunci %[[TWO]] : i16 to i8
    // CHECK: arith.trunci %[[HIGH]] : i16 to i8
    // CHECK-COUNT-7: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<3> -> i16
    // CHECK-NOT: -> i16
    %g = tile.load_shared %c : !tile.smem<[64, 32], i8, swizzle 32> -> !tile.fragment<[64, 32], i8>
    %h = tile.map %f at [%zero, %zero] within [%zero] : !tile.fragment<[64, 16], bf16> -> !tile.fragment<[64, 16], bf16> {
    ^bb0(%v: bf16, %row: index, %column: index):
      memref.store %v, %sink[] : memref<bf16>
      tile.yield %v : bf16
    }
    %i = tile.map %g at [%zero, %zero] within [%zero] : !tile.fragment<[64, 32], i8> -> !tile.fragment<[64, 32], i8> {
    ^bb0(%v: i8, %row: index, %column: index):
      memref.store %v, %bytes[] : memref<i8>
      tile.yield %v : i8
    }
    gpu.return
  }
}

// Two fragments: the body has the registers at one place of both.
gpu.module @beside {
  // CHECK-LABEL: gpu.func @gate(
  gpu.func @gate(%rows: index, %zero: index, %sink: memref<f32>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %a = tile.alloc : <[64, 16], bf16, swizzle 32>
    %b = tile.alloc : <[16, 16], bf16, swizzle 32>
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      // CHECK: %[[D:.*]] = llvm.inline_asm
      %p = tile.mma %a, %b transposed : !a, !bt -> !tile.pending<!d>
      %d = tile.await %p : !tile.pending<!d> -> !d
      // CHECK-DAG: %[[G0:.*]] = llvm.extractvalue %[[D]][0]
      // CHECK-DAG: %[[U0:.*]] = llvm.extractvalue %[[D]][4]
      // CHECK-DAG: arith.mulf %[[G0]], %[[U0]]
      // CHECK-DAG: %[[G3:.*]] = llvm.extractvalue %[[D]][3]
      // CHECK-DAG: %[[U3:.*]] = llvm.extractvalue %[[D]][7]
      // CHECK-DAG: arith.mulf %[[G3]], %[[U3]]
      %g = tile.extract_columns %d from 0 : !d -> !half
      %u = tile.extract_columns %d from 8 : !d -> !half
      %out = tile.map %g at [%zero, %zero] within [%rows, %rows] with %u : !half, !half -> !half {
      ^bb0(%v: f32, %row: index, %column: index, %w: f32):
        %t = arith.mulf %v, %w : f32
        memref.store %t, %sink[] : memref<f32>
        tile.yield %t : f32
      }
    }
    gpu.return
  }
}

!b32 = !tile.smem<[32, 16], bf16, swizzle 32>
!d32 = !tile.fragment<[64, 32], f32>
!d16 = !tile.fragment<[64, 16], f32>

// Columns 16 to 32 are registers 8 to 15; where runs of 8 change places, 16 to 24 are made of registers 12 to 15; of 16, of 0 to 3.
// Where neighbours change places, register 8 is made of 9, and 15 of 14.
gpu.module @exchanged {
  // CHECK-LABEL: gpu.func @turn(
  gpu.func @turn(%rows: index, %zero: index, %sink: memref<f32>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %a = tile.alloc : <[64, 16], bf16, swizzle 32>
    %b = tile.alloc : <[32, 16], bf16, swizzle 32>
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      // CHECK: %[[D:.*]] = llvm.inline_asm
      %p = tile.mma %a, %b transposed : !a, !b32 -> !tile.pending<!d32>
      %d = tile.await %p : !tile.pending<!d32> -> !d32
      // CHECK-DAG: %[[X0:.*]] = llvm.extractvalue %[[D]][8]
      // CHECK-DAG: %[[E0:.*]] = llvm.extractvalue %[[D]][12]
      // CHECK-DAG: %[[H0:.*]] = llvm.extractvalue %[[D]][0]
      // CHECK-DAG: %[[S0:.*]] = arith.subf %[[X0]], %[[E0]]
      // CHECK-DAG: %[[N0:.*]] = llvm.extractvalue %[[D]][9]
      // CHECK-DAG: %[[T0:.*]] = arith.addf %[[S0]], %[[H0]]
      // CHECK-DAG: arith.mulf %[[T0]], %[[N0]]
      // CHECK-DAG: %[[X7:.*]] = llvm.extractvalue %[[D]][15]
      // CHECK-DAG: %[[E7:.*]] = llvm.extractvalue %[[D]][11]
      // CHECK-DAG: %[[H7:.*]] = llvm.extractvalue %[[D]][7]
      // CHECK-DAG: %[[S7:.*]] = arith.subf %[[X7]], %[[E7]]
      // CHECK-DAG: %[[N7:.*]] = llvm.extractvalue %[[D]][14]
      // CHECK-DAG: %[[T7:.*]] = arith.addf %[[S7]], %[[H7]]
      // CHECK-DAG: arith.mulf %[[T7]], %[[N7]]
      %x = tile.extract_columns %d from 16 : !d32 -> !d16
      %e = tile.extract_columns %d from 16 rotate_half 8 : !d32 -> !d16
      %h = tile.extract_columns %d from 16 rotate_half 16 : !d32 -> !d16
      %n = tile.extract_columns %d from 16 rotate_half 1 : !d32 -> !d16
      %out = tile.map %x at [%zero, %zero] within [%rows, %rows] with %e, %h, %n : !d16, !d16, !d16, !d16 -> !d16 {
      ^bb0(%v: f32, %row: index, %column: index, %w: f32, %u: f32, %q: f32):
        %s = arith.subf %v, %w : f32
        %t = arith.addf %s, %u : f32
        %z = arith.mulf %t, %q : f32
        memref.store %z, %sink[] : memref<f32>
        tile.yield %z : f32
      }
    }
    gpu.return
  }

  // Both rows of a thread have the same two of each eight columns: one load of a pair, 2q columns from the first on.
  // CHECK-LABEL: gpu.func @columns(%arg0: index
  gpu.func @columns(%first: index, %sink: memref<f32>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %zero = arith.constant 0.0 : f32
    %row = arith.constant 0 : index
    %columns = arith.constant 16 : index
    %bias = tile.alloc : <[1, 48], f32, swizzle 0>
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      // CHECK-DAG: %[[FIRST:.*]] = arith.index_cast %arg0 : index to i32
      // CHECK: %[[COLUMN:.*]] = arith.addi %[[FIRST]], %{{.*}} : i32
      // CHECK: %[[BYTES:.*]] = arith.muli %[[COLUMN]], %{{.*}} : i32
      // CHECK: %[[AT:.*]] = llvm.getelementptr %{{.*}}[%[[BYTES]]]
      // CHECK: %[[P0:.*]] = llvm.load %[[AT]] {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
      // CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[AT]][32]
      // CHECK: %[[P1:.*]] = llvm.load %[[NEXT]] {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
      // CHECK-NOT: llvm.load
      // CHECK: gpu.return
      %b = tile.load_columns %bias[%first] : !tile.smem<[1, 48], f32, swizzle 0> -> !tile.fragment<[64, 16], f32>
      %sums = tile.splat %zero : f32 -> !tile.fragment<[64, 16], f32>
      %y = tile.map %sums at [%row, %row] within [%columns] with %b : !tile.fragment<[64, 16], f32>, !tile.fragment<[64, 16], f32> -> !tile.fragment<[64, 16], f32> {
      ^bb0(%v: f32, %r: index, %c: index, %w: f32):
        %s = arith.addf %v, %w : f32
        memref.store %s, %sink[] : memref<f32>
        tile.yield %s : f32
      }
    }
    gpu.return
  }

  // Numbers that lie twice: one load gives both rows registers of their own.
  // CHECK-LABEL: gpu.func @twice
  gpu.func @twice(%first: index, %sink: memref<f32>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %zero = arith.constant 0.0 : f32
    %row = arith.constant 0 : index
    %columns = arith.constant 16 : index
    %numbers = tile.alloc : <[1, 32], f32, swizzle 0>
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      // CHECK: %[[Q:.*]] = llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
      // CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
      // CHECK-NOT: llvm.load
      // CHECK: gpu.return
      %b = tile.load_columns twice %numbers[%first] : !tile.smem<[1, 32], f32, swizzle 0> -> !tile.fragment<[64, 16], f32>
      %sums = tile.splat %zero : f32 -> !tile.fragment<[64, 16], f32>
      %y = tile.map %sums at [%row, %row] within [%columns] with %b : !tile.fragment<[64, 16], f32>, !tile.fragment<[64, 16], f32> -> !tile.fragment<[64, 16], f32> {
      ^bb0(%v: f32, %r: index, %c: index, %w: f32):
        %s = arith.addf %v, %w : f32
        memref.store %s, %sink[] : memref<f32>
        tile.yield %s : f32
      }
    }
    gpu.return
  }
}

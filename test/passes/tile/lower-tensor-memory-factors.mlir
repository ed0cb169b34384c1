// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-place-shared,kpc-lower-tile,canonicalize,cse))' %s | FileCheck %s

// Threads put a factor into tensor memory, two elements in a word; a product reads it there, 8 columns for each 32 bytes of a row.

!k = !tile.smem<[64, 64], f16, swizzle 128>
!s = !tile.tmem<[128, 64], f32>
!p = !tile.tmem<[128, 64], f16>
!f = !tile.fragment<[128, 64], f32, tmem_32x32b>
!h = !tile.fragment<[128, 64], f16, tmem_32x32b>
!row = !tile.column<128, f32, tmem_32x32b>
!parts = !tile.column<128, f32, partial, tmem_32x32b>
!numbers = !tile.column<128, i32, tmem_32x32b>
!pipe = !tile.pipe<1 of [!s]>
gpu.module @m {
  // CHECK-LABEL: gpu.func @powers
  gpu.func @powers(%more: i1, %limit: i32) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [256, 1, 1]>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    // CHECK-DAG: %[[HALF:.*]] = arith.constant 64 : i32
    %k = tile.alloc : <[64, 64], f16, swizzle 128>
    %pipe = tile.pipe threads producers 4 consumers 1 : !pipe
    tile.barrier_init
    // CHECK: %[[MEMORY:.*]] = llvm.inttoptr %{{.*}} : i32 to !llvm.ptr<6>
    %memory = tile.tmem_alloc : !tile.tmem<[128, 128], f32>
    // 256 threads begin with 248 registers (255, by 8).
    // CHECK: nvvm.setmaxregister decrease 40
    // CHECK-NEXT: %[[IS:.*]] = arith.cmpi sge, %[[WARP:.*]], %c1_i32
    // CHECK: scf.if
    // CHECK-NEXT: nvvm.elect.sync
    // CHECK-NEXT: arith.cmpi eq, %[[WARP]], %c1_i32
    tile.role "products" warps 0 to 4 registers 40 {
    ^bb0(%group: index):
      tile.role "mma" warps 1 to 2 {
      ^bb0(%inner: index):
        tile.elect role {
          %at = tile.cursor
          // CHECK: nvvm.mbarrier.try_wait.parity
          // CHECK-NEXT: nvvm.tcgen05.fence <after>
          %full = tile.wait %pipe[%at] : !pipe -> !tile.stage<full>
          %there = tile.tiles %pipe[%full] in %memory : !pipe, !tile.stage<full>, !tile.tmem<[128, 128], f32> -> !s
          %p = tile.tmem_part %there[%c0] : !s -> !p
          %o = tile.tmem_part %memory[%c64] : !tile.tmem<[128, 128], f32> -> !s
          // CHECK: nvvm.tcgen05.mma %[[O:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %arg0 {{.*}} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1)
          // CHECK: %[[A:.*]] = llvm.getelementptr %{{.*}}[8] : (!llvm.ptr<6>) -> !llvm.ptr<6>, i8
          // CHECK: nvvm.tcgen05.mma %[[O]], %[[A]], {{.*}} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1)
          // CHECK: [16] : (!llvm.ptr<6>)
          // CHECK: nvvm.tcgen05.mma
          // CHECK: [24] : (!llvm.ptr<6>)
          // CHECK: nvvm.tcgen05.mma
          tile.tmem_mma %p, %k into %o add %more : !p, !k, !s
          // CHECK: nvvm.tcgen05.commit
          tile.release %pipe[%full] after_mma : !pipe, !tile.stage<full>
          %next = tile.next %pipe[%at] : !pipe
          // What a product reads is read no more: no loop over stages.
          // CHECK-NOT: scf.for
          // CHECK: nvvm.mbarrier.try_wait.parity
          // CHECK-NEXT: nvvm.tcgen05.fence <after>
          tile.drain %pipe[%next] count 1 : !pipe
        }
      }
    }
    tile.role "softmax" warps 4 to 8 registers 240 {
    ^bb0(%group: index):
      %at = tile.cursor
      // CHECK: nvvm.tcgen05.ld
      %read = tile.tmem_load %memory[%c64] : !tile.tmem<[128, 128], f32> -> !tile.pending<!f>
      %x = tile.await %read : !tile.pending<!f> -> !f
      // A thread's row is its number; its columns are their own.
      // CHECK: %[[ROW:.*]] = arith.andi %{{.*}}, %c127_i32 : i32
      %rows = tile.row_numbers : !numbers
      // CHECK-COUNT-63: arith.maxnumf
      // CHECK-NOT: nvvm.shfl
      %m = tile.thread_reduce max %x chains 4 : !f -> !parts
      %top = tile.lane_reduce max %m : !parts -> !row
      // CHECK: arith.subf %{{.*}}, %[[TOP:.*]] : f32
      // CHECK: arith.cmpi sgt, %[[ROW]], %c1_i32
      %y = tile.apply %x, %top, %rows : !f, !row, !numbers -> !h {
      ^bb0(%v: f32, %most: f32, %r: i32, %column: i32):
        %less = arith.subf %v, %most : f32
        %n = arith.truncf %less : f32 to f16
        %zero = arith.constant 0.0 : f16
        %seen = arith.cmpi slt, %column, %r : i32
        %z = arith.select %seen, %n, %zero : f16
        tile.yield %z : f16
      }
      // CHECK: nvvm.mbarrier.try_wait.parity
      // CHECK-NEXT: nvvm.tcgen05.fence <after>
      %free = tile.acquire %pipe[%at] : !pipe -> !tile.stage<free>
      %room = tile.tiles %pipe[%free] in %memory : !pipe, !tile.stage<free>, !tile.tmem<[128, 128], f32> -> !s
      %p = tile.tmem_part %room[%c0] : !s -> !p
      // CHECK: llvm.bitcast %{{.*}} : vector<64xf16> to vector<32xi32>
      // CHECK: nvvm.tcgen05.st {{.*}} : vector<32xi32>
      // CHECK-NOT: nvvm.tcgen05.st
      // CHECK: nvvm.tcgen05.wait <store>
      tile.tmem_store %y into %p[%c0] : !h, !p
      // All lanes have written before one of them tells.
      // CHECK: nvvm.tcgen05.fence <before>
      // CHECK-NEXT: nvvm.bar.warp.sync
      // CHECK: mbarrier.arrive
      tile.commit %pipe[%free] : !pipe, !tile.stage<free>
    }
    tile.tmem_free %memory : !tile.tmem<[128, 128], f32>
    gpu.return
  }
}

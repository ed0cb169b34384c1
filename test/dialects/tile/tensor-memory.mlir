// RUN: kpc-opt %s | kpc-opt | FileCheck %s

// Every op of tensor memory, in kernels that could run: by one block, and by a pair.

!x = !tile.view<bf16, box [128, 64], swizzle 128>
!w = !tile.view<bf16, box [64, 64], swizzle 128>
!a = !tile.smem<[128, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!d = !tile.tmem<[128, 64], f32>
!f = !tile.fragment<[128, 64], f32, tmem_32x32b>
!pipe = !tile.pipe<2 of [!a, !b]>
!sums = !tile.pipe<2 of [!d]>
// CHECK-DAG: !tmem1 = !tile.tmem<[128, 128], f32>
// CHECK-DAG: !tmem = !tile.tmem<[128, 64], f32>
// CHECK-DAG: !fragment = !tile.fragment<[128, 64], f32, tmem_32x32b>
// CHECK-DAG: !pipe{{[0-9]*}} = !tile.pipe<2 of [!tmem]>

// CHECK-LABEL: gpu.func @alone
gpu.module @kernels {
  gpu.func @alone(%x: !x, %w: !w, %y: !x) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [256, 1, 1]>} {
    %c0 = arith.constant 0 : index
    %no = arith.constant false
    %pipe = tile.pipe tma consumers 1 : !pipe
    // CHECK: %[[SUMS:.*]] = tile.pipe mma consumers 4 : !pipe{{[0-9]*}}
    %sums = tile.pipe mma consumers 4 : !sums
    tile.barrier_init
    // CHECK: %[[MEMORY:.*]] = tile.tmem_alloc : !tmem1
    %memory = tile.tmem_alloc : !tile.tmem<[128, 128], f32>
    // CHECK: tile.role "producer" warps 0 to 1 {
    tile.role "producer" warps 0 to 1 {
    ^bb0(%group: index):
      tile.elect role {
        %at = tile.cursor
        %free = tile.acquire %pipe[%at] : !pipe -> !tile.stage<free>
        %a, %b = tile.tiles %pipe[%free] : !pipe, !tile.stage<free> -> !a, !b
        tile.tma_load %x[%c0, %c0] into %a signal %pipe[%free] : !x, !a, !pipe, !tile.stage<free>
        tile.tma_load %w[%c0, %c0] into %b signal %pipe[%free] : !w, !b, !pipe, !tile.stage<free>
        tile.commit %pipe[%free] : !pipe, !tile.stage<free>
        %next = tile.next %pipe[%at] : !pipe
        // CHECK: tile.drain %{{.*}}[%{{.*}}] : !pipe
        tile.drain %pipe[%next] : !pipe
      }
    }
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        %at = tile.cursor
        %free = tile.acquire %sums[%at] : !sums -> !tile.stage<free>
        // CHECK: %[[D:.*]] = tile.tiles %[[SUMS]][%{{.*}}] in %[[MEMORY]] : !pipe{{[0-9]*}}, !tile.stage<free>, !tmem1 -> !tmem
        %d = tile.tiles %sums[%free] in %memory : !sums, !tile.stage<free>, !tile.tmem<[128, 128], f32> -> !d
        %full = tile.wait %pipe[%at] : !pipe -> !tile.stage<full>
        %a, %b = tile.tiles %pipe[%full] : !pipe, !tile.stage<full> -> !a, !b
        // CHECK: tile.tmem_mma %{{.*}}, %{{.*}} into %[[D]] add %{{.*}} : !smem, !smem1, !tmem
        tile.tmem_mma %a, %b into %d add %no : !a, !b, !d
        // CHECK: tile.tmem_mma %{{.*}}, %{{.*}} transposed into %[[D]] add %{{.*}} : !smem, !smem1, !tmem
        tile.tmem_mma %a, %b transposed into %d add %no : !a, !b, !d
        // CHECK: tile.release %{{.*}}[%{{.*}}] after_mma : !pipe, !tile.stage<full>
        tile.release %pipe[%full] after_mma : !pipe, !tile.stage<full>
        tile.commit %sums[%free] : !sums, !tile.stage<free>
      }
    }
    tile.role "finisher" warps 4 to 8 {
    ^bb0(%group: index):
      %at = tile.cursor
      %full = tile.wait %sums[%at] : !sums -> !tile.stage<full>
      %d = tile.tiles %sums[%full] in %memory : !sums, !tile.stage<full>, !tile.tmem<[128, 128], f32> -> !d
      // CHECK: %[[P:.*]] = tile.tmem_load %{{.*}}[%{{.*}}] : !tmem -> !pending
      %p = tile.tmem_load %d[%c0] : !d -> !tile.pending<!f>
      // CHECK: %[[F:.*]] = tile.await %[[P]] : !pending -> !fragment
      %f = tile.await %p : !tile.pending<!f> -> !f
      // CHECK: tile.tmem_store %[[F]] into %{{.*}}[%{{.*}}] : !fragment, !tmem
      tile.tmem_store %f into %d[%c0] : !f, !d
      tile.release %sums[%full] : !sums, !tile.stage<full>
    }
    // CHECK: tile.tmem_free %[[MEMORY]] : !tmem1
    tile.tmem_free %memory : !tile.tmem<[128, 128], f32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @pair
  gpu.func @pair() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [256, 1, 1], cluster = 2>} {
    %no = arith.constant false
    // CHECK: tile.pipe tma pair consumers 1
    %pipe = tile.pipe tma pair consumers 1 : !pipe
    // CHECK: tile.pipe mma pair consumers 8
    %sums = tile.pipe mma pair consumers 8 : !tile.pipe<1 of [!tile.tmem<[128, 128], f32>]>
    tile.barrier_init
    // CHECK: tile.tmem_alloc pair
    %memory = tile.tmem_alloc pair : !tile.tmem<[128, 128], f32>
    tile.role "multiplier" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        %at = tile.cursor
        %full = tile.wait %pipe[%at] : !pipe -> !tile.stage<full>
        %a, %b = tile.tiles %pipe[%full] : !pipe, !tile.stage<full> -> !a, !b
        // CHECK: tile.tmem_mma %{{.*}}, %{{.*}} into %{{.*}} add %{{.*}} pair : !smem, !smem1, !tmem1
        tile.tmem_mma %a, %b into %memory add %no pair : !a, !b, !tile.tmem<[128, 128], f32>
        tile.release %pipe[%full] after_mma : !pipe, !tile.stage<full>
      }
    }
    tile.tmem_free %memory : !tile.tmem<[128, 128], f32>
    gpu.return
  }
}

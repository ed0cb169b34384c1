// RUN: kpc-opt %s | kpc-opt | FileCheck %s

// Every op, in a kernel that could run: one warp copies slices of x and w, a warpgroup multiplies them.

!x = !tile.view<bf16, box [64, 64], swizzle 128>
!w = !tile.view<bf16, box [64, 64], swizzle 128>
!y = !tile.view<bf16, box [64, 64], swizzle 128>
!a = !tile.smem<[64, 64], bf16, swizzle 128>
!half = !tile.smem<[32, 64], bf16, swizzle 128, pitch 64>
!b = !tile.smem<[64, 128], bf16, swizzle 128>
!d = !tile.fragment<[64, 128], f32>
!part = !tile.fragment<[64, 64], f32>
!out = !tile.fragment<[64, 64], bf16>
!pipe = !tile.pipe<2 of [!a, !b]>
!threads = !tile.pipe<1 of [!a]>

// CHECK-LABEL: gpu.func @product
gpu.module @kernels {
  gpu.func @product(%x: !x, %w: !w, %y: !y, %m: index, %n: index, %k: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [256, 1, 1]>} {
    %c0 = arith.constant 0 : index
    // CHECK: %[[PIPE:.*]] = tile.pipe tma consumers 4 : !pipe
    %pipe = tile.pipe tma consumers 4 : <2 of [!a, !b]>
    // CHECK: tile.pipe threads producers 2 consumers 4 {offset = 64 : i64} : !pipe1
    %byhand = tile.pipe threads producers 2 consumers 4 {offset = 64 : i64} : <1 of [!a]>
    // CHECK: %[[STAGE:.*]] = tile.alloc : !smem
    %staging = tile.alloc : <[64, 64], bf16, swizzle 128>
    %heads = tile.alloc : !tile.smem<[64, 128], bf16, swizzle 128>
    %bias = tile.alloc : <[1, 128], f32, swizzle 0>
    // CHECK: tile.barrier_init
    tile.barrier_init
    // CHECK: tile.sync block
    tile.sync block
    // CHECK: tile.role "producer" warps 0 to 4 registers 40 {
    // CHECK-NEXT: ^bb0(%{{.*}}: index):
    tile.role "producer" warps 0 to 4 registers 40 {
    ^bb0(%group: index):
      // CHECK: tile.elect role {
      tile.elect role {
        // CHECK: %[[CURSOR:.*]] = tile.cursor
        %cursor = tile.cursor
        // CHECK: %[[FREE:.*]] = tile.acquire %[[PIPE]][%[[CURSOR]]] : !pipe -> !tile.stage<free>
        %free = tile.acquire %pipe[%cursor] : !pipe -> !tile.stage<free>
        // CHECK: %[[AB:.*]]:2 = tile.tiles %[[PIPE]][%[[FREE]]] : !pipe, !tile.stage<free> -> !smem, !smem{{.*}}
        %a, %b = tile.tiles %pipe[%free] : !pipe, !tile.stage<free> -> !a, !b
        // CHECK: tile.tma_load %{{.*}}[%{{.*}}, %{{.*}}] into %[[AB]]#0 signal %[[PIPE]][%[[FREE]]] : !view, !smem, !pipe, !tile.stage<free>
        tile.tma_load %x[%m, %k] into %a signal %pipe[%free] : !x, !a, !pipe, !tile.stage<free>
        tile.tma_load %w[%k, %n] into %b signal %pipe[%free] : !w, !b, !pipe, !tile.stage<free>
        // CHECK: tile.commit %[[PIPE]][%[[FREE]]] : !pipe, !tile.stage<free>
        tile.commit %pipe[%free] : !pipe, !tile.stage<free>
        // CHECK: tile.next %[[PIPE]][%[[CURSOR]]] : !pipe
        %next = tile.next %pipe[%cursor] : !pipe
        // CHECK: tile.skip %[[PIPE]][%{{.*}}] by %{{.*}} : !pipe
        %behind = tile.skip %pipe[%next] by %k : !pipe
        // CHECK-NOT: tile.yield
      }
      // CHECK: tile.sync role
      tile.sync role
    }
    // CHECK: tile.role "consumer" warps 4 to 8 registers 232
    tile.role "consumer" warps 4 to 8 registers 232 {
    ^bb0(%group: index):
      %cursor = tile.cursor
      // CHECK: %[[FULL:.*]] = tile.wait %[[PIPE]][%{{.*}}] : !pipe -> !tile.stage<full>
      %full = tile.wait %pipe[%cursor] : !pipe -> !tile.stage<full>
      %a, %b = tile.tiles %pipe[%full] : !pipe, !tile.stage<full> -> !a, !b
      // CHECK: tile.subview_rows %{{.*}}[%{{.*}}] : !smem -> !smem{{.*}}
      %half = tile.subview_rows %a[%c0] : !a -> !half
      // CHECK: %[[P0:.*]] = tile.mma %{{.*}}, %{{.*}} : !smem, !smem{{.*}} -> !pending
      %p0 = tile.mma %a, %b : !a, !b -> !tile.pending<!d>
      // CHECK: %[[P1:.*]] = tile.mma %{{.*}} transposed, %{{.*}}, %[[P0]] : !smem, !smem{{.*}}, !pending -> !pending
      %p1 = tile.mma %a transposed, %b, %p0 : !a, !b, !tile.pending<!d> -> !tile.pending<!d>
      // CHECK: %[[P2:.*]] = tile.wgmma_wait<1> %[[P1]] : !pending
      %p2 = tile.wgmma_wait<1> %p1 : !tile.pending<!d>
      // CHECK: %[[D:.*]] = tile.await %[[P2]] : !pending -> !fragment
      %d = tile.await %p2 : !tile.pending<!d> -> !d
      // CHECK: tile.release %[[PIPE]][%[[FULL]]] : !pipe, !tile.stage<full>
      tile.release %pipe[%full] : !pipe, !tile.stage<full>
      // CHECK: %[[PART:.*]] = tile.extract_columns %[[D]] from 64 : !fragment -> !fragment{{.*}}
      %part = tile.extract_columns %d from 64 : !d -> !part
      // CHECK: tile.extract_columns %[[D]] from 64 rotate_half 32 : !fragment -> !fragment{{.*}}
      %exchanged = tile.extract_columns %d from 64 rotate_half 32 : !d -> !part
      // CHECK: tile.paired_rows %[[PART]] by 8 : !fragment{{.*}}
      %other_rows = tile.paired_rows %part by 8 : !part
      // CHECK: tile.load_columns %{{.*}}[%{{.*}}] : !smem{{.*}} -> !fragment{{.*}}
      %bias_part = tile.load_columns %bias[%m] : !tile.smem<[1, 128], f32, swizzle 0> -> !part
      // CHECK: tile.load_columns twice %{{.*}}[%{{.*}}] : !smem{{.*}} -> !fragment{{.*}}
      %bias_twice = tile.load_columns twice %bias[%m] : !tile.smem<[1, 128], f32, swizzle 0> -> !part
      // CHECK: tile.map %[[PART]] at[%{{.*}}, %{{.*}}] within[%{{.*}}, %{{.*}}] : !fragment{{.*}} -> !fragment{{.*}} {
      // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: index, %{{.*}}: index):
      %out = tile.map %part at [%m, %n] within [%m, %n] : !part -> !out {
      ^bb0(%v: f32, %row: index, %column: index):
        %t = arith.truncf %v : f32 to bf16
        // CHECK: tile.yield %{{.*}} : bf16
        tile.yield %t : bf16
      }
      // CHECK: tile.elect warpgroup {
      tile.elect warpgroup {
        // CHECK: tile.tma_store_wait<0>
        tile.tma_store_wait<0>
      }
      // CHECK: tile.sync warpgroup
      tile.sync warpgroup
      // CHECK: tile.store_shared %{{.*}} into %[[STAGE]] : !fragment{{.*}}, !smem
      tile.store_shared %out into %staging : !out, !a
      // CHECK: tile.store_shared %{{.*}} into %{{.*}} transposed of %{{.*}} apart 32 : !fragment{{.*}}, !smem
      tile.store_shared %out into %heads transposed of %m apart 32 : !out, !tile.smem<[64, 128], bf16, swizzle 128>
      // CHECK: tile.fence_proxy
      tile.fence_proxy
      tile.sync warpgroup
      tile.elect warpgroup {
        // CHECK: tile.tma_store %[[STAGE]] to %{{.*}}[%{{.*}}, %{{.*}}] : !smem, !view
        tile.tma_store %staging to %y[%m, %n] : !a, !y
        // CHECK: tile.tma_store_commit
        tile.tma_store_commit
      }
    }
    gpu.return
  }

  // Warpgroups of a role in turn.
  // CHECK-LABEL: gpu.func @turns
  gpu.func @turns() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [384, 1, 1]>} {
    tile.role "consumer" warps 4 to 12 registers 240 {
    ^bb0(%group: index):
      // CHECK: tile.wait_turn
      tile.wait_turn
      // CHECK: tile.pass_turn
      tile.pass_turn
    }
    gpu.return
  }

  // Both operands with the sum's elements side by side; sums start from a fragment.
  // CHECK-LABEL: gpu.func @both
  gpu.func @both(%a: !tile.smem<[64, 32], f32, swizzle 128>, %b: !tile.smem<[16, 32], f32, swizzle 128>, %c: !tile.fragment<[64, 16], f32>) kernel {
    // CHECK: tile.mma %{{.*}}, %{{.*}} transposed, %{{.*}} : !smem{{.*}}, !smem{{.*}}, !fragment{{.*}} -> !pending{{.*}}
    %d = tile.mma %a, %b transposed, %c : !tile.smem<[64, 32], f32, swizzle 128>, !tile.smem<[16, 32], f32, swizzle 128>, !tile.fragment<[64, 16], f32> -> !tile.pending<!tile.fragment<[64, 16], f32>>
    %f = tile.await %d : !tile.pending<!tile.fragment<[64, 16], f32>> -> !tile.fragment<[64, 16], f32>
    gpu.return
  }
}

// x · wᵀ of 128 × 64 and 64 × 64 elements by one warpgroup: two products of 64 rows in one op. STRIDE is the bytes from a row of
// x to the next.
!view = !tile.view<bf16, box [128, 64], swizzle 128>
!wide = !tile.view<bf16, box [64, 64], swizzle 128>
!a = !tile.smem<[128, 64], bf16, swizzle 128>
!b = !tile.smem<[64, 64], bf16, swizzle 128>
!d = !tile.fragment<[128, 64], f32>
!out = !tile.fragment<[128, 64], bf16>
!pipe = !tile.pipe<1 of [!a, !b]>
module {
  gpu.module @product {
    gpu.func @product(%arg0: memref<bf16> {llvm.align = 64 : i64}, %arg1: memref<bf16> {llvm.align = 64 : i64}, %arg2: memref<bf16> {llvm.align = 64 : i64}, %x: !view, %w: !wide, %y: !view) kernel
        attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [256, 1, 1]>, kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>, kernel.schedule = #kernel.schedule<"by hand">,
          kernel.tensor_maps = [#kernel.tensor_map<buffer = 0, element = bf16, dims = ["64", "128"], strides = ["STRIDE"], box = [64, 128], swizzle = 128>,
                             #kernel.tensor_map<buffer = 1, element = bf16, dims = ["64", "64"], strides = ["128"], box = [64, 64], swizzle = 128>,
                             #kernel.tensor_map<buffer = 2, element = bf16, dims = ["64", "128"], strides = ["128"], box = [64, 128], swizzle = 128>]} {
      %c0 = arith.constant 0 : index
      %rows = arith.constant 128 : index
      %columns = arith.constant 64 : index
      %pipe = tile.pipe tma consumers 4 : !pipe
      %staging = tile.alloc : !a
      tile.barrier_init
      tile.role "producer" warps 0 to 4 registers 40 {
      ^bb0(%group: index):
        tile.elect role {
          %at = tile.cursor
          %free = tile.acquire %pipe[%at] : !pipe -> !tile.stage<free>
          %a, %b = tile.tiles %pipe[%free] : !pipe, !tile.stage<free> -> !a, !b
          tile.tma_load %x[%c0, %c0] into %a signal %pipe[%free] : !view, !a, !pipe, !tile.stage<free>
          tile.tma_load %w[%c0, %c0] into %b signal %pipe[%free] : !wide, !b, !pipe, !tile.stage<free>
          tile.commit %pipe[%free] : !pipe, !tile.stage<free>
        }
      }
      tile.role "consumer" warps 4 to 8 registers 232 {
      ^bb0(%group: index):
        %at = tile.cursor
        %full = tile.wait %pipe[%at] : !pipe -> !tile.stage<full>
        %a, %b = tile.tiles %pipe[%full] : !pipe, !tile.stage<full> -> !a, !b
        %p = tile.mma %a, %b transposed : !a, !b -> !tile.pending<!d>
        %d = tile.await %p : !tile.pending<!d> -> !d
        tile.release %pipe[%full] : !pipe, !tile.stage<full>
        %out = tile.map %d at [%c0, %c0] within [%rows, %columns] : !d -> !out {
        ^bb0(%v: f32, %row: index, %column: index):
          %t = arith.truncf %v : f32 to bf16
          tile.yield %t : bf16
        }
        tile.store_shared %out into %staging : !out, !a
        tile.fence_proxy
        tile.sync warpgroup
        tile.elect warpgroup {
          tile.tma_store %staging to %y[%c0, %c0] : !a, !view
          tile.tma_store_commit
          tile.tma_store_wait<0>
        }
      }
      gpu.return
    }
  }
}

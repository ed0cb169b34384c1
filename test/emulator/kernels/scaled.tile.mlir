// a · bᵀ with block scales, one tile of 128 × 64 by one warpgroup; rows, columns and K end anywhere. Scales lie in memory as words of
// four, [words, rows, 4].
!a = !tile.smem<[128, $LINE$], $ELEMENT$, swizzle 128>
!b = !tile.smem<[64, $LINE$], $ELEMENT$, swizzle 128>
!sa = !tile.smem<[$WORDS$, 544], ui8>
!sb = !tile.smem<[$WORDS$, 288], ui8>
!d = !tile.fragment<[128, 64], f32>
!out = !tile.smem<[128, 64], f32, swizzle 128>
module {
  gpu.module @scaled {
    gpu.func @scaled(%arg0: memref<i8> {llvm.align = 64 : i64}, %arg1: memref<i8> {llvm.align = 64 : i64}, %arg2: memref<i8> {llvm.align = 64 : i64}, %arg3: memref<i8> {llvm.align = 64 : i64}, %arg4: memref<f32> {llvm.align = 64 : i64}) kernel
        attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>, kernel.buffers = #kernel.buffers<reads = [0, 1, 2, 3], writes = [4]>, kernel.schedule = #kernel.schedule<"by hand">} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %rows = arith.constant $ROWS$ : index
      %columns = arith.constant $COLUMNS$ : index
      %given = arith.constant $GIVEN$ : index
      %words = arith.constant $WORDS$ : index
      %c4 = arith.constant 4 : index
      %scales_of_a = arith.muli %rows, %c4 : index
      %scales_of_b = arith.muli %columns, %c4 : index
      %last_row = arith.subi %rows, %c1 : index
      %last_column = arith.subi %columns, %c1 : index
      %codes_a = memref.reinterpret_cast %arg0 to offset: [0], sizes: [$CODES_A$], strides: [1] : memref<i8> to memref<$CODES_A$xi8>
      %scales_a = memref.reinterpret_cast %arg1 to offset: [0], sizes: [$SCALES_A$], strides: [1] : memref<i8> to memref<$SCALES_A$xi8>
      %codes_b = memref.reinterpret_cast %arg2 to offset: [0], sizes: [$CODES_B$], strides: [1] : memref<i8> to memref<$CODES_B$xi8>
      %scales_b = memref.reinterpret_cast %arg3 to offset: [0], sizes: [$SCALES_B$], strides: [1] : memref<i8> to memref<$SCALES_B$xi8>
      %y = memref.reinterpret_cast %arg4 to offset: [0], sizes: [$RESULTS$], strides: [1] : memref<f32> to memref<$RESULTS$xf32>
      %a = tile.alloc : !a
      %b = tile.alloc : !b
      %sa = tile.alloc : !sa
      %sb = tile.alloc : !sb
      %staging = tile.alloc : !out
      tile.barrier_init
      tile.cp_async %codes_a into %a by 4 : memref<$CODES_A$xi8>, !a {
      ^bb0(%row: index, %column: index):
        %line = arith.minsi %row, %last_row : index
        %start = arith.muli %line, %given : index
        %at = arith.addi %start, %column : index
        %count = arith.subi %given, %column : index
        tile.yield_address %at, %count
      }
      tile.cp_async %codes_b into %b by 4 : memref<$CODES_B$xi8>, !b {
      ^bb0(%row: index, %column: index):
        %line = arith.minsi %row, %last_column : index
        %start = arith.muli %line, %given : index
        %at = arith.addi %start, %column : index
        %count = arith.subi %given, %column : index
        tile.yield_address %at, %count
      }
      tile.cp_async %scales_a into %sa by 4 : memref<$SCALES_A$xi8>, !sa {
      ^bb0(%word: index, %row: index):
        %word_a = arith.muli %word, %scales_of_a : index
        %at_a = arith.addi %word_a, %row : index
        %count = arith.subi %scales_of_a, %row : index
        tile.yield_address %at_a, %count
      }
      tile.cp_async %scales_b into %sb by 4 : memref<$SCALES_B$xi8>, !sb {
      ^bb0(%word: index, %row: index):
        %word_b = arith.muli %word, %scales_of_b : index
        %at_b = arith.addi %word_b, %row : index
        %count = arith.subi %scales_of_b, %row : index
        tile.yield_address %at_b, %count
      }
      tile.cp_async_commit
      tile.cp_async_wait<0>
      tile.sync block
      %zero = arith.constant 0.0 : f32
      %c = tile.splat %zero : f32 -> !d
      %d = tile.mma_scaled $FORMAT$ %a scales %sa, %b scales %sb rows [%c0, %c0], %c : !a, !sa, !b, !sb -> !d
      tile.store_shared %d into %staging : !d, !out
      tile.sync block
      tile.store_global %staging to %y by 4 : !out, memref<$RESULTS$xf32> {
      ^bb0(%row: index, %column: index):
        %start = arith.muli %row, %columns : index
        %at = arith.addi %start, %column : index
        %inside = arith.cmpi slt, %row, %rows : index
        %left = arith.subi %columns, %column : index
        %count = arith.select %inside, %left, %c0 : index
        tile.yield_address %at, %count
      }
      gpu.return
    }
  }
}

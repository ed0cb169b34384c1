// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-place-shared,kpc-lower-tile,canonicalize,cse))' %s | FileCheck %s

// Words of scales are copied into tensor memory 512 bytes at a time; products say which bytes of a word are theirs in the instruction
// descriptor (PTX ISA, tcgen05, instruction descriptor of kinds with block scales: bits 4–5 and 29–30), and which word by addresses.

module {
gpu.module @m {
  // Four steps of 32 codes take the bytes 0 to 3 of one word. 1<<10 b is of E5M2, 16<<17 columns, 1<<23 scales of E8M0, 8<<24 rows.
  // CHECK-LABEL: gpu.func @mxfp8
  gpu.func @mxfp8(%first: index, %more: i1) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [256, 1, 1]>} {
    // CHECK-DAG: %[[BYTE0:.*]] = arith.constant 144704512 : i32
    // CHECK-DAG: %[[BYTE1:.*]] = arith.constant 681575440 : i32
    // CHECK-DAG: %[[BYTE2:.*]] = arith.constant 1218446368 : i32
    // CHECK-DAG: %[[BYTE3:.*]] = arith.constant 1755317296 : i32
    // Rows of 16 bytes without a swizzle, eight after 128 bytes: 1<<16, 8<<32, 1<<46.
    // CHECK-DAG: %[[PLAIN:.*]] = arith.constant 70403103981568 : i64
    %c0 = arith.constant 0 : index
    %a = tile.alloc : !tile.smem<[128, 128], f8E4M3FN, swizzle 128>
    %b = tile.alloc : !tile.smem<[128, 128], f8E5M2, swizzle 128>
    %sa = tile.alloc : !tile.smem<[2, 256], ui8>
    %sb = tile.alloc : !tile.smem<[2, 256], ui8>
    tile.barrier_init
    %memory = tile.tmem_alloc : !tile.tmem<[128, 512], f32>
    tile.role "mma" warps 1 to 2 {
    ^bb0(%group: index):
      // CHECK: nvvm.elect.sync
      tile.elect role {
        %d = tile.tmem_part %memory[%c0] : !tile.tmem<[128, 512], f32> -> !tile.tmem<[128, 128], f32>
        // CHECK: %[[COLUMN:.*]] = arith.index_cast %arg0 : index to i32
        // CHECK: %[[WORDS:.*]] = llvm.getelementptr %{{.*}}[%[[COLUMN]]] : (!llvm.ptr<6>, i32) -> !llvm.ptr<6>, i8
        %words = tile.tmem_part %memory[%first] : !tile.tmem<[128, 512], f32> -> !tile.tmem<[128, 4], ui32>
        // CHECK: nvvm.tcgen05.fence <after>
        // CHECK: arith.ori %{{.*}}, %[[PLAIN]] : i64
        // CHECK: nvvm.tcgen05.cp %[[WORDS]], %{{.*}} {multicast = #nvvm.tcgen05_cp_multicast<warpx4>, shape = #nvvm.tcgen05_cp_shape<shape_32x128b>}
        // CHECK-NOT: nvvm.tcgen05.cp
        tile.tmem_copy %sa panels 1 into %words : !tile.smem<[2, 256], ui8>, !tile.tmem<[128, 4], ui32>
        // CHECK: nvvm.tcgen05.mma.block_scale %{{.*}}, %{{.*}}, %{{.*}}, %[[BYTE0]], %arg1, %[[WORDS]], %[[WORDS]] {blockScale = #nvvm.tcgen05_mma_block_scale<block32>, ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.block_scale_kind<mxf8f6f4>}
        // CHECK: nvvm.tcgen05.mma.block_scale %{{.*}}, %{{.*}}, %{{.*}}, %[[BYTE1]], %true, %[[WORDS]], %[[WORDS]]
        // CHECK: nvvm.tcgen05.mma.block_scale %{{.*}}, %{{.*}}, %{{.*}}, %[[BYTE2]], %true, %[[WORDS]], %[[WORDS]]
        // CHECK: nvvm.tcgen05.mma.block_scale %{{.*}}, %{{.*}}, %{{.*}}, %[[BYTE3]], %true, %[[WORDS]], %[[WORDS]]
        // CHECK-NOT: nvvm.tcgen05.mma
        tile.tmem_mma_scaled mxfp8 %a scales %words, %b scales %words into %d add %more : !tile.smem<[128, 128], f8E4M3FN, swizzle 128>, !tile.tmem<[128, 4], ui32>, !tile.smem<[128, 128], f8E5M2, swizzle 128>, !tile.tmem<[128, 4], ui32>, !tile.tmem<[128, 128], f32>
      }
    }
    tile.tmem_free %memory : !tile.tmem<[128, 512], f32>
    gpu.return
  }

  // A step of 64 codes takes a whole word: 1<<7 and 1<<10 codes of E2M1, 32<<17 columns; b has two panels, whose words of one step lie
  // side by side, 8 columns, though a panel's words do in shared memory.
  // CHECK-LABEL: gpu.func @nvfp4
  gpu.func @nvfp4(%first: index, %more: i1) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [256, 1, 1]>} {
    // CHECK-DAG: %[[INSTRUCTION:.*]] = arith.constant 138413184 : i32
    // CHECK-DAG: %[[SECOND_PANEL:.*]] = arith.constant 64 : i32
    // CHECK-DAG: %[[SECOND_WORD:.*]] = arith.constant 32 : i32
    %c0 = arith.constant 0 : index
    %a = tile.alloc : !tile.smem<[128, 64], ui8, swizzle 64>
    %b = tile.alloc : !tile.smem<[256, 64], ui8, swizzle 64>
    %sa = tile.alloc : !tile.smem<[4, 256], ui8>
    %sb = tile.alloc : !tile.smem<[8, 256], ui8>
    tile.barrier_init
    %memory = tile.tmem_alloc : !tile.tmem<[128, 512], f32>
    tile.role "mma" warps 1 to 2 {
    ^bb0(%group: index):
      tile.elect role {
        %d = tile.tmem_part %memory[%c0] : !tile.tmem<[128, 512], f32> -> !tile.tmem<[128, 256], f32>
        %wa = tile.tmem_part %memory[%first] : !tile.tmem<[128, 512], f32> -> !tile.tmem<[128, 8], ui32>
        // CHECK: %[[WB:.*]] = llvm.getelementptr %{{.*}} : (!llvm.ptr<6>, i32) -> !llvm.ptr<6>, i8
        %wb = tile.tmem_part %memory[%first] : !tile.tmem<[128, 512], f32> -> !tile.tmem<[128, 16], ui32>
        // CHECK: nvvm.tcgen05.cp %[[WB]], %{{.*}}
        // CHECK: arith.addi %{{.*}}, %[[SECOND_PANEL]]
        // CHECK: %[[PANEL1:.*]] = llvm.getelementptr %[[WB]][4]
        // CHECK: nvvm.tcgen05.cp %[[PANEL1]], %{{.*}}
        // CHECK: arith.addi %{{.*}}, %[[SECOND_WORD]]
        // CHECK: %[[WORD1:.*]] = llvm.getelementptr %[[WB]][8]
        // CHECK: nvvm.tcgen05.cp %[[WORD1]], %{{.*}}
        // CHECK: nvvm.tcgen05.cp
        tile.tmem_copy %sb panels 2 into %wb : !tile.smem<[8, 256], ui8>, !tile.tmem<[128, 16], ui32>
        // CHECK: nvvm.tcgen05.mma.block_scale %{{.*}}, %[[INSTRUCTION]], %arg1, %[[WB]], %[[WB]] {blockScale = #nvvm.tcgen05_mma_block_scale<block16>, {{.*}}kind = #nvvm.block_scale_kind<mxf4nvf4>}
        // CHECK: nvvm.tcgen05.mma.block_scale %{{.*}}, %[[INSTRUCTION]], %true, %[[PANEL1]], %[[WORD1]]
        // CHECK-NOT: nvvm.tcgen05.mma
        tile.tmem_mma_scaled nvfp4 %a scales %wa, %b scales %wb into %d add %more : !tile.smem<[128, 64], ui8, swizzle 64>, !tile.tmem<[128, 8], ui32>, !tile.smem<[256, 64], ui8, swizzle 64>, !tile.tmem<[128, 16], ui32>, !tile.tmem<[128, 256], f32>
      }
    }
    tile.tmem_free %memory : !tile.tmem<[128, 512], f32>
    gpu.return
  }
}
}

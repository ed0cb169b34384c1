// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-place-shared,kpc-lower-tile,canonicalize,cse))' %s | FileCheck %s

// Products with block scales: words of scales are plain rows of bytes, and byte and thread ids say which scale is whose.

!d = !tile.fragment<[64, 32], f32>
gpu.module @m {
  // 4 steps of 32 elements take the 4 scales of a word, one each; 32 columns have one load of words, and a thread id for each 8.
  // CHECK-LABEL: gpu.func @mxfp8
  gpu.func @mxfp8(%x: memref<?xi8>, %n: index, %sink: memref<f32>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    // CHECK-DAG: %[[B0:.*]] = llvm.mlir.constant(0 : i16) : i16
    // CHECK-DAG: %[[B1:.*]] = llvm.mlir.constant(1 : i16) : i16
    %a = tile.alloc : !tile.smem<[64, 128], f8E4M3FN, swizzle 128>
    %b = tile.alloc : !tile.smem<[32, 128], f8E5M2, swizzle 128>
    %sa = tile.alloc : !tile.smem<[1, 256], ui8>
    %sb = tile.alloc : !tile.smem<[1, 128], ui8>
    tile.barrier_init
    // 64 words for 128 threads: half of them copy one.
    // CHECK: scf.if
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 4
    tile.cp_async %x into %sa by 4 : memref<?xi8>, !tile.smem<[1, 256], ui8> {
    ^bb0(%word: index, %row: index):
      %left = arith.subi %n, %row : index
      tile.yield_address %row, %left
    }
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> !d
    // CHECK: %[[SA:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
    // CHECK-NEXT: %[[SB:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
    // CHECK: nvvm.mma.block_scale {{.*}}scaleA[%[[SA]], %[[B0]], %[[B0]]] scaleB[%[[SB]], %[[B0]], %[[B0]]] {{.*}}kind = #nvvm.block_scale_kind<mxf8f6f4>{{.*}}#nvvm.scale_vec_size<x1>
    // CHECK: nvvm.mma.block_scale {{.*}}scaleA[%[[SA]], %[[B0]], %[[B0]]] scaleB[%[[SB]], %[[B0]], %[[B1]]]
    // CHECK-COUNT-2: nvvm.mma.block_scale {{.*}}scaleA[%[[SA]], %[[B0]], %[[B0]]]
    // CHECK-COUNT-4: nvvm.mma.block_scale {{.*}}scaleA[%[[SA]], %[[B1]], %[[B0]]]
    // CHECK-COUNT-8: nvvm.mma.block_scale
    // CHECK-NOT: nvvm.mma.block_scale
    %d = tile.mma_scaled mxfp8 %a scales %sa, %b scales %sb rows [%c0, %c0], %c : !tile.smem<[64, 128], f8E4M3FN, swizzle 128>, !tile.smem<[1, 256], ui8>, !tile.smem<[32, 128], f8E5M2, swizzle 128>, !tile.smem<[1, 128], ui8> -> !d
    %e = tile.map %d at [%n, %n] within [%n, %n] : !d -> !d {
    ^bb0(%v: f32, %row: index, %column: index):
      memref.store %v, %sink[] : memref<f32>
      tile.yield %v : f32
    }
    gpu.return
  }

  // A step of 64 codes of NVFP4 takes a whole word.
  // CHECK-LABEL: gpu.func @nvfp4
  gpu.func @nvfp4(%n: index, %sink: memref<f32>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %a = tile.alloc : !tile.smem<[64, 64], ui8, swizzle 64>
    %b = tile.alloc : !tile.smem<[32, 64], ui8, swizzle 64>
    %sa = tile.alloc : !tile.smem<[2, 256], ui8>
    %sb = tile.alloc : !tile.smem<[2, 128], ui8>
    tile.barrier_init
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> !d
    // CHECK-COUNT-2: llvm.load
    // CHECK-COUNT-4: nvvm.mma.block_scale {{.*}}blockScaleFormat = #nvvm.block_scale_format<ue4m3>, kind = #nvvm.block_scale_kind<mxf4nvf4>{{.*}}#nvvm.scale_vec_size<x4>{{.*}}k = 64
    // CHECK-COUNT-2: llvm.load
    // CHECK-COUNT-4: nvvm.mma.block_scale
    // CHECK-NOT: nvvm.mma.block_scale
    %d = tile.mma_scaled nvfp4 %a scales %sa, %b scales %sb rows [%c0, %c0], %c : !tile.smem<[64, 64], ui8, swizzle 64>, !tile.smem<[2, 256], ui8>, !tile.smem<[32, 64], ui8, swizzle 64>, !tile.smem<[2, 128], ui8> -> !d
    %e = tile.map %d at [%n, %n] within [%n, %n] : !d -> !d {
    ^bb0(%v: f32, %row: index, %column: index):
      memref.store %v, %sink[] : memref<f32>
      tile.yield %v : f32
    }
    gpu.return
  }
}

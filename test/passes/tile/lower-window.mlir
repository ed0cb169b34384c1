// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-place-shared,kpc-lower-tile,canonicalize,cse))' %s | FileCheck %s

// Products of what the taps of a filter see of an image in shared memory.

!d = !tile.fragment<[128, 16], f32>
gpu.module @m {
  // Eight lines of 16 places: a warp has two of them. Rows of 48 bytes, of which 32 are channels, so that eight of a line are in all
  // banks. Each column of three taps sees four lines of pixels, which are loaded once, and three parts of the filter:
  // CHECK-LABEL: gpu.func @window
  gpu.func @window(%x: memref<?xf16>, %n: index, %y: memref<f32>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %image = tile.alloc : !tile.smem<[180, 24], f16>
    %w = tile.alloc : !tile.smem<[144, 16], f16, swizzle 32>
    tile.barrier_init
    // 360 pieces of 128 threads: two each, and 104 one more. A thread's are 64 pixels apart.
    // CHECK-COUNT-2: nvvm.cp.async
    // CHECK: scf.if
    // CHECK-NEXT: arith.addi
    // CHECK: nvvm.cp.async
    // CHECK-NOT: nvvm.cp.async
    tile.cp_async %x into %image by 16 columns 16 : memref<?xf16>, !tile.smem<[180, 24], f16> {
    ^bb0(%row: index, %column: index):
      %at = arith.addi %row, %column : index
      tile.yield_address %at, %n
    }
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> !d
    // CHECK: %[[FIRST:.*]] = llvm.getelementptr
    // Line 1 is 18 pixels on, tap 1 of line 0 the same: two lines, then one for each tap.
    // CHECK: nvvm.ldmatrix {{.*}} -> !llvm.struct<(i32, i32, i32, i32)>
    // CHECK: llvm.getelementptr %{{.*}}[864]
    // CHECK-NEXT: nvvm.ldmatrix
    // CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>
    // CHECK-COUNT-4: nvvm.mma.sync
    // CHECK: llvm.getelementptr %{{.*}}[1728]
    // CHECK-NEXT: nvvm.ldmatrix
    // CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>
    // CHECK-COUNT-4: nvvm.mma.sync
    // CHECK: llvm.getelementptr %{{.*}}[2592]
    // CHECK-NEXT: nvvm.ldmatrix
    // CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>
    // CHECK-COUNT-4: nvvm.mma.sync
    // The next column of taps: a pixel on.
    // CHECK: llvm.getelementptr %{{.*}}[48]
    // CHECK-COUNT-24: nvvm.mma.sync
    // CHECK-NOT: nvvm.mma.sync
    %d = tile.mma_window %image width 18 channels 16, %w, %c taps [3, 3] strides [1, 1] dilations [1, 1] lines 8 : !tile.smem<[180, 24], f16>, !tile.smem<[144, 16], f16, swizzle 32> -> !d
    %e = tile.map %d at [%n, %n] within [%n, %n] : !d -> !d {
    ^bb0(%v: f32, %row: index, %column: index):
      memref.store %v, %y[] : memref<f32>
      tile.yield %v : f32
    }
    gpu.return
  }

  // Pixels of 8 channels are one piece: of three taps a step of 16 elements, and a half.
  // CHECK-LABEL: gpu.func @halves
  gpu.func @halves(%n: index, %y: memref<f32>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %image = tile.alloc : !tile.smem<[72, 8], bf16>
    %w = tile.alloc : !tile.smem<[24, 16], bf16, swizzle 32>
    tile.barrier_init
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> !tile.fragment<[64, 16], f32>
    // CHECK: nvvm.ldmatrix {{.*}}num = 4
    // CHECK: nvvm.ldmatrix {{.*}}num = 4
    // CHECK-COUNT-2: nvvm.mma.sync {{.*}}k = 16
    // CHECK: llvm.getelementptr %{{.*}}[32]
    // CHECK-NEXT: nvvm.ldmatrix {{.*}}num = 2
    // CHECK: nvvm.ldmatrix {{.*}}num = 4
    // CHECK-COUNT-2: nvvm.mma.sync {{.*}}k = 8
    // CHECK-NOT: nvvm.mma.sync
    %d = tile.mma_window %image width 18 channels 8, %w, %c taps [1, 3] strides [1, 1] dilations [1, 1] lines 4 : !tile.smem<[72, 8], bf16>, !tile.smem<[24, 16], bf16, swizzle 32> -> !tile.fragment<[64, 16], f32>
    %e = tile.map %d at [%n, %n] within [%n, %n] : !tile.fragment<[64, 16], f32> -> !tile.fragment<[64, 16], f32> {
    ^bb0(%v: f32, %row: index, %column: index):
      memref.store %v, %y[] : memref<f32>
      tile.yield %v : f32
    }
    gpu.return
  }

  // 12 channels of which 8 are in a pixel's row and 4 in the next one's: what follows these is no pixel of the tap's, and becomes zeros.
  // CHECK-LABEL: gpu.func @goes_on
  gpu.func @goes_on(%n: index, %y: memref<f32>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %image = tile.alloc : !tile.smem<[68, 8], bf16>
    %w = tile.alloc : !tile.smem<[16, 16], bf16, swizzle 32>
    tile.barrier_init
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> !tile.fragment<[64, 16], f32>
    // Lanes 0 and 1 of four have elements 8 to 11.
    // CHECK: %[[IS:.*]] = arith.cmpi ult, %{{.*}}, %c2_i32
    // CHECK-NEXT: %[[MASK:.*]] = arith.select %[[IS]], %c-1_i32, %c0_i32
    // CHECK: %[[FOUR:.*]] = nvvm.ldmatrix {{.*}}num = 4
    // CHECK-DAG: %[[W2:.*]] = llvm.extractvalue %[[FOUR]][2]
    // CHECK-DAG: arith.andi %[[W2]], %[[MASK]]
    // CHECK-DAG: %[[W3:.*]] = llvm.extractvalue %[[FOUR]][3]
    // CHECK-DAG: arith.andi %[[W3]], %[[MASK]]
    // CHECK-COUNT-2: nvvm.mma.sync {{.*}}k = 16
    // CHECK-NOT: nvvm.mma.sync
    %d = tile.mma_window %image width 17 channels 12, %w, %c taps [1, 1] strides [1, 1] dilations [1, 1] lines 4 : !tile.smem<[68, 8], bf16>, !tile.smem<[16, 16], bf16, swizzle 32> -> !tile.fragment<[64, 16], f32>
    %e = tile.map %d at [%n, %n] within [%n, %n] : !tile.fragment<[64, 16], f32> -> !tile.fragment<[64, 16], f32> {
    ^bb0(%v: f32, %row: index, %column: index):
      memref.store %v, %y[] : memref<f32>
      tile.yield %v : f32
    }
    gpu.return
  }

  // More products than straight code is good for are a loop over the columns of taps.
  // CHECK-LABEL: gpu.func @loop
  gpu.func @loop(%n: index, %y: memref<f32>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %image = tile.alloc : !tile.smem<[240, 72], f16>
    %w = tile.alloc : !tile.smem<[1600, 32], f16, swizzle 64>
    tile.barrier_init
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> !tile.fragment<[128, 32], f32>
    // CHECK: scf.for
    // CHECK-COUNT-160: nvvm.mma.sync
    // CHECK-NOT: nvvm.mma.sync
    // CHECK: scf.yield
    %d = tile.mma_window %image width 20 channels 64, %w, %c taps [5, 5] strides [1, 1] dilations [1, 1] lines 8 : !tile.smem<[240, 72], f16>, !tile.smem<[1600, 32], f16, swizzle 64> -> !tile.fragment<[128, 32], f32>
    %e = tile.map %d at [%n, %n] within [%n, %n] : !tile.fragment<[128, 32], f32> -> !tile.fragment<[128, 32], f32> {
    ^bb0(%v: f32, %row: index, %column: index):
      memref.store %v, %y[] : memref<f32>
      tile.yield %v : f32
    }
    gpu.return
  }
}

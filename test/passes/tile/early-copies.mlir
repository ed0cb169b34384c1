// RUN: kpc-opt --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(kpc-place-shared,kpc-lower-tile,canonicalize,cse))' %s | FileCheck %s

// Copies of weights begin before the kernel waits for those that it depends on. Argument 1 is a weight, argument 0 is another kernel's result.

!w = !tile.smem<[16, 64], f16, row_swizzle [1, 4, 3]>
!ring = !tile.pipe<2 of [!w, !w]>
gpu.module @m {
  // CHECK-LABEL: gpu.func @early
  gpu.func @early(%x: memref<?xf16>, %w: memref<?xf16>) kernel attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [], weight_bytes = [0, 131072]>, kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %c0 = arith.constant 0 : index
    %policy = tile.cache_policy evict_first
    %ring = tile.pipe cp_async warps 1 : !ring
    %c = tile.cursor of %ring : !ring
    %a = tile.acquire %ring[%c] : !ring -> !tile.stage<free>
    %wt, %xt = tile.tiles %ring[%a] : !ring, !tile.stage<free> -> !w, !w
    // CHECK: cp.async.cg.shared.global
    tile.cp_async_vector %w[%c0] into %wt[%c0, %c0] by 16 policy %policy signal %ring[%a] : memref<?xf16>, !w, !ring, !tile.stage<free>
    // CHECK: llvm.inline_asm has_side_effects "griddepcontrol.wait;\0A\09griddepcontrol.launch_dependents;", "~{memory}"
    tile.grid_dependency_wait
    // CHECK: cp.async.cg.shared.global
    tile.cp_async_vector %x[%c0] into %xt[%c0, %c0] by 16 policy %policy signal %ring[%a] : memref<?xf16>, !w, !ring, !tile.stage<free>
    // CHECK: nvvm.cp.async.commit.group
    tile.commit %ring[%a] : !ring, !tile.stage<free>
    %full = tile.wait %ring[%c] : !ring -> !tile.stage<full>
    tile.release %ring[%full] : !ring, !tile.stage<full>
    gpu.return
  }
}

// -----

!w = !tile.smem<[16, 64], f16, row_swizzle [1, 4, 3]>
!ring = !tile.pipe<2 of [!w]>
gpu.module @m {
  gpu.func @no_weight(%x: memref<?xf16>, %w: memref<?xf16>) kernel attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [], weight_bytes = [0, 131072]>, kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %c0 = arith.constant 0 : index
    %policy = tile.cache_policy evict_first
    %ring = tile.pipe cp_async warps 1 : !ring
    %c = tile.cursor of %ring : !ring
    %a = tile.acquire %ring[%c] : !ring -> !tile.stage<free>
    %xt = tile.tiles %ring[%a] : !ring, !tile.stage<free> -> !w
    // expected-error @below {{'tile.cp_async_vector' op expected copies of weights alone before 'tile.grid_dependency_wait', got memory that other kernels may still write}}
    tile.cp_async_vector %x[%c0] into %xt[%c0, %c0] by 16 policy %policy signal %ring[%a] : memref<?xf16>, !w, !ring, !tile.stage<free>
    tile.grid_dependency_wait
    tile.commit %ring[%a] : !ring, !tile.stage<free>
    %full = tile.wait %ring[%c] : !ring -> !tile.stage<full>
    tile.release %ring[%full] : !ring, !tile.stage<full>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @reads(%x: memref<?xf16>) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{'memref.load' op expected copies of weights alone before 'tile.grid_dependency_wait'}}
    %e = memref.load %x[%c0] : memref<?xf16>
    tile.grid_dependency_wait
    memref.store %e, %x[%c0] : memref<?xf16>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @twice() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    tile.grid_dependency_wait
    // expected-error @below {{'tile.grid_dependency_wait' op expected once in a kernel, where all threads come by}}
    tile.grid_dependency_wait
    gpu.return
  }
}

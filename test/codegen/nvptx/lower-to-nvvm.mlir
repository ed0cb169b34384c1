// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-lower-to-nvvm))' %s | FileCheck %s

// Bare pointers; what is only read is marked so; block sizes and shared memory are told to the back end.

// CHECK: gpu.module @sum
// CHECK: llvm.mlir.global internal @__wg_sum_0() {addr_space = 3 : i32} : !llvm.array<4 x f32>
// CHECK: llvm.func @sum(%[[X:.*]]: !llvm.ptr {llvm.noalias, llvm.readonly}, %[[Y:.*]]: !llvm.ptr {llvm.noalias}, %[[N:.*]]: i64)
// CHECK-SAME: nvvm.kernel
// CHECK-SAME: nvvm.maxntid = array<i32: 128, 1, 1>
// CHECK: nvvm.read.ptx.sreg.tid.x
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> f32
// CHECK: nvvm.shfl.sync bfly
// CHECK: llvm.intr.sqrt
// CHECK: llvm.intr.maximum
// CHECK: nvvm.barrier
// CHECK-NOT: memref
// CHECK-NOT: arith.
gpu.module @sum {
  gpu.func @sum(%x: memref<f32>, %y: memref<f32>, %n: index)
      workgroup(%s: memref<4xf32, #gpu.address_space<workgroup>>) kernel
      attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>, known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %o = arith.constant 1 : i32
    %w = arith.constant 32 : i32
    %t = gpu.thread_id x
    %xs = memref.reinterpret_cast %x to offset: [0], sizes: [%n], strides: [1] : memref<f32> to memref<?xf32, strided<[1]>>
    %v = memref.load %xs[%t] : memref<?xf32, strided<[1]>>
    %p, %ok = gpu.shuffle xor %v, %o, %w : f32
    %r = math.sqrt %p : f32
    %m = arith.maximumf %r, %v : f32
    memref.store %m, %s[%c0] : memref<4xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    memref.store %m, %y[] : memref<f32>
    gpu.return
  }
}

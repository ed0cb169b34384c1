// RUN: kpc-opt --kpc-host-lower %s | FileCheck %s

// What graphs say of a kernel's buffers holds of buffers, and not of the pointers that they become.
// CHECK-NOT: kernel.
// CHECK: llvm.func @squares(
// CHECK-NOT: kernel.
// CHECK: llvm.func internal @squares.body(
// CHECK-NOT: kernel.
func.func @squares(%x: memref<f32>, %s: memref<f32> {kernel.row_squares = 0}, %y: memref<f32>, %begin: index, %end: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %a = memref.load %x[] : memref<f32>
  %b = memref.load %s[] : memref<f32>
  %c = arith.addf %a, %b : f32
  memref.store %c, %y[] : memref<f32>
  return
}

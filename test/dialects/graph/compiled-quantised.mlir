// RUN: kpc compile %s --arch host -o %t.kpc --no-cache --quiet
// RUN: kpc inspect %t.kpc | FileCheck %s

// Every target computes quantised weights, tiles of codes too, whoever reads them.

// CHECK: w{{ +}}u4
// CHECK: y{{ +}}f32
// CHECK: z{{ +}}f32
// CHECK: b{{ +}}f32
// CHECK: p{{ +}}f32

module attributes {graph.symbols = {n = {min = 1, max = 8}}} {
  func.func @main(%x: !graph.tensor<[n, 256], f32> {graph.name = "x"}, %w: !graph.tensor<[256, 12], ui4> {graph.name = "w"},
                  %s: !graph.tensor<[4, 12], f32> {graph.name = "s"}, %t: !graph.tensor<[2, 2, 512], ui8> {graph.name = "t"},
                  %r: !graph.tensor<[4, 16], f32> {graph.name = "r"}, %c: !graph.tensor<[12, 128], ui8> {graph.name = "c"},
                  %q: !graph.tensor<[4, 12, 4], ui8> {graph.name = "q"}, %o: !graph.tensor<[1, 4, 32, 16], ui8> {graph.name = "o"})
      -> (!graph.tensor<[n, 12], f32> {graph.name = "y"}, !graph.tensor<[n, 12], f32> {graph.name = "z"}, !graph.tensor<[n, 12], f32> {graph.name = "b"}, !graph.tensor<[n, 12], f32> {graph.name = "p"}) {
    %0 = graph.dequantise %w scales %s blocks [64, 1] : !graph.tensor<[256, 12], ui4>, !graph.tensor<[4, 12], f32> to <[256, 12], f32>
    %1 = graph.matmul %x, %0 : !graph.tensor<[n, 256], f32>, !graph.tensor<[256, 12], f32>
    %2 = graph.dequantise_tiles %t scales %r bits 4 block 64 offset 8 : !graph.tensor<[2, 2, 512], ui8>, !graph.tensor<[4, 16], f32> to <[256, 12], f32>
    %3 = graph.matmul %x, %2 : !graph.tensor<[n, 256], f32>, !graph.tensor<[256, 12], f32>
    %4 = graph.dequantise_blocks nvfp4 %c scales %q turned : !graph.tensor<[12, 128], ui8>, !graph.tensor<[4, 12, 4], ui8> to <[256, 12], f32>
    %5 = graph.matmul %x, %4 : !graph.tensor<[n, 256], f32>, !graph.tensor<[256, 12], f32>
    %6 = graph.dequantise_blocks nvfp4 %c scales %o turned : !graph.tensor<[12, 128], ui8>, !graph.tensor<[1, 4, 32, 16], ui8> to <[256, 12], f32>
    %7 = graph.matmul %x, %6 : !graph.tensor<[n, 256], f32>, !graph.tensor<[256, 12], f32>
    return %1, %3, %5, %7 : !graph.tensor<[n, 12], f32>, !graph.tensor<[n, 12], f32>, !graph.tensor<[n, 12], f32>, !graph.tensor<[n, 12], f32>
  }
}

// RUN: kpc-opt %s --set-precision | FileCheck %s
// RUN: kpc-opt %s --set-precision=wide-share=1 | FileCheck %s

// Scales of the columns of codes stay f32, whose least ones 16 bits have no numbers for; those of blocks are narrow, however
// small a share of the weights they are: kernels take them in the type of the other factor.
!x = !graph.tensor<[4, 256], f16>
!c = !graph.tensor<[128, 4, 512], ui8>
!s = !graph.tensor<[1, 1024], f32>
!b = !graph.tensor<[4, 1024], f32>
!y = !graph.tensor<[4, 1024], f32>

// CHECK: graph.weight "m#columns" [] : <[1, 1024], f32>
// CHECK: graph.weight "m#blocks" [{cast = f16}] : <[4, 1024], f16>
module attributes {graph.symbols = {}} {
  func.func @main(%x: !x {graph.name = "x"}, %c: !c {graph.name = "c"}, %d: !c {graph.name = "d"}) -> (!y {graph.name = "y"}, !y {graph.name = "z"}) {
    %s = graph.weight "m#columns" [] : !s
    %b = graph.weight "m#blocks" [] : !b
    %y = graph.region "columns" (%x, %c, %s) : (!x, !c, !s) -> !y {
    ^bb0(%a: !x, %t: !c, %f: !s):
      %0 = graph.cast %a to f32 : !x
      %1 = graph.dequantise_tiles %t scales %f bits 8 block 256 offset 0 number f8E4M3FN : !c, !s to <[256, 1024], f32>
      %2 = graph.matmul %0, %1 : <[4, 256], f32>, <[256, 1024], f32>
      graph.yield %2 : !y
    }
    %z = graph.region "blocks" (%x, %d, %b) : (!x, !c, !b) -> !y {
    ^bb0(%a: !x, %t: !c, %f: !b):
      %0 = graph.cast %a to f32 : !x
      %1 = graph.dequantise_tiles %t scales %f bits 8 block 64 offset 0 number f8E4M3FN : !c, !b to <[256, 1024], f32>
      %2 = graph.matmul %0, %1 : <[4, 256], f32>, <[256, 1024], f32>
      graph.yield %2 : !y
    }
    return %y, %z : !y, !y
  }
}

// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(tile-few-row-weights))' -split-input-file | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(tile-few-row-weights{narrow=f16}))' -split-input-file | FileCheck %s --check-prefix NARROW
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(tile-few-row-weights{narrow=f16}))' -split-input-file --remark-format=emitRemark --remarks-filter=quantisation 2>&1 >/dev/null | FileCheck %s --check-prefix REMARK
// REMARK: [Passed] tiled | {{.*}}Remark="Few rows are multiplied with a weight of codes.", Remark={{$}}
// REMARK: [Passed] tiled | {{.*}}products of fewer than 4 million operations are loops that read codes{{.*}} --io-precision fp16

module attributes {graph.symbols = {n = {max = 16, min = 1, optimum = 4}}} {
  // Rows of K, as MatMulNBits has them; the last of each row's codes belong to no K.
  // CHECK-LABEL: func @rows_of_k
  // CHECK: %[[T:.*]] = graph.weight "m#w" [{tiles = array<i64: 4, 200, 20, 1, 256, 0>}] : <[3, 2, 512], ui8>
  // CHECK: %[[S:.*]] = graph.transpose %{{.*}} [1, 0] : <[20, 2], f16>
  // CHECK: %[[P:.*]] = graph.pad %[[S]]
  // CHECK: %[[W:.*]] = graph.dequantise_tiles %[[T]] scales %[[P]] bits 4 block 128 offset 8 : !graph.tensor<[3, 2, 512], ui8>, !graph.tensor<[2, 24], f16> to <[200, 20], f16>
  // CHECK: graph.matmul %{{.*}}, %[[W]]
  func.func @rows_of_k(%x: !graph.tensor<[n, 200], f16>, %s: !graph.tensor<[20, 2], f16>) -> !graph.tensor<[n, 20], f16> {
    %b = graph.weight "m#w" [] : !graph.tensor<[20, 2, 64], ui8>
    %f = graph.reshape %b : <[20, 2, 64], ui8> to <[2560], ui8>
    %u = graph.unpack %f : !graph.tensor<[2560], ui8> to !graph.tensor<[20, 256], ui4>
    %w = graph.slice %u start #graph.dims<[0, 0]> step [1, 1] : !graph.tensor<[20, 256], ui4> to !graph.tensor<[20, 200], ui4>
    %z = graph.constant dense<8> : tensor<20x2xui4>
    %d = graph.dequantise %w scales %s zeros %z blocks [1, 128] : !graph.tensor<[20, 200], ui4>, !graph.tensor<[20, 2], f16>, !graph.tensor<[20, 2], ui4> to <[20, 200], f16>
    %t = graph.transpose %d [1, 0] : <[20, 200], f16>
    %y = graph.matmul %x, %t : <[n, 200], f16>, <[200, 20], f16>
    return %y : !graph.tensor<[n, 20], f16>
  }
}

// -----

module attributes {graph.symbols = {n = {max = 16, min = 1, optimum = 4}}} {
  // Rows of N, signed: codes lose their sign, zero points follow. f32 is read so where it is stored in 16 bits.
  // CHECK-LABEL: func @rows_of_n
  // CHECK: graph.dequantise %
  // NARROW-LABEL: func @rows_of_n
  // NARROW: graph.weight "m#w" [{tiles = array<i64: 8, 64, 16, 16, 1, 128>}] : <[2, 1, 512], ui8>
  // NARROW: graph.cast %{{.*}} to i32
  // NARROW: graph.add
  // NARROW: graph.cast %{{.*}} to f16
  // NARROW: graph.dequantise_tiles %{{.*}} scales %{{.*}} zeros %{{.*}} bits 8 block 32 offset 128
  func.func @rows_of_n(%x: !graph.tensor<[n, 64], f32>, %s: !graph.tensor<[2, 16], f32>, %z: !graph.tensor<[2, 16], i8>)
      -> !graph.tensor<[n, 16], f32> {
    %w = graph.weight "m#w" [] : !graph.tensor<[64, 16], i8>
    %d = graph.dequantise %w scales %s zeros %z blocks [32, 1] : !graph.tensor<[64, 16], i8>, !graph.tensor<[2, 16], f32>, !graph.tensor<[2, 16], i8> to <[64, 16], f32>
    %y = graph.matmul %x, %d : <[n, 64], f32>, <[64, 16], f32>
    return %y : !graph.tensor<[n, 16], f32>
  }
}

// -----

module attributes {graph.symbols = {n = {max = 512, min = 1, optimum = 128}}} {
  // CHECK-LABEL: func @many_rows
  // CHECK-NOT: tiles
  func.func @many_rows(%x: !graph.tensor<[n, 64], f16>, %s: !graph.tensor<[2, 16], f16>) -> !graph.tensor<[n, 16], f16> {
    %w = graph.weight "m#w" [] : !graph.tensor<[64, 16], i8>
    %d = graph.dequantise %w scales %s blocks [32, 1] : !graph.tensor<[64, 16], i8>, !graph.tensor<[2, 16], f16> to <[64, 16], f16>
    %y = graph.matmul %x, %d : <[n, 64], f16>, <[64, 16], f16>
    return %y : !graph.tensor<[n, 16], f16>
  }

  // CHECK-LABEL: func @short_blocks
  // CHECK-NOT: tiles
  func.func @short_blocks(%x: !graph.tensor<[1, 64], f16>, %s: !graph.tensor<[4, 16], f16>) -> !graph.tensor<[1, 16], f16> {
    %w = graph.weight "m#w" [] : !graph.tensor<[64, 16], i8>
    %d = graph.dequantise %w scales %s blocks [16, 1] : !graph.tensor<[64, 16], i8>, !graph.tensor<[4, 16], f16> to <[64, 16], f16>
    %y = graph.matmul %x, %d : <[1, 64], f16>, <[64, 16], f16>
    return %y : !graph.tensor<[1, 16], f16>
  }

  // CHECK-LABEL: func @odd_k
  // CHECK-NOT: tiles
  func.func @odd_k(%x: !graph.tensor<[1, 68], f16>, %s: !graph.tensor<[1, 16], f16>) -> !graph.tensor<[1, 16], f16> {
    %w = graph.weight "m#w" [] : !graph.tensor<[68, 16], i8>
    %d = graph.dequantise %w scales %s blocks [68, 1] : !graph.tensor<[68, 16], i8>, !graph.tensor<[1, 16], f16> to <[68, 16], f16>
    %y = graph.matmul %x, %d : <[1, 68], f16>, <[68, 16], f16>
    return %y : !graph.tensor<[1, 16], f16>
  }
}

// -----

module attributes {graph.symbols = {n = {max = 16, min = 1, optimum = 4}}} {
  // FP8 in blocks of both dimensions: each column gets the scale of its block.
  // CHECK-LABEL: func @blocks_of_floats
  // CHECK: %[[T:.*]] = graph.weight "m#w" [{tiles = array<i64: 8, 256, 24, 24, 1, 0>}] : <[3, 4, 512], ui8>
  // CHECK: graph.broadcast %{{.*}} : <[2, 2, 1], f16> to <[2, 2, 16], f16>
  // CHECK: %[[S:.*]] = graph.slice %{{.*}} to <[2, 24], f16>
  // CHECK: %[[W:.*]] = graph.dequantise_tiles %[[T]] scales %[[S]] bits 8 block 128 offset 0 number f8E4M3FN
  // CHECK: graph.matmul %{{.*}}, %[[W]]
  func.func @blocks_of_floats(%x: !graph.tensor<[n, 256], f16>) -> !graph.tensor<[n, 24], f16> {
    %w = graph.weight "m#w" [] : !graph.tensor<[256, 24], f8E4M3FN>
    %s = graph.weight "m#s" [] : !graph.tensor<[2, 2], f16>
    %d = graph.dequantise %w scales %s blocks [128, 16] : !graph.tensor<[256, 24], f8E4M3FN>, !graph.tensor<[2, 2], f16> to <[256, 24], f16>
    %y = graph.matmul %x, %d : <[n, 256], f16>, <[256, 24], f16>
    return %y : !graph.tensor<[n, 24], f16>
  }

  // A factor of each column, spelled as arithmetic, of a weight that is turned.
  // CHECK-LABEL: func @scaled_columns
  // CHECK: graph.weight "m#w" [{tiles = array<i64: 8, 64, 16, 1, 64, 0>}] : <[2, 1, 512], ui8>
  // CHECK: graph.dequantise_tiles %{{.*}} scales %{{.*}} bits 8 block 64 offset 0 number f8E5M2 : !graph.tensor<[2, 1, 512], ui8>, !graph.tensor<[1, 16], f32> to <[64, 16], f16>
  func.func @scaled_columns(%x: !graph.tensor<[n, 64], f16>) -> !graph.tensor<[n, 16], f16> {
    %w = graph.weight "m#w" [] : !graph.tensor<[16, 64], f8E5M2>
    %s = graph.weight "m#s" [] : !graph.tensor<[16, 1], f32>
    %f = graph.cast %w to f32 : <[16, 64], f8E5M2>
    %b = graph.broadcast %s : <[16, 1], f32> to <[16, 64], f32>
    %m = graph.mul %f, %b : <[16, 64], f32>
    %h = graph.cast %m to f16 : <[16, 64], f32>
    %t = graph.transpose %h [1, 0] : <[16, 64], f16>
    %y = graph.matmul %x, %t : <[n, 64], f16>, <[64, 16], f16>
    return %y : !graph.tensor<[n, 16], f16>
  }

  // Scales are copied from memory: one that a run gives is in no memory for each column.
  // CHECK-LABEL: func @scale_of_run
  // CHECK-NOT: dequantise_tiles
  func.func @scale_of_run(%x: !graph.tensor<[n, 64], f16>, %s: !graph.tensor<[1, 1], f16>) -> !graph.tensor<[n, 16], f16> {
    %w = graph.weight "m#w" [] : !graph.tensor<[64, 16], f8E4M3FN>
    %d = graph.dequantise %w scales %s blocks [64, 16] : !graph.tensor<[64, 16], f8E4M3FN>, !graph.tensor<[1, 1], f16> to <[64, 16], f16>
    %y = graph.matmul %x, %d : <[n, 64], f16>, <[64, 16], f16>
    return %y : !graph.tensor<[n, 16], f16>
  }

  // CHECK-LABEL: func @other_floats
  // CHECK-NOT: dequantise_tiles
  func.func @other_floats(%x: !graph.tensor<[n, 64], f16>, %s: !graph.tensor<[1, 16], f16>) -> !graph.tensor<[n, 16], f16> {
    %w = graph.weight "m#w" [] : !graph.tensor<[64, 16], f8E4M3FNUZ>
    %d = graph.dequantise %w scales %s blocks [64, 1] : !graph.tensor<[64, 16], f8E4M3FNUZ>, !graph.tensor<[1, 16], f16> to <[64, 16], f16>
    %y = graph.matmul %x, %d : <[n, 64], f16>, <[64, 16], f16>
    return %y : !graph.tensor<[n, 16], f16>
  }
}

// -----

module attributes {graph.symbols = {n = {max = 16, min = 1, optimum = 4}}} {
  // Weights of one input that are joined, as those of queries and keys: tiles of one after those of the other.
  // CHECK-LABEL: func @joined
  // CHECK-DAG: %[[A:.*]] = graph.weight "m#b" [{tiles = array<i64: 8, 64, 16, 1, 64, 0>}] : <[2, 1, 512], ui8>
  // CHECK-DAG: %[[C:.*]] = graph.weight "m#c" [{tiles = array<i64: 8, 64, 8, 1, 64, 0>}] : <[1, 1, 512], ui8>
  // CHECK: %[[T:.*]] = graph.concat %[[A]], %[[C]] axis 0
  // CHECK: %[[S:.*]] = graph.concat %{{.*}}, %{{.*}} axis 1 : !graph.tensor<[2, 16], f16>, !graph.tensor<[2, 8], f16>
  // CHECK: %[[W:.*]] = graph.dequantise_tiles %[[T]] scales %[[S]] bits 8 block 32 offset 0 : !graph.tensor<[3, 1, 512], ui8>, !graph.tensor<[2, 24], f16> to <[64, 24], f16>
  // CHECK: graph.matmul %{{.*}}, %[[W]]
  func.func @joined(%x: !graph.tensor<[n, 64], f16>, %s: !graph.tensor<[16, 2], f16>, %t: !graph.tensor<[8, 2], f16>)
      -> !graph.tensor<[n, 24], f16> {
    %b = graph.weight "m#b" [] : !graph.tensor<[16, 64], ui8>
    %c = graph.weight "m#c" [] : !graph.tensor<[8, 64], ui8>
    %d = graph.dequantise %b scales %s blocks [1, 32] : !graph.tensor<[16, 64], ui8>, !graph.tensor<[16, 2], f16> to <[16, 64], f16>
    %e = graph.dequantise %c scales %t blocks [1, 32] : !graph.tensor<[8, 64], ui8>, !graph.tensor<[8, 2], f16> to <[8, 64], f16>
    %j = graph.concat %d, %e axis 0 : !graph.tensor<[16, 64], f16>, !graph.tensor<[8, 64], f16>
    %w = graph.transpose %j [1, 0] : <[24, 64], f16>
    %y = graph.matmul %x, %w : <[n, 64], f16>, <[64, 24], f16>
    return %y : !graph.tensor<[n, 24], f16>
  }

  // Columns that are no whole tiles, and blocks of another size, are not joined.
  // CHECK-LABEL: func @no_tiles
  // CHECK-NOT: graph.dequantise_tiles
  // REMARK: weights that are joined have codes or blocks of two kinds
  func.func @no_tiles(%x: !graph.tensor<[n, 64], f16>, %s: !graph.tensor<[16, 2], f16>, %t: !graph.tensor<[12, 2], f16>)
      -> !graph.tensor<[n, 28], f16> {
    %b = graph.weight "m#b" [] : !graph.tensor<[16, 64], ui8>
    %c = graph.weight "m#c" [] : !graph.tensor<[12, 64], ui8>
    %d = graph.dequantise %b scales %s blocks [1, 32] : !graph.tensor<[16, 64], ui8>, !graph.tensor<[16, 2], f16> to <[16, 64], f16>
    %e = graph.dequantise %c scales %t blocks [1, 32] : !graph.tensor<[12, 64], ui8>, !graph.tensor<[12, 2], f16> to <[12, 64], f16>
    %j = graph.concat %d, %e axis 0 : !graph.tensor<[16, 64], f16>, !graph.tensor<[12, 64], f16>
    %w = graph.transpose %j [1, 0] : <[28, 64], f16>
    %y = graph.matmul %x, %w : <[n, 64], f16>, <[64, 28], f16>
    return %y : !graph.tensor<[n, 28], f16>
  }

  // CHECK-LABEL: func @blocks
  // CHECK-NOT: graph.dequantise_tiles
  func.func @blocks(%x: !graph.tensor<[n, 64], f16>, %s: !graph.tensor<[16, 2], f16>, %t: !graph.tensor<[8, 1], f16>)
      -> !graph.tensor<[n, 24], f16> {
    %b = graph.weight "m#b" [] : !graph.tensor<[16, 64], ui8>
    %c = graph.weight "m#c" [] : !graph.tensor<[8, 64], ui8>
    %d = graph.dequantise %b scales %s blocks [1, 32] : !graph.tensor<[16, 64], ui8>, !graph.tensor<[16, 2], f16> to <[16, 64], f16>
    %e = graph.dequantise %c scales %t blocks [1, 64] : !graph.tensor<[8, 64], ui8>, !graph.tensor<[8, 1], f16> to <[8, 64], f16>
    %j = graph.concat %d, %e axis 0 : !graph.tensor<[16, 64], f16>, !graph.tensor<[8, 64], f16>
    %w = graph.transpose %j [1, 0] : <[24, 64], f16>
    %y = graph.matmul %x, %w : <[n, 64], f16>, <[64, 24], f16>
    return %y : !graph.tensor<[n, 24], f16>
  }
}

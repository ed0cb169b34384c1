// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(tile-few-row-weights{many-rows=true}))' -split-input-file | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(tile-few-row-weights))' -split-input-file | FileCheck %s --check-prefix FEW
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(tile-few-row-weights{many-rows=true}))' -split-input-file --remark-format=emitRemark --remarks-filter=quantisation 2>&1 >/dev/null | FileCheck %s --check-prefix REMARK

// Where kernels of any number of rows read codes (sm_90a), rows that may be many, or are, do so, too.
// REMARK: [Passed] tiled | {{.*}}Remark="Rows, many or few, are multiplied with a weight of codes."
// REMARK: [Missed] refused | {{.*}}because ", Remark="it may have more rows than 16, and N is no multiple of 8"
// REMARK: [Missed] refused | {{.*}}because ", Remark="it may have more rows than 16, and blocks do not divide 128 elements of K, nor are of whole ones"
module attributes {graph.symbols = {n = {max = 4096, min = 1, optimum = 1}}} {
  // CHECK-LABEL: func @rows
  // CHECK: graph.dequantise_tiles
  // FEW-LABEL: func @rows
  // FEW-NOT: graph.dequantise_tiles
  func.func @rows(%x: !graph.tensor<[n, 256], f16>, %s: !graph.tensor<[24, 2], f16>) -> !graph.tensor<[n, 24], f16> {
    %b = graph.weight "m#w" [] : !graph.tensor<[3072], ui8>
    %u = graph.unpack %b : !graph.tensor<[3072], ui8> to !graph.tensor<[24, 256], ui4>
    %d = graph.dequantise %u scales %s blocks [1, 128] : !graph.tensor<[24, 256], ui4>, !graph.tensor<[24, 2], f16> to <[24, 256], f16>
    %t = graph.transpose %d [1, 0] : <[24, 256], f16>
    %y = graph.matmul %x, %t : <[n, 256], f16>, <[256, 24], f16>
    return %y : !graph.tensor<[n, 24], f16>
  }
}

// -----

module attributes {graph.symbols = {n = {max = 4096, min = 1, optimum = 1}}} {
  // CHECK-LABEL: func @columns
  // CHECK-NOT: graph.dequantise_tiles
  func.func @columns(%x: !graph.tensor<[n, 256], f16>, %s: !graph.tensor<[20, 2], f16>) -> !graph.tensor<[n, 20], f16> {
    %b = graph.weight "m#w" [] : !graph.tensor<[2560], ui8>
    %u = graph.unpack %b : !graph.tensor<[2560], ui8> to !graph.tensor<[20, 256], ui4>
    %d = graph.dequantise %u scales %s blocks [1, 128] : !graph.tensor<[20, 256], ui4>, !graph.tensor<[20, 2], f16> to <[20, 256], f16>
    %t = graph.transpose %d [1, 0] : <[20, 256], f16>
    %y = graph.matmul %x, %t : <[n, 256], f16>, <[256, 20], f16>
    return %y : !graph.tensor<[n, 20], f16>
  }
}

// -----

module attributes {graph.symbols = {n = {max = 4096, min = 1, optimum = 1}}} {
  // CHECK-LABEL: func @blocks
  // CHECK-NOT: graph.dequantise_tiles
  func.func @blocks(%x: !graph.tensor<[n, 384], f16>, %s: !graph.tensor<[24, 2], f16>) -> !graph.tensor<[n, 24], f16> {
    %w = graph.weight "m#w" [] : !graph.tensor<[24, 384], ui8>
    %d = graph.dequantise %w scales %s blocks [1, 192] : !graph.tensor<[24, 384], ui8>, !graph.tensor<[24, 2], f16> to <[24, 384], f16>
    %t = graph.transpose %d [1, 0] : <[24, 384], f16>
    %y = graph.matmul %x, %t : <[n, 384], f16>, <[384, 24], f16>
    return %y : !graph.tensor<[n, 24], f16>
  }
}

// -----

// Where x is codes as well, Tensor Cores multiply both (sink-scales).
module attributes {graph.symbols = {n = {max = 4096, min = 1, optimum = 1}}} {
  // CHECK-LABEL: func @both
  // CHECK-NOT: graph.dequantise_tiles
  func.func @both(%x: !graph.tensor<[n, 256], i8>, %s: !graph.tensor<[24, 1], f16>) -> !graph.tensor<[n, 24], f16> {
    %w = graph.weight "m#w" [] : !graph.tensor<[24, 256], i8>
    %d = graph.dequantise %w scales %s blocks [1, 256] : !graph.tensor<[24, 256], i8>, !graph.tensor<[24, 1], f16> to <[24, 256], f16>
    %t = graph.transpose %d [1, 0] : <[24, 256], f16>
    %f = graph.cast %x to f16 : !graph.tensor<[n, 256], i8>
    %y = graph.matmul %f, %t : <[n, 256], f16>, <[256, 24], f16>
    return %y : !graph.tensor<[n, 24], f16>
  }
}

// -----

// FP8 in blocks of 128 of both factors is multiplied with its scales (pack-block-scales), where many rows are typical.
module attributes {graph.symbols = {m = {max = 512, min = 1, optimum = 128}, n = {max = 512, min = 1, optimum = 1}}} {
  // CHECK-LABEL: func @blocks_of_both
  // CHECK-NOT: graph.dequantise_tiles
  func.func @blocks_of_both(%q: !graph.tensor<[m, 256], f8E4M3FN>, %sx: !graph.tensor<[m, 2], f16>, %s: !graph.tensor<[24, 2], f16>) -> !graph.tensor<[m, 24], f16> {
    %x = graph.dequantise %q scales %sx blocks [1, 128] : !graph.tensor<[m, 256], f8E4M3FN>, !graph.tensor<[m, 2], f16> to <[m, 256], f16>
    %w = graph.weight "m#w" [] : !graph.tensor<[24, 256], f8E4M3FN>
    %d = graph.dequantise %w scales %s blocks [1, 128] : !graph.tensor<[24, 256], f8E4M3FN>, !graph.tensor<[24, 2], f16> to <[24, 256], f16>
    %t = graph.transpose %d [1, 0] : <[24, 256], f16>
    %y = graph.matmul %x, %t : <[m, 256], f16>, <[256, 24], f16>
    return %y : !graph.tensor<[m, 24], f16>
  }

  // CHECK-LABEL: func @few_rows_of_both
  // CHECK: graph.dequantise_tiles
  func.func @few_rows_of_both(%q: !graph.tensor<[n, 256], f8E4M3FN>, %sx: !graph.tensor<[n, 2], f16>, %s: !graph.tensor<[24, 2], f16>) -> !graph.tensor<[n, 24], f16> {
    %x = graph.dequantise %q scales %sx blocks [1, 128] : !graph.tensor<[n, 256], f8E4M3FN>, !graph.tensor<[n, 2], f16> to <[n, 256], f16>
    %w = graph.weight "m#w" [] : !graph.tensor<[24, 256], f8E4M3FN>
    %d = graph.dequantise %w scales %s blocks [1, 128] : !graph.tensor<[24, 256], f8E4M3FN>, !graph.tensor<[24, 2], f16> to <[24, 256], f16>
    %t = graph.transpose %d [1, 0] : <[24, 256], f16>
    %y = graph.matmul %x, %t : <[n, 256], f16>, <[256, 24], f16>
    return %y : !graph.tensor<[n, 24], f16>
  }
}

// RUN: kpc-opt %s --pack-block-scales=panels --canonicalize | FileCheck %s

// For tcgen05, words of scales lie in panels of 128 rows: row r of one at [r % 32, r / 32 * 4]. Rows behind the last one are that again.

module attributes {graph.symbols = {m = {min = 1, max = 4096, optimum = 1024}}} {

// CHECK-LABEL: @ragged(
// CHECK-SAME: %{{.*}}, %[[SA:[^:]*]]: !graph.tensor<[m, 5], f8E8M0FNU>, %{{.*}}, %[[SB:[^:]*]]: !graph.tensor<[5, 256], f8E8M0FNU>
// CHECK: graph.bitcast %[[SA]] to ui8
// CHECK: graph.pad
// CHECK: %[[WORDS:.*]] = graph.reshape {{.*}} to <[m, 2, 4], ui8>
// CHECK: %[[ROWS:.*]] = graph.iota axis 0 : <["floordiv(m + 127, 128)*128"], i64>
// CHECK: %[[FULL:.*]] = graph.gather %[[WORDS]], %[[ROWS]] axis 0
// CHECK: %[[QUARTERS:.*]] = graph.reshape %[[FULL]] : {{.*}} to <["floordiv(m + 127, 128)", 4, 32, 2, 4], ui8>
// CHECK: %[[TURNED:.*]] = graph.transpose %[[QUARTERS]] [0, 3, 2, 1, 4]
// CHECK: %[[PANELS:.*]] = graph.reshape %[[TURNED]] : {{.*}} to <["floordiv(m + 127, 128)", 2, 32, 16], ui8>
// CHECK: graph.dequantise_blocks mxfp8 %{{.*}} scales %[[PANELS]] :
// Of 256 rows all panels are full.
// CHECK-NOT: graph.gather
// CHECK: graph.dequantise_blocks mxfp8 %{{.*}} scales %{{.*}} turned : !graph.tensor<[256, 160], f8E5M2>, !graph.tensor<[2, 2, 32, 16], ui8> to <[160, 256], f32>
func.func @ragged(%a: !graph.tensor<[m, 160], f8E4M3FN>, %sa: !graph.tensor<[m, 5], f8E8M0FNU>, %b: !graph.tensor<[160, 256], f8E5M2>,
                  %sb: !graph.tensor<[5, 256], f8E8M0FNU>) -> !graph.tensor<[m, 256], f32> {
  %x = graph.dequantise %a scales %sa blocks [1, 32] : !graph.tensor<[m, 160], f8E4M3FN>, !graph.tensor<[m, 5], f8E8M0FNU> to <[m, 160], f32>
  %w = graph.dequantise %b scales %sb blocks [32, 1] : !graph.tensor<[160, 256], f8E5M2>, !graph.tensor<[5, 256], f8E8M0FNU> to <[160, 256], f32>
  %y = graph.matmul %x, %w : !graph.tensor<[m, 160], f32>, !graph.tensor<[160, 256], f32>
  return %y : !graph.tensor<[m, 256], f32>
}

// TMA copies rows that begin at multiples of 16 bytes: neither 24 bytes of codes along K nor 4 bytes of a result's row more.
// CHECK-LABEL: @refused(
// CHECK-NOT: graph.dequantise_blocks
func.func @refused(%a: !graph.tensor<[32, 48], f4E2M1FN>, %sa: !graph.tensor<[32, 3], f8E4M3FN>, %b: !graph.tensor<[48, 24], f4E2M1FN>,
                   %sb: !graph.tensor<[3, 24], f8E4M3FN>, %c: !graph.tensor<[32, 64], f8E4M3FN>, %sc: !graph.tensor<[32, 2], f8E8M0FNU>,
                   %d: !graph.tensor<[64, 25], f8E4M3FN>, %sd: !graph.tensor<[2, 25], f8E8M0FNU>)
    -> (!graph.tensor<[32, 24], f32>, !graph.tensor<[32, 25], f32>) {
  %x = graph.dequantise %a scales %sa blocks [1, 16] : !graph.tensor<[32, 48], f4E2M1FN>, !graph.tensor<[32, 3], f8E4M3FN> to <[32, 48], f32>
  %w = graph.dequantise %b scales %sb blocks [16, 1] : !graph.tensor<[48, 24], f4E2M1FN>, !graph.tensor<[3, 24], f8E4M3FN> to <[48, 24], f32>
  %u = graph.dequantise %c scales %sc blocks [1, 32] : !graph.tensor<[32, 64], f8E4M3FN>, !graph.tensor<[32, 2], f8E8M0FNU> to <[32, 64], f32>
  %v = graph.dequantise %d scales %sd blocks [32, 1] : !graph.tensor<[64, 25], f8E4M3FN>, !graph.tensor<[2, 25], f8E8M0FNU> to <[64, 25], f32>
  %0 = graph.matmul %x, %w : !graph.tensor<[32, 48], f32>, !graph.tensor<[48, 24], f32>
  %1 = graph.matmul %u, %v : !graph.tensor<[32, 64], f32>, !graph.tensor<[64, 25], f32>
  return %0, %1 : !graph.tensor<[32, 24], f32>, !graph.tensor<[32, 25], f32>
}

}

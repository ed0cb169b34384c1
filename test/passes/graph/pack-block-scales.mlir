// RUN: kpc-opt %s --pack-block-scales --canonicalize | FileCheck %s

// Both operands of NVFP4: codes of FP4 two in a byte, scales in words of four blocks, and the factors of all numbers are the result's.
// CHECK-LABEL: @nvfp4(
// CHECK-SAME: %[[A:[^:]*]]: !graph.tensor<[32, 96], f4E2M1FN>, %[[SA:[^:]*]]: !graph.tensor<[32, 6], f8E4M3FN>, %[[B:[^:]*]]: !graph.tensor<[96, 24], f4E2M1FN>, %[[SB:[^:]*]]: !graph.tensor<[6, 24], f8E4M3FN>
// CHECK: %[[PA:.*]] = graph.pack %[[A]]
// CHECK: %[[CA:.*]] = graph.reshape %[[PA]] : {{.*}} to <[32, 48], ui8>
// CHECK: graph.bitcast %[[SA]] to ui8
// CHECK: %[[WA:.*]] = graph.transpose %{{.*}} [1, 0, 2] : <[32, 2, 4], ui8>
// CHECK: %[[X:.*]] = graph.dequantise_blocks nvfp4 %[[CA]] scales %[[WA]] :
// CHECK: %[[T:.*]] = graph.transpose %[[B]] [1, 0]
// CHECK: graph.pack %[[T]]
// CHECK: %[[W:.*]] = graph.dequantise_blocks nvfp4 %{{.*}} scales %{{.*}} turned : !graph.tensor<[24, 48], ui8>, !graph.tensor<[2, 24, 4], ui8> to <[96, 24], f32>
// CHECK: %[[P:.*]] = graph.matmul %[[X]], %[[W]]
// CHECK: %[[Y:.*]] = graph.mul %[[P]], %{{.*}}
// CHECK: return %[[Y]]
func.func @nvfp4(%a: !graph.tensor<[32, 96], f4E2M1FN>, %sa: !graph.tensor<[32, 6], f8E4M3FN>, %b: !graph.tensor<[96, 24], f4E2M1FN>,
                 %sb: !graph.tensor<[6, 24], f8E4M3FN>) -> !graph.tensor<[32, 24], f32> {
  %x = graph.dequantise %a scales %sa blocks [1, 16] : !graph.tensor<[32, 96], f4E2M1FN>, !graph.tensor<[32, 6], f8E4M3FN> to <[32, 96], f32>
  %w = graph.dequantise %b scales %sb blocks [16, 1] : !graph.tensor<[96, 24], f4E2M1FN>, !graph.tensor<[6, 24], f8E4M3FN> to <[96, 24], f32>
  %half = graph.constant dense<5.0e-01> : tensor<96x24xf32>
  %v = graph.mul %w, %half : !graph.tensor<[96, 24], f32>
  %y = graph.matmul %x, %v : !graph.tensor<[32, 96], f32>, !graph.tensor<[96, 24], f32>
  return %y : !graph.tensor<[32, 24], f32>
}

// Of two formats, and with blocks of another length, they are dequantised in front.
// CHECK-LABEL: @others(
// CHECK-NOT: graph.dequantise_blocks
func.func @others(%a: !graph.tensor<[32, 64], f8E4M3FN>, %sa: !graph.tensor<[32, 2], f8E8M0FNU>, %b: !graph.tensor<[64, 24], f4E2M1FN>,
                  %sb: !graph.tensor<[2, 24], f8E8M0FNU>, %c: !graph.tensor<[64, 24], f8E4M3FN>, %sc: !graph.tensor<[4, 24], f8E8M0FNU>)
    -> (!graph.tensor<[32, 24], f32>, !graph.tensor<[32, 24], f32>) {
  %x = graph.dequantise %a scales %sa blocks [1, 32] : !graph.tensor<[32, 64], f8E4M3FN>, !graph.tensor<[32, 2], f8E8M0FNU> to <[32, 64], f32>
  %w = graph.dequantise %b scales %sb blocks [32, 1] : !graph.tensor<[64, 24], f4E2M1FN>, !graph.tensor<[2, 24], f8E8M0FNU> to <[64, 24], f32>
  %v = graph.dequantise %c scales %sc blocks [16, 1] : !graph.tensor<[64, 24], f8E4M3FN>, !graph.tensor<[4, 24], f8E8M0FNU> to <[64, 24], f32>
  %0 = graph.matmul %x, %w : !graph.tensor<[32, 64], f32>, !graph.tensor<[64, 24], f32>
  %1 = graph.matmul %x, %v : !graph.tensor<[32, 64], f32>, !graph.tensor<[64, 24], f32>
  return %0, %1 : !graph.tensor<[32, 24], f32>, !graph.tensor<[32, 24], f32>
}

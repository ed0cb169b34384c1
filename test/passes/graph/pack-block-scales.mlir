// RUN: kpc-opt %s --pack-block-scales --canonicalize --split-input-file | FileCheck %s
// RUN: kpc-opt %s --pack-block-scales=floats --canonicalize --split-input-file | FileCheck %s --check-prefix=FLOATS

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

// -----

// Of wgmma: blocks of 128 elements of K of each row, and of each 128 columns, as they are.
// FLOATS-LABEL: @blocks_of_128(
// FLOATS-SAME: %[[A:[^:]*]]: !graph.tensor<[32, 256], f8E4M3FN>, %[[SA:[^:]*]]: !graph.tensor<[32, 2], f32>, %[[B:[^:]*]]: !graph.tensor<[384, 256], f8E4M3FN>, %[[SB:[^:]*]]: !graph.tensor<[3, 2], f16>
// FLOATS: %[[X:.*]] = graph.dequantise_blocks fp8 %[[A]] scales %[[SA]] :
// FLOATS: %[[S:.*]] = graph.cast %[[SB]] to f32
// FLOATS: %[[W:.*]] = graph.dequantise_blocks fp8 %[[B]] scales %[[S]] turned : !graph.tensor<[384, 256], f8E4M3FN>, !graph.tensor<[3, 2], f32> to <[256, 384], f32>
// FLOATS: graph.matmul %[[X]], %[[W]]
// CHECK-LABEL: @blocks_of_128(
// CHECK-NOT: graph.dequantise_blocks
func.func @blocks_of_128(%a: !graph.tensor<[32, 256], f8E4M3FN>, %sa: !graph.tensor<[32, 2], f32>, %b: !graph.tensor<[384, 256], f8E4M3FN>,
                         %sb: !graph.tensor<[3, 2], f16>) -> !graph.tensor<[32, 384], f32> {
  %x = graph.dequantise %a scales %sa blocks [1, 128] : !graph.tensor<[32, 256], f8E4M3FN>, !graph.tensor<[32, 2], f32> to <[32, 256], f32>
  %w = graph.dequantise %b scales %sb blocks [128, 128] : !graph.tensor<[384, 256], f8E4M3FN>, !graph.tensor<[3, 2], f16> to <[384, 256], f32>
  %t = graph.transpose %w [1, 0] : <[384, 256], f32>
  %y = graph.matmul %x, %t : !graph.tensor<[32, 256], f32>, !graph.tensor<[256, 384], f32>
  return %y : !graph.tensor<[32, 384], f32>
}

// The same as ONNX spells it, with a scale for each row of w, of which the last 128 are not whole.
// FLOATS-LABEL: @repeated(
// FLOATS-SAME: %[[SB:[^:]*]]: !graph.tensor<[3, 2], f32>)
// FLOATS: graph.dequantise_blocks fp8 %{{.*}} scales %[[SB]] turned : !graph.tensor<[328, 256], f8E4M3FN>, !graph.tensor<[3, 2], f32> to <[256, 328], f32>
func.func @repeated(%a: !graph.tensor<[32, 256], f8E4M3FN>, %sa: !graph.tensor<[32, 2], f32>, %b: !graph.tensor<[328, 256], f8E4M3FN>,
                    %sb: !graph.tensor<[3, 2], f32>) -> !graph.tensor<[32, 328], f32> {
  %x = graph.dequantise %a scales %sa blocks [1, 128] : !graph.tensor<[32, 256], f8E4M3FN>, !graph.tensor<[32, 2], f32> to <[32, 256], f32>
  %one = graph.reshape %sb : <[3, 2], f32> to <[3, 1, 2], f32>
  %all = graph.broadcast %one : <[3, 1, 2], f32> to <[3, 128, 2], f32>
  %flat = graph.reshape %all : <[3, 128, 2], f32> to <[384, 2], f32>
  %each = graph.slice %flat start <[0, 0]> step [1, 1] : <[384, 2], f32> to <[328, 2], f32>
  %w = graph.dequantise %b scales %each blocks [1, 128] : !graph.tensor<[328, 256], f8E4M3FN>, !graph.tensor<[328, 2], f32> to <[328, 256], f32>
  %t = graph.transpose %w [1, 0] : <[328, 256], f32>
  %y = graph.matmul %x, %t : !graph.tensor<[32, 256], f32>, !graph.tensor<[256, 328], f32>
  return %y : !graph.tensor<[32, 328], f32>
}

// A scale of its own for each column of w: they become contiguous.
// FLOATS-LABEL: @columns_of_w(
// FLOATS-SAME: %[[SB:[^:]*]]: !graph.tensor<[384, 2], f32>)
// FLOATS: %[[T:.*]] = graph.transpose %[[SB]] [1, 0]
// FLOATS: graph.dequantise_blocks fp8 %{{.*}} scales %[[T]] turned : !graph.tensor<[384, 256], f8E4M3FN>, !graph.tensor<[2, 384], f32> to <[256, 384], f32>
func.func @columns_of_w(%a: !graph.tensor<[32, 256], f8E4M3FN>, %sa: !graph.tensor<[32, 2], f32>, %b: !graph.tensor<[384, 256], f8E4M3FN>,
                        %sb: !graph.tensor<[384, 2], f32>) -> !graph.tensor<[32, 384], f32> {
  %x = graph.dequantise %a scales %sa blocks [1, 128] : !graph.tensor<[32, 256], f8E4M3FN>, !graph.tensor<[32, 2], f32> to <[32, 256], f32>
  %w = graph.dequantise %b scales %sb blocks [1, 128] : !graph.tensor<[384, 256], f8E4M3FN>, !graph.tensor<[384, 2], f32> to <[384, 256], f32>
  %t = graph.transpose %w [1, 0] : <[384, 256], f32>
  %y = graph.matmul %x, %t : !graph.tensor<[32, 256], f32>, !graph.tensor<[256, 384], f32>
  return %y : !graph.tensor<[32, 384], f32>
}

// Scales that several rows of x share are no such blocks.
// FLOATS-LABEL: @shared_rows_of_x(
// FLOATS-NOT: graph.dequantise_blocks
func.func @shared_rows_of_x(%a: !graph.tensor<[256, 256], f8E4M3FN>, %sa: !graph.tensor<[2, 2], f32>, %b: !graph.tensor<[384, 256], f8E4M3FN>,
                            %sb: !graph.tensor<[384, 2], f32>) -> !graph.tensor<[256, 384], f32> {
  %x = graph.dequantise %a scales %sa blocks [128, 128] : !graph.tensor<[256, 256], f8E4M3FN>, !graph.tensor<[2, 2], f32> to <[256, 256], f32>
  %w = graph.dequantise %b scales %sb blocks [1, 128] : !graph.tensor<[384, 256], f8E4M3FN>, !graph.tensor<[384, 2], f32> to <[384, 256], f32>
  %t = graph.transpose %w [1, 0] : <[384, 256], f32>
  %y = graph.matmul %x, %t : !graph.tensor<[256, 256], f32>, !graph.tensor<[256, 384], f32>
  return %y : !graph.tensor<[256, 384], f32>
}

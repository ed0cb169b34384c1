// RUN: kpc-opt --decompose-sort %s | FileCheck %s
// RUN: kpc-opt "--decompose-sort=least-run=64 most-run=1024 radix=false" %s | FileCheck %s --check-prefix=HOST

module attributes {graph.symbols = {n = {min = 1, max = 10000, optimum = 10000}}} {

// CHECK-LABEL: func.func @long(
// CHECK: graph.bitcast %arg0 to i32
// CHECK: graph.is_nan
// CHECK: %[[P:.*]] = graph.add %{{.*}} : <[8, 16384], i64>
// CHECK: %[[R:.*]] = graph.sort_runs %[[P]] from 1 to 4096
// CHECK: %[[M:.*]] = graph.sort_runs %[[R]] from 4096 to 8192
// CHECK: %[[S:.*]] = graph.sort_runs %[[M]] from 8192 to 16384
// CHECK: %[[I:.*]] = graph.and %[[S]]
// CHECK: %[[V:.*]] = graph.gather_elements %arg0, %[[I]] axis 1
// CHECK: return %[[V]], %[[I]]
func.func @long(%x: !graph.tensor<[8, 16384], f32>) -> (!graph.tensor<[8, 16384], f32>, !graph.tensor<[8, 16384], i64>) {
  %v, %i = graph.sort %x axis 1 : !graph.tensor<[8, 16384], f32>
  return %v, %i : !graph.tensor<[8, 16384], f32>, !graph.tensor<[8, 16384], i64>
}

// Rows are padded with the greatest number.
// CHECK-LABEL: func.func @dynamic(
// CHECK: graph.constant dense<9223372036854775807>
// CHECK: graph.sort_runs %{{.*}} from 1 to 4096 : <["floordiv(n + 4095, 4096)*4096"], i64>
// CHECK: graph.sort_runs %{{.*}} from 4096 to 8192
// CHECK: graph.sort_runs %{{.*}} from 8192 to 16384
// CHECK-NOT: graph.sort_runs
// CHECK: graph.slice %{{.*}} to <[n], i64>
func.func @dynamic(%x: !graph.tensor<[n], i16>) -> !graph.tensor<[n], i64> {
  %v, %i = graph.sort %x axis 0 descending : !graph.tensor<[n], i16>
  return %i : !graph.tensor<[n], i64>
}

// The least elements of groups of 32 first, then the groups that have them. Elements of a group lie apart, but on the host.
// CHECK-LABEL: func.func @first(
// CHECK: graph.reshape %arg0 : <[128, 131072], f32> to <[128, 32, 4096], f32>
// CHECK: graph.reduce min, %{{.*}} axes [1] : <[128, 32, 4096], i64>
// HOST-LABEL: func.func @first(
// HOST: graph.window min, %{{.*}} window [1, 32] stride [1, 32]
// CHECK: graph.sort_runs %{{.*}} from 1 to 4096 first <[64]> : <[128, 4096], i64>
// CHECK-NOT: from 4096
// CHECK: graph.sort_runs %{{.*}} from 1 to 2048 first <[64]> : <[128, 2048], i64>
// CHECK-NOT: from 2048
func.func @first(%x: !graph.tensor<[128, 131072], f32>) -> !graph.tensor<[128, 64], i64> {
  %v, %i = graph.sort %x axis 1 descending first <[64]> : !graph.tensor<[128, 131072], f32>
  return %i : !graph.tensor<[128, 64], i64>
}

// Rows that are no multiple of a group.
// CHECK-LABEL: func.func @first_ragged(
// CHECK: graph.window min, %{{.*}} window [1, 32] stride [1, 32]
// CHECK: graph.sort_runs %{{.*}} from 1 to 4096 first <[64]>
// CHECK: graph.sort_runs %{{.*}} from 1 to 2048 first <[64]>
func.func @first_ragged(%x: !graph.tensor<[128, 131071], f32>) -> !graph.tensor<[128, 64], i64> {
  %v, %i = graph.sort %x axis 1 descending first <[64]> : !graph.tensor<[128, 131071], f32>
  return %i : !graph.tensor<[128, 64], i64>
}

// Many rows of a single run: groups of eight, of what is in memory before a conversion.
// CHECK-LABEL: func.func @first_of_many(
// CHECK: graph.reshape %arg0 : <[4096, 1024], f32> to <[4096, 8, 128], f32>
// CHECK: graph.cast %{{.*}} to f16
// CHECK: graph.reduce min, %{{.*}} axes [1] : <[4096, 8, 128], i64>
// CHECK: graph.sort_runs %{{.*}} from 1 to 128 first <[10]>
// CHECK: graph.mod
// CHECK: graph.sort_runs %{{.*}} from 1 to 128 first <[10]>
func.func @first_of_many(%x: !graph.tensor<[4096, 1024], f32>) -> !graph.tensor<[4096, 10], i64> {
  %h = graph.cast %x to f16 : !graph.tensor<[4096, 1024], f32>
  %v, %i = graph.sort %h axis 1 descending first <[10]> : !graph.tensor<[4096, 1024], f16>
  return %i : !graph.tensor<[4096, 10], i64>
}

// Few of them are one kernel.
// CHECK-LABEL: func.func @first_of_few(
// CHECK: graph.sort_runs %{{.*}} from 1 to 1024 first <[10]> : <[40, 1024], i64>
// CHECK-NOT: graph.sort_runs
func.func @first_of_few(%x: !graph.tensor<[40, 1024], f32>) -> !graph.tensor<[40, 10], i64> {
  %v, %i = graph.sort %x axis 1 descending first <[10]> : !graph.tensor<[40, 1024], f32>
  return %i : !graph.tensor<[40, 10], i64>
}

// Short rows are runs, of which the first elements are written.
// CHECK-LABEL: func.func @short(
// CHECK: graph.sort_runs %{{.*}} from 1 to 64 first <[2]> : <[8, 64], i64>
// CHECK-NOT: graph.sort
// HOST-LABEL: func.func @short(
// HOST-NOT: graph.sort
// HOST: graph.reduce sum
// HOST: graph.reduce sum
func.func @short(%x: !graph.tensor<[64, 8], f32>) -> !graph.tensor<[2, 8], i64> {
  %v, %i = graph.sort %x axis 0 descending first <[2]> : !graph.tensor<[64, 8], f32>
  return %i : !graph.tensor<[2, 8], i64>
}

// Short rows of 64 bits are ranked.
// CHECK-LABEL: func.func @short_wide(
// CHECK-NOT: graph.sort
// CHECK: graph.reduce sum
// CHECK: graph.reduce sum
func.func @short_wide(%x: !graph.tensor<[64, 8], i64>) -> !graph.tensor<[2, 8], i64> {
  %v, %i = graph.sort %x axis 0 descending first <[2]> : !graph.tensor<[64, 8], i64>
  return %i : !graph.tensor<[2, 8], i64>
}

// Codes from 0 on, in four passes; the least code is added again behind them.
// CHECK-LABEL: func.func @radix(
// CHECK: graph.constant dense<-9223372036854775808>
// CHECK: %[[P:.*]] = graph.add
// CHECK: %[[C:.*]] = graph.digit_counts %[[P]] shift 32 bits 8 parts 128 : <[1048576], i64>
// CHECK: %[[Q:.*]] = graph.order_by_digit %[[P]], %[[C]] shift 32 : <[1048576], i64>, <[128, 256], i32>
// CHECK: graph.digit_counts %[[Q]] shift 40 bits 8
// CHECK: graph.order_by_digit
// CHECK: graph.digit_counts %{{.*}} shift 48 bits 8
// CHECK: graph.order_by_digit
// CHECK: graph.digit_counts %{{.*}} shift 56 bits 8
// CHECK: %[[R:.*]] = graph.order_by_digit
// CHECK: graph.constant dense<-9223372036854775808>
// CHECK: graph.add %[[R]]
// HOST-LABEL: func.func @radix(
// HOST-NOT: digit
// HOST: graph.sort_runs %{{.*}} from 524288 to 1048576
func.func @radix(%x: !graph.tensor<[1048576], f32>) -> !graph.tensor<[1048576], i64> {
  %v, %i = graph.sort %x axis 0 descending : !graph.tensor<[1048576], f32>
  return %i : !graph.tensor<[1048576], i64>
}

// 16 bits have two passes, which pay sooner; many rows fill a GPU with fewer parts.
// CHECK-LABEL: func.func @radix16(
// CHECK: graph.bitcast %arg0 to i16
// CHECK: graph.digit_counts %{{.*}} shift 32 bits 8 parts 8 : <[64, 65536], i64>
// CHECK: graph.digit_counts %{{.*}} shift 40 bits 8 parts 8
// CHECK-NOT: graph.digit_counts
func.func @radix16(%x: !graph.tensor<[64, 65536], bf16>) -> !graph.tensor<[64, 65536], i64> {
  %v, %i = graph.sort %x axis 1 : !graph.tensor<[64, 65536], bf16>
  return %i : !graph.tensor<[64, 65536], i64>
}

// Places of few rows have few bits, also where they are i64: three passes of six bits.
// CHECK-LABEL: func.func @targets(
// CHECK: graph.cast %arg0 to i32
// CHECK: graph.digit_counts %{{.*}} shift 32 bits 6 parts 128
// CHECK: graph.digit_counts %{{.*}} shift 38 bits 6 parts 128
// CHECK: graph.digit_counts %{{.*}} shift 44 bits 5 parts 128
// CHECK-NOT: graph.digit_counts
func.func @targets(%x: !graph.tensor<[1000000], i64>) -> !graph.tensor<[1000000], i64> {
  %v, %i = graph.sort %x axis 0 bits 17 : !graph.tensor<[1000000], i64>
  return %i : !graph.tensor<[1000000], i64>
}

// Low halves, then high ones.
// CHECK-LABEL: func.func @wide(
// CHECK: graph.sort_runs
// CHECK: graph.sort_runs
// CHECK: graph.gather_elements
func.func @wide(%x: !graph.tensor<[300], ui64>) -> !graph.tensor<[300], i64> {
  %v, %i = graph.sort %x axis 0 : !graph.tensor<[300], ui64>
  return %i : !graph.tensor<[300], i64>
}
}

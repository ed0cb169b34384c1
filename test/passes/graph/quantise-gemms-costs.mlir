// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-gemms{type=fp8 targets=sm_90a}))' | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-gemms{type=fp8}))' | FileCheck %s --check-prefix=ALL
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-gemms{type=fp8 targets=sm_90a for=short=fp8}))' | FileCheck %s --check-prefix=NAMED
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-gemms{type=int8 targets=sm_90a}))' | FileCheck %s --check-prefix=INT8
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-gemms{type=fp8 targets=sm_90a}))' --remark-format=emitRemark --remarks-filter=quantisation 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: not kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-gemms{type=fp8 targets=sm_9}))' 2>&1 | FileCheck %s --check-prefix=NAME

// REMARK: loc("short"): {{.*}} refused{{.*}}A GEMM{{.*}}by the cost model of sm_90a it takes {{[0-9.]+}} us, and {{[0-9.]+}} in 16 bits
// NAME: error: {{.*}}sm_9

module attributes {graph.calibration = {
    long = {least = -2.0 : f64, greatest = 4.48 : f64, range = 4.48 : f64},
    short = {least = -2.0 : f64, greatest = 4.48 : f64, range = 4.48 : f64}}} {

// Long sums are faster in FP8. Short ones with many results of 16 bits are not, unless a name asks for them.
// CHECK-LABEL: @sums(
// CHECK: graph.matmul %{{.*}} : <[4096, 4096], f8E4M3FN>
// CHECK: graph.matmul %{{.*}} : <[8192, 64], f16>
// ALL-LABEL: @sums(
// ALL: graph.matmul %{{.*}} : <[4096, 4096], f8E4M3FN>
// ALL: graph.matmul %{{.*}} : <[8192, 64], f8E4M3FN>
// NAMED-LABEL: @sums(
// NAMED: graph.matmul %{{.*}} : <[8192, 64], f8E4M3FN>
// INT8-LABEL: @sums(
// INT8-COUNT-2: graph.matmul %{{.*}}i8>
func.func @sums(%x: !graph.tensor<[4096, 4096], f16>, %z: !graph.tensor<[8192, 64], f16>) -> (!graph.tensor<[4096, 4096], f16>, !graph.tensor<[8192, 8192], f16>) {
  %w = graph.weight "m#w" [] : !graph.tensor<[4096, 4096], f16>
  %y = graph.matmul %x, %w : !graph.tensor<[4096, 4096], f16>, !graph.tensor<[4096, 4096], f16> loc("long")
  %v = graph.weight "m#v" [] : !graph.tensor<[64, 8192], f16>
  %u = graph.matmul %z, %v : !graph.tensor<[8192, 64], f16>, !graph.tensor<[64, 8192], f16> loc("short")
  return %y, %u : !graph.tensor<[4096, 4096], f16>, !graph.tensor<[8192, 8192], f16>
}

// A kernel makes the codes, which are not worth it for one GEMM of few rows. A norm's kernel makes them on its way.
// CHECK-LABEL: @rows(
// CHECK: graph.matmul %{{.*}} : <[64, 1024], f16>
// CHECK: graph.matmul %{{.*}} : <[64, 1024], f8E4M3FN>
// ALL-LABEL: @rows(
// ALL-COUNT-2: graph.matmul %{{.*}} : <[64, 1024], f8E4M3FN>
func.func @rows(%x: !graph.tensor<[64, 1024], f16>) -> (!graph.tensor<[64, 4096], f16>, !graph.tensor<[64, 4096], f16>) {
  %w = graph.weight "m#w" [] : !graph.tensor<[1024, 4096], f16>
  %y = graph.matmul %x, %w : !graph.tensor<[64, 1024], f16>, !graph.tensor<[1024, 4096], f16>
  %0 = graph.cast %x to f32 : !graph.tensor<[64, 1024], f16>
  %1 = graph.mul %0, %0 : !graph.tensor<[64, 1024], f32>
  %2 = graph.reduce sum, %1 axes [1] : !graph.tensor<[64, 1024], f32>
  %3 = graph.reshape %2 : !graph.tensor<[64], f32> to !graph.tensor<[64, 1], f32>
  %4 = graph.rsqrt %3 : !graph.tensor<[64, 1], f32>
  %5 = graph.broadcast %4 : !graph.tensor<[64, 1], f32> to !graph.tensor<[64, 1024], f32>
  %6 = graph.mul %0, %5 : !graph.tensor<[64, 1024], f32>
  %7 = graph.cast %6 to f16 : !graph.tensor<[64, 1024], f32>
  %z = graph.matmul %7, %w : !graph.tensor<[64, 1024], f16>, !graph.tensor<[1024, 4096], f16>
  return %y, %z : !graph.tensor<[64, 4096], f16>, !graph.tensor<[64, 4096], f16>
}

// The scales that the first one finds in rows are no rows of what the second one multiplies.
// CHECK-LABEL: @chain(
// CHECK: graph.matmul %{{.*}} : <[64, 1024], f8E4M3FN>
// CHECK: graph.matmul %{{.*}} : <[64, 1024], f16>
func.func @chain(%x: !graph.tensor<[64, 1024], f16>) -> !graph.tensor<[64, 1024], f16> {
  %w = graph.weight "m#w" [] : !graph.tensor<[1024, 1024], f16>
  %0 = graph.cast %x to f32 : !graph.tensor<[64, 1024], f16>
  %1 = graph.reduce max, %0 axes [1] : !graph.tensor<[64, 1024], f32>
  %2 = graph.reshape %1 : !graph.tensor<[64], f32> to !graph.tensor<[64, 1], f32>
  %3 = graph.broadcast %2 : !graph.tensor<[64, 1], f32> to !graph.tensor<[64, 1024], f32>
  %4 = graph.sub %0, %3 : !graph.tensor<[64, 1024], f32>
  %5 = graph.cast %4 to f16 : !graph.tensor<[64, 1024], f32>
  %y = graph.matmul %5, %w : !graph.tensor<[64, 1024], f16>, !graph.tensor<[1024, 1024], f16>
  %6 = graph.relu %y : !graph.tensor<[64, 1024], f16>
  %z = graph.matmul %6, %w : !graph.tensor<[64, 1024], f16>, !graph.tensor<[1024, 1024], f16>
  return %z : !graph.tensor<[64, 1024], f16>
}

}

// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-convs{type=fp8 targets=sm_90a}))' | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-convs{type=fp8}))' | FileCheck %s --check-prefix=ALL
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-convs{type=fp8 targets=sm_90a}))' --remark-format=emitRemark --remarks-filter=quantisation 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: not kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-convs{type=fp8 targets=sm_9}))' 2>&1 | FileCheck %s --check-prefix=NAME

// REMARK: loc("short"): {{.*}} refused{{.*}}by the cost model of sm_90a it takes {{[0-9.]+}} us, and {{[0-9.]+}} in 16 bits
// NAME: error: {{.*}}sm_9

module attributes {graph.calibration = {
    long = {least = -2.0 : f64, greatest = 4.48 : f64, range = 4.48 : f64},
    short = {least = -2.0 : f64, greatest = 4.48 : f64, range = 4.48 : f64}}} {

// Long sums are faster in FP8. Short ones with many results of floats are not.
// CHECK-LABEL: @sums(
// CHECK: graph.conv %{{.*}} : <[32, 14, 14, 256], f8E4M3FN>
// CHECK: graph.conv %{{.*}} : <[32, 56, 56, 64], f16>
// ALL-LABEL: @sums(
// ALL: graph.conv %{{.*}} : <[32, 14, 14, 256], f8E4M3FN>
// ALL: graph.conv %{{.*}} : <[32, 56, 56, 64], f8E4M3FN>
func.func @sums(%x: !graph.tensor<[32, 14, 14, 256], f16>, %z: !graph.tensor<[32, 56, 56, 64], f16>) -> (!graph.tensor<[32, 14, 14, 256], f16>, !graph.tensor<[32, 56, 56, 256], f16>) {
  %w = graph.weight "m#w" [] : !graph.tensor<[3, 3, 256, 256], f16>
  %y = graph.conv %x, %w stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 1 : !graph.tensor<[32, 14, 14, 256], f16>, !graph.tensor<[3, 3, 256, 256], f16> loc("long")
  %v = graph.weight "m#v" [] : !graph.tensor<[1, 1, 64, 256], f16>
  %u = graph.conv %z, %v stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[32, 56, 56, 64], f16>, !graph.tensor<[1, 1, 64, 256], f16> loc("short")
  return %y, %u : !graph.tensor<[32, 14, 14, 256], f16>, !graph.tensor<[32, 56, 56, 256], f16>
}

}

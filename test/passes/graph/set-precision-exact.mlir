// RUN: kpc-opt %s --form-regions --set-precision="wide-share=0" | FileCheck %s
// RUN: kpc-opt %s --form-regions --set-precision="wide-share=0" --remark-format=emitRemark --remarks-filter=precision 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

!p = !graph.tensor<[n, 1], f32>
!a = !graph.tensor<[n, 64], f32>
!b = !graph.tensor<[n, 128], f32>
!x = !graph.tensor<[n, 512], f32>
!w = !graph.tensor<[512, 512], f32>
!i = !graph.tensor<[n, 64], i32>

// What sin reads in another kernel stays f32, and so do positions, frequencies, and what only moves them.
// CHECK-LABEL: @rotary(
// CHECK: graph.weight "m#f" [] : <[1, 64], f32>
// CHECK: graph.region "positions"({{.*}} -> !graph.tensor<[n, 1], f32>
// CHECK: graph.region "angles"({{.*}} -> !graph.tensor<[n, 64], f32>
// CHECK: graph.region "twice"({{.*}} -> !graph.tensor<[n, 128], f32>
// CHECK: graph.region "sin"({{.*}} -> !graph.tensor<[n, 128], f16>
// REMARK: loc("angles"){{.*}}Is stored in fp32: 'sin' reads what is made of it to an absolute precision.
func.func @rotary(%p: !graph.tensor<[n, 1], i64>, %k: !graph.tensor<[128, 512], f32>) -> (!x, !b) {
  %f = graph.weight "m#f" [] : !graph.tensor<[1, 64], f32>
  %0 = graph.cast %p to f32 : !graph.tensor<[n, 1], i64> loc("positions")
  %1 = graph.matmul %0, %f : !p, !graph.tensor<[1, 64], f32> loc("angles")
  %2 = graph.concat %1, %1 axis 1 : !a, !a loc("twice")
  %3 = graph.sin %2 : !b loc("sin")
  %4 = graph.cos %2 : !b loc("cos")
  %5 = graph.matmul %3, %k : !b, !graph.tensor<[128, 512], f32>
  return %5, %4 : !x, !b
}

// A layer of a network multiplies 16 bits, of which the sums are f32 for sin. Points have few components.
// CHECK-LABEL: @layers(
// CHECK-DAG: graph.weight "m#b" [] : <[3, 512], f32>
// CHECK-DAG: graph.weight "m#w" [{cast = f16}]
// CHECK: graph.region "points"({{.*}}[3, 512], f32>) -> !graph.tensor<[n, 512], f32>
// CHECK: graph.region "features"({{.*}} -> !graph.tensor<[n, 512], f16>
// CHECK: graph.region "layer"({{.*}} : (!graph.tensor<[n, 512], f16>, !graph.tensor<[512, 512], f16>) -> !graph.tensor<[n, 512], f32>
func.func @layers(%p: !graph.tensor<[n, 3], f32>) -> (!x, !x, !x) {
  %b = graph.weight "m#b" [] : !graph.tensor<[3, 512], f32>
  %w = graph.weight "m#w" [] : !w
  %0 = graph.matmul %p, %b : !graph.tensor<[n, 3], f32>, !graph.tensor<[3, 512], f32> loc("points")
  %1 = graph.sin %0 : !x loc("features")
  %2 = graph.matmul %1, %w : !x, !w loc("layer")
  %3 = graph.sin %2 : !x
  %4 = graph.cos %2 : !x
  %5 = graph.cos %0 : !x
  return %3, %4, %5 : !x, !x, !x
}

// Of what is small by nature the result is exact, and not what it is made of. Integers of 8 bits are codes.
// CHECK-LABEL: @indices(
// CHECK: graph.region "logits"({{.*}} -> !graph.tensor<[n, 64], f16>
// CHECK: graph.region "part"({{.*}} -> !graph.tensor<[n, 64], f32>
// CHECK: graph.region "steps"({{.*}} -> !graph.tensor<[n, 64], f16>
func.func @indices(%x: !a) -> (!i, !i, !graph.tensor<[n, 64], i8>, !a) {
  %0 = graph.relu %x : !a loc("logits")
  %1 = graph.sigmoid %0 : !a loc("part")
  %2 = graph.add %1, %x : !a
  %3 = graph.cast %2 to i32 : !a
  %4 = graph.round %1 : !a
  %5 = graph.cast %4 to i32 : !a
  %6 = graph.mul %0, %x : !a loc("steps")
  %7 = graph.round %6 : !a
  %8 = graph.cast %7 to i8 : !a
  %9 = graph.sub %x, %6 : !a
  return %3, %5, %8, %9 : !i, !i, !graph.tensor<[n, 64], i8>, !a
}

// Tensor Cores read a copy of 16 bits where others need the value as it was.
// CHECK-LABEL: @both(
// CHECK: %[[X:.*]] = graph.region "layer"({{.*}} -> !graph.tensor<[1024, 512], f32>
// CHECK: %[[N:.*]] = graph.region "cast"(%[[X]]) : {{.*}} -> !graph.tensor<[1024, 512], f16>
// CHECK: graph.region "wave"(%[[X]])
// CHECK: graph.region "next"(%[[N]],
func.func @both(%x: !graph.tensor<[1024, 512], f32>) -> (!graph.tensor<[1024, 512], f32>, !graph.tensor<[1024, 512], f32>) {
  %w = graph.weight "m#w" [] : !w
  %v = graph.weight "m#v" [] : !w
  %0 = graph.matmul %x, %w : !graph.tensor<[1024, 512], f32>, !w loc("layer")
  %1 = graph.sin %0 : !graph.tensor<[1024, 512], f32> loc("wave")
  %2 = graph.matmul %0, %v : !graph.tensor<[1024, 512], f32>, !w loc("next")
  return %1, %2 : !graph.tensor<[1024, 512], f32>, !graph.tensor<[1024, 512], f32>
}

// The walk goes around a loop: what an iteration adds to a phase is exact, too.
// CHECK-LABEL: @phase(
// CHECK: graph.loop
// CHECK: graph.region "step"({{.*}} -> !graph.tensor<[n, 64], f32>
func.func @phase(%x: !a) -> (!a, !a) {
  %l, %s = graph.loop "i" count <[8]> (%x) reversed [false] : (!a) -> (!a, !graph.tensor<[8, n, 64], f32>) {
  ^bb0(%h: !a):
    %0 = graph.mul %x, %x : !a loc("step")
    %1 = graph.transpose %0 [1, 0] : !a
    %2 = graph.reduce max, %0 axes [0] : !a
    %3 = graph.broadcast %2 : !graph.tensor<[64], f32> to !a
    %4 = graph.sub %0, %3 : !a
    %5 = graph.add %h, %0 : !a
    graph.yield %5, %4 : !a, !a
  }
  %6 = graph.sin %l : !a
  return %6, %l : !a, !a
}

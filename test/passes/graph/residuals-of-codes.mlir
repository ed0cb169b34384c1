// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(residuals-of-codes))' | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(residuals-of-codes))' --remark-format=emitRemark --remarks-filter=quantisation 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// REMARK-COUNT-4: A residual is read as the codes that a convolution multiplies
// REMARK-NOT: A residual

!x = !graph.tensor<[2, 8, 8, 16], f32>
!h = !graph.tensor<[2, 8, 8, 16], f16>
!c = !graph.tensor<[2, 8, 8, 16], f8E4M3FN>
!w = !graph.tensor<[1, 1, 16, 16], f8E4M3FN>
!v = !graph.tensor<[1, 1, 16, 16], f32>
!s = !graph.tensor<[], f32>
!l = !graph.tensor<[1, 1, 1, 16], f32>

// The codes stand for the value where it is added, times their scale, which is 1/4.
// CHECK-LABEL: @added(
// CHECK: %[[C:.*]] = graph.cast %{{.*}} to f8E4M3FN
// CHECK: %[[P:.*]] = graph.conv %[[C]]
// CHECK: %[[F:.*]] = graph.cast %[[C]] to f32
// CHECK: %[[S:.*]] = graph.constant dense<2.500000e-01> : tensor<f32>
// CHECK: %[[A:.*]] = graph.broadcast %[[S]]
// CHECK: %[[R:.*]] = graph.mul %[[F]], %[[A]]
// CHECK: graph.add %[[P]], %[[R]]
func.func @added(%y: !x, %w: !w) -> !x {
  %x = graph.relu %y : !x
  %k = graph.constant dense<4.0> : tensor<f32>
  %f = graph.broadcast %k : !s to !x
  %0 = graph.mul %x, %f : !x
  %m = graph.constant dense<448.0> : tensor<f32>
  %g = graph.broadcast %m : !s to !x
  %1 = graph.min %0, %g : !x
  %n = graph.constant dense<-448.0> : tensor<f32>
  %l = graph.broadcast %n : !s to !x
  %2 = graph.max %1, %l : !x
  %3 = graph.cast %2 to f8E4M3FN : !x
  %4 = graph.conv %3, %w stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !c, !w
  %5 = graph.add %4, %x : !x
  return %5 : !x
}

// Channels have factors, 2 and 1 here and there: the residual is multiplied by what they are divided by. The residual comes first, where the codes were
// made behind it, and the target only rounds.
// CHECK-LABEL: @smoothed(
// CHECK: %[[C:.*]] = graph.cast %{{.*}} to f8E4M3FN
// CHECK: %[[F:.*]] = graph.cast %[[C]] to f32
// CHECK: graph.constant dense<{{.*}}1.250000e-01, 2.500000e-01, {{.*}}> : tensor<1x1x1x16xf32>
// CHECK: %[[R:.*]] = graph.mul %[[F]], %{{.*}}
// CHECK: graph.add %{{.*}}, %[[R]]
// CHECK: graph.cast %[[C]] to f32
// CHECK: graph.conv
func.func @smoothed(%y: !x, %z: !x, %w: !v) -> (!x, !x) {
  %x = graph.relu %y : !x
  %5 = graph.add %z, %x : !x
  %c = graph.constant dense<[[[[2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]]]]> : tensor<1x1x1x16xf32>
  %b = graph.broadcast %c : !l to !x
  %d = graph.mul %x, %b : !x
  %k = graph.constant dense<4.0> : tensor<f32>
  %f = graph.broadcast %k : !s to !x
  %0 = graph.mul %d, %f : !x
  %3 = graph.cast %0 to f8E4M3FN : !x
  %t = graph.cast %3 to f32 : !c
  %4 = graph.conv %t, %w stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !x, !v
  return %4, %5 : !x, !x
}

// A value of 16 bits stays one.
// CHECK-LABEL: @half(
// CHECK: %[[R:.*]] = graph.cast %{{.*}} to f16 : <[2, 8, 8, 16], f32>
// CHECK: graph.add %{{.*}}, %[[R]] : <[2, 8, 8, 16], f16>
func.func @half(%y: !h, %z: !h, %w: !w) -> (!x, !h) {
  %x = graph.relu %y : !h
  %i = graph.cast %x to f32 : !h
  %k = graph.constant dense<4.0> : tensor<f32>
  %f = graph.broadcast %k : !s to !x
  %0 = graph.mul %i, %f : !x
  %3 = graph.cast %0 to f8E4M3FN : !x
  %4 = graph.conv %3, %w stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !c, !w
  %5 = graph.add %z, %x : !h
  return %4, %5 : !x, !h
}

// Two residuals of one value.
// CHECK-LABEL: @twice(
// CHECK: %[[X:.*]] = graph.relu
// CHECK-NOT: graph.add %{{.*}}, %[[X]]
// CHECK: return
func.func @twice(%y: !x, %z: !x, %w: !w) -> (!x, !x) {
  %x = graph.relu %y : !x
  %k = graph.constant dense<4.0> : tensor<f32>
  %f = graph.broadcast %k : !s to !x
  %0 = graph.mul %x, %f : !x
  %3 = graph.cast %0 to f8E4M3FN : !x
  %4 = graph.conv %3, %w stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !c, !w
  %5 = graph.add %4, %x : !x
  %6 = graph.add %z, %x : !x
  return %5, %6 : !x, !x
}

// Stored in any case: a result of the function, and an argument.
// CHECK-LABEL: @stored(
// CHECK-SAME: %[[Z:[^:]*]]: !graph.tensor<[2, 8, 8, 16], f32>, %{{.*}}: !graph
// CHECK: %[[X:.*]] = graph.relu
// CHECK: graph.add %{{.*}}, %[[X]]
// CHECK: graph.add %{{.*}}, %[[Z]]
func.func @stored(%z: !x, %w: !w) -> (!x, !x, !x) {
  %x = graph.relu %z : !x
  %k = graph.constant dense<4.0> : tensor<f32>
  %f = graph.broadcast %k : !s to !x
  %0 = graph.mul %x, %f : !x
  %3 = graph.cast %0 to f8E4M3FN : !x
  %4 = graph.conv %3, %w stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !c, !w
  %5 = graph.add %4, %x : !x
  %7 = graph.mul %z, %f : !x
  %8 = graph.cast %7 to f8E4M3FN : !x
  %9 = graph.conv %8, %w stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !c, !w
  %10 = graph.add %9, %z : !x
  return %x, %5, %10 : !x, !x, !x
}

// A scale that the run finds, and codes that a GEMM multiplies: a norm's kernel writes both.
// CHECK-LABEL: @other(
// CHECK: %[[X:.*]] = graph.relu
// CHECK: graph.add %{{.*}}, %[[X]]
func.func @other(%y: !x, %f: !x, %w: !w) -> !x {
  %x = graph.relu %y : !x
  %0 = graph.mul %x, %f : !x
  %3 = graph.cast %0 to f8E4M3FN : !x
  %4 = graph.conv %3, %w stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !c, !w
  %5 = graph.add %4, %x : !x
  return %5 : !x
}

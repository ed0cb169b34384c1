// RUN: kpc-opt %s --sink-transposes | FileCheck %s

!a = !graph.tensor<[n, 8, 4], f32>
!t = !graph.tensor<[n, 4, 8], f32>

// CHECK-LABEL: @meet_and_cancel(
// CHECK-NEXT: %[[R:.*]] = graph.relu %arg0
// CHECK-NEXT: return %[[R]]
func.func @meet_and_cancel(%x: !a) -> !a {
  %0 = graph.transpose %x [0, 2, 1] : !a
  %1 = graph.relu %0 : !t
  %2 = graph.transpose %1 [0, 2, 1] : !t
  return %2 : !a
}

// CHECK-LABEL: @attributes_stay(
// CHECK-DAG: graph.compare lt, %arg0, %arg1 : <[n, 8, 4], f32>
// CHECK-DAG: graph.cast %arg0 to f16 : <[n, 8, 4], f32>
// CHECK-DAG: graph.transpose %{{.*}} [0, 2, 1] : <[n, 8, 4], i1>
// CHECK-DAG: graph.transpose %{{.*}} [0, 2, 1] : <[n, 8, 4], f16>
func.func @attributes_stay(%x: !a, %y: !a) -> (!graph.tensor<[n, 4, 8], i1>, !graph.tensor<[n, 4, 8], f16>) {
  %0 = graph.transpose %x [0, 2, 1] : !a
  %1 = graph.transpose %y [0, 2, 1] : !a
  %2 = graph.compare lt, %0, %1 : !t
  %3 = graph.cast %0 to f16 : !t
  return %2, %3 : !graph.tensor<[n, 4, 8], i1>, !graph.tensor<[n, 4, 8], f16>
}

// CHECK-LABEL: @different_transposes_stay(
// CHECK: graph.transpose %arg0
// CHECK: graph.transpose %arg1
// CHECK: graph.add
func.func @different_transposes_stay(%x: !graph.tensor<[4, 4, 4], f32>, %y: !graph.tensor<[4, 4, 4], f32>) -> !graph.tensor<[4, 4, 4], f32> {
  %0 = graph.transpose %x [0, 2, 1] : !graph.tensor<[4, 4, 4], f32>
  %1 = graph.transpose %y [1, 0, 2] : !graph.tensor<[4, 4, 4], f32>
  %2 = graph.add %0, %1 : !graph.tensor<[4, 4, 4], f32>
  return %2 : !graph.tensor<[4, 4, 4], f32>
}

// Constants that were transposed the same way, or another.
// CHECK-LABEL: @with_constants(
// CHECK: %[[S:.*]] = graph.add %arg0, %{{.*}} : <[2, 2], f32>
// CHECK: %[[M:.*]] = graph.mul %[[S]], %{{.*}} : <[2, 2], f32>
// CHECK-NEXT: %[[Y:.*]] = graph.transpose %[[M]] [1, 0]
// CHECK-NEXT: return %[[Y]]
func.func @with_constants(%x: !graph.tensor<[2, 2], f32>) -> !graph.tensor<[2, 2], f32> {
  %c = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = graph.transpose %x [1, 0] : !graph.tensor<[2, 2], f32>
  %1 = graph.transpose %c [1, 0] : !graph.tensor<[2, 2], f32>
  %2 = graph.add %0, %1 : !graph.tensor<[2, 2], f32>
  %3 = graph.mul %2, %c : !graph.tensor<[2, 2], f32>
  return %3 : !graph.tensor<[2, 2], f32>
}

// CHECK-LABEL: @reduce(
// CHECK-NEXT: %[[R:.*]] = graph.reduce sum, %arg0 axes [2] : <[n, 8, 4], f32>
// CHECK-NEXT: return %[[R]]
func.func @reduce(%x: !a) -> !graph.tensor<[n, 8], f32> {
  %0 = graph.transpose %x [0, 2, 1] : !a
  %1 = graph.reduce sum, %0 axes [1] : !t
  return %1 : !graph.tensor<[n, 8], f32>
}

// CHECK-LABEL: @concat(
// CHECK-NEXT: %[[C:.*]] = graph.concat %arg0, %arg0 axis 2
// CHECK-NEXT: graph.transpose %[[C]] [0, 2, 1]
func.func @concat(%x: !a) -> !graph.tensor<[n, 8, 8], f32> {
  %0 = graph.transpose %x [0, 2, 1] : !a
  %1 = graph.concat %0, %0 axis 1 : !t, !t
  return %1 : !graph.tensor<[n, 8, 8], f32>
}

// CHECK-LABEL: @pad(
// CHECK-NEXT: %[[P:.*]] = graph.pad %arg0, %arg1 low [0, 2, 1] high [0, 0, 0] interior [0, 0, 0]
// CHECK-NEXT: graph.transpose %[[P]] [0, 2, 1]
func.func @pad(%x: !a, %s: !graph.tensor<[], f32>) -> !graph.tensor<[n, 5, 10], f32> {
  %0 = graph.transpose %x [0, 2, 1] : !a
  %1 = graph.pad %0, %s low [0, 1, 2] high [0, 0, 0] interior [0, 0, 0] : !t, !graph.tensor<[], f32>
  return %1 : !graph.tensor<[n, 5, 10], f32>
}

// CHECK-LABEL: @slice(
// CHECK-NEXT: %[[S:.*]] = graph.slice %arg0 start <[0, 7, 1]> step [1, -1, 1] : <[n, 8, 4], f32> to <[n, 8, 2], f32>
// CHECK-NEXT: graph.transpose %[[S]] [0, 2, 1]
func.func @slice(%x: !a) -> !graph.tensor<[n, 2, 8], f32> {
  %0 = graph.transpose %x [0, 2, 1] : !a
  %1 = graph.slice %0 start #graph.dims<[0, 1, 7]> step [1, 1, -1] : !t to !graph.tensor<[n, 2, 8], f32>
  return %1 : !graph.tensor<[n, 2, 8], f32>
}

// CHECK-LABEL: @only_ones_move(
// CHECK-NEXT: graph.reshape %arg0 : <[n, 1, 8], f32> to <[n, 8, 1], f32>
func.func @only_ones_move(%x: !graph.tensor<[n, 1, 8], f32>) -> !graph.tensor<[n, 8, 1], f32> {
  %0 = graph.transpose %x [0, 2, 1] : !graph.tensor<[n, 1, 8], f32>
  return %0 : !graph.tensor<[n, 8, 1], f32>
}

// CHECK-LABEL: @vector_is_turned_first(
// CHECK-NOT: graph.transpose
// CHECK: graph.broadcast %{{.*}} : <[1, 8, 1], f32> to <[n, 8, 4], f32>
func.func @vector_is_turned_first(%b: !graph.tensor<[8], f32>) -> !a {
  %0 = graph.broadcast %b : !graph.tensor<[8], f32> to !t
  %1 = graph.transpose %0 [0, 2, 1] : !t
  return %1 : !a
}

// Dimensions that stay next to each other are joined in front of the transpose, which then meets the next one.
// CHECK-LABEL: @joined(
// CHECK-NEXT: %[[R:.*]] = graph.reshape %arg0 : <[n, 14, 14, 768], f32> to <[n, 196, 768], f32>
// CHECK-NEXT: return %[[R]]
func.func @joined(%x: !graph.tensor<[n, 14, 14, 768], f32>) -> !graph.tensor<[n, 196, 768], f32> {
  %0 = graph.transpose %x [0, 3, 1, 2] : !graph.tensor<[n, 14, 14, 768], f32>
  %1 = graph.reshape %0 : !graph.tensor<[n, 768, 14, 14], f32> to !graph.tensor<[n, 768, 196], f32>
  %2 = graph.transpose %1 [0, 2, 1] : !graph.tensor<[n, 768, 196], f32>
  return %2 : !graph.tensor<[n, 196, 768], f32>
}

// Dimensions that it parts stay behind it.
// CHECK-LABEL: @parted(
// CHECK-NEXT: graph.transpose
// CHECK-NEXT: graph.reshape
// CHECK-NEXT: return
func.func @parted(%x: !graph.tensor<[n, 14, 14, 768], f32>) -> !graph.tensor<[n, 150528], f32> {
  %0 = graph.transpose %x [0, 3, 1, 2] : !graph.tensor<[n, 14, 14, 768], f32>
  %1 = graph.reshape %0 : !graph.tensor<[n, 768, 14, 14], f32> to !graph.tensor<[n, 150528], f32>
  return %1 : !graph.tensor<[n, 150528], f32>
}

// A reshape that splits goes in front for a reduction alone: split heads are recognised where exporters put them.
// CHECK-LABEL: @split(
// CHECK-NEXT: graph.reshape %arg0 : <[n, h, w, 8], f32> to <[n, h, w, 2, 4], f32>
// CHECK: graph.reduce sum
func.func @split(%x: !graph.tensor<[n, h, w, 8], f32>) -> !graph.tensor<[n, 2], f32> {
  %0 = graph.transpose %x [0, 3, 1, 2] : !graph.tensor<[n, h, w, 8], f32>
  %1 = graph.reshape %0 : !graph.tensor<[n, 8, h, w], f32> to !graph.tensor<[n, 2, 4, h, w], f32>
  %2 = graph.reduce sum, %1 axes [2, 3, 4] : !graph.tensor<[n, 2, 4, h, w], f32>
  return %2 : !graph.tensor<[n, 2], f32>
}

// CHECK-LABEL: @split_heads(
// CHECK-NEXT: graph.transpose %arg0
// CHECK-NEXT: graph.reshape
func.func @split_heads(%x: !graph.tensor<[n, s, 8, 64], f32>) -> !graph.tensor<[n, 8, 1, s, 64], f32> {
  %0 = graph.transpose %x [0, 2, 1, 3] : !graph.tensor<[n, s, 8, 64], f32>
  %1 = graph.reshape %0 : !graph.tensor<[n, 8, s, 64], f32> to !graph.tensor<[n, 8, 1, s, 64], f32>
  return %1 : !graph.tensor<[n, 8, 1, s, 64], f32>
}

// Groups of channels are parted and joined again, and so are lines: a norm of groups, of which reductions and factors go along.
// CHECK-LABEL: @group_norm(
// CHECK-NEXT: %[[G:.*]] = graph.reshape %arg0 : <[n, h, w, 320], f32> to <[n, "h*w", 32, 10], f32>
// CHECK-NEXT: %[[S:.*]] = graph.reduce sum, %[[G]] axes [1, 3] : <[n, "h*w", 32, 10], f32>
// CHECK-NEXT: %[[K:.*]] = graph.reshape %[[S]] : <[n, 32], f32> to <[n, 1, 32, 1], f32>
// CHECK-NEXT: %[[B:.*]] = graph.broadcast %[[K]] : <[n, 1, 32, 1], f32> to <[n, "h*w", 32, 10], f32>
// CHECK-NEXT: %[[D:.*]] = graph.sub %[[G]], %[[B]]
// CHECK-NEXT: %[[Y:.*]] = graph.reshape %[[D]] : <[n, "h*w", 32, 10], f32> to <[n, h, w, 320], f32>
// CHECK-NEXT: return %[[Y]]
func.func @group_norm(%x: !graph.tensor<[n, h, w, 320], f32>) -> !graph.tensor<[n, h, w, 320], f32> {
  %0 = graph.transpose %x [0, 3, 1, 2] : !graph.tensor<[n, h, w, 320], f32>
  %1 = graph.reshape %0 : !graph.tensor<[n, 320, h, w], f32> to !graph.tensor<[n, 32, 10, "h*w"], f32>
  %2 = graph.reduce sum, %1 axes [2, 3] : !graph.tensor<[n, 32, 10, "h*w"], f32>
  %3 = graph.reshape %2 : !graph.tensor<[n, 32], f32> to !graph.tensor<[n, 32, 1, 1], f32>
  %4 = graph.broadcast %3 : !graph.tensor<[n, 32, 1, 1], f32> to !graph.tensor<[n, 32, 10, "h*w"], f32>
  %5 = graph.sub %1, %4 : !graph.tensor<[n, 32, 10, "h*w"], f32>
  %6 = graph.reshape %5 : !graph.tensor<[n, 32, 10, "h*w"], f32> to !graph.tensor<[n, 320, h, w], f32>
  %7 = graph.transpose %6 [0, 2, 3, 1] : !graph.tensor<[n, 320, h, w], f32>
  return %7 : !graph.tensor<[n, h, w, 320], f32>
}

// What is the same for all heads is turned before it is repeated.
// CHECK-LABEL: @angles(
// CHECK-NEXT: %[[R:.*]] = graph.reshape %arg0 : <[1, 1, s, 16], f32> to <[1, s, 1, 16], f32>
// CHECK-NEXT: graph.broadcast %[[R]] : <[1, s, 1, 16], f32> to <[b, s, 32, 16], f32>
func.func @angles(%x: !graph.tensor<[1, 1, s, 16], f32>) -> !graph.tensor<[b, s, 32, 16], f32> {
  %0 = graph.broadcast %x : !graph.tensor<[1, 1, s, 16], f32> to !graph.tensor<[b, 32, s, 16], f32>
  %1 = graph.transpose %0 [0, 2, 1, 3] : !graph.tensor<[b, 32, s, 16], f32>
  return %1 : !graph.tensor<[b, s, 32, 16], f32>
}

// Of two that are repeated, one transposed, neither is turned for the other's sake: each would be in turn, for ever.
// CHECK-LABEL: @repeated(
// CHECK-NEXT: %[[A:.*]] = graph.broadcast %arg0
// CHECK-NEXT: %[[T:.*]] = graph.transpose %[[A]] [2, 1, 0]
// CHECK-NEXT: %[[B:.*]] = graph.broadcast %arg1
// CHECK-NEXT: graph.add %[[T]], %[[B]]
func.func @repeated(%a: !graph.tensor<[2, 1, 4], f32>, %b: !graph.tensor<[4, 1, 2], f32>) -> !graph.tensor<[4, 3, 2], f32> {
  %0 = graph.broadcast %a : !graph.tensor<[2, 1, 4], f32> to !graph.tensor<[2, 3, 4], f32>
  %1 = graph.transpose %0 [2, 1, 0] : !graph.tensor<[2, 3, 4], f32>
  %2 = graph.broadcast %b : !graph.tensor<[4, 1, 2], f32> to !graph.tensor<[4, 3, 2], f32>
  %3 = graph.add %1, %2 : !graph.tensor<[4, 3, 2], f32>
  return %3 : !graph.tensor<[4, 3, 2], f32>
}

// One query of one sequence: transposes of its heads only move ones. They go on to the attention, which reads heads through them, as those of
// many queries do; only what stays elsewhere is a reshape.
// CHECK-LABEL: @one_query(
// CHECK-NEXT: %[[N:.*]] = graph.neg %arg0 : <[b, 1, 4, 64], f16>
// CHECK-NEXT: %[[Q:.*]] = graph.transpose %[[N]] [0, 2, 1, 3]
// CHECK-NEXT: %[[Y:.*]] = graph.attention %[[Q]], %arg1, %arg1
// CHECK-NEXT: %[[T:.*]] = graph.transpose %[[Y]] [0, 2, 1, 3]
// CHECK-NEXT: %[[R:.*]] = graph.reshape %arg0 : <[b, 1, 4, 64], f16> to <[b, 4, 1, 64], f16>
// CHECK-NEXT: return %[[T]], %[[R]]
func.func @one_query(%x: !graph.tensor<[b, 1, 4, 64], f16>, %k: !graph.tensor<[b, 4, t, 64], f16>) -> (!graph.tensor<[b, 1, 4, 64], f16>, !graph.tensor<[b, 4, 1, 64], f16>) {
  %0 = graph.transpose %x [0, 2, 1, 3] : !graph.tensor<[b, 1, 4, 64], f16>
  %1 = graph.neg %0 : !graph.tensor<[b, 4, 1, 64], f16>
  %2 = graph.attention %1, %k, %k scale 0.125 : !graph.tensor<[b, 4, 1, 64], f16>, !graph.tensor<[b, 4, t, 64], f16>, !graph.tensor<[b, 4, t, 64], f16>
  %3 = graph.transpose %2 [0, 2, 1, 3] : !graph.tensor<[b, 4, 1, 64], f16>
  %4 = graph.transpose %x [0, 2, 1, 3] : !graph.tensor<[b, 1, 4, 64], f16>
  return %3, %4 : !graph.tensor<[b, 1, 4, 64], f16>, !graph.tensor<[b, 4, 1, 64], f16>
}

// Weights that are turned and joined stay turned one by one: each is another recipe of its weight.
// CHECK-LABEL: @joined_weights(
// CHECK-COUNT-2: graph.transpose %{{.*}} [1, 0] : <[8, 16], f32>
// CHECK-NEXT: %[[W:.*]] = graph.concat %{{.*}}, %{{.*}} axis 1
// CHECK-NEXT: graph.matmul %arg0, %[[W]]
func.func @joined_weights(%x: !graph.tensor<[n, 16], f32>) -> !graph.tensor<[n, 16], f32> {
  %a = graph.weight "m#a" [] : <[8, 16], f32>
  %b = graph.weight "m#b" [] : <[8, 16], f32>
  %at = graph.transpose %a [1, 0] : !graph.tensor<[8, 16], f32>
  %bt = graph.transpose %b [1, 0] : !graph.tensor<[8, 16], f32>
  %w = graph.concat %at, %bt axis 1 : !graph.tensor<[16, 8], f32>, !graph.tensor<[16, 8], f32>
  %y = graph.matmul %x, %w : !graph.tensor<[n, 16], f32>, !graph.tensor<[16, 16], f32>
  return %y : !graph.tensor<[n, 16], f32>
}

// One head of the keys of one token, read in place: ones move in front of the slice.
// CHECK-LABEL: @slice_of_ones(
// CHECK-NEXT: %[[R:.*]] = graph.reshape %arg0 : <[1, 1, 48, 16], f16> to <[1, 48, 1, 16], f16>
// CHECK-NEXT: %[[S:.*]] = graph.slice %[[R]] start <[0, 40, 0, 0]> step [1, 1, 1, 1] : <[1, 48, 1, 16], f16> to <[1, 8, 1, 16], f16>
// CHECK-NEXT: return %[[S]]
func.func @slice_of_ones(%x: !graph.tensor<[1, 1, 48, 16], f16>) -> !graph.tensor<[1, 8, 1, 16], f16> {
  %0 = graph.slice %x start <[0, 0, 40, 0]> step [1, 1, 1, 1] : !graph.tensor<[1, 1, 48, 16], f16> to !graph.tensor<[1, 1, 8, 16], f16>
  %1 = graph.reshape %0 : !graph.tensor<[1, 1, 8, 16], f16> to !graph.tensor<[1, 8, 1, 16], f16>
  return %1 : !graph.tensor<[1, 8, 1, 16], f16>
}

// A sequence of pixels becomes an image again, and meets the residual's order.
// CHECK-LABEL: @pixels_with_residual(
// CHECK-NEXT: %[[I:.*]] = graph.reshape %arg0 : <[n, 1024, 64], f16> to <[n, 32, 32, 64], f16>
// CHECK-NEXT: %[[S:.*]] = graph.add %arg1, %[[I]]
// CHECK-NEXT: %[[T:.*]] = graph.transpose %[[S]] [0, 3, 1, 2]
// CHECK-NEXT: return %[[T]]
func.func @pixels_with_residual(%y: !graph.tensor<[n, 1024, 64], f16>, %x: !graph.tensor<[n, 32, 32, 64], f16>) -> !graph.tensor<[n, 64, 32, 32], f16> {
  %0 = graph.transpose %y [0, 2, 1] : !graph.tensor<[n, 1024, 64], f16>
  %1 = graph.reshape %0 : !graph.tensor<[n, 64, 1024], f16> to !graph.tensor<[n, 64, 32, 32], f16>
  %2 = graph.transpose %x [0, 3, 1, 2] : !graph.tensor<[n, 32, 32, 64], f16>
  %3 = graph.add %2, %1 : !graph.tensor<[n, 64, 32, 32], f16>
  return %3 : !graph.tensor<[n, 64, 32, 32], f16>
}

// Without one the reshape stays in front, as heads have it.
// CHECK-LABEL: @pixels_alone(
// CHECK-NEXT: %[[T:.*]] = graph.transpose %arg0 [0, 2, 1]
// CHECK-NEXT: graph.reshape %[[T]]
func.func @pixels_alone(%y: !graph.tensor<[n, 1024, 64], f16>) -> !graph.tensor<[n, 64, 32, 32], f16> {
  %0 = graph.transpose %y [0, 2, 1] : !graph.tensor<[n, 1024, 64], f16>
  %1 = graph.reshape %0 : !graph.tensor<[n, 64, 1024], f16> to !graph.tensor<[n, 64, 32, 32], f16>
  return %1 : !graph.tensor<[n, 64, 32, 32], f16>
}

// Heads that are split for RoPE are turned before their order changes.
// CHECK-LABEL: @rope(
// CHECK: %[[H:.*]] = graph.reshape %arg0 : <[n, s, 8, 64], f32> to <[n, s, 8, 2, 32], f32>
// CHECK: %[[R:.*]] = graph.slice %[[H]] start <[0, 0, 0, 1, 0]> step [1, 1, 1, -1, 1]
// CHECK: %[[Y:.*]] = graph.add %[[H]], %[[R]]
// CHECK: graph.transpose %[[Y]]
func.func @rope(%x: !graph.tensor<[n, s, 8, 64], f32>) -> !graph.tensor<[n, 8, s, 2, 32], f32> {
  %0 = graph.transpose %x [0, 2, 1, 3] : !graph.tensor<[n, s, 8, 64], f32>
  %1 = graph.reshape %0 : !graph.tensor<[n, 8, s, 64], f32> to !graph.tensor<[n, 8, s, 2, 32], f32>
  %2 = graph.slice %1 start <[0, 0, 0, 1, 0]> step [1, 1, 1, -1, 1] : !graph.tensor<[n, 8, s, 2, 32], f32> to !graph.tensor<[n, 8, s, 2, 32], f32>
  %3 = graph.add %1, %2 : !graph.tensor<[n, 8, s, 2, 32], f32>
  return %3 : !graph.tensor<[n, 8, s, 2, 32], f32>
}

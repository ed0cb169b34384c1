// RUN: kpc-opt --decompose-conv-transpose=zero-taps %s | FileCheck %s
// RUN: kpc-opt --decompose-conv-transpose %s | FileCheck %s --check-prefix=EXACT

// The stride divides the taps: each phase has two along each axis, and all are
// channels of one convolution. What is behind it is computed before the pixels
// are in order; the first row and column are in front of the result.
// CHECK-LABEL: func.func @phases
// CHECK: %[[S:.*]] = graph.reshape %arg1 : <[4, 4, 64, 32], f32> to <[2, 2, 2, 2, 1, 64, 32], f32>
// CHECK: %[[R:.*]] = graph.slice %[[S]] start <[1, 0, 1, 0, 0, 0, 0]> step [-1, 1, -1, 1, 1, 1, 1]
// CHECK: %[[T:.*]] = graph.transpose %[[R]] [0, 2, 5, 4, 1, 3, 6]
// CHECK: %[[W:.*]] = graph.reshape %[[T]] : {{.*}} to <[2, 2, 64, 128], f32>
// CHECK: %[[C:.*]] = graph.conv %arg0, %[[W]] stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 1
// CHECK: %[[P:.*]] = graph.reshape %[[C]] : <[n, 17, 17, 128], f32> to <[n, 17, 17, 1, 2, 2, 32], f32>
// CHECK: %[[B:.*]] = graph.broadcast %{{.*}} : <[1, 1, 1, 32], f32> to <[n, 17, 17, 1, 2, 2, 32], f32>
// CHECK: %[[A:.*]] = graph.add %[[P]], %[[B]]
// CHECK: %[[E:.*]] = graph.relu %[[A]]
// CHECK: %[[O:.*]] = graph.transpose %[[E]] [0, 1, 4, 2, 5, 3, 6]
// CHECK: %[[Q:.*]] = graph.reshape %[[O]] : {{.*}} to <[n, 34, 34, 32], f32>
// CHECK: %[[Y:.*]] = graph.slice %[[Q]] start <[0, 1, 1, 0]> step [1, 1, 1, 1] : <[n, 34, 34, 32], f32> to <[n, 32, 32, 32], f32>
// CHECK: return %[[Y]]
func.func @phases(%x: !graph.tensor<[n, 16, 16, 64], f32>, %w: !graph.tensor<[4, 4, 64, 32], f32>, %b: !graph.tensor<[32], f32>)
    -> !graph.tensor<[n, 32, 32, 32], f32> {
  %0 = graph.conv_transpose %x, %w stride [2, 2] dilation [1, 1] low [1, 1] high [1, 1] groups 1 : !graph.tensor<[n, 16, 16, 64], f32>, !graph.tensor<[4, 4, 64, 32], f32>
  %1 = graph.broadcast %b : !graph.tensor<[32], f32> to !graph.tensor<[n, 32, 32, 32], f32>
  %2 = graph.add %0, %1 : !graph.tensor<[n, 32, 32, 32], f32>
  %3 = graph.relu %2 : !graph.tensor<[n, 32, 32, 32], f32>
  return %3 : !graph.tensor<[n, 32, 32, 32], f32>
}

// Sizes may be symbols, and groups keep their channels together. What depends
// on the place stays behind.
// CHECK-LABEL: func.func @groups
// CHECK: graph.conv %arg0, %{{.*}} low [0] high [0] groups 2 : <[n, h, 8], f32>, <[1, 4, 12], f32>
// CHECK: graph.reshape %{{.*}} : <[n, h, 12], f32> to <[n, h, 2, 2, 3], f32>
// CHECK: graph.transpose %{{.*}} [0, 1, 3, 2, 4]
// CHECK: %[[Y:.*]] = graph.reshape %{{.*}} to <[n, "h*2", 6], f32>
// CHECK: graph.add %[[Y]], %arg2
func.func @groups(%x: !graph.tensor<[n, h, 8], f32>, %w: !graph.tensor<[2, 8, 3], f32>, %r: !graph.tensor<[n, "2*h", 6], f32>)
    -> !graph.tensor<[n, "2*h", 6], f32> {
  %0 = graph.conv_transpose %x, %w stride [2] dilation [1] low [0] high [0] groups 2 : !graph.tensor<[n, h, 8], f32>, !graph.tensor<[2, 8, 3], f32>
  %1 = graph.add %0, %r : !graph.tensor<[n, "2*h", 6], f32>
  return %1 : !graph.tensor<[n, "2*h", 6], f32>
}

// A stride of 1 has one phase.
// CHECK-LABEL: func.func @one
// CHECK: %[[Y:.*]] = graph.conv %arg0, %{{.*}} stride [1] dilation [2] low [3] high [4] groups 1
// CHECK-NEXT: return %[[Y]]
func.func @one(%x: !graph.tensor<[n, h, 8], f32>, %w: !graph.tensor<[3, 8, 4], f32>) -> !graph.tensor<[n, "h + 3", 4], f32> {
  %0 = graph.conv_transpose %x, %w stride [1] dilation [2] low [1] high [0] groups 1 : !graph.tensor<[n, h, 8], f32>, !graph.tensor<[3, 8, 4], f32>
  return %0 : !graph.tensor<[n, "h + 3", 4], f32>
}

// Two phases of one tap and of two: the tap that is missing is a zero, `graph.live_taps` says so, and nothing is cut off.
// Without zeros as taps they are between the elements of x.
// EXACT-LABEL: func.func @unequal
// EXACT: graph.pad %arg0, %{{.*}} low [0, 1, 0] high [0, 2, 0] interior [0, 1, 0]
// CHECK-LABEL: func.func @unequal
// CHECK: %[[W:.*]] = graph.pad %arg1, %{{.*}} low [1, 0, 0] high [0, 0, 0] interior [0, 0, 0] : <[3, 8, 4], f32>
// CHECK: %[[S:.*]] = graph.reshape %[[W]] : <[4, 8, 4], f32> to <[2, 2, 1, 8, 4], f32>
// CHECK: %[[R:.*]] = graph.slice %[[S]] start <[1, 0, 0, 0, 0]> step [-1, 1, 1, 1, 1]
// CHECK: %[[C:.*]] = graph.conv %arg0, %{{.*}} stride [1] dilation [1] low [0] high [1] groups 1 {graph.live_taps = array<i64: 1, 3>} : <[n, 16, 8], f32>, <[2, 8, 8], f32>
// CHECK: %[[T:.*]] = graph.transpose %{{.*}} [0, 1, 3, 2, 4]
// CHECK: %[[Y:.*]] = graph.reshape %[[T]] : {{.*}} to <[n, 32, 4], f32>
// CHECK-NEXT: return %[[Y]]
func.func @unequal(%x: !graph.tensor<[n, 16, 8], f32>, %w: !graph.tensor<[3, 8, 4], f32>) -> !graph.tensor<[n, 32, 4], f32> {
  %0 = graph.conv_transpose %x, %w stride [2] dilation [1] low [1] high [0] groups 1 : !graph.tensor<[n, 16, 8], f32>, !graph.tensor<[3, 8, 4], f32>
  return %0 : !graph.tensor<[n, 32, 4], f32>
}

// Phases of 1, 2, 2 and 4 of four taps: along both axes the first tap, or both.
// CHECK-LABEL: func.func @square
// CHECK: graph.conv %arg0, %{{.*}} groups 1 {graph.live_taps = array<i64: 1, 3, 5, 15>} : <[n, h, w, 8], f32>, <[2, 2, 8, 16], f32>
func.func @square(%x: !graph.tensor<[n, h, w, 8], f32>, %w: !graph.tensor<[3, 3, 8, 4], f32>) -> !graph.tensor<[n, "2*h", "2*w", 4], f32> {
  %0 = graph.conv_transpose %x, %w stride [2, 2] dilation [1, 1] low [1, 1] high [0, 0] groups 1 : !graph.tensor<[n, h, w, 8], f32>, !graph.tensor<[3, 3, 8, 4], f32>
  return %0 : !graph.tensor<[n, "2*h", "2*w", 4], f32>
}

// 5 taps, 4 steps: the first phase has two, the others the last of them alone. A mask holds 32 taps: 5 × 7 are too many.
// CHECK-LABEL: func.func @others
// CHECK: graph.conv %arg0, %{{.*}} groups 1 {graph.live_taps = array<i64: 3, 2, 2, 2>} : <[n, h, 8], f32>, <[2, 8, 16], f32>
// CHECK: graph.conv %arg1, %{{.*}} groups 1 : <[n, h, w, 8], f32>, <[5, 7, 8, 16], f32>
func.func @others(%x: !graph.tensor<[n, h, 8], f32>, %i: !graph.tensor<[n, h, w, 8], f32>, %w: !graph.tensor<[5, 8, 4], f32>, %v: !graph.tensor<[9, 13, 8, 4], f32>)
    -> (!graph.tensor<[n, "4*h + 1", 4], f32>, !graph.tensor<[n, "2*h", "2*w", 4], f32>) {
  %0 = graph.conv_transpose %x, %w stride [4] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, h, 8], f32>, !graph.tensor<[5, 8, 4], f32>
  %1 = graph.conv_transpose %i, %v stride [2, 2] dilation [1, 1] low [4, 6] high [3, 5] groups 1 : !graph.tensor<[n, h, w, 8], f32>, !graph.tensor<[9, 13, 8, 4], f32>
  return %0, %1 : !graph.tensor<[n, "4*h + 1", 4], f32>, !graph.tensor<[n, "2*h", "2*w", 4], f32>
}

// Fewer taps than phases: those without are zeros alone.
// CHECK-LABEL: func.func @empty_phase
// CHECK: graph.pad %arg1, %{{.*}} low [0, 0, 0] high [1, 0, 0] interior [0, 0, 0] : <[2, 8, 4], f32>
// CHECK: graph.conv %arg0, %{{.*}} low [0] high [0] groups 1 : <[n, h, 8], f32>, <[1, 8, 12], f32>
func.func @empty_phase(%x: !graph.tensor<[n, h, 8], f32>, %w: !graph.tensor<[2, 8, 4], f32>) -> !graph.tensor<[n, "3*h", 4], f32> {
  %0 = graph.conv_transpose %x, %w stride [3] dilation [1] low [0] high [-1] groups 1 : !graph.tensor<[n, h, 8], f32>, !graph.tensor<[2, 8, 4], f32>
  return %0 : !graph.tensor<[n, "3*h", 4], f32>
}

// Taps that are apart: a spread input.
// CHECK-LABEL: func.func @spread
// CHECK: %[[X:.*]] = graph.pad %arg0, %{{.*}} low [0, 3, 0] high [0, 4, 0] interior [0, 1, 0]
// CHECK: %[[W:.*]] = graph.slice %arg1 start <[2, 0, 0]> step [-1, 1, 1]
// CHECK: graph.conv %[[X]], %{{.*}} stride [1] dilation [2] low [0] high [0] groups 1
func.func @spread(%x: !graph.tensor<[n, 16, 8], f32>, %w: !graph.tensor<[3, 8, 4], f32>) -> !graph.tensor<[n, 34, 4], f32> {
  %0 = graph.conv_transpose %x, %w stride [2] dilation [2] low [1] high [0] groups 1 : !graph.tensor<[n, 16, 8], f32>, !graph.tensor<[3, 8, 4], f32>
  return %0 : !graph.tensor<[n, 34, 4], f32>
}

// Depthwise ones keep the kernels that walk over an image; an image that may be
// empty has no zeros in it.
// CHECK-LABEL: func.func @depthwise
// CHECK: graph.pad
// CHECK: %[[Y:.*]] = graph.conv %{{.*}} groups 8
// CHECK: graph.slice %[[Y]] start <[0, 0, 0]> step [1, 1, 1] : <[n, "max(h*2 - 1, 0) + 1", 8], f32> to <[n, "h*2", 8], f32>
func.func @depthwise(%x: !graph.tensor<[n, h, 8], f32>, %w: !graph.tensor<[2, 8, 1], f32>) -> !graph.tensor<[n, "2*h", 8], f32> {
  %0 = graph.conv_transpose %x, %w stride [2] dilation [1] low [0] high [0] groups 8 : !graph.tensor<[n, h, 8], f32>, !graph.tensor<[2, 8, 1], f32>
  return %0 : !graph.tensor<[n, "2*h", 8], f32>
}

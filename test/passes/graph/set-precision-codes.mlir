// RUN: kpc-opt %s --split-input-file --set-precision=to=f16 | FileCheck %s
// RUN: kpc-opt %s --split-input-file --form-regions=rows --set-precision=to=f16 | FileCheck %s --check-prefix=FORMED

!x = !graph.tensor<[b, 64], f32>
!c = !graph.tensor<[b, 64], f8E4M3FN>
!w = !graph.tensor<[64, 64], f32>
!r = !graph.tensor<[64], f32>

// The codes come from another kernel, as numbers of 16 bits, and a third one scales the sums. Those are beyond 16 bits, though they become codes again.
// CHECK-LABEL: func.func @across_kernels
// CHECK: graph.region "codes"{{.*}} -> !graph.tensor<[b, 64], f16>
// CHECK: graph.region "product"{{.*}} -> !graph.tensor<[b, 64], f32>
// CHECK: graph.region "scaled"{{.*}} -> !graph.tensor<[b, 64], f16>
func.func @across_kernels(%x: !x) -> !x {
  %w = graph.weight "m#w" [] : !w
  %s = graph.weight "m#s" [] : !r
  %c = graph.region "codes"(%x) : (!x) -> !x {
  ^bb0(%a: !x):
    %0 = graph.cast %a to f8E4M3FN : !x
    %1 = graph.cast %0 to f32 : !c
    graph.yield %1 : !x
  }
  %p = graph.region "product"(%c, %w) : (!x, !w) -> !x {
  ^bb0(%a: !x, %b: !w):
    %0 = graph.matmul %a, %b : !x, !w
    graph.yield %0 : !x
  }
  %q = graph.region "scaled"(%p, %s) : (!x, !r) -> !x {
  ^bb0(%a: !x, %b: !r):
    %0 = graph.broadcast %b : !r to !x
    %1 = graph.mul %a, %0 : !x
    %2 = graph.cast %1 to f8E4M3FN : !x
    %3 = graph.cast %2 to f32 : !c
    graph.yield %3 : !x
  }
  %y = graph.region "last"(%q, %w) : (!x, !w) -> !x {
  ^bb0(%a: !x, %b: !w):
    %0 = graph.matmul %a, %b : !x, !w
    graph.yield %0 : !x
  }
  return %y : !x
}

// -----

!x = !graph.tensor<[b, 64], f32>
!t = !graph.tensor<[64, b], f32>
!c = !graph.tensor<[b, 64], ui8>
!w = !graph.tensor<[64, 64], f32>
!s = !graph.tensor<[], f32>

// A zero point is taken off the codes of integers, and sums are turned in a kernel of their own.
// CHECK-LABEL: func.func @zero_point
// CHECK: graph.region "product"{{.*}} -> !graph.tensor<[b, 64], f32>
// CHECK: graph.region "turned"{{.*}} -> !graph.tensor<[64, b], f32>
func.func @zero_point(%x: !x) -> !t {
  %w = graph.weight "m#w" [] : !w
  %p = graph.region "product"(%x, %w) : (!x, !w) -> !x {
  ^bb0(%a: !x, %b: !w):
    %0 = graph.cast %a to ui8 : !x
    %1 = graph.cast %0 to f32 : !c
    %z = graph.constant dense<128.0> : tensor<f32>
    %2 = graph.broadcast %z : !s to !x
    %3 = graph.sub %1, %2 : !x
    %4 = graph.matmul %3, %b : !x, !w
    graph.yield %4 : !x
  }
  %t = graph.region "turned"(%p) : (!x) -> !t {
  ^bb0(%a: !x):
    %0 = graph.transpose %a [1, 0] : !x
    graph.yield %0 : !t
  }
  %y = graph.region "scaled"(%t) : (!t) -> !t {
  ^bb0(%a: !t):
    %f = graph.constant dense<0.5> : tensor<f32>
    %0 = graph.broadcast %f : !s to !t
    %1 = graph.mul %a, %0 : !t
    graph.yield %1 : !t
  }
  return %y : !t
}

// -----

!x = !graph.tensor<[1, 9, 11, 64], f32>
!t = !graph.tensor<[1, 64, 9, 11], f32>
!c = !graph.tensor<[1, 9, 11, 64], f8E4M3FN>
!w = !graph.tensor<[1, 1, 64, 64], f32>
!r = !graph.tensor<[1, 1, 1, 64], f32>

// A kernel that only changes the order of dims leaves the scale to the product's own.
// FORMED-LABEL: func.func @turned
// FORMED: graph.conv
// FORMED: graph.mul
// FORMED: graph.yield %{{.*}} : !graph.tensor<[1, 9, 11, 64], f16>
// FORMED: graph.transpose
func.func @turned(%a: !c) -> !t {
  %w = graph.weight "m#w" [] : !w
  %s = graph.weight "m#s" [] : !r
  %0 = graph.cast %a to f32 : !c
  %1 = graph.conv %0, %w stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !x, !w
  %2 = graph.broadcast %s : !r to !x
  %3 = graph.mul %1, %2 : !x
  %4 = graph.transpose %3 [0, 3, 1, 2] : !x
  return %4 : !t
}

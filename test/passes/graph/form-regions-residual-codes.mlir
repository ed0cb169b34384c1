// RUN: kpc-opt %s --split-input-file --form-regions=rows | FileCheck %s
// RUN: kpc-opt %s --split-input-file --form-regions=rows --set-precision=to=f16 | FileCheck %s --check-prefix=STORED

!x = !graph.tensor<[b, 64], f32>
!s = !graph.tensor<[b], f32>
!k = !graph.tensor<[b, 1], f32>
!r = !graph.tensor<[1, 64], f32>
!c = !graph.tensor<[b, 64], f8E4M3FN>
!w = !graph.tensor<[64, 64], f8E4M3FN>

// The kernel of a norm adds the residual, as in 16 bits; the product's own kernel scales it and adds the bias. What the norm gives is stored in 16 bits
// where a later residual reads it, beside the codes.
// CHECK-LABEL: func.func @norm_adds
// CHECK: %[[P:.*]] = graph.region
// CHECK: graph.matmul
// CHECK: graph.mul
// CHECK: %[[BIASED:.*]] = graph.add
// CHECK-NEXT: graph.yield %[[BIASED]]
// CHECK: %[[N:.*]]:2 = graph.region
// CHECK: %[[SUM:.*]] = graph.add
// CHECK: graph.reduce sum
// CHECK: graph.yield {{.*}} : !graph.tensor<[b, 64], f8E4M3FN>, !graph.tensor<[b, 64], f32>
// STORED-LABEL: func.func @norm_adds
// STORED: graph.region {{.*}} -> (!graph.tensor<[b, 64], f8E4M3FN>, !graph.tensor<[b, 64], f16>)
func.func @norm_adds(%a: !c, %x: !x, %v: !c) -> !x {
  %w = graph.weight "m.onnx#w"[] : !w
  %scale = graph.weight "m.onnx#scale"[] : !r
  %bias = graph.weight "m.onnx#bias"[] : !r
  %p = graph.matmul %a, %w : !c, !w
  %scales = graph.broadcast %scale : !r to !x
  %q = graph.mul %p, %scales : !x
  %biases = graph.broadcast %bias : !r to !x
  %y = graph.add %q, %biases : !x
  %0 = graph.add %y, %x : !x
  %1 = graph.mul %0, %0 : !x
  %2 = graph.reduce sum, %1 axes [1] : !x
  %3 = graph.reshape %2 : !s to !k
  %4 = graph.rsqrt %3 : !k
  %5 = graph.broadcast %4 : !k to !x
  %6 = graph.mul %0, %5 : !x
  %7 = graph.cast %6 to f8E4M3FN : !x
  %8 = graph.matmul %7, %w : !c, !w
  %9 = graph.mul %8, %scales : !x
  %10 = graph.add %9, %6 : !x
  return %10 : !x
}

// -----

!x = !graph.tensor<[b, 64], f32>
!r = !graph.tensor<[1, 64], f32>
!c = !graph.tensor<[b, 64], f8E4M3FN>
!w = !graph.tensor<[64, 64], f32>

// What has no tensor cores for codes multiplies their values. Such sums are beyond 16 bits, too: their own kernel scales them, whatever reads
// the result.
// CHECK-LABEL: func.func @rounded
// CHECK: graph.region
// CHECK: graph.matmul
// CHECK: %[[SCALED:.*]] = graph.mul
// CHECK-NEXT: graph.yield %[[SCALED]]
// CHECK: graph.region
// CHECK: graph.sigmoid
// CHECK: return
func.func @rounded(%a: !c, %u: !x) -> !x {
  %w = graph.weight "m.onnx#w"[] : !w
  %scale = graph.weight "m.onnx#scale"[] : !r
  %wide = graph.cast %a to f32 : !c
  %p = graph.matmul %wide, %w : !x, !w
  %scales = graph.broadcast %scale : !r to !x
  %g = graph.mul %p, %scales : !x
  %s = graph.sigmoid %g : !x
  %silu = graph.mul %g, %s : !x
  %h = graph.matmul %u, %w : !x, !w
  %y = graph.mul %silu, %h : !x
  return %y : !x
}

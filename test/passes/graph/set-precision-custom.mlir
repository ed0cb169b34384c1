// RUN: kpc-opt %s --set-precision=wide-share=0 | FileCheck %s

// What a user's operator touches keeps its type. A kernel of its own narrows it once for the GEMMs that multiply it with narrow weights.
// CHECK: %[[P:.*]] = graph.region "p"({{.*}}) -> !graph.tensor<[n, 64], f32> {
// CHECK: %[[C:.*]] = graph.region "c"(%[[P]]) : (!graph.tensor<[n, 64], f32>) -> !graph.tensor<[n, 64], f32> {
// CHECK: %[[N:.*]] = graph.region "cast"(%[[C]]) : (!graph.tensor<[n, 64], f32>) -> !graph.tensor<[n, 64], f16> {
// CHECK: graph.region "q"(%[[N]], {{.*}}) : (!graph.tensor<[n, 64], f16>, !graph.tensor<[64, 64], f16>)
// CHECK-NOT: graph.region "cast"
// CHECK: graph.region "r"(%[[N]], {{.*}}) : (!graph.tensor<[n, 64], f16>, !graph.tensor<[64, 64], f16>)
!t = !graph.tensor<[n, 64], f32>
!w = !graph.tensor<[64, 64], f32>
func.func @main(%x: !t) -> (!t, !t) {
  %w = graph.weight "m.onnx#w" [] : !w
  %p = graph.region "p" (%x, %w) : (!t, !w) -> !t {
  ^bb0(%a: !t, %b: !w):
    %0 = graph.matmul %a, %b : !t, !w
    graph.yield %0 : !t
  }
  %c = graph.region "c" (%p) : (!t) -> !t {
  ^bb0(%a: !t):
    %0 = graph.custom "a::b" (%a) host {function = "f", library = "l", sizes = #graph.dims<[]>} : (!t) -> !t
    graph.yield %0 : !t
  }
  %q = graph.region "q" (%c, %w) : (!t, !w) -> !t {
  ^bb0(%a: !t, %b: !w):
    %0 = graph.matmul %a, %b : !t, !w
    graph.yield %0 : !t
  }
  %r = graph.region "r" (%c, %w) : (!t, !w) -> !t {
  ^bb0(%a: !t, %b: !w):
    %0 = graph.matmul %a, %b : !t, !w
    graph.yield %0 : !t
  }
  return %q, %r : !t, !t
}

// RUN: kpc-opt %s --form-regions --set-precision="keep=^wide" | FileCheck %s

// Tensor cores take factors of one type. What a GEMM in fp32 alone reads is stored in f32, what others read too is widened by a kernel,
// and the GEMM after it reads its result narrow.
!x = !graph.tensor<[4096, 512], f32>
!w = !graph.tensor<[512, 512], f32>

// CHECK-LABEL: @alone(
// CHECK: %[[FIRST:.*]] = graph.region "first"({{.*}}) : ({{.*}}) -> !graph.tensor<[4096, 512], f32>
// CHECK: %[[WIDE:.*]] = graph.region "wide"(%[[FIRST]], %{{.*}})  : (!graph.tensor<[4096, 512], f32>, !graph.tensor<[512, 512], f32>)
// CHECK: %[[CAST:.*]] = graph.region "cast"(%[[WIDE]])
// CHECK: graph.region "last"(%[[CAST]], %{{.*}})  : (!graph.tensor<[4096, 512], f16>, !graph.tensor<[512, 512], f16>)
func.func @alone(%x: !x) -> !x {
  %w = graph.weight "m#w" [] : !w
  %v = graph.weight "m#v" [] : !w
  %u = graph.weight "m#u" [] : !w
  %0 = graph.matmul %x, %w : !x, !w loc("first")
  %1 = graph.matmul %0, %v : !x, !w loc("wide")
  %2 = graph.matmul %1, %u : !x, !w loc("last")
  return %2 : !x
}

// CHECK-LABEL: @shared(
// CHECK: %[[FIRST:.*]] = graph.region "first"
// CHECK: %[[CAST:.*]] = graph.region "cast"(%[[FIRST]]) : (!graph.tensor<[4096, 512], f16>) -> !graph.tensor<[4096, 512], f32>
// CHECK: graph.region "wide"(%[[CAST]], %{{.*}})  : (!graph.tensor<[4096, 512], f32>, !graph.tensor<[512, 512], f32>)
// CHECK: graph.region "narrow"(%[[FIRST]], %{{.*}})  : (!graph.tensor<[4096, 512], f16>, !graph.tensor<[512, 512], f16>)
func.func @shared(%x: !x) -> (!x, !x) {
  %w = graph.weight "m#w" [] : !w
  %v = graph.weight "m#v" [] : !w
  %u = graph.weight "m#u" [] : !w
  %0 = graph.matmul %x, %w : !x, !w loc("first")
  %1 = graph.matmul %0, %v : !x, !w loc("wide")
  %2 = graph.matmul %0, %u : !x, !w loc("narrow")
  return %1, %2 : !x, !x
}

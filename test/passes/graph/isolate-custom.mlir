// RUN: kpc-opt %s --isolate-custom | FileCheck %s
// RUN: kpc-opt %s --isolate-custom=gpu | FileCheck %s --check-prefix=GPU
// RUN: kpc-opt %s --isolate-custom=gpu --form-regions --lower-regions | FileCheck %s --check-prefix=KERNEL

// The code of the class is kept. One value may be two operands. A 32-bit argument is required to fit.
// CHECK-LABEL: func.func @main(
// CHECK: graph.region "a::b"(%{{.*}}, %{{.*}})
// CHECK: ^bb0(%[[A:.*]]: !graph.tensor<[n, 8], f32>, %[[B:.*]]: !graph.tensor<[n, 8], f32>):
// CHECK: graph.custom "a::b"(%[[A]], %[[B]]) host {{.*}} :
// CHECK: graph.yield
// GPU: graph.requirements = [{left = "n*8", reason = "an argument of the custom operator 'a::b' has 32 bits", relation = "at most", right = "2147483647"}]
// GPU: graph.custom "a::b"(%{{.*}}, %{{.*}}) cuda
// GPU-NOT: host {
// KERNEL: plan.launch @a__b (%{{.*}}, %{{.*}}) -> (%{{.*}}) sizes <["n*8", n, 1, 1, 0]>
// KERNEL-SAME: kind = "custom"
// KERNEL-SAME: title = "a::b"
// KERNEL: func.func @a__b(%[[X:.*]]: memref<f32>, %[[Z:.*]]: memref<f32>, %[[Y:.*]]: memref<f32>, %[[S:.*]]: index, %[[GX:.*]]: index, %[[GY:.*]]: index, %[[GZ:.*]]: index, %[[M:.*]]: index)
// KERNEL: kernel.custom "a::b"(%[[X]], %[[Z]]) -> (%[[Y]]) sizes(%[[S]], %[[GX]], %[[GY]], %[[GZ]], %[[M]]) cuda {{.*}}tensors = {{\[\[}}"f32", "2"], ["f32", "2"], ["f32", "2"]]
func.func @main(%x: !graph.tensor<[n, 8], f32> {graph.name = "x"}) -> (!graph.tensor<[n, 8], f32> {graph.name = "y"}) {
  %y = graph.custom "a::b" (%x, %x)
    cuda {arguments = ["i32"], block = array<i64: 32, 1, 1>, function = "f", sizes = #graph.dims<["n*8", n, 1, 1, 0]>, source = "..."}
    host {function = "f", library = "libf.so", sizes = #graph.dims<[]>}
    : (!graph.tensor<[n, 8], f32>, !graph.tensor<[n, 8], f32>) -> !graph.tensor<[n, 8], f32>
  return %y : !graph.tensor<[n, 8], f32>
}

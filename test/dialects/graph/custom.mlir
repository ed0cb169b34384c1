// RUN: kpc-opt %s | kpc-opt | FileCheck %s

// CHECK-LABEL: func.func @both(
func.func @both(%x: !graph.tensor<[n, 8], f32>) -> (!graph.tensor<[n, 8], f32>, !graph.tensor<[n], i1>) {
  // CHECK: graph.custom "my.ops::F"(%{{.*}}, %{{.*}}) cuda {arguments = ["i64"], block = array<i64: 32, 1, 1>, file = "f.cu", function = "f<float>", macros = {{\[\[}}"A", "1"]], sizes = #graph.dims<["n*8", n, 1, 1, 0]>, source = "..."} host {function = "f", library = "libf.so", sizes = #graph.dims<[]>} : (!graph.tensor<[n, 8], f32>, !graph.tensor<[n, 8], f32>) -> (!graph.tensor<[n, 8], f32>, !graph.tensor<[n], i1>)
  %y:2 = graph.custom "my.ops::F" (%x, %x)
    cuda {arguments = ["i64"], block = array<i64: 32, 1, 1>, file = "f.cu", function = "f<float>", macros = [["A", "1"]],
          sizes = #graph.dims<["n*8", n, 1, 1, 0]>, source = "..."}
    host {function = "f", library = "libf.so", sizes = #graph.dims<[]>}
    : (!graph.tensor<[n, 8], f32>, !graph.tensor<[n, 8], f32>) -> (!graph.tensor<[n, 8], f32>, !graph.tensor<[n], i1>)
  return %y#0, %y#1 : !graph.tensor<[n, 8], f32>, !graph.tensor<[n], i1>
}

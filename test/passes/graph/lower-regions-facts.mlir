// RUN: kpc-opt %s --lower-regions | FileCheck %s

// Launches say which nodes they compute and how many floating-point operations they take. A kernel that two launches
// share has the nodes of each at that launch.

!a = !graph.tensor<[n, 8], f32>
!w = !graph.tensor<[8, 4], f32>
!y = !graph.tensor<[n, 4], f32>
!b = !graph.tensor<[n, 4], i1>
!i = !graph.tensor<[n, 4], i32>
!m = !graph.tensor<[n, 6, 6, 4], f32>
!k = !graph.tensor<[3, 3, 2, 8], f32>
!p = !graph.tensor<[n, 6, 6, 8], f32>
!each = !graph.tensor<[3, 3, 1, 8], f32>

// 2*n*4*8 for the product, n*4 for relu, n*4 for the addition; nothing for the constant.
// CHECK: plan.launch @gemm {{.*}} {flops = #graph.dims<["n*72"]>, graph.exact, kind = "GEMM", name = "gemm", nodes = ["Gemm_0", "Relu_1"], root = "matmul", title = "GEMM {n}x4x8 + ReLU"}
// Comparisons, selections, conversions and integers count nothing.
// CHECK: plan.launch @choose {{.*}} {flops = #graph.dims<[0]>, kind = "elementwise", name = "choose", nodes = ["Where_2"], title = "select of {n}x4"}
// Each element of x once.
// CHECK: plan.launch @sum {{.*}} {flops = #graph.dims<["n*4"]>, kind = "reduction", name = "sum", title = "sum over 4"}
// Two groups of two channels: 2 * (n*36*8) * (3*3*2).
// CHECK: plan.launch @conv {{.*}} {flops = #graph.dims<["n*10368"]>, kind = "convolution", name = "conv", root = "grouped conv", title = "conv 3x3 4->8 in 2 groups to 6x6"}
// CHECK: plan.launch @depthwise {{.*}} root = "depthwise conv"
// 9 elements for each of n*36*8.
// CHECK: plan.launch @pool {{.*}} {flops = #graph.dims<["n*2592"]>, kind = "pooling", name = "pool", title = "max pool 3x3"}
module attributes {graph.symbols = {n = {min = 1}}} {
  func.func @main(%a: !a, %w: !w, %m: !m, %k: !k, %e: !each) -> (!y, !i, !graph.tensor<[n], f32>, !p, !p) {
    %0 = graph.region "gemm" (%a, %w) : (!a, !w) -> !y {
    ^bb0(%x: !a, %v: !w):
      %1 = graph.matmul %x, %v : !a, !w loc("Gemm_0"("Gemm"))
      %c = graph.constant dense<1.0> : tensor<f32> loc("Constant_9"("Constant"))
      %d = graph.broadcast %c : !graph.tensor<[], f32> to !y loc("Gemm_0"("Gemm"))
      %2 = graph.add %1, %d : !y loc("Gemm_0"("Gemm"))
      %3 = graph.relu %2 : !y loc(fused["Relu_1"("Relu"), "Gemm_0"("Gemm")])
      graph.yield %3 : !y
    }
    %5 = graph.region "choose" (%0) : (!y) -> !i {
    ^bb0(%x: !y):
      %1 = graph.compare lt, %x, %x : !y loc("Where_2"("Where"))
      %2 = graph.cast %x to i32 : !y loc("Where_2"("Where"))
      %3 = graph.add %2, %2 : !i loc("Where_2"("Where"))
      %4 = graph.select %1, %2, %3 : !b, !i loc("Where_2"("Where"))
      graph.yield %4 : !i
    }
    %6 = graph.region "sum" (%0) : (!y) -> !graph.tensor<[n], f32> {
    ^bb0(%x: !y):
      %1 = graph.reduce sum, %x axes [1] : !y
      graph.yield %1 : !graph.tensor<[n], f32>
    }
    %7 = graph.region "conv" (%m, %k) : (!m, !k) -> !p {
    ^bb0(%x: !m, %v: !k):
      %1 = graph.conv %x, %v stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 2 : !m, !k
      graph.yield %1 : !p
    }
    %9 = graph.region "depthwise" (%7, %e) : (!p, !each) -> !p {
    ^bb0(%x: !p, %v: !each):
      %1 = graph.conv %x, %v stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 8 : !p, !each
      graph.yield %1 : !p
    }
    %8 = graph.region "pool" (%9) : (!p) -> !p {
    ^bb0(%x: !p):
      %1 = graph.window max, %x window [1, 3, 3, 1] stride [1, 1, 1, 1] dilation [1, 1, 1, 1] low [0, 1, 1, 0] high [0, 1, 1, 0] : !p
      graph.yield %1 : !p
    }
    return %0, %5, %6, %7, %8 : !y, !i, !graph.tensor<[n], f32>, !p, !p
  }
}

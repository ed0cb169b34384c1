// What people read of a launch: its kind, a title with sizes over the module's symbols, and the module of the model.
// RUN: kpc-opt %s --lower-regions | FileCheck %s
!x = !graph.tensor<["b*8", 64], f32>
!w = !graph.tensor<[64, 256], f32>
!y = !graph.tensor<["b*8", 256], f32>
!v = !graph.tensor<[256], f32>
!s = !graph.tensor<["b*8"], f32>
!s1 = !graph.tensor<["b*8", 1], f32>
!n = !graph.tensor<[], f32>
!i = !graph.tensor<[b, 16, 16, 8], f32>
!k = !graph.tensor<[3, 3, 8, 32], f32>
!o = !graph.tensor<[b, 8, 8, 32], f32>
!g = !graph.tensor<[3, 3, 1, 8], f32>
!q = !graph.tensor<[b, 4, 10, 16], f32>

// CHECK: plan.launch @gemm {{.*}}kind = "GEMM", name = "gemm", nodes = ["/encoder/layer.3/mlp/MatMul", "/encoder/layer.3/mlp/Add"], root = "matmul", scope = "encoder.layer.3.mlp", title = "GEMM {b*8}x256x64 + bias + GELU"
// A cast of a node that is called Gelu is none.
// CHECK: plan.launch @twice {{.*}}kind = "elementwise"{{.*}}scope = "blocks.1.act", title = "ReLU + SiLU of {b*8}x256"
// PyTorch's form in place has the name of the other one.
// CHECK: plan.launch @place {{.*}}title = "hard-swish of {b*8}x256"
// CHECK: plan.launch @norm {{.*}}kind = "normalization"{{.*}}scope = "layer1.0.norm", title = "add + LayerNorm 256"
// CHECK: plan.launch @soft {{.*}}kind = "softmax"{{.*}}title = "softmax 256"
// CHECK: plan.launch @sum {{.*}}kind = "reduction"{{.*}}title = "sum over 256"
// CHECK: plan.launch @conv {{.*}}kind = "convolution"{{.*}}title = "conv 3x3 8->32 /2 to 8x8 + ReLU"
// CHECK: plan.launch @depth {{.*}}kind = "convolution"{{.*}}title = "depthwise conv 3x3 8 to 16x16"
// CHECK: plan.launch @pool {{.*}}kind = "pooling"{{.*}}title = "max pool 2x2 /2"
// CHECK: plan.launch @attention {{.*}}kind = "attention"{{.*}}title = "attention 4 heads x 16, 10x10"
// CHECK: plan.launch @move {{.*}}kind = "movement"{{.*}}title = "transpose of 256x{b*8}"
module attributes {graph.symbols = {b = {min = 1}}} {
  func.func @main(%x: !x, %i: !i, %q: !q) -> (!y, !y, !y, !y, !s, !o, !i, !graph.tensor<[b, 8, 8, 8], f32>, !q, !graph.tensor<[256, "b*8"], f32>)
      attributes {graph.scopes = {act_2 = "blocks.1.act"}} {
    %w = graph.weight "w" [] : !w
    %v = graph.weight "v" [] : !v
    %k = graph.weight "k" [] : !k
    %g = graph.weight "g" [] : !g
    %0 = graph.region "gemm" (%x, %w, %v) : (!x, !w, !v) -> !y {
    ^bb0(%a: !x, %m: !w, %c: !v):
      %1 = graph.matmul %a, %m : !x, !w loc("/encoder/layer.3/mlp/MatMul"("MatMul"))
      %2 = graph.broadcast %c : !v to !y loc("/encoder/layer.3/mlp/Add"("Add"))
      %3 = graph.add %1, %2 : !y loc("/encoder/layer.3/mlp/Add"("Add"))
      %4 = graph.constant dense<0.707106769> : tensor<f32>
      %5 = graph.broadcast %4 : !n to !y loc("/encoder/layer.3/mlp/Add"("Add"))
      %6 = graph.mul %3, %5 : !y loc("/encoder/layer.3/mlp/Add"("Add"))
      %7 = graph.erf %6 : !y loc("/encoder/layer.3/mlp/Add"("Add"))
      %8 = graph.constant dense<1.0> : tensor<f32>
      %9 = graph.broadcast %8 : !n to !y loc("/encoder/layer.3/mlp/Add"("Add"))
      %10 = graph.add %7, %9 : !y loc("/encoder/layer.3/mlp/Add"("Add"))
      %11 = graph.mul %3, %10 : !y loc("/encoder/layer.3/mlp/Add"("Add"))
      %12 = graph.mul %11, %5 : !y loc("/encoder/layer.3/mlp/Add"("Add"))
      graph.yield %12 : !y
    }
    %t = graph.region "twice" (%0) : (!y) -> !y {
    ^bb0(%a: !y):
      %h = graph.cast %a to f16 : !y loc("act_2"("Gelu"))
      %f = graph.cast %h to f32 : !graph.tensor<["b*8", 256], f16> loc("act_2"("Gelu"))
      %1 = graph.relu %f : !y loc("act_2"("Relu"))
      %2 = graph.sigmoid %1 : !y loc("act_2"("Sigmoid"))
      %3 = graph.mul %1, %2 : !y loc("act_2"("Mul"))
      graph.yield %3 : !y
    }
    %hs = graph.region "place" (%t) : (!y) -> !y {
    ^bb0(%a: !y):
      %1 = graph.tanh %a : !y loc("act_3"("aten.hardswish_.default"))
      %2 = graph.mul %a, %1 : !y loc("act_3"("aten.hardswish_.default"))
      graph.yield %2 : !y
    }
    %l = graph.region "norm" (%0, %hs) : (!y, !y) -> !y {
    ^bb0(%a: !y, %b: !y):
      %r = graph.add %a, %b : !y loc("/layer1/layer1.0/norm/Add"("Add"))
      %1 = graph.reduce sum, %r axes [1] : !y loc("/layer1/layer1.0/norm/ReduceMean"("ReduceMean"))
      %2 = graph.reshape %1 : !s to !s1
      %3 = graph.broadcast %2 : !s1 to !y
      %4 = graph.sub %r, %3 : !y
      %5 = graph.mul %4, %4 : !y
      %6 = graph.reduce sum, %5 axes [1] : !y
      %7 = graph.rsqrt %6 : !s
      %8 = graph.reshape %7 : !s to !s1
      %9 = graph.broadcast %8 : !s1 to !y
      %10 = graph.mul %4, %9 : !y
      graph.yield %10 : !y
    }
    %p = graph.region "soft" (%0) : (!y) -> !y {
    ^bb0(%a: !y):
      %1 = graph.reduce max, %a axes [1] : !y
      %2 = graph.reshape %1 : !s to !s1
      %3 = graph.broadcast %2 : !s1 to !y
      %4 = graph.sub %a, %3 : !y
      %5 = graph.exp %4 : !y
      %6 = graph.reduce sum, %5 axes [1] : !y
      %7 = graph.reshape %6 : !s to !s1
      %8 = graph.broadcast %7 : !s1 to !y
      %9 = graph.div %5, %8 : !y
      graph.yield %9 : !y
    }
    %u = graph.region "sum" (%0) : (!y) -> !s {
    ^bb0(%a: !y):
      %1 = graph.reduce sum, %a axes [1] : !y
      graph.yield %1 : !s
    }
    %c = graph.region "conv" (%i, %k) : (!i, !k) -> !o {
    ^bb0(%a: !i, %m: !k):
      %1 = graph.conv %a, %m stride [2, 2] dilation [1, 1] low [1, 1] high [1, 1] groups 1 : !i, !k
      %2 = graph.relu %1 : !o
      graph.yield %2 : !o
    }
    %d = graph.region "depth" (%i, %g) : (!i, !g) -> !i {
    ^bb0(%a: !i, %m: !g):
      %1 = graph.conv %a, %m stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 8 : !i, !g
      graph.yield %1 : !i
    }
    %e = graph.region "pool" (%i) : (!i) -> !graph.tensor<[b, 8, 8, 8], f32> {
    ^bb0(%a: !i):
      %1 = graph.window max, %a window [1, 2, 2, 1] stride [1, 2, 2, 1] dilation [1, 1, 1, 1] low [0, 0, 0, 0] high [0, 0, 0, 0] : !i
      graph.yield %1 : !graph.tensor<[b, 8, 8, 8], f32>
    }
    %z = graph.region "attention" (%q) : (!q) -> !q {
    ^bb0(%a: !q):
      %1 = graph.attention %a, %a, %a scale 0.25 : !q, !q, !q
      graph.yield %1 : !q
    }
    %j = graph.region "move" (%0) : (!y) -> !graph.tensor<[256, "b*8"], f32> {
    ^bb0(%a: !y):
      %1 = graph.transpose %a [1, 0] : !y
      graph.yield %1 : !graph.tensor<[256, "b*8"], f32>
    }
    return %0, %t, %l, %p, %u, %c, %d, %e, %z, %j : !y, !y, !y, !y, !s, !o, !i, !graph.tensor<[b, 8, 8, 8], f32>, !q, !graph.tensor<[256, "b*8"], f32>
  }
}

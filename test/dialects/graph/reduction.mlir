// RUN: kpc-opt %s | kpc-opt | FileCheck %s

!x = !graph.tensor<[n, 8, 4], f32>

// CHECK-LABEL: func.func @reduce(
func.func @reduce(%x: !x) -> (!graph.tensor<[n], f32>, !graph.tensor<[8, 4], f32>, !graph.tensor<[], f32>, !x) {
  // CHECK: graph.reduce sum, %{{.*}} axes [1, 2] : <[n, 8, 4], f32>
  %0 = graph.reduce sum, %x axes [1, 2] : !x
  // CHECK: graph.reduce prod, %{{.*}} axes [0] : <[n, 8, 4], f32>
  %1 = graph.reduce prod, %x axes [0] : !x
  // CHECK: graph.reduce max, %{{.*}} axes [0, 1, 2] : <[n, 8, 4], f32>
  %2 = graph.reduce max, %x axes [0, 1, 2] : !x
  // CHECK: graph.reduce min, %{{.*}} axes [] : <[n, 8, 4], f32>
  %3 = graph.reduce min, %x axes [] : !x
  return %0, %1, %2, %3 : !graph.tensor<[n], f32>, !graph.tensor<[8, 4], f32>, !graph.tensor<[], f32>, !x
}

// CHECK-LABEL: func.func @arg_reduce(
func.func @arg_reduce(%x: !x) -> (!graph.tensor<[n, 4], i64>, !graph.tensor<[n, 8], i64>) {
  // CHECK: graph.arg_reduce max, %{{.*}} axis 1 : <[n, 8, 4], f32>
  %0 = graph.arg_reduce max, %x axis 1 : !x
  // CHECK: graph.arg_reduce min, %{{.*}} axis 2 select_last : <[n, 8, 4], f32>
  %1 = graph.arg_reduce min, %x axis 2 select_last : !x
  return %0, %1 : !graph.tensor<[n, 4], i64>, !graph.tensor<[n, 8], i64>
}

// CHECK-LABEL: func.func @cumsum(
func.func @cumsum(%x: !x) -> !x {
  // CHECK: graph.cumsum %{{.*}} axis 0 : <[n, 8, 4], f32>
  %0 = graph.cumsum %x axis 0 : !x
  // CHECK: graph.cumsum %{{.*}} axis 2 exclusive reverse : <[n, 8, 4], f32>
  %1 = graph.cumsum %x axis 2 exclusive reverse : !x
  // CHECK: graph.cumsum %{{.*}} axis 0 block 32 : <[n, 8, 4], f32>
  %2 = graph.cumsum %x axis 0 block 32 : !x
  return %1 : !x
}

// CHECK-LABEL: func.func @window(
func.func @window(%x: !x) -> !graph.tensor<[n, 4, 4], f32> {
  // CHECK: graph.window max, %{{.*}} window [1, 3, 1] stride [1, 2, 1] dilation [1, 1, 1] low [0, 1, 0] high [0, 1, 0] : <[n, 8, 4], f32>
  %0 = graph.window max, %x window [1, 3, 1] stride [1, 2, 1] dilation [1, 1, 1] low [0, 1, 0] high [0, 1, 0] : !x
  return %0 : !graph.tensor<[n, 4, 4], f32>
}

// CHECK-LABEL: func.func @matmul(
func.func @matmul(%x: !x, %w: !graph.tensor<[1, 4, 6], f32>) -> !graph.tensor<[n, 8, 6], f32> {
  // CHECK: graph.matmul %{{.*}}, %{{.*}} : <[n, 8, 4], f32>, <[1, 4, 6], f32>
  %0 = graph.matmul %x, %w : !x, !graph.tensor<[1, 4, 6], f32>
  return %0 : !graph.tensor<[n, 8, 6], f32>
}

// CHECK-LABEL: func.func @conv(
func.func @conv(%x: !x, %w: !graph.tensor<[3, 2, 6], f32>) -> !graph.tensor<[n, 4, 6], f32> {
  // CHECK: graph.conv %{{.*}}, %{{.*}} stride [2] dilation [1] low [1] high [1] groups 2 : <[n, 8, 4], f32>, <[3, 2, 6], f32>
  %0 = graph.conv %x, %w stride [2] dilation [1] low [1] high [1] groups 2 : !x, !graph.tensor<[3, 2, 6], f32>
  return %0 : !graph.tensor<[n, 4, 6], f32>
}

// CHECK-LABEL: func.func @conv_transpose(
func.func @conv_transpose(%x: !graph.tensor<[n, h, 4], f32>, %w: !graph.tensor<[3, 4, 6], f32>) -> !graph.tensor<[n, "max(2*h + -2, 0)", 12], f32> {
  // CHECK: graph.conv_transpose %{{.*}}, %{{.*}} stride [2] dilation [1] low [1] high [2] groups 2 : <[n, h, 4], f32>, <[3, 4, 6], f32>
  %0 = graph.conv_transpose %x, %w stride [2] dilation [1] low [1] high [2] groups 2 : !graph.tensor<[n, h, 4], f32>, !graph.tensor<[3, 4, 6], f32>
  return %0 : !graph.tensor<[n, "max(2*h + -2, 0)", 12], f32>
}

!q = !graph.tensor<[b, 8, s, 64], f16>
!kv = !graph.tensor<[b, 2, "past + s", 64], f16>
!seen = !graph.tensor<[1, 1, s, "past + s"], i1>
!bias = !graph.tensor<[b, 8, 1, "past + s"], f16>

// CHECK-LABEL: func.func @attention(
func.func @attention(%q: !q, %k: !kv, %v: !kv, %m: !seen, %b: !bias) -> (!q, !q, !q) {
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} scale 1.250000e-01 : !graph.tensor<[b, 8, s, 64], f16>, !graph.tensor<[b, 2, "past + s", 64], f16>, !graph.tensor<[b, 2, "past + s", 64], f16>
  %0 = graph.attention %q, %k, %v scale 0.125 : !q, !kv, !kv
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} scale 1.250000e-01 causal <[past]> : {{.*}}, !graph.tensor<[1, 1, s, "past + s"], i1>
  %1 = graph.attention %q, %k, %v mask %m scale 0.125 causal <[past]> : !q, !kv, !kv, !seen
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} mask %{{.*}} scale 1.250000e-01 softcap 5.000000e+01 : {{.*}}, !graph.tensor<[b, 8, 1, "past + s"], f16>, !graph.tensor<[1, 1, s, "past + s"], i1>
  %2 = graph.attention %q, %k, %v bias %b mask %m scale 0.125 softcap 50.0 : !q, !kv, !kv, !bias, !seen
  return %0, %1, %2 : !q, !q, !q
}

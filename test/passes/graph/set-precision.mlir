// RUN: kpc-opt %s --form-regions --set-precision | FileCheck %s
// RUN: kpc-opt %s --form-regions --set-precision=to=bf16 | FileCheck %s --check-prefix=BF16
// RUN: kpc-opt %s --form-regions --set-precision="keep=^gem" | FileCheck %s --check-prefix=KEEP
// RUN: kpc-opt %s --form-regions --set-precision=to= | FileCheck %s --check-prefix=NONE
// RUN: kpc-opt %s --form-regions --set-precision="wide-share=0" | FileCheck %s --check-prefix=ALL
// RUN: kpc-opt %s --form-regions --set-precision="wide-share=1" | FileCheck %s --check-prefix=HEAVY

!x = !graph.tensor<[n, 64], f32>
!w = !graph.tensor<[64, 64], f32>
!b = !graph.tensor<[64], f32>
!s = !graph.tensor<[n], f32>
!one = !graph.tensor<[n, 1], f32>

// Weights and what kernels hand to one another are narrow; inputs, results of
// the model, small weights and what is inside a kernel are not.
// CHECK-LABEL: @contractions(%arg0: !graph.tensor<[n, 64], f32>) -> !graph.tensor<[n, 64], f32>
// CHECK-DAG: %[[W:.*]] = graph.weight "m#w" [{cast = f16}] : <[64, 64], f16>
// CHECK-DAG: %[[B:.*]] = graph.weight "m#b" [] : <[64], f32>
// CHECK: %[[H:.*]] = graph.region "gemm"(%arg0, %[[W]], %[[B]]) : {{.*}} -> !graph.tensor<[n, 64], f16>
// CHECK-NEXT: ^bb0(%{{.*}}: !graph.tensor<[n, 64], f32>, %[[NARROW:.*]]: !graph.tensor<[64, 64], f16>, %{{.*}}: !graph.tensor<[64], f32>):
// CHECK-NEXT: %[[WIDE:.*]] = graph.cast %[[NARROW]] to f32
// CHECK: graph.matmul %{{.*}}, %[[WIDE]] : <[n, 64], f32>, <[64, 64], f32>
// CHECK: %[[R:.*]] = graph.relu %{{.*}} : <[n, 64], f32>
// CHECK-NEXT: %[[Y:.*]] = graph.cast %[[R]] to f16
// CHECK-NEXT: graph.yield %[[Y]] : !graph.tensor<[n, 64], f16>
// CHECK: %[[O:.*]] = graph.region "last"(%[[H]], %{{.*}}) : {{.*}} -> !graph.tensor<[n, 64], f32>
// CHECK: return %[[O]]
// BF16: graph.weight "m#w" [{cast = bf16}]
// BF16: graph.region "gemm"{{.*}} -> !graph.tensor<[n, 64], bf16>
// KEEP: graph.weight "m#w" [] : <[64, 64], f32>
// KEEP: graph.weight "m#v" [{cast = f16}]
// KEEP: graph.region "gemm"{{.*}} -> !graph.tensor<[n, 64], f32>
// NONE-NOT: graph.cast
// NONE-NOT: f16
// ALL: graph.weight "m#b" [{cast = f16}]
func.func @contractions(%x: !x) -> !x {
  %w = graph.weight "m#w" [] : !w
  %b = graph.weight "m#b" [] : !b
  %v = graph.weight "m#v" [] : !w
  %0 = graph.matmul %x, %w : !x, !w loc("gemm")
  %1 = graph.broadcast %b : !b to !x
  %2 = graph.add %0, %1 : !x
  %3 = graph.relu %2 : !x
  %4 = graph.matmul %3, %v : !x, !w loc("last")
  return %4 : !x
}

// What loses too much in 16 bits stays, with the elementwise ops behind it.
// CHECK-LABEL: @norm(
// CHECK: graph.region "sum"(%{{.*}}) : {{.*}} -> !graph.tensor<[n], f32>
// CHECK: graph.region "norm"(%{{.*}}) : {{.*}} -> !graph.tensor<[n, 64], f32>
func.func @norm(%x: !x) -> (!x, !x) {
  %1 = graph.reduce sum, %x axes [1] : !x loc("sum")
  %2 = graph.reshape %1 : !s to !one
  %3 = graph.broadcast %2 : !one to !x
  %4 = graph.div %x, %3 : !x loc("norm")
  %5 = graph.erf %4 : !x
  %6 = graph.tanh %4 : !x
  return %5, %6 : !x, !x
}

// Unless contractions alone read it, also through a view.
// CHECK-LABEL: @softmax(
// CHECK: graph.region "exp"{{.*}} -> !graph.tensor<[n, 64], f32>
// CHECK: %[[P:.*]] = graph.region "div"{{.*}} -> !graph.tensor<[n, 64], f16>
// CHECK: %[[V:.*]] = graph.reshape %[[P]] : <[n, 64], f16> to <[n, 1, 64], f16>
// CHECK: graph.region "product"(%[[V]],
func.func @softmax(%x: !x, %v: !graph.tensor<[n, 64, 8], f32>) -> (!graph.tensor<[n, 1, 8], f32>, !s) {
  %0 = graph.exp %x : !x loc("exp")
  %1 = graph.reduce sum, %0 axes [1] : !x loc("sum")
  %2 = graph.reshape %1 : !s to !one
  %3 = graph.broadcast %2 : !one to !x
  %4 = graph.div %0, %3 : !x loc("div")
  %5 = graph.reshape %4 : !x to !graph.tensor<[n, 1, 64], f32>
  %6 = graph.matmul %5, %v : !graph.tensor<[n, 1, 64], f32>, !graph.tensor<[n, 64, 8], f32> loc("product")
  return %6, %1 : !graph.tensor<[n, 1, 8], f32>, !s
}

// The least values stay wide: here the gates, one of 64 elements.
// CHECK-LABEL: @gates(
// CHECK: graph.region "gate"{{.*}} -> !graph.tensor<[n, 1], f32>
// CHECK: graph.region "gated"{{.*}} -> !graph.tensor<[n, 128], f16>
// ALL-LABEL: @gates(
// ALL: graph.region "gate"{{.*}} -> !graph.tensor<[n, 1], f16>
func.func @gates(%x: !graph.tensor<[n, 128], f32>, %g: !one, %v: !graph.tensor<[128, 8], f32>)
    -> (!graph.tensor<[n, 8], f32>, !one) {
  %0 = graph.sigmoid %g : !one loc("gate")
  %1 = graph.broadcast %0 : !one to !graph.tensor<[n, 128], f32>
  %2 = graph.mul %x, %1 : !graph.tensor<[n, 128], f32> loc("gated")
  %3 = graph.matmul %2, %v : !graph.tensor<[n, 128], f32>, !graph.tensor<[128, 8], f32>
  %4 = graph.erf %0 : !one
  return %3, %4 : !graph.tensor<[n, 8], f32>, !one
}

// What a heavy contraction reads and writes is narrow even where all else may
// stay as it is: not its bias, nor a contraction that does next to nothing,
// nor one that sums each channel by itself.
// HEAVY-LABEL: @heavy(
// HEAVY-DAG: graph.weight "m#v" [{cast = f16}]
// HEAVY-DAG: graph.weight "m#b" [] : <[8], f32>
// HEAVY-DAG: graph.weight "m#d" [] : <[3, 3, 1, 8], f32>
// HEAVY-DAG: graph.weight "m#g" [] : <[8, 8], f32>
// HEAVY: graph.region "small"{{.*}} -> !graph.tensor<[64, 8], f16>
// HEAVY: graph.region "product"{{.*}} -> !graph.tensor<[64, 8], f16>
// HEAVY: graph.region "other"{{.*}} -> !graph.tensor<[64, 8], f32>
func.func @heavy(%x: !graph.tensor<[64, 8], f32>, %g: !graph.tensor<[1, 8], f32>, %i: !graph.tensor<[n, 9, 9, 8], f32>)
    -> (!graph.tensor<[64, 8], f32>, !graph.tensor<[1, 8], f32>, !graph.tensor<[n, 9, 9, 8], f32>) {
  %v = graph.weight "m#v" [] : !graph.tensor<[8, 8], f32>
  %u = graph.weight "m#g" [] : !graph.tensor<[8, 8], f32>
  %b = graph.weight "m#b" [] : !graph.tensor<[8], f32>
  %d = graph.weight "m#d" [] : !graph.tensor<[3, 3, 1, 8], f32>
  %0 = graph.erf %x : !graph.tensor<[64, 8], f32> loc("small")
  %1 = graph.matmul %0, %v : !graph.tensor<[64, 8], f32>, !graph.tensor<[8, 8], f32> loc("product")
  %2 = graph.broadcast %b : !graph.tensor<[8], f32> to !graph.tensor<[64, 8], f32>
  %3 = graph.add %1, %2 : !graph.tensor<[64, 8], f32>
  %4 = graph.matmul %3, %v : !graph.tensor<[64, 8], f32>, !graph.tensor<[8, 8], f32> loc("last")
  %5 = graph.erf %x : !graph.tensor<[64, 8], f32> loc("other")
  %6 = graph.reduce max, %5 axes [1] : !graph.tensor<[64, 8], f32>
  %7 = graph.reshape %6 : !graph.tensor<[64], f32> to !graph.tensor<[64, 1], f32>
  %8 = graph.broadcast %7 : !graph.tensor<[64, 1], f32> to !graph.tensor<[64, 8], f32>
  %9 = graph.add %4, %8 : !graph.tensor<[64, 8], f32>
  %10 = graph.mul %9, %5 : !graph.tensor<[64, 8], f32>
  %11 = graph.matmul %g, %u : !graph.tensor<[1, 8], f32>, !graph.tensor<[8, 8], f32>
  %12 = graph.conv %i, %d stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 8 : !graph.tensor<[n, 9, 9, 8], f32>, !graph.tensor<[3, 3, 1, 8], f32>
  return %10, %11, %12 : !graph.tensor<[64, 8], f32>, !graph.tensor<[1, 8], f32>, !graph.tensor<[n, 9, 9, 8], f32>
}

// What only chooses elements is narrow where its operand is, however small.
// CHECK-LABEL: @chosen(
// CHECK: graph.region "made"{{.*}} -> !graph.tensor<[n, 128], f16>
// CHECK: graph.region "max"{{.*}} -> !graph.tensor<[n], f16>
func.func @chosen(%x: !graph.tensor<[n, 128], f32>) -> (!graph.tensor<[n, 128], f32>, !s, !s) {
  %0 = graph.erf %x : !graph.tensor<[n, 128], f32> loc("made")
  %1 = graph.reduce max, %0 axes [1] : !graph.tensor<[n, 128], f32> loc("max")
  %2 = graph.tanh %0 : !graph.tensor<[n, 128], f32>
  %3 = graph.erf %1 : !s
  %4 = graph.tanh %1 : !s
  return %2, %3, %4 : !graph.tensor<[n, 128], f32>, !s, !s
}

// The greatest element of a row that stays f32 is f32: the caller's row, and one that is computed in the kernel.
// CHECK-LABEL: @of_rows(
// CHECK: graph.region "caller"{{.*}} -> !graph.tensor<[n], f32>
// CHECK: graph.region "computed"{{.*}} -> !graph.tensor<[n], f32>
func.func @of_rows(%x: !graph.tensor<[n, 128], f32>) -> (!graph.tensor<[n, 128], f32>, !graph.tensor<[n, 128], f32>) {
  %0 = graph.reduce max, %x axes [1] : !graph.tensor<[n, 128], f32> loc("caller")
  %1 = graph.reshape %0 : !s to !graph.tensor<[n, 1], f32>
  %2 = graph.broadcast %1 : !graph.tensor<[n, 1], f32> to !graph.tensor<[n, 128], f32>
  %3 = graph.sub %x, %2 : !graph.tensor<[n, 128], f32>
  %4 = graph.erf %x : !graph.tensor<[n, 128], f32>
  %5 = graph.reduce min, %4 axes [1] : !graph.tensor<[n, 128], f32> loc("computed")
  %6 = graph.reshape %5 : !s to !graph.tensor<[n, 1], f32>
  %7 = graph.broadcast %6 : !graph.tensor<[n, 1], f32> to !graph.tensor<[n, 128], f32>
  %8 = graph.sub %x, %7 : !graph.tensor<[n, 128], f32>
  return %3, %8 : !graph.tensor<[n, 128], f32>, !graph.tensor<[n, 128], f32>
}

// CHECK-LABEL: @integers(
// CHECK: graph.add %{{.*}}, %{{.*}} : <[n], i32>
func.func @integers(%i: !graph.tensor<[n], i32>) -> !graph.tensor<[n], i32> {
  %0 = graph.add %i, %i : !graph.tensor<[n], i32>
  return %0 : !graph.tensor<[n], i32>
}

// CHECK-LABEL: func.func private @declared(f32)
func.func private @declared(f32)

// What is multiplied with a narrow weight is narrow, however small and light: factors are of one type.
// CHECK-LABEL: @beside(
// CHECK: graph.region "little"{{.*}} -> !graph.tensor<[1, 64], f16>
// ALL-LABEL: @beside(
// HEAVY-LABEL: @beside(
// HEAVY: graph.region "little"{{.*}} -> !graph.tensor<[1, 64], f32>
func.func @beside(%x: !graph.tensor<[4096, 64], f32>, %g: !graph.tensor<[1, 64], f32>)
    -> (!graph.tensor<[4096, 64], f32>, !graph.tensor<[1, 64], f32>) {
  %w = graph.weight "m#w" [] : !graph.tensor<[64, 64], f32>
  %u = graph.weight "m#u" [] : !graph.tensor<[64, 64], f32>
  %0 = graph.erf %x : !graph.tensor<[4096, 64], f32> loc("large")
  %1 = graph.matmul %0, %w : !graph.tensor<[4096, 64], f32>, !graph.tensor<[64, 64], f32>
  %2 = graph.erf %g : !graph.tensor<[1, 64], f32> loc("little")
  %3 = graph.matmul %2, %u : !graph.tensor<[1, 64], f32>, !graph.tensor<[64, 64], f32>
  return %1, %3 : !graph.tensor<[4096, 64], f32>, !graph.tensor<[1, 64], f32>
}

// So are the pooled channels that a squeeze multiplies, also through a view, and what its result is multiplied with.
// CHECK-LABEL: @squeeze(
// CHECK: graph.weight "m#u" [{cast = f16}]
// CHECK: graph.region "{{.*}}mean"{{.*}} -> !graph.tensor<[1, 64], f16>
// CHECK: graph.region "squeeze"{{.*}} -> !graph.tensor<[1, 1, 1, 64], f16>
func.func @squeeze(%x: !graph.tensor<[4096, 64], f32>, %g: !graph.tensor<[1, 64, 64], f32>)
    -> (!graph.tensor<[4096, 64], f32>, !graph.tensor<[1, 1, 1, 64], f32>) {
  %w = graph.weight "m#w" [] : !graph.tensor<[64, 64], f32>
  %u = graph.weight "m#u" [] : !graph.tensor<[1, 1, 64, 64], f32>
  %v = graph.weight "m#v" [] : !graph.tensor<[1, 1, 64, 64], f32>
  %0 = graph.erf %x : !graph.tensor<[4096, 64], f32> loc("large")
  %1 = graph.matmul %0, %w : !graph.tensor<[4096, 64], f32>, !graph.tensor<[64, 64], f32>
  %c = graph.constant dense<64.0> : tensor<1x64xf32>
  %2 = graph.reduce sum, %g axes [1] : !graph.tensor<[1, 64, 64], f32>
  %m = graph.div %2, %c : !graph.tensor<[1, 64], f32> loc("mean")
  %3 = graph.reshape %m : !graph.tensor<[1, 64], f32> to !graph.tensor<[1, 1, 1, 64], f32>
  %4 = graph.conv %3, %u stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[1, 1, 1, 64], f32>, !graph.tensor<[1, 1, 64, 64], f32> loc("squeeze")
  %5 = graph.conv %4, %v stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[1, 1, 1, 64], f32>, !graph.tensor<[1, 1, 64, 64], f32> loc("excite")
  return %1, %5 : !graph.tensor<[4096, 64], f32>, !graph.tensor<[1, 1, 1, 64], f32>
}

// A sum that nothing scales may be beyond f16, and stays f32.
// CHECK-LABEL: @summed(
// CHECK: graph.weight "m#u" [{cast = f16}]
// CHECK: graph.region "sum"{{.*}} -> !graph.tensor<[1, 64], f32>
func.func @summed(%x: !graph.tensor<[4096, 64], f32>, %g: !graph.tensor<[1, 64, 64], f32>)
    -> (!graph.tensor<[4096, 64], f32>, !graph.tensor<[1, 1, 1, 64], f32>) {
  %w = graph.weight "m#w" [] : !graph.tensor<[64, 64], f32>
  %u = graph.weight "m#u" [] : !graph.tensor<[1, 1, 64, 64], f32>
  %0 = graph.erf %x : !graph.tensor<[4096, 64], f32> loc("large")
  %1 = graph.matmul %0, %w : !graph.tensor<[4096, 64], f32>, !graph.tensor<[64, 64], f32>
  %2 = graph.reduce sum, %g axes [1] : !graph.tensor<[1, 64, 64], f32> loc("sum")
  %3 = graph.reshape %2 : !graph.tensor<[1, 64], f32> to !graph.tensor<[1, 1, 1, 64], f32>
  %4 = graph.conv %3, %u stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[1, 1, 1, 64], f32>, !graph.tensor<[1, 1, 64, 64], f32> loc("squeeze")
  return %1, %4 : !graph.tensor<[4096, 64], f32>, !graph.tensor<[1, 1, 1, 64], f32>
}

// A GEMM of few columns does little of the work. Its weights are as narrow as what they are multiplied with, for as loops it would take long.
// CHECK-LABEL: @few_columns(
// CHECK: graph.weight "m#v" [{cast = f16}] : <[1024, 4], f16>
// CHECK: graph.weight "m#u" [] : <[1024, 2], f32>
func.func @few_columns(%x: !graph.tensor<[4096, 1024], f32>, %z: !graph.tensor<[16, 1024], f32>) -> (!graph.tensor<[4096, 4], f32>, !graph.tensor<[16, 2], f32>) {
  %w = graph.weight "m#w" [] : <[1024, 1024], f32>
  %v = graph.weight "m#v" [] : <[1024, 4], f32>
  %u = graph.weight "m#u" [] : <[1024, 2], f32>
  %0 = graph.matmul %x, %w : !graph.tensor<[4096, 1024], f32>, !graph.tensor<[1024, 1024], f32> loc("gemm")
  %1 = graph.relu %0 : !graph.tensor<[4096, 1024], f32>
  %2 = graph.matmul %1, %v : !graph.tensor<[4096, 1024], f32>, !graph.tensor<[1024, 4], f32> loc("last")
  %3 = graph.matmul %z, %w : !graph.tensor<[16, 1024], f32>, !graph.tensor<[1024, 1024], f32> loc("few")
  %4 = graph.relu %3 : !graph.tensor<[16, 1024], f32>
  %5 = graph.matmul %4, %u : !graph.tensor<[16, 1024], f32>, !graph.tensor<[1024, 2], f32> loc("fewest")
  return %2, %5 : !graph.tensor<[4096, 4], f32>, !graph.tensor<[16, 2], f32>
}

// The same of two values, on either side, where another GEMM does the work. The first one is narrow because the third is.
// CHECK-LABEL: @values(
// CHECK: graph.region "first"{{.*}} -> !graph.tensor<[64, 64], f16>
// CHECK: graph.region "second"{{.*}} -> !graph.tensor<[64, 1024], f16>
// CHECK: graph.region "third"{{.*}} -> !graph.tensor<[1024, 1024], f16>
func.func @values(%h: !graph.tensor<[16384, 1024], f32>, %x: !graph.tensor<[64, 64], f32>, %y: !graph.tensor<[64, 1024], f32>, %z: !graph.tensor<[1024, 1024], f32>)
    -> (!graph.tensor<[16384, 1024], f32>, !graph.tensor<[64, 1024], f32>, !graph.tensor<[64, 1024], f32>) {
  %w = graph.weight "m#w" [] : !graph.tensor<[1024, 1024], f32>
  %0 = graph.erf %h : !graph.tensor<[16384, 1024], f32> loc("heavy")
  %1 = graph.matmul %0, %w : !graph.tensor<[16384, 1024], f32>, !graph.tensor<[1024, 1024], f32>
  %a = graph.erf %x : !graph.tensor<[64, 64], f32> loc("first")
  %b = graph.erf %y : !graph.tensor<[64, 1024], f32> loc("second")
  %c = graph.erf %z : !graph.tensor<[1024, 1024], f32> loc("third")
  %2 = graph.matmul %a, %b : !graph.tensor<[64, 64], f32>, !graph.tensor<[64, 1024], f32>
  %3 = graph.matmul %b, %c : !graph.tensor<[64, 1024], f32>, !graph.tensor<[1024, 1024], f32>
  return %1, %2, %3 : !graph.tensor<[16384, 1024], f32>, !graph.tensor<[64, 1024], f32>, !graph.tensor<[64, 1024], f32>
}

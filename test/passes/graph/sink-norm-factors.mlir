// RUN: kpc-opt %s --sink-norm-factors | FileCheck %s
// RUN: kpc-opt %s --sink-norm-factors --remark-format=emitRemark --remarks-filter=fusion 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// The factors of an RMSNorm's rows come after GEMMs of few rows, and its weight goes into theirs.

!x = !graph.tensor<[n, 64], f32>
!w = !graph.tensor<[64, 128], f32>
!k = !graph.tensor<[64], f32>
!r = !graph.tensor<[n, 1], f32>
!y = !graph.tensor<[n, 128], f32>

module attributes {graph.symbols = {n = {min = 1, max = 64, optimum = 1}, many = {min = 1, max = 4096, optimum = 512}}} {

// CHECK-LABEL: @two_products(
// CHECK: %[[X:.*]] = graph.add %arg0, %arg0
// CHECK: %[[R:.*]] = graph.reciprocal
// CHECK-NOT: graph.mul %[[X]], %{{.*}} : <[n, 64], f32>
// CHECK: %[[COLUMN:.*]] = graph.reshape %{{.*}} : <[64], f32> to <[64, 1], f32>
// CHECK: %[[ALL:.*]] = graph.broadcast %[[COLUMN]] : <[64, 1], f32> to <[64, 128], f32>
// CHECK: %[[M:.*]] = graph.mul %{{.*}}, %[[ALL]] : <[64, 128], f32>
// CHECK: %[[Z:.*]] = graph.matmul %[[X]], %[[M]]
// CHECK: %[[F:.*]] = graph.broadcast %[[R]] : <[n, 1], f32> to <[n, 128], f32>
// CHECK: graph.mul %[[Z]], %[[F]]
// CHECK: graph.matmul %[[X]], %{{.*}}
func.func @two_products(%in: !x) -> !y {
  %w = graph.weight "m#w" [] : !w
  %v = graph.weight "m#v" [] : !w
  %k = graph.weight "m#k" [] : !k
  %x = graph.add %in, %in : !x
  %squares = graph.mul %x, %x : !x
  %sum = graph.reduce sum, %squares axes [1] : !x
  %column = graph.reshape %sum : !graph.tensor<[n], f32> to !r
  %count = graph.constant dense<64.0> : tensor<f32>
  %counts = graph.broadcast %count : !graph.tensor<[], f32> to !r
  %mean = graph.div %column, %counts : !r
  %root = graph.sqrt %mean : !r
  %factor = graph.reciprocal %root : !r
  %factors = graph.broadcast %factor : !r to !x
  %normed = graph.mul %x, %factors : !x
  %weights = graph.broadcast %k : !k to !x
  %norm = graph.mul %normed, %weights : !x
  %g = graph.matmul %norm, %w : !x, !w
  %u = graph.matmul %norm, %v : !x, !w
  %y = graph.mul %g, %u : !y
  return %y : !y
}

// Of known sizes, what is the same for all rows is a constant of their number.
// CHECK-LABEL: @known_rows(
// CHECK: %[[X:.*]] = graph.add %arg0, %arg0
// CHECK: %[[R:.*]] = graph.reciprocal
// CHECK: %[[Z:.*]] = graph.matmul %[[X]], %
// CHECK: %[[F:.*]] = graph.broadcast %[[R]] : <[4, 1], f32> to <[4, 128], f32>
// CHECK: graph.mul %[[Z]], %[[F]]
func.func @known_rows(%in: !graph.tensor<[4, 64], f32>) -> !graph.tensor<[4, 128], f32> {
  %w = graph.weight "m#w" [] : !w
  %x = graph.add %in, %in : !graph.tensor<[4, 64], f32>
  %squares = graph.mul %x, %x : !graph.tensor<[4, 64], f32>
  %sum = graph.reduce sum, %squares axes [1] : !graph.tensor<[4, 64], f32>
  %column = graph.reshape %sum : !graph.tensor<[4], f32> to !graph.tensor<[4, 1], f32>
  %counts = graph.constant dense<64.0> : tensor<4x1xf32>
  %mean = graph.div %column, %counts : !graph.tensor<[4, 1], f32>
  %root = graph.sqrt %mean : !graph.tensor<[4, 1], f32>
  %factor = graph.reciprocal %root : !graph.tensor<[4, 1], f32>
  %factors = graph.broadcast %factor : !graph.tensor<[4, 1], f32> to !graph.tensor<[4, 64], f32>
  %normed = graph.mul %x, %factors : !graph.tensor<[4, 64], f32>
  %y = graph.matmul %normed, %w : !graph.tensor<[4, 64], f32>, !w
  return %y : !graph.tensor<[4, 128], f32>
}

// What a norm's result is added to is stored in f32, and its norm alone is narrow.
// CHECK-LABEL: @after_a_norm(
// CHECK: graph.reciprocal
// CHECK: %[[N:.*]] = graph.mul %
// CHECK-NEXT: graph.matmul %[[N]], %
func.func @after_a_norm(%in: !x, %scale: !r) -> !y {
  %w = graph.weight "m#w" [] : !w
  %root.0 = graph.rsqrt %scale : !r
  %factors.0 = graph.broadcast %root.0 : !r to !x
  %normed.0 = graph.mul %in, %factors.0 : !x
  %x = graph.add %in, %normed.0 : !x
  %squares = graph.mul %x, %x : !x
  %sum = graph.reduce sum, %squares axes [1] : !x
  %column = graph.reshape %sum : !graph.tensor<[n], f32> to !r
  %root = graph.sqrt %column : !r
  %factor = graph.reciprocal %root : !r
  %factors = graph.broadcast %factor : !r to !x
  %normed = graph.mul %x, %factors : !x
  %y = graph.matmul %normed, %w : !x, !w
  return %y : !y
}

// CHECK-LABEL: @without_weight(
// CHECK: %[[W:.*]] = graph.weight "m#w"
// CHECK: %[[X:.*]] = graph.add %arg0, %arg0
// CHECK: %[[Z:.*]] = graph.matmul %[[X]], %[[W]]
// CHECK: graph.mul %[[Z]], %{{.*}}
func.func @without_weight(%in: !x) -> !y {
  %w = graph.weight "m#w" [] : !w
  %x = graph.add %in, %in : !x
  %squares = graph.mul %x, %x : !x
  %sum = graph.reduce sum, %squares axes [1] : !x
  %column = graph.reshape %sum : !graph.tensor<[n], f32> to !r
  %root = graph.sqrt %column : !r
  %factor = graph.reciprocal %root : !r
  %factors = graph.broadcast %factor : !r to !x
  %norm = graph.mul %factors, %x : !x
  %y = graph.matmul %norm, %w : !x, !w
  return %y : !y
}

// A weight that another value is made of (tied embeddings) would be stored twice.
// CHECK-LABEL: @tied(
// CHECK: %[[FACTORS:.*]] = graph.broadcast
// CHECK: %[[NORM:.*]] = graph.mul %{{.*}}, %[[FACTORS]]
// CHECK: graph.matmul %[[NORM]], %{{.*}}
func.func @tied(%in: !x) -> (!y, !w) {
  %w = graph.weight "m#w" [] : !w
  %x = graph.add %in, %in : !x
  %squares = graph.mul %x, %x : !x
  %sum = graph.reduce sum, %squares axes [1] : !x
  %column = graph.reshape %sum : !graph.tensor<[n], f32> to !r
  %factor = graph.reciprocal %column : !r
  %factors = graph.broadcast %factor : !r to !x
  %norm = graph.mul %x, %factors : !x
  %y = graph.matmul %norm, %w : !x, !w
  return %y, %w : !y, !w
}

// Codes that the model has stay, and so does the norm.
// REMARK: The norm stays a kernel: its weight, which differs along K, cannot be multiplied into codes that the model has.
// CHECK-LABEL: @of_codes(
// CHECK: %[[FACTORS:.*]] = graph.broadcast
// CHECK: %[[NORM:.*]] = graph.mul %{{.*}}, %[[FACTORS]]
// CHECK: graph.matmul %[[NORM]], %{{.*}}
func.func @of_codes(%in: !x) -> !y {
  %c = graph.weight "m#w" [] : !graph.tensor<[64, 128], i8>
  %s = graph.weight "m#s" [] : !graph.tensor<[2, 128], f32>
  %w = graph.dequantise %c scales %s blocks [32, 1] : !graph.tensor<[64, 128], i8>, !graph.tensor<[2, 128], f32> to <[64, 128], f32>
  %x = graph.add %in, %in : !x
  %squares = graph.mul %x, %x : !x
  %sum = graph.reduce sum, %squares axes [1] : !x
  %column = graph.reshape %sum : !graph.tensor<[n], f32> to !r
  %factor = graph.reciprocal %column : !r
  %factors = graph.broadcast %factor : !r to !x
  %norm = graph.mul %x, %factors : !x
  %y = graph.matmul %norm, %w : !x, !w
  return %y : !y
}

// What the caller has keeps its type, f32 perhaps.
// CHECK-LABEL: @given(
// CHECK: %[[FACTORS:.*]] = graph.broadcast
// CHECK: %[[NORM:.*]] = graph.mul %{{.*}}, %[[FACTORS]]
// CHECK: graph.matmul %[[NORM]], %{{.*}}
func.func @given(%x: !x) -> !y {
  %w = graph.weight "m#w" [] : !w
  %squares = graph.mul %x, %x : !x
  %sum = graph.reduce sum, %squares axes [1] : !x
  %column = graph.reshape %sum : !graph.tensor<[n], f32> to !r
  %factor = graph.reciprocal %column : !r
  %factors = graph.broadcast %factor : !r to !x
  %norm = graph.mul %x, %factors : !x
  %y = graph.matmul %norm, %w : !x, !w
  return %y : !y
}

// Sums of something else.
// CHECK-LABEL: @no_squares(
// CHECK: %[[FACTORS:.*]] = graph.broadcast
// CHECK: %[[NORM:.*]] = graph.mul %{{.*}}, %[[FACTORS]]
// CHECK: graph.matmul %[[NORM]], %{{.*}}
func.func @no_squares(%in: !x) -> !y {
  %w = graph.weight "m#w" [] : !w
  %x = graph.add %in, %in : !x
  %squares = graph.mul %x, %in : !x
  %sum = graph.reduce sum, %squares axes [1] : !x
  %column = graph.reshape %sum : !graph.tensor<[n], f32> to !r
  %factor = graph.reciprocal %column : !r
  %factors = graph.broadcast %factor : !r to !x
  %norm = graph.mul %x, %factors : !x
  %y = graph.matmul %norm, %w : !x, !w
  return %y : !y
}

// Typically many rows: other families would read the sums.
// CHECK-LABEL: @many_rows(
// CHECK: %[[FACTORS:.*]] = graph.broadcast
// CHECK: %[[NORM:.*]] = graph.mul %{{.*}}, %[[FACTORS]]
// CHECK: graph.matmul %[[NORM]], %{{.*}}
func.func @many_rows(%in: !graph.tensor<[many, 64], f32>) -> !graph.tensor<[many, 128], f32> {
  %w = graph.weight "m#w" [] : !w
  %x = graph.add %in, %in : !graph.tensor<[many, 64], f32>
  %squares = graph.mul %x, %x : !graph.tensor<[many, 64], f32>
  %sum = graph.reduce sum, %squares axes [1] : !graph.tensor<[many, 64], f32>
  %column = graph.reshape %sum : !graph.tensor<[many], f32> to !graph.tensor<[many, 1], f32>
  %factor = graph.reciprocal %column : !graph.tensor<[many, 1], f32>
  %factors = graph.broadcast %factor : !graph.tensor<[many, 1], f32> to !graph.tensor<[many, 64], f32>
  %norm = graph.mul %x, %factors : !graph.tensor<[many, 64], f32>
  %y = graph.matmul %norm, %w : !graph.tensor<[many, 64], f32>, !w
  return %y : !graph.tensor<[many, 128], f32>
}

// A model of 16 bits casts to f32 and back, before the weight or after it. The GEMM is of f32 then, and is rounded once.
// CHECK-LABEL: @of_16_bits(
// CHECK: %[[X:.*]] = graph.cast %{{.*}} to f32 : <[n, 64], f16>
// CHECK: %[[R:.*]] = graph.reciprocal
// CHECK-DAG: %[[W:.*]] = graph.cast %{{.*}} to f32 : <[64, 128], f16>
// CHECK-DAG: %[[K:.*]] = graph.cast %{{.*}} to f32 : <[64], f16>
// CHECK: %[[Z:.*]] = graph.matmul %[[X]], %{{.*}} : <[n, 64], f32>, <[64, 128], f32>
// CHECK: %[[Y:.*]] = graph.mul %[[Z]]
// CHECK: graph.cast %[[Y]] to f16 : <[n, 128], f32>
func.func @of_16_bits(%in: !graph.tensor<[n, 64], f16>) -> !graph.tensor<[n, 128], f16> {
  %w = graph.weight "m#w" [] : !graph.tensor<[64, 128], f16>
  %k = graph.weight "m#k" [] : !graph.tensor<[64], f16>
  %x16 = graph.add %in, %in : !graph.tensor<[n, 64], f16>
  %x = graph.cast %x16 to f32 : !graph.tensor<[n, 64], f16>
  %squares = graph.mul %x, %x : !x
  %sum = graph.reduce sum, %squares axes [1] : !x
  %column = graph.reshape %sum : !graph.tensor<[n], f32> to !r
  %factor = graph.reciprocal %column : !r
  %factors = graph.broadcast %factor : !r to !x
  %normed = graph.mul %x, %factors : !x
  %narrow = graph.cast %normed to f16 : !x
  %weights = graph.broadcast %k : !graph.tensor<[64], f16> to !graph.tensor<[n, 64], f16>
  %norm = graph.mul %narrow, %weights : !graph.tensor<[n, 64], f16>
  %y = graph.matmul %norm, %w : !graph.tensor<[n, 64], f16>, !graph.tensor<[64, 128], f16>
  return %y : !graph.tensor<[n, 128], f16>
}

}

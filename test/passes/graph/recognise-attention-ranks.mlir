// RUN: kpc-opt --sink-broadcasts --recognise-attention --canonicalize %s | FileCheck %s
// RUN: kpc-opt --sink-broadcasts --recognise-attention %s --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Models name the leading dimensions of products and scores as they like, and multiply rows of scores.

module attributes {graph.symbols = {b = {min = 1}, t = {min = 1}}} {
  // Windows of two images with a mask for each window, as Swin has them: windows are heads, the mask is the same for each image.
  // CHECK-LABEL: func.func @windows
  // CHECK-DAG: %[[Q:.*]] = graph.reshape %arg0 : <[8, 3, 49, 32], f32> to <[2, 12, 49, 32], f32>
  // CHECK-DAG: %[[K:.*]] = graph.reshape %arg1 : <[8, 3, 49, 32], f32> to <[2, 12, 49, 32], f32>
  // CHECK-DAG: %[[V:.*]] = graph.reshape %arg2 : <[8, 3, 49, 32], f32> to <[2, 12, 49, 32], f32>
  // CHECK-DAG: %[[M:.*]] = graph.broadcast %{{.*}} to <[1, 4, 3, 49, 49], f32>
  // CHECK: %[[Y:.*]] = graph.attention %[[Q]], %[[K]], %[[V]] bias %{{.*}} scale 1.000000e+00 : {{.*}}<[1, 12, 49, 49], f32>
  // CHECK: graph.reshape %[[Y]] : <[2, 12, 49, 32], f32> to <[8, 3, 49, 32], f32>
  // REMARK: A softmax between two GEMMs is one attention of 12 heads of 32, with a bias.
  func.func @windows(%q: !graph.tensor<[8, 3, 49, 32], f32>, %k: !graph.tensor<[8, 3, 49, 32], f32>, %v: !graph.tensor<[8, 3, 49, 32], f32>, %places: !graph.tensor<[1, 3, 49, 49], f32>, %m: !graph.tensor<[1, 4, 1, 49, 49], f32>) -> !graph.tensor<[8, 3, 49, 32], f32> {
    %kt = graph.transpose %k [0, 1, 3, 2] : !graph.tensor<[8, 3, 49, 32], f32>
    %p = graph.matmul %q, %kt : !graph.tensor<[8, 3, 49, 32], f32>, !graph.tensor<[8, 3, 32, 49], f32>
    %ps = graph.broadcast %places : !graph.tensor<[1, 3, 49, 49], f32> to !graph.tensor<[8, 3, 49, 49], f32>
    %a = graph.add %p, %ps : !graph.tensor<[8, 3, 49, 49], f32>
    %a5 = graph.reshape %a : !graph.tensor<[8, 3, 49, 49], f32> to !graph.tensor<[2, 4, 3, 49, 49], f32>
    %ms = graph.broadcast %m : !graph.tensor<[1, 4, 1, 49, 49], f32> to !graph.tensor<[2, 4, 3, 49, 49], f32>
    %l5 = graph.add %a5, %ms : !graph.tensor<[2, 4, 3, 49, 49], f32>
    %l = graph.reshape %l5 : !graph.tensor<[2, 4, 3, 49, 49], f32> to !graph.tensor<[8, 3, 49, 49], f32>
    %top = graph.reduce max, %l axes [3] : !graph.tensor<[8, 3, 49, 49], f32>
    %top1 = graph.reshape %top : !graph.tensor<[8, 3, 49], f32> to !graph.tensor<[8, 3, 49, 1], f32>
    %tops = graph.broadcast %top1 : !graph.tensor<[8, 3, 49, 1], f32> to !graph.tensor<[8, 3, 49, 49], f32>
    %d = graph.sub %l, %tops : !graph.tensor<[8, 3, 49, 49], f32>
    %e = graph.exp %d : !graph.tensor<[8, 3, 49, 49], f32>
    %sum = graph.reduce sum, %e axes [3] : !graph.tensor<[8, 3, 49, 49], f32>
    %sum1 = graph.reshape %sum : !graph.tensor<[8, 3, 49], f32> to !graph.tensor<[8, 3, 49, 1], f32>
    %sums = graph.broadcast %sum1 : !graph.tensor<[8, 3, 49, 1], f32> to !graph.tensor<[8, 3, 49, 49], f32>
    %w = graph.div %e, %sums : !graph.tensor<[8, 3, 49, 49], f32>
    %y = graph.matmul %w, %v : !graph.tensor<[8, 3, 49, 49], f32>, !graph.tensor<[8, 3, 49, 32], f32>
    return %y : !graph.tensor<[8, 3, 49, 32], f32>
  }

  // Batch and heads are one dimension in both products, and two where the mask is added.
  // CHECK-LABEL: func.func @merged
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} bias %arg3 scale 1.000000e+00 : !graph.tensor<[2, 4, 40, 16], f32>
  // REMARK: A softmax between two GEMMs is one attention of 4 heads of 16, with a bias.
  func.func @merged(%q: !graph.tensor<[8, 40, 16], f32>, %k: !graph.tensor<[8, 40, 16], f32>, %v: !graph.tensor<[8, 40, 16], f32>, %m: !graph.tensor<[2, 1, 40, 40], f32>) -> !graph.tensor<[8, 40, 16], f32> {
    %kt = graph.transpose %k [0, 2, 1] : !graph.tensor<[8, 40, 16], f32>
    %p3 = graph.matmul %q, %kt : !graph.tensor<[8, 40, 16], f32>, !graph.tensor<[8, 16, 40], f32>
    %p = graph.reshape %p3 : !graph.tensor<[8, 40, 40], f32> to !graph.tensor<[2, 4, 40, 40], f32>
    %ms = graph.broadcast %m : !graph.tensor<[2, 1, 40, 40], f32> to !graph.tensor<[2, 4, 40, 40], f32>
    %l = graph.add %p, %ms : !graph.tensor<[2, 4, 40, 40], f32>
    %top = graph.reduce max, %l axes [3] : !graph.tensor<[2, 4, 40, 40], f32>
    %top1 = graph.reshape %top : !graph.tensor<[2, 4, 40], f32> to !graph.tensor<[2, 4, 40, 1], f32>
    %tops = graph.broadcast %top1 : !graph.tensor<[2, 4, 40, 1], f32> to !graph.tensor<[2, 4, 40, 40], f32>
    %d = graph.sub %l, %tops : !graph.tensor<[2, 4, 40, 40], f32>
    %e = graph.exp %d : !graph.tensor<[2, 4, 40, 40], f32>
    %sum = graph.reduce sum, %e axes [3] : !graph.tensor<[2, 4, 40, 40], f32>
    %sum1 = graph.reshape %sum : !graph.tensor<[2, 4, 40], f32> to !graph.tensor<[2, 4, 40, 1], f32>
    %sums = graph.broadcast %sum1 : !graph.tensor<[2, 4, 40, 1], f32> to !graph.tensor<[2, 4, 40, 40], f32>
    %w = graph.div %e, %sums : !graph.tensor<[2, 4, 40, 40], f32>
    %w3 = graph.reshape %w : !graph.tensor<[2, 4, 40, 40], f32> to !graph.tensor<[8, 40, 40], f32>
    %y = graph.matmul %w3, %v : !graph.tensor<[8, 40, 40], f32>, !graph.tensor<[8, 40, 16], f32>
    return %y : !graph.tensor<[8, 40, 16], f32>
  }

  // A factor of each head, and one that divides rows: queries take both.
  // CHECK-LABEL: func.func @factors_of_rows
  // CHECK: %[[H:.*]] = graph.broadcast %{{.*}} to <[b, 4, 49, 32], f32>
  // CHECK: %[[Q1:.*]] = graph.{{mul|div}} %arg0
  // CHECK: graph.attention %{{.*}}, %arg1, %arg2 scale 5.000000e-01
  // REMARK: A softmax between two GEMMs is one attention of 4 heads of 32.
  func.func @factors_of_rows(%q: !graph.tensor<[b, 4, 49, 32], f32>, %k: !graph.tensor<[b, 4, t, 32], f32>, %v: !graph.tensor<[b, 4, t, 32], f32>, %h: !graph.tensor<[4, 1, 1], f32>, %r: !graph.tensor<[b, 1, 49, 1], f32>) -> !graph.tensor<[b, 4, 49, 32], f32> {
    %kt = graph.transpose %k [0, 1, 3, 2] : !graph.tensor<[b, 4, t, 32], f32>
    %p = graph.matmul %q, %kt : !graph.tensor<[b, 4, 49, 32], f32>, !graph.tensor<[b, 4, 32, t], f32>
    %hs = graph.broadcast %h : !graph.tensor<[4, 1, 1], f32> to !graph.tensor<[b, 4, 49, t], f32>
    %x = graph.mul %hs, %p : !graph.tensor<[b, 4, 49, t], f32>
    %c = graph.constant dense<0.5> : tensor<f32>
    %cs = graph.broadcast %c : !graph.tensor<[], f32> to !graph.tensor<[b, 4, 49, t], f32>
    %xc = graph.mul %x, %cs : !graph.tensor<[b, 4, 49, t], f32>
    %rs = graph.broadcast %r : !graph.tensor<[b, 1, 49, 1], f32> to !graph.tensor<[b, 4, 49, t], f32>
    %l = graph.div %xc, %rs : !graph.tensor<[b, 4, 49, t], f32>
    %top = graph.reduce max, %l axes [3] : !graph.tensor<[b, 4, 49, t], f32>
    %top1 = graph.reshape %top : !graph.tensor<[b, 4, 49], f32> to !graph.tensor<[b, 4, 49, 1], f32>
    %tops = graph.broadcast %top1 : !graph.tensor<[b, 4, 49, 1], f32> to !graph.tensor<[b, 4, 49, t], f32>
    %d = graph.sub %l, %tops : !graph.tensor<[b, 4, 49, t], f32>
    %e = graph.exp %d : !graph.tensor<[b, 4, 49, t], f32>
    %sum = graph.reduce sum, %e axes [3] : !graph.tensor<[b, 4, 49, t], f32>
    %sum1 = graph.reshape %sum : !graph.tensor<[b, 4, 49], f32> to !graph.tensor<[b, 4, 49, 1], f32>
    %sums = graph.broadcast %sum1 : !graph.tensor<[b, 4, 49, 1], f32> to !graph.tensor<[b, 4, 49, t], f32>
    %w = graph.div %e, %sums : !graph.tensor<[b, 4, 49, t], f32>
    %y = graph.matmul %w, %v : !graph.tensor<[b, 4, 49, t], f32>, !graph.tensor<[b, 4, t, 32], f32>
    return %y : !graph.tensor<[b, 4, 49, 32], f32>
  }

  // Keys were turned while batch and heads were one dimension, together with rows.
  // CHECK-LABEL: func.func @keys_turned_before
  // CHECK: %[[T:.*]] = graph.transpose %arg1 [1, 0, 2] : <[50, 8, 16], f32>
  // CHECK: %[[K:.*]] = graph.reshape %[[T]] : <[8, 50, 16], f32> to <[2, 4, 50, 16], f32>
  // CHECK: graph.attention %arg0, %[[K]], %arg2 scale 1.000000e+00
  // REMARK: A softmax between two GEMMs is one attention of 4 heads of 16.
  func.func @keys_turned_before(%q: !graph.tensor<[2, 4, 50, 16], f32>, %k: !graph.tensor<[50, 8, 16], f32>, %v: !graph.tensor<[2, 4, 50, 16], f32>) -> !graph.tensor<[2, 4, 50, 16], f32> {
    %kt = graph.transpose %k [1, 2, 0] : !graph.tensor<[50, 8, 16], f32>
    %k4 = graph.reshape %kt : !graph.tensor<[8, 16, 50], f32> to !graph.tensor<[2, 4, 16, 50], f32>
    %l = graph.matmul %q, %k4 : !graph.tensor<[2, 4, 50, 16], f32>, !graph.tensor<[2, 4, 16, 50], f32>
    %top = graph.reduce max, %l axes [3] : !graph.tensor<[2, 4, 50, 50], f32>
    %top1 = graph.reshape %top : !graph.tensor<[2, 4, 50], f32> to !graph.tensor<[2, 4, 50, 1], f32>
    %tops = graph.broadcast %top1 : !graph.tensor<[2, 4, 50, 1], f32> to !graph.tensor<[2, 4, 50, 50], f32>
    %d = graph.sub %l, %tops : !graph.tensor<[2, 4, 50, 50], f32>
    %e = graph.exp %d : !graph.tensor<[2, 4, 50, 50], f32>
    %sum = graph.reduce sum, %e axes [3] : !graph.tensor<[2, 4, 50, 50], f32>
    %sum1 = graph.reshape %sum : !graph.tensor<[2, 4, 50], f32> to !graph.tensor<[2, 4, 50, 1], f32>
    %sums = graph.broadcast %sum1 : !graph.tensor<[2, 4, 50, 1], f32> to !graph.tensor<[2, 4, 50, 50], f32>
    %w = graph.div %e, %sums : !graph.tensor<[2, 4, 50, 50], f32>
    %y = graph.matmul %w, %v : !graph.tensor<[2, 4, 50, 50], f32>, !graph.tensor<[2, 4, 50, 16], f32>
    return %y : !graph.tensor<[2, 4, 50, 16], f32>
  }

  // Keys that nothing turned are turned for many queries. For few it would move all keys once more.
  // CHECK-LABEL: func.func @keys_not_turned
  // CHECK: %[[K:.*]] = graph.transpose %arg1 [0, 2, 1] : <[2, 16, 50], f32>
  // CHECK: graph.attention
  // CHECK-LABEL: func.func @keys_not_turned_for_few
  // CHECK-NOT: graph.attention
  // REMARK: because its keys lie transposed, and its queries are few.
  func.func @keys_not_turned(%q: !graph.tensor<[2, 50, 16], f32>, %k: !graph.tensor<[2, 16, 50], f32>, %v: !graph.tensor<[2, 50, 16], f32>) -> !graph.tensor<[2, 50, 16], f32> {
    %l = graph.matmul %q, %k : !graph.tensor<[2, 50, 16], f32>, !graph.tensor<[2, 16, 50], f32>
    %top = graph.reduce max, %l axes [2] : !graph.tensor<[2, 50, 50], f32>
    %top1 = graph.reshape %top : !graph.tensor<[2, 50], f32> to !graph.tensor<[2, 50, 1], f32>
    %tops = graph.broadcast %top1 : !graph.tensor<[2, 50, 1], f32> to !graph.tensor<[2, 50, 50], f32>
    %d = graph.sub %l, %tops : !graph.tensor<[2, 50, 50], f32>
    %e = graph.exp %d : !graph.tensor<[2, 50, 50], f32>
    %sum = graph.reduce sum, %e axes [2] : !graph.tensor<[2, 50, 50], f32>
    %sum1 = graph.reshape %sum : !graph.tensor<[2, 50], f32> to !graph.tensor<[2, 50, 1], f32>
    %sums = graph.broadcast %sum1 : !graph.tensor<[2, 50, 1], f32> to !graph.tensor<[2, 50, 50], f32>
    %w = graph.div %e, %sums : !graph.tensor<[2, 50, 50], f32>
    %y = graph.matmul %w, %v : !graph.tensor<[2, 50, 50], f32>, !graph.tensor<[2, 50, 16], f32>
    return %y : !graph.tensor<[2, 50, 16], f32>
  }
  func.func @keys_not_turned_for_few(%q: !graph.tensor<[2, 1, 16], f32>, %k: !graph.tensor<[2, 16, 50], f32>, %v: !graph.tensor<[2, 50, 16], f32>) -> !graph.tensor<[2, 1, 16], f32> {
    %l = graph.matmul %q, %k : !graph.tensor<[2, 1, 16], f32>, !graph.tensor<[2, 16, 50], f32>
    %top = graph.reduce max, %l axes [2] : !graph.tensor<[2, 1, 50], f32>
    %top1 = graph.reshape %top : !graph.tensor<[2, 1], f32> to !graph.tensor<[2, 1, 1], f32>
    %tops = graph.broadcast %top1 : !graph.tensor<[2, 1, 1], f32> to !graph.tensor<[2, 1, 50], f32>
    %d = graph.sub %l, %tops : !graph.tensor<[2, 1, 50], f32>
    %e = graph.exp %d : !graph.tensor<[2, 1, 50], f32>
    %sum = graph.reduce sum, %e axes [2] : !graph.tensor<[2, 1, 50], f32>
    %sum1 = graph.reshape %sum : !graph.tensor<[2, 1], f32> to !graph.tensor<[2, 1, 1], f32>
    %sums = graph.broadcast %sum1 : !graph.tensor<[2, 1, 1], f32> to !graph.tensor<[2, 1, 50], f32>
    %w = graph.div %e, %sums : !graph.tensor<[2, 1, 50], f32>
    %y = graph.matmul %w, %v : !graph.tensor<[2, 1, 50], f32>, !graph.tensor<[2, 50, 16], f32>
    return %y : !graph.tensor<[2, 1, 16], f32>
  }

  // A mask of numbers, as older models keep it, is the triangle all the same.
  // CHECK-LABEL: func.func @triangle_of_numbers
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} scale 1.000000e+00 causal <[0]>
  func.func @triangle_of_numbers(%q: !graph.tensor<[2, 50, 16], f32>, %k: !graph.tensor<[2, 50, 16], f32>, %v: !graph.tensor<[2, 50, 16], f32>) -> !graph.tensor<[2, 50, 16], f32> {
    %kt = graph.transpose %k [0, 2, 1] : !graph.tensor<[2, 50, 16], f32>
    %p = graph.matmul %q, %kt : !graph.tensor<[2, 50, 16], f32>, !graph.tensor<[2, 16, 50], f32>
    %rows = graph.iota axis 0 : !graph.tensor<[64, 64], i64>
    %columns = graph.iota axis 1 : !graph.tensor<[64, 64], i64>
    %within = graph.compare le, %columns, %rows : !graph.tensor<[64, 64], i64>
    %one = graph.constant dense<1> : tensor<64x64xui8>
    %zero = graph.constant dense<0> : tensor<64x64xui8>
    %whole = graph.select %within, %one, %zero : !graph.tensor<[64, 64], i1>, !graph.tensor<[64, 64], ui8>
    %front = graph.slice %whole start <[0, 0]> step [1, 1] : !graph.tensor<[64, 64], ui8> to !graph.tensor<[50, 64], ui8>
    %numbers = graph.slice %front start <[0, 0]> step [1, 1] : !graph.tensor<[50, 64], ui8> to !graph.tensor<[50, 50], ui8>
    %bools = graph.cast %numbers to i1 : !graph.tensor<[50, 50], ui8>
    %seen = graph.broadcast %bools : !graph.tensor<[50, 50], i1> to !graph.tensor<[2, 50, 50], i1>
    %c = graph.constant dense<-1.0e9> : tensor<f32>
    %cs = graph.broadcast %c : !graph.tensor<[], f32> to !graph.tensor<[2, 50, 50], f32>
    %l = graph.select %seen, %p, %cs : !graph.tensor<[2, 50, 50], i1>, !graph.tensor<[2, 50, 50], f32>
    %top = graph.reduce max, %l axes [2] : !graph.tensor<[2, 50, 50], f32>
    %top1 = graph.reshape %top : !graph.tensor<[2, 50], f32> to !graph.tensor<[2, 50, 1], f32>
    %tops = graph.broadcast %top1 : !graph.tensor<[2, 50, 1], f32> to !graph.tensor<[2, 50, 50], f32>
    %d = graph.sub %l, %tops : !graph.tensor<[2, 50, 50], f32>
    %e = graph.exp %d : !graph.tensor<[2, 50, 50], f32>
    %sum = graph.reduce sum, %e axes [2] : !graph.tensor<[2, 50, 50], f32>
    %sum1 = graph.reshape %sum : !graph.tensor<[2, 50], f32> to !graph.tensor<[2, 50, 1], f32>
    %sums = graph.broadcast %sum1 : !graph.tensor<[2, 50, 1], f32> to !graph.tensor<[2, 50, 50], f32>
    %w = graph.div %e, %sums : !graph.tensor<[2, 50, 50], f32>
    %y = graph.matmul %w, %v : !graph.tensor<[2, 50, 50], f32>, !graph.tensor<[2, 50, 16], f32>
    return %y : !graph.tensor<[2, 50, 16], f32>
  }

  // Groups of heads that share their keys and values, in five dimensions, without a repeat.
  // CHECK-LABEL: func.func @grouped
  // CHECK-DAG: graph.reshape %arg0 : <[2, 4, 3, 40, 16], f32> to <[2, 12, 40, 16], f32>
  // CHECK-DAG: graph.reshape %arg1 : <[2, 4, 1, 40, 16], f32> to <[2, 4, 40, 16], f32>
  // CHECK: graph.attention
  // REMARK: A softmax between two GEMMs is one attention of 12 heads of 16 on 4 of keys and values.
  func.func @grouped(%q: !graph.tensor<[2, 4, 3, 40, 16], f32>, %k: !graph.tensor<[2, 4, 1, 40, 16], f32>, %v: !graph.tensor<[2, 4, 1, 40, 16], f32>) -> !graph.tensor<[2, 4, 3, 40, 16], f32> {
    %kt = graph.transpose %k [0, 1, 2, 4, 3] : !graph.tensor<[2, 4, 1, 40, 16], f32>
    %l = graph.matmul %q, %kt : !graph.tensor<[2, 4, 3, 40, 16], f32>, !graph.tensor<[2, 4, 1, 16, 40], f32>
    %top = graph.reduce max, %l axes [4] : !graph.tensor<[2, 4, 3, 40, 40], f32>
    %top1 = graph.reshape %top : !graph.tensor<[2, 4, 3, 40], f32> to !graph.tensor<[2, 4, 3, 40, 1], f32>
    %tops = graph.broadcast %top1 : !graph.tensor<[2, 4, 3, 40, 1], f32> to !graph.tensor<[2, 4, 3, 40, 40], f32>
    %d = graph.sub %l, %tops : !graph.tensor<[2, 4, 3, 40, 40], f32>
    %e = graph.exp %d : !graph.tensor<[2, 4, 3, 40, 40], f32>
    %sum = graph.reduce sum, %e axes [4] : !graph.tensor<[2, 4, 3, 40, 40], f32>
    %sum1 = graph.reshape %sum : !graph.tensor<[2, 4, 3, 40], f32> to !graph.tensor<[2, 4, 3, 40, 1], f32>
    %sums = graph.broadcast %sum1 : !graph.tensor<[2, 4, 3, 40, 1], f32> to !graph.tensor<[2, 4, 3, 40, 40], f32>
    %w = graph.div %e, %sums : !graph.tensor<[2, 4, 3, 40, 40], f32>
    %y = graph.matmul %w, %v : !graph.tensor<[2, 4, 3, 40, 40], f32>, !graph.tensor<[2, 4, 1, 40, 16], f32>
    return %y : !graph.tensor<[2, 4, 3, 40, 16], f32>
  }

  // Queries of 16 bits need not hold a factor that their scores do.
  // CHECK-LABEL: func.func @narrow_rows
  // CHECK-NOT: graph.attention
  // REMARK: because rows of its scores are multiplied, and its queries are not of f32.
  func.func @narrow_rows(%q: !graph.tensor<[2, 4, 49, 32], f16>, %k: !graph.tensor<[2, 4, 49, 32], f16>, %h: !graph.tensor<[4, 1, 1], f16>) -> !graph.tensor<[2, 4, 49, 32], f16> {
    %kt = graph.transpose %k [0, 1, 3, 2] : !graph.tensor<[2, 4, 49, 32], f16>
    %p = graph.matmul %q, %kt : !graph.tensor<[2, 4, 49, 32], f16>, !graph.tensor<[2, 4, 32, 49], f16>
    %hs = graph.broadcast %h : !graph.tensor<[4, 1, 1], f16> to !graph.tensor<[2, 4, 49, 49], f16>
    %l = graph.mul %p, %hs : !graph.tensor<[2, 4, 49, 49], f16>
    %top = graph.reduce max, %l axes [3] : !graph.tensor<[2, 4, 49, 49], f16>
    %top1 = graph.reshape %top : !graph.tensor<[2, 4, 49], f16> to !graph.tensor<[2, 4, 49, 1], f16>
    %tops = graph.broadcast %top1 : !graph.tensor<[2, 4, 49, 1], f16> to !graph.tensor<[2, 4, 49, 49], f16>
    %d = graph.sub %l, %tops : !graph.tensor<[2, 4, 49, 49], f16>
    %e = graph.exp %d : !graph.tensor<[2, 4, 49, 49], f16>
    %sum = graph.reduce sum, %e axes [3] : !graph.tensor<[2, 4, 49, 49], f16>
    %sum1 = graph.reshape %sum : !graph.tensor<[2, 4, 49], f16> to !graph.tensor<[2, 4, 49, 1], f16>
    %sums = graph.broadcast %sum1 : !graph.tensor<[2, 4, 49, 1], f16> to !graph.tensor<[2, 4, 49, 49], f16>
    %w = graph.div %e, %sums : !graph.tensor<[2, 4, 49, 49], f16>
    %y = graph.matmul %w, %k : !graph.tensor<[2, 4, 49, 49], f16>, !graph.tensor<[2, 4, 49, 32], f16>
    return %y : !graph.tensor<[2, 4, 49, 32], f16>
  }

  // Two heads of queries share one of the values, and have keys of their own: rank 5 for the second product alone.
  // CHECK-LABEL: func.func @shared_values
  // CHECK-NOT: graph.attention
  // REMARK: its queries, keys or values are shared in a way that has no word
  func.func @shared_values(%q: !graph.tensor<[2, 4, 8, 16], f32>, %k: !graph.tensor<[2, 4, 6, 16], f32>, %v: !graph.tensor<[2, 2, 6, 16], f32>) -> !graph.tensor<[2, 2, 2, 8, 16], f32> {
    %kt = graph.transpose %k [0, 1, 3, 2] : <[2, 4, 6, 16], f32>
    %p = graph.matmul %q, %kt : <[2, 4, 8, 16], f32>, <[2, 4, 16, 6], f32>
    %top = graph.reduce max, %p axes [3] : <[2, 4, 8, 6], f32>
    %top1 = graph.reshape %top : <[2, 4, 8], f32> to <[2, 4, 8, 1], f32>
    %tops = graph.broadcast %top1 : <[2, 4, 8, 1], f32> to <[2, 4, 8, 6], f32>
    %d = graph.sub %p, %tops : <[2, 4, 8, 6], f32>
    %e = graph.exp %d : <[2, 4, 8, 6], f32>
    %sum = graph.reduce sum, %e axes [3] : <[2, 4, 8, 6], f32>
    %sum1 = graph.reshape %sum : <[2, 4, 8], f32> to <[2, 4, 8, 1], f32>
    %sums = graph.broadcast %sum1 : <[2, 4, 8, 1], f32> to <[2, 4, 8, 6], f32>
    %w = graph.div %e, %sums : <[2, 4, 8, 6], f32>
    %w5 = graph.reshape %w : <[2, 4, 8, 6], f32> to <[2, 2, 2, 8, 6], f32>
    %v5 = graph.reshape %v : <[2, 2, 6, 16], f32> to <[2, 2, 1, 6, 16], f32>
    %y = graph.matmul %w5, %v5 : <[2, 2, 2, 8, 6], f32>, <[2, 2, 1, 6, 16], f32>
    return %y : !graph.tensor<[2, 2, 2, 8, 16], f32>
  }
}

// RUN: kpc-opt %s --fuse-codes-into-attention=targets=sm_90a | FileCheck %s
// RUN: kpc-opt %s --fuse-codes-into-attention=targets=sm_90a --form-regions=rows | FileCheck %s --check-prefix=KERNEL
// RUN: kpc-opt %s --fuse-codes-into-attention=targets=sm_90a --remark-format=emitRemark --remarks-filter=fusion 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY
// RUN: not kpc-opt %s --fuse-codes-into-attention=targets=sm_9 2>&1 | FileCheck %s --check-prefix=TARGET

// TARGET: error: {{.*}}sm_9

!q = !graph.tensor<[2, 4, 384, 64], f32>
!t = !graph.tensor<[2, 384, 4, 64], f32>
!r = !graph.tensor<[768, 256], f32>
!n = !graph.tensor<[2, 4, 384, 160], f32>
!o = !graph.tensor<[2, 4, 1, 64], f32>

module {
  // Codes are made where the attention is, and turned afterwards; the factor comes first.
  // CHECK-LABEL: func.func @codes
  // CHECK: %[[Y:.*]] = graph.attention {{.*}} {graph.result_codes}
  // CHECK: %[[M:.*]] = graph.mul %[[Y]], %{{.*}} : <[2, 4, 384, 64], f32>
  // CHECK: %[[L:.*]] = graph.min %[[M]]
  // CHECK: %[[G:.*]] = graph.max %[[L]]
  // CHECK: %[[C:.*]] = graph.cast %[[G]] to f8E4M3FN
  // CHECK: %[[T:.*]] = graph.transpose %[[C]] [0, 2, 1, 3] : <[2, 4, 384, 64], f8E4M3FN>
  // CHECK: %[[R:.*]] = graph.reshape %[[T]]
  // CHECK: return %[[R]]
  // KERNEL-LABEL: func.func @codes
  // KERNEL: graph.region
  // KERNEL: graph.attention
  // KERNEL: graph.cast %{{.*}} to f8E4M3FN
  // KERNEL: graph.transpose
  // KERNEL-NEXT: graph.yield
  // KERNEL-NOT: graph.region
  // KERNEL: return
  // WHY: [Passed] codes{{.*}}Attention writes the codes that the next product multiplies.
  func.func @codes(%q: !q, %k: !q, %v: !q) -> !graph.tensor<[768, 256], f8E4M3FN> {
    %0 = graph.attention %q, %k, %v scale 0.125 : !q, !q, !q
    %1 = graph.transpose %0 [0, 2, 1, 3] : !q
    %2 = graph.reshape %1 : !t to !r
    %s = graph.constant dense<2.0e+01> : tensor<768x256xf32>
    %high = graph.constant dense<4.48e+02> : tensor<768x256xf32>
    %low = graph.constant dense<-4.48e+02> : tensor<768x256xf32>
    %3 = graph.mul %2, %s : !r
    %4 = graph.min %3, %high : !r
    %5 = graph.max %4, %low : !r
    %6 = graph.cast %5 to f8E4M3FN : !r
    return %6 : !graph.tensor<[768, 256], f8E4M3FN>
  }

  // Something else reads the heads as well.
  // CHECK-LABEL: func.func @read_twice
  // CHECK: graph.attention
  // CHECK-NOT: result_codes
  func.func @read_twice(%q: !q, %k: !q, %v: !q) -> (!graph.tensor<[2, 4, 384, 64], f8E4M3FN>, !q) {
    %0 = graph.attention %q, %k, %v scale 0.125 : !q, !q, !q
    %high = graph.constant dense<4.48e+02> : tensor<2x4x384x64xf32>
    %low = graph.constant dense<-4.48e+02> : tensor<2x4x384x64xf32>
    %1 = graph.min %0, %high : !q
    %2 = graph.max %1, %low : !q
    %3 = graph.cast %2 to f8E4M3FN : !q
    return %3, %0 : !graph.tensor<[2, 4, 384, 64], f8E4M3FN>, !q
  }

  // Other limits than those of the codes, and a factor behind them, are a kernel of their own.
  // CHECK-LABEL: func.func @other_limits
  // CHECK-NOT: result_codes
  func.func @other_limits(%q: !q, %k: !q, %v: !q) -> (!graph.tensor<[2, 4, 384, 64], f8E4M3FN>, !graph.tensor<[2, 4, 384, 64], f8E4M3FN>) {
    %0 = graph.attention %q, %k, %v scale 0.125 : !q, !q, !q
    %four = graph.constant dense<4.0> : tensor<2x4x384x64xf32>
    %high = graph.constant dense<4.48e+02> : tensor<2x4x384x64xf32>
    %low = graph.constant dense<-4.48e+02> : tensor<2x4x384x64xf32>
    %1 = graph.min %0, %four : !q
    %2 = graph.max %1, %low : !q
    %3 = graph.cast %2 to f8E4M3FN : !q
    %4 = graph.attention %k, %q, %v scale 0.125 : !q, !q, !q
    %5 = graph.min %4, %high : !q
    %6 = graph.max %5, %low : !q
    %7 = graph.mul %6, %four : !q
    %8 = graph.cast %7 to f8E4M3FN : !q
    return %3, %8 : !graph.tensor<[2, 4, 384, 64], f8E4M3FN>, !graph.tensor<[2, 4, 384, 64], f8E4M3FN>
  }

  // CHECK-LABEL: func.func @narrow_heads
  // CHECK-NOT: result_codes
  // WHY: [Missed] codes{{.*}}A kernel after the attention makes its codes, because its heads are not stored in multiples of 32 elements.
  func.func @narrow_heads(%q: !n, %k: !n, %v: !n) -> !graph.tensor<[2, 4, 384, 160], f8E4M3FN> {
    %0 = graph.attention %q, %k, %v scale 0.125 : !n, !n, !n
    %high = graph.constant dense<4.48e+02> : tensor<2x4x384x160xf32>
    %low = graph.constant dense<-4.48e+02> : tensor<2x4x384x160xf32>
    %1 = graph.min %0, %high : !n
    %2 = graph.max %1, %low : !n
    %3 = graph.cast %2 to f8E4M3FN : !n
    return %3 : !graph.tensor<[2, 4, 384, 160], f8E4M3FN>
  }

  // CHECK-LABEL: func.func @few_queries
  // CHECK-NOT: result_codes
  // WHY: [Missed] codes{{.*}}because it has few queries.
  func.func @few_queries(%q: !o, %k: !q, %v: !q) -> !graph.tensor<[2, 4, 1, 64], f8E4M3FN> {
    %0 = graph.attention %q, %k, %v scale 0.125 : !o, !q, !q
    %high = graph.constant dense<4.48e+02> : tensor<2x4x1x64xf32>
    %low = graph.constant dense<-4.48e+02> : tensor<2x4x1x64xf32>
    %1 = graph.min %0, %high : !o
    %2 = graph.max %1, %low : !o
    %3 = graph.cast %2 to f8E4M3FN : !o
    return %3 : !graph.tensor<[2, 4, 1, 64], f8E4M3FN>
  }
}

// RUN: kpc-opt %s --form-regions --set-precision | FileCheck %s
// RUN: kpc-opt %s --form-regions --set-precision="targets=sm_90a,sm_80 keep=kept" | FileCheck %s --check-prefix=PAIRS

!cache = !graph.tensor<[batch, 8, past, 64], f16>
!new = !graph.tensor<[batch, 8, sequence, 64], f16>
!present = !graph.tensor<[batch, 8, "past + sequence", 64], f16>
!cache32 = !graph.tensor<[batch, 8, past, 64], f32>
!new32 = !graph.tensor<[batch, 8, sequence, 64], f32>
!present32 = !graph.tensor<[batch, 8, "past + sequence", 64], f32>

// A cache of 16 bits in and out is brought to f32 in the graph. Where kernels store 16 bits, what is left of
// that are copies: the concat reads the caller's tensors and writes the output.
// CHECK-LABEL: @caches(
// CHECK-NEXT: %[[KEYS:.*]] = graph.region "join"(%arg0, %arg1) : {{.*}} -> !graph.tensor<[batch, 8, "past + sequence", 64], f16>
// CHECK: %[[SCORES:.*]] = graph.region "scores"(%[[KEYS]])
// CHECK: return %[[KEYS]], %[[SCORES]]
func.func @caches(%past: !cache, %new: !new) -> (!present, !graph.tensor<[batch, 8, "past + sequence", 64], f32>) {
  %0 = graph.cast %past to f32 : !cache loc("past")
  %1 = graph.cast %new to f32 : !new loc("new")
  %2 = graph.concat %0, %1 axis 2 : !cache32, !new32 loc("join")
  %3 = graph.erf %2 : !present32 loc("scores")
  %4 = graph.cast %2 to f16 : !present32 loc("present")
  return %4, %3 : !present, !present32
}

// What a caller gives and takes back is copied by the plan.
// CHECK-LABEL: @through(
// CHECK-NEXT: return %arg0
func.func @through(%x: !cache) -> !cache {
  %0 = graph.cast %x to f32 : !cache
  %1 = graph.cast %0 to f16 : !cache32
  return %1 : !cache
}

// Tensor Cores take factors of one type: a kernel narrows the caller's tensor where the work is worth one.
// CHECK-LABEL: @worth_a_kernel(
// CHECK-NEXT: %[[X:.*]] = graph.region "cast"(%arg0) : {{.*}} -> !graph.tensor<[128, 1024], f16>
// CHECK: graph.region "gemm"(%[[X]], %{{.*}}) : (!graph.tensor<[128, 1024], f16>, !graph.tensor<[1024, 1024], f16>) -> !graph.tensor<[128, 1024], f32>
func.func @worth_a_kernel(%x: !graph.tensor<[128, 1024], f32>) -> !graph.tensor<[128, 1024], f32> {
  %w = graph.weight "m#w" [] : !graph.tensor<[1024, 1024], f32>
  %0 = graph.matmul %x, %w : !graph.tensor<[128, 1024], f32>, !graph.tensor<[1024, 1024], f32> loc("gemm")
  return %0 : !graph.tensor<[128, 1024], f32>
}

// CHECK-LABEL: @not_worth_one(
// CHECK: graph.region "gemm"(%arg0, %{{.*}}) : (!graph.tensor<[8, 64], f32>, !graph.tensor<[64, 64], f16>)
func.func @not_worth_one(%x: !graph.tensor<[8, 64], f32>) -> !graph.tensor<[8, 64], f32> {
  %w = graph.weight "m#w" [] : !graph.tensor<[64, 64], f32>
  %0 = graph.matmul %x, %w : !graph.tensor<[8, 64], f32>, !graph.tensor<[64, 64], f32> loc("gemm")
  return %0 : !graph.tensor<[8, 64], f32>
}

// Two of the caller's: with targets whose cost models have that faster, both are narrowed. A short GEMM is not worth it, nor one that is kept.
// PAIRS-LABEL: @pairs(
// PAIRS-DAG: %[[A:.*]] = graph.region "cast"(%arg0) : {{.*}} -> !graph.tensor<[1536, 512], f16>
// PAIRS-DAG: %[[B:.*]] = graph.region "cast"(%arg1) : {{.*}} -> !graph.tensor<[512, 512], f16>
// PAIRS: graph.region "both"(%[[A]], %[[B]]) : {{.*}} -> !graph.tensor<[1536, 512], f32>
// PAIRS: graph.region "kept"(%arg0, %arg1)
// CHECK-LABEL: @pairs(
// CHECK: graph.region "both"(%arg0, %arg1)
func.func @pairs(%x: !graph.tensor<[1536, 512], f32>, %w: !graph.tensor<[512, 512], f32>) -> (!graph.tensor<[1536, 512], f32>, !graph.tensor<[1536, 512], f32>) {
  %0 = graph.matmul %x, %w : !graph.tensor<[1536, 512], f32>, !graph.tensor<[512, 512], f32> loc("both")
  %1 = graph.matmul %x, %w : !graph.tensor<[1536, 512], f32>, !graph.tensor<[512, 512], f32> loc("kept")
  return %0, %1 : !graph.tensor<[1536, 512], f32>, !graph.tensor<[1536, 512], f32>
}

// PAIRS-LABEL: @short_pair(
// PAIRS: graph.region "gemm"(%arg0, %arg1)
func.func @short_pair(%x: !graph.tensor<[64, 64], f32>, %w: !graph.tensor<[64, 64], f32>) -> !graph.tensor<[64, 64], f32> {
  %0 = graph.matmul %x, %w : !graph.tensor<[64, 64], f32>, !graph.tensor<[64, 64], f32> loc("gemm")
  return %0 : !graph.tensor<[64, 64], f32>
}

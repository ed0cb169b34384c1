//===- MapTest.cpp - Elementwise kernels on the host ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RunKernel.h"

using namespace kpc;
using namespace kpc::testing;

namespace {

// y[n, 4, 5] = relu(x + b[5]), n dynamic.
const char *AddBiasRelu = R"mlir(
#id = affine_map<(a, b, c) -> (a, b, c)>
#bias = affine_map<(a, b, c) -> (c)>
func.func @add(%x: memref<f32>, %b: memref<f32>, %y: memref<f32>, %n: index)
    attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%n, 4, 5], strides: [20, 5, 1] : memref<f32> to memref<?x4x5xf32, strided<[20, 5, 1]>>
  %bm = memref.reinterpret_cast %b to offset: [0], sizes: [5], strides: [1] : memref<f32> to memref<5xf32, strided<[1]>>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [%n, 4, 5], strides: [20, 5, 1] : memref<f32> to memref<?x4x5xf32, strided<[20, 5, 1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<?x4x5xf32, strided<[20, 5, 1]>> to tensor<?x4x5xf32>
  %bt = bufferization.to_tensor %bm restrict : memref<5xf32, strided<[1]>> to tensor<5xf32>
  %e = tensor.empty(%n) : tensor<?x4x5xf32>
  %s = linalg.generic {indexing_maps = [#id, #bias, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%xt, %bt : tensor<?x4x5xf32>, tensor<5xf32>) outs(%e : tensor<?x4x5xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %1 = arith.addf %p, %q : f32
    linalg.yield %1 : f32
  } -> tensor<?x4x5xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<?x4x5xf32>) outs(%e : tensor<?x4x5xf32>) {
  ^bb0(%p: f32, %o: f32):
    %z = arith.constant 0.0 : f32
    %1 = arith.maximumf %p, %z : f32
    linalg.yield %1 : f32
  } -> tensor<?x4x5xf32>
  bufferization.materialize_in_destination %r in restrict writable %ym : (tensor<?x4x5xf32>, memref<?x4x5xf32, strided<[20, 5, 1]>>) -> ()
  return
}
)mlir";

TEST(Map, addBiasRelu) {
  Kernel K(AddBiasRelu);
  ASSERT_TRUE(K.ok());
  EXPECT_EQ(K.Launch.Work, "arg3*4");
  EXPECT_EQ(K.Launch.Schedule, "map rows");
  for (int64_t N : {0, 1, 3, 17}) {
    Buffer<float> X = randomFloats(N * 20, 1), B = randomFloats(5, 2);
    Buffer<float> Y(N * 20);
    K.run({X.word(), B.word(), Y.word(), uint64_t(N)}, N * 4, 3);
    for (int64_t I = 0; I < N * 20; ++I)
      ASSERT_EQ(Y[I], std::max(X[I] + B[I % 5], 0.0f));
    EXPECT_TRUE(Y.guardIntact());
  }
}

} // namespace

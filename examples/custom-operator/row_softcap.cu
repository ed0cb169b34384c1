// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y = cap * tanh(x / cap), and the largest |y| of each row. A block has a row.

#include <cuda_fp16.h>

template <typename T>
__global__ void rowSoftcap(const T *x, T *y, float *largest, int columns,
                           float cap) {
  __shared__ float ofWarp[THREADS / 32];
  size_t first = size_t(blockIdx.x) * columns;
  float most = 0;
  for (int i = threadIdx.x; i < columns; i += THREADS) {
    float value = cap * tanhf(float(x[first + i]) / cap);
    y[first + i] = T(value);
    most = fmaxf(most, fabsf(value));
  }
  for (int lanes = 16; lanes; lanes /= 2)
    most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, lanes));
  if (threadIdx.x % 32 == 0)
    ofWarp[threadIdx.x / 32] = most;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < THREADS / 32; ++warp)
      most = fmaxf(most, ofWarp[warp]);
    largest[blockIdx.x] = most;
  }
}

// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host's side of row_softcap.cu, for fp32.

#include <cmath>
#include <cstdio>
#include <kpc/operator.h>

extern "C" int32_t row_softcap(const kpc_operator_call *call) {
  const kpc_operator_tensor &x = call->inputs[0];
  if (x.type != 1) { // KPC_F32
    std::snprintf(call->message, call->message_size,
                  "x is of type %d; the host computes f32 alone", x.type);
    return 1;
  }
  const float *from = static_cast<const float *>(x.data);
  float *y = static_cast<float *>(call->outputs[0].data);
  float *largest = static_cast<float *>(call->outputs[1].data);
  float cap = float(call->arguments[0].f);
  int64_t columns = x.dims[x.rank - 1];
  int64_t rows = kpc_operator_count(&call->outputs[1]);
  for (int64_t row = 0; row < rows; ++row) {
    largest[row] = 0;
    for (int64_t i = row * columns; i < (row + 1) * columns; ++i) {
      y[i] = cap * std::tanh(from[i] / cap);
      largest[row] = std::fmax(largest[row], std::fabs(y[i]));
    }
  }
  return 0;
}

/* Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
   See LICENSE for license information.
   SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

   Host functions of custom operators, for OperatorTest.cpp. */
#include "kpc/operator.h"

#include <string.h>

/* y = x * arguments[1] + arguments[0], of f32[rows, columns]. */
int32_t sample_affine(const kpc_operator_call *call) {
  const kpc_operator_tensor *x = &call->inputs[0], *y = &call->outputs[0];
  if (call->size != sizeof *call || call->input_count != 1 ||
      call->output_count != 1 || call->argument_count != 2 || x->rank != 2 ||
      x->type != 1 || x->dims[0] != y->dims[0] || x->dims[1] != y->dims[1])
    return 1;
  for (int64_t i = 0; i < kpc_operator_count(x); ++i)
    ((float *)y->data)[i] =
        ((const float *)x->data)[i] * (float)call->arguments[1].f +
        (float)call->arguments[0].i;
  return 0;
}

/* Its text is longer than there is room for. */
int32_t sample_fail(const kpc_operator_call *call) {
  memset(call->message, 'n', call->message_size);
  return 42;
}

/*===- operator.h - What a custom operator's host function is given -*- C
-*-===*\
|*                                                                            *|
|* Part of kpc, under the Apache License v2.0 with LLVM Exceptions.           *|
|* See LICENSE for license information.                                       *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* A host function of a custom operator (docs/custom-operators.md):           *|
|*                                                                            *|
|*   #include <kpc/operator.h>                                                *|
|*                                                                            *|
|*   extern "C" int32_t silu(const kpc_operator_call *call) {                 *|
|*     const float *x = (const float *)call->inputs[0].data;                  *|
|*     float *y = (float *)call->outputs[0].data;                             *|
|*     for (int64_t i = 0; i < kpc_operator_count(&call->inputs[0]); ++i)     *|
|*       y[i] = x[i] / (1 + expf(-x[i]));                                     *|
|*     return 0;                                                              *|
|*   }                                                                        *|
|*                                                                            *|
|* It returns 0, or another number after it has written the reason to         *|
|* `message`. It throws nothing, and keeps no pointer. Sessions of one model  *|
|* may call it at the same time from several threads.                         *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef KPC_OPERATOR_H
#define KPC_OPERATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A tensor, contiguous and row-major. The function must not write to inputs.
 *  An output shares no memory with an input or another output. */
typedef struct kpc_operator_tensor {
  void *data; /**< aligned to 64 bytes; any pointer if the tensor is empty */
  const int64_t *dims;
  int32_t rank;
  int32_t type; /**< a kpc_dtype of kpc/runtime.h: 1 is f32, 10 is f16 */
} kpc_operator_tensor;

/** An argument of the manifest: `i` for an i32 or i64, `f` for f32 or f64. */
typedef union kpc_operator_argument {
  int64_t i;
  double f;
} kpc_operator_argument;

typedef struct kpc_operator_call {
  size_t size; /**< of this struct; later versions add members at its end */
  const kpc_operator_tensor *inputs;
  const kpc_operator_tensor *outputs;
  const kpc_operator_argument *arguments;
  size_t input_count, output_count, argument_count;
  char *message; /**< room for an error's text, ended by a zero */
  size_t message_size;
} kpc_operator_call;

typedef int32_t (*kpc_operator_function)(const kpc_operator_call *call);

/** The number of elements of a tensor. */
static inline int64_t kpc_operator_count(const kpc_operator_tensor *tensor) {
  int64_t count = 1;
  for (int32_t i = 0; i < tensor->rank; ++i)
    count *= tensor->dims[i];
  return count;
}

#ifdef __cplusplus
}
#endif

#endif /* KPC_OPERATOR_H */

// y[i] = x[i] * n
#include <stdint.h>
void scale(const uint64_t *params, int64_t begin, int64_t end) {
  const float *x = (const float *)params[0];
  float *y = (float *)params[1];
  float n = (float)(int64_t)params[2];
  for (int64_t i = begin; i < end; ++i)
    y[i] = x[i] * n;
}

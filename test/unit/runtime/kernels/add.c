// z[i] = x[i] + y[i]
#include <stdint.h>
void add(const uint64_t *params, int64_t begin, int64_t end) {
  const float *x = (const float *)params[0], *y = (const float *)params[1];
  float *z = (float *)params[2];
  for (int64_t i = begin; i < end; ++i)
    z[i] = x[i] + y[i];
}

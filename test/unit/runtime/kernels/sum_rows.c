// y[r] = x[r][0] + x[r][1] + …, from 0 upwards
#include <stdint.h>
void sum_rows(const uint64_t *params, int64_t begin, int64_t end) {
  const float *x = (const float *)params[0];
  float *y = (float *)params[1];
  int64_t cols = (int64_t)params[2];
  for (int64_t r = begin; r < end; ++r) {
    float sum = x[r * cols] - x[r * cols]; // no constant: images have no data
    for (int64_t c = 0; c < cols; ++c)
      sum += x[r * cols + c];
    y[r] = sum;
  }
}

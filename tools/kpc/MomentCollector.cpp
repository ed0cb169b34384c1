//===- MomentCollector.cpp - Mean products of channels --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/kpc/MomentCollector.h"

using namespace kpc::cli;

void MomentCollector::add(std::span<const float> Values, size_t Many) {
  if (Values.empty() || !Keeps)
    return;
  if (!Many || Many > MostChannels || (Channels && Channels != Many)) {
    Keeps = false;
    Sums.clear();
    return;
  }
  Channels = Many;
  Sums.resize(Channels * (Channels + 1) / 2);
  size_t Count = Values.size() / Channels;
  Rows += Count;
  // A row of the triangle stays in the first cache while all rows of values
  // are added to it.
  double *Row = Sums.data();
  for (size_t I = 0; I < Channels; Row += Channels - I, ++I)
    for (size_t R = 0; R < Count; ++R) {
      const float *X = Values.data() + R * Channels + I;
      float First = X[0];
      if (First == 0)
        continue;
      for (size_t J = 0; J < Channels - I; ++J)
        Row[J] += double(First) * X[J];
    }
}

std::vector<float> MomentCollector::upper() const {
  std::vector<float> Means;
  if (Keeps)
    for (double Sum : Sums)
      Means.push_back(static_cast<float>(Sum / static_cast<double>(Rows)));
  return Means;
}

//===- Samples.h - Data that a model is calibrated with ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A folder holds a sample in each .npz (an array for each input), in each
/// .npy (of a model with one input), or in each folder of .npy files that are
/// named after inputs. One .npz holds all samples, along an axis in front of
/// each array. Samples are taken in the order of their names.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_SAMPLES_H
#define KPC_TOOLS_KPC_SAMPLES_H

#include "tools/kpc/Inputs.h"

namespace kpc::cli {

class Samples {
public:
  /// None after an error, such as a folder without samples.
  static std::optional<Samples> open(const std::string &Path, const Model &M,
                                     Diagnostics &Diags);

  int64_t count() const { return Count; }
  /// What sample `I` is called: its file, or "data.npz, sample 3".
  std::string name(int64_t I) const;
  /// The inputs of one sample, read now; none after an error.
  std::optional<Inputs> read(int64_t I, const Model &M,
                             Diagnostics &Diags) const;

private:
  bool openArrays(const Model &M, Diagnostics &Diags);
  bool openFolder(const Model &M, Diagnostics &Diags);
  std::optional<std::vector<tensorfile::HostTensor>>
  tensors(int64_t I, const Model &M, std::string &Why) const;

  std::string Path;
  int64_t Count = 0;
  std::vector<std::string> Files; ///< of a folder
  /// Of one file: the arrays, and which of them have the axis in addition.
  std::vector<tensorfile::HostTensor> Arrays;
  std::vector<bool> HasOwnAxis;
};

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_SAMPLES_H

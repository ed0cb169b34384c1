//===- Bisect.h - The first value that departs ------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `kpc verify --bisect`. The model is compiled again as the artifact was, but
/// with all results of its nodes as outputs: the first that departs from the
/// reference's names the node. Where all are right, and the artifact is not,
/// fusion makes the difference. Then parts of the model that end in one value
/// are compiled, and half of what is left is ruled out by each.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_BISECT_H
#define KPC_TOOLS_KPC_BISECT_H

#include "tools/kpc/Verify.h"

namespace kpc::cli {

struct BisectRequest {
  const Model &Artifact;
  std::string Model; ///< model.onnx
  /// NAME (or nothing) and the file: values by their names in the model.
  std::vector<std::pair<std::string, std::string>> References;
  bool OnnxRuntime = false; ///< asked for; else it is taken where it is
  InputOptions In;
  DeviceChoice Choice;
  std::string CacheFolder;
  Tolerance Allowed;
  std::string Tolerances; ///< those that were given, as options
  bool Json = false;
  /// Where the node goes as a model of its own, with its inputs; empty:
  /// nowhere.
  std::string OutputFolder;
};

/// The exit code.
int bisect(const BisectRequest &Request, Diagnostics &Diags);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_BISECT_H

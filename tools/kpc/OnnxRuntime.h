//===- OnnxRuntime.h - What onnxruntime computes ----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_ONNXRUNTIME_H
#define KPC_TOOLS_KPC_ONNXRUNTIME_H

#include "tools/kpc/Verify.h"

namespace kpc::cli {

struct OnnxRuntimeJob {
  std::string Model;
  /// Not empty: the model is a part of another, whose external data is there.
  std::string DataFolder;
  std::vector<std::string> Outputs;
  /// Lists of the strings that inputs and outputs are places in, as JSON, by
  /// their names.
  std::vector<std::pair<std::string, std::string>> Texts = {};
};
struct OnnxRuntimeRun {
  enum { Ran, Missing, Refused, Unwritten } How = Ran;
  std::string Why;
};
/// Runs the model once; files go to `Folder`.
OnnxRuntimeRun runOnnxRuntime(const OnnxRuntimeJob &Job, const Inputs &In,
                              const std::string &Folder);
/// Where an output is then; of a part, what numpy has no arrays for is nowhere.
std::string onnxRuntimeOutput(const std::string &Folder, size_t Number);

/// Runs an ONNX model once by the onnxruntime of `python3`, the first on PATH,
/// so that of an active virtual environment. Files go to `Folder`.
std::optional<RunValues> runOnnxRuntime(const std::string &OnnxFile,
                                        const Model &Artifact, const Inputs &In,
                                        const std::string &Folder,
                                        Diagnostics &Diags);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_ONNXRUNTIME_H

//===- InspectModel.h - What a model file takes and gives -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_INSPECTMODEL_H
#define KPC_TOOLS_KPC_INSPECTMODEL_H

#include <string>
#include <utility>
#include <vector>

namespace kpc::cli {

/// `kpc inspect model.onnx`: inputs, outputs and dims, by the names that --dim
/// and --value take. Nothing is compiled.
int inspectModel(const std::string &Path, bool Json);

/// The same for an archive of torch.export.
int inspectProgram(const std::string &Path, bool Json);

/// The same for an archive of TorchScript: its methods, as it has no shapes.
int inspectScript(const std::string &Path, bool Json);

/// A model's metadata as a table; nothing where there is none.
void printMetadata(
    const std::vector<std::pair<std::string, std::string>> &Metadata);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_INSPECTMODEL_H

//===- SavedTensors.h - What torch.save wrote ------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// torch.save writes a zip archive: a pickle of what was saved, and the raw
/// storages of its tensors. Archives of PyTorch 2.5 to 2.8 hold such archives
/// for their weights. The tensors' bytes stay where they are.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_SAVEDTENSORS_H
#define KPC_COMPILER_IMPORT_TORCH_SAVEDTENSORS_H

#include "compiler/import/torch/Pickle.h"
#include "compiler/import/torch/Program.h"
#include "compiler/import/torch/Zip.h"

namespace kpc::torch {

/// A tensor of a pickle, whose storage lies in the archive's folder `Folder`,
/// as "model/data/". None with the reason in `Why`.
std::optional<Payload> payloadOf(const PickleValue &Tensor,
                                 const ZipArchive &Zip,
                                 const std::string &Folder, std::string &Why);

/// The tensors of a saved dict by their keys; that of a saved tensor has the
/// key "". None with the reason in `Why`.
std::optional<std::map<std::string, Payload>>
readSavedTensors(const ZipData &Saved, std::string &Why);

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_SAVEDTENSORS_H

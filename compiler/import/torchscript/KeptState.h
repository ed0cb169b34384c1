//===- KeptState.h - What a module keeps between calls ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCHSCRIPT_KEPTSTATE_H
#define KPC_COMPILER_IMPORT_TORCHSCRIPT_KEPTSTATE_H

#include "compiler/import/torch/Importer.h"
#include "compiler/import/torchscript/Datum.h"

namespace kpc::torchscript {

/// An attribute that a call changes.
struct Kept {
  Datum After;
  torch::TensorMeta Meta; ///< of a tensor
  std::string Place;      ///< the user's line that assigns it
  std::string Assigns;    ///< of what a call only reads: the method that does
  bool operator==(const Kept &Other) const;
};
using KeptMap = std::map<std::string, Kept>;

/// A value of its own: lists are not shared with the other.
Datum copied(const Datum &V);
torch::TensorMeta metaOf(mlir::Value V);
/// Whether lists and tuples hold what can be state.
bool isOfParts(const Datum &V);

/// Whether a name is of a tensor in a list, which is reported with the list.
bool isPart(const KeptMap &Of, llvm::StringRef Name);
/// Reports all of it; false where there is any.
bool refuseState(const KeptMap &Changed, Diagnostics &Diags);
/// Objects have no form as an input, nor have lists that may be state
/// (`IsPerhaps`): what was set before it was read.
bool refuseLists(const KeptMap &State, bool IsPerhaps, Diagnostics &Diags);
/// Whether all of it is numbers, texts and objects of these.
bool holdNoTensor(const KeptMap &Of);
/// What changes nothing that a later call computes.
void noteSettled(const KeptMap &Of, std::vector<std::string> &Notes);
void noteState(const KeptMap &State, std::vector<std::string> &Notes);

} // namespace kpc::torchscript

#endif // KPC_COMPILER_IMPORT_TORCHSCRIPT_KEPTSTATE_H

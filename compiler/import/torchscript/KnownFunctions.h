//===- KnownFunctions.h - Loops of libraries without a loop -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCHSCRIPT_KNOWNFUNCTIONS_H
#define KPC_COMPILER_IMPORT_TORCHSCRIPT_KNOWNFUNCTIONS_H

#include "compiler/import/torchscript/Archive.h"

namespace kpc::torchscript {

struct KnownForm {
  const ScriptFile *File; ///< its first function is walked
  const char *How;        ///< "as …", for a note
};

/// The function that is walked in place of `F`, a function of the archive with
/// the whole name `Name`: it gives equal values, without steps whose sizes each
/// element of the data decides. None where kpc knows none, or where the archive
/// has other code under this name than kpc knows.
std::optional<KnownForm> knownForm(const std::string &Name,
                                   const ScriptFile &Of, const Function &F);

} // namespace kpc::torchscript

#endif // KPC_COMPILER_IMPORT_TORCHSCRIPT_KNOWNFUNCTIONS_H

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

/// The function that is walked in place of `F`, a function of the archive with
/// the whole name `Name`: it gives equal values, without steps whose sizes each
/// element of the data decides. Null where kpc knows none, or where the archive
/// has other code under this name than kpc knows.
const ScriptFile *knownForm(const std::string &Name, const ScriptFile &Of,
                            const Function &F);

} // namespace kpc::torchscript

#endif // KPC_COMPILER_IMPORT_TORCHSCRIPT_KNOWNFUNCTIONS_H

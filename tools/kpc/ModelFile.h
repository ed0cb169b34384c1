//===- ModelFile.h - What a compilation starts from -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A look at the file before the compiler reads it: which options can apply to
/// it, and which files must not be written over.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_MODELFILE_H
#define KPC_TOOLS_KPC_MODELFILE_H

#include "compiler/Compiler.h"

#include <string>
#include <vector>

namespace kpc::cli {

struct ModelFile {
  enum { Model, Graph, Plan, Artifact } Kind = Model;
  std::string Path;
  /// The models that a graph or plan takes its weights from.
  std::vector<std::string> WeightFiles;
  /// The files that the data of all these models lies in.
  std::vector<std::string> DataFiles;
};
/// What cannot be read is a Model: the compiler says what is wrong with it.
ModelFile lookAtModel(const std::string &Path);

/// Throws UsageError where an option cannot apply to such a file.
void refuseOptions(const ModelFile &File, const CompileOptions &Options);

/// True, with an error, where the file is an artifact.
bool isArtifact(const ModelFile &File, Diagnostics &Diags);

/// Tells what the reproducer of a fault needs.
void reproduceWith(const ModelFile &File);

/// Throws UsageError where `Option` would write over what is read.
void keepInputs(const ModelFile &File, const std::string &Option,
                const std::string &Output);
/// Throws where both options name one file to write; "" and "-" are none.
void keepApart(const std::string &Option, const std::string &Output,
               const std::string &Other, const std::string &OtherOutput);
void keepInput(const std::string &Input, const std::string &What,
               const std::string &Option, const std::string &Output);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_MODELFILE_H

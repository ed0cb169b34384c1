//===- Signature.h - The inputs of a TorchScript method ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A method's arguments as values: tensors with the shapes that the user gave,
/// in tuples, lists and dicts as the types have them, and fixed numbers.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCHSCRIPT_SIGNATURE_H
#define KPC_COMPILER_IMPORT_TORCHSCRIPT_SIGNATURE_H

#include "compiler/import/torch/Program.h"
#include "compiler/import/torchscript/Archive.h"
#include "compiler/import/torchscript/Datum.h"
#include "compiler/import/torchscript/ImportScript.h"

#include <set>

namespace kpc::torchscript {

/// "Optional[Tensor]"
std::string typeText(const Node &Type);
/// "forward(x: Tensor, sr: int=16000) -> Tensor"
std::string signatureText(const Function &F);

class SignatureReader {
public:
  SignatureReader(Archive &Script, const Function &F,
                  const ScriptOptions &Options, const std::string &Path,
                  torch::Program &P, Diagnostics &Diags)
      : Script(Script), F(F), Options(Options), Path(Path), P(P), Diags(Diags) {
  }

  /// The arguments by name, those that keep their default left out; adds the
  /// tensors to the program's inputs. None after a report.
  std::optional<std::map<std::string, Datum>> read();

private:
  std::optional<Datum> value(const Node &Type, const std::string &Name,
                             bool MayLack);
  std::optional<Datum> tensor(const std::string &Name, bool MayLack);
  std::optional<Datum> number(const std::string &Type, const std::string &Name,
                              bool MayLack);
  bool knows(const std::string &Name) const;
  void reportMissing();
  void reportUnused();

  /// A NamedTuple or another class of the archive.
  std::optional<Datum> named(const Node &Type, const std::string &Name,
                             bool MayLack);
  /// The keys of a dict that options name.
  std::vector<std::string> keysOf(const Node &Inner,
                                  const std::string &Name) const;

  Archive &Script;
  const Function &F;
  const ScriptOptions &Options;
  const std::string &Path;
  torch::Program &P;
  Diagnostics &Diags;
  std::set<std::string> Used;
  std::vector<std::string> Missing; ///< options that are needed
};

} // namespace kpc::torchscript

#endif // KPC_COMPILER_IMPORT_TORCHSCRIPT_SIGNATURE_H

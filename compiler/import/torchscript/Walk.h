//===- Walk.h - One call of a method --------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Walks a method as one call of it, and finds what the call leaves in the
/// attributes of the module.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCHSCRIPT_WALK_H
#define KPC_COMPILER_IMPORT_TORCHSCRIPT_WALK_H

#include "compiler/import/torchscript/Evaluator.h"
#include "compiler/import/torchscript/ImportScript.h"
#include "compiler/import/torchscript/KeptState.h"

namespace kpc::torchscript {

class OtherMethods;

/// One walk over the program, as one call of the method.
class Walk {
public:
  Walk(Archive &Script, const ScriptOptions &Options, const std::string &Path,
       Diagnostics &Diags, std::vector<std::string> &Notes)
      : Script(Script), Options(Options), Path(Path), Diags(Diags),
        Notes(Notes) {}

  mlir::OwningOpRef<mlir::ModuleOp> run(mlir::MLIRContext &Context,
                                        const torch::ImportOptions &Import,
                                        const std::string &Name,
                                        const Function &F, const KeptMap &State,
                                        WeightStore &Weights);
  // Filled by `run`.
  KeptMap Changed;
  /// What the call assigned before it read it: another branch of a later call
  /// may read it.
  KeptMap SetAnew;
  /// Attributes that were none and are objects now.
  KeptMap Made;
  /// What the call reads and only another method assigns.
  KeptMap Shared;
  std::set<std::string> ReadFirst;

private:
  bool body(torch::Importer &Into, const Function &F, const KeptMap &State,
            const WeightStore &Weights,
            const std::map<std::string, Datum> &Arguments);
  void addOutputs(Evaluator &E, const Datum &V, const std::string &Name);
  void findChanged(Evaluator &E, const Datum &Top,
                   const std::map<std::string, Datum> &Before);
  Datum keptParts(Evaluator &E, const std::string &Name, const Datum &V);
  void findShared(Evaluator &E, const std::string &Name, const Datum &Value,
                  const OtherMethods &Others);

  Archive &Script;
  const ScriptOptions &Options;
  const std::string &Path;
  Diagnostics &Diags;
  std::vector<std::string> &Notes;
  torch::Program P;
};

} // namespace kpc::torchscript

#endif // KPC_COMPILER_IMPORT_TORCHSCRIPT_WALK_H

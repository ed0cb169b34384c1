//===- ImportProgram.cpp - From .pt2 archives to the graph ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/ImportProgram.h"
#include "compiler/import/torch/Importer.h"

using namespace mlir;

namespace kpc::torch {

OwningOpRef<ModuleOp> importProgram(MLIRContext &Context,
                                    const std::string &Path,
                                    const ImportOptions &Options,
                                    WeightStore &Weights, Diagnostics &Diags) {
  std::string Name = Options.ModelName.empty()
                         ? Path.substr(Path.rfind('/') + 1)
                         : Options.ModelName;
  if (Diags.file().empty())
    Diags.setFile(Name);
  std::optional<Program> P = readProgram(Path, Diags);
  if (!P)
    return {};
  std::set<std::string> State;
  // Which buffers are written to is known once all nodes are read.
  for (int Pass = 0;; ++Pass) {
    std::vector<std::string> Notes;
    ImportOptions Own = Options;
    Own.Notes = &Notes;
    WeightStore Found;
    Importer I(Context, Own, Name, *P, State, Found, Diags);
    OwningOpRef<ModuleOp> Module = I.run();
    if (Module && !I.writtenBuffers().empty() && Pass == 0) {
      State = I.writtenBuffers();
      continue;
    }
    for (const auto &[Source, W] : Found.all())
      Weights.add(Source, W);
    if (Options.Notes && Module) {
      llvm::append_range(*Options.Notes, Notes);
      for (const std::string &Buffer : State)
        Options.Notes->push_back(
            "the program writes to its buffer '" + printable(Buffer) +
            "': it is an input and, as '" + printable(Buffer) +
            "_out', an output of the compiled model");
    }
    return Module;
  }
}

} // namespace kpc::torch

//===- KernelUses.cpp - What the launches of kernels are for --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/kernels/KernelUses.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace kpc;
using llvm::StringRef;
using llvm::Twine;

/// "_2" of "relu_2"; empty where no number is behind.
static StringRef numberBehind(StringRef Symbol) {
  StringRef Stem = Symbol.rtrim("0123456789");
  bool Numbered = Stem.size() < Symbol.size() && Stem.ends_with("_");
  return Numbered ? Symbol.drop_front(Stem.size() - 1) : StringRef();
}

KernelUses kpc::kernelUses(plan::ProgramOp Program) {
  KernelUses Launched;
  std::set<std::string> Taken;
  Program.walk([&](plan::LaunchOp Launch) {
    KernelUse &For = Launched[Launch.getKernel().str()];
    if (For.Name.empty()) {
      std::string Wanted = Launch.getName().value_or(Launch.getKernel()).str();
      For.Name = Wanted;
      if (Taken.count(For.Name))
        For.Name = Wanted += numberBehind(Launch.getKernel());
      for (unsigned Next = 1; !Taken.insert(For.Name).second; ++Next)
        For.Name = (Twine(Wanted) + "_" + Twine(Next)).str();
    }
    if (auto Nodes = Launch.getNodes())
      For.Nodes.insert_range(Nodes->getAsValueRange<mlir::StringAttr>());
  });
  return Launched;
}

//===- KernelWords.cpp - By what equal kernels are found ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/KernelWords.h"

using namespace mlir;
using namespace kpc;

namespace {

class Writer {
public:
  explicit Writer(llvm::function_ref<bool(Operation *)> LeavesOut)
      : LeavesOut(LeavesOut) {}

  void add(Operation *Op) {
    add(Op->getName().getAsOpaquePointer());
    if (!LeavesOut(Op))
      add(Op->getAttrDictionary().getAsOpaquePointer());
    count(Op->getNumOperands());
    for (Value Operand : Op->getOperands())
      count(Numbers.lookup(Operand));
    count(Op->getNumResults());
    for (Value Result : Op->getResults())
      define(Result);
    count(Op->getNumRegions());
    for (Region &Body : Op->getRegions())
      add(Body);
  }

  std::string bytes() const {
    return {reinterpret_cast<const char *>(Words.data()),
            Words.size() * sizeof(uintptr_t)};
  }

  /// Kernels have no branches: blocks need no names.
  void add(Region &Body) {
    count(llvm::range_size(Body));
    for (Block &Part : Body) {
      count(Part.getNumArguments());
      for (BlockArgument Argument : Part.getArguments())
        define(Argument);
      count(llvm::range_size(Part));
      for (Operation &Op : Part)
        add(&Op);
    }
  }

private:
  void add(const void *Pointer) { Words.push_back(uintptr_t(Pointer)); }
  void count(size_t Number) { Words.push_back(Number); }
  void define(Value V) {
    add(V.getType().getAsOpaquePointer());
    Numbers.try_emplace(V, Numbers.size());
  }

  SmallVector<uintptr_t, 256> Words;
  DenseMap<Value, size_t> Numbers;
  llvm::function_ref<bool(Operation *)> LeavesOut;
};

} // namespace

std::string graph::wordsOf(func::FuncOp Kernel) {
  StringAttr Name = Kernel.getSymNameAttr();
  Kernel.setSymName("kernel");
  Writer Words([](Operation *) { return false; });
  Words.add(Kernel);
  Kernel.setSymNameAttr(Name);
  return Words.bytes();
}

std::string graph::wordsOf(Region &Body,
                           llvm::function_ref<bool(Operation *)> LeavesOut) {
  Writer Words(LeavesOut);
  Words.add(Body);
  return Words.bytes();
}

//===- KernelText.cpp - A kernel as a worker reads it --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/kernels/KernelText.h"
#include "compiler/cache/Cache.h"
#include "llvm/ADT/StringExtras.h"

using namespace kpc;
using namespace mlir;

static std::string print(func::FuncOp Kernel) {
  std::string Text;
  llvm::raw_string_ostream Stream(Text);
  Kernel->print(Stream, OpPrintingFlags().useLocalScope().assumeVerified());
  return Text;
}

void kpc::setText(KernelJob &Job, func::FuncOp Kernel, plan::LaunchOp Launch) {
  OwningOpRef<func::FuncOp> Copy = Kernel.clone();
  if (!Job.Listing.empty() || Job.LineInfo) {
    Job.Entry = Job.Symbol;
  } else {
    Copy->setSymName("kernel");
    std::string Digest =
        CacheKey("entry").add(print(*Copy)).add(Job.Schedule).digest();
    constexpr size_t Digits = 12; // 2^24 kernels until two are likely alike
    std::string Root(Launch ? Launch.getRoot().value_or("map") : "map");
    for (char &C : Root)
      if (!llvm::isAlnum(C))
        C = '_'; // "grouped conv"
    Job.Entry = Root + "_" + Digest.substr(0, Digits);
  }
  Copy->setSymName(Job.Entry);
  Job.Text = print(*Copy);
}

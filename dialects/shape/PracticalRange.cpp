//===- PracticalRange.cpp - How large sizes are in practice ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/shape/PracticalRange.h"

#include <set>

namespace kpc::shape {

Interval practicalRange(const Facts &F, const Expr &E) {
  std::set<std::string, std::less<>> Names;
  E.collectSymbols(Names);
  Facts Ended = F;
  for (const std::string &Name : Names) {
    auto It = F.symbols().find(Name);
    SymbolFacts Known = It == F.symbols().end() ? SymbolFacts() : It->second;
    if (Known.Max != Interval::Unbounded)
      continue;
    Known.Max = LargestPracticalSize;
    Ended.declare(Name, Known);
  }
  return Ended.range(E);
}

} // namespace kpc::shape

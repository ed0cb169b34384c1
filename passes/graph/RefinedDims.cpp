//===- RefinedDims.cpp - Dimensions that several shapes are made of -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/RefinedDims.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

static SmallVector<Expr> withoutOnes(ArrayRef<Expr> Shape) {
  SmallVector<Expr> Dims;
  llvm::copy_if(Shape, std::back_inserter(Dims),
                [](const Expr &Size) { return Size != Expr(1); });
  return Dims;
}

/// `Size` / `Part` where that is a size for all values of symbols.
static std::optional<Expr> quotient(const Expr &Size, const Expr &Part) {
  Expr Rest = Size.floorDiv(Part);
  return Rest * Part == Size ? std::optional(Rest) : std::nullopt;
}

RefinedDims::RefinedDims(ArrayRef<Expr> Shape) : Dims(withoutOnes(Shape)) {}

bool RefinedDims::add(ArrayRef<Expr> Shape) {
  // What is left of both, and what is cut off their ends, innermost first.
  SmallVector<Expr> Mine(Dims), Others = withoutOnes(Shape), Parts;
  // Nothing is cut out of no elements.
  if (Mine != Others && (llvm::is_contained(Mine, Expr(0)) ||
                         llvm::is_contained(Others, Expr(0))))
    return false;
  while (!Mine.empty() && !Others.empty()) {
    bool IsMine = true;
    Expr A = Mine.pop_back_val(), B = Others.pop_back_val();
    if (A == B) {
      Parts.push_back(A);
      continue;
    }
    std::optional<Expr> Rest = quotient(B, A);
    if (!Rest) {
      IsMine = false;
      Rest = quotient(A, B);
    }
    if (!Rest)
      return false;
    Parts.push_back(IsMine ? A : B);
    (IsMine ? Others : Mine).push_back(*Rest);
  }
  if (!Mine.empty() || !Others.empty())
    return false;
  Dims.assign(Parts.rbegin(), Parts.rend());
  return true;
}

SmallVector<unsigned> RefinedDims::startsOf(ArrayRef<Expr> Shape) const {
  SmallVector<unsigned> Starts;
  unsigned Next = 0;
  for (const Expr &Size : Shape) {
    Starts.push_back(Next);
    for (Expr Joined = 1; Joined != Size; ++Next) {
      assert(Next < Dims.size() && "the shape was not added");
      Joined = Joined * Dims[Next];
    }
  }
  Starts.push_back(Next);
  return Starts;
}

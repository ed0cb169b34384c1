//===- DataSizes.h - Sizes that the model's own data decides ----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How many elements an operator finds is a number that the model computes. It
/// becomes one more result of the function, which a run reads back, and a size
/// of its own: what is behind is imported as for any other size.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_DATASIZES_H
#define KPC_COMPILER_IMPORT_DATASIZES_H

#include "compiler/import/Emitter.h"
#include "dialects/graph/Requirements.h"
#include "dialects/shape/Facts.h"

namespace kpc::frontend {

class DataSizes {
public:
  /// `Count`: an i64 scalar; `Size`: a symbol, or the number that it must be.
  void add(Value Count, Expr Size, Expr AtMost) {
    All.push_back({Count, std::move(Size), std::move(AtMost)});
  }
  /// Adds the numbers behind sizes that the results need, or that must be what
  /// another size is. The others go from `Facts`; gives their symbols.
  std::vector<std::string> addTo(SmallVector<Value> &Results,
                                 SmallVector<std::string> &Names,
                                 ArrayRef<graph::Requirement> Requirements,
                                 llvm::function_ref<Expr(const Expr &)> Current,
                                 shape::Facts &Facts);
  /// `First`: the first of the function's results that `addTo` added.
  void mark(mlir::func::FuncOp Main, size_t First) const;

private:
  struct DataSize {
    Value Count;
    Expr Size, AtMost;
    bool IsRead = true;
  };
  std::vector<DataSize> All;
};

} // namespace kpc::frontend

#endif // KPC_COMPILER_IMPORT_DATASIZES_H

//===- DataSizes.h - Sizes of a plan that data decides ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An output with `decides` is a number that a run reads back; a symbol of its
/// expression is known from there on. Steps that name the symbol stand behind
/// that place, those that lead to the number in front of it.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_PLAN_DATASIZES_H
#define KPC_DIALECTS_PLAN_DATASIZES_H

#include "dialects/plan/Plan.h"

#include <set>

namespace kpc::plan {

/// The symbols that nothing but the data of a run decides.
std::set<std::string, std::less<>> symbolsOfData(ProgramOp Program);

/// All symbols that an op and what it holds name in types and attributes.
std::set<std::string, std::less<>> symbolsNamedBy(mlir::Operation *Op);

struct SizeRead {
  int64_t Output = 0; ///< its place among the outputs
  int64_t Step = 0;   ///< read before this step
};
/// Where the numbers are read, by step: at as few places as can be. None if a
/// step needs a size before it is known.
std::optional<std::vector<SizeRead>> readsOfSizes(ProgramOp Program);

} // namespace kpc::plan

#endif // KPC_DIALECTS_PLAN_DATASIZES_H

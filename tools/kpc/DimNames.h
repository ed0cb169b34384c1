//===- DimNames.h - Dims by the model's names -------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An artifact has fewer dims than its model where the compiler fixed some or
/// found them to be others (compiler/TakenDims.h). A user knows the model's.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_DIMNAMES_H
#define KPC_TOOLS_KPC_DIMNAMES_H

#include "compiler/diagnostics/Diagnostics.h"
#include "dialects/shape/Expr.h"

#include "kpc/runtime.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace kpc::cli {

/// What a dim of the model is in the artifact, where it is none of its own.
std::optional<shape::Expr> takenDim(const Model &M, const std::string &Name);

/// The artifact's dims of which the given ones, by either's names, say
/// something.
std::set<std::string, std::less<>>
decidedDims(const Model &M, const std::map<std::string, int64_t> &Given);

/// A dim of the model's that the user gave, and what it is in the artifact.
struct GivenDim {
  std::string Name;
  int64_t Value = 0;
  shape::Expr Size;

  /// The dim of the artifact that this decides, and its value: where the size
  /// is that dim, give or take a constant.
  std::optional<std::pair<std::string, int64_t>> decides() const;
};
/// Reports a dim that has another size for the artifact's dims than was given.
void checkGivenDim(const GivenDim &Dim, const shape::Bindings &Bound,
                   Diagnostics &Diags);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_DIMNAMES_H

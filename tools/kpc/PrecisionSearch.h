//===- PrecisionSearch.h - The fastest types within a budget ----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each layer has one of a few types, which gain time and cost accuracy. From
/// the fastest choice one layer after the other steps back, that first which
/// brings most accuracy for the time that it gives up. The way from there to
/// where nothing is quantised is a list of choices, each more exact than the
/// one before: what is looked for is a place in it.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_PRECISIONSEARCH_H
#define KPC_TOOLS_KPC_PRECISIONSEARCH_H

#include "tools/kpc/AccuracyBudget.h"

#include <functional>
#include <optional>

namespace kpc::cli {

struct LayerType {
  std::string Type; ///< "int8"
  double Gain = 0;  ///< microseconds against the type that values are stored in
  Costs Alone;      ///< with this layer alone in the type
};

struct Layer {
  std::string Node;
  std::vector<LayerType> Types;
};

/// For each layer the place of its type, 0 for none of them.
using Allocation = std::vector<size_t>;

/// From the fastest allocation to that of zeros, each step one layer's. What
/// gains nothing is not taken.
std::vector<Allocation> waysBack(const std::vector<Layer> &Layers);

/// With types that gain more where the sum of costs stays within the limit, the
/// greatest gains first: what was given up on the way back, and need not be.
Allocation filled(const std::vector<Layer> &Layers, Allocation At,
                  const Costs &Base, double Limit);

/// All layers that have the type and gain by it.
Allocation allOf(const std::vector<Layer> &Layers, const std::string &Type);

/// What the layers' costs add up to, with `Base`, that of what is stored.
Costs predicted(const std::vector<Layer> &Layers, const Allocation &At,
                const Costs &Base);

double gainOf(const std::vector<Layer> &Layers, const Allocation &At);

/// The first place in [From, Count) where `Meets` holds, if it holds behind
/// wherever it holds; none where it does not hold at the last one. `Guess` is
/// asked first. `Meets` gives none where it failed, and so does this, with
/// `Failed` set.
std::optional<size_t>
firstThatMeets(size_t From, size_t Count, size_t Guess,
               const std::function<std::optional<bool>(size_t)> &Meets,
               bool &Failed);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_PRECISIONSEARCH_H

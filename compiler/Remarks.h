//===- Remarks.h - What the passes say of their choices ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Remarks as plain data: of fusions, and of patterns that the compiler knows.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_REMARKS_H
#define KPC_COMPILER_REMARKS_H

#include <string>
#include <utility>
#include <vector>

namespace kpc {

/// One fusion made or refused, from MLIR's remarks. `Text` is a sentence.
struct Remark {
  bool Passed = false;
  std::string Category; ///< "fusion"
  std::string Name;     ///< "fused", "refused"
  std::string Node, Text;
  /// The class of targets whose plan it is of; empty: all of the compile.
  std::string Plan;

  auto operator<=>(const Remark &) const = default;
};

/// The remarks of several plans as one list, each plan's in its order. A remark
/// of all plans is listed once, the others with their plan.
std::vector<Remark> mergedRemarks(
    const std::vector<std::pair<std::string, std::vector<Remark>>> &OfPlans);

/// "sm_90a: GELU is fused ..."; without a plan, the text alone.
std::string textOf(const Remark &R);

/// Why the text is no regular expression; empty: it is one.
std::string reasonAgainstPattern(const std::string &Pattern);
/// Those whose category or text the regular expression is found in.
std::vector<Remark> matchingRemarks(const std::vector<Remark> &Remarks,
                                    const std::string &Pattern);
/// The remarks that an artifact keeps as properties of its provenance: a
/// sentence a line, and only the first of many.
std::vector<std::pair<std::string, std::string>>
remarksAsProperties(const std::vector<Remark> &Remarks);
/// The keys of these properties.
constexpr const char *RemarksMade = "remarks_made";
constexpr const char *RemarksRefused = "remarks_refused";
/// The key of the table that --precision auto makes.
constexpr const char *PrecisionTableKey = "precision_table";
/// As LLVM's tools for optimisation records read them (llvm-remarkutil).
std::string remarksAsYaml(const std::vector<Remark> &Remarks);

} // namespace kpc

#endif // KPC_COMPILER_REMARKS_H

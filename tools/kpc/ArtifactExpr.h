//===- ArtifactExpr.h - Sizes of an artifact's table ------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_ARTIFACTEXPR_H
#define KPC_TOOLS_KPC_ARTIFACTEXPR_H

#include "runtime/format/artifact_generated.h"

#include <optional>
#include <string>
#include <vector>

namespace kpc::cli {

/// A postfix program of the artifact; none where it leaves the numbers.
std::optional<int64_t> evaluate(const format::Expr &E,
                                const std::vector<int64_t> &Symbols);
/// The program as text: "batch*64".
std::string exprText(const format::Model &M, const format::Expr &E);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_ARTIFACTEXPR_H

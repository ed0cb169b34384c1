//===- Forest.h - Ensembles of decision trees -------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_FOREST_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_FOREST_H

#include "compiler/import/onnx/NodeImport.h"

namespace kpc::onnx {

enum class Mode : uint8_t { Leq, Lt, Gte, Gt, Eq, Neq, Leaf };

struct TreeNode {
  Mode How = Mode::Leaf;
  int64_t Feature = 0, True = 0, False = 0; ///< children by their place
  double Split = 0;
  bool MissingIsTrue = false;
};

struct Weight {
  int64_t Node, Target;
  double Value;
};

struct Forest {
  std::vector<TreeNode> Nodes;
  std::vector<int64_t> Roots;
  std::vector<Weight> Weights;
  int64_t Targets = 1;
  std::string Aggregate = "SUM";
  std::vector<double> Base;

  /// Levels below the roots; none where a node is its own ancestor.
  std::optional<int64_t> depth() const;
};

/// [rows, targets], without base values, of rows of features; null after a
/// report.
Value forestScores(NodeImport &N, const Forest &F, Value X);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_FOREST_H

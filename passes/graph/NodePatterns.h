//===- NodePatterns.h - Options that name nodes -----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_NODEPATTERNS_H
#define KPC_PASSES_GRAPH_NODEPATTERNS_H

#include "dialects/graph/Graph.h"
#include "llvm/Support/Regex.h"

namespace kpc::graph {

/// The name of the node that an op comes from; empty: it has none.
llvm::StringRef nodeName(mlir::Operation *Op);

/// Regular expressions of node names.
class NodePatterns {
public:
  /// An error at `Op` for text that is no regular expression.
  static mlir::FailureOr<NodePatterns> read(llvm::ArrayRef<std::string> Texts,
                                            mlir::Operation *Op);
  bool match(mlir::Operation *Op) const;
  bool match(llvm::StringRef Node) const;

private:
  std::vector<llvm::Regex> Patterns;
};

/// The types that the `for` option of the passes of precision gives nodes:
/// `.*attn.*=fp8`. The last pattern that a node's name matches counts.
class TypesByName {
public:
  /// An error at `Op` for what is no REGEX=TYPE.
  static mlir::FailureOr<TypesByName> read(llvm::ArrayRef<std::string> Texts,
                                           mlir::Operation *Op);
  /// The product's own `graph.precision`, or the type by its name, or `Base`.
  llvm::StringRef typeOf(mlir::Operation *Product, llvm::StringRef Base) const;

private:
  std::vector<std::pair<llvm::Regex, std::string>> Types;
};

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_NODEPATTERNS_H

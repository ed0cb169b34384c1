//===- ModelNeeds.h - What a model asks of sizes and runs -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What `kpc check` lists: constraints of sizes, values that runs read, sizes
/// that data decides, loops and branches. Plain data, in words.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_MODELNEEDS_H
#define KPC_COMPILER_MODELNEEDS_H

#include "dialects/shape/Facts.h"

#include <string>
#include <utility>
#include <vector>

namespace mlir {
class ModuleOp;
}

namespace kpc {

struct ModelNeeds {
  struct Dim {
    std::string Name;
    shape::SymbolFacts Facts;
    std::string Reason; ///< why it must be so; may be empty
  };
  struct Requirement {
    std::string Left, Right;
    bool Equal = false;
    std::string Reason;
  };
  struct Control {
    bool IsLoop = false;
    std::string Node;
    std::string Count;     ///< of a loop's iterations; the most, if `DataEnds`
    bool DataEnds = false; ///< a loop before its count
    /// Why a GPU's graph cannot hold what data decides; empty: it can.
    std::string ReadBack;
  };
  struct Custom {
    std::string Node, Operator;
    std::string Code; ///< "CUDA, host"
  };
  std::vector<Dim> Dims;
  /// Dims of the model that are fixed, or found to be others: name and size.
  std::vector<std::pair<std::string, std::string>> Settled;
  std::vector<Requirement> Requirements;
  /// Elements of inputs that runs read as sizes: "shape[0]" and the size.
  std::vector<std::pair<std::string, std::string>> InputValues;
  /// Sizes that data decides: the size, and its greatest possible value.
  std::vector<std::pair<std::string, std::string>> DataSizes;
  std::vector<Control> Controls;
  std::vector<Custom> Operators; ///< that users bring
};

/// `Graph` is the model and `Plan` its plan; they may be the same module.
ModelNeeds needsOf(mlir::ModuleOp Graph, mlir::ModuleOp Plan);

} // namespace kpc

#endif // KPC_COMPILER_MODELNEEDS_H

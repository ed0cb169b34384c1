//===- Maps.h - Inputs that are maps ----------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_MAPS_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_MAPS_H

#include "compiler/import/onnx/NodeImport.h"

namespace kpc::onnx {

/// The row of values that stands for a map.
struct MapRow {
  std::vector<std::string> Keys; ///< in order; empty where only the run knows
  std::string Order;             ///< for a message
};

/// How the node that reads a map orders its values; none where none does.
std::optional<MapRow> rowOfMap(const Node &Reader, const ValueInfo &Map);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_MAPS_H

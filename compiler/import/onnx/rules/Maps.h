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
  std::vector<std::string> Keys;  ///< in order, where the node lists them
  std::optional<int64_t> Columns; ///< where they do not depend on the map
  std::string Order;              ///< for a message

  bool operator==(const MapRow &) const = default;
};

/// How the first node that reads a map orders its values; none where none does.
std::optional<MapRow> rowOfMap(const Graph &G, const ValueInfo &Map);
/// Whether an input is a map that its readers take as one row, which a warning
/// says; none after a report.
std::optional<bool> takeMap(Importer &Into, const Graph &G,
                            const ValueInfo &Map);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_MAPS_H

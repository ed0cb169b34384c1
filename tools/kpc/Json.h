//===- Json.h - JSON for the commands ---------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_JSON_H
#define KPC_TOOLS_KPC_JSON_H

#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kpc::cli {

/// Keys stay in the order in which they were added.
using Json = nlohmann::ordered_json;

/// Names from a model may be any bytes; what is not UTF-8 becomes U+FFFD.
/// `Indent` -1: on one line.
inline std::string jsonText(const Json &J, int Indent = -1) {
  return J.dump(Indent, ' ', /*ensure_ascii=*/false,
                Json::error_handler_t::replace);
}
inline void printJsonText(const Json &J) { fmt::print("{}\n", jsonText(J, 1)); }

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_JSON_H

//===- ToolSearch.h - Programs of the CUDA toolkit --------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where a program of the CUDA toolkit may lie. Plain C++.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_NVPTX_TOOLSEARCH_H
#define KPC_CODEGEN_NVPTX_TOOLSEARCH_H

#include <string>
#include <string_view>
#include <vector>

namespace kpc::nvptx {

/// Paths of `Name` under CUDA_HOME and CUDA_PATH, along PATH, and under
/// /usr/local/cuda, in this order; most of them do not exist.
std::vector<std::string> toolPlaces(std::string_view Name);

/// Whether a file is there that may be run.
bool isProgram(const std::string &Path);

} // namespace kpc::nvptx

#endif // KPC_CODEGEN_NVPTX_TOOLSEARCH_H

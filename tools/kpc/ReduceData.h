//===- ReduceData.h - Smaller data and sizes --------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Changes of a graph that `kpc reduce` tries. Each returns whether it changed
/// anything.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_REDUCEDATA_H
#define KPC_TOOLS_KPC_REDUCEDATA_H

#include "onnx.pb.h"

#include <string>
#include <vector>

namespace kpc::cli {

/// An initializer becomes an input of its type.
bool becomeInput(::onnx::GraphProto &Graph, const std::string &Name);
/// All elements of an initializer become 0, or what the first one is.
bool becomeZeros(::onnx::GraphProto &Graph, const std::string &Name);
bool becomeSplat(::onnx::GraphProto &Graph, const std::string &Name);

/// The sizes above 1 of inputs and data, the largest first.
std::vector<int64_t> sizesOf(const ::onnx::GraphProto &Graph);
/// Sizes of inputs and data that are `Old` become `New`, as do elements of
/// small tensors of whole numbers; data is cut. Outputs lose their sizes.
bool replaceSize(::onnx::GraphProto &Graph, int64_t Old, int64_t New);

/// The names of dims of inputs.
std::vector<std::string> dimNames(const ::onnx::GraphProto &Graph);
/// A dim becomes 1.
void fixDim(::onnx::GraphProto &Graph, const std::string &Name);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_REDUCEDATA_H

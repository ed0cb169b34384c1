//===- Reduce.h - The smallest model that still fails -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Makes a model smaller, step by step, as long as it does what somebody asks:
/// fewer nodes (delta debugging, Zeller 2002), fewer outputs and inputs, no
/// data, zeros, and small sizes. Every step is tried in a fixed order, so that
/// the same model and the same answers give the same result.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_REDUCE_H
#define KPC_TOOLS_KPC_REDUCE_H

#include "tools/kpc/OnnxParts.h"

#include <functional>

namespace kpc::cli {

struct Reduction {
  /// Whether a model still does what the first one does.
  std::function<bool(const ::onnx::ModelProto &)> Fails;
  /// What is known of a model's values; what it declares itself comes first.
  std::function<OnnxParts::Values(const ::onnx::ModelProto &)> TypesOf;
  /// Asked before each try: whether to end with what is there.
  std::function<bool()> Stop = [] { return false; };
};

/// The data of all tensors must be in the model. `Model` itself fails.
::onnx::ModelProto reduced(::onnx::ModelProto Model, const Reduction &How);

/// Takes external data into the model, as long as there is room for it: what is
/// beyond becomes an input. Reports what cannot be read.
bool takeDataIn(::onnx::ModelProto &Model, const std::string &Folder,
                Diagnostics &Diags);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_REDUCE_H

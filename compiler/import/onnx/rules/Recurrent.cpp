//===- Recurrent.cpp - Import rules ---------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"

namespace kpc::onnx {

ArrayRef<Rule> recurrentRules() { return {}; }

} // namespace kpc::onnx

//===- ReadModelFuzz.cpp - Any bytes as a model ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For libFuzzer: whatever the bytes, the reader returns a model or says why
/// not.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/model/Reader.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  kpc::Diagnostics Diags;
  bool Read = kpc::onnx::readModel({Data, Size}, "", Diags).has_value();
  if (Read == Diags.hasErrors())
    std::abort();
  return 0;
}

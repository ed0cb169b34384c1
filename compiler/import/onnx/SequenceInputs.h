//===- SequenceInputs.h - Inputs that are several tensors -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_SEQUENCEINPUTS_H
#define KPC_COMPILER_IMPORT_ONNX_SEQUENCEINPUTS_H

#include "compiler/import/onnx/ImportOnnx.h"

namespace kpc::onnx {

/// Inputs that are sequences of tensors become one input for each element,
/// `NAME[i]`, and a node that puts them together; how many there are says
/// --dim NAME=COUNT. Optional inputs are given, or with --value NAME=none
/// absent. False after an error.
bool takeSequencesApart(Model &M, ImportOptions &Options, Diagnostics &Diags);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_SEQUENCEINPUTS_H

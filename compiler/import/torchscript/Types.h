//===- Types.h - Numbers of element types -----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// TorchScript writes `torch.float32` as 6: the numbers of
/// c10/core/ScalarType.h, which are not those of torch.export's schema.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCHSCRIPT_TYPES_H
#define KPC_COMPILER_IMPORT_TORCHSCRIPT_TYPES_H

#include "compiler/import/torch/Program.h"
#include "mlir/IR/Types.h"

#include <string_view>

namespace kpc::torchscript {

/// Unknown for a number that is no type.
torch::ScalarType typeOf(int64_t Number);
int64_t numberOf(torch::ScalarType T);
int64_t numberOf(mlir::Type T);
/// Of "f32", "float32", "i64", "int64", "bool" …, as users write it.
torch::ScalarType typeByName(std::string_view Name);

} // namespace kpc::torchscript

#endif // KPC_COMPILER_IMPORT_TORCHSCRIPT_TYPES_H

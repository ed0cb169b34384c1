//===- ElementTypes.h - Element types as manifests name them ----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_CUSTOM_ELEMENTTYPES_H
#define KPC_COMPILER_IMPORT_CUSTOM_ELEMENTTYPES_H

#include "mlir/IR/BuiltinTypes.h"

#include <string>

namespace kpc::custom {

bool isElementType(llvm::StringRef Name);
/// All of them, for messages.
std::string elementTypeNames();
/// Of a name that isElementType takes.
mlir::Type elementType(mlir::MLIRContext *Context, llvm::StringRef Name);
/// The name of a graph's element type; as MLIR writes it where no manifest can
/// name it.
std::string elementName(mlir::Type Element);
/// What the type is in CUDA C++ or C++: "__half", "float".
std::string codeType(llvm::StringRef Name, bool IsCuda);

} // namespace kpc::custom

#endif // KPC_COMPILER_IMPORT_CUSTOM_ELEMENTTYPES_H

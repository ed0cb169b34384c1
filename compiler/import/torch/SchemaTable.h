//===- SchemaTable.h - The arguments of aten operators ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_SCHEMATABLE_H
#define KPC_COMPILER_IMPORT_TORCH_SCHEMATABLE_H

namespace kpc::torch {

/// The operators of one schema, a bar, and its arguments as KIND:NAME, with
/// * in front where it must be named, ? where it takes None and = where it may
/// be left out; then "=N" for several results, and "=[]" for a list. Kinds: T
/// tensor, S number, i int, f float, b bool, s text, d scalar type, o other,
/// [] a list of them. A line that starts with blanks belongs to the one before.
/// Of an operator's overloads the first that takes the arguments is meant.
extern const char *const SchemaTable;
/// The same of factors, solutions and functions of matrices.
extern const char *const MatrixSchemaTable;

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_SCHEMATABLE_H

//===- Parser.h - PTX text into syntax --------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One pass; the first mistake ends it.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_PTX_PARSER_H
#define KPC_EMULATOR_PTX_PARSER_H

#include "emulator/ptx/Syntax.h"

#include <string_view>
#include <variant>

namespace kpc::emulator::ptx {

std::variant<Module, SyntaxError> parse(std::string_view Text);

} // namespace kpc::emulator::ptx

#endif // KPC_EMULATOR_PTX_PARSER_H

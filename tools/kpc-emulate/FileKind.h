//===- FileKind.h - What a file is that is no PTX ---------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_EMULATE_FILEKIND_H
#define KPC_TOOLS_KPC_EMULATE_FILEKIND_H

#include <string>
#include <string_view>

namespace kpc::emulator::tool {

/// Why a file's content cannot be PTX, and what to do: "is a cubin, …". Empty
/// where it may be; the parser says what is wrong with text.
std::string reasonAgainstPtx(std::string_view Content);

} // namespace kpc::emulator::tool

#endif // KPC_TOOLS_KPC_EMULATE_FILEKIND_H

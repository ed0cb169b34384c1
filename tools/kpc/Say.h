//===- Say.h - Messages to people, in colour on terminals -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Diagnostics and notes on the standard error. Where that is a terminal, the
/// words `error`, `warning`, `note`, `remark` and `hint` at the start of a line
/// are coloured; --color decides otherwise, and NO_COLOR (https://no-color.org)
/// turns it off.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_SAY_H
#define KPC_TOOLS_KPC_SAY_H

#include <string>
#include <string_view>

namespace kpc::cli {

/// Looks for --color among the arguments, before these are read: what is wrong
/// with them is said in colour, too.
void chooseColour(int Count, char **Arguments);

/// Prints text that ends with a line break.
void say(std::string_view Text);

/// `Text` with the codes of a terminal around the words.
std::string coloured(std::string_view Text);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_SAY_H

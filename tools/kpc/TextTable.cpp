//===- TextTable.cpp - Aligned columns of text ----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/TextTable.h"

#include <algorithm>

namespace kpc::cli {

/// Characters, of text in UTF-8.
static size_t widthOf(std::string_view Text) {
  return std::count_if(Text.begin(), Text.end(),
                       [](char C) { return (C & 0xC0) != 0x80; });
}

std::string TextTable::text() const {
  std::vector<size_t> Widths(Sides.size(), 0);
  for (const auto &Row : Rows)
    for (size_t I = 0; I < Row.size() && I < Widths.size(); ++I)
      Widths[I] = std::max(Widths[I], widthOf(Row[I]));
  std::string Out;
  for (const auto &Row : Rows) {
    std::string Line(Indent, ' ');
    for (size_t I = 0; I < Row.size(); ++I) {
      std::string Fill(I < Widths.size() ? Widths[I] - widthOf(Row[I]) : 0,
                       ' ');
      bool Right = I < Sides.size() && Sides[I] == 'r';
      Line += (I ? "  " : "") + (Right ? Fill + Row[I] : Row[I] + Fill);
    }
    Out += Line.substr(0, Line.find_last_not_of(' ') + 1) + "\n";
  }
  return Out;
}

} // namespace kpc::cli

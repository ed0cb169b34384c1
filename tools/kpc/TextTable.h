//===- TextTable.h - Aligned columns of text --------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_TEXTTABLE_H
#define KPC_TOOLS_KPC_TEXTTABLE_H

#include <string>
#include <string_view>
#include <vector>

namespace kpc::cli {

class TextTable {
public:
  /// A letter a column: l or r, the side its text is flush with.
  explicit TextTable(std::string_view Sides, int Indent = 2)
      : Sides(Sides), Indent(Indent) {}
  void row(std::vector<std::string> Cells) { Rows.push_back(std::move(Cells)); }
  bool empty() const { return Rows.empty(); }
  /// Lines without blanks at their ends, each with a newline.
  std::string text() const;

private:
  std::string Sides;
  int Indent;
  std::vector<std::vector<std::string>> Rows;
};

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_TEXTTABLE_H

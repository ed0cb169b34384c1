//===- Diagnostics.cpp - What is wrong, where, what to do -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/diagnostics/Diagnostics.h"

#include <utility>

namespace kpc {

std::string_view severityName(Severity S) {
  switch (S) {
  case Severity::Error:
    return "error";
  case Severity::Warning:
    return "warning";
  case Severity::Note:
    return "note";
  }
  return "error";
}

const std::vector<CodeInfo> &allCodes() {
  static const std::vector<CodeInfo> Codes = {
#define KPC_DIAGNOSTIC(NAME, TEXT, SEVERITY, TITLE, HINT)                      \
  {Code::NAME, TEXT, Severity::SEVERITY, TITLE, HINT},
#include "compiler/diagnostics/Codes.def"
  };
  return Codes;
}

const CodeInfo &codeInfo(Code C) { return allCodes()[static_cast<size_t>(C)]; }

Diagnostic &Diagnostic::at(ModelPlace Where) {
  if (Where.File.empty())
    Where.File = std::move(Place.File);
  Place = std::move(Where);
  return *this;
}

Diagnostic &Diagnostic::target(std::string_view Name) {
  Target = Name;
  return *this;
}

Diagnostic &Diagnostic::message(std::string Text) {
  // Who edits a file of IR thinks in its types.
  Message = Id == Code::GraphText ? std::move(Text) : withUserTypes(Text);
  return *this;
}

Diagnostic &Diagnostic::hint(std::string Text) {
  Hint = std::move(Text);
  return *this;
}

/// Text of several lines, each fit to print.
static std::string printableLines(std::string_view Text) {
  std::string Out;
  while (!Text.empty()) {
    size_t End = std::min(Text.find('\n'), Text.size());
    Out += printable(Text.substr(0, End), Text.size());
    Text.remove_prefix(End);
    if (!Text.empty()) {
      Out += '\n';
      Text.remove_prefix(1);
    }
  }
  return Out;
}

std::string Diagnostic::text() const {
  std::string Out(severityName(Level));
  Out += '[';
  Out += codeInfo(Id).Text;
  Out += "]: ";
  std::string Where;
  if (!Place.Node.empty())
    Where += "'" + printable(Place.Node) + "'";
  if (!Place.Op.empty()) {
    Where += Where.empty() ? "(" : " (";
    Where += printable(Place.Op);
    if (Place.Opset > 0)
      Where += ", opset " + std::to_string(Place.Opset);
    Where += ')';
  }
  if (!Place.Path.empty())
    Where += " called from " + printable(Place.Path);
  if (!Place.File.empty())
    Where += (Where.empty() ? "" : " in ") + printable(Place.File, 4096);
  if (!Where.empty())
    Out += Where + ": ";
  // Whatever of a model's names is in a message has come to a terminal here.
  Out += Message.empty() ? std::string(codeInfo(Id).Title)
                         : printableLines(Message);
  if (!Target.empty())
    Out += " [" + printable(Target) + "]";
  if (!Hint.empty())
    Out += "\n  hint: " + printableLines(Hint);
  return Out;
}

std::string Diagnostic::json() const {
  std::string Out = "{\"code\":" + jsonQuote(codeInfo(Id).Text);
  auto Add = [&](std::string_view Key, std::string_view Value) {
    if (Value.empty())
      return;
    Out += ",\"";
    Out += Key;
    Out += "\":";
    Out += jsonQuote(Value);
  };
  Add("severity", severityName(Level));
  Add("file", Place.File);
  Add("node", Place.Node);
  Add("op", Place.Op);
  if (Place.Opset > 0)
    Out += ",\"opset\":" + std::to_string(Place.Opset);
  Add("path", Place.Path);
  Add("target", Target);
  Add("message", Message.empty() ? codeInfo(Id).Title : Message);
  Add("hint", Hint);
  return Out + "}";
}

Diagnostic &Diagnostics::report(Code C) {
  const CodeInfo &Info = codeInfo(C);
  bool Fatal = Strict && Info.Level == Severity::Warning;
  Severity Level = Fatal ? Severity::Error : Info.Level;
  if (Level == Severity::Error)
    ++Errors;
  // What is beyond the limit is written into a place that nobody reads.
  bool Kept = ++Count[C] <= KeptPerCode;
  Diagnostic &D = Kept ? List.emplace_back() : LeftOut;
  D = Diagnostic{};
  D.Id = C;
  D.Level = Level;
  D.Hint = Info.Hint;
  D.Place.File = File;
  return D;
}

std::string Diagnostics::text() const {
  std::string Out;
  for (const Diagnostic &D : List)
    Out += D.text() + "\n";
  for (const auto &[C, N] : Count)
    if (N > KeptPerCode)
      Out += "note: " + std::to_string(N - KeptPerCode) + " more of " +
             std::string(codeInfo(C).Text) + " were left out\n";
  return Out;
}

std::string Diagnostics::json() const {
  std::string Out = "[";
  for (const Diagnostic &D : List)
    Out += (Out.size() > 1 ? ",\n " : "") + D.json();
  return Out + "]";
}

} // namespace kpc

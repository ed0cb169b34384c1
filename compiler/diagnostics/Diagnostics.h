//===- Diagnostics.h - What is wrong, where, what to do ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Everything kpc tells a user about a model is one of these. A diagnostic has
/// a code from Codes.def (listed in docs/errors), says which node it is about,
/// what is wrong and what to do, and is collected, never thrown: a user sees
/// all faults of a model at once.
///
///   Diags.error(Code::ImportUnknownOp)
///       .at({.Node = "Conv_12", .Op = "Conv", .Opset = 17})
///       .message("kpc has no rule for this operator")
///       .hint("`kpc ops` lists what imports");
///
/// prints as
///
///   error[KPC-I0007]: 'Conv_12' (Conv, opset 17) in resnet50.onnx: kpc has …
///     hint: `kpc ops` lists what imports
///
/// Plain C++, no MLIR.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_DIAGNOSTICS_DIAGNOSTICS_H
#define KPC_COMPILER_DIAGNOSTICS_DIAGNOSTICS_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kpc {

enum class Severity { Error, Warning, Note };
std::string_view severityName(Severity S);

/// One name per line of Codes.def.
enum class Code {
#define KPC_DIAGNOSTIC(NAME, TEXT, SEVERITY, TITLE, HINT) NAME,
#include "compiler/diagnostics/Codes.def"
};

/// What Codes.def says of a code.
struct CodeInfo {
  Code Id;
  std::string_view Text; ///< "KPC-I0007"
  Severity Level;
  std::string_view Title; ///< what the code means, for docs/errors
  std::string_view Hint;  ///< what to do, used where none is given
};

/// Every code, in the order of Codes.def.
const std::vector<CodeInfo> &allCodes();
const CodeInfo &codeInfo(Code C);

/// The place in a model. Empty members are left out of the text.
struct ModelPlace {
  std::string Node = {}; ///< the node's name, or where it has none its output's
  std::string Op = {};   ///< "Conv"; with its domain where that is not ONNX's
  int64_t Opset = 0;     ///< 0: unknown
  /// Call sites the node was inlined through, outermost first.
  std::string Path = {};
  std::string File = {}; ///< filled from Diagnostics::setFile where empty
};

struct Diagnostic {
  Code Id;
  Severity Level;
  ModelPlace Place;
  std::string Target; ///< the target it holds for; empty: all
  std::string Message;
  std::string Hint;

  Diagnostic &at(ModelPlace Where);
  Diagnostic &target(std::string_view Name);
  Diagnostic &message(std::string Text);
  Diagnostic &hint(std::string Text);

  /// "error[KPC-I0007]: 'Conv_12' (Conv, opset 17) in m.onnx: …" and, on a line
  /// of its own, the hint. No newline at the end.
  std::string text() const;
  /// One JSON object.
  std::string json() const;
};

/// Collects. References that `report` returns stay valid.
class Diagnostics {
public:
  /// The file that places without one are in, as the user spelled it.
  void setFile(std::string Name) { File = std::move(Name); }
  const std::string &file() const { return File; }
  /// Warnings that are reported from now on are errors.
  void setStrict(bool On) { Strict = On; }

  Diagnostic &report(Code C);
  Diagnostic &error(Code C) { return report(C); }
  Diagnostic &warning(Code C) { return report(C); }

  const std::deque<Diagnostic> &all() const { return List; }
  bool empty() const { return List.empty(); }
  bool hasErrors() const { return Errors != 0; }
  size_t errorCount() const { return Errors; }

  /// All of them, each ending in a newline, then how many were left out.
  std::string text() const;
  /// A JSON array.
  std::string json() const;

  /// At most this many of one code are kept: a model with a fault in each of
  /// 100,000 nodes is said in a page, and memory stays bounded.
  static constexpr size_t KeptPerCode = 100;

private:
  std::string File;
  std::deque<Diagnostic> List;
  std::map<Code, size_t> Count;
  Diagnostic LeftOut{};
  size_t Errors = 0;
  bool Strict = false;
};

/// `Text` as a JSON string, with its quotes. Bytes that are not UTF-8 become
/// U+FFFD.
std::string jsonQuote(std::string_view Text);

/// Text from a model made fit to print: control characters and broken UTF-8
/// replaced, at most `Limit` bytes.
std::string printable(std::string_view Text, size_t Limit = 200);

/// What MLIR says of a graph, in the words of the model's author: types as
/// `f32[batch,3]`, no names of IR operations in front.
std::string withUserTypes(std::string_view Text);

/// The one of `Names` that `Wrong` was most likely meant to be; empty if none
/// is near.
std::string_view nearest(std::string_view Wrong,
                         const std::vector<std::string_view> &Names);

} // namespace kpc

#endif // KPC_COMPILER_DIAGNOSTICS_DIAGNOSTICS_H

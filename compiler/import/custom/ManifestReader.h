//===- ManifestReader.h - Reads an operator's manifest ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A private header of Manifest.cpp (names, types, shapes and attributes) and
/// ManifestCode.cpp (sources, arguments, macros and launch).
///
//===----------------------------------------------------------------------===//

#ifndef KPC_COMPILER_IMPORT_CUSTOM_MANIFESTREADER_H
#define KPC_COMPILER_IMPORT_CUSTOM_MANIFESTREADER_H

#include "compiler/import/custom/Manifest.h"
#include "llvm/Support/JSON.h"

#include <set>

namespace kpc::custom {

namespace json = llvm::json;
using llvm::StringRef;

/// Letters, digits and '_', without a digit in front.
bool isName(StringRef Text);

/// A manifest on its way into an Operator. What is wrong is reported with the
/// field's path, and reading goes on, so that one run tells of all faults.
class ManifestReader {
public:
  ManifestReader(const std::string &Path, Diagnostics &Diags)
      : Path(Path), Diags(Diags) {}

  std::optional<Operator> read();

private:
  void error(const std::string &Field, const std::string &Message,
             std::string Hint = {});
  void expected(const std::string &Field, const std::string &What,
                const json::Value *Got);
  void refuseOthers(const json::Object &O, const std::string &Field,
                    std::vector<std::string_view> Known);
  std::string text(const json::Object &O, StringRef Key,
                   const std::string &Field, bool Required = true);
  std::string name(const json::Object &O, const std::string &Field);
  const json::Array *list(const json::Object &O, StringRef Key,
                          const std::string &Field, bool Required);
  std::optional<Expr> size(const json::Value &V, const std::string &Field);
  void readTypes(const json::Object &O);
  void readTensors(const json::Object &O, StringRef Key,
                   std::vector<Tensor> &Into);
  std::optional<Dim> dim(const json::Value &V, const std::string &Field);
  void bindNames();
  void checkShapes();
  void checkSizes(const std::vector<Expr> &Sizes, const std::string &Field);
  void readAttributes(const json::Object &O);
  std::optional<AttributeValue> value(const json::Value &V, Attribute::Kind K,
                                      const std::string &Field);
  std::optional<UserCode> readCode(const json::Object &O, StringRef Key);
  void readArgument(const json::Value &V, const std::string &Field,
                    UserCode &Into);
  void readPlaceholders(StringRef Text, const std::string &Field);
  std::optional<std::string> file(const std::string &Name,
                                  const std::string &Field);
  std::vector<Expr> extents(const json::Object &O, StringRef Key,
                            const std::string &Field, bool Required);

  std::string Path;
  Diagnostics &Diags;
  Operator Op;
  /// What expressions may name: dims, rests (their product), int attributes.
  std::set<std::string, std::less<>> Sizes, Rests;
  bool Good = true;
};

} // namespace kpc::custom

#endif // KPC_COMPILER_IMPORT_CUSTOM_MANIFESTREADER_H

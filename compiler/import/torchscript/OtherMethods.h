//===- OtherMethods.h - What other methods do to a module -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One method of a module is compiled at a time, as `encode` and `decode`. What
/// one leaves in an attribute another may read: the attributes that methods
/// name which the walk did not call.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCHSCRIPT_OTHERMETHODS_H
#define KPC_COMPILER_IMPORT_TORCHSCRIPT_OTHERMETHODS_H

#include "compiler/import/torchscript/Evaluator.h"

namespace kpc::torchscript {

class OtherMethods {
public:
  OtherMethods(Archive &Script, const Evaluator &E, const Datum &Top);

  /// A method that assigns the attribute, or reads it; empty: none does.
  std::string assignerOf(const std::string &Path) const {
    return named(Assigners, Path);
  }
  std::string readerOf(const std::string &Path) const {
    return named(Readers, Path);
  }

private:
  using Names = std::map<std::string, std::string>;
  static std::string named(const Names &In, const std::string &Path) {
    auto It = In.find(Path);
    return It == In.end() ? "" : It->second;
  }
  /// What names of a function stand for: objects, and attributes by paths.
  struct Scope {
    std::map<std::string, const Instance *> Objects;
    std::map<std::string, std::string> Tensors;
  };
  static std::string pathOf(const Node &N, const Scope &Known);
  void add(Archive &Script, const Evaluator &E, const Instance &Of);
  void scan(const std::vector<Statement> &Block, Scope &Known,
            const std::string &Method);
  void scan(const Node &N, const Scope &Known, const std::string &Method);

  std::set<const Instance *> Seen;
  Names Assigners, Readers; ///< methods by paths of attributes
};

} // namespace kpc::torchscript

#endif // KPC_COMPILER_IMPORT_TORCHSCRIPT_OTHERMETHODS_H

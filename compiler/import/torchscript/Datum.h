//===- Datum.h - Values of a TorchScript program ----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a variable of the source stands for while the program is walked. All
/// but tensors are known then: numbers may be sizes with names. Lists, dicts
/// and objects are shared by those that hold them, as in Python.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCHSCRIPT_DATUM_H
#define KPC_COMPILER_IMPORT_TORCHSCRIPT_DATUM_H

#include "compiler/import/torchscript/Source.h"
#include "dialects/shape/Expr.h"

#include <map>
#include <memory>

namespace kpc::torchscript {

struct Instance;

struct Datum {
  enum class Kind {
    None,
    Bool, ///< `Int` is 0 or 1
    Int,
    Float,
    Text,
    Tensor, ///< `Text` is its name in the importer
    List,   ///< `Items`
    Tuple,  ///< `Items`; `Text` is its class, if it is a named one
    Dict,   ///< `Items`: keys and values in turn
    Object,
    Device,
    Function,  ///< `Text`: its whole name
    Unsettled, ///< a truth that data or sizes decide; `Text` says why
  };
  Kind Is = Kind::None;
  shape::Expr Int;
  double Float = 0;
  std::string Text;
  /// Of what is unsettled: the tensor of one element that decides it, by its
  /// name in the importer; empty where it is more.
  std::string Decider;
  /// Of what is unsettled: it holds where a size, `Int`, is 0, or where it is
  /// not.
  enum class Asks { Else, Empty, NotEmpty };
  Asks About = Asks::Else;
  std::shared_ptr<std::vector<Datum>> Items;
  std::shared_ptr<Instance> Object;

  static Datum ofBool(bool V);
  static Datum ofInt(const shape::Expr &V);
  static Datum ofFloat(double V);
  static Datum ofText(std::string V, Kind Is = Kind::Text);
  static Datum ofList(std::vector<Datum> V, Kind Is = Kind::List);
  /// An object without attributes.
  static Datum ofObject(const std::string &Class, const std::string &Path);

  bool isNone() const { return Is == Kind::None; }
  bool isTensor() const { return Is == Kind::Tensor; }
  /// Bools count as numbers, as in Python.
  bool isNumber() const {
    return Is == Kind::Bool || Is == Kind::Int || Is == Kind::Float;
  }
  bool isSequence() const {
    return Is == Kind::List || Is == Kind::Tuple || Is == Kind::Dict;
  }
  /// As a float; none where a size is not known.
  std::optional<double> asReal() const;
  std::optional<int64_t> asInt() const;
  /// "a list", for messages.
  std::string kindText() const;
};

/// A module, or an object of another class.
struct Instance {
  std::string Class;
  std::string Path; ///< "layers.0"; empty for the top
  std::map<std::string, Datum, std::less<>> Attributes;

  /// "layers.0.weight"
  std::string pathOf(const std::string &Attribute) const {
    return Path.empty() ? Attribute : Path + "." + Attribute;
  }
};

} // namespace kpc::torchscript

#endif // KPC_COMPILER_IMPORT_TORCHSCRIPT_DATUM_H

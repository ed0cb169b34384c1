//===- ValidateTarget.h - What must hold in one target's table --*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The part of Validate.h that looks at targets, and ways to walk tables whose
/// vectors may be absent.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_FORMAT_VALIDATETARGET_H
#define KPC_RUNTIME_FORMAT_VALIDATETARGET_H

#include "runtime/format/Validate.h"
#include "runtime/format/artifact_generated.h"

#include <ranges>
#include <span>
#include <vector>

namespace kpc::format {

template <class T> uint32_t count(const flatbuffers::Vector<T> *Vector) {
  return Vector ? Vector->size() : 0;
}

/// The tables of a vector, none if it is absent.
template <class T>
auto each(const flatbuffers::Vector<flatbuffers::Offset<T>> *Vector) {
  return std::views::iota(uint32_t(0), count(Vector)) |
         std::views::transform(
             [Vector](uint32_t I) -> const T * { return Vector->Get(I); });
}

/// The numbers of a vector, none if it is absent.
template <class T> auto scalars(const flatbuffers::Vector<T> *Vector) {
  return std::views::iota(uint32_t(0), count(Vector)) |
         std::views::transform([Vector](uint32_t I) { return Vector->Get(I); });
}

/// Text for messages: bounded, without control characters.
std::string printable(const flatbuffers::String *Text);

template <class... Args> Error malformed(const char *Format, Args... Values) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  Error E = failure(ErrorCode::Malformed, Format, Values...);
#pragma GCC diagnostic pop
  E.Hint = "the file was not written by kpc, or not whole; compile it again";
  return E;
}

inline bool exprExists(const Model &M, uint32_t Index) {
  return Index < count(M.exprs());
}
inline bool exprsExist(const Model &M,
                       const flatbuffers::Vector<uint32_t> *Indices) {
  for (uint32_t Index : scalars(Indices))
    if (!exprExists(M, Index))
      return false;
  return true;
}

/// What is wrong with a tensor map beside its expressions; null: nothing.
const char *tensorMapProblem(const TensorMap &Map);

/// What an expression names beside dims.
struct ExprFacts {
  bool OfDevice = false; ///< facts of a device: not in plans for the host
  /// Counters of loops: in these loops, and there in few places, alone.
  std::vector<uint32_t> Counters;
  /// Symbols that data decides.
  std::vector<uint32_t> OfData;
  bool isPlain() const { return !OfDevice && Counters.empty(); }
};

/// `Facts`: of each expression.
Status validateTarget(const Model &M, const Target &T,
                      const std::vector<ExprFacts> &Facts);

/// The loops and branches of a target: their nesting, counts and conditions.
/// For each step the counters of the loops around it.
Result<std::vector<std::vector<uint32_t>>>
validateControls(const Model &M, const Target &T,
                 const std::vector<ExprFacts> &Facts);

} // namespace kpc::format

#endif // KPC_RUNTIME_FORMAT_VALIDATETARGET_H

//===- SymbolCheck.cpp - Sizes that an artifact takes ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/SymbolCheck.h"

#include "runtime/src/Evaluate.h"

#include <cinttypes>

namespace kpc::rt {

/// ": 'Concat_5' (Concat) needs …", where the model says why.
static std::string reasonOf(const format::Symbol &S) {
  return S.reason() ? ": " + format::printable(S.reason()) : std::string();
}

static Status checkRequirements(const Model &M,
                                std::span<const int64_t> Symbols,
                                std::span<const uint8_t> Open) {
  for (const format::Requirement *R : format::each(M.table().requirements())) {
    const format::Expr &Left = *M.table().exprs()->Get(R->left()),
                       &Right = *M.table().exprs()->Get(R->right());
    if (namesAny(Left, Open) || namesAny(Right, Open))
      continue;
    std::optional<int64_t> A = evaluate(Left, Symbols),
                           B = evaluate(Right, Symbols);
    if (A && B && (R->equal() ? *A == *B : *A <= *B))
      continue;
    // A flag of a check of the model's numbers says nothing by its name.
    if (std::optional<uint32_t> Of = asSymbol(Left); Of && R->reason()) {
      const format::Symbol &S = *M.table().symbols()->Get(*Of);
      if (R->equal() && B == 0 && S.min() == 0 && S.max() == 1) {
        Error E = failure(ErrorCode::OutOfRange, "%s",
                          format::printable(R->reason()).c_str());
        E.Hint = "give inputs of which this does not hold";
        return E;
      }
    }
    constexpr size_t LongestText = 80;
    auto Is = [&](const format::Expr &E, std::optional<int64_t> Value) {
      std::string Text = exprText(M.table(), E);
      std::string Number = Value ? std::to_string(*Value) : "too large";
      return Text == Number || Text.size() > LongestText
                 ? Number
                 : Text + " = " + Number;
    };
    Error E =
        failure(ErrorCode::OutOfRange, "%s must be %s %s%s%s",
                Is(Left, A).c_str(), R->equal() ? "equal to" : "at most",
                Is(Right, B).c_str(), R->reason() ? ": " : "",
                R->reason() ? format::printable(R->reason()).c_str() : "");
    E.Hint = "give inputs of which this holds";
    return E;
  }
  return success();
}

/// A size that data decided is not what it was compiled for.
static Error wrongDataSize(const format::Symbol &S, int64_t Value) {
  Error E = failure(ErrorCode::OutOfRange,
                    "the data decides that '%s' is %" PRId64
                    ", but the model was compiled for %" PRId64 " to %" PRId64
                    " in multiples of %" PRId64 "%s",
                    format::printable(S.name()).c_str(), Value, S.min(),
                    S.max(), S.divisor(), reasonOf(S).c_str());
  E.Hint = "give inputs of which this holds";
  return E;
}

/// The most that a dim without a range may be: kernels count with 32 bits where
/// that is enough (dialects/shape/PracticalRange.h).
static constexpr int64_t LargestOpenSize = 0x7ffffffe;

static Error tooLarge(const std::string &Name, int64_t Value) {
  Error E = failure(ErrorCode::OutOfRange,
                    "dim '%s' is %" PRId64 ", but one without a range is at "
                    "most %" PRId64,
                    Name.c_str(), Value, LargestOpenSize);
  E.Hint = "compile with --dim " + Name + "=MIN..MAX that covers it";
  return E;
}

Status checkSymbols(const Model &M, std::span<const int64_t> Symbols,
                    std::span<const uint8_t> Open) {
  for (uint32_t I = 0; I < Symbols.size(); ++I) {
    if (Open[I])
      continue;
    const format::Symbol *S = M.table().symbols()->Get(I);
    int64_t Value = Symbols[I];
    std::string Name = format::printable(S->name());
    if (S->max() == INT64_MAX && Value > LargestOpenSize)
      return tooLarge(Name, Value);
    if (S->source() == format::SymbolSource::Data) {
      if (Value < S->min() || Value > S->max() || Value % S->divisor())
        return wrongDataSize(*S, Value);
      continue;
    }
    if (S->source() != format::SymbolSource::Dim) {
      if (Value < S->min() || Value > S->max() || Value % S->divisor())
        return failure(ErrorCode::OutOfRange,
                       "'%s' of the device is %" PRId64
                       ", which the model was not compiled for",
                       Name.c_str(), Value);
      continue;
    }
    if (Value < S->min() || Value > S->max()) {
      std::string Most = S->max() == INT64_MAX ? std::string("any size")
                                               : std::to_string(S->max());
      Error E = failure(ErrorCode::OutOfRange,
                        "dim '%s' is %" PRId64
                        ", but the model was compiled for %" PRId64 " to %s%s",
                        Name.c_str(), Value, S->min(), Most.c_str(),
                        reasonOf(*S).c_str());
      E.Hint = S->reason()
                   ? "for this size alone, compile with --dim " + Name + "=" +
                         std::to_string(Value)
                   : "compile with --dim " + Name + "=MIN..MAX that covers it";
      return E;
    }
    if (Value % S->divisor())
      return failure(ErrorCode::OutOfRange,
                     "dim '%s' is %" PRId64
                     ", but must be a multiple of %" PRId64 "%s",
                     Name.c_str(), Value, S->divisor(), reasonOf(*S).c_str());
  }
  return checkRequirements(M, Symbols, Open);
}

} // namespace kpc::rt

//===- KeptState.cpp - What a module keeps between calls ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torchscript/KeptState.h"
#include "compiler/import/torchscript/Types.h"

#include "llvm/ADT/STLExtras.h"

namespace kpc::torchscript {

using torch::Emitter;

static bool sameSizes(const torch::TensorMeta &A, const torch::TensorMeta &B) {
  return A.Type == B.Type && A.Sizes.size() == B.Sizes.size() &&
         llvm::all_of(llvm::zip(A.Sizes, B.Sizes), [](const auto &Pair) {
           return *std::get<0>(Pair).Known == *std::get<1>(Pair).Known;
         });
}

/// Whether lists hold the same numbers, and tensors of the same names.
static bool sameParts(const Datum &A, const Datum &B) {
  if (A.Is != B.Is)
    return false;
  if (!A.isSequence())
    return A.Int == B.Int && A.Float == B.Float && A.Text == B.Text;
  return A.Items->size() == B.Items->size() &&
         llvm::all_of(llvm::zip(*A.Items, *B.Items), [](const auto &Pair) {
           return sameParts(std::get<0>(Pair), std::get<1>(Pair));
         });
}

/// Whether a call that starts from one state ends in the other.
bool Kept::operator==(const Kept &Other) const {
  if (After.Is != Other.After.Is)
    return false;
  if (After.isTensor())
    return sameSizes(Meta, Other.Meta);
  if (After.isSequence())
    return sameParts(After, Other.After);
  return After.Int == Other.After.Int && After.Float == Other.After.Float &&
         (After.isNumber() || After.isNone() || After.Text == Other.After.Text);
}

Datum copied(const Datum &V) {
  if (!V.isSequence())
    return V;
  Datum Copy = V;
  Copy.Items = std::make_shared<std::vector<Datum>>();
  for (const Datum &Part : *V.Items)
    Copy.Items->push_back(copied(Part));
  return Copy;
}

torch::TensorMeta metaOf(mlir::Value V) {
  torch::TensorMeta M;
  M.Type = typeOf(numberOf(Emitter::element(V)));
  for (const shape::Expr &E : Emitter::dims(V))
    M.Sizes.push_back({0, "", E});
  return M;
}

bool isOfParts(const Datum &V) {
  if (V.isSequence())
    return llvm::all_of(*V.Items, isOfParts);
  return V.isTensor() || V.isNumber() || V.isNone() ||
         V.Is == Datum::Kind::Text;
}

bool isPart(const KeptMap &Of, llvm::StringRef Name) {
  return llvm::any_of(Of, [&](const auto &Other) {
    return Other.second.After.isSequence() &&
           Name.starts_with(Other.first + ".");
  });
}

bool refuseState(const KeptMap &Changed, Diagnostics &Diags) {
  for (const auto &[Name, K] : Changed)
    if (!isPart(Changed, Name))
      Diags.error(Code::ImportUnsupported)
          .message("the module keeps '" + printable(Name) +
                   "' between calls, and a compiled model keeps nothing" +
                   (K.Place.empty() ? "" : " (" + printable(K.Place) + ")"))
          .hint(
              K.After.isTensor() || K.After.isNumber() || isOfParts(K.After)
                  ? "--state explicit makes such tensors inputs and outputs of "
                    "the compiled model"
                  : "keep tensors and numbers in attributes of their own, and "
                    "give --state explicit");
  return Changed.empty();
}

void noteState(const KeptMap &State, std::vector<std::string> &Notes) {
  for (const auto &[Name, K] : State)
    if (!K.Assigns.empty())
      Notes.push_back("the module keeps '" + printable(Name) +
                      "' between calls, and the method '" +
                      printable(K.Assigns) +
                      "' assigns it: it is an input of the compiled model");
    else if (K.After.isTensor())
      Notes.push_back("the module keeps '" + printable(Name) +
                      "' between calls: it is an input and, as '" +
                      printable(Name) +
                      "_out', an output of the compiled model");
    else if (!K.After.isSequence()) // its tensors are told one by one
      Notes.push_back("the module keeps '" + printable(Name) +
                      "' between calls: the compiled model is one of the calls "
                      "after the first, where it is " +
                      (K.After.isNumber() ? K.After.Is == Datum::Kind::Float
                                                ? std::to_string(K.After.Float)
                                                : K.After.Int.str()
                                          : K.After.kindText()));
}

static bool holdsNoTensor(const Datum &V) {
  if (V.Is == Datum::Kind::Object)
    return llvm::all_of(V.Object->Attributes, [](const auto &Entry) {
      return Entry.second.Is != Datum::Kind::Object &&
             holdsNoTensor(Entry.second);
    });
  return !V.isTensor() && isOfParts(V) &&
         (!V.isSequence() || llvm::all_of(*V.Items, holdsNoTensor));
}

bool holdNoTensor(const KeptMap &Of) {
  return llvm::all_of(
      Of, [](const auto &Entry) { return holdsNoTensor(Entry.second.After); });
}

void noteSettled(const KeptMap &Of, std::vector<std::string> &Notes) {
  for (const auto &[Name, K] : Of)
    Notes.push_back("the module keeps '" + printable(Name) +
                    "' between calls, and computes the same in each of them");
}

bool refuseLists(const KeptMap &State, bool IsPerhaps, Diagnostics &Diags) {
  for (const auto &[Name, K] : State)
    if ((K.After.isSequence() && (IsPerhaps || !isOfParts(K.After))) ||
        K.After.Is == Datum::Kind::Object) {
      Diags.error(Code::ImportUnsupported)
          .message("the module keeps " + K.After.kindText() + ", '" +
                   printable(Name) + "', between calls" +
                   (K.Place.empty() ? "" : " (" + printable(K.Place) + ")"))
          .hint("keep tensors and numbers in attributes of their own");
      return false;
    }
  return true;
}

} // namespace kpc::torchscript

//===- BuiltinLists.cpp - Lists and dicts of a program --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torchscript/Evaluator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>

namespace kpc::torchscript {

using Kind = Datum::Kind;
using shape::Expr;

/// Python's slice of a list: [start, end, step], each perhaps None.
Datum Evaluator::sliced(const Datum &Of, PassedList &A) {
  auto Size = static_cast<int64_t>(Of.Items->size());
  auto Number = [&](size_t I, int64_t Default) {
    if (I >= A.size() || A[I].Value.isNone())
      return Default;
    std::optional<int64_t> N = A[I].Value.asInt();
    if (!N)
      unknownNumber("it slices a list");
    return N.value_or(Default);
  };
  int64_t Step = Number(3, 1);
  if (Step == 0)
    return fail(Code::ImportMalformed, "slices a list with a step of 0");
  int64_t Start = Number(1, Step > 0 ? 0 : Size - 1);
  int64_t End = Number(2, Step > 0 ? Size : -Size - 1);
  if (Bad)
    return {};
  auto Inside = [&](int64_t I) {
    I = I < 0 ? I + Size : I;
    return std::clamp<int64_t>(I, Step > 0 ? 0 : -1,
                               Step > 0 ? Size : Size - 1);
  };
  Start = Inside(Start), End = Inside(End);
  std::vector<Datum> Parts;
  for (int64_t I = Start; Step > 0 ? I < End : I > End; I += Step) {
    Parts.push_back((*Of.Items)[static_cast<size_t>(I)]);
    if (Step > Size || Step < -Size)
      break;
  }
  return charge(Parts.size()) ? Datum::ofList(std::move(Parts), Of.Is)
                              : Datum();
}

/// A dict of tuples of a key and a value.
static std::optional<Datum> ofPairs(const std::vector<Datum> &Pairs) {
  std::vector<Datum> All;
  for (const Datum &Pair : Pairs) {
    if (!Pair.isSequence() || Pair.Items->size() != 2)
      return std::nullopt;
    llvm::append_range(All, *Pair.Items);
  }
  return Datum::ofList(std::move(All), Kind::Dict);
}

std::optional<Datum> Evaluator::callSequence(const std::string &Name,
                                             PassedList &A) {
  size_t Count = A.size();
  if (Name == "__range_length" && Count == 3) {
    std::optional<int64_t> Low = A[0].Value.asInt(), High = A[1].Value.asInt(),
                           Step = A[2].Value.asInt();
    if (Step && *Step == 0)
      return fail(Code::ImportMalformed, "a range with a step of 0");
    if (!Step)
      return unknownNumber("the step of a range is none");
    Expr Reach = A[1].Value.Int - A[0].Value.Int;
    Expr Length = *Step > 0 ? Reach.ceilDiv(Expr(*Step))
                            : (Expr(0) - Reach).ceilDiv(Expr(0) - Expr(*Step));
    if (Length.overflowed())
      return fail(Code::ImportTooLarge,
                  "runs a loop of more than 2^63 iterations", FewerRounds);
    if (Low && High)
      return Datum::ofInt(
          std::max<int64_t>(Length.asConstant().value_or(0), 0));
    return Datum::ofInt(Into.facts().simplify(Expr::max(Length, 0)));
  }
  if (Name == "__derive_index" && Count == 3)
    return Datum::ofInt(A[1].Value.Int + A[0].Value.Int * A[2].Value.Int);
  if ((Name == "range" || Name == "rangelist") && Count == 1) {
    std::optional<int64_t> N = A[0].Value.asInt();
    if (!N)
      return unknownNumber("a loop runs " + A[0].Value.Int.str() + " times");
    if (*N > 0 && !charge(static_cast<uint64_t>(*N)))
      return Datum();
    std::vector<Datum> All;
    All.reserve(static_cast<size_t>(std::max<int64_t>(*N, 0)));
    for (int64_t I = 0; I < *N; ++I)
      All.push_back(Datum::ofInt(I));
    return Datum::ofList(std::move(All));
  }
  if (Name == "dict" || Name == "list" || Name == "tuple") {
    Kind Is = Name == "dict"   ? Kind::Dict
              : Name == "list" ? Kind::List
                               : Kind::Tuple;
    if (Count == 0)
      return Datum::ofList({}, Is);
    if (!A[0].Value.isSequence())
      return std::nullopt;
    const Datum &From = A[0].Value;
    if (!charge(From.Items->size()))
      return Datum();
    if (Is == Kind::Dict && From.Is != Kind::Dict)
      return ofPairs(*From.Items);
    if (Is != Kind::Dict && From.Is == Kind::Dict)
      return callDict("keys", A);
    return Datum::ofList(*From.Items, Is);
  }
  if (Count == 0 || !A[0].Value.isSequence())
    return std::nullopt;
  static constexpr std::string_view Changing[] = {
      "append",  "clear",   "extend",   "insert", "pop",
      "remove",  "reverse", "sort",     "update", "setdefault",
      "popitem", "Delete",  "_set_item"};
  if (llvm::is_contained(Changing, Name) &&
      !mayChange("changes a list", &A[0].Value))
    return Datum();
  return A[0].Value.Is == Kind::Dict ? callDict(Name, A) : callList(Name, A);
}

std::optional<Datum> Evaluator::callDict(const std::string &Name,
                                         PassedList &A) {
  size_t Count = A.size();
  Datum Of = A[0].Value;
  std::vector<Datum> &Items = *Of.Items;
  constexpr const char *OpenKey = "it looks for a size in a dict";
  auto EachSecond = [&](size_t First) {
    std::vector<Datum> Part;
    for (size_t I = First; I < Items.size(); I += 2)
      Part.push_back(Items[I]);
    return charge(Part.size()) ? Datum::ofList(std::move(Part)) : Datum();
  };
  auto Set = [&](const Datum &Wanted, const Datum &V) {
    std::optional<int64_t> At = placeOfKey(Of, Wanted);
    if (!At)
      unknownNumber(OpenKey);
    else if (*At >= 0)
      Items[static_cast<size_t>(*At) + 1] = V;
    else if (charge(2))
      Items.insert(Items.end(), {Wanted, V});
  };
  if (Name == "len")
    return Datum::ofInt(static_cast<int64_t>(Items.size() / 2));
  if (Name == "__contains__" && Count == 2) {
    std::optional<int64_t> At = placeOfKey(Of, A[1].Value);
    return At ? Datum::ofBool(*At >= 0)
              : Datum::ofText(OpenKey, Kind::Unsettled);
  }
  if (Name == "__getitem__" && Count == 2)
    return element(Of, A[1].Value);
  if (Name == "keys")
    return EachSecond(0);
  if (Name == "values")
    return EachSecond(1);
  if (Name == "items") {
    std::vector<Datum> Pairs;
    for (size_t I = 0; I + 1 < Items.size(); I += 2)
      Pairs.push_back(Datum::ofList({Items[I], Items[I + 1]}, Kind::Tuple));
    return charge(Items.size()) ? Datum::ofList(std::move(Pairs)) : Datum();
  }
  if (Name == "get" && Count >= 2) {
    std::optional<int64_t> At = placeOfKey(Of, A[1].Value);
    if (!At)
      return unknownNumber(OpenKey);
    return *At >= 0    ? Items[static_cast<size_t>(*At) + 1]
           : Count > 2 ? A[2].Value
                       : Datum();
  }
  if (Name == "_set_item" && Count == 3) {
    Set(A[1].Value, A[2].Value);
    return Datum();
  }
  if (Name == "setdefault" && Count == 3) {
    if (placeOfKey(Of, A[1].Value).value_or(-1) < 0)
      Set(A[1].Value, A[2].Value);
    return Bad ? Datum() : element(Of, A[1].Value);
  }
  if (Name == "update" && Count == 2 && A[1].Value.Is == Kind::Dict) {
    std::vector<Datum> More = *A[1].Value.Items;
    for (size_t I = 0; I + 1 < More.size() && !Bad; I += 2)
      Set(More[I], More[I + 1]);
    return Datum();
  }
  if (Name == "copy")
    return charge(Items.size()) ? Datum::ofList(Items, Kind::Dict) : Datum();
  if (Name == "clear") {
    Items.clear();
    return Datum();
  }
  bool Last = Name == "popitem" && Count == 1;
  if (Last || ((Name == "pop" || Name == "Delete") && Count >= 2)) {
    std::optional<int64_t> At = Last ? static_cast<int64_t>(Items.size()) - 2
                                     : placeOfKey(Of, A[1].Value);
    if (!At)
      return unknownNumber(OpenKey);
    if (*At < 0 && Count > 2)
      return A[2].Value;
    if (*At < 0)
      return fail(Code::ImportMalformed, "the dict has no such key");
    auto First = Items.begin() + *At;
    Datum Pair = Datum::ofList({First[0], First[1]}, Kind::Tuple);
    Items.erase(First, First + 2);
    return Last ? Pair : Name == "pop" ? (*Pair.Items)[1] : Datum();
  }
  return std::nullopt;
}

/// In order, where equal ones stay as they were.
Datum Evaluator::sorted(const Datum &Of, bool Reversed) {
  std::vector<Datum> All = *Of.Items;
  for (const Datum &D : All)
    if (!D.asReal() && D.Is != Kind::Text) {
      if (D.isNumber())
        return unknownNumber("it sorts sizes");
      return fail(Code::ImportUnsupported, "sorts a list of " + D.kindText());
    }
  if (!charge(All.size()))
    return {};
  auto Less = [&](const Datum &A, const Datum &B) {
    if (A.Is == Kind::Text || B.Is == Kind::Text)
      return A.Text < B.Text;
    return A.asInt() && B.asInt() ? *A.asInt() < *B.asInt()
                                  : *A.asReal() < *B.asReal();
  };
  llvm::stable_sort(All, [&](const Datum &A, const Datum &B) {
    return Reversed ? Less(B, A) : Less(A, B);
  });
  return Datum::ofList(std::move(All));
}

std::optional<Datum> Evaluator::callList(const std::string &Name,
                                         PassedList &A) {
  size_t Count = A.size();
  Datum Of = A[0].Value;
  std::vector<Datum> &Items = *Of.Items;
  // The place of the first element that equals another; -1 where none does.
  auto Find = [&](const Datum &Wanted) -> std::optional<int64_t> {
    for (size_t I = 0; I < Items.size(); ++I) {
      std::optional<bool> Equal = same(Items[I], Wanted);
      if (!Equal)
        return std::nullopt;
      if (*Equal)
        return static_cast<int64_t>(I);
    }
    return -1;
  };
  if (Name == "len")
    return Datum::ofInt(static_cast<int64_t>(Items.size()));
  if (Name == "__contains__" && Count == 2) {
    bool Open = false;
    for (const Datum &D : Items) {
      std::optional<bool> Equal = same(D, A[1].Value);
      if (Equal.value_or(false))
        return Datum::ofBool(true);
      Open |= !Equal;
    }
    return Open
               ? Datum::ofText("it looks for a size in a list", Kind::Unsettled)
               : Datum::ofBool(false);
  }
  if (Name == "__getitem__" && Count == 2)
    return element(Of, A[1].Value);
  if ((Name == "index" || Name == "remove" || Name == "count") && Count == 2 &&
      !A[1].Value.isTensor() && !A[1].Value.isSequence()) {
    std::optional<int64_t> At = Find(A[1].Value);
    if (!At)
      return unknownNumber("it looks for a size in a list");
    if (Name == "count") {
      int64_t Found = 0;
      for (const Datum &D : Items) {
        std::optional<bool> Equal = same(D, A[1].Value);
        if (!Equal)
          return unknownNumber("it counts a size in a list");
        Found += *Equal;
      }
      return Datum::ofInt(Found);
    }
    if (*At < 0)
      return fail(Code::ImportMalformed,
                  "looks for an element that the list has not");
    if (Name == "index")
      return Datum::ofInt(*At);
    Items.erase(Items.begin() + *At);
    return Datum();
  }
  // Of tensors, these are operators.
  bool Plain =
      llvm::none_of(Items, [](const Datum &D) { return D.isTensor(); });
  if (Name == "sorted" && Count == 1 && Plain)
    return sorted(Of, false);
  if (Name == "sort" && Plain && Of.Is == Kind::List && Count <= 2) {
    std::optional<bool> Reversed = Count > 1 ? truth(A[1].Value) : false;
    if (!Reversed)
      return unknownNumber("it sorts in an order");
    Datum Result = sorted(Of, *Reversed);
    if (!Bad)
      Items = *Result.Items;
    return Datum();
  }
  if (Name == "Delete" && Count == 2) {
    callList("pop", A);
    return Datum();
  }
  if (Name == "slice")
    return sliced(Of, A);
  if (Name == "append" && Count == 2 && Of.Is == Kind::List) {
    if (charge(1))
      Items.push_back(A[1].Value);
    return Of;
  }
  if (Name == "extend" && Count == 2 && A[1].Value.isSequence()) {
    std::vector<Datum> More = *A[1].Value.Items;
    if (charge(More.size()))
      Items.insert(Items.end(), More.begin(), More.end());
    return Datum();
  }
  if (Name == "add" && Count == 2 && A[1].Value.isSequence()) {
    std::vector<Datum> All = Items;
    All.insert(All.end(), A[1].Value.Items->begin(), A[1].Value.Items->end());
    return charge(All.size()) ? Datum::ofList(std::move(All), Of.Is) : Datum();
  }
  if (Name == "mul" && Count == 2) {
    std::optional<int64_t> Times = A[1].Value.asInt();
    if (!Times)
      return unknownNumber("it repeats a list");
    std::vector<Datum> All;
    for (int64_t I = 0; I < *Times && charge(Items.size() + 1); ++I)
      All.insert(All.end(), Items.begin(), Items.end());
    return Datum::ofList(std::move(All), Of.Is);
  }
  if (Name == "pop") {
    int64_t Size = static_cast<int64_t>(Items.size());
    std::optional<int64_t> Given = Count > 1 ? A[1].Value.asInt() : -1;
    if (!Given)
      return unknownNumber("it takes a part out of a list");
    int64_t At = *Given < 0 ? *Given + Size : *Given;
    if (At < 0 || At >= Size)
      return fail(Code::ImportMalformed, "pops what the list has not");
    Datum Last = Items[static_cast<size_t>(At)];
    Items.erase(Items.begin() + At);
    return Last;
  }
  if (Name == "insert" && Count == 3) {
    auto Size = static_cast<int64_t>(Items.size());
    std::optional<int64_t> Given = A[1].Value.asInt();
    if (!Given)
      return unknownNumber("it inserts into a list");
    int64_t At =
        std::clamp<int64_t>(*Given < 0 ? *Given + Size : *Given, 0, Size);
    if (charge(1))
      Items.insert(Items.begin() + At, A[2].Value);
    return Datum();
  }
  if (Name == "_set_item" && Count == 3) {
    auto Size = static_cast<int64_t>(Items.size());
    std::optional<int64_t> At = A[1].Value.asInt();
    if (!At)
      return unknownNumber("it picks from a list");
    int64_t I = *At < 0 ? *At + Size : *At;
    if (I < 0 || I >= Size)
      return fail(Code::ImportMalformed,
                  "expected an index below " + std::to_string(Size) +
                      " into a list, got " + std::to_string(*At));
    Items[static_cast<size_t>(I)] = A[2].Value;
    return Of;
  }
  if (Name == "clear") {
    Items.clear();
    return Datum();
  }
  if (Name == "reverse") {
    std::reverse(Items.begin(), Items.end());
    return Datum();
  }
  if (Name == "copy")
    return charge(Items.size()) ? Datum::ofList(Items, Of.Is) : Datum();
  if ((Name == "min" || Name == "max" || Name == "sum" || Name == "prod") &&
      Count == 1 && !Items.empty() && Items.front().isNumber()) {
    Datum Result = Items.front();
    const std::string Step = Name == "sum"    ? "add"
                             : Name == "prod" ? "mul"
                                              : Name;
    for (size_t I = 1; I < Items.size() && !Bad; ++I)
      Result = arithmetic(Step, Result, Items[I]);
    return Result;
  }
  if ((Name == "all" || Name == "any") && Count == 1) {
    for (const Datum &D : Items)
      if (std::optional<bool> T = truth(D); !T)
        return std::nullopt;
      else if (*T == (Name == "any"))
        return Datum::ofBool(Name == "any");
    return Datum::ofBool(Name == "all");
  }
  return std::nullopt;
}

} // namespace kpc::torchscript

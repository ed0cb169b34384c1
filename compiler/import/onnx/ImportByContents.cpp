//===- ImportByContents.cpp - Operators on tensors whose elements are known
//===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Shape arithmetic: the operators that exporters compute shapes with, on
/// contents instead of values. Where an operand's elements are not known, or
/// the operator is of no use for shapes, the ordinary rule runs.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/FoldContents.h"
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

namespace kpc::onnx {

namespace {
using Folder = bool (*)(NodeImport &);

//===----------------------------------------------------------------------===//
// Sizes of values
//===----------------------------------------------------------------------===//

bool foldShape(NodeImport &N) {
  Value X = N.input(0);
  if (!X)
    return true;
  int64_t Rank = N.rank(X);
  auto Clamp = [&](int64_t V) {
    return std::clamp<int64_t>(V < 0 ? V + Rank : V, 0, Rank);
  };
  int64_t Start = Clamp(N.intAttribute("start", 0));
  int64_t End = Clamp(N.intAttribute("end", Rank));
  if (N.bad())
    return true;
  Contents C;
  for (int64_t I = Start; I < End; ++I)
    C.Whole.push_back(N.dims(X)[static_cast<size_t>(I)]);
  C.Dims = {static_cast<int64_t>(C.Whole.size())};
  return finishContents(N, std::move(C));
}

bool foldSize(NodeImport &N) {
  Value X = N.input(0);
  if (!X)
    return true;
  Contents C;
  C.Whole.push_back(graph::typeOf(X).getNumElements());
  return finishContents(N, std::move(C));
}

//===----------------------------------------------------------------------===//
// The same elements under other sizes
//===----------------------------------------------------------------------===//

bool foldIdentity(NodeImport &N) { return finishContents(N, *N.contents(0)); }

bool foldCast(NodeImport &N) {
  std::optional<ElementType> To = elementType(N.requiredInt("to"));
  N.ignoreAttribute("saturate");
  if (N.bad() || !To)
    return N.bad();
  const Contents &X = *N.contents(0);
  Contents C;
  C.Type = *To;
  C.Dims = X.Dims;
  mlir::Type Element = graphType(N.builder().getContext(), *To);
  if (!Element || graph::isNarrowFloat(Element))
    return false;
  if (C.isReal()) {
    std::optional<std::vector<double>> Values = X.reals();
    if (!Values || *To == ElementType::Float16 || *To == ElementType::Bfloat16)
      return false;
    for (double V : *Values)
      C.Real.push_back(*To == ElementType::Float ? static_cast<float>(V) : V);
    return finishContents(N, std::move(C));
  }
  for (double V : X.Real) {
    if (!(std::abs(V) < 9e15) || *To == ElementType::Bool)
      return false;
    C.Whole.push_back(Expr(static_cast<int64_t>(V)));
  }
  for (const Expr &E : X.Whole) {
    if (*To == ElementType::Bool && !E.isConstant())
      return false;
    C.Whole.push_back(*To == ElementType::Bool ? Expr(E != Expr(0)) : E);
  }
  return finishContents(N, std::move(C));
}

bool withDims(NodeImport &N, std::vector<int64_t> Dims) {
  Contents C = *N.contents(0);
  if (elementCount(Dims) != static_cast<int64_t>(C.count()))
    return false;
  C.Dims = std::move(Dims);
  return finishContents(N, std::move(C));
}

bool foldReshape(NodeImport &N) {
  const Contents &X = *N.contents(0);
  std::optional<std::vector<int64_t>> To = N.contents(1)->integers();
  if (!To || N.flagAttribute("allowzero"))
    return false;
  int64_t Others = 1;
  for (size_t I = 0; I < To->size(); ++I) {
    if ((*To)[I] == 0 && I < X.Dims.size())
      (*To)[I] = X.Dims[I];
    if (llvm::MulOverflow(Others, std::max<int64_t>((*To)[I], 1), Others))
      return false;
  }
  for (int64_t &Size : *To)
    if (Size == -1)
      Size = static_cast<int64_t>(X.count()) / Others;
  return withDims(N, *To);
}

/// Squeeze and Unsqueeze; their axes are the second input.
bool foldAxes(NodeImport &N) {
  const Contents &X = *N.contents(0);
  bool Insert = N.node().Op == "Unsqueeze";
  auto Rank = static_cast<int64_t>(X.Dims.size());
  Ints Axes;
  if (N.hasInput(1)) {
    std::optional<std::vector<int64_t>> Given = N.contents(1)->integers();
    if (!Given)
      return false;
    int64_t Full = Insert ? Rank + static_cast<int64_t>(Given->size()) : Rank;
    Axes = N.frontAxes(*Given, Full);
  } else {
    for (int64_t I = 0; I < Rank; ++I)
      if (X.Dims[static_cast<size_t>(I)] == 1)
        Axes.push_back(I);
  }
  if (N.bad())
    return true;
  std::vector<int64_t> Dims;
  if (Insert) {
    size_t Next = 0;
    for (size_t I = 0; I < X.Dims.size() + Axes.size(); ++I)
      Dims.push_back(llvm::is_contained(Axes, static_cast<int64_t>(I))
                         ? 1
                         : X.Dims[Next++]);
  } else {
    for (size_t I = 0; I < X.Dims.size(); ++I)
      if (!llvm::is_contained(Axes, static_cast<int64_t>(I)))
        Dims.push_back(X.Dims[I]);
  }
  return withDims(N, Dims);
}

//===----------------------------------------------------------------------===//
// Picking and joining, of vectors
//===----------------------------------------------------------------------===//

bool foldConcat(NodeImport &N) {
  Contents C = *N.contents(0);
  int64_t Axis = N.intAttribute("axis", N.opset() < 4 ? 1 : 0);
  if (C.Dims.size() != 1 || (Axis != 0 && Axis != -1))
    return false;
  for (size_t I = 1; I < N.inputCount(); ++I) {
    if (!N.hasInput(I))
      return false;
    const Contents &X = *N.contents(I);
    if (X.Dims.size() != 1 || X.Type != C.Type)
      return false;
    C.Whole.insert(C.Whole.end(), X.Whole.begin(), X.Whole.end());
    C.Real.insert(C.Real.end(), X.Real.begin(), X.Real.end());
  }
  C.Dims = {static_cast<int64_t>(C.count())};
  return finishContents(N, std::move(C));
}

/// The elements of a vector at `Indices`.
Contents pick(const Contents &X, const std::vector<int64_t> &Indices) {
  Contents C;
  C.Type = X.Type;
  for (int64_t I : Indices) {
    auto At = static_cast<size_t>(I);
    if (X.isReal())
      C.Real.push_back(X.Real[At]);
    else
      C.Whole.push_back(X.Whole[At]);
  }
  C.Dims = {static_cast<int64_t>(Indices.size())};
  return C;
}

bool foldGather(NodeImport &N) {
  const Contents &X = *N.contents(0), &At = *N.contents(1);
  std::optional<std::vector<int64_t>> Indices = At.integers();
  int64_t Axis = N.intAttribute("axis", 0);
  if (X.Dims.size() != 1 || !Indices || (Axis != 0 && Axis != -1))
    return false;
  auto Size = static_cast<int64_t>(X.count());
  for (int64_t &I : *Indices) {
    I = I < 0 ? I + Size : I;
    if (I < 0 || I >= Size)
      return false;
  }
  Contents C = pick(X, *Indices);
  C.Dims = At.Dims;
  return finishContents(N, std::move(C));
}

bool foldSlice(NodeImport &N) {
  const Contents &X = *N.contents(0);
  if (X.Dims.size() != 1)
    return false;
  int64_t Values[4] = {0, 0, 0, 1}; // starts, ends, axes, steps
  for (size_t I = 1; I < N.inputCount() && I < 5; ++I) {
    if (!N.hasInput(I))
      continue;
    std::optional<std::vector<int64_t>> V = N.contents(I)->integers();
    if (!V || V->size() != 1)
      return false;
    Values[I - 1] = V->front();
  }
  auto Size = static_cast<int64_t>(X.count());
  auto [Start, End, Axis, Step] = Values;
  if (Size == 0 || Step == 0 || (Axis != 0 && Axis != -1))
    return false;
  // A longer step gets no further, and could overflow.
  Step = std::clamp(Step, -Size, Size);
  int64_t Low = Step > 0 ? 0 : -1, High = Step > 0 ? Size : Size - 1;
  Start = std::clamp(Start < 0 ? Start + Size : Start,
                     std::max<int64_t>(Low, 0), High);
  End =
      std::clamp(End < 0 ? std::max<int64_t>(End + Size, -1) : End, Low, High);
  std::vector<int64_t> Indices;
  for (int64_t I = Start; Step > 0 ? I < End : I > End; I += Step)
    Indices.push_back(I);
  return finishContents(N, pick(X, Indices));
}

bool foldExpand(NodeImport &N) {
  const Contents &X = *N.contents(0);
  std::optional<std::vector<int64_t>> To = N.contents(1)->integers();
  std::optional<std::vector<int64_t>> Dims =
      To ? broadcastDims(X.Dims, *To) : std::nullopt;
  std::optional<int64_t> Count = Dims ? elementCount(*Dims) : std::nullopt;
  if (!Count || *Count > Contents::MostElements)
    return false;
  Contents C;
  C.Type = X.Type;
  C.Dims = *Dims;
  for (size_t I = 0; I < static_cast<size_t>(*Count); ++I) {
    size_t From = broadcastIndex(I, C.Dims, X.Dims);
    if (X.isReal())
      C.Real.push_back(X.Real[From]);
    else
      C.Whole.push_back(X.Whole[From]);
  }
  return finishContents(N, std::move(C));
}

bool foldConstantOfShape(NodeImport &N) {
  std::optional<std::vector<int64_t>> Dims = N.contents(0)->integers();
  std::optional<int64_t> Count = Dims ? elementCount(*Dims) : std::nullopt;
  const Tensor *Fill = N.tensorAttribute("value");
  if (!Count || *Count > 64 || Dims->size() > 1 || !Fill)
    return false;
  std::optional<Contents> Value = Contents::of(*Fill);
  if (!Value || Value->isReal() || Value->count() != 1)
    return false;
  Value->Dims = *Dims;
  Value->Whole.assign(static_cast<size_t>(*Count), Value->Whole[0]);
  return finishContents(N, std::move(*Value));
}

bool foldRange(NodeImport &N) {
  std::optional<std::vector<int64_t>> V[3];
  for (size_t I = 0; I < 3; ++I) {
    V[I] = N.contents(I)->integers();
    if (!V[I] || V[I]->size() != 1)
      return false;
  }
  int64_t Start = V[0]->front(), Limit = V[1]->front(), Step = V[2]->front();
  constexpr int64_t Most = 1'000'000;
  auto within = [](int64_t V) { return -Most <= V && V <= Most; };
  if (Step == 0 || !within(Start) || !within(Limit))
    return false;
  // A longer step gets no further, and could overflow.
  Step = std::clamp(Step, -2 * Most, 2 * Most);
  Contents C;
  C.Type = N.contents(0)->Type;
  for (int64_t I = Start; Step > 0 ? I < Limit : I > Limit; I += Step) {
    C.Whole.push_back(Expr(I));
    if (C.Whole.size() > 64)
      return false;
  }
  C.Dims = {static_cast<int64_t>(C.Whole.size())};
  return finishContents(N, std::move(C));
}

struct FolderRow {
  std::string_view Op;
  Folder Fold;
  /// Inputs that must be there, from the first on.
  size_t Least = 1;
  bool NeedsContents = true; ///< of every input
};

constexpr FolderRow Folders[] = {
    {"Add", foldBinary, 2},
    {"Cast", foldCast},
    {"Ceil", foldRound},
    {"Concat", foldConcat},
    {"ConstantOfShape", foldConstantOfShape},
    {"Div", foldBinary, 2},
    {"Equal", foldBinary, 2},
    {"Expand", foldExpand, 2},
    {"Floor", foldRound},
    {"Gather", foldGather, 2},
    {"Greater", foldBinary, 2},
    {"GreaterOrEqual", foldBinary, 2},
    {"Identity", foldIdentity},
    {"Less", foldBinary, 2},
    {"LessOrEqual", foldBinary, 2},
    {"Max", foldBinary, 2},
    {"Min", foldBinary, 2},
    {"Mod", foldBinary, 2},
    {"Mul", foldBinary, 2},
    {"Not", foldNot},
    {"Range", foldRange, 3},
    {"ReduceMax", foldReduce},
    {"ReduceMin", foldReduce},
    {"ReduceProd", foldReduce},
    {"ReduceSum", foldReduce},
    {"Reshape", foldReshape, 2},
    {"Shape", foldShape, 1, false},
    {"Size", foldSize, 1, false},
    {"Slice", foldSlice},
    {"Squeeze", foldAxes},
    {"Sub", foldBinary, 2},
    {"Unsqueeze", foldAxes},
    {"Where", foldWhere, 3},
};
} // namespace

bool importByContents(NodeImport &N) {
  if (!N.node().Domain.empty() || N.inputCount() == 0)
    return false;
  for (const FolderRow &Row : Folders) {
    if (Row.Op != N.node().Op)
      continue;
    for (size_t I = 0; I < std::max(Row.Least, N.inputCount()); ++I) {
      bool There = N.hasInput(I);
      if (I < Row.Least && !There)
        return false;
      if (There && Row.NeedsContents && !N.contents(I))
        return false;
    }
    return Row.Fold(N);
  }
  return false;
}

} // namespace kpc::onnx

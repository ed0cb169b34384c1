//===- ImporterDataSizes.cpp - Sizes that the model's own data decides ----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How many elements an operator finds is a number that the model computes. It
/// becomes one more result of the function, which a run reads back, and a size
/// of its own: what is behind is imported as for any other size.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/PartWrite.h"
#include "compiler/import/onnx/Importer.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::onnx {

/// What the model calls a dim of the value; empty: nothing, or the name is
/// another size's.
std::string Importer::declaredName(const std::string &Value, size_t Axis) {
  const ValueInfo *Info = declared(Value);
  if (!Info || Axis >= Info->Shape->size())
    return "";
  const auto *Name = std::get_if<std::string>(&(*Info->Shape)[Axis]);
  return Name && !Symbols.count(*Name) ? plainName(*Name) : "";
}

void Importer::collectOutputDims(const Graph &G) {
  auto Collect = [&](const ValueInfo &V) {
    for (size_t I = 0; V.Shape && I < V.Shape->size(); ++I)
      if (const Dim &D = (*V.Shape)[I]; hasName(D))
        OutputDims.insert(plainName(std::get<std::string>(D)));
  };
  for (const ValueInfo &V : G.Outputs)
    Collect(V);
  for (const auto &[Name, V] : G.Values)
    Collect(V);
}

void Importer::reportIdleOutputDims() {
  for (const auto &[Name, F] : Options.Dims)
    if (OutputDims.count(Name) && !Symbols.count(Name))
      reportNoDim("dim", Name);
}

std::optional<Expr> Importer::decideSize(NodeImport &N, Value Count,
                                         const Expr &AtMost, size_t Axis,
                                         size_t Of) {
  // What a probe guesses must not become a size of the model.
  if (Diags != &TheDiags)
    return AtMost;
  if (std::optional<Contents> Known =
          Count ? Evaluator.contents(Count) : std::nullopt;
      Known && Known->Whole.size() == 1)
    return Facts.simplify(Known->Whole.front());
  if (!Bodies.empty()) {
    N.fail(Code::ImportNotConstant,
           "how many elements there are is known only when the model runs, and "
           "not before the loop or branch around it",
           "move the operator out of the loop or branch, or export with sizes "
           "that do not depend on data");
    return std::nullopt;
  }
  if (!Count)
    return std::nullopt;
  const std::string &Output = N.node().Outputs[Of];
  std::string Wanted = declaredName(Output, Axis);
  if (Wanted.empty())
    Wanted = Output + "_size";
  // The same flags again have the same number, unless --dim names this one.
  if (!GivenDims.count(Wanted))
    for (const auto &[Earlier, Size] : Counted)
      if (frontend::isSame(Earlier, Count))
        return current(Size);
  Expr Size = addDataSize(N, Count, AtMost, Wanted);
  Counted.emplace_back(Count, Size);
  return Size;
}

Expr Importer::addDataSize(NodeImport &N, Value Count, const Expr &AtMost,
                           const std::string &Wanted) {
  std::string Name = freshSymbol(Wanted);
  Expr Size = Expr::symbol(Name);
  Symbols.emplace(Name, Size);
  shape::SymbolFacts Known;
  if (auto It = GivenDims.find(Name); It != GivenDims.end())
    Known = It->second;
  Known.Max = std::max(Known.Min, std::min(Known.Max, Facts.range(AtMost).Max));
  if (Known.Optimum)
    Known.Optimum = std::min(*Known.Optimum, Known.Max);
  if (Known.Min == Known.Max)
    Symbols[Name] = Size = Expr(Known.Min);
  else
    Facts.declare(Name, Known);
  Decided.add(N.reshape(N.cast(Count, N.i64()), {}), Size, AtMost);
  return Size;
}

/// Sizes of a shape.
static constexpr int64_t MostElements = 16;

/// The number of elements, up to one more than may be sizes.
static int64_t countOf(Value V) {
  int64_t Count = 1;
  for (const Expr &E : Emitter::dims(V))
    Count =
        std::min(Count, MostElements + 1) *
        std::min(E.asConstant().value_or(MostElements + 1), MostElements + 1);
  return Count;
}

bool Importer::decideElements(NodeImport &N, Value V, const std::string &Name,
                              std::vector<Expr> &Sizes) {
  if (std::optional<Contents> Known = Evaluator.contents(V);
      Known && !Known->isReal()) {
    llvm::append_range(Sizes, Known->Whole);
    return true;
  }
  // Of a shape, some sizes are often known.
  if (auto Concat = V.getDefiningOp<ConcatOp>();
      Concat && Emitter::rank(V) == 1)
    return llvm::all_of(Concat->getOperands(), [&](Value Part) {
      return decideElements(N, Part, Name, Sizes);
    });
  Value Flat = N.reshape(V, {Expr(countOf(V))});
  for (int64_t I = 0; Flat && I < countOf(V); ++I) {
    auto [It, New] =
        DecidedElements.try_emplace(std::pair(V.getAsOpaquePointer(), I));
    if (New)
      It->second =
          addDataSize(N, N.sliceAxis(Flat, 0, I, 1),
                      greatestSize(Emitter::element(V)), Name + "_value");
    Sizes.push_back(current(It->second));
  }
  return static_cast<bool>(Flat);
}

std::optional<std::vector<Expr>>
Importer::decideElements(NodeImport &N, const std::string &Name) {
  if (Diags != &TheDiags || !Bodies.empty())
    return std::nullopt;
  Value V = value(Name, N);
  if (!V || !isa<IntegerType>(Emitter::element(V)) || countOf(V) > MostElements)
    return std::nullopt;
  std::vector<Expr> Sizes;
  if (!decideElements(N, V, Name, Sizes))
    return std::nullopt;
  return Sizes;
}

void Importer::addDataSizes(SmallVector<Value> &Results,
                            SmallVector<std::string> &Names) {
  for (const std::string &Idle : Decided.addTo(
           Results, Names, Requirements,
           [&](const Expr &E) { return current(E); }, Facts))
    Symbols.erase(Idle);
}

} // namespace kpc::onnx

//===- ImporterInputValues.cpp - Sizes that are data of inputs ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where a rule needs a value that follows from elements of small inputs, each
/// of these elements becomes a size of its own, `NAME[i]`. Sizes that no type
/// and no op names in the end are forgotten again.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"

#include "dialects/graph/InputValues.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/SetVector.h"

#include <climits>

using namespace mlir;
using namespace kpc::graph;

namespace kpc::onnx {

/// Inputs of more elements are data.
static constexpr int64_t MostElements = 64;

int64_t greatestSize(Type Element) {
  if (Element.isF32() || Element.isF64())
    return INT_MAX;
  auto Int = dyn_cast<IntegerType>(Element);
  if (!Int)
    return 0;
  unsigned Bits =
      Int.getWidth() - (Int.isUnsigned() || Int.getWidth() == 1 ? 0 : 1);
  return Bits >= 31 ? INT_MAX : (int64_t(1) << Bits) - 1;
}

/// The number of elements of an input that may be sizes; none of others.
static std::optional<int64_t> smallCount(const ValueInfo &V) {
  if (!V.Shape || V.Is != ValueInfo::Kind::Tensor)
    return std::nullopt;
  int64_t Count = 1;
  for (const Dim &D : *V.Shape) {
    const int64_t *Size = std::get_if<int64_t>(&D);
    if (!Size || *Size < 0 || *Size > MostElements)
      return std::nullopt;
    Count *= *Size;
    if (Count > MostElements)
      return std::nullopt;
  }
  return Count;
}

void Importer::collectValueNames(std::set<std::string, std::less<>> &Names) {
  for (const ValueInfo &V : Top->Inputs)
    for (int64_t I = 0; I < smallCount(V).value_or(0); ++I)
      Names.insert(inputValueName(V.Name, I));
}

std::optional<KnownTensor> Importer::inputElements(Value V) {
  auto Argument = dyn_cast<BlockArgument>(V);
  // What a probe guesses must not become a size of the model.
  if (!Argument || Argument.getOwner() != &Main.front() || Diags != &TheDiags)
    return std::nullopt;
  Type Element = Emitter::element(V);
  int64_t Most = greatestSize(Element);
  KnownTensor Found{Element, {}, {}};
  int64_t Count = 1;
  for (const Expr &E : Emitter::dims(V)) {
    Found.Dims.push_back(E.asConstant().value_or(MostElements + 1));
    Count = std::min(Count, MostElements) *
            std::min(Found.Dims.back(), MostElements + 1);
  }
  if (Most == 0 || Count > MostElements)
    return std::nullopt;
  const std::string &Input = Signature[Argument.getArgNumber()];
  for (int64_t I = 0; I < Count; ++I) {
    std::string Name = inputValueName(Input, I);
    if (auto [It, New] = InputValues.try_emplace(Name, Input, I); New) {
      // A dim that is called so is another size.
      if (Symbols.count(Name)) {
        InputValues.erase(It);
        return std::nullopt;
      }
      // Declared even where --dim fixes it.
      shape::SymbolFacts &Known = GivenDims[Name];
      Known.Max = std::min(Known.Max, Most);
      symbol(Name);
      Facts.declare(Name, Known);
    }
    Expr Size = Symbols.find(Name)->second;
    KnownElement &E = Found.Elements.emplace_back();
    if (graph::isFloat(Element) && Size.isConstant())
      E.Real = static_cast<double>(*Size.asConstant());
    else
      E.Whole = Size;
  }
  return Found;
}

std::optional<Contents> Importer::contentsOfInputs(std::string_view Name) {
  Entry *E = find(Name);
  if (!E || E->Lost || !E->Built)
    return std::nullopt;
  return Evaluator.contentsOfInputs(
      E->Built, [this](Value V) { return inputElements(V); });
}

std::vector<std::string> Importer::inputsBehind(std::string_view Name) {
  Entry *E = find(Name);
  std::vector<std::string> Names;
  if (!E || !E->Built || Diags != &TheDiags)
    return Names;
  constexpr size_t MostValues = 1000, MostInputs = 4;
  llvm::SetVector<Value> Behind;
  Behind.insert(E->Built);
  for (size_t I = 0; I < Behind.size(); ++I) {
    if (Behind.size() > MostValues || Names.size() > MostInputs)
      return {};
    if (Operation *Op = Behind[I].getDefiningOp()) {
      if (Op->getNumRegions() != 0)
        return {};
      Behind.insert(Op->operand_begin(), Op->operand_end());
      continue;
    }
    auto Argument = cast<BlockArgument>(Behind[I]);
    if (Argument.getOwner() != &Main.front())
      return {};
    Names.push_back(Signature[Argument.getArgNumber()]);
  }
  return Names;
}

bool Importer::namesInputValue(const Expr &E) const {
  std::set<std::string, std::less<>> Named;
  E.collectSymbols(Named);
  for (const auto &[Place, Size] : DecidedElements)
    if (std::optional<std::string> Symbol = current(Size).asSymbol();
        Symbol && Named.count(*Symbol))
      return true;
  return llvm::any_of(
      Named, [&](const std::string &Name) { return InputValues.count(Name); });
}

void Importer::keepInputValues() {
  std::set<std::string, std::less<>> Used;
  auto Collect = [&](ArrayRef<Expr> Sizes) {
    for (const Expr &E : Sizes)
      E.collectSymbols(Used);
  };
  mlir::AttrTypeWalker Walker;
  Walker.addWalk([&](SymbolicTensorType Ty) { Collect(Ty.getDims()); });
  Walker.addWalk([&](DimsAttr A) { Collect(A.getDims()); });
  Module->walk([&](Operation *Op) {
    Walker.walk(Op->getAttrDictionary());
    for (Type Ty : Op->getResultTypes())
      Walker.walk(Ty);
    for (Region &R : Op->getRegions())
      for (BlockArgument A : R.getArguments())
        Walker.walk(A.getType());
  });
  for (const Requirement &R : Requirements)
    Collect({R.Left, R.Right});
  setRequirements(*Module, Requirements);
  std::vector<InputValue> Kept;
  shape::Facts Left;
  for (const auto &[Name, F] : Facts.symbols())
    if (!InputValues.count(Name) || Used.count(Name))
      Left.declare(Name, F);
  for (const auto &[Name, Place] : InputValues) {
    Expr Size = Symbols.find(Name)->second;
    if (Size.asSymbol() != Name || Used.count(Name))
      Kept.push_back({Place.first, Place.second, Size});
    else
      Symbols.erase(Name);
  }
  Facts = Left;
  setInputValues(*Module, Kept);
}

} // namespace kpc::onnx

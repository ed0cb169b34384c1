//===- GraphDialect.cpp - Registration, symbols, constants ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "dialects/graph/GraphRecurrent.h"
#include "dialects/graph/InputValues.h"
#include "dialects/graph/Models.h"
#include "dialects/graph/Requirements.h"
#include "dialects/shape/LiveTaps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

#include "dialects/graph/GraphDialect.cpp.inc"
#include "dialects/graph/GraphEnums.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/graph/Graph.cpp.inc"

void GraphDialect::initialize() {
  registerTypes();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/graph/Graph.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/graph/GraphRecurrent.cpp.inc"
      >();
}

Operation *GraphDialect::materializeConstant(OpBuilder &Builder,
                                             Attribute Value, Type Ty,
                                             Location Loc) {
  auto Elements = dyn_cast<ElementsAttr>(Value);
  auto Tensor = dyn_cast<SymbolicTensorType>(Ty);
  if (!Elements || !Tensor || !Tensor.hasStaticShape())
    return nullptr;
  return ConstantOp::create(Builder, Loc, Tensor, Elements);
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

static constexpr StringLiteral SymbolsName = "graph.symbols";
static constexpr StringLiteral TakenDimsName = "graph.taken_dims";

shape::Facts graph::symbolFacts(ModuleOp Module) {
  shape::Facts Facts;
  auto Symbols = Module->getAttrOfType<DictionaryAttr>(SymbolsName);
  if (!Symbols)
    return Facts;
  for (NamedAttribute Symbol : Symbols) {
    auto Fields = dyn_cast<DictionaryAttr>(Symbol.getValue());
    if (!Fields)
      continue;
    auto Read = [&](StringRef Name) -> std::optional<int64_t> {
      if (auto Value = Fields.getAs<IntegerAttr>(Name))
        return Value.getInt();
      return std::nullopt;
    };
    shape::SymbolFacts Known;
    Known.Min = Read("min").value_or(Known.Min);
    Known.Max = Read("max").value_or(Known.Max);
    Known.Divisor = Read("divisor").value_or(Known.Divisor);
    Known.Optimum = Read("optimum");
    Facts.declare(Symbol.getName().strref(), Known);
  }
  return Facts;
}

void graph::setSymbolFacts(ModuleOp Module, const shape::Facts &Facts) {
  Builder B(Module.getContext());
  NamedAttrList Symbols;
  for (const auto &[Name, Known] : Facts.symbols()) {
    NamedAttrList Fields;
    Fields.set("min", B.getI64IntegerAttr(Known.Min));
    if (Known.Max != shape::Interval::Unbounded)
      Fields.set("max", B.getI64IntegerAttr(Known.Max));
    if (Known.Divisor != 1)
      Fields.set("divisor", B.getI64IntegerAttr(Known.Divisor));
    if (Known.Optimum)
      Fields.set("optimum", B.getI64IntegerAttr(*Known.Optimum));
    Symbols.set(Name, Fields.getDictionary(Module.getContext()));
  }
  Module->setAttr(SymbolsName, Symbols.getDictionary(Module.getContext()));
}

TakenDims graph::takenDims(ModuleOp Module) {
  TakenDims Dims;
  auto Texts = Module->getAttrOfType<DictionaryAttr>(TakenDimsName);
  for (NamedAttribute Dim :
       Texts ? Texts.getValue() : ArrayRef<NamedAttribute>())
    if (auto Text = dyn_cast<StringAttr>(Dim.getValue()))
      if (std::optional<shape::Expr> Size = shape::Expr::parse(Text.strref()))
        Dims.emplace(Dim.getName().str(), *Size);
  return Dims;
}

void graph::setTakenDims(ModuleOp Module, const TakenDims &Dims) {
  Module->removeAttr(TakenDimsName);
  Builder B(Module.getContext());
  NamedAttrList Texts;
  for (const auto &[Name, Size] : Dims)
    Texts.set(Name, B.getStringAttr(Size.str()));
  if (!Texts.empty())
    Module->setAttr(TakenDimsName, Texts.getDictionary(Module.getContext()));
}

/// Whether an attribute can be what is known of one symbol.
static bool areSoundFacts(Attribute Given) {
  auto Fields = dyn_cast<DictionaryAttr>(Given);
  if (!Fields)
    return false;
  auto Read = [&](StringRef Name, int64_t Default) {
    auto Value = Fields.getAs<IntegerAttr>(Name);
    return Value ? Value.getInt() : Default;
  };
  for (NamedAttribute Field : Fields) {
    auto Value = dyn_cast<IntegerAttr>(Field.getValue());
    if (!Value || !Value.getType().isSignlessInteger(64) ||
        !llvm::is_contained({"min", "max", "divisor", "optimum"},
                            Field.getName().strref()))
      return false;
  }
  return Read("min", 0) >= 0 && Read("optimum", 0) >= 0 &&
         Read("divisor", 1) >= 1 &&
         Read("min", 0) <= Read("max", shape::Interval::Unbounded);
}

static bool isSizeInWords(NamedAttribute Dim) {
  auto Text = dyn_cast<StringAttr>(Dim.getValue());
  std::optional<shape::Expr> Size =
      Text ? shape::Expr::parse(Text.strref()) : std::nullopt;
  return Size && !Size->overflowed();
}

static bool usesOnly(DictionaryAttr Symbols, NamedAttribute Dim) {
  std::set<std::string, std::less<>> Names;
  shape::Expr::parse(cast<StringAttr>(Dim.getValue()).strref())
      ->collectSymbols(Names);
  return llvm::all_of(
      Names, [&](const std::string &N) { return Symbols.contains(N); });
}

static LogicalResult verifyTakenDims(Operation *Op, Attribute Given) {
  auto Dims = dyn_cast<DictionaryAttr>(Given);
  if (!isa<ModuleOp>(Op) || !Dims || !llvm::all_of(Dims, isSizeInWords))
    return Op->emitError() << "'" << TakenDimsName
                           << "' belongs on a module and is a dictionary of "
                              "sizes in words";
  // It may not be verified yet, and need not be there.
  auto Symbols = Op->getAttrOfType<DictionaryAttr>(SymbolsName);
  for (NamedAttribute Dim :
       Symbols ? Dims.getValue() : ArrayRef<NamedAttribute>())
    if (Symbols.contains(Dim.getName()) || !usesOnly(Symbols, Dim))
      return Op->emitError()
             << "'" << TakenDimsName << "': '" << Dim.getName().strref()
             << "' must be none of the module's symbols, and its size an "
                "expression over these";
  return success();
}

static LogicalResult verifyModels(Operation *Op, Attribute Given) {
  auto Models = dyn_cast<DictionaryAttr>(Given);
  if (isa<ModuleOp>(Op) && Models &&
      llvm::all_of(Models, [](NamedAttribute Model) {
        return isa<StringAttr>(Model.getValue());
      }))
    return success();
  return Op->emitError() << "expected '" << ModelsName
                         << "' on a module, a dictionary of a SHA-256 for "
                            "each file, got "
                         << Given;
}

static LogicalResult verifyLiveTaps(Operation *Op, Attribute Given) {
  auto Conv = dyn_cast<ConvOp>(Op);
  auto Live = dyn_cast<DenseI64ArrayAttr>(Given);
  if (!Conv || !Live)
    return Op->emitError() << "expected '" << GraphLiveTapsName
                           << "' on a graph.conv, a list of masks, got "
                           << Given;
  SymbolicTensorType W = typeOf(Conv.getW());
  int64_t Taps = 1;
  for (int64_t I = 0; I + 2 < W.getRank(); ++I)
    Taps *= W.getStaticDim(I).value_or(MostLiveTaps + 1);
  std::string Why =
      refusalOfLiveTaps(Live, Taps, W.getStaticDim(W.getRank() - 1).value_or(0),
                        Conv.getGroups());
  if (!Why.empty())
    return Op->emitError() << "'" << GraphLiveTapsName << "': " << Why
                           << " for w of " << W;
  return success();
}

LogicalResult GraphDialect::verifyOperationAttribute(Operation *Op,
                                                     NamedAttribute Attr) {
  if (Attr.getName() == ModelsName)
    return verifyModels(Op, Attr.getValue());
  if (Attr.getName() == TakenDimsName)
    return verifyTakenDims(Op, Attr.getValue());
  if (Attr.getName() == InputValuesName)
    return verifyInputValues(Op, Attr);
  if (Attr.getName() == RequirementsName)
    return verifyRequirements(Op, Attr);
  if (Attr.getName() == GraphLiveTapsName)
    return verifyLiveTaps(Op, Attr.getValue());
  if (Attr.getName() != SymbolsName)
    return success();
  auto Symbols = dyn_cast<DictionaryAttr>(Attr.getValue());
  if (!isa<ModuleOp>(Op) || !Symbols)
    return Op->emitError() << "'" << SymbolsName
                           << "' belongs on a module and is a dictionary";
  for (NamedAttribute Symbol : Symbols)
    if (!areSoundFacts(Symbol.getValue()))
      return Op->emitError() << "'" << SymbolsName << "': what is known of '"
                             << Symbol.getName().strref()
                             << "' must be a dictionary of min, max, divisor, "
                                "optimum: i64 numbers, min not above max, "
                                "divisor at least 1";
  return success();
}

std::optional<double> graph::splatValue(Value V) {
  DenseElementsAttr Elements;
  if (auto Broadcast = V.getDefiningOp<BroadcastOp>())
    return splatValue(Broadcast.getX());
  if (!matchPattern(V, m_Constant(&Elements)) || !Elements.isSplat())
    return std::nullopt;
  Type Element = Elements.getElementType();
  if (isa<FloatType>(Element))
    return Elements.getSplatValue<APFloat>().convertToDouble();
  APInt Int = Elements.getSplatValue<APInt>();
  return isUnsigned(Element) ? Int.roundToDouble(false)
                             : Int.roundToDouble(true);
}

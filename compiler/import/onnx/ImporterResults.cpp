//===- ImporterResults.cpp - What a model gives ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The results of the function, what the model declares of them and of the
/// values in front, and what is known of sizes in the end.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"

#include "dialects/graph/InputValues.h"
#include "dialects/graph/SizeReasons.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::onnx {

/// The node that defines a value, for messages about the value.
static ModelPlace writerOf(const Graph &G, const std::string &Name) {
  for (const Node &N : G.Nodes)
    if (llvm::is_contained(N.Outputs, Name))
      return N.place();
  return {};
}

/// The text of a declaration, for messages.
static std::string declaredText(const ValueInfo &V) {
  std::string Text = elementTypeName(V.Type) + " [";
  for (size_t I = 0; V.Shape && I < V.Shape->size(); ++I) {
    const Dim &D = (*V.Shape)[I];
    const int64_t *Size = std::get_if<int64_t>(&D);
    const std::string *Name = std::get_if<std::string>(&D);
    Text += (I ? ", " : "") + (Size   ? std::to_string(*Size)
                               : Name ? printable(*Name, 40)
                                      : std::string("?"));
  }
  return Text + "]";
}

/// Whether sizes that are numbers, and the rank, are those that are declared.
static bool fitsShape(const ValueInfo &V, ArrayRef<Expr> Sizes) {
  if (!V.Shape)
    return true;
  bool Fits = V.Shape->size() == Sizes.size();
  for (size_t I = 0; Fits && I < Sizes.size(); ++I) {
    const int64_t *Size = std::get_if<int64_t>(&(*V.Shape)[I]);
    Fits = !Size || Sizes[I].asConstant().value_or(*Size) == *Size;
  }
  return Fits;
}

void Importer::checkValueInfo(const Node &N) {
  constexpr size_t MostTold = 5;
  for (const std::string &Name : N.Outputs) {
    auto It = Top->Values.find(Name);
    const Entry *E = It == Top->Values.end() ? nullptr : entry(Name);
    bool IsOutput = llvm::any_of(
        Top->Outputs, [&](const ValueInfo &V) { return V.Name == Name; });
    if (!E || !E->Built || E->Strings || IsOutput)
      continue;
    Type Declared = graphType(B.getContext(), It->second.Type);
    if ((!Declared || Declared == Emitter::element(E->Built)) &&
        fitsShape(It->second, Emitter::dims(E->Built)))
      continue;
    if (++Contradictions > MostTold)
      continue;
    diagnostics()
        .warning(Code::ImportContradiction)
        .at(N.place())
        .message("the model declares the value '" + printable(Name) + "' as " +
                 declaredText(It->second) + ", but computes " +
                 typeText(E->Built.getType()) +
                 (Contradictions == MostTold
                      ? "; more values like this are not listed"
                      : ""));
  }
}

void Importer::checkDeclared(const ValueInfo &V, Value Result,
                             std::string_view What) {
  Type Declared = graphType(B.getContext(), V.Type);
  bool SameType = !Declared || Declared == Emitter::element(Result);
  if (SameType && fitsShape(V, Emitter::dims(Result)))
    return;
  std::string Text = "the model declares its " + std::string(What) + " '" +
                     printable(V.Name) + "' as " + declaredText(V) +
                     ", but computes " + typeText(Result.getType());
  // Another type would be another program's; sizes are what is computed.
  if (!SameType)
    diagnostics()
        .error(Code::ImportShape)
        .at(writerOf(*Top, V.Name))
        .message(Text)
        .hint("correct the declaration, or convert the value with a Cast");
  else
    diagnostics()
        .warning(Code::ImportContradiction)
        .at(writerOf(*Top, V.Name))
        .message(Text);
}

void Importer::addOutput(const ValueInfo &V, const std::string &Name,
                         const Entry &E, SmallVector<Value> &Results,
                         SmallVector<std::string> &Names) {
  if (E.Absent) {
    diagnostics()
        .error(Code::ImportValueType)
        .at(writerOf(*Top, V.Name))
        .message("the model's output '" + printable(Name) +
                 "' is an optional value that holds nothing, but an output is "
                 "a tensor");
    return;
  }
  if (E.Items) {
    for (auto [I, Item] : llvm::enumerate(*E.Items))
      addOutput(V, inputValueName(Name, static_cast<int64_t>(I)), Item, Results,
                Names);
    return;
  }
  Node Reader;
  Reader.Name = Name;
  NodeImport Import(*this, Reader, B, Main.getLoc());
  if (E.Stack) {
    diagnostics()
        .warning(Code::ImportStacked)
        .at(writerOf(*Top, V.Name))
        .message("the model's output '" + printable(Name) +
                 "' is a sequence of a length that only the run knows; kpc "
                 "gives one tensor, whose first axis counts the elements");
    Value Whole = E.Stack;
    define(Name, Entry());
    define(Name, Whole);
  } else if (Name != V.Name) {
    define(Name, E);
  }
  Value Result = value(Name, Import);
  if (!Result)
    return;
  if (E.Strings) {
    describe("strings:" + Name, *E.Strings);
    diagnostics()
        .warning(Code::ImportStrings)
        .at(writerOf(*Top, V.Name))
        .message("the model's output '" + printable(Name) +
                 "' is strings; kpc gives their places in the list that the "
                 "metadata 'strings:" +
                 printable(Name) + "' has");
  } else if (V.Is == ValueInfo::Kind::Tensor ||
             V.Is == ValueInfo::Kind::Unknown) {
    checkDeclared(V, Result, "output");
  }
  if (llvm::is_contained(Names, Name)) {
    diagnostics()
        .warning(Code::ImportTolerated)
        .at(writerOf(*Top, V.Name))
        .message("the model lists its output '" + printable(Name) +
                 "' twice; it is given once");
    return;
  }
  Results.push_back(Result);
  Names.push_back(Name);
}

/// Erases loops that nothing uses; the names of their counters. No run could
/// bind one that is in no loop.
static std::vector<std::string> eraseIdleLoops(Block &Body) {
  llvm::SmallSetVector<Operation *, 16> Idle;
  bool HasLoop = false;
  for (Operation &Op : llvm::reverse(Body)) {
    bool IsIdle = !Op.hasTrait<OpTrait::IsTerminator>() &&
                  wouldOpBeTriviallyDead(&Op) &&
                  llvm::all_of(Op.getUsers(), [&](Operation *User) {
                    return Idle.contains(Body.findAncestorOpInBlock(*User));
                  });
    if (!IsIdle)
      continue;
    Idle.insert(&Op);
    HasLoop |= isa<LoopOp>(Op);
  }
  std::vector<std::string> Counters;
  for (Operation *Op : HasLoop ? Idle.getArrayRef() : ArrayRef<Operation *>()) {
    Op->walk([&](LoopOp Loop) { Counters.push_back(Loop.getCounter().str()); });
    Op->erase();
  }
  return Counters;
}

void Importer::finish(const Model &M) {
  SmallVector<Value> Results;
  SmallVector<std::string> Names;
  for (const ValueInfo &V : M.Main.Outputs)
    if (const Entry *E = entry(V.Name))
      addOutput(V, V.Name, *E, Results, Names);
  reportIdleOutputDims();
  size_t Own = Results.size();
  addDataSizes(Results, Names);
  func::ReturnOp::create(B, Main.getLoc(), Results);
  for (const std::string &Counter : eraseIdleLoops(Main.getBody().front()))
    forgetCounter(Expr::symbol(Counter));
  Evaluator.clear();
  Main.setFunctionType(B.getFunctionType(Main.getBody().getArgumentTypes(),
                                         TypeRange(ValueRange(Results))));
  for (auto [I, Input] : llvm::enumerate(Signature))
    Main.setArgAttr(I, "graph.name", B.getStringAttr(Input));
  for (auto [I, Name] : llvm::enumerate(Names))
    Main.setResultAttr(I, "graph.name", B.getStringAttr(Name));
  Decided.mark(Main, Own);
  if (!NodeScopes.empty())
    Main->setAttr(ScopesName, NodeScopes.getDictionary(B.getContext()));
  keepInputValues();
  setSymbolFacts(*Module, Facts);
  TakenDims Taken;
  // A multiple of a number, rounded to it, is still the dim itself.
  for (const auto &[Name, Size] : Symbols)
    if (Facts.simplify(Size).asSymbol() != Name)
      Taken.emplace(Name, Size);
  setTakenDims(*Module, Taken);
  setSizeReasons(*Module, Reasons);
}

} // namespace kpc::onnx

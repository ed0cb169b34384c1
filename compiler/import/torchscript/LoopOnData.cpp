//===- LoopOnData.cpp - Loops that a tensor or a size ends ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The body is walked once, into that of a graph.loop. What an iteration hands
/// to the next one are names that the body assigns and that were defined in
/// front of it: tensors, and numbers as tensors of no dimensions.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/Control.h"
#include "compiler/import/torchscript/Evaluator.h"
#include "compiler/import/torchscript/Names.h"

#include "llvm/ADT/ScopeExit.h"

#include <utility>

namespace kpc::torchscript {

using Kind = Datum::Kind;

mlir::Value Evaluator::truthValue(const Datum &V) {
  if (std::optional<bool> Known = truth(V))
    return valueOf(scalarTensor(Datum::ofBool(*Known)));
  if (V.isTensor())
    return valueOf(V);
  if (V.Is == Kind::Unsettled && !V.Decider.empty())
    return valueOf(tensorNamed(V.Decider));
  fail(Code::ImportNotConstant,
       "loops while something holds that no tensor says: " +
           (V.Is == Kind::Unsettled ? V.Text : V.kindText()));
  return {};
}

torch::Node &Evaluator::nodeFor(const Statement &S, const std::string &Kind) {
  torch::Node &Where = Nodes.emplace_back();
  Where.Target = Kind;
  Where.Name = Kind + "_" + std::to_string(NamesUsed[Kind]++);
  Where.Module = Frames.back().Module;
  if (Frames.back().File)
    Where.Source = Frames.back().File->place(S.Line);
  return Where;
}

std::optional<shape::Expr> Evaluator::dynamicRange(const Node &Over) {
  if (Over.Is != Node::Kind::Call || Over.Items.size() != 2 ||
      Over.Items.front().Is != Node::Kind::Name ||
      Over.Items.front().Text != "range")
    return std::nullopt;
  Datum Count = evaluate(Over.Items.back());
  if (Bad || Count.Is != Kind::Int || Count.asInt())
    return std::nullopt;
  return Into.facts().range(Count.Int).Min < 0 ? shape::Expr::max(Count.Int, 0)
                                               : Count.Int;
}

bool Evaluator::loopOnData(const Statement &S, const Datum &Condition) {
  return S.Value && controlledLoop(S, &Condition, std::nullopt);
}

bool Evaluator::loopOverSize(const Statement &S, const shape::Expr &Count) {
  return S.Targets.size() == 1 && S.Targets[0].Is == Node::Kind::Name &&
         controlledLoop(S, nullptr, Count);
}

bool Evaluator::controlledLoop(const Statement &S, const Datum *Condition,
                               const std::optional<shape::Expr> &Count) {
  Names Assigned, Read, Anew;
  if (!Frames.back().Body || !collectAssigned(S.Body, Assigned))
    return false;
  // What each iteration assigns before it reads it, none hands on.
  collectReads(*Frames.back().Body, &S, Read);
  collectReadFirst(S.Body, Anew, Read);
  const bool IsName = Condition && S.Value->Is == Node::Kind::Name;
  std::unordered_map<std::string, Datum> Before = Frames.back().Locals;
  std::vector<std::string> Carried, Fixed;
  // What each may be of what was there before, and those that every iteration
  // hands on as they were: they are what they were in front of the loop.
  std::vector<torch::Importer::Shown> Shown;
  std::set<std::string> Kept;
  bool Settled = true;
  const unsigned Mark = Into.storagesMade();
  llvm::SmallVector<mlir::Value> Inits;
  for (const std::string &Name : Assigned) {
    auto Found = Before.find(Name);
    if (Found == Before.end() || !Read.count(Name) ||
        (IsName && Name == S.Value->Text))
      continue;
    const Datum &V = Found->second;
    bool Decided = V.Is == Kind::Unsettled && !V.Decider.empty();
    if (!V.isTensor() && !V.isNumber() && !Decided) {
      Fixed.push_back(Name);
      continue;
    }
    Carried.push_back(Name);
    Shown.emplace_back();
    if (V.isTensor())
      Into.addShown(V.Text, Mark, Shown.back());
    Inits.push_back(Decided ? truthValue(V)
                            : valueOf(V.isNumber() ? scalarTensor(V) : V));
  }
  mlir::Value Begins;
  if (Condition && !Bad)
    Begins = truthValue(*Condition);
  if (Bad)
    return true;
  torch::Node &Where = nodeFor(S, Condition ? "while" : "for");
  auto Enter = [&](llvm::ArrayRef<mlir::Value> Now, const std::string &Part) {
    Frames.back().Locals = Before;
    for (auto [I, Name] : llvm::enumerate(Carried)) {
      if (Kept.count(Name))
        continue;
      std::string Own = "%" + Where.Name + Part + std::to_string(I);
      Into.defineJoined(Own, Now[I], Shown[I]);
      Datum V = tensorNamed(Own);
      if (Before.at(Name).Is == Kind::Unsettled)
        V = convert("bool", V);
      Frames.back().Locals.insert_or_assign(Name, V);
    }
    if (IsName)
      Frames.back().Locals.insert_or_assign(S.Value->Text,
                                            Datum::ofBool(Part == ".in."));
  };
  auto Iteration = [&](const shape::Expr &I, llvm::ArrayRef<mlir::Value> Now)
      -> std::optional<llvm::SmallVector<mlir::Value>> {
    Sides.push_back(++SidesMade);
    auto Leave = llvm::scope_exit([&] { Sides.pop_back(); });
    Enter(Now, ".in.");
    if (Count)
      Frames.back().Locals.insert_or_assign(S.Targets[0].Text, Datum::ofInt(I));
    runBlock(S.Body);
    if (Bad)
      return std::nullopt;
    llvm::SmallVector<mlir::Value> Next;
    if (Datum Again = Condition ? evaluate(*S.Value) : Datum();
        Condition && !Bad)
      Next.push_back(truthValue(Again));
    for (auto [I, Name] : llvm::enumerate(Carried)) {
      const Datum V = Frames.back().Locals.at(Name);
      if (Bad)
        return std::nullopt;
      const bool IsKept = Kept.count(Name) != 0;
      const Datum &First = Before.at(Name);
      if (!IsKept ? V.isTensor() &&
                        V.Text == "%" + Where.Name + ".in." + std::to_string(I)
          : V.isTensor() ? V.Text == First.Text
                         : same(V, First) == true) {
        Settled &= !Kept.insert(Name).second;
        Next.push_back(Now[I]);
        continue;
      }
      // Kept ones are what they were wherever others are: never twice.
      if (IsKept)
        fail(Code::ImportUnsupported,
             "the loop changes '" + printable(Name) + "' in some walks alone");
      if (V.isTensor() && Into.addShown(V.Text, Mark, Shown[I]))
        Settled = false;
      if (V.isTensor() || V.isNumber())
        Next.push_back(valueOf(V.isNumber() ? scalarTensor(V) : V));
      else
        Next.push_back(truthValue(V));
    }
    for (const std::string &Name : Fixed)
      if (!Bad && same(Before.at(Name), Frames.back().Locals.at(Name)) != true)
        fail(Code::ImportNotConstant,
             "a loop that data ends changes '" + printable(Name) +
                 "', which is " + Before.at(Name).kindText(),
             "let its iterations hand on tensors and numbers");
    return Bad ? std::nullopt : std::optional(Next);
  };
  size_t Errors = Into.diagnostics().errorCount();
  auto Results =
      Into.loop(Where, Count.value_or(shape::Expr(frontend::Endless)), Begins,
                Inits, Iteration, [&] { return std::exchange(Settled, true); });
  if (!Results) {
    Frames.back().Locals = Before;
    Bad |= Into.diagnostics().errorCount() != Errors;
    if (!Bad)
      fail(Code::ImportUnsupported, "the loop cannot be compiled");
    return true;
  }
  Enter(*Results, ".");
  return true;
}

} // namespace kpc::torchscript

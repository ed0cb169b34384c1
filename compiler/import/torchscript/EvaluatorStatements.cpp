//===- EvaluatorStatements.cpp - Blocks, branches and loops ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/import/torchscript/Evaluator.h"

#include "llvm/ADT/STLExtras.h"

namespace kpc::torchscript {

using Kind = Datum::Kind;

std::optional<Datum> Evaluator::runBlock(const std::vector<Statement> &Block) {
  for (const Statement &S : Block) {
    if (std::optional<Datum> Result = runStatement(S))
      return Result;
    if (Bad)
      break;
  }
  return std::nullopt;
}

std::optional<Datum> Evaluator::runStatement(const Statement &S) {
  Frames.back().Line = S.Line;
  if (++Steps > MostSteps) {
    fail(Code::ImportTooLarge,
         "runs more than " + std::to_string(MostSteps) +
             " statements; a loop may have no end",
         FewerRounds);
    return std::nullopt;
  }
  switch (S.Is) {
  case Statement::Kind::Expression:
    evaluate(*S.Value);
    break;
  case Statement::Kind::Assign: {
    Datum V = evaluate(*S.Value);
    if (Bad)
      break;
    if (!S.TakesApart) {
      assign(S.Targets.front(), V);
      break;
    }
    takeApart(S.Targets, V);
    break;
  }
  case Statement::Kind::Declare:
    if (S.Value)
      assign(S.Targets.front(), evaluate(*S.Value));
    break;
  case Statement::Kind::If:
    return runBranch(S);
  case Statement::Kind::For:
  case Statement::Kind::While:
    return runLoop(S);
  case Statement::Kind::With: {
    // no_grad and its kin have no meaning here.
    Datum Of = evaluate(*S.Value);
    if (!S.Targets.empty())
      assign(S.Targets.front(), Of);
    return Bad ? std::nullopt : runBlock(S.Body);
  }
  case Statement::Kind::Define:
    Frames.back().Defined.insert_or_assign(S.Targets.front().Text, &S.Body);
    break;
  case Statement::Kind::Return:
    return S.Value ? evaluate(*S.Value) : Datum();
  case Statement::Kind::Pass:
    break;
  }
  return std::nullopt;
}

/// Whether a block raises an exception whatever happens.
static bool raises(const std::vector<Statement> &Block) {
  return llvm::any_of(Block, [](const Statement &S) {
    return S.Is == Statement::Kind::Expression &&
           S.Value->Is == Node::Kind::Call &&
           S.Value->Items.front().Text == "RaiseException";
  });
}

void Evaluator::noteUnchecked(unsigned Line) {
  note("a check is left out, as it is known only when the model runs: " +
       printable(Frames.back().File->place(Line)));
}

std::optional<Datum> Evaluator::runBranch(const Statement &S) {
  Datum Condition = evaluate(*S.Value);
  if (Bad)
    return std::nullopt;
  std::optional<bool> Takes = truth(Condition);
  if (!Takes && raises(S.Body) != raises(S.Else)) {
    noteUnchecked(S.Line);
    Takes = raises(S.Else);
  }
  if (!Takes && branchOnEmpty(S, Condition))
    return std::nullopt;
  // A number that a loop carries is a tensor.
  if (!Takes && Condition.isTensor())
    Condition = convert("bool", Condition);
  if (!Takes && branchOnData(S, Condition))
    return std::nullopt;
  if (!Takes) {
    std::string Why = Condition.Is == Kind::Unsettled
                          ? Condition.Text
                          : "the data of a tensor decides it";
    fail(Code::ImportNotConstant,
         "branches on what is known only when the model runs: " + Why,
         "kpc compiles branches whose condition is known: give sizes as "
         "numbers in --input-shape, or write the choice with torch.where");
    return std::nullopt;
  }
  return runBlock(*Takes ? S.Body : S.Else);
}

std::optional<Datum> Evaluator::runLoop(const Statement &S) {
  if (S.Is == Statement::Kind::While) {
    while (!Bad) {
      Frames.back().Line = S.Line;
      Datum Condition = evaluate(*S.Value);
      std::optional<bool> Goes = Bad ? std::nullopt : truth(Condition);
      if (!Goes && !Bad && loopOnData(S, Condition))
        return std::nullopt;
      if (!Goes) {
        // The printer writes a condition of several parts as branches in front.
        if (auto It = JoinedAt.find(Condition.Text); It != JoinedAt.end())
          Frames.back().Line = It->second;
        fail(Code::ImportNotConstant,
             "loops while something holds that is known only when the model "
             "runs",
             "let the loop end by its condition, a tensor of one element, and "
             "return after it");
        return std::nullopt;
      }
      if (!*Goes || !charge(1))
        return std::nullopt;
      if (std::optional<Datum> Result = runBlock(S.Body))
        return Result;
    }
    return std::nullopt;
  }
  if (std::optional<shape::Expr> Count = dynamicRange(*S.Value);
      Count && loopOverSize(S, *Count))
    return std::nullopt;
  Datum Over = Bad ? Datum() : evaluate(*S.Value);
  if (Bad)
    return std::nullopt;
  if (!Over.isSequence() || Over.Is == Kind::Dict) {
    fail(Code::ImportUnsupported, "loops over " + Over.kindText(),
         "kpc unrolls loops over ranges and lists");
    return std::nullopt;
  }
  for (size_t I = 0; I < Over.Items->size() && !Bad; ++I) {
    Datum Now = (*Over.Items)[I];
    if (S.Targets.size() == 1)
      assign(S.Targets.front(), Now);
    else
      takeApart(S.Targets, Now);
    if (std::optional<Datum> Result = runBlock(S.Body))
      return Result;
  }
  return std::nullopt;
}

void Evaluator::takeApart(const std::vector<Node> &Targets, const Datum &V) {
  if (!V.isSequence() || V.Items->size() != Targets.size()) {
    fail(Code::ImportMalformed, "takes " + V.kindText() + " apart into " +
                                    std::to_string(Targets.size()) + " values");
    return;
  }
  // A copy: an assignment may change the list.
  std::vector<Datum> Parts = *V.Items;
  for (auto [Target, Part] : llvm::zip(Targets, Parts))
    assign(Target, Part);
}

void Evaluator::assign(const Node &Target, const Datum &V) {
  if (Bad)
    return;
  if (Target.Is == Node::Kind::Name) {
    Frames.back().Locals.insert_or_assign(Target.Text, V);
    return;
  }
  if (Target.Is != Node::Kind::Attribute) {
    fail(Code::ImportUnsupported, "assigns to neither a name nor an attribute");
    return;
  }
  Datum Of = evaluate(Target.Items.front());
  if (Bad)
    return;
  if (Of.Is != Kind::Object) {
    fail(Code::ImportMalformed, "assigns to an attribute of " + Of.kindText());
    return;
  }
  std::string Path = Of.Object->pathOf(Target.Text);
  const Frame &F = Frames.back();
  if (!mayChange("assigns an attribute"))
    return;
  if (F.File)
    Assigned.insert_or_assign(Path, F.File->place(F.Line));
  Of.Object->Attributes.insert_or_assign(Target.Text, V);
}

} // namespace kpc::torchscript

//===- BranchOnData.cpp - Branches that a tensor decides ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Both sides are walked, each into a body of a graph.if. What they give are
/// names that both leave defined and that something behind reads: tensors, and
/// numbers and truths as tensors of no dimensions where the sides differ.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/torchscript/Evaluator.h"
#include "compiler/import/torchscript/Names.h"

#include "llvm/ADT/ScopeExit.h"

namespace kpc::torchscript {

using Kind = Datum::Kind;

static void collectReads(const Node &N, Names &Into) {
  if (N.Is == Node::Kind::Name)
    Into.insert(N.Text);
  for (const Node &Item : N.Items)
    collectReads(Item, Into);
}

void collectReads(const std::vector<Statement> &Block, const Statement *Without,
                  Names &Into) {
  for (const Statement &S : Block) {
    if (S.Value)
      collectReads(*S.Value, Into);
    for (const Node &Target : S.Targets)
      if (Target.Is != Node::Kind::Name)
        collectReads(Target, Into);
    if (&S == Without)
      continue;
    collectReads(S.Body, Without, Into);
    collectReads(S.Else, Without, Into);
  }
}

void collectReadFirst(const std::vector<Statement> &Block, Names &Assigned,
                      Names &Into) {
  for (const Statement &S : Block) {
    Names Read;
    if (S.Value)
      collectReads(*S.Value, Read);
    for (const Node &Target : S.Targets)
      if (Target.Is != Node::Kind::Name)
        collectReads(Target, Read);
    for (const std::string &Name : Read)
      if (!Assigned.count(Name))
        Into.insert(Name);
    Names Body = Assigned, Else = Assigned;
    for (const Node &Target : S.Targets)
      if (Target.Is == Node::Kind::Name && S.Is != Statement::Kind::Define)
        (S.Is == Statement::Kind::For ? Body : Assigned).insert(Target.Text);
    if (S.Is == Statement::Kind::With)
      Body = Assigned;
    collectReadFirst(S.Body, Body, Into);
    collectReadFirst(S.Else, Else, Into);
    // A loop may have no iteration.
    if (S.Is == Statement::Kind::With)
      Assigned = Body;
    else if (S.Is == Statement::Kind::If)
      for (const std::string &Name : Body)
        if (Else.count(Name))
          Assigned.insert(Name);
  }
}

bool collectAssigned(const std::vector<Statement> &Block, Names &Into) {
  for (const Statement &S : Block) {
    if (S.Is == Statement::Kind::Define)
      continue;
    if (S.Is == Statement::Kind::Return)
      return false;
    for (const Node &Target : S.Targets)
      if (Target.Is == Node::Kind::Name)
        Into.insert(Target.Text);
    if (!collectAssigned(S.Body, Into) || !collectAssigned(S.Else, Into))
      return false;
  }
  return true;
}

bool Evaluator::mayChange(const std::string &What, const Datum *List) {
  if (Sides.empty())
    return true;
  if (auto Made = List ? MadeLists.find(List->Items.get()) : MadeLists.end();
      Made != MadeLists.end() && Made->second.Side == Sides.back())
    return true;
  fail(Code::ImportNotConstant, What + " in a branch or loop that data decides",
       "give the value as a result of both sides, or of each iteration, or "
       "write the choice with torch.where");
  return false;
}

/// Whether a value only says where a tensor is and of what type.
static bool describes(const Node &V) {
  return V.Is == Node::Kind::Call && !V.Items.empty() &&
         V.Items[0].Is == Node::Kind::Attribute &&
         (V.Items[0].Text == "device" || V.Items[0].Text == "dtype" ||
          V.Items[0].Text == "layout");
}

namespace {
/// What a block gives that does nothing else than to name tensors.
struct Named {
  Names Empty;                               ///< made without elements
  std::map<std::string, std::string> Passed; ///< and what they were called
};
} // namespace

/// None if the block does something else. PyTorch's printer names what
/// describes a tensor before it is used.
static std::optional<Named> namedTensors(const std::vector<Statement> &Block) {
  Named Given;
  for (const Statement &S : Block) {
    if (S.Is == Statement::Kind::Pass)
      continue;
    if (S.Is != Statement::Kind::Assign || S.TakesApart || !S.Value ||
        S.Targets.front().Is != Node::Kind::Name)
      return std::nullopt;
    const Node &V = *S.Value;
    const std::string &Name = S.Targets.front().Text;
    if (describes(V))
      continue;
    bool Makes = V.Is == Node::Kind::Call && V.Items.size() > 1 &&
                 V.Items[0].Is == Node::Kind::Attribute &&
                 (V.Items[0].Text == "empty" || V.Items[0].Text == "zeros") &&
                 V.Items[1].Is == Node::Kind::List &&
                 llvm::any_of(V.Items[1].Items, [](const Node &Size) {
                   return Size.Is == Node::Kind::Int && Size.Int == 0;
                 });
    if (Makes || (V.Is == Node::Kind::Name && Given.Empty.count(V.Text))) {
      Given.Empty.insert(Name);
      continue;
    }
    if (V.Is != Node::Kind::Name)
      return std::nullopt;
    auto It = Given.Passed.find(V.Text);
    Given.Passed.insert_or_assign(Name, It == Given.Passed.end() ? V.Text
                                                                 : It->second);
  }
  return Given;
}

/// Whether a tensor has no elements where a size is 0.
static bool emptyWith(mlir::Value V, const shape::Expr &Size) {
  return V && llvm::is_contained(torch::Emitter::dims(V), Size);
}

/// Whether an operator of the source writes to its operand.
static bool writesInPlace(const Node &N) {
  llvm::StringRef Called =
      N.Is == Node::Kind::Call && N.Items[0].Is == Node::Kind::Attribute
          ? llvm::StringRef(N.Items[0].Text)
          : llvm::StringRef();
  return (Called.ends_with("_") && !Called.ends_with("__")) ||
         llvm::any_of(N.Items, writesInPlace);
}

static bool writesInPlace(const std::vector<Statement> &Block) {
  return llvm::any_of(Block, [](const Statement &S) {
    return (S.Value && writesInPlace(*S.Value)) || writesInPlace(S.Body) ||
           writesInPlace(S.Else);
  });
}

bool Evaluator::branchOnEmpty(const Statement &S, const Datum &Condition) {
  if (Condition.Is != Kind::Unsettled || Condition.About == Datum::Asks::Else)
    return false;
  bool Then = Condition.About == Datum::Asks::Empty;
  std::optional<Named> Made = namedTensors(Then ? S.Body : S.Else);
  const std::vector<Statement> &Other = Then ? S.Else : S.Body;
  Names Assigned;
  if (!Made || (Made->Empty.empty() && Made->Passed.empty()) ||
      !collectAssigned(Other, Assigned) || writesInPlace(Other))
    return false;
  const auto Before = Frames.back().Locals;
  auto Tensor = [&](const auto &In, const std::string &Name) {
    auto It = In.find(Name);
    return It != In.end() && It->second.isTensor() ? valueOf(It->second)
                                                   : mlir::Value();
  };
  for (const auto &[Name, Was] : Made->Passed)
    if (Assigned.count(Name) && !emptyWith(Tensor(Before, Was), Condition.Int))
      return false;
  {
    // What is not there without elements must not be changed.
    Sides.push_back(++SidesMade);
    auto Leave = llvm::scope_exit([&] { Sides.pop_back(); });
    runBlock(Other);
  }
  if (Bad)
    return true;
  for (const auto &[Name, Was] : Made->Passed) {
    if (!Assigned.count(Name)) {
      Frames.back().Locals.insert_or_assign(Name, Before.at(Was));
      continue;
    }
    mlir::Value Without = Tensor(Before, Was);
    mlir::Value With = Tensor(Frames.back().Locals, Name);
    if (!emptyWith(With, Condition.Int) ||
        torch::Emitter::element(With) != torch::Emitter::element(Without)) {
      Frames.back().Locals = Before; // what was walked has no reader
      return false;
    }
    if (torch::Emitter::dims(With) != torch::Emitter::dims(Without))
      note("'" + printable(Name) +
           "' may have no elements, and then has the rank that it has "
           "otherwise: " +
           printable(Frames.back().File->place(S.Line)));
  }
  // Elements can be none only where a size is not a number.
  for (const std::string &Name : Made->Empty)
    if (mlir::Value V = Assigned.count(Name)
                            ? Tensor(Frames.back().Locals, Name)
                            : mlir::Value())
      if (llvm::all_of(torch::Emitter::dims(V), [](const auto &Size) {
            return Size.asConstant().has_value();
          }))
        fail(Code::ImportNotConstant,
             "a tensor without elements is given as '" + printable(Name) +
                 "' where another one has none, else one of known sizes",
             "write the choice with torch.where, or give both one size");
  return true;
}

bool Evaluator::branchOnData(const Statement &S, const Datum &Condition) {
  Names InThen, InElse, Read;
  if (Condition.Is != Kind::Unsettled || Condition.Decider.empty() ||
      !Frames.back().Body || !collectAssigned(S.Body, InThen) ||
      !collectAssigned(S.Else, InElse))
    return false;
  collectReads(*Frames.back().Body, &S, Read);
  const auto Before = Frames.back().Locals;
  std::vector<std::string> Live;
  for (const Names *Of : {&InThen, &InElse})
    for (const std::string &Name : *Of)
      if ((InThen.count(Name) || Before.count(Name)) &&
          (InElse.count(Name) || Before.count(Name)) && Read.count(Name) &&
          !llvm::is_contained(Live, Name))
        Live.push_back(Name);
  mlir::Value Decides = valueOf(tensorNamed(Condition.Decider));
  if (!Decides)
    return true;
  std::vector<Datum> Given[2];
  const unsigned Mark = Into.storagesMade();
  std::map<std::string, torch::Importer::Shown> Shown;
  Names Truths;
  auto Side =
      [&](const std::vector<Statement> &Block,
          size_t Which) -> std::optional<llvm::SmallVector<mlir::Value>> {
    Sides.push_back(++SidesMade);
    auto Leave = llvm::scope_exit([&] { Sides.pop_back(); });
    Frames.back().Locals = Before;
    runBlock(Block);
    llvm::SmallVector<mlir::Value> Results;
    for (size_t I = 0; I < Live.size() && !Bad; ++I) {
      Datum V = Frames.back().Locals.at(Live[I]);
      // A truth that a tensor holds is that tensor.
      if (V.Is == Kind::Unsettled && !V.Decider.empty()) {
        V = tensorNamed(V.Decider);
        V = callAten("any", {{"", V}});
        Truths.insert(Live[I]);
      }
      if (Bad)
        break;
      if (Which == 1 && (V.isTensor() || V.isNumber()) !=
                            (Given[0][I].isTensor() || Given[0][I].isNumber()))
        fail(Code::ImportNotConstant,
             "the sides of a branch that data decides give '" +
                 printable(Live[I]) + "' as " + Given[0][I].kindText() +
                 " and as " + V.kindText());
      Given[Which].push_back(V);
      if (V.isNumber())
        V = scalarTensor(V);
      if (!Bad && V.isTensor()) {
        Into.addShown(V.Text, Mark, Shown[Live[I]]);
        Results.push_back(valueOf(V));
      }
    }
    return Bad ? std::nullopt : std::optional(Results);
  };
  torch::Node &Where = nodeFor(S, "if");
  size_t Errors = Into.diagnostics().errorCount();
  auto Results = Into.branch(
      Where, Decides, [&] { return Side(S.Body, 0); },
      [&] { return Side(S.Else, 1); });
  Frames.back().Locals = Before;
  if (!Results) {
    Bad |= Into.diagnostics().errorCount() != Errors;
    if (!Bad)
      fail(Code::ImportUnsupported, "the sides of a branch cannot be joined");
    return true;
  }
  size_t At = 0;
  for (size_t I = 0; I < Live.size(); ++I) {
    const Datum &A = Given[0][I], &C = Given[1][I];
    bool Computed = A.isTensor() || A.isNumber();
    Datum Joined = A;
    // What both sides give and was there before is no choice.
    bool Same = A.isTensor() && C.isTensor() && A.Text == C.Text &&
                Into.isThere(A.Text);
    if (Computed && !Same &&
        !(A.isNumber() && C.isNumber() && same(A, C) == true)) {
      std::string Name = "%" + Where.Name + "." + std::to_string(At);
      Into.defineJoined(Name, (*Results)[At], Shown[Live[I]]);
      Joined = tensorNamed(Name);
      if (Truths.count(Live[I]))
        Joined = convert("bool", Joined);
      JoinedAt.emplace(Name, S.Line);
    } else if (!Computed && same(A, C) != true) {
      Joined = Datum::ofText("data decides '" + printable(Live[I]) + "'",
                             Kind::Unsettled);
    }
    At += Computed;
    Frames.back().Locals.insert_or_assign(Live[I], Joined);
  }
  return true;
}

} // namespace kpc::torchscript

//===- Probe.cpp - Nodes behind a fault -----------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A node that cannot be imported leaves its outputs without a type, and the
/// rules of the nodes behind it need types. So each of those rules is tried
/// with several types in the places of the lost values. A rule that works with
/// one of them has nothing to say, nor has one that would have to know sizes
/// that are guessed. What a rule says of the node's attributes or
/// inputs in the same words whatever the type is a fault of the node's own, and
/// is reported; what changes with the type, or is about it, is not.
///
/// This runs after an error alone: what it builds goes away with the module.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::onnx {

namespace {
struct Guess {
  ElementType Element;
  int64_t Rank;
};

/// What nodes work on; the commonest first, since one that works ends it.
constexpr Guess Guesses[] = {
    {ElementType::Float, 4}, {ElementType::Float, 3}, {ElementType::Float, 2},
    {ElementType::Int64, 1}, {ElementType::Float, 1}, {ElementType::Float, 0},
    {ElementType::Float, 5}, {ElementType::Bool, 4},  {ElementType::Uint8, 4},
    {ElementType::Int64, 0},
};

/// Sizes of guessed values; no name of a model's dim begins so.
constexpr std::string_view GuessedSize = "?size";

/// Whether such a fault can be the node's own.
bool concernsNode(const kpc::Diagnostic &D) {
  switch (D.Id) {
  case Code::ImportAttributeType:
  case Code::ImportAttributeMissing:
  case Code::ImportAttributeValue:
  case Code::ImportAttributeUnknown:
  case Code::ImportArity:
  case Code::ImportUnsupported:
    // The rank is guessed as the sizes are.
    return D.Message.find(GuessedSize) == std::string::npos &&
           D.Message.find(" rank ") == std::string::npos;
  default:
    return false;
  }
}

/// Whether the node may be right, were its sizes known.
bool wantsSizes(const kpc::Diagnostic &D) {
  return (D.Id == Code::ImportUnsupported || D.Id == Code::ImportNotConstant) &&
         D.Message.find(GuessedSize) != std::string::npos;
}

bool hasGraph(const Node &N) {
  return llvm::any_of(N.Attributes, [](const auto &Named) {
    return !Named.second.Graphs.empty();
  });
}
} // namespace

/// What the rule says with values of such a type in the places of the lost
/// ones; none if it works.
std::optional<kpc::Diagnostic> Importer::tryRule(const Node &N, const Rule &R,
                                                 ElementType Element,
                                                 int64_t Rank) {
  Dims Sizes;
  for (int64_t I = 0; I < Rank; ++I)
    Sizes.push_back(Expr::symbol(std::string(GuessedSize) + std::to_string(I)));
  Type Ty = checkedType(Sizes, graphType(B.getContext(), Element));
  Scopes.emplace_back();
  for (const std::string &Name : N.Inputs)
    if (!Name.empty() && isLost(Name))
      define(Name, UnrealizedConversionCastOp::create(B, Main.getLoc(), Ty,
                                                      ValueRange())
                       .getResult(0));
  kpc::Diagnostics Said;
  Diags = &Said;
  bool Worked;
  {
    ScopedDiagnosticHandler Quiet(B.getContext(),
                                  [](mlir::Diagnostic &) { return success(); });
    NodeImport Import(*this, N, B, Main.getLoc());
    if (!importByContents(Import) && !Import.bad()) {
      R.Import(Import);
      if (!Import.bad())
        Import.checkUnread();
    }
    Worked = !Import.bad();
  }
  Diags = &TheDiags;
  Scopes.pop_back();
  if (Worked)
    return std::nullopt;
  for (const kpc::Diagnostic &D : Said.all())
    if (D.Level == Severity::Error)
      return D;
  return kpc::Diagnostic(); // it gave up without a word
}

void Importer::probe(const Node &N, const Rule &R) {
  if (Diags != &TheDiags || ++Probed > MostProbed || hasGraph(N))
    return;
  std::optional<kpc::Diagnostic> Common;
  size_t Times = 0;
  for (const Guess &G : Guesses) {
    std::optional<kpc::Diagnostic> Said = tryRule(N, R, G.Element, G.Rank);
    if (!Said || wantsSizes(*Said))
      return;
    if (!concernsNode(*Said))
      continue;
    if (Common && Common->Message != Said->Message)
      return;
    Common = std::move(Said);
    ++Times;
  }
  // Said of one type only, it may be about the type.
  if (Times > 1)
    TheDiags.error(Common->Id)
        .at(N.place())
        .message(Common->Message)
        .hint(Common->Hint);
}

} // namespace kpc::onnx

//===- CtcLoss.cpp - Connectionist temporal classification ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Importer.h"
#include "compiler/import/torch/Rules.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::torch {

/// Lengths as a tensor or as a list of numbers: [batch], i64.
static Value lengths(NodeImport &N, std::string_view Name) {
  const Argument *A = N.argument(Name);
  if (A && A->Is != Argument::Kind::Tensor)
    return N.intVector(N.integers(Name, {}), N.i64());
  Value V = N.cast(N.tensor(Name), N.i64());
  return V ? N.reshape(V, {graph::typeOf(V).getNumElements()}) : V;
}

/// Whether a list has a number for each of the batch, from 0 to `Most`. Of
/// tensors only the run knows the numbers.
static bool areCounts(NodeImport &N, const std::string &Name, const Expr &Batch,
                      const Expr &Most) {
  const Argument *A = N.argument(Name);
  if (!A || A->Is == Argument::Kind::Tensor)
    return true;
  Ints List = N.integers(Name, {});
  auto Count = static_cast<int64_t>(List.size());
  if (Count != Batch.asConstant().value_or(Count)) {
    N.fail(Code::ImportShape, Name + " has " + std::to_string(Count) +
                                  " numbers, expected " + Batch.str());
    return false;
  }
  for (int64_t I : List)
    if (I < 0 || I > Most.asConstant().value_or(INT64_MAX)) {
      N.fail(Code::ImportAttributeValue, Name + " has " + std::to_string(I) +
                                             ", expected 0 to " + Most.str());
      return false;
    }
  return true;
}

/// Targets as [batch, most]. A vector has them one after the other, and is
/// read from where each begins.
static Value paddedTargets(NodeImport &N, Value Targets, Value Lengths) {
  Targets = N.cast(Targets, N.i64());
  if (!Targets || N.rank(Targets) == 2)
    return Targets;
  if (N.dims(Lengths)[0] == Expr(1))
    return N.unsqueeze(Targets, {0});
  Expr Size = N.dims(Targets)[0];
  // As long as all together at most.
  Value Begin = N.cumsum(Lengths, 0, /*Exclusive=*/true, /*Reverse=*/false);
  Value At =
      N.add(N.unsqueeze(Begin, {1}), N.iota({Expr(1), Size}, 1, N.i64()));
  return N.gather(Targets, N.min(At, N.sizeScalar(Size - 1, N.i64())), 0);
}

/// log(exp a + exp b + exp c), also of minus infinities.
static Value logSum(NodeImport &N, ArrayRef<Value> Xs) {
  Value Most = Xs.front();
  for (Value X : Xs.drop_front())
    Most = N.max(Most, X);
  Value None = N.like(-INFINITY, Most);
  Value Base =
      N.select(N.compare(Predicate::eq, Most, None), N.like(0, Most), Most);
  Value Sum;
  for (Value X : Xs) {
    Value Part = N.exp(N.sub(X, Base));
    Sum = Sum ? N.add(Sum, Part) : Part;
  }
  return N.add(N.log(Sum), Base);
}

/// States are blanks and labels in turn, [batch, 2 labels + 1]; each time one
/// may stay, go on by one, or by two over a blank between labels that differ.
static void temporalClassification(NodeImport &N) {
  Value X = N.tensor("log_probs"), Targets = N.tensor("targets");
  if (!X || !Targets || N.bad())
    return N.give();
  bool Alone = N.rank(X) == 2;
  Value Times = lengths(N, "input_lengths"),
        Labels = lengths(N, "target_lengths");
  if (Alone)
    X = N.unsqueeze(X, {1});
  if (!X || !Times || !Labels || N.bad())
    return N.give();
  if (N.rank(X) != 3 || !N.isFloat(X))
    return (void)N.fail(Code::ImportRank,
                        "expected logarithms [time, batch, classes], got " +
                            dimsText(N.dims(X)));
  if (!areCounts(N, "input_lengths", N.dims(X)[1], N.dims(X)[0]) ||
      !areCounts(N, "target_lengths", N.dims(X)[1], N.dims(Targets).back()))
    return N.give();
  int64_t BlankClass = N.integer("blank", 0), How = N.integer("reduction", 1);
  if (BlankClass < 0 ||
      BlankClass >= N.dims(X)[2].asConstant().value_or(INT64_MAX))
    return (void)N.fail(Code::ImportAttributeValue,
                        "blank is " + std::to_string(BlankClass) +
                            ", expected a class of 0 to below " +
                            N.dims(X)[2].str());
  if (!llvm::StringRef(N.node().Target).contains("_ctc_loss") &&
      (How < 0 || How > 2))
    return (void)N.fail(Code::ImportAttributeValue, "reduction is " +
                                                        std::to_string(How) +
                                                        ", expected 0, 1 or 2");
  Type Stored = N.element(X);
  X = N.cast(X, N.wide(X));
  Targets = paddedTargets(N, Targets, Labels);
  if (!X || !Targets)
    return N.give();
  Expr Batch = N.dims(X)[1], Most = N.dims(Targets)[1], States = Most * 2 + 1;
  Value Blank = N.scalarInt(BlankClass, N.i64());
  Value Both = N.concat({N.broadcast(Blank, {Batch, Most, Expr(1)}),
                         N.unsqueeze(N.broadcast(Targets, {Batch, Most}), {2})},
                        2);
  Value Classes = N.concat({N.reshape(Both, {Batch, Most * 2}),
                            N.broadcast(Blank, {Batch, Expr(1)})},
                           1);
  if (!Classes)
    return N.give();
  // What stands after a target's end may be any number.
  Value Last = N.sizeScalar(N.dims(X)[2] - 1, N.i64());
  Classes = N.min(N.max(Classes, N.scalarInt(0, N.i64())), Last);
  Value Chances = N.gatherElements(
      X, N.broadcast(N.unsqueeze(Classes, {0}), {N.dims(X)[0], Batch, States}),
      2);
  Value None = N.full(-INFINITY, {Batch, Expr(1)}, N.element(X));
  auto Later = [&](Value V, Value Filler, int64_t By) {
    SmallVector<Value> Parts(static_cast<size_t>(By), Filler);
    Parts.push_back(N.sliceAxis(V, 1, 0, States - By));
    return N.concat(Parts, 1);
  };
  Value Place = N.iota({Expr(1), States}, 1, N.i64());
  Value Skips;
  if (Most != Expr(0))
    Skips = N.binary<AndOp>(
        N.compare(Predicate::ne, Classes,
                  Later(Classes, N.broadcast(Blank, {Batch, Expr(1)}), 2)),
        N.compare(Predicate::ne, Classes, Blank));
  auto At = [&](const Expr &Time) {
    return N.reshape(N.sliceAxis(Chances, 0, Time, 1), {Batch, States});
  };
  // An empty target has one state, a blank.
  Value Starts = N.compare(
      Predicate::lt, Place,
      N.min(N.addScalar(N.unsqueeze(Labels, {1}), 1), N.scalarInt(2, N.i64())));
  Value First = N.select(Starts, At(0), N.like(-INFINITY, X));
  auto Results = N.loop(
      N.importer().facts().simplify(N.dims(X)[0] - 1), {First}, {},
      [&](const Expr &Step,
          ArrayRef<Value> Carried) -> std::optional<SmallVector<Value>> {
        Value Now = Carried[0];
        SmallVector<Value> From = {Now};
        if (Skips) {
          From.push_back(Later(Now, None, 1));
          From.push_back(
              N.select(Skips, Later(Now, None, 2), N.like(-INFINITY, Now)));
        }
        Value Next = N.add(logSum(N, From), At(Step + 1));
        Value Runs = N.compare(Predicate::lt, N.sizeScalar(Step + 1, N.i64()),
                               N.unsqueeze(Times, {1}));
        Next = N.select(Runs, Next, Now);
        return Next ? std::optional(SmallVector<Value>{Next}) : std::nullopt;
      });
  if (!Results)
    return N.give();
  // The last blank, or the label in front of it.
  Value End = N.unsqueeze(N.mulScalar(Labels, 2), {1});
  Value Ends =
      N.binary<AndOp>(N.compare(Predicate::le, Place, End),
                      N.compare(Predicate::ge, Place, N.addScalar(End, -1)));
  Value Masked = N.select(Ends, Results->front(), N.like(-INFINITY, X));
  Value Greatest = N.reduce(ReduceKind::max, Masked, {1}, /*KeepDims=*/true);
  Value Base =
      N.select(N.compare(Predicate::eq, Greatest, N.like(-INFINITY, X)),
               N.like(0, X), Greatest);
  Value Sum = N.reduce(ReduceKind::sum, N.exp(N.sub(Masked, Base)), {1});
  Value Loss = N.neg(N.add(N.log(Sum), N.reshape(Base, {Batch})));
  if (N.flag("zero_infinity", false))
    Loss = N.select(N.compare(Predicate::eq, Loss, N.like(INFINITY, Loss)),
                    N.like(0, Loss), Loss);
  // Without a reduction; what backward passes need is not there.
  if (llvm::StringRef(N.node().Target).contains("_ctc_loss")) {
    if (N.resultCount() > 1)
      N.undefined(1);
    return N.result(0, N.cast(Loss, Stored));
  }
  if (How == 1)
    Loss = N.mean(N.div(Loss, N.cast(N.max(Labels, N.scalarInt(1, N.i64())),
                                     N.element(X))),
                  {0});
  else if (How == 2)
    Loss = N.reduce(ReduceKind::sum, Loss, {0});
  else if (Alone && Loss)
    Loss = N.reshape(Loss, {});
  N.result(N.cast(Loss, Stored));
}

ArrayRef<Rule> ctcLossRules() {
  static const Rule Rows[] = {
      {"_ctc_loss.Tensor", temporalClassification, InPlace::No,
       "the first result alone"},
      {"_ctc_loss.default", temporalClassification, InPlace::No,
       "the first result alone"},
      {"ctc_loss.IntList", temporalClassification},
      {"ctc_loss.Tensor", temporalClassification},
  };
  return Rows;
}

} // namespace kpc::torch

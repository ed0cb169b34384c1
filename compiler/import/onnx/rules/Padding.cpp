//===- Padding.cpp - Import of Pad ----------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/rules/DataBounds.h"

#include <climits>
#include <numeric>

using namespace kpc::graph;

namespace kpc::onnx {

Value elementAt(NodeImport &N, Value Vector, int64_t I) {
  if (!Vector)
    return {};
  while (auto Joined = Vector.getDefiningOp<ConcatOp>()) {
    Value Holder;
    int64_t At = I;
    for (Value Part : Joined->getOperands()) {
      std::optional<int64_t> Count = N.dims(Part)[0].asConstant();
      if (!Count)
        break;
      if (At < *Count) {
        Holder = Part;
        break;
      }
      At -= *Count;
    }
    if (!Holder || N.rank(Holder) != 1)
      break;
    Vector = Holder;
    I = At;
  }
  return N.reshape(N.sliceAxis(Vector, 0, I, 1), {});
}

static bool isNeverNegative(Value V, unsigned Depth) {
  constexpr unsigned Deepest = 24;
  mlir::Operation *Op = V.getDefiningOp();
  if (Depth > Deepest || !Op)
    return false;
  Type Element = Emitter::element(V);
  if (graph::isBool(Element) || graph::isUnsigned(Element) ||
      mlir::isa<ArgReduceOp, IotaOp, AbsOp, SizesOp>(Op))
    return true;
  auto Is = [&](Value Operand) { return isNeverNegative(Operand, Depth + 1); };
  if (auto Constant = mlir::dyn_cast<ConstantOp>(Op)) {
    auto Ints = mlir::dyn_cast<mlir::DenseIntElementsAttr>(Constant.getValue());
    return Ints &&
           llvm::all_of(Ints.getValues<llvm::APInt>(),
                        [](const llvm::APInt &I) { return I.isNonNegative(); });
  }
  if (mlir::isa<MaxOp>(Op))
    return llvm::any_of(Op->getOperands(), Is);
  if (mlir::isa<CastOp, ReshapeOp, BroadcastOp, TransposeOp, SliceOp, ConcatOp,
                AddOp, MulOp, DivOp, MinOp, ReduceOp, CumSumOp, FloorOp, CeilOp,
                RoundOp>(Op))
    return llvm::all_of(Op->getOperands(), Is);
  if (mlir::isa<SelectOp>(Op))
    return Is(Op->getOperand(1)) && Is(Op->getOperand(2));
  if (mlir::isa<GatherOp>(Op))
    return Is(Op->getOperand(0));
  return false;
}

bool isNeverNegative(Value V) { return isNeverNegative(V, 0); }

/// Where each element of a padded axis comes from.
static Value sourceIndex(NodeImport &N, const std::string &Mode,
                         const Expr &Size, const Expr &Padded, int64_t Low) {
  Value Zero = N.scalarInt(0, N.i64());
  Value Last = N.sizeScalar(Size - 1, N.i64());
  Value I =
      N.addScalar(N.iota({Padded}, 0, N.i64()), -static_cast<double>(Low));
  if (Mode == "edge")
    return N.min(N.max(I, Zero), Last);
  if (Mode == "wrap")
    return N.binary<ModOp>(I, N.sizeScalar(Size, N.i64()));
  // reflect: 2 1 | 0 1 2 | 1 0
  return N.sub(Last, N.unary<AbsOp>(N.sub(Last, N.unary<AbsOp>(I))));
}

static void padByIndex(NodeImport &N, Value X, const std::string &Mode,
                       ArrayRef<int64_t> Low, ArrayRef<int64_t> High) {
  for (size_t A = 0; A < Low.size() && X; ++A) {
    if (Low[A] == 0 && High[A] == 0)
      continue;
    Expr Size = N.dims(X)[A];
    int64_t Most = std::max(Low[A], High[A]);
    if (Mode == "reflect" && Size.isConstant() && Most >= *Size.asConstant()) {
      N.unsupported("reflects " + std::to_string(Most) +
                    " elements of a size of " + Size.str());
      return;
    }
    X = N.gather(X, sourceIndex(N, Mode, Size, Size + Low[A] + High[A], Low[A]),
                 static_cast<int64_t>(A));
  }
  N.result(0, X);
}

/// How much is put in front of an axis, from inputs of the model: the pad of
/// the entry that names the axis, if `Axes` is given.
static Value runTimeLow(NodeImport &N, Value Pads, Value Axes, int64_t Axis,
                        int64_t Rank) {
  if (!Axes)
    return N.reshape(N.sliceAxis(Pads, 0, Axis, 1), {});
  Value Zero = N.scalarInt(0, N.i64());
  Value Front = N.select(N.compare(Predicate::lt, Axes, Zero),
                         N.addScalar(Axes, static_cast<double>(Rank)), Axes);
  Value Here = N.compare(Predicate::eq, Front, N.scalarInt(Axis, N.i64()));
  Value Lows = N.sliceAxis(Pads, 0, 0, N.dims(Axes)[0]);
  return N.reduce(ReduceKind::sum, N.select(Here, Lows, Zero), {0});
}

/// The axes that pads are for, in order; none where they are not known.
static std::optional<std::vector<int64_t>> paddedAxes(NodeImport &N, Value X) {
  if (N.hasInput(3))
    return N.contents(3) ? N.contents(3)->integers() : std::nullopt;
  std::vector<int64_t> Axes(static_cast<size_t>(N.rank(X)));
  std::iota(Axes.begin(), Axes.end(), 0);
  return Axes;
}

/// Pads that follow from the model's sizes and are never negative: what fills
/// them is joined to both ends.
static bool padBySizes(NodeImport &N, Value X, Value Filler) {
  const Contents *Known = N.contents(1);
  std::optional<std::vector<int64_t>> Axes = paddedAxes(N, X);
  if (!Known || Known->integers() || Known->isReal() || !Axes ||
      Known->Whole.size() != 2 * Axes->size())
    return false;
  const shape::Facts &Facts = N.importer().facts();
  std::vector<Expr> Pads = Known->Whole;
  for (Expr &E : Pads)
    E = Facts.simplify(E);
  if (llvm::any_of(Pads, [&](const Expr &E) { return Facts.range(E).Min < 0; }))
    return false;
  for (size_t I = 0; I < Axes->size() && X && !N.bad(); ++I) {
    int64_t Axis = N.frontAxis((*Axes)[I], N.rank(X));
    SmallVector<Value> Parts;
    auto Add = [&](const Expr &Count) {
      Dims Sizes(N.dims(X));
      Sizes[static_cast<size_t>(Axis)] = Count;
      if (Count != Expr(0))
        Parts.push_back(N.broadcast(Filler, Sizes));
    };
    Add(Pads[I]);
    Parts.push_back(X);
    Add(Pads[I + Axes->size()]);
    if (Parts.size() > 1)
      X = N.concat(Parts, Axis);
  }
  N.result(0, X);
  return true;
}

/// The sizes that pads make which the model's own data decides.
static std::optional<Dims> sizesByData(NodeImport &N, Value X,
                                       ArrayRef<int64_t> Axes) {
  Value Pads = N.input(1);
  auto Count = static_cast<int64_t>(Axes.size());
  if (N.bad() || N.rank(Pads) != 1 || !N.unify(N.dims(Pads)[0], 2 * Count))
    return std::nullopt;
  Dims Sizes(N.dims(X));
  for (int64_t I = 0; I < Count && !N.bad(); ++I) {
    int64_t Axis = N.frontAxis(Axes[static_cast<size_t>(I)], N.rank(X));
    Expr &Size = Sizes[static_cast<size_t>(Axis)];
    Value Both = N.add(elementAt(N, Pads, I), elementAt(N, Pads, I + Count));
    Value Padded = N.add(N.sizeScalar(Size, N.i64()), N.cast(Both, N.i64()));
    std::optional<Expr> Decided =
        N.decideSize(N.max(Padded, N.like(0, Padded)), Expr(INT32_MAX),
                     static_cast<size_t>(Axis));
    if (!Decided)
      return std::nullopt;
    Size = *Decided;
  }
  return Sizes;
}

/// The sizes that pads make: those the model declares, or what follows from
/// elements of its inputs or from its data.
static std::optional<Dims> paddedSizes(NodeImport &N, Value X) {
  if (std::optional<Dims> Declared = N.declaredSizes(0);
      Declared && Declared->size() == N.dims(X).size())
    return Declared;
  std::optional<std::vector<Expr>> Pads = N.readSizes(1);
  std::optional<std::vector<int64_t>> Axes = paddedAxes(N, X);
  if (Axes && !Pads && !N.importer().isInBody())
    return sizesByData(N, X, *Axes);
  if (!Axes || !Pads || Pads->size() != 2 * Axes->size())
    return std::nullopt;
  const shape::Facts &Facts = N.importer().facts();
  Dims Sizes(N.dims(X));
  for (size_t I = 0; I < Axes->size() && !N.bad(); ++I) {
    Expr &Size = Sizes[static_cast<size_t>(N.frontAxis((*Axes)[I], N.rank(X)))];
    Size = Facts.simplify(Size + (*Pads)[I] + (*Pads)[I + Axes->size()]);
  }
  return Sizes;
}

/// Pads known only at run time: each element is looked up or filled.
static bool padAtRunTime(NodeImport &N, Value X, const std::string &Mode,
                         Value Filler) {
  const Contents *Known = N.contents(1);
  if ((Known && Known->integers() && (!N.hasInput(3) || N.contents(3))) ||
      (Mode != "constant" && Mode != "edge" && Mode != "reflect" &&
       Mode != "wrap"))
    return false;
  if (Mode == "constant" &&
      padBySizes(N, X,
                 Filler ? N.cast(N.reshape(Filler, {}), N.element(X))
                        : N.scalarInt(0, N.element(X))))
    return true;
  std::optional<Dims> Sizes = paddedSizes(N, X);
  Value Pads = N.cast(N.input(1), N.i64());
  Value Axes = N.cast(N.optionalInput(3), N.i64());
  if (N.bad())
    return true;
  if (!Sizes || N.rank(Pads) != 1 || (Axes && N.rank(Axes) != 1))
    return false;
  Filler = Filler ? N.cast(N.reshape(Filler, {}), N.element(X))
                  : N.scalarInt(0, N.element(X));
  Value Zero = N.scalarInt(0, N.i64()), Inside;
  for (size_t A = 0; A < Sizes->size() && !N.bad(); ++A) {
    auto Axis = static_cast<int64_t>(A);
    Value Low = runTimeLow(N, Pads, Axes, Axis, N.rank(X));
    Value Size = N.sizeScalar(N.dims(X)[A], N.i64());
    Value Last = N.addScalar(Size, -1);
    Value I = N.sub(N.iota({(*Sizes)[A]}, 0, N.i64()), Low);
    if (Mode == "reflect")
      I = N.sub(Last, N.unary<AbsOp>(N.sub(Last, N.unary<AbsOp>(I))));
    if (Mode == "wrap")
      I = N.binary<ModOp>(I, Size);
    Value Clamped = N.min(N.max(I, Zero), Last);
    X = N.gather(X, Clamped, Axis);
    Dims Along(Sizes->size(), Expr(1));
    Along[A] = (*Sizes)[A];
    Value Here = N.reshape(N.compare(Predicate::eq, I, Clamped), Along);
    Inside = Inside ? N.binary<AndOp>(Inside, Here) : Here;
  }
  if (X && Inside && Mode == "constant")
    X = N.select(Inside, X, Filler);
  N.result(0, X);
  return true;
}

void importPad(NodeImport &N) {
  std::string Mode = N.stringAttribute("mode", "constant");
  Value X = N.input(0), Filler = N.optionalInput(2);
  if (N.bad() || padAtRunTime(N, X, Mode, Filler))
    return;
  std::optional<std::vector<int64_t>> Pads = N.knownInts(1, "pads");
  if (N.bad())
    return;
  auto Rank = static_cast<size_t>(N.rank(X));
  Ints Axes;
  for (size_t I = 0; I < Rank; ++I)
    Axes.push_back(static_cast<int64_t>(I));
  if (N.hasInput(3)) {
    std::optional<std::vector<int64_t>> Given = N.knownInts(3, "axes");
    if (!Given)
      return;
    Axes.clear();
    for (int64_t A : *Given)
      Axes.push_back(N.frontAxis(A, N.rank(X)));
  }
  if (N.bad())
    return;
  if (Pads->size() != Axes.size() * 2) {
    N.fail(Code::ImportShape, std::to_string(Pads->size()) +
                                  " pads, but should be two for each of " +
                                  std::to_string(Axes.size()) + " axes");
    return;
  }
  Ints Low(Rank, 0), High(Rank, 0), Interior(Rank, 0);
  for (size_t I = 0; I < Axes.size(); ++I) {
    Low[static_cast<size_t>(Axes[I])] = (*Pads)[I];
    High[static_cast<size_t>(Axes[I])] = (*Pads)[I + Axes.size()];
  }
  for (size_t I = 0; I < Rank; ++I)
    if (std::abs(Low[I] / 2) > INT32_MAX || std::abs(High[I] / 2) > INT32_MAX) {
      N.fail(Code::ImportBadDims, "pads of more than 2^32 elements");
      return;
    }
  if (Mode == "edge" || Mode == "reflect" || Mode == "wrap")
    return padByIndex(N, X, Mode, Low, High);
  if (Mode != "constant") {
    N.fail(Code::ImportAttributeValue, "attribute 'mode' is '" +
                                           printable(Mode) +
                                           "', but should be constant, "
                                           "reflect, edge or wrap");
    return;
  }
  Filler = Filler ? N.cast(N.reshape(Filler, {}), N.element(X))
                  : N.scalarInt(0, N.element(X));
  N.result(0, N.pad(X, Filler, Low, High, Interior));
}

} // namespace kpc::onnx

//===- EmitterMovement.cpp - Builds ops that move elements ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Emitter.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::frontend {

/// Twice as many dims as a value of the model may have: rules add their own.
static constexpr size_t HighestRank = 64;

/// Why no tensor has such sizes, in words that follow the sizes: nothing more
/// is said of a negative one. None where a tensor may have them.
static std::optional<std::string> objection(ArrayRef<Expr> Sizes) {
  if (Sizes.size() > HighestRank)
    return ": expected a rank of at most " + std::to_string(HighestRank) +
           ", got " + std::to_string(Sizes.size());
  for (const Expr &E : Sizes) {
    if (E.overflowed())
      return ": a size leaves 64 bits, or its expression has more than 16,000 "
             "parts; give its dims numbers or ranges with --dim";
    if (E.asConstant().value_or(0) < 0)
      return "";
  }
  return std::nullopt;
}

static bool isAxis(int64_t Axis, size_t Rank) {
  return Axis >= 0 && static_cast<uint64_t>(Axis) < Rank;
}

static std::string outside(int64_t Axis, size_t Rank) {
  return "axis " + std::to_string(Axis) + " is outside the rank " +
         std::to_string(Rank);
}

Value Emitter::broadcast(Value X, ArrayRef<Expr> Sizes) {
  if (!X)
    return {};
  if (dims(X) == Sizes)
    return X;
  if (std::optional<std::string> Why = objection(Sizes))
    return fail(Code::ImportShape,
                "cannot broadcast to " + dimsText(Sizes) + *Why);
  return buildSized(BroadcastOp::getOperationName(), {X}, {}, Sizes,
                    element(X));
}

Value Emitter::reshape(Value X, ArrayRef<Expr> Sizes) {
  if (!X)
    return {};
  if (dims(X) == Sizes)
    return X;
  if (std::optional<std::string> Why = objection(Sizes))
    return fail(Code::ImportShape,
                "cannot reshape to " + dimsText(Sizes) + *Why);
  return buildSized(ReshapeOp::getOperationName(), {X}, {}, Sizes, element(X));
}

Value Emitter::transpose(Value X, ArrayRef<int64_t> Perm) {
  if (!X || llvm::equal(Perm, llvm::seq<int64_t>(0, rank(X))))
    return X;
  return build(TransposeOp::getOperationName(), {X}, {listAttr("perm", Perm)});
}

Value Emitter::unsqueeze(Value X, ArrayRef<int64_t> Axes) {
  if (!X)
    return {};
  size_t Rank = static_cast<size_t>(rank(X)) + Axes.size();
  for (int64_t Axis : Axes)
    if (!isAxis(Axis, Rank))
      return fail(Code::ImportRank, outside(Axis, Rank));
  Dims Sizes;
  size_t Next = 0;
  for (size_t I = 0; I < Rank; ++I)
    Sizes.push_back(llvm::is_contained(Axes, static_cast<int64_t>(I))
                        ? Expr(1)
                        : dims(X)[Next++]);
  return reshape(X, Sizes);
}

Value Emitter::slice(Value X, ArrayRef<Expr> Starts, ArrayRef<int64_t> Steps,
                     ArrayRef<Expr> Sizes) {
  if (!X)
    return {};
  if (std::optional<std::string> Why = objection(Sizes))
    return fail(Code::ImportShape, "cannot slice to " + dimsText(Sizes) + *Why);
  bool Whole =
      dims(X) == Sizes && llvm::all_of(Steps, [](int64_t S) { return S == 1; });
  if (Whole)
    return X;
  return buildSized(
      SliceOp::getOperationName(), {X},
      {B.getNamedAttr("start", DimsAttr::get(B.getContext(), Starts)),
       listAttr("step", Steps)},
      Sizes, element(X));
}

Value Emitter::sliceAxis(Value X, int64_t Axis, const Expr &Start,
                         const Expr &Count, int64_t Step) {
  if (!X)
    return {};
  auto Rank = static_cast<size_t>(rank(X));
  if (!isAxis(Axis, Rank))
    return fail(Code::ImportRank, outside(Axis, Rank));
  Dims Starts(Rank, Expr(0)), Sizes(dims(X));
  Ints Steps(Rank, 1);
  Starts[static_cast<size_t>(Axis)] = Start;
  Sizes[static_cast<size_t>(Axis)] = Count;
  Steps[static_cast<size_t>(Axis)] = Step;
  return slice(X, Starts, Steps, Sizes);
}

Value Emitter::reverse(Value X, int64_t Axis) {
  if (!X)
    return {};
  if (!isAxis(Axis, dims(X).size()))
    return fail(Code::ImportRank, outside(Axis, dims(X).size()));
  Expr Size = dims(X)[static_cast<size_t>(Axis)];
  return sliceAxis(X, Axis, Size - 1, Size, -1);
}

/// Inputs of one concat, each an argument of its kernel: more are joined in
/// groups first. A GPU's kernels have 4 KiB for arguments.
static constexpr size_t MostJoined = 64;

Value Emitter::concat(ArrayRef<Value> Xs, int64_t Axis) {
  if (Xs.size() == 1)
    return Xs[0];
  Expr Sum(0);
  for (Value X : Xs) {
    if (!X)
      return {};
    if (!isAxis(Axis, dims(X).size()))
      return fail(Code::ImportRank, outside(Axis, dims(X).size()));
    Sum = Sum + dims(X)[static_cast<size_t>(Axis)];
    for (int64_t I = 0; I < rank(X) && rank(X) == rank(Xs[0]); ++I)
      if (auto A = static_cast<size_t>(I);
          I != Axis && dims(X)[A] != dims(Xs[0])[A])
        unify(dims(Xs[0])[A], dims(X)[A]);
  }
  if (std::optional<std::string> Why = objection({Sum}))
    return fail(Code::ImportBadDims,
                "cannot join to [" + Sum.str() + "]" + *Why);
  if (Xs.size() <= MostJoined)
    return build(ConcatOp::getOperationName(), Xs, {intAttr("axis", Axis)});
  SmallVector<Value> Parts;
  for (size_t I = 0; I < Xs.size(); I += MostJoined)
    Parts.push_back(concat(Xs.slice(I).take_front(MostJoined), Axis));
  return concat(Parts, Axis);
}

Value Emitter::pad(Value X, Value Filler, ArrayRef<int64_t> Low,
                   ArrayRef<int64_t> High, ArrayRef<int64_t> Interior) {
  if (!X || !Filler)
    return {};
  auto Zero = [](int64_t V) { return V == 0; };
  if (llvm::all_of(Low, Zero) && llvm::all_of(High, Zero) &&
      llvm::all_of(Interior, Zero))
    return X;
  for (size_t I = 0; I < Low.size() && I < dims(X).size(); ++I) {
    Expr Size = dims(X)[I];
    Expr Spread = Interior[I] == 0
                      ? Size
                      : Expr::max(Size * (Interior[I] + 1) - Interior[I], 0);
    Expr Padded = Spread + Low[I] + High[I];
    if (std::optional<std::string> Why = objection({Padded}))
      return fail(Code::ImportShape,
                  "padding makes a size of " + Padded.str() + *Why);
  }
  return build(PadOp::getOperationName(), {X, Filler},
               {listAttr("low", Low), listAttr("high", High),
                listAttr("interior", Interior)});
}

Value Emitter::gather(Value X, Value Indices, int64_t Axis) {
  return build(GatherOp::getOperationName(), {X, Indices},
               {intAttr("axis", Axis)});
}

Value Emitter::gatherElements(Value X, Value Indices, int64_t Axis) {
  if (!X || !Indices)
    return {};
  for (int64_t I = 0; rank(X) == rank(Indices) && I < rank(X); ++I)
    if (I != Axis)
      unifyDims(X, I, Indices, I);
  return build(GatherElementsOp::getOperationName(), {X, Indices},
               {intAttr("axis", Axis)});
}

Value Emitter::gatherNd(Value X, Value Indices, int64_t BatchDims) {
  if (!X || !Indices)
    return {};
  for (int64_t I = 0; I < std::min({BatchDims, rank(X), rank(Indices)}); ++I)
    unifyDims(X, I, Indices, I);
  return build(GatherNdOp::getOperationName(), {X, Indices},
               {intAttr("batch_dims", BatchDims)});
}

static NamedAttribute kindAttr(OpBuilder &B, ScatterKind K) {
  return B.getNamedAttr("kind", ScatterKindAttr::get(B.getContext(), K));
}

Value Emitter::scatterElements(ScatterKind K, Value X, Value Indices,
                               Value Updates, int64_t Axis) {
  if (!X || !Indices || !Updates)
    return {};
  for (int64_t I = 0; rank(Indices) == rank(Updates) && I < rank(Indices); ++I)
    unifyDims(Indices, I, Updates, I);
  return build(ScatterElementsOp::getOperationName(), {X, Indices, Updates},
               {kindAttr(B, K), intAttr("axis", Axis)});
}

Value Emitter::scatterNd(ScatterKind K, Value X, Value Indices, Value Updates) {
  if (!X || !Indices || !Updates)
    return {};
  // An update has what of x's dims an index vector leaves: the ranks say how
  // long that is.
  int64_t Vectors = rank(Indices) - 1,
          Length = rank(X) + Vectors - rank(Updates);
  if (Vectors >= 0 && Length >= 0 && Length <= rank(X) &&
      unify(dims(Indices).back(), Expr(Length))) {
    for (int64_t I = 0; I < Vectors; ++I)
      unifyDims(Indices, I, Updates, I);
    for (int64_t I = Length; I < rank(X); ++I)
      unifyDims(X, I, Updates, Vectors + I - Length);
  }
  return build(ScatterNdOp::getOperationName(), {X, Indices, Updates},
               {kindAttr(B, K)});
}

Value Emitter::iota(ArrayRef<Expr> Sizes, int64_t Axis, Type Element) {
  if (std::optional<std::string> Why = objection(Sizes))
    return fail(Code::ImportShape,
                "no tensor has the sizes " + dimsText(Sizes) + *Why);
  return buildSized(IotaOp::getOperationName(), {}, {intAttr("axis", Axis)},
                    Sizes, Element);
}

} // namespace kpc::frontend

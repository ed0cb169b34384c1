//===- Movement.cpp - Import of joins, pads and turns ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Importer.h"
#include "compiler/import/torch/Rules.h"

using namespace kpc::graph;

namespace kpc::torch {

static void concat(NodeImport &N) {
  SmallVector<Value> Xs = N.tensors("tensors");
  Type T = N.declaredType();
  std::optional<Dims> Sizes = N.declaredSizes();
  if (N.bad() || Xs.empty() || !T || !Sizes)
    return N.give();
  int64_t Axis =
      N.axis(N.integer("dim", 0), static_cast<int64_t>(Sizes->size()));
  // Old programs join empty vectors with anything.
  llvm::erase_if(Xs, [&](Value V) {
    return N.rank(V) == 1 && Sizes->size() != 1 && N.dims(V)[0] == Expr(0);
  });
  for (Value &X : Xs)
    X = N.cast(X, T);
  N.result(N.concat(Xs, Axis));
}

static void stack(NodeImport &N) {
  SmallVector<Value> Xs = N.tensors("tensors");
  Type T = N.declaredType();
  if (N.bad() || Xs.empty() || !T)
    return N.give();
  int64_t Axis = N.axis(N.integer("dim", 0), N.rank(Xs[0]) + 1);
  for (Value &X : Xs)
    X = N.unsqueeze(N.cast(X, T), {Axis});
  N.result(N.concat(Xs, Axis));
}

static void repeat(NodeImport &N) {
  Value X = N.tensor("self");
  std::optional<Dims> Times = N.sizes(N.has("repeats") ? "repeats" : "dims");
  if (!X || !Times)
    return N.give();
  // [a, b] by [r, s]: [1, a, 1, b] to [r, a, s, b], then as one.
  Dims Own(N.dims(X)), Split, Wide, Joined;
  while (Own.size() < Times->size())
    Own.insert(Own.begin(), Expr(1));
  while (Times->size() < Own.size())
    Times->insert(Times->begin(), Expr(1));
  for (size_t I = 0; I < Own.size(); ++I) {
    Split.append({Expr(1), Own[I]});
    Wide.append({(*Times)[I], Own[I]});
    Joined.push_back((*Times)[I] * Own[I]);
  }
  N.result(N.reshape(N.broadcast(N.reshape(X, Split), Wide), Joined));
}

static void repeatEach(NodeImport &N) {
  Value X = N.tensor("self");
  Expr Times = N.size("repeats", 1);
  if (!X)
    return;
  if (!N.has("dim"))
    X = N.reshape(X, {graph::typeOf(X).getNumElements()});
  auto Axis = static_cast<size_t>(N.axis(N.integer("dim", 0), N.rank(X)));
  Dims Wide(N.dims(X)), Joined(N.dims(X));
  Wide.insert(Wide.begin() + static_cast<ptrdiff_t>(Axis) + 1, Times);
  Joined[Axis] = Joined[Axis] * Times;
  X = N.unsqueeze(X, {static_cast<int64_t>(Axis) + 1});
  N.result(N.reshape(N.broadcast(X, Wide), Joined));
}

static void flip(NodeImport &N) {
  Value X = N.tensor("self");
  if (X)
    for (int64_t A : N.integers("dims", {}))
      X = N.reverse(X, N.axis(A, N.rank(X)));
  N.result(X);
}

static void roll(NodeImport &N) {
  Value X = N.tensor("self");
  std::optional<Dims> Shifts = N.sizes("shifts");
  if (!X || !Shifts)
    return;
  Dims Whole(N.dims(X));
  Ints Axes = N.integers("dims", {});
  if (Axes.empty()) {
    Axes = {0};
    X = N.reshape(X, {graph::typeOf(X).getNumElements()});
  }
  for (auto [A, Given] : llvm::zip(Axes, *Shifts)) {
    int64_t Axis = N.axis(A, N.rank(X));
    Expr Size = N.dims(X)[static_cast<size_t>(Axis)];
    Expr Cut = N.importer().facts().simplify((Expr(0) - Given).mod(Size));
    // The modulus of a size that may be 0 is not known: a known shift is.
    if (std::optional<int64_t> S = Given.asConstant(); S && !Cut.asConstant())
      Cut = *S >= 0 ? Size - *S : Expr(-*S);
    if (Cut == Expr(0))
      continue;
    X = N.concat(
        {N.sliceAxis(X, Axis, Cut, Size - Cut), N.sliceAxis(X, Axis, 0, Cut)},
        Axis);
  }
  N.result(N.reshape(X, Whole));
}

/// tril and triu: keeps what is on one side of a diagonal.
template <bool Lower> static void triangle(NodeImport &N) {
  Value X = N.tensor("self");
  int64_t Diagonal = N.integer("diagonal", 0);
  if (!X || N.rank(X) < 2)
    return N.give();
  Dims Sizes(N.dims(X).take_back(2));
  // Column minus row.
  Value Right = N.sub(N.iota(Sizes, 1, N.i64()), N.iota(Sizes, 0, N.i64()));
  Value Keep = N.compare(Lower ? Predicate::le : Predicate::ge, Right,
                         N.scalarInt(Diagonal, N.i64()));
  N.result(N.select(Keep, X, N.scalarInt(0, N.element(X))));
}

//===----------------------------------------------------------------------===//
// Pads
//===----------------------------------------------------------------------===//

/// One side of an axis, filled as reflection, replication or a circle says.
static Value side(NodeImport &N, Value X, int64_t Axis, const Expr &Count,
                  bool Front, llvm::StringRef Mode) {
  Expr Size = N.dims(X)[static_cast<size_t>(Axis)];
  if (Mode == "circular")
    return N.sliceAxis(X, Axis, Front ? Size - Count : Expr(0), Count);
  if (Mode == "reflect")
    return N.reverse(
        N.sliceAxis(X, Axis, Front ? Expr(1) : Size - 1 - Count, Count), Axis);
  Dims Wide(N.dims(X));
  Wide[static_cast<size_t>(Axis)] = Count;
  return N.broadcast(N.sliceAxis(X, Axis, Front ? Expr(0) : Size - 1, 1), Wide);
}

/// A constant at both ends of an axis, as wide as the run's sizes say; what is
/// negative cuts.
static Value padAxisBySizes(NodeImport &N, Value X, Value Filler, int64_t Axis,
                            const Expr &Low, const Expr &High) {
  if (!X || !Filler)
    return {};
  const shape::Facts &Known = N.importer().facts();
  auto At = static_cast<size_t>(Axis);
  Expr Whole = N.dims(X)[At] + Low + High;
  auto Positive = [&](const Expr &E) {
    return Known.simplify(Expr::max(E, 0));
  };
  Expr CutLow = Positive(Expr(0) - Low), CutHigh = Positive(Expr(0) - High);
  if (CutLow != Expr(0) || CutHigh != Expr(0))
    X = N.sliceAxis(X, Axis, CutLow, N.dims(X)[At] - CutLow - CutHigh);
  if (!X)
    return {};
  auto Filled = [&](const Expr &Count) {
    Dims Sizes(N.dims(X));
    Sizes[At] = Count;
    return N.broadcast(Filler, Sizes);
  };
  SmallVector<Value> Parts;
  if (Expr Count = Positive(Low); Count != Expr(0))
    Parts.push_back(Filled(Count));
  Parts.push_back(X);
  if (Expr Count = Positive(High); Count != Expr(0))
    Parts.push_back(Filled(Count));
  Value Y = N.concat(Parts, Axis);
  return Y && N.dims(Y)[At] != Whole ? N.sliceAxis(Y, Axis, 0, Whole) : Y;
}

static void constantPadBy(NodeImport &N, Value X, const Dims &Given) {
  auto Rank = static_cast<size_t>(N.rank(X));
  Ints Low(Rank, 0), High = Low, None = Low;
  Value Filler = N.has("value") ? N.operand("value", N.element(X))
                                : N.scalarInt(0, N.element(X));
  for (size_t I = 0; I < Given.size() / 2; ++I) {
    std::optional<int64_t> Front = Given[2 * I].asConstant(),
                           Back = Given[2 * I + 1].asConstant();
    size_t At = Rank - 1 - I;
    if (Front && Back) {
      Low[At] = *Front;
      High[At] = *Back;
    } else {
      X = padAxisBySizes(N, X, Filler, static_cast<int64_t>(At), Given[2 * I],
                         Given[2 * I + 1]);
    }
  }
  N.result(N.pad(X, Filler, Low, High, None));
}

static void padBy(NodeImport &N, llvm::StringRef Mode, std::string_view Pads) {
  Value X = N.tensor("self");
  Dims Given = N.sizes(Pads).value_or(Dims());
  if (!X || N.bad() || Given.size() % 2 ||
      static_cast<int64_t>(Given.size()) > 2 * N.rank(X))
    return N.give();
  int64_t Rank = N.rank(X);
  if (Mode == "constant")
    return constantPadBy(N, X, Given);
  for (size_t I = 0; I < Given.size() / 2 && X; ++I) {
    int64_t Axis = Rank - 1 - static_cast<int64_t>(I);
    Expr Low = Given[2 * I], High = Given[2 * I + 1];
    for (const Expr &E : {Low, High})
      if (N.importer().facts().range(E).Min < 0)
        return (void)N.unsupported("a pad of " + E.str() + ", which may be " +
                                   "negative, of mode " + Mode.str());
    SmallVector<Value> Parts;
    if (Low != Expr(0))
      Parts.push_back(side(N, X, Axis, Low, true, Mode));
    Parts.push_back(X);
    if (High != Expr(0))
      Parts.push_back(side(N, X, Axis, High, false, Mode));
    X = N.concat(Parts, Axis);
  }
  N.result(X);
}

static void pad(NodeImport &N) { padBy(N, N.text("mode", "constant"), "pad"); }
static void constantPad(NodeImport &N) { padBy(N, "constant", "pad"); }
static void reflectionPad(NodeImport &N) { padBy(N, "reflect", "padding"); }
static void replicationPad(NodeImport &N) { padBy(N, "replicate", "padding"); }

/// Tensors of different lengths as one, with a value behind or in front.
static void padSequence(NodeImport &N) {
  SmallVector<Value> Xs = N.tensors("sequences");
  if (Xs.empty() || llvm::is_contained(Xs, Value()))
    return N.give();
  const shape::Facts &Known = N.importer().facts();
  Value Filler = N.operand("padding_value", N.element(Xs[0]));
  if (!N.has("padding_value"))
    Filler = N.scalarInt(0, N.element(Xs[0]));
  bool Front = N.text("padding_side", "right") == "left";
  int64_t Axis = N.flag("batch_first", false) ? 0 : 1;
  Expr Length(0);
  for (Value X : Xs) {
    if (N.rank(X) < 1)
      return (void)N.fail(Code::ImportRank, "a sequence is a scalar");
    Length = Known.simplify(Expr::max(Length, N.dims(X)[0]));
  }
  for (Value &X : Xs) {
    Expr More = Known.simplify(Length - N.dims(X)[0]);
    X = padAxisBySizes(N, X, Filler, 0, Front ? More : Expr(0),
                       Front ? Expr(0) : More);
    X = N.unsqueeze(X, {Axis});
  }
  N.result(N.concat(Xs, Axis));
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

static void pixelShuffle(NodeImport &N) {
  Value X = N.tensor("self");
  int64_t R = N.integer("upscale_factor", 1);
  if (!X || N.rank(X) < 3 || R < 1)
    return N.give();
  Dims Sizes(N.dims(X));
  size_t Rank = Sizes.size();
  Expr C = Sizes[Rank - 3].floorDiv(R * R), H = Sizes[Rank - 2],
       W = Sizes[Rank - 1];
  Dims Split(ArrayRef<Expr>(Sizes).drop_back(3)), Joined = Split;
  auto Batch = static_cast<int64_t>(Split.size());
  Split.append({C, Expr(R), Expr(R), H, W});
  Joined.append({C, H * R, W * R});
  Ints Perm = llvm::to_vector<6>(llvm::seq<int64_t>(0, Batch));
  Perm.append({Batch, Batch + 3, Batch + 1, Batch + 4, Batch + 2});
  N.result(N.reshape(N.transpose(N.reshape(X, Split), Perm), Joined));
}

static void pixelUnshuffle(NodeImport &N) {
  Value X = N.tensor("self");
  int64_t R = N.integer("downscale_factor", 1);
  if (!X || N.rank(X) < 3 || R < 1)
    return N.give();
  Dims Sizes(N.dims(X));
  size_t Rank = Sizes.size();
  Expr C = Sizes[Rank - 3], H = Sizes[Rank - 2].floorDiv(R),
       W = Sizes[Rank - 1].floorDiv(R);
  Dims Split(ArrayRef<Expr>(Sizes).drop_back(3)), Joined = Split;
  auto Batch = static_cast<int64_t>(Split.size());
  Split.append({C, H, Expr(R), W, Expr(R)});
  Joined.append({C * (R * R), H, W});
  Ints Perm = llvm::to_vector<6>(llvm::seq<int64_t>(0, Batch));
  Perm.append({Batch, Batch + 2, Batch + 4, Batch + 1, Batch + 3});
  N.result(N.reshape(N.transpose(N.reshape(X, Split), Perm), Joined));
}

static void channelShuffle(NodeImport &N) {
  Value X = N.tensor("self");
  int64_t Groups = N.integer("groups", 1);
  if (!X || N.rank(X) < 2 || Groups < 1)
    return N.give();
  Dims Whole(N.dims(X)), Split = Whole;
  Split[1] = Whole[1].floorDiv(Groups);
  Split.insert(Split.begin() + 1, Expr(Groups));
  Ints Perm = llvm::to_vector<6>(
      llvm::seq<int64_t>(0, static_cast<int64_t>(Split.size())));
  std::swap(Perm[1], Perm[2]);
  N.result(N.reshape(N.transpose(N.reshape(X, Split), Perm), Whole));
}

/// Windows of an axis as a last one.
static void unfold(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  int64_t Axis = N.axis(N.integer("dimension", 0), N.rank(X));
  int64_t Size = N.integer("size", 1), Step = N.integer("step", 1);
  if (N.bad() || Step < 1 || Size < 0 || N.rank(X) == 0)
    return N.give();
  Expr Length = N.dims(X)[static_cast<size_t>(Axis)];
  const shape::Facts &Known = N.importer().facts();
  if (Known.range(Length).Max < Size)
    return (void)N.fail(Code::ImportShape,
                        "windows of " + std::to_string(Size) +
                            " elements do not fit the size " + Length.str());
  Expr Windows = Known.simplify((Length - Size).floorDiv(Expr(Step)) + 1);
  // Below one window there is none, where a run may have that.
  if (Known.range(Length).Min < Size)
    Windows = Known.simplify(Expr::max(Windows, 0));
  Dims Grid = {Windows, Expr(Size)};
  Value Index =
      N.add(N.mul(N.iota(Grid, 0, N.i64()), N.scalarInt(Step, N.i64())),
            N.iota(Grid, 1, N.i64()));
  Value Y = N.gather(X, Index, Axis);
  if (!Y)
    return;
  Ints Perm;
  for (int64_t I = 0; I < N.rank(Y); ++I)
    if (I != Axis + 1)
      Perm.push_back(I);
  Perm.push_back(Axis + 1);
  N.result(N.transpose(Y, Perm));
}

static void meshgrid(NodeImport &N) {
  SmallVector<Value> Xs = N.tensors("tensors");
  bool Turned = N.text("indexing", "ij") == "xy" && Xs.size() >= 2;
  for (size_t I = 0; I < Xs.size() && !N.bad(); ++I) {
    std::optional<Dims> Sizes = N.declaredSizes(I);
    if (!Sizes)
      return;
    Dims Own(Xs.size(), Expr(1));
    size_t Axis = Turned && I < 2 ? 1 - I : I;
    Own[Axis] = (*Sizes)[Axis];
    N.result(I, N.broadcast(N.reshape(Xs[I], Own), *Sizes));
  }
}

static void broadcastTensors(NodeImport &N) {
  SmallVector<Value> Xs = N.tensors("tensors");
  for (size_t I = 0; I < Xs.size() && !N.bad(); ++I)
    if (std::optional<Dims> Sizes = N.declaredSizes(I))
      N.result(I, N.broadcast(Xs[I], *Sizes));
}

/// `movedim`: the permutation follows from source and destination.
static void moveAxes(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  Ints From = N.integers("source", {}), To = N.integers("destination", {});
  Ints Perm(static_cast<size_t>(N.rank(X)), -1);
  std::vector<bool> Taken(Perm.size(), false);
  for (auto [F, T] : llvm::zip(From, To)) {
    auto At = static_cast<size_t>(N.axis(F, N.rank(X)));
    Perm[static_cast<size_t>(N.axis(T, N.rank(X)))] = static_cast<int64_t>(At);
    Taken[At] = true;
  }
  size_t Next = 0;
  for (int64_t &A : Perm)
    if (A < 0) {
      while (Taken[Next])
        ++Next;
      A = static_cast<int64_t>(Next++);
    }
  if (!N.bad())
    N.result(N.transpose(X, Perm));
}

/// The middle of each axis to its front, or back.
template <bool Back> static void halfRolled(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  for (int64_t Axis : N.axes("dim", N.rank(X))) {
    Expr Size = N.dims(X)[static_cast<size_t>(Axis)];
    Expr Half = Size.floorDiv(2), Cut = Back ? Half : Size - Half;
    X = N.concat(
        {N.sliceAxis(X, Axis, Cut, Size - Cut), N.sliceAxis(X, Axis, 0, Cut)},
        Axis);
    if (!X)
      return N.give();
  }
  N.result(X);
}

ArrayRef<Rule> movementRules() {
  static const Rule Rows[] = {
      {"broadcast_tensors.default", broadcastTensors},
      {"cat.default", concat},
      {"channel_shuffle.default", channelShuffle},
      {"concat.default", concat},
      {"concatenate.default", concat},
      {"constant_pad_nd.default", constantPad},
      {"fft_fftshift.default", halfRolled<false>},
      {"fft_ifftshift.default", halfRolled<true>},
      {"flip.default", flip},
      {"meshgrid.default", meshgrid},
      {"meshgrid.indexing", meshgrid},
      {"moveaxis.int", moveAxes},
      {"moveaxis.intlist", moveAxes},
      {"movedim.int", moveAxes},
      {"movedim.intlist", moveAxes},
      {"pad.default", pad},
      {"pad_sequence.default", padSequence},
      {"pixel_shuffle.default", pixelShuffle},
      {"pixel_unshuffle.default", pixelUnshuffle},
      {"reflection_pad1d.default", reflectionPad},
      {"reflection_pad2d.default", reflectionPad},
      {"reflection_pad3d.default", reflectionPad},
      {"repeat.default", repeat},
      {"repeat_interleave.self_int", repeatEach},
      {"replication_pad1d.default", replicationPad},
      {"replication_pad2d.default", replicationPad},
      {"replication_pad3d.default", replicationPad},
      {"roll.default", roll},
      {"stack.default", stack},
      {"tile.default", repeat},
      {"tril.default", triangle<true>, InPlace::Yes},
      {"triu.default", triangle<false>, InPlace::Yes},
      {"unfold.default", unfold},
  };
  return Rows;
}

} // namespace kpc::torch

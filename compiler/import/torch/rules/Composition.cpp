//===- Composition.cpp - Import of tensors made of others and of tables ---===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Selection.h"
#include "compiler/import/torch/Rules.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::torch {

/// The tensors of a list in the type that they promote to.
static SmallVector<Value> listOf(NodeImport &N) {
  SmallVector<Value> Xs = N.tensors(N.has("matrices") ? "matrices" : "tensors");
  Type T;
  for (Value V : Xs)
    if (V)
      T = N.wider(T, N.element(V));
  for (Value &V : Xs)
    V = N.cast(V, T);
  if (Xs.empty() || llvm::is_contained(Xs, Value()))
    N.give();
  return Xs;
}

/// At least `Rank` dimensions; new ones stand in front, and the third behind.
static Value raised(NodeImport &N, Value X, int64_t Rank) {
  while (X && N.rank(X) < Rank)
    X = N.unsqueeze(X, {N.rank(X) == 2 ? 2 : 0});
  return X;
}

/// hstack, vstack, dstack: joined along the axis, of tensors of some rank.
template <int64_t Rank, int64_t Axis> static void stacked(NodeImport &N) {
  SmallVector<Value> Xs = listOf(N);
  if (N.bad())
    return;
  for (Value &X : Xs)
    X = raised(N, X, Rank);
  // Vectors have no second axis.
  N.result(N.concat(Xs, std::min(Axis, N.rank(Xs[0]) - 1)));
}

static void columnStack(NodeImport &N) {
  SmallVector<Value> Xs = listOf(N);
  if (N.bad())
    return;
  for (Value &X : Xs)
    while (X && N.rank(X) < 2)
      X = N.unsqueeze(X, {N.rank(X)});
  N.result(N.concat(Xs, 1));
}

static void blockDiagonal(NodeImport &N) {
  SmallVector<Value> Xs = listOf(N);
  if (N.bad())
    return;
  Expr Columns(0);
  for (Value &X : Xs) {
    X = raised(N, X, 2);
    Columns = Columns + N.dims(X)[1];
  }
  SmallVector<Value> Rows;
  Expr Left(0);
  for (Value X : Xs) {
    Expr Height = N.dims(X)[0], Width = N.dims(X)[1];
    SmallVector<Value> Parts;
    if (Left != Expr(0))
      Parts.push_back(N.full(0, {Height, Left}, N.element(X)));
    Parts.push_back(X);
    if (Expr Right = Columns - Left - Width; Right != Expr(0))
      Parts.push_back(N.full(0, {Height, Right}, N.element(X)));
    Rows.push_back(N.concat(Parts, 1));
    Left = Left + Width;
  }
  N.result(N.concat(Rows, 0));
}

/// Every element of the first vector with every one of the next.
static void cartesianProduct(NodeImport &N) {
  SmallVector<Value> Xs = listOf(N);
  if (N.bad())
    return;
  if (Xs.size() == 1)
    return N.result(Xs[0]);
  Dims Grid;
  Expr Count(1);
  for (Value X : Xs) {
    Grid.push_back(typeOf(X).getNumElements());
    Count = Count * Grid.back();
  }
  SmallVector<Value> Columns;
  for (size_t I = 0; I < Xs.size(); ++I) {
    Dims Own(Xs.size(), Expr(1));
    Own[I] = Grid[I];
    Columns.push_back(
        N.reshape(N.broadcast(N.reshape(Xs[I], Own), Grid), {Count, Expr(1)}));
  }
  N.result(N.concat(Columns, 1));
}

/// k quarter turns in the plane of two axes.
static void quarterTurns(NodeImport &N) {
  Value X = N.tensor("self");
  Ints Axes = N.integers("dims", {0, 1});
  int64_t Turns = ((N.integer("k", 1) % 4) + 4) % 4;
  if (!X || N.bad() || Axes.size() != 2)
    return N.give();
  int64_t A = N.axis(Axes[0], N.rank(X)), C = N.axis(Axes[1], N.rank(X));
  Ints Swap = llvm::to_vector<6>(llvm::seq<int64_t>(0, N.rank(X)));
  std::swap(Swap[static_cast<size_t>(A)], Swap[static_cast<size_t>(C)]);
  if (Turns == 1)
    X = N.transpose(N.reverse(X, C), Swap);
  else if (Turns == 2)
    X = N.reverse(N.reverse(X, A), C);
  else if (Turns == 3)
    X = N.transpose(N.reverse(X, A), Swap);
  N.result(X);
}

template <int64_t Axis> static void mirrored(NodeImport &N) {
  Value X = N.tensor("self");
  if (X)
    N.result(N.reverse(X, N.axis(Axis, N.rank(X))));
}

/// Vectors as diagonals of matrices, whose axes are A and C.
static Value onDiagonal(NodeImport &N, Value X, int64_t Offset, int64_t A,
                        int64_t C) {
  int64_t Rank = N.rank(X) + 1;
  Expr Side = N.dims(X).back() + std::abs(Offset);
  int64_t Low = std::max<int64_t>(-Offset, 0);
  // Along the rows the vector, `Low` further down; zeros elsewhere.
  Ints None(static_cast<size_t>(Rank) - 1, 0), Front = None, Back = None;
  Front.back() = Low;
  Back.back() = std::abs(Offset) - Low;
  X = N.pad(X, N.scalarInt(0, N.element(X)), Front, Back, None);
  X = X ? N.unsqueeze(X, {Rank - 1}) : X;
  Dims Square = {Side, Side};
  Value Right = N.sub(N.iota(Square, 1, N.i64()), N.iota(Square, 0, N.i64()));
  Value Is = N.compare(Predicate::eq, Right, N.scalarInt(Offset, N.i64()));
  Value Y = X ? N.select(Is, X, N.scalarInt(0, N.element(X))) : X;
  // The last two axes go to their places.
  Ints Perm(static_cast<size_t>(Rank), -1);
  Perm[static_cast<size_t>(A)] = Rank - 2;
  Perm[static_cast<size_t>(C)] = Rank - 1;
  int64_t Next = 0;
  for (int64_t &P : Perm)
    if (P < 0)
      P = Next++;
  return N.transpose(Y, Perm);
}

static void diagonalEmbed(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X || N.rank(X) < 1)
    return N.give();
  int64_t Rank = N.rank(X) + 1;
  int64_t A = N.axis(N.integer("dim1", -2), Rank),
          C = N.axis(N.integer("dim2", -1), Rank);
  if (N.bad() || A == C)
    return N.give();
  N.result(onDiagonal(N, X, N.integer("offset", 0), A, C));
}

/// A vector as a diagonal, or the diagonal of a matrix.
static void diagonalOf(NodeImport &N) {
  Value X = N.tensor("self");
  int64_t Offset = N.integer("diagonal", 0);
  if (!X || N.bad())
    return;
  if (N.rank(X) == 1)
    return N.result(onDiagonal(N, X, Offset, 0, 1));
  if (N.rank(X) != 2)
    return (void)N.fail(Code::ImportRank,
                        "expected a vector or a matrix, got " +
                            dimsText(N.dims(X)));
  int64_t Top = std::max<int64_t>(-Offset, 0), Left = Top + Offset;
  Expr Rows = N.dims(X)[0], Columns = N.dims(X)[1];
  Expr Count = Expr::max(Expr::min(Rows - Top, Columns - Left), 0);
  Value Place = N.iota({Count}, 0, N.i64());
  // In each row from `Top` on, the element that is one further right.
  Value Row = N.gather(X, N.addScalar(Place, double(Top)), 0);
  Value Y = N.gatherElements(
      Row, N.unsqueeze(N.addScalar(Place, double(Left)), {1}), 1);
  N.result(N.reshape(Y, {Count}));
}

/// Elements whose places in all axes are equal.
static void fillDiagonal(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X || N.rank(X) < 2 || N.flag("wrap", false))
    return (void)N.unsupported("a diagonal that wraps around, or of a vector");
  Value Is;
  for (int64_t I = 1; I < N.rank(X); ++I) {
    Value Same = N.compare(Predicate::eq, N.iota(N.dims(X), 0, N.i64()),
                           N.iota(N.dims(X), I, N.i64()));
    Is = Is ? N.bitAnd(Is, Same) : Same;
  }
  N.result(N.select(Is, N.operand("fill_value", N.element(X)), X));
}

/// Elements by their places in all of them.
static void take(NodeImport &N) {
  Value X = N.tensor("self"), Index = N.tensor("index");
  if (!X || !Index)
    return;
  Value Count = N.sizeScalar(typeOf(X).getNumElements(), N.element(Index));
  Value Negative =
      N.compare(Predicate::lt, Index, N.scalarInt(0, N.element(Index)));
  Index = N.select(Negative, N.add(Index, Count), Index);
  N.result(N.gather(frontend::flatten(N, X), Index, 0));
}

/// hsplit and its kin are `tensor_split`; of the trace only a square part
/// counts.
static void trace(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X || N.rank(X) != 2)
    return N.give();
  Value Is = N.compare(Predicate::eq, N.iota(N.dims(X), 0, N.i64()),
                       N.iota(N.dims(X), 1, N.i64()));
  X = N.select(Is, X, N.scalarInt(0, N.element(X)));
  N.result(
      N.reduce(ReduceKind::sum, N.isFloat(X) ? X : N.cast(X, N.i64()), {0, 1}));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static void tensorDot(NodeImport &N) {
  Value A = N.tensor("self"), C = N.tensor("other");
  Ints OfA = N.integers("dims_self", {}), OfC = N.integers("dims_other", {});
  if (!A || !C || N.bad() || OfA.size() != OfC.size())
    return N.give();
  Expr Inner(1), Left(1), Right(1);
  Ints PermA, PermC;
  Dims Sizes;
  for (int64_t &I : OfA)
    I = N.axis(I, N.rank(A));
  for (int64_t &I : OfC)
    I = N.axis(I, N.rank(C));
  for (int64_t I = 0; I < N.rank(A); ++I)
    if (!llvm::is_contained(OfA, I)) {
      PermA.push_back(I);
      Sizes.push_back(N.dims(A)[static_cast<size_t>(I)]);
      Left = Left * Sizes.back();
    }
  PermA.append(OfA);
  PermC = OfC;
  for (int64_t I : OfC)
    Inner = Inner * N.dims(C)[static_cast<size_t>(I)];
  for (int64_t I = 0; I < N.rank(C); ++I)
    if (!llvm::is_contained(OfC, I)) {
      PermC.push_back(I);
      Sizes.push_back(N.dims(C)[static_cast<size_t>(I)]);
      Right = Right * Sizes.back();
    }
  if (N.bad())
    return;
  Value X = N.reshape(N.transpose(A, PermA), {Left, Inner});
  Value Y = N.reshape(N.transpose(C, PermC), {Inner, Right});
  N.result(N.reshape(N.matmul(X, Y), Sizes));
}

static void dot(NodeImport &N) {
  N.result(N.matmul(N.tensor("self"), N.tensor("other")));
}

/// The products of the last axes.
static void inner(NodeImport &N) {
  Value A = N.tensor("self"), C = N.tensor("other");
  if (!A || !C)
    return;
  if (N.rank(A) == 0 || N.rank(C) == 0)
    return N.result(N.mul(A, C));
  Dims Sizes(N.dims(A).drop_back());
  llvm::append_range(Sizes, N.dims(C).drop_back());
  auto Rows = [&](Value V) {
    Expr Count(1);
    for (const Expr &E : N.dims(V).drop_back())
      Count = Count * E;
    return N.reshape(V, {Count, N.dims(V).back()});
  };
  Value Right = Rows(C);
  N.result(N.reshape(
      N.matmul(Rows(A), Right ? N.transpose(Right, {1, 0}) : Right), Sizes));
}

/// A product of many, from the left to the right.
static void chain(NodeImport &N) {
  SmallVector<Value> Xs = listOf(N);
  if (N.bad())
    return;
  Value Y = Xs.front();
  for (Value X : ArrayRef(Xs).drop_front())
    Y = N.matmul(Y, X);
  N.result(Y);
}

/// How the rows of a matrix vary together; a vector is one row.
template <bool Correlation> static void covariance(NodeImport &N) {
  Value X = N.asFloat(N.tensor("self"));
  if (!X || N.rank(X) < 1 || N.rank(X) > 2 || N.has("fweights") ||
      N.has("aweights"))
    return (void)N.unsupported("a covariance with weights, or of a tensor that "
                               "is no vector or matrix");
  bool Vector = N.rank(X) == 1;
  if (Vector)
    X = N.unsqueeze(X, {0});
  std::optional<int64_t> Count = N.dims(X)[1].asConstant();
  if (!Count)
    return (void)N.unsupported("a covariance of rows of no known length");
  X = N.sub(X, N.mean(X, {1}, /*KeepDims=*/true));
  double Of = double(*Count - N.integer("correction", 1));
  Value Y =
      N.mulScalar(N.matmul(X, N.transpose(X, {1, 0})), 1 / std::max(Of, 0.0));
  if (Correlation && Y) {
    Value Is = N.compare(Predicate::eq, N.iota(N.dims(Y), 0, N.i64()),
                         N.iota(N.dims(Y), 1, N.i64()));
    Value Far =
        N.sqrt(N.reduce(ReduceKind::sum, N.select(Is, Y, N.like(0, Y)), {1}));
    Y = N.div(N.div(Y, N.unsqueeze(Far, {1})), N.unsqueeze(Far, {0}));
    Y = N.max(N.min(Y, N.like(1, Y)), N.like(-1, Y));
  }
  N.result(Vector && Y ? N.reshape(Y, {}) : Y);
}

/// The area under lines between points: `dx` apart, or at `x`.
static void trapezoids(NodeImport &N) {
  Value Y = N.tensor("y");
  if (!Y || N.rank(Y) == 0)
    return N.give();
  int64_t Axis = N.axis(N.integer("dim", -1), N.rank(Y));
  Y = N.asFloat(Y);
  if (N.bad() || !Y)
    return N.give();
  auto Ends = [&](Value V, int64_t Along) {
    Expr Less = N.dims(V)[static_cast<size_t>(Along)] - 1;
    return std::pair(N.sliceAxis(V, Along, 0, Less),
                     N.sliceAxis(V, Along, 1, Less));
  };
  auto [Left, Right] = Ends(Y, Axis);
  Value Mean = N.mulScalar(N.add(Left, Right), 0.5);
  if (N.has("x")) {
    Value X = N.cast(N.tensor("x"), N.element(Y));
    if (!X || (N.rank(X) != 1 && N.rank(X) != N.rank(Y)))
      return N.give();
    auto [Low, High] = Ends(X, N.rank(X) == 1 ? 0 : Axis);
    Value Wide = N.sub(High, Low);
    if (Wide && N.rank(X) == 1) {
      Dims Own(N.dims(Y).size(), Expr(1));
      Own[static_cast<size_t>(Axis)] = N.dims(Wide)[0];
      Wide = N.reshape(Wide, Own);
    }
    return N.result(N.reduce(ReduceKind::sum, N.mul(Mean, Wide), {Axis}));
  }
  N.result(
      N.mulScalar(N.reduce(ReduceKind::sum, Mean, {Axis}), N.real("dx", 1)));
}

/// |a - b| <= atol + rtol |b|, or equal, as infinities are.
static void isClose(NodeImport &N) {
  Type T = N.promoted("self", "other");
  Value A = N.operand("self", T), C = N.operand("other", T);
  if (!A || !C)
    return N.give();
  Value Same = N.compare(Predicate::eq, A, C);
  Value Wide = N.asFloat(A);
  Wide = N.cast(Wide, Wide ? N.wide(Wide) : T);
  Value Of = N.cast(C, Wide ? N.element(Wide) : T);
  Value Far = N.unary<AbsOp>(N.sub(Wide, Of));
  Value May = N.addScalar(N.mulScalar(N.unary<AbsOp>(Of), N.real("rtol", 1e-5)),
                          N.real("atol", 1e-8));
  // Not of infinities: they are no nearer than infinitely far.
  Value Near = N.bitAnd(
      N.compare(Predicate::le, Far, May),
      N.compare(Predicate::lt, N.unary<AbsOp>(Of), N.like(INFINITY, Of)));
  Value Y = N.binary<OrOp>(Same, Near);
  if (N.flag("equal_nan", false))
    Y = N.binary<OrOp>(Y, N.bitAnd(N.compare(Predicate::ne, A, A),
                                   N.compare(Predicate::ne, C, C)));
  N.result(Y);
}

/// x1ᵀ W x2 for each output, and a bias.
static void bilinear(NodeImport &N) {
  Value A = N.tensor("input1"), C = N.tensor("input2"), W = N.tensor("weight"),
        Bias = N.optionalTensor("bias");
  if (!A || !C || !W || N.bad() || N.rank(W) != 3)
    return N.give();
  Expr Out = N.dims(W)[0], Left = N.dims(W)[1], Right = N.dims(W)[2];
  Dims Rows(N.dims(A).drop_back());
  Expr Count(1);
  for (const Expr &E : Rows)
    Count = Count * E;
  Value Half =
      N.matmul(N.reshape(A, {Count, Left}),
               N.reshape(N.transpose(W, {1, 0, 2}), {Left, Out * Right}));
  Value Y = N.matmul(N.reshape(Half, {Count, Out, Right}),
                     N.reshape(C, {Count, Right, Expr(1)}));
  Rows.push_back(Out);
  Y = N.reshape(Y, Rows);
  N.result(Bias ? N.add(Y, Bias) : Y);
}

static void kronecker(NodeImport &N) {
  Value A = N.tensor("self"), C = N.tensor("other");
  if (!A || !C)
    return;
  Dims SizesA(N.dims(A)), SizesC(N.dims(C)), SplitA, SplitC, Joined;
  while (SizesA.size() < SizesC.size())
    SizesA.insert(SizesA.begin(), Expr(1));
  while (SizesC.size() < SizesA.size())
    SizesC.insert(SizesC.begin(), Expr(1));
  for (auto [P, Q] : llvm::zip(SizesA, SizesC)) {
    SplitA.append({P, Expr(1)});
    SplitC.append({Expr(1), Q});
    Joined.push_back(P * Q);
  }
  N.result(
      N.reshape(N.mul(N.reshape(A, SplitA), N.reshape(C, SplitC)), Joined));
}

static void cross(NodeImport &N) {
  Value A = N.tensor("self"), C = N.tensor("other");
  if (!A || !C)
    return;
  std::optional<Dims> Sizes = N.broadcastSizes(N.dims(A), N.dims(C));
  if (!Sizes)
    return;
  A = N.broadcast(A, *Sizes);
  C = N.broadcast(C, *Sizes);
  int64_t Axis = -1;
  if (N.has("dim"))
    Axis = N.axis(N.integer("dim", -1), N.rank(A));
  else if (N.node().Target.find("linalg") != std::string::npos)
    Axis = N.rank(A) - 1;
  for (size_t I = 0; Axis < 0 && I < Sizes->size(); ++I)
    if ((*Sizes)[I] == Expr(3))
      Axis = static_cast<int64_t>(I);
  if (Axis < 0 || (*Sizes)[static_cast<size_t>(Axis)] != Expr(3))
    return N.give();
  auto Turned = [&](Value V, int64_t By) {
    Value Front = N.sliceAxis(V, Axis, By, 3 - By);
    return N.concat({Front, N.sliceAxis(V, Axis, 0, By)}, Axis);
  };
  N.result(N.sub(N.mul(Turned(A, 1), Turned(C, 2)),
                 N.mul(Turned(A, 2), Turned(C, 1))));
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// Rows and columns on one side of a diagonal: [2, count], by rows.
template <bool Lower> static void triangleIndices(NodeImport &N) {
  int64_t Rows = N.integer("row", 0), Columns = N.integer("col", 0),
          Offset = N.integer("offset", 0);
  Type T = N.has("dtype") ? N.type("dtype") : N.i64();
  if (N.bad() || !T || Rows < 0 || Columns < 0)
    return N.give();
  std::vector<int64_t> First, Second;
  for (int64_t I = 0; I < Rows; ++I)
    for (int64_t J = 0; J < Columns; ++J)
      if (Lower ? J - I <= Offset : J - I >= Offset) {
        First.push_back(I);
        Second.push_back(J);
        if (First.size() > 1'000'000)
          return (void)N.unsupported("more than 1000000 indices; make them a "
                                     "buffer of the module");
      }
  auto Count = static_cast<int64_t>(First.size());
  llvm::append_range(First, Second);
  N.result(N.cast(
      N.reshape(N.intVector(First, N.i64()), {Expr(2), Expr(Count)}), T));
}

static void logSpace(NodeImport &N) {
  int64_t Steps = N.integer("steps", 1);
  double From = N.real("start", 0), To = N.real("end", 1),
         Base = N.real("base", 10);
  Type T = tableType(N);
  if (N.bad() || !T || Steps < 0 || Steps > 1'000'000)
    return N.give();
  std::vector<double> Values;
  Values.reserve(static_cast<size_t>(Steps));
  for (int64_t I = 0; I < Steps; ++I)
    Values.push_back(std::pow(
        Base,
        From + (Steps > 1 ? (To - From) * double(I) / double(Steps - 1) : 0)));
  N.result(N.floatVector(Values, T));
}

/// One tensor, or each of a list, with at least `Rank` dimensions.
template <int64_t Rank> static void atLeast(NodeImport &N) {
  if (N.has("self"))
    return N.result(raised(N, N.tensor("self"), Rank));
  for (auto [I, X] : llvm::enumerate(N.tensors("tensors")))
    N.result(I, raised(N, X, Rank));
}

static void flatDiagonal(NodeImport &N) {
  Value X = N.tensor("self");
  int64_t Offset = N.integer("offset", 0);
  if (X && !N.bad())
    N.result(onDiagonal(N, frontend::flatten(N, X), Offset, 0, 1));
}

ArrayRef<Rule> compositionRules() {
  static const Rule Rows[] = {
      {"atleast_1d.Sequence", atLeast<1>},
      {"atleast_1d.default", atLeast<1>},
      {"atleast_2d.Sequence", atLeast<2>},
      {"atleast_2d.default", atLeast<2>},
      {"atleast_3d.Sequence", atLeast<3>},
      {"atleast_3d.default", atLeast<3>},
      {"bilinear.default", bilinear},
      {"block_diag.default", blockDiagonal},
      {"cartesian_prod.default", cartesianProduct},
      {"chain_matmul.default", chain},
      {"column_stack.default", columnStack},
      {"corrcoef.default", covariance<true>, InPlace::No, "known lengths"},
      {"cov.default", covariance<false>, InPlace::No,
       "known lengths, no weights"},
      {"cross.default", cross},
      {"diag.default", diagonalOf},
      {"diag_embed.default", diagonalEmbed},
      {"diagflat.default", flatDiagonal},
      {"dstack.default", stacked<3, 2>},
      {"fill_diagonal.default", fillDiagonal, InPlace::Yes, "no wrap"},
      {"fliplr.default", mirrored<1>},
      {"flipud.default", mirrored<0>},
      {"hstack.default", stacked<1, 1>},
      {"inner.default", inner},
      {"isclose.default", isClose},
      {"kron.default", kronecker},
      {"linalg_cross.default", cross},
      {"linalg_multi_dot.default", chain},
      {"logspace.default", logSpace, InPlace::No, "floats"},
      {"row_stack.default", stacked<2, 0>},
      {"rot90.default", quarterTurns},
      {"take.default", take},
      {"tensordot.default", tensorDot},
      {"trace.default", trace},
      {"trapezoid.dx", trapezoids},
      {"trapezoid.x", trapezoids},
      {"trapz.dx", trapezoids},
      {"trapz.x", trapezoids},
      {"tril_indices.default", triangleIndices<true>},
      {"triu_indices.default", triangleIndices<false>},
      {"vdot.default", dot},
      {"vstack.default", stacked<2, 0>},
  };
  return Rows;
}

} // namespace kpc::torch

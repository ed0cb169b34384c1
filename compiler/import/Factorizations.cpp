//===- Factorizations.cpp - QR, eigenvalues, singular values --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Rotations go in rounds, as those of a tournament: each column meets one
/// other, so that a round is elementwise. As many rounds as there are other
/// columns are a sweep, and the number of sweeps is fixed.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/Factorizations.h"

using namespace kpc::graph;

namespace kpc::frontend {

/// Rotations converge quadratically: f64 needs about ten sweeps at 128 columns.
/// Columns whose lengths differ by many powers of ten need more, so that
/// singular values are those of a triangle's rows, which are in order.
static constexpr int64_t Sweeps = 10;

static int64_t known(const Expr &E) { return *E.asConstant(); }

/// `V` along the given axis of three.
static Value placesOf(Emitter &N, int64_t Count, int64_t Axis) {
  Dims Sizes(3, Expr(1));
  Sizes[static_cast<size_t>(Axis)] = Expr(Count);
  return N.iota(Sizes, Axis, N.i64());
}

static Value sumAlong(Emitter &N, Value X, int64_t Axis) {
  return N.reduce(ReduceKind::sum, X, {Axis}, /*KeepDims=*/true);
}

/// The elements where flags are, zeros elsewhere.
static Value where(Emitter &N, Value Flags, Value X) {
  return N.select(Flags, X, N.like(0, X));
}

/// The greatest |x| along the axes, which stay; 1 where all are 0. Squares of
/// what is divided by it neither overflow nor vanish together.
static Value greatest(Emitter &N, Value X, ArrayRef<int64_t> Axes) {
  Value Most = N.reduce(ReduceKind::max, N.unary<AbsOp>(X), Axes,
                        /*KeepDims=*/true);
  return N.select(N.compare(Predicate::gt, Most, N.like(0, Most)), Most,
                  N.like(1, Most));
}

/// Ones on the diagonal, [Count, Rows, Columns].
static Value unitMatrices(Emitter &N, const Expr &Count, int64_t Rows,
                          int64_t Columns, Type T) {
  Value Unit = N.cast(
      N.compare(Predicate::eq, placesOf(N, Rows, 1), placesOf(N, Columns, 2)),
      T);
  return N.broadcast(Unit, {Count, Expr(Rows), Expr(Columns)});
}

//===----------------------------------------------------------------------===//
// QR
//===----------------------------------------------------------------------===//

std::optional<std::pair<Value, Value>>
orthogonalTriangular(Emitter &N, Value A, int64_t Columns, LoopBuilder Loop) {
  if (!A)
    return std::nullopt;
  Dims Sizes(N.dims(A));
  int64_t Rows = known(Sizes[1]), Steps = std::min(Rows, known(Sizes[2]));
  Value Row = placesOf(N, Rows, 1), Vector = placesOf(N, Steps, 2);
  auto Iteration =
      [&](const Expr &Step,
          ArrayRef<Value> Carried) -> std::optional<SmallVector<Value>> {
    Value R = Carried[0];
    Value At = N.sizeScalar(Step, N.i64());
    Value Here = N.compare(Predicate::eq, Row, At);
    Value Below = N.compare(Predicate::gt, Row, At);
    Value Column = N.sliceAxis(R, 2, Step, 1);
    // A reflection is the same for any multiple of its column.
    Value Rest = where(N, N.compare(Predicate::ge, Row, At), Column);
    Column = N.div(Column, greatest(N, Rest, {1}));
    Rest = where(N, Below, Column);
    Value Head = sumAlong(N, where(N, Here, Column), 1);
    Value Tail = sumAlong(N, N.mul(Rest, Rest), 1);
    Value Length = N.sqrt(N.add(N.mul(Head, Head), Tail));
    Value Zero = N.like(0, Head);
    Value Beta =
        N.select(N.compare(Predicate::ge, Head, Zero), N.neg(Length), Length);
    Value First = N.sub(Head, Beta);
    Value V = N.add(Rest, where(N, Here, N.broadcast(First, N.dims(Rest))));
    Value Square = N.add(N.mul(First, First), Tail);
    // What is a unit vector already stays, its sign as well.
    Value Done = N.compare(Predicate::eq, Tail, Zero);
    Value Factor =
        N.select(Done, Zero,
                 N.sqrt(N.div(N.like(2, Square),
                              N.select(Done, N.like(1, Square), Square))));
    V = N.mul(V, Factor);
    Value NextR = N.sub(R, N.mul(V, sumAlong(N, N.mul(V, R), 1)));
    Value All = N.select(N.compare(Predicate::eq, Vector, At), V, Carried[1]);
    if (!NextR || !All)
      return std::nullopt;
    return SmallVector<Value>{NextR, All};
  };
  Value None = N.full(0, {Sizes[0], Expr(Rows), Expr(Steps)}, N.element(A));
  auto Results = Loop(Expr(Steps), {A, None}, {}, Iteration);
  if (!Results)
    return std::nullopt;
  // From the last reflection to the first: as many columns as are wanted do.
  auto Backwards =
      [&](const Expr &Step,
          ArrayRef<Value> Carried) -> std::optional<SmallVector<Value>> {
    Value V = N.gather((*Results)[1],
                       N.reshape(N.sub(N.scalarInt(Steps - 1, N.i64()),
                                       N.sizeScalar(Step, N.i64())),
                                 {Expr(1)}),
                       2);
    Value Q = N.sub(Carried[0], N.mul(V, sumAlong(N, N.mul(V, Carried[0]), 1)));
    return Q ? std::optional(SmallVector<Value>{Q}) : std::nullopt;
  };
  Value Unit = unitMatrices(N, Sizes[0], Rows, Columns, N.element(A));
  auto Product = Loop(Expr(Steps), {Unit}, {}, Backwards);
  if (!Product)
    return std::nullopt;
  Value Upper = N.compare(Predicate::le, Row, placesOf(N, known(Sizes[2]), 2));
  return std::pair(Product->front(), where(N, Upper, (*Results)[0]));
}

//===----------------------------------------------------------------------===//
// Rounds of rotations
//===----------------------------------------------------------------------===//

/// Whom each of `Count` columns meets in a round: the one at minus its place on
/// a ring, which turns. One of an even number stands outside of the ring; of an
/// odd number one meets itself.
static Value partners(Emitter &N, int64_t Count, const Expr &Step) {
  int64_t Ring = Count + Count % 2 - 1;
  Type T = N.i64();
  auto Around = [&](Value V) {
    return N.binary<ModOp>(V, N.scalarInt(Ring, T));
  };
  Value Place = N.iota({Expr(Count)}, 0, T);
  Value Round = Around(N.sizeScalar(Step, T));
  Value Other = Around(N.sub(N.add(Round, N.scalarInt(2 * Ring, T)), Place));
  if (Count % 2)
    return Other;
  Value Outside = N.scalarInt(Ring, T);
  Other = N.select(N.compare(Predicate::eq, Other, Place), Outside, Other);
  // Half of the round, on the ring.
  Value Its = Around(N.mul(Round, N.scalarInt(Count / 2, T)));
  return N.select(N.compare(Predicate::eq, Place, Outside), Its, Other);
}

namespace {
/// What is new of each column: c times its own minus s times its partner's.
struct Rotation {
  Value C, S; ///< [R, n]
};
} // namespace

/// Makes the product of each column with its partner 0. `Own` is that of each
/// column with itself; all [R, n].
static Rotation rotationOf(Emitter &N, Value Own, Value Product,
                           Value Partner) {
  auto OfPartner = [&](Value V) { return N.gather(V, Partner, 1); };
  // Both sides of a pair must turn by one angle.
  Product = N.mulScalar(N.add(Product, OfPartner(Product)), 0.5);
  Value Place = N.iota({N.dims(Partner)[0]}, 0, N.i64());
  Value Zero = N.like(0, Product), One = N.like(1, Product);
  Value Idle = N.binary<OrOp>(N.compare(Predicate::eq, Product, Zero),
                              N.compare(Predicate::eq, Place, Partner));
  Value Safe = N.select(Idle, One, Product);
  Value Theta = N.div(N.sub(OfPartner(Own), Own), N.mulScalar(Safe, 2));
  Value IsFirst = N.compare(Predicate::lt, Place, Partner);
  Value Sign = N.select(
      N.compare(Predicate::eq, Theta, Zero), N.select(IsFirst, One, N.neg(One)),
      N.select(N.compare(Predicate::gt, Theta, Zero), One, N.neg(One)));
  Value Tangent = N.div(Sign, N.add(N.unary<AbsOp>(Theta),
                                    N.sqrt(N.add(N.mul(Theta, Theta), One))));
  Tangent = N.select(Idle, Zero, Tangent);
  Value C = N.unary<RsqrtOp>(N.add(N.mul(Tangent, Tangent), One));
  return {C, N.mul(Tangent, C)};
}

/// Columns (axis 2) or rows (axis 1) of [R, m, n], each with its partner.
static Value rotated(Emitter &N, Value X, const Rotation &By, Value Partner,
                     int64_t Axis) {
  int64_t Other = Axis == 2 ? 1 : 2;
  return N.sub(N.mul(X, N.unsqueeze(By.C, {Other})),
               N.mul(N.gather(X, Partner, Axis), N.unsqueeze(By.S, {Other})));
}

/// The columns of [R, m, n] in the order of [R, n].
static Value ordered(Emitter &N, Value X, Value Order) {
  if (!X || !Order)
    return {};
  return N.gatherElements(X, N.broadcast(N.unsqueeze(Order, {1}), N.dims(X)),
                          2);
}

/// `A`, [R, m, n], after all rounds, and its columns' rotations, [R, n, n].
/// `Find` says by which angles columns of what `A` has become turn; with
/// `Rows`, rows turn by them as well.
static std::optional<std::pair<Value, Value>> inRounds(
    Emitter &N, Value A, bool Rows, LoopBuilder Loop,
    llvm::function_ref<std::optional<Rotation>(Value X, Value Partner)> Find) {
  Dims Sizes(N.dims(A));
  int64_t Size = known(Sizes[2]);
  Value Unit = unitMatrices(N, Sizes[0], Size, Size, N.element(A));
  if (Size == 1)
    return std::pair(A, Unit);
  auto Iteration =
      [&](const Expr &Step,
          ArrayRef<Value> Carried) -> std::optional<SmallVector<Value>> {
    Value X = Carried[0], Partner = partners(N, Size, Step);
    std::optional<Rotation> By = Find(X, Partner);
    if (!By)
      return std::nullopt;
    if (Rows)
      X = rotated(N, X, *By, Partner, 1);
    X = rotated(N, X, *By, Partner, 2);
    Value Vectors = rotated(N, Carried[1], *By, Partner, 2);
    if (!X || !Vectors)
      return std::nullopt;
    return SmallVector<Value>{X, Vectors};
  };
  auto Results =
      Loop(Expr(Sweeps * (Size + Size % 2 - 1)), {A, Unit}, {}, Iteration);
  if (!Results)
    return std::nullopt;
  return std::pair((*Results)[0], (*Results)[1]);
}

std::optional<std::pair<Value, Value>> eigenSymmetric(Emitter &N, Value A,
                                                      LoopBuilder Loop) {
  if (!A)
    return std::nullopt;
  Dims Sizes(N.dims(A));
  int64_t Size = known(Sizes[1]);
  Value Most = greatest(N, A, {1, 2});
  A = N.div(A, Most);
  Value Row = placesOf(N, Size, 1), Column = placesOf(N, Size, 2);
  Value IsDiagonal = N.compare(Predicate::eq, Row, Column);
  auto Diagonal = [&](Value X) {
    return N.reduce(ReduceKind::sum, where(N, IsDiagonal, X), {2});
  };
  auto Last = inRounds(
      N, A, /*Rows=*/true, Loop,
      [&](Value X, Value Partner) -> std::optional<Rotation> {
        Value Meets = N.compare(
            Predicate::eq, N.reshape(Partner, {Expr(1), Expr(Size), Expr(1)}),
            Column);
        Value Product = N.reduce(ReduceKind::sum, where(N, Meets, X), {2});
        if (!Product)
          return std::nullopt;
        return rotationOf(N, Diagonal(X), Product, Partner);
      });
  if (!Last)
    return std::nullopt;
  Emitter::Order O =
      N.sort(Diagonal(Last->first), 1, /*Descending=*/false, Expr(Size));
  return std::pair(N.mul(O.Elements, N.reshape(Most, {Sizes[0], Expr(1)})),
                   ordered(N, Last->second, O.Indices));
}

std::optional<Singular> singularValues(Emitter &N, Value A, LoopBuilder Loop) {
  if (!A)
    return std::nullopt;
  Dims Sizes(N.dims(A));
  int64_t Size = known(Sizes[2]);
  Value Most = greatest(N, A, {1, 2});
  auto Factors = orthogonalTriangular(N, N.div(A, Most), Size, Loop);
  if (!Factors)
    return std::nullopt;
  // R^T = U S V^T is what is turned, so that A = (Q V) S U^T.
  A = N.transpose(N.sliceAxis(Factors->second, 1, 0, Expr(Size)), {0, 2, 1});
  auto Products = [&](Value X, Value Y) {
    return N.reduce(ReduceKind::sum, N.mul(X, Y), {1});
  };
  auto Last = inRounds(N, A, /*Rows=*/false, Loop,
                       [&](Value X, Value Partner) -> std::optional<Rotation> {
                         Value Product = Products(X, N.gather(X, Partner, 2));
                         if (!Product)
                           return std::nullopt;
                         return rotationOf(N, Products(X, X), Product, Partner);
                       });
  if (!Last)
    return std::nullopt;
  Emitter::Order O = N.sort(N.sqrt(Products(Last->first, Last->first)), 1,
                            /*Descending=*/true, Expr(Size));
  Value U = ordered(N, Last->first, O.Indices);
  Value V = ordered(N, Last->second, O.Indices);
  if (!U || !V)
    return std::nullopt;
  Value Length = N.unsqueeze(O.Elements, {1});
  Value Zero = N.like(0, Length);
  Value None = N.compare(Predicate::eq, Length, Zero);
  U = N.select(None, Zero, N.div(U, N.select(None, N.like(1, U), Length)));
  return Singular{N.matmul(Factors->first, V),
                  N.mul(O.Elements, N.reshape(Most, {Sizes[0], Expr(1)})), U};
}

} // namespace kpc::frontend

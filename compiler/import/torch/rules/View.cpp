//===- View.cpp - Import of operators that share memory -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Importer.h"
#include "compiler/import/torch/Rules.h"
#include "compiler/import/torch/rules/ViewSizes.h"

using namespace kpc::graph;

namespace kpc::torch {

namespace {
using Forward = NodeImport::ForwardFunction;
using Backward = NodeImport::BackwardFunction;
} // namespace

static void permuted(NodeImport &N, Ints Perm) {
  Ints Back(Perm.size(), 0);
  for (size_t I = 0; I < Perm.size(); ++I)
    Back[static_cast<size_t>(Perm[I])] = static_cast<int64_t>(I);
  N.view(
      0, "self", [Perm](Emitter &E, Value X) { return E.transpose(X, Perm); },
      [Back](Emitter &E, Value, Value Part) {
        return E.transpose(Part, Back);
      });
}

static void permute(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  Ints Perm = N.integers("dims", {});
  for (int64_t &A : Perm)
    A = N.axis(A, N.rank(X));
  Ints Sorted = Perm;
  llvm::sort(Sorted);
  if (!llvm::equal(Sorted, llvm::seq<int64_t>(0, N.rank(X))))
    N.fail(Code::ImportAttributeValue, "argument 'dims' is no permutation");
  if (!N.bad())
    permuted(N, Perm);
}

static void swapped(NodeImport &N, int64_t A, int64_t C) {
  Value X = N.tensor("self");
  if (!X)
    return;
  A = N.axis(A, N.rank(X));
  C = N.axis(C, N.rank(X));
  Ints Perm = llvm::to_vector<6>(llvm::seq<int64_t>(0, N.rank(X)));
  if (!Perm.empty())
    std::swap(Perm[static_cast<size_t>(A)], Perm[static_cast<size_t>(C)]);
  if (!N.bad())
    permuted(N, Perm);
}

static void transpose(NodeImport &N) {
  bool Axes = N.has("axis0");
  swapped(N, N.integer(Axes ? "axis0" : "dim0", 0),
          N.integer(Axes ? "axis1" : "dim1", 1));
}
static void transposeMatrix(NodeImport &N) {
  Value X = N.tensor("self");
  if (X && N.rank(X) < 2)
    return permuted(N, llvm::to_vector<6>(llvm::seq<int64_t>(0, N.rank(X))));
  swapped(N, 0, 1);
}
static void transposeLast(NodeImport &N) { swapped(N, -2, -1); }

static void expand(NodeImport &N) {
  std::optional<Dims> Sizes = N.declaredSizes();
  if (!Sizes)
    return;
  N.view(
      0, "self",
      [Sizes = *Sizes](Emitter &E, Value X) { return E.broadcast(X, Sizes); },
      [](Emitter &E, Value, Value) {
        return E.fail(Code::ImportUnsupported,
                      "a write through a tensor that was expanded");
      });
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// `Part` in place of `Count` elements from `Start` of an axis.
static Value insert(Emitter &E, Value Whole, Value Part, int64_t Axis,
                    const Expr &Start, const Expr &Count, int64_t Step) {
  Expr Size = Emitter::dims(Whole)[static_cast<size_t>(Axis)];
  if (Step != 1) {
    std::optional<int64_t> N = Count.asConstant(), From = Start.asConstant();
    if (!N || !From || *N > 1024)
      return E.fail(Code::ImportUnsupported,
                    "a write through a slice with steps");
    for (int64_t I = 0; Whole && I < *N; ++I)
      Whole = insert(E, Whole, E.sliceAxis(Part, Axis, I, 1), Axis,
                     *From + I * Step, 1, 1);
    return Whole;
  }
  SmallVector<Value> Parts;
  if (Start != Expr(0))
    Parts.push_back(E.sliceAxis(Whole, Axis, 0, Start));
  Parts.push_back(Part);
  if (Expr Rest = Size - Start - Count; Rest != Expr(0))
    Parts.push_back(E.sliceAxis(Whole, Axis, Start + Count, Rest));
  return E.concat(Parts, Axis);
}

static void part(NodeImport &N, size_t I, int64_t Axis, const Expr &Start,
                 const Expr &Count, int64_t Step = 1) {
  N.view(
      I, "self",
      [=](Emitter &E, Value X) {
        return E.sliceAxis(X, Axis, E.current(Start), E.current(Count), Step);
      },
      [=](Emitter &E, Value Whole, Value Part) {
        return insert(E, Whole, Part, Axis, E.current(Start), E.current(Count),
                      Step);
      });
}

/// A part of one element, whose axis goes.
static void row(NodeImport &N, size_t I, int64_t Axis, const Expr &At) {
  auto Drop = [Axis](Dims Sizes) {
    Sizes.erase(Sizes.begin() + Axis);
    return Sizes;
  };
  N.view(
      I, "self",
      [=](Emitter &E, Value X) {
        return E.reshape(E.sliceAxis(X, Axis, At, 1),
                         Drop(Dims(Emitter::dims(X))));
      },
      [=](Emitter &E, Value Whole, Value Part) {
        return insert(E, Whole, E.unsqueeze(Part, {Axis}), Axis, At, 1, 1);
      });
}

/// Where a slice's bound lies, counted from the front and kept inside.
static Expr bound(NodeImport &N, const Expr &Given, const Expr &Size) {
  const shape::Facts &Known = N.importer().facts();
  // What is 0 or less, as -(n % 4), stays 0 where it is 0.
  if (Known.range(Given).Max == 0 && Given != Expr(0))
    return Known.simplify(
        Expr::max(Given + Size, 0).mod(Known.simplify(Expr::max(Size, 1))));
  Expr At = Known.range(Given).Max < 0 || Given.asConstant().value_or(0) < 0
                ? Expr::max(Given + Size, 0)
                : Given;
  return Known.simplify(Expr::min(At, Size));
}

static std::optional<int64_t> partAxis(NodeImport &N, Value X) {
  if (!X)
    return std::nullopt;
  if (N.rank(X) == 0) {
    N.fail(Code::ImportRank, "takes a part of a scalar");
    return std::nullopt;
  }
  int64_t Axis = N.axis(N.integer("dim", 0), N.rank(X));
  return N.bad() ? std::nullopt : std::optional(Axis);
}

static void slice(NodeImport &N) {
  Value X = N.tensor("self");
  std::optional<int64_t> Axis = partAxis(N, X);
  int64_t Step = N.integer("step", 1);
  std::optional<Dims> Sizes = Axis ? N.declaredSizes() : std::nullopt;
  if (!Sizes || N.bad())
    return N.give();
  Expr Size = N.dims(X)[static_cast<size_t>(*Axis)];
  Expr Start = bound(N, N.size("start", 0), Size);
  part(N, 0, *Axis, Start, (*Sizes)[static_cast<size_t>(*Axis)], Step);
}

static void narrow(NodeImport &N) {
  Value X = N.tensor("self");
  if (std::optional<int64_t> Axis = partAxis(N, X)) {
    Expr Size = N.dims(X)[static_cast<size_t>(*Axis)];
    part(N, 0, *Axis, bound(N, N.size("start", 0), Size), N.size("length", 1));
  }
}

static void select(NodeImport &N) {
  Value X = N.tensor("self");
  std::optional<int64_t> Axis = partAxis(N, X);
  if (!Axis)
    return;
  Expr At = N.size("index", 0), Size = N.dims(X)[static_cast<size_t>(*Axis)];
  if (At.asConstant().value_or(0) < 0)
    At = Size + At;
  // As Python counts from the end; and never outside, whatever the iteration.
  if (N.importer().namesCounter(At))
    At = N.importer().facts().simplify(At.mod(Size));
  row(N, 0, *Axis, At);
}

/// A row whose place a tensor holds, as the counter of a loop that data ends.
static void selectPlace(NodeImport &N) {
  Value X = N.tensor("self"), Place = N.tensor("index");
  std::optional<int64_t> Axis = partAxis(N, X);
  if (!Axis || !Place)
    return;
  if (N.isFloat(Place) || typeOf(Place).getNumElements() != Expr(1))
    return (void)N.fail(Code::ImportElementType, "takes a row by " +
                                                     typeText(Place.getType()) +
                                                     ", expected one integer");
  Value Size = N.sizeScalar(N.dims(X)[static_cast<size_t>(*Axis)], N.i64());
  Place = N.cast(N.reshape(Place, {}), N.i64());
  Place = N.select(N.compare(Predicate::lt, Place, N.scalarInt(0, N.i64())),
                   N.add(Place, Size), Place);
  if (!Place)
    return N.give();
  N.view(
      0, "self",
      [A = *Axis, Place](Emitter &E, Value V) { return E.gather(V, Place, A); },
      [A = *Axis, Place](Emitter &E, Value Whole, Value Part) {
        Value Is = E.compare(Predicate::eq,
                             E.iota(Emitter::dims(Whole), A, E.i64()), Place);
        return E.select(Is, E.unsqueeze(Part, {A}), Whole);
      });
}

static void unbind(NodeImport &N) {
  Value X = N.tensor("self");
  if (std::optional<int64_t> Axis = partAxis(N, X))
    for (size_t I = 0; I < N.resultCount() && !N.bad(); ++I)
      row(N, I, *Axis, Expr(static_cast<int64_t>(I)));
}

/// chunk, split and their kin: sizes as the archive declares them.
static void split(NodeImport &N) {
  Value X = N.tensor("self");
  std::optional<int64_t> Axis = partAxis(N, X);
  Expr Start(0);
  for (size_t I = 0; Axis && I < N.resultCount() && !N.bad(); ++I) {
    std::optional<Dims> Sizes = N.declaredSizes(I);
    if (!Sizes || Sizes->size() != N.dims(X).size())
      return N.give();
    Expr Count = (*Sizes)[static_cast<size_t>(*Axis)];
    part(N, I, *Axis, Start, Count);
    Start = Start + Count;
  }
}

/// hsplit, vsplit and dsplit name the axis by themselves.
template <int64_t Named> static void splitNamed(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X || N.rank(X) == 0)
    return N.give();
  int64_t Axis = std::min(Named, N.rank(X) - 1);
  Expr Start(0);
  for (size_t I = 0; I < N.resultCount() && !N.bad(); ++I) {
    std::optional<Dims> Sizes = N.declaredSizes(I);
    if (!Sizes || Sizes->size() != N.dims(X).size())
      return N.give();
    Expr Count = (*Sizes)[static_cast<size_t>(Axis)];
    part(N, I, Axis, Start, Count);
    Start = Start + Count;
  }
}

namespace {
/// The elements of two axes whose places differ by an offset.
struct Diagonal {
  Ints Perm; ///< the two axes last
  int64_t Offset = 0, Top = 0, Left = 0;
  Expr Count;

  Value of(Emitter &E, Value X) const {
    X = E.transpose(X, Perm);
    if (!X)
      return X;
    Dims Sizes(Emitter::dims(X));
    size_t Row = Sizes.size() - 2;
    auto Last = static_cast<int64_t>(Row);
    auto Rows = Sizes[Row].asConstant(), Columns = Sizes[Row + 1].asConstant();
    if (Rows && Columns) {
      Dims Flat(ArrayRef<Expr>(Sizes).drop_back(2));
      Flat.push_back(Expr(*Rows * *Columns));
      return E.sliceAxis(E.reshape(X, Flat), Last, Top * *Columns + Left, Count,
                         *Columns + 1);
    }
    Value Place = E.iota({Count}, 0, E.i64());
    X = E.gather(X, E.add(Place, E.scalarInt(Top, E.i64())), Last);
    Dims Part(Sizes);
    Part[Row] = Count, Part[Row + 1] = Expr(1);
    Value Column = E.unsqueeze(E.add(Place, E.scalarInt(Left, E.i64())), {1});
    X = E.gatherElements(X, E.broadcast(Column, Part), Last + 1);
    Part.pop_back();
    return E.reshape(X, Part);
  }

  Value into(Emitter &E, Value Whole, Value Part) const {
    if (Count == Expr(0))
      return Whole;
    Value X = E.transpose(Whole, Perm);
    if (!X || !Part)
      return {};
    Dims Sides(Emitter::dims(X).take_back(2));
    Value Row = E.iota(Sides, 0, E.i64()), Column = E.iota(Sides, 1, E.i64());
    Value Is = E.compare(Predicate::eq, E.sub(Column, Row),
                         E.scalarInt(Offset, E.i64()));
    Value Place =
        E.sub(E.iota({Sides[0]}, 0, E.i64()), E.scalarInt(Top, E.i64()));
    Place = E.max(E.min(Place, E.sizeScalar(Count - 1, E.i64())),
                  E.scalarInt(0, E.i64()));
    int64_t Rank = Emitter::rank(X);
    Value Spread = E.unsqueeze(E.gather(Part, Place, Rank - 2), {Rank - 1});
    X = E.select(Is, Spread, X);
    Ints Back(Perm.size(), 0);
    for (size_t I = 0; I < Perm.size(); ++I)
      Back[static_cast<size_t>(Perm[I])] = static_cast<int64_t>(I);
    return E.transpose(X, Back);
  }
};
} // namespace

/// The diagonal that a node names; none after a report.
static std::optional<Diagonal>
diagonalOf(NodeImport &N, Value X, int64_t FirstAxis, int64_t SecondAxis) {
  if (!X)
    return std::nullopt;
  int64_t Rank = N.rank(X);
  if (Rank < 2) {
    N.fail(Code::ImportRank,
           "expected two axes or more, got " + dimsText(N.dims(X)));
    return std::nullopt;
  }
  Diagonal D;
  D.Offset = N.integer("offset", 0);
  int64_t A = N.axis(N.integer("dim1", FirstAxis), Rank),
          C = N.axis(N.integer("dim2", SecondAxis), Rank);
  if (!N.bad() && A == C)
    N.fail(Code::ImportAttributeValue, "takes the diagonal of one axis");
  if (N.bad())
    return std::nullopt;
  for (int64_t I = 0; I < Rank; ++I)
    if (I != A && I != C)
      D.Perm.push_back(I);
  D.Perm.append({A, C});
  D.Top = std::max<int64_t>(-D.Offset, 0);
  D.Left = std::max<int64_t>(D.Offset, 0);
  D.Count = N.importer().facts().simplify(
      Expr::max(Expr::min(N.dims(X)[static_cast<size_t>(A)] - D.Top,
                          N.dims(X)[static_cast<size_t>(C)] - D.Left),
                0));
  return D;
}

static void diagonal(NodeImport &N) {
  bool OfMatrices = N.has("A");
  const char *Of = OfMatrices ? "A" : "self";
  auto D =
      diagonalOf(N, N.tensor(Of), OfMatrices ? -2 : 0, OfMatrices ? -1 : 1);
  if (!D)
    return N.give();
  N.view(
      0, Of, [D = *D](Emitter &E, Value X) { return D.of(E, X); },
      [D = *D](Emitter &E, Value Whole, Value Part) {
        return D.into(E, Whole, Part);
      });
}

static void diagonalScatter(NodeImport &N) {
  Value X = N.tensor("self"), Part = N.tensor("src");
  auto D = diagonalOf(N, X, 0, 1);
  if (!D || !Part)
    return N.give();
  Dims Wanted;
  for (int64_t Axis : ArrayRef(D->Perm).drop_back(2))
    Wanted.push_back(N.dims(X)[static_cast<size_t>(Axis)]);
  Wanted.push_back(D->Count);
  Dims Given(N.dims(Part));
  bool Fits = Given.size() == Wanted.size();
  for (size_t I = 0; Fits && I < Given.size(); ++I)
    Fits = N.unify(Given[I], Wanted[I]);
  if (!Fits)
    return (void)N.fail(Code::ImportShape, "'src' is " + dimsText(Given) +
                                               ", expected the diagonal's " +
                                               dimsText(Wanted));
  N.result(D->into(N, X, N.cast(Part, N.element(X))));
}

/// A view whose elements are negated when they are read, and when written.
static void negated(NodeImport &N) {
  auto Negate = [](Emitter &E, Value X) { return E.neg(X); };
  N.view(0, "self", Negate,
         [=](Emitter &E, Value, Value Part) { return Negate(E, Part); });
}

/// The first elements in the order of memory, or all of them and zeros. Where
/// there are as many as before, and where there are less, memory is shared.
static void resize(NodeImport &N) {
  Value X = N.tensor("self");
  Value Other = N.optionalTensor(N.has("the_template") ? "the_template" : "");
  std::optional<Dims> Given =
      Other ? std::optional(Dims(N.dims(Other))) : N.sizes("size");
  const Argument *Of = N.argument("self");
  if (!X || !Given || N.bad())
    return N.give();
  const Dims &Sizes = *Given;
  auto CountOf = [&](ArrayRef<Expr> All) {
    Expr Count(1);
    for (const Expr &Size : All)
      Count = Count * Size;
    return N.importer().facts().simplify(Count);
  };
  Expr Before = CountOf(N.dims(X)), After = CountOf(Sizes);
  if (ArrayRef(Sizes) == N.dims(X))
    return reshaped(N, Sizes);
  if (Of && N.importer().isView(Of->Values[0]))
    return (void)N.unsupported("resizing a view, whose elements need not lie "
                               "one after the other: take .clone() in front");
  if (Before == After)
    return reshaped(N, Sizes);
  const shape::Facts &Known = N.importer().facts();
  if (Known.isLessOrEqual(After, Before).value_or(false))
    return N.view(
        0, "self",
        [=](Emitter &E, Value Whole) {
          return E.reshape(E.sliceAxis(E.reshape(Whole, {Before}), 0, 0, After),
                           Sizes);
        },
        [=](Emitter &E, Value Whole, Value Part) {
          Value Flat = E.reshape(Whole, {Before});
          return E.reshape(
              E.concat({E.reshape(Part, {After}),
                        E.sliceAxis(Flat, 0, After, Before - After)},
                       0),
              Emitter::dims(Whole));
        });
  if (!Known.isLessOrEqual(Before, After).value_or(false))
    return (void)N.unsupported(
        "a resize from " + Before.str() + " to " + After.str() +
        " elements, which may be less or more: give the ranges of the sizes");
  Value Zero = N.scalarInt(0, N.element(X));
  Value Flat = N.reshape(X, {Before});
  if (Before != Expr(0))
    Flat = N.concat({Flat, N.broadcast(Zero, {After - Before})}, 0);
  else
    Flat = N.broadcast(Zero, {After});
  N.result(N.reshape(Flat, Sizes));
}

/// Elements at the sum of an offset and of places times strides in what the
/// memory holds, which is known where a tensor lies densely.
static void strided(NodeImport &N) {
  Value X = N.tensor("self");
  std::optional<Dims> Sizes = N.sizes("size"), Strides = N.sizes("stride");
  Expr Offset = N.size("storage_offset", 0);
  const Argument *Of = N.argument("self");
  const TensorMeta *M =
      Of && !Of->Values.empty() ? N.importer().meta(Of->Values[0]) : nullptr;
  if (!X || !Sizes || !Strides || N.bad() || Sizes->size() != Strides->size())
    return N.give();
  bool Dense = M && M->Offset.Text.empty() && M->Offset.Number == 0 &&
               M->Strides.size() == N.dims(X).size();
  Expr Next(1);
  for (size_t I = N.dims(X).size(); Dense && I-- > 0;) {
    std::optional<Expr> Stride = N.importer().sizeOf(M->Strides[I]);
    Dense = Stride && (*Stride == Next || N.dims(X)[I] == Expr(1));
    Next = Next * N.dims(X)[I];
  }
  if (!Dense)
    return (void)N.unsupported(
        "as_strided of a tensor that is not known to lie densely in memory: "
        "take .contiguous() of it in front, or unfold, slices and permute");
  Expr Last = Offset;
  bool Empty = false;
  for (auto [Size, Stride] : llvm::zip_equal(*Sizes, *Strides)) {
    Last = Last + (Size - 1) * Stride;
    Empty |= Size == Expr(0);
  }
  if (!Empty && N.importer().facts().isLessOrEqual(Last + 1, Next) != true)
    return (void)N.fail(
        Code::ImportShape,
        "the last of what as_strided takes is at " +
            N.importer().facts().simplify(Last).str() + ", expected it below " +
            N.importer().facts().simplify(Next).str() +
            ", the number of elements; take sizes and strides that stay inside "
            "of the tensor, and give the ranges of sizes that vary");
  auto Read = [Sizes = *Sizes, Strides = *Strides,
               Offset](Emitter &E, Value Whole) -> Value {
    Expr Count(1);
    for (const Expr &S : Emitter::dims(Whole))
      Count = Count * S;
    Value Place = E.sizeScalar(Offset, E.i64());
    for (size_t I = 0; I < Sizes.size(); ++I)
      Place =
          E.add(Place, E.mul(E.iota(Sizes, static_cast<int64_t>(I), E.i64()),
                             E.sizeScalar(Strides[I], E.i64())));
    return E.gather(E.reshape(Whole, {Count}), Place, 0);
  };
  N.view(0, "self", Read, [](Emitter &E, Value, Value) {
    return E.fail(
        Code::ImportUnsupported,
        "writes to what as_strided gives; write to the tensor itself");
  });
}

ArrayRef<Rule> viewRules() {
  static const Rule Rows[] = {
      {"_neg_view.default", negated},
      {"_reshape_alias.default", viewAsDeclared},
      {"_unsafe_view.default", viewAsDeclared},
      {"adjoint.default", transposeLast},
      {"broadcast_to.default", expand},
      {"chunk.default", split},
      {"as_strided.default", strided, InPlace::No,
       "of a tensor that lies densely, of a .pt2; nothing may write to it"},
      {"diagonal.default", diagonal},
      {"diagonal_scatter.default", diagonalScatter},
      {"linalg_diagonal.default", diagonal},
      {"dsplit.array", splitNamed<2>},
      {"dsplit.int", splitNamed<2>},
      {"expand.default", expand},
      {"expand_as.default", expand},
      {"flatten.using_ints", viewAsDeclared},
      {"hsplit.array", splitNamed<1>},
      {"hsplit.int", splitNamed<1>},
      {"mT.default", transposeLast},
      {"narrow.default", narrow},
      {"numpy_T.default", transposeMatrix},
      {"permute.default", permute},
      {"ravel.default", viewAsDeclared},
      {"reshape.default", viewAsDeclared},
      {"resize.default", resize, InPlace::Sizes,
       "of a view; what it adds is 0, where PyTorch leaves it open"},
      {"resize_as.default", resize, InPlace::Sizes,
       "of a view; what it adds is 0, where PyTorch leaves it open"},
      {"reshape_as.default", viewAsDeclared},
      {"select.int", select},
      {"select.place", selectPlace, InPlace::No,
       "TorchScript alone: a counter of a loop that data ends"},
      {"slice.Tensor", slice},
      {"split.Tensor", split},
      {"split.sizes", split},
      {"split_copy.Tensor", split},
      {"split_with_sizes.default", split},
      {"split_with_sizes_copy.default", split},
      {"squeeze.default", viewAsDeclared, InPlace::Sizes},
      {"squeeze.dim", viewAsDeclared, InPlace::Sizes},
      {"squeeze.dims", viewAsDeclared, InPlace::Sizes},
      {"swapaxes.default", transpose, InPlace::Sizes},
      {"swapdims.default", transpose, InPlace::Sizes},
      {"t.default", transposeMatrix, InPlace::Sizes},
      {"tensor_split.indices", split},
      {"tensor_split.sections", split},
      {"transpose.int", transpose, InPlace::Sizes},
      {"unbind.int", unbind},
      {"unflatten.int", viewAsDeclared},
      {"unsafe_chunk.default", split},
      {"unsafe_split.Tensor", split},
      {"unsqueeze.default", viewAsDeclared, InPlace::Sizes},
      {"view.default", viewAsDeclared},
      {"view_as.default", viewAsDeclared},
      {"view_copy.default", viewAsDeclared},
      {"vsplit.array", splitNamed<0>},
      {"vsplit.int", splitNamed<0>},
  };
  return Rows;
}

} // namespace kpc::torch

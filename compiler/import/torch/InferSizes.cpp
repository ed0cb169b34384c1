//===- InferSizes.cpp - Sizes that a file does not declare ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Importer.h"
#include "compiler/import/torch/Infer.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>

namespace kpc::torch {

namespace {
using Many = SmallVector<Dims>;
using InferFunction = std::optional<Many> (*)(NodeImport &);
} // namespace

static std::optional<Many> bad(NodeImport &N, Code C, std::string Why) {
  N.fail(C, std::move(Why));
  return std::nullopt;
}

static Expr product(ArrayRef<Expr> Sizes) {
  Expr All(1);
  for (const Expr &E : Sizes)
    All = All * E;
  return All;
}

static std::optional<Many> one(Dims Sizes) { return Many{std::move(Sizes)}; }

/// An axis that an argument names, of a tensor of the rank or of one more.
static size_t axisOf(NodeImport &N, int64_t Rank, std::string_view Name = "dim",
                     int64_t Default = 0) {
  return static_cast<size_t>(N.axis(N.integer(Name, Default), Rank));
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// One size may be -1: what the others leave.
static std::optional<Dims> completed(NodeImport &N, Dims Wanted,
                                     const Expr &Count) {
  std::optional<size_t> Open;
  Expr Others(1);
  for (size_t I = 0; I < Wanted.size(); ++I) {
    if (Wanted[I] != Expr(-1))
      Others = Others * Wanted[I];
    else if (Open)
      return N.fail(Code::ImportShape, "two of the sizes are -1"), std::nullopt;
    else
      Open = I;
  }
  if (!Open)
    return Wanted;
  if (Others == Expr(0))
    return N.fail(Code::ImportShape, "a size of -1 next to one of 0"),
           std::nullopt;
  const shape::Facts &Known = N.importer().facts();
  Wanted[*Open] = Known.simplify(Count.floorDiv(Others));
  return Wanted;
}

static std::optional<Many> view(NodeImport &N) {
  Value X = N.tensor("self");
  std::optional<Dims> Sizes = N.sizes(N.has("shape") ? "shape" : "size");
  if (!X || !Sizes)
    return std::nullopt;
  std::optional<Dims> Whole = completed(N, *Sizes, product(N.dims(X)));
  return Whole ? one(*Whole) : std::nullopt;
}

static std::optional<Many> likeOther(NodeImport &N) {
  Value X = N.tensor("other");
  return X ? one(Dims(N.dims(X))) : std::nullopt;
}

static std::optional<Many> likeSelf(NodeImport &N) {
  Value X = N.tensor("self");
  return X ? one(Dims(N.dims(X))) : std::nullopt;
}

static std::optional<Many> flatten(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return std::nullopt;
  int64_t Rank = N.rank(X);
  if (Rank == 0)
    return one({Expr(1)});
  size_t First = axisOf(N, Rank, "start_dim", 0),
         Last = axisOf(N, Rank, "end_dim", -1);
  if (N.bad() || First > Last)
    return std::nullopt;
  Dims Sizes(N.dims(X).take_front(First));
  Sizes.push_back(product(N.dims(X).slice(First, Last - First + 1)));
  Sizes.append(N.dims(X).begin() + Last + 1, N.dims(X).end());
  return one(Sizes);
}

static std::optional<Many> ravel(NodeImport &N) {
  Value X = N.tensor("self");
  return X ? one({product(N.dims(X))}) : std::nullopt;
}

static std::optional<Many> unflatten(NodeImport &N) {
  Value X = N.tensor("self");
  std::optional<Dims> Parts = N.sizes("sizes");
  if (!X || !Parts || N.rank(X) == 0)
    return std::nullopt;
  size_t Axis = axisOf(N, N.rank(X));
  Parts = completed(N, *Parts, N.dims(X)[Axis]);
  if (!Parts)
    return std::nullopt;
  Dims Sizes(N.dims(X));
  Sizes.erase(Sizes.begin() + Axis);
  Sizes.insert(Sizes.begin() + Axis, Parts->begin(), Parts->end());
  return one(Sizes);
}

/// Of the axes named, or of all, those of size 1 go.
static std::optional<Many> squeeze(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return std::nullopt;
  Ints Axes = N.axes("dim", N.rank(X));
  Dims Sizes;
  for (size_t I = 0; I < N.dims(X).size(); ++I)
    if (N.dims(X)[I] != Expr(1) ||
        !llvm::is_contained(Axes, static_cast<int64_t>(I)))
      Sizes.push_back(N.dims(X)[I]);
  return one(Sizes);
}

static std::optional<Many> unsqueeze(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return std::nullopt;
  size_t Axis = axisOf(N, N.rank(X) + 1);
  Dims Sizes(N.dims(X));
  Sizes.insert(Sizes.begin() + Axis, Expr(1));
  return one(Sizes);
}

static std::optional<Many> expand(NodeImport &N) {
  Value X = N.tensor("self");
  std::optional<Dims> Sizes = N.sizes("size");
  if (!X || !Sizes)
    return std::nullopt;
  if (Sizes->size() < N.dims(X).size())
    return bad(N, Code::ImportRank, "expands to fewer dimensions");
  size_t More = Sizes->size() - N.dims(X).size();
  for (size_t I = 0; I < N.dims(X).size(); ++I)
    if ((*Sizes)[More + I] == Expr(-1))
      (*Sizes)[More + I] = N.dims(X)[I];
  return one(*Sizes);
}

/// A bound of a slice, from the front and inside.
static Expr bound(NodeImport &N, const Expr &Given, const Expr &Size) {
  const shape::Facts &Known = N.importer().facts();
  // Python's way to write "up to the end".
  if (Given.asConstant().value_or(0) >= (int64_t(1) << 40))
    return Size;
  // What is 0 or less, as -(n % 4), stays 0 where it is 0.
  if (Known.range(Given).Max == 0 && Given != Expr(0) &&
      !Known.isLessOrEqual(Given, Expr(-1)).value_or(false))
    return Known.simplify(
        Expr::max(Given + Size, 0).mod(Known.simplify(Expr::max(Size, 1))));
  bool Behind = Known.range(Given).Max < 0 ||
                Given.asConstant().value_or(0) < 0 ||
                Known.isLessOrEqual(Given, Expr(-1)).value_or(false);
  Expr At = Behind ? Expr::max(Given + Size, 0) : Given;
  return Known.simplify(Expr::min(At, Size));
}

static std::optional<Many> slice(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X || N.rank(X) == 0)
    return std::nullopt;
  size_t Axis = axisOf(N, N.rank(X));
  int64_t Step = N.integer("step", 1);
  if (N.bad() || Step < 1)
    return std::nullopt;
  Expr Size = N.dims(X)[Axis];
  Expr Start = bound(N, N.size("start", 0), Size);
  Expr End = bound(N, N.size("end", Size), Size);
  Expr Count = N.importer().facts().simplify(
      Expr::max((End - Start).ceilDiv(Expr(Step)), 0));
  Dims Sizes(N.dims(X));
  Sizes[Axis] = Count;
  return one(Sizes);
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

static std::optional<Many> parts(Value X, size_t Axis, ArrayRef<Expr> Counts) {
  Many All;
  for (const Expr &Count : Counts) {
    All.emplace_back(Emitter::dims(X));
    All.back()[Axis] = Count;
  }
  return All;
}

/// The axis and its size, which must be known to say how many parts it has.
static std::optional<int64_t> knownAxis(NodeImport &N, Value X, size_t &Axis) {
  if (!X || N.rank(X) == 0)
    return std::nullopt;
  Axis = axisOf(N, N.rank(X));
  std::optional<int64_t> Size = N.dims(X)[Axis].asConstant();
  if (!Size)
    N.fail(Code::ImportNotConstant,
           "takes apart an axis of size " + N.dims(X)[Axis].str() +
               ": into how many parts must be known when compiling");
  return N.bad() ? std::nullopt : Size;
}

/// Parts of `Each`, the last one smaller.
static std::optional<Many> equalParts(NodeImport &N, Value X, size_t Axis,
                                      int64_t Size, int64_t Each) {
  if (Each < 1)
    return bad(N, Code::ImportAttributeValue,
               "takes parts of " + std::to_string(Each) + " elements");
  SmallVector<Expr> Counts;
  for (int64_t At = 0; At < Size && Counts.size() < 100'000; At += Each)
    Counts.push_back(std::min(Each, Size - At));
  return parts(X, Axis, Counts);
}

static std::optional<Many> chunk(NodeImport &N) {
  Value X = N.tensor("self");
  size_t Axis = 0;
  int64_t Chunks = N.integer("chunks", 1);
  // Whole multiples need no number.
  if (X && N.rank(X) > 0 && Chunks == 1)
    return one(Dims(N.dims(X)));
  std::optional<int64_t> Size = knownAxis(N, X, Axis);
  if (!Size || Chunks < 1)
    return std::nullopt;
  return equalParts(N, X, Axis, *Size,
                    std::max<int64_t>((*Size + Chunks - 1) / Chunks, 1));
}

static std::optional<Many> splitSizes(NodeImport &N) {
  Value X = N.tensor("self");
  std::optional<Dims> Counts =
      N.sizes(N.has("split_sizes") ? "split_sizes" : "split_size");
  if (!X || !Counts || N.rank(X) == 0)
    return std::nullopt;
  return parts(X, axisOf(N, N.rank(X)), *Counts);
}

static std::optional<Many> split(NodeImport &N) {
  const Argument *Given = N.argument("split_size");
  if (!Given || Given->Is == Argument::Kind::Ints)
    return splitSizes(N);
  Value X = N.tensor("self");
  size_t Axis = 0;
  std::optional<int64_t> Size = knownAxis(N, X, Axis);
  return Size ? equalParts(N, X, Axis, *Size, N.integer("split_size", 1))
              : std::nullopt;
}

static std::optional<Many> splitAt(NodeImport &N, Value X, size_t Axis,
                                   std::optional<int64_t> Size) {
  if (!Size)
    return std::nullopt;
  Ints Ends = N.integers("indices", {});
  SmallVector<Expr> Counts;
  if (int64_t Sections = N.integer("sections", 0);
      Sections > 0 && Sections <= 100'000) {
    for (int64_t I = 0; I < Sections; ++I)
      Counts.push_back(*Size / Sections + (I < *Size % Sections ? 1 : 0));
    return parts(X, Axis, Counts);
  }
  int64_t At = 0;
  Ends.push_back(*Size);
  for (int64_t End : Ends) {
    End = std::clamp<int64_t>(End < 0 ? End + *Size : End, 0, *Size);
    Counts.push_back(std::max<int64_t>(End - At, 0));
    At = std::max(At, End);
  }
  return parts(X, Axis, Counts);
}

static std::optional<Many> tensorSplit(NodeImport &N) {
  Value X = N.tensor("self");
  size_t Axis = 0;
  std::optional<int64_t> Size = knownAxis(N, X, Axis);
  return splitAt(N, X, Axis, Size);
}

/// vsplit, hsplit, dsplit: axes 0, 1 and 2; of a vector the only one.
template <size_t Named> static std::optional<Many> splitNamed(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X || N.rank(X) == 0)
    return std::nullopt;
  size_t Axis = std::min(Named, N.dims(X).size() - 1);
  return splitAt(N, X, Axis, N.dims(X)[Axis].asConstant());
}

static std::optional<Many> unbind(NodeImport &N) {
  Value X = N.tensor("self");
  size_t Axis = 0;
  std::optional<int64_t> Size = knownAxis(N, X, Axis);
  if (!Size)
    return std::nullopt;
  if (*Size > 100'000)
    return bad(N, Code::ImportUnsupported, "takes apart more than 100000 rows");
  Dims Row(N.dims(X));
  Row.erase(Row.begin() + Axis);
  return Many(static_cast<size_t>(*Size), Row);
}

/// As many vectors as the condition has axes; how long they are data decides.
static std::optional<Many> placesByAxis(NodeImport &N) {
  Value X = N.tensor(N.has("condition") ? "condition" : "self");
  return X ? std::optional(Many(N.dims(X).size(), {Expr(0)})) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Several operands
//===----------------------------------------------------------------------===//

static std::optional<Many> concat(NodeImport &N) {
  SmallVector<Value> Xs = N.tensors("tensors");
  // Old programs join empty vectors with anything.
  llvm::erase_if(Xs, [&](Value V) {
    return V && N.rank(V) == 1 && N.dims(V)[0] == Expr(0) && Xs.size() > 1;
  });
  if (N.bad() || Xs.empty() || N.rank(Xs[0]) == 0)
    return one({Expr(0)});
  Dims Sizes(N.dims(Xs[0]));
  size_t Axis = axisOf(N, N.rank(Xs[0]));
  for (Value V : ArrayRef(Xs).drop_front())
    if (N.rank(V) == N.rank(Xs[0]))
      Sizes[Axis] = Sizes[Axis] + N.dims(V)[Axis];
  return one(Sizes);
}

static std::optional<Many> broadcastAll(NodeImport &N) {
  SmallVector<Value> Xs = N.tensors("tensors");
  Dims Sizes;
  for (Value V : Xs) {
    std::optional<Dims> Both =
        V ? N.broadcastSizes(Sizes, N.dims(V)) : std::nullopt;
    if (!Both)
      return std::nullopt;
    Sizes = *Both;
  }
  return Many(Xs.size(), Sizes);
}

static std::optional<Many> meshgrid(NodeImport &N) {
  SmallVector<Value> Xs = N.tensors("tensors");
  Dims Sizes;
  for (Value V : Xs)
    if (V)
      Sizes.push_back(product(N.dims(V)));
  if (N.text("indexing", "ij") == "xy" && Sizes.size() >= 2)
    std::swap(Sizes[0], Sizes[1]);
  return Many(Xs.size(), Sizes);
}

static std::optional<Many> attention(NodeImport &N) {
  Value Q = N.tensor("query"), V = N.tensor("value");
  if (!Q || !V || N.rank(Q) < 1 || N.rank(V) < 1)
    return std::nullopt;
  Dims Sizes(N.dims(Q));
  Sizes.back() = N.dims(V).back();
  return one(Sizes);
}

//===----------------------------------------------------------------------===//
// Made from nothing
//===----------------------------------------------------------------------===//

static std::optional<Many> made(NodeImport &N) {
  std::optional<Dims> Sizes = N.sizes("size");
  return Sizes ? one(*Sizes) : std::nullopt;
}

static std::optional<Many> square(NodeImport &N) {
  Expr Rows = N.size("n", 0);
  return one({Rows, N.size("m", Rows)});
}

static std::optional<Many> range(NodeImport &N) {
  auto IsWhole = [&](std::string_view Name) {
    const Argument *A = N.argument(Name);
    return !A || A->Is != Argument::Kind::Float;
  };
  if (IsWhole("start") && IsWhole("end") && IsWhole("step")) {
    int64_t Step = N.integer("step", 1);
    Expr Reach = N.size("end", 0) - N.size("start", 0);
    if (Step == 0)
      return std::nullopt;
    Expr Count = Step > 0 ? Reach.ceilDiv(Expr(Step))
                          : (Expr(0) - Reach).ceilDiv(Expr(-Step));
    return one({N.importer().facts().simplify(Expr::max(Count, 0))});
  }
  double Step = N.real("step", 1),
         Count = std::ceil((N.real("end", 0) - N.real("start", 0)) / Step);
  if (!(Count >= 0 && Count < 1e12))
    return bad(N, Code::ImportAttributeValue, "the range has no end");
  return one({Expr(static_cast<int64_t>(Count))});
}

static std::optional<Many> steps(NodeImport &N) {
  return one({N.size("steps", 1)});
}

static std::optional<Many> scalar(NodeImport &) { return one({}); }

//===----------------------------------------------------------------------===//
// Computed
//===----------------------------------------------------------------------===//

static std::optional<Many> oneHot(NodeImport &N) {
  Value X = N.tensor("self");
  Expr Classes = N.size("num_classes", -1);
  if (!X)
    return std::nullopt;
  if (Classes == Expr(-1))
    return bad(N, Code::ImportNotConstant,
               "the number of classes follows from the data: give num_classes");
  Dims Sizes(N.dims(X));
  Sizes.push_back(Classes);
  return one(Sizes);
}

static std::optional<Many> reduced(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return std::nullopt;
  Ints Axes = N.axes("dim", N.rank(X));
  bool Keep = N.flag("keepdim", false);
  Dims Sizes;
  for (size_t I = 0; I < N.dims(X).size(); ++I)
    if (!llvm::is_contained(Axes, static_cast<int64_t>(I)))
      Sizes.push_back(N.dims(X)[I]);
    else if (Keep)
      Sizes.emplace_back(1);
  return one(Sizes);
}

/// The last sizes as `output_size` has them; one counts for all.
static std::optional<Many> adapted(NodeImport &N) {
  Value X = N.tensor("self");
  std::optional<Dims> Wanted = N.sizes("output_size");
  size_t Count = static_cast<size_t>(llvm::StringRef(N.node().Target)
                                         .rsplit('.')
                                         .first.rsplit("pool")
                                         .second.front() -
                                     '0');
  if (!X || !Wanted || Wanted->empty() || Count < 1 || Count > 3 ||
      N.dims(X).size() <= Count)
    return std::nullopt;
  Dims Sizes(N.dims(X).drop_back(Count));
  for (size_t I = 0; I < Count; ++I)
    Sizes.push_back(Wanted->size() == Count ? (*Wanted)[I] : Wanted->front());
  return Many{Sizes, Sizes};
}

static std::optional<Many> resized(NodeImport &N) {
  Value X = N.tensor(N.has("input") ? "input" : "self");
  if (!X || N.rank(X) < 3)
    return std::nullopt;
  size_t Count = N.dims(X).size() - 2;
  Dims Sizes(N.dims(X).take_front(2));
  if (std::optional<Dims> Wanted = N.sizes("output_size");
      Wanted && Wanted->size() == Count) {
    Sizes.append(*Wanted);
    return one(Sizes);
  }
  std::optional<std::vector<double>> Factors = N.reals("scale_factors");
  if (!Factors || Factors->size() != Count)
    return bad(N, Code::ImportAttributeMissing,
               "neither output_size nor scale_factors fit");
  for (size_t I = 0; I < Count; ++I) {
    double Factor = (*Factors)[I];
    Expr In = N.dims(X)[I + 2];
    if (std::optional<int64_t> Known = In.asConstant())
      Sizes.emplace_back(static_cast<int64_t>(double(*Known) * Factor));
    else if (Factor == std::floor(Factor) && Factor >= 1 && Factor < 1e6)
      Sizes.push_back(In * static_cast<int64_t>(Factor));
    else
      return bad(N, Code::ImportNotConstant,
                 "scales the size " + In.str() + " by " +
                     std::to_string(Factor));
  }
  return one(Sizes);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// "aten.view.default": "view"
static llvm::StringRef operatorOf(const Node &N) {
  llvm::StringRef Name(N.Target);
  Name.consume_front("aten.");
  return Name.split('.').first;
}

std::optional<SmallVector<Dims>> inferSizes(NodeImport &N) {
  static const llvm::StringMap<InferFunction> Table = [] {
    llvm::StringMap<InferFunction> T;
    auto Add = [&](std::initializer_list<const char *> Names, InferFunction F) {
      for (const char *Name : Names)
        T[Name] = F;
    };
    Add({"view", "view_copy", "reshape", "_reshape_alias", "_unsafe_view"},
        view);
    Add({"view_as", "reshape_as", "expand_as"}, likeOther);
    Add({"empty_like", "ones_like", "zeros_like", "full_like", "fill", "zero",
         "clamp"},
        likeSelf);
    Add({"flatten"}, flatten);
    Add({"ravel"}, ravel);
    Add({"unflatten"}, unflatten);
    Add({"squeeze"}, squeeze);
    Add({"unsqueeze"}, unsqueeze);
    Add({"broadcast_to", "expand"}, expand);
    Add({"slice"}, slice);
    Add({"chunk", "unsafe_chunk"}, chunk);
    Add({"split", "split_copy", "unsafe_split"}, split);
    Add({"split_with_sizes", "split_with_sizes_copy"}, splitSizes);
    Add({"tensor_split"}, tensorSplit);
    Add({"unbind"}, unbind);
    Add({"vsplit"}, splitNamed<0>);
    Add({"hsplit"}, splitNamed<1>);
    Add({"dsplit"}, splitNamed<2>);
    Add({"where", "nonzero_numpy"}, placesByAxis);
    Add({"cat", "concat", "concatenate"}, concat);
    Add({"broadcast_tensors"}, broadcastAll);
    Add({"meshgrid"}, meshgrid);
    Add({"scaled_dot_product_attention"}, attention);
    Add({"empty", "ones", "zeros", "full", "rand", "randn", "new_empty",
         "new_full", "new_ones", "new_zeros"},
        made);
    Add({"eye"}, square);
    Add({"arange"}, range);
    Add({"linspace"}, steps);
    Add({"scalar_tensor"}, scalar);
    Add({"one_hot"}, oneHot);
    Add({"argmax", "argmin", "logsumexp"}, reduced);
    for (const char *Kind : {"_adaptive_avg", "adaptive_avg", "adaptive_max"})
      for (const char *Rank : {"_pool1d", "_pool2d", "_pool3d"})
        T[std::string(Kind) + Rank] = adapted;
    for (const char *Kind :
         {"upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d",
          "_upsample_nearest_exact1d", "_upsample_nearest_exact2d",
          "upsample_linear1d", "upsample_bilinear2d", "upsample_bicubic2d",
          "upsample_trilinear3d", "_upsample_bilinear2d_aa",
          "_upsample_bicubic2d_aa"})
      T[Kind] = resized;
    return T;
  }();
  llvm::StringRef Name = operatorOf(N.node());
  auto It = Table.find(Name);
  if (It == Table.end())
    It = Table.find(Name.rtrim('_'));
  std::optional<Many> All = It == Table.end() ? std::nullopt : It->second(N);
  if ((!All || N.bad()) && !N.bad())
    N.fail(Code::ImportShape, "its arguments do not fit together");
  return N.bad() ? std::nullopt : All;
}

} // namespace kpc::torch

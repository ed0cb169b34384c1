//===- Shape.cpp - Import of operators that change sizes alone ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Random.h"

using namespace kpc::graph;

namespace kpc::onnx {

static Expr product(ArrayRef<Expr> Sizes) {
  Expr P(1);
  for (const Expr &E : Sizes)
    P = P * E;
  return P;
}

/// Shape and Size of something whose rank is known always have contents; this
/// is what is left when their folding reported a fault.
static void importShape(NodeImport &N) { N.input(0); }

static void importIdentity(NodeImport &N) {
  if (const Entry *E = N.entry(0); E && (E->Items || E->Stack || E->Absent))
    return N.result(0, Entry(*E));
  Value X = N.input(0);
  if (!N.bad())
    N.result(0, X);
}

/// Reshape's target: 0 keeps x's size, one -1 takes what is left.
static std::optional<Dims> reshapeTarget(NodeImport &N, ArrayRef<Expr> From,
                                         std::vector<Expr> To,
                                         bool ZeroIsZero) {
  std::optional<size_t> Open;
  Dims Result;
  for (size_t I = 0; I < To.size(); ++I) {
    std::optional<int64_t> Size = To[I].asConstant();
    if (Size == 0 && !ZeroIsZero) {
      if (I >= From.size()) {
        N.fail(Code::ImportShape, "the shape keeps dimension " +
                                      std::to_string(I) + " of " +
                                      dimsText(From));
        return std::nullopt;
      }
      Result.push_back(From[I]);
    } else if (Size && *Size < 0) {
      if (*Size != -1 || Open) {
        N.fail(Code::ImportShape, *Size != -1
                                      ? "the shape has the size " + To[I].str()
                                      : "the shape has two sizes of -1");
        return std::nullopt;
      }
      Open = I;
      Result.push_back(Expr(1));
    } else {
      Result.push_back(To[I]);
    }
  }
  const shape::Facts &Facts = N.importer().facts();
  Expr All = product(From), Rest = product(Result);
  auto Current = [&] {
    for (Expr &Size : Result)
      Size = N.current(Size);
    All = N.current(All);
    Rest = N.current(Rest);
  };
  auto Misfit = [&]() -> std::optional<Dims> {
    N.fail(Code::ImportShape, dimsText(From) + " cannot be reshaped to " +
                                  dimsText(Dims(To.begin(), To.end())) + ": " +
                                  All.str() + " elements do not fit " +
                                  Rest.str());
    return std::nullopt;
  };
  if (Open) {
    if (Rest == Expr(0))
      return Misfit();
    // Where the quotient is exact as it is, it is the same with more facts.
    Expr Left = All.floorDiv(Rest);
    if (Left * Rest != All)
      Left = Facts.simplify(Left);
    if (Left * Rest != All && N.unify(Left * Rest, All)) {
      Current();
      Left = All.floorDiv(Rest);
    }
    if (Left * Rest != All)
      return Misfit();
    Result[*Open] = Left;
    return Result;
  }
  if (Rest == All)
    return Result;
  // What is left over must be 1.
  Expr More = Rest == Expr(0) ? Expr(0) : All.floorDiv(Rest),
       Less = All == Expr(0) ? Expr(0) : Rest.floorDiv(All);
  if ((More * Rest == All && N.fix(More, 1)) ||
      (Less * All == Rest && N.fix(Less, 1)) || N.unify(Rest, All))
    Current();
  if (Rest != All)
    return Misfit();
  return Result;
}

/// A target that elements of inputs decide: that it has as many elements as x
/// is for the run to check, so that x is read by its elements' numbers.
static void reshapeByInput(NodeImport &N, Value X, const std::vector<Expr> &To,
                           bool ZeroIsZero) {
  const shape::Facts &Facts = N.importer().facts();
  ArrayRef<Expr> From = N.dims(X);
  Dims Sizes;
  std::optional<size_t> Open;
  for (size_t I = 0; I < To.size(); ++I) {
    std::optional<int64_t> Number = To[I].asConstant();
    Expr Kept = I < From.size() && !ZeroIsZero ? From[I] : Expr(0);
    if (Number == -1 && !Open) {
      Open = I;
      Sizes.push_back(1);
    } else if (Number && *Number < 0) {
      N.fail(Code::ImportShape, "the shape has the size " + To[I].str());
      return;
    } else {
      // 0 keeps x's size.
      Sizes.push_back(
          Facts.simplify(To[I] + Kept * Expr::max(Expr(1) - To[I], 0)));
    }
  }
  Expr All = product(From), Rest = product(Sizes);
  if (Open) {
    Sizes[*Open] = All.floorDiv(Facts.simplify(Expr::max(Rest, 1)));
    Rest = product(Sizes);
  }
  if (!N.importer().require(Rest, true, All, "reshapes to as many elements",
                            N)) {
    N.fail(Code::ImportShape,
           dimsText(From) + " cannot be reshaped to " + dimsText(Sizes));
    return;
  }
  Value Flat = N.reshape(X, {All});
  N.result(0, N.reshape(N.gather(Flat, N.iota({Rest}, 0, N.i64()), 0), Sizes));
}

static void importReshape(NodeImport &N) {
  bool ZeroIsZero = N.flagAttribute("allowzero");
  Value X = N.input(0);
  if (N.bad())
    return;
  if (!N.contents(1))
    if (std::optional<Dims> Declared = N.declaredSizes(0);
        Declared && product(*Declared) == product(N.dims(X)))
      return N.result(0, N.reshape(X, *Declared));
  std::optional<std::vector<Expr>> To = N.knownSizes(1, "shape");
  if (!To)
    return;
  if (llvm::any_of(
          *To, [&](const Expr &E) { return N.importer().namesInputValue(E); }))
    return reshapeByInput(N, X, *To, ZeroIsZero);
  if (std::optional<Dims> Sizes =
          reshapeTarget(N, Dims(N.dims(X)), *To, ZeroIsZero))
    N.result(0, N.reshape(X, *Sizes));
}

static void importFlatten(NodeImport &N) {
  int64_t Axis = N.intAttribute("axis", 1);
  Value X = N.input(0);
  if (N.bad())
    return;
  int64_t Rank = N.rank(X);
  if (Axis != Rank)
    Axis = N.frontAxis(Axis, Rank);
  if (N.bad())
    return;
  ArrayRef<Expr> Sizes = N.dims(X);
  auto At = static_cast<size_t>(Axis);
  N.result(0, N.reshape(X, {product(Sizes.take_front(At)),
                            product(Sizes.drop_front(At))}));
}

/// Reshape to what the model declares, where axes are known only at run time.
static bool reshapeAsDeclared(NodeImport &N, Value X) {
  if (!N.hasInput(1) || N.contents(1))
    return false;
  std::optional<Dims> Declared = N.declaredSizes(0);
  if (!Declared || product(*Declared) != product(N.dims(X)))
    return false;
  N.result(0, N.reshape(X, *Declared));
  return true;
}

static void importUnsqueeze(NodeImport &N) {
  Value X = N.input(0);
  if (N.bad() || reshapeAsDeclared(N, X))
    return;
  std::optional<std::vector<int64_t>> Axes = N.knownInts(1, "axes");
  if (!Axes)
    return;
  Ints Front =
      N.frontAxes(*Axes, N.rank(X) + static_cast<int64_t>(Axes->size()));
  if (!N.bad())
    N.result(0, N.unsqueeze(X, Front));
}

static void importSqueeze(NodeImport &N) {
  Value X = N.input(0);
  if (N.bad() || reshapeAsDeclared(N, X))
    return;
  Ints Axes;
  if (N.hasInput(1)) {
    std::optional<std::vector<int64_t>> Given = N.knownInts(1, "axes");
    if (!Given)
      return;
    Axes = N.frontAxes(*Given, N.rank(X));
  }
  if (N.bad())
    return;
  Dims Sizes;
  for (int64_t I = 0; I < N.rank(X); ++I) {
    Expr Size = N.dims(X)[static_cast<size_t>(I)];
    bool Gone = N.hasInput(1) ? llvm::is_contained(Axes, I) : Size == Expr(1);
    if (!Gone) {
      if (!N.hasInput(1))
        N.importer().takeSeveral(Size, N);
      Sizes.push_back(Size);
    } else if (!N.fix(Size, 1) && !N.importer().assumeOne(Size, N)) {
      N.fail(Code::ImportShape,
             "dimension " + std::to_string(I) + " of " + dimsText(N.dims(X)) +
                 (Size.isConstant() ? " is not 1" : " is not known to be 1"));
      return;
    } else if (!N.current(Size).isConstant()) {
      // 1 for every size that the model takes, as min(n, 1) is.
      X = N.sliceAxis(X, I, 0, 1);
    }
  }
  for (Expr &Size : Sizes)
    Size = N.current(Size);
  N.result(0, N.reshape(X, Sizes));
}

/// A size that is 0 or 1, as that of a slice of one element is, must be 1 where
/// it is to be more. X as it is then.
static Value withOnes(NodeImport &N, Value X, ArrayRef<Expr> Target) {
  Dims Sizes(N.dims(X));
  for (size_t I = 0; I < Sizes.size(); ++I) {
    size_t FromEnd = Sizes.size() - I;
    Expr Size = N.current(Sizes[I]);
    if (FromEnd > Target.size() || Size.isConstant() ||
        N.importer().facts().range(Size).Max > 1)
      continue;
    Expr To = N.current(Target[Target.size() - FromEnd]);
    if (To == Expr(1) || N.importer().facts().isEqual(Size, To).value_or(false))
      continue;
    if (N.importer().require(Size, true, Expr(1),
                             "makes " + To.str() + " elements of one", N))
      X = N.sliceAxis(X, I, 0, 1);
  }
  return X;
}

static void importExpand(NodeImport &N) {
  Value X = N.input(0);
  if (N.bad())
    return;
  std::optional<Dims> Target;
  if (!N.contents(1))
    Target = N.declaredSizes(0);
  if (!Target) {
    std::optional<std::vector<Expr>> To = N.knownSizes(1, "shape");
    if (!To)
      return;
    Target.emplace(To->begin(), To->end());
  }
  X = withOnes(N, X, *Target);
  if (!X)
    return;
  if (std::optional<Dims> Sizes = N.broadcastSizes(N.dims(X), *Target))
    N.result(0, N.broadcast(X, *Sizes));
}

/// How often each dimension is repeated, from the declared sizes.
static std::optional<std::vector<Expr>> declaredRepeats(NodeImport &N,
                                                        Value X) {
  std::optional<Dims> Declared = N.declaredSizes(0);
  if (N.contents(1) || !Declared || Declared->size() != N.dims(X).size())
    return std::nullopt;
  std::vector<Expr> Repeats;
  for (auto [From, To] : llvm::zip_equal(N.dims(X), *Declared)) {
    if (From == Expr(0))
      return std::nullopt;
    Expr Times = From == Expr(1) ? To : To.floorDiv(From);
    if (Times * From != To)
      return std::nullopt;
    Repeats.push_back(Times);
  }
  return Repeats;
}

static void importTile(NodeImport &N) {
  Value X = N.input(0);
  if (N.bad())
    return;
  std::optional<std::vector<Expr>> Repeats = declaredRepeats(N, X);
  if (!Repeats)
    Repeats = N.knownSizes(1, "repeats");
  if (!Repeats)
    return;
  // Opset 1 repeated one axis: tiles and axis are two inputs.
  if (N.opset() < 6) {
    std::optional<std::vector<int64_t>> Axis = N.knownInts(2, "axis");
    if (!Axis || Axis->size() != 1 || Repeats->size() != 1) {
      N.fail(Code::ImportShape, "tiles and axis should be one number each");
      return;
    }
    std::vector<Expr> All(N.dims(X).size(), Expr(1));
    int64_t At = N.frontAxis(Axis->front(), N.rank(X));
    if (N.bad())
      return;
    All[static_cast<size_t>(At)] = Repeats->front();
    Repeats = All;
  }
  if (Repeats->size() != N.dims(X).size()) {
    N.fail(Code::ImportShape, std::to_string(Repeats->size()) +
                                  " repeats for an input of rank " +
                                  std::to_string(N.rank(X)));
    return;
  }
  // [a, b] repeated [p, q] times: [1, a, 1, b] to [p, a, q, b] to [p*a, q*b].
  Dims Spread, Wide, Joined;
  for (auto [Size, Times] : llvm::zip_equal(N.dims(X), *Repeats)) {
    Spread.append({Expr(1), Size});
    Wide.append({Times, Size});
    Joined.push_back(Times * Size);
  }
  N.result(0, N.reshape(N.broadcast(N.reshape(X, Spread), Wide), Joined));
}

static void importTranspose(NodeImport &N) {
  std::optional<Ints> Perm = N.intsAttribute("perm");
  Value X = N.input(0);
  if (N.bad())
    return;
  if (!Perm) {
    Perm.emplace();
    for (int64_t I = N.rank(X); I-- > 0;)
      Perm->push_back(I);
  }
  Ints Sorted(*Perm);
  llvm::sort(Sorted);
  if (!llvm::equal(Sorted, llvm::seq<int64_t>(0, N.rank(X)))) {
    N.fail(Code::ImportAttributeValue,
           "attribute 'perm' is not a permutation of the " +
               std::to_string(N.rank(X)) + " dimensions of its input");
    return;
  }
  N.result(0, N.transpose(X, *Perm));
}

/// [N, C, H, W] <-> blocks, by one reshape, one transpose, one reshape.
static void importDepthToSpace(NodeImport &N) {
  int64_t Block = N.requiredInt("blocksize");
  std::string Mode = N.stringAttribute("mode", "DCR");
  Value X = N.input(0);
  if (N.bad())
    return;
  if (N.rank(X) != 4 || Block < 1 || (Mode != "DCR" && Mode != "CRD")) {
    N.fail(Code::ImportRank,
           "needs an input of rank 4, a positive blocksize and the mode DCR "
           "or CRD");
    return;
  }
  Dims S(N.dims(X));
  Expr Channels = S[1].floorDiv(Expr(Block) * Block);
  if (Channels * Block * Block != S[1]) {
    N.fail(Code::ImportShape, S[1].str() +
                                  " channels are no multiple of the square of "
                                  "blocksize " +
                                  std::to_string(Block));
    return;
  }
  bool DepthFirst = Mode == "DCR";
  Value Y = DepthFirst
                ? N.transpose(
                      N.reshape(X, {S[0], Block, Block, Channels, S[2], S[3]}),
                      {0, 3, 4, 1, 5, 2})
                : N.transpose(
                      N.reshape(X, {S[0], Channels, Block, Block, S[2], S[3]}),
                      {0, 1, 4, 2, 5, 3});
  N.result(0, N.reshape(Y, {S[0], Channels, S[2] * Block, S[3] * Block}));
}

static void importSpaceToDepth(NodeImport &N) {
  int64_t Block = N.requiredInt("blocksize");
  std::string Mode = N.stringAttribute("mode", "DCR");
  if (Mode != "DCR" && Mode != "CRD")
    N.fail(Code::ImportAttributeValue,
           "attribute 'mode' is '" + printable(Mode) + "'");
  Value X = N.input(0);
  if (N.bad())
    return;
  if (N.rank(X) != 4 || Block < 1) {
    N.fail(Code::ImportRank,
           "needs an input of rank 4 and a positive blocksize");
    return;
  }
  for (size_t Axis : {2, 3}) {
    Expr Size = N.dims(X)[Axis], Whole = Size.floorDiv(Block) * Block;
    // Names in the size become what is divided; runs check it.
    if (Whole == Size || (!Size.isConstant() && N.unify(Size, Whole)))
      continue;
    N.fail(Code::ImportShape, dimsText(N.dims(X)) +
                                  " does not divide into blocks of " +
                                  std::to_string(Block));
    return;
  }
  Dims S(N.dims(X));
  Expr Rows = S[2].floorDiv(Block), Columns = S[3].floorDiv(Block);
  Value Y = N.reshape(X, {S[0], S[1], Rows, Block, Columns, Block});
  Y = Mode == "CRD" ? N.transpose(Y, {0, 1, 3, 5, 2, 4})
                    : N.transpose(Y, {0, 3, 5, 1, 2, 4});
  N.result(0, N.reshape(Y, {S[0], S[1] * Block * Block, Rows, Columns}));
}

static void importDropout(NodeImport &N) {
  N.expectInputs(1, 3);
  uint32_t Seed = seedOf(N);
  Value X = N.input(0);
  Value Ratio = N.optionalInput(1), Training = N.optionalInput(2);
  if (N.bad())
    return;
  Type MaskType = N.opset() < 10 ? N.element(X) : N.i1();
  const Contents *Mode = N.contents(2), *Rate = N.contents(1);
  std::optional<std::vector<int64_t>> Known =
      Mode ? Mode->integers() : std::nullopt;
  std::optional<std::vector<double>> Rates =
      Rate ? Rate->reals() : std::nullopt;
  bool Idle =
      !Training ||
      (Known && llvm::all_of(*Known, [](int64_t V) { return V == 0; })) ||
      (Rates && llvm::all_of(*Rates, [](double V) { return V == 0; }));
  if (Idle) {
    N.result(0, X);
    if (N.wants(1))
      N.result(1, N.broadcast(N.scalarInt(1, MaskType), N.dims(X)));
    return;
  }
  // Kept elements are scaled so that the expected sum stays.
  Value Dropped =
      Ratio ? N.reshape(N.cast(Ratio, N.f32()), {}) : N.scalar(0.5, N.f32());
  Value Trains = N.reshape(N.cast(Training, N.i1()), {});
  Dropped = N.select(Trains, Dropped, N.scalar(0, N.f32()));
  Value Drawn = uniformNumbers(N, N.dims(X), N.f32(), Seed);
  Value Kept = N.compare(Predicate::ge, Drawn, Dropped);
  Value Factor =
      N.div(N.scalar(1, N.f32()), N.sub(N.scalar(1, N.f32()), Dropped));
  Value Scaled = N.mul(X, N.cast(Factor, N.element(X)));
  N.result(0, N.select(Kept, Scaled, N.like(0, X)));
  if (N.wants(1))
    N.result(1, N.cast(Kept, MaskType));
}

ArrayRef<Rule> shapeRules() {
  static const Rule Rows[] = {
      {"", "Shape", 1, Newest, importShape},
      {"", "Size", 1, Newest, importShape},
      {"", "Identity", 1, Newest, importIdentity,
       "dense tensors and sequences of them only"},
      {"", "Reshape", 1, Newest, importReshape,
       "in loops and branches the shape must follow from constants, sizes and "
       "elements of small inputs"},
      {"", "Flatten", 1, Newest, importFlatten},
      {"", "Unsqueeze", 1, Newest, importUnsqueeze,
       "the axes must be known when compiling"},
      {"", "Squeeze", 1, Newest, importSqueeze,
       "the axes must be known when compiling"},
      {"", "Expand", 8, Newest, importExpand,
       "in loops and branches the shape must follow from constants, sizes and "
       "elements of small inputs"},
      {"", "Tile", 1, Newest, importTile,
       "in loops and branches the repeats must follow from constants, sizes "
       "and elements of small inputs"},
      {"", "Transpose", 1, Newest, importTranspose},
      {"", "DepthToSpace", 1, Newest, importDepthToSpace},
      {"", "SpaceToDepth", 1, Newest, importSpaceToDepth},
      {"", "Dropout", 1, Newest, importDropout,
       "each run draws the same numbers"},
  };
  return Rows;
}

} // namespace kpc::onnx

//===- MicrosoftBranches.cpp - Gates, streams and rows of tokens ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of com.microsoft: what its builders of language models fuse around norms,
// gates and several streams of the residual; and a few operators of images and
// of searches.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/rules/Attention.h"
#include "compiler/import/onnx/rules/TokenRows.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

static constexpr std::string_view Microsoft = "com.microsoft";

//===----------------------------------------------------------------------===//
// Norms and gates
//===----------------------------------------------------------------------===//

/// x over the root of the mean of its last axis' squares; x is f32.
static Value overRoot(NodeImport &N, Value X, double Epsilon) {
  if (!X)
    return {};
  if (N.rank(X) < 1)
    return N.fail(Code::ImportRank, "input 0 is a scalar");
  Value Square = N.mean(N.mul(X, X), {N.rank(X) - 1}, /*KeepDims=*/true);
  return N.mul(X, N.unary<RsqrtOp>(N.addScalar(Square, Epsilon)));
}

/// [.., C*H] as [.., C, H] where `Branches` says how many there are.
static Value splitBranches(NodeImport &N, Value X, int64_t Branches) {
  if (!X || Branches <= 0)
    return X;
  Dims Sizes(N.dims(X));
  if (Sizes.empty())
    return N.fail(Code::ImportRank, "input 0 is a scalar");
  Expr Each = Sizes.back().floorDiv(Branches);
  if (Each * Branches != Sizes.back())
    return N.fail(Code::ImportShape, "a last size of " + Sizes.back().str() +
                                         " does not split into " +
                                         std::to_string(Branches) +
                                         " branches");
  Sizes.back() = Expr(Branches);
  Sizes.push_back(Each);
  return N.reshape(X, Sizes);
}

static void importGatedAdd(NodeImport &N) {
  N.expectInputs(3, 3);
  Value X = N.input(0), Y = N.input(1), Gate = N.input(2);
  if (!N.bad())
    N.result(0, N.add(X, N.mul(Y, Gate)));
}

static void importGatedRmsNorm(NodeImport &N) {
  double Epsilon = N.floatAttribute("epsilon", 1e-5F);
  std::string Activation = N.stringAttribute("activation", "silu");
  N.expectInputs(3, 3);
  Value X = N.input(0), Scale = N.input(1), Gate = N.input(2);
  if (N.bad())
    return;
  bool Plain = Activation == "sigmoid";
  std::optional<int64_t> Size =
      N.rank(Scale) == 1 ? N.dims(Scale)[0].asConstant() : std::nullopt;
  if ((!Plain && Activation != "silu" && Activation != "swish") || !Size ||
      *Size < 1 || N.rank(X) < 1) {
    N.fail(Code::ImportAttributeValue,
           "the activation should be silu, swish or sigmoid, not '" +
               printable(Activation) + "', and the scale a known vector");
    return;
  }
  Dims Sizes(N.dims(X)), Rows(Sizes);
  Rows.back() = Sizes.back().floorDiv(*Size);
  Rows.push_back(Expr(*Size));
  Value Y = overRoot(N, N.reshape(N.cast(X, N.f32()), Rows), Epsilon);
  Y = N.reshape(N.mul(Y, N.cast(Scale, N.f32())), Sizes);
  Value Wide = N.cast(Gate, N.f32());
  Value Open = N.unary<SigmoidOp>(Wide);
  Y = N.mul(Y, Plain ? Open : N.mul(Wide, Open));
  N.result(0, N.cast(Y, N.element(X)));
}

static void importBranchwiseRmsNorm(NodeImport &N) {
  double Epsilon = N.floatAttribute("epsilon", 1e-5F);
  int64_t Branches = N.intAttribute("num_branches", 0);
  N.expectInputs(1, 2);
  Value X = N.input(0), Scale = N.optionalInput(1);
  if (N.bad())
    return;
  Dims Given(N.dims(X));
  Value Y =
      overRoot(N, splitBranches(N, N.cast(X, N.f32()), Branches), Epsilon);
  if (!Y || N.rank(Y) < 1)
    return;
  if (Scale) {
    Dims Sizes(N.dims(Y));
    Scale = N.cast(Scale, N.f32());
    // One for all branches, or for each its own.
    if (N.rank(Scale) == 1 && N.dims(Scale)[0] != Sizes.back() &&
        Sizes.size() > 1)
      Scale = N.reshape(Scale, {Sizes[Sizes.size() - 2], Sizes.back()});
    Y = N.mul(Y, Scale);
  }
  N.result(0, N.reshape(N.cast(Y, N.element(X)), Given));
}

/// Gates [.., C], [.., C, 1], [.., C, H] or [.., C*H] for `Sizes`, which are
/// [.., C, H].
static Value besideBranches(NodeImport &N, Value Gate, ArrayRef<Expr> Sizes) {
  Gate = N.cast(Gate, N.f32());
  if (!Gate || N.rank(Gate) == static_cast<int64_t>(Sizes.size()))
    return Gate;
  if (N.dims(Gate).back() == Sizes[Sizes.size() - 2])
    return N.unsqueeze(Gate, {N.rank(Gate)});
  return N.reshape(Gate, Sizes);
}

static void importPreMix(NodeImport &N) {
  double Scale = N.floatAttribute("reduction_scale", 1);
  int64_t Branches = N.intAttribute("num_branches", 0);
  N.expectInputs(2, 2);
  Value X = N.input(0), Mix = N.input(1);
  if (N.bad())
    return;
  Type Stored = N.element(X);
  X = splitBranches(N, N.cast(X, N.f32()), Branches);
  if (!X || N.rank(X) < 2 || N.rank(Mix) < 1) {
    N.fail(Code::ImportRank, "streams should have rank 2 or more");
    return;
  }
  Mix = besideBranches(N, Mix, N.dims(X));
  Value Sum = N.reduce(ReduceKind::sum, N.mul(X, Mix), {N.rank(X) - 2});
  N.result(0, N.cast(Scale == 1 ? Sum : N.mulScalar(Sum, Scale), Stored));
}

static void importPostMix(NodeImport &N) {
  int64_t Branches = N.intAttribute("num_branches", 0);
  N.expectInputs(3, 4);
  Value X = N.input(0), Block = N.input(1), Post = N.input(2),
        Mix = N.optionalInput(3);
  if (N.bad())
    return;
  Dims Given(N.dims(X));
  Type Stored = N.element(X);
  Value Streams = splitBranches(N, N.cast(X, N.f32()), Branches);
  if (!Streams || N.rank(Streams) < 2 || N.rank(Post) < 1) {
    N.fail(Code::ImportRank, "streams should have rank 2 or more");
    return;
  }
  int64_t Rank = N.rank(Streams);
  Post = besideBranches(N, Post, N.dims(Streams));
  if (Mix) {
    Mix = N.cast(Mix, N.f32());
    Ints Perm = llvm::to_vector(llvm::seq<int64_t>(0, N.rank(Mix)));
    if (Perm.size() < 2) {
      N.fail(Code::ImportRank, "stream_mix should have rank 2 or more");
      return;
    }
    std::swap(Perm[Perm.size() - 2], Perm.back());
    Streams = N.matmul(N.transpose(Mix, Perm), Streams);
  }
  Value Branch = N.unsqueeze(N.cast(Block, N.f32()), {Rank - 2});
  Value Y = N.add(Streams, N.mul(Post, Branch));
  N.result(0, N.reshape(N.cast(Y, Stored), Given));
}

static void importAttentionGate(NodeImport &N) {
  N.expectInputs(3, 4);
  Value A = N.input(0), Bias = N.input(1), Scale = N.input(2),
        Rate = N.optionalInput(3);
  if (N.bad())
    return;
  Value X = N.add(N.cast(A, N.f32()), N.cast(Bias, N.f32()));
  // log(1 + exp(x)) without an overflow.
  Value Small = N.unary<Log1pOp>(N.exp(N.neg(N.unary<AbsOp>(X))));
  Value Soft = N.add(N.max(X, N.like(0, X)), Small);
  N.result(0, N.cast(N.mul(Soft, N.cast(Scale, N.f32())), N.element(A)));
  if (!N.wants(1))
    return;
  if (!Rate) {
    N.fail(Code::ImportArity, "the output 'beta' asks for the input 'b'");
    return;
  }
  N.result(1,
           N.cast(N.unary<SigmoidOp>(N.cast(Rate, N.f32())), N.element(Rate)));
}

static void importEngramGate(NodeImport &N) {
  double Epsilon = N.floatAttribute("epsilon", 1e-5F);
  N.expectInputs(5, 6);
  Value Key = N.input(0), Query = N.input(1), Given = N.input(2),
        KeyScale = N.input(3), QueryScale = N.input(4),
        LastScale = N.optionalInput(5);
  if (N.bad())
    return;
  std::optional<int64_t> Size =
      N.rank(Key) == 4 ? N.dims(Key)[3].asConstant() : std::nullopt;
  if (!Size || *Size < 1 || N.rank(Given) != 3) {
    N.fail(Code::ImportRank, "keys should have rank 4 and a known last size, "
                             "and values rank 3");
    return;
  }
  auto Scaled = [&](Value X, Value Scale) {
    return N.mul(overRoot(N, N.cast(X, N.f32()), Epsilon),
                 N.cast(Scale, N.f32()));
  };
  Value Dot = N.reduce(ReduceKind::sum,
                       N.mul(Scaled(Key, KeyScale), Scaled(Query, QueryScale)),
                       {3}, /*KeepDims=*/true);
  Dot = N.mulScalar(Dot, 1 / std::sqrt(static_cast<double>(*Size)));
  Value Size2 = N.max(N.unary<AbsOp>(Dot), N.like(1e-6, Dot));
  Value Gate = N.unary<SigmoidOp>(N.mul(N.unary<SignOp>(Dot), N.sqrt(Size2)));
  Value Y = N.mul(Gate, N.unsqueeze(N.cast(Given, N.f32()), {2}));
  Type Stored = N.element(Key);
  N.result(0, N.cast(Y, Stored));
  if (!N.wants(1))
    return;
  if (!LastScale) {
    N.fail(Code::ImportArity, "the output 'gated_value_normed' asks for the "
                              "input 'conv_norm_scale'");
    return;
  }
  N.result(1, N.cast(Scaled(Y, LastScale), Stored));
}

//===----------------------------------------------------------------------===//
// Angles of positions
//===----------------------------------------------------------------------===//

/// Angles [B, S, half] of three positions, each of which some columns take.
static Value angleSections(NodeImport &N, Value Table, Value Positions,
                           ArrayRef<int64_t> Section, bool Alternate) {
  std::optional<int64_t> Half = N.dims(Table)[1].asConstant();
  if (!Half)
    return {};
  SmallVector<int64_t> Which;
  for (int64_t I = 0; I < *Half; ++I) {
    int64_t Of = I < Section[0] ? 0 : I < Section[0] + Section[1] ? 1 : 2;
    if (Alternate)
      Of =
          I % 3 != 0 && I < Section[static_cast<size_t>(I % 3)] * 3 ? I % 3 : 0;
    Which.push_back(Of);
  }
  Value Column = N.intVector(Which, N.i64());
  Value All = N.gather(Table, Positions, 0);
  auto Of = [&](int64_t I) {
    Value Y = N.sliceAxis(All, 0, I, 1);
    return Y ? N.reshape(Y, N.dims(Y).drop_front()) : Y;
  };
  Value Second = N.compare(Predicate::eq, Column, N.scalarInt(1, N.i64()));
  Value Third = N.compare(Predicate::eq, Column, N.scalarInt(2, N.i64()));
  return N.select(Third, Of(2), N.select(Second, Of(1), Of(0)));
}

static void importSectionedRotary(NodeImport &N) {
  auto Section = N.intsAttribute("mrope_section");
  int64_t Heads = N.intAttribute("num_heads", 0);
  int64_t Rotated = N.intAttribute("rotary_embedding_dim", 0);
  bool Interleaved = N.flagAttribute("interleaved");
  int64_t Layout = N.intAttribute("mrope_layout", 0);
  N.floatAttribute("scale", 1);
  N.ignoreAttribute("is_packed_batching");
  N.expectInputs(4, 4);
  Value X = N.input(0), Positions = N.input(1), Cos = N.input(2),
        Sin = N.input(3);
  if (N.bad())
    return;
  bool Flat = N.rank(X) == 3;
  std::optional<int64_t> Half = N.rank(Cos) == 2 && N.rank(Sin) == 2
                                    ? N.dims(Cos)[1].asConstant()
                                    : std::nullopt;
  if (!Section || Section->size() != 3 || Layout < 0 || Layout > 1 || !Half ||
      *Half < 1 || (!Flat && N.rank(X) != 4) || N.rank(Positions) != 3 ||
      !N.unify(N.dims(Positions)[0], Expr(3))) {
    N.fail(Code::ImportAttributeValue,
           "mrope_section should be three numbers, mrope_layout 0 or 1, the "
           "input of rank 3 or 4, positions [3, B, S], and the number of "
           "angles known");
    return;
  }
  if (Rotated == 0)
    Rotated = 2 * *Half;
  if (Flat) {
    std::optional<int64_t> Width = N.dims(X)[2].asConstant();
    X = splitHeads(N, X, Heads > 0 ? Heads : Width.value_or(0) / (2 * *Half));
  }
  std::optional<int64_t> Size = X ? N.dims(X)[3].asConstant() : std::nullopt;
  if (!Size || Rotated != 2 * *Half || Rotated > *Size) {
    N.fail(Code::ImportShape, "the tables have " + std::to_string(*Half) +
                                  " angles, which do not fit the heads");
    return;
  }
  Positions = N.cast(Positions, N.i64());
  Value Y =
      rotateHeads(N, X, angleSections(N, Cos, Positions, *Section, Layout == 1),
                  angleSections(N, Sin, Positions, *Section, Layout == 1),
                  Flat ? 2 : 1, Rotated, Interleaved);
  if (Flat && Y)
    Y = N.reshape(Y, {N.dims(Y)[0], N.dims(Y)[1], N.dims(Y)[2] * N.dims(Y)[3]});
  N.result(0, Y);
}

static void importGemmaRotary(NodeImport &N) {
  N.expectInputs(5, 5);
  Value Angles = N.input(0);
  if (N.bad())
    return;
  if (N.rank(Angles) != 3) {
    N.fail(Code::ImportRank, "the angles should have rank 3");
    return;
  }
  for (size_t I : {0, 1}) {
    Value X = N.input(1 + 2 * I), Turned = N.input(2 + 2 * I);
    if (N.bad())
      return;
    Value Cos = N.cast(N.unary<CosOp>(Angles), N.element(X));
    Value Sin = N.cast(N.unary<SinOp>(Angles), N.element(X));
    N.result(I, N.add(N.mul(X, N.unsqueeze(Cos, {1})),
                      N.mul(Turned, N.unsqueeze(Sin, {1}))));
  }
}

//===----------------------------------------------------------------------===//
// Images and searches
//===----------------------------------------------------------------------===//

/// All slices of `size` elements of one axis, as a last axis.
static void importUnfold(NodeImport &N) {
  int64_t Axis = N.intAttribute("dim", -1), Size = N.requiredInt("size"),
          Step = N.intAttribute("step", 1);
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad())
    return;
  Axis = N.frontAxis(Axis, N.rank(X));
  if (N.bad())
    return;
  if (Size < 1 || Step < 1) {
    N.fail(Code::ImportAttributeValue, "size and step should be positive");
    return;
  }
  Expr Whole = N.dims(X)[static_cast<size_t>(Axis)];
  if (!N.importer().require(Size, false, Whole, "takes slices of an axis", N)) {
    N.fail(Code::ImportShape, "a size of " + Whole.str() +
                                  " holds no slice of " + std::to_string(Size));
    return;
  }
  Dims Sizes = {(Whole - Size).floorDiv(Step) + 1, Expr(Size)};
  Value At = N.add(N.mul(N.iota(Sizes, 0, N.i64()), N.scalarInt(Step, N.i64())),
                   N.iota(Sizes, 1, N.i64()));
  Value Y = N.gather(X, At, Axis);
  if (!Y)
    return;
  Ints Perm;
  for (int64_t I = 0; I < N.rank(Y); ++I)
    if (I != Axis + 1)
      Perm.push_back(I);
  Perm.push_back(Axis + 1);
  N.result(0, N.transpose(Y, Perm));
}

namespace {
/// The places in an image that a crop's rows, or its columns, are taken from.
struct CropAxis {
  Value Low, High, Part, Inside; ///< [R, size]
};
} // namespace

/// `From` and `To` are [R, 1], in units of the image.
static CropAxis cropAxis(NodeImport &N, Value From, Value To, const Expr &Image,
                         int64_t Size, bool Nearest) {
  Value Last = N.cast(N.sizeScalar(Image - 1, N.i64()), N.f32());
  Value At;
  if (Size > 1) {
    Value Step = N.mulScalar(N.mul(N.sub(To, From), Last),
                             1 / static_cast<double>(Size - 1));
    At = N.add(N.mul(From, Last),
               N.mul(N.iota({Expr(1), Expr(Size)}, 1, N.f32()), Step));
  } else {
    At = N.mul(N.mulScalar(N.add(From, To), 0.5), Last);
  }
  CropAxis A;
  A.Inside = N.bitAnd(N.compare(Predicate::ge, At, N.like(0, At)),
                      N.compare(Predicate::le, At, Last));
  Value Kept = N.min(N.max(At, N.like(0, At)), Last);
  Value Low = Nearest ? N.unary<FloorOp>(N.addScalar(Kept, 0.5))
                      : N.unary<FloorOp>(Kept);
  A.Low = N.cast(Low, N.i64());
  A.High = N.cast(N.unary<CeilOp>(Kept), N.i64());
  A.Part = N.sub(Kept, Low);
  return A;
}

static void importCropAndResize(NodeImport &N) {
  std::string Mode = N.stringAttribute("mode", "bilinear");
  double Outside = N.floatAttribute("extrapolation_value", 0);
  N.expectInputs(4, 4);
  Value X = N.input(0), Boxes = N.input(1), Images = N.input(2);
  auto Size = N.knownInts(3, "crop_size");
  if (N.bad() || !Size)
    return;
  bool Nearest = Mode == "nearest";
  if ((!Nearest && Mode != "bilinear") || N.rank(X) != 4 ||
      N.rank(Boxes) != 2 || N.rank(Images) != 1 || Size->size() != 2 ||
      (*Size)[0] < 1 || (*Size)[1] < 1) {
    N.fail(Code::ImportAttributeValue,
           "the mode should be bilinear or nearest, the image of rank 4, "
           "boxes of rank 2, and crop_size two positive numbers");
    return;
  }
  Type Stored = N.element(X);
  Boxes = N.cast(Boxes, N.f32());
  Dims Sizes(N.dims(X));
  Expr Count = N.dims(Boxes)[0];
  auto Edge = [&](int64_t I) { return N.sliceAxis(Boxes, 1, I, 1); };
  CropAxis Row = cropAxis(N, Edge(0), Edge(2), Sizes[2], (*Size)[0], Nearest);
  CropAxis Column =
      cropAxis(N, Edge(1), Edge(3), Sizes[3], (*Size)[1], Nearest);
  // Pixels as rows of channels.
  Value Pixels = N.reshape(N.transpose(X, {0, 2, 3, 1}),
                           {Sizes[0] * Sizes[2] * Sizes[3], Sizes[1]});
  Value Image = N.reshape(N.cast(Images, N.i64()), {Count, Expr(1), Expr(1)});
  auto Taken = [&](Value R, Value C) {
    Value At = N.add(N.mul(Image, N.sizeScalar(Sizes[2], N.i64())),
                     N.unsqueeze(R, {2}));
    At = N.add(N.mul(At, N.sizeScalar(Sizes[3], N.i64())), N.unsqueeze(C, {1}));
    return N.cast(N.gather(Pixels, At, 0), N.f32());
  };
  auto Mixed = [&](Value A, Value C, Value Part) {
    return N.add(A, N.mul(N.sub(C, A), Part));
  };
  Value Y = Taken(Row.Low, Column.Low);
  if (!Nearest) {
    Value Right = N.unsqueeze(Column.Part, {1, 3});
    Value Down = N.unsqueeze(Row.Part, {2, 3});
    Y = Mixed(
        Mixed(Y, Taken(Row.Low, Column.High), Right),
        Mixed(Taken(Row.High, Column.Low), Taken(Row.High, Column.High), Right),
        Down);
  }
  Value Inside = N.bitAnd(N.unsqueeze(Row.Inside, {2, 3}),
                          N.unsqueeze(Column.Inside, {1, 3}));
  Y = N.select(Inside, Y, N.like(Outside, Y));
  N.result(0, N.cast(N.transpose(Y, {0, 3, 1, 2}), Stored));
}

/// Scores of tokens that would repeat a run of `ngram_size` become -inf.
static void importRepeatedRuns(NodeImport &N) {
  int64_t Size = N.requiredInt("ngram_size");
  N.expectInputs(2, 2);
  Value Ids = N.input(0), Scores = N.input(1);
  if (N.bad())
    return;
  if (Size < 1 || N.rank(Ids) != 2 || N.rank(Scores) != 2) {
    N.fail(Code::ImportAttributeValue,
           "ngram_size should be positive, ids and scores of rank 2");
    return;
  }
  Ids = N.cast(Ids, N.i64());
  Expr Batch = N.dims(Ids)[0], Length = N.dims(Ids)[1];
  // A run that starts at j ends in the token that is forbidden if its others
  // are the last ones. What starts too late is masked.
  Dims Sizes = {Batch, Length};
  Value Start = N.iota(Sizes, 1, N.i64());
  Value Last = N.sizeScalar(Length - 1, N.i64());
  auto TokenAt = [&](Value At) {
    At = N.max(N.min(At, Last), N.like(0, At));
    return N.gatherElements(Ids, N.broadcast(At, Sizes), 1);
  };
  Value Same = N.compare(Predicate::le,
                         N.add(Start, N.scalarInt(Size - 1, N.i64())), Last);
  for (int64_t I = 0; I + 1 < Size; ++I) {
    Value Own = TokenAt(N.add(Start, N.scalarInt(I, N.i64())));
    Value End = TokenAt(N.reshape(
        N.sizeScalar(Length - (Size - 1) + I, N.i64()), {Expr(1), Expr(1)}));
    Same = N.bitAnd(Same, N.compare(Predicate::eq, Own, End));
  }
  Value Token = TokenAt(N.add(Start, N.scalarInt(Size - 1, N.i64())));
  Value None = N.sizeScalar(N.dims(Scores)[1], N.i64());
  Token = N.select(Same, Token, None);
  if (!Token)
    return;
  Value At = N.concat(
      {N.unsqueeze(N.iota(Sizes, 0, N.i64()), {2}), N.unsqueeze(Token, {2})},
      2);
  N.result(0, scatterRows(N, Scores, At,
                          N.full(-INFINITY, Sizes, N.element(Scores))));
}

/// As the operator of ONNX that it became, which has fewer attributes.
template <const char *Op> static void importAsOnnx(NodeImport &N) {
  if (N.intAttribute("state_window", 0) != 0 ||
      N.flagAttribute("channels_last") || N.intAttribute("dilation", 1) != 1 ||
      N.intAttribute("ndim", 1) != 1) {
    N.unsupported("takes no state_window, no dilation, one dimension, and "
                  "channels in front");
    return;
  }
  findRule("", Op, Newest)->Import(N);
}
static constexpr char LinearAttention[] = "LinearAttention",
                      CausalConvolution[] = "CausalConvWithState";

ArrayRef<Rule> microsoftBranchRules() {
  static const Rule Rows[] = {
      {Microsoft, "GatedAdd", 1, 1, importGatedAdd},
      {Microsoft, "GatedRMSNorm", 1, 1, importGatedRmsNorm,
       "the length of the scale must be known when compiling"},
      {Microsoft, "BranchwiseRMSNorm", 1, 1, importBranchwiseRmsNorm},
      {Microsoft, "HyperConnectionPreMix", 1, 1, importPreMix},
      {Microsoft, "HyperConnectionPostMix", 1, 1, importPostMix},
      {Microsoft, "LinearAttentionGate", 1, 1, importAttentionGate},
      {Microsoft, "LinearAttention", 1, 1, importAsOnnx<LinearAttention>,
       "no state_window, no more heads of keys than of queries"},
      {Microsoft, "CausalConvWithState", 1, 1, importAsOnnx<CausalConvolution>,
       "one dimension, channels in front, no dilation and no state_window"},
      {Microsoft, "EngramGate", 1, 1, importEngramGate,
       "the last size must be known when compiling"},
      {Microsoft, "MRotaryEmbedding", 1, 1, importSectionedRotary,
       "the number of angles must be known when compiling"},
      {Microsoft, "GemmaRotaryEmbedding", 1, 1, importGemmaRotary},
      {Microsoft, "UnfoldTensor", 1, 1, importUnfold},
      {Microsoft, "CropAndResize", 1, 1, importCropAndResize,
       "crop_size must be known when compiling"},
      {Microsoft, "NGramRepeatBlock", 1, 1, importRepeatedRuns},
      {Microsoft, "PackedAttention", 1, 1, importPackedAttention,
       "the size of a head must be known when compiling"},
      {Microsoft, "PackedMultiHeadAttention", 1, 1, importPackedHeads,
       "the size of a head must be known when compiling"},
      {Microsoft, "RemovePadding", 1, 1, importRemovePadding},
      {Microsoft, "RestorePadding", 1, 1, importRestorePadding},
      {Microsoft, "GatedRelativePositionBias", 1, 1, importGatedPositionBias},
      {Microsoft, "PagedAttention", 1, 1, importPagedAttention,
       "caches as they are: no codes, no latent ones, no rotary_offset, no "
       "window without is_causal; the size of a head must be known when "
       "compiling"},
      {Microsoft, "SparseAttention", 1, 1, importSparseAttention,
       "the size of a head must be known when compiling"},
  };
  return Rows;
}

} // namespace kpc::onnx

//===- AttentionKernel.cpp - A kernel that is one attention ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/attention/AttentionKernel.h"
#include "passes/kernels/form/RootShape.h"
#include "passes/kernels/form/SizeFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

#include <limits>
#include <numbers>

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

namespace {

/// Of E4M3.
constexpr double GreatestFp8 = 448;

/// A tensor, which of its dimensions each of another's is, and from where on.
struct Permuted {
  Value Tensor;
  std::array<unsigned, 4> Dims = {0, 1, 2, 3};
  std::array<int64_t, 4> Start = {0, 0, 0, 0};
  Type Code = {};    ///< what bytes are read as; null: they are no codes
  double Factor = 1; ///< that elements are multiplied by on the way
  /// The argument whose one number is another factor.
  std::optional<unsigned> FactorArgument = {};
  /// What they become behind that, within its limits; null: nothing else.
  Type Narrowed = {};
  /// What each row, all dims but the last, is multiplied by.
  Value RowFactor = {};

  bool hasFactor() const { return Factor != 1 || FactorArgument || RowFactor; }
};

/// What a generic takes a part of with steps of 1, and from where on in each
/// dimension; null if it does more.
Value slicedBy(linalg::GenericOp Op, std::array<int64_t, 4> &Start) {
  if (Op.getNumDpsInputs() || Op->getNumResults() != 1 ||
      Op.getNumReductionLoops() || Op.getNumLoops() != 4)
    return {};
  auto Extract = Op.getBody()
                     ->getTerminator()
                     ->getOperand(0)
                     .getDefiningOp<tensor::ExtractOp>();
  if (!Extract || Extract.getIndices().size() != 4)
    return {};
  for (auto [D, Index] : llvm::enumerate(Extract.getIndices())) {
    Value Loop = Index;
    Start[D] = 0;
    if (auto Sum = Loop.getDefiningOp<arith::AddIOp>()) {
      std::optional<int64_t> Left = constantOf(Sum.getLhs()),
                             Right = constantOf(Sum.getRhs());
      if (!Left && !Right)
        return {};
      Loop = Right ? Sum.getLhs() : Sum.getRhs();
      Start[D] = Right ? *Right : *Left;
    }
    auto At = Loop.getDefiningOp<linalg::IndexOp>();
    if (!At || At.getDim() != D)
      return {};
  }
  return Extract.getTensor();
}

/// The tensor whose elements are all that `Tensor` repeats.
Value throughBroadcasts(Value Tensor) {
  while (auto Op = Tensor.getDefiningOp<linalg::GenericOp>()) {
    if (Op.getNumDpsInputs() != 1 || Op.getBody()->getTerminator()->getOperand(
                                         0) != Op.getBody()->getArgument(0))
      return Tensor;
    Tensor = Op.getDpsInputOperand(0)->get();
  }
  return Tensor;
}

/// The constant that a tensor is filled with, or that fills what it repeats.
std::optional<double> filledWith(Value Tensor) {
  auto Fill = throughBroadcasts(Tensor).getDefiningOp<linalg::FillOp>();
  FloatAttr Of;
  if (!Fill || !matchPattern(Fill.value(), m_Constant(&Of)))
    return std::nullopt;
  return Of.getValueAsDouble();
}

/// The argument whose one number a tensor repeats.
std::optional<unsigned> repeatedArgument(Value Tensor) {
  Value Memref = viewOf(throughBroadcasts(Tensor));
  auto View = Memref ? Memref.getDefiningOp<memref::ReinterpretCastOp>()
                     : memref::ReinterpretCastOp();
  if (!View || !View.getType().hasStaticShape() ||
      View.getType().getNumElements() != 1 ||
      !View.getType().getElementType().isF32() ||
      constantOf(View.getMixedOffsets()[0]) != 0)
    return std::nullopt;
  auto Base = dyn_cast<BlockArgument>(View.getSource());
  return Base ? std::optional(Base.getArgNumber()) : std::nullopt;
}

/// The tensor that `In`, an operand of a generic, has numbers of if each is
/// that of a whole row; null: they differ along rows.
Value rowsOf(linalg::GenericOp Op, BlockArgument In) {
  if (In.getArgNumber() >= Op.getNumDpsInputs())
    return {};
  OpOperand *Operand = Op.getMatchingOpOperand(In);
  auto Repeat = Operand->get().getDefiningOp<linalg::GenericOp>();
  if (!Repeat || Repeat.getNumDpsInputs() != 1 ||
      !Op.getMatchingIndexingMap(Operand).isIdentity() ||
      Repeat.getBody()->getTerminator()->getOperand(0) !=
          Repeat.getBody()->getArgument(0) ||
      !Repeat.getMatchingIndexingMap(Repeat.getDpsInitOperand(0)).isIdentity())
    return {};
  AffineMap Map = Repeat.getMatchingIndexingMap(Repeat.getDpsInputOperand(0));
  bool Differs = llvm::any_of(Map.getResults(), [&](AffineExpr E) {
    return E.isFunctionOfDim(Map.getNumDims() - 1);
  });
  return Differs ? Value() : Operand->get();
}

/// What a generic hands on in other types or times single numbers, which
/// `Through` then says; null if it does more.
OpOperand *copiedBy(linalg::GenericOp Op, Permuted &Through) {
  if (Op->getNumResults() != 1 || Op.getNumReductionLoops() ||
      Op.getNumLoops() != 4)
    return nullptr;
  auto Constant = [&](Value V) -> std::optional<double> {
    FloatAttr Of;
    if (matchPattern(V, m_Constant(&Of)))
      return Of.getValueAsDouble();
    auto In = dyn_cast<BlockArgument>(V);
    if (!In || In.getOwner() != Op.getBody())
      return std::nullopt;
    return filledWith(Op.getMatchingOpOperand(In)->get());
  };
  auto Argument = [&](Value V) -> std::optional<unsigned> {
    auto In = dyn_cast<BlockArgument>(V);
    return In && In.getOwner() == Op.getBody()
               ? repeatedArgument(Op.getMatchingOpOperand(In)->get())
               : std::nullopt;
  };
  auto Rows = [&](Value V) -> Value {
    auto In = dyn_cast<BlockArgument>(V);
    return In && In.getOwner() == Op.getBody() ? rowsOf(Op, In) : Value();
  };
  Value Yielded = Op.getBody()->getTerminator()->getOperand(0);
  Permuted Seen = Through;
  while (Operation *Def = Yielded.getDefiningOp()) {
    Value From = Def->getNumOperands() ? Def->getOperand(0) : Value();
    if (isa<arith::BitcastOp>(Def)) {
      Seen.Code = Def->getResult(0).getType();
    } else if (isa<arith::TruncFOp>(Def) &&
               isa<Float8E4M3FNType>(Def->getResult(0).getType())) {
      if (Seen.hasFactor())
        return nullptr;
      Seen.Narrowed = Def->getResult(0).getType();
    } else if (isa<arith::MinimumFOp, arith::MaximumFOp>(Def)) {
      // The limits of the codes themselves: these saturate.
      bool IsFirst = !Constant(From);
      std::optional<double> Limit =
          Constant(IsFirst ? Def->getOperand(1) : From);
      double Sign = isa<arith::MaximumFOp>(Def) ? -1 : 1;
      if (!Seen.Narrowed || Seen.hasFactor() || Limit != Sign * GreatestFp8)
        return nullptr;
      if (!IsFirst)
        From = Def->getOperand(1);
    } else if (isa<arith::MulFOp>(Def)) {
      Value Number = Def->getOperand(1);
      if (!Constant(Number) && !Argument(Number) && !Rows(Number))
        std::swap(From, Number);
      if (std::optional<double> By = Constant(Number))
        Seen.Factor *= *By;
      else if (std::optional<unsigned> At = Argument(Number);
               At && !Seen.FactorArgument)
        Seen.FactorArgument = At;
      else if (Value Each = Rows(Number); Each && !Seen.RowFactor)
        Seen.RowFactor = Each;
      else
        return nullptr;
    } else if (!isa<arith::ExtFOp, arith::TruncFOp>(Def)) {
      return nullptr;
    }
    Yielded = From;
  }
  auto In = dyn_cast<BlockArgument>(Yielded);
  if (!In || In.getOwner() != Op.getBody() ||
      In.getArgNumber() >= Op.getNumDpsInputs())
    return nullptr;
  Through = Seen;
  return Op.getMatchingOpOperand(In);
}

/// Follows copies in front of a tensor that change its type or its order.
Permuted throughCopies(Permuted At) {
  while (true) {
    if (auto Cast = At.Tensor.getDefiningOp<tensor::CastOp>()) {
      At.Tensor = Cast.getSource();
      continue;
    }
    auto Op = At.Tensor.getDefiningOp<linalg::GenericOp>();
    std::array<int64_t, 4> Start;
    if (Value Whole = Op ? slicedBy(Op, Start) : Value()) {
      for (auto [To, Dim] : llvm::zip_equal(At.Start, At.Dims))
        To += Start[Dim];
      At.Tensor = Whole;
      continue;
    }
    Permuted Before = At;
    OpOperand *Copied = Op ? copiedBy(Op, Before) : nullptr;
    if (!Copied)
      return At;
    AffineMap In = Op.getMatchingIndexingMap(Copied);
    AffineMap Out = Op.getMatchingIndexingMap(Op.getDpsInitOperand(0));
    if (!In.isPermutation() || !Out.isIdentity())
      return At;
    At = Before;
    for (unsigned &Dim : At.Dims)
      Dim = *In.getResultPosition(getAffineDimExpr(Dim, Op.getContext()));
    At.Tensor = Copied->get();
  }
}

/// Where `Memref` is, its dimension `Dims[I]` being dimension I of the heads.
std::optional<HeadsInMemory> place(Value Memref,
                                   const std::array<unsigned, 4> &Dims) {
  auto View = Memref ? Memref.getDefiningOp<memref::ReinterpretCastOp>()
                     : memref::ReinterpretCastOp();
  auto Base =
      View ? dyn_cast<BlockArgument>(View.getSource()) : BlockArgument();
  if (!Base || constantOf(View.getMixedOffsets()[0]) != 0)
    return std::nullopt;
  HeadsInMemory Place;
  Place.Argument = Base.getArgNumber();
  Place.Element = cast<MemRefType>(Memref.getType()).getElementType();
  for (unsigned I = 0; I < 4; ++I) {
    std::optional<Expr> Stride = sizeExpr(strideOf(Memref, Dims[I]));
    if (!Stride)
      return std::nullopt;
    Place.Strides[I] = *Stride;
    Place.StrideSizes[I] = strideOf(Memref, Dims[I]);
  }
  return Place;
}

/// `RowFactor`: where the factor of each row goes, if there may be one.
std::optional<HeadsInMemory> operandIn(Value Tensor,
                                       Value *RowFactor = nullptr) {
  Permuted From = throughCopies({Tensor});
  if (RowFactor && From.Dims == Permuted().Dims)
    std::swap(*RowFactor, From.RowFactor);
  auto [Batch, Head, Row, Column] = From.Start;
  std::optional<HeadsInMemory> Place = place(viewOf(From.Tensor), From.Dims);
  if (!Place || Batch || Row || Column || From.hasFactor() || From.Narrowed)
    return std::nullopt;
  if (From.Code)
    Place->Element = From.Code;
  Place->FirstHead = Head;
  return Place;
}

/// Two tensors that a generic joins along one axis.
struct Joined {
  Value First, Second;
  unsigned Axis = 0;
  OpFoldResult Size; ///< of the first, along the axis
};

/// The tensor that a branch of a join reads; null where it is not at the loop's
/// own place, of which the axis begins at `Start`.
Value joinedPart(Block &Branch, unsigned Axis, OpFoldResult Start) {
  auto Extract =
      Branch.getTerminator()->getOperand(0).getDefiningOp<tensor::ExtractOp>();
  if (!Extract)
    return {};
  for (auto [D, Index] : llvm::enumerate(Extract.getIndices())) {
    Value Loop = Index;
    OpFoldResult Less = Builder(Branch.getParentOp()).getIndexAttr(0);
    if (auto Minus = Loop.getDefiningOp<arith::SubIOp>()) {
      Loop = Minus.getLhs();
      Less = getAsOpFoldResult(Minus.getRhs());
    }
    auto At = Loop.getDefiningOp<linalg::IndexOp>();
    std::optional<Expr> Begins = sizeExpr(Less),
                        Expected = D == Axis ? sizeExpr(Start) : Expr(0);
    if (!At || At.getDim() != D || !Begins || Begins != Expected)
      return {};
  }
  return Extract.getTensor();
}

/// What `Op` joins; none where it does anything else.
std::optional<Joined> joinedBy(linalg::GenericOp Op) {
  if (!Op || Op.getNumDpsInputs() || Op->getNumResults() != 1 ||
      Op.getNumReductionLoops() || Op.getNumLoops() != 4)
    return std::nullopt;
  auto Branch =
      Op.getBody()->getTerminator()->getOperand(0).getDefiningOp<scf::IfOp>();
  auto Is = Branch ? Branch.getCondition().getDefiningOp<arith::CmpIOp>()
                   : arith::CmpIOp();
  auto At =
      Is ? Is.getLhs().getDefiningOp<linalg::IndexOp>() : linalg::IndexOp();
  if (!At || Is.getPredicate() != arith::CmpIPredicate::slt ||
      !Branch.elseBlock())
    return std::nullopt;
  Joined Of;
  Of.Axis = unsigned(At.getDim());
  Of.Size = getAsOpFoldResult(Is.getRhs());
  OpFoldResult None = Builder(Op.getContext()).getIndexAttr(0);
  Of.First = joinedPart(*Branch.thenBlock(), Of.Axis, None);
  Of.Second = joinedPart(*Branch.elseBlock(), Of.Axis, Of.Size);
  if (!Of.First || !Of.Second)
    return std::nullopt;
  return Of;
}

/// Heads whose rows are those of a cache and then new ones.
struct JoinedHeads {
  HeadsInMemory Past, New, Present;
  OpFoldResult PastSize;
};

/// `Output` is where the joined rows are stored.
std::optional<JoinedHeads> joinedIn(Value Tensor, const KernelOutput &Output) {
  Permuted From = throughCopies({Tensor}),
           Stored = throughCopies({Output.Tensor});
  auto IsPlain = [](const Permuted &P) {
    return !P.hasFactor() && !P.Code && !P.Narrowed &&
           llvm::all_of(P.Start, [](int64_t S) { return S == 0; });
  };
  std::optional<Joined> Of =
      joinedBy(From.Tensor.getDefiningOp<linalg::GenericOp>());
  if (!Of || Of->Axis != From.Dims[2] || !IsPlain(From) || !IsPlain(Stored) ||
      Stored.Tensor != From.Tensor)
    return std::nullopt;
  std::array<unsigned, 4> Inverse, InOutput;
  for (unsigned I = 0; I < 4; ++I)
    Inverse[Stored.Dims[I]] = I;
  for (unsigned I = 0; I < 4; ++I)
    InOutput[I] = Inverse[From.Dims[I]];
  auto PartIn = [&](Value Part) -> std::optional<HeadsInMemory> {
    Permuted P = throughCopies({Part, From.Dims});
    auto [Batch, Head, Row, Column] = P.Start;
    std::optional<HeadsInMemory> Place = place(viewOf(P.Tensor), P.Dims);
    if (!Place || Batch || Row || Column || P.hasFactor() || P.Code ||
        P.Narrowed)
      return std::nullopt;
    Place->FirstHead = Head;
    return Place;
  };
  std::optional<HeadsInMemory> Past = PartIn(Of->First),
                               New = PartIn(Of->Second),
                               Present = place(Output.Memref, InOutput);
  if (!Past || !New || !Present)
    return std::nullopt;
  return JoinedHeads{*Past, *New, *Present, Of->Size};
}

/// Where the result is stored; `A` then has its factors and what it becomes.
std::optional<HeadsInMemory> resultIn(const KernelOutput &Output, Value Result,
                                      AttentionKernel &A) {
  Permuted From = throughCopies({Output.Tensor});
  A.ValueScale = From.Factor;
  A.ResultCodes = From.Narrowed;
  A.ResultScale = From.FactorArgument;
  if (From.Tensor != Result || From.RowFactor ||
      bool(From.Code) != bool(From.Narrowed) ||
      llvm::any_of(From.Start, [](int64_t S) { return S != 0; }))
    return std::nullopt;
  std::array<unsigned, 4> Inverse;
  for (unsigned I = 0; I < 4; ++I)
    Inverse[From.Dims[I]] = I;
  return place(Output.Memref, Inverse);
}

kernel::AttentionOp attentionOf(FusedKernel &Form) {
  kernel::AttentionOp Found;
  for (auto Op : Form.Func.getBody().front().getOps<kernel::AttentionOp>()) {
    if (Found)
      return {};
    Found = Op;
  }
  return Found;
}

bool readSize(Value Tensor, unsigned Dim, OpFoldResult &Size, Expr &Into) {
  Size = tensorSize(Tensor, Dim);
  std::optional<Expr> Known = sizeExpr(Size);
  if (Known)
    Into = *Known;
  return Known.has_value();
}

} // namespace

std::optional<AttentionKernel> AttentionKernel::read(FusedKernel &Form) {
  kernel::AttentionOp Op = attentionOf(Form);
  bool Appends = Form.Outputs.size() == 3;
  if (!Op || (Form.Outputs.size() != 1 && !Appends) || Form.Root)
    return std::nullopt;
  AttentionKernel A;
  A.Op = Op;
  A.Facts = factsOf(Form.Func);
  std::optional<HeadsInMemory> Q = operandIn(Op.getQ(), &A.RowFactor), K, V,
                               Y = resultIn(Form.Outputs[0], Op.getY(), A);
  if (Appends) {
    std::optional<JoinedHeads> Keys = joinedIn(Op.getK(), Form.Outputs[1]),
                               Rest = joinedIn(Op.getV(), Form.Outputs[2]);
    if (!Keys || !Rest || sizeExpr(Keys->PastSize) != sizeExpr(Rest->PastSize))
      return std::nullopt;
    K = Keys->Past, V = Rest->Past;
    A.New = {Keys->New, Rest->New, Keys->Present, Rest->Present,
             Keys->PastSize};
  } else {
    K = operandIn(Op.getK());
    V = operandIn(Op.getV());
  }
  Value InitQ = Op.getInit();
  std::optional<int64_t> Depth = constantOf(tensorSize(Op.getQ(), 3)),
                         Width = constantOf(tensorSize(InitQ, 3));
  if (!Q || !K || !V || !Y || !Depth || !Width ||
      !readSize(InitQ, 0, A.BatchSize, A.Batch) ||
      !readSize(InitQ, 1, A.HeadsSize, A.Heads) ||
      !readSize(InitQ, 2, A.QueriesSize, A.Queries) ||
      !readSize(Op.getK(), 1, A.GroupsSize, A.Groups) ||
      !readSize(Op.getK(), 2, A.KeysSize, A.Keys))
    return std::nullopt;
  A.Q = *Q, A.K = *K, A.V = *V, A.Y = *Y;
  A.Depth = *Depth, A.Width = *Width;
  // Builders of other heads multiply nothing at the end.
  if (A.ValueScale != 1 && !A.hasCodes() && !A.ResultCodes)
    return std::nullopt;
  if (A.ResultScale && !A.ResultCodes && !A.isFp8())
    return std::nullopt;
  if (Value Offset = Op.getOffset()) {
    A.Offset = sizeExpr(Offset);
    if (!A.Offset)
      return std::nullopt;
  }
  return A;
}

bool AttentionKernel::hasWideRows(Heads16Or Other) const {
  Type Element = Q.Element, OfKeys = K.Element;
  bool Is16 = Element.isF16() || Element.isBF16(),
       OrF32 = Other == Heads16Or::F32,
       MayBeCodes = Other == Heads16Or::Codes && hasCodes();
  if (ResultCodes && Other != Heads16Or::ResultCodes)
    return false;
  bool AllCodes = Other == Heads16Or::AllCodes;
  if (isFp8() != AllCodes || (RowFactor && !AllCodes))
    return false;
  if (AllCodes)
    Is16 = Y.Element.isF16() || Y.Element.isBF16() || Y.Element.isF32();
  if (!(Is16 || (OrF32 && Element.isF32())) ||
      !(OfKeys == Element || MayBeCodes) || Facts.range(Keys).Min < 1)
    return false;
  // What TMA asks of strides, and loads of 16 bytes of addresses.
  auto IsWide = [&](HeadsInMemory H, Type Of, bool IsTransposed = false) {
    int64_t Elements = 16 * 8 / Of.getIntOrFloatBitWidth();
    if (IsTransposed)
      std::swap(H.Strides[2], H.Strides[3]);
    return H.Element == Of && H.Strides[3] == Expr(1) &&
           llvm::all_of(ArrayRef(H.Strides).drop_back(), [&](const Expr &S) {
             return Facts.divisor(S) % Elements == 0; // 0 divides as all do
           });
  };
  auto AreWide = [&](const AppendedRows &N) {
    return !hasCodes() && IsWide(N.K, Element) && IsWide(N.V, Element) &&
           IsWide(N.PresentK, Element) && IsWide(N.PresentV, Element);
  };
  return IsWide(Q, Element) && IsWide(K, OfKeys) &&
         IsWide(V, OfKeys, AllCodes) &&
         IsWide(Y, ResultCodes || AllCodes ? Y.Element : Element) &&
         (!AllCodes || hasKeysInBlocks()) && (!New || AreWide(*New));
}

bool AttentionKernel::hasKeysInBlocks() const {
  std::optional<int64_t> Row = K.Strides[2].asConstant();
  return Row && *Row > 0 &&
         Facts.divisor(K.Strides[0]) % (*Row * KeysInOrder) == 0 &&
         Facts.divisor(K.Strides[1]) % (*Row * KeysInOrder) == 0 &&
         Facts.divisor(Keys) % KeysInOrder == 0;
}

bool AttentionKernel::isScoredByKey() const {
  constexpr unsigned OfQuery = 2;
  auto IsAlike = [](Value Tensor) {
    return !Tensor ||
           cast<RankedTensorType>(Tensor.getType()).getDimSize(OfQuery) == 1;
  };
  kernel::AttentionOp Of = Op;
  Value Bias = Of.getBias(), Mask = Of.getMask();
  return (Bias || Mask) && IsAlike(Bias) && IsAlike(Mask);
}

double AttentionKernel::scoreFactor() {
  std::optional<APFloat> Cap = Op.getSoftcap();
  return (Cap ? *Cap : Op.getScale()).convertToDouble() * std::numbers::log2e;
}

Value AttentionKernel::bent(GpuWriter &W, Value Product, OneValue Exp2,
                            OneValue Reciprocal) {
  auto Number = [&](double V) -> Value {
    return arith::ConstantOp::create(W.B, W.Loc, W.B.getF32FloatAttr(float(V)));
  };
  double Factor = 2 * std::numbers::log2e * Op.getScale().convertToDouble() /
                  Op.getSoftcap()->convertToDouble();
  Value One = Number(1);
  Value Power =
      Exp2(arith::MulFOp::create(W.B, W.Loc, Product, Number(Factor)));
  Value Inverse = Reciprocal(arith::AddFOp::create(W.B, W.Loc, Power, One));
  return math::FmaOp::create(W.B, W.Loc, Inverse, Number(-2), One);
}

Value AttentionKernel::biased(GpuWriter &W, Value Score, Value Added) {
  auto Number = [&](double V) -> Value {
    return arith::ConstantOp::create(W.B, W.Loc, W.B.getF32FloatAttr(float(V)));
  };
  Value Log2E = Number(std::numbers::log2e);
  Value Least = Number(std::numeric_limits<float>::lowest());
  Value Sum = math::FmaOp::create(W.B, W.Loc, Added, Log2E, Score);
  return arith::MaximumFOp::create(W.B, W.Loc, Sum, Least);
}

Value AttentionKernel::atScore(GpuWriter &W, Value Tensor, ValueRange At) {
  SmallVector<Value> Indices(At);
  for (unsigned I = 0; I < 4; ++I)
    if (cast<RankedTensorType>(Tensor.getType()).getDimSize(I) == 1)
      Indices[I] = W.index(0);
  return W.Emitter.element(W.B, Tensor, Indices);
}

schedule::AttentionShape attentionShapeOf(const AttentionKernel &A) {
  schedule::AttentionShape Shape;
  Shape.Batch = typicalOf(A.BatchSize, 1);
  Shape.Heads = typicalOf(A.HeadsSize, 1);
  Shape.Queries = typicalOf(A.QueriesSize, UnknownExtent);
  Shape.Keys = typicalOf(A.KeysSize, UnknownExtent);
  Shape.Depth = A.Depth;
  Shape.Width = A.Width;
  Shape.Causal = A.Offset.has_value();
  kernel::AttentionOp Op = A.Op;
  Shape.Scored = Op.getBias() || Op.getMask();
  Shape.ScoredByKey = A.isScoredByKey();
  Shape.Capped = Op.getSoftcap().has_value();
  Shape.ElementBytes = A.Q.Element.getIntOrFloatBitWidth() / 8;
  Shape.Split = A.isF32() && !Op.getTf32();
  return Shape;
}

} // namespace kpc::kernels

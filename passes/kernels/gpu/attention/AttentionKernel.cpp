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
#include "passes/kernels/gpu/attention/AttentionOperands.h"

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
/// Dimensions of a mask.
constexpr unsigned QueryDim = 2, KeyDim = 3;

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

/// The argument that an output is, if all of it is filled with one number.
static std::optional<unsigned> filledArgument(const KernelOutput &Output) {
  Value Tensor = Output.Tensor;
  while (auto Op = Tensor.getDefiningOp<linalg::GenericOp>()) {
    if (Op.getNumDpsInputs() != 1 || Op.getBody()->getTerminator()->getOperand(
                                         0) != Op.getBody()->getArgument(0))
      return std::nullopt;
    Tensor = Op.getDpsInputOperand(0)->get();
  }
  auto View = Output.Memref.getDefiningOp<memref::ReinterpretCastOp>();
  auto Base =
      View ? dyn_cast<BlockArgument>(View.getSource()) : BlockArgument();
  if (!Base || !Tensor.getDefiningOp<linalg::FillOp>())
    return std::nullopt;
  return Base.getArgNumber();
}

std::optional<AttentionKernel> AttentionKernel::read(FusedKernel &Form) {
  kernel::AttentionOp Op = attentionOf(Form);
  AttentionKernel A;
  size_t Outputs = Form.Outputs.size();
  if (Outputs >= 3) {
    std::optional<unsigned> Parts = filledArgument(Form.Outputs[Outputs - 2]),
                            Counters = filledArgument(Form.Outputs.back());
    if (Parts && Counters) {
      A.Split = {*Parts, *Counters};
      Outputs -= 2;
    }
  }
  bool Appends = Outputs == 3;
  if (!Op || (Outputs != 1 && !Appends) || Form.Root)
    return std::nullopt;
  A.Op = Op;
  A.Facts = factsOf(Form.Func);
  std::optional<HeadsInMemory> Q = operandIn(Op.getQ(), &A.RowFactor), K, V,
                               Y = resultIn(Form.Outputs[0], Op.getY(), A);
  if (Appends) {
    std::optional<JoinedHeads> Keys = joinedIn(Op.getK(), Form.Outputs[1]),
                               Rest = joinedIn(Op.getV(), Form.Outputs[2]);
    if (!Keys || !Rest || Keys->Choice.has_value() != Rest->Choice.has_value())
      return std::nullopt;
    if (Keys->Lead != Rest->Lead ||
        sizeExpr(Keys->Rows) != sizeExpr(Rest->Rows))
      return std::nullopt;
    if (!Keys->Choice && sizeExpr(Keys->PastSize) != sizeExpr(Rest->PastSize))
      return std::nullopt;
    std::optional<Expr> Rows = sizeExpr(Keys->Rows);
    if (!Rows)
      return std::nullopt;
    // A row before those that are stored is in no memory.
    A.KeysSize = Keys->Rows, A.Keys = *Rows;
    K = Keys->Past, V = Rest->Past;
    A.New = {Keys->New,      Rest->New,    Keys->Present, Rest->Present,
             Keys->PastSize, Keys->Choice, Rest->Choice,  Keys->Lead};
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
      (!Appends && !readSize(Op.getK(), 2, A.KeysSize, A.Keys)))
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
  if (Op.getMask())
    A.Limits = keyLimits(A.maskAt(Value(), Value()),
                         typicalOf(A.KeysSize, UnknownExtent));
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

bool AttentionKernel::hasMask() const {
  kernel::AttentionOp Of = Op;
  return Of.getMask() && !(Limits.any() && Limits.IsAll);
}

KeyCondition AttentionKernel::maskAt(Value Batch, Value Head) const {
  kernel::AttentionOp Of = Op;
  return {
      Of.getMask(), KeyDim, QueryDim, Value(), {Batch, Head, Value(), Value()}};
}

Value AttentionKernel::seenAt(GpuWriter &W, ValueRange At) const {
  kernel::AttentionOp Of = Op;
  return Limits.any() ? restOf(W, maskAt(At[0], At[1]), At)
                      : atScore(W, Of.getMask(), At);
}

bool AttentionKernel::isScoredByKey() const {
  auto IsAlike = [](Value Tensor) {
    return !Tensor ||
           cast<RankedTensorType>(Tensor.getType()).getDimSize(QueryDim) == 1;
  };
  kernel::AttentionOp Of = Op;
  bool IsMasked = hasMask(),
       IsOfKey = Limits.any() ? Limits.RestIsOfKey : IsAlike(Of.getMask());
  return (Of.getBias() || IsMasked) && IsAlike(Of.getBias()) &&
         (!IsMasked || IsOfKey);
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
  Shape.Scored = Op.getBias() || A.hasMask();
  Shape.Limited = A.Limits.any();
  Shape.FirstKey = A.Limits.First;
  Shape.EndKey = A.Limits.End;
  Shape.Leads = A.Limits.Lead > 0;
  if (Shape.Limited && A.Offset) {
    int64_t End = typicalOf(Op.getOffset(), 0) + 1;
    Shape.EndKey = std::min(End, Shape.EndKey.value_or(End));
  }
  Shape.ScoredByKey = A.isScoredByKey();
  Shape.Capped = Op.getSoftcap().has_value();
  Shape.ElementBytes = A.Q.Element.getIntOrFloatBitWidth() / 8;
  Shape.Split = A.isF32() && !Op.getTf32();
  return Shape;
}

} // namespace kpc::kernels

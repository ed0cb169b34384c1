//===- AttentionCaches.cpp - Caches that attention appends to -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/AccessMaps.h"
#include "passes/kernels/form/RootShape.h"
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/attention/AttentionOperands.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

namespace {

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

/// Rows of `From` along one axis, each at the index that a tensor has for it.
struct Gathered {
  Value From, Index;
  unsigned Axis = 0;
};

/// What `Op` gathers; none where it does anything else.
std::optional<Gathered> gatheredBy(linalg::GenericOp Op) {
  if (!Op || Op.getNumDpsInputs() || Op->getNumResults() != 1 ||
      Op.getNumReductionLoops() || Op.getNumLoops() != 4)
    return std::nullopt;
  Block *Body = Op.getBody();
  auto Whole =
      Body->getTerminator()->getOperand(0).getDefiningOp<tensor::ExtractOp>();
  auto All = llvm::to_vector(Body->getOps<tensor::ExtractOp>());
  if (!Whole || All.size() != 2 || Whole.getIndices().size() != 4)
    return std::nullopt;
  tensor::ExtractOp Place = All[0] == Whole ? All[1] : All[0];
  auto IsLoop = [](Value Index, unsigned D) {
    auto At = Index.getDefiningOp<linalg::IndexOp>();
    return At && At.getDim() == D;
  };
  Gathered G{Whole.getTensor(), Place.getTensor()};
  unsigned Others = 0;
  for (auto [D, Index] : llvm::enumerate(Whole.getIndices()))
    if (!IsLoop(Index, unsigned(D)))
      G.Axis = unsigned(D), ++Others;
  for (auto [D, Index] : llvm::enumerate(Place.getIndices()))
    if (!IsLoop(Index, unsigned(D)))
      return std::nullopt;
  return Others == 1 ? std::optional(G) : std::nullopt;
}

/// Whether elements of `Tensor` along `Dim` are all the same.
bool isSameAlong(Value Tensor, unsigned Dim) {
  AccessMaps Maps = accessesOf(Tensor);
  return !Maps.Opaque[Dim] &&
         llvm::none_of(Maps.Accesses, [&](const Access &Of) {
           return Of.Map.isFunctionOfDim(Dim);
         });
}

/// Rows of two tensors, each chosen by a condition.
struct Chosen {
  Value New, Past; ///< what rows are gathered from, or are at once
  CacheRows Of;
};

/// What the select `Op` chooses between; none where it does anything else. Rows
/// and columns are dimensions `Row` and `Column`.
std::optional<Chosen> chosenBy(linalg::GenericOp Op, unsigned Row,
                               unsigned Column) {
  if (!Op || Op->getNumResults() != 1 || Op.getNumReductionLoops() ||
      Op.getNumLoops() != 4 || Op.getNumDpsInputs() != 3 ||
      !llvm::hasNItems(*Op.getBody(), 2))
    return std::nullopt;
  auto Select = dyn_cast<arith::SelectOp>(Op.getBody()->front());
  if (!Select ||
      Op.getBody()->getTerminator()->getOperand(0) != Select.getResult())
    return std::nullopt;
  auto InputOf = [&](Value Of) -> Value {
    auto Argument = dyn_cast<BlockArgument>(Of);
    if (!Argument || Argument.getArgNumber() >= unsigned(Op.getNumDpsInputs()))
      return {};
    OpOperand *Operand = Op.getMatchingOpOperand(Argument);
    return Op.getMatchingIndexingMap(Operand).isIdentity() ? Operand->get()
                                                           : Value();
  };
  Value Condition = InputOf(Select.getCondition());
  Value Arms[] = {InputOf(Select.getTrueValue()),
                  InputOf(Select.getFalseValue())};
  if (!Condition || !Arms[0] || !Arms[1] || !isSameAlong(Condition, Column))
    return std::nullopt;
  auto Rows = [&](Value Arm) -> std::optional<Gathered> {
    Permuted P = throughCopies({Arm});
    if (P.Dims != Permuted().Dims || P.Start != Permuted().Start ||
        P.hasFactor() || P.Code || P.Narrowed)
      return std::nullopt;
    auto Of = gatheredBy(P.Tensor.getDefiningOp<linalg::GenericOp>());
    return Of && Of->Axis == Row && isSameAlong(Of->Index, Column)
               ? Of
               : std::nullopt;
  };
  for (bool Negated : {false, true}) {
    std::optional<Gathered> New = Rows(Arms[Negated]);
    if (!New)
      continue;
    Chosen C{New->From, Arms[!Negated], {}};
    C.Of.IsNew = Condition;
    C.Of.Negated = Negated;
    C.Of.NewAt = New->Index;
    if (std::optional<Gathered> Past = Rows(C.Past)) {
      C.Past = Past->From;
      C.Of.PastAt = Past->Index;
    }
    C.Of.NewCount = tensorSize(C.New, Row);
    C.Of.PastCount = tensorSize(C.Past, Row);
    if (C.Of.NewCount && C.Of.PastCount)
      return C;
  }
  return std::nullopt;
}

bool liesAlike(const HeadsInMemory &A, const HeadsInMemory &B) {
  return A.Element == B.Element && A.Strides == B.Strides && A.FirstHead == 0 &&
         B.FirstHead == 0;
}

} // namespace

std::optional<JoinedHeads> joinedIn(Value Tensor, const KernelOutput &Output) {
  Permuted From = throughCopies({Tensor}),
           Stored = throughCopies({Output.Tensor});
  auto IsPlain = [](const Permuted &P) {
    return !P.hasFactor() && !P.Code && !P.Narrowed &&
           llvm::all_of(P.Start, [](int64_t S) { return S == 0; });
  };
  auto Op = From.Tensor.getDefiningOp<linalg::GenericOp>();
  std::optional<Joined> Of = joinedBy(Op);
  int64_t Lead = 0;
  if (Of && Of->Axis == From.Dims[2] && filledWith(Of->First) == 0.0 &&
      constantOf(Of->Size) == 1) {
    Lead = 1;
    From = throughCopies({Of->Second, From.Dims});
    Op = From.Tensor.getDefiningOp<linalg::GenericOp>();
    Of = joinedBy(Op);
  }
  if (!IsPlain(From) || !IsPlain(Stored) || Stored.Tensor != From.Tensor)
    return std::nullopt;
  std::optional<Chosen> Each = chosenBy(Op, From.Dims[2], From.Dims[3]);
  if (!Each && (!Of || Of->Axis != From.Dims[2]))
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
  std::optional<HeadsInMemory> Past = PartIn(Each ? Each->Past : Of->First),
                               New = PartIn(Each ? Each->New : Of->Second),
                               Present = place(Output.Memref, InOutput);
  OpFoldResult Rows = tensorSize(From.Tensor, From.Dims[2]);
  if (!Past || !New || !Present || !Rows)
    return std::nullopt;
  JoinedHeads Found{*Past, *New, *Present, {}, std::nullopt, Rows, Lead};
  if (!Each) {
    Found.PastSize = Of->Size;
    return Found;
  }
  Each->Of.Dims = From.Dims;
  Each->Of.MayBeInPlace = !Each->Of.PastAt && liesAlike(*Past, *Present);
  Found.Choice = Each->Of;
  return Found;
}

} // namespace kpc::kernels

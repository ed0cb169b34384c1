//===- RowKernel.cpp - A kernel whose reductions share their rows ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/rows/RowKernel.h"
#include "passes/kernels/form/OutputSections.h"
#include "passes/kernels/gpu/GpuReduction.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace kpc::kernels {

static bool sameSize(OpFoldResult A, OpFoldResult B) {
  return A == B || (constantOf(A) && constantOf(A) == constantOf(B));
}

static bool sameSizes(ArrayRef<OpFoldResult> A, ArrayRef<OpFoldResult> B) {
  return A.size() == B.size() &&
         llvm::all_of(llvm::zip_equal(A, B), [](auto Pair) {
           return sameSize(std::get<0>(Pair), std::get<1>(Pair));
         });
}

static bool isOne(OpFoldResult Size) { return constantOf(Size) == 1; }

namespace {

/// Follows all that is read for an element of the row space, and checks that
/// reductions are read at the row's own place.
class PlaceCheck {
public:
  PlaceCheck(RowKernel &K, ArrayRef<OpFoldResult> Outer) : K(K), Outer(Outer) {
    for (RowReduction &R : K.Reductions)
      Reductions.insert(R.Op);
  }

  bool wideOutput(Value Tensor) {
    SmallVector<unsigned> Loops(K.LoopOfDim);
    return tensor(Tensor, AffineMap::getMultiDimMapWithTargets(
                              Loops.size(), Loops, Tensor.getContext()));
  }
  /// One element a row.
  bool narrowOutput(const KernelOutput &Out) {
    MLIRContext *Context = Out.Tensor.getContext();
    SmallVector<AffineExpr> Places;
    for (std::optional<unsigned> Loop : K.loopsOfNarrow(Out))
      Places.push_back(Loop ? getAffineDimExpr(*Loop, Context)
                            : getAffineConstantExpr(0, Context));
    return tensor(Out.Tensor,
                  AffineMap::get(K.LoopOfDim.size(), 0, Places, Context));
  }

  /// What `Op` reduces, its loops being outer and row dimensions in order.
  bool reduction(linalg::LinalgOp Op) {
    return operands(Op, AffineMap::getMultiDimIdentityMap(Op.getNumLoops(),
                                                          Op.getContext()));
  }

private:
  bool tensor(Value V, AffineMap At) {
    Operation *Def = V.getDefiningOp();
    if (Def && Reductions.contains(Def))
      return isOwnPlace(At);
    if (!Seen.insert({V, At}).second)
      return true;
    if (Value View = viewOf(V)) {
      note(View, At);
      return true;
    }
    if (auto Cast = dyn_cast_if_present<tensor::CastOp>(Def))
      return tensor(Cast.getSource(), At);
    linalg::LinalgOp Op = loopsBehind(V);
    if (!Op)
      return true;
    AffineMap Result = Op.getIndexingMapMatchingResult(cast<OpResult>(V));
    SmallVector<AffineExpr> Loops(Op.getNumLoops());
    for (auto [Expr, Index] :
         llvm::zip_equal(Result.getResults(), At.getResults()))
      if (auto Dim = dyn_cast<AffineDimExpr>(Expr))
        Loops[Dim.getPosition()] = Index;
    if (llvm::is_contained(Loops, AffineExpr()))
      return false;
    return operands(Op,
                    AffineMap::get(At.getNumDims(), 0, Loops, At.getContext()));
  }

  bool operands(linalg::LinalgOp Op, AffineMap Loops) {
    for (OpOperand &Operand : Op->getOpOperands())
      if (Op.payloadUsesValueFromOperand(&Operand) &&
          !tensor(Operand.get(),
                  simplifyAffineMap(
                      Op.getMatchingIndexingMap(&Operand).compose(Loops))))
        return false;
    // What a body reads by itself has no map.
    bool Fine = true;
    Op.getBlock()->walk([&](tensor::ExtractOp Extract) {
      Fine &= !reachesReduction(Extract.getTensor());
    });
    return Fine;
  }

  bool isOwnPlace(AffineMap At) const {
    for (auto [Dim, Expr] : llvm::enumerate(At.getResults()))
      if (Expr != getAffineDimExpr(Dim, At.getContext()) && !isOne(Outer[Dim]))
        return false;
    return true;
  }

  /// Visits each op once: many steps may use the one before them twice.
  bool reachesReduction(Value V) const {
    SmallVector<Value> Worklist{V};
    llvm::SmallPtrSet<Operation *, 8> Visited;
    while (!Worklist.empty()) {
      Value Next = Worklist.pop_back_val();
      Operation *Def = Next.getDefiningOp();
      if (!Def || viewOf(Next))
        continue;
      if (Reductions.contains(Def))
        return true;
      if (!Visited.insert(Def).second)
        continue;
      Def->walk([&](Operation *Inner) {
        for (Value Operand : Inner->getOperands())
          if (isa<TensorType>(Operand.getType()))
            Worklist.push_back(Operand);
      });
    }
    return false;
  }

  /// Counts a buffer that each element of the rows is read from.
  void note(Value View, AffineMap At) {
    if (At.getNumDims() != Outer.size() + K.RowSizes.size())
      return;
    for (unsigned Dim = 0; Dim < At.getNumDims(); ++Dim)
      if (!At.isFunctionOfDim(Dim) &&
          !isOne(Dim < Outer.size() ? Outer[Dim]
                                    : K.RowSizes[Dim - Outer.size()]))
        return;
    if (llvm::is_contained(K.WideViews, View))
      return;
    K.WideViews.push_back(View);
    int64_t Bytes =
        storageBytes(cast<MemRefType>(View.getType()).getElementType());
    K.BytesRead += Bytes;
    K.LeastBytes = std::min(K.LeastBytes, Bytes);
  }

  RowKernel &K;
  ArrayRef<OpFoldResult> Outer;
  llvm::SmallPtrSet<Operation *, 4> Reductions;
  llvm::DenseSet<std::pair<Value, AffineMap>> Seen;
};

} // namespace

/// Fills in the reductions and the sizes that they share.
static bool readReductions(RowKernel &K) {
  for (Operation &One : K.Form.Func.getOps()) {
    linalg::LinalgOp Op = loopsOf(&One);
    if (!Op || Op.getNumReductionLoops() == 0)
      continue;
    SmallVector<OpFoldResult> Outer, Row;
    for (auto [Loop, Kind] : llvm::enumerate(Op.getIteratorTypesArray())) {
      OpFoldResult Size = loopSize(Op, Loop);
      bool IsReduced = Kind == utils::IteratorType::reduction;
      if (!Size || (!IsReduced && !Row.empty()))
        return false;
      (IsReduced ? Row : Outer).push_back(Size);
    }
    if (K.Reductions.empty()) {
      K.OuterSizes = Outer;
      K.RowSizes = Row;
    } else if (!sameSizes(K.OuterSizes, Outer) || !sameSizes(K.RowSizes, Row)) {
      return false;
    }
    RowReduction R{Op, {}};
    for (unsigned I = 0; I < Op->getNumResults(); ++I) {
      R.Combiners.push_back(combinerOf(Op, I));
      // Bools have no place in shared memory, where they would need bytes.
      if (!R.Combiners.back() ||
          R.Combiners.back()->getResult(0).getType().isInteger(1) ||
          Op.getIndexingMapMatchingResult(Op->getResult(I)).getNumResults() !=
              Outer.size())
        return false;
    }
    K.Reductions.push_back(std::move(R));
  }
  return !K.Reductions.empty();
}

/// The order of the shape's dimensions, by what the first reduction reads of
/// the whole shape.
static void readOrder(RowKernel &K) {
  linalg::LinalgOp First = K.Reductions.front().Op;
  for (OpOperand *Input : First.getDpsInputOperands()) {
    AffineMap Map = First.getMatchingIndexingMap(Input);
    if (!Map.isPermutation())
      continue;
    for (AffineExpr Loop : Map.getResults())
      K.LoopOfDim.push_back(cast<AffineDimExpr>(Loop).getPosition());
    return;
  }
  K.LoopOfDim = llvm::to_vector(
      llvm::seq<unsigned>(0, K.OuterSizes.size() + K.RowSizes.size()));
}

SmallVector<std::optional<unsigned>>
RowKernel::loopsOfNarrow(const KernelOutput &Out) const {
  SmallVector<std::optional<unsigned>> Loops;
  unsigned Next = 0;
  for (OpFoldResult Size : outputSizes(Out)) {
    while (Next < OuterSizes.size() && isOne(OuterSizes[Next]))
      ++Next;
    bool IsLoop = !isOne(Size) && Next < OuterSizes.size();
    Loops.push_back(IsLoop ? std::optional(Next++) : std::nullopt);
  }
  return Loops;
}

/// Whether an output has one element a row, with ones in any place.
static bool isNarrow(const RowKernel &K, const KernelOutput &Out) {
  size_t Count = 0;
  for (auto [Size, Loop] :
       llvm::zip_equal(outputSizes(Out), K.loopsOfNarrow(Out))) {
    if (Loop ? !sameSize(Size, K.OuterSizes[*Loop]) : !isOne(Size))
      return false;
    Count += Loop.has_value();
  }
  return Count == size_t(llvm::count_if(K.OuterSizes, [](OpFoldResult Size) {
           return !isOne(Size);
         }));
}

static bool readOutputs(RowKernel &K) {
  SmallVector<OpFoldResult> Loops(K.OuterSizes);
  llvm::append_range(Loops, K.RowSizes);
  SmallVector<OpFoldResult> Whole = K.inShape(ArrayRef<OpFoldResult>(Loops));
  for (const KernelOutput &Out : K.Form.Outputs) {
    SmallVector<OpFoldResult> Sizes = outputSizes(Out);
    if (sameSizes(Sizes, Whole)) {
      K.Wide.push_back(Out);
      continue;
    }
    if (!isNarrow(K, Out))
      return false;
    K.Narrow.push_back(Out);
  }
  return true;
}

std::optional<RowKernel> RowKernel::read(FusedKernel &Form) {
  if (!Form.Root)
    return std::nullopt;
  RowKernel K{Form, {}, {}, {}, {}, {}, {}};
  if (!readReductions(K))
    return std::nullopt;
  readOrder(K);
  if (!readOutputs(K))
    return std::nullopt;
  PlaceCheck Check(K, K.OuterSizes);
  for (RowReduction &R : K.Reductions)
    if (!Check.reduction(R.Op))
      return std::nullopt;
  for (const KernelOutput &Out : K.Wide)
    if (!Check.wideOutput(Out.Tensor))
      return std::nullopt;
  for (const KernelOutput &Out : K.Narrow)
    if (!Check.narrowOutput(Out))
      return std::nullopt;
  for (const KernelOutput &Out : K.Wide) {
    int64_t Bytes =
        storageBytes(cast<MemRefType>(Out.Memref.getType()).getElementType());
    K.BytesWritten += Bytes;
    K.LeastBytes = std::min(K.LeastBytes, Bytes);
    K.WideViews.push_back(Out.Memref);
  }
  return K;
}

} // namespace kpc::kernels

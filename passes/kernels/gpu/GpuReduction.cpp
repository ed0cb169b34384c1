//===- GpuReduction.cpp - What reduction builders share -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/GpuReduction.h"
#include "passes/kernels/form/OutputSections.h"
#include "passes/kernels/form/SizeFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace kpc::kernels {

/// A size about which nothing is known, where volumes are compared.
static constexpr int64_t UnknownSize = 256;

/// The elements that `Uses` loops walk over, if each is a loop of its own.
static double volume(linalg::LinalgOp Op,
                     llvm::function_ref<bool(unsigned)> Uses) {
  double Volume = 1;
  for (unsigned Loop = 0; Loop < Op.getNumLoops(); ++Loop)
    if (Uses(Loop))
      Volume *= double(typicalOf(loopSize(Op, Loop), UnknownSize));
  return Volume;
}

/// The buffers behind the inputs of `Op`, as functions of its loops.
static AccessMaps loopAccesses(linalg::LinalgOp Op) {
  AccessMaps All;
  All.Opaque.assign(Op.getNumLoops(), false);
  for (OpOperand *Input : Op.getDpsInputOperands()) {
    if (!Op.payloadUsesValueFromOperand(Input))
      continue;
    AffineMap Map = Op.getMatchingIndexingMap(Input);
    AccessMaps One = accessesOf(Input->get());
    for (auto [Dim, IsOpaque] : llvm::enumerate(One.Opaque))
      for (unsigned Loop = 0; IsOpaque && Loop < Op.getNumLoops(); ++Loop)
        if (Map.getResult(Dim).isFunctionOfDim(Loop))
          All.Opaque[Loop] = true;
    for (const Access &A : One.Accesses)
      All.Accesses.push_back({A.Tensor, A.Memref, A.Map.compose(Map)});
  }
  return All;
}

/// The access to the largest buffer; null where there is none.
static const Access *largestAccess(linalg::LinalgOp Op,
                                   const AccessMaps &Maps) {
  double Most = 0;
  const Access *Found = nullptr;
  for (const Access &A : Maps.Accesses) {
    double Volume =
        volume(Op, [&](unsigned Loop) { return A.Map.isFunctionOfDim(Loop); });
    if (Volume <= Most)
      continue;
    Most = Volume;
    Found = &A;
  }
  return Found;
}

/// The loop along which the largest buffer is contiguous, if that can be seen.
static std::optional<unsigned> contiguousLoop(linalg::LinalgOp Op) {
  AccessMaps Maps = loopAccesses(Op);
  const Access *A = largestAccess(Op, Maps);
  std::optional<unsigned> Found;
  for (unsigned Loop = 0; A && Loop < Op.getNumLoops(); ++Loop)
    if (constantOf(loopSize(Op, Loop)) != 1 && Maps.stride(*A, Loop) == 1)
      Found = Loop;
  return Found;
}

/// How many of the last parallel loops walk the largest buffer as one would;
/// where memory cannot be seen, those of few iterations are taken for such.
static unsigned contiguousColumns(const Reduction &R) {
  constexpr int64_t FewColumns = 32;
  AccessMaps Maps = loopAccesses(R.Op);
  const Access *A = largestAccess(R.Op, Maps);
  if (R.Parallel.empty())
    return 1;
  unsigned Count = 1;
  std::optional<shape::Expr> Width = sizeExpr(R.ParallelSizes.back());
  for (size_t I = R.Parallel.size() - 1; I-- > 0 && Width; ++Count) {
    std::optional<shape::Expr> Size = sizeExpr(R.ParallelSizes[I]);
    bool IsOne = A ? Maps.stride(*A, R.Parallel[I]) == *Width
                   : Width->asConstant().value_or(FewColumns) < FewColumns;
    if (!Size || !IsOne)
      break;
    Width = *Width * *Size;
  }
  return Count;
}

/// Where memory cannot be seen (inputs that a body reads by itself): the loop
/// that the last index of the largest input moves with; the last loop where
/// there is none. Loops of one iteration move nothing.
static unsigned lastMovingLoop(linalg::LinalgOp Op) {
  double Most = 0;
  unsigned Found = Op.getNumLoops() - 1;
  for (OpOperand *Input : Op.getDpsInputOperands()) {
    if (!Op.payloadUsesValueFromOperand(Input))
      continue;
    AffineMap Map = Op.getMatchingIndexingMap(Input);
    double Volume =
        volume(Op, [&](unsigned Loop) { return Map.isFunctionOfDim(Loop); });
    if (Volume <= Most || Map.getNumResults() == 0)
      continue;
    Most = Volume;
    AffineExpr Last = Map.getResult(Map.getNumResults() - 1);
    for (unsigned D = Map.getNumDims(); D-- > 0;)
      if (Last.isFunctionOfDim(D) && constantOf(loopSize(Op, D)) != 1) {
        Found = D;
        break;
      }
  }
  return Found;
}

/// The loop of each dim of an output of so many elements; none where it has
/// other dims than loops.
static std::optional<SmallVector<int>>
loopsOfOutput(ArrayRef<OpFoldResult> Sizes, ArrayRef<OpFoldResult> Loops) {
  auto IsOne = [](OpFoldResult Size) { return constantOf(Size) == 1; };
  SmallVector<int> Found;
  size_t Next = 0;
  for (OpFoldResult Size : Sizes) {
    while (Next < Loops.size() && IsOne(Loops[Next]) && !IsOne(Size))
      ++Next;
    bool IsSame =
        Next < Loops.size() &&
        (Size == Loops[Next] ||
         (constantOf(Size) && constantOf(Size) == constantOf(Loops[Next])));
    if (!IsSame && !IsOne(Size))
      return std::nullopt;
    Found.push_back(IsSame ? int(Next++) : -1);
  }
  if (!llvm::all_of(Loops.drop_front(Next), IsOne))
    return std::nullopt;
  return Found;
}

SmallVector<Value> Reduction::placeIn(GpuWriter &W, size_t Number,
                                      ValueRange At) const {
  SmallVector<Value> Place;
  for (int Loop : LoopsOfOutputs[Number])
    Place.push_back(Loop < 0 ? W.index(0) : At[Loop]);
  return Place;
}

std::optional<Reduction> Reduction::read(FusedKernel &Form, bool OrOnes) {
  if (!Form.Root || Form.SeveralRoots)
    return std::nullopt;
  Reduction R{Form, Form.Root, {}, {}, {}, {}, {}};
  for (auto [Loop, Kind] : llvm::enumerate(R.Op.getIteratorTypesArray())) {
    OpFoldResult Size = loopSize(R.Op, Loop);
    if (!Size)
      return std::nullopt;
    bool IsReduced = Kind == utils::IteratorType::reduction;
    (IsReduced ? R.Reduced : R.Parallel).push_back(Loop);
    (IsReduced ? R.ReducedSizes : R.ParallelSizes).push_back(Size);
  }
  for (const KernelOutput &Out : Form.Outputs) {
    std::optional<SmallVector<int>> Loops =
        loopsOfOutput(outputSizes(Out), R.ParallelSizes);
    if (!Loops ||
        (!OrOnes &&
         !llvm::equal(*Loops, llvm::seq<int>(0, int(R.Parallel.size())))))
      return std::nullopt;
    R.LoopsOfOutputs.push_back(std::move(*Loops));
  }
  for (unsigned I = 0; I < R.Op->getNumResults(); ++I)
    R.Combiners.push_back(combinerOf(R.Op, I));
  R.Innermost = contiguousLoop(R.Op).value_or(lastMovingLoop(R.Op));
  R.ColumnLoops = contiguousColumns(R);
  return R;
}

unsigned Reduction::lanesAlong(unsigned Loop, int64_t Bytes) const {
  int64_t Lanes = 8;
  linalg::LinalgOp Generic = Op;
  for (OpOperand *Input : Generic.getDpsInputOperands())
    if (auto T = dyn_cast<RankedTensorType>(Input->get().getType()))
      Lanes = std::min(Lanes, Bytes / storageBytes(T.getElementType()));
  int64_t Divisor = divisorOf(loopSize(Op, Loop));
  while (Lanes > 1 && Divisor % Lanes)
    Lanes /= 2;
  return std::max<int64_t>(Lanes, 1);
}

std::optional<int64_t> Reduction::boundOf(ArrayRef<OpFoldResult> Sizes) {
  int64_t Bound = 1;
  for (OpFoldResult Size : Sizes) {
    auto Max = maxOf(Size);
    if (!Max || __builtin_mul_overflow(Bound, *Max, &Bound))
      return std::nullopt;
  }
  return Bound;
}

SmallVector<Value> loopValues(const Reduction &R, ValueRange Parallel,
                              ValueRange Reduced) {
  SmallVector<Value> Loops(R.Parallel.size() + R.Reduced.size());
  for (auto [Loop, V] : llvm::zip_equal(R.Parallel, Parallel))
    Loops[Loop] = V;
  for (auto [Loop, V] : llvm::zip_equal(R.Reduced, Reduced))
    Loops[Loop] = V;
  return Loops;
}

Value neutral(GpuWriter &W, Operation *Combiner) {
  return arith::ConstantOp::create(W.B, W.Loc,
                                   *arith::getNeutralElement(Combiner));
}

Value combine(GpuWriter &W, Operation *Combiner, Value A, Value B) {
  OperationState State(W.Loc, Combiner->getName());
  State.addOperands({A, B});
  State.addTypes(A.getType());
  State.addAttributes(Combiner->getAttrs());
  return W.B.create(State)->getResult(0);
}

Value reduceWarp(GpuWriter &W, Operation *Combiner, Value V, unsigned Width) {
  for (unsigned Mask = Width / 2; Mask > 0; Mask /= 2)
    V = combine(W, Combiner, V, W.shuffleXor(V, Mask));
  return V;
}

LogicalResult combineInitial(GpuWriter &W, linalg::LinalgOp Op,
                             ArrayRef<Operation *> Combiners, ValueRange At,
                             SmallVectorImpl<Value> &Partial) {
  for (auto [Number, Operation] : llvm::enumerate(Combiners)) {
    Value Init = Op.getDpsInits()[Number];
    Value Start = W.Emitter.element(W.B, Init, At);
    if (!Start)
      return failure();
    Attribute Known;
    if (matchPattern(Start, m_Constant(&Known)) &&
        Known == *arith::getNeutralElement(Operation))
      continue;
    Partial[Number] = combine(W, Operation, Start, Partial[Number]);
  }
  return success();
}

LogicalResult storeOutputs(GpuWriter &W, const Reduction &R, ValueRange At,
                           ArrayRef<SmallVector<Value>> Results) {
  unsigned Lanes = Results.size();
  SmallVector<Value> Indices(At);
  LaneLoads Loads(W, Lanes);
  if (!Indices.empty())
    Loads.begin(Indices.back());
  unsigned Lane = 0;
  linalg::LinalgOp Root = R.Op;
  W.Emitter.setElementHook(
      [&](OpBuilder &, Location, Value Tensor, ValueRange Places) -> Value {
        if (Tensor.getDefiningOp() != Root.getOperation() ||
            !llvm::equal(Places, Indices))
          return {};
        return Results[Lane][cast<OpResult>(Tensor).getResultNumber()];
      });
  LogicalResult Result = success();
  for (auto [Number, Out] : llvm::enumerate(R.Form.Outputs)) {
    SmallVector<Value> Elements;
    SmallVector<SmallVector<Value>> Places;
    for (Lane = 0; Lane < Lanes && succeeded(Result); ++Lane) {
      if (!Indices.empty())
        Indices.back() = Loads.at(Lane);
      Places.push_back(R.placeIn(W, Number, Indices));
      Elements.push_back(W.Emitter.element(W.B, Out.Tensor, Places.back()));
      if (!Elements.back())
        Result = failure();
    }
    if (failed(Result))
      break;
    // Lanes are neighbours where the last dim is the last loop's.
    ArrayRef<int> Loops = R.LoopsOfOutputs[Number];
    if (Lanes == 1 || Loops.back() == int(At.size()) - 1)
      storeLanes(W, Elements, Out.Memref, R.placeIn(W, Number, At));
    else
      for (auto [V, Place] : llvm::zip_equal(Elements, Places))
        memref::StoreOp::create(W.B, W.Loc, V, Out.Memref, Place);
  }
  W.Emitter.setElementHook({});
  if (!Indices.empty())
    Loads.end();
  return Result;
}

} // namespace kpc::kernels

//===- GemmMatch.cpp - A contraction as a GEMM ----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/GemmMatch.h"
#include "dialects/kernel/Kernel.h"
#include "passes/kernels/form/RootShape.h"
#include "passes/schedule/GemmSchedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <numeric>

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

/// `Map` with 0 for loops of one iteration.
static AffineMap withoutUnitLoops(AffineMap Map, linalg::LinalgOp Op) {
  SmallVector<AffineExpr> Dims;
  for (unsigned D = 0; D < Map.getNumDims(); ++D)
    Dims.push_back(constantOf(loopSize(Op, D)) == 1
                       ? getAffineConstantExpr(0, Map.getContext())
                       : getAffineDimExpr(D, Map.getContext()));
  return Map.replaceDimsAndSymbols(Dims, {}, Map.getNumDims(), 0);
}

/// The stride that `Loop` takes in `M`; none where its index is not plain.
static std::optional<Expr> strideOfLoop(const Matrix &M, AffineMap Map,
                                        unsigned Loop) {
  std::optional<Expr> Found;
  for (auto [Position, Result] : llvm::enumerate(Map.getResults())) {
    if (!Result.isFunctionOfDim(Loop))
      continue;
    if (!isa<AffineDimExpr>(Result) || Found)
      return std::nullopt;
    Found = sizeExpr(strideOf(M.Memref, Position));
    if (!Found)
      return std::nullopt;
  }
  return Found;
}

/// The stride that the loops of a group take together; 0 for none.
static std::optional<Expr> strideOfGroup(const Matrix &M, AffineMap Map,
                                         const LoopGroup &Group) {
  std::optional<Expr> Stride;
  Expr Extent = 1;
  for (unsigned I = Group.Loops.size(); I-- > 0;) {
    if (constantOf(Group.Sizes[I]) == 1)
      continue;
    std::optional<Expr> Size = sizeExpr(Group.Sizes[I]),
                        One = strideOfLoop(M, Map, Group.Loops[I]);
    if (!Size || !One || (Stride && *One != *Stride * Extent))
      return std::nullopt;
    if (!Stride)
      Stride = One;
    Extent = Extent * *Size;
  }
  return Stride.value_or(Expr(0));
}

/// The output has one dimension for each parallel loop, in order.
static AffineMap outputMap(const Contraction &C) {
  linalg::LinalgOp Op = C.R.Op;
  SmallVector<AffineExpr> Results;
  for (unsigned Loop : C.R.Parallel)
    Results.push_back(getAffineDimExpr(Loop, Op.getContext()));
  return AffineMap::get(Op.getNumLoops(), 0, Results, Op.getContext());
}

static bool onlyWidens(const Contraction::Operand &Operand) {
  return llvm::all_of(Operand.Casts,
                      [](Operation *Op) { return isa<arith::ExtFOp>(Op); });
}

static bool readSize(const LoopGroup &Group, Expr &Into) {
  std::optional<Expr> Product = productExpr(Group.Sizes);
  if (Product)
    Into = *Product;
  return Product.has_value();
}

/// The one dimension of a batch whose indices pick matrices of a stack; false
/// where the batch has several loops.
static bool readPickedBatch(Matrix &M, AffineMap Map, const LoopGroup &Batch) {
  auto View = M.Memref.getDefiningOp<memref::ReinterpretCastOp>();
  std::optional<Expr> Stride = sizeExpr(strideOf(M.Memref, 0)),
                      Size = sizeExpr(View.getMixedSizes()[0]);
  auto Loop = dyn_cast<AffineDimExpr>(Map.getResult(0));
  if (!Stride || !Size || !Loop || Batch.Loops.size() != 1 ||
      Loop.getPosition() != Batch.Loops[0])
    return false;
  M.Batches = {{*Stride, *Size, {0}, M.Pick}};
  return true;
}

/// The dimensions of a batch in which `M` moves; false where an index is not
/// plain. Loops that follow one another in memory are one.
static bool readBatches(Matrix &M, AffineMap Map, const LoopGroup &Batch) {
  M.Batches.clear();
  if (M.Pick)
    return readPickedBatch(M, Map, Batch);
  std::optional<Expr> Whole = strideOfGroup(M, Map, Batch),
                      Size = productExpr(Batch.Sizes);
  if (Whole && Size) {
    if (*Whole != Expr(0))
      M.Batches.push_back({*Whole, *Size, {}});
    return true;
  }
  for (unsigned I = Batch.Loops.size(); I-- > 0;) {
    if (constantOf(Batch.Sizes[I]) == 1 || !Map.isFunctionOfDim(Batch.Loops[I]))
      continue;
    std::optional<Expr> Stride = strideOfLoop(M, Map, Batch.Loops[I]),
                        Extent = sizeExpr(Batch.Sizes[I]);
    if (!Stride || !Extent)
      return false;
    if (!M.Batches.empty() &&
        *Stride == M.Batches.front().Stride * M.Batches.front().Size) {
      BatchDim &Inner = M.Batches.front();
      Inner.Size = Inner.Size * *Extent;
      Inner.Places.insert(Inner.Places.begin(), I);
    } else {
      M.Batches.insert(M.Batches.begin(), {*Stride, *Extent, {I}});
    }
  }
  return true;
}

static bool readStrides(Matrix &M, AffineMap Map, const Contraction &C,
                        const LoopGroup &Rows, const LoopGroup &Columns) {
  Map = withoutUnitLoops(Map, C.R.Op);
  auto Row = strideOfGroup(M, Map, Rows),
       Column = strideOfGroup(M, Map, Columns);
  if (!Row || !Column || !readBatches(M, Map, C.Batch))
    return false;
  M.RowStride = *Row;
  M.ColumnStride = *Column;
  return true;
}

/// Moves the loops in front of `Group` that have no single stride with the
/// others in both matrices to `Batch`. Where none of them has, all stay.
static void splitOff(LoopGroup &Group, LoopGroup &Batch, const Matrix &One,
                     AffineMap MapOne, const Matrix &Other,
                     AffineMap MapOther) {
  ArrayRef<unsigned> Loops = Group.Loops;
  ArrayRef<OpFoldResult> Sizes = Group.Sizes;
  for (size_t Front = 0; Front < Loops.size(); ++Front) {
    LoopGroup Rest;
    Rest.Loops.assign(Loops.begin() + Front, Loops.end());
    Rest.Sizes.assign(Sizes.begin() + Front, Sizes.end());
    if (!strideOfGroup(One, MapOne, Rest) ||
        !strideOfGroup(Other, MapOther, Rest))
      continue;
    for (size_t I = 0; I < Front; ++I) {
      auto *At = llvm::lower_bound(Batch.Loops, Loops[I]);
      auto Place = At - Batch.Loops.begin();
      Batch.Loops.insert(At, Loops[I]);
      Batch.Sizes.insert(Batch.Sizes.begin() + Place, Sizes[I]);
    }
    Group = std::move(Rest);
    return;
  }
}

/// Loops of rows, or of columns, that do not follow one another in memory
/// become part of the batch: those that one operand has and the other repeats,
/// as in [8, 1, M, K] · [1, 8, K, N].
static void splitBatches(Contraction &C, const Matrix &D) {
  Matrix A, B;
  AffineMap MapA = C.A.Map, MapB = C.B.Map;
  if (isa<kernel::ConvOp>(C.R.Op.getOperation()) ||
      !placeOperand(A, C.A.Tensor, MapA, /*Picked=*/true) ||
      !placeOperand(B, C.B.Tensor, MapB, /*Picked=*/true))
    return;
  AffineMap MapD = withoutUnitLoops(outputMap(C), C.R.Op);
  splitOff(C.M, C.Batch, A, withoutUnitLoops(MapA, C.R.Op), D, MapD);
  splitOff(C.N, C.Batch, B, withoutUnitLoops(MapB, C.R.Op), D, MapD);
}

/// How many columns apart the halves of `Loop` are; none where it is no loop of
/// columns, or sizes are not known.
static std::optional<int64_t> columnsOfHalf(const Contraction &C,
                                            unsigned Loop) {
  int64_t Columns = 1;
  for (unsigned I = C.N.Loops.size(); I-- > 0;) {
    if (C.N.Loops[I] == Loop)
      return Columns;
    std::optional<int64_t> Size = constantOf(C.N.Sizes[I]);
    if (!Size)
      return std::nullopt;
    Columns *= *Size;
  }
  return std::nullopt;
}

/// Fills in what all rows read: vectors with an element for each column, and
/// elements that all columns share. `Access` is in the result's dimensions.
static void readColumnVectors(GemmMatch &P, const AccessMaps &Access) {
  llvm::SmallDenseMap<unsigned, Expr> Steps; // of a column's number, by loop
  Expr Columns = 1;
  for (unsigned I = P.C.N.Loops.size(); I-- > 0;) {
    Steps[P.C.N.Loops[I]] = Columns;
    std::optional<Expr> Size = sizeExpr(P.C.N.Sizes[I]);
    if (!Size)
      return;
    Columns = Columns * *Size;
  }
  auto IsLinear = [&](const kernels::Access &One, bool ByColumn) {
    for (auto [Dim, Loop] : llvm::enumerate(P.C.R.Parallel)) {
      Expr Step = ByColumn && Steps.contains(Loop) ? Steps[Loop] : Expr(0);
      bool IsOnce = constantOf(loopSize(P.C.R.Op, Loop)) == 1;
      if (!IsOnce && Access.stride(One, Dim) != Step)
        return false;
    }
    return true;
  };
  for (const kernels::Access &One : Access.Accesses) {
    // GELU reads all twice, at one place. What bodies extract is not among the
    // accesses, and may be anywhere.
    bool IsOnly = One.Tensor &&
                  llvm::none_of(One.Tensor.getUsers(),
                                llvm::IsaPred<tensor::ExtractOp>) &&
                  llvm::all_of(Access.Accesses, [&](const auto &Other) {
                    return Other.Tensor != One.Tensor ||
                           Other.Map.getResults() == One.Map.getResults();
                  });
    bool IsNew = llvm::none_of(P.ColumnVectors,
                               [&](const GemmMatch::ColumnVector &V) {
                                 return V.Tensor == One.Tensor;
                               }) &&
                 !llvm::is_contained(P.Scalars, One.Tensor);
    AffineMap Map = One.Map;
    SmallVector<AffineExpr> Zeros(Map.getNumDims(),
                                  getAffineConstantExpr(0, Map.getContext()));
    bool FromStart = llvm::all_of(
        Map.replaceDimsAndSymbols(Zeros, {}, 0, Map.getNumSymbols())
            .getResults(),
        [](AffineExpr E) { return E == 0; });
    Matrix M;
    if (!IsOnly || !IsNew || !FromStart || !placeMatrix(M, One.Memref))
      continue;
    if (IsLinear(One, /*ByColumn=*/false))
      P.Scalars.push_back(One.Tensor);
    else if (IsLinear(One, /*ByColumn=*/true))
      P.ColumnVectors.push_back({One.Tensor, M.Argument, M.Element});
  }
}

/// Fills in what is read at each element of the result.
static void readResidual(GemmMatch &P, const AccessMaps &Access) {
  Value Tensor, Memref;
  for (const kernels::Access &One : Access.Accesses) {
    if (!One.Tensor || !One.Map.isIdentity())
      continue;
    P.ReadsAtResult = true;
    if (Tensor && Tensor != One.Tensor)
      return;
    Tensor = One.Tensor;
    Memref = One.Memref;
  }
  bool IsOnlyThere =
      Tensor && Memref &&
      llvm::none_of(Tensor.getUsers(), llvm::IsaPred<tensor::ExtractOp>) &&
      llvm::all_of(Access.Accesses, [&](const kernels::Access &One) {
        return One.Tensor != Tensor || One.Map.isIdentity();
      });
  Matrix M;
  if (IsOnlyThere && placeMatrix(M, Memref) &&
      readStrides(M, outputMap(P.C), P.C, P.C.M, P.C.N))
    P.Residual = {Tensor, M};
}

std::optional<GemmMatch> GemmMatch::readD(FusedKernel &Form, Groups How) {
  std::optional<Contraction> C = Contraction::read(Form);
  if (C && How == Groups::Swapped && C->N.Loops.empty() &&
      C->Batch.Loops.size() == 1)
    std::swap(C->N, C->Batch);
  if (!C || C->M.Loops.empty() || C->N.Loops.empty() || C->K.Loops.empty() ||
      Form.Outputs.size() != 1 || !onlyWidens(C->A) || !onlyWidens(C->B))
    return std::nullopt;
  std::optional<RootShape> Shape = RootShape::readWithRotateHalf(Form);
  if (!Shape)
    return std::nullopt;
  Matrix D;
  if (!placeMatrix(D, Form.Outputs[0].Memref))
    return std::nullopt;
  if (How == Groups::Split)
    splitBatches(*C, D);
  GemmMatch P{*C, factsOf(Form.Func), 0, 0, 0, 0, {}, {}, D};
  if (!readSize(C->M, P.M) || !readSize(C->N, P.N) || !readSize(C->K, P.K) ||
      !readSize(C->Batch, P.Batch) ||
      !readStrides(P.D, outputMap(*C), *C, C->M, C->N))
    return std::nullopt;
  readResidual(P, Shape->Access);
  readColumnVectors(P, Shape->Access);
  if (Shape->RotateHalf) {
    std::optional<int64_t> Columns =
        columnsOfHalf(*C, Shape->Parallel[*Shape->RotateHalf]);
    if (!Columns)
      return std::nullopt;
    P.RotateHalf = *Columns;
  }
  return P;
}

std::optional<GemmMatch> GemmMatch::readResult(FusedKernel &Form) {
  std::optional<GemmMatch> P = readD(Form);
  if (P && P->RotateHalf)
    return std::nullopt;
  return P;
}

std::optional<GemmMatch> GemmMatch::readGroupedResult(FusedKernel &Form) {
  std::optional<GemmMatch> P = readD(Form, Groups::Swapped);
  if (P && P->RotateHalf)
    return std::nullopt;
  return P;
}

int64_t divisorOfBatches(const GemmMatch &P, const Matrix &M) {
  int64_t Common = 0;
  for (const BatchDim &Dim : M.Batches)
    Common = std::gcd(Common, P.Facts.divisor(Dim.Stride));
  return Common;
}

bool GemmMatch::isTf32() const {
  if (!A.Element.isF32() || !B.Element.isF32())
    return false;
  linalg::LinalgOp Op = C.R.Op;
  if (auto Gemm = dyn_cast<kernel::GemmOp>(Op.getOperation()))
    return Gemm.getTf32();
  auto Conv = dyn_cast<kernel::ConvOp>(Op.getOperation());
  return Conv && Conv.getTf32();
}

bool GemmMatch::isExactF32() const {
  linalg::LinalgOp Op = C.R.Op;
  return A.Element.isF32() && B.Element.isF32() && !isTf32() &&
         getElementTypeOrSelf(Op->getResultTypes()[0]).isF32();
}

bool GemmMatch::isFp8() const {
  auto Is = [](Type Ty) { return isa<Float8E4M3FNType, Float8E5M2Type>(Ty); };
  return Is(A.Element) && Is(B.Element);
}

bool GemmMatch::promotes() const {
  return isFp8() && schedule::promotesFp8(Facts.range(K).Max);
}

bool GemmMatch::isInt8() const {
  return A.Element.isInteger(8) && B.Element.isInteger(8);
}

Type GemmMatch::accumulatorType() const {
  MLIRContext *Context = A.Element.getContext();
  return isInt8() ? Type(IntegerType::get(Context, 32))
                  : Type(Float32Type::get(Context));
}

bool GemmMatch::hasTensorTypes() const {
  linalg::LinalgOp Op = C.R.Op;
  bool Narrow =
      (A.Element.isF16() || A.Element.isBF16()) && A.Element == B.Element;
  return (Narrow || isTf32() || isFp8() || isInt8()) &&
         getElementTypeOrSelf(Op->getResultTypes()[0]) == accumulatorType();
}

std::string GemmMatch::multipliedTypes() const {
  auto Word = [](Type Ty) {
    std::string Text;
    llvm::raw_string_ostream(Text) << Ty;
    return Text;
  };
  std::string Text =
      "A is of " + Word(A.Element) + " and B of " + Word(B.Element);
  bool IsF32 = A.Element.isF32() && B.Element.isF32();
  return IsF32 ? Text + ", which is not rounded to tf32" : Text;
}

std::optional<GemmMatch> GemmMatch::read(FusedKernel &Form) {
  std::optional<GemmMatch> P = readWithRotateHalf(Form);
  if (P && P->RotateHalf)
    return std::nullopt;
  return P;
}

std::optional<GemmMatch> GemmMatch::readWithRotateHalf(FusedKernel &Form) {
  std::optional<GemmMatch> P = readD(Form, Groups::Split);
  if (!P)
    return std::nullopt;
  const Contraction &C = P->C;
  AffineMap MapA = C.A.Map, MapB = C.B.Map;
  if (!placeOperand(P->A, C.A.Tensor, MapA, /*Picked=*/true) ||
      !placeOperand(P->B, C.B.Tensor, MapB, /*Picked=*/true) ||
      !readStrides(P->A, MapA, C, C.M, C.K) ||
      !readStrides(P->B, MapB, C, C.K, C.N))
    return std::nullopt;
  return P;
}

std::optional<GemmMatch> GemmMatch::readOneTiled(FusedKernel &Form) {
  std::optional<GemmMatch> P = readD(Form);
  if (!P)
    return std::nullopt;
  const Contraction &C = P->C;
  AffineMap MapA = C.A.Map;
  P->Codes = TiledCodes::read(C);
  if (!P->Codes || !placeOperand(P->A, C.A.Tensor, MapA) ||
      !readStrides(P->A, MapA, C, C.M, C.K))
    return std::nullopt;
  return P;
}

/// Whether two matrices lie in memory alike.
static bool haveOneLayout(const Matrix &A, const Matrix &C) {
  auto Alike = [](const BatchDim &One, const BatchDim &Other) {
    return One.Stride == Other.Stride && One.Size == Other.Size &&
           One.Places == Other.Places && !One.Pick && !Other.Pick;
  };
  return A.Element == C.Element && A.RowStride == C.RowStride &&
         A.ColumnStride == C.ColumnStride &&
         llvm::equal(A.Batches, C.Batches, Alike);
}

/// Whether two GEMMs have one A and results of the same sizes.
static bool haveOneLeft(const GemmMatch &P, const GemmMatch &Other) {
  return P.M == Other.M && P.N == Other.N && P.K == Other.K &&
         P.Batch == Other.Batch && P.A.Argument == Other.A.Argument &&
         haveOneLayout(P.A, Other.A);
}

/// Whether two GEMMs read right operands of one layout, of numbers or codes.
static bool haveRightsAlike(const GemmMatch &P, const GemmMatch &Other) {
  return P.Codes && Other.Codes ? P.Codes->isLike(*Other.Codes)
                                : haveOneLayout(P.B, Other.B);
}

std::optional<GemmMatch>
GemmMatch::pairOf(FusedKernel &Form, Forms &Own,
                  std::optional<GemmMatch> (*Read)(FusedKernel &)) {
  Own.First = Form.withRoot(Form.FirstRoot);
  Own.Second = Form.withRoot(Form.Root);
  std::optional<GemmMatch> P = Read(Own.First), Other = Read(Own.Second);
  if (!P || !Other || P->RotateHalf || Other->RotateHalf ||
      !haveOneLeft(*P, *Other) || !haveRightsAlike(*P, *Other))
    return std::nullopt;
  P->Second.emplace(DualGemm{Other->C, Other->B, Other->Codes});
  return P;
}

std::optional<GemmMatch> GemmMatch::readTiled(FusedKernel &Form, Forms &Own) {
  if (!Form.FirstRoot) {
    Own.First = Form;
    return readOneTiled(Own.First);
  }
  return pairOf(Form, Own, readOneTiled);
}

std::optional<GemmMatch> GemmMatch::readAny(FusedKernel &Form, Forms &Own) {
  if (!Form.FirstRoot) {
    Own.First = Form;
    return readWithRotateHalf(Own.First);
  }
  return pairOf(Form, Own, [](FusedKernel &One) { return read(One); });
}

} // namespace kpc::kernels

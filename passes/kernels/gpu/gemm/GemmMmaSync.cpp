//===- GemmMmaSync.cpp - GEMMs on mma.sync --------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A GEMM of 16-bit matrices, of f32 as tf32 or as the sum of two tf32 numbers,
/// or of FP8 or 8-bit integers, on every chip from sm_80 on (FP8 from sm_89
/// on). All threads of a block copy slices of both operands into stages in
/// shared memory (cp.async), a few steps along K ahead. Each warp loads its
/// part of a stage into registers (ldmatrix) and multiplies it (mma.sync). The
/// epilogue works in registers. The result goes through shared memory and is
/// stored in whole pieces of rows. Each block has one tile.
///
///   global A,B ──cp.async──▶ stage 0 … stage S-1 ─ldmatrix, mma.sync──▶
///   registers
///                                                                        │
///   global D ◀──stores── staging, in the stages ◀─stmatrix─── epilogue ◀─┘
///
/// Two GEMMs that share A, whose results are combined element by element (a
/// gated MLP), are one kernel: a warpgroup has columns of the first and then as
/// many of the second. For RoPE, which combines elements of the two halves of a
/// head, a warpgroup has whole heads. In both cases one thread has both
/// accumulators.
///
/// Rows of memory may begin anywhere: pieces have 16, 8, 4 or 2 bytes according
/// to alignment, and 1 byte for 8-bit types.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/KernelFamily.h"
#include "passes/kernels/gpu/gemm/GemmTileWalk.h"
#include "passes/kernels/gpu/gemm/MmaSyncGemm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

namespace {

/// Columns, of which a tile has at least 16: with fewer, a reduction for each
/// reads A in less time.
constexpr int64_t FewestColumns = 3;
/// A reduction has a warp for each row of A, whose lanes are idle where the row
/// is shorter.
constexpr int64_t ShortRow = 128;
/// Products of fewer terms and few columns are transforms of points, for which
/// tf32 would give up digits and save no time.
constexpr int64_t ShortestOfTf32 = 32;

/// Bytes of the largest piece of `M` that each of its lines is aligned to.
int64_t pieceOf(const GemmMatch &P, const Matrix &M, const Expr &Stride) {
  int64_t ElementBytes = M.Element.getIntOrFloatBitWidth() / 8;
  int64_t Elements = 16 / ElementBytes;
  while (Elements > 1 && (P.Facts.divisor(Stride) % Elements ||
                          divisorOfBatches(P, M) % Elements))
    Elements /= 2;
  // What cp.async has no pieces for goes one by one.
  return Elements * ElementBytes < LeastCopyBytes ? ElementBytes
                                                  : Elements * ElementBytes;
}

class GemmMmaSync : public MmaSyncGemm {
public:
  using MmaSyncGemm::MmaSyncGemm;

private:
  /// One operand: lines of `Stride`, each of elements side by side.
  struct Lines {
    Value Stride, Base; ///< Base: of the batch index
    Value Extent;       ///< rows of A, columns of B
  };

  void prepare() override {
    KSize = W.size(P.C.K.Sizes);
    A.AlongK = P.A.ColumnStride == Expr(1);
    B.AlongK = P.B.RowStride == Expr(1) && P.B.ColumnStride != Expr(1);
    open(A, OfA, P.A, A.AlongK ? P.A.RowStride : P.A.ColumnStride, RowCount);
    open(B, OfB, P.B, B.AlongK ? P.B.ColumnStride : P.B.RowStride, ColumnCount);
    if (P.Second) {
      const Matrix &M = P.Second->B;
      SecondB.AlongK = B.AlongK;
      open(SecondB, OfSecond, M, B.AlongK ? M.ColumnStride : M.RowStride,
           ColumnCount);
    }
    if (loadsAhead()) {
      A.RowStride = OfA.Stride;
      B.RowStride = OfB.Stride;
      SecondB.RowStride = OfSecond.Stride;
    }
    int64_t Divisor = P.Facts.divisor(P.K);
    WholeSteps = Divisor % S.TileK == 0;
  }

  void open(Source &From, Lines &Of, const Matrix &M, const Expr &Stride,
            Value Extent) {
    From.Element = M.Element;
    From.Memory =
        flatView(W, Form.Func.getArgument(M.Argument), M.storedElement());
    From.PieceBytes = pieceOf(P, M, Stride);
    Of.Stride = valueOf(W, Form, Stride);
    Of.Base = batchOffset(W, Form, P, M, Batch);
    Of.Extent = Extent;
  }

  Value countK() override { return W.size(P.C.K.Sizes); }
  Piece pieceOfA(Value Row, Value At) override {
    return pieceOfLines(A, OfA, Row, At);
  }
  Piece pieceOfB(Value Column, Value At) override {
    return pieceOfLines(B, OfB, Column, At);
  }
  Piece pieceOfSecondB(Value Column, Value At) override {
    return pieceOfLines(SecondB, OfSecond, Column, At);
  }

  /// Rows of A, columns of B and elements of K beyond the end are zeros. Where
  /// a thread copies elements itself, rows and columns are the last ones again,
  /// so that each load is no branch; they are computed and not stored.
  Piece pieceOfLines(const Source &From, const Lines &Of, Value Mn, Value K) {
    bool IsA = &From == &A;
    const Expr &Size = IsA ? P.M : P.N;
    bool WholeTiles =
        P.Facts.divisor(Size) % (IsA ? S.TileM : resultColumns()) == 0;
    if (!From.AlongK) {
      Value At = W.add(W.add(W.mul(K, Of.Stride), Of.Base), Mn);
      Value Count = WholeTiles ? Value() : countFrom(From, Mn, Of.Extent, Size);
      return {At, WholeSteps ? Count : where(From, W.less(K, KSize), Count)};
    }
    bool Repeats = !From.RowStride && !WholeTiles;
    Value Line = Repeats ? least(Mn, sub(Of.Extent, W.index(1))) : Mn;
    Value At = W.add(W.add(W.mul(Line, Of.Stride), Of.Base), K);
    Value Count = WholeSteps ? Value() : countFrom(From, K, KSize, P.K);
    if (!Repeats && !WholeTiles)
      Count = where(From, isInTile(Mn, IsA ? FirstRow : FirstColumn, Of.Extent),
                    Count);
    return {At, Count};
  }

  /// Whether a row of A, or a column of B, exists. Of 32 bits and with what
  /// changes from step to step, so that no step keeps an answer for each piece
  /// in registers.
  Value isInTile(Value Mn, Value First, Value Extent) {
    Value Left = sub(Extent, First);
    if (Exists)
      Left = arith::SelectOp::create(W.B, W.Loc, Exists, Left, W.index(0));
    Left = least(Left, W.index(std::max(S.TileM, S.TileN)));
    return arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::slt,
                                 toI32(sub(Mn, First)), toI32(Left));
  }

  /// `Count` elements, or all of a piece, where `Exists`; else none.
  Value where(const Source &From, Value Exists, Value Count = {}) {
    return arith::SelectOp::create(W.B, W.Loc, Exists,
                                   Count ? Count : W.index(elementsOf(From)),
                                   W.index(0));
  }

  /// How many elements there are from `At` on, to `End`. A choice of all or
  /// none where pieces are whole: then it takes a predicate, no arithmetic.
  Value countFrom(const Source &From, Value At, Value End, const Expr &Size) {
    int64_t Elements = elementsOf(From);
    if (P.Facts.divisor(Size) % Elements)
      return sub(End, At);
    return where(From, W.less(At, End));
  }

  Lines OfA, OfB, OfSecond;
  Value KSize;
  bool WholeSteps = false;
};

/// The lines of an operand: `M` is contiguous along one of its dimensions.
bool isReadable(const Matrix &M) {
  return M.ColumnStride == Expr(1) || M.RowStride == Expr(1);
}

/// Why mma.sync and cp.async do not do this GEMM; none: they do.
std::optional<schedule::Refusal> refusalOf(const GemmMatch &P,
                                           const target::Target &T) {
  if (std::optional<schedule::Refusal> No = refusalOfMmaSyncTypes(P, T))
    return No;
  if (!isReadable(P.A) || !isReadable(P.B) || P.D.ColumnStride != Expr(1))
    return schedule::Refusal{"", RefusalKind::Layout,
                             "neither rows nor columns of A, B or the result "
                             "are contiguous"};
  if ((P.isInt8() || P.isFp8()) &&
      (P.A.ColumnStride != Expr(1) || P.B.RowStride != Expr(1)))
    return schedule::Refusal{
        "", RefusalKind::Layout,
        "of 8 bits, mma.sync needs K contiguous in A and in B"};
  if ((P.Second || P.RotateHalf) && P.A.Element.getIntOrFloatBitWidth() != 16)
    return schedule::Refusal{"", RefusalKind::ElementType,
                             "gates and RoPE have A and B of 16 bits here"};
  return std::nullopt;
}

schedule::MmaSyncShape shapeOf(const GemmMatch &P) {
  auto Typical = [&](const LoopGroup &Group) {
    return typicalProduct(Group.Sizes, UnknownExtent);
  };
  schedule::MmaSyncShape Shape;
  Shape.M = Typical(P.C.M);
  Shape.Products = P.Second ? 2 : 1;
  Shape.N = Typical(P.C.N) * Shape.Products;
  Shape.K = Typical(P.C.K);
  Shape.Batch = Typical(P.C.Batch);
  Shape.ElementBytes = P.A.Element.getIntOrFloatBitWidth() / 8;
  Shape.ResultBytes = P.D.Element.getIntOrFloatBitWidth() / 8;
  Shape.PieceOfA = pieceOf(
      P, P.A, P.A.ColumnStride == Expr(1) ? P.A.RowStride : P.A.ColumnStride);
  Shape.PieceOfB = pieceOf(
      P, P.B, P.B.ColumnStride == Expr(1) ? P.B.RowStride : P.B.ColumnStride);
  Shape.HasResidual = P.ReadsAtResult;
  Shape.Split = P.isExactF32();
  Shape.IsFp8 = P.isFp8();
  Shape.RotateHalf = P.RotateHalf;
  if (P.Second || P.RotateHalf || Shape.ResultBytes == 1)
    Shape.EpilogueOperations = epilogueOperations(P);
  return Shape;
}

} // namespace

FamilyAnswer queryGemmMmaSync(FusedKernel &Form, const target::Target &T) {
  auto Own = std::make_shared<GemmMatch::Forms>();
  std::optional<GemmMatch> Read = GemmMatch::readAny(Form, *Own);
  if (!Read)
    return FamilyAnswer::refuse(RefusalKind::Form, NoGemm);
  if (std::optional<schedule::Refusal> No = refusalOf(*Read, T))
    return FamilyAnswer::refuse(*No);
  auto P = std::make_shared<GemmMatch>(std::move(*Read));
  schedule::MmaSyncShape Shape = shapeOf(*P);
  // No family of reductions has two GEMMs in one kernel, or RoPE. Others read
  // rows of A again for each column.
  bool IsFused = P->Second || P->RotateHalf;
  int64_t FewestRows = IsFused ? 1 : FewestForMma, Fewest = FewestForMma;
  bool IsShort = Shape.ElementBytes == 4 && Shape.K < ShortestOfTf32;
  if (Shape.ElementBytes > 1 && !IsShort)
    Fewest = Shape.K <= ShortRow && !IsFused ? 1 : FewestColumns;
  if (Shape.M < FewestRows || Shape.N < Fewest)
    return FamilyAnswer::refuse(RefusalKind::Size, TooFewForMma);
  return FamilyAnswer::offer(
      schedule::rankMmaSyncSchedules(Shape, T),
      [Own, P, &T](const schedule::MmaSyncSchedule &S, GpuLaunch &Launch) {
        return GemmMmaSync(Own->First, *P, S, T).emit(Launch);
      },
      [Shape, &T](StringRef Text) {
        return schedule::readMmaSyncSchedule(Text.str(), Shape, T);
      });
}

} // namespace kpc::kernels

//===- GemmMmaScaled.cpp - GEMMs with block scales on mma.sync ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A GEMM of MXFP8, MXFP4 or NVFP4 codes with their scales, on sm_120a and
/// sm_121a. It is that of GemmMmaSync.cpp with bytes along K, and a second pair
/// of rings for words of scales.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/KernelFamily.h"
#include "passes/kernels/gpu/gemm/GemmTileWalk.h"
#include "passes/kernels/gpu/gemm/MmaSyncGemm.h"
#include "passes/kernels/gpu/gemm/ScaledGemm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

namespace {

/// Bytes of the largest piece of lines that begin at multiples of `Stride`.
int64_t pieceOfLines(const shape::Facts &Facts, const Expr &Stride) {
  int64_t Piece = 16;
  while (Piece > WordBytes && Facts.divisor(Stride) % Piece)
    Piece /= 2;
  return Facts.divisor(Stride) % Piece ? 1 : Piece;
}

class GemmMmaScaled : public MmaSyncGemm {
public:
  GemmMmaScaled(FusedKernel &Form, ScaledGemm &G,
                const schedule::MmaSyncSchedule &S, const target::Target &T)
      : MmaSyncGemm(Form, G.P, S, T), G(G) {}

private:
  /// Words of scales of rows of A or columns of B, as their codes are copied.
  struct Scales {
    Value Memory, Ring;
    Value Stride, Length; ///< bytes from word to word, and of one of all rows
    int64_t Extent = 0, PieceBytes = WordBytes;
  };

  int64_t wordsOfStage() const {
    return S.TileK / bytesOfScale(G.Format) / WordBytes;
  }

  void prepare() override {
    KSize = countK();
    A.AlongK = B.AlongK = true;
    open(A, G.P.A, StrideA);
    open(B, G.P.B, StrideB);
    WholeSteps = P.Facts.divisor(G.KBytes) % S.TileK == 0;
    openScales(OfA, G.ScalesOfA, P.M, G.StrideOfA, S.TileM);
    openScales(OfB, G.ScalesOfB, P.N, G.StrideOfB, S.TileN);
    Last =
        sub(W.ceilDiv(KSize, bytesOfScale(G.Format) * WordBytes), W.index(1));
  }

  void open(Source &From, const Matrix &M, Value &Stride) {
    bool IsFp8 = G.Format == tile::BlockFormat::Mxfp8;
    From.Element =
        IsFp8 ? M.Element
              : IntegerType::get(W.B.getContext(), 8, IntegerType::Unsigned);
    From.Memory =
        flatView(W, Form.Func.getArgument(M.Argument), M.storedElement());
    From.PieceBytes = pieceOfLines(P.Facts, M.RowStride);
    Stride = valueOf(W, Form, M.RowStride);
  }

  void openScales(Scales &Of, unsigned Argument, const Expr &Rows,
                  const Expr &Stride, int64_t Extent) {
    Of.Memory = flatView(W, Form.Func.getArgument(Argument), W.B.getI8Type());
    Of.Stride = valueOf(W, Form, Stride);
    Of.Length = valueOf(W, Form, Rows * Expr(WordBytes));
    Of.Extent = Extent;
    Of.PieceBytes = std::max(WordBytes, pieceOfLines(P.Facts, Stride));
    Type Byte = IntegerType::get(W.B.getContext(), 8, IntegerType::Unsigned);
    Of.Ring = tile::AllocOp::create(
        W.B, W.Loc,
        tile::SharedType::get(W.B.getContext(),
                              {wordsOfStage() * S.Stages, Extent * WordBytes},
                              Byte, /*swizzle=*/0));
  }

  Value countK() override { return valueOf(W, Form, G.KBytes); }

  Piece pieceOfA(Value Row, Value At) override {
    return pieceOf(Row, At, StrideA, RowCount);
  }
  Piece pieceOfB(Value Column, Value At) override {
    return pieceOf(Column, At, StrideB, ColumnCount);
  }

  /// Rows beyond the end are the last one again; beyond the sum there are
  /// zeros, whatever their scales.
  Piece pieceOf(Value Mn, Value K, Value Stride, Value Extent) {
    Value Line = least(Mn, sub(Extent, W.index(1)));
    Value At = W.add(W.mul(Line, Stride), K);
    return {At, WholeSteps ? Value() : sub(KSize, K)};
  }

  Value stageOfScales(const Scales &Of, Value Stage) {
    auto Ring = cast<tile::SharedType>(Of.Ring.getType());
    auto Part = tile::SharedType::get(W.B.getContext(),
                                      {wordsOfStage(), Ring.getColumns()},
                                      Ring.getElement(), 0, Ring.getPitch());
    return tile::SubviewRowsOp::create(W.B, W.Loc, Part, Of.Ring,
                                       W.mul(Stage, W.index(wordsOfStage())));
  }

  void fillMore(Value Stage, Value Step) override {
    Value Word = W.B.createOrFold<arith::DivUIOp>(
        W.Loc, Step, W.index(bytesOfScale(G.Format) * WordBytes));
    fillScales(OfA, Stage, Word, FirstRow);
    fillScales(OfB, Stage, Word, FirstColumn);
  }

  void fillScales(const Scales &Of, Value Stage, Value FirstWord,
                  Value FirstMn) {
    Source From;
    From.Memory = Of.Memory;
    From.PieceBytes = Of.PieceBytes;
    Value First = W.mul(FirstMn, W.index(WordBytes));
    gather(From, stageOfScales(Of, Stage), [&](Value Row, Value Byte) {
      // Words beyond the last one are that again: their codes are zeros.
      Value Word = least(W.add(FirstWord, Row), Last);
      Value InLine = W.add(First, Byte);
      return Piece{W.add(W.mul(Word, Of.Stride), InLine),
                   sub(Of.Length, InLine)};
    });
  }

  Value multiplyTiles(Value Stage, const Factors &Of, Value Acc,
                      tile::Tf32) override {
    return tile::MmaScaledOp::create(
        W.B, W.Loc, Acc.getType(), G.Format, Of.Left, stageOfScales(OfA, Stage),
        Of.Right, stageOfScales(OfB, Stage), Of.FirstOfA, Of.FirstOfB, Acc);
  }
  bool loadsAhead() const override { return false; }

  ScaledGemm &G;
  Scales OfA, OfB;
  Value KSize, StrideA, StrideB, Last;
  bool WholeSteps = false;
};

schedule::MmaSyncShape shapeOf(const ScaledGemm &G) {
  auto Typical = [&](const LoopGroup &Group) {
    return typicalProduct(Group.Sizes, UnknownExtent);
  };
  schedule::MmaSyncShape Shape;
  Shape.M = Typical(G.P.C.M);
  Shape.N = Typical(G.P.C.N);
  bool IsFp8 = G.Format == tile::BlockFormat::Mxfp8;
  Shape.K = Typical(G.P.C.K) / (IsFp8 ? 1 : 2);
  Shape.ElementBytes = 1;
  Shape.ResultBytes = G.P.D.Element.getIntOrFloatBitWidth() / 8;
  Shape.PieceOfA = pieceOfLines(G.P.Facts, G.P.A.RowStride);
  Shape.PieceOfB = pieceOfLines(G.P.Facts, G.P.B.RowStride);
  Shape.HasResidual = G.P.ReadsAtResult;
  Shape.BytesOfScale = bytesOfScale(G.Format);
  Shape.IsFp8 = IsFp8;
  return Shape;
}

} // namespace

FamilyAnswer queryGemmMmaScaled(FusedKernel &Form, const target::Target &T) {
  std::optional<ScaledGemm> Read = ScaledGemm::read(Form);
  if (!Read)
    return FamilyAnswer::refuse(RefusalKind::Form, NoScaledGemm);
  if (!(T.Can.MmaSync & target::MmaBlockScaled))
    return FamilyAnswer::refuse(
        RefusalKind::Target,
        "mma.sync has block scales on sm_120a and sm_121a");
  if (Read->InPanels)
    return FamilyAnswer::refuse(RefusalKind::Layout,
                                "its scales lie in panels, as tcgen05 reads "
                                "them");
  if (!Read->P.hasStoredType())
    return FamilyAnswer::refuse(RefusalKind::ElementType,
                                "its result has a type that the kernel does "
                                "not store");
  if (Read->P.D.ColumnStride != Expr(1))
    return FamilyAnswer::refuse(RefusalKind::Layout,
                                "the result's columns are not contiguous");
  auto G = std::make_shared<ScaledGemm>(std::move(*Read));
  schedule::MmaSyncShape Shape = shapeOf(*G);
  if (Shape.M < FewestForMma || Shape.N < FewestForMma)
    return FamilyAnswer::refuse(RefusalKind::Size, TooFewForMma);
  return FamilyAnswer::offer(
      schedule::rankMmaSyncSchedules(Shape, T),
      [&Form, G, &T](const schedule::MmaSyncSchedule &S, GpuLaunch &Launch) {
        return GemmMmaScaled(Form, *G, S, T).emit(Launch);
      },
      [Shape, &T](StringRef Text) {
        return schedule::readMmaSyncSchedule(Text.str(), Shape, T);
      });
}

} // namespace kpc::kernels

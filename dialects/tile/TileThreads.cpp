//===- TileThreads.cpp - Verifiers of copies and products of threads ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/tile/Tile.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace kpc::tile;

/// Pieces of a tile's rows, and the block that tells where they are.
static LogicalResult verifyPieces(Operation *Op, SharedType Tile,
                                  MemRefType Memory, int64_t Bytes,
                                  Region &Region) {
  Block &Body = Region.front();
  // Integers in memory have no sign, and codes of 8 bits are integers there.
  Type Element = Tile.getElement();
  if (isa<IntegerType>(Element) || Tile.getElementBits() == 8)
    Element = IntegerType::get(Op->getContext(), Tile.getElementBits());
  if (Memory.getRank() != 1 || Memory.getElementType() != Element)
    return Op->emitOpError(
        "expected a memref of one dimension and of the tile's element type");
  int64_t ElementBytes = Tile.getElementBits() / 8;
  if (!llvm::is_contained({1, 2, 4, 8, 16}, Bytes) || Bytes < ElementBytes)
    return Op->emitOpError() << "expected pieces of 1, 2, 4, 8 or 16 bytes and "
                                "of an element at least, got "
                             << Bytes;
  // A thread copies single elements, not several of less than 4 bytes.
  if (Bytes < 4 && Bytes != ElementBytes && isa<CpAsyncOp>(Op))
    return Op->emitOpError()
           << "expected pieces of 4, 8 or 16 bytes, or of one "
              "element, got "
           << Bytes;
  // Scales and images lie in plain rows.
  auto Copy = dyn_cast<CpAsyncOp>(Op);
  int64_t Columns = Copy ? Copy.getColumns() : 0;
  bool ArePlain = Columns || (Copy && Tile.getElementBits() == 8);
  if (!Tile.getSwizzle() && !(ArePlain && Tile.isPlain()))
    return Op->emitOpError("expected a swizzled tile");
  if (Columns && (!Tile.isPlain() || Columns > Tile.getColumns() ||
                  Columns * ElementBytes % Bytes))
    return Op->emitOpError()
           << "expected whole pieces within a plain row of "
           << Tile.getColumns() << " columns, got " << Columns;
  auto Role = Op->getParentOfType<RoleOp>();
  bool IsOfWarpgroup =
      Copy ? Copy.getWarpgroup() : cast<StoreGlobalOp>(Op).getWarpgroup();
  if (IsOfWarpgroup && !(Role && isOfWarpgroups(Role)))
    return Op->emitOpError(
        "with 'warpgroup' expected in a role of whole warpgroups");
  if (!IsOfWarpgroup && Role)
    return Op->emitOpError(
        "expected outside of roles: all threads of the block take part");
  if (Body.getNumArguments() != 2 ||
      !llvm::all_of(Body.getArgumentTypes(),
                    [](Type Ty) { return Ty.isIndex(); }))
    return Op->emitOpError("expected a block with a piece's row and column");
  if (!isa<YieldAddressOp>(Body.getTerminator()))
    return Op->emitOpError(
        "expected a block that ends in 'tile.yield_address'");
  return success();
}

LogicalResult CpAsyncOp::verify() {
  return verifyPieces(*this, getTile().getType(),
                      cast<MemRefType>(getMemory().getType()),
                      int32_t(getBytes()), getBody());
}

LogicalResult StoreGlobalOp::verify() {
  return verifyPieces(*this, getTile().getType(),
                      cast<MemRefType>(getMemory().getType()),
                      int32_t(getBytes()), getBody());
}

LogicalResult CpAsyncWaitOp::verify() {
  if (int32_t(getInFlight()) >= 0)
    return success();
  return emitOpError() << "expected 0 or more groups in flight, got "
                       << int32_t(getInFlight());
}

/// What mma.sync asks of operands, more than all products do; `Tile`: that of
/// a, where it is in shared memory.
static LogicalResult verifySyncFactors(Operation *Op, const TileFactor &A,
                                       const TileFactor &B, SharedType Tile,
                                       Tf32 As) {
  if (failed(verifyFactors(Op, A, B)))
    return failure();
  if (B.Element.getIntOrFloatBitWidth() == 8 &&
      !(A.SumContiguous && B.SumContiguous))
    return Op->emitOpError() << "on " << A.Element
                             << " expected both operands contiguous along K";
  if (As != Tf32::Rounded && !A.Element.isF32())
    return Op->emitOpError() << "expected operands of f32 with '"
                             << stringifyTf32(As) << "', got " << A.Element;
  if (!A.SumContiguous && Tile.getSwizzle() != 128)
    return Op->emitOpError(
        "expected a swizzle of 128 bytes for a transposed a");
  if (A.Outer % 64 || B.Outer % 16)
    return Op->emitOpError()
           << "expected an M that is a multiple of 64 and an N of 16, got "
           << A.Outer << " and " << B.Outer;
  return success();
}

LogicalResult MmaSyncOp::verify() {
  if (failed(verifyWgmmaLayout(*this)))
    return failure();
  if (getATransposed() && isa<PackedType>(getA().getType()))
    return emitOpError("expected a packed operand without 'transposed'");
  TileFactor A = leftFactor(getA().getType(), getATransposed());
  TileFactor B = rightFactor(getB().getType(), getBTransposed());
  FragmentType D = getD().getType();
  if (failed(verifyFactors(*this, A, B)))
    return failure();
  if (D.getElement() != accumulatorOf(A.Element))
    return emitOpError() << "expected accumulators of "
                         << accumulatorOf(A.Element) << ", got "
                         << D.getElement();
  if (isa<PackedType>(getA().getType()) && A.Element.isF32() && B.SumContiguous)
    return emitOpError("expected a b without 'transposed' beside packed f32");
  if (getPromoted() && !isa<Float8E4M3FNType, Float8E5M2Type>(A.Element))
    return emitOpError() << "expected operands of FP8 beside 'promoted', got "
                         << A.Element;
  if (failed(verifySyncFactors(
          *this, A, B, dyn_cast<SharedType>(getA().getType()), getTf32())))
    return failure();
  int64_t M = A.Outer, N = B.Outer;
  if (D.getRows() != M || D.getColumns() != N)
    return emitOpError() << "expected a result of " << M << " rows and " << N
                         << " columns, got " << D.getRows() << " and "
                         << D.getColumns();
  return success();
}

LogicalResult LoadFactorsOp::verify() {
  TileFactor A = leftFactor(getA().getType(), getATransposed());
  TileFactor B = rightFactor(getB().getType(), getBTransposed());
  if (failed(verifySyncFactors(*this, A, B, getA().getType(), getTf32())))
    return failure();
  if (getTf32() == Tf32::Split)
    return emitOpError("expected factors that are not 'split'");
  int64_t Steps = A.Sum * int64_t(A.Element.getIntOrFloatBitWidth()) / 256;
  if (getStep() >= Steps)
    return emitOpError() << "expected a step less than " << Steps << ", got "
                         << getStep();
  FactorsType To = getFactors().getType();
  if (To.getRows() != A.Outer || To.getColumns() != B.Outer ||
      To.getA() != A.Element || To.getB() != B.Element)
    return emitOpError()
           << "expected a result of the operands' rows, columns and types, got "
           << To;
  return success();
}

LogicalResult MmaFactorsOp::verify() {
  if (failed(verifyWgmmaLayout(*this)))
    return failure();
  FactorsType From = getFactors().getType();
  FragmentType D = getD().getType();
  if (D.getShape() != From.getShape() ||
      D.getElement() != accumulatorOf(From.getA()))
    return emitOpError() << "expected a result of the factors' rows and "
                            "columns, of "
                         << accumulatorOf(From.getA()) << ", got " << D;
  return success();
}

/// The image has what the taps of all places see, and nothing else.
static LogicalResult verifyPlaces(MmaWindowOp Op) {
  int64_t Width = Op.getWidth(), Lines = Op.getLines();
  int64_t Reach[2];
  for (unsigned I = 0; I < 2; ++I)
    Reach[I] = (Op.getTaps()[I] - 1) * Op.getDilations()[I] + 1;
  // Pixels in which the last one's channels go on.
  Reach[1] +=
      (int64_t(Op.getChannels()) - 1) / Op.getImage().getType().getColumns();
  constexpr int64_t Group = 16;
  int64_t Places = (Width - Reach[1]) / Op.getStrides()[1] + 1;
  int64_t Below = Op.getD().getType().getRows() / 64;
  if (Width < Reach[1] || (Width - Reach[1]) % Op.getStrides()[1] ||
      Places % Group)
    return Op.emitOpError() << "expected a width of pixels for a multiple of "
                            << Group << " places, got " << Width;
  if (Lines < 1 || Lines % Below)
    return Op.emitOpError() << "expected lines that are a multiple of the "
                            << Below << " of a warp, got " << Lines;
  if (Op.getD().getType().getRows() != Lines * Places)
    return Op.emitOpError() << "expected a result of " << Lines * Places
                            << " rows, the places of all lines, got "
                            << Op.getD().getType().getRows();
  int64_t Pixels = ((Lines - 1) * Op.getStrides()[0] + Reach[0]) * Width;
  if (Op.getImage().getType().getRows() == Pixels)
    return success();
  return Op.emitOpError() << "expected an image of " << Pixels
                          << " pixels, got "
                          << Op.getImage().getType().getRows();
}

LogicalResult MmaWindowOp::verify() {
  if (failed(verifyWgmmaLayout(*this)))
    return failure();
  SharedType Image = getImage().getType(), Filter = getFilter().getType();
  FragmentType D = getD().getType();
  Type Element = Image.getElement();
  if (!(Element.isF16() || Element.isBF16()) || Filter.getElement() != Element)
    return emitOpError() << "expected an image and a filter of f16 or of bf16, "
                            "got "
                         << Element << " and " << Filter.getElement();
  for (ArrayRef<int64_t> Each : {getTaps(), getStrides(), getDilations()})
    if (Each.size() != 2 || Each[0] < 1 || Each[1] < 1)
      return emitOpError("expected two taps, strides and dilations of 1 or "
                         "more");
  int64_t Channels = getChannels(), Sum = getTaps()[0] * getTaps()[1] *
                                          int64_t(llvm::alignTo(Channels, 8));
  // ldmatrix reads 16 bytes of a row; a step of the filter has 16 rows.
  if (!Image.isPlain() || Image.getColumns() % 8)
    return emitOpError("expected plain rows of an image of a multiple of 8 "
                       "columns");
  bool GoesOn = Channels > Image.getColumns();
  if (GoesOn
          ? getTaps()[1] != 1 || Image.getRowBytes() != Image.getColumns() * 2
          : Channels < 8 || Channels % 8)
    return emitOpError("expected a multiple of 8 channels, or more than an "
                       "image's row has, with one tap in a line and no bytes "
                       "between rows");
  if (!Filter.getSwizzle() || Filter.getRows() != Sum || Sum < 16 ||
      Filter.getColumns() % 16)
    return emitOpError() << "expected a swizzled filter of " << Sum
                         << " rows, 16 at least, and of a multiple of 16 "
                            "columns";
  if (!D.getElement().isF32() || D.getColumns() != Filter.getColumns())
    return emitOpError() << "expected a result of f32 with the filter's "
                         << Filter.getColumns() << " columns, got " << D;
  return verifyPlaces(*this);
}

/// The scales of `Rows` rows of `Bytes` bytes each.
static LogicalResult verifyScales(MmaScaledOp Op, SharedType Scales,
                                  int64_t Rows, int64_t Bytes) {
  constexpr int64_t StepBytes = 32, PerWord = 4;
  int64_t Words = Bytes / StepBytes * Op.getScalesPerStep() / PerWord;
  if (!Scales.getElement().isUnsignedInteger(8) || !Scales.isPlain())
    return Op.emitOpError("expected scales as bytes, without a swizzle");
  if (Scales.getRows() != Words || Scales.getColumns() < PerWord * Rows)
    return Op.emitOpError()
           << "expected scales of " << Words << " words for at least " << Rows
           << " rows, got " << Scales.getRows() << " for "
           << Scales.getColumns() / PerWord;
  return success();
}

LogicalResult kpc::tile::verifyCodes(Operation *Op, SharedType A, SharedType B,
                                     BlockFormat Format) {
  bool IsFp8 = Format == BlockFormat::Mxfp8;
  for (Type Element : {A.getElement(), B.getElement()}) {
    bool Fits = IsFp8 ? isa<Float8E4M3FNType, Float8E5M2Type>(Element)
                      : Element.isUnsignedInteger(8);
    if (!Fits)
      return Op->emitOpError()
             << "expected " << (IsFp8 ? "codes of FP8" : "bytes of two codes")
             << ", got " << Element;
  }
  if (!A.getSwizzle() || !B.getSwizzle())
    return Op->emitOpError("expected swizzled tiles");
  constexpr int64_t StepBytes = 32, PerWord = 4;
  int64_t Whole = StepBytes * PerWord / scalesPerStep(Format);
  if (A.getColumns() == B.getColumns() && A.getColumns() % Whole == 0)
    return success();
  return Op->emitOpError() << "expected one number of bytes along K in both "
                              "operands, a multiple of "
                           << Whole << ", got " << A.getColumns() << " and "
                           << B.getColumns();
}

LogicalResult MmaScaledOp::verify() {
  if (failed(verifyWgmmaLayout(*this)))
    return failure();
  SharedType A = getA().getType(), B = getB().getType();
  FragmentType D = getD().getType();
  int64_t Bytes = A.getColumns(), M = A.getRows(), N = B.getRows();
  if (failed(verifyCodes(*this, A, B, getFormat())))
    return failure();
  if ((M != 64 && M % 128) || N % 32)
    return emitOpError()
           << "expected an M of 64 or a multiple of 128, and an N "
              "that is one of 32, got "
           << M << " and " << N;
  if (D.getRows() != M || D.getColumns() != N || !D.getElement().isF32())
    return emitOpError() << "expected a result of " << M << " rows and " << N
                         << " columns of f32, got " << D;
  if (failed(verifyScales(*this, getAScales().getType(), M, Bytes)))
    return failure();
  return verifyScales(*this, getBScales().getType(), N, Bytes);
}

LogicalResult AnyNanOp::verify() {
  if (!getFragment().getType().getElement().isF32())
    return emitOpError() << "expected elements of f32, got "
                         << getFragment().getType().getElement();
  if (getOperation()->getParentOfType<RoleOp>())
    return emitOpError("expected to be outside of roles: all threads of the "
                       "block meet");
  return success();
}

LogicalResult LoadPackedOp::verify() {
  SharedType From = getTile().getType();
  PackedType To = getPacked().getType();
  if (From.getShape() != To.getShape() || From.getElement() != To.getElement())
    return emitOpError(
        "expected a result of the tile's shape and element type");
  if (From.getElementBits() != 16 || !From.getSwizzle() ||
      From.getRows() % 64 || From.getColumns() % 16)
    return emitOpError("expected a swizzled tile of 16-bit elements, a "
                       "multiple of 64 rows and of 16 columns");
  return success();
}

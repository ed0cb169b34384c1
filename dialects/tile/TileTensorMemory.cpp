//===- TileTensorMemory.cpp - Verifiers of tensor memory ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/layout/InstructionShapes.h"
#include "dialects/tile/Tile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::tile;

/// The fewest columns that can be had.
static constexpr int64_t FewestColumns = 32;

//===----------------------------------------------------------------------===//
// Taking and giving back
//===----------------------------------------------------------------------===//

/// All threads come by: in the entry block, behind or in front of
/// `tile.barrier_init` and roles.
static LogicalResult verifyInKernel(Operation *Op) {
  auto Kernel = dyn_cast<gpu::GPUFuncOp>(Op->getParentOp());
  if (!Kernel || Op->getBlock() != &Kernel.getBody().front())
    return Op->emitOpError("expected in the entry block of a kernel");
  for (Operation *Before = Op->getPrevNode(); Before;
       Before = Before->getPrevNode())
    if (isa<BarrierInitOp>(Before))
      return success();
  return Op->emitOpError("expected after a 'tile.barrier_init'");
}

LogicalResult TmemAllocOp::verify() {
  if (failed(verifyInKernel(*this)))
    return failure();
  int64_t Columns = getMemory().getType().getWords();
  if (Columns < FewestColumns || !llvm::isPowerOf2_64(Columns))
    return emitOpError() << "expected a power of two of columns, at least "
                         << FewestColumns << ", got " << Columns;
  unsigned Frees = llvm::count_if(getMemory().getUsers(), [](Operation *User) {
    return isa<TmemFreeOp>(User);
  });
  if (Frees != 1)
    return emitOpError() << "expected exactly one 'tile.tmem_free', got "
                         << Frees;
  // Each looks at those before it: the last one sees all.
  int64_t Taken = Columns;
  for (auto Other : (*this)->getBlock()->getOps<TmemAllocOp>()) {
    if (Other == *this)
      break;
    Taken += Other.getMemory().getType().getWords();
    if (Other.getPair() != getPair())
      return emitOpError("expected all of a kernel's to be of pairs, or none");
  }
  if (Taken > TensorMemoryColumns)
    return emitOpError() << "expected at most " << TensorMemoryColumns
                         << " columns in a block, got " << Taken;
  return success();
}

LogicalResult TmemFreeOp::verify() {
  if (failed(verifyInKernel(*this)))
    return failure();
  if (getMemory().getDefiningOp<TmemAllocOp>())
    return success();
  return emitOpError("expected what a 'tile.tmem_alloc' gave");
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

layout::ElementType kpc::tile::tensorMemoryFactor(Type Element) {
  if (Element.isF16())
    return layout::ElementType::F16;
  if (Element.isBF16())
    return layout::ElementType::BF16;
  if (isa<Float8E4M3FNType>(Element))
    return layout::ElementType::E4M3;
  if (isa<Float8E5M2Type>(Element))
    return layout::ElementType::E5M2;
  return layout::ElementType::TF32;
}

/// What a product writes are sums, of a stage that nobody reads yet.
static LogicalResult verifyD(Operation *Op, Value D) {
  if (Type Element = cast<TensorMemoryType>(D.getType()).getElement();
      !Element.isF32())
    return Op->emitOpError() << "expected a d of f32, got " << Element;
  auto Tiles = D.getDefiningOp<TilesOp>();
  if (!Tiles || Tiles.getStage().getType().getState() == StageState::Free)
    return success();
  return Op->emitOpError("expected a d of a free stage, got a full one");
}

/// One thread begins what tensor cores do.
static LogicalResult verifyElected(Operation *Op) {
  if (Op->getParentOfType<ElectOp>())
    return success();
  return Op->emitOpError("expected in 'tile.elect': one thread begins it");
}

/// A product's shape, M and N those of all blocks.
static LogicalResult verifyShape(Operation *Op, int64_t Blocks, int64_t M,
                                 int64_t N, bool Fits) {
  // With 128 rows a block, columns come by 16 (PTX ISA, tcgen05.mma, shapes).
  if (M == TensorMemoryRows * Blocks && N % 16 == 0 && Fits)
    return success();
  return Op->emitOpError() << "expected an M of " << TensorMemoryRows * Blocks
                           << " and an N that is a multiple of 16 up to 256, "
                              "got "
                           << M << " and " << N;
}

LogicalResult TmemMmaOp::verify() {
  TileFactor A = leftFactor(getA().getType(), getATransposed());
  TileFactor B = rightFactor(getB().getType(), getBTransposed());
  TensorMemoryType D = getD().getType();
  if (failed(verifyFactors(*this, A, B)))
    return failure();
  if (A.Element.isInteger())
    return emitOpError() << "expected floats, whose sums tensor memory holds, "
                            "got "
                         << A.Element;
  if (A.Element.getIntOrFloatBitWidth() != 16 &&
      !(A.SumContiguous && B.SumContiguous))
    return emitOpError() << "on " << A.Element
                         << " expected both operands contiguous along K";
  if (isa<TensorMemoryType>(getA().getType()) &&
      (getATransposed() || getPair() ||
       A.Element.getIntOrFloatBitWidth() != 16))
    return emitOpError("expected an a of 16 bits in tensor memory, without "
                       "'transposed' and 'pair'");
  int64_t M = A.Outer, N = B.Outer, Blocks = getPair() ? 2 : 1;
  int64_t Step = 256 / int64_t(A.Element.getIntOrFloatBitWidth());
  const layout::InstructionShape *Shape = layout::findShape(
      getPair() ? layout::MatrixInstruction::Tcgen05Pair
                : layout::MatrixInstruction::Tcgen05,
      tensorMemoryFactor(A.Element), tensorMemoryFactor(B.Element),
      layout::ElementType::F32, Step);
  bool Fits = Shape && Shape->allows(M * Blocks, N * Blocks, Step);
  if (failed(verifyShape(*this, Blocks, M * Blocks, N * Blocks, Fits)))
    return failure();
  if (D.getColumns() != N * Blocks)
    return emitOpError() << "expected a d of " << N * Blocks << " columns, got "
                         << D.getColumns();
  if (failed(verifyElected(*this)))
    return failure();
  return verifyD(*this, getD());
}

//===----------------------------------------------------------------------===//
// Products with block scales
//===----------------------------------------------------------------------===//

LogicalResult TmemPartOp::verify() {
  int64_t Whole = getMemory().getType().getWords(),
          Part = getPart().getType().getWords();
  if (Part <= Whole)
    return success();
  return emitOpError() << "expected at most the " << Whole
                       << " columns of the memory, got " << Part;
}

/// Columns that the words of 128 rows take, one of each row, and their bytes.
static constexpr int64_t WordColumns = 4, WordBytes = 512;

LogicalResult TmemCopyOp::verify() {
  SharedType From = getScales().getType();
  TensorMemoryType To = getMemory().getType();
  if (!From.getElement().isUnsignedInteger(8) || !From.isPlain() ||
      From.getPitch() != From.getRows())
    return emitOpError("expected scales as bytes, all of a tile without a "
                       "swizzle");
  if (!To.getElement().isUnsignedInteger(32))
    return emitOpError() << "expected tensor memory of ui32, got "
                         << To.getElement();
  int64_t Panels = int32_t(getPanels()), Columns = To.getColumns();
  if (Panels < 1 || Columns % (WordColumns * Panels))
    return emitOpError() << "expected " << WordColumns
                         << " columns for each of 1 or more panels, got "
                         << Columns << " for " << Panels;
  if (From.getBytes() != Columns / WordColumns * WordBytes)
    return emitOpError() << "expected " << Columns / WordColumns * WordBytes
                         << " bytes of scales, got " << From.getBytes();
  return verifyElected(*this);
}

/// The words of `Rows` rows with `Bytes` of codes each.
static LogicalResult verifyWords(TmemMmaScaledOp Op, TensorMemoryType Scales,
                                 int64_t Rows, int64_t Bytes) {
  int64_t Panels = llvm::divideCeil(Rows, TensorMemoryRows),
          Columns = scaleWords(Op.getFormat(), Bytes) * Panels * WordColumns;
  if (Scales.getElement().isUnsignedInteger(32) &&
      Scales.getColumns() == Columns)
    return success();
  return Op.emitOpError() << "expected scales of ui32 in " << Columns
                          << " columns for " << Rows << " rows, got " << Scales;
}

LogicalResult TmemMmaScaledOp::verify() {
  SharedType A = getA().getType(), B = getB().getType();
  int64_t Bytes = A.getColumns(), Blocks = getPair() ? 2 : 1,
          M = A.getRows() * Blocks, N = B.getRows() * Blocks;
  if (failed(verifyCodes(*this, A, B, getFormat())))
    return failure();
  if (failed(verifyShape(*this, Blocks, M, N, /*Fits=*/N <= 256)))
    return failure();
  if (getD().getType().getColumns() != N)
    return emitOpError() << "expected a d of " << N << " columns, got "
                         << getD().getType().getColumns();
  if (failed(verifyWords(*this, getAScales().getType(), A.getRows(), Bytes)) ||
      failed(verifyWords(*this, getBScales().getType(), N, Bytes)) ||
      failed(verifyElected(*this)))
    return failure();
  return verifyD(*this, getD());
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// Of four warps each reaches the rows of its own number alone.
static LogicalResult verifyByWarpgroup(Operation *Op) {
  auto Role = Op->getParentOfType<RoleOp>();
  if (Role && isOfWarpgroups(Role) && !Op->getParentOfType<ElectOp>())
    return success();
  return Op->emitOpError(
      "expected in a role of whole warpgroups: each warp reaches 32 rows");
}

static LogicalResult verifyMoved(Operation *Op, FragmentType Fragment,
                                 TensorMemoryType Memory) {
  if (Fragment.getColumns() <= Memory.getColumns())
    return verifyByWarpgroup(Op);
  return Op->emitOpError() << "expected at most the " << Memory.getColumns()
                           << " columns of the memory, got "
                           << Fragment.getColumns();
}

LogicalResult TmemLoadOp::verify() {
  if (!getFragment().hasOneUse())
    return emitOpError()
           << "expected exactly one use of the pending fragment, got "
           << std::distance(getFragment().use_begin(), getFragment().use_end());
  auto Tiles = getMemory().getDefiningOp<TilesOp>();
  if (Tiles && Tiles.getStage().getType().getState() == StageState::Free)
    return emitOpError("expected a full stage, got a free one");
  FragmentType To = getFragment().getType().getFragment();
  TensorMemoryType From = getMemory().getType();
  if (!To.isTmemLayout() || !To.getElement().isF32() ||
      !From.getElement().isF32())
    return emitOpError("expected a fragment of f32 in the layout tmem_32x32b");
  return verifyMoved(*this, To, From);
}

LogicalResult TmemStoreOp::verify() {
  FragmentType From = getFragment().getType();
  TensorMemoryType To = getMemory().getType();
  if (!From.isTmemLayout() || To.getElement().isInteger() ||
      From.getElement() != To.getElement())
    return emitOpError("expected a fragment of the memory's floats in the "
                       "layout tmem_32x32b");
  return verifyMoved(*this, From, To);
}

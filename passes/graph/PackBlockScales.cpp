//===- PackBlockScales.cpp - Codes as scaled products read them -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %x = graph.dequantise %cx scales %sx blocks [1, 32]
///   %w = graph.dequantise %cw scales %sw blocks [32, 1]
///   %y = graph.matmul %x, %w
///     →  %a = graph.dequantise_blocks mxfp8 %cx scales words(%sx)
///        %b = graph.dequantise_blocks mxfp8 %cw' scales words(%sw') turned
///        %y = graph.matmul %a, %b
///
/// Where tensor cores multiply codes with their scales. Codes become
/// contiguous along K, FP4 two in a byte, and scales words of four blocks: of
/// weights when compiling. A factor of all numbers becomes one of the result.
/// For tcgen05, words lie in panels of 128 rows, so that TMA and tcgen05.cp
/// copy them as they are.
///
/// wgmma multiplies codes of FP8 whose scales are f32, of 128 elements of K
/// (`floats`): of each row of x, and of each column of w or of each 128.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/graph/CodeProducts.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_PACKBLOCKSCALES
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

constexpr int64_t ScalesOfWord = 4;
/// Rows of a weight of FP8 that share a scale, and elements of K that do.
constexpr int64_t RowsOfScale = 128;

/// An operand [M, K] or [K, N] that is codes with a scale for each block of K.
struct Operand {
  DequantiseOp Op;
  BlockKind Kind = BlockKind::mxfp8;
  double Factor = 1; ///< of all numbers
  /// The scales, without a second one that is a scalar: null, there is none.
  Value Scales, Second;
  /// Whether K is the last dim of what is dequantised.
  bool KLast = true;
  /// Of FP8: 128 rows have the same scale.
  bool SharesRows = false;
};

std::optional<BlockKind> kindOf(Type Code, Type Scale, int64_t Block) {
  if (isFp8(Code) && isFloat(Scale) && Block == RowsOfScale)
    return BlockKind::fp8;
  bool ArePowers = isa<Float8E8M0FNUType>(Scale);
  if (isFp8(Code) && ArePowers && Block == 32)
    return BlockKind::mxfp8;
  if (isa<Float4E2M1FNType>(Code) && ArePowers && Block == 32)
    return BlockKind::mxfp4;
  if (isa<Float4E2M1FNType>(Code) && isa<Float8E4M3FNType>(Scale) &&
      Block == 16)
    return BlockKind::nvfp4;
  return std::nullopt;
}

/// The scalar that all elements of a value are; null: there is none.
Value scalarOf(OpBuilder &B, Value V) {
  if (auto All = V.getDefiningOp<BroadcastOp>())
    if (typeOf(All.getX()).getRank() == 0)
      return All.getX();
  std::optional<double> All = splatValue(V);
  return All ? scalar(B, V.getLoc(), *All) : Value();
}

/// Scales of E4M3 times a second one become both.
void partScales(OpBuilder &B, Operand &Of) {
  Of.Scales = Of.Op.getScales();
  auto Product = Of.Scales.getDefiningOp<MulOp>();
  if (!Product)
    return;
  for (auto [Blocks, Other] : {std::pair(Product.getA(), Product.getB()),
                               std::pair(Product.getB(), Product.getA())}) {
    auto Cast = Blocks.getDefiningOp<CastOp>();
    if (!Cast || !isa<Float8E4M3FNType>(typeOf(Cast.getX()).getElementType()))
      continue;
    if (Value Second = scalarOf(B, Other)) {
      Of.Scales = Cast.getX();
      Of.Second = Second;
      return;
    }
  }
}

/// Whether a slice has the first elements of each dimension.
bool isFirstPart(SliceOp Op) {
  return llvm::all_of(Op.getStart().getDims(),
                      [](const Expr &At) { return At == Expr(0); }) &&
         llvm::all_of(Op.getStep(), [](int64_t Step) { return Step == 1; });
}

/// Scales of blocks of one row that are repeated for 128 rows each, as ONNX has
/// to spell them, without their repetition; null: they are no such scales.
///   graph.reshape (graph.broadcast %s [R, 1, K/128] to [R, 128, K/128]),
/// of which the first rows may be cut, or graph.broadcast %s [1, K/128].
Value unrepeated(OpBuilder &B, Value Scales, bool KLast) {
  unsigned Axis = KLast ? 0 : 1;
  Expr Rows = typeOf(Scales).getDims()[Axis];
  auto All = Scales.getDefiningOp<BroadcastOp>();
  if (All && typeOf(All.getX()).getRank() == 2)
    return typeOf(All.getX()).getDims()[Axis] == Expr(1) &&
                   Rows.ceilDiv(RowsOfScale) == Expr(1)
               ? All.getX()
               : Value();
  if (auto Cut = Scales.getDefiningOp<SliceOp>();
      Cut && isFirstPart(Cut) &&
      Rows.ceilDiv(RowsOfScale) * RowsOfScale ==
          typeOf(Cut.getX()).getDims()[Axis])
    Scales = Cut.getX();
  auto Flat = Scales.getDefiningOp<ReshapeOp>();
  auto Repeated =
      Flat ? Flat.getX().getDefiningOp<BroadcastOp>() : BroadcastOp();
  if (!Repeated || typeOf(Repeated).getRank() != 3 ||
      typeOf(Repeated.getX()).getRank() != 3)
    return {};
  SmallVector<Expr> Sizes(typeOf(Repeated).getDims());
  if (Sizes[Axis + 1] != Expr(RowsOfScale) ||
      Sizes[Axis] * Sizes[Axis + 1] != typeOf(Scales).getDims()[Axis])
    return {};
  Sizes[Axis + 1] = 1;
  if (typeOf(Repeated.getX()).getDims() != ArrayRef<Expr>(Sizes))
    return {};
  Sizes.erase(Sizes.begin() + Axis + 1);
  return B.createOrFold<ReshapeOp>(
      Scales.getLoc(), typeOf(Scales).withDims(Sizes), Repeated.getX());
}

/// Through casts of wide floats, one transpose and factors of all.
std::optional<Operand> read(OpBuilder &B, Value V, bool IsA) {
  Operand Found;
  bool Turned = false;
  while (Operation *Def = V.getDefiningOp()) {
    if (auto Turn = dyn_cast<TransposeOp>(Def)) {
      if (Turn.getPerm() != ArrayRef<int64_t>{1, 0})
        return std::nullopt;
      Turned = !Turned;
      V = Turn.getX();
    } else if (auto Cast = dyn_cast<CastOp>(Def)) {
      if (!isFloat(typeOf(Cast.getX()).getElementType()))
        return std::nullopt;
      V = Cast.getX();
    } else if (auto Product = dyn_cast<MulOp>(Def)) {
      std::optional<double> All = splatValue(Product.getB());
      if (!All)
        return std::nullopt;
      Found.Factor *= *All;
      V = Product.getA();
    } else {
      break;
    }
  }
  Found.Op = V.getDefiningOp<DequantiseOp>();
  if (!Found.Op || Found.Op.getZeros() || typeOf(V).getRank() != 2)
    return std::nullopt;
  partScales(B, Found);
  // A's K is its last dim, B's its first.
  Found.KLast = IsA != Turned;
  ArrayRef<int64_t> Blocks = Found.Op.getBlocks();
  std::optional<BlockKind> Kind = kindOf(
      typeOf(Found.Op.getW()).getElementType(),
      typeOf(Found.Scales).getElementType(), Blocks[Found.KLast ? 1 : 0]);
  int64_t Rows = Blocks[Found.KLast ? 0 : 1];
  if (!Kind)
    return std::nullopt;
  bool MayShare = *Kind == BlockKind::fp8 && !IsA;
  if (Rows != 1 && !(MayShare && Rows == RowsOfScale))
    return std::nullopt;
  Found.SharesRows = Rows != 1;
  if (MayShare && Rows == 1)
    if (Value Shared = unrepeated(B, Found.Scales, Found.KLast)) {
      Found.Scales = Shared;
      Found.SharesRows = true;
    }
  Found.Kind = *Kind;
  return Found;
}

/// Words [rows, words, 4] in panels of 128 rows: row r of one has its word at
/// [r % 32, r / 32]. Rows after the last one are that again.
Value inPanels(OpBuilder &B, Location Loc, Value Words) {
  constexpr int64_t PanelRows = 128, Lanes = 32;
  SymbolicTensorType Ty = typeOf(Words);
  Expr Panels = Ty.getDims()[0].ceilDiv(PanelRows), OfRow = Ty.getDims()[1];
  if (Panels * PanelRows != Ty.getDims()[0]) {
    auto Rows = SymbolicTensorType::get({Panels * Expr(PanelRows)},
                                        B.getIntegerType(64));
    Words = GatherOp::create(B, Loc, Words, IotaOp::create(B, Loc, Rows, 0), 0);
  }
  Words = B.createOrFold<ReshapeOp>(
      Loc,
      Ty.withDims({Panels, Expr(PanelRows / Lanes), Expr(Lanes), OfRow,
                   Expr(ScalesOfWord)}),
      Words);
  Words = TransposeOp::create(B, Loc, Words, ArrayRef<int64_t>{0, 3, 2, 1, 4});
  return B.createOrFold<ReshapeOp>(
      Loc,
      Ty.withDims(
          {Panels, OfRow, Expr(Lanes), Expr(PanelRows / Lanes * ScalesOfWord)}),
      Words);
}

/// The operand as products read it, [M, K] or, turned, [K, N].
Value packed(OpBuilder &B, Location Loc, const Operand &Of, bool Turned,
             bool Panels) {
  DequantiseOp Op = Of.Op;
  auto KLast = [&](Value V) -> Value {
    return Of.KLast ? V
                    : TransposeOp::create(B, Loc, V, ArrayRef<int64_t>{1, 0})
                          .getResult();
  };
  Type Byte = IntegerType::get(B.getContext(), 8, IntegerType::Unsigned);
  Value Codes = KLast(Op.getW()), Scales = KLast(Of.Scales);
  Expr Rows = typeOf(Codes).getDims()[0], K = typeOf(Codes).getDims()[1];
  SymbolicTensorType To = SymbolicTensorType::get(
      Turned ? ArrayRef<Expr>{K, Rows} : ArrayRef<Expr>{Rows, K},
      B.getF32Type());
  if (Of.Kind == BlockKind::fp8) {
    // TMA copies scales of a tile's columns, which are contiguous then.
    if (Turned && !Of.SharesRows)
      Scales = TransposeOp::create(B, Loc, Scales, ArrayRef<int64_t>{1, 0});
    if (!typeOf(Scales).getElementType().isF32())
      Scales = CastOp::create(B, Loc, Scales, B.getF32Type());
    return DequantiseBlocksOp::create(B, Loc, To, Of.Kind, Codes, Scales,
                                      Turned);
  }
  if (Of.Kind != BlockKind::mxfp8) {
    Value Bytes = PackOp::create(B, Loc, Codes);
    Codes = ReshapeOp::create(
        B, Loc, typeOf(Bytes).withDims({Rows, K.floorDiv(2)}), Bytes);
  }
  Scales = BitcastOp::create(B, Loc, Scales, Byte);
  Expr Blocks = typeOf(Scales).getDims()[1],
       Words = Blocks.ceilDiv(ScalesOfWord);
  if (Words * ScalesOfWord != Blocks) {
    Value Zero = ConstantOp::create(
        B, Loc,
        DenseElementsAttr::get(RankedTensorType::get({}, Byte), APInt(8, 0)));
    int64_t More = *(Words * ScalesOfWord - Blocks).asConstant();
    Scales = PadOp::create(B, Loc, Scales, Zero, ArrayRef<int64_t>{0, 0},
                           ArrayRef<int64_t>{0, More}, ArrayRef<int64_t>{0, 0});
  }
  Scales = B.createOrFold<ReshapeOp>(
      Loc, typeOf(Scales).withDims({Rows, Words, Expr(ScalesOfWord)}), Scales);
  Scales = Panels
               ? inPanels(B, Loc, Scales)
               : TransposeOp::create(B, Loc, Scales, ArrayRef<int64_t>{1, 0, 2})
                     .getResult();
  return DequantiseBlocksOp::create(B, Loc, To, Of.Kind, Codes, Scales, Turned);
}

struct PackBlockScalesPass
    : graph::impl::PackBlockScalesBase<PackBlockScalesPass> {
  using PackBlockScalesBase::PackBlockScalesBase;

  void runOnOperation() override {
    func::FuncOp Func = getOperation();
    if (!isGraphFunction(Func))
      return;
    shape::Facts Facts = symbolFacts(Func->getParentOfType<ModuleOp>());
    SmallVector<MatmulOp> Products;
    Func.walk([&](MatmulOp Op) { Products.push_back(Op); });
    for (MatmulOp Op : Products) {
      OpBuilder B(Op);
      std::optional<Operand> A = read(B, Op.getA(), /*IsA=*/true),
                             W = read(B, Op.getB(), /*IsA=*/false);
      if (!A || !W || A->Kind != W->Kind || typeOf(Op.getY()).getRank() != 2 ||
          !typeOf(Op.getA()).getStaticDim(1) ||
          (A->Kind == BlockKind::fp8) != Floats)
        continue;
      // TMA copies rows that begin at multiples of 16 bytes.
      StringRef Why = refusalOfFp8(Op, Facts, /*Wgmma=*/Panels || Floats);
      if (Why.empty() && Panels && A->Kind != BlockKind::mxfp8 &&
          *typeOf(Op.getA()).getStaticDim(1) % 32)
        Why = "K is no multiple of 32";
      tell(Op, *A, Why);
      if (Why.empty())
        rewrite(Op, *A, *W);
    }
  }

private:
  void rewrite(MatmulOp Op, const Operand &A, const Operand &W) {
    OpBuilder B(Op);
    Location Loc = Op.getLoc();
    SymbolicTensorType To = typeOf(Op.getY());
    Value Y =
        MatmulOp::create(B, Loc, packed(B, Loc, A, /*Turned=*/false, Panels),
                         packed(B, Loc, W, /*Turned=*/true, Panels));
    if (double Factor = A.Factor * W.Factor; Factor != 1)
      Y = MulOp::create(
          B, Loc, Y,
          BroadcastOp::create(B, Loc, typeOf(Y), scalar(B, Loc, Factor)));
    Y = scaled(B, Y, A.Second, W.Second);
    if (!To.getElementType().isF32())
      Y = CastOp::create(B, Loc, Y, To.getElementType());
    Op.replaceAllUsesWith(Y);
    Op.erase();
  }

  static void tell(MatmulOp Op, const Operand &A, StringRef Why) {
    std::string Kind = stringifyBlockKind(A.Kind).upper();
    if (Why.empty())
      remark::passed(Op.getLoc(), remark::RemarkOpts::name("scaled").category(
                                      "quantisation"))
          << "Codes of " << Kind
          << " and their scales are packed for GEMMs on Tensor Cores.";
    else
      remark::missed(Op.getLoc(), remark::RemarkOpts::name("refused").category(
                                      "quantisation"))
          << "Operands of " << Kind
          << " are dequantised in front of the GEMM, because " << Why.str()
          << ".";
  }
};

} // namespace

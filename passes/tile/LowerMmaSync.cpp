//===- LowerMmaSync.cpp - Lowers tile.mma_sync ----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A tile.mma_sync becomes, for each step of 32 bytes of the sum, one
/// ldmatrix.x4 for each 64 rows of a (16 of them are the warp's) and one for
/// each 16 columns of b, and an mma.sync for each 16 rows and 8 columns (PTX
/// ISA 9.7.14.5). A matrix of ldmatrix has eight rows of 16 bytes: 8 elements
/// of 16 bits, 4 of tf32, 16 of 8 bits. `.trans` turns elements of 16 bits
/// alone, so that tf32 that is not contiguous along the sum is loaded word by
/// word. What is packed in registers has the four words of each 16 columns
/// side by side.
///
/// With `cut` a word of f32 is made greater by what the instruction drops of it
/// on average: half the last bit of tf32 over the mean of 1 / mantissa, which
/// is 0.72 = 1 / (2 ln 2) where mantissas are spread as those of products are.
///
/// With `split` a word x of f32 is high + low: high is x rounded to tf32, low
/// the rest, of which the product drops what is less than 2^-23 of x. Left out
/// is low·low alone (Ootomo and Yokota, "Recovering single precision accuracy
/// from Tensor Cores while surpassing the FP32 theoretical peak performance",
/// 2022).
///
//===----------------------------------------------------------------------===//

#include "passes/tile/LowerTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::tile;

namespace {

/// Bytes of the sum that one instruction takes.
constexpr int64_t StepBytes = 32;
/// Steps whose products are summed up by tensor cores, which truncate where
/// they add, before f32 arithmetic adds them to the rest. Of K = 64 the error
/// is 2.3 times that of f32 with four steps, and 1.0 with one.
constexpr int64_t StepsOfSum = 2;
/// Of f32, the bits that tf32 lacks.
constexpr int32_t DroppedBits = (1 << 13) - 1;
constexpr int32_t QuietNan = 0x7fc00000;

/// What `cut` multiplies with.
constexpr float CutFactor = 1.0f + 0.72f / 2048;

/// mma's a, or b of two neighbouring blocks of 8 columns.
struct Registers {
  SmallVector<Value, 4> High;
  SmallVector<Value, 4> Low; ///< of a split operand
};

/// One operand as a warp loads it: 16 rows of a, or 16 columns of b, at a time.
/// `Mn` are rows of a and columns of b.
class Operand {
public:
  /// `KHalf` of the lanes' matrices is told by which bit of the lane: a's
  /// matrices go down first, b's along the sum. `InPairs`: of 8 along the sum,
  /// a has the even ones first (PackedType of f32).
  Operand(OpBuilder &B, Location Loc, SharedType Tile, Value Pointer,
          const ThreadPlace &Place, bool IsA, bool AlongK, bool InPairs = false)
      : B(B), Loc(Loc), W(B, Loc), Tile(Tile), AlongK(AlongK), IsA(IsA),
        InPairs(InPairs) {
    bool Wide = Tile.getElementBits() == 32;
    ByWord = Wide && !AlongK;
    Value OfWarp = W.shiftLeft(W.bitAnd(Place.Warp, 3), 4);
    if (ByWord) {
      // Row q of the tile (the sum), column g.
      Value Group = W.shiftRight(Place.Lane, 2);
      Quad = W.bitAnd(Place.Lane, 3);
      Column = IsA ? W.add(OfWarp, Group) : Group;
      Start = Pointer;
      return;
    }
    Value Low = W.bitAnd(Place.Lane, 7);
    Value Middle = W.bitAnd(W.shiftRight(Place.Lane, 3), 1);
    Value High = W.shiftRight(Place.Lane, 4);
    // Matrices of a: down, then along the sum; of b: the other way round.
    Value OfK = IsA ? High : Middle, OfMn = IsA ? Middle : High;
    Value Row = W.add(Low, W.shiftLeft(AlongK ? OfMn : OfK, 3));
    Value Piece = W.shiftLeft(AlongK ? OfK : OfMn, 4);
    // The warp's 16 rows of each 64 are rows of the tile, or a part of a line.
    if (IsA && AlongK)
      Row = W.add(Row, OfWarp);
    Start = W.pointer(Pointer, W.mul(Row, Tile.getSwizzle()));
    Swizzled = W.bitXor(Piece, W.swizzleOfRow(Tile, Row));
    if (IsA && !AlongK)
      Swizzled = W.bitXor(Swizzled, W.mul(OfWarp, 2));
  }

  /// Four registers: mma's a, or b of two neighbouring blocks of 8 columns.
  Registers load(int64_t Step, int64_t Mn, Tf32 Are) {
    SmallVector<Value, 4> Loaded =
        ByWord ? loadWords(Step, Mn) : loadMatrices(Step, Mn);
    if (Tile.getElementBits() != 32)
      return {Loaded, {}};
    return asTf32(Loaded, Are);
  }

  /// Words of f32 as products of tf32 take them.
  Registers asTf32(ArrayRef<Value> Loaded, Tf32 Are) {
    Registers Made;
    for (Value Word : Loaded) {
      Value Wide = LLVM::BitcastOp::create(B, Loc, B.getF32Type(), Word);
      switch (Are) {
      case Tf32::Rounded:
        Made.High.push_back(rounded(Wide));
        break;
      case Tf32::Truncated:
        Made.High.push_back(quiet(Wide, Word));
        break;
      case Tf32::Cut:
        Made.High.push_back(cut(Wide));
        break;
      case Tf32::Split:
        Made.High.push_back(high(Word));
        Made.Low.push_back(low(Wide, Made.High.back()));
        break;
      }
    }
    return Made;
  }

private:
  /// The instruction drops bits, but none that NaN is told by.
  Value quiet(Value Wide, Value Word) {
    Value IsNan =
        LLVM::FCmpOp::create(B, Loc, LLVM::FCmpPredicate::uno, Wide, Wide);
    return LLVM::SelectOp::create(B, Loc, IsNan, W.i32(QuietNan), Word);
  }
  Value cut(Value Wide) {
    Value Factor =
        LLVM::ConstantOp::create(B, Loc, B.getF32FloatAttr(CutFactor));
    Value Greater = LLVM::FMulOp::create(B, Loc, Wide, Factor);
    return LLVM::BitcastOp::create(B, Loc, B.getI32Type(), Greater);
  }
  /// To nearest: the product itself would drop the bits that tf32 lacks.
  Value rounded(Value Wide) {
    return NVVM::ConvertFloatToTF32Op::create(
        B, Loc, B.getI32Type(), Wide, NVVM::FPRoundingMode::RNA,
        NVVM::SaturationMode::NONE, /*relu=*/false);
  }

  /// The same of what is finite, in two instructions instead of four. What is
  /// not makes `low` NaN.
  Value high(Value Word) {
    Value Up = LLVM::AddOp::create(B, Loc, Word, W.i32(DroppedBits / 2 + 1));
    return LLVM::AndOp::create(B, Loc, Up, W.i32(~DroppedBits));
  }
  Value low(Value Wide, Value High) {
    Value Rounded = LLVM::BitcastOp::create(B, Loc, B.getF32Type(), High);
    Value Rest = LLVM::FSubOp::create(B, Loc, Wide, Rounded);
    return LLVM::BitcastOp::create(B, Loc, B.getI32Type(), Rest);
  }

  SmallVector<Value, 4> loadMatrices(int64_t Step, int64_t Mn) {
    // The place of the step along the sum, and of Mn, in rows and in bytes.
    int64_t Bits = Tile.getElementBits();
    int64_t Row = AlongK ? Mn : Step * StepBytes * 8 / Bits;
    int64_t Byte = AlongK ? Step * StepBytes : Mn * Bits / 8;
    Value Address =
        W.pointer(W.pointer(Start, W.bitXor(Swizzled, W.i32(inLine(Byte)))),
                  rowOffset(Byte, Row));
    MLIRContext *Context = B.getContext();
    Type Word = B.getI32Type();
    auto Four =
        LLVM::LLVMStructType::getLiteral(Context, {Word, Word, Word, Word});
    Value All = NVVM::LdMatrixOp::create(
        B, Loc, Four, Address, 4,
        AlongK ? NVVM::MMALayout::row : NVVM::MMALayout::col,
        NVVM::LdStMatrixShapeAttr::get(Context, 8, 8),
        NVVM::LdStMatrixEltType::B16);
    SmallVector<Value, 4> Registers;
    for (int64_t I = 0; I < 4; ++I)
      Registers.push_back(LLVM::ExtractValueOp::create(B, Loc, All, I));
    return Registers;
  }

  int64_t inLine(int64_t Byte) const { return Byte % Tile.getSwizzle(); }
  int64_t rowOffset(int64_t Byte, int64_t Row) const {
    int64_t Line = Tile.getSwizzle();
    return (Byte / Line * Tile.getPitch() + Row) * Line;
  }

  /// Words of tf32: row k of the tile has elements along Mn.
  SmallVector<Value, 4> loadWords(int64_t Step, int64_t Mn) {
    SmallVector<Value, 4> Registers;
    for (int64_t I = 0; I < 4; ++I) {
      // Registers of a go down first, those of b along the sum.
      int64_t First = Step * StepBytes / 4, OfK = IsA ? I / 2 : I % 2;
      int64_t Across = Mn + 8 * (IsA ? I % 2 : I / 2);
      Value Row = InPairs ? W.add(W.mul(Quad, 2), First + OfK)
                          : W.add(Quad, First + 4 * OfK);
      Value Byte = W.mul(W.add(Column, Across), 4);
      Value Line =
          arith::DivUIOp::create(B, Loc, Byte, W.i32(Tile.getSwizzle()));
      Value InLine = W.bitAnd(Byte, Tile.getSwizzle() - 1);
      Value Offset = W.add(
          W.mul(W.add(W.mul(Line, Tile.getPitch()), Row), Tile.getSwizzle()),
          W.bitXor(InLine, W.swizzleOfRow(Tile, Row)));
      Registers.push_back(LLVM::LoadOp::create(
          B, Loc, B.getI32Type(), W.pointer(Start, Offset), /*alignment=*/4));
    }
    return Registers;
  }

  OpBuilder &B;
  Location Loc;
  NvvmWriter W;
  SharedType Tile;
  bool AlongK, IsA, InPairs, ByWord = false;
  Value Start, Swizzled; ///< this lane's row, and its bytes in a line
  Value Quad, Column;
};

NVVM::MMATypes elementOf(Type Ty) {
  if (Ty.isInteger(8))
    return Ty.isUnsignedInteger() ? NVVM::MMATypes::u8 : NVVM::MMATypes::s8;
  return Ty.isF16()    ? NVVM::MMATypes::f16
         : Ty.isBF16() ? NVVM::MMATypes::bf16
                       : NVVM::MMATypes::tf32;
}

struct LowerMmaSync : TilePattern<MmaSyncOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(MmaSyncOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    SharedType TileB = Op.getB().getType();
    FragmentType D = Op.getD().getType();
    std::optional<Operand> A;
    if (auto TileA = dyn_cast<SharedType>(Op.getA().getType()))
      A.emplace(Rewriter, Loc, TileA, Adaptor.getA(), Place, /*IsA=*/true,
                !Op.getATransposed());
    bool IsWide = TileB.getElementBits() == 32;
    Operand B(Rewriter, Loc, TileB, Adaptor.getB(), Place, /*IsA=*/false,
              Op.getBTransposed(), /*InPairs=*/!A && IsWide);
    int64_t K = Op.getBTransposed() ? TileB.getColumns() : TileB.getRows();
    int64_t Steps = K * TileB.getElementBits() / 8 / StepBytes;
    SmallVector<Value> Sums;
    for (int64_t I = 0; I < D.getPerThread(); ++I)
      Sums.push_back(
          LLVM::ExtractValueOp::create(Rewriter, Loc, Adaptor.getC(), I));
    auto Left = [&](int64_t Step, int64_t Row) -> Registers {
      if (A)
        return A->load(Step, Row, Op.getTf32());
      SmallVector<Value, 4> Packed =
          packedWords(Rewriter, Loc, Adaptor.getA(), Row / 64 * Steps + Step);
      return IsWide ? B.asTf32(Packed, Op.getTf32()) : Registers{Packed, {}};
    };
    if (Op.getTf32() == Tf32::Split)
      multiplySplit(Rewriter, Op, Left, B, Steps, Sums);
    else
      multiplyAll(Rewriter, Op, Left, B, Steps, Sums);
    Value Result = LLVM::UndefOp::create(Rewriter, Loc,
                                         getTypeConverter()->convertType(D));
    for (auto [I, Sum] : llvm::enumerate(Sums))
      Result = LLVM::InsertValueOp::create(Rewriter, Loc, Result, Sum, I);
    Rewriter.replaceOp(Op, Result);
    return success();
  }

  /// The registers of 16 rows and columns of what is packed.
  static SmallVector<Value, 4> packedWords(OpBuilder &B, Location Loc,
                                           Value Packed, int64_t Number) {
    SmallVector<Value, 4> Words;
    for (int64_t I = 0; I < 4; ++I)
      Words.push_back(
          LLVM::ExtractValueOp::create(B, Loc, Packed, 4 * Number + I));
    return Words;
  }

  /// Loads a step of 16 rows of each 64.
  using LoadLeft = llvm::function_ref<Registers(int64_t Step, int64_t Row)>;

  /// A thread's sums of 16 rows × 8 columns.
  static MutableArrayRef<Value> sumsOf(MutableArrayRef<Value> Sums,
                                       MmaSyncOp Op, int64_t Block,
                                       int64_t Column) {
    int64_t PerBlock = Op.getD().getType().getColumns() / 2; // in 64 rows
    return Sums.slice(Block * PerBlock + Column / 2, 4);
  }

  static void multiplyAll(OpBuilder &Builder, MmaSyncOp Op, LoadLeft A,
                          Operand &B, int64_t Steps,
                          MutableArrayRef<Value> Sums) {
    FragmentType D = Op.getD().getType();
    for (int64_t Step = 0; Step < Steps; ++Step) {
      SmallVector<Registers> Left;
      for (int64_t Row = 0; Row < D.getRows(); Row += 64)
        Left.push_back(A(Step, Row));
      for (int64_t Column = 0; Column < D.getColumns(); Column += 16) {
        Registers Right = B.load(Step, Column, Op.getTf32());
        for (auto [Block, Rows] : llvm::enumerate(Left))
          for (int64_t Half = 0; Half < 2; ++Half)
            multiply(Builder, Op, Rows.High,
                     ArrayRef(Right.High).slice(2 * Half, 2),
                     sumsOf(Sums, Op, int64_t(Block), Column + 8 * Half));
      }
    }
  }

  /// Three products for one, the small ones first. Each kind is begun for all
  /// rows of 16 columns before the next, which waits for it.
  static void multiplySplit(OpBuilder &Builder, MmaSyncOp Op, LoadLeft A,
                            Operand &B, int64_t Steps,
                            MutableArrayRef<Value> Sums) {
    FragmentType D = Op.getD().getType();
    Location Loc = Op.getLoc();
    int64_t Blocks = D.getRows() / 64;
    Value Zero =
        LLVM::ConstantOp::create(Builder, Loc, Builder.getF32FloatAttr(0));
    for (int64_t First = 0; First < Steps; First += StepsOfSum) {
      int64_t End = std::min(First + StepsOfSum, Steps);
      SmallVector<Registers> Left;
      for (int64_t Step = First; Step < End; ++Step)
        for (int64_t Block = 0; Block < Blocks; ++Block)
          Left.push_back(A(Step, 64 * Block));
      for (int64_t Column = 0; Column < D.getColumns(); Column += 16) {
        SmallVector<Value> Parts(Blocks * 2 * 4, Zero);
        for (int64_t Step = First; Step < End; ++Step) {
          Registers Right = B.load(Step, Column, Tf32::Split);
          auto Rows = ArrayRef(Left).slice((Step - First) * Blocks, Blocks);
          for (auto [OfA, OfB] :
               {std::pair(&Registers::Low, &Registers::High),
                std::pair(&Registers::High, &Registers::Low),
                std::pair(&Registers::High, &Registers::High)})
            for (int64_t Part = 0; Part < Blocks * 2; ++Part)
              multiply(Builder, Op, Rows[Part / 2].*OfA,
                       ArrayRef(Right.*OfB).slice(2 * (Part % 2), 2),
                       MutableArrayRef<Value>(Parts).slice(4 * Part, 4));
        }
        for (int64_t Part = 0; Part < Blocks * 2; ++Part)
          for (auto [Sum, More] :
               llvm::zip(sumsOf(Sums, Op, Part / 2, Column + 8 * (Part % 2)),
                         ArrayRef(Parts).slice(4 * Part, 4)))
            Sum = LLVM::FAddOp::create(Builder, Loc, Sum, More);
      }
    }
  }

  /// 16 rows × 8 columns more of the product.
  static void multiply(OpBuilder &B, MmaSyncOp Op, ArrayRef<Value> Left,
                       ArrayRef<Value> Right, MutableArrayRef<Value> Sums) {
    Location Loc = Op.getLoc();
    Type Element = leftFactor(Op.getA().getType(), false).Element,
         OtherElement = Op.getB().getType().getElement();
    auto Turn = [&](ArrayRef<Value> Words) {
      SmallVector<Value, 4> All;
      for (Value Word : Words)
        All.push_back(Element.isF16()
                          ? LLVM::BitcastOp::create(
                                B, Loc, VectorType::get(2, Element), Word)
                                .getResult()
                          : Word); // all but f16 as they are
      return All;
    };
    Type Sum = Op.getD().getType().getElement();
    auto Four =
        LLVM::LLVMStructType::getLiteral(B.getContext(), {Sum, Sum, Sum, Sum});
    SmallVector<Value, 4> OfA = Turn(Left), OfB = Turn(Right);
    std::optional<NVVM::MMAIntOverflow> Overflow;
    if (Sum.isInteger())
      Overflow = NVVM::MMAIntOverflow::wrapped;
    int64_t K = StepBytes * 8 / int64_t(Element.getIntOrFloatBitWidth());
    auto Mma =
        NVVM::MmaOp::create(B, Loc, Four, OfA, OfB, SmallVector<Value, 4>(Sums),
                            ArrayRef<int64_t>{16, 8, K}, std::nullopt, Overflow,
                            std::array<NVVM::MMATypes, 2>{
                                elementOf(Element), elementOf(OtherElement)},
                            std::array<NVVM::MMALayout, 2>{
                                NVVM::MMALayout::row, NVVM::MMALayout::col});
    for (auto [I, One] : llvm::enumerate(Sums))
      One = LLVM::ExtractValueOp::create(B, Loc, Mma, I);
  }
};

struct LowerLoadPacked : TilePattern<LoadPackedOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(LoadPackedOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    SharedType Tile = Op.getTile().getType();
    Operand A(Rewriter, Loc, Tile, Adaptor.getTile(), Place, /*IsA=*/true,
              /*AlongK=*/true);
    Value Packed = LLVM::UndefOp::create(
        Rewriter, Loc,
        getTypeConverter()->convertType(Op.getPacked().getType()));
    int64_t Number = 0;
    for (int64_t Row = 0; Row < Tile.getRows(); Row += 64)
      for (int64_t Step = 0; Step < Tile.getColumns() / 16; ++Step)
        for (Value Word : A.load(Step, Row, Tf32::Rounded).High)
          Packed = LLVM::InsertValueOp::create(Rewriter, Loc, Packed, Word,
                                               Number++);
    Rewriter.replaceOp(Op, Packed);
    return success();
  }
};

} // namespace

void kpc::tile::populateMultiplyPatterns(const TypeConverter &Types,
                                         RewritePatternSet &Patterns,
                                         const ThreadPlace &Place) {
  Patterns.add<LowerMmaSync, LowerLoadPacked>(Types, Patterns.getContext(),
                                              Place);
}

//===- TileFewRowWeights.cpp - Codes as few-row GEMMs read them -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %c = graph.weight "m#w" [] : <[8388608], ui8>
///   %u = graph.unpack %c : … to <[4096, 4096], ui4>
///   %d = graph.dequantise %u scales %s blocks [1, 128]
///   %y = graph.matmul %x, transpose(%d)
///     →  %t = graph.weight "m#w" [{tiles = …}] : <[512, 32, 512], ui8>
///        %d = graph.dequantise_tiles %t scales transpose(%s) bits 4 …
///        %y = graph.matmul %x, %d
///
/// Weights that are joined along N (queries, keys and values) are tiles one
/// after another, which are joined when compiling.
///
/// FP8 without blocks is spelled as arithmetic, (graph.cast %c to f32) * %s.
///
/// Where a GEMM has typically 16 rows or fewer, the bytes of its weights bound
/// its time. Then it reads codes, in tiles that are made when the artifact is
/// written. With more rows it reads them where all targets have wgmma; on other
/// chips, a kernel before it dequantises them.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/graph/CodeOperand.h"
#include "passes/graph/CodeProducts.h"
#include "passes/graph/ConstantValues.h"
#include "passes/graph/FloatTypeNames.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"
#include "passes/graph/StoredValues.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_TILEFEWROWWEIGHTS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// Columns of a tile.
constexpr int64_t TileColumns = 8;
/// Elements of K that one step of the kernel multiplies: blocks are of whole
/// ones.
constexpr int64_t StepElements = 32;

/// A weight's codes as they lie in the model: element (k, n) is number
/// `k * OfK + n * OfN` of the source's.
struct Codes {
  WeightOp Weight;
  int64_t Bits = 0, OfK = 0, OfN = 0;
  bool Signed = false;
};

struct Quantised {
  MatmulOp Product;
  Location Loc;
  Value Scales, Zeros;
  Codes Source;
  /// Of K and N; how many of each share a scale.
  int64_t K = 0, N = 0, Block = 0, BlockN = 1;
  bool KFirst = false; ///< scales and zero points are K × N
  Type Number = {};    ///< of codes that are floats

  int64_t depth() const { return 512 / Source.Bits; }
};

/// The weight that is all of a matrix of codes, or rows of which are; none
/// where something else makes them.
std::optional<Codes> codesBehind(Value W) {
  SymbolicTensorType Ty = typeOf(W);
  int64_t Bits = Ty.getElementType().getIntOrFloatBitWidth();
  std::optional<int64_t> Row = Ty.getStaticDim(1);
  if (auto Slice = W.getDefiningOp<SliceOp>()) {
    bool FromStart =
        llvm::all_of(Slice.getStart().getDims(),
                     [](const Expr &E) { return E == Expr(0); }) &&
        llvm::all_of(Slice.getStep(), [](int64_t S) { return S == 1; });
    SymbolicTensorType Whole = typeOf(Slice.getX());
    if (!FromStart || Whole.getDims()[0] != Ty.getDims()[0])
      return std::nullopt;
    W = Slice.getX();
    Row = Whole.getStaticDim(1);
  }
  while (isa_and_present<UnpackOp, ReshapeOp>(W.getDefiningOp()))
    W = W.getDefiningOp()->getOperand(0);
  auto Weight = W.getDefiningOp<WeightOp>();
  if (!Weight || !Weight.getRecipe().empty() || !Row)
    return std::nullopt;
  return Codes{Weight, Bits, 1, *Row, !isUnsigned(Ty.getElementType())};
}

/// Columns of a GEMM's right operand, or the matrix of which these are rows.
struct Columns {
  Value Matrix;
  bool Turned = false;

  /// What makes the matrix of codes; null where it is none.
  DequantiseOp dequantise() const {
    return Matrix.getDefiningOp<DequantiseOp>();
  }
};

Columns throughTranspose(Columns C) {
  auto Turn = C.Matrix.getDefiningOp<TransposeOp>();
  bool Swaps = Turn && Turn.getPerm() == ArrayRef<int64_t>{1, 0};
  return Swaps ? Columns{Turn.getX(), !C.Turned} : C;
}

/// The right operand's columns, in one part or in several.
SmallVector<Columns> partsOf(MatmulOp Product) {
  Columns All = throughTranspose({Product.getB()});
  auto Join = All.Matrix.getDefiningOp<ConcatOp>();
  if (!Join || Join.getAxis() != (All.Turned ? 0 : 1))
    return {All};
  SmallVector<Columns> Parts;
  for (Value X : Join.getXs())
    Parts.push_back(throughTranspose({X, All.Turned}));
  return Parts;
}

/// Whether tiles and scales may be read; `Why` not.
bool fitsTiles(Quantised &Q, StringRef &Why) {
  int64_t Depth = Q.depth();
  // One block is as long as whole tiles.
  if (Q.Block >= Q.K)
    Q.Block = int64_t(llvm::alignTo(Q.K, Depth));
  if (Q.Block % StepElements || (Q.Block % Depth && Depth % Q.Block))
    Why = "blocks are of no whole 32 elements of K";
  else if (Q.N < 1)
    Why = "it has no columns";
  // Scales are copied from memory, where each column has one.
  Expr OfN = typeOf(Q.Scales).getDims()[Q.KFirst ? 1 : 0];
  if (Why.empty() && OfN != Expr(Q.N) && !isConstant(Q.Scales))
    Why = "its columns share scales that only the run knows";
  return Why.empty();
}

/// The same of FP8 that is multiplied by one number, or one for each column.
std::optional<Quantised> readScaled(MatmulOp Product, StringRef &Why) {
  std::optional<CodeOperand> B =
      CodeOperand::read(Product->getOpOperand(1), /*Kept=*/1);
  SymbolicTensorType Ty = typeOf(Product.getB());
  if (!B || Ty.getRank() != 2 || !Ty.hasStaticShape() ||
      !isFp8(typeOf(B->Codes).getElementType()))
    return std::nullopt;
  bool IsTransposed = false;
  Value W = B->Codes;
  while (auto Turn = W.getDefiningOp<TransposeOp>()) {
    IsTransposed = !IsTransposed;
    W = Turn.getX();
  }
  std::optional<Codes> Source = codesBehind(W);
  if (!Source)
    return std::nullopt;
  Quantised Q{Product, Product.getB().getLoc(), {}, {}, *Source};
  Q.Number = typeOf(W).getElementType();
  Q.KFirst = true;
  Q.K = Q.Block = *Ty.getStaticDim(0);
  Q.N = *Ty.getStaticDim(1);
  if (!IsTransposed)
    std::swap(Q.Source.OfK, Q.Source.OfN);
  OpBuilder Builder(Product);
  Type F32 = Builder.getF32Type();
  if (Value Scale = B->Scale) {
    Expr Columns = typeOf(Scale).getNumElements();
    Q.Scales = Builder.createOrFold<ReshapeOp>(
        Q.Loc, typeOf(Scale).withDims({Expr(1), Columns}), Scale);
  } else {
    Q.Scales = BroadcastOp::create(
        Builder, Q.Loc, SymbolicTensorType::get({Expr(1), Expr(1)}, F32),
        scalar(Builder, Q.Loc, 1));
  }
  return fitsTiles(Q, Why) ? std::optional(Q) : std::nullopt;
}

/// Columns of its right operand, if their codes may be read in tiles; `Why`
/// not.
std::optional<Quantised> readPart(MatmulOp Product, const Columns &Of,
                                  StringRef &Why) {
  DequantiseOp Op = Of.dequantise();
  if (!Op)
    return {};
  SymbolicTensorType W = typeOf(Op.getW());
  Type Code = W.getElementType();
  if (isNarrowFloat(Code) && !isFp8(Code)) {
    Why = "its codes are floats other than E4M3 and E5M2";
    return std::nullopt;
  }
  if (W.getRank() != 2 || !W.hasStaticShape()) {
    Why = "the weight is no matrix";
    return std::nullopt;
  }
  Quantised Q{Product, Op.getLoc(), Op.getScales(), Op.getZeros(), {}};
  Q.KFirst = !Of.Turned;
  if (isFp8(Code))
    Q.Number = Code;
  std::optional<Codes> Source = codesBehind(Op.getW());
  if (!Source || (Source->Bits != 4 && Source->Bits != 8)) {
    Why = "its codes are no weight of 4 or 8 bits";
    return std::nullopt;
  }
  Q.Source = *Source;
  unsigned AxisK = Q.KFirst ? 0 : 1;
  if (Q.KFirst)
    std::swap(Q.Source.OfK, Q.Source.OfN);
  Q.K = *W.getStaticDim(AxisK);
  Q.N = *W.getStaticDim(1 - AxisK);
  Q.Block = Op.getBlocks()[AxisK];
  Q.BlockN = Op.getBlocks()[1 - AxisK];
  if (!fitsTiles(Q, Why))
    return std::nullopt;
  if (Value Zeros = Op.getZeros();
      Zeros && isFloat(typeOf(Zeros).getElementType())) {
    Why = "zero points are fractions";
    return std::nullopt;
  }
  return Q;
}

/// Whether columns of both may be tiles of one weight.
bool goTogether(const Quantised &Q, const Quantised &Other) {
  auto All = [](const Quantised &Of) {
    return Of.Zeros ? splatValue(Of.Zeros) : std::nullopt;
  };
  return Q.K == Other.K && Q.Block == Other.Block && Q.Number == Other.Number &&
         Q.Source.Bits == Other.Source.Bits &&
         Q.Source.Signed == Other.Source.Signed && Q.N % TileColumns == 0 &&
         Other.N % TileColumns == 0 && !Q.Zeros == !Other.Zeros &&
         All(Q) == All(Other) &&
         typeOf(Q.Scales).getElementType() ==
             typeOf(Other.Scales).getElementType();
}

/// The GEMM, if codes of its right operand may be read in tiles; none, and
/// `Why` not.
SmallVector<Quantised> read(MatmulOp Product, StringRef &Why) {
  SmallVector<Quantised> All;
  SmallVector<Columns> Parts = partsOf(Product);
  for (const Columns &Part : Parts) {
    std::optional<Quantised> Q = Parts.size() == 1 && !Part.dequantise()
                                     ? readScaled(Product, Why)
                                     : readPart(Product, Part, Why);
    if (Q && !All.empty() && !goTogether(All.front(), *Q)) {
      Why = "weights that are joined have codes or blocks of two kinds";
      Q.reset();
    }
    if (!Q)
      return {};
    All.push_back(*Q);
  }
  return All;
}

/// What a GEMM reads of some of its columns.
struct Tiled {
  Value Codes, Scales, Zeros; ///< no zeros: all are `Offset`
  int64_t Offset = 0;
};

class Tiling {
public:
  Tiling(Quantised Given, Type Narrow)
      : Q(Given), Narrow(Narrow), B(Q.Product), Loc(Q.Product.getLoc()) {}

  /// Writes the operand of which all parts are columns.
  static void write(ArrayRef<Quantised> All, Type Narrow) {
    SmallVector<Tiled> Parts;
    for (const Quantised &One : All)
      Parts.push_back(Tiling(One, Narrow).tiles());
    const Quantised &Q = All.front();
    MatmulOp Product = Q.Product;
    OpBuilder B(Product);
    auto Joined = [&](Value Tiled::*Of, int64_t Axis) -> Value {
      SmallVector<Value> Xs;
      for (const Tiled &One : Parts)
        Xs.push_back(One.*Of);
      if (Xs.size() == 1 || !Xs.front())
        return Xs.front();
      return ConcatOp::create(B, Product.getLoc(), Xs, Axis);
    };
    int64_t N = 0;
    for (const Quantised &One : All)
      N += One.N;
    Type Element = typeOf(Product.getA()).getElementType();
    Value Y = DequantiseTilesOp::create(
        B, Q.Loc, SymbolicTensorType::get({Expr(Q.K), Expr(N)}, Element),
        Joined(&Tiled::Codes, 0), Joined(&Tiled::Scales, 1),
        Joined(&Tiled::Zeros, 1), Q.Source.Bits, Q.Block, Parts.front().Offset,
        Q.Number ? TypeAttr::get(Q.Number) : TypeAttr());
    Product.getBMutable().assign(Y);
  }

private:
  Tiled tiles() {
    MLIRContext *Context = B.getContext();
    bool HasSign = Q.Source.Signed && !Q.Number;
    int64_t Bits = Q.Source.Bits, Flip = HasSign ? 1 << (Bits - 1) : 0;
    Type Byte = IntegerType::get(Context, 8, IntegerType::Unsigned);
    auto Tiles = SymbolicTensorType::get(
        {Expr(llvm::divideCeil(Q.N, 8)), Expr(llvm::divideCeil(Q.K, Q.depth())),
         Expr(512)},
        Byte);
    auto Step = B.getDenseI64ArrayAttr(
        {Bits, Q.K, Q.N, Q.Source.OfK, Q.Source.OfN, Flip});
    ArrayAttr Recipe =
        B.getArrayAttr(B.getDictionaryAttr(B.getNamedAttr("tiles", Step)));
    WeightOp Source = Q.Source.Weight;
    Value Codes =
        WeightOp::create(B, Source.getLoc(), Tiles, Source.getSource(), Recipe);
    Value Scales = Q.Scales, Zeros = Q.Zeros;
    if (isNarrowFloat(typeOf(Scales).getElementType()))
      Scales = CastOp::create(B, Loc, Scales, B.getF32Type());
    int64_t Offset = Flip;
    if (std::optional<double> All = Zeros ? splatValue(Zeros) : std::nullopt) {
      Offset += int64_t(*All);
      Zeros = {};
    }
    if (Zeros) {
      Type Wide = B.getIntegerType(32);
      Zeros = CastOp::create(B, Loc, Zeros, Wide);
      if (Flip)
        Zeros = AddOp::create(B, Loc, Zeros, like(Flip, typeOf(Zeros)));
      Zeros = byBlocks(CastOp::create(B, Loc, Zeros, Narrow));
    }
    return {Codes, byBlocks(Scales), Zeros, Offset};
  }

  Value like(int64_t V, SymbolicTensorType Ty) {
    auto Scalar =
        DenseElementsAttr::get(RankedTensorType::get({}, Ty.getElementType()),
                               B.getIntegerAttr(Ty.getElementType(), V));
    return BroadcastOp::create(B, Loc, Ty, ConstantOp::create(B, Loc, Scalar));
  }

  /// One for each column, of blocks that have several.
  Value repeated(Value V) {
    SymbolicTensorType Ty = typeOf(V);
    Expr Rows = Ty.getDims()[0], Blocks = Ty.getDims()[1];
    V = ReshapeOp::create(B, Loc, Ty.withDims({Rows, Blocks, Expr(1)}), V);
    V = BroadcastOp::create(B, Loc, Ty.withDims({Rows, Blocks, Expr(Q.BlockN)}),
                            V);
    V = ReshapeOp::create(B, Loc, Ty.withDims({Rows, Blocks * Q.BlockN}), V);
    Expr Zero(0);
    return SliceOp::create(B, Loc, Ty.withDims({Rows, Expr(Q.N)}), V,
                           DimsAttr::get(B.getContext(), {Zero, Zero}),
                           B.getDenseI64ArrayAttr({1, 1}));
  }

  /// Scales or zero points as [blocks, N], with zeros to whole tiles.
  Value byBlocks(Value V) {
    if (!Q.KFirst)
      V = TransposeOp::create(B, Loc, V, ArrayRef<int64_t>{1, 0});
    if (Q.BlockN > 1 && Q.BlockN < Q.N)
      V = repeated(V);
    SymbolicTensorType Ty = typeOf(V),
                       To = Ty.withDims({Ty.getDims()[0], Expr(Q.N)});
    if (Ty != To)
      V = BroadcastOp::create(B, Loc, To, V);
    int64_t More = int64_t(llvm::alignTo(Q.N, TileColumns)) - Q.N;
    if (!More)
      return V;
    auto Nothing =
        DenseElementsAttr::get(RankedTensorType::get({}, Ty.getElementType()),
                               B.getFloatAttr(Ty.getElementType(), 0));
    Value Filler = ConstantOp::create(B, Loc, Nothing);
    auto Two = [&](int64_t Last) { return B.getDenseI64ArrayAttr({0, Last}); };
    return PadOp::create(B, Loc, V, Filler, Two(0), Two(More), Two(0));
  }

  Quantised Q;
  Type Narrow;
  OpBuilder B;
  Location Loc;
};

struct TileFewRowWeightsPass
    : graph::impl::TileFewRowWeightsBase<TileFewRowWeightsPass> {
  using TileFewRowWeightsBase::TileFewRowWeightsBase;
  TileFewRowWeightsPass() = default;
  TileFewRowWeightsPass(const TileFewRowWeightsOptions &Options,
                        WeightBytes Bytes)
      : TileFewRowWeightsBase(Options), Bytes(std::move(Bytes)) {}

  void runOnOperation() override {
    func::FuncOp Func = getOperation();
    if (!isGraphFunction(Func))
      return;
    FailureOr<NodePatterns> Kept =
        NodePatterns::read(llvm::to_vector(Keep), Func);
    FailureOr<Type> Narrow = floatTypeNamed(NarrowName, Func);
    if (failed(Kept) || failed(Narrow))
      return signalPassFailure();
    shape::Facts Facts = symbolFacts(Func->getParentOfType<ModuleOp>());
    SmallVector<MatmulOp> Products;
    Func.walk([&](MatmulOp Op) { Products.push_back(Op); });
    for (MatmulOp Op : Products) {
      StringRef Why = refusal(Op, *Kept, Facts);
      SmallVector<Quantised> Parts;
      if (Why.empty())
        Parts = read(Op, Why);
      if (ManyRows && hasManyRows(Op, Facts) &&
          !llvm::all_of(Parts, fitsStages)) {
        Why = "it may have more rows than 16, and blocks do not divide 128 "
              "elements of K, nor are of whole ones";
        Parts.clear();
      }
      if (llvm::any_of(Parts, [&](const Quantised &Q) {
            return Q.Number && !isFinite(Q);
          })) {
        Why = "some of its codes are NaN or infinite";
        Parts.clear();
      }
      // Others are no weights of codes, or are folded.
      if (Parts.empty() && !partsOf(Op).front().dequantise())
        continue;
      if (!Parts.empty()) {
        Type Element = typeOf(Op.getA()).getElementType();
        Tiling::write(Parts, Element.isF32() ? *Narrow : Element);
      }
      if (Tells)
        tell(Op, Why, hasManyRows(Op, Facts));
    }
  }

private:
  /// Kernels know no NaN, and no infinity.
  bool isFinite(const Quantised &Q) const {
    auto Codes = Bytes ? Bytes(Q.Source.Weight) : std::nullopt;
    uint8_t Beyond = isa<Float8E4M3FNType>(Q.Number) ? 0x7f : 0x7c;
    return !Codes || llvm::all_of(*Codes, [&](uint8_t Code) {
      return (Code & 0x7f) < Beyond;
    });
  }

  /// Whether an operand is FP8 with scales of 128 elements of K.
  static bool isOfFp8Blocks(Value V, bool KIsLast) {
    constexpr int64_t BlockElements = 128;
    while (Operation *Def = V.getDefiningOp()) {
      if (!isa<TransposeOp, CastOp>(Def))
        break;
      KIsLast ^= isa<TransposeOp>(Def);
      V = Def->getOperand(0);
    }
    auto Of = V.getDefiningOp<DequantiseOp>();
    return Of && typeOf(V).getRank() == 2 &&
           isFp8(typeOf(Of.getW()).getElementType()) &&
           Of.getBlocks()[KIsLast ? 1 : 0] == BlockElements;
  }

  StringRef refusal(MatmulOp Op, const NodePatterns &Kept,
                    const shape::Facts &Facts) {
    SymbolicTensorType A = typeOf(Op.getA());
    Type Element = A.getElementType();
    bool IsNarrow = Element.isF16() || Element.isBF16() ||
                    (Element.isF32() && !NarrowName.empty() && !Kept.match(Op));
    if (!IsNarrow)
      return "it multiplies no 16-bit numbers";
    if (!ManyRows || !hasManyRows(Op, Facts))
      return refusalOfTiles(Op, Facts);
    // Of many rows Tensor Cores multiply the codes of both (sink-scales).
    if (CodeOperand::read(Op->getOpOperand(0), A.getRank() - 2) &&
        CodeOperand::read(Op->getOpOperand(1), 1))
      return "it may have more rows than 16, and both factors are codes";
    // The same of FP8 in blocks (pack-block-scales).
    if (isOfFp8Blocks(Op.getA(), /*KIsLast=*/true) &&
        isOfFp8Blocks(Op.getB(), /*KIsLast=*/false) &&
        refusalOfFp8(Op, Facts, /*Wgmma=*/true).empty())
      return "both factors are FP8, which is multiplied with its scales";
    return refusalOfTilesOfManyRows(Op);
  }

  /// Kernels of many rows take 128 elements of K at a time.
  static bool fitsStages(const Quantised &Q) {
    constexpr int64_t Step = 128;
    return Q.Block >= Q.K || Step % Q.Block == 0 || Q.Block % Step == 0;
  }

  /// set-precision narrows such an input for products of LeastFlops and more.
  static bool readsWideInput(MatmulOp Op) {
    Value A = Op.getA();
    while (auto View = A.getDefiningOp<ReshapeOp>())
      A = View.getX();
    return isa<BlockArgument>(A) && typeOf(A).getElementType().isF32();
  }

  static void tell(MatmulOp Op, StringRef Why, bool IsMany) {
    if (Why.empty())
      remark::passed(Op.getLoc(),
                     remark::RemarkOpts::name("tiled").category("quantisation"))
          << (IsMany ? "Rows, many or few, are multiplied with a weight of "
                       "codes."
                     : "Few rows are multiplied with a weight of codes.")
          << (readsWideInput(Op)
                  ? " The model's input is f32: products of fewer than 4 "
                    "million operations are loops that read codes, because a "
                    "kernel that narrows it takes longer. --io-precision fp16 "
                    "has them "
                    "read by gemv."
                  : "");
    else
      remark::missed(Op.getLoc(), remark::RemarkOpts::name("refused").category(
                                      "quantisation"))
          << "A weight of codes is dequantised by a kernel of its own, because "
          << Why.str() << ".";
  }

  WeightBytes Bytes;
};

} // namespace

std::unique_ptr<Pass>
graph::createTileFewRowWeights(const TileFewRowWeightsOptions &Options,
                               WeightBytes Bytes) {
  return std::make_unique<TileFewRowWeightsPass>(Options, std::move(Bytes));
}

//===- GpuGemv.cpp - Products of few rows, as fast as memory --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A product of at most 16 rows at a time with a matrix of 16-bit weights that
/// are read once, from global memory into the registers of mma.sync (m16n8k16;
/// the rows are its 16, padded). A warp's order of the sum and of the columns
/// is its own, so that every load is one wide access of the fragment's owner:
///
///   thread (g, t) of a warp, g = lane / 4, t = lane % 4, takes of 32 elements
///   of the sum those from 8 t to 8 t + 7, and of the block's columns those
///   from g * Slices on
///
///   sum contiguous      Slices loads of 8 elements along the sum
///   columns contiguous  8 loads of Slices elements along the columns, whose
///                       neighbours in the sum are then put side by side
///
/// The warps of a block share the sum; their results are added in order through
/// shared memory. More than 16 rows are taken 16 by 16.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/MatrixProduct.h"
#include "passes/kernels/MmaSync.h"
#include "passes/kernels/ScheduleChoice.h"
#include "passes/kernels/SizeFacts.h"
#include "passes/schedule/GemvSchedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

using schedule::GemvSchedule;
using schedule::GemvShape;
using shape::Expr;

namespace {

/// Rows of one product instruction.
constexpr int64_t TileRows = 16;
/// Elements of the sum that a warp takes at once, and a thread of these.
constexpr int64_t WarpSum = 32, ThreadSum = 8;
/// With more rows than this the weights are read too often.
constexpr int64_t MostRows = 64;
/// Sizes of which nothing is known.
constexpr int64_t UnknownSize = 512;

/// The argument that a size or stride is, if it is one.
BlockArgument argumentOf(MatrixProduct &P, const Expr &E) {
  for (BlockArgument Argument : P.C.R.Form.Func.getArguments())
    if (Argument.getType().isIndex() &&
        E == Expr::symbol("arg" + std::to_string(Argument.getArgNumber())))
      return Argument;
  return {};
}

/// The loops whose number of iterations a size or stride is, if there are any.
const LoopGroup *groupOf(const MatrixProduct &P, const Expr &E) {
  for (const LoopGroup *Group : {&P.C.Sum, &P.C.Columns, &P.C.Rows})
    if (productExpr(Group->Sizes) == E)
      return Group;
  return nullptr;
}

bool hasValue(MatrixProduct &P, const Expr &E) {
  return E.asConstant() || argumentOf(P, E) || groupOf(P, E);
}

/// A size or stride that hasValue().
Value valueOf(GpuWriter &W, MatrixProduct &P, const Expr &E) {
  if (std::optional<int64_t> Constant = E.asConstant())
    return W.index(*Constant);
  if (BlockArgument Argument = argumentOf(P, E))
    return Argument;
  return W.size(groupOf(P, E)->Sizes);
}

class Gemv {
public:
  Gemv(GpuWriter &W, MatrixProduct &P, const GemvSchedule &S)
      : W(W), P(P), S(S) {}

  void prepare();
  LogicalResult emit(bool SeveralTiles);

private:
  using Values = SmallVector<Value>;
  /// What a thread holds of 32 elements of the sum.
  struct Step {
    Values Upper, Lower;         ///< words of rows g and g + 8
    SmallVector<Values> Weights; ///< per slice, words along the sum
  };

  Values words(Value Vector);
  Values load(Value Memory, Value At, int64_t Count, Value Inside);
  Step loadStep(Value Sum);
  void loadWeights(Step &Into, Value Sum, Value Inside);
  Value multiply(const Step &From, int64_t Half, int64_t Slice, Value Sums);
  Values sumTile();
  void storePartial(ValueRange Sums, Value Shared);
  void finish(Value Shared);
  void finishElement(Value Shared, Value Row, Value InBlock);
  void tile(Value First);
  Value rem(Value V, int64_t By) {
    return W.B.createOrFold<arith::RemUIOp>(W.Loc, V, W.index(By));
  }
  Value div(Value V, int64_t By) {
    return W.B.createOrFold<arith::DivUIOp>(W.Loc, V, W.index(By));
  }
  Value least(Value A, Value B) {
    return W.B.createOrFold<arith::MinSIOp>(W.Loc, A, B);
  }
  Value before(Value A, int64_t By) {
    return W.B.createOrFold<arith::SubIOp>(W.Loc, A, W.index(By));
  }

  GpuWriter &W;
  MatrixProduct &P;
  const GemvSchedule &S;
  bool SumContiguous = false, HasLower = true, Exact = false;
  Value Rows, Columns, Sum, RowStrideA, StrideB;
  Value MemoryA, MemoryB;
  Value Thread, Warp, G, T, FirstColumn, FirstRow;
  LogicalResult Result = success();
};

void Gemv::prepare() {
  SumContiguous = P.B.RowStride == Expr(1);
  Rows = W.size(P.C.Rows.Sizes);
  Columns = W.size(P.C.Columns.Sizes);
  Sum = W.size(P.C.Sum.Sizes);
  RowStrideA = valueOf(W, P, P.A.RowStride);
  StrideB = valueOf(W, P, SumContiguous ? P.B.ColumnStride : P.B.RowStride);
  HasLower = P.Facts.range(P.Rows).Max > 8;
  int64_t Divisor = P.Facts.divisor(P.Sum);
  Exact = Divisor % S.sumStep() == 0;
}

/// Pairs of neighbours, as i32.
Gemv::Values Gemv::words(Value Vector) {
  int64_t Count = cast<VectorType>(Vector.getType()).getNumElements() / 2;
  Value Words = vector::BitCastOp::create(
      W.B, W.Loc, VectorType::get({Count}, W.B.getI32Type()), Vector);
  Values All;
  for (int64_t I = 0; I < Count; ++I)
    All.push_back(vector::ExtractOp::create(W.B, W.Loc, Words, I));
  return All;
}

/// `Count` neighbours; zeros where `Inside` is given and false.
Gemv::Values Gemv::load(Value Memory, Value At, int64_t Count, Value Inside) {
  Type Element = cast<MemRefType>(Memory.getType()).getElementType();
  auto Load = vector::LoadOp::create(
      W.B, W.Loc, VectorType::get({Count}, Element), Memory, At);
  Load.setAlignment(Count * 2);
  Values All = words(Load);
  if (!Inside)
    return All;
  Value Zero = arith::ConstantIntOp::create(W.B, W.Loc, 0, 32);
  for (Value &Word : All)
    Word = arith::SelectOp::create(W.B, W.Loc, Inside, Word, Zero);
  return All;
}

/// A thread beyond the sum's end reads its last elements, and takes zeros;
/// rows and columns beyond the end are read again and not stored.
Gemv::Step Gemv::loadStep(Value First) {
  Step Into;
  Value At = W.add(First, W.mul(T, W.index(ThreadSum))), Inside;
  if (!Exact) {
    Inside = W.less(At, Sum);
    At = least(At, before(Sum, ThreadSum));
  }
  loadWeights(Into, At, Inside);
  auto Row = [&](int64_t Offset) {
    Value Mine = W.add(W.add(FirstRow, G), W.index(Offset));
    Value Last = before(Rows, 1), Index = least(Mine, Last);
    return load(MemoryA, W.add(W.mul(Index, RowStrideA), At), ThreadSum,
                Inside);
  };
  Into.Upper = Row(0);
  if (HasLower)
    Into.Lower = Row(8);
  else
    Into.Lower.assign(4, arith::ConstantIntOp::create(W.B, W.Loc, 0, 32));
  return Into;
}

void Gemv::loadWeights(Step &Into, Value At, Value Inside) {
  Value Column = W.add(FirstColumn, W.mul(G, W.index(S.Slices)));
  if (SumContiguous) {
    for (int64_t J = 0; J < S.Slices; ++J) {
      Value Last = before(Columns, 1);
      Value Mine = least(W.add(Column, W.index(J)), Last);
      Into.Weights.push_back(
          load(MemoryB, W.add(W.mul(Mine, StrideB), At), ThreadSum, Inside));
    }
    return;
  }
  Column = least(Column, before(Columns, S.Slices));
  SmallVector<Values> Lines;
  for (int64_t K = 0; K < ThreadSum; ++K)
    Lines.push_back(load(MemoryB,
                         W.add(W.mul(W.add(At, W.index(K)), StrideB), Column),
                         S.Slices, Inside));
  // Halves of two lines side by side.
  auto Pack = [&](Value Low, Value High, bool Upper) -> Value {
    Value Sixteen = arith::ConstantIntOp::create(W.B, W.Loc, 16, 32);
    Value LowHalf = arith::ConstantIntOp::create(W.B, W.Loc, 0xFFFF, 32);
    Value A = Upper ? Value(arith::ShRUIOp::create(W.B, W.Loc, Low, Sixteen))
                    : Value(arith::AndIOp::create(W.B, W.Loc, Low, LowHalf));
    Value HighHalf = arith::ConstantIntOp::create(W.B, W.Loc, -65536, 32);
    Value B = Upper ? Value(arith::AndIOp::create(W.B, W.Loc, High, HighHalf))
                    : Value(arith::ShLIOp::create(W.B, W.Loc, High, Sixteen));
    return arith::OrIOp::create(W.B, W.Loc, A, B);
  };
  for (int64_t J = 0; J < S.Slices; ++J) {
    Into.Weights.emplace_back();
    for (int64_t K = 0; K < ThreadSum; K += 2)
      Into.Weights.back().push_back(
          Pack(Lines[K][J / 2], Lines[K + 1][J / 2], J % 2));
  }
}

/// 16 rows × 8 columns more of a product over 16 elements of the sum.
Value Gemv::multiply(const Step &From, int64_t Half, int64_t Slice,
                     Value Sums) {
  int64_t K = Half * 2;
  Values C;
  for (int64_t I = 0; I < 4; ++I)
    C.push_back(vector::ExtractOp::create(W.B, W.Loc, Sums, I));
  Values Parts = multiplyFragments(
      W, P.A.Element,
      {From.Upper[K], From.Lower[K], From.Upper[K + 1], From.Lower[K + 1]},
      {From.Weights[Slice][K], From.Weights[Slice][K + 1]}, C);
  return vector::FromElementsOp::create(W.B, W.Loc, Sums.getType(), Parts);
}

/// The warp's part of the sum, per slice 4 elements of the fragment.
Gemv::Values Gemv::sumTile() {
  auto Four = VectorType::get({4}, W.B.getF32Type());
  Value Zero = arith::ConstantOp::create(W.B, W.Loc, W.B.getZeroAttr(Four));
  Values Start(S.Slices, Zero);
  return W.loop(W.mul(Warp, W.index(WarpSum)), Sum, W.index(S.sumStep()), Start,
                [&](Value First, ValueRange Carried) {
                  SmallVector<Step> Ahead;
                  for (int64_t I = 0; I < S.Steps; ++I)
                    Ahead.push_back(
                        loadStep(W.add(First, W.index(I * S.Warps * WarpSum))));
                  Values Sums(Carried);
                  for (const Step &One : Ahead)
                    for (int64_t Half = 0; Half < 2; ++Half)
                      for (int64_t J = 0; J < S.Slices; ++J)
                        Sums[J] = multiply(One, Half, J, Sums[J]);
                  return Sums;
                });
}

/// Fragment: rows g and g + 8; columns 2 t and 2 t + 1 of each slice, which
/// are those from (2 t) * Slices on and from (2 t + 1) * Slices on.
void Gemv::storePartial(ValueRange Sums, Value Shared) {
  for (int64_t Row = 0; Row < (HasLower ? 2 : 1); ++Row)
    for (int64_t Column = 0; Column < 2; ++Column)
      for (int64_t J = 0; J < S.Slices; ++J) {
        Value V =
            vector::ExtractOp::create(W.B, W.Loc, Sums[J], Row * 2 + Column);
        Value OfPair = W.add(W.mul(T, W.index(2)), W.index(Column));
        Value At = W.add(W.mul(OfPair, W.index(S.Slices)), W.index(J));
        Value InTile = W.add(G, W.index(Row * 8));
        memref::StoreOp::create(W.B, W.Loc, V, Shared,
                                ValueRange{Warp, InTile, At});
      }
}

void Gemv::finishElement(Value Shared, Value Row, Value InBlock) {
  Value Column = W.add(FirstColumn, InBlock), AtRow = W.add(FirstRow, Row);
  Value IsRow = W.less(AtRow, Rows), IsColumn = W.less(Column, Columns);
  W.when(W.both(IsRow, IsColumn), [&] {
    Value Total;
    for (int64_t Other = 0; Other < S.Warps; ++Other) {
      Value Part = memref::LoadOp::create(
          W.B, W.Loc, Shared, ValueRange{W.index(Other), Row, InBlock});
      Total =
          Total ? Value(arith::AddFOp::create(W.B, W.Loc, Total, Part)) : Part;
    }
    const Contraction &C = P.C;
    Values All(C.R.Parallel.size() + C.R.Reduced.size()), At;
    auto Put = [&](const LoopGroup &Group, Value Linear) {
      Values Indices =
          W.split(Linear, Group.Sizes, Reduction::boundOf(Group.Sizes));
      for (auto [Loop, Index] : llvm::zip_equal(Group.Loops, Indices))
        All[Loop] = Index;
    };
    Put(C.Rows, AtRow);
    Put(C.Columns, Column);
    for (unsigned Loop : C.Batch.Loops)
      All[Loop] = W.index(0);
    for (unsigned Loop : C.R.Parallel)
      At.push_back(All[Loop]);
    Values Sums = {Total};
    if (failed(joinInitial(W, C.R, At, Sums)) ||
        failed(storeOutputs(W, C.R, At, {Sums})))
      Result = failure();
  });
}

void Gemv::finish(Value Shared) {
  int64_t Elements = (HasLower ? TileRows : 8) * S.columns();
  for (int64_t First = 0; First < Elements; First += S.threads()) {
    Value Element = W.add(Thread, W.index(First));
    auto Emit = [&] {
      Value Row = div(Element, S.columns()),
            InBlock = rem(Element, S.columns());
      finishElement(Shared, Row, InBlock);
    };
    if (First + S.threads() <= Elements)
      Emit();
    else
      W.when(W.less(Element, W.index(Elements)), Emit);
  }
}

LogicalResult Gemv::emit(bool SeveralTiles) {
  auto Flat = [&](const Matrix &M) {
    return flatView(W, P.C.R.Form.Func.getArgument(M.Argument), M.Element);
  };
  MemoryA = Flat(P.A);
  MemoryB = Flat(P.B);
  Thread = W.thread();
  Warp = div(Thread, 32);
  Value Lane = rem(Thread, 32);
  G = div(Lane, 4);
  T = rem(Lane, 4);
  FirstColumn = W.mul(W.block(), W.index(S.columns()));
  Value Shared = W.shared({S.Warps, TileRows, S.columns()}, W.B.getF32Type());
  auto Tile = [&](Value First) {
    FirstRow = First;
    storePartial(sumTile(), Shared);
    W.barrier();
    finish(Shared);
  };
  if (!SeveralTiles) {
    Tile(W.index(0));
    return Result;
  }
  W.loop(W.index(0), Rows, W.index(TileRows), {}, [&](Value First, ValueRange) {
    Tile(First);
    W.barrier(); // the partial sums are read before the next ones
    return Values();
  });
  return Result;
}

/// Whether a load of `Elements` of each line of `Stride` is aligned.
bool isAligned(const MatrixProduct &P, const Expr &Stride, int64_t Elements) {
  return P.Facts.divisor(Stride) % Elements == 0;
}

/// Rows that this builder is for, or fewer.
bool hasFewRows(const MatrixProduct &P) {
  int64_t Typical = typicalProduct(P.C.Rows.Sizes, UnknownSize);
  return Typical <= TileRows && P.Facts.range(P.Rows).Max <= MostRows;
}

std::optional<GemvShape> shapeOf(MatrixProduct &P) {
  Type Element = P.A.Element;
  bool SumContiguous = P.B.RowStride == Expr(1) && P.B.ColumnStride != Expr(1);
  bool ColumnsContiguous = P.B.ColumnStride == Expr(1);
  if (P.hasBatch() || !hasFewRows(P) ||
      !(Element.isF16() || Element.isBF16()) || P.B.Element != Element ||
      !cast<ShapedType>(P.C.R.Op.getResultTypes()[0])
           .getElementType()
           .isF32() ||
      P.A.ColumnStride != Expr(1) || !(SumContiguous || ColumnsContiguous) ||
      P.Facts.range(P.Sum).Min < ThreadSum ||
      P.Facts.divisor(P.Sum) % ThreadSum != 0 ||
      !isAligned(P, P.A.RowStride, ThreadSum) || !hasValue(P, P.A.RowStride) ||
      !hasValue(P, SumContiguous ? P.B.ColumnStride : P.B.RowStride))
    return std::nullopt;
  GemvShape Shape;
  Shape.Rows = typicalProduct(P.C.Rows.Sizes, UnknownSize);
  Shape.Columns = typicalProduct(P.C.Columns.Sizes, UnknownSize);
  Shape.Sum = typicalProduct(P.C.Sum.Sizes, UnknownSize);
  Shape.SumContiguous = SumContiguous;
  if (SumContiguous)
    return isAligned(P, P.B.ColumnStride, ThreadSum) ? std::optional(Shape)
                                                     : std::nullopt;
  while (Shape.MostSlices > 1 &&
         (!isAligned(P, P.B.RowStride, Shape.MostSlices) ||
          !isAligned(P, P.Columns, Shape.MostSlices) ||
          P.Facts.range(P.Columns).Min < Shape.MostSlices))
    Shape.MostSlices /= 2;
  return Shape;
}

} // namespace

FailureOr<bool> buildGpuGemv(KernelForm &Form, const target::Target &T,
                             GpuLaunch &Launch) {
  std::optional<MatrixProduct> P = MatrixProduct::read(Form);
  std::optional<GemvShape> Shape = P ? shapeOf(*P) : std::nullopt;
  if (!Shape)
    return false;
  std::vector<schedule::GemvCost> Ranked =
      schedule::rankGemvSchedules(*Shape, T);
  const schedule::GemvCost *Chosen = chooseSchedule(Form, Ranked, Launch);
  if (!Chosen)
    return false;
  const GemvSchedule &S = Chosen->Schedule;
  GpuWriter W(Form);
  Gemv Builder(W, *P, S);
  Builder.prepare();
  Launch.Grid[0] = P->Columns.ceilDiv(Expr(S.columns())).str();
  Launch.Block = {int32_t(S.threads()), 1, 1};
  if (failed(Builder.emit(P->Facts.range(P->Rows).Max > TileRows)))
    return failure();
  return true;
}

} // namespace kpc::kernels

//===- GpuWindowTile.cpp - Windows that slide over an image ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Depthwise convolutions and pools of images with channels last, as fast as
/// memory: a thread computes a tile of neighbouring places for a few channels,
/// and reads each pixel under it once, as a vector, for all the windows that it
/// is in.
///
///   pixels of a thread, 1 × 4 places of a window of 3 × 3:
///
///   row 0   p0 p1 p2 p3 p4 p5      taps (0, 0…2) of places 0…3
///   row 1   p0 p1 p2 p3 p4 p5      taps (1, 0…2)
///   row 2   p0 p1 p2 p3 p4 p5      taps (2, 0…2)
///
/// Code is straight: a pixel beside the image is read from the border, and then
/// replaced by what surrounds the image. Sums are made in the order of taps.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/KernelFamily.h"
#include "passes/kernels/gpu/convolution/SlidingWindow.h"
#include "passes/schedule/WindowSchedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

using schedule::WindowSchedule;
using schedule::WindowShape;
using schedule::WindowThreads;

namespace {

constexpr int64_t UnknownSize = 64, UnknownImages = 8;

class WindowTile {
public:
  WindowTile(GpuWriter &W, const SlidingWindow &Win, const WindowSchedule &S)
      : W(W), Win(Win), S(S), Loads(W, unsigned(S.Lanes)) {}

  LogicalResult emit();

private:
  using Values = SmallVector<Value>;
  /// An element of the image along one axis that the tile reads.
  struct Line {
    Value Inside; ///< null: always
    Value Offset; ///< in memory, of what is read instead if it is outside
  };

  int64_t places(unsigned Number) const {
    return Number == 0 ? S.Rows : S.Columns;
  }
  bool mayBeOutside(unsigned Number) const;
  std::map<int64_t, Line> linesOf(unsigned Number, Value FirstPlace);
  Values loadPixel(const Line &Row, const Line &Column);
  Values selectOutside(Value Vector, Value Inside);
  LogicalResult multiply(int64_t Row, std::map<int64_t, Values> &Pixels);
  LogicalResult multiplyTap(Values &Sums, int64_t I, int64_t J, int64_t TapRow,
                            int64_t TapColumn, const Values &Pixel);
  LogicalResult startSums();
  LogicalResult storeTile();
  Value constant32(int64_t V) {
    return arith::ConstantIntOp::create(W.B, W.Loc, V, 32);
  }

  GpuWriter &W;
  const SlidingWindow &Win;
  const WindowSchedule &S;
  LaneLoads Loads;
  Value Image, Channel, Memory, ImageOffset;
  Values OutRow, OutColumn; ///< of the tile's places
  SmallVector<Values> Sums; ///< per place, of all lanes and results
  std::map<int64_t, Line> Rows, Columns;
};

/// Whether the tiles reach beyond the image.
bool WindowTile::mayBeOutside(unsigned Number) const {
  const WindowAxis &A = Win.Axes[Number];
  std::optional<int64_t> Out = constantOf(A.Out), Size = constantOf(A.Size);
  if (A.Low || !Out || !Size)
    return true;
  int64_t Tile = places(Number), All = (*Out + Tile - 1) / Tile * Tile;
  return (All - 1) * A.Stride + (A.Taps - 1) * A.Dilation >= *Size;
}

std::map<int64_t, WindowTile::Line> WindowTile::linesOf(unsigned Number,
                                                        Value FirstPlace) {
  const WindowAxis &A = Win.Axes[Number];
  Type I32 = W.B.getI32Type(), Index = W.B.getIndexType();
  Value First = arith::IndexCastOp::create(W.B, W.Loc, I32, FirstPlace);
  Value Scaled = arith::MulIOp::create(W.B, W.Loc, First, constant32(A.Stride));
  First = arith::SubIOp::create(W.B, W.Loc, Scaled, constant32(A.Low));
  Value Size = arith::IndexCastOp::create(W.B, W.Loc, I32, W.size(A.Size));
  Value Last = arith::SubIOp::create(W.B, W.Loc, Size, constant32(1));
  bool Check = mayBeOutside(Number);
  Value Pitch = W.size(A.Pitch);
  std::map<int64_t, Line> Lines;
  for (int64_t Place = 0; Place < places(Number); ++Place)
    for (int64_t Tap = 0; Tap < A.Taps; ++Tap) {
      int64_t Step = Place * A.Stride + Tap * A.Dilation;
      if (Lines.count(Step))
        continue;
      Line One;
      Value At = arith::AddIOp::create(W.B, W.Loc, First, constant32(Step));
      if (Check) {
        One.Inside = arith::CmpIOp::create(W.B, W.Loc,
                                           arith::CmpIPredicate::ult, At, Size);
        At = arith::MaxSIOp::create(W.B, W.Loc, At, constant32(0));
        At = arith::MinSIOp::create(W.B, W.Loc, At, Last);
      }
      Value Wide = arith::IndexCastOp::create(W.B, W.Loc, Index, At);
      One.Offset = W.mul(Wide, Pitch);
      Lines[Step] = One;
    }
  return Lines;
}

/// `Vector`'s elements, or those around the image; chosen word by word.
WindowTile::Values WindowTile::selectOutside(Value Vector, Value Inside) {
  Type Element = Win.X.Element;
  unsigned Bits = Element.getIntOrFloatBitWidth();
  auto Extract = [&](Value From, int64_t I) -> Value {
    return vector::ExtractOp::create(W.B, W.Loc, From, I);
  };
  if (Inside) {
    bool Paired = Bits == 16 && S.Lanes > 1;
    Type Word = W.B.getIntegerType(Paired ? 32 : Bits);
    int64_t Count = Paired ? S.Lanes / 2 : S.Lanes;
    uint64_t Raw = Win.Outside.bitcastToAPInt().getZExtValue();
    auto WordType = VectorType::get({Count}, Word);
    Value Other = arith::ConstantOp::create(
        W.B, W.Loc,
        W.B.getIntegerAttr(Word, int64_t(Paired ? Raw << 16 | Raw : Raw)));
    Value Words = vector::BitCastOp::create(W.B, W.Loc, WordType, Vector);
    Values All;
    for (int64_t I = 0; I < Count; ++I) {
      Value Mine = Extract(Words, I);
      All.push_back(arith::SelectOp::create(W.B, W.Loc, Inside, Mine, Other));
    }
    Words = vector::FromElementsOp::create(W.B, W.Loc, WordType, All);
    Vector = vector::BitCastOp::create(W.B, W.Loc, Vector.getType(), Words);
  }
  Values Elements;
  for (int64_t L = 0; L < S.Lanes; ++L)
    Elements.push_back(Extract(Vector, L));
  return Elements;
}

/// The lanes of a pixel, in the type that the body reads.
WindowTile::Values WindowTile::loadPixel(const Line &Row, const Line &Column) {
  Value At = W.add(W.add(ImageOffset, Row.Offset), Column.Offset);
  auto Load = vector::LoadOp::create(
      W.B, W.Loc, VectorType::get({S.Lanes}, Win.X.Element), Memory, At);
  Load.setAlignment(S.Lanes * storageBytes(Win.X.Element));
  Value Inside = Row.Inside;
  if (Column.Inside)
    Inside = Inside ? W.both(Inside, Column.Inside) : Column.Inside;
  Values Elements = selectOutside(Load, Inside);
  linalg::LinalgOp Op = Win.R.Op;
  Type Wanted = Op.getBlock()->getArgument(Win.Input).getType();
  for (Value &V : Elements)
    if (V.getType() != Wanted)
      V = arith::ExtFOp::create(W.B, W.Loc, Wanted, V);
  return Elements;
}

/// A product that is added up may be rounded once, with the sum.
void allowFusing(Value Sum) {
  auto Add = Sum.getDefiningOp<arith::AddFOp>();
  if (!Add)
    return;
  constexpr auto Contract = arith::FastMathFlags::contract;
  for (Value Operand : Add->getOperands())
    if (auto Product = Operand.getDefiningOp<arith::MulFOp>()) {
      Add.setFastmath(Add.getFastmath() | Contract);
      Product.setFastmath(Product.getFastmath() | Contract);
    }
}

LogicalResult WindowTile::multiplyTap(Values &Into, int64_t I, int64_t J,
                                      int64_t TapRow, int64_t TapColumn,
                                      const Values &Pixel) {
  linalg::LinalgOp Op = Win.R.Op;
  unsigned Count = Op.getNumDpsInits();
  Values Reduced(Win.R.Reduced.size(), W.index(0));
  Reduced[Win.TapLoops[0]] = W.index(TapRow);
  if (Win.Axes[1].Taps > 1)
    Reduced[Win.TapLoops[1]] = W.index(TapColumn);
  Values Next;
  for (int64_t L = 0; L < S.Lanes; ++L) {
    Values Place = {Image, OutRow[I], OutColumn[J], Loads.at(unsigned(L))};
    Values Inputs(Op.getNumDpsInputs());
    Inputs[Win.Input] = Pixel[L];
    if (failed(W.Emitter.bodyWithInputs(
            W.B, Op, loopValues(Win.R, Place, Reduced), Inputs,
            ArrayRef<Value>(Into).slice(L * Count, Count), Next)))
      return failure();
  }
  llvm::for_each(Next, allowFusing);
  Into = Next;
  return success();
}

/// What line `Row` of the tile gives to all its places.
LogicalResult WindowTile::multiply(int64_t Row,
                                   std::map<int64_t, Values> &Pixels) {
  const WindowAxis &H = Win.Axes[0], &V = Win.Axes[1];
  for (int64_t I = 0; I < S.Rows; ++I)
    for (int64_t TapRow = 0; TapRow < H.Taps; ++TapRow) {
      if (I * H.Stride + TapRow * H.Dilation != Row)
        continue;
      for (int64_t TapColumn = 0; TapColumn < V.Taps; ++TapColumn)
        for (int64_t J = 0; J < S.Columns; ++J)
          if (failed(
                  multiplyTap(Sums[I * S.Columns + J], I, J, TapRow, TapColumn,
                              Pixels[J * V.Stride + TapColumn * V.Dilation])))
            return failure();
    }
  return success();
}

LogicalResult WindowTile::startSums() {
  linalg::LinalgOp Op = Win.R.Op;
  for (int64_t I = 0; I < S.Rows; ++I)
    for (int64_t J = 0; J < S.Columns; ++J) {
      Sums.emplace_back();
      for (int64_t L = 0; L < S.Lanes; ++L)
        for (Value Init : Op.getDpsInits()) {
          Values At = {Image, OutRow[I], OutColumn[J], Loads.at(unsigned(L))};
          Sums.back().push_back(W.Emitter.element(W.B, Init, At));
          if (!Sums.back().back())
            return failure();
        }
    }
  return success();
}

/// Places beyond the last were computed and are not stored.
LogicalResult WindowTile::storeTile() {
  LogicalResult Result = success();
  unsigned Count = Sums.front().size() / S.Lanes;
  for (int64_t I = 0; I < S.Rows; ++I)
    for (int64_t J = 0; J < S.Columns; ++J) {
      auto Store = [&] {
        SmallVector<Values> Lanes;
        for (int64_t L = 0; L < S.Lanes; ++L)
          Lanes.emplace_back(
              ArrayRef<Value>(Sums[I * S.Columns + J]).slice(L * Count, Count));
        Values At = {Image, OutRow[I], OutColumn[J], Channel};
        if (failed(storeOutputs(W, Win.R, At, Lanes)))
          Result = failure();
      };
      Value Inside;
      auto Check = [&](unsigned Number, int64_t Place, Value Index) {
        const WindowAxis &A = Win.Axes[Number];
        std::optional<int64_t> Out = constantOf(A.Out);
        if (Place == 0 || (Out && *Out % places(Number) == 0))
          return;
        Value Is = W.less(Index, W.size(A.Out));
        Inside = Inside ? W.both(Inside, Is) : Is;
      };
      Check(0, I, OutRow[I]);
      Check(1, J, OutColumn[J]);
      if (Inside)
        W.when(Inside, Store);
      else
        Store();
    }
  return Result;
}

LogicalResult WindowTile::emit() {
  SmallVector<OpFoldResult> Sizes(Win.R.ParallelSizes);
  Sizes[1] = W.ceilDiv(W.size(Sizes[1]), S.Rows);
  Sizes[2] = W.ceilDiv(W.size(Sizes[2]), S.Columns);
  Sizes[3] = W.ceilDiv(W.size(Sizes[3]), S.Lanes);
  Value OfBlock = W.mul(W.block(), W.index(WindowThreads));
  Value Number = W.add(OfBlock, W.thread());
  auto Bound = Reduction::boundOf(Win.R.ParallelSizes);
  LogicalResult Result = success();
  W.when(W.less(Number, W.size(Sizes)), [&] {
    Values Place = W.split(Number, Sizes, Bound);
    Image = Place[0];
    Channel = W.mul(Place[3], W.index(S.Lanes));
    Value FirstRow = W.mul(Place[1], W.index(S.Rows)),
          FirstColumn = W.mul(Place[2], W.index(S.Columns));
    for (int64_t I = 0; I < S.Rows; ++I)
      OutRow.push_back(W.add(FirstRow, W.index(I)));
    for (int64_t J = 0; J < S.Columns; ++J)
      OutColumn.push_back(W.add(FirstColumn, W.index(J)));
    Memory =
        flatView(W, Win.R.Form.Func.getArgument(Win.X.Argument), Win.X.Element);
    ImageOffset = W.add(W.mul(Image, W.size(Win.ImagePitch)), Channel);
    Rows = linesOf(0, FirstRow);
    Columns = linesOf(1, FirstColumn);
    Loads.begin(Channel);
    Result = startSums();
    for (auto &[Row, Line] : Rows) {
      std::map<int64_t, Values> Pixels;
      for (auto &[Column, Other] : Columns)
        Pixels[Column] = loadPixel(Line, Other);
      if (succeeded(Result))
        Result = multiply(Row, Pixels);
    }
    Loads.end();
    if (succeeded(Result))
      Result = storeTile();
  });
  return Result;
}

/// Channels of one access to every buffer: a power of two.
int64_t mostLanes(const SlidingWindow &Win, const target::Target &T) {
  const Reduction &R = Win.R;
  int64_t Widest = T.Can.WidestAccess;
  int64_t Lanes = storeLanesOf(R.Form.Outputs, 3, 3, Widest);
  Lanes = std::min(Lanes, Widest / storageBytes(Win.X.Element));
  auto Fit = [&](OpFoldResult Size) {
    while (Lanes > 1 && divisorOf(Size) % Lanes)
      Lanes /= 2;
  };
  Fit(R.ParallelSizes[3]);
  Fit(Win.ImagePitch);
  for (const WindowAxis &A : Win.Axes)
    Fit(A.Pitch);
  return Lanes;
}

WindowShape shapeOf(const SlidingWindow &Win, const target::Target &T) {
  const Reduction &R = Win.R;
  WindowShape Shape;
  Shape.Images = typicalOf(R.ParallelSizes[0], UnknownImages);
  Shape.Channels = typicalOf(R.ParallelSizes[3], UnknownSize);
  int64_t Pixels = 1, Places = 1;
  for (unsigned D = 0; D < 2; ++D) {
    const WindowAxis &A = Win.Axes[D];
    Shape.Out[D] = std::max<int64_t>(typicalOf(A.Out, UnknownSize), 1);
    Shape.Known[D] = constantOf(A.Out).has_value();
    Shape.Taps[D] = A.Taps;
    Shape.Stride[D] = A.Stride;
    Shape.Dilation[D] = A.Dilation;
    Pixels *= typicalOf(A.Size, UnknownSize);
    Places *= Shape.Out[D];
  }
  Shape.MostLanes = mostLanes(Win, T);
  Shape.ElementBytes = storageBytes(Win.X.Element);
  int64_t OutBytes = 0;
  for (const KernelOutput &Out : R.Form.Outputs)
    OutBytes +=
        storageBytes(cast<MemRefType>(Out.Memref.getType()).getElementType());
  Shape.Bytes = Shape.Images * Shape.Channels *
                (Pixels * Shape.ElementBytes + Places * OutBytes);
  linalg::LinalgOp Op = R.Op;
  Shape.HasFilter = llvm::count_if(Op.getDpsInputOperands(), [&](auto *Input) {
                      return Op.payloadUsesValueFromOperand(Input);
                    }) > 1;
  return Shape;
}

} // namespace

FamilyAnswer queryGpuWindowTile(FusedKernel &Form, const target::Target &T) {
  std::optional<SlidingWindow> Read = SlidingWindow::read(Form);
  if (!Read)
    return FamilyAnswer::refuse(RefusalKind::Form,
                                "no window slides over an image");
  auto Win = std::make_shared<SlidingWindow>(std::move(*Read));
  auto Images = sizeExpr(Win->R.ParallelSizes[0]),
       Rows = sizeExpr(Win->R.ParallelSizes[1]),
       Columns = sizeExpr(Win->R.ParallelSizes[2]),
       Channels = sizeExpr(Win->R.ParallelSizes[3]);
  if (!Images || !Rows || !Columns || !Channels)
    return FamilyAnswer::refuse(RefusalKind::Size,
                                "a size of its result is no expression");
  return FamilyAnswer::offer(
      schedule::rankWindowSchedules(shapeOf(*Win, T), T),
      [&Form, Win, Images = *Images, Rows = *Rows, Columns = *Columns,
       Channels = *Channels](const WindowSchedule &S, GpuLaunch &Launch) {
        shape::Expr Threads = Images * Rows.ceilDiv(S.Rows) *
                              Columns.ceilDiv(S.Columns) *
                              Channels.ceilDiv(S.Lanes);
        Launch.Block = {int32_t(WindowThreads), 1, 1};
        Launch.Grid[0] = Threads.ceilDiv(WindowThreads).str();
        GpuWriter W(Form);
        return WindowTile(W, *Win, S).emit();
      });
}

} // namespace kpc::kernels

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
/// A pixel outside the image is read from the border, and then replaced by what
/// surrounds the image. Sums are made in the order of taps.
///
/// Of windows in a plane with few taps, code is straight. All others are a loop
/// over the lines of the filter, or parts of them, with straight code for each:
///
///   for kd, kh, part of a line:   row of the image under it   p0 p1 p2 p3 …
///                                 taps (kd, kh, part) of places 0…3
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
/// Windows of more taps are walked line by line, of as many taps at most.
constexpr int64_t MostStraightTaps = 64, MostLineTaps = 32;

/// How the taps of a window are walked.
struct TapWalk {
  bool IsStraight = true;
  int64_t LineTaps = 1; ///< of the last axis, that code is straight for
  int64_t Lines = 1;    ///< times that it runs

  explicit TapWalk(const SlidingWindow &Win)
      : LineTaps(Win.Axes[SlidingWindow::Width].Taps) {
    IsStraight = Win.Axes[SlidingWindow::Depth].Taps == 1 &&
                 Win.taps() <= MostStraightTaps;
    if (IsStraight)
      return;
    // The greatest part of a line of which there is a whole number.
    int64_t Taps = LineTaps;
    for (LineTaps = std::min(Taps, MostLineTaps); Taps % LineTaps;)
      --LineTaps;
    Lines = Win.taps() / LineTaps;
  }
};

class WindowTile {
public:
  WindowTile(GpuWriter &W, const SlidingWindow &Win, const WindowSchedule &S)
      : W(W), Win(Win), Walk(Win), S(S), Loads(W, unsigned(S.Lanes)) {}

  LogicalResult emit();

private:
  using Values = SmallVector<Value>;
  /// An element of the image along one axis that the tile reads.
  struct Line {
    Value Inside; ///< null: always
    Value Offset; ///< in memory, of what is read instead if it is outside
  };

  /// Taps along each axis: null where it has one.
  using Taps = std::array<Value, 3>;

  int64_t places(unsigned Axis) const {
    return Axis == SlidingWindow::Height  ? S.Rows
           : Axis == SlidingWindow::Width ? S.Columns
                                          : 1;
  }
  bool mayBeOutside(unsigned Axis) const;
  std::map<int64_t, Line> linesOf(unsigned Axis, int64_t Count,
                                  Value FirstTap = {});
  Values loadPixel(const Line &Row, const Line &Column);
  Values selectOutside(Value Vector, Value Inside);
  Values placeOf(int64_t I, int64_t J, Value Channel) const;
  LogicalResult multiply(int64_t Row, std::map<int64_t, Values> &Pixels);
  LogicalResult multiplyTap(Values &Sums, int64_t I, int64_t J, const Taps &Tap,
                            const Values &Pixel);
  void walkStraight();
  void walkLine(Value Number);
  void walkLines();
  LogicalResult startSums();
  LogicalResult storeTile();

  GpuWriter &W;
  const SlidingWindow &Win;
  TapWalk Walk;
  const WindowSchedule &S;
  LaneLoads Loads;
  Value Image, Channel, Memory, ImageOffset;
  Value OutDepth;
  Values OutRow, OutColumn; ///< of the tile's places
  SmallVector<Values> Sums; ///< per place, of all lanes and results
  Line Plane;
  LogicalResult Result = success();
};

/// Whether the tiles reach beyond the image.
bool WindowTile::mayBeOutside(unsigned Axis) const {
  const WindowAxis &A = Win.Axes[Axis];
  std::optional<int64_t> Out = constantOf(A.Out), Size = constantOf(A.Size);
  if (A.Low || !Out || !Size)
    return true;
  int64_t Tile = places(Axis), All = (*Out + Tile - 1) / Tile * Tile;
  return (All - 1) * A.Stride + (A.Taps - 1) * A.Dilation >= *Size;
}

/// What is under `Count` taps, from `FirstTap` on (null: 0), of the tile's
/// places along an axis.
std::map<int64_t, WindowTile::Line>
WindowTile::linesOf(unsigned Axis, int64_t Count, Value FirstTap) {
  const WindowAxis &A = Win.Axes[Axis];
  // 32 bits hold where pixels are, but in images whose size is not bounded.
  constexpr int64_t MostPixels = int64_t(1) << 24;
  int64_t Bits = maxOf(A.Size).value_or(MostPixels) < MostPixels ? 32 : 64;
  Type Number = W.B.getIntegerType(Bits), Index = W.B.getIndexType();
  auto Constant = [&](int64_t V) -> Value {
    return arith::ConstantIntOp::create(W.B, W.Loc, V, unsigned(Bits));
  };
  auto Narrow = [&](Value V) -> Value {
    return arith::IndexCastOp::create(W.B, W.Loc, Number, V);
  };
  Value FirstPlace = Axis == SlidingWindow::Height  ? OutRow[0]
                     : Axis == SlidingWindow::Width ? OutColumn[0]
                                                    : OutDepth;
  Value Scaled =
      arith::MulIOp::create(W.B, W.Loc, Narrow(FirstPlace), Constant(A.Stride));
  Value First = arith::SubIOp::create(W.B, W.Loc, Scaled, Constant(A.Low));
  if (FirstTap) {
    Value Ahead = arith::MulIOp::create(W.B, W.Loc, Narrow(FirstTap),
                                        Constant(A.Dilation));
    First = arith::AddIOp::create(W.B, W.Loc, First, Ahead);
  }
  Value Size = Narrow(W.size(A.Size));
  Value Last = arith::SubIOp::create(W.B, W.Loc, Size, Constant(1));
  bool Check = mayBeOutside(Axis);
  Value Pitch = W.size(A.Pitch);
  std::map<int64_t, Line> Lines;
  for (int64_t Place = 0; Place < places(Axis); ++Place)
    for (int64_t Tap = 0; Tap < Count; ++Tap) {
      int64_t Step = Place * A.Stride + Tap * A.Dilation;
      if (Lines.count(Step))
        continue;
      Line One;
      Value At = arith::AddIOp::create(W.B, W.Loc, First, Constant(Step));
      if (Check) {
        One.Inside = arith::CmpIOp::create(W.B, W.Loc,
                                           arith::CmpIPredicate::ult, At, Size);
        At = arith::MaxSIOp::create(W.B, W.Loc, At, Constant(0));
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
  if (Plane.Offset)
    At = W.add(At, Plane.Offset);
  auto Load = vector::LoadOp::create(
      W.B, W.Loc, VectorType::get({S.Lanes}, Win.X.Element), Memory, At);
  Load.setAlignment(S.Lanes * storageBytes(Win.X.Element));
  Value Inside = Row.Inside;
  for (Value Other : {Plane.Inside, Column.Inside})
    if (Other)
      Inside = Inside ? W.both(Inside, Other) : Other;
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

/// Indices of a place, of as many dimensions as the result has.
WindowTile::Values WindowTile::placeOf(int64_t I, int64_t J,
                                       Value Channel) const {
  Values Spatial = {OutDepth, OutRow[I], OutColumn[J]}, Place = {Image};
  Place.append(Spatial.begin() + Win.axisOf(0), Spatial.end());
  Place.push_back(Channel);
  return Place;
}

LogicalResult WindowTile::multiplyTap(Values &Into, int64_t I, int64_t J,
                                      const Taps &Tap, const Values &Pixel) {
  linalg::LinalgOp Op = Win.R.Op;
  unsigned Count = Op.getNumDpsInits();
  Values Reduced(Win.R.Reduced.size(), W.index(0));
  for (unsigned Axis = 0; Axis < 3; ++Axis)
    if (Win.Axes[Axis].Taps > 1)
      Reduced[Win.TapLoops[Axis]] = Tap[Axis];
  Values Next;
  for (int64_t L = 0; L < S.Lanes; ++L) {
    Values Place = placeOf(I, J, Loads.at(unsigned(L)));
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
  const WindowAxis &H = Win.Axes[SlidingWindow::Height],
                   &V = Win.Axes[SlidingWindow::Width];
  for (int64_t I = 0; I < S.Rows; ++I)
    for (int64_t TapRow = 0; TapRow < H.Taps; ++TapRow) {
      if (I * H.Stride + TapRow * H.Dilation != Row)
        continue;
      for (int64_t TapColumn = 0; TapColumn < V.Taps; ++TapColumn)
        for (int64_t J = 0; J < S.Columns; ++J)
          if (failed(
                  multiplyTap(Sums[I * S.Columns + J], I, J,
                              {Value(), W.index(TapRow), W.index(TapColumn)},
                              Pixels[J * V.Stride + TapColumn * V.Dilation])))
            return failure();
    }
  return success();
}

void WindowTile::walkStraight() {
  std::map<int64_t, Line> Columns =
      linesOf(SlidingWindow::Width, Walk.LineTaps);
  for (auto &[Row, Line] :
       linesOf(SlidingWindow::Height, Win.Axes[SlidingWindow::Height].Taps)) {
    std::map<int64_t, Values> Pixels;
    for (auto &[Column, Other] : Columns)
      Pixels[Column] = loadPixel(Line, Other);
    if (succeeded(Result))
      Result = multiply(Row, Pixels);
  }
}

/// One line of the filter, or a part of one, for all places.
void WindowTile::walkLine(Value Number) {
  const WindowAxis &H = Win.Axes[SlidingWindow::Height],
                   &V = Win.Axes[SlidingWindow::Width];
  auto Rest = [&](Value X, int64_t By) -> Value {
    return W.B.createOrFold<arith::RemUIOp>(W.Loc, X, W.index(By));
  };
  auto Divided = [&](Value X, int64_t By) -> Value {
    return W.B.createOrFold<arith::DivUIOp>(W.Loc, X, W.index(By));
  };
  int64_t Parts = V.Taps / Walk.LineTaps;
  Value First = W.mul(Rest(Number, Parts), W.index(Walk.LineTaps)),
        OfFilter = Divided(Number, Parts);
  Value TapRow = Rest(OfFilter, H.Taps), TapPlane = Divided(OfFilter, H.Taps);
  if (Win.Rank == 3)
    Plane = linesOf(SlidingWindow::Depth, 1, TapPlane)[0];
  std::map<int64_t, Line> Rows = linesOf(SlidingWindow::Height, 1, TapRow),
                          Columns = linesOf(SlidingWindow::Width, Walk.LineTaps,
                                            First);
  for (int64_t I = 0; I < S.Rows; ++I) {
    std::map<int64_t, Values> Pixels;
    for (auto &[Column, Other] : Columns)
      Pixels[Column] = loadPixel(Rows[I * H.Stride], Other);
    for (int64_t Tap = 0; Tap < Walk.LineTaps; ++Tap) {
      Value TapColumn = W.add(First, W.index(Tap));
      for (int64_t J = 0; J < S.Columns && succeeded(Result); ++J)
        Result = multiplyTap(Sums[I * S.Columns + J], I, J,
                             {TapPlane, TapRow, TapColumn},
                             Pixels[J * V.Stride + Tap * V.Dilation]);
    }
  }
}

void WindowTile::walkLines() {
  auto Flat = [&] {
    Values All;
    for (const Values &Place : Sums)
      llvm::append_range(All, Place);
    return All;
  };
  auto Take = [&](ValueRange All) {
    size_t Each = Sums.front().size();
    for (auto [I, Place] : llvm::enumerate(Sums))
      Place.assign(All.begin() + I * Each, All.begin() + (I + 1) * Each);
  };
  Loads.end();
  Values Last = W.loop(W.index(0), W.index(Walk.Lines), W.index(1), Flat(),
                       [&](Value Number, ValueRange Carried) {
                         Take(Carried);
                         Loads.begin(Channel);
                         walkLine(Number);
                         Loads.end();
                         return Flat();
                       });
  Take(Last);
  Loads.begin(Channel);
}

LogicalResult WindowTile::startSums() {
  linalg::LinalgOp Op = Win.R.Op;
  for (int64_t I = 0; I < S.Rows; ++I)
    for (int64_t J = 0; J < S.Columns; ++J) {
      Sums.emplace_back();
      for (int64_t L = 0; L < S.Lanes; ++L)
        for (Value Init : Op.getDpsInits()) {
          Values At = placeOf(I, J, Loads.at(unsigned(L)));
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
        Values At = placeOf(I, J, Channel);
        if (failed(storeOutputs(W, Win.R, At, Lanes)))
          Result = failure();
      };
      Value Inside;
      auto Check = [&](unsigned Axis, int64_t Place, Value Index) {
        const WindowAxis &A = Win.Axes[Axis];
        std::optional<int64_t> Out = constantOf(A.Out);
        if (Place == 0 || (Out && *Out % places(Axis) == 0))
          return;
        Value Is = W.less(Index, W.size(A.Out));
        Inside = Inside ? W.both(Inside, Is) : Is;
      };
      Check(SlidingWindow::Height, I, OutRow[I]);
      Check(SlidingWindow::Width, J, OutColumn[J]);
      if (Inside)
        W.when(Inside, Store);
      else
        Store();
    }
  return Result;
}

LogicalResult WindowTile::emit() {
  const SmallVector<OpFoldResult> &All = Win.R.ParallelSizes;
  SmallVector<OpFoldResult> Sizes(All);
  auto Tiled = [&](OpFoldResult &Size, int64_t By) {
    Size = W.ceilDiv(W.size(Size), By);
  };
  Tiled(Sizes.back(), S.Lanes);
  Tiled(Sizes[Win.Rank], S.Columns);
  if (Win.Rank > 1)
    Tiled(Sizes[Win.Rank - 1], S.Rows);
  Value OfBlock = W.mul(W.block(), W.index(WindowThreads));
  Value Number = W.add(OfBlock, W.thread());
  auto Bound = Reduction::boundOf(All);
  W.when(W.less(Number, W.size(Sizes)), [&] {
    Values Place = W.split(Number, Sizes, Bound);
    Image = Place[0];
    Channel = W.mul(Place.back(), W.index(S.Lanes));
    OutDepth = Win.Rank == 3 ? Place[1] : W.index(0);
    Value FirstRow = Win.Rank > 1 ? W.mul(Place[Win.Rank - 1], W.index(S.Rows))
                                  : W.index(0),
          FirstColumn = W.mul(Place[Win.Rank], W.index(S.Columns));
    for (int64_t I = 0; I < S.Rows; ++I)
      OutRow.push_back(W.add(FirstRow, W.index(I)));
    for (int64_t J = 0; J < S.Columns; ++J)
      OutColumn.push_back(W.add(FirstColumn, W.index(J)));
    Memory =
        flatView(W, Win.R.Form.Func.getArgument(Win.X.Argument), Win.X.Element);
    ImageOffset = W.add(W.mul(Image, W.size(Win.ImagePitch)), Channel);
    Loads.begin(Channel);
    Result = startSums();
    if (succeeded(Result) && Walk.IsStraight) {
      if (Win.Rank == 3)
        Plane = linesOf(SlidingWindow::Depth, 1)[0];
      walkStraight();
    } else if (succeeded(Result)) {
      walkLines();
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
  unsigned Last = Win.Rank + 1;
  int64_t Lanes = storeLanesOf(R.Form.Outputs, Last, Last, Widest);
  Lanes = std::min(Lanes, Widest / storageBytes(Win.X.Element));
  auto Fit = [&](OpFoldResult Size) {
    while (Lanes > 1 && divisorOf(Size) % Lanes)
      Lanes /= 2;
  };
  Fit(R.ParallelSizes.back());
  Fit(Win.ImagePitch);
  for (unsigned D = 0; D < Win.Rank; ++D)
    Fit(Win.Axes[Win.axisOf(D)].Pitch);
  return Lanes;
}

WindowShape shapeOf(const SlidingWindow &Win, const target::Target &T) {
  const Reduction &R = Win.R;
  TapWalk Walk(Win);
  WindowShape Shape;
  int64_t Images = typicalOf(R.ParallelSizes[0], UnknownImages);
  Shape.Channels = typicalOf(R.ParallelSizes.back(), UnknownSize);
  int64_t Pixels = 1, Places = 1;
  for (unsigned Axis = 0; Axis < 3; ++Axis) {
    const WindowAxis &A = Win.Axes[Axis];
    int64_t Out = std::max<int64_t>(typicalOf(A.Out, UnknownSize), 1);
    Pixels *= typicalOf(A.Size, UnknownSize);
    Places *= Out;
    // A plane of places is computed as an image by itself.
    if (Axis == SlidingWindow::Depth) {
      Shape.Images = Images * Out;
      continue;
    }
    unsigned D = Axis - 1;
    Shape.Out[D] = Out;
    Shape.Known[D] = constantOf(A.Out).has_value();
    Shape.Taps[D] = Walk.IsStraight ? A.Taps : 1;
    Shape.Stride[D] = A.Stride;
    Shape.Dilation[D] = A.Dilation;
  }
  Shape.Taps[1] = Walk.LineTaps;
  Shape.Lines = Walk.Lines;
  Shape.MostLanes = mostLanes(Win, T);
  Shape.ElementBytes = storageBytes(Win.X.Element);
  int64_t OutBytes = 0;
  for (const KernelOutput &Out : R.Form.Outputs)
    OutBytes +=
        storageBytes(cast<MemRefType>(Out.Memref.getType()).getElementType());
  Shape.Bytes = Images * Shape.Channels *
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
  SmallVector<shape::Expr> Sizes;
  for (OpFoldResult Size : Win->R.ParallelSizes) {
    std::optional<shape::Expr> Known = sizeExpr(Size);
    if (!Known)
      return FamilyAnswer::refuse(RefusalKind::Size,
                                  "a size of its result is no expression");
    Sizes.push_back(*Known);
  }
  return FamilyAnswer::offer(
      schedule::rankWindowSchedules(shapeOf(*Win, T), T),
      [&Form, Win, Sizes](const WindowSchedule &S, GpuLaunch &Launch) {
        SmallVector<shape::Expr> Tiles(Sizes);
        Tiles.back() = Tiles.back().ceilDiv(S.Lanes);
        Tiles[Win->Rank] = Tiles[Win->Rank].ceilDiv(S.Columns);
        if (Win->Rank > 1)
          Tiles[Win->Rank - 1] = Tiles[Win->Rank - 1].ceilDiv(S.Rows);
        shape::Expr Threads(1);
        for (const shape::Expr &Size : Tiles)
          Threads = Threads * Size;
        Launch.Block = {int32_t(WindowThreads), 1, 1};
        Launch.Grid[0] = Threads.ceilDiv(WindowThreads).str();
        GpuWriter W(Form);
        return WindowTile(W, *Win, S).emit();
      });
}

} // namespace kpc::kernels

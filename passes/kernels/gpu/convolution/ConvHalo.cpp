//===- ConvHalo.cpp - Convolutions of tiles of images on mma.sync ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A convolution of few channels, two spatial dimensions, on every chip from
/// sm_80 on. A block keeps the filter of all taps in shared memory and takes
/// one rectangle of places after the other, with the pixels that their taps
/// see. Each pixel is copied once for all taps (ConvMmaSync.cpp copies it once
/// for each).
///
///      w ──cp.async──▶ (tap, channels) × outputs, once ──┐
///      x ──cp.async──▶ stage: a rectangle and its border ─┴─mma.sync──▶ y
///
/// Results go through the stage that was multiplied. With two stages the next
/// rectangle's pixels arrive meanwhile, with one when the results are stored:
/// then other warpgroups multiply. What lies around the image is zeros, which
/// cp.async writes.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/KernelFamily.h"
#include "passes/kernels/gpu/convolution/ImplicitGemm.h"
#include "passes/kernels/gpu/gemm/MmaSyncGemm.h"
#include "passes/schedule/ConvHaloSchedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

namespace {

schedule::ConvHaloShape shapeOf(const ImplicitGemm &Conv) {
  const GemmMatch &P = Conv.P;
  schedule::ConvHaloShape Shape;
  auto Typical = [](OpFoldResult Size) {
    return typicalOf(Size, UnknownExtent);
  };
  Shape.Images = Typical(P.C.M.Sizes[0]);
  for (size_t I = 0; I < 2; ++I) {
    const ImplicitGemm::Axis &Axis = Conv.Axes[I];
    Shape.Places[I] = Typical(P.C.M.Sizes[I + 1]);
    Shape.Taps[I] = Axis.Taps;
    Shape.Strides[I] = Axis.Stride;
    Shape.Dilations[I] = Axis.Dilation;
    // Without what surrounds the image.
    Shape.Pixels[I] = std::max<int64_t>(
        Shape.reach(I, Shape.Places[I]) - Axis.Low - Axis.High, 1);
  }
  Shape.Channels = *Conv.Channels.asConstant();
  if (Conv.channelsGoOn())
    Shape.PixelStep = *Conv.Axes[1].Pitch.asConstant();
  Shape.Outputs = typicalProduct(P.C.N.Sizes, UnknownExtent);
  Shape.ResultBytes = P.D.Element.getIntOrFloatBitWidth() / 8;
  Shape.HasResidual = P.ReadsAtResult;
  return Shape;
}

/// What the epilogue is built by, before the base that refers to it.
struct GemmOfHalo {
  explicit GemmOfHalo(const schedule::ConvHaloSchedule &S) : Gemm(S.gemm()) {}
  schedule::MmaSyncSchedule Gemm;
};

class ConvHalo : GemmOfHalo, MmaSyncResults {
public:
  ConvHalo(FusedKernel &Form, const ImplicitGemm &Conv, GemmMatch &P,
           const schedule::ConvHaloSchedule &S, const target::Target &T)
      : GemmOfHalo(S), MmaSyncResults(Form, P, GemmOfHalo::Gemm, T), Conv(Conv),
        S(S), Shape(shapeOf(Conv)) {}

  LogicalResult emit(GpuLaunch &Launch);

private:
  /// Where a rectangle begins: index.
  struct Rectangle {
    Value Image, Line, Place;
  };
  /// A place of the tile, as its row: i32.
  struct InTile {
    Value Line, Place;
  };

  void placeBlock();
  void allocate();
  Rectangle rectangleOf(Value Number);
  InTile inTile(Value Row);
  void copyFilter();
  Value restOfLine(Value Place, Value Channel);
  void copyPixels(const Rectangle &Of, Value Stage);
  Value stageOf(Value Stage);
  Value pixelsOf(Value Stage);
  void walkTiles();
  Value multiply(Value Stage);
  void copyNext();
  void copyFirst();
  Value firstTile() {
    return W.add(W.mul(FirstTile, W.index(S.Warpgroups)), Stream);
  }
  Value countPlaces(size_t Axis) { return W.size(P.C.M.Sizes[Axis + 1]); }
  Value least32(Value A, Value C) { return compute<arith::MinSIOp>(A, C); }
  Value less32(Value A, Value C) {
    return arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::ult, A, C);
  }
  Expr sizeOfLoop(size_t I) const { return *sizeExpr(P.C.M.Sizes[I]); }

  MemoryRow rowOf(Value Row) override;
  void locate(AccumulatorCoord &At) override;

  const ImplicitGemm &Conv;
  const schedule::ConvHaloSchedule &S;
  schedule::ConvHaloShape Shape;
  Value Ring, Filter;
  Value Stream;                     ///< index: the warpgroup's number
  Value TileCount, FirstTile, Step; ///< index, of rectangles; the block's
  Value TilesOfLines, TilesOfPlaces;
  Rectangle Now;
  Value Next, NextStage;
};

/// The block's outputs, and the rectangles that it takes one after the other.
void ConvHalo::placeBlock() {
  ColumnCount = W.size(P.C.N.Sizes);
  Value Block = toI32(W.block()),
        Across = toI32(W.ceilDiv(ColumnCount, S.TileN)),
        Blocks = toI32(
            gpu::GridDimOp::create(W.B, W.Loc, gpu::Dimension::x).getResult());
  FirstColumn =
      W.mul(toIndex(compute<arith::RemUIOp>(Block, Across)), W.index(S.TileN));
  FirstTile = toIndex(compute<arith::DivUIOp>(Block, Across));
  Step = W.mul(toIndex(compute<arith::DivUIOp>(Blocks, Across)),
               W.index(S.Warpgroups));
  TilesOfLines = W.ceilDiv(countPlaces(0), S.Lines);
  TilesOfPlaces = W.ceilDiv(countPlaces(1), S.Columns);
  TileCount = W.mul(W.mul(W.size(P.C.M.Sizes[0]), TilesOfLines), TilesOfPlaces);
  // Rows are those of the tile.
  FirstRow = W.index(0);
  RowCount = W.index(S.tileM());
  Group = W.index(0);
  Meets = tile::Scope::Warpgroup;
}

void ConvHalo::allocate() {
  MLIRContext *Context = W.B.getContext();
  Type Element = P.A.Element;
  auto Alloc = [&](int64_t Rows, int64_t Columns, Type Of, int64_t Swizzle) {
    return tile::AllocOp::create(
               W.B, W.Loc,
               tile::SharedType::get(Context, {Rows, Columns}, Of, Swizzle))
        .getResult();
  };
  Ring = Alloc(S.Warpgroups * S.Stages * S.stageBytes(Shape) / SharedLineBytes,
               SharedLineBytes / 2, Element, SharedLineBytes);
  Filter = Alloc(Conv.taps() * Shape.filterRows(), S.TileN, Element,
                 std::min(S.TileN * 2, SharedLineBytes));
}

ConvHalo::Rectangle ConvHalo::rectangleOf(Value Number) {
  Value Tile = toI32(Number), Places = toI32(TilesOfPlaces),
        Lines = toI32(TilesOfLines);
  Value Line = compute<arith::DivUIOp>(Tile, Places);
  return {
      toIndex(compute<arith::DivUIOp>(Line, Lines)),
      W.mul(toIndex(compute<arith::RemUIOp>(Line, Lines)), W.index(S.Lines)),
      W.mul(toIndex(compute<arith::RemUIOp>(Tile, Places)),
            W.index(S.Columns))};
}

/// tile.mma_window's order: groups of 16 places go down, then across.
ConvHalo::InTile ConvHalo::inTile(Value Row) {
  int64_t OfWarp = S.tileM() / 64;
  Value Number = toI32(Row);
  auto Div = [&](Value V, int64_t By) {
    return compute<arith::DivUIOp>(V, i32(By));
  };
  auto Rem = [&](Value V, int64_t By) {
    return compute<arith::RemUIOp>(V, i32(By));
  };
  auto Sum = [&](Value A, Value C) { return compute<arith::AddIOp>(A, C); };
  auto Mul = [&](Value V, int64_t By) {
    return compute<arith::MulIOp>(V, i32(By));
  };
  Value Warp = Rem(Div(Number, 16), 4);
  Value Group = Sum(Mul(Warp, OfWarp), Div(Number, 64));
  return {Rem(Group, S.Lines),
          Sum(Mul(Div(Group, S.Lines), 16), Rem(Number, 16))};
}

/// Zeros where a tap has more rows than channels.
void ConvHalo::copyFilter() {
  int64_t ElementBytes = 2, Piece = Conv.filterAlignment();
  if (Piece < LeastCopyBytes)
    Piece = ElementBytes;
  Value Memory =
      flatView(W, Form.Func.getArgument(P.B.Argument), P.B.storedElement());
  auto Copy = tile::CpAsyncOp::create(W.B, W.Loc, Memory, Filter,
                                      uint32_t(Piece), /*row_stride=*/Value());
  OpBuilder::InsertionGuard Guard(W.B);
  Type Index = W.B.getIndexType();
  Block *Body =
      W.B.createBlock(&Copy.getBody(), {}, {Index, Index}, {W.Loc, W.Loc});
  Value Row = toI32(Body->getArgument(0));
  Value Column = W.add(FirstColumn, Body->getArgument(1));
  Value Channel = compute<arith::RemUIOp>(Row, i32(Shape.filterRows())),
        Tap = compute<arith::DivUIOp>(Row, i32(Shape.filterRows()));
  Value At =
      W.add(W.mul(toIndex(Channel), valueOf(W, Form, P.B.RowStride)), Column);
  Value Taps = i32(Shape.Taps[1]);
  for (auto [I, Of] : {std::pair(0, compute<arith::DivUIOp>(Tap, Taps)),
                       std::pair(1, compute<arith::RemUIOp>(Tap, Taps))})
    At = W.add(At, W.mul(toIndex(Of), valueOf(W, Form, Conv.Axes[I].TapPitch)));
  Value Count = sub(ColumnCount, Column);
  if (Shape.filterRows() > Shape.Channels)
    Count = arith::SelectOp::create(
        W.B, W.Loc, less32(Channel, i32(Shape.Channels)), Count, W.index(0));
  tile::YieldAddressOp::create(W.B, W.Loc, At, Count);
}

/// Of this warpgroup.
Value ConvHalo::stageOf(Value Stage) {
  int64_t Rows = S.stageBytes(Shape) / SharedLineBytes;
  auto Whole = cast<tile::SharedType>(Ring.getType());
  auto Part = tile::SharedType::get(
      W.B.getContext(), {Rows, Whole.getColumns()}, Whole.getElement(),
      Whole.getSwizzle(), Whole.getPitch());
  Value Number = W.add(W.mul(Stream, W.index(S.Stages)), Stage);
  return tile::SubviewRowsOp::create(W.B, W.Loc, Part, Ring,
                                     W.mul(Number, W.index(Rows)));
}

Value ConvHalo::pixelsOf(Value Stage) {
  auto Plain = tile::SharedType::get(
      W.B.getContext(), {S.pixels(Shape), Shape.pixelPitch()}, P.A.Element,
      /*swizzle=*/0);
  return tile::ReuseOp::create(W.B, W.Loc, Plain, stageOf(Stage));
}

/// Elements of a line of the image from pixel `Place` and its channel on that
/// are there: a line ends where the last pixel's channels do.
Value ConvHalo::restOfLine(Value Place, Value Channel) {
  Value Size = valueOf(W, Form, Conv.Axes[1].Size);
  Value Before = compute<arith::SubIOp>(toI32(Size), i32(1));
  Before = compute<arith::SubIOp>(Before, Place);
  Value Rest = compute<arith::AddIOp>(
      compute<arith::MulIOp>(Before, i32(Shape.PixelStep)),
      i32(Shape.Channels));
  Rest = compute<arith::SubIOp>(Rest, toI32(Channel));
  return compute<arith::MaxSIOp>(Rest, i32(0));
}

/// Zeros where the image has no pixel.
void ConvHalo::copyPixels(const Rectangle &Of, Value Stage) {
  Value Memory =
      flatView(W, Form.Func.getArgument(P.A.Argument), P.A.storedElement());
  constexpr int64_t Piece = 16;
  Value Base = W.mul(Of.Image, valueOf(W, Form, Conv.ImagePitch));
  Value First[2];
  for (size_t I = 0; I < 2; ++I)
    First[I] = compute<arith::SubIOp>(
        compute<arith::MulIOp>(toI32(I ? Of.Place : Of.Line),
                               i32(Shape.Strides[I])),
        i32(Conv.Axes[I].Low));
  auto Copy = tile::CpAsyncOp::create(
      W.B, W.Loc, Memory, pixelsOf(Stage), uint32_t(Piece),
      /*row_stride=*/Value(), /*cached=*/false, uint32_t(Shape.pixelElements()),
      /*warpgroup=*/true);
  OpBuilder::InsertionGuard Guard(W.B);
  Type Index = W.B.getIndexType();
  Block *Body =
      W.B.createBlock(&Copy.getBody(), {}, {Index, Index}, {W.Loc, W.Loc});
  Value Pixel = toI32(Body->getArgument(0)),
        Width = i32(Shape.width(S.Columns));
  Value In[2] = {compute<arith::DivUIOp>(Pixel, Width),
                 compute<arith::RemUIOp>(Pixel, Width)};
  Value At = W.add(Base, Body->getArgument(1)), Inside,
        Elements = W.index(Piece / 2);
  for (size_t I = 0; I < 2; ++I) {
    const ImplicitGemm::Axis &Axis = Conv.Axes[I];
    Value Here = compute<arith::AddIOp>(First[I], In[I]);
    Value Is = less32(Here, toI32(valueOf(W, Form, Axis.Size)));
    if (I == 1 && Shape.PixelStep)
      Elements = toIndex(restOfLine(Here, Body->getArgument(1)));
    else
      Inside = Inside ? W.both(Inside, Is) : Is;
    At = W.add(At, W.mul(toIndex(Here), valueOf(W, Form, Axis.Pitch)));
  }
  Value Count =
      arith::SelectOp::create(W.B, W.Loc, Inside, Elements, W.index(0));
  tile::YieldAddressOp::create(W.B, W.Loc, At, Count);
}

/// Begins the copies of the next rectangle, if there is one.
void ConvHalo::copyNext() {
  W.when(W.less(Next, TileCount),
         [&] { copyPixels(rectangleOf(Next), NextStage); });
  tile::CpAsyncCommitOp::create(W.B, W.Loc);
}

void ConvHalo::copyFirst() {
  Next = firstTile();
  NextStage = W.index(0);
  copyNext();
}

Value ConvHalo::multiply(Value Stage) {
  auto Fragment = tile::FragmentType::get(
      W.B.getContext(), {S.tileM(), S.TileN}, P.accumulatorType());
  Value Zero = arith::ConstantOp::create(W.B, W.Loc,
                                         W.B.getZeroAttr(P.accumulatorType()));
  Value Acc = tile::SplatOp::create(W.B, W.Loc, Fragment, Zero);
  return tile::MmaWindowOp::create(
      W.B, W.Loc, Fragment, pixelsOf(Stage), uint64_t(Shape.width(S.Columns)),
      uint64_t(Shape.Channels), Filter, Acc, Shape.Taps, Shape.Strides,
      Shape.Dilations, uint64_t(S.Lines));
}

MmaSyncResults::MemoryRow ConvHalo::rowOf(Value Row) {
  InTile In = inTile(Row);
  Value Line = compute<arith::AddIOp>(toI32(Now.Line), In.Line),
        Place = compute<arith::AddIOp>(toI32(Now.Place), In.Place);
  Value Lines = countPlaces(0), Places = countPlaces(1);
  Value At = W.add(W.mul(Now.Image, Lines), toIndex(Line));
  auto IsThere = [this, Line, Place, Lines, Places] {
    return W.both(less32(Line, toI32(Lines)), less32(Place, toI32(Places)));
  };
  return {W.add(W.mul(At, Places), toIndex(Place)), IsThere};
}

void ConvHalo::locate(AccumulatorCoord &At) {
  At.Places = [this](Value Row) -> Values {
    InTile In = inTile(Row);
    auto Inside = [&](Value First, Value Of, size_t Axis) {
      Value Last = compute<arith::SubIOp>(toI32(countPlaces(Axis)), i32(1));
      return toIndex(least32(compute<arith::AddIOp>(toI32(First), Of), Last));
    };
    return {Now.Image, Inside(Now.Line, In.Line, 0),
            Inside(Now.Place, In.Place, 1)};
  };
}

/// What a warpgroup does, when the filter and its first pixels are there.
void ConvHalo::walkTiles() {
  auto Sync = [&] { tile::SyncOp::create(W.B, W.Loc, Meets); };
  W.loop(firstTile(), TileCount, Step, W.index(0),
         [&](Value Tile, ValueRange In) -> Values {
           Value Stage = In[0];
           Next = W.add(Tile, Step);
           NextStage = S.Stages == 1 ? Stage : sub(W.index(1), Stage);
           tile::CpAsyncWaitOp::create(W.B, W.Loc, 0);
           // With two stages, all have stored what went through the other.
           Sync();
           if (S.Stages > 1)
             copyNext();
           Value Acc = multiply(Stage);
           Now = rectangleOf(Tile);
           storeTile(Acc, stageOf(Stage));
           if (S.Stages == 1) {
             Sync();
             copyNext();
           }
           return {NextStage};
         });
}

LogicalResult ConvHalo::emit(GpuLaunch &Launch) {
  W.B.getContext()->loadDialect<tile::TileDialect>();
  placeBlock();
  allocate();
  tile::BarrierInitOp::create(W.B, W.Loc);
  auto Each = [&](auto Body) {
    role("tiles", 0, 4 * S.Warpgroups, /*Registers=*/0, [&](Value Number) {
      Stream = Number;
      (this->*Body)();
    });
  };
  Each(&ConvHalo::copyFirst);
  copyFilter();
  tile::CpAsyncCommitOp::create(W.B, W.Loc);
  tile::CpAsyncWaitOp::create(W.B, W.Loc, 0);
  tile::SyncOp::create(W.B, W.Loc, tile::Scope::Block);
  Each(&ConvHalo::walkTiles);
  Expr Tiles = sizeOfLoop(0) * sizeOfLoop(1).ceilDiv(Expr(S.Lines)) *
               sizeOfLoop(2).ceilDiv(Expr(S.Columns));
  Expr Across = P.N.ceilDiv(Expr(S.TileN));
  int64_t Resident = S.residentBlocks(Shape, T);
  Expr AtOnce = (Expr::symbol("sm_count") * Expr(Resident)).floorDiv(Across);
  Launch.Grid[0] = (Expr::min(Tiles.ceilDiv(Expr(S.Warpgroups)),
                              Expr::max(AtOnce, Expr(1))) *
                    Across)
                       .str();
  Launch.Block = {int32_t(S.threads()), 1, 1};
  Launch.ResidentBlocks = int32_t(Resident);
  return Result;
}

/// Pixels of less than 16 bytes are taken for those that a step of the filter
/// moves, where a line of its taps is one piece of memory.
void foldFewChannels(ImplicitGemm &Conv) {
  std::optional<int64_t> Channels = Conv.Channels.asConstant();
  if (Conv.Axes.size() == 2 && Channels && *Channels % 8 &&
      Conv.P.A.Element.getIntOrFloatBitWidth() == 16)
    Conv.foldTapsIntoChannels();
}

/// Why its pixels are not kept in shared memory; none: they are.
std::optional<schedule::Refusal> refusalOf(const ImplicitGemm &Conv,
                                           const target::Target &T) {
  auto No = [](RefusalKind Kind, const char *Why) {
    return schedule::Refusal{"", Kind, Why};
  };
  if (std::optional<schedule::Refusal> Why = refusalByMmaSync(Conv, T))
    return Why;
  const GemmMatch &P = Conv.P;
  if (P.A.Element.getIntOrFloatBitWidth() != 16)
    return No(RefusalKind::ElementType,
              "elements of the image have not 16 bits");
  if (Conv.Axes.size() != 2)
    return No(RefusalKind::Form, "it has not two spatial dimensions");
  if (Conv.Groups > 1)
    return No(RefusalKind::Form, "channels are in groups");
  if (Conv.taps() == 1)
    return No(RefusalKind::Form, "one tap reads each pixel once");
  if (Conv.pixelAlignment() < 16 ||
      (*Conv.Channels.asConstant() % 8 && !Conv.channelsGoOn()))
    return No(RefusalKind::Layout,
              "channels of a pixel are no multiple of 16 bytes");
  if (Conv.isKMajor())
    return No(RefusalKind::Layout, "outputs are not contiguous in the filter");
  for (size_t I = 0; I < 3; ++I)
    if (!sizeExpr(P.C.M.Sizes[I]))
      return No(RefusalKind::Size, "sizes of the result have no expressions");
  return std::nullopt;
}

} // namespace

FamilyAnswer queryConvHalo(FusedKernel &Form, const target::Target &T) {
  std::optional<ImplicitGemm> Read = ImplicitGemm::readAny(Form);
  if (!Read)
    return FamilyAnswer::refuse(RefusalKind::Form, "it is no convolution");
  if (GemmMatch::read(Form))
    return FamilyAnswer::refuse(RefusalKind::Form, "it is a GEMM of pixels");
  foldFewChannels(*Read);
  if (std::optional<schedule::Refusal> No = refusalOf(*Read, T))
    return FamilyAnswer::refuse(*No);
  auto Conv = std::make_shared<ImplicitGemm>(std::move(*Read));
  schedule::ConvHaloShape Shape = shapeOf(*Conv);
  int64_t Places = Shape.Images * Shape.Places[0] * Shape.Places[1],
          Sum = Shape.Taps[0] * Shape.Taps[1] * Shape.Channels;
  if (Places < FewestForMma ||
      (Shape.Outputs < FewestForMma && Sum < LeastSumOfFew))
    return FamilyAnswer::refuse(RefusalKind::Size, TooFewForMma);
  return FamilyAnswer::offer(
      schedule::rankConvHaloSchedules(Shape, T),
      [&Form, Conv, &T](const schedule::ConvHaloSchedule &S,
                        GpuLaunch &Launch) {
        return ConvHalo(Form, *Conv, Conv->P, S, T).emit(Launch);
      },
      [Shape, &T](StringRef Text) {
        return schedule::readConvHaloSchedule(Text.str(), Shape, T);
      });
}

} // namespace kpc::kernels

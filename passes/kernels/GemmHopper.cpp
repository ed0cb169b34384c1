//===- GemmHopper.cpp - Matrix products on wgmma --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A product of 16-bit matrices on sm_90a. One warp of a block copies slices of
/// both operands into a ring in shared memory (TMA); one, two or three other
/// warpgroups multiply them (wgmma), 64 rows each, with one product in flight
/// while the next slice is waited for; what the kernel does with each element
/// happens in registers; the result goes through shared memory back by TMA.
/// Blocks stay and take tile after tile, so that the ring runs on over the end
/// of a tile.
///
///      global A,B ──TMA──▶ slot 0 … slot S-1 ──wgmma──▶ registers
///                             ▲  full/empty barriers       │ epilogue
///      global D ◀──TMA── staging, two of 64×64 ◀──stmatrix─┘
///
/// Not for: sums that may be empty, rows of memory that do not start at
/// multiples of 16 bytes, an A that is stored with its rows side by side.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/MatrixProduct.h"
#include "passes/kernels/SizeFacts.h"
#include "passes/schedule/GemmSchedule.h"

#include "dialects/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace kpc::kernels {

using schedule::GemmSchedule;
using shape::Expr;

namespace {

/// Bytes of the longest line of shared memory, and of its swizzle.
constexpr int64_t LineBytes = 128;
/// What TMA asks of strides, in bytes.
constexpr int64_t StrideBytes = 16;

/// Copies of `M` can be made of rows that are contiguous along the sum (`A`),
/// or along either (`B`).
bool isReadable(const MatrixProduct &P, const Matrix &M, bool RowsToo) {
  int64_t Elements = StrideBytes * 8 / M.Element.getIntOrFloatBitWidth();
  auto Whole = [&](const Expr &Stride) {
    int64_t Divisor = P.Facts.divisor(Stride);
    return Divisor % Elements == 0; // 0 divides as all do
  };
  bool ByRow = M.ColumnStride == Expr(1) && Whole(M.RowStride);
  bool ByColumn = M.RowStride == Expr(1) && Whole(M.ColumnStride);
  return (ByRow || (RowsToo && ByColumn)) && Whole(M.BatchStride);
}

bool fits(MatrixProduct &P) {
  Type Element = P.A.Element;
  auto Positive = [&](const Expr &Size) {
    return P.Facts.range(Size).Min >= 1;
  };
  return (Element.isF16() || Element.isBF16()) && P.B.Element == Element &&
         (P.D.Element.isF16() || P.D.Element.isBF16()) &&
         cast<ShapedType>(P.C.R.Op.getResultTypes()[0])
             .getElementType()
             .isF32() &&
         Positive(P.Sum) && isReadable(P, P.A, false) &&
         isReadable(P, P.B, true) && isReadable(P, P.D, false);
}

class GemmHopper {
public:
  GemmHopper(KernelForm &Form, MatrixProduct &P, const GemmSchedule &S)
      : Form(Form), P(P), S(S), W(Form) {}

  LogicalResult emit(GpuLaunch &Launch);

private:
  using Values = SmallVector<Value>;
  /// Where a tile is: its first row and column, and its batch index.
  struct Place {
    Value Row, Column, Batch;
  };

  void declareTypes();
  BlockArgument addView(const Matrix &M, Type View, bool ByColumn,
                        const Expr &Rows, const Expr &Columns);
  void declare();
  void countTiles();
  Place placeOf(Value Tile);
  Values at(const Place &Where, Value Row, Value Column);
  Values forEachTile(ValueRange Carried,
                     function_ref<Values(Value, ValueRange)> Body);
  void role(StringRef Name, int64_t First, int64_t End, int64_t Registers,
            function_ref<void(Value Group)> Body);
  void elect(tile::Scope Scope, function_ref<void()> Body);
  void produce();
  Value produceTile(const Place &Where, Value Cursor);
  void consume(Value Group);
  Value multiplyTile(Value Group, Value &Cursor);
  void finishTile(const Place &Where, Value Group, Value Sums);
  Value mapElements(const Place &Where, Value Row, Value Column, Value Part);
  Value rowsOf(Value Tile, Value First);
  Value i32(int64_t V) {
    return arith::ConstantIntOp::create(W.B, W.Loc, V, 32);
  }
  template <typename Op> Value compute(Value A, Value C) {
    return W.B.createOrFold<Op>(W.Loc, A, C);
  }
  Value toI32(Value V) {
    return W.B.createOrFold<arith::IndexCastOp>(W.Loc, W.B.getI32Type(), V);
  }
  Value toIndex(Value V) {
    return W.B.createOrFold<arith::IndexCastOp>(W.Loc, W.B.getIndexType(), V);
  }

  KernelForm &Form;
  MatrixProduct &P;
  const GemmSchedule &S;
  GpuWriter W;
  bool BByColumn = false; ///< the sum is contiguous in B
  tile::SharedType TileA, TileB, Staging;
  tile::FragmentType Sums;
  tile::PipeType PipeTy;
  BlockArgument ViewA, ViewB, ViewD;
  Value Pipe, Stage;
  Value RowTiles, ColumnTiles, Tiles; ///< i32
  Value RowCount, ColumnCount, SumCount;
  SmallVector<Attribute> TensorMaps;
  LogicalResult Result = success();
};

void GemmHopper::declareTypes() {
  MLIRContext *Context = W.B.getContext();
  Type Element = P.A.Element;
  auto Shared = [&](int64_t Rows, int64_t Columns, Type Of) {
    int64_t Row = Columns * Of.getIntOrFloatBitWidth() / 8;
    return tile::SharedType::get(Context, {Rows, Columns}, Of,
                                 std::min(Row, LineBytes));
  };
  BByColumn = P.B.RowStride == Expr(1);
  TileA = Shared(S.TileRows, S.TileSum, Element);
  TileB = BByColumn ? Shared(S.TileColumns, S.TileSum, Element)
                    : Shared(S.TileSum, S.TileColumns, Element);
  Staging = Shared(S.TileRows * schedule::StagingBuffers,
                   schedule::StagingColumns, P.D.Element);
  Sums =
      tile::FragmentType::get(Context, {64, S.TileColumns}, W.B.getF32Type());
  PipeTy = tile::PipeType::get(Context, S.Slots, {TileA, TileB});
}

/// A parameter of the kernel for copies of `M`: the matrix of `Rows` lines of
/// `Columns` contiguous elements, for each batch index.
BlockArgument GemmHopper::addView(const Matrix &M, Type View, bool ByColumn,
                                  const Expr &Rows, const Expr &Columns) {
  Builder B(W.B.getContext());
  int64_t Bytes = M.Element.getIntOrFloatBitWidth() / 8;
  SmallVector<std::string> Dims = {Columns.str(), Rows.str()};
  SmallVector<std::string> Strides = {
      ((ByColumn ? M.ColumnStride : M.RowStride) * Bytes).str()};
  if (P.hasBatch()) {
    Dims.push_back(P.Batch.str());
    Strides.push_back((M.BatchStride * Bytes).str());
  }
  auto Texts = [&](ArrayRef<std::string> From) {
    return B.getStrArrayAttr(SmallVector<StringRef>(From.begin(), From.end()));
  };
  SmallVector<int64_t> Box(cast<tile::ViewType>(View).getBox());
  std::reverse(Box.begin(), Box.end());
  TensorMaps.push_back(B.getDictionaryAttr({
      B.getNamedAttr("buffer", B.getI64IntegerAttr(M.Argument)),
      B.getNamedAttr("element", TypeAttr::get(M.Element)),
      B.getNamedAttr("dims", Texts(Dims)),
      B.getNamedAttr("strides", Texts(Strides)),
      B.getNamedAttr("box", B.getDenseI64ArrayAttr(Box)),
      B.getNamedAttr("swizzle", B.getI64IntegerAttr(
                                    cast<tile::ViewType>(View).getSwizzle())),
  }));
  func::FuncOp Func = Form.Func;
  unsigned Position = Func.getNumArguments();
  (void)Func.insertArgument(Position, View, {}, Func.getLoc());
  return Func.getArgument(Position);
}

void GemmHopper::declare() {
  MLIRContext *Context = W.B.getContext();
  // A box is what fits one line, of all rows.
  auto View = [&](tile::SharedType Tile, int64_t Rows) {
    SmallVector<int64_t> Box = {Rows, Tile.getLineElements()};
    if (P.hasBatch())
      Box.insert(Box.begin(), 1);
    return tile::ViewType::get(Context, Tile.getElement(), Box,
                               Tile.getSwizzle());
  };
  ViewA = addView(P.A, View(TileA, S.TileRows), false, P.Rows, P.Sum);
  ViewB = BByColumn
              ? addView(P.B, View(TileB, S.TileColumns), true, P.Columns, P.Sum)
              : addView(P.B, View(TileB, S.TileSum), false, P.Sum, P.Columns);
  ViewD = addView(P.D, View(Staging, 64), false, P.Rows, P.Columns);
  Form.Func->setAttr("kpc.tensor_maps", W.B.getArrayAttr(TensorMaps));

  Pipe = tile::PipeOp::create(W.B, W.Loc, PipeTy, tile::Completion::Tma,
                              /*producers=*/1, S.consumers() * 4);
  Stage = tile::AllocOp::create(W.B, W.Loc, Staging);
  RowCount = W.size(P.C.Rows.Sizes);
  ColumnCount = W.size(P.C.Columns.Sizes);
  SumCount = W.size(P.C.Sum.Sizes);
  countTiles();
  tile::StartOp::create(W.B, W.Loc);
}

void GemmHopper::countTiles() {
  RowTiles = toI32(W.ceilDiv(RowCount, S.TileRows));
  ColumnTiles = toI32(W.ceilDiv(ColumnCount, S.TileColumns));
  Tiles = compute<arith::MulIOp>(RowTiles, ColumnTiles);
  if (P.hasBatch())
    Tiles = compute<arith::MulIOp>(Tiles, toI32(W.size(P.C.Batch.Sizes)));
}

/// Tiles are counted down a group of rows, then along columns, then from group
/// to group: blocks that run together share rows and columns in the cache.
GemmHopper::Place GemmHopper::placeOf(Value Tile) {
  Place Where;
  Value InBatch = Tile;
  if (P.hasBatch()) {
    Value PerBatch = compute<arith::MulIOp>(RowTiles, ColumnTiles);
    Where.Batch = toIndex(compute<arith::DivUIOp>(Tile, PerBatch));
    InBatch = compute<arith::RemUIOp>(Tile, PerBatch);
  }
  Value GroupSize = compute<arith::MulIOp>(ColumnTiles, i32(S.GroupRows));
  Value Group = compute<arith::DivUIOp>(InBatch, GroupSize);
  Value InGroup = compute<arith::RemUIOp>(InBatch, GroupSize);
  Value First = compute<arith::MulIOp>(Group, i32(S.GroupRows));
  Value Rows = compute<arith::MinUIOp>(compute<arith::SubIOp>(RowTiles, First),
                                       i32(S.GroupRows));
  Value Row =
      compute<arith::AddIOp>(First, compute<arith::RemUIOp>(InGroup, Rows));
  Value Column = compute<arith::DivUIOp>(InGroup, Rows);
  Where.Row = toIndex(compute<arith::MulIOp>(Row, i32(S.TileRows)));
  Where.Column = toIndex(compute<arith::MulIOp>(Column, i32(S.TileColumns)));
  return Where;
}

GemmHopper::Values GemmHopper::at(const Place &Where, Value Row, Value Column) {
  Values All = {Row, Column};
  if (P.hasBatch())
    All.insert(All.begin(), Where.Batch);
  return All;
}

GemmHopper::Values
GemmHopper::forEachTile(ValueRange Carried,
                        function_ref<Values(Value, ValueRange)> Body) {
  Value First = toI32(W.block());
  Value Step =
      toI32(gpu::GridDimOp::create(W.B, W.Loc, gpu::Dimension::x).getResult());
  return W.loop(First, Tiles, Step, Carried, Body);
}

void GemmHopper::role(StringRef Name, int64_t First, int64_t End,
                      int64_t Registers, function_ref<void(Value)> Body) {
  auto Role = tile::RoleOp::create(W.B, W.Loc, Name, First, End, Registers);
  OpBuilder::InsertionGuard Guard(W.B);
  Block *Entry =
      W.B.createBlock(&Role.getBody(), {}, {W.B.getIndexType()}, {W.Loc});
  Body(Entry->getArgument(0));
  tile::YieldOp::create(W.B, W.Loc);
}

void GemmHopper::elect(tile::Scope Scope, function_ref<void()> Body) {
  auto Elect = tile::ElectOp::create(W.B, W.Loc, Scope);
  OpBuilder::InsertionGuard Guard(W.B);
  W.B.createBlock(&Elect.getBody());
  Body();
  tile::YieldOp::create(W.B, W.Loc);
}

/// One thread fills the ring, for all tiles of its block.
void GemmHopper::produce() {
  elect(tile::Scope::Role, [&] {
    Value Cursor = tile::CursorOp::create(
        W.B, W.Loc, tile::CursorType::get(W.B.getContext()));
    forEachTile(Cursor, [&](Value Tile, ValueRange In) -> Values {
      return {produceTile(placeOf(Tile), In[0])};
    });
  });
}

Value GemmHopper::produceTile(const Place &Where, Value Cursor) {
  auto Free = tile::SlotType::get(W.B.getContext(), tile::SlotState::Free);
  return W.loop(
      W.index(0), SumCount, W.index(S.TileSum), Cursor,
      [&](Value Sum, ValueRange In) -> Values {
        Value Slot = tile::AcquireOp::create(W.B, W.Loc, Free, Pipe, In[0]);
        auto Parts = tile::TilesOp::create(W.B, W.Loc, TypeRange{TileA, TileB},
                                           Pipe, Slot);
        tile::LoadOp::create(W.B, W.Loc, ViewA, at(Where, Where.Row, Sum),
                             Parts.getResult(0), Pipe, Slot);
        Values FromB = BByColumn ? at(Where, Where.Column, Sum)
                                 : at(Where, Sum, Where.Column);
        tile::LoadOp::create(W.B, W.Loc, ViewB, FromB, Parts.getResult(1), Pipe,
                             Slot);
        tile::CommitOp::create(W.B, W.Loc, Pipe, Slot);
        return {tile::NextOp::create(W.B, W.Loc, In[0].getType(), Pipe, In[0])};
      })[0];
}

Value GemmHopper::rowsOf(Value Tile, Value First) {
  auto Whole = cast<tile::SharedType>(Tile.getType());
  auto Part = tile::SharedType::get(W.B.getContext(), {64, Whole.getColumns()},
                                    Whole.getElement(), Whole.getSwizzle(),
                                    Whole.getPitch());
  return tile::RowsOp::create(W.B, W.Loc, Part, Tile, First);
}

/// The sums of one tile's 64 rows. A slot is given back one product late: when
/// the product that reads it is over, the next is already under way.
Value GemmHopper::multiplyTile(Value Group, Value &Cursor) {
  MLIRContext *Context = W.B.getContext();
  auto Full = tile::SlotType::get(Context, tile::SlotState::Full);
  auto Pending = tile::PendingType::get(Context, Sums);
  Value First = W.mul(Group, W.index(64));
  auto Multiply = [&](Value At, Value Add) {
    Value Slot = tile::WaitOp::create(W.B, W.Loc, Full, Pipe, At);
    auto Parts =
        tile::TilesOp::create(W.B, W.Loc, TypeRange{TileA, TileB}, Pipe, Slot);
    Value D = tile::MmaOp::create(W.B, W.Loc, Pending,
                                  rowsOf(Parts.getResult(0), First),
                                  Parts.getResult(1), Add,
                                  /*a_transposed=*/false, BByColumn);
    Value Next = tile::NextOp::create(W.B, W.Loc, At.getType(), Pipe, At);
    return std::tuple(D, Slot, Next);
  };
  auto [D, Slot, Next] = Multiply(Cursor, Value());
  Values Last = W.loop(W.index(S.TileSum), SumCount, W.index(S.TileSum),
                       {D, Slot, Next}, [&](Value, ValueRange In) -> Values {
                         auto [Sum, Held, After] = Multiply(In[2], In[0]);
                         Value Still = tile::RetireOp::create(
                             W.B, W.Loc, Sum.getType(), Sum, 1);
                         tile::ReleaseOp::create(W.B, W.Loc, Pipe, In[1]);
                         return {Still, Held, After};
                       });
  Cursor = Last[2];
  Value Done = tile::AwaitOp::create(W.B, W.Loc, Sums, Last[0]);
  tile::ReleaseOp::create(W.B, W.Loc, Pipe, Last[1]);
  return Done;
}

/// What the kernel makes of the sums, as elements of the output.
Value GemmHopper::mapElements(const Place &Where, Value Row, Value Column,
                              Value Part) {
  auto From = cast<tile::FragmentType>(Part.getType());
  auto To =
      tile::FragmentType::get(W.B.getContext(), From.getShape(), P.D.Element);
  auto Map = tile::MapOp::create(W.B, W.Loc, To, Part, ValueRange{Row, Column},
                                 ValueRange{RowCount, ColumnCount});
  OpBuilder::InsertionGuard Guard(W.B);
  Type Index = W.B.getIndexType();
  Block *Body =
      W.B.createBlock(&Map.getBody(), {}, {From.getElement(), Index, Index},
                      {W.Loc, W.Loc, W.Loc});
  Contraction &C = P.C;
  Values All(C.R.Op.getNumLoops()), At;
  auto Put = [&](const LoopGroup &Group, Value Linear) {
    Values Indices =
        W.split(Linear, Group.Sizes, Reduction::boundOf(Group.Sizes));
    for (auto [Loop, One] : llvm::zip_equal(Group.Loops, Indices))
      All[Loop] = One;
  };
  if (P.hasBatch())
    Put(C.Batch, Where.Batch);
  else
    for (unsigned Loop : C.Batch.Loops)
      All[Loop] = W.index(0);
  Put(C.Rows, Body->getArgument(1));
  Put(C.Columns, Body->getArgument(2));
  for (unsigned Loop : C.R.Parallel)
    At.push_back(All[Loop]);
  Values Sum = {Body->getArgument(0)};
  if (failed(joinInitial(W, C.R, At, Sum)))
    Result = failure();
  Value Heavy = C.R.Op->getResult(0);
  W.Emitter.setElementHook(
      [&](OpBuilder &, Location, Value Tensor, ValueRange) -> Value {
        return Tensor == Heavy ? Sum[0] : Value();
      });
  Value Element = W.Emitter.element(W.B, Form.Outputs[0].Tensor, At);
  W.Emitter.setElementHook({});
  if (!Element)
    Result = failure();
  tile::YieldOp::create(W.B, W.Loc, Element);
  return Map.getResult();
}

void GemmHopper::finishTile(const Place &Where, Value Group, Value Sums) {
  auto All = cast<tile::FragmentType>(Sums.getType());
  auto PartTy = tile::FragmentType::get(
      W.B.getContext(), {64, schedule::StagingColumns}, All.getElement());
  Value Row = W.add(Where.Row, W.mul(Group, W.index(64)));
  for (int64_t C = 0; C < S.TileColumns; C += schedule::StagingColumns) {
    Value Column = W.add(Where.Column, W.index(C));
    Value Part = tile::ColumnsOp::create(W.B, W.Loc, PartTy, Sums, C);
    Value Out = mapElements(Where, Row, Column, Part);
    int64_t Buffer = C / schedule::StagingColumns % schedule::StagingBuffers;
    Value Staged = rowsOf(
        Stage, W.add(W.mul(Group, W.index(64 * schedule::StagingBuffers)),
                     W.index(64 * Buffer)));
    // Wait until this buffer has been read: by the store before the last one,
    // or, where a tile has an odd number of parts, by the last of the tile
    // before.
    int64_t Parts = S.TileColumns / schedule::StagingColumns;
    bool UsedLast = C == 0 && Parts % schedule::StagingBuffers != 0;
    elect(tile::Scope::Warpgroup, [&] {
      tile::WaitStoresOp::create(W.B, W.Loc,
                                 UsedLast ? 0 : schedule::StagingBuffers - 1);
    });
    tile::SyncOp::create(W.B, W.Loc, tile::Scope::Warpgroup);
    tile::PutOp::create(W.B, W.Loc, Out, Staged);
    tile::FenceProxyOp::create(W.B, W.Loc);
    tile::SyncOp::create(W.B, W.Loc, tile::Scope::Warpgroup);
    elect(tile::Scope::Warpgroup, [&] {
      tile::StoreOp::create(W.B, W.Loc, Staged, ViewD, at(Where, Row, Column));
      tile::CommitStoresOp::create(W.B, W.Loc);
    });
  }
}

void GemmHopper::consume(Value Group) {
  Value Cursor = tile::CursorOp::create(
      W.B, W.Loc, tile::CursorType::get(W.B.getContext()));
  forEachTile(Cursor, [&](Value Tile, ValueRange In) -> Values {
    Value At = In[0];
    Value Sums = multiplyTile(Group, At);
    // Behind the products: between the last of them and the wait, ptxas takes
    // any other instruction for one that might read the sums (C7514), and
    // serialises all products.
    finishTile(placeOf(Tile), Group, Sums);
    return {At};
  });
  // Shared memory lives until the stores have read it.
  elect(tile::Scope::Warpgroup,
        [&] { tile::WaitStoresOp::create(W.B, W.Loc, 0); });
}

LogicalResult GemmHopper::emit(GpuLaunch &Launch) {
  W.B.getContext()->loadDialect<tile::TileDialect>();
  declareTypes();
  declare();
  // Registers by warpgroups: they must fit 65,536 for all threads.
  struct Registers {
    int64_t Producer, Consumer;
  };
  constexpr Registers ByConsumers[] = {{40, 240}, {40, 232}, {32, 160}};
  Registers R = ByConsumers[S.consumers() - 1];
  role("producer", 0, 4, R.Producer, [&](Value) { produce(); });
  role("consumer", 4, 4 * (1 + S.consumers()), R.Consumer,
       [&](Value Group) { consume(Group); });
  auto Ceil = [](const Expr &A, int64_t B) { return A.ceilDiv(Expr(B)); };
  Expr Tiles =
      Ceil(P.Rows, S.TileRows) * Ceil(P.Columns, S.TileColumns) * P.Batch;
  Launch.Grid[0] = Expr::min(Tiles, Expr::symbol("sm_count")).str();
  Launch.Block = {int32_t(S.threads()), 1, 1};
  Launch.Schedule = S.str();
  return Result;
}

} // namespace

FailureOr<bool> buildGemmHopper(KernelForm &Form, const target::Target &T,
                                GpuLaunch &Launch) {
  if (!T.Can.Wgmma)
    return false;
  std::optional<MatrixProduct> P = MatrixProduct::read(Form);
  if (!P || !fits(*P))
    return false;
  constexpr int64_t Unknown = 512; // a size of which nothing is said
  constexpr int64_t Fewest = 8;    // rows or columns; fewer are reductions
  auto Typical = [&](const LoopGroup &Group) {
    return typicalProduct(Group.Sizes, Unknown);
  };
  schedule::GemmShape Shape;
  Shape.Rows = Typical(P->C.Rows);
  Shape.Columns = Typical(P->C.Columns);
  Shape.Sum = Typical(P->C.Sum);
  Shape.Batch = Typical(P->C.Batch);
  if (Shape.Rows < Fewest || Shape.Columns < Fewest)
    return false;
  std::vector<schedule::GemmCost> Ranked =
      schedule::rankGemmSchedules(Shape, T);
  if (Ranked.empty())
    return false;
  if (failed(GemmHopper(Form, *P, Ranked.front().Schedule).emit(Launch)))
    return failure();
  return true;
}

} // namespace kpc::kernels

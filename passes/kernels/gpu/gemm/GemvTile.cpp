//===- GemvTile.cpp - The code of a product of few rows -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/GemvTile.h"
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/MmaSync.h"
#include "passes/kernels/gpu/gemm/GemmTileWalk.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

/// The argument that a size or stride is, if it is one.
static BlockArgument argumentOf(const GemmMatch &P, const Expr &E) {
  for (BlockArgument Argument : P.C.R.Form.Func.getArguments())
    if (Argument.getType().isIndex() &&
        E == Expr::symbol("arg" + std::to_string(Argument.getArgNumber())))
      return Argument;
  return {};
}

/// The loops whose number of iterations a size or stride is, if there are any.
static const LoopGroup *groupOf(const GemmMatch &P, const Expr &E) {
  for (const LoopGroup *Group : {&P.C.K, &P.C.N, &P.C.M})
    if (productExpr(Group->Sizes) == E)
      return Group;
  return nullptr;
}

bool hasValue(const GemmMatch &P, const Expr &E) {
  return E.asConstant() || argumentOf(P, E) || groupOf(P, E);
}

Value valueOf(GpuWriter &W, const GemmMatch &P, const Expr &E) {
  if (std::optional<int64_t> Constant = E.asConstant())
    return W.index(*Constant);
  if (BlockArgument Argument = argumentOf(P, E))
    return Argument;
  return W.size(groupOf(P, E)->Sizes);
}

int64_t columnsOfAccess(const GemmMatch &P) {
  for (int64_t Count : {8, 4, 2})
    if (P.Facts.divisor(P.B.RowStride) % Count == 0 &&
        P.Facts.divisor(P.N) % Count == 0 && P.Facts.range(P.N).Min >= Count)
      return Count;
  return 1;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value GemvTile::i32(int64_t V) {
  return arith::ConstantIntOp::create(W.B, W.Loc, V, 32);
}
Value GemvTile::add32(Value A, Value B) {
  return W.B.createOrFold<arith::AddIOp>(W.Loc, A, B);
}
Value GemvTile::mul32(Value A, int64_t B) {
  return W.B.createOrFold<arith::MulIOp>(W.Loc, A, i32(B));
}
Value GemvTile::div32(Value A, int64_t B) {
  return W.B.createOrFold<arith::DivUIOp>(W.Loc, A, i32(B));
}
Value GemvTile::rem32(Value A, int64_t B) {
  return W.B.createOrFold<arith::RemUIOp>(W.Loc, A, i32(B));
}
Value GemvTile::xor32(Value A, Value B) {
  return W.B.createOrFold<arith::XOrIOp>(W.Loc, A, B);
}
Value GemvTile::toIndex(Value V) {
  return W.B.createOrFold<arith::IndexCastUIOp>(W.Loc, W.B.getIndexType(), V);
}
Value GemvTile::least(Value A, Value B) {
  return W.B.createOrFold<arith::MinSIOp>(W.Loc, A, B);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// 16 bytes of shared memory as four words.
GemvTile::Values GemvTile::load16(Value At) {
  auto Pointer = LLVM::LLVMPointerType::get(W.B.getContext(), 3);
  auto Four = VectorType::get({4}, W.B.getI32Type());
  Value From = LLVM::IntToPtrOp::create(W.B, W.Loc, Pointer, At);
  Value Loaded = LLVM::LoadOp::create(W.B, W.Loc, Four, From, PieceBytes);
  Values Words;
  for (int64_t I = 0; I < 4; ++I)
    Words.push_back(vector::ExtractOp::create(W.B, W.Loc, Loaded, I));
  return Words;
}

/// What a thread holds of 32 elements of K of 8 columns.
GemvTile::Values GemvTile::weightsOf(Value From, int64_t Part, int64_t Slice) {
  if (KContiguous) {
    Value Line = mul32(add32(G, Slice * 8), S.Depth * ElementBytes);
    Value Piece = xor32(add32(T, Part * 4), rem32(G, pieces()));
    return load16(add32(From, add32(Line, mul32(Piece, PieceBytes))));
  }
  // Lane (r, m) gives line r of matrix m: the elements 2 m and 2 m + 1 of each
  // 8, which is where the fragment wants those that a row's load brought.
  Value R = rem32(Lane, 8), M = div32(Lane, 8);
  Value K = add32(add32(mul32(div32(R, 2), 8), mul32(M, 2)),
                  add32(rem32(R, 2), Part * 32));
  Value Eight = div32(R, 2);
  Value Other = S.Slices >= 8 ? add32(mul32(Eight, 2), rem32(R, 2))
                              : rem32(Eight, S.Slices);
  Value Piece = xor32(i32(Slice), Other);
  Value At = add32(From, add32(mul32(K, S.columns() * ElementBytes),
                               mul32(Piece, PieceBytes)));
  auto Pointer = LLVM::LLVMPointerType::get(W.B.getContext(), 3);
  Type I32 = W.B.getI32Type();
  auto Four =
      LLVM::LLVMStructType::getLiteral(W.B.getContext(), {I32, I32, I32, I32});
  Value Place = LLVM::IntToPtrOp::create(W.B, W.Loc, Pointer, At);
  auto Shape = NVVM::LdStMatrixShapeAttr::get(W.B.getContext(), 8, 8);
  Value Loaded =
      NVVM::LdMatrixOp::create(W.B, W.Loc, Four, Place, 4, NVVM::MMALayout::col,
                               Shape, NVVM::LdStMatrixEltType::B16);
  Values Words;
  for (int64_t I = 0; I < 4; ++I)
    Words.push_back(LLVM::ExtractValueOp::create(W.B, W.Loc, Loaded, I));
  return Words;
}

/// 16 rows × 8 columns more of a product over 16 elements of K.
Value GemvTile::multiply(ArrayRef<Value> Upper, ArrayRef<Value> Lower,
                         ArrayRef<Value> Weights, int64_t Half, Value Sums) {
  int64_t K = Half * 2;
  Values C;
  for (int64_t I = 0; I < 4; ++I)
    C.push_back(vector::ExtractOp::create(W.B, W.Loc, Sums, I));
  Values Parts = multiplyFragments(
      W, P.A.Element, {Upper[K], Lower[K], Upper[K + 1], Lower[K + 1]},
      {Weights[K], Weights[K + 1]}, C);
  return vector::FromElementsOp::create(W.B, W.Loc, Sums.getType(), Parts);
}

/// A thread's elements of one of its rows. Rows that are not there are computed
/// from the last one, and not stored.
GemvTile::Values GemvTile::rowsOf(Value RowsAt, int64_t Offset, int64_t Part) {
  Value Last = arith::IndexCastOp::create(
      W.B, W.Loc, W.B.getI32Type(),
      W.B.createOrFold<arith::SubIOp>(W.Loc, RowsHere, W.index(1)));
  Value Row = W.B.createOrFold<arith::MinUIOp>(W.Loc, add32(G, Offset), Last);
  Value Piece = xor32(add32(T, Part * 4), rowSwizzle(Row));
  Value InStage =
      add32(mul32(Row, S.Depth * ElementBytes), mul32(Piece, PieceBytes));
  return load16(add32(RowsAt, InStage));
}

GemvTile::Values GemvTile::multiplyStage(Value Stage, ValueRange Before) {
  if (P.Codes)
    return multiplyCodes(Stage, Before);
  Values Sums(Before);
  Value RowsAt = add32(Stage, S.weightBytes());
  for (int64_t Part = 0; Part < S.Depth / StepK; ++Part) {
    Values Upper = rowsOf(RowsAt, 0, Part);
    Values Lower(4, i32(0));
    if (HasLower)
      Lower = rowsOf(RowsAt, 8, Part);
    for (int64_t Slice = 0; Slice < S.Slices; ++Slice) {
      Values Weights = weightsOf(Stage, Part, Slice);
      for (int64_t Half = 0; Half < 2; ++Half)
        Sums[Slice] = multiply(Upper, Lower, Weights, Half, Sums[Slice]);
    }
  }
  return Sums;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Fragment: rows g and g + 8; columns 2 t and 2 t + 1 of each 8.
void GemvTile::storePartial(ValueRange Sums) {
  for (int64_t Row = 0; Row < (HasLower ? 2 : 1); ++Row)
    for (int64_t Slice = 0; Slice < S.Slices; ++Slice)
      for (int64_t Column = 0; Column < 2; ++Column) {
        Value V = vector::ExtractOp::create(W.B, W.Loc, Sums[Slice],
                                            Row * 2 + Column);
        Value InTile = add32(mul32(T, 2), Slice * 8 + Column);
        Value OfWarp = toIndex(Warp), AtRow = toIndex(add32(G, Row * 8)),
              AtColumn = toIndex(InTile);
        memref::StoreOp::create(W.B, W.Loc, V, Partial,
                                ValueRange{OfWarp, AtRow, AtColumn});
      }
}

/// The warps' partial sums, in order.
Value GemvTile::totalOf(Value Row, Value InTile) {
  Value Total, Column = toIndex(InTile);
  for (int64_t Other = 0; Other < S.Warps; ++Other) {
    Value OfWarp = W.index(Other);
    Value Part = memref::LoadOp::create(W.B, W.Loc, Partial,
                                        ValueRange{OfWarp, Row, Column});
    Total =
        Total ? Value(arith::AddFOp::create(W.B, W.Loc, Total, Part)) : Part;
  }
  return Total;
}

void GemvTile::epilogueElement(Value Row, Value InTile, Value First) {
  Value Column = columnOf(First, InTile), AtRow = W.add(FirstRow, Row);
  Value IsRow = W.less(AtRow, Rows), IsColumn = W.less(Column, Columns);
  W.when(W.both(IsRow, IsColumn), [&] {
    Value Sum = totalOf(Row, InTile), Paired;
    if (hasHalves()) {
      Value Behind = i32(half()), Before = i32(-half());
      Value Step = arith::SelectOp::create(W.B, W.Loc, isInSecondHalf(InTile),
                                           Before, Behind);
      Paired = totalOf(Row, add32(InTile, Step));
    }
    Values At = indicesOf(W, P, Value(), AtRow, Column);
    if (Value Element = elementOfAccumulator(W, P, At, Sum, Paired))
      storeLanes(W, Element, P.C.R.Form.Outputs[0].Memref, At);
    else
      Result = failure();
  });
}

void GemvTile::epilogue(Value FirstOfTile) {
  int64_t Most = std::min(P.Facts.range(P.M).Max, stageRows());
  int64_t Elements = Most * resultColumns();
  for (int64_t First = 0; First < Elements; First += S.threads()) {
    Value Element = add32(Thread, First);
    auto Emit = [&] {
      Value Row = toIndex(div32(Element, resultColumns()));
      Value InTile = rem32(Element, resultColumns());
      epilogueElement(Row, InTile, FirstOfTile);
    };
    if (First + S.threads() <= Elements)
      Emit();
    else
      W.when(W.less(toIndex(Element), W.index(Elements)), Emit);
  }
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

void GemvTile::placeThread() {
  Type I32 = W.B.getI32Type();
  Thread = arith::IndexCastOp::create(W.B, W.Loc, I32, W.thread());
  Warp = div32(Thread, 32);
  Lane = rem32(Thread, 32);
  G = div32(Lane, 4);
  T = rem32(Lane, 4);
  auto Space = gpu::AddressSpaceAttr::get(
      W.B.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  auto Bytes = MemRefType::get({ShapedType::kDynamic}, W.B.getI8Type(),
                               MemRefLayoutAttrInterface(), Space);
  Value Shared = gpu::DynamicSharedMemoryOp::create(W.B, W.Loc, Bytes);
  Value Start =
      memref::ExtractAlignedPointerAsIndexOp::create(W.B, W.Loc, Shared);
  Value Base = arith::IndexCastOp::create(W.B, W.Loc, I32, Start);
  Ring = add32(Base, mul32(Warp, S.Stages * S.stageBytes()));
  auto Sums =
      MemRefType::get({S.Warps, stageRows(), S.columns()}, W.B.getF32Type(),
                      MemRefLayoutAttrInterface(), Space);
  Partial = memref::ViewOp::create(W.B, W.Loc, Sums, Shared,
                                   W.index(S.ringBytes()), ValueRange());
}

void GemvTile::prepare() {
  KContiguous = P.B.RowStride == Expr(1) && P.B.ColumnStride != Expr(1);
  HasLower = stageRows() > 8;
  Rows = W.size(P.C.M.Sizes);
  Columns = W.size(P.C.N.Sizes);
  Sum = W.size(P.C.K.Sizes);
  RowStrideA = valueOf(W, P, P.A.RowStride);
  if (!P.Codes)
    StrideB = valueOf(W, P, KContiguous ? P.B.ColumnStride : P.B.RowStride);
  auto Address = [&](const Matrix &M) -> Value {
    Value Flat =
        flatView(W, P.C.R.Form.Func.getArgument(M.Argument), M.Element);
    return memref::ExtractAlignedPointerAsIndexOp::create(W.B, W.Loc, Flat);
  };
  BaseA = Address(P.A);
  BaseB = Address(P.Codes ? P.Codes->Tiles : P.B);
  if (P.Codes)
    BaseScales = Address(P.Codes->Scales);
  if (P.Codes && P.Codes->Zeros)
    BaseZeros = Address(*P.Codes->Zeros);
  if (P.Second)
    BaseSecondB = Address(P.Second->B);
  Slices = W.ceilDiv(Sum, S.Depth * S.Warps);
  // Of all tiles, those that are this block's: each grid'th.
  Value All = W.ceilDiv(Columns, resultColumns());
  Value Grid = gpu::GridDimOp::create(W.B, W.Loc, gpu::Dimension::x);
  Value Left = W.B.createOrFold<arith::SubIOp>(W.Loc, All, W.block());
  Value One = W.index(1);
  Value Above = W.add(Left, W.B.createOrFold<arith::SubIOp>(W.Loc, Grid, One));
  Tiles = arith::DivUIOp::create(W.B, W.Loc, Above, Grid);
  // Weights that are read once should not drive out what is used again.
  std::string Text = "createpolicy.fractional.L2::";
  Text += KeepInCache ? "evict_normal" : "evict_first";
  Text += ".b64 {$w0}, 1.0;";
  Policy = NVVM::InlinePtxOp::create(W.B, W.Loc, TypeRange{W.B.getI64Type()},
                                     ValueRange(), ValueRange(), Text, Value())
               .getResult(0);
}

/// The product of up to 16 rows.
void GemvTile::rowsFrom(Value First) {
  FirstRow = First;
  RowsHere = least(W.B.createOrFold<arith::SubIOp>(W.Loc, Rows, First),
                   W.index(stageRows()));
  Place At = {Ring, W.index(0), W.index(0)};
  for (int64_t Stage = 0; Stage + 1 < S.Stages; ++Stage)
    At = fill(At);
  auto Four = VectorType::get({4}, W.B.getF32Type());
  Value Zero = arith::ConstantOp::create(W.B, W.Loc, W.B.getZeroAttr(Four));
  Value Stage = Ring;
  Value Start = W.index(0), Step = W.index(1);
  W.loop(Start, Tiles, Step, ValueRange{Stage, At.Stage, At.Tile, At.Slice},
         [&](Value Tile, ValueRange OfTile) {
           Values Carried(OfTile);
           Carried.append(S.Slices, Zero);
           Values Done =
               W.loop(Start, Slices, Step, Carried, [&](Value, ValueRange In) {
                 NVVM::CpAsyncWaitGroupOp::create(W.B, W.Loc, S.Stages - 2);
                 NVVM::SyncWarpOp::create(W.B, W.Loc, i32(-1));
                 // The stage that was read last is free.
                 Place Then = fill({In[1], In[2], In[3]});
                 Values Next = {nextStage(In[0]), Then.Stage, Then.Tile,
                                Then.Slice};
                 llvm::append_range(Next,
                                    multiplyStage(In[0], In.drop_front(4)));
                 return Next;
               });
           storePartial(ArrayRef<Value>(Done).drop_front(4));
           W.barrier();
           epilogue(firstColumn(Tile));
           W.barrier(); // the sums are read before the next ones
           return Values(ArrayRef<Value>(Done).take_front(4));
         });
}

LogicalResult GemvTile::emit(bool SeveralTiles) {
  prepare();
  placeThread();
  Value Start = W.index(0);
  if (!SeveralTiles) {
    rowsFrom(Start);
    return Result;
  }
  W.loop(Start, Rows, W.index(TileM), {}, [&](Value First, ValueRange) {
    rowsFrom(First);
    return Values();
  });
  return Result;
}

} // namespace kpc::kernels

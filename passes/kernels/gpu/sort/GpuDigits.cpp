//===- GpuDigits.cpp - Passes of a radix sort -----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A pass over a digit is two kernels, of a block for each part of a row:
///
///   digit_counts     how often each digit is in the part
///   order_by_digit   sums the counts of all parts: where each digit of this
///                    part begins in the row; then goes through tiles of 4096
///
///    warp ballots per bit → lanes with the same digit → rank in the warp
///    counts of warps, summed → rank in the tile ──▶ shared memory, in order
///                                                 ──▶ lines of global memory
///
/// There are no atomics: each warp counts in its own row of shared memory,
/// where one of the lanes with the same digit writes.
///
//===----------------------------------------------------------------------===//
#include "dialects/kernel/Kernel.h"
#include "passes/kernels/gpu/GpuThreads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

constexpr int32_t Threads = 512, WarpThreads = 32;
constexpr int64_t Warps = Threads / WarpThreads;
/// Elements of a thread, and of a tile.
constexpr int64_t Each = 8, Tile = Each * Threads;
/// Counts that a thread loads at once; threads that add up the counts of the
/// same digits, at most; and loads of each that are on their way at once.
constexpr int64_t CountLanes = 4, MostAdders = 8, Ahead = 8;
/// One wave of blocks orders a long row, and two on a multiprocessor wait for
/// one another's barriers less. Left alone, ptxas takes more than the 64
/// registers that leave room for both, or spills.
constexpr int32_t OrderingBlocks = 2;

/// The digit of a row's elements that a kernel counts or orders.
struct RowDigits {
  Value X, Counts; ///< no counts where the kernel counts
  Value Memref;    ///< that is written to
  SmallVector<OpFoldResult> RowSizes;
  OpFoldResult Size;
  int64_t Shift = 0, Parts = 0, Values = 0;

  static std::optional<RowDigits> read(const FusedKernel &Form);
  int64_t bits() const { return llvm::Log2_64(uint64_t(Values)); }
};

std::optional<RowDigits> RowDigits::read(const FusedKernel &Form) {
  if (Form.Outputs.size() != 1)
    return std::nullopt;
  const KernelOutput &Out = Form.Outputs.front();
  RowDigits D;
  D.Memref = Out.Memref;
  Value Counts;
  if (auto Count = Out.Tensor.getDefiningOp<kernel::DigitCountsOp>()) {
    D.X = Count.getX();
    D.Shift = int64_t(Count.getShift());
    Counts = Count.getY();
  } else if (auto Order = Out.Tensor.getDefiningOp<kernel::OrderByDigitOp>()) {
    D.X = Order.getX();
    D.Shift = int64_t(Order.getShift());
    D.Counts = Counts = Order.getCounts();
  } else {
    return std::nullopt;
  }
  auto Ty = cast<RankedTensorType>(Counts.getType());
  D.Values = Ty.getShape().back();
  D.Parts = Ty.getShape().drop_back().back();
  unsigned Last = cast<RankedTensorType>(D.X.getType()).getRank() - 1;
  for (unsigned Dim = 0; Dim < Last; ++Dim)
    D.RowSizes.push_back(tensorSize(D.X, Dim));
  D.Size = tensorSize(D.X, Last);
  return D;
}

/// What both kernels know of their part of a row.
class PartWriter {
public:
  PartWriter(GpuWriter &W, RowDigits &D)
      : W(W), D(D), I32(W.B.getI32Type()), I64(W.B.getI64Type()) {}

protected:
  Value number(int64_t V) {
    return arith::ConstantOp::create(W.B, W.Loc, W.B.getI32IntegerAttr(V));
  }
  Value asIndex(Value V) {
    return arith::IndexCastUIOp::create(W.B, W.Loc, W.B.getIndexType(), V);
  }
  Value add32(Value X, Value Y) {
    return arith::AddIOp::create(W.B, W.Loc, X, Y);
  }
  Value sub32(Value X, Value Y) {
    return arith::SubIOp::create(W.B, W.Loc, X, Y);
  }
  Value is(arith::CmpIPredicate P, Value X, Value Y) {
    return arith::CmpIOp::create(W.B, W.Loc, P, X, Y);
  }
  Value select(Value If, Value X, Value Y) {
    return arith::SelectOp::create(W.B, W.Loc, If, X, Y);
  }
  Value ballot(Value Bit) {
    return NVVM::VoteSyncOp::create(W.B, W.Loc, I32, number(-1), Bit,
                                    NVVM::VoteSyncKind::ballot);
  }
  void syncWarp() { NVVM::SyncWarpOp::create(W.B, W.Loc, number(-1)); }

  void open() {
    Value Thread32 = arith::IndexCastUIOp::create(W.B, W.Loc, I32, W.thread());
    Thread = W.thread();
    Warp = asIndex(arith::ShRUIOp::create(W.B, W.Loc, Thread32, number(5)));
    Lane = arith::AndIOp::create(W.B, W.Loc, Thread32, number(31));
    Below =
        sub32(arith::ShLIOp::create(W.B, W.Loc, number(1), Lane), number(1));
    SmallVector<OpFoldResult> Sizes(D.RowSizes);
    Sizes.push_back(W.B.getIndexAttr(D.Parts));
    Row = W.split(W.block(), Sizes);
    Part = Row.pop_back_val();
    Size = W.size(D.Size);
    Value Length =
        W.mul(W.ceilDiv(W.ceilDiv(Size, D.Parts), Tile), W.index(Tile));
    Begin = W.mul(Part, Length);
    End = arith::MinSIOp::create(W.B, W.Loc, W.add(Begin, Length), Size);
  }

  /// An element, its digit as i32, and whether there is one.
  struct Item {
    Value X, Digit, Inside;
  };
  Value digitOf(Value X) {
    Value By =
        arith::ConstantOp::create(W.B, W.Loc, W.B.getI64IntegerAttr(D.Shift));
    Value Low = arith::TruncIOp::create(
        W.B, W.Loc, I32, arith::ShRUIOp::create(W.B, W.Loc, X, By));
    return arith::AndIOp::create(W.B, W.Loc, Low, number(D.Values - 1));
  }
  /// The elements of this thread: a warp has 256 neighbours, of which lane
  /// follows lane.
  FailureOr<SmallVector<Item>> load(Value TileBegin) {
    SmallVector<Item> Items;
    SmallVector<Value> At(Row);
    At.push_back({});
    Value First =
        W.add(TileBegin, W.add(W.mul(Warp, W.index(Each * 32)), asIndex(Lane)));
    for (int64_t K = 0; K < Each; ++K) {
      Value Place = W.add(First, W.index(K * WarpThreads));
      Item One;
      One.Inside = W.less(Place, Size);
      At.back() = select(One.Inside, Place, TileBegin);
      One.X = W.Emitter.element(W.B, D.X, At);
      if (!One.X)
        return failure();
      Items.push_back(One);
    }
    for (Item &One : Items)
      One.Digit = digitOf(One.X);
    return Items;
  }

  /// Counts an item in the warp's row of `Counts`. Returns how many of its
  /// digit the warp has had before it.
  Value count(const Item &One, Value Counts) {
    Type Stored = cast<MemRefType>(Counts.getType()).getElementType();
    bool IsNarrow = Stored != I32;
    Value Same = ballot(One.Inside);
    for (int64_t Bit = 0; Bit < D.bits(); ++Bit) {
      Value IsSet = is(arith::CmpIPredicate::ne,
                       arith::AndIOp::create(W.B, W.Loc, One.Digit,
                                             number(int64_t(1) << Bit)),
                       number(0));
      Value With = ballot(IsSet);
      Value Without = arith::XOrIOp::create(W.B, W.Loc, With, number(-1));
      Same =
          arith::AndIOp::create(W.B, W.Loc, Same, select(IsSet, With, Without));
    }
    Value Slot[] = {Warp, asIndex(One.Digit)};
    Value Before = memref::LoadOp::create(W.B, W.Loc, Counts, Slot);
    if (IsNarrow)
      Before = arith::ExtUIOp::create(W.B, W.Loc, I32, Before);
    Value InFront = math::CtPopOp::create(
        W.B, W.Loc, arith::AndIOp::create(W.B, W.Loc, Same, Below));
    Value IsFirst =
        W.both(One.Inside, is(arith::CmpIPredicate::eq, InFront, number(0)));
    syncWarp();
    W.when(IsFirst, [&] {
      Value Sum = add32(Before, math::CtPopOp::create(W.B, W.Loc, Same));
      if (IsNarrow)
        Sum = arith::TruncIOp::create(W.B, W.Loc, Stored, Sum);
      memref::StoreOp::create(W.B, W.Loc, Sum, Counts, Slot);
    });
    syncWarp();
    return add32(Before, InFront);
  }

  /// Of all warps and digits.
  void clear(Value Counts) {
    Type Stored = cast<MemRefType>(Counts.getType()).getElementType();
    Value Zero = arith::ConstantOp::create(W.B, W.Loc, W.B.getZeroAttr(Stored));
    SmallVector<OpFoldResult> Sizes = {W.B.getIndexAttr(Warps),
                                       W.B.getIndexAttr(D.Values)};
    for (int64_t K = 0; K < Warps * D.Values; K += Threads) {
      Value Number = W.add(Thread, W.index(K));
      auto Store = [&] {
        memref::StoreOp::create(W.B, W.Loc, Zero, Counts,
                                W.split(Number, Sizes, Warps * D.Values));
      };
      if (K + Threads <= Warps * D.Values)
        Store();
      else
        W.when(W.less(Number, W.index(Warps * D.Values)), Store);
    }
  }

  GpuWriter &W;
  RowDigits &D;
  Type I32, I64;
  Value Thread, Warp, Lane; ///< the lane is an i32
  Value Below;              ///< a bit for each lane in front
  SmallVector<Value> Row;
  Value Part, Size, Begin, End;
};

class DigitCounter : PartWriter {
public:
  using PartWriter::PartWriter;

  LogicalResult emit() {
    LogicalResult Result = success();
    Value Counts = W.shared({Warps, D.Values}, I32);
    open();
    clear(Counts);
    W.barrier();
    W.loop(Begin, End, W.index(Tile), {}, [&](Value TileBegin, ValueRange) {
      FailureOr<SmallVector<Item>> Items = load(TileBegin);
      if (failed(Items))
        Result = failure();
      else
        for (const Item &One : *Items)
          count(One, Counts);
      return SmallVector<Value>();
    });
    W.barrier();
    W.when(W.less(Thread, W.index(D.Values)), [&] {
      Value Sum = number(0);
      for (int64_t I = 0; I < Warps; ++I)
        Sum =
            add32(Sum, memref::LoadOp::create(W.B, W.Loc, Counts,
                                              ValueRange{W.index(I), Thread}));
      SmallVector<Value> At(Row);
      At.append({Part, Thread});
      memref::StoreOp::create(W.B, W.Loc, Sum, D.Memref, At);
    });
    return Result;
  }
};

class DigitOrder : PartWriter {
public:
  using PartWriter::PartWriter;

  LogicalResult emit() {
    LogicalResult Result = success();
    InOrder = W.shared({Tile}, I64);
    // 16 bits: a tile has fewer elements.
    Ranks = W.shared({Warps, D.Values}, W.B.getIntegerType(16));
    Next = W.shared({D.Values}, I32);
    Offsets = W.shared({D.Values}, I32);
    OfWarps = W.shared({Warps}, I32);
    open();
    IsDigit = W.less(Thread, W.index(D.Values));
    findBegins();
    W.loop(Begin, End, W.index(Tile), {}, [&](Value TileBegin, ValueRange) {
      FailureOr<SmallVector<Item>> Items = load(TileBegin);
      if (failed(Items))
        Result = failure();
      else
        order(TileBegin, *Items);
      return SmallVector<Value>();
    });
    return Result;
  }

private:
  Value load32(Value Memory, ValueRange At) {
    return memref::LoadOp::create(W.B, W.Loc, Memory, At);
  }
  void store32(Value V, Value Memory, ValueRange At) {
    memref::StoreOp::create(W.B, W.Loc, V, Memory, At);
  }

  /// Next[d]: where the first element with digit d of this part goes.
  void findBegins() {
    int64_t Lanes = std::min(CountLanes, D.Values), Vectors = D.Values / Lanes;
    int64_t Adders = std::min({Threads / Vectors, MostAdders, D.Parts});
    int64_t Loads = std::min(Ahead, D.Parts / Adders);
    Value Wide32 =
        arith::ConstantOp::create(W.B, W.Loc, W.B.getI64IntegerAttr(32));
    // Of each digit the sum over all parts, and above it that over the parts
    // in front.
    W.when(W.less(Thread, W.index(Adders * Vectors)), [&] {
      Value Adder =
          W.B.createOrFold<arith::DivUIOp>(W.Loc, Thread, W.index(Vectors));
      Value Digit = W.mul(
          W.B.createOrFold<arith::RemUIOp>(W.Loc, Thread, W.index(Vectors)),
          W.index(Lanes));
      SmallVector<Value> Zeros(2 * Lanes, number(0));
      SmallVector<Value> Sums = W.loop(
          Adder, W.index(D.Parts), W.index(Adders * Loads), Zeros,
          [&](Value From, ValueRange Before) {
            SmallVector<Value> Sums(Before), Counts, Parts;
            for (int64_t K = 0; K < Loads; ++K) {
              Parts.push_back(W.add(From, W.index(K * Adders)));
              Counts.push_back(loadCounts(Parts.back(), Digit, Lanes));
            }
            for (auto [Other, Count] : llvm::zip_equal(Parts, Counts)) {
              Value IsInFront = W.less(Other, Part);
              for (int64_t I = 0; I < Lanes; ++I) {
                Value One = vector::ExtractOp::create(W.B, W.Loc, Count, I);
                Sums[I] = add32(Sums[I], One);
                Sums[Lanes + I] =
                    add32(Sums[Lanes + I], select(IsInFront, One, number(0)));
              }
            }
            return Sums;
          });
      for (int64_t I = 0; I < Lanes; ++I) {
        Value High = arith::ShLIOp::create(
            W.B, W.Loc,
            arith::ExtUIOp::create(W.B, W.Loc, I64, Sums[Lanes + I]), Wide32);
        Value Both = arith::OrIOp::create(
            W.B, W.Loc, High, arith::ExtUIOp::create(W.B, W.Loc, I64, Sums[I]));
        // Lane after lane, so that stores of a warp are coalesced.
        Value At = W.add(
            W.mul(Adder, W.index(D.Values)),
            W.add(W.index(I * Vectors), W.B.createOrFold<arith::RemUIOp>(
                                            W.Loc, Thread, W.index(Vectors))));
        store32(Both, InOrder, At);
      }
    });
    W.barrier();
    Value Zero64 =
        arith::ConstantOp::create(W.B, W.Loc, W.B.getI64IntegerAttr(0));
    Value Sum = Zero64;
    Value Own = W.add(
        W.mul(W.B.createOrFold<arith::RemUIOp>(W.Loc, Thread, W.index(Lanes)),
              W.index(Vectors)),
        W.B.createOrFold<arith::DivUIOp>(W.Loc, Thread, W.index(Lanes)));
    for (int64_t K = 0; K < Adders; ++K) {
      // Threads without a digit read some number, and add nothing.
      Value At = select(IsDigit, W.add(Own, W.index(K * D.Values)), W.index(0));
      Value Of = select(IsDigit, load32(InOrder, At), Zero64);
      Sum = arith::AddIOp::create(W.B, W.Loc, Sum, Of);
    }
    Value All = arith::TruncIOp::create(W.B, W.Loc, I32, Sum);
    Value InFront = arith::TruncIOp::create(
        W.B, W.Loc, I32, arith::ShRUIOp::create(W.B, W.Loc, Sum, Wide32));
    Value First = add32(sumInFront(All), InFront);
    W.when(IsDigit, [&] { store32(First, Next, Thread); });
  }

  /// How often a part has each of some neighbouring digits.
  Value loadCounts(Value OfPart, Value Digit, int64_t Lanes) {
    SmallVector<Value> At(Row);
    At.append({OfPart, Digit});
    auto Load = vector::LoadOp::create(
        W.B, W.Loc, VectorType::get({Lanes}, I32), viewOf(D.Counts), At);
    Load.setAlignment(Lanes * int64_t(sizeof(int32_t)));
    return Load;
  }

  /// The sum of what threads in front have. A barrier stands inside.
  Value sumInFront(Value Mine) {
    Value Before = number(0), Total = Mine;
    for (int32_t Mask = 1; Mask < WarpThreads; Mask *= 2) {
      Value Other = W.shuffleXor(Total, Mask);
      Value IsBehind =
          is(arith::CmpIPredicate::ne,
             arith::AndIOp::create(W.B, W.Loc, Lane, number(Mask)), number(0));
      Before = select(IsBehind, add32(Before, Other), Before);
      Total = add32(Total, Other);
    }
    W.when(is(arith::CmpIPredicate::eq, Lane, number(0)),
           [&] { store32(Total, OfWarps, Warp); });
    W.barrier();
    auto Used = int64_t(llvm::divideCeil(D.Values, WarpThreads));
    for (int64_t I = 0; I + 1 < Used; ++I)
      Before = add32(Before, select(W.less(W.index(I), Warp),
                                    load32(OfWarps, W.index(I)), number(0)));
    return Before;
  }

  void order(Value TileBegin, ArrayRef<Item> Items) {
    clear(Ranks);
    W.barrier();
    SmallVector<Value> InWarp;
    for (const Item &One : Items)
      InWarp.push_back(count(One, Ranks));
    W.barrier();
    placeDigits();
    W.barrier();
    for (auto [One, Rank] : llvm::zip_equal(Items, InWarp))
      W.when(One.Inside, [&, One = One, Rank = Rank] {
        Value Digit = asIndex(One.Digit);
        Value OfWarp = arith::ExtUIOp::create(W.B, W.Loc, I32,
                                              load32(Ranks, {Warp, Digit}));
        store32(One.X, InOrder, asIndex(add32(OfWarp, Rank)));
      });
    W.barrier();
    Value Count = arith::MinSIOp::create(
        W.B, W.Loc, arith::SubIOp::create(W.B, W.Loc, Size, TileBegin),
        W.index(Tile));
    for (int64_t K = 0; K < Each; ++K) {
      Value Place = W.add(Thread, W.index(K * Threads));
      W.when(W.less(Place, Count), [&] {
        Value X = load32(InOrder, Place);
        Value Offset = load32(Offsets, asIndex(digitOf(X)));
        SmallVector<Value> At(Row);
        At.push_back(W.add(Place, arith::IndexCastOp::create(
                                      W.B, W.Loc, W.B.getIndexType(), Offset)));
        memref::StoreOp::create(W.B, W.Loc, X, D.Memref, At);
      });
    }
  }

  /// Ranks become where a warp's first element with a digit goes in the tile;
  /// Offsets, how far from there elements with that digit are in the row.
  void placeDigits() {
    // Of digits that threads have.
    Value Digit = select(IsDigit, Thread, W.index(0));
    auto CountOf = [&](int64_t I) -> Value {
      return arith::ExtUIOp::create(W.B, W.Loc, I32,
                                    load32(Ranks, {W.index(I), Digit}));
    };
    Value Sum = number(0);
    for (int64_t I = 0; I < Warps; ++I)
      Sum = add32(Sum, CountOf(I));
    Sum = select(IsDigit, Sum, number(0));
    Value Start = sumInFront(Sum);
    // Counts are read again: kept, they would take a register each while a
    // thread has its elements, their digits and their ranks.
    W.when(IsDigit, [&] {
      Value At = Start;
      for (int64_t I = 0; I < Warps; ++I) {
        Value Count = CountOf(I);
        store32(arith::TruncIOp::create(W.B, W.Loc, W.B.getIntegerType(16), At),
                Ranks, {W.index(I), Digit});
        At = add32(At, Count);
      }
      Value First = load32(Next, Digit);
      store32(sub32(First, Start), Offsets, Digit);
      store32(add32(First, Sum), Next, Digit);
    });
  }

  Value InOrder, Ranks, Next, Offsets, OfWarps;
  Value IsDigit; ///< a digit has this thread's number
};

} // namespace

FamilyAnswer queryGpuDigits(FusedKernel &Form, const target::Target &) {
  std::optional<RowDigits> Read = RowDigits::read(Form);
  if (!Read)
    return FamilyAnswer::refuse(RefusalKind::Form, "it is no pass of a digit");
  if (Read->Counts && !viewOf(Read->Counts))
    return FamilyAnswer::refuse(RefusalKind::Form,
                                "the counts of its digits are not in memory");
  std::optional<shape::Expr> Rows = productExpr(Read->RowSizes);
  if (!Rows)
    return FamilyAnswer::refuse(RefusalKind::Size,
                                "a size of its rows is no expression");
  auto D = std::make_shared<RowDigits>(std::move(*Read));
  std::string Text = (D->Counts ? "order by " : "count ") +
                     std::to_string(D->bits()) + " bits in " +
                     std::to_string(D->Parts) + " parts";
  return FamilyAnswer::offer(
      Text, [&Form, D,
             Grid = (*Rows * shape::Expr(D->Parts)).str()](GpuLaunch &Launch) {
        Launch.Block = {Threads, 1, 1};
        Launch.Grid[0] = Grid;
        // An open size takes registers through all loops: there is no room.
        if (D->Counts)
          Launch.ResidentBlocks = isa<Attribute>(D->Size) ? OrderingBlocks : 1;
        GpuWriter W(Form);
        return D->Counts ? DigitOrder(W, *D).emit()
                         : DigitCounter(W, *D).emit();
      });
}

} // namespace kpc::kernels

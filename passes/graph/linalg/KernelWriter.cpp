//===- KernelWriter.cpp - Writes one kernel in linalg form ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/linalg/KernelWriter.h"
#include "dialects/kernel/Kernel.h"
#include "dialects/kernel/LeastPrefetched.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/graph/GemmRegion.h"
#include "passes/graph/linalg/IndexMath.h"
#include "passes/graph/linalg/LowerLoop.h"
#include "passes/graph/linalg/LowerRecurrent.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

/// The bytes of memory that a region's argument reads, if it is a weight of
/// some size which a GEMM or a convolution reads whole; else 0. No kernel of a
/// run writes weights. Tables that are gathered from are read here and there.
static int64_t weightBytes(RegionOp Region, BlockArgument Argument,
                           const LeadingDimensions &Rows) {
  Value Source = Region.getInputs()[Argument.getArgNumber()];
  while (auto Reshape = Source.getDefiningOp<ReshapeOp>())
    Source = Reshape.getX();
  if (!isa_and_present<WeightOp, ConstantOp>(Source.getDefiningOp()) ||
      llvm::any_of(Argument.getUsers(), llvm::IsaPred<GatherOp>))
    return 0;
  Block &Body = Region.getBody().front();
  if (Body.getOps<MatmulOp>().empty() && Body.getOps<ConvOp>().empty())
    return 0;
  SymbolicTensorType Memory = Rows.typeOf(Source);
  int64_t Elements = 1;
  for (const Expr &Dim : Memory.getDims())
    Elements *= Dim.asConstant().value_or(0);
  return Elements *
         storedType(Memory.getElementType()).getIntOrFloatBitWidth() / 8;
}

/// Whether no kernel of a run is in front of this one, as it reads weights and
/// the model's inputs alone. It has no time to wait in which weights come.
static bool isFirst(RegionOp Region) {
  return llvm::all_of(Region.getInputs(), [](Value Source) {
    while (auto Reshape = Source.getDefiningOp<ReshapeOp>())
      Source = Reshape.getX();
    auto Argument = dyn_cast<BlockArgument>(Source);
    return Argument ? isa<func::FuncOp>(Argument.getOwner()->getParentOp())
                    : isa<WeightOp, ConstantOp>(Source.getDefiningOp());
  });
}

KernelWriter::KernelWriter(OpBuilder &B, RegionOp Region, StringRef Symbol,
                           const shape::Facts &Facts,
                           const LeadingDimensions &Rows)
    : B(B), Region(Region), Facts(Facts), Rows(Rows),
      CurrentLoc(Region.getLoc()) {
  SmallVector<Type> Buffers;
  auto AddBuffer = [&](Type Ty) {
    Type Element = storedType(cast<SymbolicTensorType>(Ty).getElementType());
    Buffers.push_back(MemRefType::get({}, Element));
  };
  llvm::for_each(Region.getInputs().getTypes(), AddBuffer);
  llvm::for_each(Region.getOutputs().getTypes(), AddBuffer);
  Kernel = func::FuncOp::create(B, Region.getLoc(), Symbol,
                                B.getFunctionType(Buffers, {}));
  size_t Inputs = Region.getInputs().size();
  auto Numbers = [&](size_t From, size_t To) {
    return B.getDenseI64ArrayAttr(
        llvm::to_vector(llvm::seq<int64_t>(From, To)));
  };
  SmallVector<int64_t> WeightBytes;
  bool IsFirst = isFirst(Region);
  for (BlockArgument Argument : Region.getBody().getArguments())
    WeightBytes.push_back(IsFirst ? 0 : weightBytes(Region, Argument, Rows));
  bool HasWeights = llvm::any_of(
      WeightBytes, [](int64_t N) { return N >= kernel::LeastPrefetched; });
  Kernel->setAttr(
      kernel::KernelDialect::BuffersAttrHelper::getNameStr(),
      kernel::BuffersAttr::get(B.getContext(), Numbers(0, Inputs),
                               Numbers(Inputs, Buffers.size()),
                               HasWeights ? B.getDenseI64ArrayAttr(WeightBytes)
                                          : DenseI64ArrayAttr()));
}

/// The input of a kernel whose rows' sums of squares `Sums` is, where a kernel
/// computes these alone; null: it is something else.
static Value rowsOfSquares(Value Sums) {
  while (auto View = Sums.getDefiningOp<ReshapeOp>())
    Sums = View.getX();
  auto Region = Sums.getDefiningOp<RegionOp>();
  if (!Region || Region.getNumResults() != 1)
    return {};
  auto Sum = Region.getBody()
                 .front()
                 .getTerminator()
                 ->getOperand(0)
                 .getDefiningOp<ReduceOp>();
  auto Square = Sum ? Sum.getX().getDefiningOp<MulOp>() : MulOp();
  BlockArgument Rows = Square && Square.getA() == Square.getB()
                           ? argumentBehind(Square.getA())
                           : BlockArgument();
  if (!Rows || Sum.getKind() != ReduceKind::sum ||
      Sum.getAxes() != ArrayRef<int64_t>{1} || typeOf(Rows).getRank() != 2)
    return {};
  return Region.getInputs()[Rows.getArgNumber()];
}

/// A GEMM that reads what is made of its rows' sums of squares may add these up
/// itself: which argument they are is said there.
void KernelWriter::markRowSquares() {
  for (auto Gemm : Region.getBody().front().getOps<MatmulOp>()) {
    BlockArgument Rows = argumentBehind(Gemm.getA());
    if (!Rows || typeOf(Rows).getRank() != 2)
      continue;
    for (auto [I, Input] : llvm::enumerate(Region.getInputs()))
      if (rowsOfSquares(Input) == Region.getInputs()[Rows.getArgNumber()])
        Kernel.setArgAttr(
            I, kernel::KernelDialect::RowSquaresAttrHelper::getNameStr(),
            B.getI64IntegerAttr(Rows.getArgNumber()));
  }
}

LogicalResult KernelWriter::write() {
  OpBuilder::InsertionGuard Guard(B);
  Block *Entry = Kernel.addEntryBlock();
  B.setInsertionPointToStart(Entry);
  Block &Body = Region.getBody().front();
  if (auto Custom = dyn_cast<CustomOp>(Body.front()))
    return writeCustom(Custom);
  if (auto Recurrent = dyn_cast<RecurrentOp>(Body.front()))
    return lowerRecurrent(Recurrent, *this);
  HasConv = !Body.getOps<ConvOp>().empty();
  size_t Inputs = Region.getInputs().size();
  for (auto [I, Argument] : llvm::enumerate(Body.getArguments()))
    bindInput(Argument, Rows.typeOf(Region.getInputs()[I]),
              Entry->getArgument(I));

  if (failed(writeOps(Body)))
    return failure();

  markRowSquares();
  CurrentLoc = Region.getLoc();
  auto Yield = cast<YieldOp>(Body.getTerminator());
  for (auto [I, V] : llvm::enumerate(Yield.getValues()))
    storeOutput(tensor(V), typeOf(V), Rows.typeOf(Region.getOutputs()[I]),
                Entry->getArgument(Inputs + I));
  func::ReturnOp::create(B, CurrentLoc);
  return success();
}

LogicalResult KernelWriter::writeOps(Block &Body) {
  for (Operation &Op : Body.without_terminator()) {
    CurrentLoc = Op.getLoc();
    if (auto Loop = dyn_cast<LoopOp>(Op)) {
      if (failed(lowerLoop(Loop, *this)))
        return failure();
      continue;
    }
    using Lowering = FailureOr<Value> (*)(Operation *, KernelWriter &);
    FailureOr<Value> Result = failure();
    for (Lowering Lower :
         {lowerElementwise, lowerMovement, lowerScatter, lowerOrder,
          lowerReduction, lowerContraction, lowerAttention, lowerQuantised}) {
      Result = Lower(&Op, *this);
      if (succeeded(Result))
        break;
    }
    if (failed(Result))
      return Op.emitError()
             << "no kernel can be made for " << Op.getName().getStringRef()
             << " of " << Op.getResultTypes();
    Tensors[Op.getResult(0)] = *Result;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Sizes and types
//===----------------------------------------------------------------------===//

Value KernelWriter::index(int64_t V) {
  return arith::ConstantIndexOp::create(B, CurrentLoc, V);
}

/// The size in the first step, and what it grows by from step to step.
static std::pair<Expr, Expr> atCounter(const Expr &E, StringRef Counter) {
  auto At = [&](int64_t Step) {
    return E.substitute({{Counter.str(), Expr(Step)}});
  };
  return {At(0), At(1) - At(0)};
}

bool KernelWriter::followsCounter(const Expr &E, StringRef Counter) {
  auto [First, More] = atCounter(E, Counter);
  return E == First + More * Expr::symbol(Counter.str());
}

void KernelWriter::enterLoop(StringRef Name, Value Number) {
  Counter = Name.str();
  Step = Number;
}

Value KernelWriter::size(const Expr &E) {
  if (std::optional<int64_t> Number = E.asConstant())
    return index(*Number);
  if (!Counter.empty() && names(E, Counter)) {
    auto [First, More] = atCounter(E, Counter);
    IndexMath M{B, CurrentLoc};
    return M.add(size(First), M.mul(size(More), Step));
  }
  Value &Argument = SizeArgument[E];
  if (!Argument) {
    unsigned Position = Kernel.getNumArguments();
    (void)Kernel.insertArgument(Position, B.getIndexType(), {}, CurrentLoc);
    shape::Interval Range = Facts.range(E);
    kernel::setArgumentFacts(
        Kernel, Position,
        {.Min = Range.Min,
         .Max = Range.Max,
         .Optimum = Facts.optimum(E),
         .Divisor = std::max<int64_t>(Facts.divisor(E), 1)});
    Argument = Kernel.getArguments().back();
    Sizes.push_back(E);
  }
  return Argument;
}

Value KernelWriter::offset(const Expr &Start, const Expr &Most) {
  std::optional<int64_t> Number = Start.asConstant(), Last = Most.asConstant();
  if (!Number || !Last || !isOneOfMany())
    return size(Start);
  unsigned Position = Kernel.getNumArguments();
  (void)Kernel.insertArgument(Position, B.getIndexType(), {}, CurrentLoc);
  // What vectors need to know of it, and no more: kernels are shared then.
  constexpr int64_t WidestVector = 16;
  int64_t Divisor =
      *Number ? std::min(*Number & -*Number, WidestVector) : WidestVector;
  kernel::setArgumentFacts(
      Kernel, Position,
      {.Min = 0, .Max = *Last, .Optimum = 0, .Divisor = Divisor});
  Sizes.push_back(Start);
  return Kernel.getArguments().back();
}

bool KernelWriter::isOneOfMany() {
  constexpr unsigned Many = 32;
  return llvm::hasSingleElement(
             Region.getBody().front().without_terminator()) &&
         Region.getInputs().front().hasNUsesOrMore(Many);
}

void KernelWriter::deriveProduct(const Expr &E, OpFoldResult A,
                                 OpFoldResult C) {
  if (E.isConstant() || SizeArgument.count(E))
    return;
  auto ValueOf = [&](OpFoldResult Size) {
    std::optional<int64_t> Known = getConstantIntValue(Size);
    return Known ? index(*Known) : cast<Value>(Size);
  };
  SizeArgument[E] =
      arith::MulIOp::create(B, CurrentLoc, ValueOf(A), ValueOf(C));
}

void KernelWriter::deriveSize(const Expr &E, int64_t More) {
  Expr Less = E - Expr(More);
  if (More == 0 || Less.isConstant() || SizeArgument.count(E))
    return;
  Value From = size(Less);
  SizeArgument[E] = arith::AddIOp::create(B, CurrentLoc, From, index(More));
}

SmallVector<Value> KernelWriter::sizes(SymbolicTensorType Ty) {
  return llvm::map_to_vector(Ty.getDims(),
                             [&](const Expr &E) { return size(E); });
}

Type KernelWriter::computeType(Type Element) const {
  if (Element.isF16() || Element.isBF16())
    return Float32Type::get(Element.getContext());
  return storedType(Element);
}

RankedTensorType KernelWriter::tensorType(SymbolicTensorType Ty) const {
  SmallVector<int64_t> Shape;
  for (const Expr &E : Ty.getDims())
    Shape.push_back(E.asConstant().value_or(ShapedType::kDynamic));
  return RankedTensorType::get(Shape, computeType(Ty.getElementType()));
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// The tensor `Ty` in memory of the sizes `Stored`, whose rows may be longer;
/// its last `RowDims` dimensions are a row.
Value KernelWriter::view(Value Base, SymbolicTensorType Ty,
                         SymbolicTensorType Stored, unsigned RowDims) {
  SmallVector<OpFoldResult> Sizes, Strides(Ty.getRank());
  for (const Expr &E : Ty.getDims())
    Sizes.push_back(E.asConstant()
                        ? OpFoldResult(B.getIndexAttr(*E.asConstant()))
                        : OpFoldResult(size(E)));
  Expr Stride(1);
  SmallVector<int64_t> StaticShape, StaticStrides(Ty.getRank());
  for (int64_t I = Ty.getRank() - 1; I >= 0; --I) {
    if (HasConv && I + 1 + int64_t(RowDims) < Ty.getRank())
      deriveProduct(Stride, Strides[I + 1], Sizes[I + 1]);
    StaticStrides[I] = Stride.asConstant().value_or(ShapedType::kDynamic);
    Strides[I] = Stride.asConstant()
                     ? OpFoldResult(B.getIndexAttr(*Stride.asConstant()))
                     : OpFoldResult(size(Stride));
    Stride = I == Ty.getRank() - int64_t(RowDims) ? Stored.getDims().back()
                                                  : Stride * Ty.getDims()[I];
  }
  for (const Expr &E : Ty.getDims())
    StaticShape.push_back(E.asConstant().value_or(ShapedType::kDynamic));
  auto Layout = StridedLayoutAttr::get(B.getContext(), 0, StaticStrides);
  auto ViewType = MemRefType::get(
      StaticShape, cast<MemRefType>(Base.getType()).getElementType(), Layout);
  return memref::ReinterpretCastOp::create(B, CurrentLoc, ViewType, Base,
                                           B.getIndexAttr(0), Sizes, Strides);
}

void KernelWriter::bindInput(Value Argument, SymbolicTensorType In,
                             Value Buffer) {
  SymbolicTensorType Ty = typeOf(Argument);
  Tensors[Argument] = read(view(Buffer, Ty, In), Ty);
}

Value KernelWriter::inSplitColumns(BlockArgument Argument,
                                   SymbolicTensorType Ty) {
  unsigned Number = Argument.getArgNumber();
  SymbolicTensorType Stored = Rows.typeOf(Region.getInputs()[Number]);
  return read(view(Kernel.getArgument(Number), Ty, Stored, Ty.getRank() - 1),
              Ty);
}

/// The tensor of a view, 16-bit floats widened.
Value KernelWriter::read(Value View, SymbolicTensorType Ty) {
  auto Stored =
      RankedTensorType::get(cast<MemRefType>(View.getType()).getShape(),
                            storedType(Ty.getElementType()));
  Value Tensor = bufferization::ToTensorOp::create(B, CurrentLoc, Stored, View,
                                                   /*restrict=*/true);
  if (Stored.getElementType() != computeType(Ty.getElementType())) {
    Type Wide = computeType(Ty.getElementType());
    Tensor = map(Ty, Tensor, B.getMultiDimIdentityMap(Ty.getRank()),
                 [&](OpBuilder &B, Location L, ValueRange X) -> Value {
                   return arith::ExtFOp::create(B, L, Wide, X[0]);
                 });
  }
  return Tensor;
}

void KernelWriter::storeOutput(Value Tensor, SymbolicTensorType Ty,
                               SymbolicTensorType In, Value Buffer) {
  Value View = view(Buffer, Ty, In);
  Type Stored = storedType(Ty.getElementType());
  auto TensorTy = cast<RankedTensorType>(Tensor.getType());
  if (Stored != TensorTy.getElementType()) {
    Value Empty = tensor::EmptyOp::create(
        B, CurrentLoc,
        llvm::map_to_vector(Ty.getDims(),
                            [&](const Expr &E) -> OpFoldResult {
                              if (E.asConstant())
                                return B.getIndexAttr(*E.asConstant());
                              return size(E);
                            }),
        Stored);
    AffineMap Identity = B.getMultiDimIdentityMap(Ty.getRank());
    Tensor = linalg::GenericOp::create(
                 B, CurrentLoc, Empty.getType(), Tensor, Empty,
                 ArrayRef{Identity, Identity},
                 SmallVector<utils::IteratorType>(
                     Ty.getRank(), utils::IteratorType::parallel),
                 [&](OpBuilder &B, Location L, ValueRange X) {
                   Value Narrow = arith::TruncFOp::create(B, L, Stored, X[0]);
                   linalg::YieldOp::create(B, L, Narrow);
                 })
                 .getResult(0);
  }
  bufferization::MaterializeInDestinationOp::create(
      B, CurrentLoc, /*result=*/Type(), Tensor, View, /*restrict=*/true,
      /*writable=*/true);
}

//===----------------------------------------------------------------------===//
// Generics
//===----------------------------------------------------------------------===//

AffineMap graph::leadingDims(unsigned Loops, unsigned Count,
                             MLIRContext *Context) {
  SmallVector<AffineExpr> Dims;
  for (unsigned I = 0; I < Count; ++I)
    Dims.push_back(getAffineDimExpr(I, Context));
  return AffineMap::get(Loops, 0, Dims, Context);
}

Value KernelWriter::surrounded(Value X, SymbolicTensorType &Ty,
                               ArrayRef<int64_t> Low, ArrayRef<int64_t> High,
                               TypedAttr Outside) {
  SmallVector<Expr> Dims(Ty.getDims());
  SmallVector<Value> Sizes;
  for (auto [Dim, OfLow, OfHigh] : llvm::zip_equal(Dims, Low, High)) {
    if (OfLow == 0 && OfHigh == 0)
      continue;
    if (!Dim.isConstant())
      Sizes.push_back(size(Dim));
    Dim = Dim + OfLow + OfHigh;
    deriveSize(Dim, OfLow + OfHigh);
  }
  if (Ty.getDims() == ArrayRef<Expr>(Dims))
    return X;
  Ty = Ty.withDims(Dims);
  return kernel::PadOp::create(B, CurrentLoc, X, Sizes, empty(Ty), Low, High,
                               Outside);
}

Value KernelWriter::empty(SymbolicTensorType Ty) {
  SmallVector<OpFoldResult> Sizes;
  for (const Expr &E : Ty.getDims())
    Sizes.push_back(E.asConstant()
                        ? OpFoldResult(B.getIndexAttr(*E.asConstant()))
                        : OpFoldResult(size(E)));
  return tensor::EmptyOp::create(B, CurrentLoc, Sizes,
                                 computeType(Ty.getElementType()));
}

Value KernelWriter::filled(SymbolicTensorType Ty, Value Scalar) {
  Value Empty = empty(Ty);
  return linalg::FillOp::create(B, CurrentLoc, Scalar, Empty).getResult(0);
}

Value KernelWriter::map(SymbolicTensorType Ty, ValueRange Operands,
                        ArrayRef<AffineMap> Maps, Body Compute) {
  Value Empty = empty(Ty);
  SmallVector<AffineMap> AllMaps(Maps);
  AllMaps.push_back(B.getMultiDimIdentityMap(Ty.getRank()));
  SmallVector<utils::IteratorType> Iterators(Ty.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(B, CurrentLoc, Empty.getType(), Operands,
                                   Empty, AllMaps, Iterators,
                                   [&](OpBuilder &B, Location L, ValueRange X) {
                                     linalg::YieldOp::create(
                                         B, L, Compute(B, L, X.drop_back()));
                                   })
      .getResult(0);
}

Value KernelWriter::produce(SymbolicTensorType Ty, Body Compute) {
  return map(Ty, {}, {}, [&](OpBuilder &B, Location L, ValueRange) {
    return Compute(B, L, indices(B, Ty.getRank()));
  });
}

SmallVector<Value> KernelWriter::indices(OpBuilder &B, int64_t Count) {
  return llvm::map_to_vector(llvm::seq<int64_t>(0, Count),
                             [&](int64_t I) -> Value {
                               return linalg::IndexOp::create(B, CurrentLoc, I);
                             });
}

Value KernelWriter::reduce(SymbolicTensorType Ty, ArrayRef<Value> Reduced,
                           ValueRange Operands, ArrayRef<AffineMap> Maps,
                           Value Initial, Body Combine) {
  unsigned Rank = Ty.getRank(), Loops = Rank + Reduced.size();
  SmallVector<utils::IteratorType> Iterators(Rank,
                                             utils::IteratorType::parallel);
  Iterators.append(Reduced.size(), utils::IteratorType::reduction);
  SmallVector<Value> Inputs(Operands);
  SmallVector<AffineMap> AllMaps(Maps);
  if (!Reduced.empty()) {
    // A shape operand: it alone says how far the reduced loops run, where the
    // operands are read by tensor.extract or through maps that are not plain.
    SmallVector<OpFoldResult> Shape;
    for (Value S : Reduced)
      Shape.push_back(getAsOpFoldResult(S));
    Inputs.push_back(
        tensor::EmptyOp::create(B, CurrentLoc, Shape, B.getI1Type()));
    SmallVector<AffineExpr> Dims;
    for (unsigned I = Rank; I < Loops; ++I)
      Dims.push_back(B.getAffineDimExpr(I));
    AllMaps.push_back(AffineMap::get(Loops, 0, Dims, B.getContext()));
  }
  AllMaps.push_back(leadingDims(Loops, Rank, B.getContext()));
  return linalg::GenericOp::create(
             B, CurrentLoc, Initial.getType(), Inputs, Initial, AllMaps,
             Iterators,
             [&](OpBuilder &B, Location L, ValueRange X) {
               SmallVector<Value> Elements(X.take_front(Operands.size()));
               Elements.push_back(X.back());
               linalg::YieldOp::create(B, L, Combine(B, L, Elements));
             })
      .getResult(0);
}

//===- Kernel.cpp - The kernel dialect ------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/kernel/Kernel.h"
#include "dialects/kernel/KernelLoop.h"
#include "dialects/kernel/KernelRecurrent.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <cmath>

using namespace mlir;
using namespace kpc::kernel;

#include "dialects/kernel/KernelDialect.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/kernel/Kernel.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/kernel/KernelLoop.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/kernel/KernelRecurrent.cpp.inc"

void KernelDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/kernel/Kernel.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/kernel/KernelLoop.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/kernel/KernelRecurrent.cpp.inc"
      >();
}

/// Sizes that are unknown agree with all.
static bool agree(int64_t A, int64_t B) {
  return A == B || ShapedType::isDynamic(A) || ShapedType::isDynamic(B);
}

LogicalResult LoopOp::verifyRegions() {
  unsigned Carried = getNumCarried();
  if (getBody().getNumArguments() != Carried + 1 ||
      !getStep().getType().isIndex())
    return emitOpError("takes the step's number and what is carried");
  if (getNumResults() != Carried + getReversed().size() ||
      getNext()->getNumOperands() != getNumResults() + (getBegins() ? 1u : 0u))
    return emitOpError("gives another number of values than its results");
  for (unsigned I = 0; I < Carried; ++I)
    if (getCarried(I).getType() != getInits()[I].getType() ||
        getResult(I).getType() != getInits()[I].getType() ||
        getYielded()[I].getType() != getInits()[I].getType())
      return emitOpError("carries a value of several types");
  for (unsigned I = Carried; I < getNumResults(); ++I) {
    auto Part = cast<RankedTensorType>(getYielded()[I].getType()),
         All = cast<RankedTensorType>(getResult(I).getType());
    if (All.getElementType() != Part.getElementType() || All.getRank() == 0 ||
        All.getShape().drop_front() != Part.getShape())
      return emitOpError("collects ") << Part << " into " << All;
  }
  return success();
}

LogicalResult AttentionOp::verify() {
  ArrayRef<int64_t> Q = getQ().getType().getShape(),
                    K = getK().getType().getShape(),
                    V = getV().getType().getShape(),
                    Y = getY().getType().getShape();
  for (RankedTensorType Ty :
       {getQ().getType(), getK().getType(), getV().getType(), getY().getType()})
    if (Ty.getRank() != 4 || !Ty.getElementType().isF32())
      return emitOpError("works on f32 tensors of four dimensions");
  if (getInit().getType() != getY().getType())
    return emitOpError("gives a tensor of the type of 'into'");
  if (!agree(Q[0], K[0]) || !agree(Q[0], V[0]) || !agree(Q[0], Y[0]) ||
      !agree(K[1], V[1]) || !agree(Q[1], Y[1]) || !agree(Q[2], Y[2]) ||
      !agree(Q[3], K[3]) || !agree(K[2], V[2]) || !agree(V[3], Y[3]))
    return emitOpError("has operands whose sizes do not fit together");
  std::array<int64_t, 4> Scores = {Q[0], Q[1], Q[2], K[2]};
  for (auto [Tensor, IsMask] :
       {std::pair(getBias(), false), std::pair(getMask(), true)}) {
    if (!Tensor)
      continue;
    auto Ty = cast<RankedTensorType>(Tensor.getType());
    bool Element =
        IsMask ? Ty.getElementType().isInteger(1) : Ty.getElementType().isF32();
    if (!Element || Ty.getRank() != 4)
      return emitOpError("has a bias of f32 and a mask of i1, both of four "
                         "dimensions");
    for (auto [Size, Score] : llvm::zip_equal(Ty.getShape(), Scores))
      if (Size != 1 && !agree(Size, Score))
        return emitOpError("has a bias or mask that does not fit the scores");
  }
  double Scale = getScale().convertToDouble();
  if (!(Scale > 0) || !std::isfinite(Scale))
    return emitOpError("has a scale that is not positive");
  if (std::optional<APFloat> Given = getSoftcap()) {
    double Cap = Given->convertToDouble();
    if (!(Cap > 0) || !std::isfinite(Cap))
      return emitOpError("has a softcap that is not positive");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// What multiplies and adds up
//===----------------------------------------------------------------------===//

void kpc::kernel::buildMultiplyAdd(ImplicitLocOpBuilder &B, Block &Body,
                                   ArrayRef<NamedAttribute>,
                                   function_ref<InFlightDiagnostic()>) {
  Value A = Body.getArgument(0), Other = Body.getArgument(1),
        Acc = Body.getArgument(2), Sum;
  if (isa<FloatType>(Acc.getType())) {
    Value Product = arith::MulFOp::create(B, A, Other);
    Sum = arith::AddFOp::create(B, Acc, Product);
  } else {
    Value Product = arith::MulIOp::create(B, A, Other);
    Sum = arith::AddIOp::create(B, Acc, Product);
  }
  linalg::YieldOp::create(B, Sum);
}

static bool isNumber(Type Ty) { return isa<FloatType, IntegerType>(Ty); }

/// Adds the body `acc + a * b` for elements of `Ty`, where they can be
/// multiplied; what cannot, the verifier reports.
static void addBody(Builder &B, OperationState &State, Type Ty) {
  Block &Body = State.addRegion()->emplaceBlock();
  Body.addArguments({Ty, Ty, Ty},
                    {State.location, State.location, State.location});
  ImplicitLocOpBuilder Inside(State.location, B.getContext());
  Inside.setInsertionPointToStart(&Body);
  if (isNumber(Ty))
    buildMultiplyAdd(Inside, Body, {}, {});
  else
    linalg::YieldOp::create(Inside, Body.getArgument(2));
}

/// Reads `[tf32] into %init attributes : types`, and adds the body.
static ParseResult
parseTail(OpAsmParser &Parser, OperationState &State,
          MutableArrayRef<OpAsmParser::UnresolvedOperand> Operands,
          StringAttr Tf32) {
  Builder &B = Parser.getBuilder();
  if (succeeded(Parser.parseOptionalKeyword("tf32")))
    State.addAttribute(Tf32, B.getUnitAttr());
  SMLoc TypesAt;
  FunctionType Types;
  if (Parser.parseKeyword("into") || Parser.parseOperand(Operands.back()) ||
      Parser.parseOptionalAttrDict(State.attributes) || Parser.parseColon() ||
      Parser.getCurrentLocation(&TypesAt) || Parser.parseType(Types))
    return failure();
  if (Types.getNumResults() != 1)
    return Parser.emitError(TypesAt, "expected one result, got ")
           << Types.getNumResults();
  if (Parser.resolveOperands(Operands, Types.getInputs(), TypesAt,
                             State.operands))
    return failure();
  State.addTypes(Types.getResults());
  addBody(B, State, getElementTypeOrSelf(Types.getResult(0)));
  return success();
}

/// Types of an op whose body is `acc + a * b`.
static LogicalResult verifyMultiplyAdd(Operation *Op, Type Init,
                                       RankedTensorType Result,
                                       ArrayRef<RankedTensorType> Factors,
                                       bool Tf32) {
  if (Init != Result)
    return Op->emitOpError("expected 'into' of the result's type ")
           << Result << ", got " << Init;
  Type Element = Result.getElementType();
  if (!isNumber(Element))
    return Op->emitOpError(
               "expected elements that are floats or integers, got ")
           << Element;
  for (RankedTensorType Ty : Factors)
    if (Ty.getElementType() != Element)
      return Op->emitOpError("expected factors of the accumulator's type ")
             << Element << ", got " << Ty.getElementType()
             << "; widen them in front";
  if (Tf32 && !Element.isF32())
    return Op->emitOpError("expected an accumulator of f32 beside 'tf32', got ")
           << Element;
  return success();
}

//===----------------------------------------------------------------------===//
// GemmOp
//===----------------------------------------------------------------------===//

void GemmOp::build(OpBuilder &B, OperationState &State, Value A, Value Other,
                   Value Init) {
  State.addOperands({A, Other, Init});
  State.addTypes(Init.getType());
  addBody(B, State, getElementTypeOrSelf(Init));
}

ParseResult GemmOp::parse(OpAsmParser &Parser, OperationState &State) {
  SmallVector<OpAsmParser::UnresolvedOperand> Operands(3);
  if (Parser.parseOperand(Operands[0]) || Parser.parseComma() ||
      Parser.parseOperand(Operands[1]))
    return failure();
  return parseTail(Parser, State, Operands, getTf32AttrName(State.name));
}

void GemmOp::print(OpAsmPrinter &Printer) {
  Printer << ' ' << getA() << ", " << getB();
  if (getTf32())
    Printer << " tf32";
  Printer << " into " << getInit();
  Printer.printOptionalAttrDict((*this)->getAttrs(), {getTf32AttrName()});
  Printer << " : ";
  Printer.printFunctionalType(*this);
}

SmallVector<utils::IteratorType> GemmOp::getIteratorTypesArray() {
  SmallVector<utils::IteratorType> Loops(getD().getType().getRank(),
                                         utils::IteratorType::parallel);
  Loops.push_back(utils::IteratorType::reduction);
  return Loops;
}

ArrayAttr GemmOp::getIndexingMaps() {
  ArrayRef<int64_t> D = getD().getType().getShape();
  unsigned Rank = D.size(), Batch = getBatchRank();
  Builder B(getContext());
  auto Map = [&](ArrayRef<int64_t> Shape, ArrayRef<unsigned> Loops) {
    SmallVector<AffineExpr> Index;
    for (unsigned I = 0; I < Batch; ++I)
      Index.push_back(Shape[I] == 1 && D[I] != 1 ? B.getAffineConstantExpr(0)
                                                 : B.getAffineDimExpr(I));
    for (unsigned Loop : Loops)
      Index.push_back(B.getAffineDimExpr(Loop));
    return AffineMap::get(Rank + 1, 0, Index, getContext());
  };
  SmallVector<unsigned> OfB{Rank}, OfD;
  llvm::append_range(OfB, llvm::seq(Batch + 1, Rank));
  llvm::append_range(OfD, llvm::seq(Batch, Rank));
  return B.getAffineMapArrayAttr(
      {Map(getA().getType().getShape(), {Batch, Rank}),
       Map(getB().getType().getShape(), OfB), Map(D, OfD)});
}

LogicalResult GemmOp::verify() {
  RankedTensorType A = getA().getType(), Other = getB().getType(),
                   D = getD().getType();
  if (failed(verifyMultiplyAdd(*this, getInit().getType(), D, {A, Other},
                               getTf32())))
    return failure();
  if (A.getRank() < 2)
    return emitOpError("expected A of at least two dimensions, M and K, got ")
           << A;
  if (D.getRank() < A.getRank())
    return emitOpError("expected a result of at least A's ")
           << A.getRank() << " dimensions, got " << D.getRank();
  if (Other.getRank() != D.getRank())
    return emitOpError("expected B of the result's ")
           << D.getRank() << " dimensions, got " << Other.getRank();
  unsigned Batch = getBatchRank();
  auto Check = [&](StringRef Dim, int64_t Expected,
                   int64_t Got) -> LogicalResult {
    if (agree(Expected, Got))
      return success();
    return emitOpError("expected ")
           << Dim << " of " << Expected << " as elsewhere, got " << Got;
  };
  for (unsigned I = 0; I < Batch; ++I)
    for (RankedTensorType Ty : {A, Other})
      if (Ty.getDimSize(I) != 1 &&
          failed(Check("a batch", D.getDimSize(I), Ty.getDimSize(I))))
        return failure();
  if (failed(Check("M", A.getDimSize(Batch), D.getDimSize(Batch))) ||
      failed(Check("K", A.getDimSize(Batch + 1), Other.getDimSize(Batch))))
    return failure();
  for (unsigned I = Batch + 1; I < D.getRank(); ++I)
    if (failed(Check("N", Other.getDimSize(I), D.getDimSize(I))))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// ConvOp
//===----------------------------------------------------------------------===//

void ConvOp::build(OpBuilder &B, OperationState &State, Value X, Value W,
                   Value Init, ArrayRef<int64_t> Strides,
                   ArrayRef<int64_t> Dilations, int64_t Groups) {
  State.addOperands({X, W, Init});
  State.addTypes(Init.getType());
  State.addAttribute(getStridesAttrName(State.name),
                     B.getDenseI64ArrayAttr(Strides));
  State.addAttribute(getDilationsAttrName(State.name),
                     B.getDenseI64ArrayAttr(Dilations));
  State.addAttribute(getGroupsAttrName(State.name),
                     B.getI64IntegerAttr(Groups));
  addBody(B, State, getElementTypeOrSelf(Init));
}

ParseResult ConvOp::parse(OpAsmParser &Parser, OperationState &State) {
  SmallVector<OpAsmParser::UnresolvedOperand> Operands(3);
  Builder &B = Parser.getBuilder();
  DenseI64ArrayAttr Strides, Dilations;
  if (Parser.parseOperand(Operands[0]) || Parser.parseComma() ||
      Parser.parseOperand(Operands[1]) || Parser.parseKeyword("strides") ||
      Parser.parseCustomAttributeWithFallback(Strides) ||
      Parser.parseKeyword("dilations") ||
      Parser.parseCustomAttributeWithFallback(Dilations))
    return failure();
  State.addAttribute(getStridesAttrName(State.name), Strides);
  State.addAttribute(getDilationsAttrName(State.name), Dilations);
  int64_t Groups = 1;
  if (succeeded(Parser.parseOptionalKeyword("groups")) &&
      Parser.parseInteger(Groups))
    return failure();
  State.addAttribute(getGroupsAttrName(State.name),
                     B.getI64IntegerAttr(Groups));
  return parseTail(Parser, State, Operands, getTf32AttrName(State.name));
}

void ConvOp::print(OpAsmPrinter &Printer) {
  Printer << ' ' << getX() << ", " << getW() << " strides ";
  Printer.printStrippedAttrOrType(getStridesAttr());
  Printer << " dilations ";
  Printer.printStrippedAttrOrType(getDilationsAttr());
  if (getGroups() != 1)
    Printer << " groups " << getGroups();
  if (getTf32())
    Printer << " tf32";
  Printer << " into " << getInit();
  Printer.printOptionalAttrDict((*this)->getAttrs(),
                                {getTf32AttrName(), getStridesAttrName(),
                                 getDilationsAttrName(), getGroupsAttrName()});
  Printer << " : ";
  Printer.printFunctionalType(*this);
}

SmallVector<utils::IteratorType> ConvOp::getIteratorTypesArray() {
  SmallVector<utils::IteratorType> Loops(getY().getType().getRank(),
                                         utils::IteratorType::parallel);
  Loops.append(getSpatialRank() + 1, utils::IteratorType::reduction);
  return Loops;
}

/// From the loops [N, spatial…, O, window…, C] to x, w and y.
static ArrayAttr makeConvMaps(MLIRContext *Context, const ConvMapsKey &Key) {
  unsigned Rank = Key.Rank, Spatial = Rank - 2, Loops = Rank + Spatial + 1;
  Builder B(Context);
  auto Dim = [&](unsigned I) { return B.getAffineDimExpr(I); };
  AffineExpr Output = Dim(Rank - 1), Channel = Dim(Rank + Spatial);
  SmallVector<AffineExpr> OfX{Dim(0)}, OfW, OfY;
  for (unsigned I = 0; I < Spatial; ++I) {
    OfX.push_back(Dim(I + 1) * Key.Strides[I] +
                  Dim(Rank + I) * Key.Dilations[I]);
    OfW.push_back(Dim(Rank + I));
  }
  OfW.append({Channel, Output});
  if (Key.Outputs)
    Channel = Output.floorDiv(Key.Outputs) * Key.Channels + Channel;
  OfX.push_back(Channel);
  for (unsigned I = 0; I < Rank; ++I)
    OfY.push_back(Dim(I));
  auto Map = [&](ArrayRef<AffineExpr> Index) {
    return AffineMap::get(Loops, 0, Index, Context);
  };
  return B.getAffineMapArrayAttr({Map(OfX), Map(OfW), Map(OfY)});
}

ArrayAttr KernelDialect::convMaps(const ConvMapsKey &Key) {
  std::lock_guard<std::mutex> Lock(ConvMapsMutex);
  ArrayAttr &Maps = ConvMaps[Key];
  if (!Maps)
    Maps = makeConvMaps(getContext(), Key);
  return Maps;
}

/// Made anew for each question, the maps would be half of what choosing the
/// variants of a convolutional network takes.
ArrayAttr ConvOp::getIndexingMaps() {
  ConvMapsKey Key{getStridesAttr(), getDilationsAttr(),
                  unsigned(getY().getType().getRank()), /*Channels=*/0,
                  /*Outputs=*/0};
  if (int64_t Groups = getGroups(); Groups > 1) {
    ArrayRef<int64_t> W = getW().getType().getShape();
    Key.Channels = W[getSpatialRank()];
    Key.Outputs = W.back() / Groups;
  }
  return cast<KernelDialect>((*this)->getDialect())->convMaps(Key);
}

LogicalResult ConvOp::verify() {
  RankedTensorType X = getX().getType(), W = getW().getType(),
                   Y = getY().getType();
  if (failed(
          verifyMultiplyAdd(*this, getInit().getType(), Y, {X, W}, getTf32())))
    return failure();
  int64_t Rank = Y.getRank();
  if (Rank < 3)
    return emitOpError("expected a result of [N, spatial…, O], got ") << Y;
  for (RankedTensorType Ty : {X, W})
    if (Ty.getRank() != Rank)
      return emitOpError("expected x and w of the result's ")
             << Rank << " dimensions, got " << Ty;
  int64_t Spatial = Rank - 2;
  for (ArrayRef<int64_t> List : {getStrides(), getDilations()})
    if (int64_t(List.size()) != Spatial ||
        llvm::any_of(List, [](int64_t V) { return V < 1; }))
      return emitOpError("expected ")
             << Spatial << " strides and dilations of at least 1";
  int64_t Groups = getGroups(), Channels = W.getDimSize(Spatial),
          Outputs = W.getDimSize(Spatial + 1);
  if (Groups < 1)
    return emitOpError("expected at least one group, got ") << Groups;
  if (Groups > 1 && (ShapedType::isDynamic(Channels) ||
                     ShapedType::isDynamic(Outputs) || Outputs % Groups != 0))
    return emitOpError("expected a constant number of channels and one of "
                       "outputs that ")
           << Groups << " groups divide, got w of " << W;
  if (!ShapedType::isDynamic(Channels) &&
      !agree(Channels * Groups, X.getDimSize(Rank - 1)))
    return emitOpError("expected x of ")
           << Channels * Groups << " channels as w and groups say, got "
           << X.getDimSize(Rank - 1);
  if (!agree(X.getDimSize(0), Y.getDimSize(0)))
    return emitOpError("expected a result of ")
           << X.getDimSize(0) << " images as x, got " << Y.getDimSize(0);
  if (!agree(Outputs, Y.getDimSize(Rank - 1)))
    return emitOpError("expected a result of ")
           << Outputs << " outputs as w, got " << Y.getDimSize(Rank - 1);
  for (int64_t I = 0; I < Spatial; ++I) {
    int64_t Size = X.getDimSize(I + 1), Taps = W.getDimSize(I);
    if (ShapedType::isDynamic(Size) || ShapedType::isDynamic(Taps))
      continue;
    int64_t Reach = (Taps - 1) * getDilations()[I] + 1;
    int64_t Places = Size < Reach ? 0 : (Size - Reach) / getStrides()[I] + 1;
    if (!agree(Places, Y.getDimSize(I + 1)))
      return emitOpError("expected ")
             << Places << " places in spatial dimension " << I << ", got "
             << Y.getDimSize(I + 1);
  }
  return success();
}

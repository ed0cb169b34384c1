//===- KernelAttrs.cpp - Attributes of kernels ----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/kernel/Kernel.h"
#include "dialects/kernel/KernelRecurrent.h"
#include "dialects/kernel/StoredBits.h"
#include "dialects/shape/LiveTaps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::kernel;
using kpc::shape::Expr;

#include "dialects/kernel/KernelEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/kernel/KernelAttributes.cpp.inc"

using EmitFn = llvm::function_ref<InFlightDiagnostic()>;

void KernelDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/kernel/KernelAttributes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// What is right by itself
//===----------------------------------------------------------------------===//

LogicalResult SizeAttr::verify(EmitFn EmitError, int64_t Min,
                               std::optional<int64_t> Max, int64_t Divisor,
                               std::optional<int64_t>) {
  if (Max && *Max < Min)
    return EmitError() << "expected a max of at least " << Min << ", got "
                       << *Max;
  if (Divisor < 1)
    return EmitError() << "expected a divisor of at least 1, got " << Divisor;
  return success();
}

LogicalResult TilesAttr::verify(EmitFn EmitError, int64_t Bits, int64_t Block,
                                int64_t Offset, Type Number) {
  if (Number && (!isa<Float8E4M3FNType, Float8E5M2Type>(Number) || Bits != 8 ||
                 Offset != 0))
    return EmitError()
           << "expected f8E4M3FN or f8E5M2 of 8 bits and no offset, "
              "got "
           << Number << " of " << Bits << " bits";
  if ((Bits != 4 && Bits != 8) || Block < 1)
    return EmitError() << "expected codes of 4 or 8 bits in blocks of 1 or "
                          "more, got "
                       << Bits << " bits and blocks of " << Block;
  return success();
}

LogicalResult BuffersAttr::verify(EmitFn EmitError, DenseI64ArrayAttr Reads,
                                  DenseI64ArrayAttr Writes,
                                  DenseI64ArrayAttr WeightBytes) {
  for (DenseI64ArrayAttr List : {Reads, Writes})
    if (!llvm::is_sorted(List.asArrayRef(), std::less_equal<>()))
      return EmitError() << "expected arguments in ascending order, got "
                         << List;
  if (!WeightBytes)
    return success();
  if (WeightBytes.size() != Reads.size())
    return EmitError() << "expected weight_bytes to have a number for each of "
                       << Reads.size() << " arguments that are read, got "
                       << WeightBytes.size();
  for (auto [Argument, Bytes] :
       llvm::zip(Reads.asArrayRef(), WeightBytes.asArrayRef()))
    if (Bytes < 0 ||
        (Bytes > 0 && llvm::is_contained(Writes.asArrayRef(), Argument)))
      return EmitError() << "expected weight_bytes of argument " << Argument
                         << " to be 0 or more, and 0 where it is written, got "
                         << Bytes;
  return success();
}

int64_t BuffersAttr::getWeightBytesOf(int64_t Argument) const {
  if (!getWeightBytes())
    return 0;
  for (auto [Number, Bytes] :
       llvm::zip(getReads().asArrayRef(), getWeightBytes().asArrayRef()))
    if (Number == Argument)
      return Bytes;
  return 0;
}

LogicalResult ScheduleAttr::verify(EmitFn EmitError, StringRef Text) {
  StringRef Family = Text.split(' ').first;
  if (Family.empty())
    return EmitError() << "expected the name of a family first, got '" << Text
                       << "'";
  return success();
}

/// Whether `E` is a text that is an expression.
static LogicalResult verifyExpr(EmitFn EmitError, Attribute E) {
  auto Text = dyn_cast<StringAttr>(E);
  if (!Text)
    return EmitError() << "expected the text of an expression, got " << E;
  std::string Why;
  if (!Expr::parse(Text.getValue(), &Why))
    return EmitError() << "expected an expression, got '" << Text.getValue()
                       << "': " << Why;
  return success();
}

LogicalResult LaunchAttr::verify(EmitFn EmitError, ArrayAttr Grid,
                                 DenseI32ArrayAttr Block, int64_t Shared,
                                 int64_t Cluster, bool, bool, bool) {
  if (Grid.size() != 3 || Block.size() != 3)
    return EmitError() << "expected a grid and a block of three sizes, got "
                       << Grid.size() << " and " << Block.size();
  for (Attribute Extent : Grid)
    if (failed(verifyExpr(EmitError, Extent)))
      return failure();
  for (int32_t Threads : Block.asArrayRef())
    if (Threads < 1)
      return EmitError() << "expected a block of at least 1 thread, got "
                         << Block;
  if (Shared < 0)
    return EmitError() << "expected bytes of shared memory, got " << Shared;
  if (Cluster < 1)
    return EmitError() << "expected a cluster of at least 1 block, got "
                       << Cluster;
  return success();
}

int64_t LaunchAttr::getThreads() const {
  int64_t Threads = 1;
  for (int32_t Size : getBlock().asArrayRef())
    Threads *= Size;
  return Threads;
}

LaunchAttr LaunchAttr::withShared(int64_t Bytes) const {
  return get(getContext(), getGrid(), getBlock(), Bytes, getCluster(),
             getNoEarlyPdlTrigger(), getPrefetchesPart(), getNoEarlyStart());
}

LogicalResult WorkAttr::verify(EmitFn EmitError, StringRef Units,
                               int64_t Grain) {
  std::string Why;
  if (!Expr::parse(Units, &Why))
    return EmitError() << "expected units as an expression, got '" << Units
                       << "': " << Why;
  if (Grain < 1)
    return EmitError() << "expected a grain of at least 1, got " << Grain;
  return success();
}

LogicalResult Im2colAttr::verify(EmitFn EmitError, DenseI32ArrayAttr Lower,
                                 DenseI32ArrayAttr Upper, uint32_t, uint32_t) {
  if (Lower.size() != Upper.size())
    return EmitError() << "expected two corners of as many dims, got "
                       << Lower.size() << " and " << Upper.size();
  return success();
}

/// Numbers that the driver takes as 32 bits.
static LogicalResult verifyExtents(EmitFn EmitError, DenseI64ArrayAttr List) {
  for (int64_t Extent : List ? List.asArrayRef() : ArrayRef<int64_t>())
    if (Extent < 0 || Extent > std::numeric_limits<uint32_t>::max())
      return EmitError() << "expected extents of 32 bits, got " << Extent;
  return success();
}

LogicalResult TensorMapAttr::verify(EmitFn EmitError, uint32_t, Type Element,
                                    ArrayAttr Dims, ArrayAttr Strides,
                                    DenseI64ArrayAttr Box, uint32_t Swizzle,
                                    uint32_t L2, TensorMapFill,
                                    DenseI64ArrayAttr Traversal,
                                    Im2colAttr Im2col) {
  if (!Element.isIntOrFloat())
    return EmitError() << "expected elements of numbers, got " << Element;
  if (Dims.empty() || Strides.size() + 1 != Dims.size())
    return EmitError() << "expected a stride for each dim but the first, got "
                       << Strides.size() << " for " << Dims.size() << " dims";
  for (ArrayAttr List : {Dims, Strides})
    for (Attribute One : List)
      if (failed(verifyExpr(EmitError, One)))
        return failure();
  if (bool(Box) == bool(Im2col))
    return EmitError() << "expected either a box or im2col, got "
                       << (Box ? "both" : "neither");
  if (failed(verifyExtents(EmitError, Box)) ||
      failed(verifyExtents(EmitError, Traversal)))
    return failure();
  if (!llvm::is_contained({0U, 32U, 64U, 128U}, Swizzle))
    return EmitError() << "expected a swizzle of 0, 32, 64 or 128 bytes, got "
                       << Swizzle;
  if (!llvm::is_contained({0U, 64U, 128U, 256U}, L2))
    return EmitError() << "expected an l2 of 0, 64, 128 or 256 bytes, got "
                       << L2;
  return success();
}

//===----------------------------------------------------------------------===//
// What is right at a function
//===----------------------------------------------------------------------===//

namespace {

/// Checks an attribute against the function that it stands at.
class PlaceCheck {
public:
  PlaceCheck(FunctionOpInterface Kernel, StringRef Name)
      : Kernel(Kernel), Name(Name) {}

  LogicalResult buffer(int64_t Number);
  LogicalResult buffers(BuffersAttr Buffers);
  /// The symbols `argN` of an expression are sizes among the arguments.
  LogicalResult sizes(StringRef Text);
  LogicalResult sizes(ArrayAttr Texts);
  LogicalResult tensorMaps(ArrayAttr Maps);

private:
  FunctionOpInterface Kernel;
  StringRef Name;
};

} // namespace

LogicalResult PlaceCheck::buffer(int64_t Number) {
  int64_t Count = Kernel.getNumArguments();
  if (Number < 0 || Number >= Count)
    return Kernel.emitOpError("expected '")
           << Name << "' to name one of " << Count << " arguments, got "
           << Number;
  Type Ty = Kernel.getArgumentTypes()[Number];
  if (Ty.isIntOrIndexOrFloat())
    return Kernel.emitOpError("expected '")
           << Name << "' to name a buffer, got argument " << Number
           << " of type " << Ty;
  return success();
}

LogicalResult PlaceCheck::buffers(BuffersAttr Buffers) {
  for (DenseI64ArrayAttr List : {Buffers.getReads(), Buffers.getWrites()})
    for (int64_t Number : List.asArrayRef())
      if (failed(buffer(Number)))
        return failure();
  return success();
}

LogicalResult PlaceCheck::sizes(StringRef Text) {
  std::set<std::string, std::less<>> Symbols;
  Expr::parse(Text)->collectSymbols(Symbols);
  for (StringRef Symbol : Symbols) {
    unsigned Number = 0;
    StringRef Rest = Symbol;
    if (!Rest.consume_front("arg") || Rest.getAsInteger(10, Number))
      continue;
    if (Number >= Kernel.getNumArguments() ||
        !Kernel.getArgumentTypes()[Number].isIntOrIndex())
      return Kernel.emitOpError("expected '")
             << Name << "' to name sizes among the arguments, got '" << Symbol
             << "'";
  }
  return success();
}

LogicalResult PlaceCheck::sizes(ArrayAttr Texts) {
  for (auto Text : Texts.getAsRange<StringAttr>())
    if (failed(sizes(Text.getValue())))
      return failure();
  return success();
}

LogicalResult PlaceCheck::tensorMaps(ArrayAttr Maps) {
  for (Attribute One : Maps) {
    auto Map = dyn_cast<TensorMapAttr>(One);
    if (!Map)
      return Kernel.emitOpError("expected '")
             << Name << "' to hold #kernel.tensor_map, got " << One;
    if (failed(buffer(Map.getBuffer())) || failed(sizes(Map.getDims())) ||
        failed(sizes(Map.getStrides())))
      return failure();
  }
  return success();
}

/// Whether `Value` has the type that `Name` asks for.
static bool hasItsType(StringRef Name, Attribute Value) {
  if (Name == KernelDialect::BuffersAttrHelper::getNameStr())
    return isa<BuffersAttr>(Value);
  if (Name == KernelDialect::LaunchAttrHelper::getNameStr())
    return isa<LaunchAttr>(Value);
  if (Name == KernelDialect::WorkAttrHelper::getNameStr())
    return isa<WorkAttr>(Value);
  if (Name == KernelDialect::ScheduleAttrHelper::getNameStr() ||
      Name == KernelDialect::ForcedScheduleAttrHelper::getNameStr())
    return isa<ScheduleAttr>(Value);
  if (Name == KernelDialect::TilesAttrHelper::getNameStr())
    return isa<TilesAttr>(Value);
  if (Name == KernelDialect::BlockScalesAttrHelper::getNameStr())
    return isa<StringAttr>(Value);
  if (Name == StoredBitsName)
    return isa<IntegerAttr>(Value);
  if (Name == CooperativeName)
    return isa<UnitAttr>(Value);
  if (Name == KernelLiveTapsName)
    return isa<DenseI64ArrayAttr>(Value);
  auto List = dyn_cast<ArrayAttr>(Value);
  if (Name == KernelDialect::ScheduleCostsAttrHelper::getNameStr())
    return List && llvm::all_of(List, llvm::IsaPred<StringAttr>);
  return Name == KernelDialect::TensorMapsAttrHelper::getNameStr() && List;
}

static LogicalResult verifyLiveTaps(Operation *Op, DenseI64ArrayAttr Live) {
  auto Conv = dyn_cast<ConvOp>(Op);
  if (!Conv)
    return Op->emitOpError("expected '")
           << KernelLiveTapsName << "' at a kernel.conv";
  ArrayRef<int64_t> W = Conv.getW().getType().getShape();
  int64_t Taps = 1;
  for (int64_t Size : W.drop_back(2))
    Taps *= ShapedType::isDynamic(Size) ? MostLiveTaps + 1 : Size;
  int64_t Outputs = ShapedType::isDynamic(W.back()) ? 0 : W.back();
  std::string Why = refusalOfLiveTaps(Live, Taps, Outputs, Conv.getGroups());
  if (!Why.empty())
    return Op->emitOpError("'") << KernelLiveTapsName << "': " << Why
                                << " for w of " << Conv.getW().getType();
  return success();
}

LogicalResult KernelDialect::verifyOperationAttribute(Operation *Op,
                                                      NamedAttribute Attr) {
  StringRef Name = Attr.getName();
  Attribute Value = Attr.getValue();
  if (!hasItsType(Name, Value))
    return Op->emitOpError("has '")
           << Name << " = " << Value
           << "', which is no attribute of kernels; see "
              "docs/dialects/kernel.md";
  if (auto Live = dyn_cast<DenseI64ArrayAttr>(Value))
    return verifyLiveTaps(Op, Live);
  auto Kernel = dyn_cast<FunctionOpInterface>(Op);
  // What a generic reads as it lies in memory.
  bool OfGeneric =
      isa<TilesAttr>(Value) || Name == BlockScalesAttrHelper::getNameStr();
  if (OfGeneric)
    return Kernel ? Op->emitOpError("expected '")
                        << Name << "' at a linalg.generic, got a function"
                  : success();
  if (Name == StoredBitsName)
    return isa<arith::ArithFastMathInterface>(Op)
               ? success()
               : Op->emitOpError("expected '")
                     << Name << "' at an op with fastmath, got another";
  bool OfModule = Name == ScheduleCostsAttrHelper::getNameStr();
  if (bool(Kernel) == OfModule)
    return Op->emitOpError("expected '")
           << Name << "' at a "
           << (OfModule ? "module, got a function"
                        : "function, got something else");
  PlaceCheck Check(Kernel, Name);
  return llvm::TypeSwitch<Attribute, LogicalResult>(Value)
      .Case([&](BuffersAttr It) { return Check.buffers(It); })
      .Case([&](LaunchAttr It) { return Check.sizes(It.getGrid()); })
      .Case([&](WorkAttr It) { return Check.sizes(It.getUnits()); })
      .Case([&](ArrayAttr It) {
        return OfModule ? success() : Check.tensorMaps(It);
      })
      .Default([](Attribute) { return success(); });
}

/// Sums are floats, and those of another buffer.
static LogicalResult verifyRowSquares(FunctionOpInterface Kernel,
                                      unsigned Argument, Attribute Value) {
  auto Of = dyn_cast<IntegerAttr>(Value);
  auto IsOfFloats = [&](int64_t Number) {
    auto Ty = Number >= 0 && Number < int64_t(Kernel.getNumArguments())
                  ? dyn_cast<MemRefType>(Kernel.getArgumentTypes()[Number])
                  : MemRefType();
    return Ty && isa<FloatType>(Ty.getElementType());
  };
  if (Of && Of.getInt() != int64_t(Argument) && IsOfFloats(Of.getInt()) &&
      IsOfFloats(Argument))
    return success();
  return Kernel.emitOpError("expected 'kernel.row_squares' at a buffer of "
                            "floats, with the number of another, got ")
         << Value << " at argument " << Argument;
}

LogicalResult KernelDialect::verifyRegionArgAttribute(Operation *Op, unsigned,
                                                      unsigned Argument,
                                                      NamedAttribute Attr) {
  auto Kernel = cast<FunctionOpInterface>(Op);
  if (Attr.getName() == RowSquaresAttrHelper::getNameStr())
    return verifyRowSquares(Kernel, Argument, Attr.getValue());
  if (Attr.getName() != SizeAttrHelper::getNameStr() ||
      !isa<SizeAttr>(Attr.getValue()))
    return Op->emitOpError("has '")
           << Attr.getName().strref() << " = " << Attr.getValue()
           << "' at an argument; expected #kernel.size";
  Type Ty = Kernel.getArgumentTypes()[Argument];
  if (!Ty.isIntOrIndex())
    return Op->emitOpError("expected '")
           << Attr.getName().strref() << "' at a size, got argument "
           << Argument << " of type " << Ty;
  return success();
}

//===----------------------------------------------------------------------===//
// Readers and writers
//===----------------------------------------------------------------------===//

ArrayAttr kernel::textsOf(MLIRContext *Context, ArrayRef<Expr> Exprs) {
  return ArrayAttr::get(Context,
                        llvm::map_to_vector(Exprs, [&](const Expr &One) {
                          return Attribute(StringAttr::get(Context, One.str()));
                        }));
}

shape::SymbolFacts kernel::argumentFacts(FunctionOpInterface Kernel,
                                         unsigned Argument) {
  auto Size = Kernel.getArgAttrOfType<SizeAttr>(
      Argument, KernelDialect::SizeAttrHelper::getNameStr());
  if (!Size)
    return {};
  return {.Min = Size.getMin(),
          .Max = Size.getMax().value_or(shape::Interval::Unbounded),
          .Optimum = Size.getOptimum(),
          .Divisor = Size.getDivisor()};
}

void kernel::setArgumentFacts(FunctionOpInterface Kernel, unsigned Argument,
                              const shape::SymbolFacts &Known) {
  StringRef Name = KernelDialect::SizeAttrHelper::getNameStr();
  if (Known == shape::SymbolFacts()) {
    Kernel.removeArgAttr(
        Argument, StringAttr::get(Kernel.getOperation()->getContext(), Name));
    return;
  }
  std::optional<int64_t> Max;
  if (Known.Max != shape::Interval::Unbounded)
    Max = Known.Max;
  Kernel.setArgAttr(Argument, Name,
                    SizeAttr::get(Kernel.getOperation()->getContext(),
                                  Known.Min, Max, Known.Divisor,
                                  Known.Optimum));
}

BuffersAttr kernel::buffersOf(Operation *Kernel) {
  return Kernel->getAttrOfType<BuffersAttr>(
      KernelDialect::BuffersAttrHelper::getNameStr());
}

LaunchAttr kernel::launchOf(Operation *Kernel) {
  return Kernel->getAttrOfType<LaunchAttr>(
      KernelDialect::LaunchAttrHelper::getNameStr());
}

WorkAttr kernel::workOf(Operation *Kernel) {
  return Kernel->getAttrOfType<WorkAttr>(
      KernelDialect::WorkAttrHelper::getNameStr());
}

ScheduleAttr kernel::scheduleOf(Operation *Kernel) {
  return Kernel->getAttrOfType<ScheduleAttr>(
      KernelDialect::ScheduleAttrHelper::getNameStr());
}

BlockArgument kernel::rowSquaresOf(FunctionOpInterface Kernel, unsigned Of) {
  StringRef Name = KernelDialect::RowSquaresAttrHelper::getNameStr();
  for (BlockArgument Argument : Kernel.getArguments())
    if (auto Number =
            Kernel.getArgAttrOfType<IntegerAttr>(Argument.getArgNumber(), Name);
        Number && Number.getInt() == int64_t(Of))
      return Argument;
  return {};
}

ScheduleAttr kernel::forcedScheduleOf(Operation *Kernel) {
  return Kernel->getAttrOfType<ScheduleAttr>(
      KernelDialect::ForcedScheduleAttrHelper::getNameStr());
}

ArrayAttr kernel::tensorMapsOf(Operation *Kernel) {
  return Kernel->getAttrOfType<ArrayAttr>(
      KernelDialect::TensorMapsAttrHelper::getNameStr());
}

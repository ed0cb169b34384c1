//===- TileDialect.cpp - The tile dialect and its types -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/tile/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::tile;

#include "dialects/tile/TileDialect.cpp.inc"
#include "dialects/tile/TileEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/tile/TileTypes.cpp.inc"

namespace {
/// Types are long and come often: they are printed once, at the top.
struct NamedTypes : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Type Ty, raw_ostream &OS) const override {
    StringRef Name = TypeSwitch<Type, StringRef>(Ty)
                         .Case<ViewType>([](Type) { return "view"; })
                         .Case<SharedType>([](Type) { return "smem"; })
                         .Case<FragmentType>([](Type) { return "fragment"; })
                         .Case<PackedType>([](Type) { return "packed"; })
                         .Case<FactorsType>([](Type) { return "factors"; })
                         .Case<PendingType>([](Type) { return "pending"; })
                         .Case<TensorMemoryType>([](Type) { return "tmem"; })
                         .Case<PipeType>([](Type) { return "pipe"; })
                         .Default([](Type) { return ""; });
    if (Name.empty())
      return AliasResult::NoAlias;
    OS << Name;
    return AliasResult::OverridableAlias;
  }
};
} // namespace

void TileDialect::initialize() {
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialects/tile/Tile.cpp.inc"
      >();
  addInterfaces<NamedTypes>();
}

void TileDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/tile/TileTypes.cpp.inc"
      >();
}

FragmentType tile::fragmentOf(Type Ty) {
  if (auto Pending = dyn_cast<PendingType>(Ty))
    return Pending.getFragment();
  return dyn_cast<FragmentType>(Ty);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

using Emit = function_ref<InFlightDiagnostic()>;

/// More than a block may use on any chip. What is allowed on one is its
/// descriptor's to say; here it keeps sums of sizes from overflowing.
static constexpr int64_t MostSharedBytes = 1 << 18;

static LogicalResult verifySwizzle(Emit Error, int64_t Swizzle) {
  if (llvm::is_contained({0, 32, 64, 128}, Swizzle))
    return success();
  return Error() << "swizzle is " << Swizzle << ", not 0, 32, 64 or 128 bytes";
}

static LogicalResult verifyElement(Emit Error, Type Element) {
  if (Element.isIntOrFloat() &&
      llvm::is_contained({8u, 16u, 32u, 64u}, Element.getIntOrFloatBitWidth()))
    return success();
  return Error() << "elements are " << Element
                 << ", not numbers of 8, 16, 32 or 64 bits";
}

LogicalResult ViewType::verify(Emit Error, Type Element, ArrayRef<int64_t> Box,
                               int64_t Swizzle) {
  if (failed(verifyElement(Error, Element)) ||
      failed(verifySwizzle(Error, Swizzle)))
    return failure();
  if (Box.empty() || Box.size() > 5)
    return Error() << "a box has 1 to 5 dimensions, not " << Box.size();
  for (int64_t Size : Box)
    if (Size < 1 || Size > 256)
      return Error() << "a box has 1 to 256 elements along each dimension, not "
                     << Size;
  int64_t Line = Box.back() * Element.getIntOrFloatBitWidth() / 8;
  if (Line % 16)
    return Error() << "a row of the box has " << Line
                   << " bytes, not a multiple of 16";
  if (Swizzle && Line > Swizzle)
    return Error() << "a row of the box has " << Line
                   << " bytes, more than the swizzle's " << Swizzle;
  return success();
}

/// A swizzle of plain rows: bits of the row's number are XORed into those of
/// the 16-byte units, which stay whole and in their row.
static LogicalResult verifyRowSwizzle(Emit Error, int64_t RowBytes,
                                      ArrayRef<int64_t> Swizzle) {
  if ((Swizzle.size() != 3 && Swizzle.size() != 6) ||
      !llvm::isPowerOf2_64(uint64_t(RowBytes)))
    return Error() << "a row swizzle is [bits, base, shift], once or twice, of "
                      "rows of a power of two bytes";
  int64_t RowBit = llvm::Log2_64(uint64_t(RowBytes));
  constexpr int64_t UnitBit = 4, MostShift = 16;
  int64_t First = UnitBit; // that the next one may change
  for (ArrayRef<int64_t> Rest = Swizzle; !Rest.empty();
       Rest = Rest.drop_front(3)) {
    int64_t Bits = Rest[0], Base = Rest[1], Shift = Rest[2];
    if (Bits < 1 || Base < First || Bits > RowBit - Base || Shift > MostShift ||
        Base + Shift < RowBit)
      return Error() << "a row swizzle exchanges units of 16 bytes within rows "
                        "of "
                     << RowBytes << " bytes by bits of the row's number; ["
                     << Swizzle << "] does not";
    First = Base + Bits;
  }
  return success();
}

LogicalResult SharedType::verify(Emit Error, ArrayRef<int64_t> Shape,
                                 Type Element, int64_t Swizzle, int64_t Pitch,
                                 ArrayRef<int64_t> RowSwizzle) {
  if (failed(verifyElement(Error, Element)) ||
      failed(verifySwizzle(Error, Swizzle)))
    return failure();
  if (Shape.size() != 2 || Shape[0] < 1 || Shape[1] < 1)
    return Error() << "a tile has rows and columns";
  int64_t Bits = Element.getIntOrFloatBitWidth();
  if (std::max({Shape[0], Shape[1], Pitch}) > MostSharedBytes ||
      Shape[0] * Shape[1] * Bits / 8 > MostSharedBytes)
    return Error() << "a tile has at most " << MostSharedBytes << " bytes";
  if (Pitch < Shape[0])
    return Error() << "the pitch, " << Pitch << ", is less than the rows";
  if (Swizzle && Shape[1] * Element.getIntOrFloatBitWidth() / 8 % Swizzle)
    return Error() << "a row is not a multiple of the swizzle's " << Swizzle
                   << " bytes";
  if (RowSwizzle.empty())
    return success();
  if (Swizzle)
    return Error() << "a tile has a swizzle of its lines or of its rows, not "
                      "both";
  return verifyRowSwizzle(Error, Shape[1] * Bits / 8, RowSwizzle);
}

LogicalResult TensorMemoryType::verify(Emit Error, ArrayRef<int64_t> Shape,
                                       Type Element) {
  bool IsHalf = Element.isF16() || Element.isBF16();
  if (!Element.isF32() && !Element.isUnsignedInteger(32) && !IsHalf)
    return Error() << "elements of tensor memory are f32, ui32, f16 or bf16, "
                      "not "
                   << Element;
  int64_t PerWord = IsHalf ? 2 : 1;
  if (Shape.size() != 2 || Shape[0] != TensorMemoryRows || Shape[1] < 1 ||
      Shape[1] > TensorMemoryColumns * PerWord)
    return Error() << "tensor memory has " << TensorMemoryRows
                   << " rows and up to " << TensorMemoryColumns << " columns";
  if (Shape[1] % PerWord)
    return Error() << "elements of 16 bits come in pairs: columns are even";
  return success();
}

LogicalResult FragmentType::verify(Emit Error, ArrayRef<int64_t> Shape,
                                   Type Element, FragmentLayout Layout) {
  if (failed(verifyElement(Error, Element)))
    return failure();
  if (Layout == FragmentLayout::Tmem32x32b &&
      (Shape.size() != 2 || Shape[0] != TensorMemoryRows))
    return Error() << "a fragment in the layout tmem_32x32b has "
                   << TensorMemoryRows << " rows";
  if (Shape.size() != 2 || Shape[0] < 64 || Shape[0] % 64 || Shape[1] < 8 ||
      Shape[1] % 8)
    return Error() << "a fragment has a multiple of 64 rows and of 8 columns";
  return success();
}

LogicalResult ColumnType::verify(Emit Error, int64_t Rows, Type Element, bool,
                                 FragmentLayout Layout) {
  if (failed(verifyElement(Error, Element)))
    return failure();
  if (Layout == FragmentLayout::Tmem32x32b && Rows != TensorMemoryRows)
    return Error() << "a column in the layout tmem_32x32b has "
                   << TensorMemoryRows << " rows";
  if (Rows < 64 || Rows % 64)
    return Error() << "a column has a multiple of 64 rows";
  return success();
}

LogicalResult PackedType::verify(Emit Error, ArrayRef<int64_t> Shape,
                                 Type Element) {
  if (!Element.isF16() && !Element.isBF16() && !Element.isF32() &&
      !isa<Float8E4M3FNType>(Element))
    return Error() << "packed elements are f16, bf16, f32 or f8E4M3FN, not "
                   << Element;
  if (Shape.size() != 2 || Shape[0] < 64 || Shape[0] % 64 || Shape[1] < 16 ||
      Shape[1] % 16)
    return Error() << "packed are a multiple of 64 rows and of 16 columns";
  return success();
}

LogicalResult FactorsType::verify(Emit Error, ArrayRef<int64_t> Shape, Type A,
                                  Type B) {
  if (Shape.size() != 2 || Shape[0] < 64 || Shape[0] % 64 || Shape[1] < 16 ||
      Shape[1] % 16)
    return Error() << "factors are of a multiple of 64 rows and of 16 columns";
  unsigned Bits = A.getIntOrFloatBitWidth();
  if (Bits != B.getIntOrFloatBitWidth() || Bits > 32)
    return Error() << "factors are of as many bits, not " << A << " and " << B;
  return success();
}

LogicalResult PipeType::verify(Emit Error, int64_t Stages,
                               ArrayRef<Type> Tiles) {
  if (Stages < 1 || Stages > 64)
    return Error() << "a pipe has 1 to 64 stages, not " << Stages;
  if (Tiles.empty())
    return Error() << "a stage holds at least one tile";
  int64_t Bytes = 0;
  for (Type Tile : Tiles) {
    if (!isa<SharedType, TensorMemoryType>(Tile) ||
        isa<SharedType>(Tile) != isa<SharedType>(Tiles[0]))
      return Error()
             << "a stage holds tiles of shared memory, or of tensor memory";
    auto Shared = dyn_cast<SharedType>(Tile);
    if (!Shared)
      continue;
    if (Shared.getPitch() != Shared.getRows())
      return Error() << "a stage holds whole tiles, not " << Shared;
    Bytes = std::min(Bytes + Shared.getBytes(), 2 * MostSharedBytes);
  }
  if (Stages * Bytes > MostSharedBytes)
    return Error() << "a pipe's stages have at most " << MostSharedBytes
                   << " bytes together";
  return success();
}

bool PipeType::isInTensorMemory() const {
  return isa<TensorMemoryType>(getTiles()[0]);
}

int64_t PipeType::getStageColumns() const {
  int64_t Columns = 0;
  for (Type Tile : getTiles())
    if (auto Part = dyn_cast<TensorMemoryType>(Tile))
      Columns += Part.getWords();
  return Columns;
}

int64_t PipeType::getTileOffset(size_t I) const {
  if (isInTensorMemory())
    return 0;
  auto Tile = [&](size_t J) { return cast<SharedType>(getTiles()[J]); };
  int64_t Offset = 0;
  for (size_t J = 0; J <= I; ++J) {
    // A stage's size keeps the next stage's tiles aligned as well.
    int64_t Alignment = 128;
    if (J < getTiles().size())
      Alignment = Tile(J).getAlignment();
    else
      for (size_t Each = 0; Each < getTiles().size(); ++Each)
        Alignment = std::max(Alignment, Tile(Each).getAlignment());
    Offset = llvm::alignTo(Offset, Alignment);
    if (J < I)
      Offset += Tile(J).getBytes();
  }
  return Offset;
}

int64_t PipeType::getFilledBytes() const {
  int64_t Bytes = 0;
  for (Type Tile : getTiles())
    if (auto Shared = dyn_cast<SharedType>(Tile))
      Bytes += Shared.getBytes();
  return Bytes;
}

Type SharedType::parse(AsmParser &P) {
  SmallVector<int64_t> Shape;
  Type Element;
  int64_t Swizzle = 0, Pitch = -1;
  auto One = [&] { return P.parseInteger(Shape.emplace_back()); };
  SMLoc Where = P.getCurrentLocation();
  if (P.parseLess() ||
      P.parseCommaSeparatedList(AsmParser::Delimiter::Square, One) ||
      P.parseComma() || P.parseType(Element))
    return {};
  SmallVector<int64_t> RowSwizzle;
  auto Number = [&] { return P.parseInteger(RowSwizzle.emplace_back()); };
  while (succeeded(P.parseOptionalComma())) {
    if (succeeded(P.parseOptionalKeyword("row_swizzle"))) {
      if (P.parseCommaSeparatedList(AsmParser::Delimiter::Square, Number))
        return {};
      continue;
    }
    bool IsPitch = succeeded(P.parseOptionalKeyword("pitch"));
    if (!IsPitch && P.parseKeyword("swizzle"))
      return {};
    if (P.parseInteger(IsPitch ? Pitch : Swizzle))
      return {};
  }
  if (P.parseGreater())
    return {};
  if (Pitch < 0 && !Shape.empty())
    Pitch = Shape[0];
  return getChecked([&] { return P.emitError(Where); }, P.getContext(), Shape,
                    Element, Swizzle, Pitch, RowSwizzle);
}

void SharedType::print(AsmPrinter &P) const {
  P << "<[";
  llvm::interleaveComma(getShape(), P);
  P << "], " << getElement();
  if (getSwizzle())
    P << ", swizzle " << getSwizzle();
  if (getPitch() != getRows())
    P << ", pitch " << getPitch();
  if (!getRowSwizzle().empty()) {
    P << ", row_swizzle [";
    llvm::interleaveComma(getRowSwizzle(), P);
    P << "]";
  }
  P << ">";
}

Type ColumnType::parse(AsmParser &P) {
  int64_t Rows = 0;
  Type Element;
  bool Parts = false;
  auto Layout = FragmentLayout::Wgmma;
  SMLoc Where = P.getCurrentLocation();
  if (P.parseLess() || P.parseInteger(Rows) || P.parseComma() ||
      P.parseType(Element))
    return {};
  while (succeeded(P.parseOptionalComma())) {
    StringRef Lanes = stringifyFragmentLayout(FragmentLayout::Tmem32x32b);
    if (succeeded(P.parseOptionalKeyword(Lanes)))
      Layout = FragmentLayout::Tmem32x32b;
    else if (P.parseKeyword("partial"))
      return {};
    else
      Parts = true;
  }
  if (P.parseGreater())
    return {};
  return getChecked([&] { return P.emitError(Where); }, P.getContext(), Rows,
                    Element, Parts, Layout);
}

void ColumnType::print(AsmPrinter &P) const {
  P << "<" << getRows() << ", " << getElement();
  if (getParts())
    P << ", partial";
  if (isTmemLayout())
    P << ", " << stringifyFragmentLayout(getLayout());
  P << ">";
}

Type PipeType::parse(AsmParser &P) {
  int64_t Stages = 0;
  SmallVector<Type> Tiles;
  SMLoc Where = P.getCurrentLocation();
  auto One = [&] { return P.parseType(Tiles.emplace_back()); };
  if (P.parseLess() || P.parseInteger(Stages) || P.parseKeyword("of") ||
      P.parseCommaSeparatedList(AsmParser::Delimiter::Square, One) ||
      P.parseGreater())
    return {};
  return getChecked([&] { return P.emitError(Where); }, P.getContext(), Stages,
                    Tiles);
}

void PipeType::print(AsmPrinter &P) const {
  P << "<" << getStages() << " of [";
  llvm::interleaveComma(getTiles(), P, [&](Type T) { P << T; });
  P << "]>";
}

//===- TensorMapAttr.cpp - The tensor maps that a kernel asks for ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/nvptx/TensorMapAttr.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <limits>

using namespace mlir;
using kpc::artifact::KernelTensorMap;
using kpc::artifact::TensorMap;
using kpc::shape::Expr;

namespace kpc::nvptx {

// The runtime's bytes for each value of an enumeration, by its number.
static constexpr int64_t SwizzleBytes[] = {0, 32, 64, 128};
static constexpr int64_t PromotionBytes[] = {0, 64, 128, 256};

static ElementType elementTypeOf(Type Element) {
  if (Element.isF32() || Element.isTF32())
    return ElementType::F32;
  if (Element.isF64())
    return ElementType::F64;
  if (Element.isF16())
    return ElementType::F16;
  if (Element.isBF16())
    return ElementType::BF16;
  if (isa<Float8E4M3FNType>(Element))
    return ElementType::F8E4M3FN;
  if (isa<Float8E5M2Type>(Element))
    return ElementType::F8E5M2;
  if (isa<Float8E8M0FNUType>(Element))
    return ElementType::F8E8M0;
  bool Unsigned = Element.isUnsignedInteger();
  if (Element.isInteger(8))
    return Unsigned ? ElementType::U8 : ElementType::I8;
  if (Element.isInteger(16))
    return Unsigned ? ElementType::U16 : ElementType::I16;
  if (Element.isInteger(32))
    return Unsigned ? ElementType::U32 : ElementType::I32;
  if (Element.isInteger(64))
    return Unsigned ? ElementType::U64 : ElementType::I64;
  return ElementType::Undefined;
}

namespace {

/// Reads one entry; keeps the first thing that is wrong with it.
class EntryReader {
public:
  explicit EntryReader(gpu::GPUFuncOp Kernel) : Kernel(Kernel) {}

  KernelTensorMap read(DictionaryAttr Entry);
  const std::string &problem() const { return Problem; }

private:
  void refuse(const Twine &Why) {
    if (Problem.empty())
      Problem = Why.str();
  }
  void onlyKeys(DictionaryAttr From, ArrayRef<StringRef> Known);
  template <class Int>
  Int number(DictionaryAttr From, StringRef Key, std::optional<Int> Default);
  template <class Int>
  std::vector<Int> numbers(DictionaryAttr From, StringRef Key, bool Needed);
  std::vector<Expr> exprs(DictionaryAttr From, StringRef Key);
  template <class Enum>
  Enum choice(DictionaryAttr From, StringRef Key, ArrayRef<int64_t> Values,
              int64_t Default);
  void element(DictionaryAttr Entry, TensorMap &Map);
  void fill(DictionaryAttr Entry, TensorMap &Map);
  void im2col(DictionaryAttr Entry, TensorMap &Map);

  gpu::GPUFuncOp Kernel;
  std::string Problem;
};

} // namespace

void EntryReader::onlyKeys(DictionaryAttr From, ArrayRef<StringRef> Known) {
  for (NamedAttribute Field : From)
    if (!llvm::is_contained(Known, Field.getName().getValue()))
      refuse("'" + Field.getName().getValue() + "' is no field of it");
}

template <class Int>
Int EntryReader::number(DictionaryAttr From, StringRef Key,
                        std::optional<Int> Default) {
  Attribute Given = From.get(Key);
  if (!Given && Default)
    return *Default;
  auto Value = dyn_cast_or_null<IntegerAttr>(Given);
  if (!Value || !Value.getType().isInteger(64) || Value.getInt() < 0 ||
      Value.getInt() > std::numeric_limits<Int>::max()) {
    refuse("'" + Key + "' must be a number that is not negative (i64)");
    return 0;
  }
  return static_cast<Int>(Value.getInt());
}

template <class Int>
std::vector<Int> EntryReader::numbers(DictionaryAttr From, StringRef Key,
                                      bool Needed) {
  Attribute Given = From.get(Key);
  if (!Given && !Needed)
    return {};
  std::vector<Int> Out;
  auto List = dyn_cast_or_null<DenseI64ArrayAttr>(Given);
  if (!List) {
    refuse("'" + Key + "' must be an array<i64: …>");
    return Out;
  }
  for (int64_t Value : List.asArrayRef()) {
    if (Value < std::numeric_limits<Int>::min() ||
        Value > std::numeric_limits<Int>::max())
      refuse("'" + Key + "' holds " + Twine(Value) + ", which is out of range");
    Out.push_back(static_cast<Int>(Value));
  }
  return Out;
}

std::vector<Expr> EntryReader::exprs(DictionaryAttr From, StringRef Key) {
  std::vector<Expr> Out;
  auto List = dyn_cast_or_null<ArrayAttr>(From.get(Key));
  if (!List) {
    refuse("'" + Key + "' must be a list of expressions");
    return Out;
  }
  for (Attribute Item : List) {
    auto Text = dyn_cast<StringAttr>(Item);
    std::string Why = "it is no text";
    std::optional<Expr> E;
    if (Text)
      E = Expr::parse(Text.getValue(), &Why);
    if (!E)
      refuse("'" + Key + "' holds a bad expression: " + Why);
    Out.push_back(E.value_or(Expr()));
  }
  return Out;
}

template <class Enum>
Enum EntryReader::choice(DictionaryAttr From, StringRef Key,
                         ArrayRef<int64_t> Values, int64_t Default) {
  int64_t Bytes = number<int64_t>(From, Key, Default);
  const int64_t *Found = llvm::find(Values, Bytes);
  if (Found != Values.end())
    return Enum(Found - Values.begin());
  refuse("'" + Key + "' cannot be " + Twine(Bytes) + " bytes");
  return Enum::None;
}

void EntryReader::element(DictionaryAttr Entry, TensorMap &Map) {
  auto Element = dyn_cast_or_null<TypeAttr>(Entry.get("element"));
  if (Element) {
    Map.Element = elementTypeOf(Element.getValue());
    Map.Tf32 = Element.getValue().isTF32();
  }
  if (Map.Element == ElementType::Undefined)
    refuse("'element' must be a type of 8 to 64 bits that can be copied");
}

void EntryReader::fill(DictionaryAttr Entry, TensorMap &Map) {
  Attribute Given = Entry.get("fill");
  if (!Given)
    return;
  auto Text = dyn_cast<StringAttr>(Given);
  if (Text && Text.getValue() == "nan")
    Map.Fill = artifact::TensorMapFill::Nans;
  else if (!Text || Text.getValue() != "zero")
    refuse("'fill' must be \"zero\" or \"nan\"");
}

void EntryReader::im2col(DictionaryAttr Entry, TensorMap &Map) {
  auto From = dyn_cast<DictionaryAttr>(Entry.get("im2col"));
  if (!From)
    return refuse("'im2col' must be a dictionary");
  onlyKeys(From, {"lower", "upper", "channels", "pixels"});
  Map.Mode = artifact::TensorMapMode::Im2col;
  Map.Lower = numbers<int32_t>(From, "lower", true);
  Map.Upper = numbers<int32_t>(From, "upper", true);
  Map.Channels = number<uint32_t>(From, "channels", std::nullopt);
  Map.Pixels = number<uint32_t>(From, "pixels", std::nullopt);
}

KernelTensorMap EntryReader::read(DictionaryAttr Entry) {
  KernelTensorMap Out;
  TensorMap &Map = Out.Map;
  onlyKeys(Entry, {"buffer", "element", "dims", "strides", "box", "swizzle",
                   "l2", "fill", "traversal", "im2col"});
  Out.Buffer = number<uint32_t>(Entry, "buffer", std::nullopt);
  if (Out.Buffer >= Kernel.getNumArguments())
    refuse("'buffer' is " + Twine(Out.Buffer) + ", but the kernel has " +
           Twine(Kernel.getNumArguments()) + " arguments");
  element(Entry, Map);
  Map.Dims = exprs(Entry, "dims");
  Map.Strides = exprs(Entry, "strides");
  Map.Box = numbers<uint32_t>(Entry, "box", !Entry.contains("im2col"));
  Map.Traversal = numbers<uint32_t>(Entry, "traversal", false);
  Map.Swizzle =
      choice<artifact::TensorMapSwizzle>(Entry, "swizzle", SwizzleBytes, 0);
  Map.Promotion =
      choice<artifact::TensorMapPromotion>(Entry, "l2", PromotionBytes, 128);
  fill(Entry, Map);
  if (Entry.contains("im2col"))
    im2col(Entry, Map);
  return Out;
}

FailureOr<std::vector<KernelTensorMap>> readTensorMaps(gpu::GPUFuncOp Kernel) {
  std::vector<KernelTensorMap> Out;
  Attribute Given = Kernel->getAttr("kpc.tensor_maps");
  if (!Given)
    return Out;
  auto List = dyn_cast<ArrayAttr>(Given);
  if (!List)
    return Kernel.emitOpError("has kpc.tensor_maps that are no list");
  for (auto [Index, Item] : llvm::enumerate(List)) {
    auto Entry = dyn_cast<DictionaryAttr>(Item);
    if (!Entry)
      return Kernel.emitOpError("has kpc.tensor_maps whose entry ")
             << Index << " is no dictionary";
    EntryReader Reader(Kernel);
    Out.push_back(Reader.read(Entry));
    if (!Reader.problem().empty())
      return Kernel.emitOpError("has kpc.tensor_maps whose entry ")
             << Index << " is malformed: " << Reader.problem();
  }
  return Out;
}

} // namespace kpc::nvptx

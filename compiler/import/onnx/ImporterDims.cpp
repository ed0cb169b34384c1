//===- ImporterDims.cpp - What a user says of a model's inputs ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--dim` by name and by place, and `--value`.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"

#include <cstring>

using namespace mlir;

namespace kpc::onnx {

//===----------------------------------------------------------------------===//
// Dims
//===----------------------------------------------------------------------===//

void Importer::reportNoDim(const std::string &What, const std::string &Name) {
  std::set<std::string_view> Known;
  for (const auto &[Place, Dim] : InputDims)
    if (What == "dim")
      Known.insert(Dim);
  for (const ValueInfo &V : Top->Inputs)
    if (What == "input")
      Known.insert(V.Name);
  std::string_view Near = nearest(Name, {Known.begin(), Known.end()});
  std::string Inputs = inputsText(*Top, InputDims);
  // A list of sizes is of an input; a dim has one size, or a range.
  bool IsDim = What == "input" && llvm::any_of(InputDims, [&](const auto &D) {
                 return D.second == Name;
               });
  if (IsDim)
    return (void)diagnostics()
        .error(Code::ImportDimOption)
        .message("'" + printable(Name) +
                 "' is a dim of the model and no input, but --dim gives a list "
                 "of sizes")
        .hint("give a dim one size or a range: --dim " + printable(Name) +
              "=1..8");
  diagnostics()
      .error(Code::ImportDimOption)
      .message("the model has no " + What + " '" + printable(Name) + "'")
      .hint((Near.empty() ? std::string()
                          : "did you mean '" + printable(Near) + "'? ") +
            (Inputs.empty() ? "the model has no inputs"
                            : "the model's inputs are " + Inputs));
}

static bool isPlain(const std::string &Name) {
  std::optional<Expr> Parsed = Expr::parse(Name);
  return !Parsed || Parsed->asSymbol();
}

void Importer::readDimsOfPlace(const ValueInfo &V,
                               const std::vector<shape::SymbolFacts> &Given) {
  auto Report = [&](const std::string &Text) {
    diagnostics()
        .error(Code::ImportDimOption)
        .message(Text)
        .hint("the model's inputs are " + inputsText(*Top, InputDims));
  };
  std::string Who = "input '" + printable(V.Name) + "'";
  if (!V.Shape) {
    Dims &Sizes = RankOnly[V.Name];
    for (size_t I = 0; I < Given.size(); ++I) {
      std::string Name = plainName(V.Name + "_" + std::to_string(I));
      InputDims[{V.Name, I}] = Name;
      GivenDims.emplace(Name, Given[I]);
      Sizes.push_back(symbol(Name));
    }
    return;
  }
  if (V.Shape->size() != Given.size())
    return Report("--dim gives " + std::to_string(Given.size()) + " sizes of " +
                  Who + ", which has " + std::to_string(V.Shape->size()) +
                  " dims");
  for (size_t I = 0; I < Given.size(); ++I) {
    const shape::SymbolFacts &F = Given[I];
    if (F == shape::SymbolFacts())
      continue;
    std::string Where = "dim " + std::to_string(I) + " of " + Who;
    if (const int64_t *Size = std::get_if<int64_t>(&(*V.Shape)[I])) {
      if (*Size < F.Min || *Size > F.Max)
        Report(Where + " is " + std::to_string(*Size) + " in the model");
      continue;
    }
    const std::string &Name = InputDims[{V.Name, I}];
    if (!isPlain(Name))
      return Report(Where + " is " + printable(Name) +
                    ", which follows from other dims: give those");
    auto [It, New] = GivenDims.emplace(Name, F);
    if (!New && It->second != F)
      Report(Where + " is called '" + printable(Name) +
             "', of which --dim says something else as well");
  }
}

void Importer::readDimOptions(const Model &M) {
  InputDims = inputDims(M.Main);
  std::map<std::string_view, const ValueInfo *> Inputs;
  std::set<std::string, std::less<>> Names;
  for (const ValueInfo &V : M.Main.Inputs)
    Inputs[V.Name] = &V;
  for (const auto &[Place, Name] : InputDims)
    Names.insert(Name);
  collectValueNames(Names);
  collectOutputDims(M.Main);
  for (const auto &[Name, F] : Options.Dims) {
    auto Input = Inputs.find(Name);
    if (F.Min < 0 || F.Max < F.Min || F.Divisor < 1)
      diagnostics()
          .error(Code::ImportDimOption)
          .message("the range of dim '" + printable(Name) + "' is empty")
          .hint("a range has sizes from 0 on, the least one first");
    else if (Names.count(Name) || OutputDims.count(Name))
      GivenDims.emplace(Name, F);
    else if (Input != Inputs.end())
      readDimsOfPlace(*Input->second, {F});
    else
      reportNoDim("dim", Name);
  }
  for (const auto &[Name, Given] : Options.Places) {
    if (auto Input = Inputs.find(Name); Input != Inputs.end())
      readDimsOfPlace(*Input->second, Given);
    else
      reportNoDim("input", Name);
  }
  for (const auto &[Name, T] : Options.Bound)
    if (!Inputs.count(Name))
      reportNoDim("input", Name);
  for (const auto &[Name, Text] : Options.Values)
    if (!Inputs.count(Name))
      reportNoDim("input", Name);
  // Plain names first, so that derived sizes find them.
  for (const ValueInfo &V : M.Main.Inputs)
    for (size_t I = 0; V.Shape && I < V.Shape->size(); ++I)
      if (const Dim &D = (*V.Shape)[I]; hasName(D) &&
                                        !Options.Bound.count(V.Name) &&
                                        !Options.Values.count(V.Name))
        if (const auto &Name = std::get<std::string>(D);
            Expr::parse(Name) && isPlain(Name))
          symbol(Name);
}

Expr Importer::inputSize(const ValueInfo &V, size_t Axis, const Dim &D) {
  if (const int64_t *Size = std::get_if<int64_t>(&D))
    return Expr(*Size);
  const std::string &Name = InputDims[{V.Name, Axis}];
  if (hasName(D)) {
    if (std::optional<Expr> Derived = derivedSize(Name))
      return *Derived;
    return symbol(Name);
  }
  Expr Size = symbol(Name);
  if (Options.Named && !Size.isConstant())
    Options.Named->push_back({Name, V.Name, Axis});
  return Size;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

namespace {
/// Appends elements to bytes as ONNX stores them.
struct ElementWriter {
  ElementType Type;
  std::vector<uint8_t> Bytes;

  template <typename T> void put(T V) {
    size_t At = Bytes.size();
    Bytes.resize(At + sizeof(T));
    std::memcpy(Bytes.data() + At, &V, sizeof(T));
  }

  bool putWhole(int64_t V) {
    unsigned Bits = elementBits(Type);
    bool Unsigned = Type == ElementType::Uint8 || Type == ElementType::Uint16 ||
                    Type == ElementType::Uint32 || Type == ElementType::Uint64;
    if (Unsigned ? V < 0 || (Bits < 64 && V >> Bits != 0)
                 : Bits < 64 && (V >> (Bits - 1) != 0 && V >> (Bits - 1) != -1))
      return false;
    for (unsigned I = 0; I < Bits / 8; ++I)
      put(static_cast<uint8_t>(V >> (8 * I)));
    return true;
  }

  /// False if the text is no element of the type.
  bool putText(llvm::StringRef Text) {
    int64_t Whole = 0;
    double Real = 0;
    switch (Type) {
    case ElementType::Bool:
      if (Text != "true" && Text != "false" && Text != "1" && Text != "0")
        return false;
      put(static_cast<uint8_t>(Text == "true" || Text == "1"));
      return true;
    case ElementType::Float:
      if (Text.getAsDouble(Real))
        return false;
      put(static_cast<float>(Real));
      return true;
    case ElementType::Double:
      if (Text.getAsDouble(Real))
        return false;
      put(Real);
      return true;
    case ElementType::Float16:
    case ElementType::Bfloat16: {
      if (Text.getAsDouble(Real))
        return false;
      llvm::APFloat Half(Real);
      bool Inexact = false;
      Half.convert(Type == ElementType::Float16 ? llvm::APFloat::IEEEhalf()
                                                : llvm::APFloat::BFloat(),
                   llvm::APFloat::rmNearestTiesToEven, &Inexact);
      put(static_cast<uint16_t>(Half.bitcastToAPInt().getZExtValue()));
      return true;
    }
    case ElementType::Int8:
    case ElementType::Int16:
    case ElementType::Int32:
    case ElementType::Int64:
    case ElementType::Uint8:
    case ElementType::Uint16:
    case ElementType::Uint32:
    case ElementType::Uint64:
      return !Text.getAsInteger(10, Whole) && putWhole(Whole);
    default:
      return false;
    }
  }
};
} // namespace

void Importer::defineGivenValue(const ValueInfo &V, const std::string &Text) {
  std::string Who = "input '" + printable(V.Name) + "'";
  auto Report = [&](const std::string &Why) {
    diagnostics()
        .error(Code::ImportValueOption)
        .message("--value " + printable(V.Name) + "=" + printable(Text, 60) +
                 ": " + Why);
    lose(V.Name);
  };
  ElementWriter Writer{V.Type, {}};
  SmallVector<llvm::StringRef> Parts;
  llvm::StringRef(Text).split(Parts, ',');
  for (llvm::StringRef Part : Parts)
    if (!Writer.putText(Part.trim()))
      return Report("'" + printable(Part.str()) + "' is no " +
                    elementTypeName(V.Type) + ", the type of " + Who);
  auto Count = static_cast<int64_t>(Parts.size());
  // One size may be open; one number fills a tensor of known sizes.
  Tensor T;
  T.Name = V.Name;
  T.Type = V.Type;
  int64_t Known = 1;
  size_t Open = 0;
  for (size_t I = 0; V.Shape && I < V.Shape->size(); ++I) {
    const int64_t *Size = std::get_if<int64_t>(&(*V.Shape)[I]);
    T.Dims.push_back(Size ? *Size : -1);
    Known *= Size ? *Size : 1;
    Open += Size ? 0 : 1;
  }
  if (!V.Shape && Count > 1)
    T.Dims = {Count};
  else if (Open == 1 && Known > 0 && Count % Known == 0)
    llvm::replace(T.Dims, int64_t(-1), Count / Known);
  else if (Open != 0)
    return Report("the sizes of " + Who + " do not follow from " +
                  std::to_string(Count) + " elements");
  std::optional<int64_t> Wanted = elementCount(T.Dims);
  if (Count == 1 && Wanted && *Wanted > 1 && *Wanted <= (1 << 20)) {
    std::vector<uint8_t> One = Writer.Bytes;
    for (int64_t I = 1; I < *Wanted; ++I)
      Writer.Bytes.insert(Writer.Bytes.end(), One.begin(), One.end());
    Count = *Wanted;
  }
  if (Wanted != Count)
    return Report(Who + " has " +
                  (Wanted ? std::to_string(*Wanted) : "too many") +
                  " elements, but " + std::to_string(Count) + " are given");
  auto Bytes = std::make_shared<std::vector<uint8_t>>(std::move(Writer.Bytes));
  T.Bytes = {Bytes->data(), Bytes->size()};
  T.Keep = Bytes;
  define(V.Name, keep(std::move(T)));
}

} // namespace kpc::onnx

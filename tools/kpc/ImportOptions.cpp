//===- ImportOptions.cpp - Options that say how a model is read ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Options.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <fmt/format.h>

namespace kpc::cli {

static constexpr const char *DimForms =
    "write NAME=VALUE or NAME=MIN..MAX, then :opt=N and :div=N if wanted: "
    "batch=1..32:opt=8; or all dims of an input: x=1,3,48..96,?";
/// Of commands that run what was compiled.
static constexpr const char *ValueForm =
    "write NAME=VALUE; ranges are for kpc compile";

namespace {
/// Reads what stands behind NAME= in a --dim.
struct DimReader {
  const std::string &Text; ///< the whole option, for messages
  const char *Forms = DimForms;

  UsageError fault(const std::string &Why) const {
    return {Code::UsageValue, fmt::format("--dim {}: {}", printable(Text), Why),
            Forms};
  }

  int64_t number(std::string_view Part) const {
    std::optional<int64_t> Value = wholeNumber(Part);
    if (isTooLarge(Part))
      throw fault(fmt::format("'{}' is too large", printable(Part)));
    if (!Value)
      throw fault(fmt::format("'{}' is not a whole number", printable(Part)));
    if (*Value < 0)
      throw fault("a size cannot be negative");
    return *Value;
  }

  shape::SymbolFacts facts(std::string_view Rest) const {
    shape::SymbolFacts Facts;
    std::string_view Range = Rest.substr(0, Rest.find(':'));
    size_t Dots = Range.find("..");
    Facts.Min = number(Range.substr(0, Dots));
    Facts.Max = Facts.Min;
    if (Dots != std::string_view::npos)
      Facts.Max = Range.size() == Dots + 2 ? shape::Interval::Unbounded
                                           : number(Range.substr(Dots + 2));
    if (Facts.Max < Facts.Min)
      throw fault("the range is empty");
    for (Rest.remove_prefix(Range.size()); !Rest.empty();) {
      std::string_view Part = Rest.substr(1, Rest.find(':', 1) - 1);
      Rest.remove_prefix(Part.size() + 1);
      if (Part.starts_with("opt="))
        Facts.Optimum = number(Part.substr(4));
      else if (Part.starts_with("div="))
        Facts.Divisor = number(Part.substr(4));
      else
        throw fault(fmt::format("'{}' means nothing", printable(Part)));
    }
    if (Facts.Divisor < 1)
      throw fault("a divisor is at least 1");
    if (Facts.Max / Facts.Divisor * Facts.Divisor < Facts.Min)
      throw fault("no multiple of the divisor is in the range");
    if (Facts.Optimum &&
        (*Facts.Optimum < Facts.Min || *Facts.Optimum > Facts.Max ||
         *Facts.Optimum % Facts.Divisor))
      throw fault("the optimum is outside of what is allowed");
    return Facts;
  }
};
} // namespace

static DimOption parseDim(const DimReader &Reader) {
  const std::string &Text = Reader.Text;
  size_t Equals = Text.find('=');
  if (Equals == std::string::npos || Equals == 0)
    throw Reader.fault("there is no NAME= in front");
  return {Text.substr(0, Equals),
          Reader.facts(std::string_view(Text).substr(Equals + 1))};
}

DimOption parseDim(const std::string &Text) {
  return parseDim(DimReader{Text});
}

/// NAME=SIZES,SIZES,...: all dims of an input; ? stands for any size.
static std::optional<std::pair<std::string, std::vector<shape::SymbolFacts>>>
parseDimsOfInput(const std::string &Text) {
  size_t Equals = Text.find('=');
  if (Equals == std::string::npos || Equals == 0 ||
      Text.find(',', Equals) == std::string::npos)
    return std::nullopt;
  DimReader Reader{Text};
  std::vector<shape::SymbolFacts> Dims;
  llvm::SmallVector<llvm::StringRef> Parts;
  llvm::StringRef(Text).drop_front(Equals + 1).split(Parts, ',');
  for (llvm::StringRef Part : Parts)
    Dims.push_back(Part == "?" ? shape::SymbolFacts() : Reader.facts(Part));
  return std::pair(Text.substr(0, Equals), std::move(Dims));
}

template <typename Value>
static void addOnce(std::map<std::string, Value> &Map, const std::string &Name,
                    const Value &V, const char *Option = "--dim") {
  if (!Map.try_emplace(Name, V).second)
    throw UsageError(Code::UsageConflict, fmt::format("{} {} is given twice",
                                                      Option, printable(Name)));
}

void takeDim(const std::string &Text, CompileOptions &Options) {
  if (auto OfInput = parseDimsOfInput(Text))
    return addOnce(Options.Places, OfInput->first, OfInput->second);
  DimOption Dim = parseDim(Text);
  addOnce(Options.Dims, Dim.Name, Dim.Facts);
}

void takeValue(const std::string &Text, CompileOptions &Options) {
  size_t Equals = Text.find('=');
  if (Equals == std::string::npos || Equals == 0 || Equals + 1 == Text.size())
    throw UsageError(
        Code::UsageValue,
        fmt::format("--value {}: there is no INPUT=VALUE", printable(Text)),
        "write the input's name and its element: sr=16000");
  addOnce(Options.Values, Text.substr(0, Equals), Text.substr(Equals + 1),
          "--value");
}

void takeAlias(const std::string &Text, CompileOptions &Options) {
  size_t Equals = Text.find('=');
  if (Equals == std::string::npos || Equals == 0 || Equals + 1 == Text.size())
    throw UsageError(
        Code::UsageValue,
        fmt::format("--alias {}: there is no OUTPUT=INPUT", printable(Text)),
        "write the names of the output and of the input whose memory it takes: "
        "present.0.key=past_key_values.0.key");
  addOnce(Options.Aliases, Text.substr(0, Equals), Text.substr(Equals + 1),
          "--alias");
}

/// "x" and "1,3" of "x=1,3".
static std::pair<std::string, std::string>
splitInput(const std::string &Text, const char *Option, const char *Form) {
  size_t Equals = Text.find('=');
  if (Equals == std::string::npos || Equals == 0)
    throw UsageError(Code::UsageValue,
                     fmt::format("{} {}: there is no INPUT= in front", Option,
                                 printable(Text)),
                     Form);
  return {Text.substr(0, Equals), Text.substr(Equals + 1)};
}

void takeInputShape(const std::string &Text, CompileOptions &Options) {
  constexpr const char *Form =
      "write sizes with commas between, each a number, a name for a dynamic "
      "dim, or ?: x=batch,3,224,224; nothing after = for a scalar";
  auto [Name, Sizes] = splitInput(Text, "--input-shape", Form);
  std::vector<std::string> Parts;
  llvm::SmallVector<llvm::StringRef> Words;
  llvm::StringRef(Sizes).split(Words, ',', -1, /*KeepEmpty=*/!Sizes.empty());
  for (llvm::StringRef Word : Words) {
    bool Known = wholeNumber({Word.data(), Word.size()}).value_or(-1) >= 0;
    bool Named =
        !Word.empty() && !llvm::isDigit(Word[0]) &&
        llvm::all_of(Word, [](char C) { return llvm::isAlnum(C) || C == '_'; });
    if (!Known && !Named && Word != "?")
      throw UsageError(Code::UsageValue,
                       fmt::format("--input-shape {}: '{}' is neither a size "
                                   "nor a name",
                                   printable(Text), printable(Word.str())),
                       Form);
    Parts.push_back(Word.str());
  }
  addOnce(Options.InputShapes, Name, Parts, "--input-shape");
}

void takeInputType(const std::string &Text, CompileOptions &Options) {
  auto [Name, Type] = splitInput(Text, "--input-type",
                                 "write the input's name and a type: ids=i64");
  addOnce(Options.InputTypes, Name, Type, "--input-type");
}

void takeState(const std::string &Text, CompileOptions &Options) {
  if (Text != "explicit" && Text != "refuse")
    throw UsageError(
        Code::UsageValue,
        fmt::format("--state {}: expected explicit or refuse", printable(Text)),
        "explicit makes the state inputs and outputs");
  Options.ExplicitState = Text == "explicit";
}

void addDims(CLI::App &App, CompileOptions &Options) {
  addText(App, "--dim", "NAME=SIZES",
          "a dynamic dim: VALUE, or MIN..MAX[:opt=N][:div=N]; or all dims of "
          "an input: x=1,3,48..96,?; repeatable",
          [&Options](const std::string &Text) { takeDim(Text, Options); });
}

/// Options of commands that read a model.
void addImportOptions(CLI::App &App, CompileOptions &Options) {
  addDims(App, Options);
  addText(App, "--value", "INPUT=VALUE",
          "fix an input's value, which leaves the inputs: sr=16000, or all "
          "elements with commas between; repeatable",
          [&Options](const std::string &Text) { takeValue(Text, Options); });
  addText(App, "--input-shape", "INPUT=SIZES",
          "TorchScript: an input's sizes; a name makes a dynamic dim: "
          "x=batch,3,224,224; repeatable",
          [&Options](const std::string &T) { takeInputShape(T, Options); });
  addText(App, "--input-type", "INPUT=TYPE",
          "TorchScript: an input's type: ids=i64 (default: f32); repeatable",
          [&Options](const std::string &T) { takeInputType(T, Options); });
  // `kpc calibrate` has a --method of its own.
  bool IsTaken = App.get_option_no_throw("--method") != nullptr;
  addText(App, IsTaken ? "--script-method" : "--method", "NAME",
          "TorchScript: the method to compile (default: forward)",
          [&Options](const std::string &T) { Options.Method = T; });
  addText(App, "--state", "KIND",
          "TorchScript: explicit makes what a module keeps between calls "
          "inputs and outputs; refuse does not compile it (default)",
          [&Options](const std::string &T) { takeState(T, Options); });
  addText(App, "--operator", "FILE",
          "the manifest of a custom operator that the model uses; repeatable",
          [&Options](const std::string &T) { Options.Operators.push_back(T); });
  App.add_flag("--strict", Options.Strict, "warnings are errors");
}

void addDimValues(CLI::App &App, std::map<std::string, int64_t> &Dims) {
  addText(App, "--dim", "NAME=VALUE", "the value of a dynamic dim; repeatable",
          [&Dims](const std::string &Text) {
            DimReader Reader{Text, ValueForm};
            DimOption Dim = parseDim(Reader);
            if (!Dim.isOneValue())
              throw Reader.fault("one value is needed here");
            addOnce(Dims, Dim.Name, Dim.Facts.Min);
          });
}

} // namespace kpc::cli

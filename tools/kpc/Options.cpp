//===- Options.cpp - Options that several commands have -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Options.h"

#include "compiler/TextModel.h"
#include "compiler/cache/Cache.h"
#include "compiler/target/Target.h"
#include "tools/kpc/Emulator.h"
#include "tools/kpc/Limits.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>

namespace kpc::cli {

static std::optional<int64_t> wholeNumber(std::string_view Text) {
  int64_t Value;
  auto [End, Code] =
      std::from_chars(Text.data(), Text.data() + Text.size(), Value);
  if (Code != std::errc() || End != Text.data() + Text.size())
    return std::nullopt;
  return Value;
}

/// Digits alone, but more than 64 bits hold.
static bool isTooLarge(std::string_view Text) {
  if (Text.starts_with("-"))
    Text.remove_prefix(1);
  return !Text.empty() && !wholeNumber(Text) &&
         Text.find_first_not_of("0123456789") == std::string_view::npos;
}

static std::string longName(const std::string &Names) {
  return Names.substr(Names.rfind(',') + 1);
}

CLI::Option *addText(CLI::App &App, const std::string &Names,
                     const std::string &Placeholder, const std::string &Help,
                     std::function<void(const std::string &)> Take) {
  return App
      .add_option_function<std::vector<std::string>>(
          Names,
          [Take = std::move(Take)](const std::vector<std::string> &Values) {
            for (const std::string &V : Values)
              Take(V);
          },
          Help)
      ->allow_extra_args(false)
      ->type_name(Placeholder);
}

CLI::Option *addNumber(CLI::App &App, const std::string &Names, int64_t &Value,
                       int64_t Least, int64_t Most, const std::string &Help) {
  std::string Name = longName(Names);
  return addText(App, Names, "N", Help, [=, &Value](const std::string &Text) {
    std::optional<int64_t> Number = wholeNumber(Text);
    if (isTooLarge(Text))
      throw UsageError(Code::UsageValue,
                       fmt::format("{}: '{}' is too large: {} is the most",
                                   Name, printable(Text), Most));
    if (!Number || *Number < Least || *Number > Most)
      throw UsageError(
          Code::UsageValue,
          fmt::format("{}: '{}' is not a whole number from {} {}", Name,
                      printable(Text), Least,
                      Most == INT64_MAX ? "up" : fmt::format("to {}", Most)));
    Value = *Number;
  });
}

CLI::Option *addSeconds(CLI::App &App, const std::string &Names, double &Value,
                        const std::string &Help) {
  std::string Name = longName(Names);
  return addText(
      App, Names, "SECONDS", Help, [=, &Value](const std::string &Text) {
        double Number = 0;
        auto [End, Code] =
            std::from_chars(Text.data(), Text.data() + Text.size(), Number);
        if (Code != std::errc() || End != Text.data() + Text.size() ||
            !(Number >= 0 && Number <= 1e6))
          throw UsageError(Code::UsageValue,
                           fmt::format("{}: '{}' is not a number of seconds",
                                       Name, printable(Text)));
        Value = Number;
      });
}

void unknownWord(Code Id, const std::string &Message, const std::string &Word,
                 const std::vector<std::string> &Known) {
  std::vector<std::string_view> Views(Known.begin(), Known.end());
  std::string_view Near = nearest(Word, Views);
  std::string Hint;
  if (!Near.empty())
    Hint = fmt::format("did you mean '{}'?", Near);
  else if (!Known.empty() && Known.size() <= 16)
    Hint = fmt::format("it is one of {}", fmt::join(Known, ", "));
  throw UsageError(Id, Message, Hint);
}

CLI::Option *addChoice(CLI::App &App, const std::string &Name,
                       const std::vector<std::string> &Words,
                       const std::string &Help,
                       std::function<void(const std::string &)> Take) {
  return addText(
      App, Name, fmt::format("{}", fmt::join(Words, "|")), Help,
      [Name, Words, Take = std::move(Take)](const std::string &Text) {
        if (std::find(Words.begin(), Words.end(), Text) == Words.end())
          unknownWord(Code::UsageValue,
                      fmt::format("{}: '{}' is none of its values",
                                  longName(Name), printable(Text)),
                      Text, Words);
        Take(Text);
      });
}

void addFile(CLI::App &App, std::string &Path, const std::string &What,
             const std::string &Help) {
  App.add_option_function<std::string>(
         What, [&Path](const std::string &Text) { Path = Text; }, Help)
      ->type_name("FILE");
}

void needFile(const std::string &Path, const std::string &Command,
              const std::string &What) {
  if (Path.empty())
    throw UsageError(
        Code::UsageMissing,
        fmt::format("kpc {} needs the name of a {}", Command, What),
        fmt::format("`kpc {} --help` shows how it is used", Command));
}

static constexpr const char *DimForms =
    "write NAME=VALUE or NAME=MIN..MAX, then :opt=N and :div=N if wanted: "
    "batch=1..32:opt=8; or all dims of an input: x=1,3,48..96,?";

namespace {
/// Reads what stands behind NAME= in a --dim.
struct DimReader {
  const std::string &Text; ///< the whole option, for messages

  UsageError fault(const std::string &Why) const {
    return {Code::UsageValue, fmt::format("--dim {}: {}", printable(Text), Why),
            DimForms};
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

DimOption parseDim(const std::string &Text) {
  DimReader Reader{Text};
  size_t Equals = Text.find('=');
  if (Equals == std::string::npos || Equals == 0)
    throw Reader.fault("there is no NAME= in front");
  return {Text.substr(0, Equals),
          Reader.facts(std::string_view(Text).substr(Equals + 1))};
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
      "dim, or ?: x=batch,3,224,224; nothing behind = for a scalar";
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
            DimOption Dim = parseDim(Text);
            if (!Dim.isOneValue())
              throw UsageError(Code::UsageValue,
                               fmt::format("--dim {}: one value is needed here",
                                           printable(Text)),
                               "write NAME=VALUE; ranges are for kpc compile");
            addOnce(Dims, Dim.Name, Dim.Facts.Min);
          });
}

/// What people write for a chip or a family of them.
static std::string hintForArch(std::string Name) {
  Name = llvm::StringRef(Name).lower();
  static const std::map<std::string_view, std::string_view> Chips = {
      {"a100", "sm_80"},   {"a30", "sm_80"},      {"a10", "sm_86"},
      {"a40", "sm_86"},    {"rtx3090", "sm_86"},  {"l4", "sm_89"},
      {"l40", "sm_89"},    {"l40s", "sm_89"},     {"rtx4090", "sm_89"},
      {"h100", "sm_90a"},  {"h200", "sm_90a"},    {"gh200", "sm_90a"},
      {"b100", "sm_100a"}, {"b200", "sm_100a"},   {"gb200", "sm_100a"},
      {"b300", "sm_103a"}, {"rtx5090", "sm_120a"}};
  if (auto It = Chips.find(Name); It != Chips.end())
    return fmt::format("its target is {}", It->second);
  if (Name == "cuda" || Name == "gpu" || Name == "nvidia" || Name == "nvptx")
    return "native is this machine's GPU, portable any from compute "
           "capability 8.0 on; `kpc targets` lists chips";
  if (Name == "cpu" || Name == "x86" || Name == "x86-64" || Name == "x86_64" ||
      Name == "amd64")
    return "host is this machine's processor; for others name a level: "
           "host:x86-64-v3";
  if (Name.find(' ') != std::string::npos)
    return "commas stand between the names of several targets";
  for (std::string_view Old :
       {"sm_50", "sm_52", "sm_53", "sm_60", "sm_61", "sm_62", "sm_70", "sm_72",
        "sm_75", "compute_70", "compute_75", "v100", "t4", "p100"})
    if (Name == Old)
      return "kpc compiles for compute capability 8.0 (sm_80) and later; older "
             "GPUs are not supported";
  return {};
}

/// "unknown target 'sm_9a'; did you mean sm_90a?" in its two halves.
static UsageError unknownTarget(const std::string &Name,
                                const std::string &Error) {
  size_t Middle = Error.find("; ");
  if (std::string Hint = hintForArch(Name); !Hint.empty())
    return {Code::TargetUnknown, "--arch: " + Error.substr(0, Middle), Hint};
  if (Middle == std::string::npos)
    return {Code::TargetUnknown, "--arch: " + Error};
  return {Code::TargetUnknown, "--arch: " + Error.substr(0, Middle),
          Error.substr(Middle + 2)};
}

static void takeArch(const std::string &Text,
                     std::vector<std::string> &Targets) {
  // CLI11's own split drops an empty name at the end.
  llvm::SmallVector<llvm::StringRef> Parts;
  llvm::StringRef(Text).split(Parts, ',');
  for (llvm::StringRef Part : Parts) {
    std::string Name = Part.trim().str(); // people write "sm_90a, host"
    if (Name.empty())
      throw UsageError(
          Code::UsageValue,
          fmt::format("--arch: '{}' lacks the name of a target",
                      printable(Text)),
          "write for instance sm_90a,host; `kpc targets` lists all");
    if (target::Lookup Found = target::lookup(Name); !Found)
      throw unknownTarget(Name, Found.Error);
    Targets.push_back(Name);
  }
}

void addArch(CLI::App &App, std::vector<std::string> &Targets) {
  addText(App, "--arch", "NAME[,NAME...]",
          "what to compile for: sm_90a, sm_100a, portable, native, "
          "host[:cpu] ...; `kpc targets` lists all",
          [&Targets](const std::string &Text) { takeArch(Text, Targets); });
}

/// In the order of Precision.
std::vector<std::string> precisionWords() {
  return {"model", "fp32", "fp16",  "bf16",  "tf32",
          "fp8",   "int8", "mxfp8", "mxfp4", "nvfp4"};
}
/// Types that values are stored in.
static std::vector<std::string> storedWords() {
  std::vector<std::string> Words = precisionWords();
  Words.resize(size_t(Precision::Tf32));
  return Words;
}

/// Types that single nodes may have.
static std::vector<std::string> nodeWords() {
  return {"fp32", "fp16", "bf16", "fp8", "int8", "mxfp8", "mxfp4", "nvfp4"};
}

Precision parsePrecision(const std::string &Option, const std::string &Word) {
  std::vector<std::string> All = precisionWords(),
                           Words = Option == "--precision" ? All
                                   : Option == "--precision-for"
                                       ? nodeWords()
                                       : storedWords();
  if (std::find(Words.begin(), Words.end(), Word) != Words.end())
    return static_cast<Precision>(std::find(All.begin(), All.end(), Word) -
                                  All.begin());
  unknownWord(
      Code::UsageValue,
      fmt::format("{}: unknown precision '{}'", Option, printable(Word)), Word,
      Words);
}

std::pair<std::string, Precision> parsePrecisionFor(const std::string &Text) {
  size_t Equals = Text.rfind('=');
  if (Equals == std::string::npos || Equals == 0)
    throw UsageError(
        Code::UsageValue,
        fmt::format("--precision-for: '{}' is not REGEX=TYPE", printable(Text)),
        "write for instance '.*norm.*=fp32'");
  std::string Pattern = Text.substr(0, Equals);
  Precision Type = parsePrecision("--precision-for", Text.substr(Equals + 1));
  if (std::string Why = reasonAgainstPattern(Pattern); !Why.empty())
    throw UsageError(
        Code::UsageValue,
        fmt::format("--precision-for: '{}' is not a regular expression",
                    printable(Pattern)),
        Why);
  return {Pattern, Type};
}

/// What values are stored in: a node cannot have another type of 16 bits.
static std::optional<Precision> storedType(const CompileOptions &Options) {
  switch (Options.Compute) {
  case Precision::Fp16:
  case Precision::Fp8:
  case Precision::Int8:
  case Precision::Mxfp8:
  case Precision::Mxfp4:
  case Precision::Nvfp4:
    return Precision::Fp16;
  case Precision::Bf16:
    return Precision::Bf16;
  default:
    return std::nullopt;
  }
}

void needPrecision(const CompileOptions &Options) {
  std::optional<Precision> Stored = storedType(Options);
  for (const auto &[Pattern, Type] : Options.PrecisionFor) {
    if (quantises(Type))
      continue;
    if (!Stored)
      throw UsageError(
          Code::UsageMissing,
          "--precision-for keeps values in fp32 that --precision would make "
          "narrower; without that there is nothing to keep",
          "give --precision fp16, bf16, fp8, int8 or another narrow one, or "
          "leave --precision-for out");
    if (Type != Precision::Fp32 && Type != *Stored)
      throw UsageError(
          Code::UsageNotAvailable,
          fmt::format("--precision-for: '{}={}': values are stored in {} or "
                      "fp32 here",
                      printable(Pattern), precisionWords()[size_t(Type)],
                      precisionWords()[size_t(*Stored)]),
          "one compile stores one type of 16 bits, which --precision names");
  }
  if (!Options.Calibration.empty() && !asksForCodes(Options) && !Stored)
    throw UsageError(Code::UsageMissing,
                     "--calibration is for what --precision makes narrower",
                     "give --precision int8, fp8 or fp16, or leave "
                     "--calibration out");
}

void addDevice(CLI::App &App, DeviceOption &Device) {
  addText(App, "--device", "host|cuda:N|emulate:TARGET", "where to run",
          [&Device](const std::string &Text) {
            std::string_view Rest = Text;
            if (Rest.starts_with("emulate:")) {
              Device = {DeviceOption::Cuda, 0,
                        useEmulator(Text.substr(Rest.find(':') + 1))};
              return;
            }
            if (Text == "host") {
              Device = {DeviceOption::Host, 0};
              return;
            }
            if (Rest.starts_with("cuda")) {
              Rest.remove_prefix(4);
              std::optional<int64_t> Number = Rest.empty() ? 0
                                              : Rest.starts_with(":")
                                                  ? wholeNumber(Rest.substr(1))
                                                  : std::nullopt;
              if (Number && *Number >= 0 && *Number < 1024) {
                Device = {DeviceOption::Cuda, static_cast<int>(*Number)};
                return;
              }
            }
            throw UsageError(
                Code::UsageValue,
                fmt::format("--device: '{}' is no device", printable(Text)),
                "write host, cuda:0, cuda:1 ... or emulate:sm_90a");
          });
}

std::string CacheOption::folder() const {
  return Off ? std::string() : Folder.empty() ? defaultCacheFolder() : Folder;
}

void addCache(CLI::App &App, CacheOption &Cache) {
  addText(App, "--cache-dir", "FOLDER",
          "where compiled kernels are kept (default: $XDG_CACHE_HOME/kpc, else "
          "~/.cache/kpc)",
          [&Cache](const std::string &Text) { Cache.Folder = Text; });
  App.add_flag("--no-cache", Cache.Off, "neither read nor write the cache");
}

void addModelOptions(CLI::App &App, CompileOptions &Options, bool *Auto) {
  addArch(App, Options.Targets);
  addImportOptions(App, Options);
  std::vector<std::string> Words = precisionWords();
  if (Auto)
    Words.push_back("auto");
  addChoice(
      App, "--precision", Words,
      "type that weights and values are stored in (default: the "
      "model's own, and GPUs multiply fp32 matrices as tf32); arithmetic is "
      "fp32, but tensor cores multiply "
      "matrices in 16 bits and sum in fp32; tf32 stores fp32, of which "
      "they multiply 11 bits; fp8 and int8 store fp16, and GEMMs with "
      "weights multiply FP8 on sm_89, sm_90a and sm_120a, 8-bit integers on "
      "all GPUs; mxfp8, mxfp4 and nvfp4 multiply such numbers on every "
      "target, in 16 bits" +
          std::string(Auto ? "; auto chooses fp16, fp8 or int8 for each layer"
                           : ""),
      [&Options, Auto](const std::string &Word) {
        if (Auto)
          *Auto = Word == "auto";
        if (Word != "auto")
          Options.Compute = parsePrecision("--precision", Word);
      });
  addChoice(App, "--io-precision", storedWords(),
            "type of floating-point inputs and outputs",
            [&Options](const std::string &Word) {
              Options.Io = parsePrecision("--io-precision", Word);
            });
  addText(App, "--precision-for", "REGEX=TYPE",
          "another type for nodes whose names match: fp32 keeps their values, "
          "fp16 or bf16, int8 and fp8 are what GEMMs and convolutions "
          "multiply, mxfp8, mxfp4 and nvfp4 what GEMMs do; repeatable, the "
          "last that matches counts",
          [&Options](const std::string &Text) {
            Options.PrecisionFor.push_back(parsePrecisionFor(Text));
          });
  addText(App, "--calibration", "FILE",
          "ranges that `kpc calibrate` found: with int8 and fp8, GEMMs and "
          "convolutions get constant scales",
          [&Options](const std::string &Text) { Options.Calibration = Text; });
  App.add_flag_callback(
      "--no-smooth-channels", [&Options] { Options.SmoothChannels = false; },
      "with --calibration: channels of outliers keep their scale "
      "(no SmoothQuant)");
  App.add_flag_callback(
      "--no-correct-bias", [&Options] { Options.CorrectBias = false; },
      "with --calibration: the mean error of rounded weights stays");
  addLimits(App, Options.Limits);
  addText(App, "--ptxas", "FILE",
          "NVIDIA's assembler (default: from CUDA_HOME, PATH, "
          "/usr/local/cuda)",
          [&Options](const std::string &Text) { Options.Ptxas = Text; });
  addText(App, "--nvrtc", "FILE",
          "NVIDIA's compiler library, for custom operators (default: from "
          "CUDA_HOME, /usr/local/cuda, the system's loader)",
          [&Options](const std::string &Text) { Options.Nvrtc = Text; });
  addText(App, "--cxx", "FILE",
          "the C++ compiler for custom operators (default: $CXX, else c++, g++ "
          "or clang++ from PATH)",
          [&Options](const std::string &Text) { Options.Cxx = Text; });
}

static std::string dimFactsText(const shape::SymbolFacts &F) {
  std::string Out = std::to_string(F.Min);
  if (F.Max == shape::Interval::Unbounded)
    Out += "..";
  else if (F.Max != F.Min)
    Out += fmt::format("..{}", F.Max);
  if (F.Optimum)
    Out += fmt::format(":opt={}", *F.Optimum);
  if (F.Divisor != 1)
    Out += fmt::format(":div={}", F.Divisor);
  return Out;
}

/// "rules.txt,sha256=1f2e3d4c5b6a": the name says what to look for, the digest
/// which rules they were. Blanks would end the option.
static std::string namedFileText(const std::string &Path) {
  std::string Text = Path.substr(Path.rfind('/') + 1); // npos + 1 is 0
  std::replace_if(
      Text.begin(), Text.end(),
      [](char C) { return !llvm::isAlnum(C) && C != '.' && C != '_'; }, '-');
  // What a pipe holds is read once, by the compiler.
  std::error_code Ignored;
  if (std::filesystem::is_regular_file(Path, Ignored))
    Text += ",sha256=" + fileDigest(Path).substr(0, 12);
  return Text;
}

std::string provenanceText(const CompileOptions &Options) {
  std::vector<std::string> Words = precisionWords();
  auto Word = [&](Precision P) { return Words[static_cast<size_t>(P)]; };
  std::vector<std::string> Parts;
  if (!Options.Targets.empty())
    Parts.push_back(fmt::format("--arch={}", fmt::join(Options.Targets, ",")));
  for (const auto &[Name, Facts] : Options.Dims)
    Parts.push_back(fmt::format("--dim={}={}", Name, dimFactsText(Facts)));
  for (const auto &[Name, Given] : Options.Places) {
    std::vector<std::string> Sizes;
    for (const shape::SymbolFacts &F : Given)
      Sizes.push_back(F == shape::SymbolFacts() ? "?" : dimFactsText(F));
    Parts.push_back(fmt::format("--dim={}={}", Name, fmt::join(Sizes, ",")));
  }
  for (const auto &[Name, Text] : Options.Values)
    Parts.push_back(fmt::format("--value={}={}", Name, Text));
  for (const auto &[Name, Sizes] : Options.InputShapes)
    Parts.push_back(
        fmt::format("--input-shape={}={}", Name, fmt::join(Sizes, ",")));
  for (const auto &[Name, Type] : Options.InputTypes)
    Parts.push_back(fmt::format("--input-type={}={}", Name, Type));
  if (!Options.Method.empty())
    Parts.push_back("--method=" + Options.Method);
  if (Options.ExplicitState)
    Parts.push_back("--state=explicit");
  if (Options.Compute != Precision::Model)
    Parts.push_back("--precision=" + Word(Options.Compute));
  if (Options.Io != Precision::Model)
    Parts.push_back("--io-precision=" + Word(Options.Io));
  for (const auto &[Pattern, P] : Options.PrecisionFor)
    Parts.push_back(fmt::format("--precision-for={}={}", Pattern, Word(P)));
  for (const std::string &Manifest : Options.Operators)
    Parts.push_back("--operator=" + namedFileText(Manifest));
  if (!Options.Calibration.empty())
    Parts.push_back("--calibration=" + namedFileText(Options.Calibration));
  if (!Options.SmoothChannels)
    Parts.push_back("--no-smooth-channels");
  if (!Options.CorrectBias)
    Parts.push_back("--no-correct-bias");
  if (Options.Strip)
    Parts.push_back("--strip");
  if (Options.LineInfo)
    Parts.push_back("--line-info");
  if (Options.Variants != CompileOptions().Variants)
    Parts.push_back(fmt::format("--variants={}", Options.Variants));
  if (!Options.ScheduleFile.empty())
    Parts.push_back("--schedule=" + namedFileText(Options.ScheduleFile));
  return fmt::format("{}", fmt::join(Parts, " "));
}

std::string bytesText(uint64_t Bytes) {
  if (Bytes < 1024)
    return fmt::format("{} bytes", Bytes);
  double Value = static_cast<double>(Bytes);
  const char *Unit = "";
  for (const char *Next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (Value < 1024)
      break;
    Value /= 1024;
    Unit = Next;
  }
  return fmt::format("{:.{}f} {}", Value, Value < 10 ? 1 : 0, Unit);
}

std::string driverText(int32_t Version) {
  return Version
             ? fmt::format("CUDA {}.{} (driver {})", Version / 1000,
                           Version % 1000 / 10, target::driverBranch(Version))
             : "";
}

std::string secondsText(double Seconds) {
  if (Seconds < 1e-3)
    return fmt::format("{:.0f} us", Seconds * 1e6);
  if (Seconds < 1)
    return fmt::format("{:.0f} ms", Seconds * 1e3);
  return fmt::format("{:.1f} s", Seconds);
}

} // namespace kpc::cli

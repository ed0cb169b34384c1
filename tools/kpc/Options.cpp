//===- Options.cpp - Options that several commands have -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Options.h"

#include "compiler/cache/Cache.h"
#include "compiler/target/Target.h"
#include "tools/kpc/Emulator.h"
#include "tools/kpc/Limits.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <fmt/format.h>

namespace kpc::cli {

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
  if (Auto != nullptr)
    Words.push_back("auto");
  addChoice(
      App, "--precision", Words,
      "type that weights and values are stored in (default: the "
      "model's own, and GPUs multiply fp32 matrices as tf32); arithmetic is "
      "fp32, but tensor cores multiply "
      "matrices in 16 bits and sum in fp32; tf32 stores fp32, of which "
      "they multiply 11 bits; fp8 and int8 store fp16, and GEMMs with "
      "weights multiply FP8 on sm_89, sm_90a and all of Blackwell, 8-bit "
      "integers on all GPUs; mxfp8, mxfp4 and nvfp4 multiply such numbers on "
      "every "
      "target, in 16 bits; int4 makes weights codes of 4 bits, and multiplies "
      "them in 16" +
          std::string(Auto ? "; auto chooses a type for each layer" : ""),
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
  addText(
      App, "--precision-for", "REGEX=TYPE",
      "another type for nodes whose names match: fp32 keeps their values, "
      "fp16 or bf16, int8 and fp8 are what GEMMs and convolutions "
      "multiply, mxfp8, mxfp4 and nvfp4 what GEMMs do, int4 what weights of "
      "GEMMs are; repeatable, the "
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
  App.add_flag_callback(
      "--no-residuals-of-codes",
      [&Options] { Options.ResidualsOfCodes = false; },
      "fp8 with --calibration: a residual is read in 16 bits, where a "
      "convolution multiplies codes of it");
  App.add_flag_callback(
      "--no-loop-kernels", [&Options] { Options.LoopKernels = false; },
      "each step of a loop is kernels of its own, also where all steps could "
      "be one kernel");
  App.add_flag_callback(
      "--no-scale-weights", [&Options] { Options.ScaleWeights = false; },
      "int4 with --calibration: rows of a weight that count more get no finer "
      "steps (no AWQ)");
  App.add_flag_callback(
      "--no-round-by-feedback", [&Options] { Options.RoundByFeedback = false; },
      "int4 with second moments in --calibration: each number of a weight is "
      "rounded by itself (no GPTQ)");
  addChoice(App, "--weight-group", {"32", "64", "128"},
            "int4: elements of K that share a scale and a zero point "
            "(default: 128)",
            [&Options](const std::string &Word) {
              Options.WeightGroup = unsigned(std::stoi(Word));
            });
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

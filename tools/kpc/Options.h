//===- Options.h - Options that several commands have -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Every value is read by kpc itself, so that what is wrong with one is said
/// in one way. All functions throw UsageError when the command line is read.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_OPTIONS_H
#define KPC_TOOLS_KPC_OPTIONS_H

#include "compiler/Compiler.h"
#include "tools/kpc/Command.h"

#include <CLI/CLI.hpp>

namespace kpc::cli {

/// Of digits alone, with a sign or without; none where 64 bits do not hold it.
std::optional<int64_t> wholeNumber(std::string_view Text);
/// Digits alone, but more than 64 bits hold.
bool isTooLarge(std::string_view Text);

/// An option that takes one value; `Take` may be called several times.
CLI::Option *addText(CLI::App &App, const std::string &Names,
                     const std::string &Placeholder, const std::string &Help,
                     std::function<void(const std::string &)> Take);
CLI::Option *addNumber(CLI::App &App, const std::string &Names, int64_t &Value,
                       int64_t Least, int64_t Most, const std::string &Help);
CLI::Option *addSeconds(CLI::App &App, const std::string &Names, double &Value,
                        const std::string &Help);
/// An option with a fixed list of words.
CLI::Option *addChoice(CLI::App &App, const std::string &Name,
                       const std::vector<std::string> &Words,
                       const std::string &Help,
                       std::function<void(const std::string &)> Take);
/// A positional argument; more than one is an error that names `What`.
void addFile(CLI::App &App, std::string &Path, const std::string &What,
             const std::string &Help);
/// Throws where a positional argument was left out.
void needFile(const std::string &Path, const std::string &Command,
              const std::string &What);

/// "error: unknown …" with the nearest of `Known` as the hint.
[[noreturn]] void unknownWord(Code Id, const std::string &Message,
                              const std::string &Word,
                              const std::vector<std::string> &Known);

/// `--dim`: NAME=VALUE or NAME=MIN..MAX[:opt=N][:div=N].
struct DimOption {
  std::string Name;
  shape::SymbolFacts Facts;
  bool isOneValue() const { return Facts.Min == Facts.Max; }
};
DimOption parseDim(const std::string &Text);
/// Ranges, for commands that compile.
void addDims(CLI::App &App, CompileOptions &Options);
/// What one --dim, or one --value, says; throws UsageError.
void takeDim(const std::string &Text, CompileOptions &Options);
void takeValue(const std::string &Text, CompileOptions &Options);
void takeAlias(const std::string &Text, CompileOptions &Options);
/// The same for --input-shape, --input-type and --state.
void takeInputShape(const std::string &Text, CompileOptions &Options);
void takeInputType(const std::string &Text, CompileOptions &Options);
void takeState(const std::string &Text, CompileOptions &Options);
/// Values, for commands that run.
void addDimValues(CLI::App &App, std::map<std::string, int64_t> &Dims);

/// `--arch`: adds to a list; unknown names are refused with suggestions.
void addArch(CLI::App &App, std::vector<std::string> &Targets);
Precision parsePrecision(const std::string &Option, const std::string &Word);
std::vector<std::string> precisionWords();
/// Types that values are stored in.
std::vector<std::string> storedWords();
/// `--precision-for`: REGEX=TYPE.
std::pair<std::string, Precision> parsePrecisionFor(const std::string &Text);

/// `--device host|cuda:N|emulate:TARGET`; `Kind` 0 when not given.
struct DeviceOption {
  enum { Any, Host, Cuda } Kind = Any;
  int Ordinal = 0;
  std::string Driver = {}; ///< the library; empty: the runtime's choice
};
void addDevice(CLI::App &App, DeviceOption &Device);

/// Where kernels are kept: `--cache-dir`, `--no-cache`.
struct CacheOption {
  std::string Folder;
  bool Off = false;
  std::string folder() const;
};
void addCache(CLI::App &App, CacheOption &Cache);

/// Throws where --precision-for has nothing to keep values from.
void needPrecision(const CompileOptions &Options);

/// What says how a model is read: dims, values, shapes and types of inputs.
void addImportOptions(CLI::App &App, CompileOptions &Options);

/// What `--compile`-like commands have in common: arch, dims, precision.
/// `Auto`: set by --precision auto, where the command has it.
void addModelOptions(CLI::App &App, CompileOptions &Options,
                     bool *Auto = nullptr);

/// The options that decide what is in an artifact, in one order whatever the
/// user wrote; nothing that differs from machine to machine.
std::string provenanceText(const CompileOptions &Options);

/// "1.5 MiB"
std::string bytesText(uint64_t Bytes);
/// "CUDA 12.8 (driver 570)" for 12080; empty for 0.
std::string driverText(int32_t Version);
/// "340 ms", "12.3 s"
std::string secondsText(double Seconds);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_OPTIONS_H

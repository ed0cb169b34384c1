//===- PrecisionOptions.cpp - Options that say what types are stored ----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Options.h"

#include <algorithm>
#include <fmt/format.h>

namespace kpc::cli {

/// In the order of Precision.
std::vector<std::string> precisionWords() {
  return {"model", "fp32",  "fp16",  "bf16",  "tf32", "fp8",
          "int8",  "mxfp8", "mxfp4", "nvfp4", "int4"};
}
std::vector<std::string> storedWords() {
  std::vector<std::string> Words = precisionWords();
  Words.resize(size_t(Precision::Tf32));
  return Words;
}

/// Types that single nodes may have.
static std::vector<std::string> nodeWords() {
  return {"fp32",  "fp16",  "bf16",  "fp8", "int8",
          "mxfp8", "mxfp4", "nvfp4", "int4"};
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
  case Precision::Int4:
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
  if (!Options.Calibration.empty() && !asksForCodes(Options) &&
      !asksForWeightCodes(Options) && !Stored)
    throw UsageError(Code::UsageMissing,
                     "--calibration is for what --precision makes narrower",
                     "give --precision int8, fp8, int4 or fp16, or leave "
                     "--calibration out");
}

} // namespace kpc::cli

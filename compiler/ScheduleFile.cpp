//===- ScheduleFile.cpp - Schedules that the user asks for ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/ScheduleFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"

#include <algorithm>

using namespace kpc;
using llvm::StringRef;

static constexpr const char *Form =
    "write KERNEL = SCHEDULE or KERNEL on TARGET = SCHEDULE, a rule a line; "
    "`kpc compile --explain` prints kernels and their schedules";

/// A kernel's name holds no character that means something in a pattern.
static std::string wholeName(StringRef Pattern) {
  return ("^(" + Pattern + ")$").str();
}

/// Fills in `Into`; empty: the line is a rule.
std::string ScheduleFile::reasonAgainst(std::string_view Line, Rule &Into) {
  if (!StringRef(Line).contains('='))
    return "'" + printable(Line) + "' is not KERNEL = SCHEDULE";
  auto [Left, Right] = StringRef(Line).split('=');
  auto [Pattern, Target] = Left.trim().split(" on ");
  Into.Pattern = Pattern.trim().str();
  Into.Target = Target.trim().str();
  Into.Schedule = Right.trim().str();
  if (Into.Pattern.empty())
    return "there is no kernel in front of '='";
  if (Into.Schedule.empty())
    return "there is no schedule after '='";
  std::string Why;
  if (!llvm::Regex(wholeName(Into.Pattern)).isValid(Why))
    return "'" + printable(Into.Pattern) + "' is no regular expression: " + Why;
  if (Into.Target.empty())
    return {};
  target::Lookup Found = target::lookup(Into.Target);
  if (!Found)
    return Found.Error;
  if (Found.Targets.size() != 1 || Found.Targets.front()->isHost())
    return "'" + printable(Into.Target) +
           "' is not one GPU target; only those have schedules";
  Into.Target = Found.Targets.front()->Name;
  return {};
}

std::optional<ScheduleFile> ScheduleFile::parse(std::string_view Text,
                                                const std::string &Name,
                                                Diagnostics &Diags) {
  ScheduleFile File;
  File.Name = Name;
  bool Good = true;
  StringRef Rest = Text;
  for (size_t Number = 1; !Rest.empty(); ++Number) {
    auto [Line, After] = Rest.split('\n');
    Rest = After;
    Line = Line.trim();
    if (Line.empty() || Line.starts_with("#"))
      continue;
    Rule R;
    R.Line = Number;
    std::string Why = reasonAgainst(Line, R);
    if (Why.empty()) {
      File.Rules.push_back(std::move(R));
      continue;
    }
    Good = false;
    Diags.error(Code::TargetSchedule)
        .message(Name + ", line " + std::to_string(Number) + ": " + Why)
        .hint(Form);
  }
  return Good ? std::optional(std::move(File)) : std::nullopt;
}

std::optional<ScheduleFile> ScheduleFile::read(const std::string &Path,
                                               Diagnostics &Diags) {
  if (Path.empty())
    return ScheduleFile();
  auto Buffer = llvm::MemoryBuffer::getFile(Path, /*IsText=*/true);
  if (Buffer)
    return parse((*Buffer)->getBuffer(), printable(Path), Diags);
  Diags.error(Code::TargetSchedule)
      .message("cannot read '" + printable(Path) +
               "': " + Buffer.getError().message())
      .hint("check the path that --schedule names");
  return std::nullopt;
}

bool ScheduleFile::fits(const Rule &R, std::string_view Kernel) {
  return R.Pattern == Kernel || llvm::Regex(wholeName(R.Pattern)).match(Kernel);
}

std::string ScheduleFile::find(const target::Target &T,
                               std::string_view Kernel) const {
  auto Found = std::find_if(Rules.rbegin(), Rules.rend(), [&](const Rule &R) {
    return (R.Target.empty() ? T.isGpu() : R.Target == T.Name) &&
           fits(R, Kernel);
  });
  return Found == Rules.rend() ? std::string() : Found->Schedule;
}

/// "product" of "product_v2"; a name that is no variant's as it is.
static StringRef withoutVariant(StringRef Name) {
  StringRef Stem = Name.rtrim("0123456789");
  bool Numbered = Stem.size() < Name.size() && Stem.consume_back("_v");
  return Numbered ? Stem : Name;
}

void ScheduleFile::useSymbols(
    const std::map<std::string, std::string> &SymbolOf) {
  auto IsSymbol = [&](const std::string &Name) {
    return llvm::is_contained(llvm::make_second_range(SymbolOf), Name);
  };
  for (Rule &R : Rules) {
    if (IsSymbol(R.Pattern))
      continue;
    std::string Of = R.Pattern;
    auto Found = SymbolOf.find(Of);
    if (Found == SymbolOf.end()) {
      Of = withoutVariant(R.Pattern).str();
      Found = SymbolOf.find(Of);
    }
    if (Found != SymbolOf.end())
      R.Pattern.replace(0, Of.size(), Found->second);
  }
}

/// The kernels that rules can be for, the first ones where they are many.
static std::string namesText(std::span<const std::string> Kernels) {
  constexpr size_t Shown = 8;
  if (Kernels.empty())
    return "the model has no kernels";
  std::string Text;
  for (const std::string &K : Kernels.first(std::min(Shown, Kernels.size())))
    Text += (Text.empty() ? "'" : ", '") + printable(K) + "'";
  size_t Rest = Kernels.size() - std::min(Shown, Kernels.size());
  return "the kernels are " + Text +
         (Rest ? " and " + std::to_string(Rest) +
                     " more; `kpc inspect --json` calls them symbols"
               : "");
}

/// The kernel of which `Name` would be a variant; empty: of none.
static StringRef variantOf(StringRef Name,
                           std::span<const std::string> Kernels) {
  StringRef Of = withoutVariant(Name);
  bool IsVariant = Of.size() < Name.size() && llvm::is_contained(Kernels, Of);
  return IsVariant ? Of : StringRef();
}

/// Says why a rule is for no kernel, and for which it may be meant.
static void refuseName(Diagnostic &Said, const std::string &Where,
                       const std::string &Pattern,
                       std::span<const std::string> Kernels) {
  std::string Quoted = "'" + printable(Pattern) + "'";
  if (StringRef Of = variantOf(Pattern, Kernels); !Of.empty()) {
    std::string Base = "'" + printable(Of) + "'";
    Said.message(Where + Quoted + " is a variant of kernel " + Base +
                 "; a rule is for all sizes of a kernel, which then has no "
                 "variants")
        .hint("write the rule for " + Base +
              "; with --variants 1, --explain prints no variants");
    return;
  }
  std::string_view Near = nearest(Pattern, {Kernels.begin(), Kernels.end()});
  Said.message(Where + "no kernel's name is " + Quoted)
      .hint(Near.empty() ? namesText(Kernels)
                         : "did you mean '" + printable(Near) + "'?");
}

bool ScheduleFile::checkNames(std::span<const std::string> Kernels,
                              Diagnostics &Diags) const {
  bool Good = true;
  for (const Rule &R : Rules) {
    if (std::any_of(Kernels.begin(), Kernels.end(),
                    [&](const std::string &K) { return fits(R, K); }))
      continue;
    Good = false;
    refuseName(Diags.error(Code::TargetSchedule),
               Name + ", line " + std::to_string(R.Line) + ": ", R.Pattern,
               Kernels);
  }
  return Good;
}

//===- PrecisionPlan.cpp - A type for each layer, as text -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/PrecisionPlan.h"

#include "tools/kpc/Options.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"

#include <fmt/format.h>

namespace kpc::cli {

using llvm::StringRef;

std::string patternOf(const std::string &Name) {
  return "^" + llvm::Regex::escape(Name) + "$";
}

/// A comment begins the line, or stands behind a blank.
static StringRef withoutComment(StringRef Line) {
  for (size_t At = Line.find('#'); At != StringRef::npos;
       At = Line.find('#', At + 1))
    if (At == 0 || Line[At - 1] == ' ' || Line[At - 1] == '\t')
      return Line.take_front(At).trim();
  return Line.trim();
}

namespace {
/// Reads one file, line by line.
class PlanReader {
public:
  PlanReader(const std::string &Path, CompileOptions &Options,
             Diagnostics &Diags)
      : Path(Path), Options(Options), Diags(Diags) {}

  bool read(StringRef Text) {
    size_t Errors = Diags.errorCount();
    for (size_t Number = 1; !Text.empty(); ++Number) {
      auto [Line, Rest] = Text.split('\n');
      Text = Rest;
      Where = fmt::format("line {} of '{}'", Number, printable(Path));
      if (StringRef Said = withoutComment(Line); !Said.empty())
        take(Said);
    }
    Options.PrecisionFor.insert(Options.PrecisionFor.begin(), Lines.begin(),
                                Lines.end());
    return Diags.errorCount() == Errors;
  }

private:
  void take(StringRef Line) {
    size_t Blank = Line.find_last_of(" \t");
    if (Blank == StringRef::npos)
      return refuse(fmt::format("expected a layer and a type, got '{}'",
                                printable(Line.str())),
                    "write for instance '* fp16' or 'fc1 int8'");
    std::string Name = Line.take_front(Blank).trim().str(),
                Word = Line.drop_front(Blank + 1).str();
    std::optional<Precision> Type = typeNamed(Word, Name == "*");
    if (!Type)
      return;
    if (Name == "*")
      return store(*Type, Word);
    std::string Pattern = patternOf(Name);
    auto [Known, New] = Options.PlanLines.try_emplace(
        Pattern, CompileOptions::PlanLine{Where, Name});
    if (!New)
      return refuse(fmt::format("'{}' has a type already, in {}",
                                printable(Name), Known->second.Place),
                    "leave one of the two lines out");
    Lines.emplace_back(Pattern, *Type);
  }

  std::optional<Precision> typeNamed(const std::string &Word, bool Stored) {
    try {
      return parsePrecision(Stored ? "--precision" : "--precision-for", Word);
    } catch (const UsageError &E) {
      refuse(
          fmt::format("expected a type, got '{}'", printable(Word)),
          E.Hint.empty()
              ? "write fp32, fp16, bf16, fp8, int8, mxfp8, mxfp4, nvfp4 or int4"
              : E.Hint);
      return std::nullopt;
    }
  }

  void store(Precision Type, const std::string &Word) {
    if (Options.Compute != Precision::Model && Options.Compute != Type)
      return refuse(fmt::format("the plan is for --precision {}, and another "
                                "one is asked for",
                                printable(Word)),
                    "leave --precision out, or change the line");
    Options.Compute = Type;
  }

  void refuse(const std::string &Why, const std::string &Way) {
    Diags.error(Code::UsageValue)
        .message("--precision-plan: " + Where + ": " + Why)
        .hint(Way);
  }

  const std::string &Path;
  CompileOptions &Options;
  Diagnostics &Diags;
  std::string Where;
  std::vector<std::pair<std::string, Precision>> Lines;
};
} // namespace

bool usePrecisionPlan(const std::string &Path, CompileOptions &Options,
                      Diagnostics &Diags) {
  auto Buffer = llvm::MemoryBuffer::getFile(Path, /*IsText=*/true);
  if (Buffer)
    return PlanReader(Path, Options, Diags).read((*Buffer)->getBuffer());
  Diags.error(Code::UsageValue)
      .message("--precision-plan: cannot read '" + printable(Path) +
               "': " + Buffer.getError().message())
      .hint("--precision auto with --precision-plan-out writes such a file");
  return false;
}

std::string planText(const std::vector<std::string> &Head,
                     const std::string &Stored,
                     const std::vector<PlannedLayer> &Layers) {
  std::string Text;
  for (const std::string &Line : Head)
    Text += "# " + Line + "\n";
  Text += "* " + Stored + "\n";
  for (const PlannedLayer &L : Layers)
    Text += fmt::format("{} {}{}\n", L.Node, L.Type,
                        L.Comment.empty() ? "" : "  # " + L.Comment);
  return Text;
}

} // namespace kpc::cli

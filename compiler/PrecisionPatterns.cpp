//===- PrecisionPatterns.cpp - The nodes that keep their type -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/PrecisionPatterns.h"
#include "dialects/graph/Graph.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace kpc;
using namespace mlir;

using NodeNames = llvm::SetVector<StringRef>;

/// In the order of the graph.
static NodeNames nodeNames(ModuleOp Module) {
  NodeNames Names;
  Module.walk([&](Operation *Op) {
    auto Name = Op->getLoc()->findInstanceOf<NameLoc>();
    if (Name && isa_and_nonnull<graph::GraphDialect>(Op->getDialect()))
      Names.insert(Name.getName().strref());
  });
  return Names;
}

/// What of a pattern is to be read as it stands: ".*layer\.0/norm.*" as
/// "layer.0/norm", of several such parts the longest.
static std::string plainPart(StringRef Pattern) {
  std::string Longest, Part;
  for (char C : (Pattern + "*").str()) {
    if (StringRef("*+?^$()[]{}|").contains(C)) {
      StringRef Trimmed = StringRef(Part).trim('.');
      if (Trimmed.size() > Longest.size())
        Longest = Trimmed.str();
      Part.clear();
    } else if (C != '\\') {
      Part += C;
    }
  }
  return Longest;
}

/// The name, or the part of a path, that a pattern was most likely meant for.
static std::string_view nearestName(StringRef Pattern, const NodeNames &Names) {
  std::vector<std::string_view> Known;
  for (StringRef Name : Names) {
    Known.push_back(Name);
    SmallVector<StringRef> Parts;
    Name.split(Parts, '/');
    if (Parts.size() > 1)
      Known.insert(Known.end(), Parts.begin(), Parts.end());
  }
  return nearest(plainPart(Pattern), Known);
}

/// Some names for who sees none.
static std::string firstNames(const NodeNames &Names) {
  constexpr size_t Shown = 4;
  std::string Text;
  for (StringRef Name : Names.getArrayRef().take_front(Shown))
    Text += (Text.empty() ? "'" : ", '") + printable(Name, 60) + "'";
  return Text;
}

static std::string hintFor(StringRef Pattern, const NodeNames &Names) {
  if (Names.empty())
    return "no node here has a name: --emit graph writes names into a graph's "
           "text";
  std::string_view Near = nearestName(Pattern, Names);
  std::string Known =
      Near.empty() ? "names are " +
                         std::string(Names.size() > 4 ? "for instance " : "") +
                         firstNames(Names)
                   : "did you mean '" + printable(Near) + "'?";
  return Known + (Near.empty() ? "; " : " ") +
         "--emit graph -o -, without this option, prints all names";
}

static void refuseLine(const CompileOptions::PlanLine &Line,
                       const NodeNames &Names, Diagnostics &Diags) {
  std::vector<std::string_view> Known(Names.begin(), Names.end());
  std::string_view Near = nearest(Line.Node, Known);
  Diags.error(Code::UsageNoMatch)
      .message("--precision-plan: " + Line.Place + ": the model has no node '" +
               printable(Line.Node) + "'")
      .hint((Near.empty() ? std::string()
                          : "did you mean '" + printable(Near) + "'? ") +
            "correct the line or take it out; --precision auto with "
            "--precision-plan-out writes a plan of this model");
}

bool kpc::checkPrecisionPatterns(ModuleOp Module, const CompileOptions &Options,
                                 Diagnostics &Diags) {
  if (Options.PrecisionFor.empty())
    return true;
  NodeNames Names = nodeNames(Module);
  bool Good = true;
  for (const auto &[Text, Kept] : Options.PrecisionFor) {
    llvm::Regex Pattern(Text);
    if (llvm::any_of(Names, [&](StringRef N) { return Pattern.match(N); }))
      continue;
    Good = false;
    auto Line = Options.PlanLines.find(Text);
    if (Line != Options.PlanLines.end())
      refuseLine(Line->second, Names, Diags);
    else
      Diags.error(Code::UsageNoMatch)
          .message("--precision-for: no node's name matches '" +
                   printable(Text) + "'")
          .hint(hintFor(Text, Names));
  }
  return Good;
}

void kpc::warnOfIdlePatterns(const std::vector<Remark> &Remarks,
                             Diagnostics &Diags) {
  for (const Remark &R : Remarks)
    if (R.Category == "precision" && R.Name == "idle" && R.Plan.empty())
      Diags.warning(Code::UsageNoEffect)
          .message("--precision-for: " +
                   printable(StringRef(R.Text).rtrim('.')));
}

//===- TextModel.cpp - Models that are read from text ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/TextModel.h"
#include "compiler/DiagnosticBridge.h"
#include "compiler/ModelDigest.h"
#include "compiler/artifact/PlanWeights.h"
#include "compiler/import/onnx/ImportOnnx.h"
#include "compiler/import/torch/ImportProgram.h"
#include "compiler/import/torch/Zip.h"
#include "compiler/import/torchscript/Archive.h"
#include "compiler/import/torchscript/ImportScript.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Models.h"
#include "dialects/plan/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace kpc;
using namespace mlir;

static constexpr StringLiteral NameAttr = "graph.name";
static constexpr const char *EmitHint =
    "`kpc compile MODEL.onnx --emit graph` or `--emit plan` writes one";

std::string kpc::reasonAgainstText(StringRef Text) {
  // Kernels alone say neither what is launched nor what the model's inputs are.
  if (Text.contains("linalg.") && !Text.contains("graph.") &&
      !Text.contains("plan."))
    return "these are kernels in linalg form; kpc goes on from graph and plan, "
           "not from linalg";
  return {};
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

namespace {

class TextCheck {
public:
  TextCheck(ModuleOp Module, Diagnostics &Diags)
      : Module(Module), Diags(Diags) {}

  bool run();

private:
  kpc::Diagnostic &fault(Location Where, std::string Text) {
    Good = false;
    return Diags.error(Code::GraphText)
        .at(placeOf(Where))
        .message(std::move(Text));
  }
  void checkGraph(func::FuncOp Main);
  void checkNames(func::FuncOp Main);
  void checkPlan(plan::ProgramOp Program);
  void takeName(Location Where, StringRef Name, bool IsInput);
  void checkSymbols(Operation *Root);

  ModuleOp Module;
  Diagnostics &Diags;
  std::map<std::string, bool> IsInputByName;
  bool Good = true;
};

bool TextCheck::run() {
  auto Programs = Module.getOps<plan::ProgramOp>();
  auto Functions = Module.getOps<func::FuncOp>();
  auto Main = Module.lookupSymbol<func::FuncOp>("main");
  if (!Programs.empty()) {
    if (!llvm::hasSingleElement(Programs))
      fault((*std::next(Programs.begin()))->getLoc(),
            "a second plan.program; a file holds one");
    checkPlan(*Programs.begin());
  } else if (Main) {
    checkGraph(Main);
  } else if (!Functions.empty()) {
    fault((*Functions.begin())->getLoc(),
          "no @main in this file; the function of a graph is called @main")
        .hint("rename the function '@" +
              (*Functions.begin()).getSymName().str() + "' to @main");
  } else {
    fault(Module.getLoc(), "no graph in this file, and no plan").hint(EmitHint);
  }
  return Good;
}

/// An input and an output may not share a name, nor two of either.
void TextCheck::takeName(Location Where, StringRef Name, bool IsInput) {
  auto [Known, New] = IsInputByName.try_emplace(Name.str(), IsInput);
  if (New)
    return;
  auto kind = [](bool Input) { return Input ? "an input" : "an output"; };
  fault(Where, "'" + Name.str() + "' is the name of " + kind(IsInput) +
                   ", and of " + kind(Known->second) + " before it")
      .hint("give each input and output a name of its own");
}

void TextCheck::checkNames(func::FuncOp Main) {
  for (unsigned I = 0; I < Main.getNumArguments(); ++I) {
    if (auto Name = Main.getArgAttrOfType<StringAttr>(I, NameAttr))
      takeName(Main.getLoc(), Name, /*IsInput=*/true);
    else
      fault(Main.getLoc(),
            "argument " + std::to_string(I) + " of @main has no graph.name")
          .hint("an input is written %arg0: !graph.tensor<[n], f32> "
                "{graph.name = \"x\"}");
  }
  for (unsigned I = 0; I < Main.getNumResults(); ++I) {
    if (auto Name = Main.getResultAttrOfType<StringAttr>(I, NameAttr))
      takeName(Main.getLoc(), Name, /*IsInput=*/false);
    else
      fault(Main.getLoc(),
            "result " + std::to_string(I) + " of @main has no graph.name")
          .hint("an output is written -> (!graph.tensor<[n], f32> "
                "{graph.name = \"y\"})");
  }
}

void TextCheck::checkGraph(func::FuncOp Main) {
  if (Main.isDeclaration()) {
    fault(Main.getLoc(), "@main has no body");
    return;
  }
  if (Main.getNumResults() == 0)
    fault(Main.getLoc(), "@main gives no outputs: there is nothing to compute")
        .hint("return at least one value");
  checkNames(Main);
  checkSymbols(Main);
}

void TextCheck::checkPlan(plan::ProgramOp Program) {
  for (Operation &Op : Program.getBody().front()) {
    if (auto Input = dyn_cast<plan::InputOp>(Op))
      takeName(Op.getLoc(), Input.getName(), /*IsInput=*/true);
    else if (auto Output = dyn_cast<plan::OutputOp>(Op))
      takeName(Op.getLoc(), Output.getName(), /*IsInput=*/false);
  }
  if (Program.getOps<plan::OutputOp>().empty())
    fault(Program.getLoc(),
          "the plan gives no outputs: there is nothing to compute");
  checkSymbols(Program);
}

/// Each symbol of a type or of sizes is one that the module declares.
void TextCheck::checkSymbols(Operation *Root) {
  shape::Facts Facts = graph::symbolFacts(Module);
  std::set<std::string, std::less<>> Told;
  Location Where = Root->getLoc();
  auto check = [&](ArrayRef<shape::Expr> Dims) {
    std::set<std::string, std::less<>> Names;
    for (const shape::Expr &E : Dims)
      E.collectSymbols(Names);
    for (const std::string &Name : Names)
      if (!Facts.symbols().count(Name) && Told.insert(Name).second)
        fault(Where, "the size '" + printable(Name) +
                         "' is not among the module's graph.symbols")
            .hint("declare it: module attributes {graph.symbols = {" +
                  printable(Name) + " = {min = 1 : i64}}}");
  };
  AttrTypeWalker Walker;
  Walker.addWalk([&](graph::SymbolicTensorType Ty) { check(Ty.getDims()); });
  Walker.addWalk([&](graph::DimsAttr Sizes) { check(Sizes.getDims()); });
  Root->walk<WalkOrder::PreOrder>([&](Operation *Op) {
    Where = Op->getLoc();
    Walker.walk(Op->getAttrDictionary());
    for (Type Ty : Op->getResultTypes())
      Walker.walk(Ty);
    for (Region &R : Op->getRegions())
      for (Block &B : R)
        for (Type Ty : B.getArgumentTypes())
          Walker.walk(Ty);
  });
}

} // namespace

bool kpc::checkTextModel(ModuleOp Module, Diagnostics &Diags) {
  return TextCheck(Module, Diags).run();
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Calls `Take` with each weight: its op, source, recipe and type.
template <typename Function>
static void forEachWeight(ModuleOp Module, Function Take) {
  Module->walk([&](Operation *Op) {
    if (auto Weight = dyn_cast<graph::WeightOp>(Op))
      Take(Op, Weight.getSource(), Weight.getRecipe(),
           graph::typeOf(Weight.getY()));
    else if (auto Weight = dyn_cast<plan::WeightOp>(Op))
      Take(Op, Weight.getSource(), Weight.getRecipe(),
           graph::typeOf(Weight.getBuffer()));
  });
}

std::set<std::string> kpc::namedModels(ModuleOp Module) {
  std::set<std::string> Models;
  forEachWeight(Module, [&](Operation *, StringRef Source, ArrayAttr,
                            graph::SymbolicTensorType) {
    Models.insert(Source.split('#').first.str());
  });
  return Models;
}

bool kpc::reloadWeights(ModuleOp Module, const std::string &File,
                        WeightStore &Weights, Diagnostics &Diags) {
  for (const std::string &Name : namedModels(Module)) {
    llvm::SmallString<128> Path(llvm::sys::path::parent_path(File));
    llvm::sys::path::append(Path, Name);
    std::string Digest = checkedModelDigest(Path.str().str());
    if (Digest.empty()) {
      Diags.error(Code::ImportUnreadable)
          .message("cannot read '" + printable(Path.str().str()) +
                   "', the model whose weights this file names")
          .hint("put the model beside the file, under this name");
      return false;
    }
    std::string Noted = notedDigest(Module, Name);
    if (!Noted.empty() && Noted != Digest)
      Diags.warning(Code::GraphModelChanged)
          .message("'" + printable(Name) +
                   "' has changed since this file was written from it");
    std::string Text = Diags.file();
    Diags.setFile(Path.str().str());
    std::string Model = Path.str().str();
    MLIRContext &Context = *Module.getContext();
    bool Read = false;
    if (torchscript::isScript(Model))
      Read = torchscript::loadScriptWeights(Context, Model, Weights, Diags);
    else if (torch::isZipFile(Model))
      Read = static_cast<bool>(torch::importProgram(
          Context, Model, torch::ImportOptions(), Weights, Diags));
    else
      Read = static_cast<bool>(onnx::importModel(
          Context, Model, onnx::ImportOptions(), Weights, Diags));
    Diags.setFile(Text);
    if (!Read)
      return false;
  }
  return true;
}

static std::string nearestWeight(StringRef Source, const WeightStore &Weights) {
  std::vector<std::string_view> Names;
  for (const auto &[Name, W] : Weights.all())
    Names.push_back(Name);
  return std::string(nearest({Source.data(), Source.size()}, Names));
}

bool kpc::checkNamedWeights(ModuleOp Module, const WeightStore &Weights,
                            Diagnostics &Diags) {
  bool Good = true;
  forEachWeight(Module, [&](Operation *Op, StringRef Source, ArrayAttr Recipe,
                            graph::SymbolicTensorType Ty) {
    auto Prepared = preparedWeight(Source, Recipe, Ty, Weights);
    if (Prepared)
      return;
    Good = false;
    kpc::Diagnostic &D = Diags.error(Code::GraphText)
                             .at(placeOf(Op->getLoc()))
                             .message(llvm::toString(Prepared.takeError()));
    std::string Near;
    if (!Weights.find({Source.data(), Source.size()}))
      Near = nearestWeight(Source, Weights);
    D.hint(Near.empty()
               ? "take the model that the text was written from, or write the "
                 "text again with --emit"
               : "the model has '" + Near + "'");
  });
  return Good;
}

//===----------------------------------------------------------------------===//
// Where a text is from
//===----------------------------------------------------------------------===//

void kpc::noteModel(ModuleOp Module, StringRef Name, StringRef Digest) {
  Builder B(Module.getContext());
  NamedAttrList Models;
  Models.set(B.getStringAttr(Name), B.getStringAttr(Digest));
  Module->setAttr(graph::ModelsName, Models.getDictionary(Module.getContext()));
}

std::string kpc::notedDigest(ModuleOp Module, StringRef Name) {
  auto Models = Module->getAttrOfType<DictionaryAttr>(graph::ModelsName);
  auto Digest = Models ? Models.getAs<StringAttr>(Name) : StringAttr();
  return Digest ? Digest.str() : std::string();
}

void kpc::keepNodeNamesOnly(ModuleOp Module) {
  AttrTypeReplacer Replacer;
  Replacer.addReplacement([](FileLineColRange Loc) -> Attribute {
    return UnknownLoc::get(Loc.getContext());
  });
  Replacer.recursivelyReplaceElementsIn(Module, /*replaceAttrs=*/false,
                                        /*replaceLocs=*/true,
                                        /*replaceTypes=*/false);
}

std::string kpc::moduleText(ModuleOp Module, bool Locations) {
  OpPrintingFlags Flags;
  Flags.enableDebugInfo(Locations, /*prettyForm=*/false);
  std::string Text;
  llvm::raw_string_ostream Stream(Text);
  Module->print(Stream, Flags);
  return Text;
}

std::string kpc::kernelsText(ModuleOp Module) {
  OwningOpRef<ModuleOp> Kernels = ModuleOp::create(Module.getLoc());
  OpBuilder B = OpBuilder::atBlockEnd(Kernels->getBody());
  for (auto Kernel : Module.getOps<func::FuncOp>())
    B.clone(*Kernel);
  return moduleText(*Kernels, /*Locations=*/false);
}

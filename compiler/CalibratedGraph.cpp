//===- CalibratedGraph.cpp - A graph and a calibration --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/CalibratedGraph.h"
#include "compiler/CalibrationFile.h"
#include "compiler/Compiler.h"
#include "compiler/ModelDigest.h"
#include "compiler/TextModel.h"
#include "compiler/weights/WeightRecipe.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/graph/Calibration.h"
#include "llvm/ADT/SetVector.h"

using namespace kpc;
using namespace mlir;

namespace {

/// Whether the graph comes from the model that was calibrated. A graph's text
/// says which file it was made from.
bool isOf(const CalibrationFile &File, ModuleOp Module,
          const std::string &Model) {
  return checkedModelDigest(Model) == File.Digest ||
         notedDigest(Module, File.Model) == File.Digest;
}

/// "'a', 'b' and 4 more"
std::string someOf(const llvm::SetVector<StringRef> &Names) {
  constexpr size_t Shown = 3;
  std::string Text;
  for (StringRef Name : Names.getArrayRef().take_front(Shown))
    Text += (Text.empty() ? "'" : ", '") + printable(Name, 60) + "'";
  if (Names.size() > Shown)
    Text += " and " + std::to_string(Names.size() - Shown) + " more";
  return Text;
}

/// Why lists of channels are not of what the model multiplies; empty: they are.
std::string mismatchOfChannels(ModuleOp Module) {
  std::string Why;
  Module.walk([&](Operation *Op) {
    if (!graph::multipliesWeight(Op))
      return WalkResult::advance();
    std::optional<graph::OperandStatistics> Of = graph::statisticsOf(Op);
    graph::SymbolicTensorType Type = graph::typeOf(Op->getOperand(0));
    std::optional<int64_t> Channels = Type.getStaticDim(Type.getRank() - 1);
    if (!Of || Of->Largest.empty() || !Channels ||
        *Channels == int64_t(Of->Largest.size()))
      return WalkResult::advance();
    Why = "the operand of '" + printable(graph::nodeName(Op)) +
          "': expected numbers for " + std::to_string(*Channels) +
          " channels, got " + std::to_string(Of->Largest.size());
    return WalkResult::interrupt();
  });
  return Why;
}

void noteMissing(ModuleOp Module, const CompileOptions &Options,
                 CompileReport &Report) {
  llvm::SetVector<StringRef> Gemms, Convs;
  Module.walk([&](Operation *Op) {
    if (graph::multipliesWeight(Op) && !graph::statisticsOf(Op))
      (isa<graph::ConvOp>(Op) ? Convs : Gemms).insert(graph::nodeName(Op));
  });
  std::string Of =
      "'" + printable(Options.Calibration) + "' has no range for what ";
  if (!Gemms.empty())
    Report.Notes.push_back(Of + someOf(Gemms) +
                           (Gemms.size() == 1 ? " multiplies" : " multiply") +
                           ": these GEMMs find scales in each run");
  if (!Convs.empty())
    Report.Notes.push_back(Of + someOf(Convs) +
                           (Convs.size() == 1 ? " multiplies" : " multiply") +
                           ": these convolutions are not quantised");
}

void warnOfLargeValues(const CalibrationFile &File,
                       const CompileOptions &Options, Diagnostics &Diags) {
  bool StoresFp16 =
      Options.Compute == Precision::Fp16 || Options.Compute == Precision::Fp8 ||
      Options.Compute == Precision::Int8 || Options.Compute == Precision::Int4;
  if (!StoresFp16 || File.BeyondFp16.empty())
    return;
  Diags.warning(Code::CalibrationBeyondFp16)
      .message("in the calibration, values are greater than fp16's 65504: " +
               File.largeValues());
}

} // namespace

bool kpc::attachCalibration(ModuleOp Module, const CompileOptions &Options,
                            SecondMoments &Moments, CompileReport &Report,
                            Diagnostics &Diags) {
  if (Options.Calibration.empty())
    return true;
  std::optional<CalibrationFile> File =
      CalibrationFile::read(Options.Calibration, Diags);
  if (!File)
    return false;
  if (!isOf(*File, Module, Options.Model)) {
    Diags.error(Code::CalibrationOfOther)
        .message("'" + printable(Options.Calibration) + "' is of '" +
                 printable(File->Model) + "' with the digest " +
                 printable(File->Digest.substr(0, 12)) + "…, and '" +
                 printable(Options.Model) + "' has " +
                 checkedModelDigest(Options.Model).substr(0, 12) + "…");
    return false;
  }
  if (asksForWeightCodes(Options) && Options.RoundByFeedback &&
      !Moments.open(*File, Options.Calibration, Diags))
    return false;
  MLIRContext *Context = Module.getContext();
  NamedAttrList All;
  for (const CalibratedOperand &Of : File->Operands) {
    graph::OperandStatistics Found;
    Found.Least = Of.Least;
    Found.Greatest = Of.Greatest;
    Found.Range = Of.Range;
    Found.ScalesOfRows = Of.ScalesOfRows;
    Found.Largest.assign(Of.Largest.begin(), Of.Largest.end());
    Found.Mean.assign(Of.Mean.begin(), Of.Mean.end());
    Found.Rms.assign(Of.Rms.begin(), Of.Rms.end());
    if (!Of.Node.empty())
      All.set(Of.Node, Found.attribute(Context));
  }
  Module->setAttr(graph::CalibrationAttr, All.getDictionary(Context));
  if (std::string Why = mismatchOfChannels(Module); !Why.empty()) {
    Diags.error(Code::CalibrationFile)
        .message("cannot take '" + printable(Options.Calibration) +
                 "' as a calibration: " + Why);
    return false;
  }
  if (asksForCodes(Options))
    noteMissing(Module, Options, Report);
  warnOfLargeValues(*File, Options, Diags);
  return true;
}

std::vector<WatchedResult> kpc::watchedResults(ModuleOp Module) {
  std::vector<WatchedResult> All;
  for (auto Func : Module.getOps<func::FuncOp>())
    for (unsigned I = 0; I < Func.getNumResults(); ++I) {
      auto Watched = Func.getResultAttrOfType<ArrayAttr>(I, graph::WatchedAttr);
      auto Name = Func.getResultAttrOfType<StringAttr>(I, "graph.name");
      if (!Watched || !Name)
        continue;
      WatchedResult &Result = All.emplace_back();
      Result.Output = Name.str();
      for (Attribute Of : Watched) {
        auto Words = cast<ArrayAttr>(Of);
        Result.Of.emplace_back(cast<StringAttr>(Words[0]).str(),
                               cast<StringAttr>(Words[1]).str());
      }
    }
  return All;
}

std::vector<SwitchedNode> kpc::switchedNodes(ModuleOp Module) {
  std::vector<SwitchedNode> All;
  auto Nodes = Module->getAttrOfType<ArrayAttr>(graph::SwitchedAttr);
  for (Attribute Of : Nodes ? Nodes.getValue() : ArrayRef<Attribute>()) {
    auto Words = cast<ArrayAttr>(Of).getAsValueRange<StringAttr>();
    SwitchedNode &Node = All.emplace_back();
    Node.Node = (*Words.begin()).str();
    for (StringRef Type : llvm::drop_begin(Words))
      Node.Types.push_back(Type.str());
  }
  return All;
}

std::optional<std::vector<float>>
kpc::weightNumbers(Value V, const WeightStore &Weights) {
  auto Op = V.getDefiningOp<graph::WeightOp>();
  const Weight *Source = Op ? Weights.find(Op.getSource()) : nullptr;
  if (!Source || !graph::isFloat(graph::typeOf(V).getElementType()))
    return std::nullopt;
  Builder B(V.getContext());
  SmallVector<Attribute> Recipe(Op.getRecipe().getValue());
  if (!graph::typeOf(V).getElementType().isF32())
    Recipe.push_back(B.getDictionaryAttr(
        B.getNamedAttr("cast", TypeAttr::get(B.getF32Type()))));
  llvm::Expected<artifact::Weight> Ready =
      prepareWeight("", *Source, B.getArrayAttr(Recipe));
  if (!Ready) {
    llvm::consumeError(Ready.takeError());
    return std::nullopt;
  }
  std::vector<float> Numbers(Ready->Length / sizeof(float));
  if (Ready->Type != ElementType::F32 ||
      Ready->Read(0, reinterpret_cast<uint8_t *>(Numbers.data()),
                  Numbers.size() * sizeof(float)))
    return std::nullopt;
  return Numbers;
}

//===- InspectModel.cpp - What a model file takes and gives ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/InspectModel.h"

#include "compiler/import/onnx/model/InputDims.h"
#include "compiler/import/onnx/model/Reader.h"
#include "tools/kpc/Command.h"
#include "tools/kpc/Json.h"
#include "tools/kpc/Options.h"
#include "tools/kpc/Runtime.h"
#include "tools/kpc/TextTable.h"

#include <fmt/format.h>

namespace kpc::cli {

void printMetadata(
    const std::vector<std::pair<std::string, std::string>> &Metadata) {
  TextTable Table("ll");
  for (const auto &[Key, Value] : Metadata)
    Table.row({printable(Key), printable(Value, 80)});
  if (!Table.empty())
    fmt::print("metadata:\n{}", Table.text());
}

/// A dim as options and messages call it; "?" for an output's without a name.
static std::string dimText(const onnx::ValueInfo &V, size_t Axis,
                           const onnx::DimNames &Names) {
  const onnx::Dim &D = (*V.Shape)[Axis];
  if (const int64_t *Size = std::get_if<int64_t>(&D))
    return std::to_string(*Size);
  if (auto It = Names.find({V.Name, Axis}); It != Names.end())
    return It->second;
  return onnx::hasName(D) ? std::get<std::string>(D) : "?";
}

static std::vector<std::string> dimTexts(const onnx::ValueInfo &V,
                                         const onnx::DimNames &Names) {
  std::vector<std::string> Texts;
  for (size_t I = 0; V.Shape && I < V.Shape->size(); ++I)
    Texts.push_back(dimText(V, I, Names));
  return Texts;
}

static void printPorts(const char *Title,
                       const std::vector<onnx::ValueInfo> &Ports,
                       const onnx::DimNames &Names) {
  TextTable Table("ll");
  for (const onnx::ValueInfo &V : Ports)
    Table.row({printable(V.Name),
               V.Is != onnx::ValueInfo::Kind::Tensor ? "no tensor"
               : V.Shape
                   ? fmt::format("{}[{}]", onnx::elementTypeName(V.Type),
                                 printable(fmt::format(
                                     "{}", fmt::join(dimTexts(V, Names), ","))))
                   : onnx::elementTypeName(V.Type) + " of any rank"});
  fmt::print("{}:\n{}", Title, Table.text());
}

/// The inputs' dims by name, and where each stands.
static std::map<std::string, std::vector<std::string>>
placesByDim(const onnx::DimNames &Names) {
  std::map<std::string, std::vector<std::string>> Places;
  for (const auto &[Place, Name] : Names)
    Places[Name].push_back(
        fmt::format("dim {} of {}", Place.second, printable(Place.first, 60)));
  return Places;
}

static Json portsJson(const std::vector<onnx::ValueInfo> &Ports,
                      const onnx::DimNames &Names) {
  Json All = Json::array();
  for (const onnx::ValueInfo &V : Ports) {
    Json Dims = Json::array();
    for (size_t I = 0; V.Shape && I < V.Shape->size(); ++I) {
      if (const int64_t *Size = std::get_if<int64_t>(&(*V.Shape)[I]))
        Dims.push_back(*Size);
      else
        Dims.push_back(dimText(V, I, Names));
    }
    Json Port = {{"name", V.Name}, {"type", onnx::elementTypeName(V.Type)}};
    if (V.Shape)
      Port["dims"] = std::move(Dims);
    All.push_back(std::move(Port));
  }
  return All;
}

/// Tensors and their bytes. Some exporters write weights as Constant nodes.
static std::pair<size_t, uint64_t> weightsOf(const onnx::Graph &G) {
  size_t Count = G.Initializers.size();
  uint64_t Bytes = 0;
  for (const auto &[Name, T] : G.Initializers)
    Bytes += T.Bytes.size();
  for (const onnx::Node &N : G.Nodes)
    for (const auto &[Name, A] : N.Attributes)
      for (const onnx::Tensor &T : A.Tensors) {
        ++Count;
        Bytes += T.Bytes.size();
      }
  return {Count, Bytes};
}

static std::string counted(size_t Count, const char *What) {
  return fmt::format("{} {}{}", Count, What, Count == 1 ? "" : "s");
}

int inspectModel(const std::string &Path, bool AsJson) {
  Diagnostics Diags;
  Diags.setFile(Path);
  std::optional<onnx::Model> M = onnx::readModel(Path, Diags);
  if (!M)
    return finish(Diags);
  onnx::DimNames Names = onnx::inputDims(M->Main);
  auto [Tensors, Bytes] = weightsOf(M->Main);
  std::string Opsets;
  for (const auto &[Domain, Version] : M->Opsets)
    Opsets += fmt::format(
        ", {} {}", Domain.empty() ? "ai.onnx" : printable(Domain, 60), Version);
  if (AsJson) {
    Json Out = {{"file", Path},
                {"ir_version", M->IrVersion},
                {"producer", M->Producer},
                {"opsets", Json::object()},
                {"inputs", portsJson(M->Main.Inputs, Names)},
                {"outputs", portsJson(M->Main.Outputs, Names)},
                {"nodes", M->Main.Nodes.size()},
                {"weights", {{"tensors", Tensors}, {"bytes", Bytes}}},
                {"metadata", Json::object()}};
    for (const auto &[Domain, Version] : M->Opsets)
      Out["opsets"][Domain.empty() ? "ai.onnx" : Domain] = Version;
    for (const auto &[Key, Value] : M->Metadata)
      Out["metadata"][Key] = Value;
    printJsonText(Out);
    return finish(Diags);
  }
  fmt::print("{}: ONNX model, IR {}{}{}\n", Path, M->IrVersion, Opsets,
             M->Producer.empty() ? "" : ", by " + printable(M->Producer, 60));
  fmt::print("{}, {} of weights in {}\n", counted(M->Main.Nodes.size(), "node"),
             bytesText(Bytes), counted(Tensors, "tensor"));
  printPorts("inputs", M->Main.Inputs, Names);
  printPorts("outputs", M->Main.Outputs, Names);
  TextTable Dims("ll");
  for (const auto &[Name, Places] : placesByDim(Names))
    Dims.row({printable(Name), fmt::format("{}", fmt::join(Places, ", "))});
  if (!Dims.empty())
    fmt::print("dims:\n{}", Dims.text());
  printMetadata(M->Metadata);
  return finish(Diags);
}

} // namespace kpc::cli

//===- InputDims.cpp - Names of the dims of a model's inputs --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/model/InputDims.h"

#include <cctype>
#include <set>

namespace kpc::onnx {

bool hasName(const Dim &D) {
  const std::string *Name = std::get_if<std::string>(&D);
  return Name && !Name->empty() && *Name != "?" && *Name != "None" &&
         *Name != "-1";
}

std::string plainName(const std::string &Wanted) {
  std::string Name;
  for (char C : Wanted) {
    bool Plain = C == '_' || (C > 0 && std::isalnum(C) != 0);
    Name += Plain ? C : '_';
  }
  if (Name.empty() || std::isdigit(Name[0]) != 0)
    Name = "d_" + Name;
  return Name;
}

DimNames inputDims(const Graph &G) {
  std::set<std::string> Taken;
  for (const ValueInfo &V : G.Inputs)
    for (size_t I = 0; V.Shape && I < V.Shape->size(); ++I)
      if (hasName((*V.Shape)[I]))
        Taken.insert(std::get<std::string>((*V.Shape)[I]));
  DimNames Names;
  for (const ValueInfo &V : G.Inputs)
    for (size_t I = 0; V.Shape && I < V.Shape->size(); ++I) {
      const Dim &D = (*V.Shape)[I];
      if (std::holds_alternative<int64_t>(D))
        continue;
      std::string &Name = Names[{V.Name, I}];
      if (hasName(D)) {
        Name = std::get<std::string>(D);
        continue;
      }
      std::string Base = plainName(V.Name + "_" + std::to_string(I));
      Name = Base;
      for (unsigned Try = 1; !Taken.insert(Name).second; ++Try)
        Name = Base + "_" + std::to_string(Try);
    }
  return Names;
}

std::string inputsText(const Graph &G, const DimNames &Names) {
  constexpr size_t Shown = 16;
  std::string Text;
  for (size_t I = 0; I < G.Inputs.size() && I < Shown; ++I) {
    const ValueInfo &V = G.Inputs[I];
    Text +=
        (I ? ", " : "") + printable(V.Name, 60) + " " + elementTypeName(V.Type);
    if (!V.Shape)
      continue;
    Text += " [";
    for (size_t Axis = 0; Axis < V.Shape->size(); ++Axis) {
      const int64_t *Size = std::get_if<int64_t>(&(*V.Shape)[Axis]);
      auto It = Names.find({V.Name, Axis});
      Text += Axis ? ", " : "";
      Text += Size                ? std::to_string(*Size)
              : It != Names.end() ? printable(It->second, 60)
                                  : "?";
    }
    Text += "]";
  }
  if (G.Inputs.size() > Shown)
    Text += " and " + std::to_string(G.Inputs.size() - Shown) + " more";
  return Text;
}

} // namespace kpc::onnx

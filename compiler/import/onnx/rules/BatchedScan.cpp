//===- BatchedScan.cpp - Scan of opset 8 ----------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/BatchedScan.h"

namespace kpc::onnx {

static Attribute intOf(int64_t V) {
  Attribute A;
  A.Is = Attribute::Kind::Int;
  A.Int = V;
  return A;
}

static std::vector<ValueInfo> named(const std::vector<std::string> &Names) {
  std::vector<ValueInfo> List;
  for (const std::string &Name : Names) {
    ValueInfo V;
    V.Name = Name;
    List.push_back(std::move(V));
  }
  return List;
}

std::optional<Node> scanOverBatch(NodeImport &N) {
  const Graph *Body = N.graphAttribute("body");
  int64_t Scans = N.requiredInt("num_scan_inputs");
  std::optional<Ints> Directions = N.intsAttribute("directions");
  if (N.bad())
    return std::nullopt;
  if (N.hasInput(0)) {
    N.unsupported("lengths of sequences that differ within a batch");
    return std::nullopt;
  }
  size_t Count = Body->Inputs.size();
  if (N.inputCount() != Count + 1 ||
      Body->Outputs.size() != N.node().Outputs.size()) {
    N.fail(Code::ImportArity, "the body does not have the scan's inputs");
    return std::nullopt;
  }
  const std::string Prefix = N.node().Outputs[0] + "/element";
  Node Inner = N.node(), Outer = N.node();
  Inner.Opset = Outer.Opset = 9;
  Inner.Inputs.clear();
  Inner.Outputs.clear();
  for (size_t I = 0; I < Count; ++I)
    Inner.Inputs.push_back(Prefix + "_in" + std::to_string(I));
  for (size_t I = 0; I < Body->Outputs.size(); ++I)
    Inner.Outputs.push_back(Prefix + "_out" + std::to_string(I));
  Inner.Attributes.erase("directions");
  if (Directions) {
    Attribute Turned;
    Turned.Is = Attribute::Kind::Ints;
    Turned.Ints.assign(Directions->begin(), Directions->end());
    Inner.Attributes["scan_input_directions"] = std::move(Turned);
  }
  Inner.Attributes["num_scan_inputs"] = intOf(Scans);
  auto OfElement = std::make_shared<Graph>();
  OfElement->Inputs = named(Inner.Inputs);
  OfElement->Outputs = named(Inner.Outputs);
  OfElement->Nodes = {std::move(Inner)};
  Outer.Inputs.erase(Outer.Inputs.begin());
  Outer.Attributes.clear();
  Attribute Nested;
  Nested.Is = Attribute::Kind::Graph;
  Nested.Graphs = {std::move(OfElement)};
  Outer.Attributes["body"] = std::move(Nested);
  Outer.Attributes["num_scan_inputs"] = intOf(static_cast<int64_t>(Count));
  return Outer;
}

} // namespace kpc::onnx

//===- RewriteOldForms.cpp - What older opsets spell differently ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The rules that import operators know one spelling of each: the newest. This
/// is the table of how older ones differ in spelling alone; where an old
/// version computes something else, the rule asks for the opset.
/// Source: ONNX's Changelog.md.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/model/Passes.h"

#include <algorithm>
#include <set>

namespace kpc::onnx {

namespace {

enum class Change {
  Input,  ///< the attribute became the input at `Index`
  Rename, ///< it is called `New` now
  Drop,   ///< it has no meaning when a model is run
};

struct AttributeChange {
  std::string_view Op; ///< "*": every operator
  int64_t Before;      ///< holds for opsets below this
  std::string_view Name;
  Change What;
  unsigned Index = 0;
  std::string_view New = {};
};

} // namespace

static constexpr AttributeChange Changes[] = {
    {"*", 6, "consumed_inputs", Change::Drop},
    {"BatchNormalization", 7, "is_test", Change::Drop},
    {"Dropout", 7, "is_test", Change::Drop},
    {"Dropout", 12, "ratio", Change::Drop},
    {"Gemm", 7, "broadcast", Change::Drop},
    {"MaxPool", 8, "storage_order", Change::Drop},
    {"Pad", 2, "paddings", Change::Rename, 0, "pads"},
    {"Pad", 11, "pads", Change::Input, 1},
    {"Pad", 11, "value", Change::Input, 2},
    {"Reshape", 5, "shape", Change::Input, 1},
    {"Slice", 10, "starts", Change::Input, 1},
    {"Slice", 10, "ends", Change::Input, 2},
    {"Slice", 10, "axes", Change::Input, 3},
    {"Squeeze", 13, "axes", Change::Input, 1},
    {"Unsqueeze", 13, "axes", Change::Input, 1},
    {"Split", 13, "split", Change::Input, 1},
    {"TopK", 10, "k", Change::Input, 1},
    {"Clip", 11, "min", Change::Input, 1},
    {"Clip", 11, "max", Change::Input, 2},
    {"Upsample", 9, "scales", Change::Input, 1},
    {"ReduceSum", 13, "axes", Change::Input, 1},
    {"ReduceMax", 18, "axes", Change::Input, 1},
    {"ReduceMin", 18, "axes", Change::Input, 1},
    {"ReduceMean", 18, "axes", Change::Input, 1},
    {"ReduceProd", 18, "axes", Change::Input, 1},
    {"ReduceL1", 18, "axes", Change::Input, 1},
    {"ReduceL2", 18, "axes", Change::Input, 1},
    {"ReduceLogSum", 18, "axes", Change::Input, 1},
    {"ReduceLogSumExp", 18, "axes", Change::Input, 1},
    {"ReduceSumSquare", 18, "axes", Change::Input, 1},
};

/// A constant with the attribute's value. Numbers become scalars of their
/// kind; the rule casts them to the type it works in.
static std::optional<Tensor> constantOf(const std::string &Name,
                                        const Attribute &A) {
  switch (A.Is) {
  case Attribute::Kind::Int:
    return Tensor::ofIntegers(Name, {}, {A.Int});
  case Attribute::Kind::Ints:
  case Attribute::Kind::EmptyList:
    return Tensor::ofIntegers(Name, {static_cast<int64_t>(A.Ints.size())},
                              A.Ints);
  case Attribute::Kind::Float:
    return Tensor::ofFloats(Name, {}, {A.Float});
  case Attribute::Kind::Floats:
    return Tensor::ofFloats(Name, {static_cast<int64_t>(A.Floats.size())},
                            A.Floats);
  default:
    return std::nullopt;
  }
}

namespace {

class Rewriter {
public:
  explicit Rewriter(Diagnostics &Diags) : Diags(Diags) {}

  void graph(Graph &G) {
    for (Node &N : G.Nodes) {
      for (auto &[Name, A] : N.Attributes)
        for (auto &Sub : A.Graphs)
          graph(*Sub);
      if (!N.Domain.empty() || N.Opset == 0)
        continue;
      for (const AttributeChange &C : Changes)
        if (N.Opset < C.Before && (C.Op == "*" || C.Op == N.Op))
          apply(C, N, G);
      special(N, G);
    }
  }

private:
  void apply(const AttributeChange &C, Node &N, Graph &G) {
    auto It = N.Attributes.find(C.Name);
    if (It == N.Attributes.end())
      return;
    // An optional input may have been there before the attribute went.
    bool Taken = C.What == Change::Input && C.Index < N.Inputs.size() &&
                 !N.Inputs[C.Index].empty();
    if (Taken)
      return;
    Attribute Value = std::move(It->second);
    N.Attributes.erase(It);
    if (C.What == Change::Rename)
      N.Attributes.emplace(std::string(C.New), std::move(Value));
    else if (C.What == Change::Input)
      makeInput(N, G, C.Index, C.Name, Value);
  }

  void makeInput(Node &N, Graph &G, unsigned Index, std::string_view What,
                 const Attribute &Value) {
    // The slash and the index keep it apart from names of exporters.
    std::string Name = (N.Outputs.empty() ? N.Name : N.Outputs[0]) + "/" +
                       std::string(What) + "#" + std::to_string(++Made);
    std::optional<Tensor> T = constantOf(Name, Value);
    if (!T) {
      Diags.error(Code::ImportAttributeType)
          .at(N.place())
          .message("attribute '" + std::string(What) + "' is " +
                   std::string(kindName(Value.Is)) +
                   ", but should be a number or a list of numbers");
      return;
    }
    if (N.Inputs.size() <= Index)
      N.Inputs.resize(Index + 1);
    N.Inputs[Index] = Name;
    G.Initializers.emplace(Name, std::move(*T));
  }

  void setString(Node &N, std::string Name, std::string Value) {
    Attribute A;
    A.Is = Attribute::Kind::String;
    A.String = std::move(Value);
    N.Attributes[std::move(Name)] = std::move(A);
  }

  /// Changes that are more than one attribute's.
  void special(Node &N, Graph &G) {
    if (N.Op == "Cast" && N.Opset < 6)
      castTarget(N);
    if (N.Op == "Upsample") {
      upsampleScales(N, G);
      moveScales(N);
    } else if (N.Op == "Resize" && N.Opset == 10) {
      moveScales(N);
    }
  }

  /// Cast's target was the name of a type.
  void castTarget(Node &N) {
    auto It = N.Attributes.find("to");
    if (It == N.Attributes.end() || It->second.Is != Attribute::Kind::String)
      return;
    std::optional<ElementType> Type = elementTypeByName(It->second.String);
    if (!Type) {
      Diags.error(Code::ImportAttributeValue)
          .at(N.place())
          .message("attribute 'to' names no type: '" +
                   printable(It->second.String) + "'");
      return;
    }
    It->second.Is = Attribute::Kind::Int;
    It->second.Int = static_cast<int64_t>(*Type);
  }

  /// Upsample-1 scaled the last two of four axes by two attributes.
  void upsampleScales(Node &N, Graph &G) {
    auto Height = N.Attributes.find("height_scale");
    auto Width = N.Attributes.find("width_scale");
    if (Height == N.Attributes.end() || Width == N.Attributes.end())
      return;
    Attribute Scales;
    Scales.Is = Attribute::Kind::Floats;
    Scales.Floats = {1, 1, Height->second.Float, Width->second.Float};
    N.Attributes.erase("height_scale");
    N.Attributes.erase("width_scale");
    makeInput(N, G, 1, "scales", Scales);
  }

  /// Resize-10 and Upsample: scales are the second input, and coordinates are
  /// asymmetric and rounded down.
  void moveScales(Node &N) {
    if (N.Inputs.size() >= 2)
      N.Inputs.insert(N.Inputs.begin() + 1, "");
    setString(N, "coordinate_transformation_mode", "asymmetric");
    setString(N, "nearest_mode", "floor");
    auto Mode = N.Attributes.find("mode");
    if (Mode != N.Attributes.end() && Mode->second.String == "bilinear")
      Mode->second.String = "linear";
  }

  Diagnostics &Diags;
  unsigned Made = 0;
};

} // namespace

void rewriteOldForms(Graph &G, Diagnostics &Diags) { Rewriter(Diags).graph(G); }

} // namespace kpc::onnx

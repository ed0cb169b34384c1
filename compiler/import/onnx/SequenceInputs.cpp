//===- SequenceInputs.cpp - Inputs that are several tensors ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/SequenceInputs.h"

#include "compiler/import/onnx/model/InputDims.h"
#include "compiler/import/onnx/model/Model.h"
#include "compiler/import/onnx/rules/Maps.h"

namespace kpc::onnx {

namespace {

/// Each element is a kernel's argument of its own.
constexpr int64_t MostElements = 256;

class Taker {
public:
  Taker(Model &M, ImportOptions &Options, Diagnostics &Diags)
      : M(M), Options(Options), Diags(Diags) {}

  bool run() {
    std::vector<ValueInfo> Inputs;
    for (ValueInfo &V : M.Main.Inputs)
      take(std::move(V), Inputs);
    M.Main.Inputs = std::move(Inputs);
    M.Main.Nodes.insert(M.Main.Nodes.begin(), Makers.begin(), Makers.end());
    return Good;
  }

private:
  void take(ValueInfo V, std::vector<ValueInfo> &Inputs) {
    if (V.Is == ValueInfo::Kind::Optional) {
      if (auto It = Options.Values.find(V.Name);
          It != Options.Values.end() && It->second == "none") {
        Options.Values.erase(It);
        make("Optional", 15, {}, V.Name);
        return;
      }
      if (V.Of == ValueInfo::Kind::Tensor || V.Of == ValueInfo::Kind::Sequence)
        V.Is = V.Of;
    }
    if (V.Is == ValueInfo::Kind::Map)
      giveRow(V);
    bool IsTensors =
        V.Is == ValueInfo::Kind::Sequence && V.Type != ElementType::Undefined;
    if (!IsTensors) {
      Inputs.push_back(std::move(V));
      return;
    }
    std::optional<int64_t> Count = countOf(V);
    if (!Count)
      return;
    std::vector<std::string> Names;
    for (int64_t I = 0; I < *Count; ++I) {
      ValueInfo Element = V;
      Element.Is = ValueInfo::Kind::Tensor;
      Element.Name = V.Name + "[" + std::to_string(I) + "]";
      // Elements may have sizes of their own under one name.
      for (Dim &D : Element.Shape ? *Element.Shape : NoDims)
        if (hasName(D))
          D = std::monostate();
      Names.push_back(Element.Name);
      Inputs.push_back(std::move(Element));
    }
    make(Names.empty() ? "SequenceEmpty" : "SequenceConstruct", 11, Names,
         V.Name);
  }

  /// A map is the row of its values, whose sizes have names as others do.
  void giveRow(ValueInfo &V) {
    if (std::optional<MapRow> Row = rowOfMap(M.Main, V)) {
      Dim Columns;
      if (Row->Columns)
        Columns = *Row->Columns;
      V.Shape = {Dim(int64_t(1)), Columns};
    }
  }

  std::optional<int64_t> countOf(const ValueInfo &V) {
    auto Given = Options.Dims.find(V.Name);
    bool IsNumber = Given != Options.Dims.end() &&
                    Given->second.Min == Given->second.Max &&
                    Given->second.Min >= 0 && Given->second.Min <= MostElements;
    if (IsNumber) {
      int64_t Count = Given->second.Min;
      Options.Dims.erase(Given);
      return Count;
    }
    ModelPlace Reader;
    for (const Node &N : M.Main.Nodes)
      if (std::find(N.Inputs.begin(), N.Inputs.end(), V.Name) !=
          N.Inputs.end()) {
        Reader = N.place();
        break;
      }
    Diags.error(Code::ImportValueType)
        .at(Reader)
        .message("the model's input '" + printable(V.Name) +
                 "' is a sequence, and how many tensors it has is not said")
        .hint("say it with --dim " + printable(V.Name) + "=COUNT, up to " +
              std::to_string(MostElements) + "; each is an input of its own, " +
              printable(V.Name) + "[0] and so on");
    Good = false;
    return std::nullopt;
  }

  void make(const char *Op, int64_t Opset, std::vector<std::string> Inputs,
            const std::string &Output) {
    Node N;
    N.Name = Output;
    N.Op = Op;
    N.Opset = Opset;
    N.Inputs = std::move(Inputs);
    N.Outputs = {Output};
    Makers.push_back(std::move(N));
  }

  Model &M;
  ImportOptions &Options;
  Diagnostics &Diags;
  std::vector<Node> Makers;
  std::vector<Dim> NoDims;
  bool Good = true;
};

} // namespace

bool takeSequencesApart(Model &M, ImportOptions &Options, Diagnostics &Diags) {
  return Taker(M, Options, Diags).run();
}

} // namespace kpc::onnx

//===- IterationNumber.cpp - What a loop's body does with its number ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/model/Model.h"
#include "compiler/import/onnx/rules/EndedLoop.h"

#include "llvm/ADT/StringSet.h"

namespace kpc::onnx {

namespace {
constexpr std::string_view Ends[] = {"Equal", "Less", "LessOrEqual", "Greater",
                                     "GreaterOrEqual"};
constexpr std::string_view Arithmetic[] = {"Add", "Sub", "Mul",      "Div",
                                           "Mod", "Neg", "Abs",      "Min",
                                           "Max", "Sum", "Identity", "Concat"};
constexpr std::string_view Shapes[] = {"Unsqueeze", "Squeeze", "Reshape"};
constexpr std::string_view Lookups[] = {"Gather", "GatherElements", "GatherND"};
constexpr std::string_view Updates[] = {"ScatterElements", "ScatterND",
                                        "TensorScatter"};

/// Follows the number by names alone: to import the body to find out would take
/// time that grows with the power of the depth.
class NumberUse {
public:
  explicit NumberUse(const std::string &Name) { Numbers.insert(Name); }

  bool isData(const Graph &G) {
    return llvm::all_of(G.Nodes, [&](const Node &N) { return isData(N); });
  }

private:
  bool isNumber(const Node &N, size_t Input) const {
    return Input < N.Inputs.size() && Numbers.contains(N.Inputs[Input]);
  }
  bool isAnyNumber(const Node &N, size_t From = 0) const {
    for (size_t I = From; I < N.Inputs.size(); ++I)
      if (isNumber(N, I))
        return true;
    return false;
  }
  bool goOn(const Node &N) {
    for (const std::string &Output : N.Outputs)
      Numbers.insert(Output);
    return true;
  }

  /// Whether the node may have numbers that are known only on a device.
  bool isData(const Node &N) {
    for (const auto &[Key, A] : N.Attributes)
      for (const auto &Sub : A.Graphs)
        for (const auto &Number : Numbers)
          if (!isUnread(*Sub, Number.getKey().str()))
            return false;
    if (!isAnyNumber(N))
      return true;
    if (!N.Domain.empty())
      return false;
    // What is compared or looked up is no size and no place any more.
    if (llvm::is_contained(Ends, N.Op))
      return true;
    if (llvm::is_contained(Arithmetic, N.Op))
      return goOn(N);
    if (llvm::is_contained(Shapes, N.Op))
      return !isAnyNumber(N, 1) && goOn(N);
    if (llvm::is_contained(Lookups, N.Op))
      return !isNumber(N, 0) || goOn(N);
    if (llvm::is_contained(Updates, N.Op))
      return !(isNumber(N, 0) || isNumber(N, 2)) || goOn(N);
    if (N.Op == "Cast")
      return isOfWhole(N) ? goOn(N) : true;
    return false;
  }

  static bool isOfWhole(const Node &N) {
    auto To = N.Attributes.find("to");
    if (To == N.Attributes.end())
      return true;
    switch (ElementType(To->second.Int)) {
    case ElementType::Float:
    case ElementType::Float16:
    case ElementType::Double:
    case ElementType::Bfloat16:
    case ElementType::Bool:
      return false;
    default:
      return true;
    }
  }

  llvm::StringSet<> Numbers; ///< what follows from the number as one
};

} // namespace

bool isDataAlone(const Graph &Body, const std::string &Number) {
  return NumberUse(Number).isData(Body);
}

} // namespace kpc::onnx

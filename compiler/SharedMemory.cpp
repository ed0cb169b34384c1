//===- SharedMemory.cpp - Outputs in the memory of inputs -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/SharedMemory.h"

#include "dialects/plan/Plan.h"

using namespace kpc;
using namespace mlir;

namespace {

/// The buffer of that name; reports if there is none.
template <typename Op>
Op named(const std::vector<Op> &All, const std::string &Name, StringRef Kind,
         Diagnostics &Diags) {
  std::string Names;
  for (Op One : All) {
    if (One.getName() == Name)
      return One;
    Names += (Names.empty() ? "" : ", ") + printable(One.getName().str());
  }
  Diags.error(Code::UsageNoAlias)
      .message("--alias: the model has no " + Kind.str() + " '" +
               printable(Name) + "'")
      .hint(Kind.str() + "s are " + Names);
  return {};
}

std::string sizesOf(graph::SymbolicTensorType Ty) {
  std::string Text;
  for (const shape::Expr &Size : Ty.getDims())
    Text += (Text.empty() ? "" : ",") + Size.str();
  return "[" + Text + "]";
}

/// Why the output, which takes no memory of that input, cannot.
std::string reasonFor(plan::OutputOp Output, plan::InputOp Input) {
  graph::SymbolicTensorType From = Input.portType(), To = Output.portType();
  if (From.getDims() != To.getDims())
    return "they have sizes " + sizesOf(From) + " and " + sizesOf(To) +
           ": rows move where a buffer grows";
  if (From != To)
    return "they are of two types";
  if (graph::typeOf(Input.getBuffer()) != From ||
      graph::typeOf(Output.getBuffer()) != To)
    return "they are converted where they come in and go out";
  if (Output.getTakes())
    return "it takes that of another input";
  return "each of its elements must be the input's at the same place or not "
         "depend on that input, which nothing else may read";
}

} // namespace

bool kpc::checkAliases(ModuleOp Plan, const CompileOptions &Options,
                       Diagnostics &Diags) {
  if (Options.Aliases.empty())
    return true;
  std::vector<plan::InputOp> Inputs;
  std::vector<plan::OutputOp> Outputs;
  Plan.walk([&](Operation *Op) {
    if (auto Input = dyn_cast<plan::InputOp>(Op))
      Inputs.push_back(Input);
    else if (auto Output = dyn_cast<plan::OutputOp>(Op))
      Outputs.push_back(Output);
  });
  bool Good = true;
  for (const auto &[To, From] : Options.Aliases) {
    plan::OutputOp Output = named(Outputs, To, "output", Diags);
    plan::InputOp Input = named(Inputs, From, "input", Diags);
    Good &= Output && Input;
    if (!Output || !Input)
      continue;
    std::optional<uint32_t> Taken(Output.getTakes());
    if (Taken && Inputs[*Taken] == Input)
      continue;
    Good = false;
    Diags.error(Code::UsageNoAlias)
        .message("--alias: output '" + printable(To) +
                 "' cannot take the memory of input '" + printable(From) +
                 "', because " + reasonFor(Output, Input));
  }
  return Good;
}

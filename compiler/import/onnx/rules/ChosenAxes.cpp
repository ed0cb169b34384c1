//===- ChosenAxes.cpp - Axes that only the run knows ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/ChosenAxes.h"

namespace kpc::onnx {

static int64_t maskOf(ArrayRef<int64_t> Axes) {
  int64_t Mask = 0;
  for (int64_t A : Axes)
    Mask |= int64_t(1) << A;
  return Mask;
}

Value axesMask(NodeImport &N, Value Axes, int64_t Rank) {
  if (!Axes)
    return {};
  Ints Powers;
  for (int64_t A = 0; A < Rank; ++A)
    Powers.push_back(int64_t(1) << A);
  // graph.gather takes indices from the end, as ONNX's axes are.
  Value Bits = N.gather(N.intVector(Powers, N.i64()), N.cast(Axes, N.i64()), 0);
  Ints All = llvm::to_vector(llvm::seq<int64_t>(0, Bits ? N.rank(Bits) : 0));
  return N.reduce(ReduceKind::sum, Bits, All);
}

Value chosenByAxes(NodeImport &N, size_t Input, int64_t Rank,
                   ArrayRef<Ints> Choices,
                   llvm::function_ref<Value(ArrayRef<int64_t>)> Make) {
  Value Y = Make(Choices.back());
  if (Choices.size() == 1)
    return Y;
  Value Mask = axesMask(N, N.input(Input), Rank);
  for (const Ints &Axes : llvm::drop_begin(llvm::reverse(Choices)))
    Y = N.select(
        N.compare(Predicate::eq, Mask, N.scalarInt(maskOf(Axes), N.i64())),
        Make(Axes), Y);
  return Y;
}

void failOpenAxes(NodeImport &N, size_t Input, std::string_view What) {
  std::string Way = N.wayToKnow(Input);
  Way += Way.empty() ? "" : ", or ";
  N.fail(Code::ImportNotConstant,
         "input " + std::to_string(Input) + " (" + std::string(What) +
             ") is known only when the model runs, and decides the sizes of "
             "output 0",
         Way + "declare the sizes of output 0 in the model");
}

} // namespace kpc::onnx

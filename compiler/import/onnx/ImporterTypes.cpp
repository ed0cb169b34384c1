//===- ImporterTypes.cpp - What is known of a model's values --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Types for tools that take a model apart: what its nodes compute, as ONNX
/// writes it.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/GraphTypes.h"
#include "compiler/import/onnx/Importer.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::onnx {

static ElementType elementTypeOf(Type Element) {
  for (int64_t Number = 1; elementType(Number); ++Number)
    if (graphType(Element.getContext(), *elementType(Number)) == Element)
      return *elementType(Number);
  return ElementType::Undefined;
}

/// A number, the name of a dim, or nothing where it is computed.
static Dim dimOf(const Expr &E) {
  if (std::optional<int64_t> Number = E.asConstant())
    return *Number;
  if (std::optional<std::string> Symbol = E.asSymbol())
    return *Symbol;
  return {};
}

void Importer::noteTypes(const Node &N) {
  for (const std::string &Name : N.Outputs) {
    const Entry *E = Name.empty() ? nullptr : entry(Name);
    if (!E || E->Absent || E->Items)
      continue;
    ValueInfo Info;
    Info.Name = Name;
    Info.Is = ValueInfo::Kind::Tensor;
    Info.Shape.emplace();
    if (E->Built) {
      SymbolicTensorType Ty = typeOf(E->Built);
      Info.Type = elementTypeOf(Ty.getElementType());
      for (const Expr &Size : Ty.getDims())
        Info.Shape->push_back(dimOf(current(Size)));
    } else if (E->Data || E->Known) {
      Info.Type = E->Data ? E->Data->Type : E->Known->Type;
      const std::vector<int64_t> &Sizes =
          E->Data ? E->Data->Dims : E->Known->Dims;
      Info.Shape->assign(Sizes.begin(), Sizes.end());
    }
    if (Info.Type != ElementType::Undefined)
      Options.Types->insert_or_assign(Name, std::move(Info));
  }
}

} // namespace kpc::onnx

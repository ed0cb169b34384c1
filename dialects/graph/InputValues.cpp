//===- InputValues.cpp - Sizes that are elements of inputs ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/InputValues.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace kpc::graph {

std::string inputValueName(llvm::StringRef Input, int64_t Element) {
  return Input.str() + "[" + std::to_string(Element) + "]";
}

static std::optional<InputValue> read(NamedAttribute Entry) {
  auto Text = dyn_cast<StringAttr>(Entry.getValue());
  llvm::StringRef Name = Entry.getName();
  size_t Bracket = Name.rfind('[');
  InputValue V;
  if (!Text || Bracket == llvm::StringRef::npos || !Name.ends_with("]") ||
      Name.slice(Bracket + 1, Name.size() - 1).getAsInteger(10, V.Element) ||
      V.Element < 0 || V.Element > UINT32_MAX)
    return std::nullopt;
  std::optional<shape::Expr> Size = shape::Expr::parse(Text.strref());
  if (!Size || Size->overflowed())
    return std::nullopt;
  V.Input = Name.take_front(Bracket).str();
  V.Size = *Size;
  return V;
}

std::vector<InputValue> inputValues(ModuleOp Module) {
  std::vector<InputValue> Values;
  auto Texts = Module->getAttrOfType<DictionaryAttr>(InputValuesName);
  for (NamedAttribute Entry :
       Texts ? Texts.getValue() : ArrayRef<NamedAttribute>())
    if (std::optional<InputValue> V = read(Entry))
      Values.push_back(std::move(*V));
  return Values;
}

LogicalResult verifyInputValues(Operation *Op, NamedAttribute Given) {
  auto Entries = dyn_cast<DictionaryAttr>(Given.getValue());
  bool Good = isa<ModuleOp>(Op) && Entries;
  for (NamedAttribute Entry :
       Good ? Entries.getValue() : ArrayRef<NamedAttribute>())
    Good &= read(Entry).has_value();
  if (Good)
    return success();
  return Op->emitError() << "'" << InputValuesName
                         << "' belongs on a module and is a dictionary from "
                            "elements, as \"n[0]\", to sizes in words";
}

void setInputValues(ModuleOp Module, const std::vector<InputValue> &Values) {
  Builder B(Module.getContext());
  NamedAttrList Texts;
  for (const InputValue &V : Values)
    Texts.set(inputValueName(V.Input, V.Element),
              B.getStringAttr(V.Size.str()));
  if (!Texts.empty())
    Module->setAttr(InputValuesName, Texts.getDictionary(Module.getContext()));
}

} // namespace kpc::graph

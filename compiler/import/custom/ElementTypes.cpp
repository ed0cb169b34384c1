//===- ElementTypes.cpp - Element types as manifests name them ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/import/custom/ElementTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace kpc;
using namespace mlir;

namespace {

struct ElementName {
  StringRef Name, Cuda, Host;
};

/// Host code sees 16-bit floats as their bits.
constexpr ElementName Names[] = {
    {"f32", "float", "float"},
    {"f64", "double", "double"},
    {"f16", "__half", "unsigned short"},
    {"bf16", "__nv_bfloat16", "unsigned short"},
    {"bool", "bool", "bool"},
    {"i8", "signed char", "signed char"},
    {"i16", "short", "short"},
    {"i32", "int", "int"},
    {"i64", "long long", "long long"},
    {"u8", "unsigned char", "unsigned char"},
    {"u16", "unsigned short", "unsigned short"},
    {"u32", "unsigned int", "unsigned int"},
    {"u64", "unsigned long long", "unsigned long long"},
};

const ElementName *find(StringRef Name) {
  const ElementName *It = llvm::find_if(
      Names, [&](const ElementName &N) { return N.Name == Name; });
  return It == std::end(Names) ? nullptr : It;
}

} // namespace

bool custom::isElementType(StringRef Name) { return find(Name); }

std::string custom::elementTypeNames() {
  std::string Text;
  for (const ElementName &N : Names)
    Text += (Text.empty() ? "" : ", ") + N.Name.str();
  return Text;
}

Type custom::elementType(MLIRContext *Context, StringRef Name) {
  Builder B(Context);
  if (Name == "bool")
    return B.getI1Type();
  if (Name == "bf16")
    return B.getBF16Type();
  unsigned Bits = 0;
  (void)Name.drop_front().getAsInteger(10, Bits);
  if (Name.starts_with("u"))
    return B.getIntegerType(Bits, /*isSigned=*/false);
  if (Name.starts_with("i"))
    return B.getIntegerType(Bits);
  return Bits == 16   ? Type(B.getF16Type())
         : Bits == 32 ? Type(B.getF32Type())
                      : Type(B.getF64Type());
}

std::string custom::elementName(Type Element) {
  if (Element.isInteger(1))
    return "bool";
  std::string Text;
  llvm::raw_string_ostream(Text) << Element;
  return Element.isUnsignedInteger() ? "u" + Text.substr(2) : Text;
}

std::string custom::codeType(StringRef Name, bool IsCuda) {
  const ElementName *Known = find(Name);
  if (!Known)
    return {};
  return (IsCuda ? Known->Cuda : Known->Host).str();
}

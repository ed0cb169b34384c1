//===- Apply.cpp - A node of a user's operator ----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/import/custom/Apply.h"
#include "compiler/import/custom/ElementTypes.h"
#include "dialects/graph/CustomCode.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kpc;
using namespace kpc::custom;
using frontend::Dims;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using mlir::Value;

namespace {

constexpr kpc::Code Mismatch = kpc::Code::ImportCustomNode;

std::string textOf(const AttributeValue &V) {
  auto Joined = [](const auto &List) {
    std::string Text;
    for (const auto &One : List)
      Text += (Text.empty() ? "" : ", ") + llvm::formatv("{0}", One).str();
    return Text;
  };
  auto Exact = [](double One) {
    // Seventeen digits give a double back.
    std::string Text = llvm::formatv("{0:e16}", One).str();
    return std::isfinite(One) ? Text : std::string();
  };
  if (const auto *Int = std::get_if<int64_t>(&V))
    return std::to_string(*Int);
  if (const auto *Float = std::get_if<double>(&V))
    return Exact(*Float);
  if (const auto *Text = std::get_if<std::string>(&V))
    return *Text;
  if (const auto *Ints = std::get_if<std::vector<int64_t>>(&V))
    return Joined(*Ints);
  std::string Text;
  for (double One : std::get<std::vector<double>>(V))
    Text += (Text.empty() ? "" : ", ") + Exact(One);
  return Text;
}

class Application {
public:
  Application(const Operator &Op, frontend::Emitter &E, ArrayRef<Value> Inputs,
              const AttributeValues &Given)
      : Op(Op), E(E), Inputs(Inputs), Given(Given) {}

  std::optional<SmallVector<Value>> run();

private:
  bool fail(const std::string &Message) {
    E.fail(Mismatch, Message);
    return false;
  }
  bool takeAttributes();
  bool bindTypes();
  bool bindShapes(bool Unifies);
  bool bindShape(const Tensor &T, ArrayRef<Expr> Is, bool Unifies);
  bool isSame(const Expr &Is, const Expr &Wanted, const Tensor &T,
              bool Unifies);
  bool checkComputed(bool Unifies);
  std::string typeName(const Tensor &T) const {
    auto It = Types.find(T.Type);
    return It == Types.end() ? T.Type : It->second;
  }
  Dims dims(const Tensor &T) const;
  std::optional<graph::CustomCode> code(const custom::UserCode &C, bool IsCuda);
  bool addArgument(const Argument &A, graph::CustomCode &Into);
  std::optional<std::string> filled(StringRef Text, bool IsCuda);

  const Operator &Op;
  frontend::Emitter &E;
  ArrayRef<Value> Inputs;
  const AttributeValues &Given;
  AttributeValues Attributes;
  std::map<std::string, std::string, std::less<>> Types;
  /// Dims, products of rests, int attributes.
  std::map<std::string, Expr, std::less<>> Sizes;
  std::map<std::string, Dims, std::less<>> Rests;
};

//===----------------------------------------------------------------------===//
// What the node gives
//===----------------------------------------------------------------------===//

bool Application::takeAttributes() {
  for (const Attribute &A : Op.Attributes) {
    auto It = Given.find(A.Name);
    if (It == Given.end() && !A.Default)
      return fail("expected the attribute '" + A.Name +
                  "', which the manifest gives no default");
    Attributes[A.Name] = It == Given.end() ? *A.Default : It->second;
    if (const auto *Int = std::get_if<int64_t>(&Attributes[A.Name]))
      Sizes[A.Name] = Expr(*Int);
  }
  return true;
}

bool Application::bindTypes() {
  for (auto [T, V] : llvm::zip_equal(Op.Inputs, Inputs)) {
    std::string Is = elementName(frontend::Emitter::element(V));
    auto Choice = Op.Types.find(T.Type);
    if (Choice == Op.Types.end()) {
      if (Is != T.Type)
        return fail("expected " + T.Type + " as input '" + T.Name + "', got " +
                    Is);
      continue;
    }
    auto [Bound, New] = Types.try_emplace(T.Type, Is);
    if (!New && Bound->second != Is)
      return fail("expected " + Bound->second + " as input '" + T.Name +
                  "', as other inputs of the type " + T.Type + ", got " + Is);
    if (!llvm::is_contained(Choice->second, Is))
      return fail("expected one of " + llvm::join(Choice->second, ", ") +
                  " as input '" + T.Name + "', got " + Is);
  }
  return true;
}

bool Application::isSame(const Expr &Is, const Expr &Wanted, const Tensor &T,
                         bool Unifies) {
  if (Is == Wanted)
    return true;
  if (Unifies && !(Is.isConstant() && Wanted.isConstant()) &&
      E.unify(Is, Wanted))
    return true;
  return fail("expected the size " + Wanted.str() + " in input '" + T.Name +
              "', got " + Is.str());
}

static std::string shapeText(const Tensor &T) {
  std::string Text;
  for (const Dim &D : T.Shape)
    Text +=
        (Text.empty() ? "" : ", ") + (D.IsRest ? "*" + D.Name : D.Size.str());
  return "[" + Text + "]";
}

bool Application::bindShape(const Tensor &T, ArrayRef<Expr> Is, bool Unifies) {
  size_t Fixed =
      llvm::count_if(T.Shape, [](const Dim &D) { return !D.IsRest; });
  bool HasRest = Fixed != T.Shape.size();
  if (HasRest ? Is.size() < Fixed : Is.size() != Fixed)
    return fail("expected the shape " + shapeText(T) + " as input '" + T.Name +
                "', got " + frontend::dimsText(Is));
  size_t At = 0;
  for (const Dim &D : T.Shape) {
    if (!D.IsRest) {
      const Expr &One = Is[At++];
      std::optional<std::string> Name = D.Size.asSymbol();
      if (Name && !Op.attribute(*Name)) {
        auto [Bound, New] = Sizes.try_emplace(*Name, One);
        if (!New && !isSame(One, Bound->second, T, Unifies))
          return false;
      } else if (D.Size.isConstant() && !isSame(One, D.Size, T, Unifies)) {
        return false;
      }
      continue;
    }
    Dims Own(Is.slice(At, Is.size() - Fixed));
    At += Own.size();
    auto [Bound, New] = Rests.try_emplace(D.Name, Own);
    if (New)
      continue;
    if (Bound->second.size() != Own.size())
      return fail("expected the dims " + frontend::dimsText(Bound->second) +
                  " for '*" + D.Name + "' in input '" + T.Name + "', got " +
                  frontend::dimsText(Own));
    for (auto [One, Wanted] : llvm::zip(Own, Bound->second))
      if (!isSame(One, Wanted, T, Unifies))
        return false;
  }
  return true;
}

/// Dims that are expressions over others.
bool Application::checkComputed(bool Unifies) {
  for (auto [T, V] : llvm::zip_equal(Op.Inputs, Inputs)) {
    ArrayRef<Expr> Is = frontend::Emitter::dims(V);
    size_t At = 0, Rest = Is.size() + 1 - T.Shape.size();
    for (const Dim &D : T.Shape) {
      bool IsName = D.Size.asSymbol() && !Op.attribute(*D.Size.asSymbol());
      if (!D.IsRest && !IsName &&
          !isSame(E.current(Is[At]), D.Size.substitute(Sizes), T, Unifies))
        return false;
      At += D.IsRest ? Rest : 1;
    }
  }
  return true;
}

bool Application::bindShapes(bool Unifies) {
  std::map<std::string, Expr, std::less<>> Known = Sizes;
  Rests.clear();
  for (auto [T, V] : llvm::zip_equal(Op.Inputs, Inputs)) {
    // What was taken as equal before has changed the types.
    Dims Is;
    for (const Expr &Dim : frontend::Emitter::dims(V))
      Is.push_back(E.current(Dim));
    if (!bindShape(T, Is, Unifies))
      return false;
  }
  for (const auto &[Name, List] : Rests) {
    Expr Product(1);
    for (const Expr &Dim : List)
      Product = Product * Dim;
    Sizes[Name] = Product;
  }
  if (!checkComputed(Unifies))
    return false;
  if (Unifies)
    Sizes = std::move(Known);
  return true;
}

Dims Application::dims(const Tensor &T) const {
  Dims Out;
  for (const Dim &D : T.Shape)
    if (D.IsRest)
      llvm::append_range(Out, Rests.find(D.Name)->second);
    else
      Out.push_back(D.Size.substitute(Sizes));
  return Out;
}

//===----------------------------------------------------------------------===//
// The code
//===----------------------------------------------------------------------===//

/// The text with what stands between braces in it replaced.
std::optional<std::string> Application::filled(StringRef Text, bool IsCuda) {
  std::string Out;
  while (true) {
    auto [Before, Behind] = Text.split('{');
    Out += Before;
    if (Before.size() == Text.size())
      return Out;
    auto [Name, After] = Behind.split('}');
    Text = After;
    if (auto Type = Types.find(Name.str()); Type != Types.end()) {
      Out += codeType(Type->second, IsCuda);
      continue;
    }
    if (auto A = Attributes.find(Name.str()); A != Attributes.end()) {
      Out += textOf(A->second);
      continue;
    }
    Expr Size = Sizes.find(Name.str())->second;
    if (!Size.asConstant()) {
      fail("expected a number for {" + Name.str() +
           "}, which is compiled "
           "into the code, got " +
           Size.str() +
           ", which is known only at run time; give it as an argument, or fix "
           "it with --dim");
      return std::nullopt;
    }
    Out += std::to_string(*Size.asConstant());
  }
}

bool Application::addArgument(const Argument &A, graph::CustomCode &Into) {
  Into.Arguments.push_back(A.Type);
  if (A.Attribute.empty()) {
    Expr Size = A.Size.substitute(Sizes);
    std::optional<int64_t> Number = Size.asConstant();
    if (A.Type == "i32" && Number && !llvm::isInt<32>(*Number))
      return fail("expected an argument of 32 bits, got " + Size.str() +
                  "; make it an i64 in the manifest");
    if (Size.overflowed())
      return fail("expected an argument of 64 bits, got one that overflows");
    Into.Sizes.push_back(Size);
    return true;
  }
  double Number = std::get<double>(Attributes.find(A.Attribute)->second);
  // Kernels get the bits.
  Into.Sizes.emplace_back(A.Type == "f32"
                              ? int64_t(llvm::bit_cast<uint32_t>(float(Number)))
                              : llvm::bit_cast<int64_t>(Number));
  return true;
}

std::optional<graph::CustomCode> Application::code(const custom::UserCode &C,
                                                   bool IsCuda) {
  graph::CustomCode Out;
  Out.IsCuda = IsCuda;
  Out.File = C.File;
  Out.Source = C.Source;
  Out.Library = C.Library;
  Out.Headers = C.Headers;
  Out.Options = C.Options;
  std::optional<std::string> Function = filled(C.Function, IsCuda);
  if (!Function)
    return std::nullopt;
  Out.Function = *Function;
  for (const auto &[Name, Text] : C.Macros) {
    std::optional<std::string> Value = filled(Text, IsCuda);
    if (!Value)
      return std::nullopt;
    Out.Macros.emplace_back(Name, std::move(*Value));
  }
  for (const Argument &A : C.Arguments)
    if (!addArgument(A, Out))
      return std::nullopt;
  if (!IsCuda)
    return Out;
  int64_t Threads = 1;
  for (auto [I, Extent] : llvm::enumerate(C.Block)) {
    std::optional<int64_t> Number = Extent.substitute(Sizes).asConstant();
    if (!Number || *Number < 1 || *Number > 1024) {
      fail("expected a number from 1 to 1024 as an extent of the block, got " +
           Extent.substitute(Sizes).str());
      return std::nullopt;
    }
    Out.Block[I] = *Number;
    Threads *= *Number;
  }
  if (Threads > 1024 || Out.Block[2] > 64) {
    fail("expected a block of at most 1024 threads and 64 in z, got " +
         std::to_string(Out.Block[0]) + " x " + std::to_string(Out.Block[1]) +
         " x " + std::to_string(Out.Block[2]));
    return std::nullopt;
  }
  for (size_t I = 0; I < 3; ++I)
    Out.Sizes.push_back(I < C.Grid.size() ? C.Grid[I].substitute(Sizes)
                                          : Expr(1));
  Out.Sizes.push_back(C.Shared.substitute(Sizes));
  return Out;
}

std::optional<SmallVector<Value>> Application::run() {
  if (Inputs.size() != Op.Inputs.size()) {
    fail("expected " + std::to_string(Op.Inputs.size()) + " inputs, got " +
         std::to_string(Inputs.size()));
    return std::nullopt;
  }
  if (!takeAttributes() || !bindTypes() || !bindShapes(/*Unifies=*/true) ||
      !bindShapes(/*Unifies=*/false))
    return std::nullopt;
  SmallVector<mlir::Type> Results;
  mlir::MLIRContext *Context = E.builder().getContext();
  for (const Tensor &T : Op.Outputs) {
    Dims Shape = dims(T);
    mlir::Type Ty =
        frontend::checkedType(Shape, elementType(Context, typeName(T)));
    if (!Ty) {
      fail("expected sizes that a tensor can have for output '" + T.Name +
           "', got " + frontend::dimsText(Shape));
      return std::nullopt;
    }
    Results.push_back(Ty);
  }
  mlir::DictionaryAttr Codes[2];
  for (bool IsCuda : {false, true}) {
    const std::optional<custom::UserCode> &C = IsCuda ? Op.Cuda : Op.Host;
    if (!C)
      continue;
    std::optional<graph::CustomCode> Code = code(*C, IsCuda);
    if (!Code)
      return std::nullopt;
    Codes[IsCuda] = Code->toAttr(Context);
  }
  auto Custom = graph::CustomOp::create(
      E.builder(), E.loc(), Results,
      E.builder().getStringAttr(printable(Op.fullName())), Inputs, Codes[1],
      Codes[0]);
  return SmallVector<Value>(Custom.getResults());
}

} // namespace

std::optional<SmallVector<Value>>
custom::applyOperator(const Operator &Op, frontend::Emitter &E,
                      ArrayRef<Value> Inputs,
                      const AttributeValues &Attributes) {
  return Application(Op, E, Inputs, Attributes).run();
}

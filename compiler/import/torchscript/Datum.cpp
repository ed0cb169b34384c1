//===- Datum.cpp - Values of a TorchScript program ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torchscript/Datum.h"

namespace kpc::torchscript {

Datum Datum::ofBool(bool V) {
  Datum D;
  D.Is = Kind::Bool;
  D.Int = shape::Expr(V ? 1 : 0);
  return D;
}

Datum Datum::ofInt(const shape::Expr &V) {
  Datum D;
  D.Is = Kind::Int;
  D.Int = V;
  return D;
}

Datum Datum::ofFloat(double V) {
  Datum D;
  D.Is = Kind::Float;
  D.Float = V;
  return D;
}

Datum Datum::ofText(std::string V, Kind Is) {
  Datum D;
  D.Is = Is;
  D.Text = std::move(V);
  return D;
}

namespace {

/// Takes values apart that nothing else holds. Their destructors would call
/// one another as deep as lists and objects nest, which a file decides.
class Release {
public:
  void take(Datum &V) {
    if (V.Items || V.Object)
      Waiting.push_back(std::move(V));
  }
  void run() {
    while (!Waiting.empty()) {
      Datum V = std::move(Waiting.back());
      Waiting.pop_back();
      if (V.Items && V.Items.use_count() == 1)
        for (Datum &Part : *V.Items)
          take(Part);
      if (V.Object && V.Object.use_count() == 1)
        for (auto &[Name, Part] : V.Object->Attributes)
          take(Part);
    }
  }

private:
  std::vector<Datum> Waiting;
};

} // namespace

Datum Datum::ofList(std::vector<Datum> V, Kind Is) {
  Datum D;
  D.Is = Is;
  D.Items = std::shared_ptr<std::vector<Datum>>(
      new std::vector<Datum>(std::move(V)), [](std::vector<Datum> *Parts) {
        Release Inner;
        for (Datum &Part : *Parts)
          Inner.take(Part);
        delete Parts;
        Inner.run();
      });
  return D;
}

Datum Datum::ofObject(const std::string &Class, const std::string &Path) {
  Datum D;
  D.Is = Kind::Object;
  D.Object = std::shared_ptr<Instance>(new Instance{Class, Path, {}},
                                       [](Instance *Of) {
                                         Release Inner;
                                         for (auto &[Name, V] : Of->Attributes)
                                           Inner.take(V);
                                         delete Of;
                                         Inner.run();
                                       });
  return D;
}

std::optional<int64_t> Datum::asInt() const {
  return Is == Kind::Int || Is == Kind::Bool ? Int.asConstant() : std::nullopt;
}

std::optional<double> Datum::asReal() const {
  if (Is == Kind::Float)
    return Float;
  std::optional<int64_t> N = asInt();
  return N ? std::optional(static_cast<double>(*N)) : std::nullopt;
}

std::string Datum::kindText() const {
  switch (Is) {
  case Kind::None:
    return "None";
  case Kind::Bool:
    return "a bool";
  case Kind::Int:
    return "an integer";
  case Kind::Float:
    return "a float";
  case Kind::Text:
    return "a string";
  case Kind::Tensor:
    return "a tensor";
  case Kind::List:
    return "a list";
  case Kind::Tuple:
    return "a tuple";
  case Kind::Dict:
    return "a dict";
  case Kind::Object:
    return "an object of class " + Object->Class;
  case Kind::Device:
    return "a device";
  case Kind::Function:
    return "a function";
  case Kind::Unsettled:
    return "a truth that is known only at run time";
  }
  return "a value";
}

} // namespace kpc::torchscript

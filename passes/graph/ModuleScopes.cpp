//===- ModuleScopes.cpp - Which module of the model a node is of ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/ModuleScopes.h"

#include <map>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

/// PyTorch's older exporter repeats a list's name: `layer1/layer1.0` is
/// `layer1.0`.
std::string graph::scopeOfName(StringRef Node) {
  auto [Path, Own] = Node.rsplit('/');
  if (Own.empty())
    return "";
  SmallVector<StringRef> Parts;
  Path.split(Parts, '/', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  std::string Out;
  StringRef Last;
  for (StringRef Part : Parts) {
    StringRef Rest = Part;
    if (!Last.empty() && Rest.consume_front(Last) && Rest.starts_with("."))
      Out += Rest;
    else
      Out += (Out.empty() ? "" : ".") + Part.str();
    Last = Part;
  }
  return Out;
}

static std::string scopeOfLocation(Location Loc, DictionaryAttr Scopes) {
  auto Name = Loc->findInstanceOf<NameLoc>();
  if (!Name)
    return "";
  auto Kept = Scopes ? Scopes.getAs<StringAttr>(Name.getName()) : StringAttr();
  return Kept ? Kept.str() : scopeOfName(Name.getName());
}

std::string graph::scopeOf(RegionOp Region, Operation *Main,
                           DictionaryAttr Scopes) {
  if (Main)
    if (std::string Scope = scopeOfLocation(Main->getLoc(), Scopes);
        !Scope.empty())
      return Scope;
  // How often, and where last.
  std::map<std::string, std::pair<unsigned, unsigned>> Found;
  for (auto [I, Op] :
       llvm::enumerate(Region.getBody().front().without_terminator()))
    if (!Op.hasTrait<OpTrait::ConstantLike>())
      if (std::string Scope = scopeOfLocation(Op.getLoc(), Scopes);
          !Scope.empty()) {
        ++Found[Scope].first;
        Found[Scope].second = I;
      }
  auto Most = llvm::max_element(
      Found, [](const auto &A, const auto &B) { return A.second < B.second; });
  return Most == Found.end() ? "" : Most->first;
}

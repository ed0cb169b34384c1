//===- InlineFunctions.cpp - Bodies of local functions in place of calls --===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/model/Passes.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace kpc::onnx {

namespace {

/// Calls and subgraphs nested deeper than this are refused. Frames of the
/// recursion below are under 1 KB.
constexpr unsigned DeepestNesting = 64;
/// Functions that call one another twice each double the nodes at every level:
/// a file of a kilobyte must not become a model of a billion.
constexpr size_t MostNodes = 500'000;
/// Call nodes named in a place.
constexpr size_t PathEntries = 8;

using FunctionKey = std::tuple<std::string, std::string, std::string>;

/// Names of values inside a body and what they are called in the caller.
using Renaming = std::map<std::string, std::string, std::less<>>;

/// One call that is being replaced.
struct CallSite {
  const Function *Callee;
  const Node *Call;
  std::string Prefix;
  std::string Path;
};

class Inliner {
public:
  Inliner(Model &M, Diagnostics &Diags) : M(M), Diags(Diags) {}

  bool run() {
    for (const Function &F : M.Functions)
      if (!Functions.emplace(FunctionKey(F.Domain, F.Name, F.Overload), &F)
               .second)
        fail({}, "function '" + printable(F.Name) + "' is defined twice");
    if (Functions.empty())
      return Good;
    collectNames(M.Main, 0);
    expandGraph(M.Main, 0);
    if (Good)
      M.Functions.clear();
    return Good;
  }

private:
  void fail(const ModelPlace &Where, std::string Text) {
    Diags.error(Code::ImportFunction).at(Where).message(std::move(Text));
    Good = false;
  }

  const Function *calleeOf(const Node &N) const {
    auto It = Functions.find(FunctionKey(N.Domain, N.Op, N.Overload));
    return It == Functions.end() ? nullptr : It->second;
  }

  /// Remembers which names the model uses, so that prefixes are new.
  void collectNames(const Graph &G, unsigned Depth) {
    if (Depth > DeepestNesting)
      return;
    for (const Node &N : G.Nodes) {
      Used.insert(N.Outputs.begin(), N.Outputs.end());
      for (const auto &[Name, A] : N.Attributes)
        for (const auto &Sub : A.Graphs)
          collectNames(*Sub, Depth + 1);
    }
    for (const ValueInfo &V : G.Inputs)
      Used.insert(V.Name);
    for (const auto &[Name, T] : G.Initializers)
      Used.insert(Name);
  }

  std::string freshName(const std::string &Wanted) {
    std::string Name = Wanted;
    for (unsigned I = 1; !Used.insert(Name).second; ++I)
      Name = Wanted + "_" + std::to_string(I);
    return Name;
  }

  /// "call/inner" for values of the body; one prefix per call.
  std::string freshPrefix(const Node &Call) {
    std::string Base = Call.Name.empty() ? Call.Op : Call.Name;
    std::string Prefix = Base;
    for (unsigned I = 1; !Prefixes.insert(Prefix).second; ++I)
      Prefix = Base + "_" + std::to_string(I);
    return Prefix;
  }

  void expandGraph(Graph &G, unsigned Depth) {
    std::vector<Node> Before = std::move(G.Nodes);
    G.Nodes.clear();
    for (Node &N : Before)
      expandNode(std::move(N), G.Nodes, Depth);
  }

  /// Appends `N`, or its body's nodes if it is a call, to `Out`.
  void expandNode(Node N, std::vector<Node> &Out, unsigned Depth) {
    if (!Good)
      return;
    if (Depth > DeepestNesting || ++Nodes > MostNodes) {
      Diags.error(Code::ImportTooDeep)
          .at(N.place())
          .message(Depth > DeepestNesting
                       ? "functions and subgraphs nest deeper than " +
                             std::to_string(DeepestNesting)
                       : "inlining the model's functions makes more than " +
                             std::to_string(MostNodes) + " nodes");
      Good = false;
      return;
    }
    const Function *Callee = calleeOf(N);
    if (!Callee) {
      for (auto &[Name, A] : N.Attributes)
        for (auto &Sub : A.Graphs)
          expandGraph(*Sub, Depth + 1);
      Out.push_back(std::move(N));
      return;
    }
    if (std::find(Calling.begin(), Calling.end(), Callee) != Calling.end())
      return fail(N.place(),
                  "function '" + printable(Callee->Name) + "' calls itself");
    Calling.push_back(Callee);
    expandCall(N, *Callee, Out, Depth);
    Calling.pop_back();
  }

  void expandCall(const Node &Call, const Function &F, std::vector<Node> &Out,
                  unsigned Depth) {
    if (Call.Inputs.size() > F.Inputs.size() ||
        Call.Outputs.size() > F.Outputs.size())
      return fail(Call.place(),
                  "function '" + printable(F.Name) + "' has " +
                      std::to_string(F.Inputs.size()) + " inputs and " +
                      std::to_string(F.Outputs.size()) +
                      " outputs, but is called with " +
                      std::to_string(Call.Inputs.size()) + " and " +
                      std::to_string(Call.Outputs.size()));
    if (const std::string *Missing = outputThatIsNotMade(F))
      return fail(Call.place(), "the nodes of function '" + printable(F.Name) +
                                    "' do not make its output '" +
                                    printable(*Missing) + "'");
    CallSite Site{&F, &Call, freshPrefix(Call), callPath(Call)};
    Renaming Names;
    for (size_t I = 0; I < F.Inputs.size(); ++I)
      Names[F.Inputs[I]] = I < Call.Inputs.size() ? Call.Inputs[I] : "";
    for (size_t I = 0; I < F.Outputs.size(); ++I) {
      bool Wanted = I < Call.Outputs.size() && !Call.Outputs[I].empty();
      // An output that is an input as well needs a node between the two.
      if (Names.count(F.Outputs[I])) {
        if (Wanted)
          Out.push_back(identity(Names[F.Outputs[I]], Call.Outputs[I], Site));
        continue;
      }
      Names[F.Outputs[I]] = Wanted
                                ? Call.Outputs[I]
                                : freshName(Site.Prefix + "/" + F.Outputs[I]);
    }
    for (const Node &Inner : F.Nodes) {
      Node Copy = Inner;
      rewrite(Copy, Names, Site, Depth);
      expandNode(std::move(Copy), Out, Depth + 1);
    }
  }

  static const std::string *outputThatIsNotMade(const Function &F) {
    std::set<std::string_view> Made(F.Inputs.begin(), F.Inputs.end());
    for (const Node &N : F.Nodes)
      Made.insert(N.Outputs.begin(), N.Outputs.end());
    for (const std::string &Output : F.Outputs)
      if (!Made.count(Output))
        return &Output;
    return nullptr;
  }

  Node identity(const std::string &From, const std::string &To,
                const CallSite &Site) {
    Node N;
    N.Name = Site.Prefix;
    N.Op = "Identity";
    auto Opset = M.Opsets.find("");
    N.Opset = Opset == M.Opsets.end() ? 1 : Opset->second;
    N.Inputs = {From};
    N.Outputs = {To};
    N.Path = Site.Path;
    return N;
  }

  static std::string callPath(const Node &Call) {
    std::string Name = Call.Name.empty() ? Call.Op : Call.Name;
    if (Call.Path.empty())
      return Name;
    size_t Entries = static_cast<size_t>(
        std::count(Call.Path.begin(), Call.Path.end(), '>') + 1);
    return Entries >= PathEntries ? Call.Path : Call.Path + " > " + Name;
  }

  /// Gives a node copied from a body its names and attribute values.
  void rewrite(Node &N, Renaming &Names, const CallSite &Site, unsigned Depth) {
    N.Path = Site.Path;
    N.Name = Site.Prefix + "/" + (N.Name.empty() ? N.Op : N.Name);
    for (std::string &Name : N.Inputs)
      if (auto It = Names.find(Name); It != Names.end())
        Name = It->second;
    for (std::string &Name : N.Outputs) {
      if (Name.empty())
        continue;
      auto [It, New] = Names.try_emplace(Name);
      if (New)
        It->second = freshName(Site.Prefix + "/" + Name);
      Name = It->second;
    }
    for (auto It = N.Attributes.begin(); It != N.Attributes.end();) {
      Attribute &A = It->second;
      if (!A.Reference.empty() && !resolve(A, N, Site)) {
        It = N.Attributes.erase(It);
        continue;
      }
      for (auto &Sub : A.Graphs) {
        // The body is shared by all calls; each gets a copy of its own.
        Sub = std::make_shared<Graph>(*Sub);
        rewriteGraph(*Sub, Names, Site, Depth + 1);
      }
      ++It;
    }
  }

  /// A subgraph sees the body's names; what it defines stays inside it.
  void rewriteGraph(Graph &G, const Renaming &Outer, const CallSite &Site,
                    unsigned Depth) {
    if (Depth > DeepestNesting)
      return;
    Renaming Names = Outer;
    auto Rename = [&](std::string &Name) {
      std::string New = freshName(Site.Prefix + "/" + Name);
      Names[Name] = New;
      Name = New;
    };
    for (ValueInfo &V : G.Inputs)
      Rename(V.Name);
    std::map<std::string, Tensor, std::less<>> Initializers;
    for (auto &[Name, T] : G.Initializers) {
      std::string New = Name;
      Rename(New);
      Initializers.emplace(New, std::move(T));
    }
    G.Initializers = std::move(Initializers);
    G.Values.clear();
    for (Node &N : G.Nodes)
      for (const std::string &Name : N.Outputs)
        Names.erase(Name);
    for (Node &N : G.Nodes)
      rewrite(N, Names, Site, Depth);
    for (ValueInfo &V : G.Outputs)
      if (auto It = Names.find(V.Name); It != Names.end())
        V.Name = It->second;
  }

  /// Puts the caller's value in place of a reference; false if the attribute
  /// is left out.
  bool resolve(Attribute &A, const Node &N, const CallSite &Site) {
    std::string Wanted = A.Reference;
    if (auto It = Site.Call->Attributes.find(Wanted);
        It != Site.Call->Attributes.end()) {
      if (A.Is != Attribute::Kind::Undefined && It->second.Is != A.Is &&
          It->second.Is != Attribute::Kind::EmptyList)
        Diags.error(Code::ImportAttributeType)
            .at(Site.Call->place())
            .message("attribute '" + printable(Wanted) + "' is " +
                     std::string(kindName(It->second.Is)) + ", but function '" +
                     printable(Site.Callee->Name) + "' uses it as " +
                     std::string(kindName(A.Is)));
      A = It->second;
      return true;
    }
    if (auto It = Site.Callee->Defaults.find(Wanted);
        It != Site.Callee->Defaults.end()) {
      A = It->second;
      return true;
    }
    const std::vector<std::string> &Known = Site.Callee->Attributes;
    if (std::find(Known.begin(), Known.end(), Wanted) == Known.end())
      fail(N.place(), "function '" + printable(Site.Callee->Name) +
                          "' refers to an attribute '" + printable(Wanted) +
                          "' that it does not declare");
    return false;
  }

  Model &M;
  Diagnostics &Diags;
  bool Good = true;
  size_t Nodes = 0;
  std::map<FunctionKey, const Function *> Functions;
  std::vector<const Function *> Calling;
  std::set<std::string> Used;
  std::set<std::string> Prefixes;
};

} // namespace

bool inlineFunctions(Model &M, Diagnostics &Diags) {
  return Inliner(M, Diags).run();
}

} // namespace kpc::onnx

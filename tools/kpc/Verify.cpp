//===- Verify.cpp - An artifact against a reference -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Verify.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <set>
#include <tuple>

namespace kpc::cli {

using tensorfile::HostTensor;

/// The nodes in the name of a value: "conv1+relu1".
static std::set<std::string_view> nodesOf(std::string_view Name) {
  std::set<std::string_view> Nodes;
  while (!Name.empty()) {
    std::string_view Node = Name.substr(0, Name.find('+'));
    Nodes.insert(Node);
    Name.remove_prefix(std::min(Name.size(), Node.size() + 1));
  }
  return Nodes;
}

/// The node whose result a value is: the last of its name.
static std::string_view lastNode(std::string_view Name) {
  return Name.substr(Name.rfind('+') + 1); // npos + 1 is 0
}

std::vector<const HostTensor *>
RunValues::counterparts(const Value &Wanted) const {
  std::vector<const HostTensor *> SameNode, Related;
  std::set<std::string_view> Nodes = nodesOf(Wanted.Tensor.Name);
  std::string_view Last = lastNode(Wanted.Tensor.Name);
  for (const Value &V : List) {
    if (Wanted.IsOutput) {
      if (V.IsOutput && V.Tensor.Name == Wanted.Tensor.Name)
        SameNode.push_back(&V.Tensor);
      continue;
    }
    if (V.Tensor.Dims != Wanted.Tensor.Dims)
      continue;
    if (lastNode(V.Tensor.Name) == Last)
      SameNode.push_back(&V.Tensor);
    std::set<std::string_view> Theirs = nodesOf(V.Tensor.Name);
    if (std::any_of(Theirs.begin(), Theirs.end(), [&](std::string_view Node) {
          return Nodes.count(Node) != 0;
        }))
      Related.push_back(&V.Tensor);
  }
  return SameNode.empty() ? Related : SameNode;
}

static bool readValues(Session &S, RunValues &Out, Diagnostics &Diags) {
  for (int32_t I = 0; I < kpc_session_value_count(S.c()); ++I) {
    kpc_named_tensor Info;
    kpc_error *E = nullptr;
    kpc_status Status = kpc_session_value(S.c(), I, &Info, &E);
    if (Status != KPC_OK) {
      report(Error(Status, E), Diags);
      return false;
    }
    std::optional<HostTensor> T = tensorfile::makeTensor(
        Info.name, static_cast<ElementType>(Info.tensor.type),
        {Info.tensor.dims, Info.tensor.dims + Info.tensor.rank});
    if (!T)
      continue;
    Status =
        kpc_session_read_value(S.c(), I, T->Data.data(), T->Data.size(), &E);
    if (Status != KPC_OK) {
      report(Error(Status, E), Diags);
      return false;
    }
    Out.List.push_back({std::move(*T), false});
  }
  return true;
}

std::optional<RunValues> runOnce(const Model &M, const DeviceChoice &Choice,
                                 const Inputs &In, Diagnostics &Diags,
                                 std::string *Target) {
  std::optional<Session> S = openSession(M, Choice, Diags);
  if (!S)
    return std::nullopt;
  if (Target)
    *Target = S->target();
  std::vector<NamedTensor> Given = asRuntimeTensors(In);
  Result<Outputs> Ran = S->run(Given);
  if (!Ran) {
    report(Ran.error(), Diags);
    return std::nullopt;
  }
  RunValues Out;
  if (Choice.KeepValues && !readValues(*S, Out, Diags))
    return std::nullopt;
  for (const NamedTensor &T : *Ran) {
    std::optional<HostTensor> Copy = tensorfile::makeTensor(
        std::string(T.Name), static_cast<ElementType>(T.Value.type()),
        T.Value.dims());
    if (!Copy)
      continue;
    if (Copy->Data.size())
      std::memcpy(Copy->Data.data(), T.Value.data(), Copy->Data.size());
    Out.List.push_back({std::move(*Copy), true});
  }
  return Out;
}

std::optional<Inputs> inputsFor(const Model &Other, const Inputs &In,
                                Diagnostics &Diags) {
  Inputs Out;
  Out.Dims = In.Dims;
  for (const kpc_port &Port : Other.inputs()) {
    auto It =
        std::find_if(In.Tensors.begin(), In.Tensors.end(),
                     [&](const HostTensor &T) { return T.Name == Port.name; });
    std::optional<HostTensor> T;
    if (It != In.Tensors.end())
      T = tensorfile::convert(*It, static_cast<ElementType>(Port.type));
    if (!T) {
      Diags.error(Code::VerifyReference)
          .message(fmt::format("the reference has an input '{}' ({}) that the "
                               "artifact does not have",
                               printable(Port.name), portText(Port)));
      return std::nullopt;
    }
    Out.Tensors.push_back(std::move(*T));
  }
  return Out;
}

static bool isExact(ElementType Type) {
  switch (Type) {
  case ElementType::F32:
  case ElementType::F64:
  case ElementType::F16:
  case ElementType::BF16:
  case ElementType::F8E4M3FN:
  case ElementType::F8E4M3FNUZ:
  case ElementType::F8E5M2:
  case ElementType::F8E5M2FNUZ:
  case ElementType::F4E2M1:
  case ElementType::F8E8M0:
    return false;
  default:
    return true;
  }
}

static std::vector<double> numbersOf(const HostTensor &T) {
  // Complex numbers are compared part by part.
  ElementType Type = T.Type;
  int64_t Count = T.count();
  if (Type == ElementType::C64 || Type == ElementType::C128) {
    Type = Type == ElementType::C64 ? ElementType::F32 : ElementType::F64;
    Count *= 2;
  }
  return tensorfile::toDoubles(Type, {T.Data.data(), T.Data.size()}, Count)
      .value_or(std::vector<double>());
}

Difference tensorDifference(const HostTensor &Got, const HostTensor &Wanted) {
  return difference(numbersOf(Got), numbersOf(Wanted), isExact(Got.Type));
}

/// The best that any counterpart gives.
static Difference leastDifference(const HostTensor &Got,
                                  const std::vector<const HostTensor *> &Of,
                                  const Tolerance &T) {
  std::vector<double> Numbers = numbersOf(Got);
  Difference Best;
  for (size_t I = 0; I < Of.size(); ++I) {
    Difference D = difference(Numbers, numbersOf(*Of[I]), isExact(Got.Type));
    bool Better =
        D.within(T) != Best.within(T)
            ? D.within(T)
            : std::tie(D.Unequal, D.Rms) < std::tie(Best.Unequal, Best.Rms);
    if (I == 0 || Better)
      Best = D;
  }
  return Best;
}

namespace {
/// Collects what a comparison finds; the first drift is reported.
class Comparer {
public:
  Comparer(const RunValues &Reference, const Tolerance &T, Diagnostics &Diags)
      : Reference(Reference), T(T), Diags(Diags) {}
  void compare(const RunValues::Value &V);
  ComparedRun Out;

private:
  void drift(const ComparedValue &C, const std::string &Text);

  const RunValues &Reference;
  const Tolerance &T;
  Diagnostics &Diags;
  bool Reported = false;
};
} // namespace

void Comparer::drift(const ComparedValue &C, const std::string &Text) {
  if (!Reported) {
    Diagnostic &D = Diags.error(Code::VerifyDrifted);
    if (!C.IsOutput)
      D.hint("it is the first that drifts; --precision-for keeps values in "
             "fp32");
    D.message(fmt::format("{} '{}' {}: {}", C.IsOutput ? "output" : "value",
                          printable(C.Name), C.Type, Text));
  }
  Reported = true;
}

void Comparer::compare(const RunValues::Value &V) {
  std::vector<const HostTensor *> Wanted = Reference.counterparts(V);
  if (Wanted.empty()) {
    ++Out.Unmatched;
    if (V.IsOutput)
      Diags.error(Code::VerifyReference)
          .message(fmt::format("the reference has no output '{}'",
                               printable(V.Tensor.Name)));
    return;
  }
  if (Wanted.front()->Dims != V.Tensor.Dims) { // of outputs alone
    Diags.error(Code::VerifyReference)
        .message(fmt::format("output '{}' is {}, the reference is {}",
                             printable(V.Tensor.Name),
                             tensorfile::typeAndDims(V.Tensor),
                             tensorfile::typeAndDims(*Wanted.front())))
        .hint("give the inputs that the reference was computed from");
    return;
  }
  ComparedValue C;
  C.Name = V.Tensor.Name;
  C.IsOutput = V.IsOutput;
  C.Type = tensorfile::typeAndDims(V.Tensor);
  C.Found = leastDifference(V.Tensor, Wanted, T);
  C.Good = C.Found.within(T);
  if (!C.Good)
    drift(C, C.Found.text(T, V.Tensor.Dims));
  Out.Values.push_back(std::move(C));
}

ComparedRun compareRuns(const RunValues &Got, const RunValues &Reference,
                        const Tolerance &T, Diagnostics &Diags) {
  Comparer C(Reference, T, Diags);
  for (const RunValues::Value &V : Got.List)
    C.compare(V);
  return std::move(C.Out);
}

} // namespace kpc::cli

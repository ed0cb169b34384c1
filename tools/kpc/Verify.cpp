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

namespace kpc::cli {

using tensorfile::HostTensor;

const HostTensor *RunValues::find(std::string_view Name) const {
  // Outputs come last and are preferred: a value inside may have their name.
  for (size_t I = List.size(); I-- > 0;)
    if (List[I].Tensor.Name == Name)
      return &List[I].Tensor;
  return nullptr;
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
    // The output is compared once, as an output.
    std::erase_if(Out.List, [&](const RunValues::Value &V) {
      return V.Tensor.Name == Copy->Name;
    });
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

ComparedRun compareRuns(const RunValues &Got, const RunValues &Reference,
                        const Tolerance &T, Diagnostics &Diags) {
  ComparedRun Out;
  bool Reported = false;
  for (const RunValues::Value &V : Got.List) {
    const HostTensor *Wanted = Reference.find(V.Tensor.Name);
    if (!Wanted) {
      ++Out.Unmatched;
      if (V.IsOutput)
        Diags.error(Code::VerifyReference)
            .message(fmt::format("the reference has no output '{}'",
                                 printable(V.Tensor.Name)));
      continue;
    }
    const char *Kind = V.IsOutput ? "output" : "value";
    ComparedValue C;
    C.Name = V.Tensor.Name;
    C.IsOutput = V.IsOutput;
    C.Type = tensorfile::typeAndDims(V.Tensor);
    if (Wanted->Dims != V.Tensor.Dims) {
      // A value inside may have another form; an output may not.
      if (!V.IsOutput) {
        ++Out.Unmatched;
        continue;
      }
      Diags.error(Code::VerifyDrifted)
          .message(fmt::format("{} '{}' is {}, the reference {}", Kind,
                               printable(C.Name), C.Type,
                               tensorfile::typeAndDims(*Wanted)));
      Reported = true;
    } else {
      C.Found = difference(numbersOf(V.Tensor), numbersOf(*Wanted),
                           isExact(V.Tensor.Type));
      C.Good = C.Found.within(T);
      if (!C.Good && !Reported) {
        Diags.error(Code::VerifyDrifted)
            .message(fmt::format("{} '{}' {}: {}", Kind, printable(C.Name),
                                 C.Type, C.Found.text(T, V.Tensor.Dims)));
        Reported = true;
      }
    }
    Out.Values.push_back(std::move(C));
  }
  return Out;
}

} // namespace kpc::cli

//===- Device.cpp - What runs a bound plan --------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/Device.h"

namespace kpc::rt {

using Names = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;

static std::string joined(const Names *List) {
  std::string Out;
  for (const flatbuffers::String *Name : format::each(List)) {
    if (!Out.empty())
      Out += ", ";
    Out += Name->str();
  }
  return Out;
}

std::string sourceNodes(const format::Kernel &K) {
  return joined(K.source_nodes());
}

std::string displayName(const format::Kernel &K) {
  return K.display_name() && K.display_name()->size() ? K.display_name()->str()
                                                      : K.symbol()->str();
}

const char *Device::nameOf(const BoundStep &S) const {
  if (S.Kind != StepKind::Launch)
    return S.Kind == StepKind::Copy ? "copy" : "fill";
  const format::Kernel *K = target().kernels()->Get(S.Kernel);
  const auto *Shown = K->display_name();
  return Shown && Shown->size() ? Shown->c_str() : K->symbol()->c_str();
}

ProfileStep Device::describeStep(const Binding &B, size_t Index) const {
  const BoundStep &S = B.Steps[Index];
  ProfileStep Out;
  if (S.Kind == StepKind::Launch) {
    const format::Kernel *K = target().kernels()->Get(S.Kernel);
    const format::Launch &L =
        *target().steps()->Get(uint32_t(Index))->action_as_Launch();
    // Kernels may be shared; files of format 1.0 describe no launches.
    bool Listed = L.source_nodes() && L.source_nodes()->size();
    Out.Name = displayName(*K);
    Out.Symbol = K->symbol()->str();
    Out.Nodes = Listed ? joined(L.source_nodes()) : sourceNodes(*K);
  } else {
    Out.Name = nameOf(S);
  }
  Out.Facts.step = int32_t(Index);
  // Of one run; finish() knows how many there were.
  Out.Facts.bytes_read = B.bytesTouched(S, 1);
  Out.Facts.bytes_written = B.bytesTouched(S, 2);
  Out.Facts.flops = S.Flops;
  Out.Facts.work = S.Work;
  return Out;
}

std::string targetList(const Model &M) {
  std::string Out;
  for (const TargetInfo &T : M.targets()) {
    if (!Out.empty())
      Out += "; ";
    Out += format::printable(T.Table->name()) + " (" + T.RunsOn + ")";
  }
  return Out.empty() ? "nothing" : Out;
}

Status checkTargetName(const Model &M, const DeviceOptions &Options) {
  if (Options.Target.empty())
    return success();
  for (const TargetInfo &T : M.targets())
    if (T.Table->name()->string_view() == Options.Target)
      return success();
  Error E = failure(ErrorCode::UnknownName, "the artifact has no target '%s'",
                    Options.Target.c_str());
  E.Hint = "it holds " + targetList(M);
  return E;
}

} // namespace kpc::rt

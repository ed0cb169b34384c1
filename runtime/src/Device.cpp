//===- Device.cpp - What runs a bound plan --------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/Device.h"

namespace kpc::rt {

std::string sourceNodes(const format::Kernel &K) {
  std::string Out;
  for (const flatbuffers::String *Node : format::each(K.source_nodes())) {
    if (!Out.empty())
      Out += ", ";
    Out += Node->str();
  }
  return Out;
}

std::string displayName(const format::Kernel &K) {
  return K.display_name() && K.display_name()->size() ? K.display_name()->str()
                                                      : K.symbol()->str();
}

ProfileStep Device::describeStep(const Binding &B, size_t Index) const {
  const BoundStep &S = B.Steps[Index];
  ProfileStep Out;
  if (S.Kind == StepKind::Launch) {
    const format::Kernel *K = target().kernels()->Get(S.Kernel);
    Out.Name = displayName(*K);
    Out.Symbol = K->symbol()->str();
    Out.Nodes = sourceNodes(*K);
  } else {
    Out.Name = S.Kind == StepKind::Copy ? "copy" : "fill";
  }
  Out.Facts.step = int32_t(Index);
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

//===- Finding.cpp - What the emulator objects to -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/execute/Finding.h"

#include "emulator/program/Program.h"

namespace kpc::emulator {

const char *nameOf(FindingKind Kind) {
  switch (Kind) {
  case FindingKind::BadLaunch:
    return "bad-launch";
  case FindingKind::OutOfBounds:
    return "out-of-bounds";
  case FindingKind::UseAfterFree:
    return "use-after-free";
  case FindingKind::Misaligned:
    return "misaligned";
  case FindingKind::WriteToReadOnly:
    return "write-to-read-only";
  case FindingKind::UninitialisedShared:
    return "uninitialised-shared";
  case FindingKind::SharedRace:
    return "shared-race";
  case FindingKind::GlobalRace:
    return "global-race";
  case FindingKind::BeforeGridWait:
    return "before-grid-wait";
  case FindingKind::ReadBeforeWait:
    return "read-before-wait";
  case FindingKind::SlotReused:
    return "slot-reused";
  case FindingKind::Unwaited:
    return "unwaited";
  case FindingKind::EndedBlock:
    return "ended-block";
  case FindingKind::UninitialisedRegister:
    return "uninitialised-register";
  case FindingKind::MissingMatrixFence:
    return "missing-matrix-fence";
  case FindingKind::WarpgroupMismatch:
    return "warpgroup-mismatch";
  case FindingKind::RegisterPool:
    return "register-pool";
  case FindingKind::MissingProxyFence:
    return "missing-proxy-fence";
  case FindingKind::BarrierMisuse:
    return "barrier-misuse";
  case FindingKind::BadTensorMap:
    return "bad-tensor-map";
  case FindingKind::BarrierMismatch:
    return "barrier-mismatch";
  case FindingKind::Deadlock:
    return "deadlock";
  case FindingKind::TimeLimit:
    return "time-limit";
  case FindingKind::InactiveLane:
    return "inactive-lane";
  case FindingKind::PendingRegister:
    return "pending-register";
  case FindingKind::UninitialisedTensor:
    return "uninitialised-tensor-memory";
  case FindingKind::TensorRace:
    return "tensor-memory-race";
  case FindingKind::MissingTensorFence:
    return "missing-tensor-fence";
  case FindingKind::ForeignLanes:
    return "foreign-lanes";
  case FindingKind::TensorMisuse:
    return "tensor-memory-misuse";
  case FindingKind::TensorLeak:
    return "tensor-memory-leak";
  case FindingKind::NotConverged:
    return "not-converged";
  case FindingKind::BadOperand:
    return "bad-operand";
  case FindingKind::Trap:
    return "trap";
  }
  return "unknown";
}

static std::string triple(const uint32_t (&V)[3]) {
  return "(" + std::to_string(V[0]) + ", " + std::to_string(V[1]) + ", " +
         std::to_string(V[2]) + ")";
}

std::string Finding::text() const {
  std::string Out = nameOf(Kind);
  Out += ": ";
  if (Instruction.empty())
    return Out + "kernel " + Kernel +
           (Kind == FindingKind::BadLaunch ? "" : ", block " + triple(Cta)) +
           ": " + Detail;
  return Out + Instruction + " (line " + std::to_string(Line) + " of kernel " +
         Kernel + (Source.empty() ? "" : ", from " + Source) + ", block " +
         triple(Cta) + ", thread " + triple(Thread) + "): " + Detail;
}

void Finding::locate(const struct Kernel &K, uint32_t Statement) {
  const ptx::Statement &S = K.Source.Body[Statement];
  Kernel = K.Name;
  Instruction = S.text();
  Line = S.Line;
  Source = K.sourceOf(Statement);
}

} // namespace kpc::emulator
